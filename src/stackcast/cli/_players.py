"""Players from their names and the options of a verb."""

from __future__ import annotations

import inspect
from typing import Any

#: The rounds of an epoch in a continuous game, and the least number of epochs.
_EPOCH_ROUNDS, _EPOCHS = 200, 50
#: In more dimensions no agent can forecast on a grid.
_GRID_DIMENSIONS = 2
#: What only one kind of game has principals for.
_KINDS = {
    "VersionSpace": "games of mixed strategies",
    "ExploreThenCommit": "games of mixed strategies",
    "CoverageLearner": "security games",
}


def default_players(game: Any) -> tuple[str, str]:
    """Return the names of the principal and the agent that play a game where none is named."""
    kind = _kind(game)
    if kind == "continuous games":
        forecasts = game.space.dimension <= _GRID_DIMENSIONS
        agent = "ContinuousCalibrated" if forecasts else "ContinuousBestResponse"
        return "ResponseGradient", agent
    if kind == "security games":
        # The search for coverage knows plain resources only.
        plain = game.space.kind == "coverage"
        return ("CoverageLearner" if plain else "UniformExplore"), "Calibrated"
    return "VersionSpace", "Calibrated"


def build_principal(name: str, game: Any, rounds: int, seed: int, margin: float | None) -> Any:
    """Return the principal of that name for a game and so many rounds."""
    from stackcast import principals

    takes = inspect.signature(principals.find(name)).parameters
    _require_fit("--principal", principals, name, game)
    epoch = max(1, min(_EPOCH_ROUNDS, rounds // _EPOCHS))
    offered = {
        "view": game.principal_view,
        "game": game,
        "horizon": rounds,
        "seed": seed,
        "epoch_rounds": epoch,
        "epochs": max(1, rounds // epoch),
    }
    if "theory" in takes:
        from stackcast.claims import hand_set

        # The theorem's own parameters ask for more rounds than there are atoms.
        m, k = game.shape
        offered["theory"] = hand_set(m, k, rounds)
    return principals.make(name, {} if margin is None else {"margin": margin}, offered)


def build_agent(name: str, game: Any, seed: int, feedback: str | None) -> Any:
    """Return the agent of that name."""
    from stackcast import agents

    agents.find(name)
    _require_fit("--agent", agents, name, game)
    offered = {"view": game.agent_view, "seed": seed}
    return agents.make(name, {} if feedback is None else {"feedback": feedback}, offered)


def _kind(game: Any) -> str:
    from stackcast.games import ContinuousGame, SecurityGame

    if isinstance(game, ContinuousGame):
        return "continuous games"
    return "security games" if isinstance(game, SecurityGame) else "games of mixed strategies"


def _require_fit(option: str, room: Any, name: str, game: Any) -> None:
    """Refuse a player of another kind of game; players of other distributions know best."""
    from stackcast._validation import InputError

    kind = _kind(game)
    known = room.continuous_names() if kind == "continuous games" else room.names()
    fitting = [other for other in known if _KINDS.get(other, kind) == kind]
    if name not in fitting and not room.origin(name):
        raise InputError(option, f"one of {', '.join(fitting)} for {kind}", name)
