"""Recalibration: the theorem on every interval and what follows from it, and its bookkeeping."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pytest
from cases import prices
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from stackcast._random import stream
from stackcast._validation import InputError
from stackcast.calibration import (
    Recalibrator,
    SecondOrderRate,
    calibration_profile,
    certify,
    decision_bins,
    recalibrate,
)
from stackcast.calibration import _recalibration_kernel as kernel
from stackcast.calibration._bankroll import LARGEST, RATIO
from stackcast.calibration.recalibration import BANKS, BETS, BRIER, ORIGINAL

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Floats = npt.NDArray[np.float64]
T = 1_500
EDGES = (0.3, 0.6)
LOSS = np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 2.0], [1.5, 1.5, 0.0], [0.8, 0.8, 0.8]])
SIZES = LARGEST * RATIO ** np.arange(BANKS[0].sizes)
KINDS = (
    "from the model",
    "opposed to the model",
    "switching",
    "drifting",
    "always",
    "in turns",
    "against the forecast",
    "around a threshold",
)


def logistic(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))


def event(kind: str, t: int, q: float, seen: float, rng: np.random.Generator) -> float:
    """The outcome of round t; the last two look at the mean of what may be printed."""
    chance = {
        "from the model": q,
        "opposed to the model": 1 - q,
        "switching": 0.85 if t // 250 % 2 else 0.1,
        "drifting": 0.5 + 0.4 * np.sin(t / 300),
        "always": 1.0,
        "in turns": float(t % 2),
        "against the forecast": float(seen < 0.5),
        "around a threshold": float(seen < EDGES[0]),
    }[kind]
    return float(rng.random() < chance)


def label(kind: str, t: int, q: Floats, seen: Floats, rng: np.random.Generator) -> int:
    k = len(q)
    chance = {
        "from the model": q,
        "opposed to the model": q[::-1],
        "switching": np.eye(k)[t // 250 % k],
        "drifting": np.roll(np.array([0.8, 0.15, 0.05]), t // 400),
        "always": np.eye(k)[0],
        "in turns": np.eye(k)[t % k],
        "against the forecast": np.eye(k)[int(np.argmin(seen))],
        "around a threshold": np.eye(k)[0 if seen[0] < 0.4 else int(t % 2) + 1],
    }[kind]
    return int(rng.choice(k, p=chance / chance.sum()))


def played(kind: str, k: int) -> tuple[Recalibrator, Floats, Floats, Floats, Floats]:
    """One round after the other: q, what the maps said, p, the outcome's indicator, and growth."""
    rng = stream(KINDS.index(kind), "recalibration", k)
    if k == 1:
        corrector = Recalibrator(EDGES)
        q = logistic(rng.normal(0, 2, (T, 1)))
        said, count = np.empty((T, kernel.YES_NO_EXPERTS, 1)), kernel.YES_NO_EXPERTS
    else:
        corrector = Recalibrator(classes=k, loss=LOSS)
        q = rng.dirichlet(np.ones(k), T)
        said, count = np.empty((T, kernel.EXPERTS, k)), kernel.EXPERTS
    p, y, growth = np.empty((T, k)), np.empty((T, k)), np.zeros(T + 1)
    for t in range(T):
        original = float(q[t, 0]) if k == 1 else q[t]
        seen = corrector.odds(original)
        mean = seen.chances @ seen.forecasts
        p[t] = corrector.predict(original, key=t)
        said[t] = corrector._pending[t][1][: count * k].reshape(count, k)
        happened: Any
        if k == 1:
            happened = y[t] = event(kind, t, original, float(mean), rng)
        else:
            happened = label(kind, t, q[t], np.asarray(mean), rng)
            y[t] = np.eye(k)[happened]
        corrector.observe(t, float(happened))
        growth[t + 1] = corrector.growth
    return corrector, said, p, y, growth


def largest(logs: Floats, prior: float, growth: Floats) -> float:
    """max over experts and intervals of Σ ln f − R, by a running minimum over starts."""
    cost = -np.log(BANKS[0].prior * prior) + 1 + prices(len(logs))
    worst = -np.inf
    for one in logs.T:
        run = np.concatenate([[0.0], np.cumsum(one)]) - growth
        worst = max(worst, float((run[1:] - np.minimum.accumulate(run[:-1] + cost)).max()))
    return worst


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_no_expert_gains_more_than_its_price_on_any_interval(kind: str, k: int) -> None:
    corrector, said, p, y, growth = played(kind, k)
    maps = (1 - ORIGINAL) / (said.shape[1] - 1)
    if k == 1:
        loss = -np.log(np.where(y == 1, p, 1 - p))
        losses = -np.log(np.where(y[:, None] == 1, said, 1 - said))[:, :, 0]
        brier, briers, half = (p - y) ** 2, ((said - y[:, None]) ** 2)[:, :, 0], 0.5
    else:
        loss = -np.log((p * y).sum(axis=1, keepdims=True))
        losses = -np.log((said * y[:, None]).sum(axis=2))
        brier = ((p - y) ** 2).sum(axis=1, keepdims=True)
        briers, half = ((said - y[:, None]) ** 2).sum(axis=2), 0.25
    # (b) the original, then every other map: log loss within R/L, Brier score within R/(half·L)
    first, second = (1 - BETS) * (1 - BRIER), (1 - BETS) * BRIER
    assert largest(loss - losses[:, :1], first * ORIGINAL, growth) <= 0
    assert largest(loss - losses[:, 1:], first * maps, growth) <= 0
    assert largest(half * (brier - briers[:, :1]), second * ORIGINAL, growth) <= 0
    assert largest(half * (brier - briers[:, 1:]), second * maps, growth) <= 0
    # (a) every bet on the bias of a decision
    n = corrector._n
    decisions = corrector.decide(p[:, 0] if k == 1 else p)
    gap = (y - p)[:, None, :] * np.eye(n)[decisions][:, :, None]
    for size in (*SIZES, *-SIZES):
        bets = np.log1p(size * gap).reshape(T, -1)
        assert largest(bets, BETS / (n * k * 2 * len(SIZES)), growth) <= 0
    profile = calibration_profile(
        y if k > 1 else y[:, 0],
        p if k > 1 else p[:, 0],
        decisions,
        rate=SecondOrderRate(n, k, share=corrector.rate.share, horizon=T),
    )
    assert profile.upper <= 1.0
    # (c), and nothing is won where no side is drawn
    assert p.min() > 0
    assert p.max() < 1
    assert corrector.misses == 0


@pytest.mark.parametrize("kind", ["against the forecast", "around a threshold", "switching"])
def test_what_draws_let_the_bankroll_win_stays_within_its_bound(kind: str) -> None:
    """Ville: with chance .95, G ≤ ln 20 + ln(s+e) + 2 ln ln(s+e) + .15 on every interval."""
    for k in (1, 3):
        growth = played(kind, k)[-1]
        least = np.minimum.accumulate(growth[:-1] + prices(T))
        assert (growth[1:] - least).max() <= np.log(20) + 0.15


@pytest.mark.parametrize("k", [1, 4])
def test_a_right_model_is_left_alone(k: int) -> None:
    for seed in range(8):
        rng = stream(seed, "right", k)
        if k == 1:
            q = logistic(rng.normal(0, 1.5, 4000))
            y: Any = (rng.random(4000) < q).astype(float)
            corrector = Recalibrator(EDGES, seed=seed)
        else:
            q = rng.dirichlet(np.ones(k), 4000)
            y = (q.cumsum(axis=1) > rng.random((4000, 1))).argmax(axis=1)
            corrector = Recalibrator(classes=k, seed=seed)
        before, after = corrector.run(q, y).log_losses
        assert 4000 * (after - before) <= 3.4 + corrector.growth + 0.1  # .1: read within 10⁻⁶
        assert corrector.price() <= 3.41


def test_the_lemma_for_the_brier_score_and_its_constant() -> None:
    """ln(1 + ½⟨q − p, e_y − p⟩) ≥ ¼(|p − e_y|² − |q − e_y|²), and ¾ in place of ½ is false."""
    rng = stream(0, "lemma")
    broken = False
    for k in (2, 3, 7):
        for concentration in (0.05, 0.5, 3.0):
            p, q = rng.dirichlet(np.full(k, concentration), (2, 40_000))
            e = np.eye(k)[rng.integers(k, size=40_000)]
            product = ((q - p) * (e - p)).sum(axis=1)
            gain = ((p - e) ** 2).sum(axis=1) - ((q - e) ** 2).sum(axis=1)
            assert (np.log1p(product / 2) >= gain / 4 - 1e-12).all()
            with np.errstate(invalid="ignore", divide="ignore"):
                broken |= bool((np.log1p(0.75 * product) < 0.375 * gain - 1e-9).any())
    assert broken


@njit
def chosen(B: float, m: Any, C: float, r: Any, z: Any, loss: Any, points: Any, chances: Any) -> Any:
    bins = np.empty(len(chances), np.int64)
    if points.shape[1] == 1:
        count = kernel.choose_event(
            B, m[0], C, r[0], z, loss[0], kernel.Sides(points, chances, bins)
        )
    else:
        count, _ = kernel.choose(
            kernel.Bets(B, m, C, r, z, loss), kernel.Sides(points, chances, bins)
        )
    return bins[:count]


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from([1, 2, 3, 5]))
def test_no_outcome_earns_against_what_is_printed(seed: int, k: int) -> None:
    """Where one forecast cancels all bets, and where two or more decisions meet."""
    rng = stream(seed, "recalibration", "cancel")
    scale = rng.choice([0.003, 0.03, 0.3])
    B, C = rng.uniform(0.05, 0.6), rng.uniform(0.001, 0.3)
    if k == 1:
        loss = np.sort(rng.choice(np.arange(1, 20) / 20, 3, replace=False))[None]
        m, r = rng.uniform(1e-4, 1 - 1e-4, (2, 1))
        n = 4
    else:
        n = int(rng.integers(2, 6))
        loss = rng.random((n, k)) if rng.random() < 0.5 else 1 - np.eye(k)
        n = len(loss)
        m, r = rng.dirichlet(np.full(k, 5.0), 2)
    z = rng.normal(size=(n, k)) * scale
    points, chances = np.empty((k + 1, k)), np.empty(k + 1)
    bins = chosen(B, m, C, r, z, loss, points, chances)
    assert chances[: len(bins)].sum() == pytest.approx(1)
    earned = np.zeros(max(k, 2))
    for i, p, share in zip(bins, points, chances, strict=False):
        if k == 1:
            assert i == np.searchsorted(loss[0], p[0], side="right")
            net = B * (m / p - (1 - m) / (1 - p)) + C * (r - p) + z[i]
            earned += share * net * (np.array([0, 1]) - p)
        else:
            assert loss[i] @ p <= (loss @ p).min() + 1e-12
            net = B * m / p + 0.5 * C * (r - p) + z[i]
            earned += share * (net - net @ p)
    assert np.abs(earned).max() <= 1e-7


def labels(count: int, rng: np.random.Generator) -> Any:
    return rng.choice(["AA", "UA", "WN"], (count, 1)), rng.integers(30, size=(count, 1))


@pytest.mark.parametrize("k", [1, 3])
def test_groups_are_calibrated_each_at_the_price_of_its_number(k: int) -> None:
    """Each group has a bias of its own, which cancels over all of them."""
    rng, rounds = stream(0, "groups", k), 6000
    carriers = np.array(["AA", "UA", "WN", "DL"])
    group = rng.integers(4, size=rounds)
    if k == 1:
        q = rng.uniform(0.3, 0.7, rounds)
        bias = np.array([-0.25, 0.25, -0.1, 0.1])
        y: Any = (rng.random(rounds) < q + bias[group]).astype(float)
    else:
        q = rng.dirichlet(np.full(k, 5.0), rounds)
        truth = 0.5 * q + 0.5 * np.eye(k)[group % k]
        y = (truth.cumsum(axis=1) > rng.random((rounds, 1))).argmax(axis=1)
    plain = recalibrate(q, y)
    corrected = recalibrate(q, y, groups=carriers[group])
    n = 2 if k == 1 else k
    for g in range(4):
        mine = group == g
        order = list(dict.fromkeys(group)).index(g) + 1
        share = BETS / 2 / (order * (order + 1))
        rate = SecondOrderRate(n, k, share=share, horizon=rounds)
        made = calibration_profile(
            y[mine], corrected.forecasts[mine], corrected.decisions[mine], [1000], rate=rate
        )
        assert made.upper <= 1
        left = calibration_profile(y[mine], plain.forecasts[mine], plain.decisions[mine], [1000])
        if g < 2:
            assert made.errors[1000] < 0.7 * left.errors[1000]
    assert corrected.log_losses[1] < plain.log_losses[1]


def test_a_group_nobody_knows_changes_nothing_and_hundreds_are_cheap() -> None:
    rng = stream(0, "many groups")
    q = rng.random(3000)
    y = (rng.random(3000) < q).astype(float)
    wards = rng.integers(400, size=(3000, 2))
    corrector = Recalibrator(groups=2)
    corrector.run(q, y, groups=wards)
    before = corrector.state()
    assert corrector.predict(0.4, groups=("new", "newer")) == pytest.approx(
        corrector.predict([0.4], groups=[["new", "newest"]])[0], abs=0
    )
    assert same(before, corrector.state())
    assert sum(w.sum() for w in held(corrector)) == pytest.approx(1.0)


def held(corrector: Recalibrator) -> list[Floats]:
    """What every expert holds, by bank; what is kept for groups to come is one number."""
    own, parts = corrector._bankroll, []
    for b in range(len(BANKS)):
        part = slice(own.first[b], own.first[b + 1])
        scale, offset, reserve = own.banks[2, b], own.banks[3, b], own.banks[5, b]
        prior = own.shares[:-1, None, None, None] * own.priors[part]
        parts.append((scale * own.wealth[..., part] + offset * prior).ravel())
        prior = own.expert_priors * own.banks[1, b]
        parts.append(scale * own.experts[:, b] + offset * prior)
        parts.append(np.array([(scale * reserve + offset) * own.shares[-1] * own.banks[1, b]]))
    return parts


def test_wealth_is_conserved_and_never_dies_out() -> None:
    rng = stream(0, "wealth")
    corrector = Recalibrator()
    for _ in range(30):
        q = rng.random(20_000)
        corrector.run(q, (rng.random(20_000) < rng.random()).astype(float))
        assert sum(w.sum() for w in held(corrector)) == pytest.approx(1.0)
        assert min(w.min() for w in held(corrector)) >= 0
    assert np.isfinite(corrector.growth)


def same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return bool(one == other)


Case = tuple["Callable[[], Recalibrator]", Any, Any, Any]


def case(name: str) -> Case:
    rng = stream(0, "recalibration", "blocks")
    q = np.round(rng.random(600), 1)
    y = (rng.random(600) < 0.3).astype(float)
    groups = np.array(["a", "b", "c"])[rng.integers(3, size=600)][:, None]
    if name == "thresholds":
        return lambda: Recalibrator(EDGES, seed=5), q, y, None
    if name == "groups":
        return lambda: Recalibrator(EDGES, seed=5, groups=1), q, y, groups
    q = np.round(rng.dirichlet(np.ones(3), 600), 2)
    q[:, 2] = 1 - q[:, 0] - q[:, 1]
    return (
        lambda: Recalibrator(classes=list("xyz"), loss=LOSS, groups=1),
        abs(q),
        y.astype(int),
        (groups),
    )


@pytest.mark.parametrize("name", ["thresholds", "groups", "classes"])
def test_blocks_rounds_and_restored_states_agree_to_the_last_bit(name: str, tmp_path: Path) -> None:
    make, q, y, groups = case(name)
    whole = make().run(q, y, groups)
    corrector = make()
    one_by_one = []
    for t in range(300):
        own = None if groups is None else groups[t]
        asked = corrector.predict(q[t], own)
        one_by_one.append(corrector.predict(q[t], own, key=t))
        assert np.array_equal(one_by_one[-1], asked)
        if t == 150:  # between a forecast and its outcome
            corrector.save(tmp_path / "corrector.state")
            corrector = pickle.loads(pickle.dumps(Recalibrator.load(tmp_path / "corrector.state")))
        corrector.observe(t, y[t])
    assert corrector.rounds == 300
    rest = corrector.run(q[300:], y[300:], None if groups is None else groups[300:])
    assert np.array_equal(np.concatenate([one_by_one, rest.forecasts]), whole.forecasts)
    assert np.array_equal(make().decide(whole.forecasts), whole.decisions)


@pytest.mark.parametrize("name", ["thresholds", "groups", "classes"])
def test_asking_changes_nothing_and_many_are_asked_at_once(name: str) -> None:
    make, q, y, groups = case(name)
    corrector = make()
    corrector.run(q[:500], y[:500], None if groups is None else groups[:500])
    before = corrector.state()
    rest = None if groups is None else groups[500:]
    together = corrector.predict(q[500:], rest)
    singly = [corrector.predict(q[t], None if rest is None else groups[t]) for t in range(500, 600)]
    assert np.array_equal(together, singly)
    odds = corrector.odds(q[500], None if rest is None else rest[0])
    assert odds.chances.sum() == pytest.approx(1)
    assert any(np.array_equal(side, together[0]) for side in odds.forecasts)
    assert same(before, corrector.state())


@pytest.mark.parametrize("name", ["thresholds", "groups", "classes"])
def test_outcomes_may_come_late_and_in_any_order(name: str) -> None:
    make, q, y, groups = case(name)
    delayed = make().run(q, y, groups, delay=7).forecasts
    corrector, printed = make(), []
    for t in range(600):
        own = None if groups is None else groups[t]
        printed.append(corrector.predict(q[t], own, key=f"flight {t}"))
        if t >= 7:
            corrector.observe(f"flight {t - 7}", y[t - 7])
    assert np.array_equal(printed, delayed)
    assert corrector.pending == [f"flight {t}" for t in range(593, 600)]
    for t in stream(0, "order").permutation(np.arange(593, 600)):
        corrector.observe(f"flight {t}", y[t])
    assert corrector.pending == []
    assert corrector.rounds == 600
    # Many at once, with keys of their own.
    block = make()
    own = None if groups is None else groups[:50]
    made = block.predict(q[:50], own, key=range(50))
    assert len(made) == len(block.pending) == 50


def test_forecasts_without_an_outcome_are_forgotten_at_their_deadline() -> None:
    corrector = Recalibrator(deadline=3)
    for t in range(6):
        corrector.predict(0.5, key=t)
    assert corrector.pending == [2, 3, 4, 5]
    with pytest.raises(InputError, match="the key of a forecast that waits"):
        corrector.observe(1, 1)


def test_late_outcomes_cost_what_the_growth_says() -> None:
    """The theorem in the order of payment: with G as measured it holds for any delay."""
    rng = stream(0, "late")
    q = logistic(rng.normal(0, 2, T))
    y = (rng.random(T) < np.repeat([0.2, 0.8, 0.4], T // 3)).astype(float)
    for delay in (1, 30):
        corrector = Recalibrator()
        result = corrector.run(q, y, delay=delay)
        before, after = result.log_losses
        assert T * (after - before) <= corrector.price() + corrector.growth + 0.1
        assert corrector.growth > 0


def test_a_correction_never_reads_its_own_outcome() -> None:
    rng = stream(0, "recalibration", "hygiene")
    q, y = rng.random(200), (rng.random(200) < 0.2).astype(float)
    other = y.copy()
    other[120:] = 1 - other[120:]
    a, b = recalibrate(q, y).forecasts, recalibrate(q, other).forecasts
    assert np.array_equal(a[:121], b[:121])
    assert not np.array_equal(a[121:], b[121:])


def test_an_overconfident_model_is_mended_and_its_certificate_says_so() -> None:
    rng = stream(0, "overconfident")
    x = rng.normal(0, 1, 5000)
    y = (rng.random(5000) < logistic(x)).astype(float)
    q = logistic(2.5 * x)
    result = recalibrate(q, y, EDGES)
    assert certify(y, q, decision_bins(q, EDGES)).verdict == "refuted"
    assert certify(y, result.forecasts, result.decisions).verdict == "calibrated within rate"
    assert result.log_losses[1] < result.log_losses[0] - 0.05
    assert result.added_loss < -0.01
    assert 0 < result.mean_shift < 0.2


def test_outcomes_of_classes_are_labels_names_or_indicators() -> None:
    rng = stream(0, "classes")
    q = rng.dirichlet(np.ones(3), 200)
    y = rng.integers(3, size=200)
    names = np.array(["sun", "rain", "snow"])
    expected = recalibrate(q, y).forecasts
    for outcomes in (np.eye(3)[y], np.eye(3, dtype=bool)[y], y.astype(float)):
        assert np.array_equal(recalibrate(q, outcomes).forecasts, expected)
    named = recalibrate(q, names[y], classes=list(names))
    assert named.classes == ("sun", "rain", "snow")
    assert np.array_equal(named.forecasts, expected)
    assert np.array_equal(named.outcomes, y)
    corrector = Recalibrator(classes=list(names))
    corrector.predict(q[0], key=0)
    corrector.observe(0, "snow")
    assert corrector.rounds == 1


def test_decisions_of_a_yes_no_event_may_be_a_table_of_losses_or_utilities() -> None:
    # Stay, take an umbrella, take a coat: thresholds where expected losses cross.
    table = [[0, 10], [2, 3], [4, 0.5]]
    corrector = Recalibrator(loss=table)
    assert corrector.decide([0.1, 0.4, 0.9]).tolist() == [0, 1, 2]
    assert corrector.decide(2 / 9 + 1e-9) == 1
    other = Recalibrator(utility=(-np.array(table)).tolist())
    rng = stream(0, "umbrella")
    q = rng.random(500)
    y = (rng.random(500) < q**2).astype(float)
    assert np.array_equal(corrector.run(q, y).forecasts, other.run(q, y).forecasts)
    # A decision that is never best has no interval.
    assert Recalibrator(loss=[[0, 1], [1, 0], [2, 2]]).decide([0.2, 0.8]).tolist() == [0, 1]
    assert Recalibrator(loss=[[1, 1]]).decide(0.3) == 0


def test_arrays_that_may_only_be_read_are_read(tmp_path: Path) -> None:
    rng = stream(0, "read-only")
    for k in (1, 3):
        q = rng.random(50) if k == 1 else rng.dirichlet(np.ones(3), 50)
        y = rng.integers(max(k, 2), size=50)
        expected = recalibrate(q, y, groups=y).forecasts
        np.save(tmp_path / "q.npy", q)
        np.save(tmp_path / "y.npy", y)
        mapped = [np.load(tmp_path / name, mmap_mode="r") for name in ("q.npy", "y.npy")]
        assert np.array_equal(recalibrate(*mapped, groups=mapped[1]).forecasts, expected)
        corrector = Recalibrator(classes=None if k == 1 else k)
        made = corrector.predict(mapped[0])
        assert np.array_equal(made, corrector.predict(np.asfortranarray(q)))
        assert np.array_equal(mapped[0], q)


def test_results_are_read_only_and_decisions_follow_the_forecasts() -> None:
    result = recalibrate([0.2, 0.9, 0.5], [1, 0, 1], EDGES)
    assert np.array_equal(result.decisions, decision_bins(result.forecasts, EDGES))
    with pytest.raises(ValueError, match="read-only"):
        result.forecasts[0] = 0.5


def test_mistakes_get_one_sentence_and_change_nothing(tmp_path: Path) -> None:
    yes_no, three = Recalibrator(), Recalibrator(classes=["x", "y", "z"], groups=1)
    yes_no.predict(0.5, key=1)
    three.predict([0.2, 0.3, 0.5], groups="a", key="one")
    states = [yes_no.state(), three.state()]
    thirds = [[0.2, 0.3, 0.5], [0.5, 0.5, 0.0]]
    wrong: list[tuple[Any, str]] = [
        (lambda: yes_no.predict(float("nan")), "forecasts: expected a probability, found nan"),
        (lambda: yes_no.predict([0.5, np.nan], key=[2, 3]), "forecasts, round 2: expected a prob"),
        (lambda: yes_no.predict([0.5, -0.1]), "forecasts, round 2: .*found -0.1"),
        (lambda: yes_no.predict("much"), "forecasts: expected probabilities"),
        (lambda: yes_no.predict([]), "at least one round"),
        (lambda: yes_no.predict([thirds[0]]), "one column of probabilities, found 3"),
        (lambda: yes_no.predict(0.5, key=1), "whose forecast does not wait"),
        (lambda: yes_no.predict([0.5, 0.5], key=[7, 7]), "2 different keys"),
        (lambda: yes_no.predict([0.5, 0.5], key=5), "2 different keys"),
        (lambda: yes_no.predict(0.5, key=(1, 2)), "key: expected a number or a text"),
        (lambda: yes_no.predict(0.5, groups="a"), "groups: expected 0 labels"),
        (lambda: yes_no.observe(1, 1.5), "outcome: expected 1 or 0, or a number between"),
        (lambda: yes_no.observe(1, "yes"), "outcome: expected 1 or 0, or a number between"),
        (lambda: yes_no.observe(1, float("nan")), "outcome: expected 1 or 0"),
        (lambda: yes_no.observe(2, 1), "key: expected the key of a forecast that waits"),
        (lambda: yes_no.run([0.5, 0.2], [1]), "2 rounds as in forecasts, found 1"),
        (lambda: yes_no.run([0.5, 0.2], [1, 7]), "outcomes, round 2"),
        (lambda: yes_no.run(0.5, [1]), "one forecast a round"),
        (lambda: yes_no.odds([0.5, 0.5]), "forecast: expected one forecast, found 2"),
        (lambda: three.predict([0.2, 0.3]), "3 probabilities, one a class, found 2"),
        (lambda: three.predict([0.2, 0.3, 0.7]), "sum to 1 .* found a sum of 1.2"),
        (lambda: three.predict(thirds, groups=["a"], key=[4, 5]), "1 label for each of 2"),
        (lambda: three.predict(thirds, groups=["a", None], key=[4, 5]), "numbers or texts"),
        (lambda: three.observe("one", "w"), "expected one of 'x', 'y', 'z', found 'w'"),
        (lambda: three.observe("one", [0, 1, 1]), "rows of 3 with a single one"),
        (lambda: three.run(thirds, [[1, 0, 0], [1, 1, 0]], ["a", "b"]), "a single one"),
        (lambda: three.restore({}), "the state of a recalibrator"),
        (lambda: three.restore(yes_no.state()), "with the same settings"),
    ]
    for action, sentence in wrong:
        with pytest.raises(InputError, match=sentence):
            action()
        assert same(states[0], yes_no.state()), sentence
        assert same(states[1], three.state()), sentence
    yes_no.observe(1, 1)
    with pytest.raises(InputError, match="the key of a forecast that waits"):
        yes_no.observe(1, 1)
    assert Recalibrator(classes=3, normalise=True).predict([0.2, 0.3, 0.7]).sum() == (
        pytest.approx(1)
    )
    for arguments, sentence in (
        ({"thresholds": [0.6, 0.3]}, "thresholds"),
        ({"thresholds": 0.5, "loss": [[0, 1]]}, "not both"),
        ({"loss": [[0, 1]], "utility": [[0, 1]]}, "not both"),
        ({"loss": [[0, 1, 2]]}, "loss: expected a column for each of 2 outcomes, found 3"),
        ({"classes": 3, "thresholds": 0.5}, "loss or utility for several outcomes"),
        ({"classes": 1}, "classes"),
        ({"classes": ["a", "a"]}, "two or more different names"),
        ({"deadline": 0}, "deadline"),
        ({"groups": -1}, "groups"),
    ):
        with pytest.raises(InputError, match=sentence):
            Recalibrator(**arguments)
    (tmp_path / "x").write_bytes(b"nothing")
    with pytest.raises(InputError, match="a saved recalibrator"):
        Recalibrator.load(tmp_path / "x")
