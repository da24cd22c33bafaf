"""How the cost of each part grows with the rounds T and with the actions m = k, on log axes.

Medians of repeats; ``python -m benchmarks growth`` also draws ``docs/images/growth.png``.
"""

from __future__ import annotations

import statistics
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import stackcast as sc
from benchmarks._timing import measured
from stackcast._random import stream
from stackcast.calibration import AdaptiveForecaster, BestResponseBinning
from stackcast.games import generators

if TYPE_CHECKING:
    from collections.abc import Callable

    from stackcast.games import FiniteGame

ROUNDS = (1_000, 10_000, 100_000)
ACTIONS = (2, 3, 5, 10, 20, 50)
#: Of everything that was measured.
SPREADS: list[float] = []
_IMAGE = Path(__file__).parent.parent / "docs" / "images" / "growth.png"


def main() -> dict[str, Any]:
    """Return microseconds a round against T, and against m = k; the solver's a game."""
    three = generators.uniform(3, 3, 0)
    by_rounds: dict[str, dict[int, float]] = {}
    for name, run in (
        ("forecaster", partial(forecast, three)),
        ("calibrated agent in play", partial(play, three, "Calibrated")),
        ("Hedge in play", partial(play, three, "Hedge")),
        ("profile over all intervals", profile),
        ("audit", audited),
    ):
        by_rounds[name] = {T: microseconds(run, T) for T in ROUNDS}
        print(name, by_rounds[name], flush=True)
    by_actions: dict[str, dict[int, float]] = {}
    for m in ACTIONS:
        game = generators.uniform(m, m, 0)
        for name, rounds, run in (
            ("forecaster", 2000, partial(forecast, game)),
            ("Hedge in play", 20_000, partial(play, game, "Hedge")),
        ):
            by_actions.setdefault(name, {})[m] = microseconds(run, rounds)
    print(by_actions, flush=True)
    by_actions["solver, a game"] = {m: microseconds(solved(m), 20) for m in ACTIONS}
    draw(by_rounds, by_actions)
    return {
        "microseconds_a_round_by_rounds": by_rounds,
        "microseconds_by_actions": by_actions,
        "median_spread": statistics.median(SPREADS),
        "largest_spread": max(SPREADS),
    }


def microseconds(run: Callable[[int], object], count: int) -> float:
    """Return the median time of one round or repeat, after a run that is not measured."""
    found = measured(partial(run, count))
    SPREADS.append(found.spread)
    return round(1e6 * found.median / count, 3)


def forecast(game: FiniteGame, rounds: int) -> object:
    m = game.shape[0]
    outcomes = np.repeat(stream(0, "growth").dirichlet(np.ones(m), rounds // 100 + 1), 100, axis=0)
    forecaster = AdaptiveForecaster(BestResponseBinning(game.agent_view), seed=0)
    return forecaster.run(outcomes[:rounds])


def play(game: FiniteGame, agent: str, rounds: int) -> object:
    rows = stream(0, "growth").dirichlet(np.ones(game.shape[0]), rounds // 100 + 1)
    lengths = [100] * len(rows)
    principal = sc.principals.PhaseSwitch(game.principal_view, list(rows), lengths)
    return sc.play(principal, sc.agents.find(agent)(game.agent_view, seed=0), rounds)


_TRANSCRIPTS: dict[int, sc.Transcript] = {}


def _transcript(rounds: int) -> sc.Transcript:
    if rounds not in _TRANSCRIPTS:
        game = generators.uniform(3, 3, 0)
        rows = list(stream(0, "growth").dirichlet(np.ones(3), rounds // 100 + 1))
        principal = sc.principals.PhaseSwitch(game.principal_view, rows, [100] * len(rows))
        agent = sc.agents.Calibrated(game.agent_view, seed=0)
        _TRANSCRIPTS[rounds] = sc.play(principal, agent, rounds, game)
    return _TRANSCRIPTS[rounds]


def profile(rounds: int) -> object:
    t = _transcript(rounds)
    assert t.forecasts is not None
    return sc.calibration_profile(t.strategies, t.forecasts, t.responses, lengths=[50])


def audited(rounds: int) -> object:
    return sc.audit(_transcript(rounds), profile=False)


def solved(m: int) -> Callable[[int], object]:
    games = [generators.uniform(m, m, seed) for seed in range(20)]
    return lambda count: [sc.solve(game) for game in games[:count]]


def draw(by_rounds: dict[str, dict[int, float]], by_actions: dict[str, dict[int, float]]) -> None:
    from stackcast.report.figures import COLOURS, load_pyplot

    pyplot = load_pyplot()
    figure, axes = pyplot.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
    colours = [colour for colour in COLOURS if colour != "#F0E442"]  # yellow lines are hard to see
    for ax, table, label in zip(
        axes, (by_rounds, by_actions), ("rounds T, at 3×3", "actions m = k"), strict=True
    ):
        for i, (name, row) in enumerate(table.items()):
            colour = colours[i]
            ax.plot(list(row), list(row.values()), "o-", color=colour, label=name)
        ax.set(xscale="log", yscale="log", xlabel=label, ylabel="microseconds a round")
        ax.spines[["top", "right"]].set_visible(False)
        sizes = list(next(iter(table.values())))
        ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
        ax.set_xticks([], minor=True)
        ax.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    figure.savefig(_IMAGE, dpi=150)
    pyplot.close(figure)
