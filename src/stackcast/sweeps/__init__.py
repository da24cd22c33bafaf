"""Many plays: a specification, runners on one machine or on a cluster, a store of results.

The same specification gives the same rows, bit for bit, whether the plays run one after the other,
in processes or on a cluster: a play depends only on its specification and seed.
"""

from stackcast.sweeps.running import Standing, estimate, sweep
from stackcast.sweeps.specification import Specification, read_specification
from stackcast.sweeps.store import (
    Store,
    failures,
    growth,
    load,
    ranking,
    scaled,
    summary,
    tournament_specification,
)

__all__ = [
    "Specification",
    "Standing",
    "Store",
    "estimate",
    "failures",
    "growth",
    "load",
    "ranking",
    "read_specification",
    "scaled",
    "summary",
    "sweep",
    "tournament_specification",
]
