"""The forecaster: calibration on every interval, and time a round, as ratios within one run.

An error is the worst CalErr·√L/√(log(kmL) + log T) over all intervals of L ≥ 30 rounds, by the
sequence or the adversary that makes the outcomes. *Every start* is the letter of the paper.

``python -m benchmarks forecaster`` takes minutes; ``python -m benchmarks.forecaster --full``, with
20,000 rounds and five seeds, tens of minutes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from benchmarks._timing import Times, measured, summary
from stackcast._random import stream
from stackcast.calibration import AdaptiveForecaster, BestResponseBinning
from stackcast.calibration.adversaries import ADVERSARIES, hard_sequences, play_adversary
from stackcast.games import FiniteGame

if TYPE_CHECKING:
    from collections.abc import Callable

    from stackcast._validation import FloatArray
    from stackcast.calibration._experts import StartRule

SHORTEST = 30
PIECES = 5

_FIRST_RUN = """
import time
begin = time.process_time()
import numpy as np
from stackcast.calibration import AdaptiveForecaster, BestResponseBinning
from stackcast.calibration import FunctionBinning, GridBinning
from stackcast.games import FiniteGame
imported = time.process_time()
game = FiniteGame(np.eye(3), np.eye(3))
forecaster = AdaptiveForecaster(BestResponseBinning(game.agent_view))
forecaster.run(([0.2, 0.3, 0.5], 10))
forecaster.forecast()
forecaster.observe(1)
AdaptiveForecaster(FunctionBinning(lambda p: np.ones((len(p), 1)), 1, 3)).observe(1)
GridBinning([0.0, 1.0]).weights([[0.3]])
print(imported - begin, time.process_time() - imported)
"""


@njit(cache=True)
def _worst_score(prefix: FloatArray, shortest: int) -> float:
    """Return max CalErr·√L/√(log(kmL) + log T) over all intervals of L ≥ ``shortest`` rounds."""
    T, km = prefix.shape[0] - 1, prefix.shape[1]
    worst, L = 0.0, shortest
    while L <= T:
        error = 0.0
        for t in range(T - L + 1):
            for x in range(km):
                error = max(error, abs(prefix[t + L, x] - prefix[t, x]))
        worst = max(worst, error / np.sqrt(L * (np.log(km * L) + np.log(T))))
        # One round more adds at most 1: lengths that cannot beat the worst are passed over.
        longer = L + 1
        while longer <= T and error + (longer - L) <= worst * np.sqrt(
            longer * (np.log(km * longer) + np.log(T))
        ):
            longer += 1
        L = longer
    return worst


def score(binning: BestResponseBinning, outcomes: FloatArray, forecasts: FloatArray) -> float:
    T, m = outcomes.shape
    errors = binning.weights(forecasts)[:, :, None] * (outcomes - forecasts)[:, None, :]
    prefix = np.zeros((T + 1, binning.bins * m))
    prefix[1:] = errors.reshape(T, -1).cumsum(axis=0)
    return float(_worst_score(prefix, SHORTEST))


def some_binning(m: int, k: int, seed: int) -> BestResponseBinning:
    """Return the bins of an agent: of random payoffs, or, for even seeds, of the nearest point.

    With random payoffs many responses are never best; the nearest of k points always is, somewhere.
    """
    rng = stream(seed, "benchmark game", m, k)
    payoffs = rng.random((m, k))
    if seed % 2 == 0:
        points = rng.dirichlet(np.ones(m), size=k)
        payoffs = points.T - (points**2).sum(axis=1) / 2
    return BestResponseBinning(FiniteGame(np.zeros((m, k)), payoffs).agent_view)


def worst_scores(
    m: int, k: int, rounds: int, seeds: int, starts: StartRule = "streaming"
) -> dict[str, float]:
    """Return the worst score over seeds of every sequence and adversary."""
    result: dict[str, float] = {}
    for seed in range(seeds):
        binning = some_binning(m, k, seed)
        for name, outcomes in hard_sequences(m, rounds, seed).items():
            forecaster = AdaptiveForecaster(binning, starts=starts, seed=seed)
            forecasts = forecaster.run(outcomes).forecasts
            result[name] = max(result.get(name, 0.0), score(binning, outcomes, forecasts))
        for adversary in ADVERSARIES:
            forecaster = AdaptiveForecaster(binning, starts=starts, seed=seed)
            outcomes, forecasts = play_adversary(forecaster, adversary, rounds)
            result[adversary] = max(result.get(adversary, 0.0), score(binning, outcomes, forecasts))
    return result


def told_the_mean(rounds: int) -> float:
    """Return the score of a forecaster who knows the mean of independent outcomes."""
    outcomes = hard_sequences(3, rounds)["independent"]
    mean = np.full_like(outcomes, 1.0) * outcomes.mean(axis=0)
    return score(some_binning(3, 3, 0), outcomes, mean)


def seconds_a_round(
    m: int, k: int, rounds: int, after: int = 0, starts: StartRule = "streaming"
) -> tuple[Times, dict[str, float]]:
    """Return CPU seconds a round, the strategy changing every 500 rounds, and the statistics.

    The rounds are played in pieces, one after the other, and the median is of those.
    """
    forecaster = AdaptiveForecaster(some_binning(m, k, 0), starts=starts)
    strategies = stream(1, "strategies").dirichlet(np.ones(m), size=-(-(after + rounds) // 500))
    outcomes = np.repeat(strategies, 500, axis=0)
    if after:
        forecaster.run(outcomes[:after])
    times = []
    for piece in np.array_split(outcomes[after : after + rounds], PIECES):
        begin = time.process_time()
        forecaster.run(piece)
        times.append((time.process_time() - begin) / len(piece))
    return summary(times), forecaster.statistics


def seconds_of_minmax() -> Times | None:
    """Return the time of a zero-sum game by QuantEcon, or None where it is not installed."""
    try:
        from quantecon.optimize import minmax
    except ImportError:
        print("QuantEcon is not installed: its row is left out.")
        return None

    @njit(cache=False)
    def loop(games: FloatArray) -> float:
        total = 0.0
        for g in range(games.shape[0]):
            total += minmax(games[g])[0]
        return total

    games = stream(0, "games").normal(size=(20_000, 3, 3))
    found = measured(lambda: loop(games), PIECES)
    return Times(found.median / len(games), found.spread)


def first_run() -> tuple[float, float]:
    """Return the CPU seconds of importing and of compiling everything, with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", _FIRST_RUN],
            env={**os.environ, "NUMBA_CACHE_DIR": folder},
            capture_output=True,
            text=True,
            check=True,
        )
    imported, compiled = map(float, done.stdout.split())
    return imported, compiled


def main(full: bool = False) -> dict[str, Any]:
    rounds, seeds = (20_000, 5) if full else (3_000, 1)
    sizes = [(2, 2), (3, 3), (5, 5), (10, 10)]
    say: Callable[[str], None] = print

    say(f"Worst error over its rate for all L ≥ {SHORTEST}, T = {rounds}, {seeds} seeds")
    told = told_the_mean(rounds)
    say(f"  told the mean of independent outcomes: {told:.2f}")
    errors = {}
    for m, k in sizes:
        scores = errors[f"{m}×{k}"] = worst_scores(m, k, rounds, seeds)
        say(f"  {m}×{k}: " + ", ".join(f"{n} {s:.2f}" for n, s in scores.items()))

    say("Streaming starts against every start, T = 2000: ratio of the errors")
    ratios = {}
    for m, k in sizes[:2]:
        streaming = worst_scores(m, k, 2_000, seeds)
        every = worst_scores(m, k, 2_000, seeds, "all")
        ratios[f"{m}×{k}"] = {name: streaming[name] / every[name] for name in streaming}
        say(f"  {m}×{k}: " + ", ".join(f"{n} {r:.2f}" for n, r in ratios[f"{m}×{k}"].items()))

    tables = {
        "worst error": errors,
        "error of streaming starts over that of every start": ratios,
        **speed(),
        "rounds of each error": rounds,
        "seeds of each error": seeds,
        "error of one who is told the mean of independent outcomes": told,
    }
    say(json.dumps({name: tables[name] for name in ("times", "ratios", "first run")}, indent=1))
    return tables


def speed() -> dict[str, Any]:
    """Return the times of a round, their ratios, and what a first run takes."""
    unit = seconds_of_minmax()
    base, statistics = seconds_a_round(3, 3, 20_000)
    early, _ = seconds_a_round(3, 3, 20_000, after=10_000)
    late, _ = seconds_a_round(3, 3, 20_000, after=1_000_000)
    every_start, _ = seconds_a_round(3, 3, 500, after=9_500, starts="all")
    large, large_statistics = seconds_a_round(50, 20, 3_000, after=500)
    times = {
        "round, 3×3": base,
        "round, 3×3, after 10,000": early,
        "round, 3×3, after 1,000,000": late,
        "round, 3×3, every start, after 10,000": every_start,
        "round, 50×20": large,
    }
    peer = {}
    if unit is not None:
        times["zero-sum game, 3×3, by QuantEcon's minmax"] = unit
        peer["round over one zero-sum game, 3×3"] = base.median / unit.median
    imported, compiled = zip(*(first_run() for _ in range(3)), strict=True)
    first = {"import": imported, "compilation of everything, empty cache": compiled}
    return {
        "times": [
            {
                "what": what,
                "microseconds": 1e6 * found.median,
                "spread": found.spread,
                "a second": round(1 / found.median),
            }
            for what, found in times.items()
        ],
        "ratios": {
            **peer,
            "every start over streaming, after 10,000 rounds": every_start.median / early.median,
            "round after 1,000,000 over one after 10,000": late.median / early.median,
            "round, 50×20 over 3×3": large.median / base.median,
            "share of rounds that need several games, 3×3": statistics["repeats"]
            / statistics["rounds"],
            "share of rounds that need several games, 50×20": large_statistics["repeats"]
            / large_statistics["rounds"],
        },
        "first run": [
            {"what": what, "CPU seconds": summary(found).median, "spread": summary(found).spread}
            for what, found in ((name, list(runs)) for name, runs in first.items())
        ],
        "what nature may gain against a forecast after 20,000 rounds": statistics["epsilon"],
    }


if __name__ == "__main__":
    print(json.dumps(main("--full" in sys.argv), indent=1))
