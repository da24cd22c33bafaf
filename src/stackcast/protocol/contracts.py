"""The protocol of the players (Algorithm 1 of the paper), in blocks of rounds.

A principal commits to a strategy for some rounds; the agent answers every one of them; the
principal sees the answers:

1. ``block = principal.commit()``: one strategy h for ``block.rounds`` rounds;
2. ``answers = agent.respond(block)``: in each round the agent first forms its forecast p_t and its
   response y_t from what it saw in earlier rounds, and only then reads the strategy of this round
   (or an action drawn from it);
3. ``principal.observe(answers.responses)``: the principal sees the responses, never the forecasts.

A block of one round is the paper's protocol. Blocks never change what is played: an agent that
is given n rounds in one block must answer, bit for bit, as if it were given n blocks of one round.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, Field, dataclass, fields, is_dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

import numpy as np

from stackcast._notebook import InNotebook
from stackcast._plain import plain
from stackcast._state import generator_state, restored_generator
from stackcast._validation import InputError, real_vector, shown, text, whole_number
from stackcast.games import AgentView, ContinuousGame, PrincipalView, SecurityGame

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy.typing as npt

    from stackcast._state import State
    from stackcast._validation import AnyArray, FloatArray, Table
    from stackcast.games import Ball, Game, StrategySpace

#: The length of a block that a principal means to hold for as long as it is asked.
UNTIL_THE_END = 2**62
_SCALARS = (bool, int, float, str, type(None))


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

    responses: AnyArray
    forecast_ids: AnyArray | None = None
    new_forecasts: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Recommendation:
    """What a principal would commit to now, with its value and margin.

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
    potential : float
        An estimate of what the best commitment earns; not a bound.
    """

    strategy: FloatArray
    response: Any
    value: float
    margin: float = float("nan")
    potential: float = float("nan")


@dataclass(eq=False, repr=False)
class Player(InNotebook, ABC, Generic[V]):
    """A player, built only from one side's view of a game.

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

    #: Which kinds of games it plays, of "finite", "security" and "continuous".
    plays: ClassVar[tuple[str, ...]] = ("finite", "security")

    view: V
    _: KW_ONLY
    seed: int = 0

    @classmethod
    def suited(cls, view: Any, horizon: int) -> Table:  # noqa: ARG003
        """Return what its constructor should be given for so many rounds, if nobody says more."""
        return {}

    def __post_init__(self) -> None:
        whole_number("seed", self.seed)

    @property
    def settings(self) -> Table:
        """Everything that determines its behaviour: name, seed, parameters, as JSON holds them."""
        given = [f.name for f in fields(self) if f.init and f.name != "view"]
        values = {n: getattr(self, n) for n in given}
        return {"name": type(self).__name__, **plain(values)}

    def state(self) -> State:
        """Return all that it remembers, as arrays and numbers that later play does not change."""
        now = {f.name.lstrip("_"): getattr(self, f.name) for f in self._remembered()}
        return {"of": self._identity(), **_taken(now)}

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
            now, saved = getattr(self, f.name), state[name]
            if type(now) is type(saved) in _SCALARS:
                given[f.name] = saved
            elif type(now) is type(saved) is np.ndarray and (now.dtype, now.shape) == (
                saved.dtype,
                saved.shape,
            ):
                given[f.name] = saved.copy()
            else:
                grows = bool(f.metadata.get("grows"))
                given[f.name] = _given(name, now, saved, grows)
        self.__dict__.update(given)

    def _remembered(self) -> list[Field[object]]:
        return [f for f in fields(self) if not f.init]

    def _identity(self) -> Table:
        """Return what a player must share with another one to take over its state."""
        return {**self.settings, "game": self.view.fingerprint}

    def __repr__(self) -> str:
        usual = inspect.signature(type(self)).parameters
        words = [
            f"{name}={shown(value)}"
            for name, value in self.settings.items()
            if name != "name" and (name not in usual or value != plain(usual[name].default))
        ]
        return f"{type(self).__name__}({', '.join(words)})"


def _taken(value: Any) -> Any:
    """Return a value of state as a state file holds it, apart from what later play changes."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, np.random.Generator):
        return generator_state(value)
    if isinstance(value, list | tuple):
        return [v if type(v) in _SCALARS else _taken(v) for v in value]
    if isinstance(value, dict):
        return {
            key: v if type(v) in _SCALARS else v.copy() if type(v) is np.ndarray else _taken(v)
            for key, v in value.items()
        }
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
    """An agent; ``stackcast.checks.check_agent`` checks that a class keeps the contract.

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
    >>> agent = InTurn(game.agent_view, step=2)
    >>> agent
    InTurn(step=2)
    >>> agent.respond(sc.protocol.Block([0.5, 0.3, 0.2], 4)).responses
    array([0, 2, 1, 0])
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
    """A principal; ``stackcast.checks.check_principal`` checks that a class keeps the contract."""

    @property
    @abstractmethod
    def result(self) -> Recommendation:
        """What it would commit to now."""

    @abstractmethod
    def commit(self) -> Block:
        """Return the next block. Commitments and observations alternate."""

    @abstractmethod
    def observe(self, responses: AnyArray) -> None:
        """See the responses to the block: fewer than it has rounds if play was cut."""


def small_responses(where: str, responses: AnyArray, rounds: int, actions: int | None) -> AnyArray:
    """Return responses in the smallest type that holds them, or say what is wrong with them."""
    if responses.dtype.kind == "f" and responses.ndim == 2 and len(responses) == rounds:
        if not np.isfinite(responses).all():
            raise InputError(where, "finite numbers", "others")
        return responses.astype(np.float64)
    if actions == 0:  # a continuous game has no list of them
        found = f"{responses.dtype} numbers of shape {responses.shape}"
        raise InputError(where, f"points, {rounds} rows of numbers", found)
    if responses.dtype.kind not in "iu" or responses.shape != (rounds,):
        found = f"{responses.dtype} numbers of shape {responses.shape}"
        raise InputError(where, f"{rounds} whole numbers, one a round", found)
    lowest, highest = int(responses.min()), int(responses.max())
    if lowest < 0 or (actions is not None and highest >= actions):
        worst = lowest if lowest < 0 else highest
        limit = "at least 0" if actions is None else f"from 0 to {actions - 1}"
        raise InputError(where, f"responses {limit}", shown(worst))
    return responses.astype(np.min_scalar_type(highest if actions is None else actions - 1))


def response_type(actions: int) -> npt.DTypeLike:
    """Return the smallest type of whole numbers that tells this many actions apart."""
    return np.min_scalar_type(max(actions - 1, 0))


def fits(space: StrategySpace | Ball, strategy: FloatArray) -> bool:
    """Tell quickly whether a strategy lies in a simplex up to rounding; others must be checked."""
    return bool(
        space.kind == "simplex"
        and strategy.shape == (space.dimension,)
        and strategy.min() >= 0.0
        and abs(strategy.sum() - 1.0) < 1e-12
    )


class Registry:
    """The players of one role by name; the package's own names cannot be taken by others.

    Another distribution adds a player by an entry point, in the group ``stackcast.agents`` or
    ``stackcast.principals``:

    .. code-block:: toml

        [project.entry-points."stackcast.agents"]
        Stubborn = "my_package:Stubborn"

    ``"my_module:Stubborn"`` names a class in a module that Python finds, ``"my.py:Stubborn"`` one
    in a file, which is run; a class itself is taken too.
    """

    def __init__(
        self,
        role: str,
        own: Iterable[type[Player[Any]]],
        earlier: Mapping[str, type[Player[Any]]] | None = None,
    ) -> None:
        self._role, self._group = role, f"stackcast.{role}s"
        self._own = {made.__name__: made for made in own}
        self._earlier = dict(earlier or {})  # names that are found and no longer listed

    def names(self, kind: str | None = None) -> list[str]:
        """Return all names, or of our own those that play games of a kind, sorted."""
        others = {entry.name for entry in entry_points(group=self._group)} - {*self._own}
        own = {name for name, made in self._own.items() if kind is None or kind in made.plays}
        return sorted(own | others)

    def find(self, name: str | type[Any]) -> type[Any]:
        """Return the class of that name, or the class itself."""
        if isinstance(name, type):
            return self._fitting(f"{name.__module__}:{name.__qualname__}", name)
        if name in self._own or name in self._earlier:
            return (self._own | self._earlier)[name]
        if ":" in name:
            return self._fitting(name, getattr(_module_of(name), name.rpartition(":")[2], None))
        for entry in entry_points(group=self._group):
            if entry.name == name:
                found = entry.load()
                if not (isinstance(found, type) and issubclass(found, Player)):
                    raise InputError(f"entry point {name}", "a class of players", shown(found))
                return found
        raise InputError(self._role, "one of " + ", ".join(self.names()), shown(name))

    def _fitting(self, name: str, made: Any) -> type[Any]:
        base = Principal if self._role == "principal" else Agent
        if not (isinstance(made, type) and issubclass(made, base)):
            where = "file" if ".py:" in name else "module"
            raise InputError(name, f"a class of {self._role}s in the {where}", shown(made))
        return made

    def origin(self, name: str | type[Any]) -> str:
        """Return who made the player: nothing for our own, a distribution and its version else.

        A class of a file or a module is told by the hash of the file; one that was typed in, by
        that of its compiled functions.
        """
        if isinstance(name, type) or ":" in name:
            if isinstance(name, str) and ".py:" in name:
                return _hash_of_file(name.rpartition(":")[0])
            made = self.find(name)
            file = getattr(sys.modules.get(made.__module__), "__file__", None)
            return _hash_of_file(file) if file else _hash_of_code(made)
        if name not in self._own:
            for entry in entry_points(group=self._group):
                if entry.name == name and entry.dist is not None:
                    return f"{entry.dist.name} {entry.dist.version}"
        return ""


def _hash_of_file(path: str) -> str:
    try:
        return hashlib.blake2b(Path(path).read_bytes(), digest_size=8).hexdigest()
    except OSError as error:
        raise InputError(path, "a file that can be read", str(error.strerror)) from None


def _hash_of_code(made: type[Any]) -> str:
    """Return a hash of a class by what its functions do, wherever it was typed in."""

    def told(code: CodeType) -> tuple[Any, ...]:
        inner = [told(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
        return code.co_code, code.co_names, code.co_varnames, inner

    said = []
    for name, value in sorted(vars(made).items()):
        function = getattr(value, "fget", getattr(value, "__func__", value))
        if isinstance(function, FunctionType):
            usual = function.__defaults__, function.__kwdefaults__
            said.append((name, told(function.__code__), repr(usual)))
    return hashlib.blake2b(repr(said).encode(), digest_size=8).hexdigest()


def _module_of(name: str) -> Any:
    """Return the module of ``module:Class``, or of ``file.py:Class``.

    A file runs once, and again once changed.
    """
    path = name.rpartition(":")[0]
    try:
        if ".py:" not in name:
            return importlib.import_module(path)
        called = f"stackcast_file_{_hash_of_file(path)}"
        if called in sys.modules:
            return sys.modules[called]
        spec = importlib.util.spec_from_file_location(called, path)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[called] = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except Exception:
            del sys.modules[called]
            raise
    except InputError:
        raise
    except Exception as error:
        expected = "a file that runs" if ".py:" in name else "a module that can be imported"
        raise InputError(path, expected, f"{type(error).__name__}: {error}") from error
    return module


def build(
    role: Literal["agent", "principal"],
    name: str | type[Any],
    game: Game | ContinuousGame,
    *,
    horizon: int | None = None,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
) -> Any:
    """Return a player of a game by its name: the only way from a name to a player.

    Parameters
    ----------
    role : {"agent", "principal"}
        On which side it plays.
    name : str or class
        Its name; ``stackcast.agents.names()`` and ``stackcast.principals.names()`` list them. One's
        own is named ``"module:Class"`` or ``"file.py:Class"``, or given as the class.
        In a continuous game "Calibrated" is "ContinuousCalibrated", and so on.
    game : game
        The whole game. The player gets its side's view of it (`Oracle`, which is told, the game).
    horizon : int, optional
        How many rounds will be played, for a player that wants to know.
    seed : int
        The seed of its draws.
    settings : table, optional
        The parameters of its class, as a file can hold them. Of an object, such as the theory of
        ``ExploreThenCommit``, a table overrides entries of the one that suits the horizon.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.load_game("inspection")
    >>> build("agent", "QuantalResponse", game, seed=1, settings={"precision": 5.0})
    QuantalResponse(seed=1, precision=5.0)
    """
    rooms: Any = importlib.import_module(f"stackcast.{role}s")
    made, kind = rooms.find(name), kind_of(game)
    name = name if isinstance(name, str) else name.__name__
    twin = f"Continuous{name}"
    if kind == "continuous" and kind not in made.plays and twin in rooms.names(kind):
        made = rooms.find(twin)
    chosen = dict(settings or {})
    takes = inspect.signature(made).parameters
    told = ("view", "game")
    free = [parameter for parameter in takes if parameter not in told]
    for setting in chosen:
        if setting not in free:
            where = f"settings of {name}, {setting}"
            raise InputError(where, "one of " + ", ".join(free), "a setting of that name")
    if kind not in made.plays:
        fitting = ", ".join(rooms.names(kind))
        raise InputError(role, f"one of {fitting} for {_KINDS[kind]}", name)
    view = game.principal_view if role == "principal" else game.agent_view
    offered = {"view": view, "game": game, "horizon": horizon, "seed": seed}
    if horizon is not None:
        offered |= made.suited(view, whole_number("horizon", horizon, at_least=1))
    for setting, value in chosen.items():
        usual = offered.get(setting)
        if isinstance(value, dict) and is_dataclass(usual):
            chosen[setting] = _overridden(f"settings of {name}, {setting}", usual, value)
    given = {key: value for key, value in offered.items() if key in takes} | chosen
    for parameter in takes.values():
        missing = parameter.name not in given or given[parameter.name] is None
        if parameter.default is parameter.empty and missing:
            raise InputError(f"settings of {name}, {parameter.name}", "an entry", "none")
    try:
        return made(**given)
    except TypeError as error:
        raise InputError(f"settings of {name}", "values of their types", str(error)) from None


def _overridden(where: str, usual: Any, table: Mapping[str, Any]) -> Any:
    """Return a dataclass with the entries of a table in place of its own."""
    known = [f.name for f in fields(usual)]
    changed = {}
    for name, value in table.items():
        if name not in known:
            raise InputError(
                f"{where}, {name}", "one of " + ", ".join(known), "a name of that kind"
            )
        own = getattr(usual, name)
        nested = isinstance(value, dict) and is_dataclass(own)
        changed[name] = _overridden(f"{where}, {name}", own, value) if nested else value
    return replace(usual, **changed)


_KINDS = {
    "finite": "games of mixed strategies",
    "security": "security games",
    "continuous": "continuous games",
}


def kind_of(game: Game | ContinuousGame) -> str:
    """Return which kind a game is of: finite, security or continuous."""
    if isinstance(game, ContinuousGame):
        return "continuous"
    return "security" if isinstance(game, SecurityGame) else "finite"
