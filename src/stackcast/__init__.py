"""Calibrated Stackelberg games: commit, forecast, learn, certify.

Names are imported when they are first used, so that ``import stackcast`` and ``stackcast --help``
cost nothing that they do not need.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from stackcast import (
        agents,
        auditing,
        calibration,
        campaigns,
        checks,
        claims,
        games,
        interop,
        principals,
        protocol,
        report,
        solvers,
        sweeps,
        theory,
    )
    from stackcast._validation import InputError
    from stackcast.auditing import Audit, audit
    from stackcast.calibration import calibration_profile
    from stackcast.games import (
        Constraint,
        ContinuousGame,
        FiniteGame,
        SecurityGame,
        list_games,
        load_game,
        save_game,
    )
    from stackcast.games import list_games as catalogue
    from stackcast.protocol import Block, Transcript, play
    from stackcast.solvers import BestResponseRegions, Solution, solve

#: The names that are offered here, by the room that they come from; the others are rooms.
_OFFERED = {
    "_validation": "InputError",
    "auditing": "Audit audit",
    "calibration": "calibration_profile",
    "games": "Constraint ContinuousGame FiniteGame SecurityGame catalogue list_games load_game "
    "save_game",
    "protocol": "Block Transcript play",
    "solvers": "BestResponseRegions Solution solve",
}
_HOMES = {name: room for room, names in _OFFERED.items() for name in names.split()}

__all__ = [
    "Audit",
    "BestResponseRegions",
    "Block",
    "Constraint",
    "ContinuousGame",
    "FiniteGame",
    "InputError",
    "SecurityGame",
    "Solution",
    "Transcript",
    "agents",
    "audit",
    "auditing",
    "calibration",
    "calibration_profile",
    "campaigns",
    "catalogue",
    "checks",
    "claims",
    "games",
    "interop",
    "list_games",
    "load_game",
    "play",
    "principals",
    "protocol",
    "report",
    "save_game",
    "solve",
    "solvers",
    "sweeps",
    "theory",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(f"stackcast.{_HOMES[name]}"), name)
    elif name in __all__:
        value = importlib.import_module(f"stackcast.{name}")
    else:
        raise AttributeError(f"module 'stackcast' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
