"""Players from their names and the options of a verb."""

from __future__ import annotations

from typing import Any

#: In more dimensions no agent can forecast on a grid.
_GRID_DIMENSIONS = 2


def default_players(game: Any) -> tuple[str, str]:
    """Return the names of the principal and the agent that play a game where none is named."""
    from stackcast.protocol import kind_of

    kind = kind_of(game)
    if kind == "continuous":
        forecasts = game.space.dimension <= _GRID_DIMENSIONS
        agent = "ContinuousCalibrated" if forecasts else "ContinuousBestResponse"
        return "ResponseGradient", agent
    return "CommitmentLearner", "Calibrated"


def build_principal(name: str, game: Any, rounds: int, seed: int, margin: float | None) -> Any:
    """Return the principal of that name for a game and so many rounds."""
    from stackcast.protocol import build

    settings = {} if margin is None else {"margin": margin}
    return build("principal", name, game, horizon=rounds, seed=seed, settings=settings)


def build_agent(name: str, game: Any, seed: int, feedback: str | None) -> Any:
    """Return the agent of that name for a game."""
    from stackcast.protocol import build

    settings = {} if feedback is None else {"feedback": feedback}
    return build("agent", name, game, seed=seed, settings=settings)
