"""The quantities of the theory, with the constants under which the proofs go through."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from stackcast._validation import InputError
from stackcast.calibration import AdaptiveRate, PowerRate
from stackcast.games import StrategySpace
from stackcast.principals import TheoryParameters
from stackcast.theory import ball_share


@pytest.mark.parametrize("m", [2, 3, 5, 9, 30])
def test_every_membership_call_satisfies_the_condition_of_the_oracle(m: int) -> None:
    theory = TheoryParameters.compute(m, 4, 0.05, 10**6, PowerRate(0.5), tolerance=0.1)
    for call in (theory.initial, theory.optimising, theory.checking):
        assert call.conservatism <= 0.1 * call.approximation / math.sqrt(m) * (1 + 1e-12)
    assert theory.epochs >= 9 * math.log(1 / theory.failure)


def test_a_passed_check_proves_the_robustness_and_a_good_optimum_passes() -> None:
    theory = TheoryParameters.compute(4, 3, 0.1, 10**5, PowerRate(0.5), tolerance=0.1)
    check, m = theory.checking, 4
    # Claim 2 proves ε₂ + ε₁/√m, claim 1 passes what is deeper than ε₁ + ε₂.
    proved = check.conservatism + check.approximation / math.sqrt(m)
    assert proved >= theory.robustness * (1 - 1e-12)
    assert check.approximation + check.conservatism <= theory.robustness * math.sqrt(m)
    # The condition of the lemma on optimisation.
    assert theory.robustness * math.sqrt(m) <= theory.optimising.conservatism * (1 + 1e-12)
    power = (0.1 * 0.1 / 4) ** 13
    assert theory.optimising.approximation / math.sqrt(m) <= power * (1 + 1e-12)


@pytest.mark.parametrize("m", [2, 3, 4])
def test_ball_share_is_the_share_of_uniform_strategies(m: int) -> None:
    centre, radius = np.full(m, 1 / m), 0.2
    points = StrategySpace.simplex(m).sample(40_000, seed=1)
    hit = (np.linalg.norm(points - centre, axis=1) <= radius).mean()
    assert hit == pytest.approx(ball_share(m, radius), abs=4 * math.sqrt(0.25 / 40_000))


def test_the_leading_term_falls_with_the_exponent_of_the_statement() -> None:
    def first_term(horizon: int) -> float:
        return TheoryParameters.compute(3, 3, 0.1, horizon, PowerRate(0.5)).tolerance

    slope = math.log(first_term(10**12) / first_term(10**6)) / math.log(10**6)
    assert slope == pytest.approx(-0.5 / 14)


def test_it_says_that_the_rounds_are_astronomical() -> None:
    theory = TheoryParameters.compute(3, 3, 0.05, 10**6, AdaptiveRate(3, 3), tolerance=0.01)
    assert theory.rounds > 10**90
    assert "10^" in theory.describe()
    assert "longer than the horizon" in theory.describe()
    by_hand = replace(theory, samples=1, epochs=1)
    assert by_hand.rounds < theory.rounds


@pytest.mark.parametrize(
    ("field", "value"), [("horizon", 0), ("regularity", 0.0), ("regularity", math.nan)]
)
def test_bad_quantities_are_refused_in_one_sentence(field: str, value: float) -> None:
    arguments = {"actions": 3, "responses": 3, "regularity": 0.1, "horizon": 100}
    with pytest.raises(InputError, match=field):
        TheoryParameters.compute(**{**arguments, field: value}, rate=PowerRate(0.5))  # type: ignore[arg-type]
