"""The finite games of the principals' benchmarks, and what a principal earned in a play."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast.games.generators import competing, uniform
from stackcast.protocol import play
from stackcast.solvers import solve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stackcast._validation import FloatArray
    from stackcast.games import FiniteGame

FAMILIES = {"uniform": uniform, "competing": competing}
#: Below this a game's optimum is next to no region, and nobody can be held to its value.
REGULAR = 0.02


def regular_games(family: str, size: int, count: int) -> Iterator[tuple[int, FiniteGame, float]]:
    """Yield seed, game and V* of the first games with η ≥ 0.02."""
    seed = found = 0
    while found < count:
        game = FAMILIES[family](size, size, seed)
        solution = solve(game, details=True)
        if solution.regularity >= REGULAR:
            found += 1
            yield seed, game, solution.value
        seed += 1


def utility_by_round(t: Any, game: FiniteGame) -> FloatArray:
    """Return what the principal earned in every round."""
    earned, start = np.empty(len(t.responses)), 0
    for block in t.blocks:
        part = slice(start, start + block.rounds)
        earned[part] = game.principal_utilities(block.strategy)[t.responses[part]]
        start += block.rounds
    return earned


def average_utility(principal: Any, agent: Any, game: FiniteGame, rounds: int) -> float:
    """Return what the principal earned in a round, exploration included."""
    t = play(principal, agent, rounds, game, forecasts=False)
    return float(utility_by_round(t, game).mean())
