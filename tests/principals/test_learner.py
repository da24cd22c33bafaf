"""The learner: evidence that concentrates, a balance that is stationary, guarantees that hold."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import stackcast as sc
from stackcast.checks import check_principal
from stackcast.games import Polytope
from stackcast.games.generators import competing, security, uniform
from stackcast.principals import CommitmentLearner
from stackcast.principals._posterior import Posterior, cover
from stackcast.principals.learner import corners

INSPECTION = sc.load_game("inspection")


def played(learner: CommitmentLearner, agent: Any, rounds: int, cut: int = 1 << 40) -> float:
    """Let the two play; return the average utility of the last tenth."""
    view, done, earned = learner.view, 0, []
    while done < rounds:
        block = learner.commit()
        block = sc.Block(block.strategy, min(block.rounds, cut, rounds - done), block.phase)
        answers = agent.respond(block).responses
        learner.observe(answers)
        earned.append((done, view.utilities(block.strategy)[answers]))
        done += block.rounds
    late = [u for start, u in earned if start >= 0.9 * rounds]
    return float(np.concatenate(late).mean())


# The posterior -------------------------------------------------------------------------------


def posterior(game: Any, **changed: Any) -> Posterior:
    view = game.principal_view
    settings = {"particles": 96, "rows": 64, "blur": 0.2, "tail": 0.1, "lean": 0.3, "ties": 2.0}
    rng = np.random.default_rng(0)
    return Posterior(view.payoffs, view.offsets, view.space, None, rng, **settings | changed)


@pytest.mark.parametrize("game", [competing(3, 4, 1), security(4, 1, 2)], ids=["cells", "targets"])
def test_the_odds_are_those_of_the_definition(game: Any) -> None:
    p = posterior(game)
    space = game.principal_view.space
    C = np.random.default_rng(1).dirichlet(np.ones(space.dimension), 5)
    found = p.answers(C, np.full(5, 50.0))
    for i in (0, 7):
        if p.targets:
            reward, drop = p.P[i]
            W, w0 = -np.diag(drop), reward
        else:
            W, w0 = p.P[i], np.zeros(p.P.shape[2])
        for h, shares in zip(C, found[i], strict=True):
            u = h @ W + w0
            best = int(u.argmax())
            lengths = np.linalg.norm(space.basis.T @ (W - W[:, [best]]), axis=0)
            lengths[best] = 1.0
            r = (u[best] - u) / lengths * 50 / np.sqrt(50 + p.lag[i]) / p.sharpness[i]
            odds = np.where(np.arange(len(u)) == best, 1.0, 0.9 * np.exp(-r) + 0.1 / (1 + r))
            np.testing.assert_allclose(shares, odds / odds.sum(), rtol=1e-9)


def test_the_posterior_concentrates_on_an_exact_agent() -> None:
    """Where the evidence is many exact answers, most particles agree with new ones."""
    game = uniform(3, 3, seed=5)
    p = posterior(game)
    rng = np.random.default_rng(2)

    def agreement() -> float:
        C = rng.dirichlet(np.ones(3), 200)
        chosen = p.answers(C, np.full(200, 1e6)).argmax(2)
        return float((chosen == game.respond(C)).mean())

    before = agreement()
    for h in rng.dirichlet(np.ones(3), 40):
        p.add(h, 10.0 * np.eye(3)[game.respond(h)[0]], 1e4, merge=False)
    p.refit(150, rng)
    assert before < 0.7
    assert agreement() > 0.9


def test_known_payoffs_cut_the_posterior() -> None:
    game = competing(3, 3, 4)
    low = np.where(np.eye(3) > 0, game.agent_payoffs, -1.0)
    high = np.where(np.eye(3) > 0, game.agent_payoffs, 2.0)
    view = game.principal_view
    learner = CommitmentLearner(view, 2000, agent_payoffs=(low, high))
    played(learner, sc.agents.BestResponse(game.agent_view), 500)
    P = learner._posterior.P
    known = 3.0 * np.diagonal(P, axis1=1, axis2=2) + low.min()  # the widest bound is the unit
    np.testing.assert_allclose(known - np.diag(game.agent_payoffs), 0, atol=1e-9)
    assert P.std(0)[0, 1] > 0


def test_rows_are_bounded_and_the_last_one_is_kept() -> None:
    p = posterior(INSPECTION, rows=8)
    for h in np.random.default_rng(0).dirichlet(np.ones(3), 50):
        p.add(h, np.ones(INSPECTION.shape[1]), 10.0, merge=False)
        assert p.count <= 8
        assert (p.rows[0][-1] == h).all()


@pytest.mark.parametrize("margin", [0.0, 0.02, 0.1])
def test_level_search_finds_what_the_solver_finds(margin: float) -> None:
    for seed in range(30):
        game = security(6, 1 + seed % 3, seed)
        drop = game.attacker_uncovered - game.attacker_covered
        relief = game.defender_covered - game.defender_uncovered
        loss, reward = np.array(game.defender_uncovered), np.array(game.attacker_uncovered)
        h, y = cover(loss, relief, reward, drop, float(game.resources), margin)
        try:
            best = sc.solve(game, margin=margin)
        except sc.InputError:
            assert y == -1
            continue
        assert game.defender_uncovered[y] + relief[y] * h[y] == pytest.approx(best.value)
        assert h.sum() <= game.resources + 1e-9


# The learner ---------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 3), (3, 1), (2, 5), (3, 3)])
def test_contract(shape: tuple[int, int]) -> None:
    game = uniform(*shape, seed=0)
    check_principal(lambda: CommitmentLearner(game.principal_view, 2000, seed=3))


@pytest.mark.parametrize("name", ["patrol", "fare-inspection", "tax-audit"])
def test_contract_in_other_spaces(name: str) -> None:
    game = sc.load_game(name)
    assert isinstance(game, sc.games.Game)
    check_principal(lambda: CommitmentLearner(game.principal_view, 2000, seed=3))


@pytest.mark.parametrize("name", ["inspection", "separation", "patrol"])
def test_it_earns_nearly_the_value_from_who_sees_the_strategy(name: str) -> None:
    game = sc.load_game(name)
    assert isinstance(game, sc.games.Game)
    learner = CommitmentLearner(game.principal_view, 5000, seed=1)
    late = played(learner, sc.agents.BestResponse(game.agent_view), 5000)
    pure = np.eye(game.principal_view.space.dimension)
    width = np.ptp(game.principal_view.utilities(pure))
    assert sc.solve(game).value - late < 0.05 * width


def test_blocks_are_single_rounds() -> None:
    whole, cut = (CommitmentLearner(INSPECTION.principal_view, 1000, seed=2) for _ in range(2))
    for learner, most in ((whole, 1 << 40), (cut, 7)):
        played(learner, sc.agents.Calibrated(INSPECTION.agent_view, seed=1), 600, most)
    assert whole.commit().strategy.tolist() == cut.commit().strategy.tolist()
    assert whole.result.rounds == cut.result.rounds
    assert (whole._posterior.Z == cut._posterior.Z).all()


def test_a_refit_costs_the_same_after_any_number_of_tells() -> None:
    rng = np.random.default_rng(0)
    strategies = np.repeat(rng.dirichlet(np.ones(3), 3000), 2, axis=0)
    responses = INSPECTION.respond(strategies)
    learner = CommitmentLearner(INSPECTION.principal_view, 2000, log=(strategies, responses))
    assert learner._posterior.count == 128
    assert all(len(table) == 128 for table in learner.state()["tracking"]["rows"])


def test_the_same_log_gives_the_same_bits_and_is_learned_from() -> None:
    rng = np.random.default_rng(0)
    strategies = rng.dirichlet(np.ones(3), 60)
    log = strategies, INSPECTION.respond(strategies)
    a, b = (CommitmentLearner(INSPECTION.principal_view, 2000, log=log) for _ in range(2))
    assert (a._posterior.Z == b._posterior.Z).all()
    C = rng.dirichlet(np.ones(3), 100)
    told = np.array([a.response_probabilities(h).argmax() for h in C])
    assert (told == INSPECTION.respond(C)).mean() > 0.8


def test_what_it_believes_adds_up() -> None:
    learner = CommitmentLearner(INSPECTION.principal_view, 1000)
    played(learner, sc.agents.Calibrated(INSPECTION.agent_view, seed=1), 500)
    h = learner.result.strategy
    p = learner.response_probabilities(h)
    assert p.sum() == pytest.approx(1)
    assert learner.expected_utility(h) == pytest.approx(p @ INSPECTION.principal_utilities(h))
    mean, spread = learner.payoffs
    assert mean.shape == spread.shape == INSPECTION.shape
    assert (spread > 0).all()
    np.testing.assert_allclose(mean.sum(1), 0, atol=1e-12)
    assert learner.result.why


@pytest.mark.slow
def test_the_agent_that_averages_is_recognised_and_held() -> None:
    """Where tracking loses nearly all (V* is 0.5), the average keeps the margins."""
    game = sc.load_game("milking")
    learner = CommitmentLearner(game.principal_view, 8000, seed=1)
    late = played(learner, sc.agents.FollowTheLeader(game.agent_view), 8000)
    assert learner.result.agent.memory > 0.9
    assert learner.result.agent.kind == "answers the average of the past"
    assert late > sc.solve(game).value - 0.06


@pytest.mark.slow
def test_it_says_what_kind_of_agent_it_faces() -> None:
    for name, expected in (("Calibrated", "calibrated"), ("QuantalResponse", "not calibrated")):
        learner = CommitmentLearner(INSPECTION.principal_view, 3000, seed=1)
        played(learner, getattr(sc.agents, name)(INSPECTION.agent_view, seed=2), 3000)
        assert learner.result.agent.kind == expected
        assert learner.result.agent.memory < 0.5


class Adversary:
    """Answers questions well, and commitments by what costs the principal most."""

    def __init__(self, view: Any) -> None:
        self.view = view

    def respond(self, block: sc.Block) -> sc.protocol.Responses:
        u = self.view.utilities(block.strategy)
        answer = u.argmax() if block.phase == "explore" else u.argmin()
        return sc.protocol.Responses(np.full(block.rounds, answer))


@pytest.mark.parametrize("name", ["textbook-commitment", "patrol"])
def test_no_agent_makes_it_earn_less_than_maximin_less_the_budget(name: str) -> None:
    game: Any = sc.load_game(name)
    horizon, agent = 1500, Adversary(game.principal_view)
    learner = CommitmentLearner(game.principal_view, horizon, seed=1)
    width, guarantee = learner._width, sc.solve(game, details=True).maximin
    done, earned, guarded = 0, 0.0, False
    while done < horizon:
        block = learner.commit()
        answers = agent.respond(block).responses
        learner.observe(answers)
        earned += float(learner.view.utilities(block.strategy)[answers].sum())
        done += block.rounds
        guarded |= "guarantees" in learner.result.why
        assert earned >= guarantee * done - width * (horizon ** (2 / 3) + max(40, 0.4 * done))
    assert guarded or earned >= guarantee * done - width * (horizon ** (2 / 3) + 100)


def test_it_recommends_no_less_than_its_record_or_says_why() -> None:
    for name in ("Calibrated", "QuantalResponse"):
        learner = CommitmentLearner(INSPECTION.principal_view, 2000, seed=1)
        played(learner, getattr(sc.agents, name)(INSPECTION.agent_view, seed=1), 2000)
        best, result = learner._record(), learner.result
        assert best is not None
        earned = learner._least + learner._width * best[2]
        assert (
            learner.expected_utility(result.strategy) >= earned - 1e-9
            or f"earned {earned:.3g}" in result.why
            or np.array_equal(result.strategy, best[0])
        )


def test_payoffs_that_change_are_noticed() -> None:
    game = sc.load_game("textbook-commitment")
    after = sc.FiniteGame(game.principal_payoffs, game.agent_payoffs[:, ::-1].copy())
    learner = CommitmentLearner(game.principal_view, 6000, seed=1)
    played(learner, sc.agents.Calibrated(game.agent_view, seed=1), 3000)
    late = played(learner, sc.agents.Calibrated(after.agent_view, seed=2), 3000, 100)
    assert sc.solve(after).value - late < 0.15 * np.ptp(game.principal_payoffs)


def test_no_strategy_is_played_below_the_floor() -> None:
    floor = sc.solve(INSPECTION, details=True).maximin - 0.05
    learner = CommitmentLearner(INSPECTION.principal_view, 1000, floor=floor)
    agent = sc.agents.BestResponse(INSPECTION.agent_view)
    for _ in range(40):
        block = learner.commit()
        assert learner.view.utilities(block.strategy).min() >= floor - 1e-7
        learner.observe(agent.respond(block).responses)


@pytest.mark.parametrize("agent", ["BestResponse", "Calibrated"])
def test_a_certified_margin_is_true(agent: str) -> None:
    for name in ("inspection", "separation"):
        game = sc.load_game(name)
        learner = CommitmentLearner(game.principal_view, 5000, margin=0.02)
        played(learner, getattr(sc.agents, agent)(game.agent_view, seed=1), 5000)
        result = learner.result
        assert result.certified
        true = sc.BestResponseRegions(game).margin(result.strategy, result.response)
        assert true >= result.margin == 0.02


def test_corners_contain_the_ball() -> None:
    rng = np.random.default_rng(0)
    for m in (2, 3, 5):
        space = Polytope.simplex(m)
        for h in rng.dirichlet(np.ones(m), 20):
            points, v = corners(h, 0.1, space, 0), rng.normal(size=m - 1)
            near = h + 0.1 * space.basis @ (v / np.linalg.norm(v))
            if near.min() < 0:
                continue
            weights = np.linalg.solve(points.T, near)
            assert weights.min() >= -1e-9


def test_a_wrong_word_is_one_sentence() -> None:
    view = INSPECTION.principal_view
    with pytest.raises(sc.InputError, match="horizon: expected a whole number of at least 1"):
        CommitmentLearner(view, 0)
    with pytest.raises(sc.InputError, match="margin: expected less than"):
        CommitmentLearner(view, 100, margin=2.0)
    with pytest.raises(sc.InputError, match="floor: expected a utility"):
        CommitmentLearner(view, 100, floor=99.0)
    with pytest.raises(sc.InputError, match="agent_payoffs: expected a lower and an upper bound"):
        CommitmentLearner(view, 100, agent_payoffs=(np.zeros((2, 2)), np.ones((2, 2))))
    broken = dataclasses.replace(view, payoffs=np.full(view.payoffs.shape, np.nan))
    with pytest.raises(sc.InputError, match="view: expected payoffs that are finite"):
        CommitmentLearner(broken, 100)


def test_earlier_names_are_found() -> None:
    for name in ("VersionSpace", "CoverageLearner", "CommitmentLearner"):
        assert sc.principals.find(name) is CommitmentLearner
        assert getattr(sc.principals, name) is CommitmentLearner
