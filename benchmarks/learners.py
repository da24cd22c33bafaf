"""Rounds a second of two simple learners in play, beside those of other packages.

Everybody on the same 3×3 game, in one run. QuantEcon and Nashpy play fictitious play of both sides,
OpenSpiel regret matching of both sides; ours is one learner against a principal that commits anew
in every block of 100 rounds, with its transcript. The bare compiled Hedge loop updates weights and
draws a response in every round, and keeps nothing. A peer that is not installed is left out.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from benchmarks._timing import measured
from benchmarks.play import BLOCK, GAME, in_play, strategies
from stackcast._random import stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from stackcast._validation import FloatArray
    from stackcast.protocol import Block

BARE = "bare compiled Hedge loop"


def main() -> dict[str, Any]:
    """Return rounds a second, medians of repeats with their spread, and ratios to our Hedge."""
    contestants: dict[str, tuple[int, Callable[[int], object]]] = {
        "stackcast Hedge, played": (500_000, _ours("Hedge")),
        "stackcast FollowTheLeader, played": (500_000, _ours("FollowTheLeader")),
        "stackcast Calibrated, played": (20_000, _ours("Calibrated")),
        BARE: (500_000, _bare),
    }
    for name, peer in (
        ("QuantEcon fictitious play", _quantecon),
        ("Nashpy fictitious play", _nashpy),
        ("OpenSpiel regret matching", _open_spiel),
    ):
        try:
            contestants[name] = (5_000, peer())
        except ImportError as error:
            print(f"{name}: left out, {error.name} is not installed")
    table: dict[str, dict[str, float]] = {}
    for name, (rounds, run) in contestants.items():
        run(min(rounds, 200))
        found = measured(partial(run, rounds))
        table[name] = {
            "rounds a second": round(rounds / found.median),
            "spread": round(found.spread, 2),
        }
        print(name, table[name], flush=True)
    hedge = table["stackcast Hedge, played"]["rounds a second"]
    for row in table.values():
        row["rounds of our Hedge meanwhile"] = round(hedge / row["rounds a second"], 2)
    return {"learners": table}


@njit(cache=True)
def _hedge_loop(payoffs: FloatArray, strategies: FloatArray, rounds: int, draws: FloatArray) -> int:
    k, rate, changed = payoffs.shape[1], np.sqrt(8 * np.log(payoffs.shape[1]) / rounds), 0
    earned, weights = np.zeros(k), np.empty(k)
    last = 0
    for t in range(rounds):
        best, total = earned.max(), 0.0
        for y in range(k):
            weights[y] = np.exp(rate * (earned[y] - best))
            total += weights[y]
        left, answer = draws[t] * total, k - 1
        for y in range(k):
            left -= weights[y]
            if left <= 0:
                answer = y
                break
        changed += answer != last
        last = answer
        row = strategies[t // BLOCK]
        for y in range(k):
            for x in range(row.shape[0]):
                earned[y] += row[x] * payoffs[x, y]
    return changed


@cache
def _prepared(rounds: int) -> tuple[list[Block], FloatArray, FloatArray]:
    """Return blocks, their strategies, and draws, which are no part of anybody's time."""
    blocks = strategies(max(rounds, BLOCK))
    draws = stream(0, "benchmark", "bare loop").random(rounds)
    return blocks, np.array([block.strategy for block in blocks]), draws


def _bare(rounds: int) -> object:
    _, rows, draws = _prepared(rounds)
    return _hedge_loop(GAME.agent_payoffs, rows, rounds, draws)


def _ours(name: str) -> Callable[[int], object]:
    return lambda rounds: in_play(name, _prepared(rounds)[0], max(rounds, BLOCK))


def _quantecon() -> Callable[[int], object]:
    from quantecon.game_theory import FictitiousPlay, NormalFormGame, Player

    pair = NormalFormGame(
        [Player(GAME.principal_payoffs.copy()), Player(GAME.agent_payoffs.T.copy())]
    )
    return lambda rounds: FictitiousPlay(pair).play(num_reps=rounds)


def _nashpy() -> Callable[[int], object]:
    import nashpy

    pair = nashpy.Game(GAME.principal_payoffs, GAME.agent_payoffs)

    def run(rounds: int) -> object:
        np.random.seed(0)  # noqa: NPY002 - Nashpy draws from the global generator
        return sum(1 for _ in pair.fictitious_play(iterations=rounds))

    return run


def _open_spiel() -> Callable[[int], object]:
    from open_spiel.python.algorithms import regret_matching

    payoffs = [GAME.principal_payoffs, GAME.agent_payoffs]

    def run(rounds: int) -> object:
        return regret_matching.regret_matching(payoffs, iterations=rounds)

    return run
