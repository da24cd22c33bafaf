"""The names and signatures that others rely on, each used once as they use it."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import numpy as np
import pytest

import stackcast as sc

if TYPE_CHECKING:
    from pathlib import Path

AGENTS = (
    *("Calibrated", "NonAdaptive", "Lazy", "BestResponse", "QuantalResponse", "Hedge"),
    *("FollowTheLeader", "BlumMansour"),
)
SIGNATURES = {
    sc.FiniteGame: "principal_payoffs agent_payoffs principal_actions agent_actions "
    "description source",
    sc.SecurityGame: "defender_covered defender_uncovered attacker_covered attacker_uncovered "
    "resources targets",
    sc.solve: "game margin details",
    sc.play: "principal agent rounds game",
    sc.audit: "transcript game",
    sc.calibration_profile: "outcomes forecasts bins lengths",
    sc.calibration.AdaptiveForecaster: "binning space seed",
    sc.principals.VersionSpace: "view horizon seed",
    sc.principals.CoverageLearner: "view horizon seed",
    sc.principals.PhaseSwitch: "view strategies rounds",
    sc.principals.Replay: "view strategies",
}


@pytest.mark.parametrize("function", SIGNATURES, ids=lambda f: f.__name__)
def test_the_parameters_keep_their_names(function: object) -> None:
    assert set(SIGNATURES[function].split()) <= set(inspect.signature(function).parameters)  # type: ignore[arg-type]


def test_a_game_is_solved_played_saved_and_audited(tmp_path: Path) -> None:
    game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    solution = sc.solve(game, margin=0.0, details=False)
    assert solution.value == pytest.approx(2.5)
    np.testing.assert_allclose(solution.strategy, 0.5)
    assert solution.response == 1
    assert solution.margin == pytest.approx(0.0, abs=1e-9)
    assert len(solution.values) == 2
    principal = sc.principals.VersionSpace(game.principal_view, horizon=2_000, seed=0)
    agent = sc.agents.Calibrated(game.agent_view, seed=0)
    t = sc.play(principal, agent, rounds=2_000, game=game)
    assert t.forecasts is not None
    assert t.strategies.shape == t.forecasts.shape == (2_000, 2)
    assert t.responses.shape == (2_000,)
    assert {"strategy", "rounds", "phase"} <= set(dir(t.blocks[0]))
    result = principal.result
    for name in ("strategy", "response", "value", "margin"):
        assert hasattr(result, name)
    t.save(tmp_path / "t.parquet")
    again = sc.Transcript.load(tmp_path / "t.parquet")
    np.testing.assert_array_equal(again.responses, t.responses)
    a = sc.audit(again, game)
    assert a.value == pytest.approx(2.5)
    assert a.average_utility + a.regret == pytest.approx(2.5)
    assert a.swap_regret >= 0
    assert all(bound.holds for bound in a.bounds)
    profile = sc.calibration_profile(t.strategies, t.forecasts, t.responses, lengths=[50, 500])
    assert profile.errors[50] >= 0


@pytest.mark.parametrize("name", AGENTS)
def test_agents_are_built_from_their_view_and_a_seed(name: str) -> None:
    game = sc.load_game("inspection")
    agent = getattr(sc.agents, name)(game.agent_view, seed=0)
    answers = agent.respond(sc.Block([0.5, 0.3, 0.2], 5)).responses
    assert len(answers) == 5


def test_principals_forecasters_and_checks_keep_their_doors() -> None:
    game = sc.load_game("inspection")
    view = game.principal_view
    h = sc.solve(game).strategy
    for principal in (
        sc.principals.Fixed(view, h),
        sc.principals.Oracle(game),
        sc.principals.UniformExplore(view, horizon=1_000),
        sc.principals.GridBandit(view, horizon=1_000),
        sc.principals.PhaseSwitch(view, [h, h], [5, 5]),
        sc.principals.Replay(view, np.tile(h, (3, 1))),
    ):
        assert principal.commit().rounds >= 1
    binning = sc.calibration.BestResponseBinning(game.agent_view)
    forecaster = sc.calibration.AdaptiveForecaster(binning, view.space, seed=0)
    p = forecaster.forecast()
    assert p.sum() == pytest.approx(1.0)
    forecaster.observe(h)
    for check in ("check_agent", "check_principal", "check_forecaster"):
        assert callable(getattr(sc.checks, check))
    for door in ("Campaign",):
        assert hasattr(getattr(sc.campaigns, door), "open")
    assert callable(sc.sweeps.load)
    assert hasattr(sc.principals, "ExploreThenCommit")
