"""Results and texts as other media hold them: plain values, JSON, text for a terminal."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

#: Joiners are parts of words and of emoji; every other format character is shown by its number.
_JOINERS = "\u200c\u200d"
#: Names that are longer are cut.
LONGEST = 400
_SIMPLE = (bool, int, str)


def plain(value: Any, *, also: Iterable[str] = (), but: Iterable[str] = ()) -> Any:
    """Return ``value`` as tables, lists, texts, numbers, truth values and None.

    Arrays and tuples become lists, NaN and infinity None, keys texts, functions their names. A
    dataclass becomes the table of its public fields, with the properties named in ``also`` and
    without the fields in ``but``; inside another value, an object with ``to_dict`` decides itself.

    Examples
    --------
    >>> plain({1: np.array([0.5, np.nan]), "shape": (2, 3)})
    {'1': [0.5, None], 'shape': [2, 3]}
    """
    if value is None or (isinstance(value, str | bool | int) and not isinstance(value, Enum)):
        return value
    if isinstance(value, float):
        return float(value) if isfinite(value) else None
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {
            str(key): entry
            if entry is None or type(entry) in _SIMPLE or (type(entry) is float and isfinite(entry))
            else _inner(entry)
            for key, entry in value.items()
        }
    if is_dataclass(value) and not isinstance(value, type):
        left_out = set(but)
        names = [f.name for f in fields(value) if not f.name.startswith("_")]
        names = [name for name in (*names, *also) if name not in left_out]
        return {name: _inner(getattr(value, name)) for name in names}
    if isinstance(value, Iterable):
        return [_inner(entry) for entry in value]
    if isinstance(value, Path):
        return str(value)
    if callable(value):
        return f"{value.__module__}.{value.__qualname__}"
    raise TypeError(f"{type(value).__name__} has no plain form")


def _inner(value: Any) -> Any:
    return value.to_dict() if hasattr(value, "to_dict") else plain(value)


def visible(text: object, most: int = LONGEST) -> str:
    r"""Return a text of one line for a terminal: control characters become their numbers.

    Escape sequences, line breaks, bidirectional marks and halves of surrogate pairs are shown
    instead of sent; a text of more than ``most`` characters is cut.

    Examples
    --------
    >>> visible("\x1b[31mred\u202e")
    '\\x1b[31mred\\u202e'
    """
    line = str(text)
    if len(line) > most:
        line = line[: most - 1] + "…"
    if line.isprintable():
        return line
    return "".join(_number(c) if hidden(c) else c for c in line)


def hidden(character: str) -> bool:
    """Tell whether a character would act on a terminal, or on the text around it."""
    kind = unicodedata.category(character)
    return kind in ("Cc", "Cf", "Cs", "Zl", "Zp") and character not in _JOINERS


def _number(character: str) -> str:
    code = ord(character)
    return (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )


def json_text(value: Any) -> str:
    """Return plain values as JSON that no terminal acts on: hidden characters are escaped."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    if text.replace("\n", "").isprintable():
        return text
    return "".join(c if c == "\n" or not hidden(c) else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    return json.dumps(character)[1:-1] if ord(character) > 127 else f"\\u{ord(character):04x}"
