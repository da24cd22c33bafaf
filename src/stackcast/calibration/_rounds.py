"""The compiled loop of a forecaster: one round after another, Player 1 against Player 2.

Round-by-round use and blocks run the same code in the same order, so that they agree bit for bit.
Player 1's imbalance, the forecast, its bin and the random numbers of a round are all fixed by
the time :func:`_draw` is done, before :func:`_finish` reads the outcome.

The loop stops where it needs something from Python, says so in ``clock[STAGE]``, and goes on from
there: the weights of a forecast where a binning is a Python function, or room for more bins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stackcast._compiling import entry, inner, leaf, out_of_line
from stackcast.calibration import _bankroll
from stackcast.calibration._bankroll import Bankroll
from stackcast.calibration._experts import Experts, learn, wake, weigh
from stackcast.calibration._forecast_game import (
    BIN,
    CHOSEN,
    GAMES,
    GAMES_BEFORE,
    HOME,
    ID,
    INSERTED,
    LOGGED,
    MET,
    MISSES,
    NEXT_ID,
    PENDING,
    POOLED,
    REPEATS,
    ROUND,
    STAGE,
    SUPPORT,
    USED,
    Nature,
    Pool,
    Room,
    insert,
    new_room,
    search,
    support_point,
)
from stackcast.calibration._outgoing import fixed_point
from stackcast.calibration._weights import CELLS, FUNCTION, CompiledBinning, cell_of, write_weights

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray

    IntArray = npt.NDArray[np.int64]

#: How often Player 2 may enrich its pool in one round.
INSERTIONS = 64

#: Player 1's rule beside those of the sleeping experts.
BETTING = 3

# Why the loop stopped: at the end; for the weights of the request (or, on a line, for a point and
# its weights); for room. Python answers the second by GIVEN.
DONE, NEEDS_WEIGHTS, NEEDS_ROOM, GIVEN = range(4)

# How Player 2 finds its forecast: by small games, as one outgoing fixed point, or (any number from
# two on) as two neighbours on a grid of so many steps.
MIXED, POINT = 0, 1


@entry
def run_rounds(
    totals: FloatArray,
    marks: FloatArray,
    starts: IntArray,
    seen: IntArray,
    wealth: FloatArray,
    tilts: FloatArray,
    sizes: FloatArray,
    priors: FloatArray,
    first_sizes: IntArray,
    banks: FloatArray,
    bin_shares: FloatArray,
    growth: FloatArray,
    expert_wealth: FloatArray,
    expert_priors: FloatArray,
    forecasts: FloatArray,
    tags: IntArray,
    support: IntArray,
    shares: FloatArray,
    vertices: FloatArray,
    request: FloatArray,
    cells: IntArray,
    kind: int,
    limits: FloatArray,
    budget: float,
    tableau: FloatArray,
    basis: IntArray,
    frame: FloatArray,
    facets: FloatArray,
    binning_kind: int,
    table: FloatArray,
    vector: FloatArray,
    tolerance: float,
    number: int,
    clock: IntArray,
    z: FloatArray,
    rule: int,
    outgoing: int,
    random: bool,
    accuracy: float,
    per: float,
    uniforms: FloatArray,
    outcomes: FloatArray,
    ids: IntArray,
    bins: IntArray,
    weights: FloatArray,
) -> FloatArray:
    """Play ``len(ids)`` rounds against the rows of ``outcomes`` (one row: the same every round).

    Fills ``ids`` and ``bins`` and returns a table that begins with the forecasts that were new, in
    the order of their ids. Without a round to play, the forecast of the coming round is fixed and
    nothing else happens. ``uniforms`` are the random numbers: one for each forecast, two if bins
    are drawn as well. ``weights`` are those of the request where Python was asked for them.

    The parts of the players come one by one because a call with plain arrays costs a tenth of one
    with named tuples.
    """
    experts = Experts(totals, marks, starts, seen)
    bankroll = Bankroll(
        wealth, tilts, sizes, priors, first_sizes, banks, bin_shares, growth,
        expert_wealth, expert_priors,
    )  # fmt: skip
    pool = Pool(forecasts, tags, support, shares, vertices, request, cells)
    nature = Nature(kind, limits, budget, tableau, basis, frame, facets)
    binning = CompiledBinning(binning_kind, table, vector, tolerance, number)
    room = new_room(pool, nature, z.size)
    drawn = 0
    m = pool.request.size - 1
    w = weights if binning.kind == FUNCTION else np.empty(pool.forecasts.shape[1] - m)
    first = clock[LOGGED]
    fresh = np.empty((16, m))
    for r in range(max(ids.size, 1)):
        if clock[PENDING] == 0:
            if not _decide(
                experts, bankroll, pool, clock, nature, binning, room, z, rule, outgoing,
                accuracy, w,
            ):  # fmt: skip
                break
            _draw(pool, clock, uniforms, drawn, random)
            drawn += 1 + random
        if ids.size == 0:
            break
        if clock[NEXT_ID] > clock[LOGGED]:
            fresh = _logged(pool, clock, first, fresh)
        _finish(experts, bankroll, pool, clock, room, z, rule, per, outcomes, ids, bins, r)
    if clock[NEXT_ID] > clock[LOGGED] and ids.size > 0:
        fresh = _logged(pool, clock, first, fresh)
    return fresh


@leaf
def _decide(
    experts: Experts,
    bankroll: Bankroll,
    pool: Pool,
    clock: IntArray,
    nature: Nature,
    binning: CompiledBinning,
    room: Room,
    z: FloatArray,
    rule: int,
    outgoing: int,
    accuracy: float,
    w: FloatArray,
) -> bool:
    """Find the mixture of the coming round; False: Python is needed first."""
    out_of_line()
    if clock[STAGE] != GIVEN:
        if binning.kind == CELLS and clock[MET] + INSERTIONS >= pool.cells.shape[0]:
            clock[STAGE] = NEEDS_ROOM
            return False
        if rule == BETTING:
            _bankroll.imbalance(bankroll, z)
        else:
            wake(experts, clock[ROUND] + 1, rule)
            weigh(experts, z)
    if outgoing != MIXED and binning.kind != FUNCTION:
        if outgoing == POINT and nature.facets.shape[1] > 2:
            _in_the_hull(pool, clock, nature, binning, z, room, w)
        else:
            _on_the_line(pool, clock, nature, binning, z, room, outgoing, w)
    elif outgoing != MIXED:
        if clock[STAGE] != GIVEN:
            clock[STAGE] = NEEDS_WEIGHTS
            return False
        clock[STAGE] = DONE
        _place(pool, clock, 0, pool.request[: pool.request.size - 1], 1.0, w)
    else:
        t = clock[ROUND] + 1.0
        epsilon = accuracy / (t if rule == BETTING else np.sqrt(t))
        return bool(_mix(pool, clock, nature, binning, bankroll, z, epsilon, w, room))
    return True


@leaf
def _mix(
    pool: Pool,
    clock: IntArray,
    nature: Nature,
    binning: CompiledBinning,
    bankroll: Bankroll,
    z: FloatArray,
    epsilon: float,
    w: FloatArray,
    room: Room,
) -> bool:
    """Find a mixture, enriching the pool where it is too poor; False: weights are needed first."""
    out_of_line()
    reached = False
    if clock[STAGE] != GIVEN:
        clock[INSERTED] = 0
        clock[GAMES_BEFORE] = clock[GAMES]
        reached = clock[POOLED] > 0 and search(pool, clock, nature, z, epsilon, room)
    while not reached and clock[INSERTED] < INSERTIONS:
        if binning.kind == FUNCTION:
            if clock[STAGE] != GIVEN:
                clock[STAGE] = NEEDS_WEIGHTS
                return False
            clock[STAGE] = DONE
        elif binning.kind != CELLS:
            write_weights(binning, pool.request, w)
        slot = insert(pool, clock, pool.request, w)
        if binning.kind == CELLS:
            met = clock[MET]
            pool.tags[slot, HOME] = cell_of(binning, pool.request, pool.cells, clock, MET)
            if clock[MET] > met:
                _bankroll.open_bin(
                    bankroll, met, 1.0 / ((met + 1.0) * (met + 2.0)), 1.0 / (met + 2.0)
                )
        clock[INSERTED] += 1
        reached = search(pool, clock, nature, z, epsilon, room)
    clock[REPEATS] += clock[GAMES] - clock[GAMES_BEFORE] > 1
    clock[MISSES] += not reached
    return True


@leaf
def _draw(pool: Pool, clock: IntArray, uniforms: FloatArray, at: int, random: bool) -> None:
    """Draw the forecast from the mixture, and its bin if it may lie in several."""
    out_of_line()
    u = uniforms[at]
    position = 0
    while position < clock[SUPPORT] - 1:
        u -= pool.shares[position]
        if u < 0.0:
            break
        position += 1
    slot = pool.support[position]
    chosen = pool.tags[slot, HOME]
    if random:
        u = uniforms[at + 1]
        if chosen < 0:
            m = pool.request.size - 1
            for i in range(pool.forecasts.shape[1] - m):
                if pool.forecasts[slot, m + i] > 0.0:
                    chosen = i
                    u -= pool.forecasts[slot, m + i]
                    if u < 0.0:
                        break
    clock[CHOSEN] = slot
    clock[BIN] = chosen
    clock[PENDING] = 1


@leaf
def _finish(
    experts: Experts,
    bankroll: Bankroll,
    pool: Pool,
    clock: IntArray,
    room: Room,
    z: FloatArray,
    rule: int,
    per: float,
    outcomes: FloatArray,
    ids: IntArray,
    bins: IntArray,
    r: int,
) -> None:
    """End a round with its outcome: Player 1 learns from the bins in which the forecast lies."""
    out_of_line()
    m = outcomes.shape[1]
    slot = clock[CHOSEN]
    ids[r] = pool.tags[slot, ID]
    bins[r] = clock[BIN]
    row, home, gap = pool.forecasts[slot], pool.tags[slot, HOME], room.gap
    for j in range(m):
        gap[j] = outcomes[r if outcomes.shape[0] > 1 else 0, j] - row[j]
    clock[ROUND] += 1
    clock[PENDING] = 0
    if rule != BETTING:
        learn(experts, clock[ROUND], z, row[m:], gap, per)
        return
    if home >= 0:
        _bankroll.bet(bankroll, home, 1.0, gap)
    else:
        for i in range(row.size - m):
            if row[m + i] > 0.0:
                _bankroll.bet(bankroll, i, row[m + i], gap)
    _bankroll.settle_round(bankroll, clock[ROUND])


@inner
def _logged(pool: Pool, clock: IntArray, first: int, fresh: FloatArray) -> FloatArray:
    """Return ``fresh`` with the forecasts that have joined the pool since the last look."""
    out_of_line()
    m = fresh.shape[1]
    while clock[NEXT_ID] - first > fresh.shape[0]:
        larger = np.empty((2 * fresh.shape[0], m))
        for r in range(fresh.shape[0]):
            for j in range(m):
                larger[r, j] = fresh[r, j]
        fresh = larger
    for slot in range(clock[POOLED]):
        if pool.tags[slot, ID] >= clock[LOGGED]:
            for j in range(m):
                fresh[pool.tags[slot, ID] - first, j] = pool.forecasts[slot, j]
    clock[LOGGED] = clock[NEXT_ID]
    return fresh


@leaf
def _place(
    pool: Pool, clock: IntArray, place: int, point: FloatArray, share: float, w: FloatArray
) -> None:
    """Give ``point`` a place in the mixture of this round; places come one after the other."""
    out_of_line()
    slot = pool.support[place]
    same = clock[POOLED] > slot
    for j in range(point.size):
        same = same and pool.forecasts[slot, j] == point[j]
    if not same:
        slot = insert(pool, clock, point, w)
    clock[SUPPORT] = place + 1
    pool.support[place] = slot
    pool.shares[place] = share
    pool.tags[slot, USED] = clock[ROUND] + 1


@leaf
def _in_the_hull(
    pool: Pool,
    clock: IntArray,
    nature: Nature,
    binning: CompiledBinning,
    z: FloatArray,
    room: Room,
    w: FloatArray,
) -> None:
    """Find the outgoing fixed point in two or three dimensions, near the last one."""
    out_of_line()
    m = pool.request.size - 1
    line, vertex, point = room.line, room.vertex, room.gap
    for j in range(m):
        point[j] = pool.request[j]
        if clock[POOLED] > 0:
            point[j] = pool.forecasts[pool.support[0], j]
    fixed_point(binning, z, nature.frame, nature.facets, point, w)
    for j in range(m):
        line[j] = 0.0
        for i in range(w.size):
            line[j] += w[i] * z[i * m + j]
    support_point(nature, line[:m], vertex)
    pool.request[m] = 0.0
    for j in range(m):
        pool.request[m] += line[j] * (vertex[j] - point[j])
    _place(pool, clock, 0, point, 1.0, w)


@leaf
def _on_the_line(
    pool: Pool,
    clock: IntArray,
    nature: Nature,
    binning: CompiledBinning,
    z: FloatArray,
    room: Room,
    steps: int,
    w: FloatArray,
) -> None:
    """Find the outgoing fixed point of a line by bisection, or mix two neighbours of a grid.

    On a grid of so many steps: with Z_a > 0 > Z_b at neighbours a and b, the mixture has
    q·Z_a + (1 − q)·Z_b = 0, so that no outcome gains more than a step times the larger of both.
    """
    out_of_line()
    m = pool.request.size - 1
    point = room.vertex
    low, high = nature.limits[0, 0], nature.limits[1, 0]
    first, last = _pull(binning, z, low, point, w), _pull(binning, z, high, point, w)
    p, other, share = low, low, 1.0
    if first > 0.0 and last >= 0.0:
        p = high
    elif first > 0.0:
        left, right = low, high
        if steps == POINT:
            p = 0.5 * (left + right)
            while left < p < right:
                if _pull(binning, z, p, point, w) > 0.0:
                    left = p
                else:
                    right = p
                p = 0.5 * (left + right)
        else:
            a, b = 0, steps
            while b - a > 1:
                middle = (a + b) // 2
                p = low + (high - low) * (middle / steps)
                if _pull(binning, z, p, point, w) > 0.0:
                    a, left = middle, p
                else:
                    b, right = middle, p
        above, below = _pull(binning, z, left, point, w), _pull(binning, z, right, point, w)
        p = left if above < -below else right
        if steps != POINT and below < 0.0:
            p, other, share = left, right, -below / (above - below)
    pull = _pull(binning, z, p, point, w)
    _place(pool, clock, 0, point, share, w)
    gains = share * pull * (low - p), share * pull * (high - p)
    if share < 1.0:
        pull = _pull(binning, z, other, point, w)
        _place(pool, clock, 1, point, 1.0 - share, w)
        gains = (
            gains[0] + (1.0 - share) * pull * (low - other),
            gains[1] + (1.0 - share) * pull * (high - other),
        )
    pool.request[m] = max(gains[0], gains[1])


@leaf
def _pull(
    binning: CompiledBinning, z: FloatArray, p: float, point: FloatArray, w: FloatArray
) -> float:
    """Return Z = Σ_i w_i z_i along the only direction of a one-dimensional space."""
    out_of_line()
    m = point.size
    point[0] = p
    if m == 2:
        point[1] = 1.0 - p
    write_weights(binning, point, w)
    total = 0.0
    for i in range(w.size):
        if w[i] > 0.0:
            total += w[i] * (z[i * m] - (z[i * m + 1] if m == 2 else 0.0))
    return total
