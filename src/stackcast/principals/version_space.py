"""The practical learner: explores by questions that end when they are sure, commits, and watches.

Nothing is told about the agent: neither its payoffs nor the rate of its calibration. The rate is
modelled as r(t) = c·√(log(k·m·t)/t) with c low at first; what contradicts it doubles c.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError, real_number, whole_number
from stackcast.principals.commitments import Commitment
from stackcast.principals.guessed_rate import GuessedRate
from stackcast.principals.learned import (
    Contradiction,
    LearnedCommitment,
    checked_bounds,
    checked_log,
    space_above,
)
from stackcast.principals.payoff_search import PayoffSearch
from stackcast.principals.questions import Question
from stackcast.principals.reviews import Review
from stackcast.principals.watching import Watch
from stackcast.protocol import Block, Principal

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._state import State
    from stackcast.games import PrincipalView
    from stackcast.principals.questions import Answer

#: The accuracy of the first stage; each further stage halves it.
_COARSEST = 0.04
#: The share of the horizon that one stage of a refinement may take.
_STAGE = 0.02
#: Rounds of exploration before a commitment, in square roots of the horizon; and when it is opened
#: again.
_EXPLORATION, _AGAIN = 13.0, 9.0


class VersionSpace(Principal):
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
    >>> from stackcast.agents import BestResponse
    >>> from stackcast.protocol import play
    >>> game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> principal = VersionSpace(game.principal_view, horizon=20_000, seed=0)
    >>> t = play(principal, BestResponse(game.agent_view), rounds=20_000)
    >>> principal.result.response, bool(principal.result.value > 2.4)
    (1, True)
    """

    plays = ("finite",)

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
        super().__init__(view, seed=seed)
        self._horizon = whole_number("horizon", horizon, at_least=1)
        self._view = view
        m, k = view.payoffs.shape
        if not np.isfinite(view.payoffs).all():
            raise InputError("view", "payoffs that are finite numbers", "NaN or infinity")
        if not np.array_equal(view.space.enclosing_simplex, np.eye(m)) or view.offsets.any():
            raise InputError("view", "a game of mixed strategies", "another strategy space")
        self._asked_margin = margin
        if margin is not None:
            widest = math.sqrt(2.0)
            real_number("margin", margin, above=0.0)
            if margin >= widest:
                found = f"{margin:g}, larger than any region"
                raise InputError("margin", f"less than {widest:.3g}", found)
        self._width = float(view.payoffs.max() - view.payoffs.min()) or 1.0
        low, high = checked_bounds(agent_payoffs, (m, k))
        self._floor = None if floor is None else real_number("floor", floor)
        self._level = 0
        self._search = PayoffSearch(
            view,
            seed=self.seed,
            low=low,
            high=high,
            space=space_above(view, self._floor),
            **self._stage(0),
        )
        self._log = checked_log(view, log)
        for strategy, response in zip(*self._log, strict=True):
            self._search.cloud.add(strategy, int(response), 2 * _COARSEST)
        self._rate = GuessedRate(m, k, self._horizon)
        parts = (self._search, self._rate, self._horizon, self._width, self._deny)
        self._watch, self._review = Watch(*parts), Review(*parts)
        self._played = self._questions = self._spent = 0
        self._patience = _EXPLORATION
        self._rounds: dict[str, int] = {}
        self._contradictions: list[Contradiction] = []
        self._question: Question | None = None
        self._heard = np.zeros(0, dtype=np.int64)

    @property
    def settings(self) -> dict[str, Any]:
        """All that makes this principal another one."""
        cloud = self._search.cloud
        return {
            "name": "VersionSpace",
            "horizon": self._horizon,
            "seed": self.seed,
            "margin": self._asked_margin,
            "agent_payoffs": [cloud.low.tolist(), cloud.high.tolist()],
            "log": [part.tolist() for part in self._log],
            "floor": self._floor,
        }

    @property
    def result(self) -> LearnedCommitment:
        """What it would commit to now, and what it can say for it."""
        certified = self._search.certified
        best = self._watch.base or self._watch.commitment or certified or self._search.planned
        if best is not None and certified is not None:
            same = best.response == certified.response
            if same and np.array_equal(best.strategy, certified.strategy):
                best = certified
        if best is None:
            best = Commitment(self._search.middle().strategy, -1, math.nan, math.nan)
        return LearnedCommitment(
            best.strategy,
            best.response if best.response >= 0 else None,
            best.value,
            best.margin,
            max(self._search.upper_bound, best.value),
            rounds=dict(self._rounds),
            constant=self._rate.constant,
            contradictions=tuple(self._contradictions),
            questions=self._questions,
            certified=best is certified,
        )

    def commit(self) -> Block:
        """Return the next piece of a question, or of the commitment."""
        if self._question is None and self._watch.commitment is None:
            self._question = self._next_question()
            if self._question is None:
                self._spent = 0
                self._watch.choose(self._left)
        if self._question is not None:
            rounds, _ = self._rate.next_piece(
                self._heard, self._question.accuracy, self._longest(self._question)
            )
            return Block(self._question.strategy, max(rounds, 1), self._question.phase)
        assert self._watch.commitment is not None
        rounds = min(self._watch.block_length, self._review.until(self._played))
        rounds = max(rounds, min(self._watch.block_length, self._rate.first_look))
        return Block(self._watch.commitment.strategy, rounds, "commit")

    def observe(self, responses: npt.NDArray[Any]) -> None:
        """Learn from the answers to a piece."""
        phase = "commit" if self._question is None else self._question.phase
        self._rounds[phase] = self._rounds.get(phase, 0) + len(responses)
        self._played += len(responses)
        if self._question is None:
            self._held(np.asarray(responses, dtype=np.int64))
            return
        self._spent += len(responses)
        self._heard = np.append(self._heard, responses)
        longest = self._longest(self._question)
        _, answer = self._rate.next_piece(self._heard, self._question.accuracy, longest)
        if answer is not None:
            self._answered(self._question, answer)

    @property
    def _left(self) -> int:
        return max(self._horizon - self._played, 1)

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
        shortest = self._rate.shortest(question.accuracy)
        return max(4, min(4 * shortest, max(self._horizon // 50, 4)))

    def _next_question(self) -> Question | None:
        """Return what to explore, then what to review; None when it is time to commit."""
        patience = min(self._patience * math.sqrt(self._horizon), 0.15 * self._horizon)
        while self._spent <= patience and self._left >= self._horizon / 100:
            question = self._search.question()
            if question is not None:
                return question
            cost = self._rate.shortest(_COARSEST / 2 ** (self._level + 1))
            cost *= 3 * len(self._search.cloud.low)
            if cost > _STAGE * self._left:
                break
            self._level += 1
            self._search.refine(**self._stage(self._level))
        if self._left < self._horizon / 100:
            return None
        kept = self._watch.likeliest(self._left)
        return self._review.question(kept, self._watch.blur(self._left), self._left)

    # What is done with answers --------------------------------------------------------------

    def _answered(self, question: Question, answer: Answer) -> None:
        self._rate.notice(self._heard, answer.response)
        self._question, self._heard = None, np.zeros(0, dtype=np.int64)
        self._questions += 1
        kept = self._watch.commitment
        if question.phase == "recheck":
            if self._review.tell(question, answer, kept):
                self._start_over()
                return
        elif not self._search.tell(question, answer.response, answer.accuracy, self._rate.slack):
            self._deny("answers", math.nan)
            self._search.reconcile()
        if kept is not None:
            self._review.weigh(question, answer, kept)
            self._go_on(kept)

    def _go_on(self, kept: Commitment) -> None:
        """Ask the next question of the review, or return to the commitment."""
        self._question = self._review.question(kept, self._watch.blur(self._left), self._left)
        if self._question is None:
            review = self._review
            self._watch.resume(self._left, surprised=review.surprised, trial=review.trial)

    def _held(self, responses: npt.NDArray[np.int64]) -> None:
        """Learn from a piece of the commitment."""
        outcome = self._watch.observe(responses, self._left)
        if outcome == "changed":
            self._start_over()
        elif outcome == "lost":
            self._spent, self._patience = 0, _AGAIN
            self._review.prepare(self._played)
            self._search.finished = False
            self._rate.double()
        elif self._watch.base is None and self._review.until(self._played) <= 0:
            kept = self._watch.commitment
            assert kept is not None
            self._review.begin(self._played)
            self._go_on(kept)

    def _start_over(self) -> None:
        """Forget all answers: they are about another agent."""
        self._deny("change", math.nan)
        self._watch.forget()
        self._review.prepare(self._played)
        self._level = self._spent = 0
        self._search.cloud.forget()
        self._search.restart()
        self._search.refine(**self._stage(0))
        self._patience = _EXPLORATION

    def _deny(self, kind: str, share: float) -> None:
        self._contradictions.append(Contradiction(self._played, kind, share))
        if kind == "answers":
            self._rate.double()

    def state(self) -> State:
        """Return all that the learner knows, as plain state."""
        question = self._question
        return {
            "search": self._search.state(),
            "rate": self._rate.state(),
            "watch": self._watch.state(),
            "review": self._review.state(),
            "numbers": [self._level, self._played, self._questions, self._spent, self._patience],
            "rounds": dict(self._rounds),
            "contradictions": [[c.round, c.kind, c.share] for c in self._contradictions],
            "question": None
            if question is None
            else [question.strategy.copy(), question.accuracy, question.phase],
            "heard": self._heard.copy(),
        }

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""
        self._search.restore(state["search"])
        self._rate.restore(state["rate"])
        self._watch.restore(state["watch"])
        self._review.restore(state["review"])
        numbers = state["numbers"]
        self._level, self._played, self._questions, self._spent, self._patience = numbers
        self._rounds = dict(state["rounds"])
        self._contradictions = [Contradiction(*entry) for entry in state["contradictions"]]
        asked = state["question"]
        self._question = None if asked is None else Question(asked[0].copy(), *asked[1:])
        self._heard = state["heard"].copy()
