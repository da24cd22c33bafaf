"""Errors in one sentence: which field, what was expected, what was found.

Every check that a user's input goes through is here or raises :class:`InputError` itself, so that
the command line can print one sentence and stop with exit code 2.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    #: A table of plain values, as JSON and TOML have them.
    Table = dict[str, Any]
    AnyArray = npt.NDArray[Any]
    BoolArray = npt.NDArray[np.bool_]
    FloatArray = npt.NDArray[np.float64]
    IntArray = npt.NDArray[np.int64]

#: Probabilities that miss the simplex by less than this are rounding, and are rounded back.
PROBABILITY_TOLERANCE = 1e-9


class InputError(ValueError):
    """Something that a user gave cannot be used.

    Parameters
    ----------
    field : str
        Where it was found, in the user's words.
    expected, found : str
        What would have been right, and what was there instead.

    Examples
    --------
    >>> print(InputError("horizon", "a whole number of at least 1", "0"))
    horizon: expected a whole number of at least 1, found 0.
    """

    def __init__(self, field: str, expected: str, found: str) -> None:
        sentence = f"{field}: expected {expected}, found {found}."
        # One line, whatever stands in a name or a value.
        super().__init__("".join(c if c.isprintable() else ascii(c)[1:-1] for c in sentence))
        self.field, self.expected, self.found = field, expected, found

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str, str]]:
        """Let other processes raise it: an exception is copied by its message alone."""
        return InputError, (self.field, self.expected, self.found)

    def inside(self, place: str) -> InputError:
        """Return the same complaint with the file or table named in front of the field."""
        return InputError(f"{place}: {self.field}", self.expected, self.found)


def shown(value: object) -> str:
    """Return a short picture of a value that was found where it did not belong."""
    if value is None:
        return "nothing"
    try:
        text = repr(value) if not isinstance(value, np.generic) else repr(value.item())
    except (ValueError, RecursionError):  # an integer of thousands of digits; a bottomless nest
        return f"{type(value).__name__} too large to show"
    return text if len(text) <= 60 else text[:57] + "…"


def real_number(
    field: str,
    value: object,
    *,
    at_least: float = -math.inf,
    above: float = -math.inf,
    at_most: float = math.inf,
) -> float:
    """Return ``value`` as a finite float within the limits."""
    limits = [f"at least {at_least:g}"] if at_least > -math.inf else []
    limits += [f"above {above:g}"] if above > -math.inf else []
    limits += [f"at most {at_most:g}"] if at_most < math.inf else []
    expected = "a finite number" + (" " + " and ".join(limits) if limits else "")
    number = _as_float(value)
    if number is None or not math.isfinite(number):
        raise InputError(field, expected, shown(value))
    if not (number >= at_least and number > above and number <= at_most):
        raise InputError(field, expected, shown(value))
    return number


def whole_number(field: str, value: object, *, at_least: int = 0) -> int:
    """Return ``value`` as an int of at least ``at_least``."""
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
        raise InputError(field, f"a whole number of at least {at_least}", shown(value))
    return value


def one_of(field: str, value: object, choices: Sequence[str]) -> str:
    """Return ``value`` if it is one of the words in ``choices``."""
    if not isinstance(value, str) or value not in choices:
        close = difflib.get_close_matches(str(value), choices, n=1, cutoff=0.75)
        hint = f" (perhaps {close[0]!r})" if close else ""
        expected = f"one of {', '.join(map(repr, choices))}{hint}"
        if close and len(choices) > 12:
            expected = f"one of {len(choices)} names{hint}"
        raise InputError(field, expected, shown(value))
    return value


def real_vector(field: str, value: Any, length: int | None = None) -> FloatArray:
    """Return ``value`` as a read-only vector of finite numbers."""
    if isinstance(value, np.ndarray) and value.shape == (length,) and value.dtype.kind in "fiu":
        vector = value.astype(np.float64) + 0.0  # −0 becomes 0
        if vector.size and np.isfinite(vector).all():
            vector.flags.writeable = False
            return vector
    entries = _sequence(field, value, "a list of numbers")
    if length is not None and len(entries) != length:
        raise InputError(field, f"{length} numbers", f"{len(entries)}")
    if len(entries) == 0:
        raise InputError(field, "at least one number", "an empty list")
    return _read_only(_numbers(field, entries))


def real_matrix(field: str, value: Any) -> FloatArray:
    """Return ``value`` as a read-only matrix of finite numbers, one row a principal action."""
    if isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype.kind in "fiu":
        if 0 in value.shape:
            raise InputError(field, "at least one row and one column", f"shape {value.shape}")
        matrix = value.astype(np.float64)
        if np.isfinite(matrix).all():
            return _read_only(matrix)
    rows = _sequence(field, value, "a list of rows of numbers")
    if len(rows) == 0:
        raise InputError(field, "at least one row", "an empty list")
    parsed: list[FloatArray] = []
    for i, row in enumerate(rows):
        name = f"{field}, row {i + 1}"
        entries = _sequence(name, row, "a list of numbers")
        if len(entries) == 0:
            raise InputError(name, "at least one number", "an empty list")
        if parsed and len(entries) != len(parsed[0]):
            raise InputError(
                name, f"{len(parsed[0])} numbers as in the rows above", f"{len(entries)}"
            )
        parsed.append(_numbers(name, entries))
    return _read_only(np.array(parsed))


def table_of(
    field: str,
    value: object,
    required: Mapping[str, str] | Iterable[str] = (),
    optional: Iterable[str] = (),
) -> dict[str, Any]:
    """Return ``value`` as a table with these keys: the required ones all, and no other.

    ``required`` may say of each key what it holds. The field of a whole file is ``""``.

    Examples
    --------
    >>> table_of("domain", {"kind": "box", "lowe": 1}, ["kind"], ["lower", "upper"])
    Traceback (most recent call last):
    stackcast._validation.InputError: domain, keys: expected 'lower', found 'lowe'.
    """
    holds = dict(required) if isinstance(required, Mapping) else dict.fromkeys(required, "an entry")
    known = (*holds, *optional)
    if not isinstance(value, Mapping):
        raise InputError(field or "file", "a table with the keys " + ", ".join(known), shown(value))
    for key in value:
        if key not in known:
            close = difflib.get_close_matches(str(key), known, n=1)
            expected = repr(close[0]) if close else ", ".join(known)
            raise InputError(inside(field, "keys"), expected, shown(key))
    for key, content in holds.items():
        if key not in value:
            raise InputError(inside(field, key), content, "no such key")
    return dict(value)


def inside(field: str, entry: str) -> str:
    """Return how an entry of a field is named."""
    return f"{field}, {entry}" if field else entry


def names(field: str, value: Any, count: int, stem: str) -> tuple[str, ...]:
    """Return ``count`` distinct non-empty names; ``None`` gives ``stem`` with numbers."""
    if value is None:
        return tuple(f"{stem} {i + 1}" for i in range(count))
    entries = _sequence(field, value, "a list of names")
    if len(entries) != count:
        raise InputError(field, f"{count} names", f"{len(entries)}")
    for i, entry in enumerate(entries):
        if not isinstance(entry, str) or not entry.strip():
            raise InputError(f"{field}, entry {i + 1}", "a name", shown(entry))
        text(f"{field}, entry {i + 1}", entry)
    if len(set(entries)) < count:
        twice = next(e for e in entries if entries.count(e) > 1)
        raise InputError(field, "distinct names", f"{twice!r} twice")
    return tuple(entries)


def distinct_names(labels: Sequence[str]) -> list[str]:
    """Return the labels with repeated ones numbered, for files that give one name to two actions.

    Examples
    --------
    >>> distinct_names(["stay", "go", "stay"])
    ['stay', 'go', 'stay (2)']
    """
    kept: list[str] = []
    for label in labels:
        name, number = label, 1
        while name in kept or (number > 1 and name in labels):
            number += 1
            name = f"{label} ({number})"
        kept.append(name)
    return kept


def text(field: str, value: object) -> str:
    """Return ``value`` if it is a string that a file can hold."""
    if not isinstance(value, str):
        raise InputError(field, "a text", shown(value))
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise InputError(field, "a text in Unicode", f"half of a surrogate pair in {shown(value)}")
    return value


def _sequence(field: str, value: Any, expected: str) -> list[Any]:
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            raise InputError(field, expected, shown(value.item()))
        return list(value)
    if isinstance(value, str | bytes | dict) or not isinstance(value, Iterable):
        raise InputError(field, expected, shown(value))
    return list(value)


def _numbers(field: str, entries: list[Any]) -> FloatArray:
    result = np.empty(len(entries))
    for j, entry in enumerate(entries):
        number = _as_float(entry)
        if number is None or not math.isfinite(number):
            raise InputError(f"{field}, entry {j + 1}", "a finite number", shown(entry))
        result[j] = number
    return result


def _as_float(value: object) -> float | None:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return None
    if isinstance(value, np.complexfloating):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _read_only(array: FloatArray) -> FloatArray:
    array = np.ascontiguousarray(array) + 0.0  # a copy of our own, with −0 turned into 0
    array.flags.writeable = False
    return array
