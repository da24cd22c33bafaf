"""ApproxMem's two claims with the corrected constants; P1 and P2 on the output of Algorithm 3."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pytest

from stackcast.agents import BestResponse
from stackcast.calibration import PowerRate
from stackcast.claims import check_claim
from stackcast.games import FiniteGame, StrategySpace
from stackcast.games.generators import competing, uniform
from stackcast.principals import (
    BestResponseOracle,
    ExploreThenCommit,
    Label,
    NoisyAnswersError,
    Precision,
    TheoryParameters,
    approx_mem,
    ask_oracle,
    learn_commitment,
    membership_opt,
    single_question_opt,
)
from stackcast.solvers import BestResponseRegions, solve
from stackcast.theory import membership_epochs

if TYPE_CHECKING:
    from collections.abc import Callable

    from stackcast._validation import FloatArray
    from stackcast.principals import Search

T = TypeVar("T")


def answered(search: Search[T], answer: Callable[[FloatArray], int]) -> T:
    try:
        question = next(search)
        while True:
            question = search.send(Label(answer(question.strategy), question.accuracy))
    except StopIteration as stop:
        result: T = stop.value
        return result


def halfspace(m: int, seed: int) -> tuple[StrategySpace, FloatArray, FloatArray]:
    """Return a simplex, its middle, and a unit normal of the boundary of action 0."""
    space = StrategySpace.simplex(m)
    normal = space.basis @ np.random.default_rng(seed).standard_normal(m - 1)
    return space, np.full(m, 1 / m), normal / np.linalg.norm(normal)


@pytest.mark.parametrize("m", [2, 3, 6, 12])
def test_first_claim_deep_inside_the_answer_is_certain(m: int) -> None:
    e1, e2 = 0.02, 0.002 / math.sqrt(m)
    space, middle, normal = halfspace(m, m)
    depth = e1 + e2 + 1e-9  # of the middle inside the region ⟨normal, h − middle⟩ ≥ −depth

    def adversary(h: FloatArray) -> int:
        return int(normal @ (h - middle) + depth < e2)  # says 1 wherever it may

    for trial in range(30):
        rng = np.random.default_rng(trial)
        assert answered(approx_mem(middle, e1, e2, 20, space, rng, 0), adversary) == 0


@pytest.mark.parametrize("m", [2, 3, 6, 12, 40])
def test_second_claim_shallow_points_are_refused(m: int) -> None:
    e1, e3 = 0.01 / math.sqrt(m), 0.05
    e2 = 0.1 * e1 / math.sqrt(m)
    space, middle, normal = halfspace(m, m)
    depth = e2 + e1 / math.sqrt(m) - 1e-12

    def adversary(h: FloatArray) -> int:
        return int(normal @ (h - middle) + depth < -e2)  # says 0 wherever it may

    trials = 400
    accepted = sum(
        answered(
            approx_mem(
                middle, e1, e2, membership_epochs(e3), space, np.random.default_rng(trial), 0
            ),
            adversary,
        )
        == 0
        for trial in range(trials)
    )
    # At most ε₃, with three standard deviations for 400 trials.
    assert accepted / trials <= e3 + 3 * math.sqrt(e3 * (1 - e3) / trials)


def test_infeasible_samples_refuse_and_membership_takes_the_first_label() -> None:
    space = StrategySpace.simplex(3)
    rng = np.random.default_rng(0)
    corner = np.array([1.0, 0.0, 0.0])
    assert answered(approx_mem(corner, 0.1, 0.01, 20, space, rng), lambda h: 2) is None
    middle = np.full(3, 1 / 3)
    assert answered(approx_mem(middle, 0.1, 0.01, 20, space, rng), lambda h: 2) == 2


def by_hand(game: FiniteGame, samples: int) -> TheoryParameters:
    m, k = game.shape
    theory = TheoryParameters.compute(m, k, 0.1, 10**5, PowerRate(0.5))
    root = math.sqrt(m)
    return replace(
        theory,
        tolerance=0.05,
        robustness=0.002,
        samples=samples,
        initial=Precision(0.02, 0.002 / root),
        optimising=Precision(0.004, 0.0004 / root),
        checking=Precision(0.002 * root / 1.1, 0.002 / 11),
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("m", [2, 3])
def test_algorithm_3_gives_p1_and_p2(m: int, seed: int) -> None:
    game = (uniform if seed % 2 else competing)(m, m, seed)
    best = solve(game, details=True)
    if best.regularity < 0.05:
        pytest.skip("the optimal region has no large ball")
    theory = replace(by_hand(game, samples=12), epochs=20)
    oracle = BestResponseOracle(game.agent_view, ambiguous=1e-5, seed=seed)
    found = ask_oracle(learn_commitment(game.principal_view, theory, seed), oracle)
    assert found is not None
    margin = BestResponseRegions(game).margin(found.strategy, found.response)
    assert margin >= theory.robustness  # P2
    if found.response == best.response:  # the samples met the optimal region
        assert found.value >= best.value - theory.tolerance - boundary_cost(game, theory)  # P1


def boundary_cost(game: FiniteGame, theory: TheoryParameters) -> float:
    """Return what the paper's balls cost where the optimum lies on the simplex's own boundary."""
    width = theory.checking.approximation + theory.optimising.approximation
    return 2 * game.shape[0] * width


@pytest.mark.parametrize("seed", range(5))
def test_membership_opt_finds_the_optimum_of_a_region(seed: int) -> None:
    game = competing(3, 3, seed)
    regions = BestResponseRegions(game)
    accuracy = 1e-5
    for y in range(3):
        ball = regions.inscribed_ball(y)
        if ball is None or ball.radius < 0.03:
            continue
        objective = game.principal_payoffs[:, y]
        oracle = BestResponseOracle(game.agent_view, ambiguous=accuracy, seed=seed)
        search = single_question_opt(ball.center, y, objective, game.space, 1e-3, accuracy, 0.002)
        found = ask_oracle(search, oracle, most=5000)
        vertices = regions.polytope(y).vertices
        assert regions.margin(found, y) >= -1e-4
        assert objective @ found >= (vertices @ objective).max() - 0.02


@pytest.mark.parametrize("m", [2, 3, 4])
def test_membership_opt_asks_approx_mem_and_finds_the_optimum(m: int) -> None:
    calls = 0
    for seed in range(2):
        game = competing(m, m, seed)
        regions = BestResponseRegions(game)
        for y in range(m):
            ball = regions.inscribed_ball(y)
            if ball is None or ball.radius < 0.05:
                continue
            e1, objective = 2e-4, game.principal_payoffs[:, y]
            size = Precision(e1, 0.1 * e1 / math.sqrt(m))
            oracle = BestResponseOracle(game.agent_view, ambiguous=size.conservatism, seed=seed)
            epochs = membership_epochs(1e-3)
            search = membership_opt(
                ball.center, y, objective, game.space, size, epochs, 0.01, np.random.default_rng(0)
            )
            try:
                found = ask_oracle(search, oracle, most=10**6)
            except NoisyAnswersError:
                continue
            calls += 1
            assert oracle.queries >= epochs
            assert regions.margin(found, y) > 0
            best = regions.polytope(y).cut(-np.eye(m), np.full(m, -e1)).vertices @ objective
            assert objective @ found >= best.max() - 0.01 - 2 * m * e1
    assert calls >= 2


@pytest.mark.parametrize("accuracy", [1e-4, 3e-3])
def test_the_search_says_when_noise_has_beaten_it(accuracy: float) -> None:
    """Every strategy that it returns is as good as it says; all others are refused."""
    said = returned = 0
    for seed in range(6):
        game = competing(4, 4, seed)
        regions = BestResponseRegions(game)
        for y in range(4):
            ball = regions.inscribed_ball(y)
            if ball is None or ball.radius < 0.03:
                continue
            objective = game.principal_payoffs[:, y]
            oracle = BestResponseOracle(game.agent_view, ambiguous=accuracy, seed=seed)
            search = single_question_opt(
                ball.center, y, objective, game.space, 2 * accuracy, accuracy, 0.01
            )
            best = float((regions.polytope(y).vertices @ objective).max())
            # What it has found lies below the optimum by no more than what it says.
            try:
                found, gap = ask_oracle(search, oracle), 0.01
                returned += 1
            except NoisyAnswersError as noise:
                found, gap = noise.best, noise.gap
                said += 1
            assert best - objective @ found <= gap + 40 * accuracy
    assert returned > 0 if accuracy < 1e-3 else said > 0


@pytest.mark.parametrize("schedule", ["fixed", "rescheduled"])
@pytest.mark.parametrize("oracle", ["membership", "question"])
def test_what_the_theory_plans_is_what_is_asked(schedule: str, oracle: str) -> None:
    game = competing(2, 2, 1)
    theory = replace(
        TheoryParameters.compute(2, 2, 0.2, 10**7, PowerRate(0.5, 1e-4)),
        tolerance=0.05, samples=1 if schedule == "rescheduled" else 6, epochs=9,
        initial=Precision(0.05, 0.003),
        optimising=Precision(0.02, 0.001), checking=Precision(0.02, 0.001),
    )  # fmt: skip
    principal = ExploreThenCommit(
        game.principal_view, theory, schedule=schedule, oracle=oracle, seed=1
    )
    agent, rounds = BestResponse(game.agent_view), 0
    counts = {"initialise": 0, "optimise": 0, "check": 0}
    while (block := principal.commit()).phase != "commit":
        counts[block.phase] += 1
        rounds += block.rounds
        principal.observe(agent.respond(block).responses)
    planned = theory.planned(*counts.values(), rescheduled=schedule == "rescheduled")
    assert rounds == planned
    most = theory.samples * theory.epochs
    assert 0 < counts["initialise"] <= most
    assert 0 < counts["check"] <= most
    assert 0 < counts["optimise"] <= most * theory.calls


@pytest.mark.slow
def test_algorithm_3_on_a_hundred_games_fails_no_more_often_than_it_may() -> None:
    for name in ("near-optimal", "robust"):
        found = check_claim(name, full=True)
        assert found.runs == 100
        assert found.verdict == "holds", found
        assert found.chance <= 0.05
