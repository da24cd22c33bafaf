"""Player 2's explicit answers where there are some: two actions, and continuous bins on a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import real_vector

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from stackcast._validation import FloatArray

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


def outgoing_point(pull: Callable[[float], float], low: float, high: float) -> float:
    """Return a point p of [low, high] with pull(p)·(h − p) ≤ 0 for every h of it, by bisection.

    That is a forecast against which no outcome gains (the outgoing fixed point in one dimension).
    ``pull`` is continuous; the point is exact up to one unit in the last place.

    Examples
    --------
    >>> outgoing_point(lambda p: 0.25 - p, 0.0, 1.0)
    0.25
    >>> outgoing_point(lambda p: -1.0, 0.0, 1.0)
    0.0
    """
    if pull(low) <= 0.0:
        return low
    if pull(high) >= 0.0:
        return high
    left, right = low, high
    while True:
        middle = 0.5 * (left + right)
        if not left < middle < right:
            return left if abs(pull(left)) < abs(pull(right)) else right
        if pull(middle) > 0.0:
            left = middle
        else:
            right = middle
