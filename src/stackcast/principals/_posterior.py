"""A posterior over the payoffs of an agent that forecasts, by elliptical slice sampling.

An agent with payoffs W answers a strategy h by the best response to its forecast of h, which is off
by about s = a/√l after l rounds' worth of knowledge. With d_j the distance of h from the facet
between the best answer and j, the odds of the answer j are

    (1 − c)·exp(−d_j/s) + c/(1 + d_j/s)        against 1 for the best answer:

the exponential is the time that a calibrated agent needs to notice, and the tail is the paper's
lemma n_j·dist_j ≤ √m·(error). A row of evidence is a strategy, weighted shares of answers and l; its
log likelihood is Σ_j weight_j·log(odds_j/Σ odds).

The payoffs are a map of standard normals θ, and a kind of game is another map:

- *cells*: W = √(1−w)·Z + √w·F + lean·g·G. Z has a number for each cell, F one for each set of cells
  of a column in which the principal's payoffs tie (what is the same to the principal may be the
  same to the agent), G is the principal's payoffs less their rows' means, of rms 1; w and g are
  latent too.
- *targets* of a security game: the attacker's uncovered payoff e^σ·(Z_t + lean·g·G_t) and what
  coverage takes off it, exp(τ·Z′_t) > 0, with latent spreads: 2n numbers instead of n².

Bounds [low, high] on payoffs send the normal x of a cell to low + (high − low)·Φ(x): the posterior is
cut to the bounds, and a payoff with low = high is known.

References
----------
Murray, Adams and MacKay (2010). Elliptical slice sampling. AISTATS.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stackcast._compiling import entry, inner
from stackcast.regions._programs import best_commitment, unit_payoffs

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.games import StrategySpace

#: Latent numbers besides those of the cells: correlation, weight of ties (or the two spreads), blur.
_SHARED = 4
#: The standard deviation of the log of the blur a: within a factor 2 of its median two times in three.
_BLUR_SPREAD = 0.7
#: A slice that is not hit in so many halvings is given up: the particle stays.
_SHRINKS = 60


@inner
def _payoffs(z, tied, lean, ties, low, high, targets, W):
    """Write the payoffs of latent normals z into W: cells (m×k), or uncovered payoffs and drops."""
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
def _scales(W, basis, targets, S):
    """Write into S what turns leads of one answer over another into distances in the hull."""
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
def _odds(h, W, S, targets, sharp, tail, w):
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
def _likelihood(W, S, a, rows, shares, known, count, targets, tail, least, w):
    """Return the log likelihood; what is below ``least`` stops there, for every term is negative."""
    total = 0.0
    for b in range(count - 1, -1, -1):
        z = np.log(_odds(rows[b], W, S, targets, np.sqrt(known[b]) / a, tail, w))
        for j in range(len(w)):
            if shares[b, j] > 0:
                total += shares[b, j] * (np.log(w[j]) - z)
        if total < least:
            return total
    return total


@entry
def move(Z, P, basis, tied, lean, ties, low, high, targets, sweeps, rows, shares, known, count, blur, tail, seed):  # fmt: skip
    """Move every particle's latent normals Z by elliptical slice sampling; leave its payoffs in P."""
    np.random.seed(seed)
    size, m, k = P.shape
    n = Z.shape[1]
    W, S, w, other = np.empty((m, k)), np.empty((k, k)), np.empty(k), np.empty(n)
    for i in range(size):
        z = Z[i]
        _payoffs(z, tied, lean, ties, low, high, targets, P[i])
        if count == 0:
            continue
        _scales(P[i], basis, targets, S)
        a = blur * np.exp(_BLUR_SPREAD * z[n - 1])
        now = _likelihood(P[i], S, a, rows, shares, known, count, targets, tail, -np.inf, w)
        for _ in range(sweeps):
            v = np.random.standard_normal(n)
            least = now + np.log(np.random.random())
            angle = np.random.random() * 2 * np.pi
            lo, hi = angle - 2 * np.pi, angle
            for _shrink in range(_SHRINKS):
                c, s = np.cos(angle), np.sin(angle)
                for x in range(n):
                    other[x] = z[x] * c + v[x] * s
                _payoffs(other, tied, lean, ties, low, high, targets, W)
                _scales(W, basis, targets, S)
                a = blur * np.exp(_BLUR_SPREAD * other[n - 1])
                found = _likelihood(W, S, a, rows, shares, known, count, targets, tail, least, w)
                if found > least:
                    z[:] = other
                    P[i] = W
                    now = found
                    break
                if angle < 0:
                    lo = angle
                else:
                    hi = angle
                angle = lo + np.random.random() * (hi - lo)


@entry
def odds_of(C, P, basis, targets, sharp, tail):
    """Return the probability of every answer for each particle (first axis) at each strategy of C."""
    size, _, k = P.shape
    p, S = np.empty((size, C.shape[0], k)), np.empty((k, k))
    for s in range(size):
        _scales(P[s], basis, targets, S)
        for i in range(C.shape[0]):
            p[s, i] /= _odds(C[i], P[s], S, targets, sharp[s, i], tail, p[s, i])
    return p


@entry
def cover(loss, relief, reward, drop, resources, margin):
    """Return the best coverage that keeps a margin, by level search, and its target (−1: none).

    For a target y to be ahead by ``margin``, t needs the coverage (a_t + margin·|(δ_t, δ_y)| − v)/δ_t
    at the level v of y; the lowest level that the resources allow is the best one for y.
    """
    n = len(drop)
    best, target, coverage = -np.inf, -1, np.zeros(n)
    tops = np.empty(n)
    for y in np.argsort(-(loss + relief)):
        if loss[y] + relief[y] <= best:
            break
        for t in range(n):
            tops[t] = reward[t]
            if t != y:
                tops[t] += margin * np.hypot(drop[t], drop[y])
        level = (tops - drop).max()
        order = np.argsort(-tops)
        spent = weight = 0.0
        for i in range(n):  # lower the level until the resources are spent
            t = order[i]
            weight += 1 / drop[t]
            spent += tops[t] / drop[t]
            found = (spent - resources) / weight
            if i + 1 == n or found >= tops[order[i + 1]]:
                level = max(level, found)
                break
        held = (reward[y] - level) / drop[y]
        if held < 0:
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
    targets : bool
        Whether payoffs are those of the targets of a security game.
    bounds : pair of arrays, optional
        What is known of the agent's payoffs; of targets, rows for uncovered and for covered.
    particles, rows, blur, tail, lean, ties
        As in :class:`~stackcast.principals.CommitmentLearner`.
    """

    def __init__(self, U, offsets, space: StrategySpace, targets, bounds, rng, *, particles, rows, blur, tail, lean, ties):  # fmt: skip
        m, k = U.shape
        self.space, self.targets, self.blur, self.tail, self.ties = space, targets, blur, tail, ties
        self.U, self.offsets, self.most = U, offsets, rows
        self.basis = np.ascontiguousarray(space.basis)
        self.frame = np.ascontiguousarray(space.frame)
        self.unit = unit_payoffs(self.frame @ U + offsets)[0]
        centred = offsets[None] - offsets.mean() if targets else U - U.mean(1, keepdims=True)
        self.lean = lean * centred / max(math.sqrt((centred**2).mean()), 1e-9)
        self.tied, n = np.zeros((m, k), dtype=np.int64), 0
        for j in range(0 if targets else k):
            same = np.unique(np.round(U[:, j], 9), return_inverse=True)[1].ravel()
            self.tied[:, j], n = n + same, n + int(same.max()) + 1
        self.low, self.high = (np.zeros((0, k)),) * 2 if bounds is None else bounds
        shape = (2, k) if targets else (m, k)
        self.Z = rng.standard_normal((particles, shape[0] * k + n + _SHARED))
        self.P = np.empty((particles, *shape))
        self.rows, self.shares, self.known = np.zeros((rows, m)), np.zeros((rows, k)), np.zeros(rows)
        self.count = 0
        self.refit(0, 0)

    @property
    def sharpness(self) -> FloatArray:
        """The blur a of every particle."""
        a: FloatArray = self.blur * np.exp(_BLUR_SPREAD * self.Z[:, -1])
        return a

    def add(self, strategy, shares, known, *, merge: bool) -> None:
        """Add a row of evidence, or let it stand for the last one."""
        if self.count == self.most and not merge:
            # The row that is nearest to the next one, in units of the blur, says least.
            gaps = ((np.diff(self.rows, axis=0)[:-1]) ** 2).sum(1) * self.known[:-2]
            i = int(np.argmin(gaps))
            for table in (self.rows, self.shares, self.known):
                table[i:-1] = table[i + 1 :].copy()
            self.count -= 1
        self.count += not (merge and self.count)
        i = self.count - 1
        self.rows[i], self.shares[i], self.known[i] = strategy, shares, known

    def refit(self, sweeps: int, seed: int) -> None:
        """Move the particles to where the evidence is."""
        move(
            self.Z, self.P, self.basis, self.tied, self.lean, self.ties, self.low, self.high,
            self.targets, sweeps, self.rows, self.shares, self.known, self.count, self.blur,
            self.tail, seed,
        )  # fmt: skip

    def answers(self, C: FloatArray, known: FloatArray) -> FloatArray:
        """Return the probability of every answer, for each particle and each strategy of C."""
        sharp = np.sqrt(np.broadcast_to(known, len(C)))[None] / self.sharpness[:, None]
        p: FloatArray = odds_of(C, self.P, self.basis, self.targets, sharp, self.tail)
        return p

    def best(self, i: int, margin: float) -> FloatArray | None:
        """Return the best commitment with a margin under the payoffs of a particle; None if none."""
        W, k = self.P[i], self.P.shape[2]
        if self.targets and self.space.kind == "coverage":
            relief, resources = np.diagonal(self.U).copy(), float(self.space.inequality_bounds[-1])
            h, y = cover(self.offsets, relief, W[0], W[1], resources, margin)
            return h if y >= 0 else None
        every = np.ones(k, dtype=np.bool_)
        if self.targets:
            inner_W, projected = self.frame * -W[1] + W[0], self.basis.T @ -np.diag(W[1])
        else:
            inner_W, projected = self.frame @ W, self.basis.T @ W
        h, y, *_ = best_commitment(
            self.unit, inner_W, projected, margin, every, self.space.cuts, 1e-13, 0.0, False, every
        )
        return self.frame.T @ h if y >= 0 else None

    def facets(self, y: int) -> tuple[FloatArray, FloatArray]:
        """Return the lead of y over every answer as gradients (particle, dim, k) and constants."""
        size, _, k = self.P.shape
        if self.targets:
            scale = 1 / self.P[:, 1].mean(1)[:, None]
            gradients = np.zeros((size, k, k))
            gradients[:, np.arange(k), np.arange(k)] = self.P[:, 1] * scale
            gradients[:, y] -= (self.P[:, 1, y] * scale[:, 0])[:, None]
            return gradients, (self.P[:, 0, [y]] - self.P[:, 0]) * scale
        W = self.P - self.P.mean(2, keepdims=True)
        W /= np.maximum(np.sqrt((W**2).mean((1, 2), keepdims=True)), 1e-12)
        return W[:, :, [y]] - W, np.zeros((size, k))
