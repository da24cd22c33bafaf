"""Conversions to and from the games, learners and environments of other libraries.

Each library is imported where it is used, and only then. The extras ``games``, ``rl`` and ``ml``
install them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stackcast.interop.environments import ParallelEnv, PrincipalEnv
    from stackcast.interop.games import (
        from_csv,
        from_nashpy,
        from_openspiel,
        from_pandas,
        from_pygambit,
        from_quantecon,
        to_nashpy,
        to_openspiel,
        to_pandas,
        to_pygambit,
        to_quantecon,
    )
    from stackcast.interop.river import OnlineCalibrator
    from stackcast.interop.scikit_learn import OnlineCalibratedClassifier

_HOMES = {
    "OnlineCalibratedClassifier": "scikit_learn",
    "OnlineCalibrator": "river",
    "ParallelEnv": "environments",
    "PrincipalEnv": "environments",
    "from_csv": "games",
    "from_nashpy": "games",
    "from_openspiel": "games",
    "from_pandas": "games",
    "from_pygambit": "games",
    "from_quantecon": "games",
    "to_nashpy": "games",
    "to_openspiel": "games",
    "to_pandas": "games",
    "to_pygambit": "games",
    "to_quantecon": "games",
}

__all__ = [
    "OnlineCalibratedClassifier",
    "OnlineCalibrator",
    "ParallelEnv",
    "PrincipalEnv",
    "from_csv",
    "from_nashpy",
    "from_openspiel",
    "from_pandas",
    "from_pygambit",
    "from_quantecon",
    "to_nashpy",
    "to_openspiel",
    "to_pandas",
    "to_pygambit",
    "to_quantecon",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'stackcast.interop' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"stackcast.interop.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
