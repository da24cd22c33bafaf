"""Calibration: forecasters calibrated on every interval, errors, rates and certificates."""

from stackcast._tables import read_frame as read_table
from stackcast.calibration._experts import StartRule
from stackcast.calibration.adversaries import ADVERSARIES, hard_sequences, play_adversary
from stackcast.calibration.binnings import (
    BestResponseBinning,
    Binning,
    CoverBinning,
    FunctionBinning,
    GridBinning,
    TentBinning,
    ThresholdBinning,
)
from stackcast.calibration.blocks import ForecastBlock
from stackcast.calibration.certificate import (
    ForecastCertificate,
    certify,
    certify_forecasts,
    table_bins,
)
from stackcast.calibration.cones import ConeBinning, tents_or_cells
from stackcast.calibration.diagrams import (
    IntervalErrors,
    Reliability,
    interval_errors,
    reliability,
)
from stackcast.calibration.errors import (
    ForecastRecord,
    bin_errors,
    calibration_error,
    decision_bins,
    foster_vohra_score,
)
from stackcast.calibration.explicit import (
    TwoActionForecaster,
    outgoing_fixed_point,
    two_adjacent_points,
)
from stackcast.calibration.forecaster import AdaptiveForecaster, Method
from stackcast.calibration.profile import CalibrationProfile, WorstInterval, calibration_profile
from stackcast.calibration.rates import (
    AdaptiveRate,
    CustomRate,
    PowerRate,
    Rate,
    SecondOrderRate,
    as_rate,
)
from stackcast.calibration.recalibration import Odds, Recalibration, Recalibrator, recalibrate
from stackcast.calibration.sequential_test import SequentialTest, sequential_calibration_test
from stackcast.calibration.tables import (
    ForecastTable,
    class_number,
    classes_said,
    column_of,
    float_column,
    layout,
    numbered_columns,
    probability_columns,
    read_forecasts,
    refuse_missing,
    yes_or_no,
)

__all__ = [
    "ADVERSARIES",
    "AdaptiveForecaster",
    "AdaptiveRate",
    "BestResponseBinning",
    "Binning",
    "CalibrationProfile",
    "ConeBinning",
    "CoverBinning",
    "CustomRate",
    "ForecastBlock",
    "ForecastCertificate",
    "ForecastRecord",
    "ForecastTable",
    "FunctionBinning",
    "GridBinning",
    "IntervalErrors",
    "Method",
    "Odds",
    "PowerRate",
    "Rate",
    "Recalibration",
    "Recalibrator",
    "Reliability",
    "SecondOrderRate",
    "SequentialTest",
    "StartRule",
    "TentBinning",
    "ThresholdBinning",
    "TwoActionForecaster",
    "WorstInterval",
    "as_rate",
    "bin_errors",
    "calibration_error",
    "calibration_profile",
    "certify",
    "certify_forecasts",
    "class_number",
    "classes_said",
    "column_of",
    "decision_bins",
    "float_column",
    "foster_vohra_score",
    "hard_sequences",
    "interval_errors",
    "layout",
    "numbered_columns",
    "outgoing_fixed_point",
    "play_adversary",
    "probability_columns",
    "read_forecasts",
    "read_table",
    "recalibrate",
    "refuse_missing",
    "reliability",
    "sequential_calibration_test",
    "table_bins",
    "tents_or_cells",
    "two_adjacent_points",
    "yes_or_no",
]
