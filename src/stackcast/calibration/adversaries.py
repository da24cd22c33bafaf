"""Hard sequences of outcomes, and adversaries that react to a forecaster.

A calibrated forecaster must stand all of them. The sequences are arrays of T outcomes (rows); the
adversaries see all that a forecaster may reveal before an outcome is chosen: its past, and the
distribution of its coming forecast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from stackcast._random import stream
from stackcast._validation import InputError, one_of, whole_number

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.calibration.forecaster import AdaptiveForecaster

Adversary = Literal["opposing", "largest error", "last window"]
ADVERSARIES: tuple[Adversary, ...] = get_args(Adversary)

#: How far back the adversary "last window" looks.
WINDOW = 100


def hard_sequences(actions: int, rounds: int, seed: int = 0) -> dict[str, FloatArray]:
    """Return sequences of outcomes on the simplex, by name.

    Pure outcomes drawn independently from one strategy; strategies that change every 50 and every
    500 rounds; a strategy that drifts from one vertex to the next; pure outcomes in a cycle.

    Examples
    --------
    >>> sequences = hard_sequences(3, 100)
    >>> sorted(sequences)
    ['cycle', 'drift', 'independent', 'switch every 50', 'switch every 500']
    >>> sequences["cycle"][:2]
    array([[1., 0., 0.],
           [0., 1., 0.]])
    """
    m, T = whole_number("actions", actions, at_least=2), whole_number("rounds", rounds, at_least=1)
    rng = stream(seed, "hard sequences", m, T)
    vertices = np.eye(m)
    result = {"independent": vertices[rng.choice(m, size=T, p=rng.dirichlet(np.ones(m)))]}
    for every in (50, 500):
        strategies = rng.dirichlet(np.full(m, 0.5), size=-(-T // every))
        result[f"switch every {every}"] = np.repeat(strategies, every, axis=0)[:T]
    phase = np.arange(T) * (3.0 * m / T)
    left, share = phase.astype(int) % m, phase % 1.0
    result["drift"] = (1 - share)[:, None] * vertices[left] + share[:, None] * vertices[
        (left + 1) % m
    ]
    result["cycle"] = vertices[np.arange(T) % m]
    return result


def play_adversary(
    forecaster: AdaptiveForecaster, adversary: Adversary, rounds: int
) -> tuple[FloatArray, FloatArray]:
    """Let an adversary choose the outcomes; return outcomes and forecasts as rows.

    ``"opposing"`` puts the outcome where the coming forecast's distribution has least mass;
    ``"largest error"`` feeds the bins and coordinates with the largest errors so far, and ``"last
    window"`` those of the last 100 rounds, as far as the coming forecast's distribution allows.
    """
    one_of("adversary", adversary, ADVERSARIES)
    binning, m = forecaster.binning, forecaster.space.dimension
    if forecaster.space.kind != "simplex":
        raise InputError("forecaster", "forecasts on the simplex", "another strategy space")
    outcomes, forecasts = np.empty((rounds, m)), np.empty((rounds, m))
    errors = np.zeros((rounds + 1, binning.bins, m))
    for t in range(rounds):
        support, shares = forecaster.forecast_distribution()
        if adversary == "opposing":
            action = int(np.argmin(shares @ support))
        else:
            since = 0 if adversary == "largest error" else max(0, t - WINDOW)
            recent = errors[t] - errors[since]
            action = _feeding(recent, support, shares, binning.weights(support))
        outcomes[t], forecasts[t] = np.eye(m)[action], forecaster.forecast()
        weights = binning.weights(forecasts[t : t + 1])[0]
        errors[t + 1] = errors[t] + weights[:, None] * (outcomes[t] - forecasts[t])
        forecaster.observe(outcomes[t])
    return outcomes, forecasts


def _feeding(
    error: FloatArray, support: FloatArray, shares: FloatArray, weights: FloatArray
) -> int:
    """Return the action that is expected to raise Σ error⁴, which the largest errors rule, most."""
    gaps = np.eye(support.shape[1])[:, None, :] - support  # action, forecast, coordinate
    raised = ((error[None, None] + gaps[:, :, None, :]) ** 4 - error**4).sum(axis=3)
    return int(np.argmax(np.einsum("afi,f,fi->a", raised, shares, weights)))
