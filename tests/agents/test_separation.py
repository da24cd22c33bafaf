"""The paper's separation of adaptive from non-adaptive calibration (Section 6), in numbers.

Two actions a, b of the principal; U_A(a, c) = 1, U_A(b, c) = −1, U_A(·, d) = 0, ties for d, so that
c is played if and only if the forecast of a is above ½. The principal plays (½, ½) for s rounds,
then a for L = ⌊s^(1−β)⌋ rounds, then (½, ½) again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import stackcast as sc
from stackcast._random import stream
from stackcast.agents import AdaptiveHedge, Calibrated, Lazy, NonAdaptive
from stackcast.principals import PhaseSwitch
from stackcast.protocol import play

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.protocol import Agent, Transcript

# Column 0 is d: the preference order of ties is the order of the columns.
GAME = sc.FiniteGame(
    np.zeros((2, 2)),
    [[0, 1], [0, -1]],
    principal_actions=["a", "b"],
    agent_actions=["d", "c"],
)
D, C = 0, 1


def separation(agent: Agent, s: int, beta: float, after: int) -> tuple[Transcript, slice]:
    length = int(s ** (1 - beta))
    half = [0.5, 0.5]
    principal = PhaseSwitch(GAME.principal_view, [half, [1, 0], half], [s, length, after])
    t = play(principal, agent, s + length + after, GAME)
    return t, slice(s, s + length)


def prefix_errors(t: Transcript) -> FloatArray:
    """Return the calibration error over rounds 1..t for every t, the larger of the two bins."""
    assert t.forecasts is not None
    gap = t.strategies - t.forecasts
    bins = np.eye(2)[t.responses]
    sums = (bins[:, :, None] * gap[:, None, :]).cumsum(axis=0)
    errors: FloatArray = np.abs(sums).max(axis=(1, 2)) / np.arange(1, t.rounds + 1)
    return errors


@pytest.mark.parametrize("beta", [0.25, 0.5, 1.0])
@pytest.mark.parametrize("s", [2, 100, 10_000])
def test_a_lazy_agent_is_within_its_budget_and_tells_nothing(s: int, beta: float) -> None:
    t, middle = separation(Lazy(GAME.agent_view, budget=(0.5, beta)), s, beta, after=2 * s)
    assert t.forecasts is not None
    rounds = np.arange(1, t.rounds + 1)
    # 1. The error over rounds 1..t is within t^(−β)/2, for every t.
    assert (prefix_errors(t) <= 0.5 * rounds**-beta + 1e-12).all()
    # 2. On the sub-interval it is ½, however long the past.
    gap = t.strategies[middle] - t.forecasts[middle]
    assert np.abs(gap.sum(axis=0)).max() / len(gap) >= 0.5
    # 3. The action there is the wrong one.
    assert (t.responses[middle] == D).all()
    assert GAME.agent_view.respond([1.0, 0.0])[0] == C


@pytest.mark.parametrize("make", [Calibrated, AdaptiveHedge])
def test_an_adaptive_agent_plays_the_right_action_on_most_of_it(make: type[Calibrated]) -> None:
    for s in (10_000, 100_000):
        t, middle = separation(make(GAME.agent_view), s, beta=0.25, after=100)
        assert (t.responses[middle] == C).mean() > 0.9


def test_the_sub_interval_may_be_short() -> None:
    """With β = ½ it has √s rounds: an adaptive agent finds out within it, for s large."""
    shares = []
    for seed in range(5):
        t, middle = separation(Calibrated(GAME.agent_view, seed=seed), 10_000, 0.5, after=100)
        shares.append((t.responses[middle] == C).mean())
    assert np.mean(shares) > 0.5


def test_a_budget_that_is_used_up_makes_the_lazy_agent_look() -> None:
    """It may be wrong for about t·r(t) rounds, not for ever."""
    agent = Lazy(GAME.agent_view, budget=(0.5, 0.5))
    principal = PhaseSwitch(GAME.principal_view, [[0.5, 0.5], [1, 0]], [10_000, 10_000])
    t = play(principal, agent, 20_000, GAME)
    late = t.responses[11_000:]
    assert (t.responses[10_000:10_100] == D).all()
    assert (late == C).mean() > 0.9
    rounds = np.arange(1, t.rounds + 1)
    assert (prefix_errors(t) <= 0.5 * rounds**-0.5 + 1e-12).all()


def hostile(rng: np.random.Generator, m: int, rounds: int) -> FloatArray:
    """Return strategies that change often, seldom, at random, by steps or between corners."""
    kind = int(rng.integers(5))
    if kind == 0:
        return rng.dirichlet(np.full(m, 0.3), rounds)
    if kind == 1:
        return np.repeat(rng.dirichlet(np.ones(m), rounds // 40), 40, axis=0)
    if kind == 2:
        return np.eye(m)[rng.integers(m, size=rounds)]
    if kind == 3:
        return np.eye(m)[np.log2(np.arange(1, rounds + 1)).astype(int) % m]
    steps = np.exp(rng.normal(size=(rounds, m)).cumsum(axis=0) / 5 % 7)
    return np.asarray(steps / steps.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("seeds", [50, pytest.param(1000, marks=pytest.mark.slow)])
def test_the_lazy_agent_keeps_its_budget_on_every_prefix_of_hostile_sequences(seeds: int) -> None:
    for seed in range(seeds):
        rng = stream(seed, "test", "hostile")
        m, ties = int(rng.integers(2, 5)), ("lowest", "random")[seed % 2]
        game = sc.games.uniform(m, 3, seed)
        budget = float(rng.choice([0.01, 0.1, 0.5, 1.0])), float(rng.choice([0.25, 0.5, 1.0]))
        agent = Lazy(game.agent_view, budget=budget, ties=ties, seed=seed)  # type: ignore[arg-type]
        rounds = 120
        if seed % 4:
            strategies = hostile(rng, m, rounds)
            made = [agent.respond(sc.protocol.Block(h)) for h in strategies]
        else:  # an adversary that knows the forecast it keeps, and runs away from it
            strategies, made = np.empty((rounds, m)), []
            for t in range(rounds):
                strategies[t] = np.eye(m)[int(np.argmin(agent._held))]
                made.append(agent.respond(sc.protocol.Block(strategies[t])))
        table = np.concatenate([a.new_forecasts for a in made if a.new_forecasts is not None])
        ids = np.concatenate([a.forecast_ids for a in made if a.forecast_ids is not None])
        bins = sc.calibration.BestResponseBinning(game.agent_view, ties)  # type: ignore[arg-type]
        parts = bins.weights(table[ids])[:, :, None] * (strategies - table[ids])[:, None, :]
        errors = np.abs(parts.cumsum(axis=0)).max(axis=(1, 2)) / np.arange(1, rounds + 1)
        assert (errors <= budget[0] * np.arange(1.0, rounds + 1) ** -budget[1] + 1e-12).all(), seed


def test_non_adaptive_calibration_is_honest_over_all_rounds() -> None:
    t, _ = separation(NonAdaptive(GAME.agent_view), 10_000, 0.25, after=10_000)
    rounds = np.arange(1, t.rounds + 1)
    assert (prefix_errors(t) <= 1.5 * np.sqrt(np.log(4 * rounds) / rounds)).all()


def worst_window(t: Transcript, length: int) -> float:
    """Return the largest error of a window of that many rounds, times √length."""
    assert t.forecasts is not None
    gap = t.strategies - t.forecasts
    sums = (np.eye(2)[t.responses][:, :, None] * gap[:, None, :]).cumsum(axis=0)
    sums = np.concatenate([np.zeros((1, 2, 2)), sums])
    return float(np.abs(sums[length:] - sums[:-length]).max() / np.sqrt(length))


def test_windows_tell_adaptive_from_non_adaptive() -> None:
    """Forty strategies of 1,000 rounds each; prefixes of both agents are alike, windows are not."""
    strategies = list(stream(0, "test", "windows").dirichlet([1, 1], 40))
    worst, prefix = {}, {}
    for make in (Calibrated, NonAdaptive):
        principal = PhaseSwitch(GAME.principal_view, strategies, [1000] * 40)
        t = play(principal, make(GAME.agent_view), 40_000, GAME)
        worst[make] = [worst_window(t, length) for length in (50, 200, 500)]
        prefix[make] = prefix_errors(t)[-1]
    assert max(worst[Calibrated]) < 2.5
    assert worst[NonAdaptive][1] > 2 * worst[Calibrated][1]
    assert max(prefix.values()) < 1.5 / np.sqrt(40_000)
