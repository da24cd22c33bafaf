"""Player 2: the forecast as a small zero-sum game, for any binning.

Against Player 1's imbalance z, the forecast p earns nature Σ_i w_i(p)⟨z_i, h − p⟩ when the outcome
is h. Player 2 needs a mixture Q of forecasts with max_h E_Q[gain] ≤ ε (Section 4 of the paper). It
keeps a bounded pool of forecasts and solves the zero-sum game on the pool. If the value is above ε,
nature's own optimal strategy h* joins the pool as a forecast: its gain against h* is exactly 0,
whatever the binning. Of the forecasts that lie wholly in bin i only the one with the largest
⟨z_i, p⟩ can matter, so the game has one row for each bin and one for each shared forecast.

On the simplex nature's pure strategies are its columns. On another polytope its vertices are found
when they are needed, by a linear oracle, and the oracle certifies the final mixture.

Nothing is taken from the solver on trust: what is compared with ε is the value of the mixture
itself, computed from the definition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit
from quantecon.optimize import linprog_simplex, minmax

from stackcast._validation import InputError, real_vector

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from stackcast._validation import FloatArray
    from stackcast.games import StrategySpace

    IntArray = npt.NDArray[np.int64]

_SIMPLEX, _BUDGET, _POLYTOPE = 0, 1, 2
_SEARCHES = 64

# Entries of the clock that the players share.
ROUND, NEXT_ID, POOLED, VERTICES, CHOSEN, BIN, PENDING, SUPPORT, GAMES, REPEATS, MISSES, LOGGED = (
    range(12)
)
CLOCK_LENGTH = 12


class Nature(NamedTuple):
    """A strategy space as compiled code reads it: nature's linear oracle."""

    kind: int
    low: FloatArray
    high: FloatArray
    budget: float
    rows: FloatArray
    bounds: FloatArray
    equal_rows: FloatArray
    equal_bounds: FloatArray


class Pool(NamedTuple):
    """Player 2's forecasts, its mixture of them, and the vertices of nature that it has met."""

    points: FloatArray  # (K, m)
    weights: FloatArray  # (K, n)
    bins: IntArray  # (K,): the only bin of the forecast, −1 if it is shared
    ids: IntArray  # (K,)
    used: IntArray  # (K,): the last round in which the forecast had a share
    support: IntArray  # (K,): the slots of the mixture
    shares: FloatArray  # (K,): its probabilities
    vertices: FloatArray  # (V, m)
    vertex_used: IntArray  # (V,)
    candidate: FloatArray  # (m,): the forecast that the search asks for
    value: FloatArray  # (1,): max_h E_Q[gain] of the mixture


def new_pool(bins: int, shared: bool, centre: FloatArray) -> Pool:
    """Return an empty pool that asks for ``centre`` as its first forecast.

    ``shared`` says that forecasts lie in several bins as a rule.
    """
    dimension = len(centre)
    size = 2 * _SEARCHES + (4 * (bins if not shared else dimension))
    vertices = 2 * _SEARCHES + 4 * dimension
    return Pool(
        np.zeros((size, dimension)),
        np.zeros((size, bins)),
        np.zeros(size, dtype=np.int64),
        np.full(size, -1),
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros(size),
        np.zeros((vertices, dimension)),
        np.zeros(vertices, dtype=np.int64),
        np.array(centre),
        np.zeros(1),
    )


def new_nature(space: StrategySpace) -> Nature:
    """Return the oracle of a strategy space, the fastest one that fits it."""
    m = space.dimension
    kind, budget = _POLYTOPE, np.inf
    limits = _budgeted_box(space)
    if space.kind == "simplex":
        kind, low, high = _SIMPLEX, np.zeros(m), np.ones(m)
    elif limits is not None:
        kind, (low, high, budget) = _BUDGET, limits
    else:
        low, high = np.empty(m), np.empty(m)
        for j, axis in enumerate(np.eye(m)):
            least, most = space.support_point(-axis), space.support_point(axis)
            if least is None or most is None:
                raise InputError("space", "a bounded space with a strategy in it", "none")
            low[j], high[j] = least[j], most[j]
    # Coordinates are counted from the lowest, because the compiled solver wants them nonnegative.
    return Nature(
        kind,
        low,
        high,
        float(budget),
        np.array(space.inequality_rows),
        space.inequality_bounds - space.inequality_rows @ low,
        np.array(space.equality_rows),
        space.equality_bounds - space.equality_rows @ low,
    )


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


@njit(cache=True)
def support_point(nature: Nature, direction: FloatArray, out: FloatArray) -> None:
    """Write a point of the space that is furthest along ``direction`` into ``out``."""
    if nature.kind == _SIMPLEX:
        out[:] = 0.0
        out[np.argmax(direction)] = 1.0
    elif nature.kind == _BUDGET:
        out[:] = nature.low
        left = nature.budget - nature.low.sum()
        for j in np.argsort(-direction):
            if direction[j] <= 0.0 or left <= 0.0:
                break
            step = min(nature.high[j] - nature.low[j], left)
            out[j] += step
            left -= step
    else:
        found = linprog_simplex(
            direction, nature.rows, nature.bounds, nature.equal_rows, nature.equal_bounds
        )
        out[:] = nature.low + found.x


@njit(cache=True)
def insert(pool: Pool, clock: IntArray, point: FloatArray, weights: FloatArray) -> int:
    """Put a forecast into the pool, in place of the one that was unused for longest if it is full."""
    if clock[POOLED] < pool.ids.size:
        slot = clock[POOLED]
        clock[POOLED] += 1
    else:
        slot = int(np.argmin(pool.used))
    pool.points[slot] = point
    pool.weights[slot] = weights
    pool.bins[slot] = -1
    for i in range(weights.size):
        if weights[i] == 1.0:
            pool.bins[slot] = i
    pool.ids[slot] = clock[NEXT_ID]
    pool.used[slot] = clock[ROUND] + 1
    clock[NEXT_ID] += 1
    return slot


@njit(cache=True)
def search(pool: Pool, clock: IntArray, nature: Nature, z: FloatArray, epsilon: float) -> bool:
    """Look for a mixture of the pool that holds nature to ``epsilon``.

    True: it is in ``pool.support`` and ``pool.shares``. False: the pool is too poor, and the
    forecast in ``pool.candidate`` is what it lacks.
    """
    n, m = pool.weights.shape[1], pool.points.shape[1]
    slots, slopes, constants = _rows(pool, clock, z.reshape((n, m)))
    rows = slots.size
    shares = np.zeros(rows)
    direction = np.empty(m)
    vertex = np.empty(m)
    for _ in range(_SEARCHES):
        # The game: forecasts are rows, nature's pure strategies are columns.
        if nature.kind == _SIMPLEX:
            game = slopes - constants.reshape((rows, 1))
        else:
            known = pool.vertices[: clock[VERTICES]]
            game = np.dot(slopes, known.T) - constants.reshape((rows, 1))
        columns = game.shape[1]
        best, worst_of_best = 0, np.inf
        for r in range(rows):
            worst = -np.inf
            for c in range(columns):
                worst = max(worst, game[r, c])
            if worst < worst_of_best:
                best, worst_of_best = r, worst
        shares[:] = 0.0
        if worst_of_best <= epsilon:
            shares[best] = 1.0
            reply = np.zeros(columns)
        else:
            reply = solve_game(game, shares)
            clock[GAMES] += 1
        # The guarantee, from the definition: the mean slope, and nature's best answer to it.
        constant = 0.0
        direction[:] = 0.0
        for r in range(rows):
            constant += shares[r] * constants[r]
            for j in range(m):
                direction[j] += shares[r] * slopes[r, j]
        support_point(nature, direction, vertex)
        value = np.dot(direction, vertex) - constant
        if value <= epsilon + 1e-12 * abs(epsilon):
            _accept(pool, clock, slots, shares, value)
            return True
        known_value = -np.inf
        for c in range(columns):
            entry = 0.0
            for r in range(rows):
                entry += shares[r] * game[r, c]
            known_value = max(known_value, entry)
        if nature.kind == _SIMPLEX or value <= known_value + 1e-12 * abs(value):
            break
        _remember(pool, clock, vertex)
    # Keep the mixture: it is the answer if the caller has to stop here.
    _accept(pool, clock, slots, shares, value)
    if nature.kind == _SIMPLEX:
        pool.candidate[:] = reply
    else:
        pool.candidate[:] = 0.0
        for c in range(reply.size):
            pool.candidate[:] += reply[c] * pool.vertices[c]
            if reply[c] > 0.0:
                pool.vertex_used[c] = clock[ROUND] + 1
    return False


@njit(cache=True)
def _rows(
    pool: Pool, clock: IntArray, z: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return slots, slopes Σ_i w_i z_i and constants Σ_i w_i⟨z_i, p⟩ of the forecasts that matter."""
    n, m = z.shape
    best = np.full(n, -1)
    best_product = np.full(n, -np.inf)
    shared = 0
    for slot in range(clock[POOLED]):
        i = pool.bins[slot]
        if i < 0:
            shared += 1
            continue
        product = 0.0
        for j in range(m):
            product += z[i, j] * pool.points[slot, j]
        if product > best_product[i]:
            best[i], best_product[i] = slot, product
    rows = shared
    for i in range(n):
        rows += best[i] >= 0
    slots = np.empty(rows, dtype=np.int64)
    slopes = np.zeros((rows, m))
    constants = np.zeros(rows)
    r = 0
    for i in range(n):
        if best[i] >= 0:
            slots[r], slopes[r], constants[r] = best[i], z[i], best_product[i]
            r += 1
    if shared > 0:
        for slot in range(clock[POOLED]):
            if pool.bins[slot] < 0:
                slots[r] = slot
                for i in range(n):
                    if pool.weights[slot, i] > 0.0:
                        for j in range(m):
                            slope = pool.weights[slot, i] * z[i, j]
                            slopes[r, j] += slope
                            constants[r] += slope * pool.points[slot, j]
                r += 1
    return slots, slopes, constants


@njit(cache=True)
def solve_game(game: FloatArray, shares: FloatArray) -> FloatArray:
    """Write the row player's optimal mixture (rows minimise) into ``shares``; return nature's."""
    rows, columns = game.shape
    # The solver's tolerances are absolute: give it entries of size one.
    size = np.abs(game).max()
    if size == 0.0:
        shares[:] = 0.0
        shares[0] = 1.0
        return np.full(columns, 1.0 / columns)
    # The tableau has a row for each strategy of the maximiser.
    if columns <= rows:
        _, reply, mixture = minmax(np.ascontiguousarray(game.T) / size)
    else:
        _, mixture, reply = minmax(game / -size)
    _normalise(mixture)
    _normalise(reply)
    shares[:] = mixture
    return reply


@njit(cache=True)
def _normalise(shares: FloatArray) -> None:
    total = 0.0
    for x in range(shares.size):
        shares[x] = max(shares[x], 0.0)
        total += shares[x]
    if total > 0.0:
        shares /= total
    else:
        shares[:] = 1.0 / shares.size


@njit(cache=True)
def _accept(
    pool: Pool, clock: IntArray, slots: IntArray, shares: FloatArray, value: float
) -> None:
    clock[SUPPORT] = 0
    for r in range(slots.size):
        if shares[r] > 0.0:
            pool.support[clock[SUPPORT]] = slots[r]
            pool.shares[clock[SUPPORT]] = shares[r]
            pool.used[slots[r]] = clock[ROUND] + 1
            clock[SUPPORT] += 1
    pool.value[0] = value


@njit(cache=True)
def _remember(pool: Pool, clock: IntArray, vertex: FloatArray) -> None:
    if clock[VERTICES] < pool.vertex_used.size:
        c = clock[VERTICES]
        clock[VERTICES] += 1
    else:
        c = int(np.argmin(pool.vertex_used))
    pool.vertices[c] = vertex
    pool.vertex_used[c] = clock[ROUND] + 1


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
        With Z_a > 0 > Z_b at neighbours a and b, the mixture has q·Z_a + (1 − q)·Z_b = 0; forecast 0
        if Z_0 ≤ 0, else 1 if Z_1 ≥ 0. The gain is at most the grid's step.

    Examples
    --------
    >>> positions, probabilities = two_adjacent_points([0.0, 0.5, 1.0], [0.3, 0.1, -0.3])
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
