"""Compiled draws: actions from a coverage, and points of a polytope.

Apart from the spaces, so that who only reads a game need not wait for the compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._compiling import entry

if TYPE_CHECKING:
    from stackcast._validation import FloatArray


@entry
def systematic(strategy: Any, uniforms: Any) -> Any:
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


@entry
def hit_and_run(
    rows: FloatArray,
    room: FloatArray,
    count: int,
    thinning: int,
    warm_up: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Walk in {v : rows·v ≤ room} from 0, which is inside, and return every ``thinning``-th point.

    Each step draws a direction from the sphere and a point of the chord through it, uniformly; the
    uniform distribution is stationary.
    """
    n, d = rows.shape
    result = np.zeros((count, d))
    slack = room.copy()
    v = np.zeros(d)
    direction = np.zeros(d)
    speed = np.zeros(n)
    for step in range(warm_up + count * thinning):
        norm = 0.0
        for j in range(d):
            direction[j] = rng.standard_normal()
            norm += direction[j] * direction[j]
        norm = np.sqrt(norm)
        low, high = -np.inf, np.inf
        for i in range(n):
            speed[i] = 0.0
            for j in range(d):
                speed[i] += rows[i, j] * direction[j] / norm
            if speed[i] > 1e-14:
                high = min(high, max(slack[i], 0.0) / speed[i])
            elif speed[i] < -1e-14:
                low = max(low, max(slack[i], 0.0) / speed[i])
        length = low + (high - low) * rng.random()
        for j in range(d):
            v[j] += length * direction[j] / norm
        if step % 64 == 0:
            for i in range(n):  # afresh, so that rounding does not add up
                slack[i] = room[i]
                for j in range(d):
                    slack[i] -= rows[i, j] * v[j]
        else:
            for i in range(n):
                slack[i] -= length * speed[i]
        if step >= warm_up and (step - warm_up) % thinning == thinning - 1:
            for j in range(d):
                result[(step - warm_up) // thinning, j] = v[j]
    return result
