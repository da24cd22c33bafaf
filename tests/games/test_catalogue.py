"""The catalogue: every game tells its story, and has the value that it claims."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.optimize import linprog

import stackcast as sc
from stackcast.games import DEFAULT_GAME, Game, list_games, load_game

if TYPE_CHECKING:
    import numpy.typing as npt

NAMED_IN_THE_DESIGN = {
    "textbook-commitment": 2.5,
    "milking": 0.5,
    "separation": 0.5,
    "inspection": 0.825,
    "tax-audit": 8.3,
    "content-moderation": 7.5,
    "patrol": -1.0,
    "airport-checkpoints": -5 / 3,
    "fare-inspection": -61 / 17,
    "wildlife": -1.6,
    "entry-deterrence": 5.0,
    "matching-pennies": 0.0,
    "rock-paper-scissors": 0.0,
    "battle-of-the-sexes": 2.0,
    "chicken": 7.0,
    "product-choice": 2.5,
    "quantity-leadership": 21.0,
    "food-hygiene": 66 / 13,
}


def optimum_of_each_response(
    game: Game,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Solve one linear program an agent action: the best payoffs (−∞ if none), the strategies."""
    (m, k), space = game.shape, game.space
    principal, agent = game.principal_view, game.agent_view
    values, strategies = np.full(k, -np.inf), np.full((k, m), np.nan)
    for y in range(k):
        gains = (agent.payoffs - agent.payoffs[:, [y]]).T
        result = linprog(
            -principal.payoffs[:, y],
            A_ub=np.vstack([gains, space.inequality_rows]),
            b_ub=np.concatenate([agent.offsets[y] - agent.offsets, space.inequality_bounds]),
            A_eq=space.equality_rows,
            b_eq=space.equality_bounds,
        )
        if result.x is not None:
            values[y] = principal.payoffs[:, y] @ result.x + principal.offsets[y]
            strategies[y] = result.x
    return values, strategies


GAMES = [game for name in list_games() if isinstance(game := load_game(name), Game)]


@pytest.mark.parametrize("name", list_games())
def test_known_values(name: str) -> None:
    game = load_game(name)
    assert isinstance(game, Game)
    if game.known_value is not None:
        values, _ = optimum_of_each_response(game)
        assert values.max() == pytest.approx(game.known_value, abs=1e-9)
    assert game.known_value == pytest.approx(NAMED_IN_THE_DESIGN.get(name, game.known_value))


@pytest.mark.parametrize("name", list_games())
def test_every_game_says_what_it_is(name: str) -> None:
    game = load_game(name)
    assert isinstance(game, Game)
    assert game.name == name
    assert re.fullmatch("[a-z]+(-[a-z]+)*", name)
    assert 2 <= len(re.findall(r"[.!?](?= |$)", game.description)) <= 4
    assert game.source
    assert not set("\n\t") & set(game.description + game.source)
    assert not re.search("  ", game.description + game.source)
    names = set(game.principal_actions) | set(game.agent_actions)
    assert not any(re.fullmatch("(row|column|target) [0-9]+", action) for action in names)


def test_the_catalogue_has_what_was_promised() -> None:
    assert set(NAMED_IN_THE_DESIGN) <= set(list_games())
    assert list(list_games()) == sorted(set(list_games()))
    assert len(list_games()) >= 14
    assert any(game.constraints for game in GAMES)
    files = {entry.name for entry in resources.files("stackcast.games.catalogue").iterdir()}
    assert {f"{name}.toml" for name in list_games()} <= files


def test_the_documentation_lists_every_game() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "games.md").read_text(
        encoding="utf-8"
    )
    rows = re.findall(r"^\| `([a-z-]+)` \| (\d+)×(\d+) \|", page, re.MULTILINE)
    assert [(name, (int(m), int(k))) for name, m, k in rows] == [
        (game.name, game.shape) for game in GAMES
    ]


def test_the_separation_agent_answers_a_tie_with_d() -> None:
    game = load_game("separation")
    assert game.best_responses([0.5, 0.5]).all()
    assert game.agent_actions[int(game.respond([0.5, 0.5])[0])] == "d"
    assert game.agent_actions[int(game.respond([1, 0])[0])] == "c"


def test_the_budget_binds() -> None:
    game = load_game("food-hygiene")
    assert isinstance(game, sc.FiniteGame)
    free = sc.FiniteGame(game.principal_payoffs, game.agent_payoffs)
    assert optimum_of_each_response(free)[0].max() == pytest.approx(8.75)
    assert optimum_of_each_response(game)[0].max() < 5.1


def test_the_default_game_draws_well() -> None:
    game = load_game(DEFAULT_GAME)
    assert isinstance(game, sc.FiniteGame)
    m, k = game.shape
    assert m == 3
    assert k >= 3
    for payoffs in (game.principal_payoffs, game.agent_payoffs):
        assert payoffs.min() >= 0
        assert payoffs.max() <= 1
    # All points of a grid of the triangle: every region has a fifth of the area or more.
    n = 150
    grid = np.array([(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)]) / n
    shares = np.bincount(game.respond(grid), minlength=k) / len(grid)
    assert shares.min() > 0.2
    values, strategies = optimum_of_each_response(game)
    best = int(values.argmax())
    assert strategies[best].min() > 0.2  # far from every pure strategy
    assert game.best_responses(strategies[best], tolerance=1e-9).sum() >= 2
    pure = game.principal_payoffs[game.best_responses(np.eye(m))]
    assert values[best] > pure.max() + 0.4
    maximin = linprog(
        [0, 0, 0, -1],
        A_ub=np.column_stack([-game.principal_payoffs.T, np.ones(k)]),
        b_ub=np.zeros(k),
        A_eq=[[1, 1, 1, 0]],
        b_eq=[1],
        bounds=[(0, None)] * m + [(None, None)],
    )
    assert maximin.fun is not None
    assert values[best] > -maximin.fun + 0.4
    # A disc of radius 0.05 and more lies in the optimal region and in the triangle.
    gains = np.vstack([(game.agent_payoffs - game.agent_payoffs[:, [best]]).T, -np.eye(m)])
    lengths = np.linalg.norm(gains - gains.mean(axis=1, keepdims=True), axis=1)
    disc = linprog(
        [0, 0, 0, -1],
        A_ub=np.column_stack([gains, lengths]),
        b_ub=np.zeros(len(gains)),
        A_eq=[[1, 1, 1, 0]],
        b_eq=[1],
    )
    assert disc.fun is not None
    assert -disc.fun > 0.2
