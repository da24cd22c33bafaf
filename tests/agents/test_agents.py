"""Agents: their theorems as inequalities on adversarial sequences, and what milks them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import stackcast as sc
from stackcast import agents
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
    SleepingCalibrated,
)
from stackcast.agents.no_regret import stationary
from stackcast.checks import check_agent
from stackcast.games import drawn_actions
from stackcast.principals import Fixed, PhaseSwitch, Replay
from stackcast.protocol import Block, Transcript, play

if TYPE_CHECKING:
    from collections.abc import Callable

    from stackcast._validation import FloatArray

# Deng, Schneider and Sivan (2019): V* = 0.5, and mean-based agents give the principal more.
MILKING = sc.FiniteGame([[0.5, 0, 0], [0.5, 0, 1]], [[0.55, 0, 0.5], [0, 1, 0.5]])
# Payoffs of any sign and scale: the theorems are in units of the agent's widest difference.
WRONG: Any = "neither"
ODD = sc.FiniteGame(
    np.zeros((3, 4)), [[-300.0, -310, -290, -305], [7.0, 9, 2, 8], [1e3, 1e3 + 5, 1e3 - 9, 1e3]]
)


def random_walk(rounds: int, m: int, name: str) -> FloatArray:
    steps = stream(0, "test", name).normal(size=(rounds, m)).cumsum(axis=0) / 15
    weights = np.exp(steps - steps.max(axis=1, keepdims=True))
    walk: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return walk


def oblivious(rounds: int, m: int) -> dict[str, FloatArray]:
    """Sequences that are hard for averages: fixed, alternating, doubling phases, walks, noise."""
    corners, t = np.eye(m), np.arange(rounds)
    return {
        "fixed": corners[np.zeros(rounds, dtype=int)],
        "alternating": corners[t % 2],
        "cycle": corners[t % m],
        "phases": corners[(t // 400) % m],
        "doubling": corners[np.log2(t + 1).astype(int) % m],
        "walk": random_walk(rounds, m, "walk"),
        "noise": corners[stream(0, "test", "noise").integers(0, m, rounds)],
    }


def played_mixtures(
    agent: Hedge | BlumMansour | AdaptiveHedge,
    choose: Callable[[int, FloatArray], FloatArray],
    rounds: int,
) -> tuple[FloatArray, FloatArray]:
    """Return the mixtures and the utilities of every round; ``choose`` may see the mixture."""
    mixtures, utilities = [], []
    for t in range(rounds):
        mixture = agent.mixture
        h = choose(t, mixture)
        agent.respond(Block(h))
        mixtures.append(mixture)
        utilities.append(agent.view.utilities(h))
    return np.array(mixtures), np.array(utilities)


def follows(sequence: FloatArray) -> Callable[[int, FloatArray], FloatArray]:
    def choose(t: int, _mixture: FloatArray) -> FloatArray:
        row: FloatArray = sequence[t]
        return row

    return choose


def plays(make: type[Any], rounds: int) -> list[tuple[str, FloatArray, FloatArray, float]]:
    """Play against every sequence and against adversaries who see the mixture."""
    result = []
    for label, game in (("milking", MILKING), ("odd", ODD)):
        view = game.agent_view
        corners = np.eye(view.space.dimension)
        for name, sequence in oblivious(rounds, len(corners)).items():
            seen = played_mixtures(make(view), follows(sequence), rounds)
            result.append((f"{label} {name}", *seen, view.scale))
        regrets = view.utilities(corners)

        def worst(_t: int, mixture: FloatArray, r: FloatArray = regrets) -> FloatArray:
            corner: FloatArray = np.eye(len(r))[int(np.argmax(r.max(axis=1) - r @ mixture))]
            return corner

        result.append((f"{label} greedy", *played_mixtures(make(view), worst, rounds), view.scale))
    return result


def test_hedge_has_no_external_regret_at_any_time() -> None:
    for name, p, u, scale in plays(Hedge, 1000):
        t = np.arange(1, len(u) + 1)
        regret = (u.cumsum(axis=0) - (p * u).sum(axis=1).cumsum()[:, None]).max(axis=1)
        bound = scale * np.sqrt(t * np.log(u.shape[1]))
        assert (regret <= bound + 1e-9 * scale).all(), name


def test_the_bound_of_hedge_is_not_idle() -> None:
    """On coin flips its mean regret is a good part of the bound: a smaller bound would be false."""
    view = sc.FiniteGame(np.zeros((2, 2)), np.eye(2)).agent_view
    regrets = []
    for seed in range(20):
        flips = np.eye(2)[stream(seed, "test", "flips").integers(0, 2, 300)]
        p, u = played_mixtures(Hedge(view), follows(flips), 300)
        regrets.append((u.sum(axis=0) - (p * u).sum()).max())
    assert np.mean(regrets) > 0.3 * np.sqrt(300 * np.log(2))


def test_adaptive_hedge_has_no_external_regret_on_any_interval() -> None:
    """The theorem for every start's lifetime, and its chain of lifetimes for every interval."""
    for name, p, u, scale in plays(AdaptiveHedge, 1000):
        rounds, k = u.shape
        r = (u - (p * u).sum(axis=1)[:, None]) / scale
        sums = np.vstack([np.zeros(k), r.cumsum(axis=0)])
        sizes = np.vstack([np.zeros(k), np.abs(r).cumsum(axis=0)])
        ends = np.arange(1, rounds + 1)
        logs = np.log(k * ends * (2.5 + 1.5 * np.log1p(ends)))
        for s in range(rounds):
            start = s + 1
            regret = sums[s + 1 :] - sums[s]
            bound = np.sqrt(3 * (sizes[s + 1 :] - sizes[s]) * logs[s:, None])
            lifetime = rounds if s == 0 else 4 * (start & -start) + 1
            assert (regret[:lifetime] <= bound[:lifetime] + 1e-9).all(), (name, s)
            assert (regret.max(axis=1) <= 3.42 * np.sqrt(3 * ends[: rounds - s] * logs[s:])).all()


def test_adaptive_hedge_is_adaptive_where_hedge_is_not() -> None:
    """After a long past a change costs AdaptiveHedge little and Hedge all of the past."""
    late = {}
    for make in (Hedge, AdaptiveHedge):
        agent = make(MILKING.agent_view)
        agent.respond(Block([1, 0], 20_000))
        answers = agent.respond(Block([0, 1], 1000)).responses
        late[make] = MILKING.agent_view.utilities([0, 1])[answers].mean()
    assert late[AdaptiveHedge] > 0.95
    assert late[Hedge] < 0.05


def test_blum_mansour_has_no_swap_regret_at_any_time() -> None:
    for name, p, u, scale in plays(BlumMansour, 1000):
        k = u.shape[1]
        t = np.arange(1, len(u) + 1)
        # What always playing j instead of i would have gained, summed over i at the best j.
        gains = p[:, :, None] * (u[:, None, :] - u[:, :, None])
        regret = gains.cumsum(axis=0).max(axis=2).sum(axis=1)
        bound = scale * np.sqrt(k * (t + k) * np.log(k))
        assert (regret <= bound).all(), name


def test_hedge_has_swap_regret() -> None:
    """The switch that milks it, so that the test above is about something."""
    t = play(
        PhaseSwitch(MILKING.principal_view, [[1, 0], [0, 1]], [2000, 2000]),
        Hedge(MILKING.agent_view),
        4000,
    )
    u = MILKING.agent_utilities(t.strategies)
    own = u[np.arange(4000), t.responses]
    swap = sum(
        max((u[t.responses == i, j] - own[t.responses == i]).sum() for j in range(3))
        for i in range(3)
    )
    assert swap > 3 * np.sqrt(3 * 4003 * np.log(3))


@pytest.mark.parametrize("size", [1, 2, 3, 10, 40])
def test_stationary_distributions(size: int) -> None:
    rng = stream(0, "test", "chains", size)
    for sharpness in (1, 30, 500):
        logits = sharpness * rng.normal(size=(size, size))
        chain = np.exp(np.maximum(logits - logits.max(axis=1, keepdims=True), -500))
        chain /= chain.sum(axis=1, keepdims=True)
        p = np.empty(size)
        stationary(chain.copy(), p)
        assert p.min() >= 0
        np.testing.assert_allclose(p.sum(), 1)
        np.testing.assert_allclose(p @ chain, p, atol=1e-14)


def average_payoff(t: Transcript, game: sc.FiniteGame) -> float:
    utilities = t.block_strategies @ game.principal_payoffs
    rows = np.repeat(np.arange(len(utilities)), t.block_rounds)
    return float(utilities[rows, t.responses].mean())


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("FollowTheLeader", 0.7249, 0.7251),
        ("Hedge", 0.70, 0.725),
        ("BlumMansour", 0.0, 0.31),
        ("AdaptiveHedge", 0.0, 0.26),
        ("Calibrated", 0.0, 0.26),
        ("NonAdaptive", 0.0, 0.51),
        ("Lazy", 0.0, 0.51),
        ("BestResponse", 0.25, 0.25),
    ],
)
def test_mean_based_agents_are_milked_and_others_are_not(
    name: str, least: float, most: float
) -> None:
    principal = PhaseSwitch(MILKING.principal_view, [[1, 0], [0, 1]], [50_000, 50_000])
    t = play(principal, agents.find(name)(MILKING.agent_view), 100_000, MILKING)
    assert least <= average_payoff(t, MILKING) <= most


def test_quantal_response_frequencies() -> None:
    rounds, h = 40_000, [0.3, 0.7]
    answers = QuantalResponse(MILKING.agent_view, precision=3.0).respond(Block(h, rounds)).responses
    expected = np.exp(3 * MILKING.agent_view.utilities(h))
    shares = np.bincount(answers, minlength=3) / rounds
    np.testing.assert_allclose(shares, expected / expected.sum(), atol=4 * 0.5 / np.sqrt(rounds))


@pytest.mark.parametrize("make", [BestResponse, FollowTheLeader, Calibrated, Lazy])
def test_ties_are_broken_as_told(make: type[Any]) -> None:
    game = sc.FiniteGame(np.zeros((2, 4)), [[1, 2, 2, 2], [3, 4, 4, 4]])
    rounds = 9000
    lowest = make(game.agent_view).respond(Block([0.5, 0.5], rounds)).responses
    assert set(lowest[1:].tolist()) == {1}
    at_random = make(game.agent_view, ties="random").respond(Block([0.5, 0.5], rounds)).responses
    shares = np.bincount(at_random[1:], minlength=4) / (rounds - 1)
    np.testing.assert_allclose(shares, [0, 1 / 3, 1 / 3, 1 / 3], atol=4 * 0.5 / np.sqrt(rounds))


def test_drawn_actions_have_the_right_frequencies() -> None:
    uniforms = stream(0, "test", "draws").random(40_000)
    h = np.array([0.2, 0.0, 0.5, 0.3])
    rows = drawn_actions(h, uniforms)
    assert (rows.sum(axis=1) == 1).all()
    np.testing.assert_allclose(rows.mean(axis=0), h, atol=0.01)
    coverage = np.array([0.9, 0.6, 0.0, 1.0])
    rows = drawn_actions(coverage, uniforms)
    assert set(rows.sum(axis=1).tolist()) <= {2.0, 3.0}
    np.testing.assert_allclose(rows.mean(axis=0), coverage, atol=0.01)
    third = np.full(3, 1 / 3)
    edge = drawn_actions(third, np.array([0.0, 0.5, np.nextafter(1, 0)]))
    assert (edge.sum(axis=1) == 1).all()


def test_feedback_is_the_drawn_action() -> None:
    """With corners both kinds of feedback agree; within, the play differs and learns the same."""
    corners = np.eye(2)[np.arange(500) // 100 % 2]
    both = [
        play(Replay(MILKING.principal_view, corners), Hedge(MILKING.agent_view, feedback=f), 500)
        for f in ("strategy", "action")
    ]
    np.testing.assert_array_equal(both[0].responses, both[1].responses)
    for name in ("Hedge", "AdaptiveHedge", "BlumMansour", "FollowTheLeader", "Calibrated"):
        agent = agents.find(name)(MILKING.agent_view, feedback="action")
        late = agent.respond(Block([0.2, 0.8], 6000)).responses[-2000:]
        assert (late == 1).mean() > 0.95, name


def calibration_error(t: Transcript, outcomes: FloatArray, k: int) -> float:
    """Return the largest error of a bin over all rounds, bins being the responses."""
    assert t.forecasts is not None
    gap = outcomes - t.forecasts
    return max(
        float(np.abs(gap[t.responses == i].sum(axis=0)).max(initial=0)) / t.rounds for i in range(k)
    )


@pytest.mark.parametrize("make", [Calibrated, NonAdaptive])
def test_an_agent_that_sees_actions_is_calibrated_to_strategies(make: type[Any]) -> None:
    """The paper's remark in Section 2: the extra term vanishes as 1/√T."""
    game = sc.FiniteGame(np.zeros((3, 3)), np.eye(3))
    errors = []
    for rounds in (1000, 16_000):
        h = np.repeat(random_walk(800, 3, "strategies"), 20, axis=0)[:rounds]
        t = play(Replay(game.principal_view, h), make(game.agent_view, feedback="action"), rounds)
        errors.append(calibration_error(t, h, 3) * np.sqrt(rounds))
        # √(2 ln(2·9·…)/T)-sized sampling error on top of the forecaster's own.
        assert errors[-1] < 3.0
    assert errors[1] < 1.5 * errors[0] + 0.5


def test_responses_are_best_responses_to_forecasts() -> None:
    h = random_walk(800, 3, "best")
    for make in (Calibrated, NonAdaptive, Lazy):
        for ties in ("lowest", "random"):
            agent = make(ODD.agent_view, ties=ties)
            t = play(Replay(ODD.principal_view, h), agent, 800, ODD)
            assert t.forecasts is not None
            best = ODD.agent_view.best_responses(t.forecasts)
            assert best[np.arange(800), t.responses].all()
            if ties == "lowest":
                np.testing.assert_array_equal(t.responses, best.argmax(axis=1))


def test_weights_stay_finite_after_ten_million_rounds() -> None:
    for make in (Hedge, BlumMansour, AdaptiveHedge):
        agent = make(MILKING.agent_view)
        state = agent.state()
        state["played"] = 10_000_000
        for key in ("totals", "regrets"):
            if key in state:
                state[key] = state[key] + 1e7 * stream(0, "test", key).random(state[key].shape)
        agent.restore(state)
        answers = agent.respond(Block([0.5, 0.5], 1000)).responses
        assert np.isfinite(agent.mixture).all()
        assert abs(agent.mixture.sum() - 1) < 1e-12
        assert answers.min() >= 0


@pytest.mark.parametrize("name", agents.names("finite"))
def test_the_state_of_another_agent_is_refused(name: str) -> None:
    agent = agents.find(name)(MILKING.agent_view)
    other = agents.find("FollowTheLeader" if name == "Hedge" else "Hedge")
    states: list[dict[str, Any]] = [
        agents.find(name)(ODD.agent_view).state(),
        agents.find(name)(MILKING.agent_view, seed=1).state(),
        other(MILKING.agent_view).state(),
        {},
    ]
    for state in states:
        with pytest.raises(sc.InputError, match="state: expected one with"):
            agent.restore(state)


@pytest.mark.parametrize("name", sorted({*agents.names("finite")} - {"QuantalResponse"}))
def test_units_do_not_matter(name: str) -> None:
    """A factor of two and a power of it change no bit of the play."""
    h = random_walk(300, 3, "units")
    for factor in (2.0, 2.0**-20):
        other = sc.FiniteGame(ODD.principal_payoffs, factor * ODD.agent_payoffs)
        one, two = (
            play(Replay(g.principal_view, h), agents.find(name)(g.agent_view, seed=3), 300)
            for g in (ODD, other)
        )
        np.testing.assert_array_equal(one.responses, two.responses)


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda v: Hedge(v, seed=-1), "seed: expected a whole number of at least 0, found -1"),
        (lambda v: Hedge(v, feedback=WRONG), "feedback: expected one of 'strategy', 'action'"),
        (lambda v: FollowTheLeader(v, ties=WRONG), "ties: expected one of 'lowest', 'random'"),
        (
            lambda v: QuantalResponse(v, precision=-1),
            "precision: expected a finite number at least",
        ),
        (lambda v: Lazy(v, budget=WRONG), r"budget: expected a pair \(c, β\) or a function"),
        (lambda v: Lazy(v, budget=(0.5, 2)), "budget, β: expected a finite number"),
        (lambda v: Lazy(v, forecast=[0.5, 0.6]), "forecast: expected probabilities that sum to 1"),
        (lambda v: Hedge(v).respond(Block([1.0])), "strategy: expected 2 numbers"),
    ],
)
def test_bad_input(build: Callable[[Any], Any], sentence: str) -> None:
    with pytest.raises(sc.InputError, match=sentence):
        build(MILKING.agent_view)


def test_golden_play() -> None:
    """What every agent plays today; ``python tests/agents/test_agents.py`` writes it anew."""
    assert json.loads(GOLDEN.read_text()) == golden_play()


GOLDEN = Path(__file__).parent / "data" / "golden_play.json"


def golden_play() -> dict[str, str]:
    h = np.vstack([random_walk(60, 3, "golden"), np.eye(3)[[0] * 20 + [2] * 20]])
    played = {}
    for name in agents.names("finite"):
        t = play(Replay(ODD.principal_view, h), agents.find(name)(ODD.agent_view, seed=6), 100)
        played[name] = "".join(map(str, t.responses))
    t = play(
        Fixed(ODD.principal_view, [0.2, 0.3, 0.5]), Hedge(ODD.agent_view, feedback="action"), 100
    )
    played["Hedge, action"] = "".join(map(str, t.responses))
    return played


@pytest.mark.parametrize("starts", ["streaming", "all", "first"])
def test_the_starts_of_calibrated_agents_are_those_of_the_other_names(starts: Any) -> None:
    game = sc.games.uniform(3, 3, 1)
    blocks = [sc.protocol.Block(h, 40) for h in game.space.sample(5, 2)]
    one, two = (
        Calibrated(game.agent_view, starts=starts),
        SleepingCalibrated(game.agent_view, starts=starts),
    )
    assert one.settings["method"] == "sleeping"
    for block in blocks:
        np.testing.assert_array_equal(one.respond(block).responses, two.respond(block).responses)
    with pytest.raises(sc.InputError, match="starts"):
        Calibrated(game.agent_view, starts=starts, method="betting")
    with pytest.raises(sc.InputError, match="starts"):
        Calibrated(game.agent_view, starts="some")  # type: ignore[arg-type]


def test_a_calibrated_agent_with_a_binning_of_its_own() -> None:
    """Calibrated to a fine grid, it best-responds to what it forecasts."""
    game = sc.games.uniform(3, 3, 1)
    grid = sc.calibration.GridBinning.on_simplex(3, 6)

    def make() -> Calibrated:
        return Calibrated(game.agent_view, binning=grid, seed=2)

    check_agent(make)
    agent, strategies = make(), [*game.space.sample(4, 3)]
    principal = sc.principals.PhaseSwitch(game.principal_view, strategies, [800] * 4)
    t = sc.play(principal, agent, 3200, game=game)
    assert t.forecasts is not None
    np.testing.assert_array_equal(t.responses, game.agent_view.respond(t.forecasts))
    parts = grid.weights(t.forecasts)[:, :, None] * (t.strategies - t.forecasts)[:, None, :]
    sums = np.concatenate([np.zeros((1, grid.bins, 3)), parts.cumsum(axis=0)])
    for length in (200, 800, 3200):
        error = np.abs(sums[length:] - sums[:-length]).max() / length
        assert error <= 1.5 * np.sqrt(np.log(grid.bins * 3 * length) / length)
    with pytest.raises(sc.InputError, match="ties"):
        Calibrated(game.agent_view, binning=grid, ties="random")
    with pytest.raises(sc.InputError, match="coordinates"):
        Calibrated(game.agent_view, binning=sc.calibration.ThresholdBinning([0.5]))


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(golden_play(), indent=1) + "\n")
