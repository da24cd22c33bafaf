"""The compiled loop of a forecaster: one round after another, Player 1 against Player 2.

Round-by-round use and blocks call the same functions in the same order, so that they agree to the
last bit. Player 1's imbalance, the forecast, its bin and the random numbers of a round are all fixed
by :func:`begin` and :func:`draw`, before :func:`finish` reads the outcome.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from stackcast.calibration.binnings import CompiledBinning, write_weights
from stackcast.calibration.experts import Experts, learn, wake, weigh
from stackcast.calibration.minimax import (
    BIN,
    CHOSEN,
    GAMES,
    LOGGED,
    MISSES,
    NEXT_ID,
    PENDING,
    POOLED,
    REPEATS,
    ROUND,
    SUPPORT,
    Nature,
    Pool,
    insert,
    search,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray

    IntArray = npt.NDArray[np.int64]

#: How often Player 2 may enrich its pool in one round.
INSERTIONS = 64


@njit(cache=True)
def begin(experts: Experts, clock: IntArray, z: FloatArray, rule: int) -> None:
    """Start a round: wake the starts that are due and weigh the experts."""
    wake(experts, clock[ROUND] + 1, rule)
    weigh(experts, z)


@njit(cache=True)
def end_search(clock: IntArray, games_before: int, reached: bool) -> None:
    """Count what the search of a round took."""
    clock[REPEATS] += clock[GAMES] - games_before > 1
    clock[MISSES] += not reached


@njit(cache=True)
def draw(pool: Pool, clock: IntArray, rng: np.random.Generator, random: bool) -> None:
    """Draw the forecast from the mixture, and its bin if it may lie in several."""
    u = rng.random()
    position = 0
    while position < clock[SUPPORT] - 1:
        u -= pool.shares[position]
        if u < 0.0:
            break
        position += 1
    slot = pool.support[position]
    chosen = pool.bins[slot]
    if random:
        u = rng.random()
        if chosen < 0:
            for i in range(pool.weights.shape[1]):
                if pool.weights[slot, i] > 0.0:
                    chosen = i
                    u -= pool.weights[slot, i]
                    if u < 0.0:
                        break
    clock[CHOSEN] = slot
    clock[BIN] = chosen
    clock[PENDING] = 1


@njit(cache=True)
def finish(
    experts: Experts, pool: Pool, clock: IntArray, z: FloatArray, outcome: FloatArray, per: float
) -> None:
    """End a round with its outcome."""
    slot = clock[CHOSEN]
    learn(experts, z, pool.weights[slot], outcome - pool.points[slot], per)
    clock[ROUND] += 1
    clock[PENDING] = 0


@njit(cache=True)
def set_outgoing(pool: Pool, clock: IntArray, p: float, point: FloatArray, w: FloatArray) -> None:
    """Make the outgoing fixed point ``point`` the forecast of this round, with certainty."""
    slot = pool.support[0]
    if clock[SUPPORT] != 1 or pool.points[slot, 0] != p:
        slot = insert(pool, clock, point, w)
    clock[SUPPORT] = 1
    pool.support[0] = slot
    pool.shares[0] = 1.0
    pool.used[slot] = clock[ROUND] + 1


@njit(cache=True)
def _pull(binning: CompiledBinning, z: FloatArray, point: FloatArray, w: FloatArray) -> float:
    write_weights(binning, point, w)
    return weighted_pull(z, point.size, w)


@njit(cache=True)
def weighted_pull(z: FloatArray, m: int, w: FloatArray) -> float:
    """Return Z = Σ_i w_i z_i along the only direction of a one-dimensional space."""
    total = 0.0
    for i in range(w.size):
        total += w[i] * (z[i * m] - (z[i * m + 1] if m == 2 else 0.0))
    return total


@njit(cache=True)
def _outgoing(
    pool: Pool, clock: IntArray, nature: Nature, binning: CompiledBinning, z: FloatArray
) -> None:
    """Find the outgoing fixed point by bisection, as :func:`minimax.outgoing_point` does."""
    m = pool.points.shape[1]
    w = np.empty(pool.weights.shape[1])
    point = np.empty(m)
    left, right = nature.low[0], nature.high[0]
    p = left
    if _pull(binning, z, _on_line(left, point), w) > 0.0:
        p = right
        if _pull(binning, z, _on_line(right, point), w) < 0.0:
            p = 0.5 * (left + right)
            while left < p < right:
                if _pull(binning, z, _on_line(p, point), w) > 0.0:
                    left = p
                else:
                    right = p
                p = 0.5 * (left + right)
            at_left = abs(_pull(binning, z, _on_line(left, point), w))
            p = left if at_left < abs(_pull(binning, z, _on_line(right, point), w)) else right
    pull = _pull(binning, z, _on_line(p, point), w)
    pool.value[0] = max(pull * (nature.low[0] - p), pull * (nature.high[0] - p))
    set_outgoing(pool, clock, p, point, w)


@njit(cache=True)
def _on_line(p: float, point: FloatArray) -> FloatArray:
    point[0] = p
    if point.size == 2:
        point[1] = 1.0 - p
    return point


@njit(cache=True)
def decide(
    experts: Experts,
    pool: Pool,
    clock: IntArray,
    nature: Nature,
    binning: CompiledBinning,
    z: FloatArray,
    rng: np.random.Generator,
    rule: int,
    outgoing: bool,
    random: bool,
    accuracy: float,
) -> None:
    """Fix the forecast and the bin of the coming round."""
    begin(experts, clock, z, rule)
    w = np.empty(pool.weights.shape[1])
    if clock[POOLED] == 0 and not outgoing:
        write_weights(binning, pool.candidate, w)
        insert(pool, clock, pool.candidate, w)
    if outgoing:
        _outgoing(pool, clock, nature, binning, z)
    else:
        games_before = clock[GAMES]
        epsilon = accuracy / np.sqrt(clock[ROUND] + 1)
        reached = search(pool, clock, nature, z, epsilon)
        for _ in range(INSERTIONS):
            if reached:
                break
            write_weights(binning, pool.candidate, w)
            insert(pool, clock, pool.candidate, w)
            reached = search(pool, clock, nature, z, epsilon)
        end_search(clock, games_before, reached)
    draw(pool, clock, rng, random)


@njit(cache=True)
def run_rounds(
    experts: Experts,
    pool: Pool,
    clock: IntArray,
    nature: Nature,
    binning: CompiledBinning,
    z: FloatArray,
    rng: np.random.Generator,
    rule: int,
    outgoing: bool,
    random: bool,
    accuracy: float,
    per: float,
    outcomes: FloatArray,
    ids: IntArray,
    bins: IntArray,
) -> FloatArray:
    """Play ``len(ids)`` rounds against the rows of ``outcomes`` (one row: the same every round).

    Fills ``ids`` and ``bins`` and returns the forecasts that were new, in the order of their ids.
    """
    m = pool.points.shape[1]
    constant = outcomes.shape[0] == 1
    first = clock[LOGGED]
    fresh = np.empty((16, m))
    for r in range(ids.size):
        if clock[PENDING] == 0:
            decide(
                experts, pool, clock, nature, binning, z, rng, rule, outgoing, random, accuracy
            )
        if clock[NEXT_ID] > clock[LOGGED]:
            while clock[NEXT_ID] - first > fresh.shape[0]:
                larger = np.empty((2 * fresh.shape[0], m))
                larger[: fresh.shape[0]] = fresh
                fresh = larger
            for slot in range(pool.ids.size):
                if pool.ids[slot] >= clock[LOGGED]:
                    fresh[pool.ids[slot] - first] = pool.points[slot]
            clock[LOGGED] = clock[NEXT_ID]
        ids[r] = pool.ids[clock[CHOSEN]]
        bins[r] = clock[BIN]
        finish(experts, pool, clock, z, outcomes[0] if constant else outcomes[r], per)
    return fresh[: clock[NEXT_ID] - first].copy()
