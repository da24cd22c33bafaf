"""Compiled distances between a strategy and the regions of other actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from stackcast.regions._programs import EMPTY, action_program

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray

    BoolArray = npt.NDArray[np.bool_]


@njit(cache=True)
def normal_length(projected: FloatArray, y: int, j: int) -> float:
    """Return the length of the normal between y and j within the affine hull."""
    total = 0.0
    for x in range(projected.shape[0]):
        difference = projected[x, j] - projected[x, y]
        total += difference * difference
    return np.sqrt(total)


@njit(cache=True)
def is_never_best(W: FloatArray, cuts: FloatArray, y: int, tie: float) -> bool:
    """Tell whether no strategy makes ``y`` a best response (UNSURE counts as no)."""
    m, k = W.shape
    nothing = np.zeros((k, k))
    everybody = np.ones(k, np.bool_)
    status, _, _, _ = action_program(
        np.ones(m), W, y, everybody, nothing, 0.0, cuts, 0.0, False, tie, 0.0
    )
    return status == EMPTY


@njit(cache=True)
def nearest_region(
    h: FloatArray,
    y: int,
    W: FloatArray,
    projected: FloatArray,
    others: BoolArray,
    cuts: FloatArray,
    tie: float,
) -> tuple[float, int]:
    """Return the signed distance from ``h`` to the nearest region of another action, and which.

    The distance is within the affine hull and to the hyperplanes on which y ties with another
    action; it is negative outside the region of y. Actions that are not in ``others`` and actions
    that are never best responses have no region to be near to; a duplicate of y is at distance 0.
    """
    m, k = W.shape
    distances = np.full(k, np.inf)
    for j in range(k):
        if j == y or not others[j]:
            continue
        gap = 0.0
        largest = 0.0
        lowest = np.inf
        for x in range(m):
            difference = W[x, y] - W[x, j]
            gap += h[x] * difference
            largest = max(largest, abs(difference))
            lowest = min(lowest, difference)
        if largest <= tie:
            distances[j] = 0.0
        elif lowest <= tie:
            length = normal_length(projected, y, j)
            if length > 0.0:
                distances[j] = gap / length
            elif gap < 0.0:
                distances[j] = -np.inf
    while True:
        nearest = 0
        for j in range(k):
            if distances[j] < distances[nearest]:
                nearest = j
        if np.isinf(distances[nearest]) or not is_never_best(W, cuts, nearest, tie):
            return distances[nearest], nearest
        distances[nearest] = np.inf


@njit(cache=True)
def scaled_payoffs(payoffs: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Return the payoffs in units of their scale, the same centred, and the scale.

    Each row is shifted to a minimum of 0; the scale is that of the widest row, as in
    :attr:`stackcast.games.AgentView.scale`.
    """
    m, k = payoffs.shape
    frame = np.empty((m, k))
    scale = 0.0
    for x in range(m):
        low = np.inf
        for y in range(k):
            low = min(low, payoffs[x, y])
        for y in range(k):
            frame[x, y] = payoffs[x, y] / 2 - low / 2  # halves cannot overflow
            scale = max(scale, frame[x, y])
    if scale == 0.0:
        scale = 0.5
    mean = np.zeros(k)
    for x in range(m):
        for y in range(k):
            frame[x, y] /= scale
            mean[y] += frame[x, y] / m
    return frame, frame - mean, 2 * scale
