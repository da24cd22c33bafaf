"""A policy that somebody else trained, as an agent."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stackcast._validation import InputError, shown, whole_number
from stackcast.agents.base import Learner, fitting
from stackcast.protocol import Responses

if TYPE_CHECKING:
    from collections.abc import Callable

    from stackcast._validation import FloatArray, Table
    from stackcast.protocol import Block


@dataclass(eq=False, repr=False)
class FromPolicy(Learner):
    """Answers with the response that a function of the observation returns.

    The observation is a vector of numbers from 0 to 1: what was seen of the last round (the
    strategy, or with ``feedback="action"`` the action drawn from it; m numbers), the last response
    (k numbers, one of them 1), and the share of the horizon that has passed. Before the first round
    there are m zeros and k equal shares. It never holds anything of the round that is to be
    answered. It is what :class:`~stackcast.interop.ParallelEnv` shows to a learner.

    Parameters
    ----------
    view : AgentView
        The agent's view of the game.
    policy : callable
        Takes the observation and returns the number of an action. It remembers nothing of its own.
    horizon : int
        For how many rounds it was trained.
    label : str
        What the policy is called in records.
    seed : int
        The seed of the drawn actions.
    feedback : {"strategy", "action"}
        Whether it sees the strategy of a past round or an action drawn from it.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> agent = FromPolicy(game.agent_view, lambda seen: seen[1] > seen[0], horizon=100)
    >>> agent.respond(sc.Block([0.4, 0.6], 3)).responses
    array([0, 1, 1])
    """

    policy: Callable[[npt.NDArray[np.float32]], Any]
    _: KW_ONLY
    horizon: int
    label: str = "policy"
    _played: int = field(default=0, init=False)
    _seen: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("horizon", self.horizon, at_least=1)
        m, k = self.view.space.dimension, len(self.view.agent_actions)
        self._seen = np.append(np.zeros(m), np.full(k, 1.0 / k))

    @property
    def settings(self) -> Table:
        """The name, the seed, the label of the policy, the horizon and the feedback."""
        chosen = {"label": self.label, "horizon": self.horizon, "feedback": self.feedback}
        return {"name": type(self).__name__, "seed": self.seed, **chosen}

    @property
    def observation(self) -> npt.NDArray[np.float32]:
        """What the policy is shown next."""
        elapsed = [min(1.0, self._played / self.horizon)]
        return np.concatenate([self._seen, elapsed], dtype=np.float32)

    def respond(self, block: Block) -> Responses:
        """Answer every round of the block, and remember its last one."""
        m, k = self.view.space.dimension, len(self.view.agent_actions)
        seen = self._observations(fitting(self.view, block.strategy), block.rounds)
        responses = np.empty(block.rounds, dtype=np.int64)
        for t in range(block.rounds):
            said = np.asarray(self.policy(self.observation))
            if said.dtype.kind not in "iub" or said.size != 1 or not 0 <= int(said.item()) < k:
                expected = f"the number of an action, 0 to {k - 1}"
                raise InputError("policy's response", expected, shown(said.tolist()))
            responses[t] = said.item()
            self._seen[:m] = seen[t % len(seen)]
            self._seen[m:] = 0.0
            self._seen[m + responses[t]] = 1.0
            self._played += 1
        return Responses(responses)
