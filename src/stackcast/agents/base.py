"""What the agents share: seeded streams, feedback, and compiled loops over the rounds of a block.

Every agent draws the same number of random numbers in every round, from a stream of its own for
each purpose, so that blocks of any length give the same play.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from stackcast._compiling import entry
from stackcast._random import stream
from stackcast._validation import InputError, one_of, shown
from stackcast.games import drawn_actions
from stackcast.protocol import Agent, Responses

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._state import State
    from stackcast._validation import FloatArray
    from stackcast.games import AgentView, ContinuousAgentView
    from stackcast.protocol import Block

    IntArray = npt.NDArray[np.int64]

Feedback = Literal["strategy", "action"]

#: Rounds that are worked on at once, so that memory does not grow with the block.
CHUNK = 1 << 16


@dataclass(eq=False, repr=False)
class Learner(Agent):
    """An agent that answers first and then learns from the strategy or from an action drawn."""

    _: KW_ONLY
    feedback: Feedback = "strategy"
    _actions: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("feedback", self.feedback, ("strategy", "action"))
        self._actions = stream(self.seed, "agent", "sampled actions")

    def _observations(self, strategy: FloatArray, rounds: int) -> FloatArray:
        """Return what is observed: one row for all rounds, or one for each."""
        if self.feedback == "strategy":
            return strategy[None, :]
        return drawn_actions(strategy, self._actions.random(rounds))

    # For the agents that keep what they remember by hand until their fields hold it.

    @property
    def _view(self) -> AgentView:
        return self.view

    @property
    def _feedback(self) -> Feedback:
        return self.feedback

    def _memory(self) -> State:
        return {}

    def _recall(self, memory: State) -> None:
        """Take over what :meth:`_memory` gave."""

    def state(self) -> State:
        """Return all that it remembers, as arrays and numbers that later play does not change."""
        return {**super().state(), **self._memory()}

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""
        super().restore(state)
        self._recall(state)


@dataclass(eq=False, repr=False)
class UtilityLearner(Learner):
    """A learner from utilities alone: what each response would have earned in each round.

    Utilities are shifted by the least of the round and divided by the widest difference that a
    response can make (:attr:`AgentView.scale`), so that they lie in [0, 1]: neither changes regrets
    but for the unit. A subclass plays some rounds in :meth:`_play`.
    """

    _answers: np.random.Generator = field(init=False)
    _played: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._answers = stream(self.seed, "agent", "responses")

    def respond(self, block: Block) -> Responses:
        """Answer every round of the block, and learn from it."""
        view, strategy = self.view, fitting(self.view, block.strategy)
        responses = np.empty(block.rounds, dtype=np.int64)
        for start in range(0, block.rounds, CHUNK):
            chunk = responses[start : start + CHUNK]
            seen = self._observations(strategy, len(chunk))
            self._play(unit_gains(seen, view.payoffs, view.offsets, view.scale), chunk)
            self._played += len(chunk)
        return Responses(responses)

    @abstractmethod
    def _play(self, gains: FloatArray, responses: IntArray) -> None:
        """Fill in the responses, learning from each row of gains after its response.

        ``gains`` has one row for all rounds, or one for each.
        """


class RegretLearner(UtilityLearner):
    """A learner that draws each response from a mixture."""

    @property
    @abstractmethod
    def mixture(self) -> FloatArray:
        """The distribution from which the next response is drawn."""


def fitting(view: AgentView | ContinuousAgentView, strategy: FloatArray) -> FloatArray:
    """Return the strategy if it has the right number of coordinates."""
    if strategy.shape != (view.space.dimension,):
        expected = f"{view.space.dimension} numbers"
        raise InputError("strategy", expected, shown(strategy.shape))
    return strategy


@entry
def unit_gains(observations: Any, payoffs: Any, offsets: Any, scale: float) -> Any:
    """Return the utilities of each row, from 0 for the least of the row, in units of ``scale``."""
    m, k = payoffs.shape
    gains = np.empty((len(observations), k))
    for t in range(len(observations)):
        for y in range(k):
            gains[t, y] = offsets[y]
        for x in range(m):
            if observations[t, x] != 0.0:
                for y in range(k):
                    gains[t, y] += observations[t, x] * payoffs[x, y]
        least = gains[t].min()
        for y in range(k):
            gains[t, y] = (gains[t, y] - least) / scale
    return gains


@entry
def pick(weights: Any, uniform: float) -> int:
    """Return an index with probability proportional to its weight."""
    aim = uniform * weights.sum()
    total = 0.0
    last = 0
    for y in range(len(weights)):
        if weights[y] > 0:
            total += weights[y]
            last = y
            if aim < total:
                return y
    return last  # rounding left nothing beyond the sum


@entry
def softmax(values: Any, rate: float, weights: Any) -> None:
    """Write to ``weights`` what is proportional to exp(rate·values), the largest as 1."""
    top = values.max()
    for y in range(len(values)):
        weights[y] = np.exp(rate * (values[y] - top))
