"""The practical learner: certificates that hold, few questions, wrong answers, changes, limits."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls

import stackcast as sc
from stackcast._validation import InputError
from stackcast.agents import BestResponse, Calibrated
from stackcast.games import Constraint, FiniteGame, StrategySpace, generators
from stackcast.games.generators import competing, uniform
from stackcast.principals import (
    Answer,
    ExactOracle,
    PayoffSearch,
    VersionSpace,
    ask_oracle,
    search_payoffs,
)
from stackcast.principals.certificates import certified_radius, corner_points, fitted_points
from stackcast.principals.version_cloud import VersionCloud
from stackcast.protocol import Agent, Block, Responses, play
from stackcast.solvers import BestResponseRegions, solve


@pytest.mark.parametrize("family", [uniform, competing])
@pytest.mark.parametrize("m", [2, 3, 4])
def test_certified_margins_are_true_and_values_near_the_best(family: Any, m: int) -> None:
    for seed in range(6):
        game = family(m, m, seed)
        best = solve(game, details=True)
        search = PayoffSearch(
            game.principal_view, margin=1e-3, accuracy=1e-3, tolerance=4e-3, seed=seed
        )
        oracle = ExactOracle(game.agent_view, ambiguous=1e-3, seed=seed)
        found = ask_oracle(search_payoffs(search), oracle, most=300)
        assert found is not None
        assert BestResponseRegions(game).margin(found.strategy, found.response) >= found.margin
        assert found.margin == pytest.approx(1e-3)
        if best.regularity >= 0.02:
            assert found.value >= best.value - 0.01
        assert search.cloud.solves <= 50 * oracle.queries + 100


@pytest.mark.parametrize("m", [2, 3, 5, 8])
def test_corner_points_contain_the_ball_within_the_simplex(m: int) -> None:
    rng = np.random.default_rng(m)
    space = StrategySpace.simplex(m)
    for _ in range(20):
        h = rng.dirichlet(np.full(m, 0.5))
        corners = corner_points(h, 0.05)
        assert space.contains(corners[0])
        assert certified_radius(h, corners, space) >= 0.05 - 1e-12
        steps = rng.standard_normal((200, m - 1)) @ space.basis.T
        steps *= (0.05 * rng.random(200) / np.linalg.norm(steps, axis=1))[:, None]
        near = h + steps
        near = near[near.min(axis=1) >= 0]
        weights = np.linalg.solve(corners.T, near.T)
        assert weights.min(initial=0.0) >= -1e-9


def test_fitted_points_contain_the_ball_and_stay_inside_the_region() -> None:
    sizes = []
    for seed in range(30):
        game = competing(4, 4, seed)
        robust = solve(game, margin=0.02)
        points = fitted_points(
            robust.strategy, robust.response, game.agent_payoffs, game.space, 0.015, 0.005
        )
        if points is None:
            continue
        sizes.append(len(points))
        assert certified_radius(robust.strategy, points, game.space) >= 0.015 - 1e-7
        regions = BestResponseRegions(game)
        for point in points:
            assert game.space.contains(point)
            assert regions.margin(point, robust.response) >= 0.005 - 1e-6
    assert len(sizes) >= 25
    assert max(sizes) > 4  # some are cut by the space


def test_nothing_is_asked_for_a_certificate_that_answers_prove_already() -> None:
    for seed in range(4):
        game = uniform(3, 3, seed)
        search = PayoffSearch(
            game.principal_view, margin=1e-3, accuracy=1e-3, tolerance=8e-3, seed=seed
        )
        while (question := search.question()) is not None:
            if question.phase == "certify":
                assert search.planned is not None
                same = search.cloud.labels == search.planned.response
                corners = np.vstack([search.cloud.asked[same].T, np.ones(same.sum())])
                if same.any():
                    assert nnls(corners, np.append(question.strategy, 1.0))[1] > 1e-9
            search.tell(question, int(game.respond(question.strategy)[0]), 1e-3)
        assert search.certified is not None


def test_points_that_are_all_alike_spread_again() -> None:
    game = uniform(5, 5, 0)
    rng = np.random.default_rng(0)
    cloud = VersionCloud(game.principal_view, rng, np.zeros((5, 5)), np.ones((5, 5)), game.space)
    for strategy in rng.dirichlet(np.full(5, 0.5), 30):
        assert cloud.add(strategy, int(game.respond(strategy)[0]), 1e-3)
    spread = np.median(cloud.points.std(axis=0))
    cloud.points[:] = game.agent_payoffs
    strategy = rng.dirichlet(np.full(5, 0.5))
    assert cloud.add(strategy, int(game.respond(strategy)[0]), 1e-3)
    assert all(cloud.allows(point) for point in cloud.points)
    assert np.median(cloud.points.std(axis=0)) >= 0.25 * spread


class Forgetful(Agent):
    """An informed agent that gives a random answer to a share of the blocks."""

    informed = True

    def __init__(self, game: FiniteGame, share: float, seed: int) -> None:
        super().__init__(game.agent_view)
        self._rng, self._share = np.random.default_rng(seed), share

    def respond(self, block: Block) -> Responses:
        y = int(self.view.respond(block.strategy)[0])
        if block.phase != "commit" and self._rng.random() < self._share:
            y = int(self._rng.integers(len(self.view.agent_actions)))
        return Responses(np.full(block.rounds, y))


def average(t: Any, game: FiniteGame, start: int = 0) -> float:
    strategies, responses = t.strategies[start:], t.responses[start:]
    return float((strategies * game.principal_payoffs[:, responses].T).sum(axis=1).mean())


def test_wrong_answers_are_survived() -> None:
    losses = []
    for seed in range(6):
        game = uniform(3, 3, seed)
        learner = VersionSpace(game.principal_view, 50_000, seed=seed)
        t = play(learner, Forgetful(game, 0.1, seed), 50_000)
        losses.append(solve(game).value - average(t, game))
    assert np.mean(losses) <= 0.05


def test_against_a_calibrated_agent_little_is_lost_and_nothing_was_told() -> None:
    losses = []
    for seed in range(3):
        game = competing(2, 2, seed)
        learner = VersionSpace(game.principal_view, 20_000, seed=seed)
        t = play(learner, Calibrated(game.agent_view, seed=seed), 20_000)
        losses.append(solve(game).value - average(t, game))
        assert {block.phase for block in t.blocks} <= {"explore", "certify", "recheck", "commit"}
    assert np.mean(losses) <= 0.03


def test_refused_commitments_end_at_an_answer_that_is_sure() -> None:
    # Early answers put the facet a little too far out, and four commitments beyond it are refused.
    game = uniform(2, 2, 11)
    learner = VersionSpace(game.principal_view, 100_000, seed=11)
    t = play(learner, Calibrated(game.agent_view, seed=11), 100_000, forecasts=False)
    refused = [c for c in learner.result.contradictions if c.kind == "commitment"]
    assert len(refused) >= 4
    assert solve(game).value - average(t, game) <= 0.03


def test_payoffs_that_change_are_noticed_and_learned_again() -> None:
    before = FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    after = FiniteGame([[1, 3], [0, 2]], [[0, 1], [1, 0]])

    class Turning(Forgetful):
        played = 0

        def respond(self, block: Block) -> Responses:
            first = max(0, min(block.rounds, 20_000 - self.played))
            self.played += block.rounds
            y = [int(g.respond(block.strategy)[0]) for g in (before, after)]
            return Responses(np.repeat(y, [first, block.rounds - first]))

    learner = VersionSpace(before.principal_view, 40_000, seed=0)
    t = play(learner, Turning(before, 0.0, 0), 40_000)
    assert any(c.kind == "change" and c.round > 20_000 for c in learner.result.contradictions)
    best = solve(after).value
    assert average(t, after, start=24_000) >= best - 0.1  # within 10% of the horizon


def test_a_change_away_from_the_commitment_is_noticed_too() -> None:
    # The commitment draws the same response afterwards; something else is worth far more.
    payoffs = [[0.5, 0.0, 0.0], [0.0, 0.0, 1.0]]
    before = FiniteGame(payoffs, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    after = FiniteGame(payoffs, [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    agents = [Calibrated(game.agent_view, seed=0) for game in (before, after)]
    learner = VersionSpace(before.principal_view, 120_000, seed=0)
    played, earned = 0, 0.0
    while played < 120_000:
        block = learner.commit()
        responses = agents[played >= 60_000].respond(block).responses
        learner.observe(responses)
        played += block.rounds
        if played >= 72_000:  # a tenth of the horizon later
            earned += float(after.principal_utilities(block.strategy)[responses].sum())
    assert any(c.kind == "change" and c.round > 60_000 for c in learner.result.contradictions)
    assert learner.result.response == 2
    assert earned / 48_000 >= solve(after).value - 0.1


def test_restored_is_uninterrupted() -> None:
    game = competing(3, 3, 1)

    def answers(block: Block) -> Any:
        return np.full(min(block.rounds, 200), game.respond(block.strategy))

    learner = VersionSpace(game.principal_view, 20_000, seed=4)
    for _ in range(25):
        learner.observe(answers(learner.commit()))
    twin = VersionSpace(game.principal_view, 20_000, seed=4)
    twin.restore(learner.state())
    for _ in range(25):
        one, two = learner.commit(), twin.commit()
        assert one == two
        learner.observe(answers(one))
        twin.observe(answers(two))
    assert learner.result.value == twin.result.value


def test_constraints_and_floors_hold_in_every_round() -> None:
    game = FiniteGame(
        uniform(3, 3, 5).principal_payoffs,
        uniform(3, 3, 5).agent_payoffs,
        constraints=[
            Constraint({"row 1": 1.0}, at_most=0.4),
            Constraint({"row 2": 1.0}, at_least=0.1),
        ],
    )
    t = play(VersionSpace(game.principal_view, 5000, seed=1), BestResponse(game.agent_view), 5000)
    assert t.strategies[:, 0].max() <= 0.4 + 1e-9
    assert t.strategies[:, 1].min() >= 0.1 - 1e-9
    assert average(t, game) >= solve(game).value - 0.1
    free = competing(3, 3, 2)
    floor = float(np.sort(free.principal_payoffs.min(axis=1))[1])
    t = play(
        VersionSpace(free.principal_view, 5000, seed=1, floor=floor),
        BestResponse(free.agent_view),
        5000,
    )
    assert free.principal_utilities(t.strategies).min() >= floor - 1e-9


def test_what_is_known_saves_questions() -> None:
    game = uniform(4, 4, 3)
    exact = (game.agent_payoffs - 0.02, game.agent_payoffs + 0.02)
    told = VersionSpace(game.principal_view, 20_000, seed=0, agent_payoffs=exact)
    play(told, BestResponse(game.agent_view), 20_000)
    ignorant = VersionSpace(game.principal_view, 20_000, seed=0)
    play(ignorant, BestResponse(game.agent_view), 20_000)
    assert told.result.questions <= ignorant.result.questions
    strategies = np.random.default_rng(0).dirichlet(np.ones(4), 60)
    logged = VersionSpace(
        game.principal_view, 20_000, seed=0, log=(strategies, game.respond(strategies))
    )
    play(logged, BestResponse(game.agent_view), 20_000)
    assert logged.result.value >= solve(game).value - 0.05


def test_a_result_at_any_time() -> None:
    game = uniform(3, 3, 0)
    learner = VersionSpace(game.principal_view, 1000, seed=0)
    assert learner.result.response is None
    assert game.space.contains(learner.result.strategy)
    block = learner.commit()
    learner.observe(np.full(block.rounds, 1))
    assert game.space.contains(learner.result.strategy)
    assert sum(learner.result.rounds.values()) == block.rounds


def test_answers_that_cannot_be_reconciled_are_reported() -> None:
    game = uniform(2, 2, 0)
    search = PayoffSearch(game.principal_view, margin=1e-3, accuracy=1e-3, tolerance=4e-3, seed=0)
    told = []
    for weight, y in ((0.1, 0), (0.5, 1), (0.9, 0)):  # a region that is not convex
        h = np.array([weight, 1 - weight])
        told.append(search.cloud.add(h, y, 1e-3))
    assert told == [True, True, False]
    assert search.cloud.drop(search.cloud.contradictions()[:1])
    assert Answer(0, 0.1).accuracy == 0.1


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"horizon": 0}, "horizon"),
        ({"horizon": 100, "margin": 2.0}, "margin"),
        ({"horizon": 100, "margin": -1.0}, "margin"),
        ({"horizon": 100, "floor": 5.0}, "floor"),
        ({"horizon": 100, "log": ([[1.0, 0.0]], [7])}, "log"),
        ({"horizon": 100, "agent_payoffs": ([[1.0]], [[0.0]])}, "agent_payoffs"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(arguments: dict[str, Any], field: str) -> None:
    view = uniform(2, 2, 0).principal_view
    with pytest.raises(InputError, match=field) as error:
        VersionSpace(view, **arguments)
    assert str(error.value).count(".") <= 3
    assert "\n" not in str(error.value)


def test_a_view_with_nan_is_refused_in_one_sentence() -> None:
    view = uniform(2, 2, 0).principal_view
    payoffs = view.payoffs.copy()
    payoffs[0, 1] = np.nan
    with pytest.raises(InputError, match=r"^view: expected payoffs that are finite numbers"):
        VersionSpace(dataclasses.replace(view, payoffs=payoffs), horizon=100)


GAMES = [
    sc.load_game("inspection"),
    *(generators.uniform(3, 3, seed) for seed in (1, 2)),
    *(generators.competing(3, 3, seed) for seed in (1, 2)),
]


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_exact_answers_lead_to_the_stackelberg_value(game: sc.FiniteGame) -> None:
    rounds = 40_000
    principal = VersionSpace(game.principal_view, horizon=rounds, seed=0)
    transcript = sc.play(principal, sc.agents.BestResponse(game.agent_view), rounds, game)
    found = principal.result
    assert found.response is not None
    # All rounds, exploration included; payoffs in [0, 1].
    assert sc.audit(transcript, profile=False).regret <= 0.03
    assert found.value <= sc.solve(game).value + 1e-9
    if found.certified:
        true_margin = BestResponseRegions(game).margin(found.strategy, found.response)
        assert true_margin >= found.margin - 1e-9


def test_it_keeps_the_contract_of_principals() -> None:
    game = GAMES[0]
    sc.checks.check_principal(lambda: VersionSpace(game.principal_view, horizon=3_000, seed=1))


@pytest.mark.parametrize("horizon", [0, -5, 1.5, "long"])
def test_a_bad_horizon_is_one_sentence(horizon: object) -> None:
    with pytest.raises(sc.InputError, match=r"^horizon: expected a whole number"):
        VersionSpace(GAMES[0].principal_view, horizon=horizon)  # type: ignore[arg-type]
