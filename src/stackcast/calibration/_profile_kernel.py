"""Compiled loops of the profile: prefix sums that do not drift, and worst differences of them.

Row c = i·m + j of the prefix sums holds S_c(t) = Σ_{τ≤t} w_i(p_τ)(h_τj − p_τj), t = 0..T
(Section 2, the calibration error without its division by the number of rounds).

Rounding. A term is formed without error as an unevaluated sum of two doubles, and the running sum
is kept as such a pair too; what is stored is that pair rounded once. So a stored S_c(t) is within
2⁻⁵³·|S_c(t)| + 8·t·2⁻¹⁰⁶·max|S_c| of the exact sum of the given doubles: for ten million rounds of
a calibrated forecaster (|S| in the thousands) that is 10⁻¹², where plain sums may lose 10⁻⁶.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from stackcast._compiling import cached, entry

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray

    IntArray = npt.NDArray[np.int64]

UNIT_ROUNDOFF = 2.0**-53
_SPLITTER = 134217729.0  # 2²⁷ + 1, Dekker's constant


@cached
@njit(inline="always")
def _add(high: float, low: float, term: float, rest: float) -> tuple[float, float]:
    """Add (term + rest) to the pair (high + low), both sums unevaluated."""
    total = high + term
    back = total - high
    low += ((high - (total - back)) + (term - back)) + rest
    rounded = total + low
    return rounded, low - (rounded - total)


@cached
@njit(inline="always")
def _difference(a: float, b: float) -> tuple[float, float]:
    """Return a − b as a pair that is exact."""
    high = a - b
    back = high - a
    return high, (a - (high - back)) - (b + back)


@cached
@njit(inline="always")
def _product(a: float, b: float) -> tuple[float, float]:
    """Return a·b as a pair that is exact."""
    high = a * b
    scaled = _SPLITTER * a
    a_high = scaled - (scaled - a)
    a_low = a - a_high
    scaled = _SPLITTER * b
    b_high = scaled - (scaled - b)
    b_low = b - b_high
    return high, ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low


@entry
def prefix_sums_of_labels(
    outcomes: FloatArray, forecasts: FloatArray, labels: IntArray, bins: int
) -> FloatArray:
    """Return the prefix sums, one row for each bin and coordinate, when bins are labels."""
    rounds, m = outcomes.shape
    sums = np.empty((bins * m, rounds + 1))
    for i in range(bins):
        for j in range(m):
            row = sums[i * m + j]
            high, low = 0.0, 0.0
            row[0] = 0.0
            for t in range(rounds):
                if labels[t] == i:
                    term, rest = _difference(outcomes[t, j], forecasts[t, j])
                    high, low = _add(high, low, term, rest)
                row[t + 1] = high
    return sums


@entry
def prefix_sums_of_weights(
    outcomes: FloatArray, forecasts: FloatArray, weights: FloatArray
) -> FloatArray:
    """Return the prefix sums, one row for each bin and coordinate, when bins are weights."""
    rounds, m = outcomes.shape
    bins = weights.shape[1]
    sums = np.empty((bins * m, rounds + 1))
    for i in range(bins):
        for j in range(m):
            row = sums[i * m + j]
            high, low = 0.0, 0.0
            row[0] = 0.0
            for t in range(rounds):
                weight = weights[t, i]
                if weight != 0.0:
                    term, rest = _difference(outcomes[t, j], forecasts[t, j])
                    heavy, light = _product(weight, term)
                    high, low = _add(high, low, heavy, light + weight * rest)
                row[t + 1] = high
    return sums


@entry
def worst_of_length(sums: FloatArray, length: int) -> tuple[float, int, int]:
    """Return the largest |S_c(u + length) − S_c(u)|, its u and its c."""
    best, where, which = -1.0, 0, 0
    for c in range(sums.shape[0]):
        row = sums[c]
        for u in range(row.size - length):
            value = abs(row[u + length] - row[u])
            if value > best:
                best, where, which = value, u, c
    return best, where, which


@cached
@njit(fastmath={"nnan", "nsz"})
def _range(row: FloatArray, begin: int, end: int) -> float:
    low, high = row[begin], row[begin]
    for t in range(begin + 1, end):
        low, high = min(low, row[t]), max(high, row[t])
    return float(high - low)


@entry
def worst_of_lengths(
    sums: FloatArray, shortest: int, longest: int, first: int, last: int, enough: float
) -> tuple[float, int, int, int, float]:
    """Return the largest |S_c(v) − S_c(u)| over shortest ≤ v − u ≤ longest, with its u, v and c.

    Ends v run over first..last − 1, with first ≥ shortest. The smallest and the largest S_c(u) in
    the window v − longest ≤ u ≤ v − shortest slide along with v in two queues of candidates, each
    index being pushed and popped once: O(last − first + longest − shortest) for each row.

    Pieces of a row whose whole range is at most ``enough`` are skipped; the last number returned
    bounds what they hold, and the first is −1 if all were skipped.
    """
    best, best_u, best_v, best_c, skipped = -1.0, 0, 0, 0, 0.0
    piece = max(64, 4 * longest)
    size = min(piece, last - first) + longest - shortest + 1
    low_queue, high_queue = np.empty(size, np.int64), np.empty(size, np.int64)
    for c in range(sums.shape[0]):
        row = sums[c]
        for from_v in range(first, last, piece):
            to_v = min(from_v + piece, last)
            entering = max(0, from_v - longest)
            bound = _range(row, entering, to_v)
            if bound <= enough:
                skipped = max(skipped, bound)
                continue
            low_head, low_tail, high_head, high_tail = 0, 0, 0, 0
            for v in range(from_v, to_v):
                while entering <= v - shortest:
                    value = row[entering]
                    while low_tail > low_head and row[low_queue[low_tail - 1]] >= value:
                        low_tail -= 1
                    low_queue[low_tail] = entering
                    low_tail += 1
                    while high_tail > high_head and row[high_queue[high_tail - 1]] <= value:
                        high_tail -= 1
                    high_queue[high_tail] = entering
                    high_tail += 1
                    entering += 1
                while low_queue[low_head] < v - longest:
                    low_head += 1
                while high_queue[high_head] < v - longest:
                    high_head += 1
                here = row[v]
                rise = here - row[low_queue[low_head]]
                if rise > best:
                    best, best_u, best_v, best_c = rise, low_queue[low_head], v, c
                fall = row[high_queue[high_head]] - here
                if fall > best:
                    best, best_u, best_v, best_c = fall, high_queue[high_head], v, c
    return best, best_u, best_v, best_c, skipped


@entry
def steepest_interval(
    outcomes: FloatArray,
    forecasts: FloatArray,
    labels: IntArray,
    weights: FloatArray,
    bins: int,
    sizes: FloatArray,
    curvatures: FloatArray,
    prices: FloatArray,
    ratio: float,
    shortest: int,
) -> tuple[float, int, int, int]:
    """Return a larger ratio δ·|S|/(R + κδ²V) than ``ratio`` if there is one, and its u, v and row.

    For every bin, coordinate, side and size it looks for the interval of at least ``shortest``
    rounds on which δ·|S| − ratio·(R + κδ²V) is largest. ``prices`` is R by the first round.
    """
    rounds, m = outcomes.shape
    labelled = labels.size > 0
    best, best_u, best_v, best_c = ratio, 0, shortest, 0
    sums, squares = np.empty(rounds + 1), np.empty(rounds + 1)
    for i in range(bins):
        for j in range(m):
            sums[0] = squares[0] = 0.0
            for t in range(rounds):
                w = (1.0 if labels[t] == i else 0.0) if labelled else weights[t, i]
                x = w * (outcomes[t, j] - forecasts[t, j])
                sums[t + 1] = sums[t] + x
                squares[t + 1] = squares[t] + x * x
            for q in range(2 * sizes.size):
                d = sizes[q // 2]
                step = d if q % 2 == 0 else -d
                curved = curvatures[q // 2] * d * d
                least, start = np.inf, 0
                most, found_u, found_v = 0.0, -1, -1
                for v in range(shortest, rounds + 1):
                    u = v - shortest
                    level = step * sums[u] - ratio * (curved * squares[u] - prices[u])
                    if level < least:
                        least, start = level, u
                    rise = step * sums[v] - ratio * curved * squares[v] - least
                    if rise > most:
                        most, found_u, found_v = rise, start, v
                if found_u >= 0:
                    s = step * (sums[found_v] - sums[found_u])
                    spent = prices[found_u] + curved * (squares[found_v] - squares[found_u])
                    if s / spent > best:
                        best, best_u, best_v, best_c = s / spent, found_u, found_v, i * m + j
    return best, best_u, best_v, best_c
