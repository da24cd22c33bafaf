"""The one-shot game with full information: V*, optimal and margin-robust commitments."""

from stackcast.solvers.concave import ContinuousSolution, maximise
from stackcast.solvers.details import best_nash, maximin, sensitivity
from stackcast.solvers.solution import Sensitivity, Solution
from stackcast.solvers.stackelberg import solve

__all__ = [
    "ContinuousSolution",
    "Sensitivity",
    "Solution",
    "best_nash",
    "maximin",
    "maximise",
    "sensitivity",
    "solve",
]
