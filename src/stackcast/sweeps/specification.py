"""What a sweep plays: a file in TOML, checked entry by entry.

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

    [[agents]]
    name = "Calibrated"
"""

from __future__ import annotations

import inspect
import tomllib
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from stackcast._validation import InputError, shown
from stackcast.games import GENERATORS, load_game
from stackcast.sweeps.plays import Metric, Play, Player, made_players

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from stackcast.games import Game


#: A count, a list, or a range.
Numbers = int | str | list[int]
_NUMBERS = 'a whole number, a list of them, or a range as "10-19"'


class _GameEntry(BaseModel):
    """One of three kinds; what else a generator takes is checked against it."""

    model_config = ConfigDict(extra="allow", strict=True)
    name: str | None = None
    file: str | None = None
    generator: str | None = None


class _PlayerEntry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    name: str
    settings: dict[str, Any] = Field(default_factory=dict)


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    games: list[_GameEntry] = Field(min_length=1)
    principals: list[_PlayerEntry] = Field(min_length=1)
    agents: list[_PlayerEntry] = Field(min_length=1)
    rounds: Numbers
    seeds: Numbers = 1
    metrics: list[Metric] = Field(default=["average_utility", "explored", "curve"])


@dataclass(frozen=True)
class Specification:
    """Games, players, lengths and seeds; every combination is a play.

    Read one with :func:`read_specification`, or build it from a table with :meth:`of`.

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
    def of(cls, table: Mapping[str, Any], folder: Path = Path()) -> Specification:
        """Check a table that was read from a file in ``folder``."""
        checked = _validated(table)
        games = tuple(
            game
            for i, entry in enumerate(checked.games, start=1)
            for game in _games(f"games, entry {i}", entry.model_dump(exclude_none=True), folder)
        )
        spec = cls(
            games,
            _players("principals", checked.principals),
            _players("agents", checked.agents),
            _numbers("rounds", checked.rounds, at_least=1, count=False),
            _numbers("seeds", checked.seeds),
            tuple(checked.metrics),
        )
        spec._try_players()
        return spec

    def _try_players(self) -> None:
        """Build every player once, so that a wrong setting is found before anything is played."""
        game = self.games[0]
        for room in ("principals", "agents"):
            for i, player in enumerate(getattr(self, room), start=1):
                try:
                    made_players(game, {room: player}, self.rounds[0], self.seeds[0])
                except InputError as error:
                    raise error.inside(f"{room}, entry {i}") from None

    def __len__(self) -> int:
        parts = (self.games, self.principals, self.agents, self.rounds, self.seeds)
        size = 1
        for part in parts:
            size *= len(part)
        return size

    def plays(self) -> Iterator[Play]:
        """Yield every play, in the order of the file."""
        for game, principal, agent, rounds, seed in product(
            self.games, self.principals, self.agents, self.rounds, self.seeds
        ):
            yield Play(game, principal, agent, rounds, seed, self.metrics)


def read_specification(path: str | os.PathLike[str]) -> Specification:
    """Read and check a specification; a mistake is named by its place in the file."""
    file = Path(path)
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        expected = "a specification that can be read"
        raise InputError(str(path), expected, str(error.strerror)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(str(path), "TOML", str(error)) from None
    return Specification.of(table, file.parent)


def _validated(table: Mapping[str, Any]) -> _Table:
    try:
        return _Table.model_validate(table)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        numbers = {"int", "str", "list[int]"} & set(map(str, first["loc"]))
        place = ", ".join(
            f"entry {part + 1}" if isinstance(part, int) else part
            for part in first["loc"]
            if part not in numbers
        )
        if first["type"] == "missing":
            raise InputError(place, "an entry", "none") from None
        if first["type"] == "extra_forbidden":
            raise InputError(place, "no entry of that name", shown(first["input"])) from None
        wanted = first["msg"].removeprefix("Input should be ")
        wanted = _NUMBERS if numbers else wanted[0].lower() + wanted[1:]
        raise InputError(place, wanted, shown(first["input"])) from None


def _players(room: str, entries: list[_PlayerEntry]) -> tuple[Player, ...]:
    players = tuple(Player(entry.name, entry.settings) for entry in entries)
    labels = [player.label for player in players]
    for i, label in enumerate(labels, start=1):
        if label in labels[: i - 1]:
            raise InputError(f"{room}, entry {i}", "a player that is not listed before", label)
    return players


def _games(place: str, entry: dict[str, Any], folder: Path) -> Iterator[Game]:
    kinds = [kind for kind in ("name", "file", "generator") if kind in entry]
    if len(kinds) != 1:
        found = " and ".join(kinds) or "none of them"
        raise InputError(place, "one of name, file and generator", found)
    kind = kinds[0]
    chosen = entry.pop(kind)
    if kind != "generator":
        if entry:
            raise InputError(f"{place}, {next(iter(entry))}", "nothing besides " + kind, "this")
        yield load_game(chosen if kind == "name" else folder / chosen)
        return
    if chosen not in GENERATORS:
        raise InputError(f"{place}, generator", "one of " + ", ".join(GENERATORS), shown(chosen))
    family = GENERATORS[chosen]
    takes = [name for name in inspect.signature(family).parameters if name != "seed"]
    seeds = _numbers(f"{place}, seeds", entry.pop("seeds", 1))
    for name in (*takes, *entry):
        if name not in entry:
            raise InputError(f"{place}, {name}", "an entry", "none")
        if name not in takes:
            raise InputError(f"{place}, {name}", "one of " + ", ".join((*takes, "seeds")), "this")
    choices = [
        _numbers(f"{place}, {name}", entry[name], count=False)
        if isinstance(entry[name], str)
        else entry[name]
        if isinstance(entry[name], list)
        else [entry[name]]
        for name in takes
    ]
    for values in product(*choices):
        for seed in seeds:
            try:
                yield family(**dict(zip(takes, values, strict=True)), seed=seed)
            except InputError as error:
                raise error.inside(place) from None


def _numbers(
    place: str, value: int | str | list[int], *, at_least: int = 0, count: bool = True
) -> tuple[int, ...]:
    """Return the whole numbers that a count, a list or a range as "10-19" stands for."""
    if isinstance(value, str):
        low, dash, high = value.partition("-")
        if not (dash and low.strip().isdecimal() and high.strip().isdecimal()):
            raise InputError(place, _NUMBERS, shown(value))
        numbers = tuple(range(int(low), int(high) + 1))
    elif isinstance(value, list):
        numbers = tuple(value)
    else:
        numbers = tuple(range(value)) if count else (value,)
    if not numbers or min(numbers) < at_least:
        raise InputError(place, f"{_NUMBERS}, each at least {at_least}", shown(value))
    return tuple(dict.fromkeys(numbers))
