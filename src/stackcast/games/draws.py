"""Actions drawn from strategies: what happens on one day when a mixture is committed to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._compiling import entry
from stackcast._validation import InputError, shown

if TYPE_CHECKING:
    from stackcast._validation import FloatArray


def drawn_actions(strategy: FloatArray, uniforms: FloatArray) -> FloatArray:
    """Return one action drawn from the strategy for each uniform number, as rows of 0s and 1s.

    From a mixed strategy exactly one coordinate is drawn; from a coverage vector a set of targets
    in which each is covered with its probability (systematic sampling).
    """
    if strategy.min() < 0 or strategy.max() > 1:
        raise InputError("strategy", "probabilities, for actions to be drawn", shown(strategy))
    rows: FloatArray = _systematic(strategy, uniforms)
    return rows


@entry
def _systematic(strategy: Any, uniforms: Any) -> Any:
    m = len(strategy)
    ends = np.cumsum(strategy)
    whole = np.round(ends[m - 1])
    if abs(ends[m - 1] - whole) < 1e-9:  # a sum that misses a whole number by rounding
        last = m - 1
        while last > 0 and strategy[last] <= 0:
            last -= 1
        ends[last:] = whole
    rows = np.zeros((len(uniforms), m))
    for t in range(len(uniforms)):
        aim = 1.0 - uniforms[t]  # above 0, so that what has no probability is never drawn
        drawn = 0
        for j in range(m):
            if ends[j] - drawn >= aim:
                rows[t, j] = 1.0
                drawn += 1
    return rows
