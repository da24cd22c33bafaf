"""Forecasters: Theorem 4.1 as an inequality, the two players' guarantees, blocks, saved state."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from cases import BINNINGS, outcomes_for, some_game
from scipy.optimize import linprog

import stackcast as sc
from stackcast._random import stream
from stackcast.calibration import (
    AdaptiveForecaster,
    BestResponseBinning,
    FunctionBinning,
    ThresholdBinning,
    two_adjacent_points,
)
from stackcast.calibration.adversaries import ADVERSARIES, hard_sequences, play_adversary
from stackcast.games import StrategySpace

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.calibration import Binning


METHODS = ("betting", "sleeping")
HOW: list[tuple[Any, Any]] = [
    ("betting", None),
    ("sleeping", "streaming"),
    ("sleeping", "all"),
    ("sleeping", "first"),
]


def worst_ratio(binning: Binning, outcomes: FloatArray, forecasts: FloatArray) -> float:
    """max CalErr·√L / √(log(kmL) + log T) over all intervals of L ≥ 30 rounds."""
    T, m = outcomes.shape
    weighted = binning.weights(forecasts)[:, :, None] * (outcomes - forecasts)[:, None, :]
    prefix = np.vstack([np.zeros((1, binning.bins * m)), weighted.reshape(T, -1).cumsum(axis=0)])
    lengths = np.arange(T + 1)
    rate = (lengths * (np.log(binning.bins * m * np.maximum(lengths, 1)) + np.log(T))) ** 0.5
    worst, L = 0.0, 30
    while L <= T:
        error = np.abs(prefix[L:] - prefix[:-L]).max()
        worst = max(worst, error / rate[L])
        # One round more adds at most 1: only lengths that could beat the worst are looked at.
        beats = np.flatnonzero(error + np.arange(1, T + 1 - L) > worst * rate[L + 1 :])
        L = L + 1 + int(beats[0]) if len(beats) else T + 1
    return worst


@pytest.mark.parametrize("size", [(2, 2), (3, 3), (5, 5)], ids=str)
def test_theorem_4_1_on_hard_sequences(size: tuple[int, int]) -> None:
    for seed in (0, 1):
        binning = BestResponseBinning(some_game(*size, seed).agent_view)
        for name, outcomes in hard_sequences(size[0], 2000, seed).items():
            block = AdaptiveForecaster(binning, seed=seed).run(outcomes)
            assert worst_ratio(binning, outcomes, block.forecasts) <= 1.0, name


@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("size", [(2, 2), (3, 3)], ids=str)
def test_theorem_4_1_against_adversaries(size: tuple[int, int], adversary: Any) -> None:
    binning = BestResponseBinning(some_game(*size, seed=2).agent_view)
    outcomes, forecasts = play_adversary(AdaptiveForecaster(binning), adversary, 1000)
    assert worst_ratio(binning, outcomes, forecasts) <= 1.0


@pytest.mark.parametrize("name", list(BINNINGS))
def test_theorem_4_1_for_every_binning(name: str) -> None:
    binning, space = BINNINGS[name]
    forecaster = AdaptiveForecaster(binning, space)
    outcomes = outcomes_for(forecaster, 400)
    assert worst_ratio(binning, outcomes, forecaster.run(outcomes).forecasts) <= 1.0


def test_the_first_start_alone_is_calibrated_over_all_time() -> None:
    binning = BestResponseBinning(some_game(3, 3, 1).agent_view)
    for outcomes in hard_sequences(3, 2000).values():
        forecasts = (
            AdaptiveForecaster(binning, method="sleeping", starts="first").run(outcomes).forecasts
        )
        errors = binning.weights(forecasts).T @ (outcomes - forecasts)
        assert np.abs(errors).max() <= (2000 * (np.log(9 * 2000) + np.log(2000))) ** 0.5


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", [n for n in BINNINGS if "tents on a" not in n])
def test_player_two_holds_nature_to_epsilon_in_every_round(name: str, method: Any) -> None:
    binning, space = BINNINGS[name]
    forecaster = AdaptiveForecaster(binning, space, method=method)
    m = forecaster.space.dimension
    for t, outcome in enumerate(outcomes_for(forecaster, 80), start=1):
        support, shares = forecaster.forecast_distribution()
        assert shares.min() > 0
        assert shares.sum() == pytest.approx(1.0)
        z = forecaster._imbalance.reshape(binning.bins, m)
        assert np.abs(z).sum() <= 1 + 1e-12
        slopes = binning.weights(support) @ z
        constant = shares @ (slopes * support).sum(axis=1)
        # max over the space of ⟨E slope, h⟩, by another solver.
        s: Any = forecaster.space
        best = linprog(
            -(shares @ slopes),
            A_ub=s.inequality_rows,
            b_ub=s.inequality_bounds,
            A_eq=s.equality_rows,
            b_eq=s.equality_bounds,
            bounds=(None, None),
        )
        # Every space here is one wide or narrower.
        epsilon = 0.05 * min(1.0, 5.0 / m) / t**0.5
        if method == "betting":
            epsilon = 0.1 / t
        assert best.fun is not None
        assert -best.fun - constant <= epsilon + 1e-9
        forecaster.observe(outcome)
    assert forecaster.statistics["misses"] == 0


def test_many_coordinates_are_forecast_as_sharply_as_few() -> None:
    """A fixed coverage that makes all targets equal: the error over all time, of any bin."""
    worst = {}
    for n in (5, 10):
        attacker = sc.games.generators.near_equal_security(n, 0).agent_view
        forecaster = AdaptiveForecaster(BestResponseBinning(attacker), method="sleeping")
        made = forecaster.run((np.full(n, 1 / n), 4000))
        errors = np.zeros((n, n))
        np.add.at(errors, made.bins, 1 / n - made.forecasts)
        worst[n] = np.abs(errors).max() / 4000**0.5
    assert worst[10] <= worst[5]


def test_two_point_formula_agrees_with_the_general_solver() -> None:
    binning = BestResponseBinning(some_game(2, 4, seed=3).agent_view)
    forecaster = AdaptiveForecaster(binning)
    grid = np.linspace(0.0, 1.0, 401)
    stack = np.column_stack([grid, 1 - grid])
    weights = binning.weights(stack)
    mixed = 0
    for outcome in outcomes_for(forecaster, 60, seed=5):
        forecaster.forecast()
        z = forecaster._imbalance.reshape(binning.bins, 2)
        pull = weights @ (z[:, 0] - z[:, 1])
        positions, probabilities = two_adjacent_points(grid, pull)
        mixed += len(positions) == 2
        gains = [
            float(probabilities @ ((h - grid[positions]) * pull[positions])) for h in (0.0, 1.0)
        ]
        # The paper: at most the grid's step (here times |Z| ≤ 1); the general solver: at most ε.
        assert max(gains) <= grid[1] + 1e-12
        assert forecaster.statistics["value"] <= forecaster.statistics["epsilon"] * (1 + 1e-9)
        # Both are optimal: no mixture of the grid does better than 0 by more than a step.
        rows = np.column_stack([(0.0 - grid) * pull, (1.0 - grid) * pull])
        game = linprog(
            [*np.zeros(len(grid)), 1.0],
            A_ub=np.column_stack([rows.T, -np.ones(2)]),
            b_ub=np.zeros(2),
            A_eq=[[*np.ones(len(grid)), 0.0]],
            b_eq=[1.0],
            bounds=[(0, None)] * len(grid) + [(None, None)],
        )
        assert max(gains) <= game.fun + grid[1]
        forecaster.observe(outcome)
    assert mixed > 5


def test_outgoing_fixed_point_is_deterministic_and_certified() -> None:
    for name in ("tents on a line", "tents for two actions"):
        binning, _ = BINNINGS[name]
        forecaster, m = AdaptiveForecaster(binning), binning.dimension
        twin = AdaptiveForecaster(
            FunctionBinning(
                binning.weights, binning.bins, space=binning.space, continuous=True, name="tents"
            )
        )
        inside = 0
        for outcome in outcomes_for(forecaster, 200):
            support, shares = forecaster.forecast_distribution()
            assert shares.tolist() == [1.0]
            p = support[0, 0]
            z = forecaster._imbalance.reshape(binning.bins, m)
            slope = z[:, 0] - (z[:, 1] if m == 2 else 0.0)
            pull = float(binning.weights(support)[0] @ slope)
            assert max(pull * (0.0 - p), pull * (1.0 - p)) <= 1e-14
            inside += 0 < p < 1
            np.testing.assert_allclose(twin.forecast(), forecaster.forecast(), atol=1e-9)
            forecaster.observe(outcome)
            twin.observe(outcome)
        assert inside > 50


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", list(BINNINGS))
def test_blocks_equal_rounds_to_the_last_bit(name: str, method: Any) -> None:
    binning, space = BINNINGS[name]
    blocked, single = (AdaptiveForecaster(binning, space, method=method, seed=4) for _ in range(2))
    outcomes = outcomes_for(blocked, 60)
    single.forecast_distribution()
    blocked.forecast()  # a block may begin with a forecast that is already out
    blocks = [
        blocked.run(outcomes[:25]),
        blocked.run((outcomes[25], 10)),
        blocked.run(outcomes[35:]),
    ]
    played = np.vstack([outcomes[:25], np.repeat(outcomes[25:26], 10, axis=0), outcomes[35:]])
    forecasts, bins = [], []
    for outcome in played:
        forecasts.append(single.forecast())
        assert (single.forecast() == forecasts[-1]).all()
        bins.append(single.forecast_bin())
        single.observe(outcome)
    assert np.concatenate([b.forecasts for b in blocks]).tobytes() == np.array(forecasts).tobytes()
    assert np.concatenate([b.bins for b in blocks]).tolist() == bins
    weights = binning.weights(np.array(forecasts))
    assert (weights[np.arange(len(bins)), bins] > 0).all()
    # Ids count up, and the tables of new forecasts make up all of them.
    table = np.vstack([b.new_forecasts for b in blocks])
    ids = np.concatenate([b.forecast_ids for b in blocks])
    assert [b.first_new_id for b in blocks] == [
        0,
        *np.cumsum([len(b.new_forecasts) for b in blocks])[:-1],
    ]
    assert table[ids].tobytes() == np.array(forecasts).tobytes()
    own, other = blocked._parts(), single._parts()
    player = "bankroll" if method == "betting" else "experts"
    for mine, theirs in zip(own[player], other[player], strict=True):
        assert mine[: len(theirs)].tobytes() == theirs[: len(mine)].tobytes()
    assert blocked.state()["random"] == single.state()["random"]


def test_golden_forecasts() -> None:
    """Bit for bit what they are today; running this file writes them anew."""
    assert json.loads(GOLDEN.read_text()) == golden_forecasts()


GOLDEN = Path(__file__).parent / "data" / "golden_forecasts.json"


def golden_forecasts() -> dict[str, str]:
    """Return digests of forecasts and bins."""
    found = {}
    for name, (binning, space) in BINNINGS.items():
        for method, starts in HOW:
            forecaster = AdaptiveForecaster(binning, space, method=method, starts=starts, seed=7)
            made = forecaster.run(outcomes_for(forecaster, 150, seed=7))
            bits = made.forecasts.tobytes() + made.bins.tobytes()
            found[f"{name}, {starts or method}"] = hashlib.sha256(bits).hexdigest()[:16]
    return found


@pytest.mark.parametrize(("method", "starts"), HOW, ids=str)
def test_forecasts_never_depend_on_their_own_outcome(method: Any, starts: Any) -> None:
    binning = BestResponseBinning(some_game(3, 3).agent_view)
    outcomes = hard_sequences(3, 60)["independent"]
    changed = outcomes.copy()
    changed[40] = [0.2, 0.3, 0.5]
    a, b = (
        AdaptiveForecaster(binning, method=method, starts=starts).run(x)
        for x in (outcomes, changed)
    )
    assert (a.forecasts[:41] == b.forecasts[:41]).all()
    assert (a.bins[:41] == b.bins[:41]).all()
    assert (a.forecasts[41:] != b.forecasts[41:]).any()


def test_sampled_actions_are_outcomes_too() -> None:
    binning = BestResponseBinning(some_game(3, 3).agent_view)
    actions = stream(0, "actions").integers(0, 3, 50)
    by_action, by_vertex, one_by_one = (AdaptiveForecaster(binning) for _ in range(3))
    a, b = by_action.run(actions), by_vertex.run(np.eye(3)[actions])
    for action in actions:
        one_by_one.observe(int(action))
    assert (a.forecasts == b.forecasts).all()
    assert (one_by_one.forecast() == by_action.forecast()).all()


@pytest.mark.parametrize("name", list(BINNINGS))
def test_a_saved_forecaster_continues_as_if_nothing_had_happened(name: str, tmp_path: Path) -> None:
    binning, space = BINNINGS[name]
    forecaster = AdaptiveForecaster(binning, space, seed=9)
    outcomes = outcomes_for(forecaster, 60)
    forecaster.run(outcomes[:30])
    pending = forecaster.forecast()
    forecaster.save(tmp_path / "f.state")
    restored = AdaptiveForecaster.load(tmp_path / "f.state", binning, space)
    assert restored.rounds == 30
    assert (restored.forecast() == pending).all()
    a, b = forecaster.run(outcomes[30:]), restored.run(outcomes[30:])
    assert a.forecasts.tobytes() == b.forecasts.tobytes()
    assert (a.forecast_ids == b.forecast_ids).all()
    assert (a.bins == b.bins).all()


def test_a_saved_forecaster_is_refused_where_it_does_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "f.state"
    forecaster = AdaptiveForecaster(ThresholdBinning([0.3]))
    forecaster.save(path)
    with pytest.raises(sc.InputError, match="the binning"):
        AdaptiveForecaster.load(path, ThresholdBinning([0.4]))
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(sc.InputError, match="cut or altered"):
        AdaptiveForecaster.load(path, ThresholdBinning([0.3]))
    with pytest.raises(sc.InputError, match=r"^state: expected"):
        forecaster.restore({"starts": "all"})


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        ([0.5, 0.6, 0.1], "outcome: expected probabilities that sum to 1"),
        ([0.5, 0.6, -0.1], "at least 0"),
        ([0.5, np.nan, 0.5], "a finite number"),
        ([0.5, 0.5], "3 numbers"),
        (3, "an action below 3"),
        (True, "outcome"),
    ],
)
def test_outcomes_outside_the_space_are_refused(outcome: Any, message: str) -> None:
    forecaster = AdaptiveForecaster(BestResponseBinning(some_game(3, 3).agent_view))
    with pytest.raises(sc.InputError, match=message):
        forecaster.observe(outcome)
    with pytest.raises(sc.InputError, match="row 2"):
        forecaster.run([[1, 0, 0], [1, 1, 0]])
    assert forecaster.rounds == 0


def test_wrong_arguments_are_refused() -> None:
    binning = ThresholdBinning([0.5])
    with pytest.raises(sc.InputError, match="starts"):
        AdaptiveForecaster(binning, method="sleeping", starts="some")  # type: ignore[arg-type]
    with pytest.raises(sc.InputError, match="coordinates"):
        AdaptiveForecaster(binning, StrategySpace.simplex(3))
    with pytest.raises(sc.InputError, match="a binning"):
        AdaptiveForecaster("best responses")  # type: ignore[arg-type]
    with pytest.raises(sc.InputError, match="accuracy"):
        AdaptiveForecaster(binning, accuracy=0.0)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_ten_million_rounds_without_overflow_nan_or_growing_memory(method: Any) -> None:
    binning = BestResponseBinning(some_game(2, 2, seed=1).agent_view)
    forecaster = AdaptiveForecaster(binning, method=method)
    rng, sizes, total = stream(0, "long"), [], np.zeros((2, 2))
    for _ in range(100):
        outcomes = np.eye(2)[(rng.random(100_000) < rng.random()).astype(int)]
        block = forecaster.run(outcomes)
        forecasts = block.forecasts
        assert np.isfinite(forecasts).all()
        total += binning.weights(forecasts).T @ (outcomes - forecasts)
        sizes.append(sum(a.nbytes for part in forecaster._parts().values() for a in part))
    assert forecaster.rounds == 10_000_000
    assert all(np.isfinite(a).all() for part in forecaster._parts().values() for a in part)
    assert sizes[-1] <= 2 * sizes[0]
    assert np.abs(total).max() / 10_000_000**0.5 <= 5.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("size", [(2, 2), (3, 3), (5, 5), (10, 10)], ids=str)
def test_rate_on_all_intervals_of_twenty_thousand_rounds(size: tuple[int, int], seed: int) -> None:
    binning = BestResponseBinning(some_game(*size, seed).agent_view)
    for name, outcomes in hard_sequences(size[0], 20_000, seed).items():
        block = AdaptiveForecaster(binning, seed=seed).run(outcomes)
        assert worst_ratio(binning, outcomes, block.forecasts) <= 1.0, name
    for adversary in ADVERSARIES:
        forecaster = AdaptiveForecaster(binning, seed=seed)
        outcomes, forecasts = play_adversary(forecaster, adversary, 20_000)
        assert worst_ratio(binning, outcomes, forecasts) <= 1.0, adversary


@pytest.mark.slow
@pytest.mark.parametrize("size", [(2, 2), (3, 3)], ids=str)
def test_streaming_starts_stay_within_twice_all_starts(size: tuple[int, int]) -> None:
    for seed in (0, 1):
        binning = BestResponseBinning(some_game(*size, seed).agent_view)
        for name, outcomes in hard_sequences(size[0], 2000, seed).items():
            streaming, every = (
                worst_ratio(
                    binning,
                    outcomes,
                    AdaptiveForecaster(binning, method="sleeping", starts=starts, seed=seed)
                    .run(outcomes)
                    .forecasts,
                )
                for starts in ("streaming", "all")
            )
            assert streaming <= 2 * every, name


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(golden_forecasts(), indent=1) + "\n")
