"""Slow and plain versions of what the package computes, for comparison only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linprog

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.games import FiniteGame


def stackelberg_values(game: FiniteGame) -> FloatArray:
    """Each action's own optimum by one SciPy program, NaN for an empty region."""
    unit = game.normalised()
    k = unit.shape[1]
    space = unit.space
    values = np.full(k, np.nan)
    for y in range(k):
        rows = (unit.agent_payoffs - unit.agent_payoffs[:, [y]]).T
        result = linprog(
            -unit.principal_payoffs[:, y],
            A_ub=np.vstack([rows, space.inequality_rows]),
            b_ub=np.concatenate([np.zeros(k), space.inequality_bounds]),
            A_eq=space.equality_rows,
            b_eq=space.equality_bounds,
            bounds=(0, 1),
            method="highs",
        )
        if result.fun is not None:
            values[y] = -result.fun
    width = np.ptp(game.principal_payoffs)
    return game.principal_payoffs.min() + values * (width if width > 0 else 1.0)
