"""A policy that somebody else trained, as a principal."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stackcast._validation import whole_number
from stackcast.protocol import Block, Principal, Recommendation, fits

if TYPE_CHECKING:
    from collections.abc import Callable

    from stackcast._validation import AnyArray, FloatArray, Table

#: Policies compute in single precision: strategies that miss the space by less are projected.
_SINGLE = 1e-5


@dataclass(eq=False, repr=False)
class FromPolicy(Principal):
    """Commits to the strategy that a function of the observation returns.

    The observation is a vector of numbers from 0 to 1: the last strategy (m numbers), the shares of
    the responses in the last block (k numbers), and the share of the horizon that has passed.
    Before the first block the strategy is zeros and the shares are equal. It is what
    :class:`~stackcast.interop.PrincipalEnv` shows to a learner.

    Parameters
    ----------
    view : PrincipalView
        The principal's view of the game.
    policy : callable
        Takes the observation and returns a strategy. It remembers nothing of its own.
    horizon : int
        For how many rounds it was trained.
    hold : int
        How many rounds each strategy is held.
    label : str
        What the policy is called in records.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> def less_and_less(observation):
    ...     return [0.4 * (1 - observation[-1]), 0.6 + 0.4 * observation[-1]]
    >>> principal = FromPolicy(game.principal_view, less_and_less, horizon=100, hold=50)
    >>> t = sc.play(principal, sc.agents.BestResponse(game.agent_view), 100, game)
    >>> t.block_strategies.round(6)
    array([[0.4, 0.6],
           [0.2, 0.8]])
    """

    policy: Callable[[npt.NDArray[np.float32]], npt.ArrayLike]
    _: KW_ONLY
    horizon: int
    hold: int = 1
    label: str = "policy"
    _played: int = field(default=0, init=False)
    _strategy: FloatArray = field(init=False)
    _shares: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("horizon", self.horizon, at_least=1)
        whole_number("hold", self.hold, at_least=1)
        self._strategy = np.zeros(self.view.space.dimension)
        k = len(self.view.agent_actions)
        self._shares = np.full(k, 1.0 / k)

    @property
    def settings(self) -> Table:
        """The name, the label of the policy, the horizon and the hold."""
        chosen = {"label": self.label, "horizon": self.horizon, "hold": self.hold}
        return {"name": type(self).__name__, "seed": self.seed, **chosen}

    @property
    def observation(self) -> npt.NDArray[np.float32]:
        """What the policy is shown next."""
        elapsed = [min(1.0, self._played / self.horizon)]
        return np.concatenate([self._strategy, self._shares, elapsed], dtype=np.float32)

    @property
    def result(self) -> Recommendation:
        """The latest strategy, with the most frequent response to it."""
        strategy = self._strategy
        if not self._played:
            return Recommendation(self._said(), None, float("nan"))
        response = int(np.argmax(self._shares))
        return Recommendation(strategy, response, float(self.view.utilities(strategy)[response]))

    def commit(self) -> Block:
        """Return what the policy says, for as long as it holds."""
        self._strategy = self._said()
        return Block(self._strategy, self.hold, "policy")

    def _said(self) -> FloatArray:
        space = self.view.space
        strategy = np.array(self.policy(self.observation))
        if strategy.dtype == np.float64 and fits(space, strategy):
            strategy.flags.writeable = False
            return strategy
        if space.contains(strategy, _SINGLE):
            strategy = np.clip(space.project(strategy), 0.0, 1.0)
        return space.check("policy's strategy", strategy)

    def observe(self, responses: AnyArray) -> None:
        """Count the responses to the block."""
        counts = np.bincount(responses, minlength=len(self._shares))
        self._shares = counts / len(responses)
        self._played += len(responses)
