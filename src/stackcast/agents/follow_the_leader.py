"""Follow the leader: the best response to the average of all strategies so far."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._compiling import entry
from stackcast._validation import one_of
from stackcast.agents.base import UtilityLearner
from stackcast.games import BEST_RESPONSE_TOLERANCE

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.agents.base import IntArray
    from stackcast.games import TieRule


@dataclass(eq=False, repr=False)
class FollowTheLeader(UtilityLearner):
    """Plays the response with the most utility so far; fictitious play.

    It has no regret guarantee (alternating strategies defeat it) and can be milked beyond the
    Stackelberg value by a principal who changes its strategy once.

    Parameters
    ----------
    view : AgentView
        The agent's view of the game.
    seed : int
        The seed of its draws.
    feedback : {"strategy", "action"}
        Whether it learns from the strategy of a round or from an action drawn from it.
    ties : {"lowest", "random"}
        Which of several leaders is played.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> agent = FollowTheLeader(game.agent_view)
    >>> agent.respond(sc.protocol.Block([0, 1], 4)).responses
    array([0, 1, 1, 1])
    """

    _: KW_ONLY
    ties: TieRule = "lowest"
    _totals: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("ties", self.ties, ("lowest", "random"))
        self._totals = np.zeros(len(self.view.agent_actions))

    def _play(self, gains: FloatArray, responses: IntArray) -> None:
        rounds = len(responses)
        at_random = self.ties == "random"
        uniforms = self._answers.random(rounds) if at_random else np.zeros(rounds)
        _follow(self._totals, self._played, gains, uniforms, responses, BEST_RESPONSE_TOLERANCE)


@entry
def nth_tied(values: Any, tolerance: float, uniform: float) -> int:
    """Return the index of one of the largest values: the first for uniform = 0."""
    level = values.max() - tolerance
    tied = 0
    for y in range(len(values)):
        tied += values[y] >= level
    rank = int(uniform * tied)
    for y in range(len(values)):
        if values[y] >= level:
            if rank == 0:
                return y
            rank -= 1
    return len(values) - 1


@entry
def _follow(
    totals: Any, played: int, gains: Any, uniforms: Any, responses: Any, tolerance: float
) -> None:
    k = len(totals)
    step = 1 if len(gains) > 1 else 0
    for t in range(len(responses)):
        # The tolerance of one round for each round in the sum.
        responses[t] = nth_tied(totals, tolerance * (played + t), uniforms[t])
        for y in range(k):
            totals[y] += gains[step * t, y]
