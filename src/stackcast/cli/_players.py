"""Players from their names and the options of a verb."""

from __future__ import annotations

import inspect
from typing import Any


def build_principal(name: str, game: Any, rounds: int, seed: int, margin: float | None) -> Any:
    """Return the principal of that name for a game and so many rounds."""
    from stackcast import principals

    offered = {"view": game.principal_view, "game": game, "horizon": rounds, "seed": seed}
    if "theory" in inspect.signature(principals.find(name)).parameters:
        from stackcast.claims.learning import hand_set

        # The theorem's own parameters ask for more rounds than there are atoms.
        m, k = game.shape
        offered["theory"] = hand_set(m, k, rounds)
    return principals.make(name, {} if margin is None else {"margin": margin}, offered)


def build_agent(name: str, game: Any, seed: int, feedback: str | None) -> Any:
    """Return the agent of that name."""
    from stackcast import agents

    offered = {"view": game.agent_view, "seed": seed}
    return agents.make(name, {} if feedback is None else {"feedback": feedback}, offered)
