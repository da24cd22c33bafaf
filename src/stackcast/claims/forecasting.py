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
    TwoActionForecaster,
    calibration_profile,
    hard_sequences,
    play_adversary,
)
from stackcast.claims.claim import Curve, Measured, claim
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


@claim(
    "Theorem 4.1",
    "sup over intervals of CalErr / rate, with 1 for the constant",
    correction="CalErr is divided by the number of rounds, not by t − s; the experts' regrets "
    "are of gains, and halved.",
)
def adaptive_calibration(full: bool) -> Measured:
    """A forecaster exists that is calibrated on every interval, for every binning, with rate
    O(√(log(k·m·L)/L) + √(log(T/δ)/L)).
    """
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


@claim("Theorem 4.1", "sup over intervals of CalErr / rate, with 1 for the constant")
def adaptive_calibration_continuous(full: bool) -> Measured:
    """With continuous bins the forecast is deterministic and ε is 0, at the same rate."""
    rounds = 20_000 if full else 3000
    thirds = np.linspace(0, 1, 4)
    binnings = (
        TentBinning(np.linspace(0, 1, 4), dimension=2),
        TentBinning(np.linspace(0, 1, 7), dimension=2),
        TentBinning(thirds, thirds, dimension=3),
        TentBinning(thirds, thirds, dimension=4),
    )
    found, gain = [], 0.0
    for binning in binnings:
        m = binning.dimension
        for outcomes in hard_sequences(m, rounds if m < 4 else rounds // 4).values():
            forecasts = AdaptiveForecaster(binning).run(outcomes).forecasts
            found.append(_profile(binning, outcomes, forecasts).upper)
        gain = max(gain, _largest_gain(binning))
    return Measured(
        tuple(found),
        1.0,
        f"tent bins, m = 2, 3, 4, up to {rounds:,} rounds of hard sequences, every interval",
        f"deterministic forecasts; nature's gain in a round is at most {gain:.2g} (ε = 0)",
    )


def _largest_gain(binning: TentBinning) -> float:
    """Return the most that nature could gain in a round against the outgoing fixed point."""
    forecaster, gain = AdaptiveForecaster(binning), 0.0
    for outcome in hard_sequences(binning.dimension, 200)["switch every 50"]:
        support, shares = forecaster.forecast_distribution()
        assert shares.tolist() == [1.0]
        z = forecaster._imbalance.reshape(binning.bins, -1)
        pull = binning.weights(support)[0] @ z
        gain = max(gain, float(pull.max() - pull @ support[0]))
        forecaster.observe(outcome)
    return gain


#: The step of the grid of forecasts.
_STEP = 1 / 400


@claim(
    "Appendix D.2",
    "nature's gain / (the step · the largest pull)",
    correction="The mixture is at a change of sign from + to −; where there is none the forecast "
    "is 0 or 1.",
)
def two_actions(full: bool) -> Measured:
    """With two principal actions, two neighbours on a grid hold nature to the grid's step."""
    points = np.array([[0.1, 0.9], [0.4, 0.6], [0.6, 0.4], [0.95, 0.05]])
    nearest = points.T - (points**2).sum(axis=1) / 2
    binning = BestResponseBinning(FiniteGame(np.zeros((2, 4)), nearest).agent_view)
    forecaster, found, mixed = TwoActionForecaster(binning, accuracy=_STEP), [], 0
    rounds = 2000 if full else 300
    for outcome in hard_sequences(2, rounds)["switch every 50"]:
        forecasts, shares = forecaster.forecast_distribution()
        z = forecaster._imbalance.reshape(binning.bins, 2)
        pull = binning.weights(forecasts) @ (z[:, 0] - z[:, 1])
        mixed += len(shares) == 2
        gain = max(float(shares @ ((h - forecasts[:, 0]) * pull)) for h in (0.0, 1.0))
        allowed = _STEP * float(np.abs(pull).max())
        found.append(gain / allowed if allowed > 0 else 0.0)
        forecaster.observe(outcome)
    return Measured(
        tuple(found),
        1.0,
        f"{rounds} rounds of TwoActionForecaster on a grid of {round(1 / _STEP) + 1} forecasts",
        f"two forecasts were mixed in {mixed} rounds",
    )


@claim("Corollary D.2", "regret / √(3·L·ln(k·t·(5/2 + 3/2·ln(1+t))))")
def sleeping_experts(full: bool) -> Measured:
    """AdaNormalHedge over starts has small regret on every interval."""
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
