"""Principals: questions against an oracle, rounds against agents, regret against the horizon.

    python -m benchmarks principals
    python -m benchmarks.principals rounds --games 20 --sizes 2 3 5 --compared 2

The first writes all five tables and the figure to ``docs/principals.md``; the second runs one of
queries, searches, rounds, agents and horizons, in the size that is asked for. All seeds are fixed;
games are those of the seeds 0, 1, 2, … with a regularity η ≥ 0.02, except in ``queries``.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks._held_games import FAMILIES, average_utility, regular_games, utility_by_round
from benchmarks._page import table
from benchmarks._searches import queries, searches
from benchmarks._storing import store
from stackcast.agents import BestResponse, Calibrated, Lazy, NonAdaptive, QuantalResponse
from stackcast.calibration import AdaptiveRate
from stackcast.games import FiniteGame
from stackcast.principals import (
    ExploreThenCommit,
    GridBandit,
    Oracle,
    Precision,
    TheoryParameters,
    UniformExplore,
    VersionSpace,
)
from stackcast.protocol import Block, Responses, play
from stackcast.solvers import solve

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE, FIGURE = Path("docs/principals.md"), Path("docs/images/principals-horizons.png")
#: Games of each family and size.
TARGETS = {"queries": 50, "searches": 20, "rounds": 20, "agents": 5, "horizons": 4}
#: Games of rounds that the others play too.
COMPARED = 5
#: Hand-set parameters of Algorithm 3: how coarse, and the constant of the rate. Each row of rounds
#: has those that turned out best on its games.
HAND_SET = ((1.0, 0.01), (1.0, 0.005), (2.0, 0.01), (4.0, 0.01))
#: Within this of V* a principal has committed again.
CLOSE = 0.06


def hand_set(m: int, k: int, horizon: int, coarse: float, constant: float) -> TheoryParameters:
    """Return parameters under which Algorithm 3 ends within the horizon where it can."""
    theory = TheoryParameters.compute(m, k, 0.1, horizon, AdaptiveRate(k, m, constant=constant))
    return replace(
        theory,
        tolerance=0.02 * coarse,
        robustness=0.01 * coarse,
        samples=3 * k,
        epochs=4,
        initial=Precision(0.03 * coarse, 0.02 * coarse),
        optimising=Precision(0.02 * coarse, 0.01 * coarse),
        checking=Precision(0.015 * coarse, 0.01 * coarse),
    )


def rounds(games: int, sizes: list[int], horizon: int, compared: int) -> list[dict[str, Any]]:
    """Measure V* − average utility over all rounds against the calibrated agent."""
    compared = min(compared, games)
    rows = []
    for family in FAMILIES:
        for m in sizes:
            plays: dict[str, list[tuple[float, int, int]]] = {}
            for i, (seed, game, value) in enumerate(regular_games(family, m, games)):
                learner = VersionSpace(game.principal_view, horizon, seed=seed)
                players: dict[str, Any] = {"VersionSpace": learner}
                if i < compared:
                    players |= others(game, horizon, seed)
                for name, principal in players.items():
                    agent = Calibrated(game.agent_view, seed=seed)
                    t = play(principal, agent, horizon, game, forecasts=False, progress=False)
                    loss = value - float(utility_by_round(t, game).mean())
                    asked = [block for block in t.blocks if block.phase != "commit"]
                    questions = len({block.strategy.tobytes() for block in asked})
                    if principal is learner:
                        questions = learner.result.questions
                    spent = sum(block.rounds for block in asked)
                    plays.setdefault(name, []).append((loss, questions, spent))
            by_hand = [name for name in plays if name.startswith("Algorithm 3")]
            best = min(by_hand, key=lambda name: float(np.mean([one[0] for one in plays[name]])))
            for name, found in plays.items():
                if name in by_hand and name != best:
                    continue
                loss, questions, spent = np.array(found).T
                told = name.startswith("Oracle")
                rows.append(
                    {
                        "family": family,
                        "size": m,
                        "principal": name,
                        "games": len(found),
                        "mean": float(loss.mean()),
                        "worst": float(loss.max()),
                        f"mean of the first {compared}": float(loss[:compared].mean()),
                        "median questions": 0.0 if told else float(np.median(questions)),
                        "rounds not committed": 0.0 if told else float(np.median(spent)),
                    }
                )
                print(json.dumps(rows[-1]), flush=True)
    return rows


def others(game: FiniteGame, horizon: int, seed: int) -> dict[str, Any]:
    """Return the principals that the practical learner is compared with."""
    view, (m, k) = game.principal_view, game.shape
    return {
        "Oracle, told the game": Oracle(game, margin=0.003),
        **{
            f"Algorithm 3, ×{coarse:g}, c = {constant:g}": ExploreThenCommit(
                view, hand_set(m, k, horizon, coarse, constant), seed=seed
            )
            for coarse, constant in HAND_SET
        },
        "UniformExplore": UniformExplore(view, horizon, seed=seed),
        "GridBandit": GridBandit(view, horizon),
    }


class Changing:
    """An agent whose payoffs change half-way: two agents, one after the other."""

    informed = False

    def __init__(self, before: Any, after: Any, switch: int) -> None:
        self._parts, self._switch, self._played = (before, after), switch, 0
        self.view, self.settings = before.view, {"name": "Changing"}

    def respond(self, block: Block) -> Responses:
        """Answer with the first agent, then with the second."""
        left = max(0, min(block.rounds, self._switch - self._played))
        self._played += block.rounds
        answers = []
        for part, count in zip(self._parts, (left, block.rounds - left), strict=True):
            if count:
                answers.append(part.respond(Block(block.strategy, count)).responses)
        return Responses(np.concatenate(answers))

    def state(self) -> dict[str, Any]:
        """Return how far it is."""
        return {"played": self._played}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from where it was."""
        self._played = state["played"]


def agents(games: int, horizon: int) -> list[dict[str, Any]]:
    """Play the same learner, unchanged, against other agents (3×3)."""
    kinds = {
        "Calibrated": Calibrated,
        "NonAdaptive": NonAdaptive,
        "Lazy": Lazy,
        "BestResponse": BestResponse,
        "QuantalResponse": QuantalResponse,
    }
    rows = []
    for family in FAMILIES:
        for name, kind in kinds.items():
            loss, constant = [], []
            for seed, game, value in regular_games(family, 3, games):
                learner = VersionSpace(game.principal_view, horizon, seed=seed)
                agent = kind(game.agent_view, seed=seed)
                loss.append(value - average_utility(learner, agent, game, horizon))
                constant.append(learner.result.constant)
            row = {
                "family": family,
                "agent": name,
                "mean": float(np.mean(loss)),
                "worst": float(np.max(loss)),
                "constant": float(np.median(constant)),
            }
            rows.append(row)
            print(json.dumps(row), flush=True)
        rows.append(changing(family, games, horizon))
        print(json.dumps(rows[-1]), flush=True)
    return rows


def changing(family: str, games: int, horizon: int) -> dict[str, Any]:
    """Change the agent's payoffs half-way, and find when the learner has committed again."""
    delays, losses = [], []
    for seed, game, _ in regular_games(family, 3, games):
        other = FAMILIES[family](3, 3, 1000 + seed)
        after = FiniteGame(game.principal_payoffs, other.agent_payoffs)
        learner = VersionSpace(game.principal_view, horizon, seed=seed)
        agent = Changing(
            Calibrated(game.agent_view, seed=seed),
            Calibrated(after.agent_view, seed=seed),
            horizon // 2,
        )
        t = play(learner, agent, horizon, forecasts=False, progress=False)
        loss = solve(after).value - utility_by_round(t, game)[horizon // 2 :]
        losses.append(float(loss[horizon // 10 :].mean()))
        pieces = loss[: len(loss) // 50 * 50].reshape(50, -1).mean(axis=1)
        good = np.flatnonzero(pieces <= CLOSE)
        delays.append(float(good[0]) / 100 if len(good) else np.inf)
    return {
        "family": family,
        "agent": "payoffs change half-way",
        "mean": float(np.mean(losses)),
        "worst": float(np.max(losses)),
        "re-committed after (share of the horizon)": [round(d, 2) for d in delays],
    }


def horizons(games: int, longest: int) -> dict[str, list[float]]:
    """Return the mean regret of some horizons, by family (3×3)."""
    lengths = [h for h in (1000, 3162, 10_000, 31_623, 100_000, 316_228, 1_000_000) if h <= longest]
    found: dict[str, list[float]] = {"horizon": [float(h) for h in lengths]}
    for family in FAMILIES:
        found[family] = []
        for horizon in lengths:
            loss = [
                value
                - average_utility(
                    VersionSpace(game.principal_view, horizon, seed=seed),
                    Calibrated(game.agent_view, seed=seed),
                    game,
                    horizon,
                )
                for seed, game, value in regular_games(family, 3, games)
            ]
            found[family].append(float(np.mean(loss)))
            print(json.dumps({"family": family, "horizon": horizon, "regret": found[family][-1]}))
    return found


def write_table(target: str, content: str) -> None:
    """Put a table between its two markers in the page of principals."""
    page = PAGE.read_text()
    start, end = f"<!-- {target}: measured -->\n", f"<!-- {target}: end -->"
    before, _, rest = page.partition(start)
    _, _, after = rest.partition(end)
    PAGE.write_text(before + start + content + end + after)


def at_least(least: int) -> Callable[[str], int]:
    """Return what reads a whole number, and refuses smaller ones in a sentence."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            expected = f"expected a whole number of at least {least:,}, found {text}."
            raise argparse.ArgumentTypeError(expected)
        return int(text)

    return read


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Run one of the five targets, or all, and write the tables to the docs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", nargs="?", default="all", choices=["all", *TARGETS])
    parser.add_argument("--games", type=at_least(1), help="instead of 50, 20, 20, 5 and 4")
    parser.add_argument(
        "--sizes", type=at_least(2), nargs="+", help="instead of 2 3 5, and 8 for queries"
    )
    parser.add_argument("--horizon", type=at_least(1), default=200_000)
    parser.add_argument(
        "--longest", type=at_least(1000), default=1_000_000, help="of the figure's horizons"
    )
    parser.add_argument(
        "--compared",
        type=at_least(1),
        default=COMPARED,
        help="games of rounds that all principals play",
    )
    options = parser.parse_args([] if arguments is None else arguments)
    tables: dict[str, Any] = {}
    for target in TARGETS if options.target == "all" else [options.target]:
        games = options.games or TARGETS[target]
        if target == "queries":
            tables[target] = queries(games, options.sizes or [2, 3, 5, 8])
        elif target == "searches":
            tables[target] = searches(games, options.sizes or [2, 3, 5])
        elif target == "rounds":
            sizes = options.sizes or [2, 3, 5]
            tables[target] = rounds(games, sizes, options.horizon, options.compared)
        elif target == "agents":
            tables[target] = agents(games, options.horizon)
        else:
            from stackcast.report.horizon_figure import save_horizons

            found = horizons(games, options.longest)
            save_horizons(found, FIGURE)
            columns = zip(*found.values(), strict=True)
            tables[target] = [dict(zip(found, row, strict=True)) for row in columns]
        write_table(target, "\n".join(table(tables[target], most=None)))
    return tables


if __name__ == "__main__":
    import sys

    store("principals", main(sys.argv[1:]), beside=True)
