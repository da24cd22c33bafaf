"""Learning to commit."""

from __future__ import annotations

from dataclasses import replace

from stackcast.calibration import AdaptiveRate
from stackcast.principals import Precision, TheoryParameters


def hand_set(actions: int, responses: int, horizon: int) -> TheoryParameters:
    """Return parameters under which Algorithm 3 ends within a horizon that can be played."""
    rate = AdaptiveRate(responses, actions, constant=0.01)
    theory = TheoryParameters.compute(actions, responses, 0.1, horizon, rate)
    return replace(
        theory,
        tolerance=0.02,
        robustness=0.01,
        samples=3 * responses,
        epochs=4,
        initial=Precision(0.03, 0.02),
        optimising=Precision(0.02, 0.01),
        checking=Precision(0.015, 0.01),
    )
