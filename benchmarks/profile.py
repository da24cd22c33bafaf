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
from stackcast.calibration import calibration_profile, sequential_calibration_test
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
    sequential_calibration_test(*record(100))
    small = record(10_000)
    profile = calibration_profile(*small, lengths=[], width=0.05)
    kept = forecast_record(*small)
    sums = np.array([kept.prefix_sums(*at) for at in np.ndindex(kept.bins, kept.coordinates)])
    lengths = np.arange(1.0, 10_001)
    allowed = np.concatenate([[np.inf], lengths * profile.rate(lengths)])
    sup = double_loop(sums, allowed)
    times = {
        rounds: measured(partial(calibration_profile, *record(rounds), []))
        for rounds in (10_000, 100_000, 1_000_000)
    }
    loop = measured(partial(double_loop, sums, allowed))
    tight = measured(partial(calibration_profile, *record(100_000), [], None, 1e-3))
    money = measured(partial(sequential_calibration_test, *record(100_000)))
    parts: list[tuple[str, int, Times]] = [
        *(("profile to a width of 0.05", rounds, found) for rounds, found in times.items()),
        ("profile to a width of 0.001", 100_000, tight),
        ("sequential test", 100_000, money),
        ("compiled double loop", 10_000, loop),
    ]
    return {
        "times": [
            {"part": part, "rounds": rounds, "seconds": found.median, "spread": found.spread}
            for part, rounds, found in parts
        ],
        "ratios": {
            "double loop over the profile": loop.median / times[10_000].median,
            "profile of 1,000,000 rounds over one of 100,000": times[1_000_000].median
            / times[100_000].median,
            "width of 0.001 over one of 0.05": tight.median / times[100_000].median,
            "sequential test over the profile": money.median / times[100_000].median,
        },
        "bracket holds the double loop's value": bool(profile.lower <= sup <= profile.upper),
    }


if __name__ == "__main__":
    print(json.dumps(main(), indent=2))
