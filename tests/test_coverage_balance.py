"""The balance of coverage: it never lacks more than a step more, and ends at the equaliser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import stackcast as sc
from stackcast.games import generators
from stackcast.principals.coverage_balance import CoverageBalance, levelled
from stackcast.protocol import Block

if TYPE_CHECKING:
    from stackcast._validation import FloatArray


def equaliser(game: sc.SecurityGame) -> FloatArray:
    """Return the coverage that holds the attacker to the lowest level, by bisection."""
    view = game.agent_view
    offsets, slopes = view.offsets, -np.diag(view.payoffs)
    low, high = float((offsets - slopes).min()), float(offsets.max())
    for _ in range(200):
        level = (low + high) / 2
        if np.clip((offsets - level) / slopes, 0.0, 1.0).sum() > game.resources:
            low = level
        else:
            high = level
    return np.clip((offsets - high) / slopes, 0.0, 1.0)


def lacking(star: FloatArray, coverage: FloatArray) -> float:
    return float(np.maximum(star - coverage, 0.0).sum())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("dear", [False, True])
def test_what_is_lacking_falls_at_every_attack_and_ends_small(seed: int, dear: bool) -> None:
    """D = Σ(c* − c)⁺ falls by a step over n where the attacked one lacks a step, and ends small."""
    n = 3 + seed % 6
    game = generators.security(n, 1, seed)
    star = equaliser(game)
    rounds = 1500
    balance = CoverageBalance(n, 1.0, rounds)
    worth = np.random.default_rng(seed).random(n) if dear else None
    shortest, longest = (0.2, 4.0) if dear else (1.0, 1.0)  # of the usual step
    for _ in range(rounds):
        before = lacking(star, balance.coverage)
        attacked = int(np.argmax(game.agent_view.utilities(balance.coverage)))
        lacks = star[attacked] - balance.coverage[attacked]
        assert lacks >= -1e-9
        balance.tell(np.array([attacked]), worth)
        step = balance.step(balance.played)
        after = lacking(star, balance.coverage)
        assert balance.coverage.sum() == pytest.approx(1.0)
        assert after <= before + longest * step + 1e-9
        if lacks >= longest * step:
            assert after <= before - shortest * step / n + 1e-9
    assert balance.finished
    assert lacking(star, balance.coverage) <= n * longest * balance.step(rounds)
    assert np.abs(balance.estimate - star).max() < 0.02


@pytest.mark.parametrize("resources", [1, 2])
def test_a_calibrated_attacker_is_balanced_too(resources: int) -> None:
    """Its errors even out: the mean is near c* where single coverages are not."""
    errors = []
    for seed in range(3):
        game = generators.security(6, resources, seed).normalised()
        balance = CoverageBalance(6, float(resources), 1500)
        agent = sc.agents.Calibrated(game.agent_view, seed=seed)
        while not balance.finished:
            answers = agent.respond(Block(balance.coverage, 10)).responses
            balance.tell(np.asarray(answers, dtype=np.int64))
        errors.append(np.abs(balance.estimate - equaliser(game)).max())
    assert np.mean(errors) < 0.03


def test_attacks_that_cost_more_are_fewer() -> None:
    """Against a calibrated attacker too, and what is found is the balance all the same."""
    costs = {False: 0.0, True: 0.0}
    for seed in range(4):
        game = generators.security(6, 1, seed).normalised()
        for dear in costs:
            balance = CoverageBalance(6, 1.0, 1000)
            agent = sc.agents.Calibrated(game.agent_view, seed=seed)
            while not balance.finished:
                worth = game.principal_view.utilities(balance.coverage)
                attacks = np.asarray(agent.respond(Block(balance.coverage, 10)).responses)
                costs[dear] += float((sc.solve(game).value - worth[attacks]).sum())
                balance.tell(attacks, worth if dear else None)
            assert np.abs(balance.estimate - equaliser(game)).max() < 0.06
    assert costs[True] < 0.7 * costs[False]


def test_levels_spend_all_and_stay_inside() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(1, 12))
        base, top = rng.normal(0.2, 0.3, n), rng.random(n)
        total = float(rng.random() * 1.2 * top.sum())
        found = levelled(base, top, total)
        assert (found >= 0).all()
        assert (found <= top).all()
        assert found.sum() == pytest.approx(min(total, top.sum()))
        between = (found > 1e-9) & (found < top - 1e-9)
        if between.sum() > 1 and total < top.sum():
            assert np.ptp((found - base)[between]) < 1e-9


def test_the_state_is_all_there_is() -> None:
    attacks = np.random.default_rng(1).integers(0, 5, (40, 10))
    one, other = CoverageBalance(5, 1.0, 400), CoverageBalance(5, 1.0, 400)
    for row in attacks[:20]:
        one.tell(row)
    other.restore(one.state())
    for row in attacks[20:]:
        one.tell(row)
        other.tell(row)
    assert (one.coverage == other.coverage).all()
    assert (one.estimate == other.estimate).all()
    assert one.finished
    assert other.finished
