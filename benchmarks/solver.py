"""The one-shot solver against OpenSpiel's ``stackelberg_lp`` and one SciPy program per action."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linprog

import stackcast as sc
from stackcast.games import generators

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (3, 10, 50, 100, 200)


def near_zero_sum(m: int, k: int, seed: int) -> sc.FiniteGame:
    """Nearly opposed interests: no action can be ruled out early."""
    rng = np.random.default_rng(seed)
    agent = rng.random((m, k))
    return sc.FiniteGame(1 - agent + 0.01 * rng.random((m, k)), agent)


FAMILIES: dict[str, Callable[[int, int, int], sc.FiniteGame]] = {
    "uniform": generators.uniform,
    "competing": generators.competing,
    "near zero-sum": near_zero_sum,
    "degenerate": generators.degenerate,
}


def scipy_value(game: sc.FiniteGame) -> float:
    """V* by one program per action, as a careful user of SciPy would write it."""
    m, k = game.shape
    best = -np.inf
    for y in range(k):
        rows = (game.agent_payoffs - game.agent_payoffs[:, [y]]).T
        result = linprog(
            -game.principal_payoffs[:, y],
            A_ub=rows,
            b_ub=np.zeros(k),
            A_eq=np.ones((1, m)),
            b_eq=[1.0],
            method="highs",
        )
        if result.fun is not None:
            best = max(best, -result.fun)
    return best


def openspiel_value(game: sc.FiniteGame) -> float:
    """V* by OpenSpiel; raises ImportError where it is not installed."""
    import pyspiel
    from open_spiel.python.algorithms.stackelberg_lp import solve_stackelberg

    tensor = pyspiel.create_matrix_game(game.principal_payoffs, game.agent_payoffs)
    return float(solve_stackelberg(tensor)[2])


def seconds(solver: Callable[[sc.FiniteGame], Any], games: list[sc.FiniteGame]) -> list[float]:
    """Return the time of each game."""
    times = []
    for game in games:
        start = time.perf_counter()
        solver(game)
        times.append(time.perf_counter() - start)
    return times


def main() -> dict[str, Any]:
    """Print and return milliseconds, ratios and the largest difference of the values."""
    warm = generators.uniform(3, 3, 0)
    sc.solve(warm)
    scipy_value(warm)
    rows = []
    try:
        openspiel_value(warm)
        have_openspiel = True
    except ImportError:
        have_openspiel = False
        print("OpenSpiel is not installed: its column stays empty.")
    print(f"{'family':14}{'size':>8}{'ours ms':>10}{'SciPy ×':>10}{'OpenSpiel ×':>13}{'|ΔV|':>10}")
    for family, make in FAMILIES.items():
        for size in SIZES:
            ours_games = [make(size, size, seed) for seed in range(30 if size <= 50 else 5)]
            peer_games = ours_games[: 7 if size <= 10 else 3 if size <= 50 else 1]
            ours = statistics.median(seconds(sc.solve, ours_games))
            same = statistics.median(seconds(sc.solve, peer_games * 5))
            plain = statistics.median(seconds(scipy_value, peer_games))
            difference = max(abs(sc.solve(g).value - scipy_value(g)) for g in peer_games[:3])
            spiel = None
            if have_openspiel and family == "uniform":
                spiel = statistics.median(seconds(openspiel_value, peer_games[:2]))
            row = {
                "family": family,
                "size": size,
                "milliseconds": 1e3 * ours,
                "scipy_ratio": plain / same,
                "openspiel_ratio": None if spiel is None else spiel / same,
                "largest_difference": difference,
            }
            rows.append(row)
            against = "" if spiel is None else f"{spiel / same:.0f}"
            print(
                f"{family:14}{size:>5}×{size:<3}{1e3 * ours:>9.3f}{plain / same:>10.0f}"
                f"{against:>13}{difference:>10.1e}",
                flush=True,
            )
    return {"one-shot solver": rows}
