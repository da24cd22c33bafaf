"""What passes between the players (Algorithm 1 of the paper), in blocks of rounds.

A principal commits to a strategy for some rounds; the agent answers every one of them; the
principal sees the answers:

1. ``block = principal.commit()``: one strategy h for ``block.rounds`` rounds;
2. ``answers = agent.respond(block)``: in each round the agent first forms its forecast p_t and its
   response y_t from what it saw in earlier rounds, and only then reads the strategy of this round
   (or an action drawn from it);
3. ``principal.observe(answers.responses)``: the principal sees the responses, never the forecasts.

A block of one round is the paper's protocol. Blocks are bookkeeping, never meaning: an agent that
is given n rounds in one block must answer, bit for bit, as if it were given n blocks of one round.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from stackcast._validation import InputError, real_vector, text, whole_number

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._state import State
    from stackcast._validation import FloatArray
    from stackcast.games import AgentView, PrincipalView, StrategySpace

    IntArray = npt.NDArray[np.integer[Any]]

#: The length of a block that a principal means to hold for as long as it is asked.
UNTIL_THE_END = 2**62


@dataclass(frozen=True, eq=False, init=False, slots=True)
class Block:
    """One strategy, held for a number of rounds.

    Parameters
    ----------
    strategy : array-like of numbers
        The strategy h, a point of the principal's strategy space.
    rounds : int
        For how many rounds it is held. Play cuts a block that is longer than the rounds left.
    phase : str
        What the principal is doing, for the reader of a transcript: ``"explore"``, ``"commit"`` …

    Examples
    --------
    >>> Block([0.25, 0.75], 100, "explore")
    Block([0.25, 0.75] for 100 rounds, 'explore')
    """

    strategy: FloatArray
    rounds: int
    phase: str

    def __init__(self, strategy: npt.ArrayLike, rounds: int = 1, phase: str = "") -> None:
        if not (
            isinstance(strategy, np.ndarray)
            and strategy.dtype == np.float64
            and strategy.ndim == 1
            and not strategy.flags.writeable
        ):
            strategy = real_vector("strategy", strategy)
        object.__setattr__(self, "strategy", strategy)
        object.__setattr__(self, "rounds", whole_number("rounds", rounds, at_least=1))
        object.__setattr__(self, "phase", text("phase", phase))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Block):
            return NotImplemented
        return (
            self.rounds == other.rounds
            and self.phase == other.phase
            and np.array_equal(self.strategy, other.strategy)
        )

    def __hash__(self) -> int:
        return hash((self.strategy.tobytes(), self.rounds, self.phase))

    def __repr__(self) -> str:
        label = f", {self.phase!r}" if self.phase else ""
        return f"Block({self.strategy.tolist()} for {self.rounds} rounds{label})"


@dataclass(frozen=True, eq=False, slots=True)
class Responses:
    """An agent's answers to one block.

    Parameters
    ----------
    responses : array of whole numbers, shape (rounds,)
        The column that was played in every round. An agent of a continuous game gives points
        instead, an array of numbers of shape (rounds, dimension).
    forecast_ids : array of whole numbers, shape (rounds,), optional
        Which forecast was held in every round: its number in the list of all forecasts that this
        agent ever made, counted from 0. Agents without forecasts leave it out.
    new_forecasts : array of numbers, shape (any, m), optional
        The forecasts that were made in this block: they continue the list.
    """

    responses: npt.NDArray[Any]
    forecast_ids: IntArray | None = None
    new_forecasts: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Recommendation:
    """What a principal would commit to now, and what it can say for it.

    A number that the principal cannot give is NaN, and ``response`` is ``None`` before the first
    answer.

    Parameters
    ----------
    strategy : array of numbers
        The commitment.
    response : int, array or None
        The response that it expects; a point in a continuous game.
    value : float
        The principal's utility of the two.
    margin : float
        How far, at least, the strategy lies inside the region of the response.
    upper_bound : float
        What no commitment can exceed, as far as the answers prove it.
    """

    strategy: FloatArray
    response: Any
    value: float
    margin: float = float("nan")
    upper_bound: float = float("nan")


@runtime_checkable
class Agent(Protocol):
    """Who responds. Built from the agent's view of a game, and from nothing else.

    ``stackcast.checks.check_agent`` tells whether a class keeps this contract.
    """

    @property
    def view(self) -> AgentView:
        """What the agent knows of the game."""

    @property
    def settings(self) -> dict[str, Any]:
        """All that makes this agent another one (name, seed, parameters), as JSON can hold it."""

    @property
    def informed(self) -> bool:
        """Whether it is told the strategy of a round before it answers (the one-shot game's agent).

        All others answer first: what they say in round t does not depend on the strategy of t.
        """

    def respond(self, block: Block) -> Responses:
        """Answer every round of the block, and learn from it."""

    def state(self) -> State:
        """Return all that it remembers, as arrays and numbers that later play does not change."""

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""


@runtime_checkable
class Principal(Protocol):
    """Who commits. Built from the principal's view of a game, and from nothing else.

    ``stackcast.checks.check_principal`` tells whether a class keeps this contract.
    """

    @property
    def view(self) -> PrincipalView:
        """What the principal knows of the game."""

    @property
    def settings(self) -> dict[str, Any]:
        """All that makes this principal another one, as JSON can hold it."""

    @property
    def result(self) -> Recommendation:
        """What it would commit to now."""

    def commit(self) -> Block:
        """Return the next block. Commitments and observations alternate."""

    def observe(self, responses: npt.NDArray[Any]) -> None:
        """See the responses to the block: fewer than it has rounds if play was cut."""

    def state(self) -> State:
        """Return all that it remembers between an observation and the next commitment."""

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""


def fits(space: StrategySpace, strategy: FloatArray) -> bool:
    """Tell quickly whether a strategy lies in a simplex up to rounding; others must be checked."""
    return bool(
        space.kind == "simplex"
        and strategy.shape == (space.dimension,)
        and strategy.min() >= 0.0
        and abs(strategy.sum() - 1.0) < 1e-12
    )


def same_game(principal: Principal, agent: Agent, fingerprint: str | None = None) -> str:
    """Return the fingerprint of the one game that all parties speak of, or refuse."""
    ours = principal.view.fingerprint if fingerprint is None else fingerprint
    whose = "the principal's game" if fingerprint is None else "the game given"
    for who, found in (
        ("principal", principal.view.fingerprint),
        ("agent", agent.view.fingerprint),
    ):
        if found != ours:
            raise InputError(who, f"a player of {whose} ({ours[:8]}…)", f"one of {found[:8]}…")
    return ours
