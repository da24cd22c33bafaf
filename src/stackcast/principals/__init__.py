"""Who commits: scripted baselines and exploiters, and the learners.

``names()`` lists the principals that a name can stand for and ``find(name)`` gives the class; other
distributions add their own by entry points in the group ``stackcast.principals``.
"""

from stackcast.principals.scripted import Fixed, PhaseSwitch, Replay
from stackcast.principals.version_space import LearnedCommitment, VersionSpace
from stackcast.protocol.registry import Registry

_registry = Registry(
    "stackcast.principals",
    {"Fixed": Fixed, "PhaseSwitch": PhaseSwitch, "Replay": Replay, "VersionSpace": VersionSpace},
)
find, names = _registry.find, _registry.names

__all__ = [
    "Fixed",
    "LearnedCommitment",
    "PhaseSwitch",
    "Replay",
    "VersionSpace",
    "find",
    "names",
]
