"""The learner: a posterior over the agent's payoffs, questions by value, a watched commitment.

Known are the principal's payoffs U (scaled to [0, 1] here) and about how many rounds T there are.
Each round the principal commits to h and sees the answer. The agent may see h, forecast it, or be
slow: after l rounds' worth of knowledge of h its answers are blurred by a/√l, and a is learned with
its payoffs (:mod:`stackcast.principals._posterior`).

1. *Evidence.* After l′ rounds at h′ the agent knows of h as much as 1/(1/l′ + |h − h′|²/a²) rounds,
   and one more with every round. The second half of a block, with answers in shares f, is a row of
   evidence of weight ``evidence``·√(l/10): blocks, not rounds, are independent.
2. *Question.* Candidates q are the particles' own best commitments with a margin. u_i(q) is the
   expected utility under particle i, not below what the held response can earn under it, and V the
   best mean. Asking q for L rounds is worth
       belief·(T − t − L)·[Σ_y max_q′ mean_i p_i(y|q)·u_i(q′) − V] − L·[V − mean_i u_i(q)],
   and the worthiest question is asked if that is positive.
3. *Hold.* The response y is held at h = argmax U(h, y) at the distance ρ_j or more from the facet
   of every other answer j; λ_j is the price of ρ_j. With c_j the cost of an answer j and s_j its
   share,
       x_j = s_j·c_j/τ_j,    τ_j = target·√(λ_j·c_j)·t^(−1/3):
   ρ_j rises when x_j > 1.3 and sinks when x_j < 0.7, by steps that grow while they agree and halve
   when they turn, and never by more than notice·a/√l towards a facet: before the agent can have
   noticed the last step, no strays are no evidence. Where most late answers stray, a facet was
   crossed: ρ_j returns to its last safe value and may sink again only after
   2^(crossings)·(cost)/τ_j rounds. An agent that is calibrated strays smoothly and is held by the
   balance; one that sees h is found by a bisection whose retries double.
4. *Change.* ``patience`` blocks running that cross, or whose answers were improbable, say that the
   agent is not the one that was learned: older evidence keeps the share ``keep``.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stackcast._random import stream
from stackcast._validation import InputError, real_matrix, real_number, shown, whole_number
from stackcast.principals._posterior import Posterior
from stackcast.protocol import Block, Principal, Recommendation

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray
    from stackcast.games import PrincipalView, StrategySpace

    IntArray = npt.NDArray[np.int64]

#: Blocks of strategies that are nearer to one another than this share a row of evidence.
_NEAR = 0.003
#: The dead band of the balance: no step while the strays cost between these shares of the target.
_HIGH, _LOW = 1.3, 0.7


class AgentTraits(NamedTuple):
    """What the learner believes about how the agent answers.

    Parameters
    ----------
    sharpness : float
        The median a: after l rounds of a strategy, answers are blurred by about a/√l.
    changes : int
        How often older evidence was put aside, because the agent was not the one learned.
    """

    sharpness: float
    changes: int


@dataclass(frozen=True, eq=False)
class LearnedCommitment(Recommendation):
    """A recommendation, and the run that produced it.

    Parameters
    ----------
    why : str
        Why this strategy is recommended, or why the present question is asked.
    rounds : dict
        Rounds played by phase.
    questions : int
        How many questions were asked.
    certified : bool
        Whether answers at the corners around the strategy prove the margin.
    agent : AgentTraits
        What kind of agent this seems to be.
    """

    why: str = ""
    rounds: dict[str, int] = field(default_factory=dict)
    questions: int = 0
    certified: bool = False
    agent: AgentTraits = field(default_factory=lambda: AgentTraits(math.nan, 0))


@dataclass(eq=False, repr=False)
class CommitmentLearner(Principal):
    """Learns an unknown agent's payoffs, holds the best commitment, and watches it.

    The same learner plays finite games, security games in coverage space and constrained ones,
    against agents that see its strategy, forecast it, or are slow.

    Parameters
    ----------
    view : PrincipalView
        The principal's view of the game; constraints on commitments come with it.
    horizon : int
        About how many rounds will be played.
    seed : int
        The seed of its draws.
    margin : float, optional
        A margin to certify towards the end; none is by default, because it costs something.
    agent_payoffs : pair of arrays, optional
        Bounds (low, high) on the agent's payoffs, in the agent's units; where they are equal, the
        payoff is known. Of a security game, rows for uncovered and for covered targets.
    log : pair of arrays, optional
        Earlier strategies (n×m) and the responses that they drew (n), in order; or strategies and
        the counts of every response (n×k). The horizon counts these rounds too.
    floor : float, optional
        No strategy is played that may earn less than this, whatever the response.
    misread : float
        The share of responses that are seen wrongly, each other response as often; below ½.
    particles, sweeps : int
        Samples of the posterior, and how often each is moved after a block. Twice as many particles
        were no better.
    rows : int
        Rows of evidence that are kept; then the row that says least is dropped, so that a refit
        costs the same after any number of blocks.
    blur : float
        The median of the prior of a. Calibrated agents have .1 to .3.
    tail : float
        The weight of answers that are off by more than the blur: the paper's lemma allows them.
    evidence : float
        The weight of a block of ten rounds; it grows like √rounds, because answers of one block
        share the error of their forecast.
    lean, ties : float
        The prior's correlation with the principal's payoffs (standard deviation), and how decided
        it is on whether what is the same to the principal is the same to the agent.
    belief : float
        The share of a promised gain that is believed: the best of many estimates promises too much.
    question : int
        Rounds of a question; at short horizons a thirtieth of them, at least 8.
    target : float
        The stray cost aimed at: it balances strays against margins, which cost t^(−1/3) both.
    growth : float
        A held block lasts this share of the rounds so far: the balance moves a constant number of
        times while t doubles.
    notice : float
        The longest step towards a facet, in units of what the agent can have noticed.
    patience : int
        Blocks running that must deny what was learned before older evidence is put aside.
    keep : float
        The share of its weight that such evidence keeps.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> principal = CommitmentLearner(game.principal_view, horizon=5000, seed=0)
    >>> t = sc.play(principal, sc.agents.BestResponse(game.agent_view), rounds=5000)
    >>> principal.result.response, bool(principal.result.value > 2.4)
    (1, True)
    """

    horizon: int
    _: KW_ONLY
    margin: float | None = None
    agent_payoffs: tuple[npt.ArrayLike, npt.ArrayLike] | None = None
    log: tuple[npt.ArrayLike, npt.ArrayLike] | None = None
    floor: float | None = None
    misread: float = 0.0
    particles: int = 96
    sweeps: int = 6
    rows: int = 128
    blur: float = 0.2
    tail: float = 0.1
    evidence: float = 1.5
    lean: float = 0.3
    ties: float = 2.0
    belief: float = 0.3
    question: int = 16
    target: float = 0.5
    growth: float = 0.05
    notice: float = 0.4
    patience: int = 3
    keep: float = 0.1

    _posterior: Posterior = field(init=False)
    # The clock: rounds, blocks, questions; the last strategy, known l rounds' worth; shocks.
    _t: int = field(default=0, init=False)
    _tells: int = field(default=0, init=False)
    _asks: int = field(default=0, init=False)
    _last: FloatArray | None = field(default=None, init=False)
    _l: float = field(default=0.0, init=False)
    _odd: bool = field(default=False, init=False)
    _shocks: int = field(default=0, init=False)
    _changes: int = field(default=0, init=False)
    _rounds: dict[str, int] = field(default_factory=dict, init=False)
    # The block that is being played.
    _phase: str = field(default="", init=False)
    _h: FloatArray | None = field(default=None, init=False)
    _length: int = field(default=0, init=False)
    _heard: IntArray = field(init=False, metadata={"grows": True})
    _why: str = field(default="", init=False)
    _gain: float = field(default=0.0, init=False)
    _potential: float = field(default=math.nan, init=False)
    # The response held, what it earns, where; the lead of y over j is h·D_j + d0_j.
    _y: int = field(default=-1, init=False)
    _v: float = field(default=-1.0, init=False)
    _held: FloatArray = field(init=False)
    _D: FloatArray = field(init=False)
    _d0: FloatArray = field(init=False)
    # Of every facet: margin, its price, its step, the last turn, the last safe margin, until when
    # it may not sink, and crossings less successful descents.
    _rho: FloatArray = field(init=False)
    _price: FloatArray = field(init=False)
    _step: FloatArray = field(init=False)
    _turn: FloatArray = field(init=False)
    _safe: FloatArray = field(init=False)
    _wait: FloatArray = field(init=False)
    _fails: FloatArray = field(init=False)
    _crossed: bool = field(default=False, init=False)
    # The certificate: corners that wait, whether it is complete, how much further in it is tried.
    _corners: FloatArray = field(init=False, metadata={"grows": True})
    _proved: bool = field(default=False, init=False)
    _extra: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        view, (m, k) = self.view, self.view.payoffs.shape
        whole_number("horizon", self.horizon, at_least=1)
        if real_number("misread", self.misread, at_least=0) >= 0.5:
            raise InputError("misread", "a share below 0.5", f"{self.misread:g}")
        if not np.isfinite(view.payoffs).all():
            raise InputError("view", "payoffs that are finite numbers", "NaN or infinity")
        if self.margin is not None and real_number("margin", self.margin, above=0) >= 2**0.5:
            found = f"{self.margin:g}, larger than any region"
            raise InputError("margin", f"less than {2**0.5:.3g}", found)
        self._space = _space_above(view, self.floor)
        self._ask = int(np.clip(self.horizon / 30, min(8, self.question), self.question))
        targets = view.space.pure.kind == "coverage"
        ends = view.offsets + (np.diagonal(view.payoffs) * [[0], [1]] if targets else view.payoffs)
        self._least, self._width = float(ends.min()), float(np.ptp(ends)) or 1.0
        self._U, self._u0 = view.payoffs / self._width, (view.offsets - self._least) / self._width
        bounds, shape = self.agent_payoffs, (2, k) if targets else (m, k)
        self._posterior = Posterior(
            self._U, self._u0, self._space, bounds and _checked_bounds(bounds, shape),
            stream(self.seed, "learner", "prior"), particles=self.particles, rows=self.rows,
            blur=self.blur, tail=self.tail, lean=self.lean, ties=self.ties,
        )  # fmt: skip
        directions = [s * b for b in self._space.basis.T for s in (1, -1)] or [np.zeros(m)]
        self._middle = np.mean([self._space.argmax(d) for d in directions], axis=0)
        if self._space.kind == "simplex":
            self._middle = np.full(m, 1 / m)
        self._held = self._middle
        self._heard = np.zeros(0, dtype=np.int64)
        self._corners = np.zeros((0, m))
        self._D, self._d0 = np.zeros((m, k)), np.zeros(k)
        for name in ("_rho", "_price", "_step", "_turn", "_safe", "_wait", "_fails"):
            setattr(self, name, np.zeros(k))
        self._read_log(*_checked_log(view, self.log))

    def commit(self) -> Block:
        """Return the rest of the present block, up to where it is looked at next."""
        if self._h is None:
            self._decide()
        assert self._h is not None
        return Block(self._h, self._next_look() - len(self._heard), self._phase)

    def observe(self, responses: npt.NDArray[Any]) -> None:
        """Learn from the answers to a block, or to a part of it."""
        self._heard = np.append(self._heard, np.asarray(responses, dtype=np.int64))
        self._rounds[self._phase] = self._rounds.get(self._phase, 0) + len(responses)
        n = len(self._heard)
        if n >= self._next_look_after(n - 1) and (n >= self._length or self._enough()):
            self._finish()

    def _identity(self) -> dict[str, Any]:
        # What it was told beforehand is in its evidence.
        return {name: value for name, value in super()._identity().items() if name != "log"}

    # ---- what it believes

    def response_probabilities(self, strategy: npt.ArrayLike) -> FloatArray:
        """Return the probability of every response once the agent knows the strategy well."""
        return self._expected(strategy)[0]

    def expected_utility(self, strategy: npt.ArrayLike) -> float:
        """Return the expected utility of a strategy once the agent knows it well."""
        return self._least + self._width * self._expected(strategy)[1]

    @property
    def payoffs(self) -> tuple[FloatArray, FloatArray]:
        """The mean and the spread of what can be identified of the agent's payoffs.

        Adding a number to a row changes no answer, nor does the unit: rows have mean 0, and all
        cells together mean square 1. Of a security game: rows for uncovered payoffs and for what
        coverage takes off them, in units of the mean of the latter.
        """
        P = self._posterior.P
        if self._posterior.targets:
            P = (P - P.mean(2, keepdims=True) * [[1], [0]]) / P[:, [1]].mean(2, keepdims=True)
        else:
            P = P - P.mean(2, keepdims=True)
            P = P / np.maximum(np.sqrt((P**2).mean((1, 2), keepdims=True)), 1e-12)
        return P.mean(0), P.std(0)

    @property
    def result(self) -> LearnedCommitment:
        """What it would commit to now, and what it can say for it."""
        h, y = (self._held, self._y) if self._y >= 0 else (self._middle, None)
        value = margin = math.nan
        if y is not None:
            value = float(self.view.utilities(h)[y])
            gaps = np.delete(h @ self._D + self._d0, y)
            margin = float(gaps.min()) if len(gaps) else math.inf
            if self._proved:
                margin = float(self.margin or 0)
        potential = self._least + self._width * self._potential
        return LearnedCommitment(
            h, y, value, margin, potential if y is None else max(potential, value),
            why=self._why, rounds=dict(self._rounds), questions=self._asks, certified=self._proved,
            agent=AgentTraits(float(np.median(self._posterior.sharpness)), self._changes),
        )  # fmt: skip

    def _expected(self, strategy: npt.ArrayLike) -> tuple[FloatArray, float]:
        C = self.view.space.check("strategy", strategy)[None]
        p = self._posterior.answers(C, self._known(C) + self._far()).mean(0)[0]
        return p, float(p @ (C[0] @ self._U + self._u0))

    # ---- evidence

    @property
    def _left(self) -> float:
        """Rounds to go; a horizon is only about right, so they are never none."""
        return float(max(self.horizon - self._t, self.horizon / 50, 1))

    def _far(self) -> float:
        return min(max(self._left, 20.0), max(self._t, self._ask))

    def _known(self, C: FloatArray) -> FloatArray:
        """Return how many rounds' worth the agent knows of strategies before they are played."""
        if self._last is None:
            return np.zeros(len(C))
        a = float(np.median(self._posterior.sharpness))
        known: FloatArray = 1 / (1 / max(self._l, 1) + ((C - self._last) ** 2).sum(1) / a**2)
        return known

    def _counts(self, heard: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return how often each response was given, by those that were seen."""
        return self._righted(np.bincount(heard, minlength=len(self._u0)))

    def _late(self, heard: IntArray) -> FloatArray:
        """Return the shares of the responses in the second half of a block."""
        late = heard[len(heard) // 2 :]
        return self._counts(late) / len(late)

    def _righted(self, seen: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if not self.misread:
            return seen
        # Each other response stands for the one given with probability misread/(k − 1).
        slip, n = self.misread / max(len(seen) - 1, 1), seen.sum()
        given = np.maximum((seen - slip * n) / (1 - self.misread - slip), 0.0)
        return given * (n / given.sum()) if given.any() else seen

    def _tell(self, h: FloatArray, f: FloatArray, rounds: int, sweeps: int) -> None:
        """Add a block to the evidence: a strategy, the late shares of its responses, its rounds."""
        p = self._posterior
        before = float(self._known(h[None])[0])
        known = before + 0.75 * rounds
        expected = p.answers(h[None], np.array([known]))[:, 0].mean(0)
        # Improbable: e^3 times less likely than the posterior expects its answers to be.
        surprise = (expected - f) @ np.log(np.maximum(expected, 1e-12))
        self._odd = bool(surprise > 3.0)
        weight = self.evidence * math.sqrt(max(known, 2 * self._ask) / 10)
        near = p.count > 0 and np.abs(p.rows[0][-1] - h).max() <= _NEAR
        p.add(h, weight * f, known, merge=bool(near))
        self._tells += 1
        self._t += rounds
        self._last, self._l = h, before + rounds
        if sweeps:
            p.refit(sweeps, self._stream("fit"))

    def _read_log(self, strategies: FloatArray, responses: IntArray) -> None:
        """Take the blocks of an earlier log as evidence, then fit once."""
        if not len(responses):
            return
        if responses.ndim == 2:
            for h, counts in zip(strategies, responses, strict=True):
                n = int(counts.sum())
                self._tell(h, self._righted(counts) / n, n, 0)
        else:
            edges = np.flatnonzero((np.diff(strategies, axis=0) != 0).any(1)) + 1
            blocks = np.split(responses, edges)
            for h, heard in zip(strategies[np.r_[0, edges]], blocks, strict=True):
                self._tell(h, self._late(heard), len(heard), 0)
        self._posterior.refit(10 * self.sweeps, self._stream("fit"))

    def _doubt(self, denied: bool) -> None:
        """Put older evidence aside once enough blocks running have denied what was learned."""
        self._shocks = self._shocks + 1 if denied else 0
        if self._shocks >= self.patience:
            p = self._posterior
            p.rows[1][: max(p.count - self.patience, 0)] *= self.keep
            self._shocks, self._changes, self._y, self._v = 0, self._changes + 1, -1, -1.0

    def _stream(self, purpose: str) -> np.random.Generator:
        """Return a random stream that depends on the length of the log alone."""
        return stream(self.seed, "learner", purpose, self._tells)

    # ---- blocks

    def _decide(self) -> None:
        """Choose the next block: the worthiest question, or a piece of the commitment."""
        q, worth, V, y = self._choose()
        self._heard = np.zeros(0, dtype=np.int64)
        if self._certifies():
            self._phase, self._h = "certify", _frozen(self._corners[0])
            self._length = max(4 * self._ask, self.horizon // 200)
            self._why = (
                f"If the response is the same here too, a margin of {self.margin:g} is proved."
            )
            return
        if worth > 0:
            self._asks += 1
            self._phase, self._h, self._length = "explore", _frozen(q), self._ask
            gain = self._gain * self._width
            self._why = (
                "The response here shows whether a better commitment exists: about "
                f"{gain:.3g} a round may be gained."
            )
            return
        # Another response is taken up without asking if it promises ten times the width in all.
        if self._y < 0 or (y != self._y and (V - self._v) * self._left > 10):
            self._start(y)
        self._phase, self._h = "commit", _frozen(self._held)
        self._length = int(max(2.5 * self._ask, self.growth * self._t))
        self._why = (
            f"The best commitment found: {self.view.agent_actions[self._y]!r} is expected, "
            "and no question is worth asking."
        )

    def _next_look(self) -> int:
        return self._next_look_after(len(self._heard))

    def _next_look_after(self, n: int) -> int:
        """Return after how many rounds the block is looked at, ``n`` having been played."""
        if self._phase == "explore":
            return self._length
        chunk, at = 20, 20
        while at <= n:
            at += max(chunk, at) if at < 5 * chunk else at // 4
        return min(at, self._length)

    def _target_costs(self) -> tuple[FloatArray, FloatArray]:
        """Return the cost of every other answer, and the stray cost aimed at."""
        u = self._held @ self._U + self._u0
        cost = np.maximum(u[self._y] - u, 0)
        t = max(self._t, 1)
        tau = self.target * np.sqrt(np.maximum(self._price, 0.1) * np.maximum(cost, 1e-3))
        return cost, tau * t ** (-1 / 3)

    def _enough(self) -> bool:
        """Tell whether a piece of the commitment need not be played to its end."""
        r, (cost, tau) = self._heard, self._target_costs()
        leap = self._last is None or np.abs(self._last - self._held).max() > 0.05
        if len(r) < 20 + self._ask * leap:  # the agent has to notice a leap
            return False
        late = self._counts(r[len(r) // 3 :])
        strays = self._counts(r[-10:])[cost > 0].sum() > 5
        return bool(strays or (late * cost > _HIGH * tau * self._length * 2 / 3).any())

    def _finish(self) -> None:
        """Learn from a whole block."""
        assert self._h is not None
        h, heard, held = self._h, self._heard, self._phase == "commit"
        judged = self._judge(heard) if held else None
        self._h, self._heard = None, heard[:0]
        self._tell(h, self._late(heard), len(heard), self.sweeps)
        if self._phase == "certify":
            self._certified(heard)
            return
        if judged is None:
            self._doubt(self._odd)
            return
        self._move(*judged, len(heard))
        self._doubt(self._crossed or self._odd)
        self._proved = self._proved and not self._crossed and self._y >= 0
        if self._y >= 0 and not self._proved:
            self._program()

    # ---- questions

    def _choose(self) -> tuple[FloatArray, float, float, int]:
        """Return the worthiest question, its worth, the best expected utility, and its response."""
        p, left = self._posterior, self._left
        a, far, L = p.sharpness, self._far(), min(self._ask, left)
        order = self._stream("ask").permutation(len(a))[: len(a) // 3]
        found = [p.best(int(i), f * a[i] / math.sqrt(far)) for i in order for f in (2, 8)]
        own = [] if self._last is None else [self._last]
        inside = [self._inside(h) for h in found if h is not None]
        C = np.array([*inside, self._middle, *own])
        UC, known = C @ self._U + self._u0, self._known(C)
        odds = p.answers(C, known + far)
        u = (odds * UC).sum(2)
        b, V = int(u.mean(0).argmax()), float(u.mean(0).max())
        response = int(odds[:, b].mean(0).argmax())
        self._potential = max(V, float(u.max(1).mean()))
        if self._y >= 0:  # what the held response will find by itself is no gain
            least = np.full(len(a), self._v)
            if (self._price > 1e-9).any():
                here = odds.mean(0).argmax(1) == self._y
                least = np.maximum(least, np.where(here, u, -1).max(1))
            u = np.maximum(u, least[:, None])
            V = max(V, float(u.mean(0).max()))
        odds = p.answers(C, known + L)
        now = (odds * UC).sum(2).mean(0)
        gain = np.array([(odds[:, q].T @ u).max(1).sum() / len(a) - V for q in range(len(C))])
        worth = self.belief * max(left - L, 0) * gain - L * (V - now)
        q = int(worth.argmax())
        self._gain = float(gain[q])
        return C[q], float(worth[q]), V, response

    # ---- the commitment

    def _start(self, y: int) -> None:
        """Begin to hold a response, at margins that allow for the posterior's spread."""
        D, d0 = self._posterior.facets(y)
        self._D, self._d0 = D.mean(0), d0.mean(0)
        lengths = np.maximum(np.linalg.norm(self._space.basis.T @ self._D, axis=0), 1e-9)
        self._D, self._d0 = self._D / lengths, self._d0 / lengths
        each = np.maximum(
            np.linalg.norm(np.einsum("xd,sxk->sdk", self._space.basis, D), axis=1), 1e-9
        )
        base, k = self.target * max(self._t, 100) ** (-1 / 3), len(self._u0)
        self._y, self._rho = y, np.full(k, base)
        self._program()
        sd = ((np.einsum("x,sxk->sk", self._held, D) + d0) / each).std(0)
        self._rho, self._step = base + np.minimum(sd, 0.1), np.clip(sd, base * 0.3, 0.05)
        self._turn, self._wait, self._fails = (np.zeros(k) for _ in range(3))
        self._safe = np.full(k, -np.inf)
        self._crossed = False
        self._program()

    def _program(self) -> None:
        """Find the best strategy with the present margins, and their prices."""
        from scipy.optimize import linprog

        space, k = self._space, len(self._u0)
        others = np.arange(k) != self._y
        for i in range(80):
            r = linprog(
                -self._U[:, self._y],
                A_ub=np.vstack([-self._D[:, others].T, space.inequality_rows]),
                b_ub=np.r_[(self._d0 - self._rho)[others], space.inequality_bounds],
                A_eq=space.equality_rows, b_eq=space.equality_bounds, bounds=(None, None),
            )  # fmt: skip
            if r.status == 0:
                break
            # Margins that do not fit shrink, and in the end the facets give way.
            self._rho = self._rho * 0.8 if i < 10 else self._rho - 0.02 * 1.3 ** (i - 10)
        self._price = np.zeros(k)
        if r.x is not None:
            self._held = self._inside(r.x)
            self._price[others] = -r.ineqlin.marginals[: k - 1]

    def _judge(self, heard: IntArray) -> tuple[FloatArray, FloatArray, FloatArray, int]:
        """Return shares of answers, what strays cost over what is aimed at, and who was crossed."""
        cost, tau = self._target_costs()
        late = heard[len(heard) // 3 :]
        share = ends = self._counts(late) / len(late)
        if len(heard) < self._length:
            ends = self._counts(heard[-10:]) / len(heard[-10:])
        ends = ends * (cost > 0)
        return share, cost, tau, int(ends.argmax()) if ends.sum() > 0.5 else -1

    def _move(
        self, share: FloatArray, cost: FloatArray, tau: FloatArray, over: int, played: int
    ) -> None:
        """Move the margins by what strays cost in a piece; ``over`` is the facet crossed, or −1."""
        t, others = self._t, np.arange(len(cost)) != self._y
        x, crossed, lost = share * cost / tau, over >= 0, np.arange(len(cost)) == over
        up = ((x > _HIGH) | lost) & others
        down = (x < _LOW) & (self._price > 1e-9) & (t >= self._wait) & others & (not crossed)
        turn, descended = np.where(up, 1.0, np.where(down, -1.0, 0.0)), self._turn < 0
        step = np.where((turn == self._turn) & (turn != 0), self._step * 1.4, self._step)
        step = np.where(turn * self._turn < 0, self._step / 2, step)
        self._step = np.clip(step, 0.1 * self.target * t ** (-1 / 3), self.target * t ** (-1 / 3))
        back = lost & descended & (self._safe > self._rho)
        self._fails = np.where(back, self._fails + 1, self._fails - (descended & ~up))
        self._fails = np.maximum(self._fails, 0)
        penalty = 2.0 ** np.minimum(self._fails, 12) * share * cost * played / tau
        self._wait = np.where(lost, t + penalty, np.where(up, 0.0, self._wait))
        self._safe = np.where(~up & (x < 1), self._rho, self._safe)
        a = float(np.median(self._posterior.sharpness))
        closer = np.minimum(0.6 * self._step, self.notice * a / math.sqrt(max(self._l, 1)))
        moved = self._rho + np.where(turn > 0, self._step, closer) * turn
        self._rho = np.where(back, self._safe, moved)
        self._turn = np.where(turn != 0, turn, self._turn)
        if not crossed or self._crossed:  # one crossing does not say what the response earns
            self._v = float((self._held @ self._U + self._u0) @ share)
        self._crossed = crossed

    # ---- the certificate

    def _certifies(self) -> bool:
        """Tell whether corners are to be asked, once four fifths of the horizon are over."""
        if self.margin is None or self._y < 0 or self._proved or self._t < 0.8 * self.horizon:
            return False
        if not len(self._corners):
            slack = float(np.median(self._posterior.sharpness)) / math.sqrt(self.horizon / 200)
            radius, m = self.margin + slack, len(self._held)
            if self._posterior.targets:
                reach = radius * np.abs(self._D).sum(axis=0)
            else:  # how far the corners leave h towards each facet
                D = self._D - self._D.mean(axis=0)
                reach = radius * math.sqrt(m * (m - 1)) * (-D).max(axis=0)
            self._rho = np.maximum(self._rho, reach + slack + self._extra)
            self._program()
            self._corners = corners(self._held, radius, self._space, self._y)
        return True

    def _certified(self, heard: IntArray) -> None:
        """Go on to the next corner, or move inwards if the response was another one."""
        assert self.margin is not None
        if (heard[len(heard) // 2 :] == self._y).mean() > 0.6:
            self._corners = self._corners[1:]
            self._proved = not len(self._corners)
        else:
            self._corners = self._corners[:0]
            self._extra += self.margin / 2 + math.sqrt(1 / self.horizon)

    def _inside(self, h: npt.NDArray[Any]) -> FloatArray:
        """Return the point of the space that a program meant, rounding aside."""
        space = self._space
        if space.kind == "simplex":
            h = np.maximum(h, 0.0)
            return h / h.sum()
        h = self._middle + space.basis @ (space.basis.T @ (h - self._middle))
        over = space.inequality_rows @ (h - self._middle)
        room = np.maximum(space.inequality_bounds - space.inequality_rows @ self._middle, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = float(np.where(over > room, room / over, 1.0).min(initial=1.0))
        return self._middle + reach * (h - self._middle)


def corners(strategy: FloatArray, radius: float, space: StrategySpace, y: int) -> FloatArray:
    """Return strategies (rows) that prove a margin if all of them draw the response y.

    Of mixed strategies: with r′ = radius·√((m−1)/m) and a = max(0, h − r′), the m corners
    a + (1 − Σa)·e_j. They are strategies, and their hull contains all of those within ``radius`` of
    h; regions are convex. Of coverage, one row: y covered more and all others less by ``radius``.
    Corners outside the space are drawn towards the strategy.

    Examples
    --------
    >>> from stackcast.games import StrategySpace
    >>> corners(np.array([0.5, 0.5]), 0.1, StrategySpace.simplex(2), 0).round(3).tolist()
    [[0.571, 0.429], [0.429, 0.571]]
    """
    m = len(strategy)
    if space.pure.kind == "coverage":
        points = np.maximum(strategy - radius, 0.0)[None]
        points[0, y] = min(strategy[y] + radius, 1.0)
    else:
        inner = np.maximum(0.0, strategy - radius * math.sqrt((m - 1) / m))
        points = inner + (1.0 - inner.sum()) * np.eye(m)
    over = (points - strategy) @ space.inequality_rows.T
    room = np.maximum(space.inequality_bounds - space.inequality_rows @ strategy, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(over > room, room / over, 1.0).min(axis=1, initial=1.0)
    drawn: FloatArray = strategy + reach[:, None] * (points - strategy)
    return drawn


def _frozen(h: FloatArray) -> FloatArray:
    h = h.copy()
    h.flags.writeable = False
    return h


def _copied(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    return dict(value) if isinstance(value, dict) else value


def _checked_bounds(
    given: tuple[npt.ArrayLike, npt.ArrayLike] | None, shape: tuple[int, int]
) -> tuple[FloatArray, FloatArray]:
    """Return bounds on the agent's payoffs in units in which the widest is 1."""
    if given is None:
        return np.zeros(shape), np.ones(shape)
    low, high = (real_matrix("agent_payoffs", part) for part in given)
    if low.shape != shape or high.shape != shape or (low > high).any():
        raise InputError(
            "agent_payoffs", f"a lower and an upper bound of {shape[0]}×{shape[1]}", shown(given)
        )
    unit = float((high - low).max()) or 1.0
    return (low - low.min()) / unit, (high - low.min()) / unit


def _checked_log(
    view: PrincipalView, log: tuple[npt.ArrayLike, npt.ArrayLike] | None
) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Return earlier strategies and responses, each checked."""
    m, k = view.payoffs.shape
    if log is None:
        return np.zeros((0, m)), np.zeros(0, dtype=np.int64)
    strategies = np.array([view.space.pure.check("log", h) for h in np.asarray(log[0])])
    responses = np.asarray(log[1])
    whole = responses.dtype.kind in "iu"
    if responses.ndim == 2 and responses.shape == (len(strategies), k) and whole:
        if responses.min() < 0 or (responses.sum(1) < 1).any():
            raise InputError("log", "at least one response to each strategy", "none")
        return strategies, responses.astype(np.int64)
    if responses.shape != (len(strategies),) or not whole:
        raise InputError("log", "one response for each strategy", shown(log[1]))
    if len(responses) and not 0 <= responses.min() <= responses.max() < k:
        raise InputError("log", f"responses below {k}", shown(responses.tolist()))
    return strategies, responses.astype(np.int64)


def _space_above(view: PrincipalView, floor: float | None) -> StrategySpace:
    """Return the strategies that earn at least ``floor`` whatever the response."""
    space = view.space
    if floor is None:
        return space
    real_number("floor", floor)
    held = space.cut(-view.payoffs.T, view.offsets - floor)
    if held.inscribed_ball() is None:
        raise InputError("floor", "a utility that some strategy always earns", f"{floor:g}")
    return held
