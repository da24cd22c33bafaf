"""The profile: its time against a double loop over all intervals, and its growth with T.

Every number that is compared is a ratio of two times of the same run on the same machine.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from benchmarks._timing import Times, measured
from stackcast._random import stream
from stackcast.calibration import band_test, calibration_profile
from stackcast.calibration.errors import forecast_record

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.calibration._profile_kernel import IntArray


@njit(cache=True)
def double_loop(sums: FloatArray, allowed: FloatArray) -> float:
    """Return the largest error/rate over all intervals, one by one, compiled."""
    worst = 0.0
    for c in range(sums.shape[0]):
        for v in range(sums.shape[1]):
            for u in range(v):
                worst = max(worst, abs(sums[c, v] - sums[c, u]) / allowed[v - u])
    return worst


def record(rounds: int) -> tuple[IntArray, FloatArray, IntArray]:
    """Return draws, forecasts and bins of a perfect forecaster with m = k = 3."""
    rng = stream(0, "benchmark", "profile", rounds)
    forecasts = rng.dirichlet(np.ones(3), rounds)
    draws = (rng.random(rounds)[:, None] > forecasts.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    return draws, forecasts, forecasts.argmax(axis=1)


def main() -> dict[str, Any]:
    """Return times and ratios; T = 10⁶ with m = k = 3 is the size that must take seconds."""
    calibration_profile(*record(100))
    band_test(*record(100))
    small = record(10_000)
    profile = calibration_profile(*small, lengths=[], width=0.05)
    sums = forecast_record(*small).prefix_sums()
    lengths = np.arange(1.0, 10_001)
    allowed = np.concatenate([[np.inf], lengths * profile.rate(lengths)])
    sup = double_loop(sums, allowed)
    times = {
        rounds: measured(partial(calibration_profile, *record(rounds), []))
        for rounds in (10_000, 100_000, 1_000_000)
    }
    loop = measured(partial(double_loop, sums, allowed)).median
    tight = measured(partial(calibration_profile, *record(100_000), [], None, 1e-3)).median
    band = measured(partial(band_test, *record(100_000))).median
    return {
        "bracket_holds": bool(profile.lower <= sup <= profile.upper),
        "seconds": {
            name: {f"{rounds:,} rounds": getattr(found, name) for rounds, found in times.items()}
            for name in Times._fields
        },
        "double_loop_over_profile_at_10000": loop / times[10_000].median,
        "growth_100000_to_1000000": times[1_000_000].median / times[100_000].median,
        "width_0.001_over_width_0.05_at_100000": tight / times[100_000].median,
        "band_over_profile_at_100000": band / times[100_000].median,
    }


if __name__ == "__main__":
    print(json.dumps(main(), indent=2))
