"""The one-shot solver against OpenSpiel's ``stackelberg_lp`` and one SciPy program per action.

A ratio is how many times longer the other one takes. A dash for a spread means a single run.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linprog

import stackcast as sc
from benchmarks._timing import Times, summary
from stackcast.games import generators

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (3, 10, 50, 100, 200)


def near_zero_sum(m: int, k: int, seed: int) -> sc.FiniteGame:
    """Return a game of nearly opposed interests: no action can be ruled out early."""
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
    """Return V* by one program per action, as a careful user of SciPy would write it."""
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
    """Return V* by OpenSpiel; raises ImportError where it is not installed."""
    import pyspiel
    from open_spiel.python.algorithms.stackelberg_lp import solve_stackelberg

    tensor = pyspiel.create_matrix_game(game.principal_payoffs, game.agent_payoffs)
    return float(solve_stackelberg(tensor)[2])


def timed(
    solver: Callable[[sc.FiniteGame], float], games: list[sc.FiniteGame], repeats: int = 1
) -> tuple[Times, list[float]]:
    """Return the median time of a pass through the games, for one game, and the values."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        values = [solver(game) for game in games]
        times.append((time.perf_counter() - start) / len(games))
    return summary(times), values


def our_value(game: sc.FiniteGame) -> float:
    """Return V* by this package."""
    return sc.solve(game).value


def ours_timed(games: list[sc.FiniteGame]) -> tuple[Times, list[float]]:
    """Return our time for one game, in repeats of a hundredth of a second or more."""
    once, values = timed(our_value, games)
    passes = max(1, round(0.01 / (once.median * len(games))))
    return timed(our_value, games * passes, 7)[0], values


def main() -> dict[str, Any]:
    """Print and return milliseconds, ratios and the largest difference of the values."""
    warm = generators.uniform(3, 3, 0)
    our_value(warm)
    scipy_value(warm)
    try:
        openspiel_value(warm)
        have_openspiel = True
    except ImportError:
        have_openspiel = False
        print("OpenSpiel is not installed: its column stays empty.")
    rows = []
    print(f"{'family':14}{'size':>9}{'ours ms':>11}{'SciPy ×':>10}{'OpenSpiel ×':>13}{'|ΔV|':>10}")
    for family, make in FAMILIES.items():
        for size in SIZES:
            games = [make(size, size, seed) for seed in range(9 if size <= 10 else 3)]
            if size >= 100:
                games = games[:1]
            ours, values = ours_timed(games)
            plain, expected = timed(scipy_value, games, 3)
            difference = max(abs(a - b) for a, b in zip(values, expected, strict=True))
            peer, spread = None, None
            if have_openspiel and family == "uniform":
                few, repeats = games[: 3 if size <= 10 else 1], 3 if size <= 50 else 1
                spiel, _ = timed(openspiel_value, few, repeats)
                peer = spiel.median / ours_timed(few)[0].median
                spread = spiel.spread if repeats > 1 else None
            rows.append(
                {
                    "family": family,
                    "size": size,
                    "milliseconds": 1e3 * ours.median,
                    "spread": ours.spread,
                    "SciPy ratio": plain.median / ours.median,
                    "spread of SciPy": plain.spread,
                    "OpenSpiel ratio": peer,
                    "spread of OpenSpiel": spread,
                    "largest difference": difference,
                }
            )
            against = "" if peer is None else f"{peer:.0f}"
            print(
                f"{family:14}{size:>5}×{size:<3}{1e3 * ours.median:>11.3f}"
                f"{plain.median / ours.median:>10.0f}"
                f"{against:>13}{difference:>10.1e}",
                flush=True,
            )
    return {"one-shot solver": rows}
