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

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, Field, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from stackcast._plain import plain
from stackcast._state import generator_state, restored_generator
from stackcast._validation import InputError, real_vector, shown, text, whole_number
from stackcast.games import AgentView, PrincipalView

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._state import State
    from stackcast._validation import FloatArray
    from stackcast.games import StrategySpace

    IntArray = npt.NDArray[np.integer[Any]]

#: The length of a block that a principal means to hold for as long as it is asked.
UNTIL_THE_END = 2**62


V = TypeVar("V", bound=Any)


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


@dataclass(eq=False, repr=False)
class Player(ABC, Generic[V]):
    """Who plays: built from one side's view of a game, and from nothing else.

    A player is a dataclass, ``@dataclass(eq=False, repr=False)``. The fields of its constructor are
    its *settings*; its fields with ``init=False`` are its *state*: arrays, numbers, texts, lists
    and dictionaries of these, random streams, and objects that have ``state()`` and ``restore()``.
    ``__post_init__`` checks the settings and sets the state. What is derived from the settings and
    never changes is no field. A field of state whose number of rows grows says so:
    ``field(init=False, metadata={"grows": True})``.

    Parameters
    ----------
    view : view of a game
        What the player knows of the game.
    seed : int
        The seed of its draws.
    """

    view: V
    _: KW_ONLY
    seed: int = 0

    def __post_init__(self) -> None:
        whole_number("seed", self.seed)

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that determines its behaviour: name, seed, parameters, as JSON holds them."""
        given = [f.name for f in fields(self) if f.init and f.name != "view"]
        return {"name": type(self).__name__, **{n: plain(getattr(self, n)) for n in given}}

    def state(self) -> State:
        """Return all that it remembers, as arrays and numbers that later play does not change."""
        kept = {f.name.lstrip("_"): _taken(getattr(self, f.name)) for f in self._remembered()}
        return {"of": self._identity(), **kept}

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""
        of = state.get("of")
        for name, ours in self._identity().items():
            theirs = of.get(name) if isinstance(of, dict) else None
            if theirs != ours:
                raise InputError("state", f"one with {name} {shown(ours)}", shown(theirs))
        given = {}
        for f in self._remembered():
            name = f.name.lstrip("_")
            if name not in state:
                raise InputError("state", f"one with {name}", "none")
            grows = bool(f.metadata.get("grows"))
            given[f.name] = _given(name, getattr(self, f.name), state[name], grows)
        self.__dict__.update(given)

    def _remembered(self) -> list[Field[Any]]:
        return [f for f in fields(self) if not f.init]

    def _identity(self) -> dict[str, Any]:
        """Return what a player must share with another one to take over its state."""
        return {**self.settings, "game": self.view.fingerprint}

    def __repr__(self) -> str:
        words = [f"{name}={shown(value)}" for name, value in self.settings.items()]
        return f"{type(self).__name__}({', '.join(words[1:])})"


def _taken(value: Any) -> Any:
    """Return a value of state as a state file holds it, apart from what later play changes."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, np.random.Generator):
        return generator_state(value)
    if isinstance(value, list | tuple):
        return [_taken(entry) for entry in value]
    if isinstance(value, dict):
        return {key: _taken(entry) for key, entry in value.items()}
    return value.state() if hasattr(value, "restore") else value


def _given(name: str, now: Any, saved: Any, grows: bool) -> Any:
    """Return the value that takes the place of ``now``: compiled loops trust the sizes."""
    if isinstance(now, np.random.Generator):
        return restored_generator(saved)
    if hasattr(now, "restore"):
        now.restore(saved)
        return now
    if isinstance(now, np.ndarray) and saved is not None:
        skip = 1 if grows else 0
        if (
            not isinstance(saved, np.ndarray)
            or saved.dtype != now.dtype
            or saved.ndim != now.ndim
            or saved.shape[skip:] != now.shape[skip:]
        ):
            expected = f"{now.dtype} numbers of shape {now.shape}"
            raise InputError(f"state, {name}", expected, shown(saved))
    return tuple(_taken(saved)) if isinstance(now, tuple) else _taken(saved)


@dataclass(eq=False, repr=False)
class Agent(Player[AgentView]):
    """Who responds. ``stackcast.checks.check_agent`` tells whether a class keeps the contract.

    Examples
    --------
    An agent that plays its responses in turn:

    >>> from dataclasses import dataclass, field
    >>> import numpy as np
    >>> import stackcast as sc
    >>> @dataclass(eq=False, repr=False)
    ... class InTurn(sc.protocol.Agent):
    ...     step: int = 1
    ...     _next: int = field(default=0, init=False)
    ...
    ...     def respond(self, block):
    ...         turns = self._next + self.step * np.arange(block.rounds)
    ...         self._next += self.step * block.rounds
    ...         return sc.protocol.Responses(turns % len(self.view.agent_actions))
    >>> game = sc.load_game("inspection")
    >>> agent = InTurn(game.agent_view)
    >>> agent
    InTurn(seed=0, step=1)
    >>> agent.respond(sc.protocol.Block([0.5, 0.3, 0.2], 4)).responses
    array([0, 1, 2, 0])
    >>> sc.checks.check_agent(lambda: InTurn(game.agent_view))
    """

    #: Whether it is told the strategy of a round before it answers (the one-shot game's agent). All
    #: others answer first: what they say in round t does not depend on the strategy of t.
    informed: ClassVar[bool] = False

    @abstractmethod
    def respond(self, block: Block) -> Responses:
        """Answer every round of the block, and learn from it."""


@dataclass(eq=False, repr=False)
class Principal(Player[PrincipalView]):
    """Who commits. ``stackcast.checks.check_principal`` tells whether it keeps the contract."""

    @property
    @abstractmethod
    def result(self) -> Recommendation:
        """What it would commit to now."""

    @abstractmethod
    def commit(self) -> Block:
        """Return the next block. Commitments and observations alternate."""

    @abstractmethod
    def observe(self, responses: npt.NDArray[Any]) -> None:
        """See the responses to the block: fewer than it has rounds if play was cut."""


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
