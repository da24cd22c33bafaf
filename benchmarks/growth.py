"""How the cost of each part grows with the rounds T, the strategies m and the responses k.

Each alone: T at 3×3, m with k = 3, and k with m = 3, on log axes; sizes are of uniform games.
Columns are microseconds a round, or a game of the solver, or a question of the practical learner's
search. The exponent is the slope on log axes of this cost by least squares, and of its last step:
against T, 0 means that a play of twice the rounds takes twice as long, 1 that it takes four times.
"""

from __future__ import annotations

import time
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import stackcast as sc
from benchmarks._timing import Times, summary
from stackcast._random import stream
from stackcast.calibration import AdaptiveForecaster, BestResponseBinning
from stackcast.games import generators
from stackcast.principals import CommitmentLearner

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = (1_000, 10_000, 100_000, 1_000_000)
ACTIONS = (2, 3, 5, 10, 20, 50)
#: Costs differ between games of one size, so several are played.
GAMES = 5
_IMAGE = Path(__file__).parent.parent / "docs" / "images" / "growth.png"


class Size(NamedTuple):
    """Strategies, responses and rounds."""

    m: int
    k: int
    rounds: int


class Curve(NamedTuple):
    """A job that returns how many units it did, and what must be there before it is timed."""

    name: str
    job: Callable[[Size, int], int]
    needs: Callable[[Size, int], object]
    unit: str = "round"


def main() -> dict[str, Any]:
    """Return the three tables and draw them."""
    in_play = [
        Curve("forecaster", forecast, _game),
        Curve("Calibrated in play", partial(play, "Calibrated"), _game),
        Curve("Hedge in play", partial(play, "Hedge"), _game),
        Curve("profile over all intervals", profile, _transcript),
        Curve("audit", audited, _transcript),
    ]
    principal = Curve("CommitmentLearner in play", principal_play, _game)
    solver = Curve("solver", solved, _game, "game")
    tables = {
        "rounds T, with m = k = 3": [grown(c, 1, ROUNDS, _rounds) for c in (*in_play, principal)]
    }
    for title, size in (
        ("strategies m, with k = 3", _strategies),
        ("responses k, with m = 3", _responses),
    ):
        tables[title] = [grown(c, GAMES, ACTIONS, size) for c in (*in_play, solver)]
    draw(tables)
    return tables


def _rounds(rounds: int) -> Size:
    return Size(3, 3, rounds)


def _strategies(m: int) -> Size:
    return Size(m, 3, 2000)


def _responses(k: int) -> Size:
    return Size(3, k, 2000)


def grown(
    curve: Curve, games: int, sizes: tuple[int, ...], size: Callable[[int], Size]
) -> dict[str, Any]:
    """Return a row: microseconds by size, the exponents and the largest spread."""
    found = {n: cost(curve, games, size(n)) for n in sizes}
    logs = np.log(list(found)), np.log([each.median for each in found.values()])
    row = {
        "part": curve.name,
        "unit": f"µs a {curve.unit}",
        **{f"{n:,}": 1e6 * each.median for n, each in found.items()},
        "exponent": round(float(np.polyfit(*logs, 1)[0]), 2),
        "exponent of the last step": round(float(np.diff(logs[1])[-1] / np.diff(logs[0])[-1]), 2),
        "largest spread": max(each.spread for each in found.values()),
    }
    print(row, flush=True)
    return row


def cost(curve: Curve, games: int, size: Size) -> Times:
    """Return seconds a unit: the median of seven repeats, of three that take over a second each.

    What is long has only a short run before it that is not counted.
    """
    curve.job(size._replace(rounds=min(size.rounds, 1000)), 0)
    for seed in range(games):
        curve.needs(size, seed)
    times: list[float] = []
    for repeat in range(8):
        start = time.perf_counter()
        units = sum(curve.job(size, seed) for seed in range(games))
        seconds = time.perf_counter() - start
        if repeat or seconds > 1:
            times.append(seconds / units)
        if len(times) == 3 and seconds > 1:
            break
    return summary(times)


def forecast(size: Size, seed: int) -> int:
    forecaster = AdaptiveForecaster(BestResponseBinning(_game(size, seed).agent_view), seed=seed)
    forecaster.run(np.repeat(_strategies_of(size, seed), 100, axis=0)[: size.rounds])
    return size.rounds


def play(agent: str, size: Size, seed: int) -> int:
    game = _game(size, seed)
    sc.play(_changing(size, seed), sc.agents.find(agent)(game.agent_view, seed=seed), size.rounds)
    return size.rounds


def principal_play(size: Size, seed: int) -> int:
    game = _game(size, seed)
    learner = CommitmentLearner(game.principal_view, size.rounds, seed=seed)
    agent = sc.agents.Calibrated(game.agent_view, seed=seed)
    sc.play(learner, agent, size.rounds, forecasts=False)
    return size.rounds


def profile(size: Size, seed: int) -> int:
    t = _transcript(size, seed)
    assert t.forecasts is not None
    sc.calibration_profile(t.strategies, t.forecasts, t.responses, lengths=[50])
    return size.rounds


def audited(size: Size, seed: int) -> int:
    sc.audit(_transcript(size, seed), profile=False)
    return size.rounds


def solved(size: Size, seed: int) -> int:
    for _ in range(20):
        sc.solve(_game(size, seed))
    return 20


@cache
def _game(size: Size, seed: int) -> sc.FiniteGame:
    return generators.uniform(size.m, size.k, seed)


@cache
def _strategies_of(size: Size, seed: int) -> Any:
    return stream(seed, "growth").dirichlet(np.ones(size.m), -(-size.rounds // 100))


def _changing(size: Size, seed: int) -> sc.principals.PhaseSwitch:
    """Return a principal that commits anew in every block of 100 rounds."""
    rows = list(_strategies_of(size, seed))
    return sc.principals.PhaseSwitch(_game(size, seed).principal_view, rows, [100] * len(rows))


@cache
def _transcript(size: Size, seed: int) -> sc.Transcript:
    game = _game(size, seed)
    agent = sc.agents.Calibrated(game.agent_view, seed=seed)
    return sc.play(_changing(size, seed), agent, size.rounds, game)


def draw(tables: dict[str, list[dict[str, Any]]]) -> None:
    from stackcast.report import COLOURS, load_pyplot

    pyplot = load_pyplot()
    # Yellow lines are hard to see; what is not a round is black and grey.
    colours = [*(c for c in COLOURS if c != "#F0E442"), "#000000", "#777777"]
    names = list(dict.fromkeys(row["part"] for table in tables.values() for row in table))
    figure, axes = pyplot.subplots(1, 3, figsize=(11, 4.4), sharey=True, layout="constrained")
    handles: dict[str, Any] = {}
    for ax, (title, table) in zip(axes, tables.items(), strict=True):
        ticks: dict[int, str] = {}
        for row in table:
            i = names.index(row["part"])
            points = {int(n.replace(",", "")): v for n, v in row.items() if n[0].isdigit()}
            style = "-" if row["unit"].endswith("round") else "--"
            (line,) = ax.plot(
                list(points),
                list(points.values()),
                style,
                marker="os^DvPX*"[i],
                markersize=5,
                color=colours[i],
            )
            unit = row["unit"].removeprefix("µs ")
            handles.setdefault(f"{row['part']}, {unit}", line)
            ticks |= {n: f"{n:,}" if n < 1000 else f"$10^{round(np.log10(n))}$" for n in points}
        ax.set(xscale="log", yscale="log", xlabel=title)
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="y", alpha=0.3, linewidth=0.6)
        ax.set_xticks(sorted(ticks), [ticks[n] for n in sorted(ticks)])
        ax.set_xticks([], minor=True)
    axes[0].set_ylabel("microseconds")
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside upper center",
        ncols=4,
        frameon=False,
        fontsize=9,
    )
    figure.savefig(_IMAGE, dpi=150)
    pyplot.close(figure)
