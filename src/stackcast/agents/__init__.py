"""Who responds: informed, mean-based, adaptive, without swap regret, calibrated.

``names()`` lists the agents of games with lists of actions, ``continuous_names()`` those of
continuous games, and ``find(name)`` gives the class; other distributions add their own by entry
points in the group ``stackcast.agents``.
"""

from stackcast.agents.adaptive_hedge import AdaptiveHedge
from stackcast.agents.blum_mansour import BlumMansour
from stackcast.agents.calibrated import Calibrated, NonAdaptive, SleepingCalibrated
from stackcast.agents.continuous import ContinuousBestResponse, ContinuousCalibrated
from stackcast.agents.follow_the_leader import FollowTheLeader
from stackcast.agents.hedge import Hedge
from stackcast.agents.informed import BestResponse, QuantalResponse
from stackcast.agents.lazy import Lazy
from stackcast.agents.policy import FromPolicy
from stackcast.protocol import Registry

_registry = Registry(
    "stackcast.agents",
    {
        "AdaptiveHedge": AdaptiveHedge,
        "BestResponse": BestResponse,
        "BlumMansour": BlumMansour,
        "Calibrated": Calibrated,
        "FollowTheLeader": FollowTheLeader,
        "Hedge": Hedge,
        "Lazy": Lazy,
        "NonAdaptive": NonAdaptive,
        "QuantalResponse": QuantalResponse,
        "SleepingCalibrated": SleepingCalibrated,
    },
    {
        "ContinuousBestResponse": ContinuousBestResponse,
        "ContinuousCalibrated": ContinuousCalibrated,
    },
)
find, make, names, origin = _registry.find, _registry.make, _registry.names, _registry.origin
continuous_names = _registry.continuous_names

__all__ = [
    "AdaptiveHedge",
    "BestResponse",
    "BlumMansour",
    "Calibrated",
    "ContinuousBestResponse",
    "ContinuousCalibrated",
    "FollowTheLeader",
    "FromPolicy",
    "Hedge",
    "Lazy",
    "NonAdaptive",
    "QuantalResponse",
    "SleepingCalibrated",
    "continuous_names",
    "find",
    "make",
    "names",
    "origin",
]
