"""Compiled linear programs over best-response regions, rows added lazily.

The program of action y is

    maximise ⟨u_y, h⟩  subject to  h ≥ 0, Σh = 1, ⟨a, h⟩ ≤ 0 for every row a,

where the rows say that y is a best response (a = W_j − W_y, plus margin·‖projected normal‖), and
that the commitment satisfies the principal's constraints (a = g − b, because Σh = 1).

**Contract.** The dual simplex method starts at the best pure strategy without any row and adds the
most violated row until none is violated, so the objective falls from above and the program of an
action that cannot beat ``floor`` is given up as soon as that is known. Every answer is checked
against the payoffs themselves, not against the tableau: h is recomputed from its active rows and is
feasible to ``FEASIBLE``, and the multipliers λ ≥ 0 of the active rows give the bound
max_x (u_x − Σ λ_a a_x) ≥ value by weak duality. An answer that fails its check is ``UNSURE`` and is
left to another solver.

**Cost.** A pivot touches (rows so far + 1) × (m − 1) numbers; a row enters at most once. On random
games a handful of rows decides an action, whatever k is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stackcast._compiling import inner, out_of_line

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray

    IntArray = npt.NDArray[np.int64]
    BoolArray = npt.NDArray[np.bool_]
    Index = int | np.int64

OPTIMAL, BEATEN, EMPTY, UNSURE = 0, 1, 2, 3

#: Rows are scaled to a largest entry of 1 and objectives to [1, 2]; these are relative to that.
FEASIBLE = 1e-13
CERTIFIED = 1e-10
_PIVOT = 1e-11
_LEAVES = 5e-14


@inner
def action_program(
    u: FloatArray,
    W: FloatArray,
    y: int,
    others: BoolArray,
    lengths: FloatArray,
    margin: float,
    cuts: FloatArray,
    floor: float,
    prune: bool,
    tie: float,
    slack: float,
) -> tuple[int, float, float, FloatArray]:
    """Solve the program of action ``y``.

    Parameters
    ----------
    u : (m,) objective in [1, 2]
    W : (m, k) the agent's payoffs
    others : (k,) which actions' regions count as other regions
    lengths : (k, k) lengths of the projected normals W_j − W_y; read only if margin > 0
    margin : distance to keep to the other regions
    cuts : (q, m) rows of the principal's constraints
    floor : value below which the action is of no interest
    prune : whether to stop at ``floor``
    tie : differences of payoffs up to this are ties
    slack : utility that the agent gives up for y; negative if y must be better by that much

    Returns
    -------
    status, value, bound, h
    """
    out_of_line()
    m, k = W.shape
    q = cuts.shape[0]
    h = np.zeros(m)
    start = int(np.argmax(u))
    h[start] = 1.0
    bound = u[start]
    if prune and bound <= floor:
        return BEATEN, bound, bound, h

    # The condensed tableau: x_B = rhs − T x_N, objective = top − d x_N. Variables below m are
    # probabilities, m + a is the slack of row a.
    width = m - 1
    room = k + q
    T = np.empty((room, width))
    rhs = np.empty(room)
    basic = np.empty(room, np.int64)
    nonbasic = np.empty(width, np.int64)
    d = np.empty(width)
    column = 0
    for x in range(m):
        if x != start:
            nonbasic[column] = x
            T[0, column] = 1.0
            d[column] = u[start] - u[x]
            column += 1
    rhs[0] = 1.0
    basic[0] = start
    top = u[start]
    height = np.int64(1)

    rows = np.empty((room, m))  # the rows that have entered, scaled
    row_of = np.full(k + q, -1, np.int64)
    entered = 0
    row = np.zeros(m)

    while True:
        # The most violated row that has not entered.
        worst = 0.0
        chosen = -1
        utility = np.zeros(k)
        for i in range(height):
            x = basic[i]
            if x < m and rhs[i] > 0.0:
                for j in range(k):
                    utility[j] += rhs[i] * W[x, j]
        for j in range(k):
            if j == y or row_of[j] >= 0:
                continue
            if margin > 0.0 and not others[j]:
                continue
            violation = utility[j] - utility[y] - slack
            if margin > 0.0:
                violation += margin * lengths[y, j]
            if violation > worst:
                worst = violation
                chosen = j
        scale = 0.0
        if chosen >= 0:
            scale = _best_response_row(W, y, chosen, lengths, margin, slack, row)
            if scale <= tie:
                row_of[chosen] = entered + k + q  # a duplicate of y: no row at all
                continue
            if worst <= FEASIBLE * scale:
                # Not violated beyond rounding, but another row might be on its own scale.
                chosen = -1
                for j in range(k):
                    if j == y or row_of[j] >= 0 or (margin > 0.0 and not others[j]):
                        continue
                    violation = utility[j] - utility[y] - slack
                    if margin > 0.0:
                        violation += margin * lengths[y, j]
                    if violation <= 0.0:
                        continue
                    scale = _best_response_row(W, y, j, lengths, margin, slack, row)
                    if scale > tie and violation > FEASIBLE * scale:
                        chosen = j
                        break
        for a in range(q):
            if row_of[k + a] < 0:
                violation = 0.0
                largest = 0.0
                for x in range(m):
                    largest = max(largest, abs(cuts[a, x]))
                for i in range(height):
                    if basic[i] < m:
                        violation += rhs[i] * cuts[a, basic[i]]
                if violation > FEASIBLE * largest and (chosen < 0 or chosen >= k):
                    chosen = k + a
                    scale = largest
                    for x in range(m):
                        row[x] = cuts[a, x] / largest
        if chosen < 0:
            break

        for x in range(m):
            rows[entered, x] = row[x]
        row_of[chosen] = entered
        basic[height] = m + entered
        for c in range(width):
            T[height, c] = row[nonbasic[c]] if nonbasic[c] < m else 0.0
        rhs[height] = 0.0
        for i in range(height):
            if basic[i] < m:
                weight = row[basic[i]]
                if weight != 0.0:
                    for c in range(width):
                        T[height, c] -= weight * T[i, c]
                    rhs[height] -= weight * rhs[i]
        entered += 1
        height += 1

        # Dual simplex: repair feasibility, keeping d ≥ 0.
        pivots = 0
        while True:
            leaving: Index = np.int64(-1)
            lowest = -_LEAVES
            for i in range(height):
                if rhs[i] < lowest:
                    lowest = rhs[i]
                    leaving = i
            if leaving < 0:
                break
            entering: Index = np.int64(-1)
            ratio = np.inf
            for c in range(width):
                if T[leaving, c] < -_PIVOT:
                    candidate = d[c] / -T[leaving, c]
                    if candidate < ratio - 1e-12 or (
                        candidate < ratio + 1e-12
                        and entering >= 0
                        and T[leaving, c] < T[leaving, entering]
                    ):
                        ratio = candidate
                        entering = c
            if entering < 0:
                if _refutes(T[leaving], nonbasic, width, basic[leaving], rows, m):
                    return EMPTY, np.nan, -np.inf, h
                return UNSURE, np.nan, np.inf, h
            pivots += 1
            if pivots > 50 * (m + k):
                return UNSURE, np.nan, np.inf, h
            top = _pivot(T, rhs, d, basic, nonbasic, height, width, leaving, entering, top)
        if prune and top <= floor:
            bound = _dual_bound(u, rows, d, nonbasic, width, m)
            if bound <= floor + CERTIFIED:
                return BEATEN, top, bound, h
            return UNSURE, np.nan, np.inf, h

    return _polished(u, rows, basic, nonbasic, height, width, m)


@inner
def _best_response_row(
    W: FloatArray, y: int, j: int, lengths: FloatArray, margin: float, slack: float, row: FloatArray
) -> float:
    """Write W_j − W_y with margin and slack, scaled to 1, into ``row``; return the scale."""
    out_of_line()
    m = W.shape[0]
    largest = 0.0
    for x in range(m):
        row[x] = W[x, j] - W[x, y] - slack
        if margin > 0.0:
            row[x] += margin * lengths[y, j]
        largest = max(largest, abs(row[x]))
    if largest > 0.0:
        for x in range(m):
            row[x] /= largest
    return largest


@inner
def _pivot(
    T: FloatArray,
    rhs: FloatArray,
    d: FloatArray,
    basic: IntArray,
    nonbasic: IntArray,
    height: Index,
    width: Index,
    r: Index,
    c: Index,
    top: float,
) -> float:
    out_of_line()
    p = T[r, c]
    for j in range(width):
        T[r, j] /= p
    rhs[r] /= p
    T[r, c] = 1.0 / p
    for i in range(height):
        if i != r:
            f = T[i, c]
            if f != 0.0:
                T[i, c] = 0.0
                for j in range(width):
                    T[i, j] -= f * T[r, j]
                rhs[i] -= f * rhs[r]
    f = d[c]
    d[c] = 0.0
    for j in range(width):
        d[j] -= f * T[r, j]
        if d[j] < 0.0 and d[j] > -1e-13:
            d[j] = 0.0
    basic[r], nonbasic[c] = nonbasic[c], basic[r]
    return top - f * rhs[r]


@inner
def _dual_bound(
    u: FloatArray, rows: FloatArray, d: FloatArray, nonbasic: IntArray, width: int, m: int
) -> float:
    """Return the bound max_x (u_x − Σ_a λ_a a_x), λ_a the reduced cost of the slack of row a."""
    out_of_line()
    reduced = u.copy()
    for c in range(width):
        if nonbasic[c] >= m and d[c] > 0.0:
            a = nonbasic[c] - m
            for x in range(m):
                reduced[x] -= d[c] * rows[a, x]
    return reduced.max()


@inner
def _refutes(
    t: FloatArray, nonbasic: IntArray, width: int, leaving: Index, rows: FloatArray, m: int
) -> bool:
    """Check that a tableau row without a pivot proves that the rows leave no strategy.

    Its coefficients at the slacks are multipliers μ ≥ 0 with Σ_a μ_a a_x > 0 for every pure
    strategy x (Farkas), so no mixture satisfies all the rows.
    """
    out_of_line()
    total = 1.0
    combination = np.zeros(m)
    for c in range(width):
        if nonbasic[c] >= m and t[c] > 0.0:
            total += t[c]
            for x in range(m):
                combination[x] += t[c] * rows[nonbasic[c] - m, x]
    if leaving >= m:
        for x in range(m):
            combination[x] += rows[leaving - m, x]
    return combination.min() > 1e-15 * total


@inner
def _polished(
    u: FloatArray,
    rows: FloatArray,
    basic: IntArray,
    nonbasic: IntArray,
    height: Index,
    width: Index,
    m: int,
) -> tuple[int, float, float, FloatArray]:
    """Recompute h and the multipliers from the active rows, and check both on the payoffs."""
    out_of_line()
    h = np.zeros(m)
    support = np.zeros(height, np.int64)
    size = 0
    for i in range(height):
        if basic[i] < m:
            support[size] = basic[i]
            size += 1
    active = np.zeros(width, np.int64)
    tight = 0
    for c in range(width):
        if nonbasic[c] >= m:
            active[tight] = nonbasic[c] - m
            tight += 1
    if tight != size - 1:
        return UNSURE, np.nan, np.inf, h
    B = np.ones((size, size))
    for i in range(tight):
        for j in range(size):
            B[i + 1, j] = rows[active[i], support[j]]
    solution = np.zeros(size)
    solution[0] = 1.0
    multipliers = np.zeros(size)
    for j in range(size):
        multipliers[j] = u[support[j]]
    transposed = np.empty((size, size))
    for i in range(size):
        for j in range(size):
            transposed[i, j] = B[j, i]
    if not (_solve(B, solution) and _solve(transposed, multipliers)):
        return UNSURE, np.nan, np.inf, h
    total = 0.0
    for j in range(size):
        if solution[j] < -1e-11:
            return UNSURE, np.nan, np.inf, h
        h[support[j]] = max(solution[j], 0.0)
        total += h[support[j]]
    value = 0.0
    for x in range(m):
        h[x] /= total
        value += u[x] * h[x]
    reduced = u.copy()
    for i in range(tight):
        if multipliers[i + 1] > 0.0:
            for x in range(m):
                reduced[x] -= multipliers[i + 1] * rows[active[i], x]
    bound = reduced.max()
    if bound - value > CERTIFIED:
        return UNSURE, value, bound, h
    return OPTIMAL, value, bound, h


@inner
def _solve(B: FloatArray, b: FloatArray) -> bool:
    """Solve B x = b in place by elimination with partial pivoting; False if B is singular."""
    out_of_line()
    n = b.shape[0]
    for c in range(n):
        p = c
        for i in range(c + 1, n):
            if abs(B[i, c]) > abs(B[p, c]):
                p = i
        if abs(B[p, c]) < 1e-14:
            return False
        if p != c:
            for j in range(c, n):
                B[c, j], B[p, j] = B[p, j], B[c, j]
            b[c], b[p] = b[p], b[c]
        for i in range(c + 1, n):
            f = B[i, c] / B[c, c]
            if f != 0.0:
                for j in range(c + 1, n):
                    B[i, j] -= f * B[c, j]
                b[i] -= f * b[c]
    for c in range(n - 1, -1, -1):
        for j in range(c + 1, n):
            b[c] -= B[c, j] * b[j]
        b[c] /= B[c, c]
    return True
