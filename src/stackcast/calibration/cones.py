"""The binnings of domains (Section 5): round tents on an ε-grid, and cells in many dimensions."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from stackcast._validation import InputError, real_number
from stackcast.calibration._weights import CONES, CompiledBinning
from stackcast.calibration.binnings import CompiledWeights, CoverBinning

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.games import Domain

#: More bins than this are not made: experts, and with them the time of a round, grow with the bins.
_MOST_BINS = 20_000


class ConeBinning(CompiledWeights):
    """Round tents on an ε-grid: the paper's Π₀ (Appendix on continuous games, key lemma).

    w_i(p) = Λ_i(p)/Σ_j Λ_j(p) with Λ_i(p) = (2ε − ‖p − x_i‖)₊. Every point of the domain lies
    within ε of a grid point x_i, every grid point lies in the domain, and a weight is 0 at a
    distance of 2ε or more.

    Parameters
    ----------
    domain : Ball, Box or Polytope
        Of at most three dimensions: in more, an ε-grid has too many points to be calibrated to.
    spacing : float
        ε.

    Examples
    --------
    >>> from stackcast.games import Ball
    >>> binning = ConeBinning(Ball(1), 0.25)
    >>> binning.points[:, 0].tolist()
    [-1.0, -0.5, 0.0, 0.5, 1.0]
    >>> binning.weights([[0.25], [0.5]])
    array([[0. , 0. , 0.5, 0.5, 0. ],
           [0. , 0. , 0. , 1. , 0. ]])
    """

    random = True
    continuous = True

    def __init__(self, domain: Domain, spacing: float) -> None:
        self.spacing = real_number("spacing", spacing, above=0.0)
        self.space = domain
        self.dimension = domain.dimension
        if self.dimension > 3:
            low, high = domain.limits
            count = float(np.prod(np.maximum((high - low) / (2 * spacing), 1.0)))
            raise InputError(
                "domain",
                "at most three dimensions for a grid of tents; CoverBinning has cells in any",
                f"{self.dimension} dimensions, which need about {count:.2g} tents or more",
            )
        self.points = _grid(domain, self.spacing)
        self.points.flags.writeable = False
        self.bins = len(self.points)
        self.compiled = CompiledBinning(
            CONES, np.array(self.points), np.zeros(1), 2.0 * self.spacing, 0
        )


def tents_or_cells(domain: Domain, spacing: float) -> ConeBinning | CoverBinning:
    """Return bins with every point of a bin within a few ε of the others, whatever the dimension.

    Tents on an ε-grid in one and two dimensions; beyond, cells of a cover with the diameter 2ε.
    """
    if domain.dimension <= 2:
        return ConeBinning(domain, spacing)
    side = 2.0 * real_number("spacing", spacing, above=0.0) / math.sqrt(domain.dimension)
    return CoverBinning(domain, side)


def _grid(domain: Domain, spacing: float) -> FloatArray:
    """Return points of the domain such that every point of it lies within ``spacing`` of one.

    A lattice with that covering radius (triangular in the plane, body-centred cubic in space), laid
    over the domain; points outside are moved to the nearest point of the domain, which brings them
    no further from any point of it.
    """
    low, high = domain.limits
    if domain.dimension == 1:
        count = max(1, math.ceil((high[0] - low[0]) / (2 * spacing) - 1e-9))
        return np.linspace(low[0], high[0], count + 1)[:, None]
    if domain.dimension == 2:  # rectangles with a point in the middle of each: triangles
        sides = math.sqrt(3.0) * spacing * np.array([1.0, math.sqrt(3.0)])
    else:
        sides = 4.0 / math.sqrt(5.0) * spacing * np.ones(3)
    steps = np.ceil((high - low) / (2 * sides)).astype(int) + 1
    # The box around a ball holds up to 6/π times its points, and some more at the border.
    if float(np.prod(2.0 * steps + 1)) > 2.0 * _MOST_BINS:
        raise _too_fine(spacing)
    kept: dict[tuple[float, ...], FloatArray] = {}
    for place in itertools.product(*(range(-n, n + 1) for n in steps), (0.0, 0.5)):
        point = 0.5 * (low + high) + sides * (np.array(place[:-1]) + place[-1])
        inside = domain.project(point)
        if np.linalg.norm(inside - point) <= spacing:
            kept.setdefault(tuple(inside.round(9).tolist()), inside)
    if len(kept) > _MOST_BINS:
        raise _too_fine(spacing)
    return np.array(list(kept.values()))


def _too_fine(spacing: float) -> InputError:
    found = f"{spacing:g}, which needs more"
    return InputError("spacing", f"a grid of at most {_MOST_BINS} tents", found)
