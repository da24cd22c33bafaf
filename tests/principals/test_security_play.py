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
    CommitmentLearner,
    Fixed,
    PhaseSwitch,
    find,
)

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
    assert find("CoverageLearner") is CommitmentLearner
    for game in (GAME, generators.security(5, 4, seed=2)):
        sc.checks.check_principal(partial(CommitmentLearner, game.principal_view, 2000, seed=1))


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
        principal = CommitmentLearner(GAME.principal_view, 3000)
        return sc.play(principal, Calibrated(GAME.agent_view, seed=5), 3000, GAME, **options)

    t = run()
    t.save(tmp_path / "t.parquet")
    again = sc.Transcript.load(tmp_path / "t.parquet")
    assert again == t
    assert again.game == GAME
    assert run(checkpoint=tmp_path / "run.ckpt", every=700) == t
    with pytest.raises(sc.InputError, match="game: expected the game that was played"):
        sc.audit(t, generators.security(6, 2, seed=2))


@pytest.mark.slow
def test_the_learner_finds_the_optimum_and_certifies_a_margin() -> None:
    for seed in range(2):
        game = generators.security(8, 2, seed).normalised()
        principal = CommitmentLearner(game.principal_view, 20_000, seed=seed, margin=0.005)
        t = sc.play(principal, BestResponse(game.agent_view), 20_000, game)
        assert sc.audit(t, game, profile=False).regret < 0.05
        result = principal.result
        assert result.certified
        assert result.response is not None
        assert sc.solve(game).value - result.value < 0.1
        true = sc.BestResponseRegions(game).margin(result.strategy, result.response)
        assert true >= result.margin


def test_the_learner_notices_another_attacker() -> None:
    first, second = (generators.security(5, 1, seed).normalised() for seed in (0, 3))
    later = sc.SecurityGame(
        first.defender_covered,
        first.defender_uncovered,
        second.attacker_covered,
        second.attacker_uncovered,
        1,
    )
    principal = CommitmentLearner(first.principal_view, 40_000)
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
    assert principal.result.agent.changes > 0
    assert sc.solve(later).value - np.mean(earned[-10:]) < 0.05


@pytest.mark.slow
def test_the_learner_against_a_calibrated_attacker() -> None:
    regrets = []
    for seed in range(3):
        game = generators.security(5, 1, seed).normalised()
        principal = CommitmentLearner(game.principal_view, 100_000, seed=seed)
        agent = Calibrated(game.agent_view, seed=seed)
        t = sc.play(principal, agent, 100_000, game)
        regrets.append(sc.audit(t, game, profile=False).regret)
    assert np.mean(regrets) < 0.02


@pytest.mark.slow
def test_the_learner_with_ten_targets_against_a_calibrated_attacker() -> None:
    game = generators.security(10, 1, seed=6).normalised()
    best = sc.solve(game)
    principal = CommitmentLearner(game.principal_view, 100_000, seed=6)
    t = sc.play(principal, Calibrated(game.agent_view, seed=6), 100_000, game)
    assert principal.result.response == best.response
    assert sc.audit(t, game, profile=False).regret < 0.03


def test_other_games_are_refused() -> None:
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
