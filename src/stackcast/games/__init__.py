"""Games and strategy spaces, their views, catalogue, generators and files."""

from stackcast.games import generators
from stackcast.games.catalogue import DEFAULT_GAME, continuous_entry, list_games
from stackcast.games.continuous import (
    AssumptionReport,
    Constants,
    ContinuousAgentView,
    ContinuousGame,
    ContinuousPrincipalView,
    check_assumption,
)
from stackcast.games.families import (
    LabelledData,
    credit_data,
    quadratic_game,
    strategic_classification,
    strategic_score,
)
from stackcast.games.files import AnyGame, game_from_table, game_to_table, load_game, save_game
from stackcast.games.game import (
    BEST_RESPONSE_TOLERANCE,
    AgentView,
    FiniteGame,
    Game,
    PrincipalView,
    TieRule,
)
from stackcast.games.generators import GENERATORS, SECURITY_GENERATORS, competing, uniform
from stackcast.games.half_known import HalfKnownGame, load_any, load_half_known
from stackcast.games.security import SecurityGame
from stackcast.games.spaces import (
    Ball,
    Constraint,
    Domain,
    Polytope,
    StrategySpace,
    drawn_actions,
)

#: The former name of :func:`list_games`.
catalogue = list_games

__all__ = [
    "BEST_RESPONSE_TOLERANCE",
    "DEFAULT_GAME",
    "GENERATORS",
    "SECURITY_GENERATORS",
    "AgentView",
    "AnyGame",
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
    "HalfKnownGame",
    "LabelledData",
    "Polytope",
    "PrincipalView",
    "SecurityGame",
    "StrategySpace",
    "TieRule",
    "catalogue",
    "check_assumption",
    "competing",
    "continuous_entry",
    "credit_data",
    "drawn_actions",
    "game_from_table",
    "game_to_table",
    "generators",
    "list_games",
    "load_any",
    "load_game",
    "load_half_known",
    "quadratic_game",
    "save_game",
    "strategic_classification",
    "strategic_score",
    "uniform",
]
