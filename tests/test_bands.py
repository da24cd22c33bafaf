"""The band: its exact scan, its false alarms, its power."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackcast._random import stream
from stackcast._validation import InputError
from stackcast.calibration import (
    WorstInterval,
    band_test,
    calibration_band,
    certify,
    decision_bins,
)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_the_scan_equals_a_double_loop_over_intervals(seed: int, soft: bool) -> None:
    rng, T = stream(seed, "bands", "scan"), 14
    p = rng.dirichlet(np.full(2, 0.2), T)
    x = rng.integers(2, size=T)
    p = np.clip(p, 0.01, 0.99)
    labels = rng.integers(2, size=T)
    bins = rng.dirichlet(np.ones(2), T) if soft else labels
    w = np.asarray(bins) if soft else np.eye(2)[labels]
    # At level 1 the band is narrow enough for some of these records to leave it.
    found = band_test(x, p, bins, level=1.0)
    outside = []
    for u, v in itertools.combinations(range(T + 1), 2):
        for i, j in itertools.product(range(2), range(2)):
            total = float((w[u:v, i] * ((x[u:v] == j) - p[u:v, j])).sum())
            a = np.count_nonzero(w[:u, i]) + math.e
            paid = math.log(2 * 24 * 4 * 1.4 * a * math.log(a) ** 2)
            outside.append(
                max(
                    lam * total
                    - float(
                        np.log(
                            p[u:v, j] * np.exp(lam * w[u:v, i] * (1 - p[u:v, j]))
                            + (1 - p[u:v, j]) * np.exp(-lam * w[u:v, i] * p[u:v, j])
                        ).sum()
                    )
                    - paid
                    for s in (16, 8, 4, 2, 1.0)
                    for lam in (s, -s)
                )
            )
    largest = max(outside)
    assert found.p_value == pytest.approx(min(1.0, math.exp(-largest)))
    assert found.refuted == (largest > 0) == (found.interval.error > found.band)


def test_false_alarms_stay_below_the_level() -> None:
    # 200 perfect forecasters of 2,000 rounds at level 10%; the union over intervals costs so much
    # that none of them alarms here, so 20 leaves all the margin that the level promises.
    alarms, T, runs = 0, 2_000, 200
    for run in range(runs):
        rng = stream(run, "bands", "false alarms")
        p = rng.beta(0.5, 0.5, T) if run % 2 else np.full(T, [0.5, 0.1, 0.01][run % 3])
        y = (rng.random(T) < p).astype(int)
        alarms += band_test(y, p, decision_bins(p, [0.2, 0.5]), level=0.1).refuted
    assert alarms <= 0.1 * runs


def test_false_alarms_with_three_outcomes_and_soft_bins() -> None:
    alarms, T, runs = 0, 500, 40
    for run in range(runs):
        rng = stream(run, "bands", "false alarms", "three")
        p = rng.dirichlet(np.full(3, 0.3), T)
        x = (rng.random(T)[:, None] > p.cumsum(axis=1)).sum(axis=1).clip(0, 2)
        alarms += band_test(x, p, rng.dirichlet(np.ones(2), T), level=0.1).refuted
    assert alarms <= 0.1 * runs


def test_each_term_of_the_proof_has_mean_one() -> None:
    # exp(λS − K) over all 2⁶ outcomes of six rounds: the martingale behind the theorem. The band
    # of one interval is min over λ of (K + paid)/λ, so K can be read off it at any level.
    p = np.array([0.5, 0.1, 0.9, 0.3, 0.02, 0.7])
    draws = np.array(list(itertools.product([0, 1], repeat=6)))
    chance = np.prod(np.where(draws == 1, p, 1 - p), axis=1)
    interval = WorstInterval(0, 6, 0, 0, 0.0)
    paid = math.log(2 * 24 * 1.4 * math.e)
    total = (draws - p).sum(axis=1)
    for level in (0.5, 0.05, 1e-4, 1e-12):
        edge = 6 * calibration_band(p, np.zeros(6, int), interval, level)
        # Markov's inequality for the λ that attains the band is what the band promises.
        assert chance[np.abs(total) > edge].sum() <= 2 * level * math.exp(-paid)
        lam = np.array([16.0 / 2**q for q in range(5)])
        means = [chance @ np.exp(s * total) for s in np.concatenate([lam, -lam])]
        bands = [
            (math.log(mean) + paid - math.log(level)) / abs(s)
            for mean, s in zip(means, np.concatenate([lam, -lam]), strict=True)
        ]
        half = len(lam)
        assert edge == pytest.approx(max(min(bands[:half]), min(bands[half:])))


@pytest.mark.parametrize("kind", ["bias", "late bias", "one bin", "rare events"])
def test_power_against_miscalibrated_forecasts(kind: str) -> None:
    T, refuted = 4_000, 0
    for run in range(10):
        rng = stream(run, "bands", "power", kind)
        p = rng.random(T)
        truth = p.copy()
        if kind == "bias":
            truth = np.clip(p + 0.08, 0, 1)
        elif kind == "late bias":
            truth[3_400:] = np.clip(p[3_400:] + 0.25, 0, 1)
        elif kind == "one bin":
            truth[p > 0.8] = 0.75
        else:
            p = np.full(T, 1e-4)
            truth = np.full(T, 5e-3)
        y = (rng.random(T) < truth).astype(int)
        refuted += band_test(y, p, decision_bins(p, [0.5, 0.8])).refuted
    assert refuted >= 9


def test_an_impossible_event_counts_heavily() -> None:
    y, p = np.zeros(100, int), np.zeros(100)
    y[50:52] = 1
    assert band_test(y, p, np.zeros(100, int)).refuted


def test_verdicts() -> None:
    rng, T = stream(0, "bands", "verdicts"), 3_000
    p = rng.random(T)
    y = (rng.random(T) < p).astype(int)
    bins = decision_bins(p)
    assert certify(y, p, bins, shortest=30).verdict == "calibrated within rate"
    assert certify(y, p, bins, rate=lambda t: 0.01).verdict == "not refuted"
    off = np.clip(p + 0.2, 0, 1)
    assert certify(y, off, decision_bins(off)).verdict == "refuted"
    # The same numbers as strategies carry no noise: the rate alone decides.
    assert certify(y, p, bins, rate=lambda t: 0.01, draws=False).verdict == "refuted"
    assert certify(p, p, bins).band is None
    assert certify(p, p, bins).verdict == "calibrated within rate"


def test_only_draws_and_probabilities_have_a_band() -> None:
    with pytest.raises(InputError, match="outcomes, round 1: expected the draw of one outcome"):
        band_test([1, 0.5], [0.5, 0.5], [0, 0])
    with pytest.raises(InputError, match="forecasts, round 0: expected probabilities that sum"):
        band_test([1, 0], [[0.5, 0.6], [0.5, 0.5]], [0, 0])
    with pytest.raises(InputError, match="level"):
        band_test([1, 0], [0.5, 0.5], [0, 0], level=0.0)
