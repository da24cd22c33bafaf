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

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._tables import read_frame
from stackcast._validation import InputError, shown
from stackcast.calibration.certificate import ForecastCertificate, certify
from stackcast.calibration.columns import (
    float_column,
    numbered_columns,
    probability_columns,
    refuse_missing,
    row_of,
)
from stackcast.calibration.errors import decision_bins

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl

    from stackcast._validation import FloatArray

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
        return _table(read_frame(place), place.name)
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


def _table(frame: pl.DataFrame, source: str) -> ForecastTable:
    forecast_columns = numbered_columns(frame, "forecast")
    if "forecast" in frame.columns and forecast_columns:
        raise InputError("columns", "forecast or forecast_1, forecast_2 …", "both")
    if "forecast" in frame.columns:
        forecasts = probability_columns(frame, ["forecast"])[:, 0]
        outcomes = _yes_no(frame, "outcome")
    elif forecast_columns:
        forecasts = probability_columns(frame, forecast_columns)
        outcomes = _outcomes(frame, forecasts.shape[1])
    else:
        raise InputError(
            "columns", "a column forecast, or forecast_1, forecast_2 …", ", ".join(frame.columns)
        )
    bins, bin_names = _bins(frame)
    return ForecastTable(outcomes, forecasts, bins, bin_names, source)


def _outcomes(frame: pl.DataFrame, count: int) -> FloatArray:
    columns = numbered_columns(frame, "outcome")
    if columns:
        if len(columns) != count:
            raise InputError("columns", f"outcome_1 … outcome_{count}", f"{len(columns)} of them")
        return probability_columns(frame, columns)
    labels = float_column(frame, "outcome")
    wrong = np.flatnonzero((labels != np.floor(labels)) | (labels < 1) | (labels > count))
    if wrong.size:
        expected = f"a whole number from 1 to {count}, one for each forecast column"
        raise InputError(row_of("outcome", wrong[0]), expected, shown(labels[wrong[0]]))
    return labels - 1


def _bins(frame: pl.DataFrame) -> tuple[FloatArray | None, dict[int, str]]:
    columns = numbered_columns(frame, "bin")
    if columns:
        return probability_columns(frame, columns), dict(enumerate(columns))
    if "bin" not in frame.columns:
        return None, {}
    refuse_missing(frame, "bin")
    texts = [str(value) for value in frame["bin"].to_list()]
    kinds = sorted(set(texts), key=lambda text: (len(text), text) if text.isdigit() else (99, text))
    numbers = {text: i for i, text in enumerate(kinds)}
    return np.array([float(numbers[text]) for text in texts]), dict(enumerate(kinds))


def _yes_no(frame: pl.DataFrame, name: str) -> FloatArray:
    refuse_missing(frame, name)
    column = frame[name]
    if column.dtype.is_numeric():
        return probability_columns(frame, [name])[:, 0]
    words = [str(value).strip().lower() for value in column.to_list()]
    values = np.array([1.0 if word in _YES else 0.0 if word in _NO else np.nan for word in words])
    wrong = np.flatnonzero(np.isnan(values))
    if wrong.size:
        raise InputError(row_of(name, wrong[0]), "1 or 0, yes or no", shown(column[int(wrong[0])]))
    return values
