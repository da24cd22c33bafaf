"""Who responds: informed, mean-based, adaptive, without swap regret, calibrated.

``names()`` lists them, and ``names("finite")``, ``names("security")`` and ``names("continuous")``
those that play games of a kind; ``find(name)`` gives the class and ``stackcast.protocol.build`` a
player. Other distributions add their own by entry points in the group ``stackcast.agents``.
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
    "agent",
    [
        AdaptiveHedge,
        BestResponse,
        BlumMansour,
        Calibrated,
        ContinuousBestResponse,
        ContinuousCalibrated,
        FollowTheLeader,
        Hedge,
        Lazy,
        NonAdaptive,
        QuantalResponse,
        SleepingCalibrated,
    ],
)
find, names, origin = _registry.find, _registry.names, _registry.origin

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
    "find",
    "names",
    "origin",
]
