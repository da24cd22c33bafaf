"""A certificate for forecasts that were made elsewhere: within the rate, refuted, or neither."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from stackcast._validation import InputError
from stackcast.calibration.errors import decision_bins, forecast_record
from stackcast.calibration.profile import CalibrationProfile, WorstInterval, calibration_profile
from stackcast.calibration.rates import SecondOrderRate
from stackcast.calibration.sequential_test import SequentialTest, sequential_calibration_test
from stackcast.calibration.tables import ForecastTable, read_forecasts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Verdict = Literal["calibrated within rate", "refuted", "not refuted"]


@dataclass(frozen=True, eq=False, repr=False)
class ForecastCertificate:
    """What a record of forecasts and outcomes proves.

    The verdict is

    - ``"calibrated within rate"`` if the error is within the rate on every interval;
    - otherwise, where outcomes are draws, ``"refuted"`` if a bettor against the forecasts ever had
      1/level times the money that he began with, which right forecasts let happen with a chance of
      at most ``level``, and ``"not refuted"`` if not;
    - otherwise, where outcomes are strategies and carry no noise, ``"refuted"`` if some interval
      exceeds the rate, and ``"not refuted"`` if the bracket is too wide to tell.

    Attributes
    ----------
    verdict : str
    profile : CalibrationProfile
    test : SequentialTest or None
        The bettor; None where outcomes are strategies.
    bin_names : mapping of int to str
        What each bin stands for.
    source : str
        Where the record came from.
    classes : tuple of str
        The names of the outcomes, where they have names.
    dates : tuple of str
        What to call the rounds; none: rounds are counted from 1.
    """

    verdict: Verdict
    profile: CalibrationProfile
    test: SequentialTest | None
    bin_names: Mapping[int, str]
    source: str = ""
    classes: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"ForecastCertificate({self.verdict!r}, {self.profile!r})"

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain numbers, lists and tables for JSON."""
        return {
            "verdict": self.verdict,
            "source": self.source,
            "bin_names": {str(i): name for i, name in self.bin_names.items()},
            "test": None if self.test is None else self.test.to_dict(),
            "profile": self.profile.to_dict(),
        }

    def sentences(self) -> list[str]:
        """Return the verdict and its reasons, a sentence each; rounds and bins count from 1."""
        profile, at = self.profile, self.profile.worst_ratio
        said = f"{self.when(at)}: forecasts {self.where(at)} were {at.direction} on average, an "
        told = [
            f"Verdict: {self.verdict}.",
            f"{said[0].upper()}{said[1:]}error of {at.error:.4g}, "
            f"{profile.lower:.3g} times what the rate allows there.",
            f"Over {profile.covered}, the largest error "
            f"divided by the rate lies between {profile.lower:.4g} and {profile.upper:.4g}.",
            f"Over the whole record: largest error of a bin {profile.largest_bin_error:.4g}, "
            f"sum over bins {profile.total_error:.4g}, "
            f"Foster–Vohra score {profile.foster_vohra:.4g}.",
        ]
        return [*told, *self.test_sentences()]

    def test_sentences(self) -> list[str]:
        """Return what the sequential test found in a sentence; none where there was no test."""
        if self.test is None:
            return []
        at = self.test.interval
        return [self.test.sentence(self.where(at), self.when(at))]

    def where(self, at: WorstInterval) -> str:
        """Return the bin, and the outcome if there are several, in words."""
        name = self.bin_names.get(at.bin)
        place = f"in bin {at.bin + 1}" if name is None else f"in bin “{name}”"
        if self.profile.coordinates == 1:
            return place
        outcome = self.classes[at.coordinate] if self.classes else f"outcome {at.coordinate + 1}"
        return f"of {outcome} {place}"

    def when(self, at: WorstInterval) -> str:
        """Return the rounds of an interval, counted from 1, or its dates."""
        if self.dates:
            return f"{self.dates[at.start]} to {self.dates[at.stop - 1]} ({at.length:,} rounds)"
        return f"rounds {at.start + 1:,}–{at.stop:,}"


def certify_forecasts(
    source: Any,
    threshold: float | Sequence[float] | None = None,
    lengths: Iterable[int] | None = None,
    rate: Any = None,
    width: float = 0.05,
    shortest: int = 1,
    level: float = 0.05,
    *,
    forecast: str | Sequence[str] | None = None,
    outcome: str | Sequence[str] | None = None,
    date: str | None = None,
) -> ForecastCertificate:
    """Certify or refute the calibration of the forecasts in a file or table, on every interval.

    Parameters
    ----------
    source : str, Path or table
        A CSV or Parquet file, or a table with names of columns (pandas, polars, NumPy, a mapping),
        as :mod:`stackcast.calibration.tables` describes them; or what ``read_forecasts`` returned.
    threshold : float or increasing floats, optional
        Bins a yes/no event by the decision that the threshold takes; ½ if the table has no bins.
    lengths, rate, width, shortest, level
        As for :func:`~stackcast.calibration.certify`.
    forecast, outcome, date : str or list of str, optional
        The columns, as for :func:`~stackcast.calibration.read_forecasts`.

    Examples
    --------
    >>> table = {"chance": [0.9] * 1000, "rain": ["yes", "no"] * 500}
    >>> certificate = certify_forecasts(table, lengths=[100], forecast="chance", outcome="rain")
    >>> certificate.verdict, certificate.profile.worst_ratio.direction
    ('refuted', 'too high by 0.4')
    """
    table = source
    if not isinstance(table, ForecastTable):
        table = read_forecasts(source, forecast=forecast, outcome=outcome, date=date)
    if threshold is not None and not table.yes_no:
        raise InputError("threshold", "one column of probabilities", "several columns")
    bins, bin_names = table_bins(table, threshold)
    return certify(
        table.outcomes, table.forecasts, bins, lengths, rate, width, shortest, level,
        bin_names=bin_names, source=table.source, classes=table.classes, dates=table.dates,
    )  # fmt: skip


def table_bins(table: ForecastTable, threshold: Any = None) -> tuple[Any, dict[int, str]]:
    """Return the bins of a table, its own or those of the decisions, and their names."""
    if threshold is None and table.bins is not None:
        return table.bins, dict(table.bin_names)
    if not table.yes_no:
        names = {i: f"{name} is the likeliest" for i, name in enumerate(table.classes)}
        return np.argmax(table.forecasts, axis=1), names
    edges = np.atleast_1d(0.5 if threshold is None else threshold)
    names = {i + 1: f"forecast from {edge:g} on" for i, edge in enumerate(edges)}
    return decision_bins(table.forecasts, edges), {0: f"forecast below {edges[0]:g}"} | names


def certify(
    outcomes: Any,
    forecasts: Any = None,
    bins: Any = None,
    lengths: Iterable[int] | None = None,
    rate: Any = None,
    width: float = 0.05,
    shortest: int = 1,
    level: float = 0.05,
    draws: bool | None = None,
    bin_names: Mapping[int, str] | None = None,
    source: str = "",
    classes: Iterable[str] = (),
    dates: Iterable[str] = (),
) -> ForecastCertificate:
    """Certify or refute the calibration of forecasts on every interval of time.

    Parameters
    ----------
    outcomes, forecasts, bins, lengths, rate, width, shortest
        As for :func:`~stackcast.calibration.calibration_profile`, but the rate is by default the
        :class:`~stackcast.calibration.SecondOrderRate` of a forecaster by betting. Where a bracket
        does not tell on which side of the rate the record lies, it is made narrower than ``width``.
    level : float
        The chance of ``"refuted"`` for forecasts whose outcomes are drawn from them, at most.
    draws : bool, optional
        Whether outcomes are draws (with noise) or strategies (without); by default they are draws
        if every one of them is pure.
    bin_names, source, classes, dates
        Names for the words of the certificate.

    Examples
    --------
    >>> certify([1, 0] * 500, [0.5] * 1000, bins=[0] * 1000).verdict
    'calibrated within rate'
    >>> certify([1, 0] * 500, [0.9] * 1000, bins=[0] * 1000).verdict
    'refuted'
    """
    record = forecast_record(outcomes, forecasts, bins)
    if rate is None:
        rate = SecondOrderRate(record.bins, record.actions)
    if draws is None:
        pure = ((record.outcomes == 0) | (record.outcomes == 1)).all()
        draws = bool(pure and (record.yes_no or (record.outcomes.sum(axis=1) == 1).all()))
    profile = calibration_profile(record, None, None, lengths, rate, width, shortest)
    while profile.within_rate is None and width > 1e-6:  # a verdict needs a bracket on one side
        width /= 50
        profile = calibration_profile(record, None, None, lengths, rate, width, shortest)
    test = sequential_calibration_test(record, None, None, level) if draws else None
    outside = profile.within_rate is False if test is None else test.refuted
    verdict: Verdict = "not refuted"
    if profile.within_rate:
        verdict = "calibrated within rate"
    elif outside:
        verdict = "refuted"
    return ForecastCertificate(
        verdict, profile, test, dict(bin_names or {}), source, tuple(classes), tuple(dates)
    )
