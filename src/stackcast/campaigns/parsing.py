"""What people write down, read: mixes, limits, responses, and tables of days.

Responses are

- counts: ``comply=7,violate=3``, or a mapping; in which rounds is then not known;
- a list: ``comply,violate,comply``, one for each round in order;
- a CSV file with a column ``response``, one row a round, and perhaps ``count`` or ``date``.

``?`` (in a file, an empty cell too; in Python, None) stands for a round whose response is missing.
Mixes are ``inspect=0.3,trust=0.7``, ``0.3,0.7``, ``30%,70%``, ``0,3;0,7`` or ``30/70``.
"""

from __future__ import annotations

import csv
import difflib
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._files import read_text
from stackcast._validation import InputError, real_vector, shown
from stackcast.games import Constraint, StrategySpace

if TYPE_CHECKING:
    import os

    from stackcast._validation import FloatArray, IntArray

#: What stands for a response that nobody saw.
MISSING = "?"
#: More rounds than this in one entry are a slip of the finger.
_MOST = 10_000_000
#: Probabilities that miss one by less than this are rounded decimals.
_ROUNDED = 0.015


@dataclass(frozen=True)
class Told:
    """The responses of some rounds.

    Parameters
    ----------
    counts : tuple of int
        How often each action was played.
    missing : int
        How many rounds have no response.
    order : tuple of int or None
        The action of each round, −1 where it is missing, where the order is known.
    days : tuple of str or None
        The dates of the first and of the last round, where they are known.
    """

    counts: tuple[int, ...]
    missing: int = 0
    order: tuple[int, ...] | None = None
    days: tuple[str, str] | None = None

    @property
    def rounds(self) -> int:
        """How many rounds were played, missing responses included."""
        return sum(self.counts) + self.missing

    def seen(self) -> IntArray:
        """Return the responses that were seen, in order.

        Counts are spread evenly, so that every part of the rounds has about the same shares.

        Examples
        --------
        >>> Told((4, 2)).seen()
        array([0, 1, 0, 0, 1, 0])
        """
        if self.order is not None:
            return np.array([y for y in self.order if y >= 0], dtype=np.int64)
        counts = np.array(self.counts, dtype=np.int64)
        actions = np.repeat(np.arange(len(counts)), counts)
        within = np.arange(len(actions)) - np.repeat(np.cumsum(counts) - counts, counts)
        place = (within + 0.5) / np.repeat(counts, counts)
        return actions[np.lexsort((actions, place))].astype(np.int64)


# Mixes and limits -------------------------------------------------------------------------------


def parse_strategy(
    given: str | Mapping[str, float] | Iterable[float],
    actions: Sequence[str],
    field: str = "played",
) -> FloatArray:
    """Return a mixed strategy that is given by names or in order.

    Examples
    --------
    >>> parse_strategy("inspect=30%, trust=70%", ["inspect", "trust"])
    array([0.3, 0.7])
    >>> parse_strategy("0,25; 0,75", ["inspect", "trust"])
    array([0.25, 0.75])
    >>> parse_strategy("10/30/60", ["a", "b", "c"])
    array([0.1, 0.3, 0.6])
    """
    ratio = isinstance(given, str) and "/" in given
    if isinstance(given, str):
        parts = _split(given)
        if all("=" in part for part in parts):
            pairs = [part.rpartition("=") for part in parts]
            given = {name.strip(): _number(field, p) for name, _, p in pairs}
        else:
            given = [_number(field, part) for part in parts]
    if isinstance(given, Mapping):
        for name in given:
            if name not in actions:
                expected = "names of the principal's actions (" + ", ".join(actions) + ")"
                raise InputError(field, expected, shown(name))
        given = [given.get(action, 0.0) for action in actions]
    x = real_vector(field, given, len(actions))
    total = float(x.sum())
    # Rounded decimals, and percent without their sign.
    if (
        x.min() >= 0
        and total > 0
        and (
            ratio or abs(total - 1) < _ROUNDED or (len(x) > 1 and abs(total - 100) < 100 * _ROUNDED)
        )
    ):
        x = x / total
    return np.array(StrategySpace.simplex(len(actions)).check(field, x))


def _split(given: str) -> list[str]:
    """Return the parts of a list; where they are parted by ; or /, commas are decimal ones."""
    for mark in ";/":
        if mark in given:
            return [part.strip().replace(",", ".") for part in given.split(mark)]
    return [part.strip() for part in given.split(",")]


def parse_constraint(given: str, actions: Sequence[str]) -> Constraint:
    """Return a linear constraint that is written as a sum of actions and a limit.

    Examples
    --------
    >>> constraint = parse_constraint("thorough + 2 light <= 40%", ["thorough", "light", "none"])
    >>> dict(constraint.weights), constraint.at_most
    ({'thorough': 1.0, 'light': 2.0}, 0.4)
    """
    expected = "a sum of actions, <= or >= or =, and a number, as in 'thorough + 2 light <= 0.4'"
    match = re.fullmatch(r"(.+?)(<=|>=|=)([^<>=]+)", given.strip())
    if match is None:
        raise InputError("constraint", expected, shown(given))
    weights: dict[str, float] = {}
    for sign, term in re.findall(r"(^|\s\+\s|\s-\s)(.*?)(?=\s\+\s|\s-\s|$)", match[1].strip()):
        name, weight = term.strip(), 1.0
        if name not in actions:
            factor = re.fullmatch(r"([-+]?[0-9.]+(?:e[-+]?[0-9]+)?)\s*\*?\s*(.+)", name)
            if factor is None or factor[2] not in actions:
                known = "names of the principal's actions (" + ", ".join(actions) + ")"
                raise InputError("constraint", known, shown(name))
            name, weight = factor[2], _number("constraint", factor[1])
        weights[name] = weights.get(name, 0.0) + (-weight if "-" in sign else weight)
    limit = _number("constraint", match[3])
    return Constraint(
        weights,
        at_least=None if match[2] == "<=" else limit,
        at_most=None if match[2] == ">=" else limit,
        name=given.strip(),
    )


def parse_numbers(field: str, given: str) -> FloatArray:
    """Return numbers with commas between them."""
    return real_vector(field, [_number(field, part) for part in _split(given)])


def parse_day(field: str, given: object) -> date:
    """Return a date that is written as 2026-03-14."""
    try:
        if not isinstance(given, str):
            raise ValueError
        return date.fromisoformat(given.strip())
    except ValueError:
        raise InputError(field, "a date as 2026-03-14", shown(given)) from None


def _number(field: str, word: str) -> float:
    plain = word.strip()
    percent = plain.endswith("%")
    try:
        return float(plain.removesuffix("%")) / (100 if percent else 1)
    except ValueError:
        raise InputError(field, "numbers", shown(plain)) from None


# Responses --------------------------------------------------------------------------------------


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
        parts = [part.strip() for part in re.split("[,;]", given)]
        pairs = [part.rpartition("=") for part in parts]
        if all(mark and _is_count(count) for _, mark, count in pairs):
            return _counted([(name.strip(), int(count)) for name, _, count in pairs], actions)
        return _listed(parts, actions)
    if isinstance(given, Mapping):
        return _counted(list(given.items()), actions)
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if not isinstance(given, Iterable):
        raise InputError("responses", "counts or a list of responses", shown(given))
    return _listed(list(given), actions)


def read_responses(
    path: str | os.PathLike[str], actions: Sequence[str], since: date | None = None
) -> Told:
    """Return the responses in a CSV file.

    Its columns are ``response`` and perhaps ``count`` or ``date``. Days between the dates, and
    from ``since`` on, have no record: their responses are missing.
    """
    rows = read_rows(path, ("response",))
    try:
        names = [row["response"] or MISSING for row in rows]
        if "count" in rows[0]:
            if since is not None and "date" in rows[0]:
                raise InputError("columns", "one row a day, or counts without dates", "both")
            return _counted(list(zip(names, _counts(rows), strict=True)), actions)
        if "date" not in rows[0]:
            return _listed(names, actions)
        days = _dates(rows)
        told = _listed([names[i] for i in np.argsort(days, kind="stable")], actions)
        days = sorted(days)
        assert told.order is not None
        order: list[int] = []
        last = None if since is None else since.toordinal() - 1
        for day, y in zip(days, told.order, strict=True):
            order += [-1] * max(day - last - 1, 0) if last is not None else []
            order.append(y)
            last = day
        first = min(days[0], since.toordinal() if since is not None else days[0])
        return _listed(
            [None if y < 0 else y for y in order], actions,
            (date.fromordinal(first).isoformat(), date.fromordinal(days[-1]).isoformat()),
        )  # fmt: skip
    except InputError as error:
        raise error.inside(f"{path}") from None


def read_rows(path: str | os.PathLike[str], required: Sequence[str]) -> list[dict[str, str]]:
    """Return the rows of a CSV file by column; the columns are parted by commas, ; or tabs."""
    content = read_text(path, "a CSV file that can be read")
    head = content.partition("\n")[0]
    mark = max(",;\t", key=head.count)
    try:
        reader = csv.reader(io.StringIO(content, newline=""), delimiter=mark, strict=True)
        columns = [name.strip() for name in next(reader, [])]
        found = [[cell.strip() for cell in line] for line in reader if any(line)]
    except csv.Error as error:
        raise InputError(f"{path}", "a CSV file that can be read", str(error)) from None
    for name in required:
        if columns.count(name) != 1:
            known = "no rows" if not columns else "the columns " + ", ".join(columns)
            raise InputError(f"{path}", f"a column {name}", known)
    if len(set(columns)) < len(columns):
        raise InputError(f"{path}", "distinct columns", ", ".join(columns))
    if not found:
        raise InputError(f"{path}", "at least one row", "no rows")
    for i, line in enumerate(found, start=1):
        if len(line) > len(columns):
            raise InputError(f"{path}: row {i}", f"{len(columns)} cells", f"{len(line)}")
    blank = [""] * len(columns)
    return [dict(zip(columns, [*line, *blank][: len(columns)], strict=True)) for line in found]


def read_log(
    path: str | os.PathLike[str],
    principal_actions: Sequence[str],
    agent_actions: Sequence[str],
    strategy: FloatArray | None = None,
    since: date | None = None,
    until: date | None = None,
) -> tuple[list[tuple[FloatArray, IntArray]], bool]:
    """Return the mixes of an earlier log, each with the counts of its responses.

    Parameters
    ----------
    path : str or path
        A CSV file with a column ``response`` and, unless ``strategy`` is given, columns
        ``strategy_NAME`` or ``strategy_1`` … (the mix in force) or ``action`` (what was done);
        ``count`` and ``date`` are honoured.
    principal_actions, agent_actions : sequences of str
    strategy : array, optional
        The mix that was in force in the whole period.
    since, until : date, optional
        Only these days are read.

    Returns
    -------
    rows, estimated
        Consecutive rounds of a mix are one row; ``estimated`` says that the mix is the share of
        each action in the file.
    """
    rows = read_rows(path, ("response",))
    try:
        if since is not None or until is not None:
            low = 0 if since is None else since.toordinal()
            high = 10**9 if until is None else until.toordinal()
            days = _dates(rows)
            rows = [row for row, day in zip(rows, days, strict=True) if low <= day <= high]
            if not rows:
                raise InputError("column date", "days of the period", "none")
        counts = _counts(rows) if "count" in rows[0] else [1] * len(rows)
        seen = [row["response"] not in ("", MISSING) for row in rows]
        responses = [
            _index(row["response"], agent_actions, "response", i) if there else -1
            for i, (row, there) in enumerate(zip(rows, seen, strict=True), start=1)
        ]
        mixes, estimated = _mixes(rows, counts, principal_actions, strategy)
    except InputError as error:
        raise error.inside(f"{path}") from None
    found: list[tuple[FloatArray, IntArray]] = []
    for h, y, n in zip(mixes, responses, counts, strict=True):
        if not found or not np.array_equal(found[-1][0], h):
            found.append((h, np.zeros(len(agent_actions), dtype=np.int64)))
        if y >= 0:
            found[-1][1][y] += n
    return [row for row in found if row[1].sum()], estimated


def _mixes(
    rows: list[dict[str, str]],
    counts: list[int],
    actions: Sequence[str],
    strategy: FloatArray | None,
) -> tuple[list[FloatArray], bool]:
    """Return the mix in force in each row, and whether it is only the actions' shares."""
    if strategy is not None:
        return [strategy] * len(rows), False
    named = [f"strategy_{name}" for name in actions]
    columns = named if named[0] in rows[0] else [f"strategy_{x + 1}" for x in range(len(actions))]
    if all(column in rows[0] for column in columns):
        return [
            parse_strategy(
                [_number(f"column {c}, row {i}", row[c].replace(",", ".")) for c in columns],
                actions,
                f"row {i}, strategy",
            )
            for i, row in enumerate(rows, start=1)
        ], False
    if "action" not in rows[0]:
        expected = f"{', '.join(named)}, or action, or --strategy MIX"
        raise InputError("columns", expected, ", ".join(rows[0]))
    share = np.zeros(len(actions))
    for i, (row, n) in enumerate(zip(rows, counts, strict=True), start=1):
        share[_index(row["action"], actions, "action", i)] += n
    return [share / share.sum()] * len(rows), True


def _index(word: str, actions: Sequence[str], column: str, row: int) -> int:
    """Return the number of an action that is named, or counted from 1 on."""
    if word in actions:
        return actions.index(word)
    if word.isdecimal() and len(word) < 9 and 1 <= int(word) <= len(actions):
        return int(word) - 1
    expected = f"one of {', '.join(actions)}, or a whole number from 1 to {len(actions)}"
    raise InputError(f"column {column}, row {row}", expected, shown(word))


def _is_count(word: str) -> bool:
    word = word.strip()
    return word.isascii() and word.isdecimal() and len(word) < 12


def _counts(rows: list[dict[str, str]]) -> list[int]:
    for i, row in enumerate(rows, start=1):
        if not _is_count(row["count"]):
            raise InputError(f"column count, row {i}", "a whole number", shown(row["count"]))
    counts = [int(row["count"]) for row in rows]
    if not 1 <= sum(counts) <= _MOST:
        raise InputError("column count", f"1 to {_MOST:,} rounds", f"{sum(counts):,}")
    return counts


def _dates(rows: list[dict[str, str]]) -> list[int]:
    if "date" not in rows[0]:
        raise InputError("columns", "a column date", ", ".join(rows[0]))
    return [
        parse_day(f"column date, row {i}", row["date"][:10]).toordinal()
        for i, row in enumerate(rows, start=1)
    ]


def _counted(pairs: list[tuple[Any, Any]], actions: Sequence[str]) -> Told:
    counts, missing = [0] * len(actions), 0
    for name, count in pairs:
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
            raise InputError(f"responses, count of {name}", "a whole number", shown(count))
        if name == MISSING:
            missing += int(count)
        else:
            counts[_named(name, actions)] += int(count)
    return _of_some_length(Told(tuple(counts), missing))


def _listed(
    entries: list[Any], actions: Sequence[str], days: tuple[str, str] | None = None
) -> Told:
    order = tuple(
        -1 if entry is None or entry == MISSING else _named(entry, actions) for entry in entries
    )
    counts = tuple(order.count(y) for y in range(len(actions)))
    return _of_some_length(Told(counts, order.count(-1), order, days))


def _of_some_length(told: Told) -> Told:
    if not 1 <= told.rounds <= _MOST:
        raise InputError("responses", f"1 to {_MOST:,} rounds", f"{told.rounds:,}")
    return told


def _named(name: Any, actions: Sequence[str]) -> int:
    if isinstance(name, int | np.integer) and not isinstance(name, bool):
        if 0 <= name < len(actions):
            return int(name)
        raise InputError("responses", f"numbers from 0 to {len(actions) - 1}", shown(name))
    if isinstance(name, str) and name in actions:
        return actions.index(name)
    close = difflib.get_close_matches(str(name), actions, n=1)
    hint = f"(perhaps {close[0]!r})" if close else f"({', '.join(actions)})"
    raise InputError("responses", f"names of the agent's actions {hint}", shown(name))


def days_of(first: date, before: int, rounds: int) -> tuple[str, str]:
    """Return the dates of the next rounds of a campaign in which a round is a day."""
    start = first + timedelta(days=before)
    return start.isoformat(), (start + timedelta(days=max(rounds, 1) - 1)).isoformat()
