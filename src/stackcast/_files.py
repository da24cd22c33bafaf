"""Files: read as text, as a table in JSON or TOML, and written whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from stackcast._validation import InputError, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stackcast._validation import Table


def reason(error: OSError) -> str:
    """Return why the system refused, in a few words."""
    return (error.strerror or type(error).__name__).lower()


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file: afterwards the whole new one is there, or what was there before."""
    target = Path(os.path.realpath(path))  # a link stays a link
    draft = target.with_name(f".{target.name[:200]}.{secrets.token_hex(8)}.tmp")
    try:
        try:
            with draft.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
            raise
    except OSError as error:
        expected = "a place that can be written to"
        raise InputError(os.fspath(path), expected, reason(error)) from None
    with contextlib.suppress(OSError):  # the new name is durable once its folder is
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def remove_drafts(folder: Path, names: Iterable[str]) -> None:
    """Remove what writing files of these names left where it was killed."""
    mark = "[0-9a-f]{16}"
    ours = "|".join(re.escape(name[:200]) for name in names)
    draft = re.compile(rf"\.{{1,2}}{mark}\.({ours})(\.{mark}\.tmp)?|\.({ours})\.{mark}\.tmp")
    for left_over in folder.glob(".*"):
        if draft.fullmatch(left_over.name):
            left_over.unlink(missing_ok=True)


def read_bytes(path: str | os.PathLike[str], expected: str = "a file that can be read") -> bytes:
    """Return what a file holds."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        found = f"no readable file ({reason(error)})"
        raise InputError(os.fspath(path), expected, found) from None
    except ValueError:  # a zero byte in the name
        raise InputError(shown(os.fspath(path)), expected, "no name of a file") from None


def read_text(path: str | os.PathLike[str], expected: str = "a file that can be read") -> str:
    """Return the text of a file in UTF-8, a byte-order mark left out."""
    try:
        return read_bytes(path, expected).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        found = f"the byte {error.object[error.start]:#04x} at position {error.start}"
        raise InputError(os.fspath(path), "text in UTF-8", found) from None


def from_json(text: str) -> Any:
    """Return what a text in JSON says: every key once, finite numbers only."""
    try:
        return json.loads(
            text, object_pairs_hook=_distinct_keys, parse_constant=_no_constant, parse_int=_whole
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError(place, "JSON", f"a mistake ({error.msg.lower()})") from None
    except RecursionError:
        raise InputError("text", "a table", "too many levels of nesting") from None


def from_toml(text: str) -> Table:
    """Return the table that a text in TOML says."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = " ".join(str(error).lower().split())
        raise InputError("text", "TOML", f"a mistake ({found})") from None
    except RecursionError:
        raise InputError("text", "a table", "too many levels of nesting") from None
    except ValueError:  # an integer of thousands of digits
        raise InputError("text", "TOML", "a mistake (too long an integer)") from None


def _distinct_keys(pairs: list[tuple[str, Any]]) -> Table:
    table: Table = {}
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
