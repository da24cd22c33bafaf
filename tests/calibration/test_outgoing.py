"""Outgoing fixed points and the two-action forecaster, checked from the definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stackcast as sc
from stackcast._random import stream
from stackcast.calibration import (
    AdaptiveForecaster,
    BestResponseBinning,
    ConeBinning,
    FunctionBinning,
    TentBinning,
    ThresholdBinning,
    TwoActionForecaster,
    hard_sequences,
    outgoing_fixed_point,
    two_adjacent_points,
)
from stackcast.checks import check_forecaster
from stackcast.games import Ball, FiniteGame, Polytope

THIRDS = np.linspace(0, 1, 4)
TRIANGLE = Polytope([[-1, 0], [0, -1], [1, 1]], [1, 1, 1])
BINNINGS: dict[int, dict[str, Any]] = {
    1: {
        "line": ConeBinning(Ball(1), 0.1),
        "two actions": TentBinning(THIRDS, dimension=2),
    },
    2: {
        "ball": ConeBinning(Ball(2), 0.2),
        "triangle": ConeBinning(TRIANGLE, 0.2),
        "square": TentBinning(THIRDS, THIRDS),
        "three actions": TentBinning(THIRDS, THIRDS, dimension=3),
    },
    3: {
        "ball": ConeBinning(Ball(3), 0.4),
        "box": ConeBinning(Polytope.box([-1, -0.5, -1], [1, 0.5, 0.3]), 0.35),
        "four actions": TentBinning(THIRDS, THIRDS, dimension=4),
    },
}


def largest_gain(binning: Any, z: Any, p: Any) -> float:
    """Return max_h Σ_i w_i(p)⟨z_i, h − p⟩ as a share of the largest gain that there is."""
    assert binning.space.contains(p, 1e-9)
    pull = binning.weights(p[None])[0] @ z
    gain = float(pull @ (binning.space.argmax(pull) - p))
    spans = [zi @ binning.space.argmax(zi) + zi * -1 @ binning.space.argmax(-zi) for zi in z]
    return gain / max(spans)


def check(dimension: int, count: int) -> None:
    rng = stream(dimension, "test", "outgoing")
    named = BINNINGS[dimension]
    for trial in range(count):
        binning = list(named.values())[trial % len(named)]
        z = rng.normal(size=(binning.bins, binning.dimension))
        if trial % 3 == 1:  # few bins matter, as after a long calm
            z *= rng.random((binning.bins, 1)) < 0.2
        if trial % 3 == 2:  # all outcomes on one side
            z += 3.0 * rng.normal(size=binning.dimension)
        if z.any():
            z *= 10.0 ** rng.integers(-6, 7)
            p = outgoing_fixed_point(binning, z)
            assert largest_gain(binning, z, p) <= 1e-9, (list(named)[trial % len(named)], trial)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_no_outcome_gains_against_an_outgoing_fixed_point(dimension: int) -> None:
    check(dimension, 120)


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_ten_thousand_imbalances_a_dimension(dimension: int) -> None:
    check(dimension, 10_000)


@pytest.mark.parametrize("name", ["ball", "three actions"])
def test_forecasts_of_continuous_bins_are_deterministic_in_the_plane(name: str) -> None:
    binning = BINNINGS[2][name]
    forecaster, m = AdaptiveForecaster(binning), binning.dimension
    outcomes = binning.space.sample(120, 1)
    made = []
    for h in outcomes:
        p, shares = forecaster.forecast_distribution()
        assert shares.tolist() == [1.0]
        z = forecaster._imbalance.reshape(-1, m)
        assert not z.any() or largest_gain(binning, z, p[0]) <= 1e-9
        made.append(p[0].copy())
        forecaster.observe(h)
    again = AdaptiveForecaster(binning, seed=5)  # nothing is drawn
    np.testing.assert_array_equal(again.run(outcomes).forecasts, made)
    assert forecaster.statistics["value"] <= 1e-9
    check_forecaster(lambda: AdaptiveForecaster(binning))


def test_beyond_three_dimensions_and_for_functions_the_forecast_is_mixed() -> None:
    def halves(p: Any) -> Any:
        return np.column_stack([p[:, 0], 1 - p[:, 0]])

    for binning in (
        FunctionBinning(halves, 2, 3, continuous=True),
        TentBinning(THIRDS, dimension=5),
    ):
        with pytest.raises(sc.InputError, match="at most 3 dimensions"):
            outgoing_fixed_point(binning, np.zeros((binning.bins, binning.dimension)))
        assert AdaptiveForecaster(binning).statistics["epsilon"] > 0


def some_bins(points: Any) -> BestResponseBinning:
    at = np.column_stack([points, 1 - np.array(points)])
    nearest = at.T - (at**2).sum(axis=1) / 2  # the nearest point answers
    return BestResponseBinning(FiniteGame(np.zeros((2, len(points))), nearest).agent_view)


@pytest.mark.parametrize("method", ["betting", "sleeping"])
@pytest.mark.parametrize("accuracy", [0.01, 1e-6])
def test_the_two_action_forecaster_mixes_neighbours(method: Any, accuracy: float) -> None:
    binning = some_bins([0.1, 0.4, 0.6, 0.95])
    forecaster = TwoActionForecaster(binning, method=method, accuracy=accuracy)
    mixed = 0
    for outcome in hard_sequences(2, 400)["switch every 50"]:
        p, shares = forecaster.forecast_distribution()
        z = forecaster._imbalance.reshape(-1, 2)
        pulls = binning.weights(p) @ (z[:, 0] - z[:, 1])
        assert np.ptp(p[:, 0]) <= accuracy * (1 + 1e-9)
        gain = max(float(shares @ ((h - p[:, 0]) * pulls)) for h in (0.0, 1.0))
        assert gain <= accuracy * np.abs(pulls).max() + 1e-15
        mixed += len(shares) == 2
        forecaster.observe(outcome)
    assert mixed > 20


def test_the_two_action_forecaster_does_what_the_paper_s_formula_does() -> None:
    binning, step = some_bins([0.3, 0.7]), 1 / 64
    forecaster = TwoActionForecaster(binning, accuracy=step)
    grid = np.linspace(0, 1, 65)
    for outcome in hard_sequences(2, 200)["switch every 50"]:
        p, shares = forecaster.forecast_distribution()
        z = forecaster._imbalance.reshape(-1, 2)
        pull = binning.weights(np.column_stack([grid, 1 - grid])) @ (z[:, 0] - z[:, 1])
        if (np.diff(np.sign(pull)) != 0).sum() <= 1 and pull.any():  # one change of sign
            places, weights = two_adjacent_points(grid, pull)
            np.testing.assert_allclose(p[:, 0], grid[places], atol=1e-12)
            np.testing.assert_allclose(shares, weights, atol=1e-9)
        forecaster.observe(outcome)


def test_the_two_action_forecaster_is_calibrated_and_keeps_the_contract() -> None:
    binning = some_bins([0.2, 0.5, 0.9])
    for name, outcomes in hard_sequences(2, 4000).items():
        p = TwoActionForecaster(binning, seed=1).run(outcomes).forecasts
        parts = binning.weights(p)[:, :, None] * (outcomes - p)[:, None, :]
        sums = np.concatenate([np.zeros((1, 3, 2)), parts.cumsum(axis=0)])
        for length in (50, 500, 4000):
            error = np.abs(sums[length:] - sums[:-length]).max() / length
            assert error <= 1.5 * np.sqrt(np.log(6 * length) / length), (name, length)
    check_forecaster(lambda: TwoActionForecaster(binning))
    check_forecaster(lambda: TwoActionForecaster(ThresholdBinning([0.3])))
    with pytest.raises(sc.InputError, match="on a line"):
        TwoActionForecaster(TentBinning(THIRDS, THIRDS))
    with pytest.raises(sc.InputError, match="accuracy"):
        TwoActionForecaster(binning, accuracy=2.0)
