"""Player 2: the forecast as a small zero-sum game, for any binning.

Against Player 1's imbalance z, the forecast p earns nature Σ_i w_i(p)⟨z_i, h − p⟩ when the outcome
is h. Player 2 needs a mixture Q of forecasts with max_h E_Q[gain] ≤ ε (Section 4 of the paper). It
keeps a bounded pool of forecasts and solves the zero-sum game on the pool. If the value is above ε,
nature's own optimal strategy h* joins the pool as a forecast: its gain against h* is exactly 0,
whatever the binning. Of the forecasts that lie wholly in bin i only the one with the largest
⟨z_i, p⟩ can matter, so the game has one row for each bin and one for each shared forecast.

On the simplex nature's pure strategies are its columns. On another polytope, and on a ball, its
extreme points are found when they are needed, by a linear oracle, and the oracle certifies the
final mixture.

Nothing is taken from the solver on trust: what is compared with ε is the value of the mixture
itself, computed from the definition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stackcast._compiling import inner, out_of_line
from stackcast.calibration._simplex import canonical_form, furthest_vertex, solve_game
from stackcast.games import Ball

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray
    from stackcast.games import StrategySpace

    IntArray = npt.NDArray[np.int64]

_SIMPLEX, _BUDGET, _POLYTOPE, _BALL = 0, 1, 2, 3
_SEARCHES = 64

# Entries of the clock that the players share.
ROUND, NEXT_ID, POOLED, VERTICES, CHOSEN, BIN, PENDING, SUPPORT, GAMES, REPEATS, MISSES, LOGGED = (
    range(12)
)
# Where the search for a mixture stands: what it waits for, how often it has enriched the pool,
# how many games were solved before it began; and how many bins were met, where they are made on the
# way.
STAGE, INSERTED, GAMES_BEFORE, MET = range(12, 16)
CLOCK_LENGTH = 16

# Columns of a pool's tags: the only bin of a forecast (−1 if it is shared), its id, and the last
# round in which it had a share.
HOME, ID, USED = 0, 1, 2


class Nature(NamedTuple):
    """A strategy space as compiled code reads it: nature's linear oracle."""

    kind: int
    limits: FloatArray  # (2, m): the lowest and the highest value of each coordinate
    budget: float  # the radius of a ball
    tableau: FloatArray
    basis: IntArray


class Pool(NamedTuple):
    """Player 2's forecasts, its mixture of them, and the vertices of nature that it has met."""

    forecasts: FloatArray  # (K, m + n): the forecast and its weights
    tags: IntArray  # (K, 3)
    support: IntArray  # (K,): the places of the mixture
    shares: FloatArray  # (K,): its probabilities
    vertices: FloatArray  # (V, m + 1): a vertex, and the last round in which it mattered
    request: FloatArray  # (m + 1,): the forecast that the search lacks; the value of the mixture
    cells: IntArray  # (capacity, m): the bins met so far, where they are made on the way


def new_pool(bins: int, shared: bool, centre: FloatArray, capacity: int = 0) -> Pool:
    """Return an empty pool that asks for ``centre`` as its first forecast.

    ``shared`` says that forecasts lie in several bins as a rule; ``capacity`` is room for bins that
    are made on the way (then ``bins`` is 0).
    """
    m = len(centre)
    size = 2 * _SEARCHES + 4 * (m if shared else bins + capacity)
    tags = np.zeros((size, 3), dtype=np.int64)
    tags[:, ID] = -1
    return Pool(
        np.zeros((size, m + bins)),
        tags,
        np.zeros(size, dtype=np.int64),
        np.zeros(size),
        np.zeros((2 * _SEARCHES + 4 * m, m + 1)),
        np.append(centre, 0.0),
        np.zeros((capacity, m), dtype=np.int64),
    )


def with_capacity(pool: Pool, capacity: int) -> Pool:
    """Return the same pool with room for so many bins that are made on the way."""
    larger = new_pool(0, False, pool.request[:-1], capacity)
    for new, old in zip(larger, pool, strict=True):
        new[tuple(slice(length) for length in old.shape)] = old
    return larger


def new_nature(space: StrategySpace | Ball) -> Nature:
    """Return the oracle of a strategy space, the fastest one that fits it."""
    m = space.dimension
    tableau, basis = np.zeros((1, 1)), np.zeros(0, dtype=np.int64)
    if isinstance(space, Ball):
        return Nature(_BALL, space.limits, space.radius, tableau, basis)
    if space.kind == "simplex":
        return Nature(_SIMPLEX, np.array([[0.0] * m, [1.0] * m]), np.inf, tableau, basis)
    box = _budgeted_box(space)
    if box is not None:
        return Nature(_BUDGET, np.array(box[:2]), float(box[2]), tableau, basis)
    limits = space.limits
    # Coordinates are counted from the lowest, because the simplex method wants them nonnegative.
    tableau, basis = canonical_form(space, limits[0])
    return Nature(_POLYTOPE, limits, np.inf, tableau, basis)


def _budgeted_box(space: StrategySpace) -> tuple[FloatArray, FloatArray, float] | None:
    """Return (low, high, budget) if the space is {low ≤ x ≤ high, Σx ≤ budget}, else None."""
    low, high = np.full(space.dimension, -np.inf), np.full(space.dimension, np.inf)
    budget = np.inf
    for row, bound in zip(space.inequality_rows, space.inequality_bounds, strict=True):
        used = np.flatnonzero(row)
        if len(used) == 1 and row[used[0]] > 0:
            high[used[0]] = min(high[used[0]], bound / row[used[0]])
        elif len(used) == 1:
            low[used[0]] = max(low[used[0]], bound / row[used[0]])
        elif row[0] > 0 and (row == row[0]).all():
            budget = min(budget, bound / row[0])
        else:
            return None
    high = np.minimum(high, low + (budget - low.sum()))
    bounded = np.isfinite(low).all() and np.isfinite(high).all()
    if len(space.equality_rows) or not bounded or (low > high).any() or low.sum() > budget:
        return None
    return low, high, budget


@inner
def support_point(nature: Nature, direction: FloatArray, out: FloatArray) -> None:
    """Write a point of the space that is furthest along ``direction`` into ``out``."""
    out_of_line()
    m = direction.size
    if nature.kind == _SIMPLEX:
        best = 0
        for j in range(m):
            out[j] = 0.0
            if direction[j] > direction[best]:
                best = j
        out[best] = 1.0
    elif nature.kind == _BUDGET:
        left = nature.budget
        for j in range(m):
            out[j] = nature.limits[0, j]
            left -= out[j]
        # Raise the coordinates one after the other, the most useful first.
        done = np.zeros(m, dtype=np.bool_)
        while left > 0.0:
            best = -1
            for j in range(m):
                if not done[j] and direction[j] > (direction[best] if best >= 0 else 0.0):
                    best = j
            if best < 0:
                break
            done[best] = True
            step = min(nature.limits[1, best] - nature.limits[0, best], left)
            out[best] += step
            left -= step
    elif nature.kind == _BALL:
        squared = 0.0
        for j in range(m):
            squared += direction[j] * direction[j]
        reach = nature.budget / np.sqrt(squared) if squared > 0.0 else 0.0
        for j in range(m):
            out[j] = reach * direction[j]
    else:
        furthest_vertex(nature.tableau, nature.basis, direction, out)
        for j in range(m):
            out[j] += nature.limits[0, j]


@inner
def insert(pool: Pool, clock: IntArray, point: FloatArray, weights: FloatArray) -> int:
    """Put a forecast into the pool, for the one that was unused for longest if it is full."""
    out_of_line()
    m = pool.request.size - 1
    slot = 0
    if clock[POOLED] < pool.tags.shape[0]:
        slot = clock[POOLED]
        clock[POOLED] += 1
    else:
        for other in range(pool.tags.shape[0]):
            if pool.tags[other, USED] < pool.tags[slot, USED]:
                slot = other
    pool.tags[slot, HOME] = -1
    pool.tags[slot, ID] = clock[NEXT_ID]
    pool.tags[slot, USED] = clock[ROUND] + 1
    for j in range(m):
        pool.forecasts[slot, j] = point[j]
    for i in range(weights.size):
        pool.forecasts[slot, m + i] = weights[i]
        if weights[i] == 1.0:
            pool.tags[slot, HOME] = i
    clock[NEXT_ID] += 1
    return slot


@inner
def search(pool: Pool, clock: IntArray, nature: Nature, z: FloatArray, epsilon: float) -> bool:
    """Look for a mixture of the pool that holds nature to ``epsilon``.

    True: it is in ``pool.support`` and ``pool.shares``. False: the pool is too poor, and the
    forecast in ``pool.request`` is what it lacks.
    """
    out_of_line()
    m = pool.request.size - 1
    # Each row: slope Σ_i w_i z_i, constant Σ_i w_i⟨z_i, p⟩, of a forecast that can matter.
    bins = clock[MET] if pool.cells.shape[0] > 0 else z.size // m
    rows, slots, lines = _rows(pool, clock[POOLED], z, m, bins)
    shares = np.zeros(rows)
    reply = np.zeros(0)
    line, vertex = np.empty(m + 1), np.empty(m)
    value = np.inf
    for _ in range(_SEARCHES):
        game = _game(pool, clock, nature, rows, lines, m)
        columns = game.shape[1]
        best, best_worst = 0, np.inf
        for r in range(rows):
            shares[r] = 0.0
            worst = -np.inf
            for c in range(columns):
                worst = max(worst, game[r, c])
            if worst < best_worst:
                best, best_worst = r, worst
        solved = best_worst > epsilon
        if solved:
            reply = np.empty(columns)
            solve_game(game, shares, reply)
            clock[GAMES] += 1
        else:
            shares[best] = 1.0
        # The guarantee from its definition: the mean line, and nature's best answer to it.
        for j in range(m + 1):
            line[j] = 0.0
            for r in range(rows):
                line[j] += shares[r] * lines[r, j]
        support_point(nature, line[:m], vertex)
        value = -line[m]
        for j in range(m):
            value += line[j] * vertex[j]
        if value <= epsilon + 1e-12 * abs(epsilon):
            _accept(pool, clock, rows, slots, shares, value)
            return True
        known = -np.inf
        for c in range(columns):
            entry = 0.0
            for r in range(rows):
                entry += shares[r] * game[r, c]
            known = max(known, entry)
        if nature.kind == _SIMPLEX or (solved and value <= known + 1e-12 * abs(value)):
            break
        _remember(pool, clock, vertex)
    # Keep the mixture: it is the answer if the caller has to stop here.
    _accept(pool, clock, rows, slots, shares, value)
    for j in range(m):
        pool.request[j] = reply[j] if nature.kind == _SIMPLEX else 0.0
    if nature.kind != _SIMPLEX:
        for c in range(reply.size):
            if reply[c] > 0.0:
                pool.vertices[c, m] = clock[ROUND] + 1
                for j in range(m):
                    pool.request[j] += reply[c] * pool.vertices[c, j]
    return False


@inner
def _game(
    pool: Pool, clock: IntArray, nature: Nature, rows: int, lines: FloatArray, m: int
) -> FloatArray:
    """Return nature's gains: forecasts are rows, its pure strategies (so far) are columns."""
    out_of_line()
    columns = m if nature.kind == _SIMPLEX else clock[VERTICES]
    game = np.empty((rows, columns))
    for r in range(rows):
        for c in range(columns):
            gain = -lines[r, m]
            if nature.kind == _SIMPLEX:
                gain += lines[r, c]
            else:
                for j in range(m):
                    gain += lines[r, j] * pool.vertices[c, j]
            game[r, c] = gain
    return game


@inner
def _rows(
    pool: Pool, pooled: int, z: FloatArray, m: int, n: int
) -> tuple[int, IntArray, FloatArray]:
    """Return how many forecasts can matter, their places, and their lines."""
    out_of_line()
    best = np.empty(n, dtype=np.int64)
    products = np.empty(n)
    for i in range(n):
        best[i], products[i] = -1, -np.inf
    shared = 0
    for slot in range(pooled):
        i = pool.tags[slot, HOME]
        if i < 0:
            shared += 1
        else:
            product = 0.0
            for j in range(m):
                product += z[i * m + j] * pool.forecasts[slot, j]
            if product > products[i]:
                best[i], products[i] = slot, product
    slots = np.empty(n + shared, dtype=np.int64)
    lines = np.zeros((n + shared, m + 1))
    rows = 0
    for i in range(n):
        if best[i] >= 0:
            slots[rows] = best[i]
            lines[rows, m] = products[i]
            for j in range(m):
                lines[rows, j] = z[i * m + j]
            rows += 1
    if shared > 0:
        for slot in range(pooled):
            if pool.tags[slot, HOME] < 0:
                slots[rows] = slot
                for i in range(n):
                    weight = pool.forecasts[slot, m + i]
                    if weight > 0.0:
                        for j in range(m):
                            lines[rows, j] += weight * z[i * m + j]
                            lines[rows, m] += weight * z[i * m + j] * pool.forecasts[slot, j]
                rows += 1
    return rows, slots, lines


@inner
def _accept(
    pool: Pool, clock: IntArray, rows: int, slots: IntArray, shares: FloatArray, value: float
) -> None:
    count = 0
    for r in range(rows):
        if shares[r] > 0.0:
            pool.support[count] = slots[r]
            pool.shares[count] = shares[r]
            pool.tags[slots[r], USED] = clock[ROUND] + 1
            count += 1
    clock[SUPPORT] = count
    pool.request[pool.request.size - 1] = value


@inner
def _remember(pool: Pool, clock: IntArray, vertex: FloatArray) -> None:
    """Keep a vertex of nature, in place of the one that mattered least recently if need be."""
    m = vertex.size
    c = 0
    if clock[VERTICES] < pool.vertices.shape[0]:
        c = clock[VERTICES]
        clock[VERTICES] += 1
    else:
        for other in range(pool.vertices.shape[0]):
            if pool.vertices[other, m] < pool.vertices[c, m]:
                c = other
    for j in range(m):
        pool.vertices[c, j] = vertex[j]
    pool.vertices[c, m] = clock[ROUND] + 1
