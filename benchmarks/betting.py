"""Betting against sleeping experts: error by length, rounds a second, what told principals lose.

An error is max CalErr·√L/√ln(kmL) over all intervals of exactly L rounds, bins and coordinates, by
the kind of sequence. *Told* is a principal that knows the game and holds the best response's robust
optimum at the best of eight margins for 30,000 rounds: what it loses of V*, in units of the width
of its payoffs. ``python -m benchmarks betting`` takes about ten minutes on a quiet core and writes
the tables and the figure of ``docs/explanation/betting.md`` as well; ``python -m benchmarks.betting
told`` measures one part.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import stackcast as sc
from benchmarks._page import table
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
METHODS: tuple[Any, ...] = ("sleeping", "betting")
MARGINS = (0.002, 0.005, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15)


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
        for adversary in ADVERSARIES if adversaries else ():
            forecaster = AdaptiveForecaster(binning, method=method, seed=seed)
            T = ADVERSARY_ROUNDS if m <= 10 else ADVERSARY_ROUNDS // 8
            outcomes, forecasts = play_adversary(forecaster, adversary, T)
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
                forecaster = AdaptiveForecaster(binning, method=method, seed=piece)
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


def flatness(lengths: tuple[int, ...] = (10_000, 100_000, 1_000_000, 10_000_000)) -> list[Any]:
    """Return thousand rounds a second of betting at 3×3 by the number of rounds, and its memory."""
    rows, binning = [], some_binning(3, 3, 0)
    for rounds in lengths:
        pieces = min(rounds, 100_000)
        outcomes = np.repeat(stream(1, "flat").dirichlet(np.ones(3), size=pieces // 500), 500, 0)
        seconds = []
        for _ in range(3 if rounds < 10**7 else 1):
            forecaster = AdaptiveForecaster(binning)
            forecaster.run(outcomes[:2])
            begin = time.process_time()
            for _ in range(rounds // pieces):
                forecaster.run(outcomes)
            seconds.append(time.process_time() - begin)
        state = forecaster.state()
        size = sum(a.nbytes for part in ("bankroll", "pool") for a in state[part].values())
        rows.append(
            {
                "rounds": rounds,
                "thousand rounds a second": round(rounds / float(np.median(seconds)) / 1e3, 1),
                "kilobytes of state": round(size / 1e3, 1),
            }
        )
    return rows


def told(rounds: int = 30_000) -> list[dict[str, Any]]:
    """Return what a told principal loses against each agent, at its best fixed margin."""
    rows = []
    for name in sc.games.list_games():
        game = sc.load_game(name)
        if not isinstance(game, sc.FiniteGame | sc.SecurityGame):
            continue
        best = sc.solve(game).value
        width = float(np.ptp(game.principal_view.payoffs + game.principal_view.offsets)) or 1.0
        held = []
        for margin in MARGINS:
            with contextlib.suppress(sc.InputError):
                held.append((margin, sc.solve(game, margin=margin).strategy))
        row: dict[str, Any] = {"game": name}
        plain = isinstance(game, FiniteGame)  # from a coverage no single action is drawn
        for feedback in ("strategy", "action") if plain else ("strategy",):
            for method in METHODS:
                found = []
                for margin, strategy in held:
                    agent = sc.agents.Calibrated(
                        game.agent_view, method=method, feedback=feedback, seed=1
                    )
                    answers = agent.respond(sc.protocol.Block(strategy, rounds)).responses
                    counts = np.bincount(answers, minlength=len(game.agent_view.agent_actions))
                    earned = float(game.principal_view.utilities(strategy) @ counts / rounds)
                    found.append(((best - earned) / width, margin))
                row[f"{feedback}, {method}"], row[f"margin, {feedback}, {method}"] = min(found)
        rows.append(row)
    losses = dict.fromkeys(key for r in rows for key in r if key != "game" and "margin" not in key)
    mean = {key: float(np.mean([r[key] for r in rows if key in r])) for key in losses}
    return [*rows, {"game": "mean", **mean}]


def summary(found: dict[str, dict[str, dict[str, FloatArray]]]) -> list[dict[str, Any]]:
    """Return, by length, each method's worst score and the sequence where betting exceeds most."""
    rows = []
    for at, L in enumerate(LENGTHS):
        worst = {}
        for method in METHODS:
            worst[method] = max(
                (float(row[at]), f"{size}, {name}")
                for size, by_name in found[method].items()
                for name, row in by_name.items()
                if np.isfinite(row[at])
            )
        above = sorted(
            (float(row[at] - found["sleeping"][size][name][at]), f"{size}, {name}")
            for size, by_name in found["betting"].items()
            for name, row in by_name.items()
            if np.isfinite(row[at])
        )
        rows.append(
            {
                "L": L,
                "worst, sleeping": worst["sleeping"][0],
                "worst, betting": worst["betting"][0],
                "where": worst["betting"][1],
                "most above sleeping": above[-1][0],
                "there": above[-1][1],
                "sequences more than .1 above": sum(excess > 0.1 for excess, _ in above),
                "sequences": len(above),
            }
        )
    return rows


def by_sequence(found: dict[str, dict[str, dict[str, FloatArray]]]) -> list[dict[str, Any]]:
    """Return the worst of all games for each kind of sequence, sleeping → betting."""
    kinds = list(dict.fromkeys(name for rows in found["betting"].values() for name in rows))
    table = []
    for name in kinds:
        row: dict[str, Any] = {"sequence": name}
        for at, L in enumerate(LENGTHS):
            pair = [
                np.nanmax(
                    [rows[name][at] for rows in found[m].values() if name in rows] or [np.nan]
                )
                if any(np.isfinite(rows[name][at]) for rows in found[m].values() if name in rows)
                else np.nan
                for m in METHODS
            ]
            row[f"{L:,}"] = "–" if np.isnan(pair[1]) else f"{pair[0]:.2f} → {pair[1]:.2f}"
        table.append(row)
    return table


def draw(found: dict[str, dict[str, dict[str, FloatArray]]], file: Path) -> None:
    """Draw the worst and the median sequence of each method by the length of an interval."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    for method, colour in zip(METHODS, ("#8a8f98", "#1f6feb"), strict=True):
        table = np.array([row for rows in found[method].values() for row in rows.values()])
        ax.plot(LENGTHS, np.nanmax(table, axis=0), "-o", color=colour, markersize=4)
        ax.plot(LENGTHS, np.nanmedian(table, axis=0), "--o", color=colour, markersize=3)
        label = "sleeping experts" if method == "sleeping" else "betting"
        ax.plot([], [], "-", color=colour, label=label)
    ax.plot([], [], "-", color="black", label="worst sequence")
    ax.plot([], [], "--", color="black", label="median sequence")
    ax.set(
        xscale="log", yscale="log", xlabel="rounds L of an interval",
        ylabel="worst CalErr·√L/√ln(kmL)",
    )  # fmt: skip
    ax.legend(frameon=False, fontsize=9)
    ax.grid(alpha=0.25, linewidth=0.5)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    figure.savefig(file, dpi=160)
    plt.close(figure)


def fill(page: Path, tables: dict[str, list[dict[str, Any]]]) -> None:
    """Write tables into a page, each between its two comments."""
    text = page.read_text(encoding="utf-8")
    for name, rows in tables.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        head, rest = text.split(begin)
        text = head + begin + "\n" + "\n".join(table(rows, None)) + end + rest.split(end)[1]
    page.write_text(text, encoding="utf-8")


def main(*parts: str, seeds: int = 2) -> dict[str, Any]:
    """Measure all tables, or some of errors, speeds, flatness and told, and write them."""
    docs = Path(__file__).parent.parent / "docs"
    tables: dict[str, Any] = {}
    for part in parts or ("errors", "speeds", "flatness", "told"):
        if part == "errors":
            found: dict[str, dict[str, dict[str, FloatArray]]] = {method: {} for method in METHODS}
            for method, seed in itertools.product(METHODS, range(seeds)):
                for size, by_name in errors(SIZES, seed, method).items():
                    found[method] |= {f"{size}, game {seed}": by_name}
            draw(found, docs / "images" / "betting-errors.png")
            made = {"errors": summary(found), "sequences": by_sequence(found)}
        elif part == "speeds":
            rows = [{"m×k": size, **row} for size, row in speeds(SIZES).items()]
            made = {"thousand rounds a second": rows}
        elif part == "flatness":
            made = {"flatness": flatness()}
        else:
            made = {"told principals": told()}
        fill(docs / "explanation" / "betting.md", made)
        tables |= made
    return tables


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:]), indent=1, ensure_ascii=False))
