"""Commitments where the agent's payoffs are ranges: guarantees against every possible agent."""

from __future__ import annotations

import numpy as np
import pytest

import stackcast as sc
from stackcast._validation import InputError
from stackcast.games import HalfKnownGame
from stackcast.solvers import maximin, solve_ranges, worst_case


@pytest.mark.parametrize("seed", range(6))
def test_the_worst_case_holds_for_every_agent_and_is_the_best(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, k = rng.integers(2, 5, 2)
    U, W, width = rng.random((m, k)), rng.random((m, k)), rng.random((m, k)) * 0.4
    game = HalfKnownGame(U, agent_payoffs_low=W - width, agent_payoffs_high=W + width)
    found = solve_ranges(game)
    assert worst_case(game, found.strategy) == pytest.approx(found.value, abs=1e-6)
    # No agent of the ranges, extreme ones included, makes it earn less; ties are the principal's.
    low, high = game.bounds or (W, W)
    drawn = [*game.draws(300, seed), *(np.where(rng.random((300, m, k)) < 0.5, low, high))]
    for payoffs in drawn:
        u = found.strategy @ payoffs
        tied = u >= u.max() - 1e-9
        assert (found.strategy @ U)[tied].max() >= found.value - 1e-6
    # No other commitment has a better worst case.
    for h in rng.dirichlet(np.ones(m), 400):
        assert worst_case(game, h) <= found.value + 1e-6
    assert found.expected >= found.expected_of_strategy - 1e-12
    assert found.expected <= found.optimum[2] + 0.2


@pytest.mark.parametrize("seed", range(4))
def test_exact_payoffs_give_the_optimum_and_none_the_maximin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    U, W = rng.normal(size=(2, 3, 4))
    game = sc.FiniteGame(U, W)
    known = HalfKnownGame(U, agent_payoffs_low=W, agent_payoffs_high=W)
    assert sc.solve(known).value == pytest.approx(sc.solve(game).value, abs=1e-6)
    assert sc.solve(HalfKnownGame(U)).value == pytest.approx(maximin(game), abs=1e-6)


def test_limits_are_kept_and_margins_refused() -> None:
    limit = sc.Constraint({"row 1": 1.0}, at_most=0.2)
    game = HalfKnownGame([[1, 3], [0, 2]], agent_payoffs=[[1, 0], [0, 1]], constraints=[limit])
    found = sc.solve(game)
    assert found.strategy[0] <= 0.2 + 1e-9
    assert found.expected_strategy[0] <= 0.2 + 1e-9
    with pytest.raises(InputError, match="margin or details"):
        sc.solve(game, margin=0.1)
