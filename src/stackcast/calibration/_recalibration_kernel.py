"""Compiled rounds of the recalibrator: what the maps say, where all bets cancel, the update.

A row of ``rows`` keeps one forecast until its outcome: what the maps said, the logarithms that they
learn from, the forecast, its decision, the cell or decision of the original, and its groups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stackcast._compiling import entry, inner, leaf, out_of_line
from stackcast.calibration._bankroll import (
    SCALE,
    Bankroll,
    bet,
    holdings,
    open_bin,
    pay,
    settle_round,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray

    IntArray = npt.NDArray[np.int64]

#: Original probabilities are read within [SMALLEST, 1 − SMALLEST].
SMALLEST = 1e-6

# Maps of the log odds of a yes/no event: kind, forgetting a round (gradient: its step), prior
# variance of slopes and of the level. Platt: a·x + b; beta: a·ln q − a′·ln(1 − q) + b.
GRADIENT, PLATT, BETA = 1.0, 2.0, 3.0
MAPS = np.array(
    [
        [PLATT, 1.0, 1.0, 1.0],
        [PLATT, 1.0, 0.05, 0.2],
        [PLATT, 0.998, 1.0, 1.0],
        [PLATT, 0.98, 1.0, 1.0],
        [PLATT, 0.99, 0.02, 1.0],
        [BETA, 1.0, 1.0, 1.0],
        [BETA, 0.998, 1.0, 1.0],
        [GRADIENT, 0.01, 1.0, 1.0],
        [GRADIENT, 0.03, 1.0, 1.0],
        [GRADIENT, 0.1, 1.0, 1.0],
    ]
)
# Histograms: cells (of half a unit of log odds; below 0: equal cells of [0, 1]; 1: the base rate),
# forgetting a visit, which map is the prior mean (−1: one half), its weight in rounds.
CELLS = 24
HISTOGRAMS = np.array(
    [
        [CELLS, 1.0, 0.0, 4.0],
        [CELLS, 0.99, 2.0, 4.0],
        [-20.0, 1.0, -1.0, 1.0],
        [1.0, 0.95, -1.0, 2.0],
        [1.0, 0.8, -1.0, 2.0],
    ]
)
# The isotonic map: cells of a quarter of a unit of log odds, pooled anew every so many rounds.
STEPS, REFIT = 112, 16

# Maps of k outcomes, p ∝ exp(a·ln q + b): forgetting, prior variance of a and of b (0: no b), step
# (0: online Newton, otherwise gradient steps).
VECTOR_MAPS = np.array(
    [
        [1.0, 1.0, 0.0, 0.0],
        [1.0, 1.0, 1.0, 0.0],
        [0.998, 1.0, 1.0, 0.0],
        [0.98, 0.05, 0.5, 0.0],
        [1.0, 1.0, 1.0, 0.01],
        [1.0, 1.0, 1.0, 0.03],
        [1.0, 1.0, 1.0, 0.1],
    ]
)
# Tables of outcomes: a row for each decision of the original (0: one row), forgetting, which map is
# the prior mean (−1: uniform), its weight in rounds.
TABLES = np.array(
    [
        [1.0, 1.0, 1.0, 4.0],
        [1.0, 0.99, 2.0, 4.0],
        [1.0, 1.0, -1.0, 1.0],
        [0.0, 0.95, -1.0, 2.0],
        [0.0, 0.8, -1.0, 2.0],
    ]
)
#: How many maps there are, the original among them.
YES_NO_EXPERTS = 2 + len(MAPS) + len(HISTOGRAMS)
EXPERTS = 1 + len(VECTOR_MAPS) + len(TABLES)

#: An outcome that earns more than this against a mixture is counted as a miss.
EXACT = 1e-6


class Bets(NamedTuple):
    """All bets on a forecast: wealth and mean of the maps in log loss and in Brier score, bias."""

    B: float
    m: FloatArray
    C: float
    r: FloatArray
    z: FloatArray  # (n, k): what the bets on the bias of each decision add
    loss: FloatArray  # (n, k): from which a decision is taken


class Sides(NamedTuple):
    """What may be printed, with which chances, and the decision taken from it."""

    points: FloatArray
    chances: FloatArray
    bins: IntArray


class Maps(NamedTuple):
    """What the maps have learnt."""

    theta: FloatArray  # (M, d): parameters
    precision: FloatArray  # (M, d, d)
    counts: FloatArray  # histograms (H, cells, 2): weight, outcomes; tables (H, rows, k)
    steps: FloatArray  # isotonic (3, STEPS): weight, outcomes, the fit


def new_maps(outcomes: int, decisions: int) -> Maps:
    """Return the maps before the first round; one outcome stands for a yes/no event."""
    if outcomes == 1:
        theta, precision = np.zeros((len(MAPS), 3)), np.zeros((len(MAPS), 3, 3))
        for m, (kind, _, slope, level) in enumerate(MAPS):
            theta[m, : 2 if kind == BETA else 1] = 1.0
            second = slope if kind == BETA else level
            precision[m] = np.diag([1 / slope, 1 / second, 1 / level])
        centre = 1 / (1 + np.exp(-(np.arange(STEPS) + 0.5 - STEPS / 2) / 4))
        steps = np.array([np.full(STEPS, 0.1), 0.1 * centre, centre])
        return Maps(theta, precision, np.zeros((len(HISTOGRAMS), CELLS, 2)), steps)
    size = outcomes + 1
    theta, precision = np.zeros((len(VECTOR_MAPS), size)), np.zeros((len(VECTOR_MAPS), size, size))
    theta[:, 0] = 1.0
    for m, (_, slope, level, _) in enumerate(VECTOR_MAPS):
        precision[m] = np.diag([1 / slope, *[1 / (level or 1.0)] * outcomes])
    return Maps(theta, precision, np.zeros((len(TABLES), decisions, outcomes)), np.zeros((0, 0)))


def row_width(outcomes: int, attributes: int) -> int:
    """Return how many numbers keep a forecast until its outcome."""
    if outcomes == 1:
        return YES_NO_EXPERTS + 3 + 3 + attributes
    return EXPERTS * outcomes + 2 * outcomes + 2 + attributes


@leaf
def uniform(key: np.uint64, ticket: int) -> float:
    """Return the ticket-th number in [0, 1) of this key (SplitMix64, counted, not stepped)."""
    z = key + np.uint64(ticket) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) * 2.0**-53


# --- a yes/no event -------------------------------------------------------------------------------


@leaf
def _histogram_cell(q: float, x: float, cells: float) -> int:
    if cells == 1.0:
        return 0
    if cells < 0.0:
        return min(int(-cells * q), int(-cells) - 1)
    return min(max(int(2.0 * x + 0.5 * cells), 0), int(cells) - 1)


@leaf
def _step(x: float) -> int:
    return min(max(int(4.0 * x + 0.5 * STEPS), 0), STEPS - 1)


@leaf
def _squared(A: FloatArray, x: float, y: float, z: float) -> float:
    """Return v′A⁻¹v for a symmetric 3×3 matrix and v = (x, y, z)."""
    a, b, c, d, e, f = A[0, 0], A[0, 1], A[0, 2], A[1, 1], A[1, 2], A[2, 2]
    i, j, k = d * f - e * e, c * e - b * f, b * e - c * d
    u, v, w = a * f - c * c, b * c - a * e, a * d - b * b
    total = i * x * x + u * y * y + w * z * z + 2.0 * (j * x * y + k * x * z + v * y * z)
    return total / (a * i + b * j + c * k)


@leaf
def _advise_event(q: float, maps: Maps, row: FloatArray) -> None:
    """Write what the maps make of q, and the logarithms that they learn from."""
    out_of_line()
    theta, precision, counts, steps = maps
    c = min(max(q, SMALLEST), 1.0 - SMALLEST)
    l1, l0 = np.log(c), np.log(1.0 - c)
    x = l1 - l0
    row[0] = c
    at = 1
    for m in range(MAPS.shape[0]):
        T, A, spread = theta[m], precision[m], 0.0
        if MAPS[m, 0] == BETA:
            mean = T[0] * l1 - T[1] * l0 + T[2]
            spread = _squared(A, l1, -l0, 1.0)
        else:
            mean = T[0] * x + T[1]
            if MAPS[m, 0] == PLATT:
                a, b, d = A[0, 0], A[0, 1], A[1, 1]
                spread = (d * x * x - 2.0 * b * x + a) / (a * d - b * b)
        # The mean of the logistic over what is not yet known (MacKay 1992), π/8 = .3927.
        mean /= np.sqrt(1.0 + 0.39269908 * spread)
        row[at] = min(max(1.0 / (1.0 + np.exp(-mean)), 1e-7), 1.0 - 1e-7)
        at += 1
    for h in range(HISTOGRAMS.shape[0]):
        k = _histogram_cell(q, x, HISTOGRAMS[h, 0])
        base = row[1 + int(HISTOGRAMS[h, 2])] if HISTOGRAMS[h, 2] >= 0.0 else 0.5
        weight = HISTOGRAMS[h, 3]
        row[at] = (counts[h, k, 1] + weight * base) / (counts[h, k, 0] + weight)
        at += 1
    row[at] = steps[2, _step(x)]
    row[at + 1], row[at + 2], row[at + 3] = l1, l0, q


@inner
def _teach_event(l1: float, l0: float, q: float, y: float, t: int, maps: Maps) -> None:
    """Let the maps learn the outcome y of the original q."""
    out_of_line()
    theta, precision, counts, steps = maps
    x = l1 - l0
    for m in range(MAPS.shape[0]):
        kind, keep = MAPS[m, 0], MAPS[m, 1]
        T, A = theta[m], precision[m]
        back_slope, back_level = (1.0 - keep) / MAPS[m, 2], (1.0 - keep) / MAPS[m, 3]
        if kind == GRADIENT:
            step = keep * (y - 1.0 / (1.0 + np.exp(-(T[0] * x + T[1]))))
            T[0] += step * x
            T[1] += step
        elif kind == PLATT:
            p = 1.0 / (1.0 + np.exp(-(T[0] * x + T[1])))
            v, g = max(p * (1.0 - p), 1e-6), y - p
            A[0, 0] = keep * A[0, 0] + back_slope + v * x * x
            A[0, 1] = keep * A[0, 1] + v * x
            A[1, 1] = keep * A[1, 1] + back_level + v
            g0, g1 = g * x - back_slope * (T[0] - 1.0), g - back_level * T[1]
            scale = A[0, 0] * A[1, 1] - A[0, 1] * A[0, 1]
            T[0] += (A[1, 1] * g0 - A[0, 1] * g1) / scale
            T[1] += (A[0, 0] * g1 - A[0, 1] * g0) / scale
        else:
            u, w = l1, -l0
            p = 1.0 / (1.0 + np.exp(-(T[0] * u + T[1] * w + T[2])))
            v, g = max(p * (1.0 - p), 1e-6), y - p
            A[0, 0] = keep * A[0, 0] + back_slope + v * u * u
            A[0, 1] = keep * A[0, 1] + v * u * w
            A[0, 2] = keep * A[0, 2] + v * u
            A[1, 1] = keep * A[1, 1] + back_slope + v * w * w
            A[1, 2] = keep * A[1, 2] + v * w
            A[2, 2] = keep * A[2, 2] + back_level + v
            g0 = g * u - back_slope * (T[0] - 1.0)
            g1 = g * w - back_slope * (T[1] - 1.0)
            g2 = g - back_level * T[2]
            a, b, c, d, e, f = A[0, 0], A[0, 1], A[0, 2], A[1, 1], A[1, 2], A[2, 2]
            i, j, k = d * f - e * e, c * e - b * f, b * e - c * d
            uu, vv, ww = a * f - c * c, b * c - a * e, a * d - b * b
            scale = a * i + b * j + c * k
            T[0] += (i * g0 + j * g1 + k * g2) / scale
            T[1] += (j * g0 + uu * g1 + vv * g2) / scale
            T[2] += (k * g0 + vv * g1 + ww * g2) / scale
    for h in range(HISTOGRAMS.shape[0]):
        k = _histogram_cell(q, x, HISTOGRAMS[h, 0])
        counts[h, k, 0] = HISTOGRAMS[h, 1] * counts[h, k, 0] + 1.0
        counts[h, k, 1] = HISTOGRAMS[h, 1] * counts[h, k, 1] + y
    k = _step(x)
    steps[0, k] += 1.0
    steps[1, k] += y
    if t % REFIT == 0:
        _pool(steps)


@inner
def _pool(steps: FloatArray) -> None:
    """Fit the cells by pooling adjacent violators, a quarter of an outcome of each kind added."""
    out_of_line()
    weight, total = np.empty(STEPS), np.empty(STEPS)
    last = np.empty(STEPS, np.int64)
    top = -1
    for i in range(STEPS):
        top += 1
        weight[top], total[top], last[top] = steps[0, i], steps[1, i], i
        while top > 0 and total[top - 1] * weight[top] >= total[top] * weight[top - 1]:
            top -= 1
            weight[top] += weight[top + 1]
            total[top] += total[top + 1]
            last[top] = i
    i = 0
    for block in range(top + 1):
        level = total[block] / weight[block]
        if weight[block] > 1.0:
            level = (total[block] + 0.25) / (weight[block] + 0.5)
        while i <= last[block]:
            steps[2, i] = min(max(level, 1e-6), 1.0 - 1e-6)
            i += 1


@leaf
def _net(p: float, B: float, m: float, C: float, r: float, z: float) -> float:
    return B * (m / p - (1.0 - m) / (1.0 - p)) + C * (r - p) + z


@leaf
def _root(B: float, m: float, C: float, r: float, z: float) -> float:
    """Return the p at which the bets cancel where the decision's bets add z: the sum falls in p."""
    # B(m − p) + z·p(1 − p) = 0 without cancellation, then Newton with the Brier bets.
    h = 0.5 * (B - z)
    disc = np.sqrt(h * h + z * B * m)
    p = B * m / (h + disc) if h >= 0.0 else (disc - h) / z
    low, high = 0.0, 1.0
    for _ in range(60):
        f = _net(p, B, m, C, r, z)
        if f > 0.0:
            low = p
        else:
            high = p
        new = p + f / (B * (m / (p * p) + (1.0 - m) / ((1.0 - p) * (1.0 - p))) + C)
        close = abs(new - p) <= 1e-9 * p * (1.0 - p)  # the step after this one is below rounding
        p = new if low < new < high or close else 0.5 * (low + high)
        if close:
            break
    return p


@leaf
def choose_event(
    B: float, m: float, C: float, r: float, z: FloatArray, edges: FloatArray, sides: Sides,
) -> int:  # fmt: skip
    """Write the forecasts at which the bets cancel, their chances and decisions; return how many.

    B, m are wealth and mean of the bets in log loss, C, r of those in the Brier score, z[i] what
    the bets on the bias of decision i add. From the bin of m one goes the way the sum points, to a
    bin that holds its own root or a threshold at which the sum jumps from + to −.
    """
    points, chances, bins = sides
    i = 0
    while i < edges.size and m >= edges[i]:
        i += 1
    came = 0
    while True:
        p = _root(B, m, C, r, z[i, 0])
        low = edges[i - 1] if i > 0 else 0.0
        high = edges[i] if i < edges.size else 2.0
        if low <= p < high:
            points[0, 0] = min(max(p, 1e-9), 1.0 - 1e-9)
            chances[0], bins[0] = 1.0, i
            return 1
        way = 1 if p >= high else -1
        if came == -way:
            lower = i if way == 1 else i - 1
            edge = edges[lower]
            below = _net(edge, B, m, C, r, z[lower, 0])
            above = _net(edge, B, m, C, r, z[lower + 1, 0])
            points[0, 0], points[1, 0] = np.nextafter(edge, 0.0), edge
            chances[0] = -above / (below - above)
            chances[1] = 1.0 - chances[0]
            bins[0], bins[1] = lower, lower + 1
            return 2
        came = way
        i += way


# --- k outcomes -----------------------------------------------------------------------------------


@leaf
def decide(p: FloatArray, loss: FloatArray) -> int:
    """Return the decision of least expected loss, the first of several."""
    best, at = np.inf, 0
    for a in range(loss.shape[0]):
        total = 0.0
        for y in range(p.size):
            total += loss[a, y] * p[y]
        if total < best:
            best, at = total, a
    return at


@inner
def _softmax(T: FloatArray, x: FloatArray, out: FloatArray) -> None:
    top = -np.inf
    for j in range(x.size):
        out[j] = T[0] * x[j] + T[1 + j]
        top = max(top, out[j])
    total = 0.0
    for j in range(x.size):
        out[j] = np.exp(out[j] - top)
        total += out[j]
    for j in range(x.size):
        out[j] = max(out[j] / total, 1e-7)


@inner
def _advise(q: FloatArray, loss: FloatArray, maps: Maps, row: FloatArray) -> None:
    """Write what the maps make of q, its logarithms and its decision."""
    out_of_line()
    k = q.size
    advice = row[: EXPERTS * k].reshape((EXPERTS, k))
    x = row[EXPERTS * k : (EXPERTS + 1) * k]
    total = 0.0
    for j in range(k):
        advice[0, j] = max(q[j], SMALLEST)
        total += advice[0, j]
    for j in range(k):
        advice[0, j] /= total
        x[j] = np.log(advice[0, j])
    for m in range(VECTOR_MAPS.shape[0]):
        _softmax(maps.theta[m], x, advice[1 + m])
    own = decide(advice[0], loss)
    for h in range(TABLES.shape[0]):
        counts = maps.counts[h, own if TABLES[h, 0] == 1.0 else 0]
        weight, prior = TABLES[h, 3], int(TABLES[h, 2])
        for j in range(k):
            base = advice[1 + prior, j] if prior >= 0 else 1.0 / k
            advice[1 + VECTOR_MAPS.shape[0] + h, j] = counts[j] + weight * base
    for e in range(1, EXPERTS):
        total = 0.0
        for j in range(k):
            total += advice[e, j]
        for j in range(k):
            advice[e, j] /= total
    row[(EXPERTS + 2) * k] = own


@inner
def _teach(x: FloatArray, own: int, y: int, maps: Maps) -> None:
    """Let the maps learn the outcome y of the original with logarithms x and decision ``own``."""
    out_of_line()
    k = x.size
    p, g = np.empty(k), np.empty(k + 1)
    for m in range(VECTOR_MAPS.shape[0]):
        keep, step = VECTOR_MAPS[m, 0], VECTOR_MAPS[m, 3]
        T, A = maps.theta[m], maps.precision[m]
        _softmax(T, x, p)
        mean, square = 0.0, 0.0
        for j in range(k):
            mean += p[j] * x[j]
            square += p[j] * x[j] * x[j]
            g[1 + j] = (1.0 if j == y else 0.0) - p[j]
        g[0] = x[y] - mean
        if step > 0.0:
            for j in range(k + 1):
                T[j] += step * g[j]
            continue
        back_slope = (1.0 - keep) / VECTOR_MAPS[m, 1]
        A[0, 0] = keep * A[0, 0] + back_slope + max(square - mean * mean, 1e-9)
        g[0] -= back_slope * (T[0] - 1.0)
        if VECTOR_MAPS[m, 2] == 0.0:
            T[0] += g[0] / A[0, 0]
            continue
        back_level = (1.0 - keep) / VECTOR_MAPS[m, 2]
        for i in range(k):  # the lower triangle
            A[1 + i, 0] = keep * A[1 + i, 0] + p[i] * (x[i] - mean)
            for j in range(i + 1):
                A[1 + i, 1 + j] = keep * A[1 + i, 1 + j] - p[i] * p[j]
            A[1 + i, 1 + i] += p[i] + back_level
            g[1 + i] -= back_level * T[1 + i]
        _solve(A, g)
        for j in range(k + 1):
            T[j] += g[j]
    for h in range(TABLES.shape[0]):
        counts = maps.counts[h, own if TABLES[h, 0] == 1.0 else 0]
        for j in range(k):
            counts[j] *= TABLES[h, 1]
        counts[y] += 1.0


@inner
def _solve(A: FloatArray, g: FloatArray) -> None:
    """Write A⁻¹g into g for a positive definite A of which the lower triangle is given."""
    out_of_line()
    n = g.size
    L = np.empty((n, n))
    for i in range(n):
        for j in range(i + 1):
            total = A[i, j]
            for c in range(j):
                total -= L[i, c] * L[j, c]
            L[i, j] = np.sqrt(max(total, 1e-12)) if i == j else total / L[j, j]
        for j in range(i):
            g[i] -= L[i, j] * g[j]
        g[i] /= L[i, i]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            g[i] -= L[j, i] * g[j]
        g[i] /= L[i, i]


@leaf
def _cancel(B: float, m: FloatArray, C: float, r: FloatArray, z: FloatArray, p: FloatArray) -> None:
    """Write the p at which the bets cancel for every outcome where the decision's bets add z.

    B·m_y/p_y + ½C(r_y − p_y) + z_y is one number for all y: a quadratic for each p_y, and one root
    for the number at which they sum to 1.
    """
    out_of_line()
    k = m.size
    low, high = -np.inf, np.inf
    for j in range(k):
        low = max(low, B * m[j] + 0.5 * C * (r[j] - 1.0) + z[j])  # each p_y is at most 1
    level = low + 1e-12
    for _ in range(100):
        total, slope = 0.0, 0.0
        for j in range(k):
            b = level - 0.5 * C * r[j] - z[j]
            disc = np.sqrt(b * b + 2.0 * C * B * m[j])
            p[j] = 2.0 * B * m[j] / (b + disc) if b > 0.0 else (disc - b) / C
            total += p[j]
            slope -= p[j] / disc if disc > 0.0 else 0.0
        if abs(total - 1.0) < 1e-13:
            break
        if total > 1.0:
            low = level
        else:
            high = level
        new = level - (total - 1.0) / slope if slope != 0.0 else level
        if not low < new < high:
            new = 0.5 * (low + high) if high < np.inf else low + 2.0 * max(abs(low), 1e-3)
        level = new
    total = 0.0
    for j in range(k):
        p[j] = max(p[j], 1e-9)
        total += p[j]
    for j in range(k):
        p[j] /= total


@inner
def choose(
    bets: Bets,
    sides: Sides,
) -> tuple[int, float]:
    """Write the forecasts against which no outcome earns in the mean, their chances and decisions.

    Return how many there are and what the best outcome earns. This is Player 2's game: against the
    forecast p of decision i the outcome y earns

        B(m_y/p_y − 1) + ½C⟨r − p, e_y − p⟩ + z_iy − ⟨z_i, p⟩.

    Where a decision holds its own root, that root alone earns 0. Otherwise decisions meet: a mix
    λ of decisions that are equally good at the root p(λ) of Σ λ_i z_i, and better than all others
    there, earns 0 as well. One exists (Kakutani), and the decisions that meet are looked for, two
    by two, then three by three, and so forth; Newton's method finds λ.
    """
    out_of_line()
    B, m, C, r, z, loss = bets
    points, chances, bins = sides
    n, k = loss.shape
    p = points[0]
    i = decide(m, loss)
    before = -1
    for _ in range(n):
        _cancel(B, m, C, r, z[i], p)
        j = decide(p, loss)
        if j == i:
            chances[0], bins[0] = 1.0, i
            return 1, 0.0
        if j == before:
            break
        before, i = i, j
    met = np.empty(min(n, k), np.int64)
    met[0], met[1] = min(i, j), max(i, j)
    if _meet(bets, met[:2], sides):
        return 2, _earned(bets, sides, 2)
    for a in range(n):  # a root that another start of the walk would have found
        _cancel(B, m, C, r, z[a], p)
        if decide(p, loss) == a:
            chances[0], bins[0] = 1.0, a
            return 1, 0.0
    for size in range(2, met.size + 1):
        for a in range(size):
            met[a] = a
        while True:
            if _meet(bets, met[:size], sides):
                return size, _earned(bets, sides, size)
            a = size - 1
            while a >= 0 and met[a] == n - size + a:
                a -= 1
            if a < 0:
                break
            met[a] += 1
            for c in range(a + 1, size):
                met[c] = met[c - 1] + 1
    _cancel(B, m, C, r, z[i], points[0])  # not exact: G counts what is earned
    chances[0], bins[0] = 1.0, decide(points[0], loss)
    return 1, _earned(bets, sides, 1)


@inner
def _earned(
    bets: Bets,
    sides: Sides,
    count: int,
) -> float:
    """Return what the best outcome earns against a mixture of forecasts, by definition."""
    out_of_line()
    B, m, C, r, z, loss = bets
    points, chances, _ = sides
    worst = -np.inf
    for y in range(m.size):
        total = 0.0
        for a in range(count):
            p = points[a]
            i = decide(p, loss)
            total += chances[a] * (B * (m[y] / p[y] - 1.0) + 0.5 * C * (r[y] - p[y]) + z[i, y])
            for j in range(m.size):
                total -= chances[a] * p[j] * (0.5 * C * (r[j] - p[j]) + z[i, j])
        worst = max(worst, total)
    return worst


@inner
def _meet(
    bets: Bets,
    met: IntArray,
    sides: Sides,
) -> bool:
    """Write the sides of the point where these decisions meet and cancel; False if none is found.

    Newton's method from the middle and from near each corner of λ, with steps halved as long as
    they do not bring the losses closer together.
    """
    out_of_line()
    k, s = bets.m.size, met.size - 1
    weight, p = np.empty(s + 1), np.empty(k)
    for start in range(s + 2):
        for i in range(s + 1):
            weight[i] = 1.0 / (s + 1) if start == 0 else 0.02 / s
        if start > 0:
            weight[start - 1] = 0.98
        if _newton(bets, met, weight, p):
            for i in range(s + 1):
                weight[i] = max(weight[i], 0.0)
            if _sides(bets.loss, p, met, weight, sides):
                return True
    return False


@inner
def _newton(
    bets: Bets,
    met: IntArray,
    weight: FloatArray,
    p: FloatArray,
) -> bool:
    """Write the λ, from the one given, at whose p(λ) the decisions lose the same; False if none."""
    out_of_line()
    B, m, C, r, z, loss = bets
    k, s = m.size, met.size - 1
    trial = np.empty(s + 1)
    mixed, slope = np.empty(k), np.empty(k)
    system = np.zeros((s, s + 1))
    gap, step = np.inf, 1.0
    trial[:] = weight
    for _ in range(60):
        for y in range(k):
            mixed[y] = 0.0
            for i in range(s + 1):
                mixed[y] += trial[i] * z[met[i], y]
        _cancel(B, m, C, r, mixed, p)
        apart = 0.0
        for j in range(s):
            total = 0.0
            for y in range(k):
                total += (loss[met[1 + j], y] - loss[met[0], y]) * p[y]
            apart = max(apart, abs(total))
        if apart >= gap:
            step *= 0.5
            if step < 1e-3:
                break
        else:
            gap, step = apart, 1.0
            weight[:] = trial
            if gap < 1e-13:
                break
            sum_slopes = 0.0
            for y in range(k):
                slope[y] = 1.0 / (B * m[y] / (p[y] * p[y]) + 0.5 * C)
                sum_slopes += slope[y]
            for j in range(s):
                system[j, s] = 0.0
                for y in range(k):
                    system[j, s] -= (loss[met[1 + j], y] - loss[met[0], y]) * p[y]
            for a in range(s):  # dp/dλ_a = slope·(z_a − z_0 − their mean by slope)
                mean = 0.0
                for y in range(k):
                    mean += slope[y] * (z[met[1 + a], y] - z[met[0], y]) / sum_slopes
                for j in range(s):
                    system[j, a] = 0.0
                    for y in range(k):
                        change = slope[y] * (z[met[1 + a], y] - z[met[0], y] - mean)
                        system[j, a] += (loss[met[1 + j], y] - loss[met[0], y]) * change
            if not _eliminate(system):
                return False
        trial[0] = 1.0
        for j in range(s):
            trial[1 + j] = weight[1 + j] + step * system[j, s]
            trial[0] -= trial[1 + j]
    if gap > 1e-11:
        return False
    return bool(weight.min() >= -1e-9)


@inner
def _sides(
    loss: FloatArray,
    p: FloatArray,
    met: IntArray,
    weight: FloatArray,
    sides: Sides,
) -> bool:
    """Write a point close to p for each decision that meets there; False if another is better."""
    out_of_line()
    points, chances, bins = sides
    k, s = p.size, met.size - 1
    way = np.empty(k)
    rows, system = np.empty((s, k)), np.empty((s, s + 1))
    for i in range(s + 1):
        # The shortest way along which all others of them lose 1 more.
        for j in range(s):
            other, mean = met[j if j < i else j + 1], 0.0
            for y in range(k):
                rows[j, y] = loss[other, y] - loss[met[i], y]
                mean += rows[j, y] / k
            for y in range(k):
                rows[j, y] -= mean
        for a in range(s):
            system[a, s] = 1.0
            for b in range(s):
                system[a, b] = 0.0
                for y in range(k):
                    system[a, b] += rows[a, y] * rows[b, y]
        if not _eliminate(system):
            return False
        room = 1e-9
        for y in range(k):
            way[y] = 0.0
            for j in range(s):
                way[y] += system[j, s] * rows[j, y]
            if way[y] < 0.0:
                room = min(room, -0.5 * p[y] / way[y])
        for y in range(k):
            points[i, y] = p[y] + room * way[y]
        chances[i], bins[i] = weight[i], met[i]
        if decide(points[i], loss) != met[i]:
            return False
    return True


@inner
def _eliminate(system: FloatArray) -> bool:
    """Solve a small linear system in place, its right side last; False if it is singular."""
    out_of_line()
    n = system.shape[0]
    for c in range(n):
        pivot = c
        for i in range(c + 1, n):
            if abs(system[i, c]) > abs(system[pivot, c]):
                pivot = i
        if abs(system[pivot, c]) < 1e-300:
            return False
        for j in range(n + 1):
            system[c, j], system[pivot, j] = system[pivot, j], system[c, j]
        for i in range(n):
            if i != c:
                factor = system[i, c] / system[c, c]
                for j in range(c, n + 1):
                    system[i, j] -= factor * system[c, j]
    for i in range(n):
        system[i, n] /= system[i, i]
    return True


@leaf
def _imbalance(bankroll: Bankroll, groups: IntArray, decisions: int, i: int, j: int) -> float:
    """Return what the bets on the bias of decision i and outcome j add, those of groups too."""
    tilts, banks = bankroll.tilts, bankroll.banks
    z = 0.0
    for b in range(banks.shape[1]):
        z += banks[SCALE, b] * tilts[i, j, b]
    for a in range(groups.size):
        at = groups[a] * decisions + i
        if 0 < at < tilts.shape[0]:  # a group that has not been seen has no bets yet
            for b in range(banks.shape[1]):
                z += banks[SCALE, b] * tilts[at, j, b]
    return z


@leaf
def _forecast_event(
    q: float, groups: IntArray, held: FloatArray, bankroll: Bankroll, maps: Maps,
    edges: FloatArray, z: FloatArray, sides: Sides, row: FloatArray,
) -> int:  # fmt: skip
    """Write the advice for q and the sides of its forecast; return how many there are."""
    _advise_event(q, maps, row)
    for i in range(edges.size + 1):
        z[i, 0] = _imbalance(bankroll, groups, edges.size + 1, i, 0)
    B, m, C, r = 0.0, 0.0, 0.0, 0.0
    for e in range(YES_NO_EXPERTS):
        B += held[e]
        m += held[e] * row[e]
        C += held[YES_NO_EXPERTS + e]
        r += held[YES_NO_EXPERTS + e] * row[e]
    return choose_event(B, m / B, C, r / C, z, edges, sides)


@inner
def _forecast_classes(
    q: FloatArray, groups: IntArray, held: FloatArray, bankroll: Bankroll, maps: Maps,
    loss: FloatArray, z: FloatArray, sides: Sides, row: FloatArray,
) -> tuple[int, float]:  # fmt: skip
    """Write the advice for q and Player 2's mixture; return its size and what it lets be earned."""
    _advise(q, loss, maps, row)
    n, k = loss.shape
    for i in range(n):
        for j in range(k):
            z[i, j] = _imbalance(bankroll, groups, n, i, j)
    B, C = 0.0, 0.0
    m, r = np.zeros(k), np.zeros(k)
    for e in range(EXPERTS):
        B += held[e]
        C += held[EXPERTS + e]
        for j in range(k):
            m[j] += held[e] * row[e * k + j]
            r[j] += held[EXPERTS + e] * row[e * k + j]
    for j in range(k):
        m[j] /= B
        r[j] /= C
    return choose(Bets(B, m, C, r, z, loss), sides)


@inner
def _forecast(
    q: FloatArray, groups: IntArray, u: float, held: FloatArray, bankroll: Bankroll, maps: Maps,
    table: FloatArray, z: FloatArray, sides: Sides, row: FloatArray,
) -> tuple[int, float]:  # fmt: skip
    """Write advice, the forecast that u draws, its decision and its groups into the row."""
    value, k = 0.0, q.size
    if k == 1:
        at = YES_NO_EXPERTS + 3
        count = _forecast_event(q[0], groups, held, bankroll, maps, table[0], z, sides, row)
    else:
        at = (EXPERTS + 1) * k
        count, value = _forecast_classes(q, groups, held, bankroll, maps, table, z, sides, row)
    chosen = 0
    while chosen < count - 1 and u >= sides.chances[chosen]:
        u -= sides.chances[chosen]
        chosen += 1
    for j in range(k):
        row[at + j] = sides.points[chosen, j]
    home = row.size - groups.size - 1
    row[home] = sides.bins[chosen]
    for a in range(groups.size):
        row[home + 1 + a] = groups[a]
    return count, value


@inner
def _settle(
    row: FloatArray, y: float, attributes: int, gains: FloatArray, gap: FloatArray,
    bankroll: Bankroll, maps: Maps, decisions: int, clock: IntArray,
) -> None:  # fmt: skip
    """Pay all bets on the forecast in ``row``, whose outcome is y, and let the maps learn."""
    if gap.size == 1:
        _gains_event(row, y, gains, gap)
    else:
        _gains_classes(row, int(y), gains, gap)
    pay(bankroll, gains)
    home = row.size - attributes - 1
    chosen = int(row[home])
    bet(bankroll, chosen, 1.0, gap)
    for a in range(attributes):
        bet(bankroll, int(row[home + 1 + a]) * decisions + chosen, 1.0, gap)
    clock[0] += 1
    settle_round(bankroll, clock[0])
    if gap.size == 1:
        _teach_event(
            row[YES_NO_EXPERTS], row[YES_NO_EXPERTS + 1], row[YES_NO_EXPERTS + 2], y, clock[0], maps
        )
    else:
        at = EXPERTS * gap.size
        _teach(row[at : at + gap.size], int(row[at + 2 * gap.size]), int(y), maps)


@leaf
def _gains_event(row: FloatArray, y: float, gains: FloatArray, gap: FloatArray) -> None:
    """Write f − 1 of each map's two bets, and y − p."""
    out_of_line()
    p = row[YES_NO_EXPERTS + 3]
    gap[0] = y - p
    odds = gap[0] / (p * (1.0 - p))
    for e in range(YES_NO_EXPERTS):
        gains[e] = (row[e] - p) * odds
        gains[YES_NO_EXPERTS + e] = (row[e] - p) * gap[0]


@leaf
def _gains_classes(row: FloatArray, y: int, gains: FloatArray, gap: FloatArray) -> None:
    """Write f − 1 of each map's two bets, and e_y − p."""
    out_of_line()
    k = gap.size
    p = row[(EXPERTS + 1) * k : (EXPERTS + 2) * k]
    square = 0.0
    for j in range(k):
        square += p[j] * p[j]
        gap[j] = (1.0 if j == y else 0.0) - p[j]
    for e in range(EXPERTS):
        product = 0.0
        for j in range(k):
            product += row[e * k + j] * p[j]
        gains[e] = row[e * k + y] / p[y] - 1.0
        gains[EXPERTS + e] = 0.5 * (row[e * k + y] - p[y] - product + square)


@inner
def _open_groups(groups: IntArray, bankroll: Bankroll, decisions: int) -> None:
    """Give groups that appear for the first time their part of what is kept for groups."""
    for group in groups:
        if bankroll.shares[group * decisions] == 0.0:
            left = bankroll.shares[-1]
            share = left / (group + 1.0)  # the g-th of all: 1/(g(g + 1)) of the whole
            for i in range(decisions):
                rest = left - share * (i + 1.0) / decisions
                open_bin(bankroll, group * decisions + i, share / decisions, rest)


@entry
def predict_rounds(
    wealth: FloatArray, tilts: FloatArray, sizes: FloatArray, priors: FloatArray,
    first_sizes: IntArray, banks: FloatArray, bin_shares: FloatArray, growth: FloatArray,
    experts: FloatArray, expert_priors: FloatArray, theta: FloatArray, precision: FloatArray,
    counts: FloatArray, steps: FloatArray, table: FloatArray, decisions: int, clock: IntArray,
    key: np.uint64, keep: bool, originals: FloatArray, groups: IntArray, rows: FloatArray,
    points: FloatArray, chances: FloatArray,
) -> int:  # fmt: skip
    """Fill ``rows`` with forecasts of the originals, without an outcome.

    Unless they are to be kept, nothing else changes, and all are drawn with the coming ticket's
    number. Returns how many sides the last one has.
    """
    bankroll = Bankroll(
        wealth, tilts, sizes, priors, first_sizes, banks, bin_shares, growth, experts, expert_priors
    )
    maps = Maps(theta, precision, counts, steps)
    held = np.empty(expert_priors.size)
    holdings(bankroll, held)
    z = np.empty((decisions, originals.shape[1]))
    sides = Sides(points, chances, np.empty(chances.size, np.int64))
    count = 0
    for t in range(originals.shape[0]):
        if keep:
            _open_groups(groups[t], bankroll, decisions)
        u = uniform(key, clock[1])
        count, _ = _forecast(
            originals[t], groups[t], u, held, bankroll, maps, table, z, sides, rows[t]
        )
        clock[1] += keep
    return count


@entry
def settle_rounds(
    wealth: FloatArray, tilts: FloatArray, sizes: FloatArray, priors: FloatArray,
    first_sizes: IntArray, banks: FloatArray, bin_shares: FloatArray, growth: FloatArray,
    experts: FloatArray, expert_priors: FloatArray, theta: FloatArray, precision: FloatArray,
    counts: FloatArray, steps: FloatArray, table: FloatArray, decisions: int, clock: IntArray,  # noqa: ARG001
    attributes: int, row: FloatArray, outcome: float,
) -> None:  # fmt: skip
    """Observe the outcome of the forecast in ``row``."""
    bankroll = Bankroll(
        wealth, tilts, sizes, priors, first_sizes, banks, bin_shares, growth, experts, expert_priors
    )
    maps = Maps(theta, precision, counts, steps)
    gains, gap = np.empty(expert_priors.size), np.empty(wealth.shape[1])
    _settle(row, outcome, attributes, gains, gap, bankroll, maps, decisions, clock)


@entry
def run_rounds(
    wealth: FloatArray, tilts: FloatArray, sizes: FloatArray, priors: FloatArray,
    first_sizes: IntArray, banks: FloatArray, bin_shares: FloatArray, growth: FloatArray,
    experts: FloatArray, expert_priors: FloatArray, theta: FloatArray, precision: FloatArray,
    counts: FloatArray, steps: FloatArray, table: FloatArray, decisions: int, clock: IntArray,
    key: np.uint64, originals: FloatArray, outcomes: FloatArray, groups: IntArray,
    rows: FloatArray, points: FloatArray, chances: FloatArray, forecasts: FloatArray,
    labels: IntArray,
) -> None:  # fmt: skip
    """Fill ``forecasts`` and ``labels``, each round's before its outcome is observed.

    ``rows`` has one row for each round of delay and one more: a round's outcome is observed that
    many forecasts later.
    """
    bankroll = Bankroll(
        wealth, tilts, sizes, priors, first_sizes, banks, bin_shares, growth, experts, expert_priors
    )
    maps = Maps(theta, precision, counts, steps)
    held, gains = np.empty(expert_priors.size), np.empty(expert_priors.size)
    k, attributes, late = originals.shape[1], groups.shape[1], rows.shape[0] - 1
    z, gap = np.empty((decisions, k)), np.empty(k)
    sides = Sides(points, chances, np.empty(chances.size, np.int64))
    at = YES_NO_EXPERTS + 3 if k == 1 else (EXPERTS + 1) * k
    for t in range(originals.shape[0] + late):
        if t < originals.shape[0]:
            row = rows[t % (late + 1)]
            holdings(bankroll, held)
            _open_groups(groups[t], bankroll, decisions)
            u = uniform(key, clock[1])
            count, value = _forecast(
                originals[t], groups[t], u, held, bankroll, maps, table, z, sides, row
            )
            clock[1] += 1
            clock[2] += count > 1
            clock[3] += value > EXACT
            for j in range(k):
                forecasts[t, j] = row[at + j]
            labels[t] = int(row[row.size - attributes - 1])
        if t >= late:
            row = rows[(t - late) % (late + 1)]
            y = outcomes[t - late]
            _settle(row, y, attributes, gains, gap, bankroll, maps, decisions, clock)
