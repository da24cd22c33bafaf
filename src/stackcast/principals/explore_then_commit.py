"""The paper's principal: explore (Algorithm 3), then commit (Algorithm 2)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._random import stream
from stackcast._validation import InputError, one_of, shown
from stackcast.calibration import AdaptiveRate
from stackcast.principals.commitments import Commitment
from stackcast.principals.membership import approx_mem, membership_opt
from stackcast.principals.questions import Answer, FixedBlocks, RescheduledBlocks
from stackcast.protocol import UNTIL_THE_END, Block, Principal, Recommendation
from stackcast.theory import Precision, TheoryParameters

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._state import State
    from stackcast.games import PrincipalView
    from stackcast.principals.questions import Question, Search, Timing


def learn_commitment(
    view: PrincipalView, theory: TheoryParameters, seed: int = 0
) -> Search[Commitment | None]:
    """Run Algorithm 3: initialise, optimise, check robustness.

    With the parameters of the theory and answers that are right up to what is asked, the result has
    (P1) a value of at least V* − ε_opt and (P2) a margin of at least ε_robust, with probability at
    least 1 − 1/T.

    Returns
    -------
    The best commitment that passed the check; None if none did.
    """
    space = view.space
    rng = stream(seed, "principal", "algorithm 3")
    starts = space.sample(theory.samples, seed)
    centred = []
    for start in starts:
        found = yield from approx_mem(
            start,
            theory.initial.approximation,
            theory.initial.conservatism,
            theory.epochs,
            space,
            rng,
            phase="initialise",
        )
        if found is not None:
            centred.append((start, found))
    robust: list[Commitment] = []
    for start, response in centred:
        strategy = yield from membership_opt(
            start,
            response,
            view.payoffs[:, response],
            space,
            theory.optimising.approximation + theory.optimising.conservatism,
            theory.optimising.conservatism,
            theory.tolerance / 4,
        )
        check = theory.checking
        passed = yield from approx_mem(
            strategy,
            check.approximation,
            check.conservatism,
            theory.epochs,
            space,
            rng,
            response,
            phase="check",
        )
        if passed is not None:
            value = float(view.utilities(strategy)[response])
            robust.append(Commitment(strategy, response, value, theory.robustness))
    return max(robust, key=lambda found: found.value, default=None)


def hand_set(actions: int, responses: int, horizon: int) -> TheoryParameters:
    """Return parameters under which Algorithm 3 ends within a horizon that can be played.

    The theorem's own ask for about 10^90 rounds and more.

    Examples
    --------
    >>> hand_set(3, 3, 100_000).robustness
    0.01
    """
    rate = AdaptiveRate(responses, actions, constant=0.01)
    theory = TheoryParameters.compute(actions, responses, 0.1, horizon, rate)
    # Blocks last for about accuracy⁻² rounds: T^(−1/4) leaves most of the rounds to commit in.
    unit = 0.01 * (100_000 / horizon) ** 0.25
    return replace(
        theory,
        tolerance=2 * unit,
        robustness=unit,
        samples=3 * responses,
        epochs=4,
        initial=Precision(3 * unit, 2 * unit),
        optimising=Precision(2 * unit, unit),
        checking=Precision(1.5 * unit, unit),
    )


class ExploreThenCommit(Principal):
    """Explores by Algorithm 3 and commits to what it found (Algorithm 2).

    Every question is one block whose most frequent response is the answer. Against adaptively
    calibrated agents blocks have the length r⁻¹(ε₂/(k√m)); with ``schedule="rescheduled"`` they
    grow as the lemma on time rescheduling has it, for agents that are calibrated but not adaptively
    (Section 6).

    Parameters
    ----------
    view : PrincipalView
        The principal's view of the game.
    theory : TheoryParameters
        The quantities of the theory, overridden where the user wishes.
    seed : int
        The seed of its draws.
    schedule : {"fixed", "rescheduled"}
        How long blocks are.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import stackcast as sc
    >>> from stackcast.agents import BestResponse
    >>> from stackcast.calibration import PowerRate
    >>> from stackcast.theory import Precision, TheoryParameters
    >>> from stackcast.protocol import play
    >>> game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> theory = replace(
    ...     TheoryParameters.compute(2, 2, 0.2, 50_000, PowerRate(0.5, 0.1)),
    ...     tolerance=0.02, robustness=0.01, samples=5, epochs=4,
    ...     initial=Precision(0.05, 0.02),
    ...     optimising=Precision(0.02, 0.01), checking=Precision(0.02, 0.01),
    ... )
    >>> principal = ExploreThenCommit(game.principal_view, theory)
    >>> t = play(principal, BestResponse(game.agent_view), 50_000)
    >>> principal.result.response, bool(principal.result.value > 2.4)
    (1, True)
    """

    plays = ("finite",)

    @classmethod
    def suited(cls, view: PrincipalView, horizon: int) -> dict[str, Any]:
        """Return parameters under which it commits within the horizon."""
        m, k = view.payoffs.shape
        return {"theory": hand_set(m, k, horizon)}

    def __init__(
        self,
        view: PrincipalView,
        theory: TheoryParameters,
        *,
        seed: int = 0,
        schedule: str = "fixed",
    ) -> None:
        super().__init__(view, seed=seed)
        if view.payoffs.shape != (theory.actions, theory.responses):
            expected = f"a theory for {view.payoffs.shape[0]}×{view.payoffs.shape[1]} actions"
            raise InputError("theory", expected, f"{theory.actions}×{theory.responses}")
        self._view, self._theory = view, theory
        self._schedule = one_of("schedule", schedule, ("fixed", "rescheduled"))
        self._begin()

    def _begin(self) -> None:
        rate = self._theory.rate
        self._timing: Timing = (
            FixedBlocks(rate) if self._schedule == "fixed" else RescheduledBlocks(rate)
        )
        self._search = learn_commitment(self._view, self._theory, self.seed)
        self._answers: list[int] = []
        self._best: Commitment | None = None
        self._commitment: Commitment | None = None
        self._counts = np.zeros(self._view.payoffs.shape[1], dtype=np.int64)
        self._question: Question | None = None
        self._rounds = 0
        self._advance(None)

    @property
    def settings(self) -> dict[str, Any]:
        """The name, the seed and the parameters."""
        theory = self._theory
        precise = {
            name: [part.approximation, part.conservatism]
            for name, part in (
                ("initial", theory.initial),
                ("optimising", theory.optimising),
                ("checking", theory.checking),
            )
        }
        return {
            "name": "ExploreThenCommit",
            "seed": self.seed,
            "schedule": self._schedule,
            "rate": repr(theory.rate),
            "regularity": theory.regularity,
            "horizon": theory.horizon,
            "tolerance": theory.tolerance,
            "robustness": theory.robustness,
            "epochs": theory.epochs,
            "samples": theory.samples,
            **precise,
        }

    @property
    def result(self) -> Recommendation:
        """The commitment; while exploring, the best strategy asked so far with its answer."""
        found = self._commitment or self._best
        if found is None:
            middle = self._view.space.sample(1, self.seed)[0]
            return Recommendation(middle, None, float("nan"))
        return Recommendation(found.strategy, found.response, found.value, found.margin)

    def commit(self) -> Block:
        """Return the block of the next question, or the commitment."""
        if self._question is None:
            return Block(self.result.strategy, UNTIL_THE_END, "commit")
        left = max(1, self._rounds - int(self._counts.sum()))
        return Block(self._question.strategy, min(left, UNTIL_THE_END), self._question.phase)

    def observe(self, responses: npt.NDArray[Any]) -> None:
        """Count the answers; the most frequent one of a whole block is the answer."""
        if self._question is None:
            return
        self._counts += np.bincount(responses, minlength=len(self._counts))
        if self._counts.sum() >= self._rounds:
            self._advance(int(np.argmax(self._counts)))

    def _advance(self, response: int | None) -> None:
        try:
            if response is None:
                self._question = next(self._search)
            else:
                assert self._question is not None
                self._answers.append(response)
                asked = self._question
                value = float(self._view.utilities(asked.strategy)[response])
                if self._best is None or value > self._best.value:
                    self._best = Commitment(asked.strategy, response, value, float("nan"))
                self._question = self._search.send(Answer(response, asked.accuracy))
        except StopIteration as stop:
            self._question = None
            self._commitment = stop.value
            return
        self._counts[:] = 0
        self._rounds = self._timing.rounds(self._theory.block_error(self._question.accuracy))

    def state(self) -> State:
        """Return the answers so far: the search is run again on them."""
        answers = np.array(self._answers, dtype=np.int64)
        return {"answers": answers, "counts": self._counts.copy()}

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken, by replaying the recorded answers."""
        self._begin()
        for answer in state["answers"].tolist():
            if self._question is None:
                raise InputError("state", "answers to this search", shown(len(state["answers"])))
            self._advance(answer)
        self._counts = state["counts"].copy()
