"""A posterior over the payoffs of an agent that forecasts, by elliptical slice sampling.

An agent with payoffs W answers a strategy h by the best response to its forecast of h, which is off
by about s = a/√l after l rounds' worth of knowledge. With d_j the distance of h from the facet
between the best answer and j, the odds of the answer j are

    (1 − c)·exp(−d_j/s) + c/(1 + d_j/s)        against 1 for the best answer:

(of a lazy one, after a lag: l²/(l + lag) rounds' worth instead of l)
the exponential is the time that a calibrated agent needs to notice, and the tail is the paper's
lemma n_j·dist_j ≤ √m·(error). A row of evidence is a strategy, weighted shares of answers and l;
its log likelihood is Σ_j weight_j·log(odds_j/Σ odds).

The payoffs are a map of standard normals θ, and a kind of game is another map:

- *cells*: W = √(1−w)·Z + √w·F + lean·g·G. Z has a number for each cell, F one for each set of cells
  of a column in which the principal's payoffs tie (what is the same to the principal may be the
  same to the agent), G is the principal's payoffs less their rows' means, of rms 1; w and g are
  latent too.
- *targets* of a security game: the attacker's uncovered payoff e^σ·(Z_t + lean·g·G_t) and what
  coverage takes off it, exp(τ·Z′_t) > 0, with latent spreads: 2n numbers instead of n².

Bounds [low, high] on payoffs send the normal x of a cell to low + (high − low)·Φ(x): the posterior
is cut to the bounds, and a payoff with low = high is known.

References
----------
Murray, Adams and MacKay (2010). Elliptical slice sampling. AISTATS.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stackcast._compiling import entry, inner
from stackcast._validation import InputError
from stackcast.solvers import best_commitment, facet_leads, unit_payoffs

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._state import State
    from stackcast._validation import FloatArray
    from stackcast.games import StrategySpace

    IntArray = npt.NDArray[np.int64]
    #: Basis of the hull, tied cells, correlation with U_P, decidedness of ties, bounds, kind.
    Prior = tuple[FloatArray, IntArray, FloatArray, float, FloatArray, FloatArray, bool]
    #: Strategies, weighted shares of answers, and rounds' worth of knowledge, a row each.
    Evidence = tuple[FloatArray, FloatArray, FloatArray]

#: Latent numbers besides the cells': lag, correlation, weight of ties (or the two spreads), blur.
_SHARED = 5
#: The standard deviation of the log of a: within a factor 2 of its median two times in three.
_BLUR_SPREAD = 0.7
#: The standard deviation of the log of the lag, whose median is one round: lazy agents are known.
_LAG_SPREAD = 2.0
#: A slice that is not hit in so many halvings is given up: the particle stays.
_SHRINKS = 60


@inner
def _payoffs(z: FloatArray, prior: Prior, W: FloatArray) -> None:
    """Write the payoffs of latent normals z into W: cells (m×k), or uncovered payoffs and drops."""
    _, tied, lean, ties, low, high, targets = prior
    m, k = W.shape
    n = len(z)
    bounded = low.shape[0] > 0
    if targets:
        spread, steep = np.exp(-0.5 + z[n - 3]), 0.5 * np.exp(0.5 * z[n - 2])
        for j in range(k):
            W[0, j] = spread * (z[j] + z[n - 4] * lean[0, j])
            W[1, j] = np.exp(steep * z[k + j])
            if bounded:
                for x in range(2):
                    share = 0.5 * (1 + math.erf(z[x * k + j] / np.sqrt(2.0)))
                    W[x, j] = low[x, j] + (high[x, j] - low[x, j]) * share
                W[1, j] = max(W[0, j] - W[1, j], 1e-6)
        return
    w = 0.5 * (1 + math.erf(ties * z[n - 3] / np.sqrt(2.0)))
    own, shared = np.sqrt(1 - w), np.sqrt(w)
    for x in range(m):
        for j in range(k):
            W[x, j] = own * z[x * k + j] + shared * z[m * k + tied[x, j]] + z[n - 4] * lean[x, j]
            if bounded:
                share = 0.5 * (1 + math.erf(W[x, j] / np.sqrt(2.0)))
                W[x, j] = low[x, j] + (high[x, j] - low[x, j]) * share


@inner
def _scales(W: FloatArray, prior: Prior, S: FloatArray) -> None:
    """Write into S what turns leads of one answer over another into distances in the hull."""
    basis, targets = prior[0], prior[6]
    k = W.shape[1]
    for i in range(k):
        S[i, i] = 0.0
        for j in range(i):
            total = 0.0
            if targets:
                total = W[1, i] * W[1, i] + W[1, j] * W[1, j]
            else:
                for d in range(basis.shape[1]):
                    along = 0.0
                    for x in range(basis.shape[0]):
                        along += basis[x, d] * (W[x, i] - W[x, j])
                    total += along * along
            S[i, j] = S[j, i] = 1.0 / np.sqrt(max(total, 1e-12))


@inner
def _odds(
    h: FloatArray,
    W: FloatArray,
    S: FloatArray,
    targets: bool,
    sharp: float,
    tail: float,
    w: FloatArray,
) -> float:
    """Write the odds of the answers at h into w, 1 for the best one; return their sum."""
    m, k = W.shape
    best, highest = 0, -np.inf
    for j in range(k):
        v = 0.0
        if targets:
            v = W[0, j] - W[1, j] * h[j]
        else:
            for x in range(m):
                v += h[x] * W[x, j]
        w[j] = v
        if v > highest:
            best, highest = j, v
    total = 0.0
    for j in range(k):
        r = (highest - w[j]) * S[best, j] * sharp
        w[j] = tail / (1 + r) + ((1 - tail) * np.exp(-r) if r < 40.0 else 0.0)
        if j == best:
            w[j] = 1.0
        total += w[j]
    return total


@inner
def _likelihood(
    W: FloatArray,
    S: FloatArray,
    a: float,
    lag: float,
    evidence: Evidence,
    targets: bool,
    tail: float,
    least: float,
    w: FloatArray,
) -> float:
    """Return the log likelihood; below ``least`` it stops, for no term is positive."""
    rows, shares, known = evidence
    total = 0.0
    for b in range(len(known) - 1, -1, -1):
        z = np.log(_odds(rows[b], W, S, targets, known[b] / (a * np.sqrt(known[b] + lag)), tail, w))
        for j in range(len(w)):
            if shares[b, j] > 0:
                total += shares[b, j] * (np.log(w[j]) - z)
        if total < least:
            return total
    return total


@entry
def move(
    Z: FloatArray,
    P: FloatArray,
    prior: Prior,
    evidence: Evidence,
    blur: float,
    tail: float,
    sweeps: int,
    rng: np.random.Generator,
) -> None:
    """Move every particle's normals Z by elliptical slice sampling; leave its payoffs in P."""
    size, m, k = P.shape
    n, targets = Z.shape[1], prior[6]
    W, S, w, v, other = np.empty((m, k)), np.empty((k, k)), np.empty(k), np.empty(n), np.empty(n)
    for i in range(size):
        z = Z[i]
        _payoffs(z, prior, P[i])
        if sweeps == 0:
            continue
        _scales(P[i], prior, S)
        a = blur * np.exp(_BLUR_SPREAD * z[n - 1])
        lag = np.exp(_LAG_SPREAD * z[n - 5])
        now = _likelihood(P[i], S, a, lag, evidence, targets, tail, -np.inf, w)
        for _ in range(sweeps):
            for x in range(n):
                v[x] = rng.standard_normal()
            least = now + np.log(rng.random())
            angle = rng.random() * 2 * np.pi
            lo, hi = angle - 2 * np.pi, angle
            for _shrink in range(_SHRINKS):
                c, s = np.cos(angle), np.sin(angle)
                for x in range(n):
                    other[x] = z[x] * c + v[x] * s
                _payoffs(other, prior, W)
                _scales(W, prior, S)
                a = blur * np.exp(_BLUR_SPREAD * other[n - 1])
                lag = np.exp(_LAG_SPREAD * other[n - 5])
                found = _likelihood(W, S, a, lag, evidence, targets, tail, least, w)
                if found > least:
                    z[:] = other
                    P[i] = W
                    now = found
                    break
                if angle < 0:
                    lo = angle
                else:
                    hi = angle
                angle = lo + rng.random() * (hi - lo)


@entry
def odds_of(
    C: FloatArray, P: FloatArray, prior: Prior, sharp: FloatArray, tail: float
) -> FloatArray:
    """Return the probability of every answer for each particle (first axis) and strategy of C."""
    size, _, k = P.shape
    p, S = np.empty((size, C.shape[0], k)), np.empty((k, k))
    for s in range(size):
        _scales(P[s], prior, S)
        for i in range(C.shape[0]):
            p[s, i] /= _odds(C[i], P[s], S, prior[6], sharp[s, i], tail, p[s, i])
    return p


@inner
def _level(tops: FloatArray, drop: FloatArray, resources: float) -> float:
    """Return the lowest v ≥ max(tops − drop) with Σ max(0, (tops − v)/drop) ≤ resources."""
    order = np.argsort(-tops)
    spent = weight = level = 0.0
    for i in range(len(tops)):
        t = order[i]
        weight += 1 / drop[t]
        spent += tops[t] / drop[t]
        level = (spent - resources) / weight
        if i + 1 < len(tops) and level >= tops[order[i + 1]]:
            break
    return max(level, (tops - drop).max())


@entry
def cover(
    loss: FloatArray,
    relief: FloatArray,
    reward: FloatArray,
    drop: FloatArray,
    resources: float,
    margin: float,
) -> tuple[FloatArray, int]:
    """Return the best coverage that keeps a margin, by level search, and its target (−1: none).

    For a target y to be ahead by ``margin``, t needs the coverage (a_t + margin·|(δ_t, δ_y)| − v)
    over δ_t at the level v of y, and the lowest level that the resources allow is best.
    """
    best, target, coverage = -np.inf, -1, np.zeros(len(drop))
    reached = reward >= _level(reward, drop, resources) - 1e-12  # others are never attacked
    for y in np.argsort(-(loss + relief)):
        if loss[y] + relief[y] <= best:
            break
        tops = reward + np.where(reached, margin * np.hypot(drop, drop[y]), 0.0)
        tops[y] = reward[y]
        level = _level(tops, drop, resources)
        held = (reward[y] - level) / drop[y]
        if held < -1e-12:
            continue
        value = loss[y] + relief[y] * min(held, 1.0)
        if value > best:
            best, target = value, y
            coverage = np.minimum(np.maximum((tops - level) / drop, 0.0), 1.0)
    return coverage, target


class Posterior:
    """Particles of what the agent's payoffs and its blur may be, and the rows of evidence.

    Parameters
    ----------
    U, offsets : arrays, shapes (m, k) and (k,)
        The principal's payoffs, of width 1.
    space : StrategySpace
        What may be committed to.
    bounds : pair of arrays, optional
        What is known of the agent's payoffs; of targets, rows for uncovered and for covered.
    rng : numpy.random.Generator
        The stream of the prior's draws.
    particles, rows, blur, tail, lean, ties
        As in :class:`~stackcast.principals.CommitmentLearner`.
    """

    def __init__(
        self,
        U: FloatArray,
        offsets: FloatArray,
        space: StrategySpace,
        bounds: tuple[FloatArray, FloatArray] | None,
        rng: np.random.Generator,
        *,
        particles: int,
        rows: int,
        blur: float,
        tail: float,
        lean: float,
        ties: float,
    ) -> None:
        m, k = U.shape
        self.space, self.blur, self.tail, self.most = space, blur, tail, rows
        self.targets = space.pure.kind == "coverage"
        self.relief, self.loss = np.diagonal(U).copy(), offsets
        self._unit = unit_payoffs(space.enclosing_simplex @ U + offsets)[0]
        centred = offsets[None] - offsets.mean() if self.targets else U - U.mean(1, keepdims=True)
        centred = lean * centred / max(math.sqrt((centred**2).mean()), 1e-9)
        tied, n = np.zeros((m, k), dtype=np.int64), 0
        for j in range(0 if self.targets else k):
            same = np.unique(np.round(U[:, j], 9), return_inverse=True)[1].ravel()
            tied[:, j], n = n + same, n + int(same.max()) + 1
        low, high = (np.zeros((0, k)), np.zeros((0, k))) if bounds is None else bounds
        basis = np.array(space.basis)
        self._prior: Prior = basis, tied, centred, float(ties), low, high, self.targets
        shape = (2, k) if self.targets else (m, k)
        self.Z = rng.standard_normal((particles, shape[0] * k + n + _SHARED))
        self.P = np.empty((particles, *shape))
        self.evidence = [np.zeros((rows, m)), np.zeros((rows, k)), np.zeros(rows)]
        self.count = 0
        self.refit(0, rng)

    @property
    def sharpness(self) -> FloatArray:
        """The blur a of every particle."""
        a: FloatArray = self.blur * np.exp(_BLUR_SPREAD * self.Z[:, -1])
        return a

    @property
    def lag(self) -> FloatArray:
        """The lag of every particle: l rounds tell the agent as much as l²/(l + lag)."""
        lag: FloatArray = np.exp(_LAG_SPREAD * self.Z[:, -5])
        return lag

    @property
    def rows(self) -> list[FloatArray]:
        """Strategies, weighted shares of answers and knowledge, as far as they are filled."""
        return [table[: self.count] for table in self.evidence]

    def add(self, strategy: FloatArray, shares: FloatArray, known: float, *, merge: bool) -> None:
        """Add a row of evidence, or let it stand for the last one."""
        if self.count == self.most and not merge:
            # The row that is nearest to the next one, in units of the blur, says least.
            h, _, known_ = self.evidence
            i = int(np.argmin((np.diff(h, axis=0)[:-1] ** 2).sum(1) * known_[:-2]))
            for table in self.evidence:
                table[i:-1] = table[i + 1 :].copy()
            self.count -= 1
        self.count += not (merge and self.count)
        for table, value in zip(self.evidence, (strategy, shares, np.array(known)), strict=True):
            table[self.count - 1] = value

    def refit(self, sweeps: int, rng: np.random.Generator) -> None:
        """Move the particles to where the evidence is."""
        rows, shares, known = self.rows
        evidence = rows, shares, known
        move(self.Z, self.P, self._prior, evidence, self.blur, self.tail, sweeps, rng)

    def answers(self, C: FloatArray, known: FloatArray) -> FloatArray:
        """Return the probability of every answer, for each particle and each strategy of C."""
        rounds = np.broadcast_to(known, len(C))[None]
        sharp = rounds / (np.sqrt(rounds + self.lag[:, None]) * self.sharpness[:, None])
        p: FloatArray = odds_of(np.array(C), self.P, self._prior, sharp, self.tail)
        return p

    def best(self, i: int, margin: float) -> FloatArray | None:
        """Return the best commitment with a margin under the payoffs of a particle, if any."""
        W, frame = self.P[i], self.space.enclosing_simplex
        if self.space.kind == "coverage":
            resources = float(self.space.inequality_bounds[-1])
            h, y = cover(self.loss, self.relief, W[0], W[1], resources, margin)
            return h if y >= 0 else None
        k = W.shape[1]
        if self.targets:
            utilities, projected = frame * -W[1] + W[0], self.space.basis.T @ -np.diag(W[1])
        else:
            utilities, projected = frame @ W, self.space.basis.T @ W
        lead, cuts = facet_leads(projected, np.full((k, k), margin)), self.space.homogeneous_rows
        h, y, *_ = best_commitment(
            self._unit, utilities, lead, cuts, np.ones(k, dtype=np.bool_), True
        )
        return frame.T @ h if y >= 0 else None

    def state(self) -> State:
        """Return the evidence and the particles."""
        return {"rows": [table.copy() for table in self.rows], "particles": self.Z.copy()}

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""
        rows, particles = state["rows"], state["particles"]
        sizes = [table.shape[1:] for table in self.evidence]
        if particles.shape != self.Z.shape or [table.shape[1:] for table in rows] != sizes:
            raise InputError("state, posterior", f"{len(self.Z)} particles of this game", "others")
        self.count, self.Z[:] = min(len(rows[0]), self.most), particles
        for table, kept in zip(self.rows, rows, strict=True):
            table[:] = kept[: self.count]
        self.refit(0, np.random.default_rng(0))

    def facets(self, y: int) -> tuple[FloatArray, FloatArray]:
        """Return the lead of y over every answer as gradients (particle, dim, k) and constants."""
        W, k = self.P, self.P.shape[2]
        if self.targets:
            W = W / W[:, [1]].mean(2, keepdims=True)
            gradients = W[:, 1, None] * np.eye(k)
            gradients[:, y] -= W[:, 1, [y]]
            return gradients, W[:, 0, [y]] - W[:, 0]
        W = W - W.mean(2, keepdims=True)
        W /= np.maximum(np.sqrt((W**2).mean((1, 2), keepdims=True)), 1e-12)
        return W[:, :, [y]] - W, np.zeros((len(W), k))
