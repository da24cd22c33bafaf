"""Compiled walks in the space of payoffs that the answers allow.

The version space is {W : low ≤ W ≤ high, h_i within ε_i of the halfspace W_y ≥ W_j for every answer
y to h_i and every other action j}: ⟨h_i, d⟩ ≥ −ε_i‖d‖ with d = W_y − W_j, the norm taken within the
affine hull of the strategies. That does not depend on the scale of d, so that payoffs near 0 are no
way out; it is not convex, but along a line each answer forbids one interval, and a walk stays on
its side of it. A cloud of points walks in it by hit-and-run: each step takes a direction
from the cloud itself (a Gaussian combination of its points, so that long and thin spaces cost
nothing) or a random one, and a uniform point of the chord; the uniform distribution is stationary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stackcast._compiling import entry, inner, out_of_line

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray

    IntArray = npt.NDArray[np.int64]

#: Columns of payoffs in [0, 1] that differ by less than this are alike.
_ALIKE = 1e-3


@entry
def walk(
    cloud: FloatArray,
    asked: FloatArray,
    labels: IntArray,
    slack: FloatArray,
    basis: FloatArray,
    low: FloatArray,
    high: FloatArray,
    steps: int,
    rng: np.random.Generator,
) -> None:
    """Move every point of the cloud by some steps of hit-and-run, in place."""
    size, m, k = cloud.shape
    n = asked.shape[0]
    direction = np.zeros((m, k))
    utility = np.zeros((n, k))
    speed = np.zeros((n, k))
    A, B = np.zeros((basis.shape[1], k)), np.zeros((basis.shape[1], k))
    for s in range(size):
        W = cloud[s]
        _product(asked, W, utility)
        _product(basis.T, W, A)
        for _ in range(steps):
            _draw_direction(cloud, s, direction, rng)
            _product(asked, direction, speed)
            _product(basis.T, direction, B)
            first, last = -np.inf, np.inf
            for x in range(m):
                for y in range(k):
                    d = direction[x, y]
                    if d > 1e-300:
                        last = min(last, (high[x, y] - W[x, y]) / d)
                        first = max(first, (low[x, y] - W[x, y]) / d)
                    elif d < -1e-300:
                        last = min(last, (low[x, y] - W[x, y]) / d)
                        first = max(first, (high[x, y] - W[x, y]) / d)
            for i in range(n):
                own = labels[i]
                for j in range(k):
                    gap = utility[i, own] - utility[i, j]
                    rate = speed[i, own] - speed[i, j]
                    if gap + rate * last >= 0.0 and gap + rate * first >= 0.0:
                        continue
                    norm, mixed, square = 0.0, 0.0, 0.0
                    for x in range(A.shape[0]):
                        d = A[x, own] - A[x, j]
                        v = B[x, own] - B[x, j]
                        norm += d * d
                        mixed += d * v
                        square += v * v
                    e = slack[i] * slack[i]
                    below, above = _forbidden(gap, rate, e * norm, e * mixed, e * square)
                    first = max(first, below)
                    last = min(last, above)
            if not 0.0 < last - first < np.inf:  # no direction, or no way
                continue
            length = first + (last - first) * rng.random()
            for x in range(m):
                for y in range(k):
                    W[x, y] = min(max(W[x, y] + length * direction[x, y], low[x, y]), high[x, y])
            for i in range(n):
                for y in range(k):
                    utility[i, y] += length * speed[i, y]
            for x in range(A.shape[0]):
                for y in range(k):
                    A[x, y] += length * B[x, y]


@inner
def _draw_direction(
    cloud: FloatArray, s: int, direction: FloatArray, rng: np.random.Generator
) -> None:
    """Draw a direction: mostly differences of other points, sometimes any, or of one action."""
    out_of_line()
    size, m, k = cloud.shape
    kind = rng.random()
    for x in range(m):
        for y in range(k):
            direction[x, y] = 0.0
    if kind < 0.7 and size > 2:
        for _ in range(12):
            i = int(rng.random() * size)
            j = int(rng.random() * size)
            if i != s and j != s:
                weight = rng.standard_normal()
                for x in range(m):
                    for y in range(k):
                        direction[x, y] += weight * (cloud[i, x, y] - cloud[j, x, y])
    elif kind < 0.85:
        y = int(rng.random() * k)
        for x in range(m):
            direction[x, y] = rng.standard_normal()
    else:
        for x in range(m):
            for y in range(k):
                direction[x, y] = rng.standard_normal()


@inner
def _forbidden(
    gap: float, rate: float, norm: float, mixed: float, square: float
) -> tuple[float, float]:
    """Return how far one may go back and forth before gap + rate·t < −√(norm + 2·mixed·t + …).

    The left side less the right is convex in t, so what is forbidden is an interval. From inside
    it, only ways out are allowed.
    """
    out_of_line()
    if gap < 0.0 and gap * gap > norm:
        return (0.0, np.inf) if rate > 0.0 else (-np.inf, 0.0)
    a = rate * rate - square
    b = gap * rate - mixed
    c = gap * gap - norm
    below, above = -np.inf, np.inf
    if abs(a) < 1e-300:
        if b == 0.0:
            return below, above
        t = -c / (2.0 * b)
        if gap + rate * t <= 0.0:
            if t >= 0.0:
                above = t
            else:
                below = t
        return below, above
    root = b * b - a * c
    if root < 0.0:
        return below, above
    q = -(b + np.sqrt(root)) if b >= 0.0 else -b + np.sqrt(root)
    for side in range(2):
        if side == 0:
            t = q / a
        else:
            if q == 0.0:
                continue
            t = c / q
        if gap + rate * t <= 0.0:
            if t >= 0.0:
                above = min(above, t)
            else:
                below = max(below, t)
    return below, above


@inner
def _product(asked: FloatArray, W: FloatArray, result: FloatArray) -> None:
    out_of_line()
    n, m = asked.shape
    k = W.shape[1]
    for i in range(n):
        for y in range(k):
            result[i, y] = 0.0
        for x in range(m):
            weight = asked[i, x]
            if weight != 0.0:
                for y in range(k):
                    result[i, y] += weight * W[x, y]


@entry
def violations(
    cloud: FloatArray, asked: FloatArray, labels: IntArray, slack: FloatArray, basis: FloatArray
) -> FloatArray:
    """Return by how much each point violates its worst answer; at most 0 if it allows them all.

    A violation is a distance between strategies: how much farther than its accuracy the strategy
    lies outside the region of the answer. Two columns that are (nearly) equal would agree with any
    answer that is one of the two: that counts as a violation of 1.
    """
    size, m, k = cloud.shape
    result = np.full(size, -np.inf)
    for s in range(size):
        W = cloud[s].copy()
        projected = basis.T @ W
        for i in range(asked.shape[0]):
            own = labels[i]
            for j in range(k):
                if j == own:
                    continue
                gap = 0.0
                for x in range(m):
                    gap += asked[i, x] * (W[x, j] - W[x, own])
                length = 0.0
                for x in range(projected.shape[0]):
                    length += (projected[x, j] - projected[x, own]) ** 2
                length = np.sqrt(length)
                excess = gap / length - slack[i] if length > _ALIKE else 1.0
                result[s] = max(result[s], excess)
    return result


@entry
def least_gaps(cloud: FloatArray, asked: FloatArray, labels: IntArray) -> FloatArray:
    """Return, for each point (rows) and answer (columns), by how much the answer was the best."""
    size, k = cloud.shape[0], cloud.shape[2]
    n = asked.shape[0]
    result = np.full((size, n), np.inf)
    utility = np.zeros((n, k))
    for s in range(size):
        _product(asked, cloud[s], utility)
        for i in range(n):
            for j in range(k):
                if j != labels[i]:
                    result[s, i] = min(result[s, i], utility[i, labels[i]] - utility[i, j])
    return result


@entry
def answers(cloud: FloatArray, points: FloatArray) -> IntArray:
    """Return the best response to each strategy (columns) under each point of the cloud (rows)."""
    size, m, k = cloud.shape
    result = np.zeros((size, points.shape[0]), np.int64)
    for s in range(size):
        for i in range(points.shape[0]):
            best = -np.inf
            for y in range(k):
                utility = 0.0
                for x in range(m):
                    utility += points[i, x] * cloud[s, x, y]
                if utility > best:
                    best = utility
                    result[s, i] = y
    return result
