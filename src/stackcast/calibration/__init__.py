"""Calibration: errors on every interval, rates, and the certificates made of them."""

from stackcast.calibration.errors import (
    bin_errors,
    calibration_error,
    decision_bins,
    foster_vohra_score,
)
from stackcast.calibration.profile import CalibrationProfile, WorstInterval, calibration_profile
from stackcast.calibration.rates import AdaptiveRate, CustomRate, PowerRate, Rate

__all__ = [
    "AdaptiveRate",
    "CalibrationProfile",
    "CustomRate",
    "PowerRate",
    "Rate",
    "WorstInterval",
    "bin_errors",
    "calibration_error",
    "calibration_profile",
    "decision_bins",
    "foster_vohra_score",
]
