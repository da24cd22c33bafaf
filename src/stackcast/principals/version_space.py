"""The practical learner: explores by questions that end when they are sure, commits, and watches.

Nothing is told about the agent: neither its payoffs nor the rate of its calibration. The rate is
modelled as r(t) = c·√(log(k·m·t)/t) with c low at first; what contradicts it doubles c.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError, real_matrix, real_number, shown, whole_number
from stackcast.principals.payoff_search import (
    Commitment,
    PayoffSearch,
    plain_commitment,
    restored_commitment,
)
from stackcast.principals.questions import Question, SelfStopping
from stackcast.protocol import Block, Recommendation

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._state import State
    from stackcast._validation import FloatArray
    from stackcast.games import PrincipalView

#: c at first, and at most.
_CONSTANT, _LARGEST_CONSTANT = 0.01, 1.0
#: The accuracy of the first stage; each further stage halves it.
_COARSEST = 0.02
#: Shares of the horizon: one stage of a refinement, and all exploration before a commitment.
_STAGE, _EXPLORATION = 0.03, 0.25


@dataclass(frozen=True)
class Contradiction:
    """Something that the learner believed and the agent's answers denied."""

    round: int
    kind: str
    share: float


@dataclass(frozen=True, eq=False)
class LearnedCommitment(Recommendation):
    """A recommendation, with how it was come by.

    Parameters
    ----------
    rounds : dict
        Rounds spent by phase.
    constant : float
        The c of the rate r(t) = c·√(log(k·m·t)/t) that the learner ended with.
    contradictions : tuple of Contradiction
        Every contradiction that it met.
    questions : int
        How many questions it asked.
    certified : bool
        Whether the margin was proved by a certificate.
    """

    rounds: dict[str, int] | None = None
    constant: float = math.nan
    contradictions: tuple[Contradiction, ...] = ()
    questions: int = 0
    certified: bool = False


class VersionSpace:
    """Learns the agent's payoffs up to what matters, commits, and watches its commitment.

    Parameters
    ----------
    view : PrincipalView
        The principal's view of a game of mixed strategies; constraints on commitments come with it.
    horizon : int
        How many rounds will be played, about.
    seed : int
        The seed of its draws.
    margin : float, optional
        The margin to certify in the end; by default what the horizon allows.
    agent_payoffs : pair of arrays, optional
        Bounds (low, high) on the agent's payoffs, in the agent's units.
    log : pair of arrays, optional
        Earlier strategies (n×m) and the responses that they drew (n).
    floor : float, optional
        No strategy is played that may earn less than this, whatever the response.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> principal = VersionSpace(game.principal_view, horizon=20_000, seed=0)
    >>> t = sc.play(principal, sc.agents.BestResponse(game.agent_view), rounds=20_000)
    >>> principal.result.response, bool(principal.result.value > 2.4)
    (1, True)
    """

    def __init__(
        self,
        view: PrincipalView,
        horizon: int,
        seed: int = 0,
        *,
        margin: float | None = None,
        agent_payoffs: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
        log: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
        floor: float | None = None,
    ) -> None:
        self._horizon = whole_number("horizon", horizon, at_least=1)
        self._seed = whole_number("seed", seed)
        self._view = view
        m, k = view.payoffs.shape
        if not np.isfinite(view.payoffs).all():
            raise InputError("view", "payoffs that are finite numbers", "NaN or infinity")
        if not np.array_equal(view.space.frame, np.eye(m)) or view.offsets.any():
            raise InputError("view", "a game of mixed strategies", "another strategy space")
        self._asked_margin = margin
        if margin is not None:
            widest = math.sqrt(2.0)
            real_number("margin", margin, above=0.0)
            if margin >= widest:
                found = f"{margin:g}, larger than any region"
                raise InputError("margin", f"less than {widest:.3g}", found)
        self._width = float(view.payoffs.max() - view.payoffs.min()) or 1.0
        low, high = _bounds(agent_payoffs, (m, k))
        self._floor = None if floor is None else real_number("floor", floor)
        self._level = 0
        self._search = PayoffSearch(view, seed=self._seed, low=low, high=high, **self._stage(0))
        if self._floor is not None:
            self._hold_to_floor(self._floor)
        self._timing = SelfStopping(m, k, _CONSTANT)
        self._log = _checked_log(view, log)
        for strategy, response in zip(*self._log, strict=True):
            self._search.cloud.add(strategy, int(response), 2 * _COARSEST)
        self._played = 0
        self._rounds: dict[str, int] = {}
        self._contradictions: list[Contradiction] = []
        self._questions = 0
        self._question: Question | None = None
        self._heard = np.zeros(0, dtype=np.int64)
        self._commitment: Commitment | None = None
        self._block_length = self._clean = self._spent = 0
        self._rechecked: list[int] = []
        self._next_recheck = max(1000, self._horizon // 50)
        self._kept_margin = 0.0
        self._octave = 0
        self._earned: dict[int, tuple[float, int]] = {}

    @property
    def view(self) -> PrincipalView:
        """What the principal knows of the game."""
        return self._view

    @property
    def settings(self) -> dict[str, Any]:
        """All that makes this principal another one."""
        cloud = self._search.cloud
        return {
            "name": "VersionSpace",
            "horizon": self._horizon,
            "seed": self._seed,
            "margin": self._asked_margin,
            "agent_payoffs": [cloud.low.tolist(), cloud.high.tolist()],
            "log": [part.tolist() for part in self._log],
            "floor": self._floor,
        }

    @property
    def result(self) -> LearnedCommitment:
        """What it would commit to now, and what it can say for it."""
        best = self._search.certified or self._commitment or self._search.planned
        shared: dict[str, Any] = {
            "rounds": dict(self._rounds),
            "constant": self._timing.constant,
            "contradictions": tuple(self._contradictions),
            "questions": self._questions,
            "certified": self._search.certified is not None,
        }
        if best is None:
            middle = _middle(self._search)
            return LearnedCommitment(middle, None, math.nan, **shared)
        return LearnedCommitment(
            best.strategy,
            best.response,
            best.value,
            best.margin,
            max(self._search.upper_bound, best.value),
            **shared,
        )

    def commit(self) -> Block:
        """Return the next piece of a question, or of the commitment."""
        if self._question is None and self._commitment is None:
            self._next_question()
        if self._question is not None:
            rounds, _ = self._timing.next_piece(
                self._heard, self._question.accuracy, self._longest(self._question)
            )
            return Block(self._question.strategy, max(rounds, 1), self._question.phase)
        assert self._commitment is not None
        return Block(self._commitment.strategy, self._block_length, "commit")

    def observe(self, responses: npt.NDArray[Any]) -> None:
        """Learn from the answers to a piece."""
        phase = "commit" if self._question is None else self._question.phase
        self._rounds[phase] = self._rounds.get(phase, 0) + len(responses)
        self._played += len(responses)
        if self._question is None:
            self._watch(np.asarray(responses, dtype=np.int64))
            return
        self._spent += len(responses)
        self._heard = np.append(self._heard, responses)
        longest = self._longest(self._question)
        _, answer = self._timing.next_piece(self._heard, self._question.accuracy, longest)
        if answer is None:
            return
        question, self._question = self._question, None
        self._heard = np.zeros(0, dtype=np.int64)
        self._questions += 1
        if question.phase == "recheck":
            self._recheck(question, answer.response, answer.accuracy)
            return
        if not self._search.tell(question, answer.response, answer.accuracy):
            self._reconcile()

    # What to ask next -----------------------------------------------------------------------

    def _stage(self, level: int) -> dict[str, float]:
        accuracy = _COARSEST / 2**level
        margin = (
            accuracy / 2 if self._asked_margin is None else max(self._asked_margin, accuracy / 4)
        )
        return {
            "margin": margin,
            "accuracy": accuracy,
            "tolerance": self._width * max(0.25 * accuracy, 0.002),
        }

    def _longest(self, question: Question) -> int:
        shortest = self._timing.shortest(question.accuracy)
        return max(4, min(4 * shortest, max(self._horizon // 50, 4)))

    def _next_question(self) -> None:
        left = self._horizon - self._played
        patience = _EXPLORATION * self._horizon
        while True:
            over = self._spent > patience or left < self._horizon / 100
            self._question = None if over else self._search.question()
            if self._question is not None:
                return
            cost = self._timing.shortest(_COARSEST / 2 ** (self._level + 1))
            cost *= 3 * len(self._search.cloud.low)
            if over or cost > _STAGE * left:
                break
            self._level += 1
            self._search.refine(**self._stage(self._level))
        self._commitment = self._search.certified or self._search.planned or self._fallback()
        self._kept_margin = 2.2 * self._search.accuracy + self._search.margin
        self._octave, self._earned = 0, {}
        self._block_length = max(20, min(1000, self._horizon // 50))
        self._spent = 0

    def _fallback(self) -> Commitment:
        middle = _middle(self._search)
        utilities = self._view.utilities(middle)
        worst = int(np.argmin(utilities))
        return Commitment(middle, worst, float(utilities[worst]), math.nan)

    def _hold_to_floor(self, floor: float) -> None:
        rows = floor - self._view.payoffs.T  # ⟨floor − U_y, h⟩ ≤ 0, because Σh = 1
        cloud = self._search.cloud
        cloud.cuts = np.ascontiguousarray(np.vstack([cloud.cuts, rows]))
        if cloud.promises_of(np.zeros((1, *rows.T.shape)), 0.0).responses[0] < 0:
            raise InputError("floor", "a utility that some strategy always earns", f"{floor:g}")

    # What was believed and is denied --------------------------------------------------------

    def _reconcile(self) -> None:
        """Drop the answers that cannot all be right, and ask more carefully from now on."""
        self._deny("answers", math.nan)
        self._double()
        for _ in range(20):
            if self._search.cloud.drop(self._search.cloud.contradictions()[:2]):
                return
        self._search.cloud.forget()

    def _watch(self, responses: npt.NDArray[np.int64]) -> None:
        """Compare what the commitment earns with what it promised."""
        assert self._commitment is not None
        kept = self._commitment
        window = responses[len(responses) // 2 :]
        utilities = self._view.utilities(kept.strategy)
        wrong = float((window != kept.response).mean())
        short = kept.value - float(utilities[window].mean())
        if wrong > 0.5:
            self._refuted(kept, window, wrong)
            return
        self._clean += len(responses)
        if self._clean >= self._next_recheck:
            self._next_recheck = 2 * self._clean
            self._question = self._recheck_question()
        if len(responses) >= min(1000, self._horizon // 50):
            self._adjust_margin(kept, kept.value - short, wrong, len(responses))
        if kept is self._commitment:
            longest = max(20, self._horizon // 20)
            self._block_length = min(2 * self._block_length, longest)

    def _adjust_margin(self, kept: Commitment, earned: float, wrong: float, length: int) -> None:
        """Move to twice or half the distance where that would earn more, once in each direction.

        Near another region the agent errs now and then, for as long as its forecasts allow; farther
        inside the commitment is worth less. What was earned decides.
        """
        self._earned[self._octave] = (earned, length)
        for step in (1, -1):
            other = self._octave + step
            before, then = self._earned.get(other, (math.inf, 0))
            recent = (
                4 * then > length
            )  # an agent settles: what was earned long ago may have changed
            if (step < 0 and wrong > 0.02) or (recent and before <= earned):
                continue
            moved = self._search.farther(self._kept_margin * 2.0**other)
            if moved is None or moved.response != kept.response:
                continue
            hoped = moved.value if step < 0 else (moved.value + earned) / 2
            if min(hoped, before if recent else hoped) > earned + 0.001 * self._width:
                if step > 0:
                    self._deny("margin", wrong)
                self._octave, self._commitment = other, moved
                self._block_length = max(1000, length // 4)
                return

    def _refuted(self, kept: Commitment, window: npt.NDArray[np.int64], wrong: float) -> None:
        """Re-open exploration: the commitment draws another response."""
        self._deny("commitment", wrong)
        self._commitment = None
        if self._clean >= max(1000, self._horizon // 50):
            # It was right for long: the agent has changed, and old answers are about another one.
            self._clean = self._level = 0
            self._search.cloud.forget()
            self._search.restart()
            self._search.refine(**self._stage(0))
            return
        self._clean = 0
        self._double()
        counts = np.bincount(window)
        question = Question(kept.strategy, self._search.accuracy, "commit")
        accuracy = self._timing.accuracy(len(window), int(counts.max()))
        self._search.refused()
        if not self._search.tell(question, int(np.argmax(counts)), accuracy):
            self._reconcile()

    def _recheck_question(self) -> Question | None:
        """Return an old answer that would matter most if it were wrong, to be asked again.

        A wrong answer that cut off the optimum raises no alarm by itself.
        """
        assert self._commitment is not None
        cloud = self._search.cloud
        gain = self._view.utilities(cloud.asked)
        gain[np.arange(len(gain)), cloud.labels] = -np.inf
        worth = gain.max(axis=1) - self._commitment.value
        worth[[i for i in self._rechecked if i < len(worth)]] = -np.inf
        if not len(worth) or worth.max() <= self._search.tolerance:
            return None
        i = int(np.argmax(worth))
        self._rechecked.append(i)
        accuracy = min(float(cloud.accuracy[i]), self._search.accuracy)
        return Question(cloud.asked[i].copy(), accuracy, "recheck")

    def _recheck(self, question: Question, response: int, accuracy: float) -> None:
        """Replace the old answer if the new one denies it, and re-open the search."""
        cloud = self._search.cloud
        same = np.flatnonzero((cloud.asked == question.strategy).all(axis=1))
        if (cloud.labels[same] == response).any():
            return
        self._deny("recheck", math.nan)
        cloud.drop(same)
        self._rechecked.clear()
        self._commitment = None
        self._search.finished = False
        if not cloud.add(question.strategy, response, accuracy):
            self._reconcile()

    def _deny(self, kind: str, share: float) -> None:
        self._contradictions.append(Contradiction(self._played, kind, share))

    def _double(self) -> None:
        self._timing.constant = min(2 * self._timing.constant, _LARGEST_CONSTANT)

    def state(self) -> State:
        """Return all that the learner knows, as plain state."""
        question = self._question
        return {
            "search": self._search.state(),
            "constant": self._timing.constant,
            "numbers": [
                self._level,
                self._played,
                self._questions,
                self._block_length,
                self._clean,
                self._spent,
                self._next_recheck,
                self._octave,
            ],
            "kept_margin": self._kept_margin,
            "earned": [[key, value, then] for key, (value, then) in self._earned.items()],
            "rechecked": list(self._rechecked),
            "rounds": dict(self._rounds),
            "contradictions": [[c.round, c.kind, c.share] for c in self._contradictions],
            "question": None
            if question is None
            else [question.strategy.copy(), question.accuracy, question.phase],
            "heard": self._heard.copy(),
            "commitment": plain_commitment(self._commitment),
        }

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""
        self._search.restore(state["search"])
        self._timing.constant = state["constant"]
        (
            self._level,
            self._played,
            self._questions,
            self._block_length,
            self._clean,
            self._spent,
            self._next_recheck,
            self._octave,
        ) = state["numbers"]
        self._kept_margin = state["kept_margin"]
        self._earned = {key: (value, then) for key, value, then in state["earned"]}
        self._rechecked = list(state["rechecked"])
        self._rounds = dict(state["rounds"])
        self._contradictions = [Contradiction(*entry) for entry in state["contradictions"]]
        asked = state["question"]
        self._question = None if asked is None else Question(asked[0].copy(), *asked[1:])
        self._heard = state["heard"].copy()
        self._commitment = restored_commitment(state["commitment"])


def _middle(search: PayoffSearch) -> FloatArray:
    """Return a strategy of the space to hold before anything is known."""
    middle: FloatArray = search.cloud.promises_of(search.cloud.points[:8], 0.0).strategies.mean(
        axis=0
    )
    return middle


def _bounds(
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
    m, k = view.payoffs.shape
    if log is None:
        return np.zeros((0, m)), np.zeros(0, dtype=np.int64)
    strategies = np.array([view.space.check("log", h) for h in np.asarray(log[0])])
    responses = np.asarray(log[1])
    if responses.shape != (len(strategies),) or responses.dtype.kind not in "iu":
        raise InputError("log", "one response for each strategy", shown(log[1]))
    if len(responses) and not 0 <= responses.min() <= responses.max() < k:
        raise InputError("log", f"responses below {k}", shown(responses.tolist()))
    return strategies, responses.astype(np.int64)
