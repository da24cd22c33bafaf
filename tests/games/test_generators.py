"""Random games: the same from the same seed, of the family that they claim to be."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from stackcast._validation import InputError
from stackcast.games import FiniteGame, generators
from stackcast.games.generators import GENERATORS


def make(family: str, m: int, k: int, seed: int) -> FiniteGame:
    if family == "covariant":
        return generators.covariant(m, k, seed, 0.3)
    if family == "one_resource_security":
        return generators.one_resource_security(m, seed)
    return GENERATORS[family](m, k, seed)


@pytest.mark.parametrize("family", GENERATORS)
@settings(max_examples=25, deadline=None)
@given(m=st.integers(1, 8), k=st.integers(1, 8), seed=st.integers(0, 2**40))
def test_seed_makes_the_game(family: str, m: int, k: int, seed: int) -> None:
    game = make(family, m, k, seed)
    assert game == make(family, m, k, seed)
    assert game.shape == ((m, m) if family == "one_resource_security" else (m, k))
    if family != "degenerate":  # of which small ones may well agree
        assert game.fingerprint != make(family, m, k, seed + 1).fingerprint
    assert game.name.startswith(family)
    assert game.name.endswith(f"-{seed}")
    call = game.source.split(": ")[0].removeprefix("stackcast.games.generators.")
    again = eval(call, dict(GENERATORS))  # the source is the call that makes the game
    assert again == game


def test_seeds_stay_what_they_are() -> None:
    expected = {
        "uniform": "f137c861c5533f97244106a0628d125e",
        "one_resource_security": "88cbaeb1dded7d0a2e36dbaaf7217ed1",
    }
    for family, fingerprint in expected.items():
        assert make(family, 3, 2, 7).fingerprint == fingerprint


def test_uniform_is_uniform() -> None:
    game = generators.uniform(60, 60, 0)
    for payoffs in (game.principal_payoffs, game.agent_payoffs):
        assert payoffs.min() >= 0
        assert payoffs.max() < 1
        assert abs(payoffs.mean() - 0.5) < 5 * math.sqrt(1 / 12) / 60  # five standard errors


def test_competing_is_the_stated_mixture() -> None:
    game = generators.competing(60, 60, 0)
    noise = 4 * (game.principal_payoffs - 0.75 * (1 - game.agent_payoffs))
    assert noise.min() > -1e-12
    assert noise.max() < 1 + 1e-12
    assert abs(noise.mean() - 0.5) < 5 * math.sqrt(1 / 12) / 60
    assert abs(np.corrcoef(noise.ravel(), game.agent_payoffs.ravel())[0, 1]) < 5 / 60


@pytest.mark.parametrize("correlation", [-1, -0.7, 0, 0.25, 1])
def test_covariant_has_the_correlation(correlation: float) -> None:
    game = generators.covariant(100, 100, 0, correlation)
    found = np.corrcoef(game.principal_payoffs.ravel(), game.agent_payoffs.ravel())[0, 1]
    assert abs(found - correlation) < 5 * (1 - correlation**2) / 100 + 1e-12
    assert abs(game.agent_payoffs.std() - 1) < 0.05


def test_coordination_answers_like_with_like() -> None:
    for seed in range(20):
        game = generators.coordination(4, 6, seed)
        assert game.respond(np.eye(4)).tolist() == [0, 1, 2, 3]


def test_degenerate_games_are_what_their_source_says() -> None:
    seen = set()
    for seed in range(200):
        game = generators.degenerate(3, 5, seed)
        agent, kinds = game.agent_payoffs, game.source.split(": ")[1].split(", ")
        seen |= set(kinds)
        gaps = agent[:, :, None] - agent[:, None, :]  # of column y over column z
        others = ~np.eye(5, dtype=bool)
        claims = {
            "ties": len(np.unique(agent.round(6))) < agent.size,
            "constant column": bool((np.ptp(agent, axis=0) == 0).any()),
            "duplicate column": bool(((gaps == 0).all(axis=0) & others).any()),
            "weakly dominated column": bool(
                ((gaps >= 0).all(axis=0) & (gaps == 0).any(axis=0) & (gaps > 0).any(axis=0)).any()
            ),
            "dominated column": bool((gaps > 0).all(axis=0).any()),
            "equal rows": len(np.unique(np.hstack([game.principal_payoffs, agent]), axis=0)) < 3,
        }
        assert all(claims[kind] for kind in kinds), game.source
    assert seen == set(claims)


def test_one_resource_security_has_its_closed_form() -> None:
    for seed in range(30):
        n = 2 + seed % 6
        game = generators.one_resource_security(n, seed)
        agent, principal = game.agent_payoffs, game.principal_payoffs
        covered, reward = np.diag(agent), agent[(np.arange(n) + 1) % n, np.arange(n)]
        drop = reward - covered
        # The attacker's level v: Σ clip((a − v)/δ, 0, 1) falls in v; find where it reaches 1.
        low, high = covered.max(), reward.max()
        for _ in range(200):
            level = (low + high) / 2
            over = np.clip((reward - level) / drop, 0, 1).sum() > 1
            low, high = (level, high) if over else (low, level)
        coverage = np.clip((reward - high) / drop, 0, 1)
        loss = principal[(np.arange(n) + 1) % n, np.arange(n)]
        defence = loss + coverage * (np.diag(principal) - loss)
        closed = defence[np.abs(reward - drop * coverage - high) < 1e-9].max()
        values = []
        for y in range(n):
            result = linprog(
                -principal[:, y],
                A_ub=(agent - agent[:, [y]]).T,
                b_ub=np.zeros(n),
                A_eq=np.ones((1, n)),
                b_eq=[1],
            )
            values.append(-np.inf if result.x is None else principal[:, y] @ result.x)
        assert max(values) == pytest.approx(closed, abs=1e-7), game.source


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ("uniform(0, 2, 0)", "m: expected a whole number of at least 1, found 0."),
        ("uniform(2, 0, 0)", "k: expected a whole number of at least 1, found 0."),
        ("competing(2.0, 2, 0)", "m: expected a whole number of at least 1, found 2.0."),
        ("zero_sum(2, True, 0)", "k: expected a whole number of at least 1, found True."),
        ("degenerate(2, '2', 0)", "k: expected a whole number of at least 1, found '2'."),
        ("coordination(2, 2, -1)", "seed: expected a whole number of at least 0, found -1."),
        ("uniform(2, 2, 0.5)", "seed: expected a whole number of at least 0, found 0.5."),
        ("uniform(2, 2, None)", "seed: expected a whole number of at least 0, found nothing."),
        (
            "covariant(2, 2, 0, 1.5)",
            "correlation: expected a finite number at least -1 and at most 1, found 1.5.",
        ),
        (
            "covariant(2, 2, 0, float('nan'))",
            "correlation: expected a finite number at least -1 and at most 1, found nan.",
        ),
        (
            "one_resource_security(0, 0)",
            "targets: expected a whole number of at least 1, found 0.",
        ),
    ],
)
def test_wrong_arguments(call: str, sentence: str) -> None:
    with pytest.raises(InputError) as refusal:
        eval(call, dict(GENERATORS))
    assert str(refusal.value) == sentence


def test_numpy_integers_are_whole_numbers() -> None:
    m, k, seed = np.array([2, 3, 4])
    assert generators.uniform(m, k, seed) == generators.uniform(2, 3, 4)
