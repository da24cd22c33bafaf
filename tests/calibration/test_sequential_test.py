"""The sequential test: a martingale in the mean, every bet's price, its false alarms, its power."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from stackcast._random import stream
from stackcast._validation import InputError
from stackcast.calibration import certify, decision_bins, sequential_calibration_test
from stackcast.calibration.sequential_test import SCALES


class Bettor:
    """The bettor as the definition says, every bet written out."""

    def __init__(self, bins: int, m: int) -> None:
        slow, quick = len(SCALES), len(SCALES) // 2
        tilts = np.concatenate([SCALES, SCALES[:quick]])
        self.tilts = np.stack([tilts, -tilts], axis=1)
        self.bank = np.repeat([0, 1], [slow, quick])
        part = np.repeat([0.8 / slow, 0.2 / quick], [slow, quick])
        self.prior = np.broadcast_to(part[:, None] / (2 * bins * m), (bins, m, slow + quick, 2))
        self.wealth = self.prior.copy()
        self.money = 1.0

    def learn(self, t: int, w: np.ndarray, x: np.ndarray, p: np.ndarray) -> None:
        g = np.expm1(w[:, None, None, None] * self.tilts)
        x, p = x[None, :, None, None], p[None, :, None, None]
        self.wealth = self.wealth * (1 + x * g) / (1 + p * g)
        total = self.wealth.sum()
        self.money *= total
        c = 1 / ((t + math.e) * np.log(t + math.e) ** 2)
        self.wealth *= (1 - c) / total
        quick = self.bank == 1
        held = self.wealth[:, :, quick].sum()
        self.wealth[:, :, quick] *= 0.99
        self.wealth[:, :, quick] += 0.01 * held * self.prior[:, :, quick] / 0.2
        self.wealth += c * self.prior


@pytest.mark.parametrize("soft", [False, True])
def test_the_money_is_that_of_the_definition_and_every_interval_has_its_price(soft: bool) -> None:
    rng, T = stream(int(soft), "sequential test", "definition"), 250
    p = rng.dirichlet(np.full(3, 0.5), T)
    p[-1] = 0.0, 0.5, 0.5
    truth = p[rng.permutation(T)]
    x = np.eye(3)[(rng.random(T)[:, None] > truth.cumsum(axis=1)).sum(axis=1).clip(0, 2)]
    labels = rng.integers(2, size=T)
    weights = rng.dirichlet(np.ones(2), T) if soft else np.eye(2)[labels]
    bettor, money = Bettor(2, 3), []
    for t in range(T):
        bettor.learn(t + 1, weights[t], x[t], p[t])
        money.append(bettor.money)
    found = sequential_calibration_test(x, p, weights if soft else labels)
    assert found.wealth == pytest.approx(max(1.0, *money))
    assert found.round == int(np.argmax(money)) + 1
    # The theorem's last sentence, for every interval of every bet of the slow bank.
    g = np.expm1(weights[:, :, None, None] * SCALES)
    won = np.log1p(x[:, None, :, None] * g) - np.log1p(p[:, None, :, None] * g)
    prior = np.log(0.8 / len(SCALES) / 12)
    for s in range(T):
        start = 0.0 if s == 0 else -np.log(s + math.e) - 2 * np.log(np.log(s + math.e))
        best = np.cumsum(won[s:], axis=0).max(axis=(1, 2, 3)) + prior + start - 1
        ahead = np.log(money[s:]) - (np.log(money[s - 1]) if s else 0.0)
        assert (ahead >= best - 1e-9).all()


def test_no_bet_gains_in_the_mean() -> None:
    # Over all 2⁷ outcomes of seven rounds: the mean of the money is 1, so is that of every part.
    p = np.array([0.5, 0.1, 0.9, 0.3, 0.02, 0.7, 0.5])
    mean = 0.0
    for draw in itertools.product([0.0, 1.0], repeat=7):
        x = np.array(draw)
        bettor = Bettor(1, 1)
        for t in range(7):
            bettor.learn(t + 1, np.ones(1), x[t : t + 1], p[t : t + 1])
        mean += float(np.prod(np.where(x == 1, p, 1 - p))) * bettor.money
    assert mean == pytest.approx(1.0, abs=1e-12)


def test_false_alarms_stay_below_the_level() -> None:
    # 200 right forecasters of 2,000 rounds at level 10%: at most 20 alarms are to be expected, and
    # 32 or more have a chance of less than 1% even if the level is met exactly.
    alarms, T, runs = 0, 2_000, 200
    for run in range(runs):
        rng = stream(run, "sequential test", "false alarms")
        p = rng.beta(0.5, 0.5, T) if run % 2 else np.full(T, [0.5, 0.1, 0.01][run % 3])
        y = (rng.random(T) < p).astype(int)
        alarms += sequential_calibration_test(y, p, decision_bins(p, [0.2, 0.5]), level=0.1).refuted
    assert alarms <= 31


def test_false_alarms_with_three_outcomes_and_soft_bins() -> None:
    alarms, T, runs = 0, 500, 40
    for run in range(runs):
        rng = stream(run, "sequential test", "false alarms", "three")
        p = rng.dirichlet(np.full(3, 0.3), T)
        x = (rng.random(T)[:, None] > p.cumsum(axis=1)).sum(axis=1).clip(0, 2)
        alarms += sequential_calibration_test(x, p, rng.dirichlet(np.ones(2), T), level=0.1).refuted
    assert alarms <= 8


@pytest.mark.parametrize("kind", ["bias", "late bias", "one bin", "rare events"])
def test_power_against_miscalibrated_forecasts(kind: str) -> None:
    T, refuted = 4_000, 0
    for run in range(10):
        rng = stream(run, "sequential test", "power", kind)
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
        refuted += sequential_calibration_test(y, p, decision_bins(p, [0.5, 0.8])).refuted
    assert refuted >= 9


def test_an_impossible_event_counts_heavily() -> None:
    y, p = np.zeros(100, int), np.zeros(100)
    y[50:52] = 1
    assert sequential_calibration_test(y, p, np.zeros(100, int)).refuted


def test_verdicts() -> None:
    rng, T = stream(0, "sequential test", "verdicts"), 3_000
    p = rng.random(T)
    y = (rng.random(T) < p).astype(int)
    bins = decision_bins(p)
    assert certify(y, p, bins, shortest=30).verdict == "calibrated within rate"
    assert certify(y, p, bins, rate=lambda t: 0.01).verdict == "not refuted"
    off = np.clip(p + 0.2, 0, 1)
    assert certify(y, off, decision_bins(off)).verdict == "refuted"
    # The same numbers as strategies carry no noise: the rate alone decides.
    assert certify(y, p, bins, rate=lambda t: 0.01, draws=False).verdict == "refuted"
    assert certify(p, p, bins).test is None
    assert certify(p, p, bins).verdict == "calibrated within rate"


def test_the_winning_bet_is_named() -> None:
    rng, T = stream(0, "sequential test", "named"), 3000
    p = rng.dirichlet(np.ones(3), T)
    bins, truth = p.argmax(axis=1), p.copy()
    off = (bins == 1) & (np.arange(T) >= 2000) & (np.arange(T) < 2600)
    truth[off] = [0.7, 0.0, 0.3]
    x = (rng.random(T)[:, None] > truth.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    found = sequential_calibration_test(x, p, bins)
    at = found.interval
    assert found.refuted
    assert (at.bin, at.coordinate, found.direction) == (1, 1, "too high")
    assert 1990 <= at.start <= 2030
    assert 2500 <= at.stop <= 2650
    assert found.round == at.stop
    certificate = certify(x, p, bins, bin_names={0: "a", 1: "b", 2: "c"})
    told = certificate.sentences()[-1]
    assert "A bettor against these forecasts would have multiplied the money by" in told
    assert "forecasts of outcome 2 in bin “b” are too high" in told


def test_looking_at_any_time_and_money_without_end() -> None:
    # What was found by round t does not depend on what comes later; and nothing overflows.
    y = np.ones(40_000, int)
    early, late = (
        sequential_calibration_test(y[:n], np.full(n, 0.5), np.zeros(n, int)) for n in (60, 40_000)
    )
    assert 20 < early.wealth < late.wealth == 1e300
    again = np.concatenate([y[:60], np.arange(4000) % 2])
    later = sequential_calibration_test(again, np.full(4060, 0.5), np.zeros(4060, int))
    assert later.wealth == early.wealth


def test_only_numbers_from_zero_to_one_are_tested() -> None:
    with pytest.raises(InputError, match="outcomes, round 2: expected numbers from 0 to 1"):
        sequential_calibration_test([[1.0, 0.0], [1.5, -0.5]], [[0.5, 0.5]] * 2, [0, 0])
    with pytest.raises(InputError, match="forecasts, round 1: expected numbers from 0 to 1"):
        sequential_calibration_test([[1, 0], [1, 0]], [[1.5, -0.5], [0.5, 0.5]], [0, 0])
    with pytest.raises(InputError, match="level"):
        sequential_calibration_test([1, 0], [0.5, 0.5], [0, 0], level=0.0)
