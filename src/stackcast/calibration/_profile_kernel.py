"""Compiled loops of the profile: prefix sums that do not drift, and worst differences of them.

The row of prefix sums of bin i and coordinate j is S(t) = Σ_{τ≤t} w_i(p_τ)(h_τj − p_τj), t = 0..T
(Section 2, the calibration error without its division by the number of rounds). One row is held at
a time, 8 bytes a round.

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
def prefix_sum(
    outcomes: FloatArray,
    ends: IntArray,
    forecasts: FloatArray,
    ids: IntArray,
    labels: IntArray,
    weights: FloatArray,
    i: int,
    j: int,
    row: FloatArray,
) -> None:
    """Fill ``row`` with the prefix sums of bin i and coordinate j; see :class:`ForecastRecord`."""
    rounds, b = row.size - 1, 0
    high, low = 0.0, 0.0
    row[0] = 0.0
    for t in range(rounds):
        if ends.size == 0:
            b = t
        elif t == ends[b]:
            b += 1
        weight = (1.0 if labels[t] == i else 0.0) if labels.size else weights[t, i]
        if weight != 0.0:
            term, rest = _difference(outcomes[b, j], forecasts[ids[t] if ids.size else t, j])
            if weight != 1.0:
                term, light = _product(weight, term)
                rest = light + weight * rest
            high, low = _add(high, low, term, rest)
        row[t + 1] = high


@entry
def worst_of_length(row: FloatArray, length: int) -> tuple[float, int]:
    """Return the largest |S(u + length) − S(u)| of a row of prefix sums, and its u."""
    best, where = -1.0, 0
    for u in range(row.size - length):
        value = abs(row[u + length] - row[u])
        if value > best:
            best, where = value, u
    return best, where


@cached
@njit(fastmath={"nnan", "nsz"})
def _range(row: FloatArray, begin: int, end: int) -> float:
    low, high = row[begin], row[begin]
    for t in range(begin + 1, end):
        low, high = min(low, row[t]), max(high, row[t])
    return float(high - low)


@entry
def worst_of_lengths(
    row: FloatArray, shortest: int, longest: int, first: int, last: int, enough: float
) -> tuple[float, int, int, float]:
    """Return the largest |S(v) − S(u)| over shortest ≤ v − u ≤ longest, with its u and v.

    Ends v run over first..last − 1, with first ≥ shortest. The smallest and the largest S(u) in
    the window v − longest ≤ u ≤ v − shortest slide along with v in two queues of candidates, each
    index being pushed and popped once: O(last − first + longest − shortest).

    Pieces of the row whose whole range is at most ``enough`` are skipped; the last number returned
    bounds what they hold, and the first is −1 if all were skipped.
    """
    best, best_u, best_v, skipped = -1.0, 0, 0, 0.0
    piece = max(64, 4 * longest)
    size = min(piece, last - first) + longest - shortest + 1
    low_queue, high_queue = np.empty(size, np.int64), np.empty(size, np.int64)
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
                best, best_u, best_v = rise, low_queue[low_head], v
            fall = row[high_queue[high_head]] - here
            if fall > best:
                best, best_u, best_v = fall, high_queue[high_head], v
    return best, best_u, best_v, skipped


@entry
def steepest_interval(
    outcomes: FloatArray,
    ends: IntArray,
    forecasts: FloatArray,
    ids: IntArray,
    labels: IntArray,
    weights: FloatArray,
    i: int,
    j: int,
    sizes: FloatArray,
    curvatures: FloatArray,
    prices: FloatArray,
    ratio: float,
    shortest: int,
) -> tuple[float, int, int, float]:
    """Return a larger ratio δ·|S|/(R + κδ²V) than ``ratio`` if there is one, its u and v and |S|.

    For every side and size it looks for the interval of at least ``shortest`` rounds on which
    δ·|S| − ratio·(R + κδ²V) is largest, for bin i and coordinate j. ``prices`` is R by the first
    round. One pass, in which the last ``shortest`` sums are kept.
    """
    rounds, Q, b = prices.size, 2 * sizes.size, 0
    # By side and size: the least level so far, where, and S and V there; the same of the best rise.
    least, start = np.full(Q, np.inf), np.zeros(Q, np.int64)
    base, base2 = np.zeros(Q), np.zeros(Q)
    most, found = np.zeros(Q), np.full((Q, 2), -1)
    total, spread = np.zeros(Q), np.zeros(Q)
    sums, squares = np.zeros(shortest), np.zeros(shortest)
    s = s2 = 0.0
    for t in range(rounds):
        if ends.size == 0:
            b = t
        elif t == ends[b]:
            b += 1
        w = (1.0 if labels[t] == i else 0.0) if labels.size else weights[t, i]
        x = w * (outcomes[b, j] - forecasts[ids[t] if ids.size else t, j])
        sums[t % shortest], squares[t % shortest] = s, s2
        s, s2 = s + x, s2 + x * x
        u = t + 1 - shortest
        if u < 0:
            continue
        before, before2 = sums[u % shortest], squares[u % shortest]
        for q in range(Q):
            d = sizes[q // 2]
            step = d if q % 2 == 0 else -d
            curved = curvatures[q // 2] * d * d
            level = step * before - ratio * (curved * before2 - prices[u])
            if level < least[q]:
                least[q], start[q], base[q], base2[q] = level, u, before, before2
            rise = step * s - ratio * curved * s2 - least[q]
            if rise > most[q]:
                most[q], found[q, 0], found[q, 1] = rise, start[q], t + 1
                total[q], spread[q] = s - base[q], s2 - base2[q]
    best, best_u, best_v, best_sum = ratio, 0, shortest, 0.0
    for q in range(Q):
        if found[q, 0] >= 0:
            d = sizes[q // 2]
            gained = d * total[q] if q % 2 == 0 else -d * total[q]
            spent = prices[found[q, 0]] + curvatures[q // 2] * d * d * spread[q]
            if gained / spent > best:
                best, best_u, best_v = gained / spent, found[q, 0], found[q, 1]
                best_sum = abs(total[q])
    return best, best_u, best_v, best_sum
