"""What a record proves where the agent's payoffs are ranges."""

from __future__ import annotations

import numpy as np
import pytest

import stackcast as sc
from stackcast.auditing import audit_ranges
from stackcast.games import HalfKnownGame


@pytest.mark.parametrize("seed", range(3))
def test_the_least_regret_is_below_that_of_every_agent_of_the_ranges(seed: int) -> None:
    rng = np.random.default_rng(seed)
    U, W = rng.random((2, 3, 3))
    game = HalfKnownGame(U, agent_payoffs_low=W - 0.1, agent_payoffs_high=W + 0.1)
    strategies, responses = rng.dirichlet(np.ones(3), 40), rng.integers(3, size=40)
    t = sc.Transcript.from_rounds(strategies, responses)
    found = audit_ranges(t, game)
    regrets = []
    for payoffs in game.draws(300, seed):
        u = strategies @ payoffs
        regrets.append((u.sum(0).max() - u[np.arange(40), responses].sum()) / 40)
    assert 0 <= found.least_regret <= min(regrets) + 1e-9
    assert found.average_utility == pytest.approx((strategies @ U)[np.arange(40), responses].mean())
    best = np.argmax(strategies @ W, axis=1)
    assert audit_ranges(sc.Transcript.from_rounds(strategies, best), game).least_regret < 1e-9
