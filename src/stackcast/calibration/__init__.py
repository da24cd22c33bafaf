"""Calibration: binnings and the forecasters that are calibrated to them on every interval."""

from stackcast.calibration.binnings import (
    BestResponseBinning,
    Binning,
    FunctionBinning,
    GridBinning,
    TentBinning,
    ThresholdBinning,
)
from stackcast.calibration.blocks import ForecastBlock
from stackcast.calibration.explicit import outgoing_point, two_adjacent_points
from stackcast.calibration.forecaster import AdaptiveForecaster

__all__ = [
    "AdaptiveForecaster",
    "BestResponseBinning",
    "Binning",
    "ForecastBlock",
    "FunctionBinning",
    "GridBinning",
    "TentBinning",
    "ThresholdBinning",
    "outgoing_point",
    "two_adjacent_points",
]
