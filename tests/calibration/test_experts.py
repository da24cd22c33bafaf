"""Player 1: AdaNormalHedge against the paper's formulas, written out for every expert."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import stackcast as sc
from stackcast._random import stream
from stackcast.calibration import AdaptiveForecaster, BestResponseBinning, TentBinning
from stackcast.calibration._experts import PERMANENT_LOG_PRIOR


def potential(R: float, C: float) -> float:
    return float(np.exp(max(0.0, R) ** 2 / (3 * C)))


def awake(rule: str, t: int) -> dict[tuple[str, int], float]:
    """The starts that are awake in round t, and their priors."""
    if rule == "all":
        return {("all", s): 1 / s**2 for s in range(1, t + 1)}
    if rule == "first":
        return {("all", 1): 1.0}
    stream_ = {("stream", s): 1.0 for s in range(1, t + 1) if t <= s + 4 * (s & -s)}
    return {("permanent", 1): float(np.exp(PERMANENT_LOG_PRIOR)), **stream_}


@pytest.mark.parametrize("rule", ["all", "streaming", "first"])
@pytest.mark.parametrize("shared", [False, True])
def test_imbalance_equals_the_literal_algorithm(rule: Any, shared: bool) -> None:
    rng = stream(1, "experts")
    binning = (
        TentBinning([0.0, 0.5, 1.0], [0.0, 1.0], dimension=3)
        if shared
        else BestResponseBinning(sc.FiniteGame(rng.random((3, 2)), rng.random((3, 2))).agent_view)
    )
    n, m = binning.bins, 3
    forecaster = AdaptiveForecaster(binning, method="sleeping", starts=rule)
    R: dict[Any, float] = {}
    C: dict[Any, float] = {}
    for t in range(1, 41):
        p = forecaster.forecast()
        weights: dict[Any, float] = {}
        for (name, s), prior in awake(rule, t).items():
            for i, j, sign in itertools.product(range(n), range(m), (1, -1)):
                g = (name, s, i, j, sign)
                r, c = R.setdefault(g, 0.0), C.setdefault(g, 0.0)
                weights[g] = prior * 0.5 * (potential(r + 1, c + 1) - potential(r - 1, c + 1))
        total = sum(weights.values())
        z = np.zeros((n, m))
        for (_, _, i, j, sign), weight in weights.items():
            z[i, j] += sign * weight / total
        np.testing.assert_allclose(forecaster._imbalance.reshape(n, m), z, atol=1e-12)
        h = np.eye(m)[rng.integers(0, m) if t % 10 else 0]
        w = binning.weights(p[None])[0]
        gains = {g: w[g[2]] * g[4] * (h[g[3]] - p[g[3]]) for g in weights}
        mixture = sum(weights[g] / total * gains[g] for g in weights)
        for g, gain in gains.items():
            R[g] += (gain - mixture) / 2
            C[g] += abs(gain - mixture) / 2
        forecaster.observe(h)


def test_streaming_starts_cover_every_interval_with_few() -> None:
    binning = TentBinning([0.0, 1.0])
    forecaster = AdaptiveForecaster(binning, method="sleeping")
    for t in range(1, 400):
        forecaster.forecast()
        starts = forecaster._experts.starts
        alive = sorted(starts[starts[:, 0] > 0][:, 0].tolist())
        assert alive == sorted(s for _, s in awake("streaming", t))
        assert alive[0] == 1
        assert len(alive) <= 2 + 3 * t.bit_length()
        # Whatever the interval s..t, a start wakes in its first half and is still awake.
        for s in range(1, t + 1):
            assert any(s <= a <= (s + t) / 2 for a in alive)
        forecaster.observe([0.5])


def test_weights_do_not_overflow_and_recover_when_a_dominant_start_goes() -> None:
    binning = BestResponseBinning(sc.FiniteGame(np.eye(2), np.eye(2)).agent_view)
    forecaster = AdaptiveForecaster(binning, method="sleeping")
    forecaster.run(([1.0, 0.0], 50))
    # A start with an enormous regret, as if its bets had always won, and one round to live.
    experts = forecaster._experts
    slot = int(np.argmax(experts.starts[:, 0]))
    experts.marks[slot, 0] -= 1e5
    experts.starts[slot, 1] = forecaster.rounds + 1
    for _ in range(3):
        forecaster.forecast()
        z = forecaster._imbalance
        assert np.isfinite(z).all()
        assert np.abs(z).sum() <= 1 + 1e-12
        forecaster.observe([0.0, 1.0])
