"""No swap regret, after Blum and Mansour (2007): one Hedge for every response."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._compiling import entry
from stackcast.agents.base import RegretLearner, pick, softmax
from stackcast.agents.hedge import learning_rate

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.agents.base import IntArray

#: No transition is rarer than this: the chain stays irreducible when an exponential underflows.
_RAREST = 1e-250


@dataclass(eq=False, repr=False)
class BlumMansour(RegretLearner):
    """Plays the stationary distribution of k copies of Hedge, copy i being paid for response i.

    Copy i recommends a distribution q_i; the mixture p solves p = pQ; copy i gains p_i·u. Its rate
    2√(ln k / (1 + Σ p_i²)) follows its own share: its regret is at most √((1 + Σ p_i²) ln k), and
    the expected swap regret, against every sequence and for every T at once, at most
    √(k (T + k) ln k), in units of the widest difference that a response makes.

    No principal earns more than the Stackelberg value against it in the long run.

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
    >>> agent = BlumMansour(game.agent_view, seed=1)
    >>> agent.mixture
    array([0.5, 0.5])
    >>> int(agent.respond(sc.protocol.Block([1, 0], 1000)).responses[-100:].max())
    0
    """

    _totals: FloatArray = field(init=False)
    _shares: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        k = len(self.view.agent_actions)
        self._totals = np.zeros((k, k))
        self._shares = np.zeros(k)

    @property
    def mixture(self) -> FloatArray:
        """The distribution from which the next response is drawn."""
        k = len(self._shares)
        mixture = np.empty(k)
        _mix(self._totals, self._shares, np.empty((k, k)), mixture)
        return mixture

    def _play(self, gains: FloatArray, responses: IntArray) -> None:
        uniforms = self._answers.random(len(responses))
        _blum_mansour(self._totals, self._shares, gains, uniforms, responses)


@entry
def stationary(chain: Any, mixture: Any) -> None:
    """Write to ``mixture`` the p with p = pQ; ``chain`` (Q, positive) is overwritten.

    Gaussian elimination without a subtraction (Grassmann, Taksar and Heyman 1985): every entry is
    right to a few digits less than machine precision, however small it is.
    """
    k = len(mixture)
    for n in range(k - 1, 0, -1):
        out = 0.0
        for j in range(n):
            out += chain[n, j]
        for i in range(n):
            chain[i, n] /= out
            for j in range(n):
                chain[i, j] += chain[i, n] * chain[n, j]
    mixture[0] = 1.0
    total = 1.0
    for j in range(1, k):
        mixture[j] = 0.0
        for i in range(j):
            mixture[j] += mixture[i] * chain[i, j]
        total += mixture[j]
    for j in range(k):
        mixture[j] /= total


@entry
def _mix(totals: Any, shares: Any, chain: Any, mixture: Any) -> None:
    k = len(shares)
    for i in range(k):
        softmax(totals[i], learning_rate(k, 1.0 + shares[i]), chain[i])
        total = chain[i].sum()
        for j in range(k):
            chain[i, j] = max(chain[i, j] / total, _RAREST)
    stationary(chain, mixture)


@entry
def _blum_mansour(totals: Any, shares: Any, gains: Any, uniforms: Any, responses: Any) -> None:
    k = len(shares)
    step = 1 if len(gains) > 1 else 0
    chain, mixture = np.empty((k, k)), np.empty(k)
    for t in range(len(responses)):
        _mix(totals, shares, chain, mixture)
        responses[t] = pick(mixture, uniforms[t])
        for i in range(k):
            shares[i] += mixture[i] ** 2
            for y in range(k):
                totals[i, y] += mixture[i] * gains[step * t, y]
