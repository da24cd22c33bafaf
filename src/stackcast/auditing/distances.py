"""The ℓ1 distance from a mean strategy to a best-response region."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.solvers import BestResponseRegions


def nearest_in_region(
    regions: BestResponseRegions, strategy: FloatArray, action: int
) -> FloatArray | None:
    """Return a strategy of the region of ``action`` that is nearest in ℓ1; None if it is empty.

    One linear program in the strategy q and the absolute differences s ≥ |q − h|.

    Examples
    --------
    >>> from stackcast.games import FiniteGame
    >>> from stackcast.solvers import BestResponseRegions
    >>> regions = BestResponseRegions(FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]]))
    >>> nearest_in_region(regions, np.array([0.75, 0.25]), 1).round(6).tolist()
    [0.5, 0.5]
    """
    if regions.view.best_responses(strategy)[action]:
        return strategy
    if regions.never_best[action]:
        return None
    from scipy.optimize import linprog

    region = regions.polytope(action)
    n = len(strategy)
    one = np.eye(n)
    rows = region.inequality_rows
    result = linprog(
        np.concatenate([np.zeros(n), np.ones(n)]),
        A_ub=np.block([[rows, np.zeros_like(rows)], [one, -one], [-one, -one]]),
        b_ub=np.concatenate([region.inequality_bounds, strategy, -strategy]),
        A_eq=np.hstack([region.equality_rows, np.zeros_like(region.equality_rows)]),
        b_eq=region.equality_bounds,
        bounds=[(None, None)] * n + [(0.0, None)] * n,
        method="highs",
    )
    if result.x is None:
        return None
    return np.asarray(result.x[:n], dtype=np.float64)
