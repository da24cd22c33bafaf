"""What is played: strategy spaces, finite games, their views, catalogue, generators and files."""

from stackcast.games.finite import FiniteGame
from stackcast.games.spaces import Constraint, StrategySpace
from stackcast.games.views import BEST_RESPONSE_TOLERANCE, AgentView, PrincipalView, TieRule

__all__ = [
    "BEST_RESPONSE_TOLERANCE",
    "AgentView",
    "Constraint",
    "FiniteGame",
    "PrincipalView",
    "StrategySpace",
    "TieRule",
]
