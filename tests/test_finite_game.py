"""Finite games: what they hold, what they refuse, what stays hidden."""

from __future__ import annotations

import numpy as np
import pytest

import stackcast as sc


def test_views_hide_the_other_side() -> None:
    game = sc.FiniteGame([[1.0, 3.0], [0.0, 2.0]], [[1.0, 0.0], [0.0, 1.0]])
    principal, agent = game.principal_view, game.agent_view
    assert principal.fingerprint == agent.fingerprint == game.fingerprint
    reachable = [value for value in vars(principal).values() if isinstance(value, np.ndarray)]
    assert not any(np.array_equal(value, game.agent_payoffs) for value in reachable)
    assert not np.shares_memory(principal.payoffs, agent.payoffs)
    with pytest.raises(ValueError, match="read-only"):
        game.principal_payoffs[0, 0] = 5.0
    with pytest.raises(AttributeError, match="read-only"):
        game.name = "other"  # type: ignore[misc]
