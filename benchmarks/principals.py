"""Principals: questions against an oracle, rounds against agents, regret against the horizon.

    python -m benchmarks principals
    python -m benchmarks.principals rounds --games 20 --sizes 2 3 5 --compared 2

The first writes all four tables and the figure to ``docs/principals.md``; the second runs one of
queries, rounds, agents and horizons, in the size that is asked for. All seeds are
fixed; games are those of the seeds 0, 1, 2, … with a regularity η ≥ 0.02 where rounds are counted.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks._storing import store
from stackcast.agents import BestResponse, Calibrated, Lazy, NonAdaptive, QuantalResponse
from stackcast.calibration import AdaptiveRate
from stackcast.games import FiniteGame
from stackcast.games.generators import competing, uniform
from stackcast.principals import (
    ExactOracle,
    ExploreThenCommit,
    Oracle,
    PayoffSearch,
    Precision,
    TheoryParameters,
    VersionSpace,
    ask_oracle,
    search_payoffs,
)
from stackcast.protocol import Block, Responses, play
from stackcast.regions import BestResponseRegions
from stackcast.solvers import solve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stackcast._validation import FloatArray

FAMILIES = {"uniform": uniform, "competing": competing}
PAGE, FIGURE = Path("docs/principals.md"), Path("docs/images/principals-horizons.png")
#: Games of each family and size.
TARGETS = {"queries": 50, "rounds": 20, "agents": 5, "horizons": 4}
#: Games of rounds that the others play too.
COMPARED = 5
#: Hand-set parameters of Algorithm 3: how coarse, and the constant of the rate. Each row of rounds
#: has those that turned out best on its games.
HAND_SET = ((1.0, 0.01), (1.0, 0.005), (2.0, 0.01), (4.0, 0.01))
#: Within this of V* a principal has committed again.
CLOSE = 0.06
#: The medians to reach.
PROTOTYPE = {
    "uniform": {2: 6, 3: 13, 5: 22, 8: 35},
    "competing": {2: 9, 3: 30, 5: 82, 8: 500},
}


def regular_games(family: str, size: int, count: int) -> Iterator[tuple[int, FiniteGame, float]]:
    """Yield seed, game and V* of the first games with η ≥ 0.02."""
    seed = found = 0
    while found < count:
        game = FAMILIES[family](size, size, seed)
        solution = solve(game, details=True)
        if solution.regularity >= 0.02:
            found += 1
            yield seed, game, solution.value
        seed += 1


def queries(games: int, sizes: list[int]) -> list[dict[str, Any]]:
    """Count questions to an oracle that answers at random within 1e-3 of a facet."""
    rows = []
    for family, generator in FAMILIES.items():
        for m in sizes:
            asked, losses, solves, seconds, unsafe = [], [], [], [], 0
            for seed in range(games):
                game = generator(m, m, seed)
                best = solve(game, details=True)
                search = PayoffSearch(
                    game.principal_view, margin=1e-3, accuracy=1e-3, tolerance=9.5e-3, seed=seed
                )
                oracle = ExactOracle(game.agent_view, ambiguous=1e-3, seed=seed)
                start = time.perf_counter()
                try:
                    found = ask_oracle(search_payoffs(search), oracle, most=1000)
                except RuntimeError:
                    found = search.certified
                seconds.append(time.perf_counter() - start)
                asked.append(oracle.queries)
                solves.append(search.cloud.solves / oracle.queries)
                if found is None:
                    losses.append(np.inf)
                    continue
                true = BestResponseRegions(game).margin(found.strategy, found.response)
                unsafe += true < found.margin - 1e-12
                if best.regularity >= 0.02:
                    losses.append(best.value - found.value)
            row = {
                "family": family,
                "size": m,
                "games": games,
                "median": float(np.median(asked)),
                "largest": max(asked),
                "to reach": PROTOTYPE[family].get(m),
                "limit": m + 1,
                "worst loss": float(max(losses)),
                "losses above 0.01": int(sum(loss > 0.01 for loss in losses)),
                "margins refuted": int(unsafe),
                "solves a query": float(np.mean(solves)),
                "seconds a game": float(np.mean(seconds)),
            }
            rows.append(row)
            print(json.dumps(row), flush=True)
    return rows


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


def utility_by_round(t: Any, game: FiniteGame) -> FloatArray:
    """Return what the principal earned in every round."""
    earned, start = np.empty(len(t.responses)), 0
    for block in t.blocks:
        part = slice(start, start + block.rounds)
        earned[part] = game.principal_utilities(block.strategy)[t.responses[part]]
        start += block.rounds
    return earned


def average_utility(principal: Any, agent: Any, game: FiniteGame, rounds: int) -> float:
    """Return what the principal earned in a round, exploration included."""
    t = play(principal, agent, rounds, game, forecasts=False, progress=False)
    return float(utility_by_round(t, game).mean())


def rounds(games: int, sizes: list[int], horizon: int, compared: int) -> list[dict[str, Any]]:
    """Measure V* − average utility over all rounds against the calibrated agent."""
    rows = []
    for family in FAMILIES:
        for m in sizes:
            loss: dict[str, list[float]] = {"told": [], "VersionSpace": []}
            by_hand: dict[str, list[float]] = {f"×{a:g}, c = {c:g}": [] for a, c in HAND_SET}
            explored, questions = [], []
            for i, (seed, game, value) in enumerate(regular_games(family, m, games)):
                learner = VersionSpace(game.principal_view, horizon, seed=seed)
                players: dict[str, Any] = {"VersionSpace": learner}
                if i < compared:
                    players["told"] = Oracle(game, margin=0.003)
                    for name, chosen in zip(by_hand, HAND_SET, strict=True):
                        players[name] = ExploreThenCommit(
                            game.principal_view, hand_set(m, m, horizon, *chosen), seed=seed
                        )
                for name, principal in players.items():
                    agent = Calibrated(game.agent_view, seed=seed)
                    earned = average_utility(principal, agent, game, horizon)
                    (by_hand | loss)[name].append(value - earned)
                spent = learner.result.rounds
                explored.append(horizon - spent.get("commit", 0))
                questions.append(learner.result.questions)
            best = min(by_hand, key=lambda name: float(np.mean(by_hand[name])))
            loss["Algorithm 3"] = by_hand[best]
            row = {
                "family": family,
                "size": m,
                **{f"{name} mean": float(np.mean(found)) for name, found in loss.items()},
                **{f"{name} worst": float(np.max(found)) for name, found in loss.items()},
                "Algorithm 3 set to": best,
                "rounds not committed": float(np.median(explored)),
                "questions": float(np.median(questions)),
                "games": games,
                "games of the others": min(compared, games),
            }
            rows.append(row)
            print(json.dumps(row), flush=True)
    return rows


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


def table(rows: list[dict[str, Any]]) -> str:
    """Return rows as a Markdown table."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    for row in rows:
        cells = [
            f"{cell:.4g}" if isinstance(cell, float) else str(cell)
            for cell in (row.get(name, "") for name in names)
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def write_table(target: str, content: str) -> None:
    """Put a table between its two markers in the page of principals."""
    page = PAGE.read_text()
    start, end = f"<!-- {target}: measured -->\n", f"<!-- {target}: end -->"
    before, _, rest = page.partition(start)
    _, _, after = rest.partition(end)
    PAGE.write_text(before + start + content + "\n" + end + after)


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Run one of the four targets, or all, and write the tables to the docs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", nargs="?", default="all", choices=["all", *TARGETS])
    parser.add_argument("--games", type=int, help="instead of 50, 20, 5 and 4")
    parser.add_argument("--sizes", type=int, nargs="+", help="instead of 2 3 5, and 8 for queries")
    parser.add_argument("--horizon", type=int, default=200_000)
    parser.add_argument("--longest", type=int, default=1_000_000, help="of the figure's horizons")
    parser.add_argument(
        "--compared",
        type=int,
        default=COMPARED,
        help="games that the others play in the rounds table, at least one",
    )
    options = parser.parse_args([] if arguments is None else arguments)
    tables: dict[str, Any] = {}
    for target in TARGETS if options.target == "all" else [options.target]:
        games = options.games or TARGETS[target]
        if target == "queries":
            tables[target] = queries(games, options.sizes or [2, 3, 5, 8])
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
        write_table(target, table(tables[target]))
    return tables


if __name__ == "__main__":
    import sys

    store("principals", main(sys.argv[1:]), beside=True)
