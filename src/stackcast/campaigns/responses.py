"""What the agent did, as people write it down: counts, a list, or a CSV file.

- counts: ``comply=7,violate=3``, or a mapping; in which rounds is then not known;
- a list: ``comply,violate,comply``, one for each round in order;
- a CSV file with a column ``response``, one row a round, or with a column ``count`` as well.

``?`` (in a file, an empty cell too; in Python, None) stands for a round whose response is missing.
"""

from __future__ import annotations

import csv
import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError, shown

if TYPE_CHECKING:
    import os

    import numpy.typing as npt

#: What stands for a response that nobody saw.
MISSING = "?"
#: More rounds than this in one entry are a slip of the finger.
_MOST = 10_000_000


@dataclass(frozen=True)
class Told:
    """The responses of some rounds.

    Parameters
    ----------
    counts : tuple of int or None
        How often each action was played, where the order is not known.
    order : tuple of int or None
        The action of each round, −1 where it is missing, where the order is known.
    missing : int
        How many rounds have no response.
    """

    counts: tuple[int, ...] | None
    order: tuple[int, ...] | None
    missing: int

    @property
    def rounds(self) -> int:
        """How many rounds were played, missing responses included."""
        return sum(self.counts or ()) + self.missing if self.order is None else len(self.order)

    def actions(self) -> set[int]:
        """Return the actions that were seen."""
        if self.order is not None:
            return {y for y in self.order if y >= 0}
        return {y for y, count in enumerate(self.counts or ()) if count}

    def seen(self) -> npt.NDArray[np.int64]:
        """Return the responses that were seen, in order.

        Counts are spread evenly, so that every part of the rounds has about the same shares.

        Examples
        --------
        >>> Told((4, 2), None, 0).seen()
        array([0, 1, 0, 0, 1, 0])
        """
        if self.order is not None:
            return np.array([y for y in self.order if y >= 0], dtype=np.int64)
        counts = np.array(self.counts, dtype=np.int64)
        actions = np.repeat(np.arange(len(counts)), counts)
        within = np.arange(len(actions)) - np.repeat(np.cumsum(counts) - counts, counts)
        place = (within + 0.5) / np.repeat(counts, counts)
        return actions[np.lexsort((actions, place))].astype(np.int64)

    def to_table(self) -> dict[str, Any]:
        """Return what the journal holds."""
        if self.order is not None:
            return {"responses": list(self.order)}
        return {"counts": list(self.counts or ()), "missing": self.missing}

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Told:
        """Return what :meth:`to_table` was given."""
        if "responses" in table:
            order = tuple(table["responses"])
            return cls(None, order, order.count(-1))
        return cls(tuple(table["counts"]), None, table["missing"])


def parse_responses(
    given: str | Mapping[str, int] | Iterable[str | int | None], actions: Sequence[str]
) -> Told:
    """Return responses that are given as counts or as a list.

    Parameters
    ----------
    given : str, mapping or iterable
        ``"comply=7,violate=3"``, ``"comply,?,violate"``, ``{"comply": 7, "?": 1}``, or the name or
        number (from 0 on) of the action of each round, None where it is missing.
    actions : sequence of str
        The names of the agent's actions.

    Examples
    --------
    >>> parse_responses("comply=7, violate=3, ?=2", ["comply", "violate"]).rounds
    12
    >>> parse_responses("comply,?,violate", ["comply", "violate"]).order
    (0, -1, 1)
    >>> parse_responses("comply,vialate", ["comply", "violate"])
    Traceback (most recent call last):
    ...
    stackcast._validation.InputError: responses: expected names of the agent's actions (perhaps
    'violate'), found 'vialate'.
    """
    if isinstance(given, str):
        if given.strip() in actions:
            return _listed([given.strip()], actions)
        parts = [part.strip() for part in given.split(",")]
        pairs = [part.rpartition("=") for part in parts]
        if all(mark and count.strip().isdecimal() for _, mark, count in pairs):
            return _counted([(name.strip(), int(count)) for name, _, count in pairs], actions)
        return _listed(parts, actions)
    if isinstance(given, Mapping):
        return _counted(list(given.items()), actions)
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if not isinstance(given, Iterable):
        raise InputError("responses", "counts or a list of responses", shown(given))
    return _listed(list(given), actions)


def read_responses(path: str | os.PathLike[str], actions: Sequence[str]) -> Told:
    """Return the responses in a CSV file with a column ``response`` and perhaps ``count``."""
    place = Path(path)
    try:
        with place.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file, skipinitialspace=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or "no text"
        raise InputError(f"{place}", "a CSV file that can be read", reason.lower()) from None
    if not rows or "response" not in rows[0]:
        found = "no rows" if not rows else "the columns " + ", ".join(map(str, rows[0]))
        raise InputError(f"{place}", "a column response", found)
    try:
        names = [(row["response"] or "").strip() or MISSING for row in rows]
        if "count" not in rows[0]:
            return _listed(names, actions)
        pairs = []
        for i, (name, row) in enumerate(zip(names, rows, strict=True), start=1):
            count = (row["count"] or "").strip()
            if not count.isdecimal():
                raise InputError(f"column count, row {i}", "a whole number", shown(count))
            pairs.append((name, int(count)))
        return _counted(pairs, actions)
    except InputError as error:
        raise error.inside(f"{place}") from None


def _counted(pairs: list[tuple[Any, Any]], actions: Sequence[str]) -> Told:
    counts, missing = [0] * len(actions), 0
    for name, count in pairs:
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
            raise InputError(f"responses, count of {name}", "a whole number", shown(count))
        if name == MISSING:
            missing += int(count)
        else:
            counts[_number(name, actions)] += int(count)
    return _of_some_length(Told(tuple(counts), None, missing))


def _listed(entries: list[Any], actions: Sequence[str]) -> Told:
    order = tuple(
        -1 if entry is None or entry == MISSING else _number(entry, actions) for entry in entries
    )
    return _of_some_length(Told(None, order, order.count(-1)))


def _of_some_length(told: Told) -> Told:
    if not 1 <= told.rounds <= _MOST:
        raise InputError("responses", f"1 to {_MOST:,} rounds", f"{told.rounds:,}")
    return told


def _number(name: Any, actions: Sequence[str]) -> int:
    if isinstance(name, int | np.integer) and not isinstance(name, bool):
        if 0 <= name < len(actions):
            return int(name)
        raise InputError("responses", f"numbers from 0 to {len(actions) - 1}", shown(name))
    if isinstance(name, str) and name in actions:
        return actions.index(name)
    close = difflib.get_close_matches(str(name), actions, n=1)
    hint = f"(perhaps {close[0]!r})" if close else f"({', '.join(actions)})"
    raise InputError("responses", f"names of the agent's actions {hint}", shown(name))
