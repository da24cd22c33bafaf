"""Games in files: JSON and TOML of our own, and Gambit's ``.nfg``.

The keys of a JSON or TOML file are the arguments of :class:`FiniteGame` or of
:class:`SecurityGame`, and optionally ``format = "stackcast-game-1"``; a continuous game has
``family``, ``domain`` and ``parameters`` instead (:mod:`stackcast.games.continuous_files`). What is
saved is loaded as an equal game, every float bit for bit. A file holds data only, and nothing in it
is ever executed. Whatever is wrong with one is said in one sentence, an :class:`InputError` that
names the file, the field, the expectation and the find.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import tomllib
import uuid
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, cast

import tomli_w

from stackcast._validation import InputError, shown
from stackcast.games.base import Game
from stackcast.games.catalogue import catalogue, catalogue_text, continuous_catalogue
from stackcast.games.continuous import ContinuousGame
from stackcast.games.continuous_files import (
    continuous_from_table,
    continuous_to_table,
    is_continuous,
)
from stackcast.games.finite import FiniteGame
from stackcast.games.nfg import read_nfg, write_nfg
from stackcast.games.security import SecurityGame

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FORMAT = "stackcast-game-1"

_SHARED = ("name", "description", "source", "known_value", "constraints", "format")


class _Kind(NamedTuple):
    """A kind of game in files: its own keys, what the required ones hold, and its class."""

    required: tuple[str, ...]
    optional: tuple[str, ...]
    expected: str
    build: Callable[..., Game]


_FINITE = _Kind(
    ("principal_payoffs", "agent_payoffs"),
    ("principal_actions", "agent_actions"),
    "a list of rows of numbers",
    FiniteGame,
)
_SECURITY = _Kind(
    (
        "defender_covered",
        "defender_uncovered",
        "attacker_covered",
        "attacker_uncovered",
        "resources",
    ),
    ("targets",),
    "one number a target, and the number of resources",
    SecurityGame,
)


def load_game(name_or_path: str | os.PathLike[str]) -> Game:
    """Return a game of the catalogue, or the game in a file.

    Parameters
    ----------
    name_or_path : str or path
        A plain word is a name of the catalogue; whatever has a suffix or a folder in it is a file,
        whose suffix (``.json``, ``.toml`` or ``.nfg``) says the format.

    Raises
    ------
    InputError
        If there is no such game, or the file is not one.

    Examples
    --------
    >>> load_game("textbook-commitment").known_value
    2.5
    >>> load_game("textbook")
    Traceback (most recent call last):
    ...
    stackcast._validation.InputError: game: expected a name from the catalogue (perhaps
    'textbook-commitment') or a .json, .toml or .nfg file, found 'textbook'.
    """
    if not isinstance(name_or_path, str | os.PathLike):
        raise InputError("game", "a name from the catalogue or a file", shown(name_or_path))
    path = Path(name_or_path)
    if isinstance(name_or_path, str) and _is_word(name_or_path):
        known = (*catalogue(), *continuous_catalogue())
        if name_or_path in known:
            return _read(f"catalogue game {name_or_path!r}", ".toml", catalogue_text(name_or_path))
        close = difflib.get_close_matches(name_or_path.lower(), known, n=1, cutoff=0.5)
        hint = f" (perhaps {close[0]!r})" if close else ""
        raise InputError(
            "game",
            f"a name from the catalogue{hint} or a .json, .toml or .nfg file",
            shown(name_or_path),
        )
    suffix = _known_suffix(path)
    try:
        content = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}",
            "text in UTF-8",
            f"the byte {error.object[error.start]:#04x} at position {error.start}",
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}", "a file that can be read", _reason(error)) from None
    return _read(f"{path}", suffix, content)


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
    place = Path(path)
    suffix = _known_suffix(place)
    try:
        content = _written(game, suffix)
    except InputError as error:
        raise error.inside(f"{place}") from None
    try:
        _write_whole(place, content.encode())
    except (OSError, ValueError) as error:
        raise InputError(f"{place}", "a file that can be written", _reason(error)) from None


def _is_word(name: str) -> bool:
    return not Path(name).suffix and not any(
        mark in name for mark in {"/", os.sep, os.altsep or "/"}
    )


def _known_suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in _FORMATS:
        raise InputError(
            f"{path}",
            "a file name that ends in .json, .toml or .nfg",
            f"the ending {path.suffix}" if path.suffix else "no ending",
        )
    return suffix


def _reason(error: OSError | ValueError) -> str:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return (reason or type(error).__name__).lower()


def _write_whole(place: Path, content: bytes) -> None:
    target = Path(os.path.realpath(place))  # a link stays a link
    draft = target.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        with draft.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


def _read(place: str, suffix: str, content: str) -> Game:
    try:
        if not content.strip():
            raise InputError("file", "a game", "an empty file")
        return _FORMATS[suffix].read(content)
    except InputError as error:
        raise error.inside(place) from None
    except RecursionError:
        raise InputError(
            place, "a table of lists of numbers", "too many levels of nesting"
        ) from None


def _read_json(content: str) -> Game:
    try:
        table = json.loads(
            content, object_pairs_hook=_distinct_keys, parse_constant=_no_constant, parse_int=_whole
        )
    except json.JSONDecodeError as error:
        raise InputError(
            f"line {error.lineno}, column {error.colno}", "JSON", f"a mistake ({error.msg.lower()})"
        ) from None
    return game_from_table(table)


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in pairs:
        if key in table:
            raise InputError(f"key {shown(key)}", "every key once", "it twice")
        table[key] = value
    return table


def _no_constant(word: str) -> NoReturn:
    raise InputError("numbers", "finite numbers", word)


def _whole(digits: str) -> float | int:
    # Python refuses to convert very long integers; as a float such a number is infinite.
    return int(digits) if len(digits) < 400 else float(digits)


def _read_toml(content: str) -> Game:
    try:
        table = tomllib.loads(content)
    except ValueError as error:  # also what an integer of thousands of digits raises
        found = str(error) if isinstance(error, tomllib.TOMLDecodeError) else "too long an integer"
        raise InputError("text", "TOML", f"a mistake ({found.lower()})") from None
    return game_from_table(table)


def game_from_table(table: object) -> Game:
    """Return the game of a table as it stands in a file; refuse anything else."""
    if not isinstance(table, dict):
        keys = ", ".join(_FINITE.required)
        raise InputError("game", f"a table with the keys {keys}", shown(table))
    if is_continuous(table):
        fields = dict(table)
        if fields.pop("format", FORMAT) != FORMAT:
            raise InputError("format", repr(FORMAT), shown(table["format"]))
        return cast("Any", continuous_from_table(fields))
    kind = _SECURITY if set(_SECURITY.required + _SECURITY.optional) & set(table) else _FINITE
    known = kind.required + kind.optional + _SHARED
    for key in table:
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            expected = f"{close[0]!r}" if close else ", ".join(known)
            raise InputError("keys", expected, shown(key))
    for key in kind.required:
        if key not in table:
            raise InputError(key, kind.expected, "no such key")
    fields = dict(table)
    if fields.pop("format", FORMAT) != FORMAT:
        raise InputError("format", repr(FORMAT), shown(table["format"]))
    return kind.build(**fields)


def game_to_table(game: Game | ContinuousGame) -> dict[str, Any]:
    """Return the table that stands for a game in a file: numbers, texts, lists and tables."""
    if isinstance(game, ContinuousGame):
        return {"format": FORMAT, **continuous_to_table(game)}
    table = {**_header(game), **_payoffs(game)}
    if game.constraints:
        table["constraints"] = [constraint.to_table() for constraint in game.constraints]
    return table


def _header(game: Game) -> dict[str, Any]:
    """Return the entries of the file but for the payoffs; what is at its default is left out."""
    texts = {"name": game.name, "description": game.description, "source": game.source}
    table: dict[str, Any] = {"format": FORMAT, **{key: text for key, text in texts.items() if text}}
    if game.known_value is not None:
        table["known_value"] = game.known_value
    if isinstance(game, SecurityGame):
        table["targets"] = list(game.targets)
        table["resources"] = game.resources
    else:
        table["principal_actions"] = list(game.principal_actions)
        table["agent_actions"] = list(game.agent_actions)
    return table


def _payoffs(game: Game) -> dict[str, list[Any]]:
    kind = _SECURITY if isinstance(game, SecurityGame) else _FINITE
    return {key: getattr(game, key).tolist() for key in kind.required if key != "resources"}


def _payoff_lines(game: Game) -> dict[str, str]:
    """Return payoffs, matrices row by row, in the notation that JSON and TOML share."""
    return {
        key: repr(payoffs)
        if isinstance(payoffs[0], float)
        else "[\n" + ",\n".join(f"    {row!r}" for row in payoffs) + "\n  ]"
        for key, payoffs in _payoffs(game).items()
    }


def _written(game: Game | ContinuousGame, suffix: str) -> str:
    if isinstance(game, Game):
        return _FORMATS[suffix].write(game)
    if suffix == ".nfg":
        raise InputError("format", ".json or .toml for a continuous game", suffix)
    table = game_to_table(game)
    if suffix == ".toml":
        return tomli_w.dumps(table)
    return json.dumps(table, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _write_json(game: Game) -> str:
    entries = {key: json.dumps(value, ensure_ascii=False) for key, value in _header(game).items()}
    entries |= _payoff_lines(game)
    if game.constraints:
        tables = [c.to_table() for c in game.constraints]
        entries["constraints"] = json.dumps(tables, ensure_ascii=False)
    return "{\n" + ",\n".join(f'  "{key}": {text}' for key, text in entries.items()) + "\n}\n"


def _write_toml(game: Game) -> str:
    text = tomli_w.dumps(_header(game))
    text += "".join(f"{key} = {lines}\n" for key, lines in _payoff_lines(game).items())
    if game.constraints:
        text += "\n" + tomli_w.dumps({"constraints": [c.to_table() for c in game.constraints]})
    return text


class _Format(NamedTuple):
    read: Callable[[str], Game]
    write: Callable[[Game], str]


_FORMATS: Mapping[str, _Format] = MappingProxyType(
    {
        ".json": _Format(_read_json, _write_json),
        ".toml": _Format(_read_toml, _write_toml),
        ".nfg": _Format(read_nfg, write_nfg),
    }
)
