"""Binnings, outcomes and bounds that several tests of forecasters share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

import stackcast as sc
from stackcast._random import stream
from stackcast.calibration import (
    AdaptiveForecaster,
    BestResponseBinning,
    FunctionBinning,
    GridBinning,
    TentBinning,
    ThresholdBinning,
)
from stackcast.games import StrategySpace

if TYPE_CHECKING:
    from stackcast._validation import FloatArray


def some_game(m: int, k: int, seed: int = 0) -> sc.FiniteGame:
    """Random payoffs; for even seeds those of the nearest of k points, each with a region."""
    rng = stream(seed, "game", m, k)
    points = rng.dirichlet(np.ones(m), size=k)
    nearest = points.T - (points**2).sum(axis=1) / 2
    return sc.FiniteGame(np.zeros((m, k)), nearest if seed % 2 == 0 else rng.random((m, k)))


def coverage(n: int, resources: float) -> StrategySpace:
    return StrategySpace(
        np.vstack([-np.eye(n), np.eye(n), np.ones((1, n))]),
        np.concatenate([np.zeros(n), np.ones(n), [resources]]),
        np.zeros((0, n)),
        np.zeros(0),
        "polytope",
    )


def capped_simplex(m: int, cap: float) -> StrategySpace:
    return StrategySpace(
        np.vstack([-np.eye(m), np.eye(m)[:2]]),
        np.concatenate([np.zeros(m), [cap, cap]]),
        np.ones((1, m)),
        np.ones(1),
        "polytope",
    )


def attacker_bins(p: FloatArray) -> FloatArray:
    values = np.array([1.0, 0.8, 0.9, 0.7])
    result: FloatArray = np.eye(4)[np.argmax(values * (1.0 - p), axis=1)]
    return result


BINNINGS: dict[str, tuple[Any, StrategySpace | None]] = {
    "best responses": (BestResponseBinning(some_game(3, 3).agent_view), None),
    "random ties": (
        BestResponseBinning(sc.FiniteGame(np.eye(3), np.eye(3)).agent_view, ties="random"),
        None,
    ),
    "threshold": (ThresholdBinning([0.3, 0.7]), None),
    "grid": (GridBinning.on_simplex(3, 3), None),
    "tents on a line": (TentBinning(np.linspace(0, 1, 6)), None),
    "tents for two actions": (TentBinning(np.linspace(0, 1, 4), dimension=2), None),
    "tents on the simplex": (TentBinning([0, 0.4, 1], [0, 0.5, 1], dimension=3), None),
    "function": (FunctionBinning(lambda p: np.eye(2)[(p[:, 0] < 0.4).astype(int)], 2, 3), None),
    "coverage": (
        FunctionBinning(attacker_bins, 4, space=coverage(4, 1.5), random=False),
        None,
    ),
    "capped simplex": (BestResponseBinning(some_game(4, 3).agent_view), capped_simplex(4, 0.4)),
    "twelve actions": (BestResponseBinning(some_game(12, 4).agent_view), None),
}


def outcomes_for(forecaster: AdaptiveForecaster, rounds: int, seed: int = 0) -> FloatArray:
    """Extreme outcomes, in runs and alone."""
    space = forecaster.space
    rng = stream(seed, "outcomes")
    directions = rng.normal(size=(1 + rounds // 4, space.dimension))
    points = np.array([space.argmax(d) for d in directions])
    result: FloatArray = points[np.minimum(np.cumsum(rng.random(rounds) < 0.25), len(points) - 1)]
    return result


def prices(rounds: int) -> FloatArray:
    """[s > 1]·(ln(s + e) + 2 ln ln(s + e)), the price of starting in round s = 1 … T."""
    s = np.arange(1.0, rounds + 1)
    result: FloatArray = np.where(s > 1, np.log(s + math.e) + 2 * np.log(np.log(s + math.e)), 0.0)
    return result
