"""The diagnosis of an unknown agent: right on the package's agents, and honest where it must be."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from stackcast._random import stream
from stackcast.agents import (
    AdaptiveHedge,
    BestResponse,
    BlumMansour,
    Calibrated,
    FollowTheLeader,
    Hedge,
    Lazy,
    NonAdaptive,
    QuantalResponse,
)
from stackcast.auditing import audit, diagnose
from stackcast.calibration import AdaptiveRate
from stackcast.games import FiniteGame, Game, load_game
from stackcast.principals import PhaseSwitch
from stackcast.protocol import Transcript, play

GAME = load_game("milking")
HALVES: tuple[Any, Any] = ([[1, 0], [0, 1]], [20_000] * 2)
#: Fast changes, then slow ones: whoever weighs the whole past is slow by then.
FAST_THEN_SLOW: tuple[Any, Any] = (
    [[1, 0], [0, 1]] * 1000 + [[1, 0], [0, 1], [1, 0]],
    [15] * 2000 + [1500] * 3,
)


def played(agent: Any, script: tuple[Any, Any], game: Game = GAME) -> Transcript:
    principal = PhaseSwitch(game.principal_view, *script)
    return play(principal, agent, sum(script[1]), game)


@pytest.mark.parametrize(
    ("agent", "script", "label"),
    [
        (BestResponse(GAME.agent_view), HALVES, "best-responding"),
        (BestResponse(GAME.agent_view), FAST_THEN_SLOW, "best-responding"),
        (Calibrated(GAME.agent_view, seed=1), HALVES, "adaptive"),
        (Calibrated(GAME.agent_view, seed=1), FAST_THEN_SLOW, "adaptive"),
        (AdaptiveHedge(GAME.agent_view, seed=1), HALVES, "adaptive"),
        (AdaptiveHedge(GAME.agent_view, seed=1), FAST_THEN_SLOW, "adaptive"),
        (NonAdaptive(GAME.agent_view, seed=1), FAST_THEN_SLOW, "long-run calibrated"),
        (Lazy(GAME.agent_view, seed=1), HALVES, "long-run calibrated"),
        (BlumMansour(GAME.agent_view, seed=1), HALVES, "long-run calibrated"),
        (Hedge(GAME.agent_view, seed=1), HALVES, "mean-based"),
        (FollowTheLeader(GAME.agent_view), HALVES, "mean-based"),
        (FollowTheLeader(GAME.agent_view), FAST_THEN_SLOW, "mean-based"),
        (QuantalResponse(GAME.agent_view, precision=1.0), HALVES, "mixture"),
    ],
)
def test_agents_are_recognised(agent: Any, script: tuple[Any, Any], label: str) -> None:
    found = diagnose(played(agent, script))
    assert found.label == label, found
    assert len(found.reasons) >= 3


def test_a_coin_between_two_agents_is_a_mixture() -> None:
    one = played(FollowTheLeader(GAME.agent_view), HALVES)
    two = played(BestResponse(GAME.agent_view), HALVES)
    coin = stream(0, "test", "coin").random(one.rounds) < 0.5
    both = np.where(coin, one.responses, two.responses)
    found = diagnose(Transcript.from_rounds(one.strategies, both, game=GAME))
    assert found.label == "mixture"
    assert found.contested_leader_share == pytest.approx(0.5, abs=0.02)
    assert found.contested_best_share == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("kind", [BestResponse, Calibrated, FollowTheLeader, Hedge, BlumMansour])
def test_a_record_that_tells_nothing_decides_nothing(kind: Any) -> None:
    steady = ([[0.9, 0.1]], [5000])
    assert diagnose(played(kind(GAME.agent_view), steady)).label == "undecided"
    # A change, but none that makes the old answer wrong.
    mild = ([[1, 0], [0.95, 0.05], [1, 0]], [2000] * 3)
    found = diagnose(played(kind(GAME.agent_view), mild))
    assert found.label == "undecided"
    assert found.contested == found.changes == 0
    assert math.isnan(found.at_once)


def implied(record: Transcript, game: FiniteGame, first: int, last: int) -> float:
    """The betrayed error over the rate on rounds first..last−1, by loops."""
    payoffs, h, y = game.agent_payoffs, record.strategies, record.responses
    m, k = game.shape
    worst = 0.0
    for i in range(k):
        for j in range(k):
            difference = payoffs[:, j] - payoffs[:, i]
            norm = min(np.abs(difference - c).sum() for c in difference)
            gain = sum(h[t] @ difference for t in range(first, last) if y[t] == i)
            if norm > 0:
                worst = max(worst, gain / norm)
    length = last - first
    return float(worst / length / np.sqrt(np.log(k * m * length) / length))


@pytest.mark.parametrize("seed", range(6))
def test_the_evidence_equals_plain_loops(seed: int) -> None:
    rng = stream(seed, "test", "diagnosis")
    game = FiniteGame(rng.normal(size=(3, 3)), 50 * rng.normal(size=(3, 3)))
    rounds = rng.integers(1, 60, 12)
    h = np.repeat(rng.dirichlet(np.full(3, 0.4), 12), rounds, axis=0)[:200]
    T = len(h)
    y = np.where(rng.random(T) < 0.6, game.respond(h), rng.integers(0, 3, T))
    record = Transcript.from_rounds(h, y, game=game)
    found = diagnose(record)
    lengths = [16 * 2**a for a in range(10)]
    aligned = {(a * n, a * n + n) for n in lengths for a in range(T // n)}
    prefixes = {(0, n) for n in (64, 128, 256) if n <= T} | {(0, T)}
    starts = np.cumsum(record.block_rounds) - record.block_rounds
    changes = set()
    for s, n in zip(starts.tolist(), record.block_rounds.tolist(), strict=True):
        changes |= {(s, s + size) for size in {*lengths, n} if size <= n and size >= 16 and s > 0}
    windows = {(s, e) for s, e in aligned if s > 0} | changes
    assert found.prefix_error == pytest.approx(max(implied(record, game, *w) for w in prefixes))
    assert found.window_error == pytest.approx(max(implied(record, game, *w) for w in windows))
    best = game.best_responses(h)
    totals = np.cumsum(h @ game.agent_payoffs, axis=0)
    led = [totals[t - 1, y[t]] >= totals[t - 1].max() - 1e-9 for t in range(1, T)]
    assert found.leader_share == pytest.approx(np.mean(led))
    lags = []
    for s, n in zip(starts[1:].tolist(), record.block_rounds[1:].tolist(), strict=True):
        if not (best[s] & best[s - 1]).any():
            right = [t - s for t in range(s, s + n) if best[t, y[t]]]
            lags.append(right[0] if right else math.inf)
    assert found.changes == len(lags)
    if lags:
        assert found.median_lag == np.median(lags)
        assert found.at_once == np.mean([lag == 0 for lag in lags])


@pytest.mark.parametrize("ties", ["lowest", "random"])
def test_betrayed_errors_are_lower_bounds_on_the_forecasts_errors(ties: Any) -> None:
    for seed in range(6):
        rng = stream(seed, "test", "betrayed")
        game = FiniteGame(rng.normal(size=(3, 3)), rng.normal(size=(3, 3)))
        script = (rng.dirichlet(np.full(3, 0.4), 20), rng.integers(5, 120, 20).tolist())
        agent = Calibrated(game.agent_view, seed=seed, ties=ties)
        found = audit(played(agent, script, game), rate=AdaptiveRate(3, 3), lengths=[])
        assert found.calibration is not None
        betrayed = max(found.diagnosis.prefix_error, found.diagnosis.window_error)
        assert 0 < betrayed <= found.calibration.profile.upper + 1e-9


def test_drawn_actions_are_judged_with_their_noise() -> None:
    rng = stream(0, "test", "diagnosis", "draws")
    h = np.repeat([[0.95, 0.05], [0.1, 0.9]], 20_000, axis=0)
    labels = (rng.random(len(h)) > h[:, 0]).astype(int)
    view = GAME.agent_view
    leader, calibrated = FollowTheLeader(view), Calibrated(view, seed=1)
    script = ([[0.95, 0.05], [0.1, 0.9]], [20_000] * 2)
    stale, quick = (played(agent, script).responses for agent in (leader, calibrated))
    drawn = np.eye(2)[labels]
    found = diagnose(Transcript.from_rounds(drawn, stale, game=GAME), draws=True)
    assert found.label == "mean-based"
    assert math.isnan(found.contested_best_share)
    found = diagnose(Transcript.from_rounds(drawn, quick, game=GAME), draws=True)
    assert found.label == "undecided"
    assert "drawn actions" in found.reasons[0]
    json.dumps(found.to_dict(), allow_nan=False)


def test_units_and_order_of_actions_do_not_matter() -> None:
    assert isinstance(GAME, FiniteGame)
    record = played(Hedge(GAME.agent_view, seed=1), HALVES)
    plain = diagnose(record)
    other = FiniteGame(GAME.principal_payoffs, 1e6 * GAME.agent_payoffs - 3e5)
    scaled = diagnose(Transcript.from_rounds(record.strategies, record.responses, game=other))
    turned = FiniteGame(GAME.principal_payoffs[:, ::-1], GAME.agent_payoffs[:, ::-1])
    mirrored = diagnose(
        Transcript.from_rounds(record.strategies, 2 - record.responses, game=turned)
    )
    for found in (scaled, mirrored):
        assert found.label == plain.label
        assert found.prefix_error == pytest.approx(plain.prefix_error)
        assert found.contested == plain.contested
