"""The band of a reliability diagram holds at all times; errors by interval are the profile's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stackcast._random import stream
from stackcast._validation import InputError
from stackcast.calibration import (
    AdaptiveRate,
    calibration_profile,
    decision_bins,
    interval_errors,
    reliability,
)


def band(p: float, rounds: int, level: float) -> tuple[Any, Any]:
    """The band of one cell after each number of rounds."""
    found = [reliability(np.full(n, p), np.zeros(n), 1, level) for n in range(1, rounds + 1)]
    return np.array([one.low[0] for one in found]), np.array([one.high[0] for one in found])


@pytest.mark.parametrize("p", [0.03, 0.5])
def test_right_forecasts_ever_leave_their_band_with_the_chance_that_is_stated(p: float) -> None:
    """Exactly, by the number of outcomes so far: the chance to have left the band by round 250."""
    T, level = 250, 0.2
    low, high = band(p, T, level)
    chance, left = np.array([1.0]), 0.0
    for n in range(1, T + 1):
        chance = np.append(chance * (1 - p), 0.0) + np.append(0.0, chance * p)
        share = np.arange(n + 1) / n
        out = (share < low[n - 1] - 1e-12) | (share > high[n - 1] + 1e-12)
        left += chance[out].sum()
        chance = np.where(out, 0.0, chance)
    assert 0.002 < left <= level  # not vacuous


def test_cells_share_the_level_and_outcomes_may_be_means() -> None:
    rng = stream(0, "reliability")
    p = rng.random(5000)
    y = np.clip(p + rng.uniform(-0.2, 0.2, 5000), 0, 1)
    found = reliability(p, y)
    assert found.rounds.sum() == 5000
    assert not found.outside.any()
    wider = reliability(p, y, level=0.005)
    assert (wider.low <= found.low).all()
    assert (wider.high >= found.high).all()
    assert reliability(p, (rng.random(5000) < p**2).astype(float)).outside.sum() >= 5
    with pytest.raises(InputError, match="one column of probabilities"):
        reliability([[0.5, 0.5]], [1])


def test_errors_by_interval_are_those_of_the_profile() -> None:
    rng = stream(0, "intervals")
    T = 400
    p = rng.random(T)
    y = (rng.random(T) < np.where(np.arange(T) < 250, p, p / 3)).astype(float)
    bins = decision_bins(p, 0.4)
    rate = AdaptiveRate(2, 2)
    found = interval_errors(y, p, bins, rate, columns=T)
    profile = calibration_profile(y, p, bins, found.lengths.tolist(), rate)
    for length, row in zip(found.lengths.tolist(), found.ratios, strict=True):
        worst = profile.errors[length] / rate(length)
        assert np.nanmax(np.abs(row)) == pytest.approx(worst)
        at = profile.worst[length]
        assert np.sign(row[np.nanargmax(np.abs(row))]) == np.sign(at.gap)
        assert np.isnan(row).sum() == length - 1
    # With the second-order rate nothing exceeds the exact sup, and wider columns keep the worst.
    exact = interval_errors(y, p, bins, shortest=1, columns=T, rows=T)
    wide = interval_errors(y, p, bins, shortest=1, columns=7, rows=T)
    assert np.nanmax(np.abs(wide.ratios)) == pytest.approx(np.nanmax(np.abs(exact.ratios)))
