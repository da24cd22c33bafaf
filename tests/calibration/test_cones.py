"""Forecasts on domains: certified mixtures in the plane, exact points on the line."""

from __future__ import annotations

import numpy as np
import pytest

from stackcast.calibration import AdaptiveForecaster, ConeBinning
from stackcast.checks import check_forecaster
from stackcast.games import Ball, Domain, Polytope

PLANE: list[Domain] = [
    Ball(2),
    Polytope.box([-1.0, -0.5], [0.5, 2.0]),
    Polytope([[-1, 0], [0, -1], [1, 1]], [1, 1, 1]),
]


def worst_gain(forecaster: AdaptiveForecaster, domain: Domain) -> float:
    """Return max over h of the mean of Σ_i w_i(p)⟨z_i, h − p⟩, from the definition."""
    forecasts, shares = forecaster.forecast_distribution()
    weights = forecaster.binning.weights(forecasts)
    z = forecaster._imbalance.reshape(-1, domain.dimension)
    pulls = weights @ z
    line = shares @ pulls
    return float(line @ domain.argmax(line) - shares @ (pulls * forecasts).sum(axis=1))


@pytest.mark.parametrize(
    "domain", [*PLANE, Ball(1), Polytope.box([-1.0], [0.3])], ids=lambda d: d.kind
)
def test_every_round_is_certified_against_an_adversary(domain: Domain) -> None:
    forecaster = AdaptiveForecaster(ConeBinning(domain, 0.3), domain, seed=1)
    rng = np.random.default_rng(2)
    for t in range(1, 150):
        gain = worst_gain(forecaster, domain)
        assert gain <= forecaster.statistics["epsilon"] + 1e-9
        forecasts, shares = forecaster.forecast_distribution()
        # Nature sees the mixture, and runs away from its mean.
        away = -(shares @ forecasts) if t % 3 else rng.normal(size=domain.dimension)
        forecaster.observe(domain.argmax(away))
    assert forecaster.statistics["misses"] == 0


@pytest.mark.parametrize("domain", [PLANE[0], Ball(1)], ids=["plane", "line"])
def test_calibrated_on_every_interval(domain: Domain) -> None:
    binning = ConeBinning(domain, 0.3)
    forecaster = AdaptiveForecaster(binning, domain, seed=3)
    rng = np.random.default_rng(4)
    outcomes = np.repeat(domain.sample(6, rng), 500, axis=0)
    outcomes[1500:2000] = domain.sample(500, rng)
    p = forecaster.run(outcomes).forecasts
    parts = binning.weights(p)[:, :, None] * (outcomes - p)[:, None, :]
    sums = np.concatenate([np.zeros((1, *parts.shape[1:])), parts.cumsum(axis=0)])
    for length in (50, 200, 500, 3000):
        errors = np.abs(sums[length:] - sums[:-length]).max() / length
        scale = np.sqrt(np.log(binning.bins * domain.dimension * length) / length)
        assert errors <= 2.0 * scale


def test_the_contract_of_forecasters() -> None:
    domain = Ball(2)
    check_forecaster(lambda: AdaptiveForecaster(ConeBinning(domain, 0.4), domain, seed=5))


@pytest.mark.parametrize("domain", [Ball(3), Polytope.box([-1, -0.5, -1], [1, 0.5, 0.3])])
def test_tents_in_space_leave_no_hole(domain: Domain) -> None:
    binning = ConeBinning(domain, 0.35)
    points = domain.sample(4000, 1)
    points[::4] = [domain.argmax(p) for p in points[::4]]  # and on the boundary
    far = np.linalg.norm(points[:, None] - binning.points[None], axis=2).min(axis=1)
    assert far.max() <= 0.35 + 1e-9
    assert all(domain.contains(x, 1e-9) for x in binning.points)
