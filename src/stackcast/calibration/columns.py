"""Columns of a user's table (CSV or Parquet), every mistake one sentence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError, shown

if TYPE_CHECKING:
    import polars as pl

    from stackcast._validation import FloatArray

#: Rows of probabilities that miss one by less than this are taken for rounded decimals.
_DECIMALS = 0.01


def numbered_columns(frame: pl.DataFrame, stem: str) -> list[str]:
    """Return the columns stem_1, stem_2 … in order; a gap in the numbers is a mistake."""
    found = {
        int(match[1]): name
        for name in frame.columns
        if (match := re.fullmatch(stem + r"_(\d+)", name))
    }
    missing = set(range(1, len(found) + 1)) - set(found)
    if missing:
        raise InputError("columns", f"{stem}_1 to {stem}_{len(found)}", f"no {stem}_{min(missing)}")
    return [found[i] for i in sorted(found)]


def float_column(frame: pl.DataFrame, name: str) -> FloatArray:
    """Return a column of finite numbers."""
    refuse_missing(frame, name)
    column = frame[name]
    if not column.dtype.is_numeric():
        number = column.cast(str, strict=False).str.strip_chars().cast(float, strict=False)
        if number.null_count():
            where = int(np.argmax(number.is_null().to_numpy()))
            raise InputError(row_of(name, where), "a number", shown(column[where]))
        column = number
    values = column.to_numpy().astype(np.float64)
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        raise InputError(row_of(name, wrong[0]), "a finite number", shown(float(values[wrong[0]])))
    return values


def probability_columns(frame: pl.DataFrame, names: list[str]) -> FloatArray:
    """Return columns of numbers from 0 to 1, scaled to sum to one if there are several."""
    table = np.column_stack([float_column(frame, name) for name in names])
    wrong = np.argwhere((table < 0) | (table > 1))
    if wrong.size:
        t, j = wrong[0]
        raise InputError(row_of(names[j], t), "a number from 0 to 1", shown(table[t, j]))
    if len(names) == 1:
        return table
    sums = table.sum(axis=1, keepdims=True)
    off = np.flatnonzero(np.abs(sums - 1) > _DECIMALS)
    if off.size:
        field = f"columns {names[0]} … {names[-1]}, row {off[0] + 1}"
        raise InputError(field, "numbers that sum to 1", f"a sum of {sums[off[0], 0]:.6g}")
    return np.asarray(table / sums)


def refuse_missing(frame: pl.DataFrame, name: str) -> None:
    """Refuse a table without this column, or with a gap in it."""
    if name not in frame.columns:
        raise InputError("columns", f"a column {name}", ", ".join(frame.columns))
    if frame[name].null_count():
        where = int(np.argmax(frame[name].is_null().to_numpy()))
        raise InputError(row_of(name, where), "a value", "nothing")


def row_of(name: str, where: Any) -> str:
    """Return what to call a cell of a table."""
    return f"column {name}, row {int(where) + 1}"
