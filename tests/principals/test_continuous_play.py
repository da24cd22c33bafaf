"""Section 5 as inequalities: the key lemma, both directions of the theorem, the two lemmas."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import stackcast as sc
from stackcast import InputError
from stackcast.auditing import classification_report
from stackcast.calibration import ConeBinning
from stackcast.checks import check_agent, check_principal
from stackcast.games import (
    Ball,
    ContinuousGame,
    LabelledData,
    Polytope,
    quadratic_game,
    strategic_classification,
    strategic_score,
)
from stackcast.principals import lazy_guarantee
from stackcast.protocol import build

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float64]


def classification() -> ContinuousGame:
    rng = np.random.default_rng(0)
    labels = np.arange(80) % 2 == 0
    rows = rng.normal(size=(80, 2)) + 0.7 * labels[:, None]
    data = LabelledData.of(rows, labels, ["skill", "claim"])
    return strategic_classification(Ball(2), data, changeable=["claim"], cost=1.0)


def quadratic() -> ContinuousGame:
    return quadratic_game(
        Polytope.box([-1.0, -0.8], [0.9, 1.0]),
        target=[0.2, -0.3],
        response_weight=[0.4],
        interaction=[[0.2], [-0.1]],
        offset=[0.1],
        reaction=[[0.5, 0.5]],
    )


def score(m: int, seed: int = 0) -> ContinuousGame:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=m) * 0.3
    step = rng.normal(size=m) * 0.5
    return strategic_score(Ball(m), features=z, reference=z + step, cost=2.0)


def steep() -> ContinuousGame:
    """Return a game at whose optimum the slope in the strategy is L₁, along (1, 1)."""
    return quadratic_game(
        Ball(2),
        target=[0, 0],
        response_weight=[np.sqrt(0.5)] * 2,
        interaction=np.zeros((2, 2)),
        offset=[0, 0],
        reaction=np.eye(2),
    )


GAMES = {
    "tax": lambda: sc.load_game("quadratic-tax"),
    "score 1": lambda: score(1),
    "score 2": lambda: score(2),
    "quadratic": quadratic,
    "classification": classification,
}


@pytest.mark.parametrize("name", ["tax", "score 2", "quadratic", "classification"])
def test_agents_keep_the_contract(name: str) -> None:
    game: Any = GAMES[name]()
    check_agent(lambda: sc.agents.ContinuousBestResponse(game.agent_view))
    check_agent(lambda: sc.agents.ContinuousCalibrated(game.agent_view, spacing=0.3))


@pytest.mark.parametrize("name", ["tax", "score 2", "quadratic", "classification"])
def test_principals_keep_the_contract(name: str) -> None:
    game: Any = GAMES[name]()
    view = game.principal_view
    check_principal(lambda: sc.principals.LazyGDwoG(view, 1000, epoch_rounds=5, seed=2))
    check_principal(lambda: sc.principals.ResponseGradient(view, epoch_rounds=5))
    check_principal(lambda: sc.principals.Fixed(view, np.zeros(game.space.dimension)))
    assert set(sc.principals.names("continuous")) == {"LazyGDwoG", "ResponseGradient"}
    assert sc.principals.find("LazyGDwoG") is sc.principals.LazyGDwoG


@pytest.mark.parametrize("m", [1, 2])
def test_key_lemma_for_any_forecasts(m: int) -> None:
    """The lemma's chain, for forecasts that are calibrated to nothing."""
    rng = np.random.default_rng(m)
    for trial in range(30):
        far = [0.4, 0.8, 1.2][trial % 3]
        binning = ConeBinning(Ball(m), far / 4)
        h = binning.space.sample(1, rng)[0]
        p = binning.space.sample(50, rng)
        if trial % 2:  # forecasts that hide around the strategy
            p = np.array([binning.space.project(h + far * q) for q in p])
        if trial % 4 == 3:  # and forecasts that are right
            p = np.repeat(h[None], 50, axis=0)
        w = binning.weights(p)
        distant = np.linalg.norm(binning.points - h, axis=1) >= 0.75 * far
        errors = np.linalg.norm(w.T @ (h - p), axis=1)[distant].sum()
        counts = w[:, distant].sum()
        share = (np.linalg.norm(p - h, axis=1) >= far).sum()
        assert far / 4 * counts <= errors + 1e-9
        assert share <= 2 * binning.bins * counts + 1e-9
        worst = np.abs(w.T @ (h - p)).max()
        assert share <= 8 * np.sqrt(m) * binning.bins**2 / far * worst + 1e-9


@pytest.mark.parametrize(("name", "spacing"), [("score 1", 0.02), ("score 2", 0.1)])
def test_far_forecasts_become_rare_at_the_stated_rate(name: str, spacing: float) -> None:
    game: Any = GAMES[name]()
    m = game.space.dimension
    shares = []
    lengths = (250, 1000, 4000, 16000)
    for h in (np.full(m, -0.4), np.full(m, 0.6)):
        agent = sc.agents.ContinuousCalibrated(game.agent_view, spacing=spacing)
        principal = sc.principals.PhaseSwitch(game.principal_view, [-h, h], [2000, 16000])
        t = sc.play(principal, agent, 18000)
        assert t.forecasts is not None
        far = np.linalg.norm(t.forecasts[2000:] - h, axis=1) >= 4 * spacing
        shares.append([far[:n].mean() for n in lengths])
    for share in shares:
        # Four times the rounds: at most half of the share, with a margin of a half.
        for before, after in pairwise(share):
            assert after <= 0.75 * before or after <= 1e-3
        assert share[-1] <= 0.05


def adversaries(game: Any) -> dict[str, FloatArray]:
    rng = np.random.default_rng(7)
    best = sc.solve(game).strategy
    some = game.space.sample(3, rng)
    return {
        "held": np.repeat(best[None], 600, axis=0),
        "switching": np.repeat(some, 200, axis=0),
        "alternating": np.tile([best, game.space.project(-2 * best)], (300, 1)),
        "random": game.space.sample(600, rng),
    }


@pytest.mark.parametrize("name", GAMES)
def test_the_upper_bound_and_the_lemmas_against_the_calibrated_agent(name: str) -> None:
    game: Any = GAMES[name]()
    for strategies in adversaries(game).values():
        agent = sc.agents.ContinuousCalibrated(game.agent_view, spacing=0.15)
        principal = sc.principals.Replay(game.principal_view, strategies)
        found = sc.audit(sc.play(principal, agent, len(strategies), game=game), game)
        assert not found.failed, found.failed
        assert len(found.bounds) == 5
        assert found.forecast_response_distance <= 1e-12
        assert found.spacing == 0.15


@pytest.mark.parametrize("name", [*GAMES, "steep"])
def test_the_upper_bound_and_the_lemmas_for_any_forecasts(name: str) -> None:
    """Forecasts that a fool might make: what the principal gains is in the calibration error."""
    game: Any = steep() if name == "steep" else GAMES[name]()
    best = sc.solve(game).strategy
    rng = np.random.default_rng(3)
    for trial in range(12):
        h = game.space.sample(8, rng)
        p = game.space.sample(8, rng)
        if trial % 2:  # always the optimum, while the principal moves down its slope
            slope = game.principal_view.gradients(best, game.best_responses(best)[0])[0]
            down = best + (0.05 + 0.05 * trial) * slope
            h, p = np.repeat([[game.space.project(down)], [best]], 8, axis=1)
        t = sc.Transcript.from_rounds(h, game.best_responses(p), p, game=game)
        for spacing in (0.05, 0.3):
            found = sc.auditing.audit_continuous(t, game, spacing)
            assert not found.failed, found.failed


def test_the_upper_bound_is_nearly_reached() -> None:
    game = steep()
    best = sc.solve(game).strategy
    h = np.repeat([0.7 * best], 5, axis=0)
    p = np.repeat([best], 5, axis=0)
    t = sc.Transcript.from_rounds(h, game.best_responses(p), p, game=game)
    found = sc.auditing.audit_continuous(t, game, 0.008)
    by_forecasts = found.bounds[0]
    assert found.average_utility == pytest.approx(found.value + 0.255)
    assert 0 <= by_forecasts.slack < 0.08


def test_answers_that_are_no_best_responses_are_in_the_bounds() -> None:
    game = score(2)
    h = np.repeat([[0.5, 0.5]], 6, axis=0)
    fools = game.best_responses(h) - 3.0  # far below what would help the agent
    t = sc.Transcript.from_rounds(h, fools, h, game=game)
    found = sc.audit(t, game)
    assert found.regret < -1.0
    assert not found.failed
    with pytest.raises(InputError, match="points of 2 numbers"):
        sc.audit(sc.Transcript.from_rounds(h, np.zeros((6, 1)), game=None), game)
    with pytest.raises(InputError, match="the game that was played"):
        sc.audit(t, score(2, seed=5))


def climbing(
    game: ContinuousGame, epochs: int, seed: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Play LazyGDwoG against exact responses; return what it earned, the points x and h − x."""
    principal = sc.principals.LazyGDwoG(game.principal_view, epochs, seed=seed)
    earned, places, moves = [], [], []
    for _ in range(epochs):
        places.append(principal.result.strategy)
        h = principal.commit().strategy
        y = game.best_responses(h)
        principal.observe(y)
        moves.append(h - places[-1])
        earned.append(game.principal_utilities(h, y)[0])
    return np.array(earned), np.array(places), np.array(moves)


@pytest.mark.parametrize("name", ["tax", "score 2", "quadratic", "classification"])
def test_the_lower_bound_with_exact_responses(name: str) -> None:
    game: Any = GAMES[name]()
    epochs, m = 600, game.space.dimension
    value = sc.solve(game).value
    regrets = []
    for seed in range(2):
        earned, x, moves = climbing(game, epochs, seed)
        regrets.append(value - earned.mean())
        # The deterministic half of the proof: projected steps γ_φ·g_φ lose at most this against
        # every point u of the smaller domain, Σ⟨g, u − x⟩ ≤ D²/(2γ_Φ) + ½Σγ‖g‖².
        delta = 0.6 * m**0.5 * epochs**-0.25
        gamma = 0.15 * m**-0.5 * np.arange(1, epochs + 1) ** -0.75
        slopes = (m / delta) * earned[:, None] * moves / delta
        allowed = game.space.diameter**2 / (2 * gamma[-1])
        allowed += 0.5 * float(gamma @ (slopes**2).sum(axis=1))
        for u in game.space.sample(20, np.random.default_rng(seed)):
            u = game.space.project(u, delta)
            assert (slopes * (u - x)).sum() <= allowed + 1e-9
    assert np.mean(regrets) <= lazy_guarantee(game, epochs).total
    assert np.mean(regrets) >= -1e-9


def test_steps_and_regrets_of_the_letter_version() -> None:
    game = score(3)
    for epochs, low, high in ((1000, 0.02, 0.06), (10_000, 0.007, 0.02)):
        earned = climbing(game, epochs, 0)[0]
        assert low < sc.solve(game).value - earned.mean() < high
    principal = sc.principals.LazyGDwoG(game.principal_view, 10_000)
    assert principal.radius == pytest.approx(0.6 * 3**0.5 / 10)
    y = np.array([[0.1, 0.2, 0.3]])
    h = principal.commit().strategy
    principal.observe(y)
    first = 0.15 * 3**-0.5 * (3 / principal.radius) * game.principal_utilities(h, y)[0]
    np.testing.assert_allclose(principal.result.strategy, first * h / np.linalg.norm(h))
    with pytest.raises(InputError, match="epochs: expected more than"):
        sc.principals.LazyGDwoG(game.principal_view, 1)


@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_the_response_gradient_needs_a_hundredth_of_the_epochs(m: int) -> None:
    game = score(m)
    principal = sc.principals.ResponseGradient(game.principal_view, epoch_rounds=1)
    agent = sc.agents.ContinuousBestResponse(game.agent_view)
    t = sc.play(principal, agent, 1000, game=game)
    assert sc.audit(t, game).regret <= 0.0034
    np.testing.assert_allclose(principal.result.strategy, sc.solve(game).strategy, atol=1e-6)
    assert principal.gradient == pytest.approx(
        game.commitment_gradient(principal.result.strategy), abs=1e-6
    )


def test_the_response_gradient_with_curved_responses() -> None:
    game = ContinuousGame(
        Ball(2),
        lambda x, y: float(0.5 * x[0] - x @ x + x @ y),
        lambda x, y: -float((y - np.sin(x)) @ (y - np.sin(x))),
        2,
        best_response=np.sin,
    )
    principal = sc.principals.ResponseGradient(game.principal_view, epoch_rounds=1)
    t = sc.play(principal, sc.agents.ContinuousBestResponse(game.agent_view), 60, game=game)
    assert sc.solve(game).value - principal.result.value <= 1e-5
    assert sc.audit(t, game).estimated


@pytest.mark.parametrize("name", ["tax", "score 2", "classification"])
def test_the_lower_bound_against_the_calibrated_agent(name: str) -> None:
    game: Any = GAMES[name]()
    regrets = {}
    for principal in (
        sc.principals.LazyGDwoG(game.principal_view, 100, epoch_rounds=100, seed=1),
        sc.principals.ResponseGradient(game.principal_view, epoch_rounds=100),
    ):
        agent = sc.agents.ContinuousCalibrated(game.agent_view, spacing=0.1)
        found = sc.audit(sc.play(principal, agent, 10_000, game=game), game)
        assert not found.failed
        error = found.response_distance
        guarantee = lazy_guarantee(game, 100, response_error=error)
        assert found.regret <= guarantee.total
        regrets[principal.settings["name"]] = found.regret
    assert regrets["ResponseGradient"] < min(0.012, 0.5 * regrets["LazyGDwoG"])


@pytest.mark.parametrize("m", [3, 5, 9])
def test_calibrated_agents_and_their_certificates_in_many_dimensions(m: int) -> None:
    """Cells are made when forecasts fall in them; what they certify holds for every principal."""
    game: Any = score(m)
    for name, strategies in adversaries(game).items():
        agent = build("agent", "Calibrated", game, settings={"spacing": 0.3})
        assert isinstance(agent, sc.agents.ContinuousCalibrated)
        principal = sc.principals.Replay(game.principal_view, strategies)
        found = sc.audit(sc.play(principal, agent, len(strategies), game=game), game)
        assert not found.failed, (name, found.failed)
        assert found.errors is not None
        assert len(found.bounds) == 5
        assert len(found.errors) < 300  # of (2/0.2)^9 cells
        assert found.spacing == 0.3


def test_a_held_strategy_is_found_in_nine_dimensions() -> None:
    game = score(9)
    agent = sc.agents.ContinuousCalibrated(game.agent_view)
    h = np.full(9, 0.2)
    answers = [agent.respond(sc.protocol.Block(h, 1500)).responses for _ in range(2)]
    best = game.best_responses(h)[0]
    errors = [float(np.linalg.norm(a.mean(axis=0) - best)) for a in answers]
    assert errors[1] < 0.05 * np.linalg.norm(best)
    check_agent(lambda: sc.agents.ContinuousCalibrated(game.agent_view, spacing=0.4))


def test_transcripts_checkpoints_and_reports(tmp_path: Path) -> None:
    game: Any = classification()

    def players() -> tuple[Any, Any]:
        return (
            sc.principals.ResponseGradient(game.principal_view, epoch_rounds=50),
            sc.agents.ContinuousCalibrated(game.agent_view, spacing=0.2),
        )

    t = sc.play(*players(), 1500, game=game)
    assert t.responses.shape == (1500, 1)
    t.save(tmp_path / "t.parquet")
    assert sc.Transcript.load(tmp_path / "t.parquet") == t
    place = tmp_path / "run.ckpt"
    assert sc.play(*players(), 1500, game=game, checkpoint=place, every=400) == t
    assert sc.play(*players(), 1500, game=game, checkpoint=place, every=400) == t
    report = classification_report(t)
    assert report.optimal.utility == pytest.approx(sc.solve(game).value)
    assert report.naive.utility < report.optimal.utility < report.believed
    assert report.naive.shift[0] == 0
    assert report.naive.shift[1] > report.optimal.shift[1] > 0
    assert report.played.utility == pytest.approx(sc.audit(t).average_utility)
    assert 0.5 < report.last.balanced_accuracy <= report.last.accuracy_if_nobody_moves + 0.01
    with pytest.raises(InputError, match="strategic classification"):
        classification_report(sc.Transcript.from_rounds([[0.0]], [[0.0]]))


def test_players_of_other_games_are_refused() -> None:
    finite = sc.load_game("inspection")
    game = score(3)
    with pytest.raises(InputError, match="agent's view of a continuous game"):
        sc.agents.ContinuousCalibrated(finite.agent_view)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="principal's view of a continuous game"):
        sc.principals.LazyGDwoG(finite.principal_view, 10)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="0: a continuous game has no regions"):
        sc.solve(game, margin=0.1)
