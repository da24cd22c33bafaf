"""Forecasts in a table: a CSV or Parquet file, a data frame, or arrays by name; one row a round.

Rows are in order of time. Columns of a yes/no event:

- ``forecast``: the probability that was forecast;
- ``outcome``: 1 or 0 (or true/false, yes/no) for what happened.

Columns of an event with m possible outcomes:

- ``forecast_1`` … ``forecast_m``, or ``forecast_<name>`` for each class: the probabilities;
- ``outcome``: the number 1..m or the name of what happened; *or*
- ``outcome_1`` … ``outcome_m`` (``outcome_<name>``): the mixed strategy or the draw.

Optional columns: ``bin``, a label of any kind, or weights ``bin_1`` … ``bin_n`` that sum to one;
and ``date`` (or ``datetime``, ``time``, ``timestamp``), by which rounds are then named.
Columns of other names are named by the caller. The rest is left alone. Rows of probabilities or
weights that miss one by less than 0.01 are taken for rounded decimals and scaled to sum to one.

A table is anything that gives a column by its name: pandas, polars, PyArrow, a structured array of
NumPy, a mapping of names to arrays. Only files need polars.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stackcast._tables import read_frame
from stackcast._validation import InputError, shown

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray

#: Rows of probabilities that miss one by less than this are taken for rounded decimals.
_DECIMALS = 0.01

_WORDS = {"1": 1.0, "true": 1.0, "yes": 1.0, "t": 1.0, "y": 1.0} | {
    "0": 0.0, "false": 0.0, "no": 0.0, "f": 0.0, "n": 0.0
}  # fmt: skip
_NOTHING = ("nan", "NaT", "<NA>")
_DATES = ("date", "datetime", "timestamp", "time")


class Layout(NamedTuple):
    """Which columns hold forecasts and outcomes, and the classes; none for a yes/no event."""

    forecasts: list[str]
    outcomes: list[str]
    classes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ForecastTable:
    """Outcomes and forecasts as they stand in a table; ``bins`` is None if it has no such columns.

    ``bin_names`` gives the label in the table for each bin's number, ``classes`` the names of the
    outcomes (none for a yes/no event), ``dates`` the words for rounds (none without such a column).
    """

    outcomes: FloatArray
    forecasts: FloatArray
    bins: FloatArray | None
    bin_names: Mapping[int, str]
    source: str = ""
    classes: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()

    @property
    def yes_no(self) -> bool:
        """Whether forecasts are single probabilities of a yes/no event."""
        return self.forecasts.ndim == 1


def read_forecasts(
    source: Any,
    *,
    forecast: str | Sequence[str] | None = None,
    outcome: str | Sequence[str] | None = None,
    date: str | None = None,
) -> ForecastTable:
    """Read outcomes, forecasts, bins and dates from a file or a table.

    Parameters
    ----------
    source : str, Path or table
    forecast, outcome : str or list of str, optional
        The columns, if they have other names than those of this module: one for a yes/no event,
        several in the order of the classes.
    date : str, optional
        The column that dates rounds.

    Examples
    --------
    >>> table = {"p": [0.2, 0.9], "rain": ["no", "yes"], "date": ["2025-03-01", "2025-03-02"]}
    >>> read = read_forecasts(table, forecast="p", outcome="rain")
    >>> read.outcomes.tolist(), read.dates
    ([0.0, 1.0], ('2025-03-01', '2025-03-02'))
    """
    if not isinstance(source, str | os.PathLike):
        return _read(source, "", forecast, outcome, date)
    place = Path(source)
    try:
        return _read(read_frame(place), place.name, forecast, outcome, date)
    except InputError as error:
        raise error.inside(place.name) from None


def _read(frame: Any, source: str, forecast: Any, outcome: Any, date: str | None) -> ForecastTable:
    names = column_names(frame)
    columns = layout(names, forecast, outcome)
    forecasts = probability_columns(frame, columns.forecasts)
    if not columns.classes:
        forecasts, outcomes = forecasts[:, 0], _yes_no(frame, columns.outcomes[0])
    elif len(columns.outcomes) > 1:
        outcomes = probability_columns(frame, columns.outcomes)
    else:
        outcomes = _labels(frame, columns)
    bins, bin_names = _bins(frame, names)
    if date is None:
        date = next((name for name in names if name.lower() in _DATES), None)
    dates = () if date is None else _dates(frame, date)
    return ForecastTable(outcomes, forecasts, bins, bin_names, source, columns.classes, dates)


def layout(
    names: list[str],
    forecast: str | Sequence[str] | None = None,
    outcome: str | Sequence[str] | None = None,
) -> Layout:
    """Return which columns hold what, by the names of the columns or as the caller says."""
    told = [forecast] if isinstance(forecast, str) else list(forecast or [])
    for name in told:
        _require(names, name)
    named = told or _stem(names, "forecast")
    if "forecast" in names and not told and any(re.fullmatch(r"forecast_\d+", n) for n in named):
        raise InputError("columns", "forecast or forecast_1, forecast_2 …", "both")
    if "forecast" in names and not told:
        named = ["forecast"]
    if not named:
        expected = "a column forecast, or forecast_1, forecast_2 …, or their names given"
        raise InputError("columns", expected, ", ".join(names) or "no names")
    classes: tuple[str, ...] = ()
    if len(named) > 1:
        ends = [0, *(match.end() for match in re.finditer(r"[_ .:]", named[0]))]
        if not told:
            ends = ends[:2]
        end = max(e for e in ends if all(name.startswith(named[0][:e]) for name in named))
        classes = tuple(name[end:] for name in named)
    given = [outcome] if isinstance(outcome, str) else list(outcome or [])
    for name in given:
        _require(names, name)
    if not given:
        given = [f"outcome_{name}" for name in classes]
        if not classes or not set(given) <= set(names):
            given = ["outcome"]
            several = _stem(names, "outcome")
            if classes and several and "outcome" not in names:
                expected = f"outcome_{classes[0]} … outcome_{classes[-1]}"
                raise InputError("columns", expected, f"{len(several)} of them")
        _require(names, given[0])
    if len(given) not in (1, len(named)):
        raise InputError("outcome", f"one column, or {len(named)} of them", f"{len(given)}")
    return Layout(named, given, classes)


def column_names(table: Any) -> list[str]:
    """Return the names of a table's columns; none for plain arrays."""
    names = getattr(getattr(table, "dtype", None), "names", None)  # a structured array
    if names is None:
        names = getattr(table, "column_names", getattr(table, "columns", ()))
        names = table.keys() if isinstance(table, Mapping) else names
    return [str(name) for name in names] if isinstance(names, Iterable) else []


def array_of(field: str, value: Any) -> npt.NDArray[Any]:
    """Return an array, or the columns of a table beside each other; numbers where they are."""
    names = column_names(value)
    try:
        if names:
            array = np.column_stack([np.asarray(value[name]) for name in names])
        else:
            array = np.asarray(value)
    except (KeyError, ValueError):
        raise InputError(field, "rows of equal length", "rows of different lengths") from None
    if array.dtype.kind == "O":
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError):
            pass
    return array


def numbered_columns(frame: Any, stem: str) -> list[str]:
    """Return the columns stem_1, stem_2 … in order; a gap in the numbers is a mistake."""
    pattern = re.compile(re.escape(stem) + r"_(\d+)")
    matches = ((pattern.fullmatch(name), name) for name in column_names(frame))
    found = {int(match[1]): name for match, name in matches if match}
    missing = set(range(1, len(found) + 1)) - set(found)
    if missing:
        raise InputError("columns", f"{stem}_1 to {stem}_{len(found)}", f"no {stem}_{min(missing)}")
    return [found[i] for i in sorted(found)]


def _stem(names: list[str], stem: str) -> list[str]:
    """Return the columns stem_1 … stem_m, or stem_<name> if none has a number."""
    numbered = numbered_columns(dict.fromkeys(names), stem)
    return numbered or [name for name in names if name.startswith(f"{stem}_")]


def column_of(frame: Any, name: str) -> npt.NDArray[Any]:
    """Return a column without gaps."""
    _require(column_names(frame), name)
    column = np.asarray(frame[name])
    empty = column != column  # NaN, and missing dates
    if column.dtype.kind == "O":
        empty = np.array([value is None or str(value) in _NOTHING for value in column])
    if empty.any():
        raise InputError(row_of(name, np.argmax(empty)), "a value", "nothing")
    return column


def refuse_missing(frame: Any, name: str) -> None:
    """Refuse a table without this column, or with a gap in it."""
    column_of(frame, name)


def float_column(frame: Any, name: str) -> FloatArray:
    """Return a column of finite numbers."""
    column = column_of(frame, name)
    if column.dtype.kind not in "fiub":
        texts, column = column, np.empty(len(column))
        for row, value in enumerate(texts):
            try:
                column[row] = float(value)
            except (TypeError, ValueError):
                raise InputError(row_of(name, row), "a number", shown(value)) from None
    values = column.astype(np.float64)
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        raise InputError(row_of(name, wrong[0]), "a finite number", shown(float(values[wrong[0]])))
    return values


def probability_columns(frame: Any, names: list[str]) -> FloatArray:
    """Return columns of numbers from 0 to 1, scaled to sum to one if there are several."""
    table = np.column_stack([float_column(frame, name) for name in names])
    wrong = np.argwhere((table < 0) | (table > 1))
    if wrong.size:
        t, j = wrong[0]
        percent = 1 < table.max() <= 100 and table.min() >= 0
        expected = "a number from 0 to 1" + (" (percent: divide by 100)" if percent else "")
        raise InputError(row_of(names[j], t), expected, shown(float(table[t, j])))
    if len(names) == 1:
        return table
    sums = table.sum(axis=1, keepdims=True)
    off = np.flatnonzero(np.abs(sums - 1) > _DECIMALS)
    if off.size:
        field = f"columns {names[0]} … {names[-1]}, row {off[0] + 1}"
        raise InputError(field, "numbers that sum to 1", f"a sum of {sums[off[0], 0]:.6g}")
    return np.asarray(table / sums)


def row_of(name: str, where: Any) -> str:
    """Return what to call a cell of a table, counted from 1."""
    return f"column {name}, row {int(where) + 1}"


def class_number(value: Any, columns: Layout) -> float | None:
    """Return the number of the class that a cell names, from 0 on; None if it names none."""
    word = f"{value:g}" if isinstance(value, float | np.floating) else str(value).strip()
    for known in (columns.classes, columns.forecasts):
        if word in known:
            return float(known.index(word))
    return None


def classes_said(columns: Layout) -> str:
    """Return which classes a cell may name, in words."""
    if columns.classes == tuple(str(i + 1) for i in range(len(columns.classes))):
        count = len(columns.classes)
        return f"a whole number from 1 to {count}, one for each forecast column"
    return "one of " + ", ".join(shown(name) for name in columns.classes[:12])


def yes_or_no(value: Any) -> float | None:
    """Return 1 or 0 for a word that says yes or no, else None."""
    return _WORDS.get(str(value).strip().lower().removesuffix(".0"))


def _labels(frame: Any, columns: Layout) -> FloatArray:
    (name,) = columns.outcomes
    column = column_of(frame, name)
    kinds: dict[Any, float | None] = {}
    labels = np.empty(len(column))
    for row, value in enumerate(column.tolist()):
        if value not in kinds:
            kinds[value] = class_number(value, columns)
        number = kinds[value]
        if number is None:
            raise InputError(row_of(name, row), classes_said(columns), shown(value))
        labels[row] = number
    return labels


def _yes_no(frame: Any, name: str) -> FloatArray:
    column = column_of(frame, name)
    if column.dtype.kind in "fiub":
        return probability_columns(frame, [name])[:, 0]
    values = np.empty(len(column))
    for row, value in enumerate(column.tolist()):
        found = yes_or_no(value)
        if found is None:
            raise InputError(row_of(name, row), "1 or 0, yes or no", shown(value))
        values[row] = found
    return values


def _bins(frame: Any, names: list[str]) -> tuple[FloatArray | None, dict[int, str]]:
    columns = numbered_columns(frame, "bin")
    if columns:
        return probability_columns(frame, columns), dict(enumerate(columns))
    if "bin" not in names:
        return None, {}
    texts = [str(value) for value in column_of(frame, "bin").tolist()]
    kinds = sorted(set(texts), key=lambda text: (len(text), text) if text.isdigit() else (99, text))
    numbers = {text: i for i, text in enumerate(kinds)}
    return np.array([float(numbers[text]) for text in texts]), dict(enumerate(kinds))


def _dates(frame: Any, name: str) -> tuple[str, ...]:
    column = column_of(frame, name)
    if column.dtype.kind == "M":
        whole = (column == column.astype("datetime64[D]")).all()
        column = column.astype("datetime64[D]" if whole else "datetime64[s]")
    dates = tuple(str(value).strip().removesuffix(" 00:00:00") for value in column)
    if all(re.match(r"\d{4}-\d\d-\d\d", date) for date in dates):
        for row in range(1, len(dates)):
            if dates[row] < dates[row - 1]:
                found = f"{shown(dates[row])} after {shown(dates[row - 1])}"
                raise InputError(row_of(name, row), "rows in order of time", found)
    return dates


def _require(names: list[str], name: str) -> None:
    if name not in names:
        raise InputError("columns", f"a column {name}", ", ".join(names))
