"""The agents of the one-shot game: told the strategy, they respond to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._compiling import entry
from stackcast._random import stream
from stackcast._state import generator_state, restored_generator
from stackcast._validation import one_of, real_number, whole_number
from stackcast.agents.base import fitting, identity, pick, require_state_of, softmax
from stackcast.protocol import Responses

if TYPE_CHECKING:
    from stackcast._state import State
    from stackcast.games import AgentView, TieRule
    from stackcast.protocol import Block


class _Informed(ABC):
    """Sees the strategy of a round before it answers; remembers nothing but its random stream."""

    informed = True

    def __init__(self, view: AgentView, seed: int) -> None:
        self._view = view
        self._seed = whole_number("seed", seed)
        self._answers = stream(seed, "agent", "responses")

    @property
    def view(self) -> AgentView:
        """What the agent knows of the game."""
        return self._view

    @property
    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """The name, the seed and the parameters of this agent."""

    @abstractmethod
    def respond(self, block: Block) -> Responses:
        """Answer every round of the block."""

    def state(self) -> State:
        """Return all that the agent remembers."""
        return {"of": identity(self), "answers": generator_state(self._answers)}

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""
        require_state_of(self, state)
        self._answers = restored_generator(state["answers"])


class BestResponse(_Informed):
    """Best-responds to the strategy itself: the agent of the classical Stackelberg game.

    Parameters
    ----------
    view : AgentView
        The agent's view of the game.
    seed : int
        The seed of its draws.
    ties : {"lowest", "random"}
        Which of several best responses is played.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> BestResponse(game.agent_view).respond(sc.protocol.Block([0.4, 0.6], 3)).responses
    array([1, 1, 1])
    """

    def __init__(self, view: AgentView, *, seed: int = 0, ties: TieRule = "lowest") -> None:
        super().__init__(view, seed)
        self._ties = one_of("ties", ties, ("lowest", "random"))

    @property
    def settings(self) -> dict[str, Any]:
        """The name, the seed and the tie rule."""
        return {"name": type(self).__name__, "seed": self._seed, "ties": self._ties}

    def respond(self, block: Block) -> Responses:
        """Answer every round of the block with a best response to its strategy."""
        best = np.flatnonzero(self._view.best_responses(fitting(self._view, block.strategy)))
        if self._ties == "lowest":
            return Responses(np.full(block.rounds, best[0]))
        ranks = (self._answers.random(block.rounds) * len(best)).astype(np.int64)
        return Responses(best[ranks])


class QuantalResponse(_Informed):
    """Responds to the strategy with mistakes: y with probability ∝ exp(precision·U_A(h, y)).

    Parameters
    ----------
    view : AgentView
        The agent's view of the game.
    precision : float
        How much a difference of utilities counts, in 1/(units of the agent's payoffs): 0 is a
        uniform response, and the larger the closer to a best response.
    seed : int
        The seed of its draws.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> agent = QuantalResponse(game.agent_view, precision=5.0)
    >>> answers = agent.respond(sc.protocol.Block([0.4, 0.6], 10_000)).responses
    >>> round(float(answers.mean()), 1)  # e/(1 + e)
    0.7
    """

    def __init__(self, view: AgentView, *, precision: float = 10.0, seed: int = 0) -> None:
        super().__init__(view, seed)
        self._precision = real_number("precision", precision, at_least=0)

    @property
    def settings(self) -> dict[str, Any]:
        """The name, the seed and the precision."""
        return {"name": type(self).__name__, "seed": self._seed, "precision": self._precision}

    def respond(self, block: Block) -> Responses:
        """Draw an answer to every round of the block."""
        utilities = self._view.utilities(fitting(self._view, block.strategy))
        responses = np.empty(block.rounds, dtype=np.int64)
        _quantal(utilities, self._precision, self._answers.random(block.rounds), responses)
        return Responses(responses)


@entry
def _quantal(utilities: Any, precision: float, uniforms: Any, responses: Any) -> None:
    weights = np.empty(len(utilities))
    softmax(utilities, precision, weights)
    for t in range(len(responses)):
        responses[t] = pick(weights, uniforms[t])
