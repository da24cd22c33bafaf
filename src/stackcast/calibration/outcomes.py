"""What forecasters observe: outcomes as users give them, checked and turned into rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import (
    PROBABILITY_TOLERANCE,
    InputError,
    real_vector,
    shown,
    whole_number,
)
from stackcast.games import Ball

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.games import StrategySpace


def one_outcome(space: StrategySpace | Ball, outcome: Any) -> FloatArray:
    """Return an outcome as a point of the space: a strategy, or the number of an action."""
    if isinstance(outcome, int | np.integer) and space.kind == "simplex":
        action = whole_number("outcome", outcome)
        if action >= space.dimension:
            raise InputError("outcome", f"an action below {space.dimension}", shown(outcome))
        vertex: FloatArray = np.eye(space.dimension)[action]
        return vertex
    row = real_vector("outcome", outcome, space.dimension)
    checked: FloatArray = _checked(space, "outcome", np.array(row)[None, :])[0]
    return checked


def many_outcomes(space: StrategySpace | Ball, outcomes: Any) -> tuple[FloatArray, int]:
    """Return outcomes as rows, and how many rounds they are: one row may stand for all of them.

    They are a table, a vector of action numbers, or ``(strategy, rounds)``.
    """
    if isinstance(outcomes, tuple) and len(outcomes) == 2 and np.ndim(outcomes[1]) == 0:
        return one_outcome(space, outcomes[0])[None, :], whole_number("rounds", outcomes[1])
    m = space.dimension
    array = np.asarray(outcomes)
    if array.ndim == 1 and array.dtype.kind in "iu" and space.kind == "simplex":
        if array.size and not (array.min() >= 0 and array.max() < m):
            raise InputError("outcomes", f"actions from 0 to {m - 1}", "another number")
        return np.eye(m)[array], len(array)
    if array.ndim != 2 or array.shape[1] != m or array.dtype.kind not in "biuf":
        raise InputError("outcomes", f"a table with {m} columns of numbers", f"shape {array.shape}")
    return _checked(space, "outcomes", array.astype(np.float64)), len(array)


def _checked(space: StrategySpace | Ball, field: str, rows: FloatArray) -> FloatArray:
    """Return outcomes that lie in the space, rounded back where they miss it by rounding."""
    if isinstance(space, Ball):
        return space.check_all(field, rows)
    if space.kind == "simplex":
        sums = rows.sum(axis=1)
        good = (rows.min(axis=1) >= -PROBABILITY_TOLERANCE) & (
            np.abs(sums - 1) <= PROBABILITY_TOLERANCE
        )
    else:
        over = (rows @ space.inequality_rows.T - space.inequality_bounds).max(axis=1)
        off = np.abs(rows @ space.equality_rows.T - space.equality_bounds)
        good = np.maximum(over, off.max(axis=1, initial=0.0)) <= PROBABILITY_TOLERANCE
    if not good.all():
        wrong = int(np.argmin(good))
        space.check(f"{field}, row {wrong + 1}" if len(rows) > 1 else field, rows[wrong])
    if space.kind == "simplex" and ((sums != 1).any() or rows.min(initial=0.0) < 0):
        rows = np.maximum(rows, 0.0)
        rows /= rows.sum(axis=1, keepdims=True)
    return rows
