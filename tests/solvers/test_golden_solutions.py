"""Solutions, margins and inscribed balls as they were: a net under every change of the solver.

``python tests/solvers/test_golden_solutions.py`` writes them anew. Responses, verdicts and methods
are equal; numbers agree to the rounding by which processors differ.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import stackcast as sc
from stackcast.games import GENERATORS, SECURITY_GENERATORS, Game, list_games

if TYPE_CHECKING:
    from collections.abc import Iterator

NET = Path(__file__).parent / "data" / "solutions.json"
SIZES = ((2, 2), (3, 3), (5, 4), (4, 12))


def games() -> Iterator[Game]:
    """Yield the catalogue, and games of every generator."""
    for name in list_games():
        game = sc.load_game(name)
        assert isinstance(game, Game)
        yield game
    for family, make in GENERATORS.items():
        for m, k in SIZES:
            if family == "one_resource_security":
                yield make(m, 0)
            elif family == "covariant":
                yield make(m, k, 0, -0.3)
            else:
                yield make(m, k, 0)
    yield SECURITY_GENERATORS["security"](8, 3, 0)
    yield SECURITY_GENERATORS["near_equal_security"](6, 0)


def solution(game: Game, margin: float) -> dict[str, Any]:
    try:
        found = sc.solve(game, margin=margin)
    except sc.InputError as error:
        return {"refused": str(error)}
    values = [found.value, found.margin, *found.strategy, found.gap, found.tolerance, found.bound]
    return {
        "response": int(found.response),
        "status": found.status,
        "method": found.method,
        "numbers": [float(value) for value in values],
    }


def measured(game: Game) -> dict[str, Any]:
    """Return what the net holds of a game."""
    regions = sc.BestResponseRegions(game)
    best = sc.solve(game).strategy
    balls = (regions.inscribed_ball(y) for y in range(min(5, game.shape[1])))
    return {
        "solutions": {str(margin): solution(game, margin) for margin in (0.0, 0.003, 0.02, 0.2)},
        "never_best": regions.never_best.tolist(),
        "margins": [regions.margin(best, y) for y in range(game.shape[1])],
        "radii": [None if ball is None else ball.radius for ball in balls],
        "shares": regions.volume_shares(200, seed=2).share.tolist(),
    }


def same(found: Any, kept: Any) -> bool:
    """Tell whether two trees agree, numbers to their rounding."""
    if isinstance(kept, dict):
        return found.keys() == kept.keys() and all(same(found[key], kept[key]) for key in kept)
    if isinstance(kept, list):
        return len(found) == len(kept) and all(map(same, found, kept))
    if isinstance(kept, float):
        return bool(np.isclose(found, kept, rtol=1e-11, atol=1e-12))
    return bool(found == kept)


@pytest.mark.parametrize("game", list(games()), ids=lambda game: game.name)
def test_solutions_are_what_they_were(game: Game) -> None:
    kept = json.loads(NET.read_text(encoding="utf-8"))[game.name]
    found = json.loads(json.dumps(measured(game)))
    for part in kept:
        assert same(found[part], kept[part]), part


if __name__ == "__main__":
    NET.write_text(json.dumps({game.name: measured(game) for game in games()}) + "\n")
