"""Forecasts from a file: CSV or Parquet, one row a round, in order of time.

Columns of a yes/no event:

- ``forecast``: the probability that was forecast;
- ``outcome``: 1 or 0 (or true/false, yes/no) for what happened.

Columns of an event with m possible outcomes:

- ``forecast_1`` … ``forecast_m``: the probabilities;
- ``outcome_1`` … ``outcome_m``: the mixed strategy or the draw; *or*
- ``outcome``: a whole number 1..m for what happened.

Columns for the bins, optional:

- ``bin``: a label of any kind (a word, a number), or
- ``bin_1`` … ``bin_n``: weights that sum to one.

Without them, the bins are the decisions that a threshold takes from the probability of a yes/no
event, and the most likely outcome otherwise. Other columns are left alone. Rows of probabilities
or weights that miss one by less than 0.01 are taken for rounded decimals and scaled to sum to one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError, shown
from stackcast.calibration.certificate import ForecastCertificate, certify
from stackcast.calibration.errors import decision_bins

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl

    from stackcast._validation import FloatArray

_DECIMALS = 0.01
_YES = {"1", "1.0", "true", "yes", "t", "y"}
_NO = {"0", "0.0", "false", "no", "f", "n"}


@dataclass(frozen=True, eq=False)
class ForecastTable:
    """Outcomes and forecasts as they stand in a file; ``bins`` is None if it has no such columns.

    ``bin_names`` gives the label in the file for each bin's number.
    """

    outcomes: FloatArray
    forecasts: FloatArray
    bins: FloatArray | None
    bin_names: Mapping[int, str]
    source: str

    @property
    def yes_no(self) -> bool:
        """Whether forecasts are single probabilities of a yes/no event."""
        return self.forecasts.ndim == 1


def read_forecasts(path: str | Path) -> ForecastTable:
    """Read outcomes, forecasts and bins from a CSV or Parquet file with the columns named above."""
    place = Path(path)
    try:
        return _table(_frame(place), place.name)
    except InputError as error:
        raise error.inside(place.name) from None


def certify_forecasts(
    path: str | Path,
    threshold: float | Sequence[float] | None = None,
    lengths: Iterable[int] | None = None,
    rate: Any = None,
    width: float = 0.05,
    shortest: int = 1,
    level: float = 0.05,
) -> ForecastCertificate:
    r"""Certify or refute the calibration of the forecasts in a file, on every interval of time.

    Parameters
    ----------
    path : str or Path
        A CSV or Parquet file with the columns of this module.
    threshold : float or increasing floats, optional
        Bins a yes/no event by the decision that the threshold takes; ½ if the file has no bins.
    lengths, rate, width, shortest, level
        As for :func:`~stackcast.calibration.certify`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> rows = ["forecast,outcome"] + ["0.9,1", "0.9,0"] * 500
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rain.csv"
    ...     _ = path.write_text("\n".join(rows))
    ...     certificate = certify_forecasts(path, threshold=0.5, lengths=[100])
    >>> certificate.verdict, round(certificate.profile.errors[100], 3)
    ('refuted', 0.4)
    """
    table = read_forecasts(path)
    if threshold is not None and not table.yes_no:
        raise InputError("threshold", "a column forecast of one probability", "several columns")
    if threshold is None and table.bins is not None:
        bins, bin_names = table.bins, dict(table.bin_names)
    elif table.yes_no:
        edges = np.atleast_1d(np.asarray(0.5 if threshold is None else threshold, np.float64))
        bins = decision_bins(table.forecasts, edges).astype(np.float64)
        bin_names = {0: f"forecast below {edges[0]:g}"} | {
            i + 1: f"forecast from {edge:g} on" for i, edge in enumerate(edges)
        }
    else:
        bins = np.argmax(table.forecasts, axis=1).astype(np.float64)
        bin_names = {i: f"forecast_{i + 1} is the largest" for i in range(table.forecasts.shape[1])}
    return certify(
        table.outcomes,
        table.forecasts,
        bins,
        lengths=lengths,
        rate=rate,
        width=width,
        shortest=shortest,
        level=level,
        bin_names=bin_names,
        source=table.source,
    )


def _frame(path: Path) -> pl.DataFrame:
    try:
        import polars as pl
    except ImportError:
        raise InputError(
            "forecasts", "polars to read tables (pip install 'stackcast[tables]')", "none"
        ) from None
    kind = path.suffix.lower()
    if kind not in (".csv", ".parquet"):
        raise InputError("name", "a file that ends in .csv or .parquet", shown(kind))
    if not path.is_file():
        raise InputError("file", "a file that exists", "none")
    try:
        if kind == ".csv":
            frame = pl.read_csv(path, infer_schema_length=None, try_parse_dates=False)
        else:
            frame = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError("file", f"a {kind[1:]} table", shown(str(error).splitlines()[0])) from None
    if frame.height == 0:
        raise InputError("file", "at least one row below the names of the columns", "none")
    return frame


def _table(frame: pl.DataFrame, source: str) -> ForecastTable:
    forecast_columns = _numbered(frame, "forecast")
    if "forecast" in frame.columns and forecast_columns:
        raise InputError("columns", "forecast or forecast_1, forecast_2 …", "both")
    if "forecast" in frame.columns:
        forecasts = _probabilities(frame, ["forecast"])[:, 0]
        outcomes = _yes_no(frame, "outcome")
    elif forecast_columns:
        forecasts = _probabilities(frame, forecast_columns)
        outcomes = _outcomes(frame, forecasts.shape[1])
    else:
        raise InputError(
            "columns", "a column forecast, or forecast_1, forecast_2 …", ", ".join(frame.columns)
        )
    bins, bin_names = _bins(frame)
    return ForecastTable(outcomes, forecasts, bins, bin_names, source)


def _outcomes(frame: pl.DataFrame, count: int) -> FloatArray:
    columns = _numbered(frame, "outcome")
    if columns:
        if len(columns) != count:
            raise InputError("columns", f"outcome_1 … outcome_{count}", f"{len(columns)} of them")
        return _probabilities(frame, columns)
    labels = _floats(frame, "outcome")
    wrong = np.flatnonzero((labels != np.floor(labels)) | (labels < 1) | (labels > count))
    if wrong.size:
        expected = f"a whole number from 1 to {count}, one for each forecast column"
        raise InputError(_row("outcome", wrong[0]), expected, shown(labels[wrong[0]]))
    return labels - 1


def _bins(frame: pl.DataFrame) -> tuple[FloatArray | None, dict[int, str]]:
    columns = _numbered(frame, "bin")
    if columns:
        return _probabilities(frame, columns), dict(enumerate(columns))
    if "bin" not in frame.columns:
        return None, {}
    _refuse_missing(frame, "bin")
    texts = [str(value) for value in frame["bin"].to_list()]
    kinds = sorted(set(texts), key=lambda text: (len(text), text) if text.isdigit() else (99, text))
    numbers = {text: i for i, text in enumerate(kinds)}
    return np.array([float(numbers[text]) for text in texts]), dict(enumerate(kinds))


def _numbered(frame: pl.DataFrame, stem: str) -> list[str]:
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


def _floats(frame: pl.DataFrame, name: str) -> FloatArray:
    _refuse_missing(frame, name)
    column = frame[name]
    if not column.dtype.is_numeric():
        number = column.cast(str, strict=False).str.strip_chars().cast(float, strict=False)
        if number.null_count():
            where = int(np.argmax(number.is_null().to_numpy()))
            raise InputError(_row(name, where), "a number", shown(column[where]))
        column = number
    values = column.to_numpy().astype(np.float64)
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        raise InputError(_row(name, wrong[0]), "a finite number", shown(float(values[wrong[0]])))
    return values


def _probabilities(frame: pl.DataFrame, names: list[str]) -> FloatArray:
    table = np.column_stack([_floats(frame, name) for name in names])
    wrong = np.argwhere((table < 0) | (table > 1))
    if wrong.size:
        t, j = wrong[0]
        raise InputError(_row(names[j], t), "a number from 0 to 1", shown(table[t, j]))
    if len(names) == 1:
        return table
    sums = table.sum(axis=1, keepdims=True)
    off = np.flatnonzero(np.abs(sums - 1) > _DECIMALS)
    if off.size:
        field = f"columns {names[0]} … {names[-1]}, row {off[0] + 1}"
        raise InputError(field, "numbers that sum to 1", f"a sum of {sums[off[0], 0]:.6g}")
    return np.asarray(table / sums)


def _yes_no(frame: pl.DataFrame, name: str) -> FloatArray:
    _refuse_missing(frame, name)
    column = frame[name]
    if column.dtype.is_numeric():
        return _probabilities(frame, [name])[:, 0]
    words = [str(value).strip().lower() for value in column.to_list()]
    values = np.array([1.0 if word in _YES else 0.0 if word in _NO else np.nan for word in words])
    wrong = np.flatnonzero(np.isnan(values))
    if wrong.size:
        raise InputError(_row(name, wrong[0]), "1 or 0, yes or no", shown(column[int(wrong[0])]))
    return values


def _refuse_missing(frame: pl.DataFrame, name: str) -> None:
    if name not in frame.columns:
        raise InputError("columns", f"a column {name}", ", ".join(frame.columns))
    if frame[name].null_count():
        where = int(np.argmax(frame[name].is_null().to_numpy()))
        raise InputError(_row(name, where), "a value", "nothing")


def _row(name: str, where: Any) -> str:
    return f"column {name}, row {int(where) + 1}"
