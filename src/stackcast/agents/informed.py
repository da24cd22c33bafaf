"""The agents of the one-shot game: told the strategy, they respond to it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from stackcast._compiling import entry
from stackcast._random import stream
from stackcast._validation import one_of, real_number
from stackcast.agents.base import fitting, pick, softmax
from stackcast.protocol import Agent, Responses

if TYPE_CHECKING:
    from stackcast._validation import FloatArray, IntArray
    from stackcast.games import TieRule
    from stackcast.protocol import Block


@dataclass(eq=False, repr=False)
class _Informed(Agent):
    """Sees the strategy of a round before it answers; remembers nothing but its random stream."""

    informed = True
    _answers: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._answers = stream(self.seed, "agent", "responses")


@dataclass(eq=False, repr=False)
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

    _: KW_ONLY
    ties: TieRule = "lowest"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("ties", self.ties, ("lowest", "random"))

    def respond(self, block: Block) -> Responses:
        """Answer every round of the block with a best response to its strategy."""
        best = np.flatnonzero(self.view.best_responses(fitting(self.view, block.strategy)))
        if self.ties == "lowest":
            return Responses(np.full(block.rounds, best[0]))
        ranks = (self._answers.random(block.rounds) * len(best)).astype(np.int64)
        return Responses(best[ranks])


@dataclass(eq=False, repr=False)
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

    _: KW_ONLY
    precision: float = 10.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.precision = real_number("precision", self.precision, at_least=0)

    def respond(self, block: Block) -> Responses:
        """Draw an answer to every round of the block."""
        utilities = self.view.utilities(fitting(self.view, block.strategy))
        responses = np.empty(block.rounds, dtype=np.int64)
        _quantal(utilities, self.precision, self._answers.random(block.rounds), responses)
        return Responses(responses)


@entry
def _quantal(
    utilities: FloatArray, precision: float, uniforms: FloatArray, responses: IntArray
) -> None:
    weights = np.empty(len(utilities))
    softmax(utilities, precision, weights)
    for t in range(len(responses)):
        responses[t] = pick(weights, uniforms[t])
