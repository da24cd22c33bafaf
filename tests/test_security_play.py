"""Security games in play: attackers, audits, transcripts, and the learner of coverage."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import stackcast as sc
from stackcast.agents import BestResponse, Calibrated, FollowTheLeader, Hedge, Lazy
from stackcast.agents import find as find_agent
from stackcast.games import generators
from stackcast.principals import (
    Commitment,
    CoverageLearner,
    CoverageSearch,
    ExactOracle,
    Fixed,
    PhaseSwitch,
    ask_oracle,
    find,
    search_coverage,
)
from stackcast.principals.commitments import plain_commitment

if TYPE_CHECKING:
    from pathlib import Path

GAME = generators.security(6, 2, seed=1).normalised()


def switching(game: sc.SecurityGame, blocks: int, rounds: int) -> PhaseSwitch:
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(len(game.targets)), blocks) * game.resources
    return PhaseSwitch(game.principal_view, list(np.minimum(rows, 1.0)), [rounds] * blocks)


@pytest.mark.parametrize(
    "name", ["BestResponse", "BlumMansour", "Calibrated", "FollowTheLeader", "Hedge", "Lazy"]
)
def test_attackers_keep_the_contract(name: str) -> None:
    sc.checks.check_agent(lambda: find_agent(name)(GAME.agent_view, seed=3))


def test_the_learner_keeps_the_contract() -> None:
    assert find("CoverageLearner") is CoverageLearner
    for game in (GAME, generators.security(5, 4, seed=2)):
        sc.checks.check_principal(partial(CoverageLearner, game.principal_view, 2000, 1))


@pytest.mark.parametrize("feedback", ["strategy", "action"])
def test_the_attacker_is_calibrated_and_the_audit_holds(feedback: Any) -> None:
    limited = sc.load_game("fare-inspection")
    for game in (GAME, limited):
        assert isinstance(game, sc.SecurityGame)
        scale = 0.2 if game is limited else 1.0
        rows = np.random.default_rng(1).dirichlet(np.ones(6), 8) * scale
        agent = Calibrated(game.agent_view, seed=2, feedback=feedback)
        t = sc.play(PhaseSwitch(game.principal_view, list(rows), [500] * 8), agent, 4000, game)
        found = sc.audit(t, game)
        assert not found.failed
        assert {"utility, from forecasts", "utility, from answers alone"} <= {
            bound.name for bound in found.bounds
        }
        if feedback == "strategy":  # forecasts of draws need not satisfy constraints
            assert found.forecast_response_share == 1.0
        assert found.calibration is not None
        constant = 1.0 if feedback == "strategy" else 2.0
        for length, error in found.calibration.profile.errors.items():
            if length >= 50:
                assert error * np.sqrt(length / np.log(36 * length)) < constant * game.resources


def test_audit_bounds_hold_for_every_attacker() -> None:
    for build in (Hedge, FollowTheLeader, Lazy, BestResponse):
        t = sc.play(switching(GAME, 10, 200), build(GAME.agent_view, seed=1), 2000, GAME)
        found = sc.audit(t, GAME)
        assert not found.failed
        average = float(
            np.mean(
                [
                    u[y]
                    for u, y in zip(
                        GAME.principal_utilities(t.strategies), t.responses, strict=True
                    )
                ]
            )
        )
        assert found.average_utility == pytest.approx(average)
        assert found.value == pytest.approx(sc.solve(GAME).value)


def test_transcripts_and_checkpoints(tmp_path: Path) -> None:
    def run(**options: Any) -> sc.Transcript:
        principal = CoverageLearner(GAME.principal_view, 3000, 0)
        return sc.play(principal, Calibrated(GAME.agent_view, seed=5), 3000, GAME, **options)

    t = run()
    t.save(tmp_path / "t.parquet")
    again = sc.Transcript.load(tmp_path / "t.parquet")
    assert again == t
    assert again.game == GAME
    assert run(checkpoint=tmp_path / "run.ckpt", every=700) == t
    with pytest.raises(sc.InputError, match="game: expected the game that was played"):
        sc.audit(t, generators.security(6, 2, seed=2))


@pytest.mark.parametrize(("n", "most"), [(5, 84), (8, 139), (100, 1834)])
def test_exact_answers_need_few_questions(n: int, most: int) -> None:
    seeds = range(10) if n < 100 else range(1)
    near = [generators.near_equal_security(n, s) for s in seeds]
    for game in near + [generators.security(n, 1, s).normalised() for s in seeds]:
        oracle = ExactOracle(game.agent_view)
        found = ask_oracle(search_coverage(game.principal_view, 1e-8), oracle)
        assert oracle.queries <= most
        assert sc.solve(game).value - found.value <= 1e-8
        assert game.respond(found.strategy)[0] == found.response


def test_plentiful_resources_are_searched_too() -> None:
    rng = np.random.default_rng(0)
    for seed in range(40):
        n = int(rng.integers(2, 9))
        game = generators.security(n, int(rng.integers(1, n + 1)), seed).normalised()
        oracle = ExactOracle(game.agent_view)
        found = ask_oracle(search_coverage(game.principal_view, 1e-6), oracle)
        assert sc.solve(game).value - found.value <= 3e-6


def test_one_question_certifies_a_margin() -> None:
    certified = 0
    for seed in range(200):
        game = generators.security(6, 2, seed)
        oracle = ExactOracle(game.agent_view)
        found = ask_oracle(search_coverage(game.principal_view, 10.0 ** -(seed % 6)), oracle)
        margin = sc.BestResponseRegions(game).margin(found.strategy, found.response)
        assert margin >= found.margin - 1e-15
        certified += found.margin > 0
    assert certified > 150


def test_a_certificate_is_never_violated() -> None:
    rng = np.random.default_rng(7)
    certified = 0
    for seed in range(400):
        n = int(rng.integers(2, 8))
        game = generators.security(n, int(rng.integers(1, n + 1)), seed)
        search, radius = CoverageSearch(game.principal_view, 1e-3), 0.2 * float(rng.random())
        coverage = np.minimum(rng.dirichlet(np.ones(n)) * game.resources, 1.0)
        y = int(game.respond(coverage)[0])
        point = search.certificate(Commitment(coverage, y, 0.0, 0.0), radius)
        if game.agent_view.respond(point)[0] != y:
            continue
        certified += 1
        near = coverage + radius * rng.uniform(-1, 1, (200, n))
        near = np.clip(near, 0.0, 1.0)
        near = near[near.sum(axis=1) <= game.resources]
        assert not len(near) or (game.respond(near) == y).all()
    assert certified > 100


def test_lower_bounds_hold_whatever_is_asked() -> None:
    rng = np.random.default_rng(3)
    for seed in range(200):
        n = int(rng.integers(1, 8))
        game = generators.security(n, int(rng.integers(1, n + 1)), seed)
        best = sc.solve(game)
        level = (game.agent_utilities(best.strategy)).max()
        drop = game.attacker_uncovered - game.attacker_covered
        star = np.clip((game.attacker_uncovered - level) / drop, 0, 1)
        asked = np.minimum(rng.dirichlet(np.ones(n), 50) * game.resources, 1.0)
        answers = game.respond(asked)
        assert (asked[np.arange(50), answers] <= star[answers] + 1e-12).all()


def test_the_learner_finds_the_optimum_against_a_best_responder() -> None:
    for seed in range(4):
        game = generators.security(8, 2, seed).normalised()
        principal = CoverageLearner(game.principal_view, 50_000, seed)
        t = sc.play(principal, BestResponse(game.agent_view), 50_000, game)
        assert sc.audit(t, game, profile=False).regret < 0.02
        result = principal.result
        assert result.certified
        assert result.response is not None
        assert sc.solve(game).value - result.value < 0.02
        assert (
            sc.BestResponseRegions(game).margin(result.strategy, result.response) >= result.margin
        )


@pytest.mark.parametrize("family", ["independent", "near-equal"])
def test_the_learner_ends_with_a_margin_against_a_calibrated_attacker(family: str) -> None:
    for seed in range(2):
        game = (
            generators.near_equal_security(4, seed)
            if family == "near-equal"
            else generators.security(4, 1, seed)
        ).normalised()
        principal = CoverageLearner(game.principal_view, 40_000, seed)
        sc.play(principal, Calibrated(game.agent_view, seed=seed), 40_000, forecasts=False)
        result = principal.result
        assert result.certified
        assert result.response is not None
        assert result.margin > 0
        assert (
            sc.BestResponseRegions(game).margin(result.strategy, result.response) >= result.margin
        )


def test_a_rival_promises_no_more_than_the_optimum() -> None:
    found = 0
    for seed in range(50):
        game = generators.security(7, 2, seed)
        search = CoverageSearch(game.principal_view, 0.0)
        oracle = ExactOracle(game.agent_view)
        for _ in range(40):
            question = search.question()
            search.tell(question.strategy, oracle(question.strategy).response)
        y, value = search.best, sc.solve(game).value
        held = float(search.low[y]) - 0.03
        rival = search.rival(y, held, 0.02)
        if rival is None:
            continue
        found += 1
        z = rival.response
        assert z != y
        assert rival.value <= value + 1e-9
        assert rival.strategy[z] <= search.low[z] - 0.03 + 1e-12
        kept = float(rival.strategy[z]) / 2
        search.leave(z, kept, value)
        again = search.rival(y, held, 0.02)
        assert again is not None
        assert again.response != z or again.strategy[z] <= kept + 1e-12
    assert found > 30


@pytest.mark.parametrize("seed", [4, 22])
def test_a_target_whose_strayed_attacks_cost_too_much_is_left(seed: int) -> None:
    """It keeps its promise where it is attacked; what strays costs more than another promises."""
    game = generators.security(6, 1, seed).normalised()
    worst = int(np.argmin(game.principal_view.offsets))
    learner = CoverageLearner(game.principal_view, 20_000)
    meant: list[int] = []
    played = 0
    while played < 20_000:
        block = learner.commit()
        attacked = int(np.argmax(game.agent_view.utilities(block.strategy)))
        answers = np.full(block.rounds, attacked, dtype=np.int64)
        y = learner.result.response
        if y is not None:
            meant.append(y)
            if y == meant[0]:
                answers[::5] = answers[1::5] = worst
        learner.observe(answers)
        played += block.rounds
    assert meant[-1] != meant[0]


def test_leaning_moves_coverage_to_where_attacks_stray_and_proves_nothing() -> None:
    rng = np.random.default_rng(5)
    moved = 0
    for seed in range(100):
        n = int(rng.integers(3, 9))
        game = generators.security(n, int(rng.integers(1, n)), seed)
        search = CoverageSearch(game.principal_view, 0.0)
        oracle = ExactOracle(game.agent_view)
        for _ in range(4 * n):
            question = search.question()
            search.tell(question.strategy, oracle(question.strategy).response)
        y = search.best
        covered = 0.9 * float(search.low[y])
        even = search.commitment(y, covered)
        low, bound = search.low.copy(), search.upper_bound
        attacks = np.where(search.seen, rng.integers(0, 30, n), 0).astype(float)
        for _ in range(5):
            search.balance(y, attacks, 0.01)
        leaning = search.commitment(y, covered)
        assert (search.low == low).all()
        assert search.upper_bound == bound
        assert leaning.value == even.value
        assert leaning.strategy[y] == covered
        assert (leaning.strategy >= 0).all()
        assert (leaning.strategy <= 1).all()
        # Nothing is spent that is not there, and nothing is kept back that was spent before.
        assert leaning.strategy.sum() <= game.resources + 1e-12
        assert leaning.strategy.sum() == pytest.approx(even.strategy.sum())
        others = np.flatnonzero(search.seen & (np.arange(n) != y))
        if not len(others):
            continue
        most, least = others[np.argmax(attacks[others])], others[np.argmin(attacks[others])]
        assert leaning.strategy[most] >= even.strategy[most] - 1e-12
        assert leaning.strategy[least] <= even.strategy[least] + 1e-12
        moved += leaning.strategy[most] > even.strategy[most] + 1e-3
        search.balance(y, np.ones(n), 0.01)
        assert search.seen.all()  # what draws an attack is worth covering
    assert moved > 50


def test_leaning_repairs_wrong_bounds() -> None:
    """Attacks that stray in proportion to what each target lacks even out what it lacks."""
    game = generators.security(6, 1, seed=4)
    search = CoverageSearch(game.principal_view, 0.0)
    oracle = ExactOracle(game.agent_view)
    for _ in range(60):
        question = search.question()
        search.tell(question.strategy, oracle(question.strategy).response)
    y, star = search.best, search.low.copy()
    others = np.flatnonzero((star > 0.03) & (np.arange(6) != y))
    assert len(others) >= 2
    search.low[others] += np.where(np.arange(len(others)) % 2, 0.03, -0.03)
    covered = float(star[y]) - 0.03

    def spread() -> float:
        beyond = (search.commitment(y, covered).strategy - star)[others]
        return float(np.ptp(beyond))

    before = spread()
    for _ in range(60):
        beyond = search.commitment(y, covered).strategy - star
        search.balance(y, np.where(star > 0.03, 20 * np.exp(-beyond / 0.02), 0.0), 1e-4)
    assert before > 0.05
    assert spread() < before / 3


def test_the_learner_turns_from_the_wrong_target() -> None:
    game = generators.security(8, 1, seed=0).normalised()
    best = sc.solve(game)
    principal = CoverageLearner(game.principal_view, 100_000)
    agent = BestResponse(game.agent_view)

    def play_until(rounds: int) -> None:
        while sum(principal.result.rounds.values()) < rounds:
            principal.observe(agent.respond(principal.commit()).responses)

    play_until(5000)
    assert principal.result.response == best.response
    state = principal.state()
    wrong = int(np.argsort(game.principal_utilities(best.strategy) - 9 * (best.strategy <= 0))[-2])
    covered = float(state["search"]["low"][wrong]) - 0.02
    search = CoverageSearch(game.principal_view, 0.0)
    search.restore(state["search"])
    state["commitment"] = plain_commitment(search.commitment(wrong, covered))
    state["approach"]["numbers"][:2] = [covered + 0.02, 0.02]
    state["heard"] = np.zeros(0, dtype=np.int64)
    principal.restore(state)
    assert principal.result.response == wrong
    play_until(25_000)
    assert principal.result.response == best.response


def test_the_learner_notices_another_attacker() -> None:
    first, second = (generators.security(5, 1, seed).normalised() for seed in (0, 3))
    later = sc.SecurityGame(
        first.defender_covered,
        first.defender_uncovered,
        second.attacker_covered,
        second.attacker_uncovered,
        1,
    )
    principal = CoverageLearner(first.principal_view, 40_000)
    agents = [BestResponse(game.agent_view) for game in (first, later)]
    earned = []
    for agent in agents:
        played = 0
        while played < 20_000:
            block = principal.commit()
            answers = agent.respond(block).responses
            earned.append(float(first.principal_utilities(block.strategy)[answers].mean()))
            principal.observe(answers)
            played += block.rounds
    assert any(c.kind == "commitment" for c in principal.result.contradictions)
    assert sc.solve(later).value - np.mean(earned[-10:]) < 0.05


@pytest.mark.slow
def test_the_learner_against_a_calibrated_attacker() -> None:
    regrets = []
    for seed in range(3):
        game = generators.security(5, 1, seed).normalised()
        principal = CoverageLearner(game.principal_view, 100_000, seed)
        agent = Calibrated(game.agent_view, seed=seed)
        t = sc.play(principal, agent, 100_000, game)
        regrets.append(sc.audit(t, game, profile=False).regret)
    assert np.mean(regrets) < 0.02


@pytest.mark.slow
def test_the_learner_with_ten_targets_against_a_calibrated_attacker() -> None:
    game = generators.security(10, 1, seed=6).normalised()
    best = sc.solve(game)
    principal = CoverageLearner(game.principal_view, 100_000, 6)
    t = sc.play(principal, Calibrated(game.agent_view, seed=6), 100_000, game)
    assert principal.result.response == best.response
    assert sc.audit(t, game, profile=False).regret < 0.03


def test_other_games_are_refused() -> None:
    with pytest.raises(sc.InputError, match="view: expected a security game of plain resources"):
        CoverageLearner(sc.load_game("fare-inspection").principal_view, 1000)
    with pytest.raises(sc.InputError, match="view: expected a game of mixed strategies"):
        sc.principals.VersionSpace(GAME.principal_view, 1000)
    with pytest.raises(sc.InputError, match="strategy: expected coverage"):
        sc.play(Fixed(GAME.principal_view, [1, 1, 1, 0, 0, 0]), BestResponse(GAME.agent_view), 1)


def test_the_command_line_and_the_picture(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from stackcast.cli import app
    from stackcast.report import draw_coverage

    runner = CliRunner()
    shown = runner.invoke(app, ["solve", "patrol", "--out", str(tmp_path / "out")])
    assert shown.exit_code == 0
    assert "marina" in shown.stdout
    assert (tmp_path / "out" / "coverage.png").stat().st_size > 5000
    listed = runner.invoke(app, ["games", "wildlife"])
    assert "ranger" in listed.stdout
    game = sc.load_game("patrol")
    assert isinstance(game, sc.SecurityGame)
    t = sc.play(switching(game, 4, 50), BestResponse(game.agent_view), 200, game)
    t.save(tmp_path / "t.parquet")
    audited = runner.invoke(app, ["audit", str(tmp_path / "t.parquet"), "--json"])
    assert audited.exit_code == 0
    ax = draw_coverage(game, sc.solve(game), [0.4, 0.3, 0.2, 0.1], t)
    assert len(ax.patches) == 8
