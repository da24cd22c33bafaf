"""The one-shot game with full information: V*, optimal commitments, best-response regions."""

from stackcast.solvers._programs import Programs, best_commitment, facet_leads, unit_payoffs
from stackcast.solvers.concave import ContinuousSolution, maximise
from stackcast.solvers.ranges import RangeSolution, solve_ranges, worst_case
from stackcast.solvers.regions import BestResponseRegions, VolumeShares
from stackcast.solvers.solution import Sensitivity, Solution
from stackcast.solvers.stackelberg import best_nash, maximin, sensitivity, solve

__all__ = [
    "BestResponseRegions",
    "ContinuousSolution",
    "Programs",
    "RangeSolution",
    "Sensitivity",
    "Solution",
    "VolumeShares",
    "best_commitment",
    "best_nash",
    "facet_leads",
    "maximin",
    "maximise",
    "sensitivity",
    "solve",
    "solve_ranges",
    "unit_payoffs",
    "worst_case",
]
