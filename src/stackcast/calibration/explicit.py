"""Player 2's explicit answers where there are some: two actions, and continuous bins."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError, real_matrix, real_number, real_vector, shown
from stackcast.calibration._outgoing import MOST_DIMENSIONS, fixed_points, outgoing_point
from stackcast.calibration._rounds import POINT
from stackcast.calibration.forecaster import AdaptiveForecaster

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray
    from stackcast.calibration._experts import StartRule
    from stackcast.calibration.binnings import Binning
    from stackcast.calibration.forecaster import Method
    from stackcast.games import Ball, StrategySpace

    IntArray = npt.NDArray[np.int64]


def two_adjacent_points(grid: Any, pull: Any) -> tuple[IntArray, FloatArray]:
    """Return the paper's explicit mixture for two actions: at most two neighbouring grid points.

    Parameters
    ----------
    grid : array-like
        Increasing forecasts of the first action's probability, from 0 to 1.
    pull : array-like
        Z at each of them, Z_p = Σ_i w_i(p)(z_i0 − z_i1): the gain of the outcome h is (h − p)·Z_p.

    Returns
    -------
    positions, probabilities
        With Z_a > 0 > Z_b at neighbours a and b, the mixture has q·Z_a + (1 − q)·Z_b = 0; it is
        the forecast 0 if Z_0 ≤ 0, else 1 if Z_1 ≥ 0. The gain is at most the grid's step.

    Examples
    --------
    >>> positions, probabilities = two_adjacent_points([0.0, 0.5, 1.0], [0.5, 0.25, -0.75])
    >>> positions.tolist(), probabilities.tolist()
    ([1, 2], [0.75, 0.25])
    """
    points = real_vector("grid", grid)
    z = real_vector("pull", pull, len(points))
    if z[0] <= 0:
        return np.array([0]), np.array([1.0])
    if z[-1] >= 0:
        return np.array([len(z) - 1]), np.array([1.0])
    b = int(np.argmax(z <= 0))  # the first change of sign from + to −
    if z[b] == 0:
        return np.array([b]), np.array([1.0])
    q = z[b] / (z[b] - z[b - 1])
    return np.array([b - 1, b]), np.array([q, 1.0 - q])


class TwoActionForecaster(AdaptiveForecaster):
    """The paper's forecaster for two actions: it mixes two neighbours on a grid of forecasts.

    Player 2 needs no small game where forecasts lie on a line (Appendix D.2): it looks for
    neighbours a, b on the grid with Z_a > 0 > Z_b by bisection, and mixes them so that the mean
    pull is 0. No outcome gains more than a step of the grid times the larger pull.

    Parameters
    ----------
    binning : Binning
        Of two probabilities that sum to 1, or of one number; any but a Python function.
    space : StrategySpace, optional
        Where outcomes and forecasts live, by default where the binning says.
    method, starts, seed
        As for :class:`~stackcast.calibration.AdaptiveForecaster`.
    accuracy : float
        The step of the grid, as a share of its length.

    Examples
    --------
    >>> from stackcast.calibration import ThresholdBinning
    >>> forecaster = TwoActionForecaster(ThresholdBinning([0.3]))
    >>> for rain in [1, 0, 0, 1, 0, 0, 0, 0] * 20:
    ...     forecaster.observe([rain])
    >>> forecasts, shares = forecaster.forecast_distribution()
    >>> len(shares) <= 2, bool(abs(forecasts[0, 0] - forecasts[-1, 0]) <= 1.001e-6)
    (True, True)
    """

    def __init__(
        self,
        binning: Binning,
        space: StrategySpace | Ball | None = None,
        *,
        method: Method = "betting",
        starts: StartRule | None = None,
        seed: int = 0,
        accuracy: float | None = None,
    ) -> None:
        step = (
            1e-6
            if accuracy is None
            else real_number("accuracy", accuracy, above=1e-12, at_most=0.5)
        )
        super().__init__(binning, space, method=method, starts=starts, seed=seed, accuracy=step)
        if not self._line or binning.compiled is None or binning.bins == 0:
            raise InputError("binning", "compiled bins of forecasts on a line", shown(binning))
        self._outgoing = math.ceil(1.0 / step)


def outgoing_fixed_point(binning: Binning, imbalance: Any, space: Any = None) -> FloatArray:
    """Return a forecast p with Σ_i w_i(p)·⟨z_i, h − p⟩ ≤ 0 for every outcome h of the space.

    It exists where the weights are continuous, and is what makes forecasts deterministic (Theorem
    4.1 with ε = 0). In one dimension it is found by bisection; in two and three by a homotopy and
    Newton's method. In more dimensions the forecaster mixes instead.

    Parameters
    ----------
    binning : Binning
        Continuous; in two and three dimensions it must not be a Python function.
    imbalance : array-like, shape (n, m)
        z_i for each bin.
    space : StrategySpace or Ball, optional
        By default where the binning says.

    Examples
    --------
    >>> from stackcast.calibration import ConeBinning
    >>> from stackcast.games import Ball
    >>> tents = ConeBinning(Ball(2), 0.5)
    >>> z = np.where(tents.points > 0, -1.0, 1.0)
    >>> outgoing_fixed_point(tents, z).shape
    (2,)
    """
    forecaster = AdaptiveForecaster(binning, space)
    nature, m = forecaster._nature, binning.dimension
    z = real_matrix("imbalance", imbalance)
    if z.shape != (binning.bins, m):
        raise InputError("imbalance", f"shape {(binning.bins, m)}", f"{z.shape}")
    if forecaster._outgoing != POINT:
        expected = f"continuous, of at most {MOST_DIMENSIONS} dimensions"
        raise InputError(
            "binning", f"{expected}, and no Python function beyond one", shown(binning)
        )
    if forecaster._line:
        low, high = (float(limit) for limit in nature.limits[:, 0])
        slopes = z[:, 0] - (z[:, 1] if m == 2 else 0.0)

        def at(p: float) -> FloatArray:
            return np.array([p, 1.0 - p][:m])

        return at(
            outgoing_point(lambda p: float(binning.weights(at(p)[None])[0] @ slopes), low, high)
        )
    assert binning.compiled is not None
    points = forecaster._centre()[None].copy()
    fixed_points(binning.compiled, z.reshape(1, -1).copy(), nature.frame, nature.facets, points)
    point: FloatArray = points[0]
    return point
