"""The compiled hit-and-run walk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stackcast._compiling import entry

if TYPE_CHECKING:
    from stackcast._validation import FloatArray


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
