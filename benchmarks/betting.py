"""Betting against sleeping experts: error by interval length, and rounds a second, in one run.

An error is max CalErr·√L/√ln(kmL) over all intervals of exactly L rounds, bins and coordinates, by
the kind of sequence. ``python -m benchmarks.betting`` takes some ten minutes and prints, for every
length, the worst sequence of each method; ``--rows`` prints every sequence.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._random import stream
from stackcast.calibration import AdaptiveForecaster, BestResponseBinning
from stackcast.calibration.adversaries import ADVERSARIES, hard_sequences, play_adversary
from stackcast.games import FiniteGame

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stackcast._validation import FloatArray

SIZES = [(2, 2), (3, 3), (5, 5), (10, 10), (50, 20)]
LENGTHS = (20, 100, 500, 2_000, 10_000, 20_000)
ROUNDS = 20_000
ADVERSARY_ROUNDS = 4_000
METHODS = ("sleeping", "betting")


def scores(binning: BestResponseBinning, outcomes: FloatArray, forecasts: FloatArray) -> FloatArray:
    """Return max CalErr·√L/√ln(kmL) for each length; NaN for those longer than the record."""
    T, m = outcomes.shape
    k = binning.bins
    weights = binning.weights(forecasts)
    result = np.full(len(LENGTHS), np.nan)
    largest = np.zeros(len(LENGTHS))
    for i in range(k):
        sums = np.zeros((T + 1, m))
        np.cumsum(weights[:, i : i + 1] * (outcomes - forecasts), axis=0, out=sums[1:])
        for at, L in enumerate(LENGTHS):
            if L <= T:
                largest[at] = max(largest[at], np.abs(sums[L:] - sums[:-L]).max())
                result[at] = largest[at] / np.sqrt(L * np.log(k * m * L))
    return result


def sequences(m: int, T: int, seed: int) -> Iterator[tuple[str, FloatArray]]:
    """Yield outcomes by name: those of the prototype, and hostile ones."""
    rng = stream(seed, "betting benchmark", m)
    vertices = np.eye(m)

    def phases(every: int, concentration: float = 1.0) -> FloatArray:
        strategies = rng.dirichlet(np.full(m, concentration), size=-(-T // every))
        return np.repeat(strategies, every, axis=0)[:T]

    def drawn(strategies: FloatArray) -> FloatArray:
        u = rng.random((len(strategies), 1))
        actions = (u > strategies.cumsum(axis=1)).sum(axis=1)
        return vertices[np.minimum(actions, m - 1)]

    held = np.tile(rng.dirichlet(np.ones(m)), (T, 1))
    yield "held", held
    yield "independent actions", drawn(held)
    yield "strategies that change every 500", phases(500)
    yield "action shares that change every 2,000", drawn(phases(2_000))
    yield "strategies that change every 30", phases(30)
    yield "independent strategies", rng.dirichlet(np.ones(m), T)
    # Hostile ones.
    rare = np.full(m, 0.02 / max(m - 1, 1))
    rare[0] = 1.0 - rare[1:].sum()
    yield "a rare event", drawn(np.tile(rare, (T, 1)))
    yield "action shares that change every 100", drawn(phases(100, 0.5))
    yield (
        "vertices held for 20 rounds",
        vertices[rng.integers(m, size=-(-T // 20))].repeat(20, 0)[:T],
    )
    burst = held.copy()
    for start in range(500, T, 500):
        burst[start : start + 20] = vertices[rng.integers(m)]
    yield "bursts of 20 rounds", burst
    doubling = np.floor(np.log2(np.arange(1, T + 1))).astype(int) % m
    yield "vertices held twice as long each time", vertices[doubling]
    yield from ((name, hard_sequences(m, T, seed)[name]) for name in ("drift", "cycle"))


def some_binning(m: int, k: int, seed: int) -> BestResponseBinning:
    rng = stream(seed, "betting game", m, k)
    return BestResponseBinning(FiniteGame(np.zeros((m, k)), rng.random((m, k))).agent_view)


def errors(
    sizes: list[tuple[int, int]], seed: int, method: Any, adversaries: bool = True
) -> dict[str, dict[str, FloatArray]]:
    """Return the scores of every size and sequence."""
    result: dict[str, dict[str, FloatArray]] = {}
    for m, k in sizes:
        binning = some_binning(m, k, seed)
        rows = result[f"{m}×{k}"] = {}
        T = ROUNDS if m <= 10 else ROUNDS // 4
        for name, outcomes in sequences(m, T, seed):
            made = AdaptiveForecaster(binning, method=method, seed=seed).run(outcomes)
            rows[name] = scores(binning, outcomes, made.forecasts)
        for adversary in ADVERSARIES if adversaries and m <= 10 else ():
            forecaster = AdaptiveForecaster(binning, method=method, seed=seed)
            outcomes, forecasts = play_adversary(forecaster, adversary, ADVERSARY_ROUNDS)
            rows[f"sees the mixture: {adversary}"] = scores(binning, outcomes, forecasts)
    return result


def speeds(sizes: list[tuple[int, int]], rounds: int = 20_000, pieces: int = 5) -> dict[str, Any]:
    """Return thousand rounds a second of both methods, interleaved, and their ratio."""
    result = {}
    for m, k in sizes:
        binning = some_binning(m, k, 0)
        T = rounds if m <= 10 else rounds // 5
        outcomes = np.repeat(stream(1, "speeds").dirichlet(np.ones(m), size=-(-T // 500)), 500, 0)[
            :T
        ]
        seconds: dict[str, list[float]] = {method: [] for method in METHODS}
        for piece in range(pieces):
            for method in METHODS:
                forecaster = AdaptiveForecaster(binning, method=method, seed=piece)  # type: ignore[arg-type]
                forecaster.run(outcomes[:2])
                begin = time.process_time()
                forecaster.run(outcomes)
                seconds[method].append(time.process_time() - begin)
        median = {method: float(np.median(times)) for method, times in seconds.items()}
        result[f"{m}×{k}"] = {
            **{method: round(T / t / 1e3, 1) for method, t in median.items()},
            "ratio": round(median["sleeping"] / median["betting"], 1),
        }
    return result


def summary(found: dict[str, dict[str, dict[str, FloatArray]]]) -> dict[str, Any]:
    """Return, by length, each method's worst score and the sequence where betting exceeds most."""
    tables: dict[str, Any] = {}
    for at, L in enumerate(LENGTHS):
        worst = {}
        for method in METHODS:
            rows = [
                (float(row[at]), f"{size}, {name}")
                for size, by_name in found[method].items()
                for name, row in by_name.items()
                if np.isfinite(row[at])
            ]
            worst[method] = max(rows)
        above = max(
            (float(row[at] - found["sleeping"][size][name][at]), f"{size}, {name}")
            for size, by_name in found["betting"].items()
            for name, row in by_name.items()
            if np.isfinite(row[at])
        )
        tables[str(L)] = {
            **worst,
            "ratio of the worst": worst["betting"][0] / worst["sleeping"][0],
            "most above sleeping on one sequence": above,
        }
    return tables


def main(rows: bool = False, seeds: int = 2) -> dict[str, Any]:
    found: dict[str, dict[str, dict[str, FloatArray]]] = {method: {} for method in METHODS}
    for method in METHODS:
        for seed in range(seeds):
            for size, by_name in errors(SIZES, seed, method).items():
                found[method] |= {f"{size}, game {seed}": by_name}
    if rows:
        for size, by_name in found["betting"].items():
            for name, row in by_name.items():
                old = found["sleeping"][size][name]
                print(
                    f"{size} {name:40}",
                    *(f"{a:.2f}→{b:.2f}" for a, b in zip(old, row, strict=True)),
                )
    return {"errors": summary(found), "thousand rounds a second": speeds(SIZES)}


if __name__ == "__main__":
    print(json.dumps(main("--rows" in sys.argv), indent=1, ensure_ascii=False))
