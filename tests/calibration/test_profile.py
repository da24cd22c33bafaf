"""The profile equals a double loop in exact arithmetic, and its bracket contains the truth."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackcast._random import stream
from stackcast._validation import InputError
from stackcast.calibration import (
    AdaptiveRate,
    PowerRate,
    bin_errors,
    calibration_error,
    calibration_profile,
    decision_bins,
    foster_vohra_score,
)

Floats = npt.NDArray[np.float64]


def exact_error(h: Floats, p: Floats, w: Floats, start: int, stop: int) -> Fraction:
    """CalErr by the definition: the sum over rounds, divided by their number."""
    worst = Fraction(0)
    for i in range(w.shape[1]):
        for j in range(h.shape[1]):
            terms = (
                Fraction(w[t, i]) * (Fraction(h[t, j]) - Fraction(p[t, j]))
                for t in range(start, stop)
            )
            worst = max(worst, abs(sum(terms, Fraction(0))))
    return worst / (stop - start)


@st.composite
def records(draw: Any) -> tuple[Floats, Floats, Floats]:
    T, m, n = draw(st.integers(1, 12)), draw(st.integers(2, 3)), draw(st.integers(1, 3))
    rng = stream(draw(st.integers(0, 10**6)), "profile", "records")
    style = draw(st.sampled_from(["smooth", "pure", "few values", "huge and tiny"]))
    h, p = rng.dirichlet(np.ones(m), T), rng.dirichlet(np.ones(m), T)
    w = rng.dirichlet(np.ones(n), T)
    if style == "pure":
        h, w = np.eye(m)[rng.integers(m, size=T)], np.eye(n)[rng.integers(n, size=T)]
    elif style == "few values":
        h, p = np.round(h * 2) / 2, np.round(p * 2) / 2
    elif style == "huge and tiny":
        h = h * 10.0 ** rng.integers(-9, 9, size=(T, 1))
    return h, p, w


def rates() -> st.SearchStrategy[Any]:
    return st.sampled_from(
        [
            None,
            PowerRate(0.5),
            PowerRate(1.0),
            PowerRate(2.5),
            lambda t: 1.5 + np.sin(3.0 * t),
            lambda t: 1.0 if t % 3 else 0.01,
        ]
    )


@settings(max_examples=80, deadline=None)
@given(records(), rates(), st.sampled_from([0.5, 0.05, 1e-6]), st.integers(1, 4))
def test_equal_to_a_double_loop(
    record: tuple[Floats, Floats, Floats], rate: Any, width: float, shortest: int
) -> None:
    h, p, w = record
    T = h.shape[0]
    shortest = min(shortest, T)
    profile = calibration_profile(h, p, w, range(1, T + 1), rate, width, shortest)
    exact = {(s, t): exact_error(h, p, w, s, t) for t in range(1, T + 1) for s in range(t)}
    for length in range(1, T + 1):
        truth = max(e for (s, t), e in exact.items() if t - s == length)
        slack = Fraction(profile.rounding) / length
        assert abs(Fraction(profile.errors[length]) - truth) <= slack
        at = profile.worst[length]
        assert at.length == length
        assert exact[at.start, at.stop] >= truth - 2 * slack
        assert calibration_error(h, p, w, at.start, at.stop) == pytest.approx(
            at.error, rel=1e-9, abs=1e-9
        )
    # Lengths that are asked for help the bracket: without them it stands on its own.
    profile = calibration_profile(h, p, w, [], rate, width, shortest)
    sup = max(
        e / Fraction(float(profile.rate(float(t - s) * np.ones(1))[0]))
        for (s, t), e in exact.items()
        if t - s >= shortest
    )
    assert Fraction(profile.lower) <= sup <= Fraction(profile.upper)
    assert profile.upper <= (1 + width) * profile.lower * (1 + 1e-9) + 1e-9


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["walk", "drift", "burst", "still"]))
def test_bracket_on_longer_records(seed: int, shape: str) -> None:
    rng, T = stream(seed, "profile", "longer"), 400
    p = rng.random(T)
    chance = {"walk": p, "drift": p**1.2, "burst": np.where(np.arange(T) // 40 == 5, 1.0, p)}
    y = (rng.random(T) < chance.get(shape, p)).astype(float) if shape != "still" else p
    bins = decision_bins(p, [0.3, 0.6])
    rate = AdaptiveRate(3, 2)
    profile = calibration_profile(y, p, bins, [T], rate, width=0.01)
    sums = np.zeros((3, T + 1))
    for i in range(3):
        sums[i, 1:] = np.cumsum((bins == i) * (y - p))
    sup = max(
        float(np.abs(sums[:, length:] - sums[:, :-length]).max()) / length / rate(length)
        for length in range(1, T + 1)
    )
    assert profile.lower * (1 - 1e-9) - 1e-12 <= sup <= profile.upper * (1 + 1e-9) + 1e-12
    assert profile.upper <= 1.01 * profile.lower + 1e-9


def test_prefix_sums_do_not_drift() -> None:
    # 0.1 is not a double: plain summation of two million terms loses ten digits of sixteen.
    T = 2_000_000
    p = np.full(T, 0.1)
    profile = calibration_profile(np.zeros(T), p, np.zeros(T, int), [1, 1000, T], PowerRate(0.5))
    truth = Fraction(0.1)
    for length in (1, 1000, T):
        assert abs(Fraction(profile.errors[length]) - truth) <= Fraction(profile.rounding) / length
    assert profile.rounding < 1e-9


def test_labels_equal_indicator_weights_and_one_column_equals_two() -> None:
    rng = stream(0, "profile", "forms")
    p, y = rng.random(200), rng.integers(2, size=200)
    bins = decision_bins(p, 0.4)
    one = calibration_profile(y, p, bins)
    columns = np.column_stack([1 - p, p])
    two = calibration_profile(y, columns, np.eye(2)[bins])
    assert one.upper == pytest.approx(two.upper, rel=1e-9)
    assert dict(one.errors) == pytest.approx(dict(two.errors))
    full = np.column_stack([1 - y, y])
    assert calibration_profile(full, columns, bins).errors == pytest.approx(dict(one.errors))
    assert one.foster_vohra == pytest.approx(foster_vohra_score(full, columns))


def test_a_number_is_the_constant_of_the_papers_rate() -> None:
    outcomes, forecasts = [1, 0, 1, 1], [0.5, 0.5, 0.8, 0.8]
    one = calibration_profile(outcomes, forecasts, [0, 0, 1, 1])
    half = calibration_profile(outcomes, forecasts, [0, 0, 1, 1], rate=0.5)
    assert half.rate == AdaptiveRate(2, 2, 0.5)
    assert half.lower == pytest.approx(2 * one.lower)


def test_scores_by_hand() -> None:
    outcomes, forecasts = [1, 0, 1, 1, 0], [0.5, 0.5, 0.8, 0.8, 0.8]
    assert foster_vohra_score(outcomes, forecasts) == pytest.approx(3 / 5 * (0.8 - 2 / 3))
    profile = calibration_profile(outcomes, forecasts, [0, 1, 0, 1, 1], [5])
    assert profile.bin_errors == pytest.approx([0.7 / 5, 1.1 / 5])
    assert profile.total_error == pytest.approx(1.8 / 5)
    assert profile.largest_bin_error == profile.errors[5]
    assert bin_errors(outcomes, forecasts, [0, 1, 0, 1, 1], 2, 4) == pytest.approx([0.1, 0.1])


def test_the_result_is_read_only_and_speaks_json() -> None:
    profile = calibration_profile([1, 0, 1], [0.2, 0.4, 0.9], [0, 0, 1])
    with pytest.raises(TypeError):
        profile.errors[1] = 0.0  # type: ignore[index]
    with pytest.raises(ValueError, match="read-only"):
        profile.bin_errors[0] = 1.0
    with pytest.raises(AttributeError):
        profile.lower = 0.0  # type: ignore[misc]
    told = json.loads(json.dumps(profile.to_dict(), allow_nan=False))
    assert told["errors"]["1"] == profile.errors[1]
    assert told["worst"]["3"]["stop"] == 3
    assert len(profile.worst) == len(profile.errors)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([1, 0], [0.5, 1.5], [0, 0]), "forecasts, round 2: expected a probability, found 1.5."),
        (([1, 2], [0.5, 0.5], [0, 0]), "outcomes, round 2: expected a number from 0 to 1"),
        (([1, 0, 1], [0.5, 0.5], [0, 0]), "outcomes: expected 2 rounds as in forecasts, found 3."),
        (([1, 0], [0.5, float("nan")], [0, 0]), "forecasts, round 2: expected finite numbers"),
        (([1, 3], [[0.5, 0.5]] * 2, [0, 0]), "outcomes, round 2: expected a label from 0 to 1"),
        (([1, 0], [0.5, 0.5], [0, -1]), "bins, round 2: expected a label 0, 1, 2 …, found -1.0."),
        (([1, 0], [0.5, 0.5], [[0.5, 0.5], [0.5, 0.6]]), "bins, round 2: expected weights"),
        (([1, 0], [0.5, 0.5], [[0.5, 0.5], [1.5, -0.5]]), "bins, round 2: expected weights"),
        (([1, 0], [0.5, 0.5], [0]), "bins: expected 2 rounds as in forecasts, found 1."),
        (([], [], []), "forecasts: expected at least one round, found none."),
        ((["a"], ["b"], [0]), "forecasts: expected numbers"),
        (([[1, 0, 0]], [[0.5, 0.5]], [0]), "outcomes: expected 2 columns as in forecasts"),
        (([1, 0], [0.5, 0.5], [0, 0], [3]), "lengths: expected at most the 2 rounds"),
        (([1, 0], [0.5, 0.5], [0, 0], [0]), "lengths: expected a whole number of at least 1"),
        (([1, 0], [0.5, 0.5], [0, 0], None, lambda t: 0.0), "rate at 1 rounds: expected a number"),
        (([1, 0], [0.5, 0.5], [0, 0], None, -1), "rate: expected a finite number above 0"),
        (([1, 0], [0.5, 0.5], [0, 0], None, None, 0.0), "width: expected a finite number above 0"),
        (([1, 0], [0.5, 0.5], [0, 0], None, None, 0.1, 3), "shortest: expected at most the 2"),
    ],
)
def test_mistakes_get_one_sentence(arguments: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        calibration_profile(*arguments)
    assert str(caught.value).startswith(sentence)
    assert str(caught.value).count(".\n") == 0


def test_empty_intervals_are_refused() -> None:
    with pytest.raises(InputError, match="start and stop"):
        calibration_error([1, 0], [0.5, 0.5], [0, 0], start=1, stop=1)
    with pytest.raises(InputError, match="start and stop"):
        calibration_error([1, 0], [0.5, 0.5], [0, 0], start=0, stop=3)
    with pytest.raises(InputError, match="thresholds"):
        decision_bins([0.1], thresholds=[0.5, 0.4])
