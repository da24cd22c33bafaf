"""Who responds: informed, mean-based, adaptive, without swap regret, calibrated.

``names()`` lists the agents that a name can stand for and ``find(name)`` gives the class; other
distributions add their own by entry points in the group ``stackcast.agents``.
"""

from stackcast.agents.adaptive_hedge import AdaptiveHedge
from stackcast.agents.blum_mansour import BlumMansour
from stackcast.agents.calibrated import Calibrated, NonAdaptive
from stackcast.agents.continuous import ContinuousBestResponse, ContinuousCalibrated
from stackcast.agents.follow_the_leader import FollowTheLeader
from stackcast.agents.hedge import Hedge
from stackcast.agents.informed import BestResponse, QuantalResponse
from stackcast.agents.lazy import Lazy
from stackcast.protocol.registry import Registry

_registry = Registry(
    "stackcast.agents",
    {
        "AdaptiveHedge": AdaptiveHedge,
        "BestResponse": BestResponse,
        "BlumMansour": BlumMansour,
        "Calibrated": Calibrated,
        "ContinuousBestResponse": ContinuousBestResponse,
        "ContinuousCalibrated": ContinuousCalibrated,
        "FollowTheLeader": FollowTheLeader,
        "Hedge": Hedge,
        "Lazy": Lazy,
        "NonAdaptive": NonAdaptive,
        "QuantalResponse": QuantalResponse,
    },
)
find, names = _registry.find, _registry.names

__all__ = [
    "AdaptiveHedge",
    "BestResponse",
    "BlumMansour",
    "Calibrated",
    "ContinuousBestResponse",
    "ContinuousCalibrated",
    "FollowTheLeader",
    "Hedge",
    "Lazy",
    "NonAdaptive",
    "QuantalResponse",
    "find",
    "names",
]
