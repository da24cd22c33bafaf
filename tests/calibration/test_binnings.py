"""Binnings: weights between 0 and 1 that sum to one, equal to their definitions; clear refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stackcast as sc
from stackcast._random import stream
from stackcast.calibration import (
    BestResponseBinning,
    Binning,
    FunctionBinning,
    GridBinning,
    TentBinning,
    ThresholdBinning,
)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 10**6), st.booleans())
def test_best_responses_are_the_agents(m: int, k: int, seed: int, ties: bool) -> None:
    rng = stream(seed, "game")
    payoffs = rng.integers(-2, 3, (m, k)).astype(float)
    view = sc.FiniteGame(np.zeros((m, k)), payoffs).agent_view
    forecasts = np.vstack([rng.dirichlet(np.ones(m), 5), np.eye(m), np.full((1, m), 1 / m)])
    binning = BestResponseBinning(view, ties="random" if ties else "lowest")
    weights = binning.weights(forecasts)
    best = view.best_responses(forecasts)
    if ties:
        np.testing.assert_allclose(weights, best / best.sum(axis=1, keepdims=True))
    else:
        assert (np.argmax(best, axis=1) == np.argmax(weights, axis=1)).all()
        assert (weights.sum(axis=1) == 1).all()


def test_grid_is_the_nearest_point() -> None:
    binning = GridBinning.on_simplex(3, 4)
    points = binning.compiled.table.T
    forecasts = stream(0, "forecasts").dirichlet(np.ones(3), 200)
    nearest = np.argmin(((forecasts[:, None] - points) ** 2).sum(axis=2), axis=1)
    assert (np.argmax(binning.weights(forecasts), axis=1) == nearest).all()
    assert len(np.unique(points, axis=0)) == 15
    np.testing.assert_allclose(points.sum(axis=1), 1)


def test_tents_interpolate() -> None:
    rng = stream(0, "tents")
    first, second = np.array([0.0, 0.3, 1.0]), np.array([0.0, 0.5, 0.8, 1.0])
    binning = TentBinning(first, second)
    forecasts = rng.random((100, 2))
    weights = binning.weights(forecasts)
    assert weights.min() >= 0
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    points = np.array([[a, b] for a in first for b in second])
    np.testing.assert_allclose(weights @ points, forecasts)
    assert ((weights > 0).sum(axis=1) <= 4).all()
    np.testing.assert_array_equal(binning.weights(points), np.eye(12))
    steps = np.linspace(0, 1, 1001)
    line = TentBinning(first).weights(steps[:, None])
    assert np.abs(np.diff(line, axis=0)).max() <= 1e-3 / 0.3 + 1e-12


def test_thresholds_act_from_the_threshold_on() -> None:
    binning = ThresholdBinning([0.25, 0.5], column=1, dimension=2)
    weights = binning.weights([[0.8, 0.2], [0.75, 0.25], [0.5, 0.5], [0.0, 1.0]])
    assert np.argmax(weights, axis=1).tolist() == [0, 1, 2, 2]


def test_every_binning_keeps_the_contract() -> None:
    view = sc.FiniteGame(np.eye(3), np.eye(3)).agent_view
    binnings: list[Binning] = [
        BestResponseBinning(view),
        GridBinning([0.0, 1.0]),
        TentBinning([0, 1], dimension=2),
        ThresholdBinning([0.5]),
        FunctionBinning(lambda p: np.ones((len(p), 1)), 1, 3),
    ]
    for binning in binnings:
        assert isinstance(binning, Binning)
        assert binning.space.dimension == binning.dimension
        assert binning.weights(np.zeros((0, binning.dimension))).shape == (0, binning.bins)
        assert binning.description() == binning.description()
        with pytest.raises(sc.InputError, match="forecasts"):
            binning.weights([[0.1] * (binning.dimension + 1)])
        with pytest.raises(sc.InputError, match="NaN"):
            binning.weights([[np.nan] * binning.dimension])
    digests = [repr(b.description()) for b in binnings]
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda p: np.full((len(p), 2), 0.4), "sum of 0.8 at the forecast"),
        (lambda p: np.tile([1.5, -0.5], (len(p), 1)), "between 0 and 1"),
        (lambda p: np.ones((len(p), 3)), "shape"),
        (lambda p: np.full((len(p), 2), np.nan), "NaN"),
        (lambda p: [["a", "b"]] * len(p), "an array of numbers"),
        (lambda p: np.full((len(p), 2), 0.5), "random=False"),
    ],
)
def test_functions_that_are_no_binning_are_refused(function: Any, message: str) -> None:
    binning = FunctionBinning(function, 2, 3, random="random" not in message, name="mine")
    with pytest.raises(sc.InputError, match=message) as refusal:
        binning.weights([[0.2, 0.3, 0.5]])
    assert "'mine'" in str(refusal.value)


def test_wrong_descriptions_are_refused() -> None:
    with pytest.raises(sc.InputError, match="increasing"):
        ThresholdBinning([0.5, 0.5])
    with pytest.raises(sc.InputError, match="column"):
        ThresholdBinning([0.5], column=2, dimension=2)
    with pytest.raises(sc.InputError, match="points, row 2"):
        GridBinning([[0.5, 0.5], [0.5, 0.6]])
    with pytest.raises(sc.InputError, match="grids"):
        TentBinning()
    with pytest.raises(sc.InputError, match="agent_view"):
        BestResponseBinning("game")  # type: ignore[arg-type]
    with pytest.raises(sc.InputError, match="ties"):
        BestResponseBinning(sc.FiniteGame(np.eye(2), np.eye(2)).agent_view, ties="last")  # type: ignore[arg-type]
    with pytest.raises(sc.InputError, match="function"):
        FunctionBinning(3, 2, 2)  # type: ignore[arg-type]
