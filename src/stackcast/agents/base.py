"""What the agents share: seeded streams, feedback, and compiled draws.

Every agent draws the same number of random numbers in every round, from a stream of its own for
each purpose, so that blocks of any length give the same play.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from stackcast._compiling import entry
from stackcast._random import stream
from stackcast._validation import InputError, one_of, shown
from stackcast.games import drawn_actions
from stackcast.protocol import Agent

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.games import AgentView, ContinuousAgentView

Feedback = Literal["strategy", "action"]


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


def fitting(view: AgentView | ContinuousAgentView, strategy: FloatArray) -> FloatArray:
    """Return the strategy if it has the right number of coordinates."""
    if strategy.shape != (view.space.dimension,):
        raise InputError("strategy", f"{view.space.dimension} numbers", shown(strategy.shape))
    return strategy


@entry
def pick(weights: FloatArray, uniform: float) -> int:
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
def softmax(values: FloatArray, rate: float, weights: FloatArray) -> None:
    """Write to ``weights`` what is proportional to exp(rate·values), the largest as 1."""
    top = values.max()
    for y in range(len(values)):
        weights[y] = np.exp(rate * (values[y] - top))
