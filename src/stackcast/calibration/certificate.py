"""A certificate for forecasts that were made elsewhere: within the rate, refuted, or neither."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from stackcast.calibration.errors import forecast_record
from stackcast.calibration.profile import CalibrationProfile, calibration_profile
from stackcast.calibration.rates import SecondOrderRate
from stackcast.calibration.sequential_test import SequentialTest, sequential_calibration_test

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
    """

    verdict: Verdict
    profile: CalibrationProfile
    test: SequentialTest | None
    bin_names: Mapping[int, str]
    source: str = ""

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
        """Return the verdict and its reasons, a sentence each."""
        profile, at = self.profile, self.profile.worst_ratio
        told = [
            f"Verdict: {self.verdict}.",
            f"Over all intervals of at least {profile.shortest} rounds, the largest error divided "
            f"by the rate lies between {profile.lower:.4g} and {profile.upper:.4g}; rounds "
            f"{at.start + 1}–{at.stop} have error {at.error:.4g} in bin {self._name(at.bin)}.",
            f"Over the whole record: largest error of a bin {profile.largest_bin_error:.4g}, "
            f"sum over bins {profile.total_error:.4g}, "
            f"Foster–Vohra score {profile.foster_vohra:.4g}.",
        ]
        if self.test is not None:
            told.append(self.test.sentence(self._name(self.test.interval.bin)))
        return told

    def _name(self, label: int) -> str:
        name = self.bin_names.get(label)
        return f"{label}" if name is None else f"{label} ({name})"


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
    return ForecastCertificate(verdict, profile, test, dict(bin_names or {}), source)
