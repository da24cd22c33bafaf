"""Rates and their inverses: exact on integers, for good, and beyond any machine word."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackcast._validation import InputError
from stackcast.calibration import AdaptiveRate, CustomRate, PowerRate, Rate

RATES: list[Rate] = [
    AdaptiveRate(1, 1),
    AdaptiveRate(1, 2),
    AdaptiveRate(3, 3, constant=0.4),
    AdaptiveRate(2, 2, horizon=1000, level=0.1),
    AdaptiveRate(20, 50, constant=2.0, horizon=10**6),
    PowerRate(0.5),
    PowerRate(0.9, 3.0),
    PowerRate(2.0, 0.1),
    CustomRate(lambda t: [0.1, 0.9, 0.3][t - 1] if t <= 3 else 1 / t, decreasing_from=4),
]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(RATES), st.floats(0.03, 3.0))
def test_inverse_is_the_first_round_below_for_good(rate: Rate, error: float) -> None:
    horizon = 60_000  # every rate above is below 0.03 long before that, or the answer is beyond it
    answer = rate.inverse(error)
    above = [t for t in range(1, min(horizon, 4 * answer + 10)) if rate(t) > error]
    if answer < horizon:
        assert answer == (above[-1] + 1 if above else 1)
    else:
        assert rate(answer) <= error < rate(answer - 1)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(RATES), st.integers(4, 10**11))
def test_inverse_undoes_the_rate(rate: Rate, rounds: int) -> None:
    assert rate.inverse(rate(rounds)) == rounds


@pytest.mark.parametrize("rate", RATES)
def test_one_number_and_arrays_agree(rate: Rate) -> None:
    lengths = np.array([1.0, 2.0, 3.0, 10.0, 1e6])
    one_by_one = [rate(int(t)) for t in lengths]
    assert rate(lengths) == pytest.approx(one_by_one, rel=1e-14)


def test_the_formula() -> None:
    assert AdaptiveRate(3, 4)(50) == pytest.approx(math.sqrt(math.log(3 * 4 * 50) / 50))
    both = math.sqrt(math.log(600) / 50) + math.sqrt(math.log(1000 / 0.01) / 50)
    assert AdaptiveRate(3, 4, 2.0, 1000, 0.01)(50) == pytest.approx(2 * both)
    assert AdaptiveRate(3, 3).scaled(2.0) == AdaptiveRate(3, 3, 2.0)
    assert PowerRate(0.5).scaled(3.0)(9) == pytest.approx(1.0)
    assert CustomRate(lambda t: 1 / t).scaled(3.0)(9) == pytest.approx(1 / 3)


@pytest.mark.parametrize("rate", [AdaptiveRate(3, 3), PowerRate(0.5), PowerRate(1 / 14)])
@pytest.mark.parametrize("error", [1e-9, 1e-30, 1e-60])
def test_astronomical_answers_do_not_overflow(rate: Rate, error: float) -> None:
    answer = rate.inverse(error)
    assert isinstance(answer, int)
    assert rate(answer) <= error * (1 + 1e-9)
    assert rate(answer // 2) > error
    assert 0 <= rate(10**400) < 1.1


def test_rates_that_never_fall_are_refused() -> None:
    with pytest.raises(InputError, match="an error that the rate falls to"):
        CustomRate(lambda t: 0.5).inverse(0.1)
    with pytest.raises(InputError, match="above 0"):
        PowerRate(0.5).inverse(0.0)
    with pytest.raises(InputError, match="exponent"):
        PowerRate(-1.0)
    with pytest.raises(InputError, match="bins"):
        AdaptiveRate(0, 2)
    with pytest.raises(InputError, match="rate"):
        CustomRate(3)  # type: ignore[arg-type]
