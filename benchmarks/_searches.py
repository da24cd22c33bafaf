"""Questions to an exact oracle: how many, and what the answer is worth.

Seconds are those of a game while as many as there are cores are played at once.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks._held_games import FAMILIES, regular_games
from benchmarks._parallel import in_parallel
from stackcast.calibration import AdaptiveRate
from stackcast.principals import (
    BestResponseOracle,
    GridBandit,
    Precision,
    TheoryParameters,
    UniformExplore,
    ask_oracle,
    learn_commitment,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from stackcast._validation import FloatArray
    from stackcast.games import FiniteGame, PrincipalView

#: Answers are random within this distance of a facet; margins of this size are certified.
ACCURACY = 1e-3
#: What a search may lose, the price of the margin included.
TOLERANCE = 9.5e-3
#: The horizon whose tenth UniformExplore spends on questions.
HORIZON = 200_000


def searches(games: int, sizes: list[int]) -> list[dict[str, Any]]:
    """Compare what every principal's questions find on the same games (η ≥ 0.02)."""
    results = in_parallel(
        _searched,
        [
            (family, m, seed, value, name)
            for family in FAMILIES
            for m in sizes
            for held in [list(regular_games(family, m, games))]
            for name in CONTESTANTS
            for seed, _, value in held
        ],
    )
    rows = []
    for family in FAMILIES:
        for m in sizes:
            for name in CONTESTANTS:
                asked, seconds, lost = zip(*islice(results, games), strict=True)
                losses = [loss for loss in lost if loss is not None]
                rows.append(
                    {
                        "family": family,
                        "size": m,
                        "principal": name,
                        "games": games,
                        "median questions": float(np.median(asked)),
                        "most": max(asked),
                        "median loss": float(np.median(losses)) if losses else None,
                        "worst loss": max(losses) if losses else None,
                        "found within 0.01": sum(loss <= 0.01 for loss in losses),
                        "seconds a game": float(np.median(seconds)),
                        "slowest game": max(seconds),
                    }
                )
                print(json.dumps(rows[-1]), flush=True)
    return rows


def _searched(
    family: str, size: int, seed: int, value: float, name: str
) -> tuple[int, float, float | None]:
    """Return the questions of a contestant, its seconds, and the loss of what it found, if any."""
    game = FAMILIES[family](size, size, seed)
    oracle = BestResponseOracle(game.agent_view, ambiguous=ACCURACY, seed=seed)
    start = time.perf_counter()
    strategy = CONTESTANTS[name](game.principal_view, oracle, seed)
    seconds = time.perf_counter() - start
    return oracle.queries, seconds, None if strategy is None else value - _worth(game, strategy)


def _worth(game: FiniteGame, strategy: FloatArray) -> float:
    """Return what the principal earns when the agent best-responds."""
    return float(game.principal_utilities(strategy)[game.respond(strategy)[0]])


def _paper(view: PrincipalView, oracle: BestResponseOracle, seed: int) -> FloatArray | None:
    """Run Algorithm 3 with as fine a precision as the oracle's, its samples and epochs by hand."""
    m, k = view.payoffs.shape
    theory = replace(
        TheoryParameters.compute(m, k, 0.1, HORIZON, AdaptiveRate(k, m)),
        tolerance=TOLERANCE,
        robustness=ACCURACY,
        samples=3 * k,
        epochs=4,
        initial=Precision(0.03, ACCURACY),
        optimising=Precision(ACCURACY, ACCURACY),
        checking=Precision(ACCURACY, ACCURACY),
    )
    found = ask_oracle(learn_commitment(view, theory, seed, "question"), oracle)
    return None if found is None else found.strategy


def _uniform(view: PrincipalView, oracle: BestResponseOracle, seed: int) -> FloatArray:
    return _best_arm(UniformExplore(view, HORIZON, seed=seed), oracle, HORIZON // 1000)


def _grid(view: PrincipalView, oracle: BestResponseOracle, seed: int) -> FloatArray:  # noqa: ARG001
    bandit = GridBandit(view, HORIZON)
    return _best_arm(bandit, oracle, bandit.settings["arms"])


def _best_arm(
    bandit: UniformExplore | GridBandit, oracle: BestResponseOracle, arms: int
) -> FloatArray:
    """Try every arm once."""
    for _ in range(arms):
        bandit.observe(np.array([oracle(bandit.commit().strategy).response]))
    return bandit.result.strategy


CONTESTANTS: dict[str, Callable[[PrincipalView, BestResponseOracle, int], FloatArray | None]] = {
    "Algorithm 3": _paper,
    "UniformExplore": _uniform,
    "GridBandit": _grid,
}
