"""Hedge: exponential weights, with a learning rate that needs no horizon."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._compiling import entry
from stackcast.agents.base import RegretLearner, pick, softmax

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.agents.base import IntArray


@dataclass(eq=False, repr=False)
class Hedge(RegretLearner):
    """Plays each response with a probability exponential in its utility so far.

    In round t response y has weight exp(η_t·G_y), G_y the sum of its utilities (in units of the
    widest difference that a response makes) and η_t = 2√(ln k / t). Against every sequence of
    strategies and for every T at once, the expected external regret is at most
    √(T ln k) of those units: the mixability gaps sum to at most Σ η_t/8 and the change of the rate
    costs ln k / η_T.

    Mean-based: it trusts averages, so a principal can milk it beyond the Stackelberg value.

    Parameters
    ----------
    view : AgentView
        The agent's view of the game.
    seed : int
        The seed of its draws.
    feedback : {"strategy", "action"}
        Whether it learns from the strategy of a round or from an action drawn from it.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> agent = Hedge(game.agent_view, seed=1)
    >>> agent.mixture
    array([0.5, 0.5])
    >>> int(agent.respond(sc.protocol.Block([1, 0], 1000)).responses[-100:].max())
    0
    """

    _totals: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._totals = np.zeros(len(self.view.agent_actions))

    @property
    def mixture(self) -> FloatArray:
        """The distribution from which the next response is drawn."""
        weights = np.empty_like(self._totals)
        softmax(self._totals, learning_rate(len(weights), self._played + 1.0), weights)
        mixture: FloatArray = weights / weights.sum()
        return mixture

    def _play(self, gains: FloatArray, responses: IntArray) -> None:
        uniforms = self._answers.random(len(responses))
        _hedge(self._totals, self._played, gains, uniforms, responses)


@entry
def learning_rate(actions: int, rounds: float) -> float:
    """Return 2√(ln k / t)."""
    return float(2.0 * np.sqrt(np.log(actions) / rounds))


@entry
def _hedge(totals: Any, played: int, gains: Any, uniforms: Any, responses: Any) -> None:
    k = len(totals)
    step = 1 if len(gains) > 1 else 0
    weights = np.empty(k)
    for t in range(len(responses)):
        softmax(totals, learning_rate(k, played + t + 1.0), weights)
        responses[t] = pick(weights, uniforms[t])
        for y in range(k):
            totals[y] += gains[step * t, y]
