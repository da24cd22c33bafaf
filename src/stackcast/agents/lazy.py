"""The worst honest non-adaptive agent: it keeps a forecast for as long as it can afford to.

The paper's separation between adaptive and non-adaptive calibration (Section 6) is an agent of this
kind: its error over rounds 1..t stays within a budget r(t) at all times, and yet on an interval of
about t·r(t) rounds its forecast is wrong all the time and its response tells nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._compiling import entry
from stackcast._random import stream
from stackcast._state import generator_state, restored_generator
from stackcast._validation import InputError, one_of, real_number, shown
from stackcast.agents.base import CHUNK, Learner, fitting, pick
from stackcast.calibration import AdaptiveForecaster, BestResponseBinning
from stackcast.protocol import Responses

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from stackcast._state import State
    from stackcast._validation import FloatArray
    from stackcast.agents.base import Feedback
    from stackcast.games import AgentView, TieRule
    from stackcast.protocol import Block

    Budget = tuple[float, float] | Callable[[FloatArray], FloatArray]

#: For how many rounds it asks when it cannot afford to hold its forecast.
_STRETCH = 64


class Lazy(Learner):
    """Holds its forecast while the calibration error over all rounds stays within a budget.

    Before each round it asks whether, whatever the strategy of this round, the error over rounds
    1..t would stay within r(t) in every bin if it kept its forecast. If so it keeps it. If not, it
    takes the next 64 forecasts of an adaptive forecaster that learns from such rounds alone, and
    then keeps the last of them if it can afford to. With t·r(t) non-decreasing, the error over
    rounds 1..t is at most r(t) plus the adaptive forecaster's own error.

    Parameters
    ----------
    view : AgentView
        The agent's view of the game.
    budget : pair of numbers, or function of an array of round numbers
        r(t): the pair (c, β) stands for c·t^(−β).
    forecast : array-like, optional
        The first forecast; by default the middle of the strategy space.
    seed : int
        The seed of its draws.
    feedback : {"strategy", "action"}
        Whether it learns from the strategy of a round or from an action drawn from it.
    ties : {"lowest", "random"}
        Which of several best responses to a forecast is played; the bins follow it.

    Examples
    --------
    After 10,000 rounds it can afford to be wrong for a hundred:

    >>> import stackcast as sc
    >>> game = sc.FiniteGame([[0, 0], [0, 0]], [[0, 1], [0, -1]])
    >>> agent = Lazy(game.agent_view, budget=(0.5, 0.5))
    >>> answers = agent.respond(sc.protocol.Block([0.5, 0.5], 10_000))
    >>> int(agent.respond(sc.protocol.Block([1, 0], 100)).responses.max())
    0
    """

    def __init__(
        self,
        view: AgentView,
        *,
        budget: Budget = (0.5, 0.5),
        forecast: npt.ArrayLike | None = None,
        seed: int = 0,
        feedback: Feedback = "strategy",
        ties: TieRule = "lowest",
    ) -> None:
        super().__init__(view, seed=seed, feedback=feedback)
        self._ties = one_of("ties", ties, ("lowest", "random"))
        self._budget = _checked(budget)
        self._binning = BestResponseBinning(view, ties)
        space = view.space if feedback == "strategy" else view.space.pure
        self._forecaster = AdaptiveForecaster(self._binning, space, seed=seed)
        self._low, self._high = space.limits
        if forecast is None:
            self._held = self._forecaster.forecast().copy()
        else:
            self._held = view.space.check("forecast", forecast).copy()
        self._first = self._held.copy()
        self._weights = self._binning.weights(self._held[None])[0].copy()
        self._held_id, self._asking = 0, 0
        self._errors = np.zeros((len(view.agent_actions), space.dimension))
        self._answers = stream(seed, "agent", "responses")
        self._played = 0

    @property
    def settings(self) -> dict[str, Any]:
        """The name, the seed and the parameters of this agent."""
        budget = list(self._budget) if isinstance(self._budget, tuple) else repr(self._budget)
        return {
            **super().settings,
            "ties": self._ties,
            "budget": budget,
            "forecast": self._first.tolist(),
        }

    def respond(self, block: Block) -> Responses:
        """Answer every round of the block, and learn from it."""
        strategy = fitting(self._view, block.strategy)
        responses = np.empty(block.rounds, dtype=np.int64)
        ids = np.empty(block.rounds, dtype=np.int64)
        new = [self._first[None]] if self._played == 0 else []
        for start in range(0, block.rounds, CHUNK):
            end = min(start + CHUNK, block.rounds)
            observed = self._observations(strategy, end - start)
            new += self._chunk(observed, responses[start:end], ids[start:end])
        fresh = np.concatenate(new) if new else np.empty((0, len(strategy)))
        return Responses(responses, ids, fresh)

    def _chunk(
        self, observed: FloatArray, responses: npt.NDArray[Any], ids: npt.NDArray[Any]
    ) -> list[FloatArray]:
        rounds = len(responses)
        limits = self._limits(rounds)
        uniforms = self._answers.random(rounds)
        new, done = [], 0
        while done < rounds:
            rest = observed if len(observed) == 1 else observed[done:]
            if self._asking == 0:
                kept = _hold(
                    self._errors,
                    self._held,
                    self._weights,
                    self._low,
                    self._high,
                    rest,
                    limits[done:],
                    uniforms[done:],
                    responses[done:],
                )
                ids[done : done + kept] = self._held_id
                done += kept
                self._asking = _STRETCH if done < rounds else 0
            else:
                end = min(done + self._asking, rounds)
                new.append(self._ask(rest, responses[done:end], ids[done:end]))
                self._asking -= end - done
                done = end
        self._played += rounds
        return new

    def _limits(self, rounds: int) -> FloatArray:
        """Return t·r(t) for the coming rounds."""
        t = np.arange(self._played + 1.0, self._played + rounds + 1.0)
        if isinstance(self._budget, tuple):
            constant, exponent = self._budget
            limits: FloatArray = constant * t ** (1.0 - exponent)
            return limits
        return t * np.asarray(self._budget(t), dtype=np.float64)

    def _ask(
        self, observed: FloatArray, responses: npt.NDArray[Any], ids: npt.NDArray[Any]
    ) -> FloatArray:
        """Take the forecaster's forecasts; return those that it made."""
        rounds = len(responses)
        if len(observed) == 1:
            made = self._forecaster.run((observed[0], rounds))
        else:
            made = self._forecaster.run(observed[:rounds])
        forecasts = made.forecasts
        weights = self._binning.weights(forecasts)
        responses[:] = made.bins
        ids[:] = made.forecast_ids + 1  # number 0 is the first forecast of all
        _account(self._errors, weights, observed, forecasts)
        self._held, self._weights = forecasts[-1].copy(), weights[-1].copy()
        self._held_id = int(ids[-1])
        return made.new_forecasts

    def _memory(self) -> State:
        return {
            "played": self._played,
            "answers": generator_state(self._answers),
            "forecaster": self._forecaster.state(),
            "held": self._held.copy(),
            "held_id": self._held_id,
            "asking": self._asking,
            "weights": self._weights.copy(),
            "errors": self._errors.copy(),
        }

    def _recall(self, memory: State) -> None:
        self._played, self._held_id = memory["played"], memory["held_id"]
        self._asking = memory["asking"]
        self._answers = restored_generator(memory["answers"])
        self._forecaster.restore(memory["forecaster"])
        self._held, self._weights = memory["held"].copy(), memory["weights"].copy()
        self._errors = memory["errors"].copy()


def _checked(budget: Any) -> Any:
    if callable(budget):
        return budget
    if not isinstance(budget, list | tuple) or len(budget) != 2:
        raise InputError("budget", "a pair (c, β) or a function of the round", shown(budget))
    constant = real_number("budget, c", budget[0], at_least=0)
    return constant, real_number("budget, β", budget[1], at_least=0, at_most=1)


@entry
def _hold(
    errors: Any,
    held: Any,
    weights: Any,
    low: Any,
    high: Any,
    observed: Any,
    limits: Any,
    uniforms: Any,
    responses: Any,
) -> int:
    """Keep the forecast for as many rounds as the budget allows; return how many."""
    k, m = errors.shape
    step = 1 if len(observed) > 1 else 0
    for t in range(len(responses)):
        for i in range(k):
            for j in range(m):
                up = errors[i, j] + weights[i] * (high[j] - held[j])
                down = errors[i, j] + weights[i] * (low[j] - held[j])
                if max(abs(up), abs(down)) > limits[t]:
                    return t
        responses[t] = pick(weights, uniforms[t])
        for i in range(k):
            if weights[i] > 0:
                for j in range(m):
                    errors[i, j] += weights[i] * (observed[step * t, j] - held[j])
    return len(responses)


@entry
def _account(errors: Any, weights: Any, observed: Any, forecasts: Any) -> None:
    """Add the errors of some rounds, one after the other."""
    k, m = errors.shape
    step = 1 if len(observed) > 1 else 0
    for t in range(len(forecasts)):
        for i in range(k):
            if weights[t, i] > 0:
                for j in range(m):
                    errors[i, j] += weights[t, i] * (observed[step * t, j] - forecasts[t, j])
