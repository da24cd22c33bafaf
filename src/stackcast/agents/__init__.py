"""Agents: informed, mean-based, adaptive, without swap regret, calibrated.

``names()`` lists them, and ``names("finite")``, ``names("security")`` and ``names("continuous")``
those that play games of a kind; ``find(name)`` gives the class and ``stackcast.protocol.build`` a
player. Other distributions add their own by entry points in the group ``stackcast.agents``.
"""

from stackcast.agents.calibrated import Calibrated, NonAdaptive, SleepingCalibrated
from stackcast.agents.continuous import ContinuousBestResponse, ContinuousCalibrated
from stackcast.agents.informed import BestResponse, QuantalResponse
from stackcast.agents.lazy import Lazy
from stackcast.agents.no_regret import AdaNormalHedge, BlumMansour, FollowTheLeader, Hedge
from stackcast.agents.policy import FromPolicy
from stackcast.protocol import Registry

#: The former name of an agent, and the new one of another.
AdaptiveHedge = AdaNormalHedge
LazyCalibrated = Lazy

_registry = Registry(
    "agent",
    [
        AdaNormalHedge,
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
    {"AdaptiveHedge": AdaNormalHedge, "LazyCalibrated": Lazy},
)
find, names, origin = _registry.find, _registry.names, _registry.origin

__all__ = [
    "AdaNormalHedge",
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
    "LazyCalibrated",
    "NonAdaptive",
    "QuantalResponse",
    "SleepingCalibrated",
    "find",
    "names",
    "origin",
]
