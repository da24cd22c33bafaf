"""What is played: games and strategy spaces, their views, catalogue, generators and files."""

from stackcast.games import generators
from stackcast.games.assumption import AssumptionReport, check_assumption
from stackcast.games.base import Game
from stackcast.games.catalogue import (
    DEFAULT_GAME,
    catalogue,
    continuous_catalogue,
    continuous_entry,
)
from stackcast.games.continuous import Constants, ContinuousGame
from stackcast.games.continuous_sides import ContinuousAgentView, ContinuousPrincipalView
from stackcast.games.families import quadratic_game, strategic_classification, strategic_score
from stackcast.games.files import game_from_table, game_to_table, load_game, save_game
from stackcast.games.finite import FiniteGame
from stackcast.games.generators import GENERATORS, competing, uniform
from stackcast.games.labelled import LabelledData, credit_data, give_me_some_credit
from stackcast.games.security import SecurityGame
from stackcast.games.spaces import (
    Ball,
    Constraint,
    Domain,
    Polytope,
    StrategySpace,
    drawn_actions,
)
from stackcast.games.views import BEST_RESPONSE_TOLERANCE, AgentView, PrincipalView, TieRule

__all__ = [
    "BEST_RESPONSE_TOLERANCE",
    "DEFAULT_GAME",
    "GENERATORS",
    "AgentView",
    "AssumptionReport",
    "Ball",
    "Constants",
    "Constraint",
    "ContinuousAgentView",
    "ContinuousGame",
    "ContinuousPrincipalView",
    "Domain",
    "FiniteGame",
    "Game",
    "LabelledData",
    "Polytope",
    "PrincipalView",
    "SecurityGame",
    "StrategySpace",
    "TieRule",
    "catalogue",
    "check_assumption",
    "competing",
    "continuous_catalogue",
    "continuous_entry",
    "credit_data",
    "drawn_actions",
    "game_from_table",
    "game_to_table",
    "generators",
    "give_me_some_credit",
    "load_game",
    "quadratic_game",
    "save_game",
    "strategic_classification",
    "strategic_score",
    "uniform",
]
