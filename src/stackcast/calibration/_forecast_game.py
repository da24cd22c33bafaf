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

from stackcast._compiling import entry, inner, leaf, out_of_line
from stackcast._validation import InputError
from stackcast.calibration._outgoing import MOST_DIMENSIONS, MOST_FACETS
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
    frame: FloatArray  # (m, d + 1): the basis of the hull, and a point in the middle
    facets: FloatArray  # (r, d + 1): as `_outgoing` reads them; none if there are too many


class Room(NamedTuple):
    """Where a round does its sums: arrays that are made once a block and mean nothing after it."""

    lines: FloatArray  # (K, m + 1)
    slots: IntArray  # (K,)
    shares: FloatArray  # (K,)
    best: IntArray  # (n,)
    products: FloatArray  # (n,)
    line: FloatArray  # (m + 1,)
    vertex: FloatArray  # (m,)
    gap: FloatArray  # (m,)
    reply: FloatArray  # (C,), for C strategies of nature
    game: FloatArray  # (K·C,)
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


@inner
def new_room(pool: Pool, nature: Nature, pairs: int) -> Room:
    """Return room for the rounds of a block, of which Player 1 has so many z_ij."""
    K, m = pool.tags.shape[0], pool.request.size - 1
    C = m if nature.kind == _SIMPLEX else pool.vertices.shape[0]
    n = max(pairs // m, pool.cells.shape[0])
    return Room(
        np.empty((K, m + 1)),
        np.empty(K, dtype=np.int64),
        np.empty(K),
        np.empty(n, dtype=np.int64),
        np.empty(n),
        np.empty(m + 1),
        np.empty(m),
        np.empty(m),
        np.empty(C),
        np.empty(K * C),
        np.empty((min(K, C) + 1) * (K + C + 1)),
        np.empty(min(K, C), dtype=np.int64),
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
    hull = _hull(space)
    if isinstance(space, Ball):
        return Nature(_BALL, space.limits, space.radius, tableau, basis, *hull)
    if space.kind == "simplex":
        limits = np.array([[0.0] * m, [1.0] * m])
        return Nature(_SIMPLEX, limits, np.inf, tableau, basis, *hull)
    box = _budgeted_box(space)
    if box is not None:
        return Nature(_BUDGET, np.array(box[:2]), float(box[2]), tableau, basis, *hull)
    limits = space.limits
    # Coordinates are counted from the lowest, because the simplex method wants them nonnegative.
    tableau, basis = canonical_form(space, limits[0])
    return Nature(_POLYTOPE, limits, np.inf, tableau, basis, *hull)


def _hull(space: StrategySpace | Ball) -> tuple[FloatArray, FloatArray]:
    """Return the frame of the hull and the facets, where an outgoing fixed point is looked for."""
    m = space.dimension
    if isinstance(space, Ball):
        if m <= MOST_DIMENSIONS:
            facets = np.append(np.zeros(m), space.radius)[None]
            return np.column_stack([np.eye(m), space.center]), facets
    elif space.hull_dimension <= MOST_DIMENSIONS and len(space.inequality_rows) <= MOST_FACETS:
        ball = space.inscribed_ball()
        if ball is not None and ball.radius > 0.0:
            normals = space.inequality_rows @ space.basis
            lengths = np.linalg.norm(normals, axis=1)
            kept = lengths > 0.0
            bounds = space.inequality_bounds - space.inequality_rows @ ball.center
            facets = np.column_stack([normals, bounds])[kept] / lengths[kept, None]
            return np.column_stack([space.basis, ball.center]), np.ascontiguousarray(facets)
    return np.zeros((m, 1)), np.zeros((0, 1))


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


@leaf
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
        best, last = -1, np.inf
        while left > 0.0:
            best = _next_largest(direction, best, last)
            if best < 0:
                break
            last = direction[best]
            step = min(nature.limits[1, best] - nature.limits[0, best], left)
            out[best] += step
            left -= step
    elif nature.kind == _BALL:
        squared = 0.0
        for j in range(m):
            squared += direction[j] * direction[j]
        reach = nature.budget / np.sqrt(squared) if squared > 0.0 else 0.0
        for j in range(m):
            out[j] = 0.5 * (nature.limits[0, j] + nature.limits[1, j]) + reach * direction[j]
    else:
        furthest_vertex(nature.tableau, nature.basis, direction, out)
        for j in range(m):
            out[j] += nature.limits[0, j]


@leaf
def _next_largest(values: FloatArray, previous: int, last: float) -> int:
    """Return the place of the largest value above 0 that comes after ``previous``; −1 if none."""
    best = -1
    for j in range(values.size):
        after = values[j] < last or (values[j] == last and j > previous)
        if after and values[j] > (values[best] if best >= 0 else 0.0):
            best = j
    return best


@leaf
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


@leaf
def search(
    pool: Pool, clock: IntArray, nature: Nature, z: FloatArray, epsilon: float, room: Room
) -> bool:
    """Look for a mixture of the pool that holds nature to ``epsilon``.

    True: it is in ``pool.support`` and ``pool.shares``. False: the pool is too poor, and the
    forecast in ``pool.request`` is what it lacks.
    """
    out_of_line()
    m = pool.request.size - 1
    # Each row: slope Σ_i w_i z_i, constant Σ_i w_i⟨z_i, p⟩, of a forecast that can matter.
    bins = clock[MET] if pool.cells.shape[0] > 0 else z.size // m
    rows = _rows(pool, clock[POOLED], z, bins, room)
    lines, shares, line, vertex = room.lines, room.shares, room.line, room.vertex
    reply = room.reply[:0]
    value = np.inf
    for _ in range(_SEARCHES):
        columns = m if nature.kind == _SIMPLEX else clock[VERTICES]
        game = room.game[: rows * columns].reshape(rows, columns)
        _fill_game(pool, nature, lines, game)
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
            reply = room.reply[:columns]
            solve_game(game, shares[:rows], reply, room.tableau, room.basis)
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
            _accept(pool, clock, rows, room, value)
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
    _accept(pool, clock, rows, room, value)
    for j in range(m):
        pool.request[j] = reply[j] if nature.kind == _SIMPLEX else 0.0
    if nature.kind != _SIMPLEX:
        for c in range(reply.size):
            if reply[c] > 0.0:
                pool.vertices[c, m] = clock[ROUND] + 1
                for j in range(m):
                    pool.request[j] += reply[c] * pool.vertices[c, j]
    return False


@leaf
def _fill_game(pool: Pool, nature: Nature, lines: FloatArray, game: FloatArray) -> None:
    """Write nature's gains: forecasts are rows, its pure strategies (so far) are columns."""
    out_of_line()
    m = pool.request.size - 1
    for r in range(game.shape[0]):
        for c in range(game.shape[1]):
            gain = -lines[r, m]
            if nature.kind == _SIMPLEX:
                gain += lines[r, c]
            else:
                for j in range(m):
                    gain += lines[r, j] * pool.vertices[c, j]
            game[r, c] = gain


@leaf
def _rows(pool: Pool, pooled: int, z: FloatArray, n: int, room: Room) -> int:
    """Write the places and the lines of the forecasts that can matter; return how many."""
    out_of_line()
    m = pool.request.size - 1
    best, products, slots, lines = room.best, room.products, room.slots, room.lines
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
                for j in range(m + 1):
                    lines[rows, j] = 0.0
                for i in range(n):
                    weight = pool.forecasts[slot, m + i]
                    if weight > 0.0:
                        for j in range(m):
                            lines[rows, j] += weight * z[i * m + j]
                            lines[rows, m] += weight * z[i * m + j] * pool.forecasts[slot, j]
                rows += 1
    return rows


@leaf
def _accept(pool: Pool, clock: IntArray, rows: int, room: Room, value: float) -> None:
    count = 0
    for r in range(rows):
        if room.shares[r] > 0.0:
            slot = room.slots[r]
            pool.support[count] = slot
            pool.shares[count] = room.shares[r]
            pool.tags[slot, USED] = clock[ROUND] + 1
            count += 1
    clock[SUPPORT] = count
    pool.request[pool.request.size - 1] = value


@leaf
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


# A compiled simplex method for the tiny linear programs of a round. A program max ⟨c, x⟩, A x = b,
# x ≥ 0 is kept as a dense tableau in canonical form: one row for each equation, solved for its
# basic variable, and a last row with the objective; the last column holds b. A zero-sum game with
# positive payoffs is such a program and starts from its slack variables. A polytope is brought into
# canonical form once, and its tableau then stays at the last optimal vertex.

_TOLERANCE = 1e-11


@entry
def _brought_to_optimum(tableau: FloatArray, basis: IntArray) -> None:
    maximise(tableau, basis)


@leaf
def maximise(tableau: FloatArray, basis: IntArray) -> None:
    """Pivot until no variable can raise the objective, whose row holds −c at the start."""
    out_of_line()
    rows, columns = tableau.shape[0] - 1, tableau.shape[1] - 1
    patience = 10 * (rows + columns)
    for step in range(10 * patience):
        entering = -1
        most = -_TOLERANCE
        for c in range(columns):
            if tableau[rows, c] < most:
                entering = c
                most = tableau[rows, c]
                if step > patience:  # the lowest eligible index never cycles
                    break
        if entering < 0:
            return
        leaving = -1
        least = np.inf
        for r in range(rows):
            if tableau[r, entering] > _TOLERANCE:
                ratio = tableau[r, columns] / tableau[r, entering]
                if ratio < least or (ratio == least and basis[r] < basis[leaving]):
                    leaving = r
                    least = ratio
        if leaving < 0:
            return
        pivot = tableau[leaving]
        scale = 1.0 / pivot[entering]
        for c in range(pivot.size):
            pivot[c] *= scale
        pivot[entering] = 1.0
        for r in range(rows + 1):
            row = tableau[r]
            factor = row[entering]
            if r != leaving and factor != 0.0:
                for c in range(pivot.size):
                    row[c] -= factor * pivot[c]
                row[entering] = 0.0
        basis[leaving] = entering


@leaf
def solve_game(
    game: FloatArray, shares: FloatArray, reply: FloatArray, room: FloatArray, basis: IntArray
) -> None:
    """Solve the zero-sum game in which rows minimise: write both players' optimal mixtures.

    ``room`` and ``basis`` are room for the tableau.
    """
    out_of_line()
    rows, columns = game.shape
    size = 0.0
    for r in range(rows):
        for c in range(columns):
            size = max(size, abs(game[r, c]))
    if size == 0.0:
        size = 1.0
    # max Σy over B y ≤ 1, y ≥ 0 solves the game B > 0 whose rows maximise: B = 2 − game/size with
    # the forecasts as rows, or, if nature has fewer strategies, B = 2 + game/size with nature's.
    flipped = columns < rows
    a, b = (columns, rows) if flipped else (rows, columns)
    tableau = room[: (a + 1) * (a + b + 1)].reshape(a + 1, a + b + 1)
    basis = basis[:a]
    for x in range(tableau.size):
        room[x] = 0.0
    for r in range(a):
        for c in range(b):
            tableau[r, c] = 2.0 + (game[c, r] if flipped else -game[r, c]) / size
        tableau[r, b + r] = 1.0
        tableau[r, a + b] = 1.0
        basis[r] = b + r
    for c in range(b):
        tableau[a, c] = -1.0
    maximise(tableau, basis)
    first, second = (reply, shares) if flipped else (shares, reply)
    for r in range(a):
        first[r] = max(tableau[a, b + r], 0.0)
    for c in range(b):
        second[c] = 0.0
    for r in range(a):
        if basis[r] < b:
            second[basis[r]] = max(tableau[r, a + b], 0.0)
    _normalise(shares)
    _normalise(reply)


@leaf
def _normalise(shares: FloatArray) -> None:
    total = 0.0
    for x in range(shares.size):
        total += shares[x]
    for x in range(shares.size):
        shares[x] = shares[x] / total if total > 0.0 else 1.0 / shares.size


@leaf
def furthest_vertex(
    tableau: FloatArray, basis: IntArray, direction: FloatArray, out: FloatArray
) -> None:
    """Write the point x ≥ 0 of a canonical polytope that is furthest along ``direction``."""
    out_of_line()
    rows, columns = tableau.shape[0] - 1, tableau.shape[1] - 1
    m = direction.size
    for c in range(columns + 1):
        tableau[rows, c] = -direction[c] if c < m else 0.0
    for r in range(rows):
        if basis[r] < m:
            factor = direction[basis[r]]
            for c in range(columns + 1):
                tableau[rows, c] += factor * tableau[r, c]
            tableau[rows, basis[r]] = 0.0
    maximise(tableau, basis)
    for j in range(m):
        out[j] = 0.0
    for r in range(rows):
        if basis[r] < m:
            out[basis[r]] = max(tableau[r, columns], 0.0)


def canonical_form(space: StrategySpace, low: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the tableau and basis of {y ≥ 0 : low + y ∈ space} at one of its vertices."""
    rows, equal = space.inequality_rows, space.equality_rows
    bounds = np.concatenate(
        [space.inequality_bounds - rows @ low, space.equality_bounds - equal @ low]
    )
    count, m = len(bounds), space.dimension
    body = np.zeros((count, m + len(rows)))
    body[: len(rows), :m], body[len(rows) :, :m] = rows, equal
    body[: len(rows), m:] = np.eye(len(rows))
    negative = bounds < 0
    body[negative] *= -1
    bounds = np.abs(bounds)
    # Phase one: an artificial variable for each equation, and their sum driven to 0.
    tableau = np.zeros((count + 1, body.shape[1] + count + 1))
    tableau[:count, : body.shape[1]], tableau[:count, -1] = body, bounds
    tableau[:count, body.shape[1] : -1] = np.eye(count)
    tableau[-1, : body.shape[1]], tableau[-1, -1] = -body.sum(axis=0), -bounds.sum()
    basis = np.arange(body.shape[1], body.shape[1] + count)
    _brought_to_optimum(tableau, basis)
    if tableau[-1, -1] < -1e-7:
        raise InputError("space", "at least one strategy", "none")
    for r in np.flatnonzero(basis >= body.shape[1]):
        choices = np.abs(tableau[r, : body.shape[1]])
        if choices.max() > 1e-9:
            entering = int(choices.argmax())
            tableau[r] /= tableau[r, entering]
            factors = tableau[:, entering].copy()
            factors[r] = 0.0
            tableau -= np.outer(factors, tableau[r])
            basis[r] = entering
    kept = np.flatnonzero(basis < body.shape[1])
    columns = [*range(body.shape[1]), tableau.shape[1] - 1]
    result = np.ascontiguousarray(tableau[np.ix_([*kept, count], columns)])
    return result, np.ascontiguousarray(basis[kept])
