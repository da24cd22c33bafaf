"""Games and answers that nobody here wrote: Gambit's files, OpenSpiel's solver and tests, SciPy.

Gambit's games come with pygambit (``pip install 'stackcast[gambit]'``, GPL: not copied here). More
of them are checked where ``GAMBIT_GAMES`` names a folder of ``.nfg`` files, such as a checkout of
Gambit. OpenSpiel's solver needs cvxpy.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import stackcast as sc
from stackcast import interop


def scipys_value(leader: Any, follower: Any) -> float:
    """Return the optimum to commit to, by one program for each of the follower's actions."""
    m, k = leader.shape
    best = -np.inf
    for y in range(k):
        rows = (follower - follower[:, [y]]).T
        found = linprog(
            -leader[:, y], A_ub=rows, b_ub=np.zeros(k), A_eq=np.ones((1, m)), b_eq=[1.0]
        )
        if found.status == 0:
            best = max(best, -float(found.fun or 0.0))
    return float(best)


def openspiels_value(game: sc.FiniteGame, leader: int) -> float:
    """Return the same by OpenSpiel; its conic solver stops at about five digits."""
    pytest.importorskip("cvxpy")
    from open_spiel.python.algorithms.stackelberg_lp import solve_stackelberg

    theirs = interop.to_openspiel(game)
    return float(solve_stackelberg(theirs, is_first_leader=leader == 0)[2 + leader])


def gambits_files() -> list[Path]:
    pygambit = pytest.importorskip("pygambit")
    shipped = Path(pygambit.__file__).parent / "catalog_data"
    folders = [shipped, *map(Path, filter(None, [os.environ.get("GAMBIT_GAMES")]))]
    return [f for d in folders for kind in ("nfg", "efg") for f in sorted(d.rglob(f"*.{kind}"))]


def gambits_games() -> list[tuple[Path, Any]]:
    import pygambit

    read = {".nfg": pygambit.read_nfg, ".efg": pygambit.read_efg}
    games = [(file, read[file.suffix](file)) for file in gambits_files()]
    return [
        (file, game)
        for file, game in games
        if len(game.players) == 2 and np.prod([len(p.strategies) for p in game.players]) <= 10_000
    ]


@pytest.mark.slow
def test_gambits_games_are_read_as_gambit_reads_them() -> None:
    strategic = 0
    games = gambits_games()
    assert len(games) >= 25
    for file, theirs in games:
        game = interop.from_pygambit(theirs)
        back = interop.from_pygambit(interop.to_pygambit(game))
        assert back.fingerprint == game.fingerprint, file
        if file.suffix == ".nfg":
            strategic += 1
            ours = sc.load_game(str(file))
            assert isinstance(ours, sc.FiniteGame)
            assert np.array_equal(ours.principal_payoffs, game.principal_payoffs), file
            assert np.array_equal(ours.agent_payoffs, game.agent_payoffs), file
    assert strategic >= 3


@pytest.mark.slow
@pytest.mark.parametrize("leader", [0, 1])
def test_commitment_in_gambits_games_is_worth_what_scipy_says_and_no_equilibrium_is_worth_more(
    leader: int,
) -> None:
    import pygambit

    for file, theirs in gambits_games():
        game = interop.from_pygambit(theirs, leader=leader)
        scale = max(1.0, float(np.ptp(game.principal_payoffs)))
        value = sc.solve(game).value
        expected = scipys_value(game.principal_payoffs, game.agent_payoffs)
        assert value == pytest.approx(expected, abs=1e-7 * scale), file
        if max(game.shape) <= 8:
            matrix = interop.to_pygambit(game)  # Gambit refuses some trees, no matrix
            player = next(iter(matrix.players))
            for profile in pygambit.nash.enummixed_solve(matrix, rational=False).equilibria:
                assert float(profile.payoff(player)) <= value + 1e-6 * scale, file


@pytest.mark.slow
@pytest.mark.parametrize("leader", [0, 1])
def test_openspiels_solver_agrees_for_both_leaders(leader: int) -> None:
    games = [interop.from_pygambit(theirs) for _, theirs in gambits_games()]
    games += [g for g in map(sc.load_game, sc.list_games()) if isinstance(g, sc.FiniteGame)]
    for game in games:
        if game.constraints:
            continue
        turned = interop.from_openspiel(interop.to_openspiel(game), leader=leader)
        scale = max(1.0, float(np.ptp(turned.principal_payoffs)))
        value = openspiels_value(game, leader)
        assert sc.solve(turned).value == pytest.approx(value, abs=1e-4 * scale), game.name


@pytest.mark.parametrize(
    ("leader", "follower", "strategy", "value"),
    [
        ([[2, 4], [1, 3]], [[1, 0], [0, 1]], [1 / 2, 1 / 2], 3.5),
        ([[2, 0, 0], [1, 0, 0]], [[0, 2, 5], [0, -1, -4]], [1 / 3, 2 / 3], 4 / 3),
        ([[3, 9], [9, 1]], [[0, 0], [1, 8]], [1.0, 0.0], 9.0),
    ],
)
def test_openspiels_own_tests_of_its_solver(
    leader: Any, follower: Any, strategy: Any, value: float
) -> None:
    solution = sc.solve(sc.FiniteGame(leader, follower))
    assert solution.value == pytest.approx(value, abs=1e-9)
    assert solution.strategy == pytest.approx(strategy, abs=1e-9)


def test_kuhn_poker_as_a_matrix_is_worth_minus_an_eighteenth() -> None:
    pyspiel = pytest.importorskip("pyspiel")
    kuhn = pyspiel.extensive_to_matrix_game(pyspiel.load_game("kuhn_poker"))
    assert sc.solve(interop.from_openspiel(kuhn)).value == pytest.approx(-1 / 18, abs=1e-9)
    second = interop.from_openspiel(kuhn, leader=1)
    assert sc.solve(second).value == pytest.approx(1 / 18, abs=1e-9)


def test_every_matrix_game_of_openspiel_is_worth_what_scipy_says() -> None:
    pyspiel = pytest.importorskip("pyspiel")
    names = [name for name in pyspiel.registered_names() if name.startswith("matrix_")]
    assert len(names) >= 8
    for name in names:
        for leader in (0, 1):
            game = interop.from_openspiel(pyspiel.load_matrix_game(name), leader=leader)
            expected = scipys_value(game.principal_payoffs, game.agent_payoffs)
            assert sc.solve(game).value == pytest.approx(expected, abs=1e-9), name


def test_a_duopoly_on_a_grid_is_worth_more_with_ties_for_the_leader() -> None:
    quantities = np.arange(0, 8.25, 0.25)
    price = 8 - quantities[:, None] - quantities[None, :]
    game = sc.FiniteGame(quantities[:, None] * price, quantities[None, :] * price)
    assert sc.solve(game).value == pytest.approx(8.5)
    best = [game.best_responses(h) for h in np.eye(33)]
    against = [game.principal_payoffs[x, best[x]].min() for x in range(33)]
    assert max(against) == pytest.approx(8.0)
    assert sc.solve(game, margin=0.01).value < 8.2
