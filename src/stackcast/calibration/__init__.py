"""Calibration: errors on every interval, rates, and the certificates made of them."""

from stackcast.calibration.bands import BandTest, band_test, calibration_band
from stackcast.calibration.certificate import ForecastCertificate, certify
from stackcast.calibration.errors import (
    bin_errors,
    calibration_error,
    decision_bins,
    foster_vohra_score,
)
from stackcast.calibration.profile import CalibrationProfile, WorstInterval, calibration_profile
from stackcast.calibration.rates import AdaptiveRate, CustomRate, PowerRate, Rate
from stackcast.calibration.tables import ForecastTable, certify_forecasts, read_forecasts

__all__ = [
    "AdaptiveRate",
    "BandTest",
    "CalibrationProfile",
    "CustomRate",
    "ForecastCertificate",
    "ForecastTable",
    "PowerRate",
    "Rate",
    "WorstInterval",
    "band_test",
    "bin_errors",
    "calibration_band",
    "calibration_error",
    "calibration_profile",
    "certify",
    "certify_forecasts",
    "decision_bins",
    "foster_vohra_score",
    "read_forecasts",
]
