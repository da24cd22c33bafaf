"""The geometry of best responses: polytopes, margins, inscribed balls, sampling."""

from stackcast.regions.best_response import BestResponseRegions, VolumeShares, sample_space
from stackcast.regions.polytope import Ball, Polytope

__all__ = ["Ball", "BestResponseRegions", "Polytope", "VolumeShares", "sample_space"]
