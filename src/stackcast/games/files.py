"""Games in files: JSON and TOML of our own, and Gambit's ``.nfg``.

The keys of a JSON or TOML file are the arguments of :class:`FiniteGame` or of
:class:`SecurityGame`, and optionally ``format = "stackcast-game-1"``. A continuous game has a
``family``, its ``parameters`` and a ``domain`` instead. What is saved is loaded as an equal game,
every float bit for bit. A file holds data only, and nothing in it is ever executed. A file with an
error raises an :class:`InputError` that names the file, the field, what was expected and what was
found.
"""

from __future__ import annotations

import difflib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

import tomli_w

from stackcast._files import from_json, from_toml, read_text, write_whole
from stackcast._validation import InputError, one_of, shown, table_of, whole_number
from stackcast.games.catalogue import (
    ContinuousName,
    FiniteName,
    SecurityName,
    catalogue_text,
    list_games,
)
from stackcast.games.continuous import ContinuousGame
from stackcast.games.families import (
    LabelledData,
    quadratic_game,
    strategic_classification,
    strategic_score,
)
from stackcast.games.game import FiniteGame, Game
from stackcast.games.nfg import read_nfg, write_nfg
from stackcast.games.security import SecurityGame
from stackcast.games.spaces import Ball, Polytope

if TYPE_CHECKING:
    from collections.abc import Callable

    from stackcast._validation import Table
    from stackcast.games.spaces import Domain

FORMAT = "stackcast-game-1"

AnyGame = FiniteGame | SecurityGame | ContinuousGame
G = TypeVar("G", bound=Game | ContinuousGame)

_ROWS, _NUMBERS, _EACH = "a list of rows of numbers", "a list of numbers", "one number a target"
_STORY = ("name", "description", "source", "known_value")
#: Kinds of games in files: what the required keys hold, the optional keys, and the class.
_KINDS: dict[type[Game], tuple[dict[str, str], tuple[str, ...]]] = {
    FiniteGame: (
        {"principal_payoffs": _ROWS, "agent_payoffs": _ROWS},
        ("principal_actions", "agent_actions"),
    ),
    SecurityGame: (
        {
            "defender_covered": _EACH,
            "defender_uncovered": _EACH,
            "attacker_covered": _EACH,
            "attacker_uncovered": _EACH,
            "resources": "a whole number",
        },
        ("targets",),
    ),
}
#: Families of continuous games: what the required parameters hold, the optional ones, the maker.
_FAMILIES: dict[str, tuple[dict[str, str], tuple[str, ...], Callable[..., ContinuousGame]]] = {
    "quadratic": (
        {
            "target": _NUMBERS,
            "response_weight": _NUMBERS,
            "interaction": _ROWS,
            "offset": _NUMBERS,
            "reaction": _ROWS,
        },
        ("base",),
        quadratic_game,
    ),
    "strategic-score": (
        {"features": _NUMBERS, "reference": _NUMBERS},
        ("cost", "regularisation", "base", "feature_names"),
        strategic_score,
    ),
    "strategic-classification": (
        {"data": "a table that names or holds the data", "changeable": "a list of names"},
        ("cost",),
        strategic_classification,
    ),
}
#: Domains of continuous games: what the keys hold, and the maker.
_DOMAINS: dict[str, tuple[dict[str, str], Callable[..., Domain]]] = {
    "ball": (
        {"dimension": "a whole number", "radius": "a number"},
        lambda dimension, radius: Ball(whole_number("dimension", dimension, at_least=1), radius),
    ),
    "box": ({"low": _NUMBERS, "high": _NUMBERS}, Polytope.box),
    "polytope": (
        {"rows": _ROWS, "bounds": _NUMBERS},
        lambda rows, bounds: Polytope(rows, bounds),
    ),
}


@overload
def load_game(name_or_path: FiniteName) -> FiniteGame: ...
@overload
def load_game(name_or_path: SecurityName) -> SecurityGame: ...
@overload
def load_game(name_or_path: ContinuousName) -> ContinuousGame: ...
@overload
def load_game(name_or_path: str | os.PathLike[str]) -> AnyGame: ...
@overload
def load_game(name_or_path: str | os.PathLike[str], kind: type[G]) -> G: ...


def load_game(
    name_or_path: str | os.PathLike[str], kind: type[Any] | None = None
) -> Game | ContinuousGame:
    """Return a game of the catalogue, or the game in a file.

    Parameters
    ----------
    name_or_path : str or path
        A plain word is a name of the catalogue; whatever has a suffix or a folder in it is a file,
        whose suffix (``.json``, ``.toml`` or ``.nfg``) says the format.
    kind : class, optional
        The class that is wanted: :class:`FiniteGame`, :class:`SecurityGame`, :class:`Game` for
        either, or :class:`ContinuousGame`. By default any.

    Raises
    ------
    InputError
        If there is no such game, the file is not one, or the game is of another kind.

    Examples
    --------
    >>> load_game("textbook-commitment").known_value
    2.5
    >>> load_game("textbook-commitment", FiniteGame).principal_payoffs.shape
    (2, 2)
    >>> load_game("textbook")
    Traceback (most recent call last):
    ...
    stackcast._validation.InputError: game: expected a name from the catalogue (perhaps
    'textbook-commitment') or a .json, .toml or .nfg file, found 'textbook'.
    """
    if not isinstance(name_or_path, str | os.PathLike):
        raise InputError("game", "a name from the catalogue or a file", shown(name_or_path))
    place = name_or_path
    if isinstance(place, str) and _is_word(place):
        known = (*list_games(), *list_games("continuous"))
        if place not in known:
            close = difflib.get_close_matches(place.lower(), known, n=1, cutoff=0.5)
            hint = f" (perhaps {close[0]!r})" if close else ""
            expected = f"a name from the catalogue{hint} or a .json, .toml or .nfg file"
            raise InputError("game", expected, shown(place))
        game = _read(f"catalogue game {place!r}", ".toml", catalogue_text(place))
    else:
        suffix = _known_suffix(Path(place))
        game = _read(os.fspath(place), suffix, read_text(place))
    if kind is not None and not isinstance(game, kind):
        raise InputError("game", f"a {kind.__name__}", f"a {type(game).__name__}, {game.name!r}")
    return game


def save_game(game: Game | ContinuousGame, path: str | os.PathLike[str]) -> None:
    """Write ``game`` to a file, in the format that the suffix of ``path`` names.

    The file appears whole or not at all: it is written beside its place first, then moved there.

    Parameters
    ----------
    game : FiniteGame, SecurityGame or ContinuousGame
    path : str or path
        Where to; ``.json``, ``.toml`` or ``.nfg``. What is there already is replaced.

    Raises
    ------
    InputError
        If the place cannot be written to, or the format cannot hold the game.
    """
    if not isinstance(game, Game | ContinuousGame):
        raise InputError("game", "a game", shown(game))
    if not isinstance(path, str | os.PathLike):
        raise InputError("path", "a file", shown(path))
    suffix = _known_suffix(Path(path))
    try:
        if suffix == ".nfg":
            content = write_nfg(game)
        else:
            content = (_json if suffix == ".json" else _toml)(game_to_table(game))
    except InputError as error:
        raise error.inside(os.fspath(path)) from None
    write_whole(path, content.encode())


def _is_word(name: str) -> bool:
    return not Path(name).suffix and not {"/", os.sep, os.altsep or "/"} & set(name)


def _known_suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in (".json", ".toml", ".nfg"):
        found = f"the ending {path.suffix}" if path.suffix else "no ending"
        raise InputError(f"{path}", "a file name that ends in .json, .toml or .nfg", found)
    return suffix


def _read(place: str, suffix: str, content: str) -> AnyGame:
    try:
        if not content.strip():
            raise InputError("file", "a game", "an empty file")
        if suffix == ".nfg":
            return read_nfg(content)
        return game_from_table((from_json if suffix == ".json" else from_toml)(content))
    except InputError as error:
        raise error.inside(place) from None
    except RecursionError:
        found = "too many levels of nesting"
        raise InputError(place, "a table of lists of numbers", found) from None


def game_from_table(table: object) -> AnyGame:
    """Return the game of a table as it stands in a file; refuse anything else."""
    if not isinstance(table, dict):
        keys = ", ".join(_KINDS[FiniteGame][0])
        raise InputError("game", f"a table with the keys {keys}", shown(table))
    if table.get("format", FORMAT) != FORMAT:
        raise InputError("format", repr(FORMAT), shown(table["format"]))
    if "family" in table:
        return _continuous(table)
    needed, optional = _KINDS[SecurityGame]
    kind: type[FiniteGame | SecurityGame] = SecurityGame
    if not set(table) & {*needed, *optional}:
        kind, (needed, optional) = FiniteGame, _KINDS[FiniteGame]
    entries = table_of("", table, needed, (*optional, *_STORY, "constraints", "format"))
    entries.pop("format", None)
    return kind(**entries)


def _continuous(table: Table) -> ContinuousGame:
    needed, optional, make = _FAMILIES[one_of("family", table["family"], tuple(_FAMILIES))]
    parts = {"family": "a word", "parameters": "a table with " + ", ".join(needed)}
    entries = table_of("", table, {**parts, "domain": "a table"}, (*_STORY, "format"))
    parameters = table_of("parameters", entries["parameters"], needed, optional)
    if "data" in parameters:
        parameters["data"] = LabelledData.from_table("parameters, data", parameters["data"])
    domain = _domain(entries["domain"])
    return make(domain, **parameters, **{key: entries[key] for key in _STORY if key in entries})


def _domain(table: object) -> Domain:
    kind = table.get("kind") if isinstance(table, dict) else None
    if not isinstance(kind, str) or kind not in _DOMAINS:
        raise InputError("domain", "a table with kind 'ball', 'box' or 'polytope'", shown(table))
    keys, make = _DOMAINS[kind]
    entries = table_of("domain", table, {"kind": "a word", **keys})
    del entries["kind"]
    try:
        return make(**entries)
    except InputError as error:
        raise error.inside("domain") from None


def game_to_table(game: Game | ContinuousGame) -> Table:
    """Return the table that stands for a game in a file: numbers, texts, lists and tables."""
    table = {"format": FORMAT, **{key: getattr(game, key) for key in _STORY}}
    table = {key: value for key, value in table.items() if value not in ("", None)}
    if isinstance(game, ContinuousGame):
        if game.family is None:
            raise InputError(
                "game", "a game of a family, which a file can hold", "one of functions"
            )
        parts = {"domain": game.space.to_table(), "parameters": dict(game.family.parameters)}
        return {**table, "family": game.family.name, **parts}
    if isinstance(game, SecurityGame):
        table |= {"targets": list(game.targets), "resources": game.resources}
    else:
        table |= {
            "principal_actions": list(game.principal_actions),
            "agent_actions": list(game.agent_actions),
        }
    payoffs = [key for key in _KINDS[type(game)][0] if key != "resources"]
    table |= {key: getattr(game, key).tolist() for key in payoffs}
    if game.constraints:
        table["constraints"] = [constraint.to_table() for constraint in game.constraints]
    return table


def _json(table: Table) -> str:
    """Return the text of a JSON file, matrices row by row."""

    def lines(value: Any) -> str:
        if isinstance(value, list) and value and isinstance(value[0], list):
            return "[\n" + ",\n".join(f"    {json.dumps(row)}" for row in value) + "\n  ]"
        return json.dumps(value, ensure_ascii=False, allow_nan=False)

    entries = (f'  "{key}": {lines(value)}' for key, value in table.items())
    return "{\n" + ",\n".join(entries) + "\n}\n"


def _toml(table: Table) -> str:
    """Return the text of a TOML file, matrices row by row."""
    text = ""
    for key, value in table.items():
        if isinstance(value, list) and value and isinstance(value[0], list):
            rows = ",\n".join(f"    {row!r}" for row in value)
            text += f"{key} = [\n{rows}\n  ]\n"
        elif isinstance(value, list) and value and isinstance(value[0], float):
            text += f"{key} = {value!r}\n"
        else:
            text += ("\n" if key == "constraints" else "") + tomli_w.dumps({key: value})
    return text
