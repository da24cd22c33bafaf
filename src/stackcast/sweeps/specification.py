"""What a sweep plays: a file in TOML, checked entry by entry, and the plays that it stands for.

.. code-block:: toml

    rounds = [10_000, 100_000]
    seeds = 5                      # 0 to 4; or a list, or "10-19"

    [[games]]
    name = "inspection"            # of the catalogue

    [[games]]
    file = "mine.toml"             # beside this file

    [[games]]
    generator = "uniform"          # every combination of what follows
    m = [3, 5]
    k = 3
    seeds = "0-9"

    [[principals]]
    name = "CommitmentLearner"
    settings = { margin = 0.02 }

    [[principals]]
    name = "my_module:MyPrincipal" # a class of one's own, if --add says so too

    [[agents]]
    name = "Calibrated"
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import math
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from stackcast import agents, principals
from stackcast._files import from_toml, read_text
from stackcast._validation import InputError, inside, one_of, shown, table_of, text
from stackcast.games import GENERATORS, ContinuousGame, FiniteGame, SecurityGame, load_game
from stackcast.protocol import build, kind_of

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterator, Mapping

    from stackcast._validation import Table
    from stackcast.games import Game

#: What a row can hold besides V*, the regret and the range of the principal's payoffs, its scale.
#: All but the last take little time.
Metric = Literal[
    "average_utility",
    "best_response_share",
    "explored",
    "external_regret",
    "swap_regret",
    "certificates",
    "curve",
    "calibration",
]
METRICS: tuple[Metric, ...] = get_args(Metric)
#: The rooms whose code decides what a play is; a change in them makes rows of before obsolete.
_DECIDING = ("games", "solvers", "calibration", "protocol", "agents", "principals", "auditing")
_NUMBERS = 'a whole number, a list of them, or a range as "10-19"'
#: No list is longer, and no generated game larger: a typo must not take all memory.
_MOST, _LARGEST = 1_000_000, 3000
#: Levels of tables and lists in the settings of a player.
_LEVELS = 20


@dataclass(frozen=True)
class Player:
    """A player by the name that its registry knows, or by its class, with settings of its own."""

    role: Literal["agent", "principal"]
    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    made: type[Any] | None = None

    @property
    def label(self) -> str:
        """The name, with the settings that were given; of one's own class the class's name."""
        given = ", ".join(f"{key}={json.dumps(value)}" for key, value in self.settings.items())
        name = self.name.rpartition(":")[2]
        return f"{name}({given})" if given else name

    def plays(self, game: Game) -> bool:
        """Tell whether the player takes part in games of this kind."""
        rooms: Any = {"agent": agents, "principal": principals}
        return kind_of(game) in rooms[self.role].find(self.made or self.name).plays

    def build(self, game: Game, rounds: int, seed: int) -> Any:
        """Return the player of a game."""
        settings = self.settings
        made = self.made or self.name
        return build(self.role, made, game, horizon=rounds, seed=seed, settings=settings)


@dataclass(frozen=True)
class Play:
    """A game, two players, a length and a seed: everything that determines a row."""

    game: Game
    principal: Player
    agent: Player
    rounds: int
    seed: int
    metrics: tuple[str, ...]

    @functools.cached_property
    def key(self) -> str:
        """A hash of everything that determines the row, the version of the algorithms included."""
        sides = {"principal": self.principal, "agent": self.agent}
        decides = {
            "game": [self.game.name, self.game.fingerprint],
            **{role: [side.name, dict(side.settings)] for role, side in sides.items()},
            "rounds": self.rounds,
            "seed": self.seed,
            "metrics": sorted(self.metrics),
            "by": [
                principals.origin(self.principal.made or self.principal.name),
                agents.origin(self.agent.made or self.agent.name),
            ],
            "algorithms": algorithms(),
        }
        digest = hashlib.blake2b(json.dumps(decides, sort_keys=True).encode(), digest_size=16)
        return digest.hexdigest()


@functools.cache
def algorithms() -> str:
    """Return a hash of the code that decides what a play is: the version of the algorithms."""
    package = Path(__file__).parent.parent
    digest = hashlib.blake2b(digest_size=8)
    for room in _DECIDING:
        for file in sorted((package / room).glob("*.py")):
            digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


@dataclass(frozen=True)
class Specification:
    """Games, players, lengths and seeds; every combination is a play, if its players play the game.

    Read one with :func:`read_specification`, or build it from a table with :meth:`of`, in which
    games may be games and players classes.

    Examples
    --------
    >>> spec = Specification.of(
    ...     {
    ...         "rounds": 1000,
    ...         "seeds": 2,
    ...         "games": [{"name": "inspection"}, {"generator": "uniform", "m": [2, 3], "k": 2}],
    ...         "principals": [{"name": "UniformExplore"}],
    ...         "agents": [{"name": "Calibrated"}, {"name": "Hedge"}],
    ...     }
    ... )
    >>> len(spec)
    12
    """

    games: tuple[Game, ...]
    principals: tuple[Player, ...]
    agents: tuple[Player, ...]
    rounds: tuple[int, ...]
    seeds: tuple[int, ...]
    metrics: tuple[str, ...]

    @classmethod
    def of(cls, table: object, folder: Path = Path()) -> Specification:
        """Check a table that was read from a file in ``folder``."""
        needed = ("games", "principals", "agents", "rounds")
        given = table_of("", table, needed, ("seeds", "metrics"))
        metrics = given.get("metrics", ["average_utility", "explored", "curve"])
        spec = cls(
            tuple(
                game
                for place, entry in _entries(given, "games")
                for game in _games(place, entry, folder)
            ),
            _players(given, "principals", "principal"),
            _players(given, "agents", "agent"),
            _numbers("rounds", given["rounds"], at_least=1, count=False),
            _numbers("seeds", given.get("seeds", 1)),
            tuple(
                one_of(f"metrics, entry {i}", metric, METRICS)
                for i, metric in enumerate(_list("metrics", metrics), start=1)
            ),
        )
        spec._try_players()
        if len(spec) > 10 * _MOST:
            raise InputError("plays", f"at most {10 * _MOST:,}", f"{len(spec):,}")
        return spec

    def _try_players(self) -> None:
        """Build every player once, so that a wrong setting is found before anything is played."""
        for room in (self.principals, self.agents):
            for i, player in enumerate(room, start=1):
                try:
                    game = next(filter(player.plays, self.games), self.games[0])
                    player.build(game, min(self.rounds), self.seeds[0])
                except InputError as error:
                    raise error.inside(f"{player.role}s, entry {i}") from None

    def __len__(self) -> int:
        return len(self.rounds) * len(self.seeds) * sum(1 for _ in self.meetings())

    def meetings(self) -> Iterator[tuple[Game, Player, Player]]:
        """Yield who meets on which game: those who play games of its kind."""
        for game in self.games:
            principals, agents = (
                [player for player in room if player.plays(game)]
                for room in (self.principals, self.agents)
            )
            for principal, agent in product(principals, agents):
                yield game, principal, agent

    def plays(self) -> Iterator[Play]:
        """Yield every play, in the order of the file."""
        for game, principal, agent in self.meetings():
            for rounds, seed in product(self.rounds, self.seeds):
                yield Play(game, principal, agent, rounds, seed, self.metrics)


def read_specification(path: str | os.PathLike[str], add: Collection[str] = ()) -> Specification:
    """Read and check a specification; a mistake is named by its place in the file.

    A file names installed players. Classes in modules, ``my_module:Mine``, are code that would run:
    it names those alone that are in ``add`` too.
    """
    written = read_text(path, "a specification that can be read")
    try:
        table = from_toml(written)
    except InputError as error:
        raise error.inside(str(path)) from None
    for room in ("principals", "agents"):
        entries = table.get(room)
        for i, entry in enumerate(entries if isinstance(entries, list) else (), start=1):
            name = entry.get("name") if isinstance(entry, dict) else None
            if isinstance(name, str) and ":" in name and name not in add:
                expected = "an installed player (a class runs code: give its name by --add as well)"
                raise InputError(f"{path}: {room}, entry {i}, name", expected, shown(name))
    return Specification.of(table, Path(path).parent)


def _list(place: str, value: object) -> list[Any]:
    if not isinstance(value, list) or not 0 < len(value) <= _MOST:
        raise InputError(place, "a list of at least one entry", shown(value))
    return value


def _entries(table: Mapping[str, Any], room: str) -> Iterator[tuple[str, Any]]:
    for i, entry in enumerate(_list(room, table[room]), start=1):
        yield f"{room}, entry {i}", entry


def _players(
    table: Mapping[str, Any], room: str, role: Literal["agent", "principal"]
) -> tuple[Player, ...]:
    players: dict[str, Player] = {}
    for place, entry in _entries(table, room):
        given = {"name": entry} if isinstance(entry, type) else entry
        given = table_of(place, given, ["name"], ["settings"])
        made = given["name"] if isinstance(given["name"], type) else None
        named = given["name"] if made is None else f"{made.__module__}:{made.__qualname__}"
        name = text(f"{place}, name", named)
        settings = given.get("settings", {})
        _check_plain(f"{place}, settings", settings, 0)
        if not isinstance(settings, dict):
            raise InputError(f"{place}, settings", "a table", shown(settings))
        player = Player(role, name, settings, made)
        if player.label in players:
            raise InputError(place, "a player that is not listed before", shown(player.label))
        players[player.label] = player
    return tuple(players.values())


def _check_plain(place: str, value: object, level: int) -> None:
    """Refuse what JSON cannot hold (dates, NaN) and a bottomless nest."""
    if level > _LEVELS:
        raise InputError(place, f"at most {_LEVELS} levels of nesting", "more")
    if isinstance(value, dict):
        for key, entry in value.items():
            _check_plain(inside(place, key), entry, level + 1)
    elif isinstance(value, list):
        for entry in value:
            _check_plain(place, entry, level + 1)
    elif not isinstance(value, str | bool | int | float) or (
        isinstance(value, float) and not math.isfinite(value)
    ):
        raise InputError(place, "numbers, texts, truth values, lists and tables", shown(value))


def _games(place: str, entry: object, folder: Path) -> Iterator[Game]:
    if isinstance(entry, FiniteGame | SecurityGame):
        yield entry
        return
    if not isinstance(entry, dict):
        raise InputError(place, "a table with name, file or generator, as [[games]]", shown(entry))
    kinds = [kind for kind in ("name", "file", "generator") if kind in entry]
    if len(kinds) != 1:
        found = " and ".join(kinds) or "none of them"
        raise InputError(place, "one of name, file and generator", found)
    kind = kinds[0]
    chosen = text(f"{place}, {kind}", entry[kind])
    if kind == "generator":
        rest = {key: value for key, value in entry.items() if key != kind}
        yield from _generated(place, chosen, rest)
        return
    table_of(place, entry, kinds)
    game: Any = load_game(chosen if kind == "name" else folder / chosen)
    if isinstance(game, ContinuousGame):
        raise InputError(place, "a game with a list of responses", "a continuous game")
    yield game


def _generated(place: str, chosen: str, entry: Table) -> Iterator[Game]:
    if chosen not in GENERATORS:
        raise InputError(f"{place}, generator", "one of " + ", ".join(GENERATORS), shown(chosen))
    family = GENERATORS[chosen]
    takes = [name for name in inspect.signature(family).parameters if name != "seed"]
    entry = table_of(place, entry, takes, ["seeds"])
    seeds = _numbers(f"{place}, seeds", entry.pop("seeds", 1))
    choices = []
    for name, value in ((name, entry[name]) for name in takes):
        where = f"{place}, {name}"
        values = _numbers(where, value, count=False) if isinstance(value, str) else value
        choices.append(list(values) if isinstance(values, list | tuple) else [values])
        if any(isinstance(size, int) and size > _LARGEST for size in choices[-1]):
            raise InputError(where, f"numbers of at most {_LARGEST:,}", shown(value))
    count = math.prod(map(len, choices)) * len(seeds)
    if not 0 < count <= _MOST:
        raise InputError(place, f"1 to {_MOST:,} games", f"{count:,}")
    for values in product(*choices):
        for seed in seeds:
            try:
                yield family(**dict(zip(takes, values, strict=True)), seed=seed)
            except InputError as error:
                raise error.inside(place) from None
            except (TypeError, ValueError, OverflowError, MemoryError):
                given = ", ".join(map(shown, values))
                raise InputError(place, "numbers that the generator takes", given) from None


def _numbers(place: str, value: object, *, at_least: int = 0, count: bool = True) -> Any:
    """Return the whole numbers that a count, a list or a range as "10-19" stands for."""
    numbers: Any = ()
    if isinstance(value, str):
        ends = [end.strip() for end in value.split("-")]
        if len(ends) == 2 and all(e.isascii() and e.isdecimal() and len(e) < 19 for e in ends):
            numbers = range(int(ends[0]), int(ends[1]) + 1)
    elif isinstance(value, list):
        numbers = value
    elif isinstance(value, int) and not isinstance(value, bool):
        numbers = range(min(value, _MOST + 1)) if count else [value]
    if len(numbers) > _MOST:
        raise InputError(place, f"at most {_MOST:,} numbers", shown(value))
    expected = f"{_NUMBERS}, each from {at_least} to 10¹⁸"
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int):
            raise InputError(place, expected, shown(value))
    if not numbers or min(numbers) < at_least or max(numbers) > 10**18:
        raise InputError(place, expected, shown(value))
    return tuple(dict.fromkeys(numbers))
