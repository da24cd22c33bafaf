"""What is played: strategy spaces, games, their views, catalogue, generators and files."""

from stackcast.games import generators
from stackcast.games.base import Game
from stackcast.games.catalogue import DEFAULT_GAME, catalogue
from stackcast.games.files import load_game, save_game
from stackcast.games.finite import FiniteGame
from stackcast.games.security import SecurityGame
from stackcast.games.spaces import Constraint, StrategySpace
from stackcast.games.views import BEST_RESPONSE_TOLERANCE, AgentView, PrincipalView, TieRule

__all__ = [
    "BEST_RESPONSE_TOLERANCE",
    "DEFAULT_GAME",
    "AgentView",
    "Constraint",
    "FiniteGame",
    "Game",
    "PrincipalView",
    "SecurityGame",
    "StrategySpace",
    "TieRule",
    "catalogue",
    "generators",
    "load_game",
    "save_game",
]
