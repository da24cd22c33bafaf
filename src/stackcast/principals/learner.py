"""The learner: a posterior over the agent's payoffs, questions by value, a watched commitment.

Known are the principal's payoffs U (scaled to [0, 1] here) and about how many rounds T there are.
Each round the principal commits to h and sees the answer. The agent may see h, forecast it, or be
slow: after l rounds' worth of knowledge of h its answers are blurred by a/√l, and a is learned with
its payoffs, and so is a lag: a lazy agent knows l²/(l + lag) instead of l
(:mod:`stackcast.principals._posterior`).

1. *Evidence.* After l′ rounds at h′ the agent knows of h as much as 1/(1/l′ + |h − h′|²/a²) rounds,
   and one more with every round. The second half of a block, with answers in shares f, is a row of
   evidence of weight ``evidence``·√(l/10): blocks, not rounds, are independent.
2. *Question.* Candidates q are the particles' own best commitments with a margin. u_i(q) is the
   expected utility under particle i, not below what the held response itself can earn under it, and
   V the best mean. Asking q for L rounds is worth
       belief·(T − t − L)·[Σ_y max_q′ mean_i p_i(y|q)·u_i(q′) − V] − L·[V − mean_i u_i(q)],
   and the worthiest question is asked if that is positive.
3. *Hold.* The response y is held at h = argmax U(h, y) at the distance ρ_j or more from the facet
   of every other answer j; λ_j is the price of ρ_j. With c_j the cost of an answer j and s_j its
   share,
       x_j = s_j·c_j/τ_j,    τ_j = target·√(λ_j·c_j)·t^(−1/3):
   ρ_j rises when x_j > 1.3 and sinks when x_j < 0.7, by steps that grow while they agree and halve
   when they turn, and towards a facet never by more than notice·a/√l, a tenth more with every
   descent running: before the agent can have noticed the last step, no strays are no evidence.
   Where most late answers stray, a facet was crossed: ρ_j returns to its last safe value and may
   sink again only after 2^(crossings)·(cost)/τ_j rounds. An agent that is calibrated strays
   smoothly and is held by the balance; one that sees h is found by a bisection, its retries
   doubled.
4. *Memory.* A second posterior is of an agent that answers the average b of all strategies so far
   (Hedge, follow-the-leader): after L rounds of h its forecast is at b + (h − b)·L/(t + L), known
   for t + L rounds. Each block multiplies the probability of a kind by mean_i Π_j p_i(j)^f_j, as
   one answer; the likelier kind asks and holds. Of an averaging agent it is b that keeps the
   margins: where it lacks ρ_j − dist_j(b), h keeps ρ_j + (t/L)·lack, so that L rounds restore it;
   utilities are those at the average, for what is gained by leaving it is paid back.
5. *Change.* ``patience`` blocks running that cross, or whose answers were improbable, say that the
   agent is not the one that was learned: older evidence keeps a tenth of its weight.
6. *Record.* A place of n rounds with utilities of variance v has earned at least their mean less
   2·√(v/w), w = ``evidence``·√(n/10). Once ``patience`` pieces running earned less, the place is
   held instead for a piece; the next piece is the commitment's again, and while that earns less,
   the place is held for 2, 4 and then 8 pieces.
7. *Guarantee.* Once all it earned is T^(2/3) widths less than the maximin strategy guarantees, it
   plays the maximin strategy until half of that is won back: no agent can make it earn less.
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

#: The share of its weight that evidence keeps from before a change.
_KEEP = 0.1
#: A kind of agent that is less likely than this (in logs) is not followed any more.
_GIVEN_UP = -14.0
#: An averaging agent has to be so much likelier (in logs) to be believed: a lazy one looks alike.
_ODDS = 3.0
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
    memory : float
        The probability that it answers the average of all strategies so far.
    changes : int
        How often older evidence was put aside, because the agent was not the one learned.
    error : float
        Σ_j (share of the answer j)·dist_j·√l of the pieces held of late: the calibration error that
        their answers imply, times √rounds. It stays small for a calibrated agent.
    """

    sharpness: float
    memory: float
    changes: int
    error: float

    @property
    def kind(self) -> str:
        """The kind of agent in a few words."""
        if self.memory > 0.5:
            return "answers the average of the past"
        if self.error > 1 or self.sharpness > 0.7:
            return "not calibrated"
        return "changed" if self.changes else "calibrated"


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
    agent: AgentTraits = field(default_factory=lambda: AgentTraits(math.nan, 0, 0, 0))


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
    averages : float
        The prior probability that the agent answers the average of the past.

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
    averages: float = 0.15

    # Of an agent that tracks the strategy, and of one that answers the average of the past.
    _tracking: Posterior = field(init=False)
    _averaging: Posterior = field(init=False)
    _z: int = field(default=0, init=False)
    _logs: FloatArray = field(init=False)
    _bar: FloatArray = field(init=False)
    # The clock: rounds (of an earlier log too), blocks, questions; the last strategy, known l
    # rounds' worth; shocks.
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
    _run: FloatArray = field(init=False)
    _wait: FloatArray = field(init=False)
    _fails: FloatArray = field(init=False)
    _crossed: bool = field(default=False, init=False)
    _lacks: npt.NDArray[np.bool_] = field(init=False)
    _error: float = field(default=0.0, init=False)
    # The record: places, and of each its rounds, its utilities and their squares, summed.
    _places: FloatArray = field(init=False, metadata={"grows": True})
    _earned: FloatArray = field(init=False, metadata={"grows": True})
    # How many pieces running earned less than it, and whether the next one is to tell again.
    _fell: int = field(default=0, init=False)
    _probes: bool = field(default=False, init=False)
    _total: float = field(default=0.0, init=False)
    _guarded: bool = field(default=False, init=False)
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
        for name in ("particles", "sweeps", "rows", "question", "patience"):
            whole_number(name, getattr(self, name), at_least=4 if name == "rows" else 1)
        for name in ("blur", "evidence", "ties", "belief", "target", "growth", "notice"):
            real_number(name, getattr(self, name), above=0)
        for name in ("tail", "averages"):
            if real_number(name, getattr(self, name), above=0) >= 1:
                raise InputError(name, "a share below 1", f"{getattr(self, name):g}")
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
        bounds = bounds and _checked_bounds(bounds, shape)
        self._tracking, self._averaging = (
            Posterior(
                self._U, self._u0, self._space, bounds, stream(self.seed, "learner", "prior", z),
                particles=self.particles, rows=self.rows, blur=self.blur, tail=self.tail,
                lean=self.lean, ties=self.ties,
            )
            for z in (0, 1)
        )  # fmt: skip
        self._logs = np.log([1 - self.averages, self.averages])
        directions = [s * b for b in self._space.basis.T for s in (1, -1)] or [np.zeros(m)]
        self._middle = np.mean([self._space.argmax(d) for d in directions], axis=0)
        if self._space.kind == "simplex":
            self._middle = np.full(m, 1 / m)
        self._held = self._bar = self._middle
        self._maximin, self._safe_value = _maximin(self._space, self._U, self._u0)
        self._places, self._earned = np.zeros((0, m)), np.zeros((0, 3))
        self._lacks = np.zeros(k, dtype=np.bool_)
        self._heard = np.zeros(0, dtype=np.int64)
        self._corners = np.zeros((0, m))
        self._D, self._d0 = np.zeros((m, k)), np.zeros(k)
        for name in ("_rho", "_price", "_step", "_turn", "_safe", "_run", "_wait", "_fails"):
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

    @property
    def _kinds(self) -> tuple[Posterior, Posterior]:
        return self._tracking, self._averaging

    @property
    def _posterior(self) -> Posterior:
        """The posterior of the likelier kind of agent."""
        return self._kinds[self._z]

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
    def particles_of_payoffs(self) -> FloatArray:
        """Payoffs (particles×m×k) of agents drawn from the posterior, each in units of its own."""
        return self._posterior.P.copy()

    @property
    def result(self) -> LearnedCommitment:
        """What it would commit to now, and what it can say for it."""
        h, y = (self._held, self._y) if self._y >= 0 else (self._middle, None)
        value, margin, why = math.nan, math.nan, self._why
        best = self._record()
        if self._guarded:
            h, y = self._maximin, int((self._maximin @ self._U + self._u0).argmin())
        elif best is not None and (found := self._expected(h)[1]) < best[2]:
            earned = f"{self._least + self._width * best[2]:.3g}"
            if self._expected(best[0])[1] > found:
                h, y = best[:2]
                why = f"This strategy earned at least {earned} a round when it was held."
            else:
                why += (
                    f" Another strategy earned {earned} a round, but only until the agent knows it."
                )
        if y is not None:
            value = float((h @ self._U + self._u0)[y])
        if y is not None:
            value = self._least + self._width * value
            gaps = np.delete(h @ self._D + self._d0, y)
            margin = float(gaps.min()) if len(gaps) and y == self._y else math.nan
            if self._proved:
                margin = float(self.margin or 0)
        potential = self._least + self._width * self._potential
        return LearnedCommitment(
            h, y, value, margin, potential if y is None else max(potential, value),
            why=why, rounds=dict(self._rounds), questions=self._asks, certified=self._proved,
            agent=self._traits,
        )  # fmt: skip

    @property
    def _traits(self) -> AgentTraits:
        a, odds = self._tracking.sharpness, math.exp(min(self._logs[0] - self._logs[1], 500))
        return AgentTraits(float(np.median(a)), 1 / (1 + odds), self._changes, self._error)

    def _expected(self, strategy: npt.ArrayLike) -> tuple[FloatArray, float]:
        C = self.view.space.check("strategy", strategy)[None]
        known = self._places_after(C, self._far(), self._z)[1]
        p = self._posterior.answers(C, known).mean(0)[0]
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

    def _places_after(self, C: FloatArray, L: float, z: int) -> tuple[FloatArray, FloatArray]:
        """Return where a kind's forecast is after L rounds of each strategy, and how well known."""
        if not z:
            return C, self._known(C) + L
        share = L / max(self._t + L, 1)
        return self._bar + share * (C - self._bar), np.full(len(C), self._t + L)

    def _tell(self, h: FloatArray, f: FloatArray, rounds: int, sweeps: int) -> None:
        """Add a block to evidence and record: a strategy, its late shares of responses, rounds."""
        logs, places = self._logs, [self._places_after(h[None], 0.75 * rounds, z) for z in (0, 1)]
        weight = self.evidence * math.sqrt(max(places[0][1][0], 2 * self._ask) / 10)
        likely, expected = logs.copy(), np.zeros(len(f))
        followed = [z for z in (0, 1) if logs[z] - logs.max() > _GIVEN_UP]
        for z in followed:
            p = self._kinds[z].answers(*places[z])[:, 0]
            expected += math.exp(logs[z] - np.logaddexp(*logs)) * p.mean(0)
            likely[z] += math.log(np.exp(np.log(np.maximum(p, 1e-12)) @ f).mean())
        self._logs = likely - likely.max()
        # Improbable: e^3 times less likely than the posterior expects its answers to be.
        self._odd = bool((expected - f) @ np.log(np.maximum(expected, 1e-12)) > 3.0)
        if self._z != (self._logs[1] - self._logs[0] > (0.0 if self._z else _ODDS)):
            self._z, self._y, self._v = 1 - self._z, -1, -1.0
        utilities = h @ self._U + self._u0
        self._note(h, np.array([1.0, f @ utilities, f @ utilities**2]) * (rounds - rounds // 2))
        self._last, self._l = h, float(self._known(h[None])[0]) + rounds
        self._bar = self._places_after(h[None], rounds, 1)[0][0]
        self._tells += 1
        self._t += rounds
        for z, kind in enumerate(self._kinds):
            place, known = places[z][0][0], float(places[z][1][0])
            near = kind.count > 0 and np.abs(kind.rows[0][-1] - place).max() <= _NEAR
            kind.add(place, weight * f, known, merge=bool(near and not z))
            if sweeps and z in followed:
                kind.refit(sweeps, self._stream("fit", z))

    def _note(self, h: FloatArray, earned: FloatArray) -> None:
        """Add rounds, their utilities and the squares of these to the record of a place."""
        near = np.abs(self._places - h).max(1) <= _NEAR
        if not near.any():
            if len(self._places) == self.rows:
                least = int(self._earned[:, 0].argmin())
                self._places = np.delete(self._places, least, 0)
                self._earned = np.delete(self._earned, least, 0)
            self._places = np.vstack([self._places, h])
            self._earned = np.vstack([self._earned, np.zeros(3)])
        i = int(near.argmax()) if near.any() else -1
        self._earned[i] += earned

    def _record(self) -> tuple[FloatArray, int, float] | None:
        """Return the place that has certainly earned most, its response, and what it earned."""
        if self._z or self._proved or not len(self._places):
            return None
        n, total, squares = self._earned.T
        mean = total / n
        variance = (np.maximum(squares - n * mean**2, 0) + 0.25) / (n + 1)
        least = mean - 2 * np.sqrt(variance / (self.evidence * np.sqrt(n / 10)))
        i = int(least.argmax())
        u = self._places[i] @ self._U + self._u0
        return self._places[i], int(np.abs(u - mean[i]).argmin()), float(least[i])

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
        for z, kind in enumerate(self._kinds):
            kind.refit(10 * self.sweeps, self._stream("fit", z))

    def _doubt(self, denied: bool) -> None:
        """Put older evidence aside once enough blocks running have denied what was learned."""
        self._shocks = self._shocks + 1 if denied else 0
        if self._shocks >= self.patience:
            for kind in self._kinds:
                kind.rows[1][: max(kind.count - self.patience, 0)] *= _KEEP
            self._logs = _KEEP * self._logs + np.log([1 - self.averages, self.averages])
            self._z = int(self._z and self._logs[1] > self._logs[0])
            self._earned = self._earned * _KEEP
            self._fell = 0
            self._shocks, self._changes, self._y, self._v = 0, self._changes + 1, -1, -1.0

    def _stream(self, purpose: str, z: int) -> np.random.Generator:
        """Return a random stream that depends on the length of the log alone."""
        return stream(self.seed, "learner", purpose, self._tells, z)

    # ---- blocks

    def _decide(self) -> None:
        """Choose the next block: the worthiest question, or a piece of the commitment."""
        self._heard = np.zeros(0, dtype=np.int64)
        if self._certifies():
            self._phase, self._h = "certify", _frozen(self._corners[0])
            self._length = max(4 * self._ask, self.horizon // 200)
            self._why = (
                f"If the response is the same here too, a margin of {self.margin:g} is proved."
            )
            return
        lost, most = -self._total, self.horizon ** (2 / 3)
        self._guarded = lost > (most / 2 if self._guarded else most)
        self._phase, self._length = "commit", self._piece
        if self._guarded:
            self._h = _frozen(self._maximin)
            self._why = (
                "The agent answers in no way that could be learned: this strategy guarantees "
                f"{self._least + self._width * self._safe_value:.3g} whatever the response."
            )
            return
        q, L, worth, V, y, gain = self._choose(self._z)
        if self._z and worth <= 0 and self._logs[0] > _GIVEN_UP:  # is it an average, in fact?
            other = self._choose(0)
            L = int(min(max(self._ask, self._piece), self._left))
            place, known = self._places_after(other[0][None], L, 1)
            u = (self._averaging.answers(place, known) @ (place[0] @ self._U + self._u0)).mean()
            odds = math.exp(self._logs[0] - self._logs[1])
            if odds * other[2] > L * (V - u):
                q, _, worth, _, _, gain = other
        if worth > 0:
            self._asks += 1
            self._phase, self._h, self._length = "explore", _frozen(q), L
            self._why = (
                "The response here shows whether a better commitment exists: about "
                f"{gain * self._width:.3g} a round may be gained."
            )
            return
        # Another response is taken up without asking if it promises ten times the width in all.
        if self._y < 0 or (y != self._y and (V - self._v) * self._left > 10):
            self._start(y)
        elif self._z:
            self._program()
        best = self._record()
        if best and self._fell >= self.patience and not (self._probes or self._shocks):
            self._h = _frozen(best[0])
            self._length *= 2 ** min(self._fell - self.patience, 3)
            self._probes, self._y, self._v = True, -1, -1.0  # then facets as they are known now
            self._why = (
                f"It earned at least {self._least + self._width * best[2]:.3g} a round when it was "
                "held, and the last commitment less."
            )
            return
        self._h, self._probes = _frozen(self._held), False
        name = self.view.agent_actions[self._y]
        self._why = (
            f"The best commitment found: {name!r} is expected, and no question is worth asking."
        )
        if self._z:
            self._why += " The agent answers the average of the past: first earnings say little."

    @property
    def _piece(self) -> int:
        """The length of a piece of the commitment."""
        return int(max(2.5 * self._ask, self.growth * self._t))

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

    @property
    def _here(self) -> FloatArray:
        """What the answers respond to: the commitment, or the average."""
        return self._bar if self._z else self._held

    def _target_costs(self) -> tuple[FloatArray, FloatArray]:
        """Return the cost of every other answer, and the stray cost aimed at."""
        u = self._here @ self._U + self._u0
        cost = np.where(self._lacks, 0, np.maximum(u[self._y] - u, 0))
        t = max(self._t, 1)
        tau = self.target * np.sqrt(np.maximum(self._price, 0.1) * np.maximum(cost, 1e-3))
        return cost, tau * t ** (-1 / 3)

    def _enough(self) -> bool:
        """Tell whether a piece of the commitment need not be played to its end."""
        if self._y < 0 or self._h is None or not np.array_equal(self._h, self._held):
            return False
        r, (cost, tau) = self._heard, self._target_costs()
        leap = self._last is None or np.abs(self._last - self._held).max() > 0.05
        lag = float(np.median(self._posterior.lag))
        if len(r) < 20 + (self._ask + 2 * lag) * leap:  # the agent has to notice a leap
            return False
        late = self._counts(r[len(r) // 3 :])
        strays = self._counts(r[-10:])[cost > 0].sum() > 5
        return bool(strays or (late * cost > _HIGH * tau * self._length * 2 / 3).any())

    def _finish(self) -> None:
        """Learn from a whole block."""
        assert self._h is not None
        h, heard = self._h, self._heard
        held = self._phase == "commit" and self._y >= 0 and np.array_equal(h, self._held)
        judged = self._judge(heard) if held else None
        self._h, self._heard = None, heard[:0]
        utilities = h @ self._U + self._u0
        self._total += float(self._counts(heard) @ utilities) - len(heard) * self._safe_value
        self._tell(h, self._late(heard), len(heard), self.sweeps)
        if self._phase == "certify":
            self._certified(heard)
            return
        if judged is None or self._y < 0:
            self._doubt(self._odd)
            return
        self._move(*judged, len(heard))
        self._doubt(self._crossed or self._odd)
        self._proved = self._proved and not self._crossed and self._y >= 0
        if self._y >= 0 and not self._proved:
            self._program()

    # ---- questions

    def _choose(self, z: int) -> tuple[FloatArray, int, float, float, int, float]:
        """Return the worthiest question, rounds, worth; the best value, its response; the gain."""
        p, left, far = self._kinds[z], self._left, self._far()
        a = p.sharpness
        order = self._stream("ask", z).permutation(len(a))[: len(a) // 3]
        found = [p.best(int(i), f * a[i] / math.sqrt(far)) for i in order for f in (2, 8)]
        own = [] if self._last is None else [self._last]
        C = np.array([*(self._inside(h) for h in found if h is not None), self._middle, *own])

        def answers(L: float) -> tuple[FloatArray, FloatArray]:
            """Return odds after L rounds, and what they earn (of an average, at the average)."""
            place, known = self._places_after(C, L, z)
            odds = p.answers(place, known)
            return odds, (odds * (place @ self._U + self._u0)).sum(2)

        parts = [answers(left * x / 8) for x in (1, 3, 5, 7)] if z else [answers(far)]
        odds, u = (np.mean(part, axis=0) for part in zip(*parts, strict=True))
        b, V = int(u.mean(0).argmax()), float(u.mean(0).max())
        response = int(odds[:, b].mean(0).argmax())
        self._potential = max(V, float(u.max(1).mean()))
        if self._y >= 0:  # what the held response will find by itself is no gain
            least = np.full(len(a), self._v)
            if (self._price > 1e-9).any():
                here = odds.mean(0).argmax(1) == self._y
                alone = odds[:, :, self._y] * (C @ self._U + self._u0)[:, self._y]
                least = np.maximum(least, np.where(here, alone, -1).max(1))
            u = np.maximum(u, least[:, None])
            V = max(V, float(u.mean(0).max()))
        best: tuple[FloatArray, int, float, float, int, float] | None = None
        # An average moves slowly, and a lazy agent notices late.
        late = self._t / 4 if z else min(self._t / 4, 4 * float(np.median(p.lag)))
        for rounds in (self._ask, int(late)) if late > 2 * self._ask else (self._ask,):
            L = int(min(max(rounds, self._ask), left))
            odds, now = answers(L)
            gain = np.einsum("sqy,sc->qyc", odds, u).max(2).sum(1) / len(a) - V
            worth = self.belief * max(left - L, 0) * gain - L * (V - now.mean(0))
            q = int(worth.argmax())
            if best is None or worth[q] > best[2]:
                best = C[q], L, float(worth[q]), V, response, float(gain[q])
        assert best is not None
        return best

    # ---- the commitment

    def _start(self, y: int) -> None:
        """Begin to hold a response, at margins that allow for the posterior's spread."""
        D, d0 = self._posterior.facets(y)
        self._D, self._d0 = D.mean(0), d0.mean(0)
        lengths = np.maximum(np.linalg.norm(self._space.basis.T @ self._D, axis=0), 1e-9)
        self._D, self._d0 = self._D / lengths, self._d0 / lengths
        base, k = self.target * max(self._t, 100) ** (-1 / 3), len(self._u0)
        self._y, self._rho, self._proved = y, np.full(k, base), False
        self._program()
        each = np.linalg.norm(np.einsum("xd,sxk->sdk", self._space.basis, D), axis=1)
        sd = ((np.einsum("x,sxk->sk", self._held, D) + d0) / np.maximum(each, 1e-9)).std(0)
        self._rho, self._step = base + np.minimum(sd, 0.1), np.clip(sd, base * 0.3, 0.05)
        self._turn, self._wait, self._fails, self._run = (np.zeros(k) for _ in range(4))
        self._safe = np.full(k, -np.inf)
        self._crossed = False
        self._program()

    def _program(self) -> None:
        """Find the best strategy with the present margins, and their prices."""
        from scipy.optimize import linprog

        space, k = self._space, len(self._u0)
        others = np.arange(k) != self._y
        lack = np.zeros(k)
        if self._z:  # the average has to come back to its margins within the piece
            lack = self._rho - self._bar @ self._D - self._d0
            lack = np.where((lack > 0.1 * np.abs(self._rho)) & others, lack, 0.0)
        self._lacks, lack = lack > 0, lack * self._t / self._piece
        for i in range(100):
            r = linprog(
                -self._U[:, self._y],
                A_ub=np.vstack([-self._D[:, others].T, space.inequality_rows]),
                b_ub=np.r_[(self._d0 - self._rho - lack)[others], space.inequality_bounds],
                A_eq=space.equality_rows, b_eq=space.equality_bounds, bounds=(None, None),
            )  # fmt: skip
            if r.status == 0:
                break
            # Margins that do not fit shrink, and in the end the facets give way.
            if lack.any():
                lack = lack * 0.8 if i < 20 else 0 * lack
            else:
                self._rho = self._rho * 0.8 if i < 30 else self._rho - 0.02 * 1.3 ** (i - 30)
        self._price = np.zeros(k)
        if r.x is not None:
            self._held = self._inside(r.x)
            self._price[others] = -r.ineqlin.marginals[: k - 1]

    def _judge(self, heard: IntArray) -> tuple[FloatArray, FloatArray, FloatArray, int]:
        """Return shares of answers, their costs, the costs aimed at, and who was crossed."""
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
        gaps = self._here @ self._D + self._d0
        rho = np.maximum(self._rho, gaps) if self._z else self._rho  # the margins that were tried
        strays = float(share[others] @ np.maximum(gaps, 0)[others])
        self._error += 0.2 * (strays * math.sqrt(self._l) - self._error)
        up = ((x > _HIGH) | lost) & others
        down = (x < _LOW) & (self._price > 1e-9) & (t >= self._wait) & others & (not crossed)
        turn, descended = np.where(up, 1.0, np.where(down, -1.0, 0.0)), self._turn < 0
        step = np.where((turn == self._turn) & (turn != 0), self._step * 1.4, self._step)
        step = np.where(turn * self._turn < 0, self._step / 2, step)
        self._step = np.clip(step, 0.1 * self.target * t ** (-1 / 3), self.target * t ** (-1 / 3))
        back = lost & descended & (self._safe > rho)
        self._fails = np.where(back, self._fails + 1, self._fails - (descended & ~up))
        self._fails = np.maximum(self._fails, 0)
        penalty = 2.0 ** np.minimum(self._fails, 12) * share * cost * played / tau
        self._wait = np.where(lost, t + penalty, np.where(up, 0.0, self._wait))
        self._safe = np.where(~up & (x < 1), rho, self._safe)
        a = float(np.median(self._posterior.sharpness))
        noticed = self.notice * a / math.sqrt(max(t if self._z else self._l, 1))
        self._run = np.where((turn < 0) & (self._turn < 0), self._run + 1, 0 * self._run)
        closer = np.minimum(0.6 * self._step, noticed * 1.1**self._run)
        moved = np.where(turn > 0, rho + self._step, self._rho + closer * turn)
        self._rho = np.where(back, self._safe, moved)
        self._turn = np.where(turn != 0, turn, self._turn)
        if not crossed or self._crossed:  # one crossing does not say what the response earns
            self._v = float((self._here @ self._U + self._u0) @ share)
        self._crossed = crossed
        best = self._record()
        self._fell = self._fell + 1 if best is not None and self._v < best[2] else 0

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


def _maximin(space: StrategySpace, U: FloatArray, u0: FloatArray) -> tuple[FloatArray, float]:
    """Return the strategy that earns most whatever the response, and what it guarantees."""
    from scipy.optimize import linprog

    m, k = U.shape
    rows = np.block(
        [
            [-U.T, np.ones((k, 1))],
            [space.inequality_rows, np.zeros((len(space.inequality_rows), 1))],
        ]
    )
    r = linprog(
        np.r_[np.zeros(m), -1.0], A_ub=rows, b_ub=np.r_[u0, space.inequality_bounds],
        A_eq=np.c_[space.equality_rows, np.zeros(len(space.equality_rows))],
        b_eq=space.equality_bounds, bounds=(None, None),
    )  # fmt: skip
    assert r.x is not None
    h: FloatArray = r.x[:m]
    return h, float((h @ U + u0).min())


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
