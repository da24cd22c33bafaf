"""Compiled linear programs over best-response regions, rows added lazily.

The program of the agent's action y is

    maximise ⟨u_y, h⟩  subject to  h ≥ 0, Σh = 1, ⟨a, h⟩ ≤ 0 for every row a.

The rows say that y leads every other action j by ``lead[y, j]``, ⟨h, W_y − W_j⟩ ≥ lead[y, j], so
a = W_j − W_y + lead[y, j] (because Σh = 1), and that the commitment satisfies the principal's
constraints. One matrix serves every purpose: zeros for best responses, a margin times the length of
the facet's normal (:func:`facet_leads`) for robust commitments, −2δ and 2δ for errors δ in the
payoffs, −∞ where j has no region and asks for no row.

**Contract.** The dual simplex method starts at the best pure strategy without any row and adds the
most violated row until none is violated, so the objective falls from above and the program of an
action that cannot beat ``floor`` is given up as soon as that is known. Every answer is checked
against the payoffs themselves, not against the tableau: h is recomputed from its active rows and is
feasible to ``FEASIBLE``, and the multipliers λ ≥ 0 of the active rows give the bound
max_x (u_x − Σ λ_a a_x) ≥ value by weak duality. An answer that fails its check is ``UNSURE`` and is
left to another solver.

**Cost.** A pivot touches (rows so far + 1) × (m − 1) numbers; a row enters at most once. On random
games a handful of rows decides an action, whatever k is. ``best_commitment`` is the one entry to
the programs: each compiled function that calls them compiles them anew, which is most of what a
first run waits for.

References
----------
V. Conitzer and T. Sandholm, Computing the optimal strategy to commit to, EC 2006 (one program for
each action); C. E. Lemke, The dual method of solving the linear programming problem, Naval Research
Logistics Quarterly 1, 1954 (dual simplex).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stackcast._compiling import entry, inner, out_of_line
from stackcast.games import BEST_RESPONSE_TOLERANCE

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray

    IntArray = npt.NDArray[np.int64]
    BoolArray = npt.NDArray[np.bool_]
    Index = int | np.int64

OPTIMAL, BEATEN, EMPTY, UNSURE = 0, 1, 2, 3

#: Differences of the agent's payoffs, in units of their scale, up to this are ties.
TIE = BEST_RESPONSE_TOLERANCE
#: Rows are scaled to a largest entry of 1 and objectives to [1, 2]; these are relative to that.
FEASIBLE = 1e-13
CERTIFIED = 1e-10
_PIVOT = 1e-11
_LEAVES = 5e-14


class Programs(NamedTuple):
    """What :func:`best_commitment` found.

    Attributes
    ----------
    strategy : array
        The best commitment, zeros if there is none.
    response : int
        The action that answers it; −1 if there is none.
    value : float
        What it earns, in the units of U; 0 if there is none.
    status, values, bounds : arrays
        For every action, how its program ended (0 optimal, 1 given up, 2 empty, 3 unsure), its
        optimum where it is known, and an upper bound on it.
    """

    strategy: FloatArray
    response: int
    value: float
    status: IntArray
    values: FloatArray
    bounds: FloatArray


@entry
def best_commitment(
    U: FloatArray,
    W: FloatArray,
    lead: FloatArray,
    cuts: FloatArray,
    actions: BoolArray,
    prune: bool,
) -> Programs:
    """Solve the programs of the agent's actions, the most promising first.

    Parameters
    ----------
    U : array, shape (m, k)
        The principal's payoffs scaled to [1, 2], see :func:`unit_payoffs`.
    W : array, shape (m, k)
        The agent's payoffs, of a spread of about 1.
    lead : array, shape (k, k)
        By how much y must lead j; −∞ for an action j that does not count. A positive lead of y
        over itself asks y to be the worst for the principal among its duplicates: the agent cannot
        tell them apart, so a robust commitment may count on no more.
    cuts : array, shape (q, m)
        Rows c with ⟨c, h⟩ ≤ 0 of the principal's constraints.
    actions : array of bool, shape (k,)
        The actions whose programs are to be solved.
    prune : bool
        Whether an action is given up once it cannot beat the best one so far; otherwise each gets
        its own optimum.

    Examples
    --------
    >>> U, low, width = unit_payoffs(np.array([[1.0, 3.0], [0.0, 2.0]]))
    >>> W, everyone = np.eye(2), np.ones(2, dtype=bool)
    >>> best = best_commitment(U, W, np.zeros((2, 2)), np.zeros((0, 2)), everyone, prune=True)
    >>> best.strategy, best.response, low + (best.value - 1) * width
    (array([0.5, 0.5]), 1, 2.5)
    """
    m, k = W.shape
    status = np.full(k, UNSURE)
    values = np.full(k, np.nan)
    bounds = np.full(k, np.inf)
    best = 0.0
    response = -1
    pure = 0
    strategy = np.zeros(m)
    u = np.zeros(m)
    top = np.zeros(k)
    for x in range(m):
        for y in range(k):
            top[y] = max(top[y], U[x, y])

    free = cuts.shape[0] == 0
    for y in range(k):
        for j in range(k):
            if lead[y, j] != 0.0:
                free = False
    if free:
        # The best pure commitment is a first strategy to beat.
        for x in range(m):
            utility = -np.inf
            for y in range(k):
                utility = max(utility, W[x, y])
            for y in range(k):
                if W[x, y] >= utility and U[x, y] > best:
                    best = U[x, y]
                    response = y
                    pure = x
        if response >= 0:
            strategy[pure] = 1.0

    for _ in range(k):
        y = int(np.argmax(top))
        top[y] = -1.0
        if not actions[y]:
            continue
        rows = with_duplicate_rows(cuts, U, W, y) if lead[y, y] > 0.0 else cuts
        for x in range(m):
            u[x] = U[x, y]
        status[y], value, bounds[y], h = _action_program(u, W, y, lead[y], rows, best, prune)
        if status[y] == OPTIMAL:
            values[y] = value
            if value > best + 1e-12:  # rounding does not decide between equals
                best = value
                response = y
                for x in range(m):
                    strategy[x] = h[x]
    return Programs(strategy, response, best, status, values, bounds)


@entry
def facet_leads(projected: FloatArray, margins: FloatArray) -> FloatArray:
    """Return the leads that keep y's commitments ``margins[y, j]`` away from the facet with j.

    ``projected`` holds the agent's payoffs in an orthonormal basis of the affine hull (rows). A
    margin of −∞ stays one; margins on the diagonal stay as they are.

    Examples
    --------
    >>> facet_leads(np.array([[3.0, 0.0], [0.0, 4.0]]), np.array([[0.1, 0.1], [0.2, 0.0]]))
    array([[0.1, 0.5],
           [1. , 0. ]])
    """
    k = projected.shape[1]
    lead = margins.copy()
    columns = projected.T.copy()  # contiguous
    for y in range(k):
        for j in range(y):
            total = 0.0
            for x in range(projected.shape[0]):
                difference = columns[j, x] - columns[y, x]
                total += difference * difference
            length = np.sqrt(total)
            if lead[y, j] > -np.inf:
                lead[y, j] *= length
            if lead[j, y] > -np.inf:
                lead[j, y] *= length
    return lead


@entry
def with_duplicate_rows(cuts: FloatArray, U: FloatArray, W: FloatArray, y: int) -> FloatArray:
    """Add rows that make y the worst for the principal among its duplicates.

    The agent cannot tell duplicates apart, so a robust commitment may count on no more.
    """
    m, k = W.shape
    count = cuts.shape[0]
    rows = np.zeros((count + k, m))
    for a in range(count):
        for x in range(m):
            rows[a, x] = cuts[a, x]
    for j in range(k):
        apart = 0.0
        worse = 0.0
        for x in range(m):
            apart = max(apart, abs(W[x, j] - W[x, y]))
            worse = max(worse, U[x, y] - U[x, j])
        if j != y and apart <= TIE and worse > 0.0:
            for x in range(m):
                rows[count, x] = U[x, y] - U[x, j]
            count += 1
    return rows[:count]


@entry
def _normal_length(projected: FloatArray, y: int, j: int) -> float:
    """Return the length of the normal between y and j within the affine hull."""
    total = 0.0
    for x in range(projected.shape[0]):
        difference = projected[x, j] - projected[x, y]
        total += difference * difference
    return np.sqrt(total)


@entry
def gap_and_distances(
    h: FloatArray,
    y: int,
    U: FloatArray,
    W: FloatArray,
    projected: FloatArray,
    others: BoolArray,
    harmless: float,
) -> tuple[float, FloatArray]:
    """Return what the agent loses by y at h, and the signed distances to the other regions.

    The distance is within the affine hull and to the hyperplanes on which y ties with another
    action; it is negative where that action is better, and infinite where it is not in ``others``,
    is worse than y everywhere, or is a duplicate of y that costs the principal (payoffs U) no more
    than ``harmless``. Other duplicates of y are at distance 0.
    """
    m, k = W.shape
    distances = np.full(k, np.inf)
    largest_gap = 0.0
    for j in range(k):
        gap = 0.0
        loss = 0.0
        apart = 0.0
        lowest = np.inf
        for x in range(m):
            difference = W[x, y] - W[x, j]
            gap += h[x] * difference
            loss += h[x] * (U[x, y] - U[x, j])
            apart = max(apart, abs(difference))
            lowest = min(lowest, difference)
        largest_gap = max(largest_gap, -gap)
        if j == y or not others[j]:
            continue
        if apart <= TIE:
            if loss > harmless:
                distances[j] = 0.0
        elif lowest <= TIE:
            length = _normal_length(projected, y, j)
            if length > 0.0:
                distances[j] = gap / length
            elif gap < 0.0:
                distances[j] = -np.inf
    return largest_gap, distances


@entry
def unit_payoffs(payoffs: FloatArray) -> tuple[FloatArray, float, float]:
    """Return the principal's payoffs scaled to [1, 2], their least value and their width."""
    low, high = np.inf, -np.inf
    for x in range(payoffs.shape[0]):
        for y in range(payoffs.shape[1]):
            low = min(low, payoffs[x, y])
            high = max(high, payoffs[x, y])
    half = high / 2 - low / 2 if high > low else 0.5  # halves cannot overflow
    return (payoffs / 2 - low / 2) / half + 1.0, low, 2 * half


@entry
def scaled_payoffs(payoffs: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Return the payoffs in units of their scale, the same centred, and the scale.

    Each row is shifted to a minimum of 0; the scale is that of the widest row, as in
    :attr:`stackcast.games.AgentView.scale`.
    """
    m, k = payoffs.shape
    frame = np.empty((m, k))
    scale = 0.0
    for x in range(m):
        low = np.inf
        for y in range(k):
            low = min(low, payoffs[x, y])
        for y in range(k):
            frame[x, y] = payoffs[x, y] / 2 - low / 2  # halves cannot overflow
            scale = max(scale, frame[x, y])
    if scale == 0.0:
        scale = 0.5
    mean = np.zeros(k)
    for x in range(m):
        for y in range(k):
            frame[x, y] /= scale
            mean[y] += frame[x, y] / m
    return frame, frame - mean, 2 * scale


@inner
def _action_program(
    u: FloatArray,
    W: FloatArray,
    y: int,
    lead: FloatArray,
    cuts: FloatArray,
    floor: float,
    prune: bool,
) -> tuple[int, float, float, FloatArray]:
    """Solve the program of action ``y`` with the objective ``u`` and return how it ended.

    ``lead`` is row y of the lead matrix, ``cuts`` are the rows of the principal's constraints. With
    ``prune`` the search stops at the value ``floor``.

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
            violation = utility[j] - utility[y] + lead[j]
            if violation > worst:
                worst = violation
                chosen = j
        scale = 0.0
        if chosen >= 0:
            scale = _best_response_row(W, y, chosen, lead[chosen], row)
            if scale <= TIE:
                row_of[chosen] = entered + k + q  # a duplicate of y: no row at all
                continue
            if worst <= FEASIBLE * scale:
                # Not violated beyond rounding, but another row might be on its own scale.
                chosen = -1
                for j in range(k):
                    if j == y or row_of[j] >= 0:
                        continue
                    violation = utility[j] - utility[y] + lead[j]
                    if violation <= 0.0:
                        continue
                    scale = _best_response_row(W, y, j, lead[j], row)
                    if scale > TIE and violation > FEASIBLE * scale:
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
def _best_response_row(W: FloatArray, y: int, j: int, lead: float, row: FloatArray) -> float:
    """Write W_j − W_y + lead, scaled to a largest entry of 1, into ``row``; return the scale."""
    out_of_line()
    m = W.shape[0]
    largest = 0.0
    for x in range(m):
        row[x] = W[x, j] - W[x, y] + lead
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
