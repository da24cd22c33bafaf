"""Calibrated Stackelberg games: commit, forecast, learn, certify.

Names are imported when they are first used, so that ``import stackcast`` and ``stackcast --help``
cost nothing that they do not need.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from stackcast import games, regions, solvers
    from stackcast._validation import InputError
    from stackcast.games import Constraint, FiniteGame, catalogue, load_game, save_game
    from stackcast.regions import BestResponseRegions
    from stackcast.solvers import Solution, solve

_HOMES = {
    "BestResponseRegions": "stackcast.regions",
    "Constraint": "stackcast.games",
    "FiniteGame": "stackcast.games",
    "catalogue": "stackcast.games",
    "load_game": "stackcast.games",
    "save_game": "stackcast.games",
    "InputError": "stackcast._validation",
    "Solution": "stackcast.solvers",
    "solve": "stackcast.solvers",
}
_ROOMS = ("games", "regions", "solvers")

__all__ = [
    "BestResponseRegions",
    "Constraint",
    "FiniteGame",
    "InputError",
    "Solution",
    "catalogue",
    "games",
    "load_game",
    "regions",
    "save_game",
    "solve",
    "solvers",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name in _ROOMS:
        value = importlib.import_module(f"stackcast.{name}")
    else:
        raise AttributeError(f"module 'stackcast' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
