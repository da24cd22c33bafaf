"""Continuous games: regret of LazyGDwoG and of ResponseGradient, against epochs and rounds.

``python -m benchmarks continuous`` prints the tables of ``docs/tutorials/continuous.md`` and draws
its figures, ``continuous-regret.png``, ``credit-scoring.png`` and ``credit-scoring-full.png`` in
``docs/images``. The game is the strategic linear score (cost 2, regularisation 1, unit ball) with
features drawn from N(0, 0.3²) and the distance to the reference from N(0, 0.5²); medians over the
games of the seeds 0, 1, 2.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._random import stream
from stackcast.agents import ContinuousBestResponse, ContinuousCalibrated
from stackcast.auditing import ClassificationReport, audit, classification_report
from stackcast.games import Ball, load_game, quadratic_game, strategic_score
from stackcast.principals import Fixed, LazyGDwoG, ResponseGradient
from stackcast.protocol import play
from stackcast.report import draw_classification, draw_regrets, save_figure
from stackcast.solvers import solve

if TYPE_CHECKING:
    from collections.abc import Callable

    from stackcast._validation import FloatArray
    from stackcast.games import ContinuousGame
    from stackcast.protocol import Principal

IMAGES = Path(__file__).parent.parent / "docs" / "images"
SEEDS = range(3)
EPOCHS = (1_000, 10_000, 100_000)
ROUNDS = (10_000, 30_000, 100_000)
EPOCH_ROUNDS = 200
RULES = ("played", "last", "optimal", "naive")


def score_game(dimension: int, seed: int) -> ContinuousGame:
    rng = stream(seed, "benchmark", "continuous", dimension)
    features = rng.normal(0.0, 0.3, dimension)
    reference = features + rng.normal(0.0, 0.5, dimension)
    return strategic_score(
        Ball(dimension), features=features, reference=reference, cost=2.0, regularisation=1.0
    )


def exact_regrets(game: ContinuousGame, principal: Principal, epochs: int) -> FloatArray:
    """Return V* − C(h) of every epoch, against exact best responses."""
    value, regrets = solve(game).value, np.empty(epochs)
    for epoch in range(epochs):
        h = principal.commit().strategy
        y = game.best_responses(h)
        principal.observe(y)
        regrets[epoch] = value - game.principal_utilities(h, y)[0]
    return regrets


def calibrated_regret(
    game: ContinuousGame, make: Callable[[int], Principal], lengths: tuple[int, ...]
) -> list[tuple[int, float]]:
    """Return the regret of a play of each length against the calibrated agent."""
    found = []
    for rounds in lengths:
        agent = ContinuousCalibrated(game.agent_view)
        t = play(make(rounds), agent, rounds)
        total, start = 0.0, 0
        for block in t.blocks:
            stop = start + block.rounds
            total += float(game.principal_utilities(block.strategy, t.responses[start:stop]).sum())
            start = stop
        found.append((rounds, solve(game).value - total / rounds))
    return found


def against_exact() -> dict[str, dict[str, list[tuple[int, float]]]]:
    lazy: dict[str, list[tuple[int, float]]] = {}
    climbing: dict[str, list[tuple[int, float]]] = {}
    for m in (1, 2, 3, 5):
        games = [score_game(m, seed) for seed in SEEDS]
        lazy[f"m = {m}"] = [
            (
                epochs,
                float(
                    np.median(
                        [
                            exact_regrets(
                                g, LazyGDwoG(g.principal_view, epochs, seed=s), epochs
                            ).mean()
                            for s, g in enumerate(games)
                        ]
                    )
                ),
            )
            for epochs in EPOCHS
        ]
        runs = [
            exact_regrets(g, ResponseGradient(g.principal_view, epoch_rounds=1), 1000)
            for g in games
        ]
        means = np.median([run.cumsum() / np.arange(1, 1001) for run in runs], axis=0)
        climbing[f"m = {m}"] = [(n, float(means[n - 1])) for n in (1, 3, 10, 30, 100, 300, 1000)]
        fewer = int(np.argmax(means <= lazy[f"m = {m}"][-1][1])) + 1
        figures = ", ".join(f"{regret:.4f}" for _, regret in lazy[f"m = {m}"])
        print(
            f"m = {m}: LazyGDwoG {figures} at 10³, 10⁴, 10⁵ epochs; ResponseGradient "
            f"{means[9]:.4f}, {means[99]:.5f}, {means[999]:.6f} at 10, 100, 1,000; the last "
            f"figure of LazyGDwoG after {fewer} epochs",
            flush=True,
        )
    return {"LazyGDwoG": lazy, "ResponseGradient": climbing}


def against_calibrated() -> dict[str, dict[str, list[tuple[int, float]]]]:
    games: dict[str, Any] = {
        "score, m = 1": score_game(1, 0),
        "score, m = 2": score_game(2, 0),
        "credit, m = 2": load_game("credit-scoring"),
    }
    found: dict[str, dict[str, list[tuple[int, float]]]] = {"LazyGDwoG": {}, "ResponseGradient": {}}
    for name, game in games.items():
        view: Any = game.principal_view

        def lazy(rounds: int, view: Any = view) -> Principal:
            return LazyGDwoG(view, rounds // EPOCH_ROUNDS, epoch_rounds=EPOCH_ROUNDS)

        def climbing(_: int, view: Any = view) -> Principal:
            return ResponseGradient(view, epoch_rounds=EPOCH_ROUNDS)

        for principal, make in (("LazyGDwoG", lazy), ("ResponseGradient", climbing)):
            pairs = calibrated_regret(game, make, ROUNDS)
            found[principal][name] = pairs
            shown = ", ".join(f"{regret:.5f}" for _, regret in pairs)
            print(f"{name}: {principal} {shown} at {ROUNDS} rounds", flush=True)
    return found


DIMENSIONS = (1, 2, 5, 9)
LENGTHS = (1_000, 10_000, 100_000)


def games_of_dimension(m: int) -> dict[str, ContinuousGame]:
    """Return a quadratic and a score game, and credit scoring where there is one."""
    rng = stream(m, "benchmark", "continuous", "dimensions")
    named: dict[str, Any] = {"score": score_game(m, 0)}
    named["quadratic"] = quadratic_game(
        Ball(m),
        target=rng.normal(0.0, 0.5 / np.sqrt(m), m),
        response_weight=[0.4],
        interaction=rng.normal(0.0, 0.3 / np.sqrt(m), (m, 1)),
        offset=[0.1],
        reaction=rng.normal(0.0, 0.5 / np.sqrt(m), (1, m)),
    )
    if m in (2, 9):
        named["credit"] = load_game("credit-scoring" if m == 2 else "credit-scoring-full")
    return named


def width(game: ContinuousGame) -> float:
    """Return the range of U_P over strategies and the responses to some strategy, by sampling."""
    x = game.space.sample(300, 0)
    y = game.best_responses(game.space.sample(300, 1))
    utilities = np.concatenate([game.principal_utilities(h, y) for h in x])
    return float(np.ptp(utilities))


def in_many_dimensions(kept: Path = Path("out/continuous")) -> list[dict[str, Any]]:
    """Return the regret of the learners and of a told principal, as shares of the range of U_P.

    Each play is kept, so that a run that was stopped goes on. The slope is that from a tenth of the
    longest play to its end.
    """
    kept.mkdir(parents=True, exist_ok=True)
    rows = []
    for m in DIMENSIONS:
        for name, game in games_of_dimension(m).items():
            for who in (ContinuousBestResponse, ContinuousCalibrated):
                for principal in ("told", "ResponseGradient", "LazyGDwoG"):
                    row: dict[str, Any] = {"m": m, "game": name, "agent": who.__name__[10:]}
                    row["principal"] = principal
                    longest = LENGTHS[: 2 if m > 2 and principal == "LazyGDwoG" else 3]
                    for rounds in longest:
                        file = kept / f"{m}-{name}-{who.__name__}-{principal}-{rounds}.json"
                        if not file.exists():
                            t = play(
                                _named(principal, game, rounds), who(game.agent_view), rounds, game
                            )
                            found = audit(t, game)
                            assert not found.failed, found.failed
                            file.write_text(json.dumps(found.regret / width(game)))
                        row[f"{rounds:,}"] = json.loads(file.read_text())
                    last, before = (row[f"{n:,}"] for n in longest[:-3:-1])
                    row["slope"] = float(np.log10(last / before)) if min(last, before) > 0 else None
                    rows.append(row)
                    print(json.dumps(row), flush=True)
    return rows


def _named(principal: str, game: ContinuousGame, rounds: int) -> Principal:
    view: Any = game.principal_view
    if principal == "told":
        return Fixed(view, solve(game).strategy)
    if principal == "ResponseGradient":
        return ResponseGradient(view, epoch_rounds=200)
    length = max(1, min(200, rounds // 500))
    epochs, inner = rounds // length, game.space.inner_radius
    exploration = min(0.6, 0.9 * inner * (epochs / game.space.dimension**2) ** 0.25)
    return LazyGDwoG(view, epochs, epoch_rounds=length, exploration=exploration)


def _draw(report: ClassificationReport, name: str) -> None:
    size = (11.0, 3.0 + 0.25 * len(report.features))
    save_figure(IMAGES / f"{name}.png", partial(draw_classification, report), size, 2)


def credit() -> dict[str, Any]:
    game: Any = load_game("credit-scoring")
    principal = ResponseGradient(game.principal_view, epoch_rounds=EPOCH_ROUNDS)
    t = play(principal, ContinuousCalibrated(game.agent_view), 50_000, game=game)
    report = classification_report(t)
    _draw(report, "credit-scoring")
    full: Any = load_game("credit-scoring-full")
    principal = ResponseGradient(full.principal_view, epoch_rounds=1)
    t = play(principal, ContinuousBestResponse(full.agent_view), 200, game=full)
    nine = classification_report(t)
    _draw(nine, "credit-scoring-full")
    reports = {"two": report.to_dict(), "nine": nine.to_dict()}
    for name, table in reports.items():
        for rule in RULES:
            row = table[rule]
            print(
                f"{name} features, {rule}: utility {row['utility']:.4f}, "
                f"accuracy {row['accuracy']:.3f}, "
                f"balanced {row['balanced_accuracy']:.3f}, shift {np.round(row['shift'], 3)}"
            )
        print(f"{name} features: naive expects {table['believed']:.4f}")
    return credit_tables(reports)


def credit_tables(reports: dict[str, dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return what each rule earns, its weights, and how far it makes people move each feature."""
    return {
        "credit scoring: what each rule earns": [
            {
                "features": name,
                "rule": rule,
                "utility": report[rule]["utility"],
                "utility it believes in": report["believed"] if rule == "naive" else None,
                "accuracy": report[rule]["accuracy"],
                "balanced accuracy": report[rule]["balanced_accuracy"],
                "accuracy if nobody moved": report[rule]["accuracy_if_nobody_moves"],
            }
            for name, report in reports.items()
            for rule in RULES
        ],
        **{
            f"credit scoring: {what}": [
                {
                    "features": name,
                    "feature": feature,
                    "can be changed": feature in report["changeable"],
                    **{rule: report[rule][key][i] for rule in RULES},
                }
                for name, report in reports.items()
                for i, feature in enumerate(report["features"])
            ]
            for what, key in (("weights", "weights"), ("how far people move", "shift"))
        },
    }


def regret_rows(
    tables: dict[str, dict[str, list[tuple[int, float]]]],
) -> list[dict[str, Any]]:
    """Return one row for each principal and game, by how many epochs or rounds were played."""
    return [
        {
            "principal": principal,
            "game": game,
            **{f"{count:,}": regret for count, regret in pairs},
        }
        for principal, games in tables.items()
        for game, pairs in games.items()
    ]


def main() -> dict[str, Any]:
    """Return all tables, and draw the figures."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    exact = against_exact()
    rounds = against_calibrated()
    panels = {"epochs, exact best responses": exact, "rounds, calibrated agent": rounds}

    def draw(axes: Any) -> None:
        for ax, (unit, found) in zip(axes, panels.items(), strict=True):
            draw_regrets(found, ax, unit)

    save_figure(IMAGES / "continuous-regret.png", draw, (12.0, 6.0), 2)
    return {
        **{
            f"regret of {name} after epochs of exact best responses": regret_rows({name: games})
            for name, games in exact.items()
        },
        "regret after rounds against the calibrated agent": regret_rows(rounds),
        "regret in many dimensions, as a share of the range of U_P": in_many_dimensions(),
        **credit(),
    }


if __name__ == "__main__":
    main()
