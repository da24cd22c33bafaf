"""Questions to an exact oracle: how many, and what the answer is worth.

Seconds are those of a game while as many as there are cores are played at once.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks._held_games import FAMILIES, REGULAR, regular_games
from benchmarks._parallel import in_parallel
from stackcast.calibration import AdaptiveRate
from stackcast.principals import (
    ExactOracle,
    GridBandit,
    PayoffSearch,
    Precision,
    TheoryParameters,
    UniformExplore,
    ask_oracle,
    learn_commitment,
    search_payoffs,
)
from stackcast.solvers import BestResponseRegions, solve

if TYPE_CHECKING:
    from collections.abc import Callable

    from stackcast._validation import FloatArray
    from stackcast.games import FiniteGame, PrincipalView
    from stackcast.principals import Commitment

#: Answers are random within this distance of a facet; margins of this size are certified.
ACCURACY = 1e-3
#: What a search may lose, the price of the margin included.
TOLERANCE = 9.5e-3
#: The medians to reach.
PROTOTYPE = {
    "uniform": {2: 6, 3: 13, 5: 22, 8: 35},
    "competing": {2: 9, 3: 30, 5: 82, 8: 500},
}
#: The horizon whose tenth UniformExplore spends on questions.
HORIZON = 200_000


def queries(games: int, sizes: list[int]) -> list[dict[str, Any]]:
    """Count questions to an oracle that answers at random within 1e-3 of a facet."""
    results = in_parallel(
        _asked,
        [(family, m, seed) for family in FAMILIES for m in sizes for seed in range(games)],
    )
    rows = []
    for family in FAMILIES:
        for m in sizes:
            found = list(islice(results, games))
            asked = [one.asked for one in found]
            losses = [one.loss for one in found if one.loss is not None]
            seconds = [one.seconds for one in found]
            row = {
                "family": family,
                "size": m,
                "games": games,
                "median questions": float(np.median(asked)),
                "most": max(asked),
                "median to reach": PROTOTYPE[family].get(m),
                "at least needed": m + 1,
                "worst loss": max(losses) if losses else None,
                "losses above 0.01": int(sum(loss > 0.01 for loss in losses)),
                "margins refuted": sum(one.refuted for one in found),
                "solves a query": float(np.mean([one.solves for one in found])),
                "seconds a game": float(np.median(seconds)),
                "slowest game": max(seconds),
            }
            rows.append(row)
            print(json.dumps(row), flush=True)
    return rows


class _Asked(NamedTuple):
    """What one game of ``queries`` gave; no loss where the game is not regular."""

    asked: int
    solves: float
    seconds: float
    refuted: bool
    loss: float | None


def _asked(family: str, size: int, seed: int) -> _Asked:
    game = FAMILIES[family](size, size, seed)
    oracle = ExactOracle(game.agent_view, ambiguous=ACCURACY, seed=seed)
    search = payoff_search(game.principal_view, seed)
    start = time.perf_counter()
    found = _found(search, oracle)
    seconds = time.perf_counter() - start
    solves = search.cloud.solves / oracle.queries
    if found is None:
        return _Asked(oracle.queries, solves, seconds, refuted=False, loss=np.inf)
    true = BestResponseRegions(game).margin(found.strategy, found.response)
    refuted = bool(true < found.margin - 1e-12)
    best = solve(game, details=True)
    loss = best.value - found.value if best.regularity >= REGULAR else None
    return _Asked(oracle.queries, solves, seconds, refuted, loss)


def payoff_search(view: PrincipalView, seed: int) -> PayoffSearch:
    """Return the search of the practical learner, to the tolerance of the table."""
    return PayoffSearch(view, margin=ACCURACY, accuracy=ACCURACY, tolerance=TOLERANCE, seed=seed)


def _found(search: PayoffSearch, oracle: ExactOracle) -> Commitment | None:
    try:
        return ask_oracle(search_payoffs(search), oracle, most=1000)
    except RuntimeError:
        return search.certified


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
    oracle = ExactOracle(game.agent_view, ambiguous=ACCURACY, seed=seed)
    start = time.perf_counter()
    strategy = CONTESTANTS[name](game.principal_view, oracle, seed)
    seconds = time.perf_counter() - start
    return oracle.queries, seconds, None if strategy is None else value - _worth(game, strategy)


def _worth(game: FiniteGame, strategy: FloatArray) -> float:
    """Return what the principal earns when the agent best-responds."""
    return float(game.principal_utilities(strategy)[game.respond(strategy)[0]])


def _practical(view: PrincipalView, oracle: ExactOracle, seed: int) -> FloatArray | None:
    found = _found(payoff_search(view, seed), oracle)
    return None if found is None else found.strategy


def _paper(view: PrincipalView, oracle: ExactOracle, seed: int) -> FloatArray | None:
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
    found = ask_oracle(learn_commitment(view, theory, seed), oracle)
    return None if found is None else found.strategy


def _uniform(view: PrincipalView, oracle: ExactOracle, seed: int) -> FloatArray:
    return _best_arm(UniformExplore(view, HORIZON, seed=seed), oracle, HORIZON // 1000)


def _grid(view: PrincipalView, oracle: ExactOracle, seed: int) -> FloatArray:  # noqa: ARG001
    bandit = GridBandit(view, HORIZON)
    return _best_arm(bandit, oracle, bandit.settings["arms"])


def _best_arm(bandit: UniformExplore | GridBandit, oracle: ExactOracle, arms: int) -> FloatArray:
    """Try every arm once."""
    for _ in range(arms):
        bandit.observe(np.array([oracle(bandit.commit().strategy).response]))
    return bandit.result.strategy


CONTESTANTS: dict[str, Callable[[PrincipalView, ExactOracle, int], FloatArray | None]] = {
    "VersionSpace": _practical,
    "Algorithm 3": _paper,
    "UniformExplore": _uniform,
    "GridBandit": _grid,
}
