"""Forecasts that are calibrated on every interval (Sections 4 and D)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._random import stream
from stackcast.agents import AdaptiveHedge
from stackcast.calibration import (
    ADVERSARIES,
    AdaptiveForecaster,
    AdaptiveRate,
    BestResponseBinning,
    TentBinning,
    calibration_profile,
    hard_sequences,
    play_adversary,
    two_adjacent_points,
)
from stackcast.claims.claim import Claim, Curve, Measured
from stackcast.games import FiniteGame, uniform
from stackcast.protocol import Block

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stackcast._validation import FloatArray
    from stackcast.calibration import Binning, CalibrationProfile


def _profile(binning: Binning, outcomes: FloatArray, forecasts: FloatArray) -> CalibrationProfile:
    """Return the profile against √(log(k·m·L)/L) + √(log(T/δ)/L), with 1 for the constant."""
    T, m = outcomes.shape
    rate = AdaptiveRate(binning.bins, m, horizon=T)
    return calibration_profile(outcomes, forecasts, binning.weights(forecasts), rate=rate)


def _records(full: bool) -> Iterator[tuple[str, Binning, FloatArray, FloatArray]]:
    """Yield hard sequences and adversaries, with the forecasts that were made for them."""
    sizes = (2, 3, 5) if full else (2, 3)
    rounds, reactive = (20_000, 2000) if full else (4000, 600)
    for m in sizes:
        for seed in (0, 1):
            points = stream(seed, "claims", "bins", m).dirichlet(np.ones(m), size=m)
            nearest = points.T - (points**2).sum(axis=1) / 2  # the nearest of m points answers
            binning = BestResponseBinning(FiniteGame(np.zeros((m, m)), nearest).agent_view)
            for name, outcomes in hard_sequences(m, rounds, seed).items():
                made = AdaptiveForecaster(binning, seed=seed).run(outcomes).forecasts
                yield f"{m}×{m}, {name}, seed {seed}", binning, outcomes, made
            if m <= 3:
                for adversary in ADVERSARIES:
                    forecaster = AdaptiveForecaster(binning, seed=seed)
                    seen, made = play_adversary(forecaster, adversary, reactive)
                    yield f"{m}×{m}, adversary {adversary}, seed {seed}", binning, seen, made


def adaptive_calibration(full: bool) -> Measured:
    """Measure the constant of the rate, over all intervals of hard sequences and adversaries."""
    profiles = {
        name: _profile(binning, outcomes, forecasts)
        for name, binning, outcomes, forecasts in _records(full)
    }
    label = max(profiles, key=lambda name: profiles[name].upper)
    worst = profiles[label]
    lengths = list(worst.errors)
    return Measured(
        tuple(found.upper for found in profiles.values()),
        1.0,
        f"{len(profiles)} records of hard sequences and adversaries, every interval",
        f"the worst record is {label}; the sup lies between {worst.lower:.3g} and "
        f"{worst.upper:.3g}",
        Curve(
            "interval length L",
            "largest calibration error",
            tuple(float(n) for n in lengths),
            tuple(worst.errors[n] for n in lengths),
            tuple(float(worst.rate(n)) for n in lengths),
        ),
    )


def continuous_binning(full: bool) -> Measured:
    """Measure the same with continuous bins, where the forecast is deterministic and ε is 0."""
    rounds = 20_000 if full else 3000
    found, gain = [], 0.0
    for bins in (4, 7):
        binning = TentBinning(np.linspace(0, 1, bins), dimension=2)
        for outcomes in hard_sequences(2, rounds).values():
            forecasts = AdaptiveForecaster(binning).run(outcomes).forecasts
            found.append(_profile(binning, outcomes, forecasts).upper)
        gain = max(gain, _largest_gain(binning))
    return Measured(
        tuple(found),
        1.0,
        f"tent bins, {rounds:,} rounds of hard sequences, every interval",
        f"deterministic forecasts; nature's gain in a round is at most {gain:.2g} (ε = 0)",
    )


def _largest_gain(binning: TentBinning) -> float:
    """Return the most that nature could gain in a round against the outgoing fixed point."""
    forecaster, gain = AdaptiveForecaster(binning), 0.0
    for outcome in hard_sequences(2, 200)["switch every 50"]:
        support, shares = forecaster.forecast_distribution()
        assert shares.tolist() == [1.0]
        z = forecaster._imbalance.reshape(binning.bins, 2)
        pull = float(binning.weights(support)[0] @ (z[:, 0] - z[:, 1]))
        gain = max(gain, *(pull * (h - float(support[0, 0])) for h in (0.0, 1.0)))
        forecaster.observe(outcome)
    return gain


def two_actions(full: bool) -> Measured:
    """Measure nature's gain against the two-point formula, in steps of the grid."""
    points = np.array([[0.1, 0.9], [0.4, 0.6], [0.6, 0.4], [0.95, 0.05]])
    nearest = points.T - (points**2).sum(axis=1) / 2
    binning = BestResponseBinning(FiniteGame(np.zeros((2, 4)), nearest).agent_view)
    forecaster = AdaptiveForecaster(binning)
    grid = np.linspace(0.0, 1.0, 401)
    weights = binning.weights(np.column_stack([grid, 1 - grid]))
    found, mixed = [], 0
    rounds = 2000 if full else 300
    for outcome in hard_sequences(2, rounds)["switch every 50"]:
        forecaster.forecast()
        z = forecaster._imbalance.reshape(binning.bins, 2)
        pull = weights @ (z[:, 0] - z[:, 1])
        positions, shares = two_adjacent_points(grid, pull)
        mixed += len(positions) == 2
        gains = [shares @ ((h - grid[positions]) * pull[positions]) for h in (0.0, 1.0)]
        found.append(float(max(gains)) / grid[1])
        forecaster.observe(outcome)
    return Measured(
        tuple(found),
        1.0,
        f"{rounds} rounds, a grid of {len(grid)} forecasts",
        f"two forecasts were mixed in {mixed} rounds",
    )


def sleeping_experts(full: bool) -> Measured:
    """Measure the regret of AdaNormalHedge over streaming starts, on every interval."""
    rounds = 1000 if full else 400
    view = uniform(3, 4, 1).agent_view
    found, corners, t = [], np.eye(3), np.arange(rounds)
    sequences: dict[str, Any] = {
        "cycle": corners[t % 3],
        "phases": corners[(t // 100) % 3],
        "doubling": corners[np.log2(t + 1).astype(int) % 3],
        "noise": corners[stream(0, "claims", "noise").integers(0, 3, rounds)],
    }
    for sequence in sequences.values():
        agent, mixtures = AdaptiveHedge(view), []
        for h in sequence:
            mixtures.append(agent.mixture)
            agent.respond(Block(h))
        utilities = view.utilities(sequence)
        own = (np.array(mixtures) * utilities).sum(axis=1)
        k = utilities.shape[1]
        sums = np.vstack([np.zeros(k), ((utilities - own[:, None]) / view.scale).cumsum(axis=0)])
        ends = np.arange(1.0, rounds + 1)
        logs = np.log(k * ends * (2.5 + 1.5 * np.log1p(ends)))
        worst = 0.0
        for s in range(rounds):
            regret = (sums[s + 1 :] - sums[s]).max(axis=1)
            worst = max(worst, float((regret / np.sqrt(3 * ends[: rounds - s] * logs[s:])).max()))
        found.append(worst)
    return Measured(
        tuple(found),
        3.42,
        f"{len(sequences)} sequences of {rounds:,} rounds, every interval",
        "3.42 is the price of keeping O(log t) starts; one for each round would make it 1",
    )


CLAIMS = (
    Claim(
        "adaptive-calibration",
        "Theorem 4.1",
        "A forecaster exists that is calibrated on every interval, for every binning, with rate "
        "O(√(log(k·m·L)/L) + √(log(T/δ)/L)).",
        "sup over intervals of CalErr / rate, with 1 for the constant",
        adaptive_calibration,
        correction="CalErr is divided by the number of rounds, not by t − s; the experts' regrets "
        "are of gains, and halved.",
    ),
    Claim(
        "adaptive-calibration-continuous",
        "Theorem 4.1",
        "With continuous bins the forecast is deterministic and ε is 0, at the same rate.",
        "sup over intervals of CalErr / rate, with 1 for the constant",
        continuous_binning,
    ),
    Claim(
        "two-actions",
        "Appendix D.2",
        "With two principal actions, two neighbours on a grid hold nature to the grid's step.",
        "nature's gain / step",
        two_actions,
        correction="The mixture is at a change of sign from + to −; where there is none the "
        "forecast is 0 or 1.",
    ),
    Claim(
        "sleeping-experts",
        "Corollary D.2",
        "AdaNormalHedge over starts has small regret on every interval.",
        "regret / √(3·L·ln(k·t·(5/2 + 3/2·ln(1+t))))",
        sleeping_experts,
    ),
)
