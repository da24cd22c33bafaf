"""The examples run, and show what they say."""

from __future__ import annotations

import runpy
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_a_real_stream_with_a_drift_is_recalibrated() -> None:
    result = runpy.run_path(str(EXAMPLES / "recalibrate_stream.py"))["main"]()
    original, corrected = result["original"], result["corrected"]
    assert result["flights"] == 107_511
    assert original["verdict"] == "refuted"
    assert corrected["verdict"] == "calibrated within rate"
    assert corrected["error_over_rate"][1] < 1 < 3 < original["error_over_rate"][0]
    assert corrected["squared_error"] < original["squared_error"] - 0.01
