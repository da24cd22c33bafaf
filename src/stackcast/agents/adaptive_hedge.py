"""No external regret on any interval: AdaNormalHedge over sleeping starts (Luo, Schapire 2015).

The paper's remark on adaptive regret names this agent: it tracks changes as an adaptively
calibrated agent does, but without the upper bound on what a principal earns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._compiling import entry
from stackcast.agents.base import RegretLearner, pick

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.agents.base import IntArray

# A start s = odd·2^a lives for 4·2^a + 1 rounds, so at most three of level a live at once: slots
# 3a+1 … 3a+3. Slot 0 is start 1, which lives for ever.
_SLOTS = 1 + 3 * 62
#: Weights below the largest by this factor (in logs) cannot be seen in a double.
_NEGLIGIBLE = 45.0


@dataclass(eq=False, repr=False)
class AdaptiveHedge(RegretLearner):
    """Draws responses so that its regret is small on every interval of rounds at once.

    One sleeping expert for each response and each start s, awake from round s; starts follow the
    streaming rule of Hazan and Seshadhri (O(log t) of them alive), and start 1 lives for ever. For
    every interval of L rounds that ends in round t, the expected external regret on it is at most
    3.42·√(3 L ln(k t (5/2 + (3/2) ln(1+t)))) in units of the widest difference that a response
    makes: √(3 L ln …) for a start's lifetime, and a chain of lifetimes that double covers the
    interval.

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
    >>> agent = AdaptiveHedge(game.agent_view, seed=1)
    >>> int(agent.respond(sc.protocol.Block([1, 0], 20_000)).responses[-1])
    0
    >>> answers = agent.respond(sc.protocol.Block([0, 1], 1000)).responses
    >>> bool((answers == 1).mean() > 0.9)
    True
    """

    _regrets: FloatArray = field(init=False)
    _starts: IntArray = field(init=False)
    _snapshots: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        k = len(self.view.agent_actions)
        self._regrets = np.zeros((2, k))  # Σ r and Σ |r| of every response since round 1
        self._starts = np.zeros(_SLOTS, dtype=np.int64)
        self._snapshots = np.zeros((_SLOTS, 2, k))  # the two sums before each start

    @property
    def mixture(self) -> FloatArray:
        """The distribution from which the next response is drawn."""
        mixture = np.empty(self._regrets.shape[1])
        starts, snapshots = self._starts.copy(), self._snapshots.copy()
        _wake(starts, snapshots, self._regrets, self._played + 1)
        _mix(starts, snapshots, self._regrets, self._played + 1, mixture)
        return mixture

    def _play(self, gains: FloatArray, responses: IntArray) -> None:
        _adaptive_hedge(
            self._regrets,
            self._starts,
            self._snapshots,
            self._played,
            gains,
            self._answers.random(len(responses)),
            responses,
        )


@entry
def _wake(starts: Any, snapshots: Any, regrets: Any, now: int) -> None:
    """Begin the start ``now``, in the slot of a start that is over."""
    if now == 1:
        starts[0] = 1
    level = 0
    while (now >> level) % 2 == 0:
        level += 1
    slot = 1 + 3 * level + (now >> (level + 1)) % 3
    starts[slot] = now
    snapshots[slot] = regrets


@entry
def _log_weight(regret: float, size: float) -> float:
    """Return log w(R, C) of AdaNormalHedge; −∞ for weight 0."""
    if regret <= -1.0:
        return -np.inf
    a = (regret + 1.0) ** 2 / (3.0 * (size + 1.0))
    d = 4.0 * regret / (3.0 * (size + 1.0)) if regret >= 1.0 else a
    return float(a + np.log(-np.expm1(-d)) - np.log(2.0))


@entry
def _mix(starts: Any, snapshots: Any, regrets: Any, now: int, mixture: Any) -> None:
    """Write to ``mixture`` the weights of the responses, summed over the starts that are awake."""
    k = len(mixture)
    slots = 1
    while (now >> (slots // 3)) > 0:
        slots += 3
    awake = np.empty(slots, dtype=np.int64)
    count = 0
    for slot in range(slots):
        level = (slot - 1) // 3
        if starts[slot] > 0 and (slot == 0 or now - starts[slot] <= 4 << level):
            awake[count] = slot
            count += 1
    top_a, top = -np.inf, -np.inf
    exponents = np.full((count, k), -np.inf)
    for n in range(count):
        for y in range(k):
            regret = regrets[0, y] - snapshots[awake[n], 0, y]
            if regret > -1.0:
                size = regrets[1, y] - snapshots[awake[n], 1, y]
                exponents[n, y] = (regret + 1.0) ** 2 / (3.0 * (size + 1.0))
                if exponents[n, y] > top_a:
                    top_a = exponents[n, y]
                    top = _log_weight(regret, size)
    if top == -np.inf:
        mixture[:] = 1.0 / k
        return
    mixture[:] = 0.0
    total = 0.0
    for n in range(count):
        for y in range(k):
            if exponents[n, y] > top - _NEGLIGIBLE:  # log w is at most the exponent
                regret = regrets[0, y] - snapshots[awake[n], 0, y]
                size = regrets[1, y] - snapshots[awake[n], 1, y]
                weight = np.exp(_log_weight(regret, size) - top)
                mixture[y] += weight
                total += weight
    for y in range(k):
        mixture[y] /= total


@entry
def _adaptive_hedge(
    regrets: Any,
    starts: Any,
    snapshots: Any,
    played: int,
    gains: Any,
    uniforms: Any,
    responses: Any,
) -> None:
    k = regrets.shape[1]
    step = 1 if len(gains) > 1 else 0
    mixture = np.empty(k)
    for t in range(len(responses)):
        now = played + t + 1
        _wake(starts, snapshots, regrets, now)
        _mix(starts, snapshots, regrets, now, mixture)
        responses[t] = pick(mixture, uniforms[t])
        mean = 0.0
        for y in range(k):
            mean += mixture[y] * gains[step * t, y]
        for y in range(k):
            regret = gains[step * t, y] - mean
            regrets[0, y] += regret
            regrets[1, y] += abs(regret)
