"""Principals: questions against an oracle, rounds against agents, regret against the horizon.

    python -m benchmarks principals
    python -m benchmarks.principals rounds --games 20 --sizes 2 3 5 --compared 2

The first writes all five tables and the figure to ``docs/reference/earlier-learners.md``; the
second runs one of searches, rounds, agents and horizons, in the size that is asked for. All seeds
are fixed; games are those of the seeds 0, 1, 2, … with a regularity η ≥ 0.02. As many games as
there are cores are played at once; only the seconds depend on it.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks._held_games import FAMILIES, average_utility, regular_games, utility_by_round
from benchmarks._page import table
from benchmarks._parallel import in_parallel
from benchmarks._searches import searches
from benchmarks._storing import store
from stackcast.agents import BestResponse, Calibrated, Lazy, NonAdaptive, QuantalResponse
from stackcast.calibration import AdaptiveRate
from stackcast.games import FiniteGame
from stackcast.principals import (
    CommitmentLearner,
    ExploreThenCommit,
    GridBandit,
    Oracle,
    Precision,
    TheoryParameters,
    UniformExplore,
)
from stackcast.protocol import Agent, Block, Responses, play
from stackcast.solvers import solve

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE, FIGURE = (
    Path("docs/reference/earlier-learners.md"),
    Path("docs/images/principals-horizons.png"),
)
#: Games of each family and size.
TARGETS = {"searches": 20, "rounds": 20, "agents": 5, "horizons": 4}
#: Games of rounds that the others play too.
COMPARED = 5
#: Hand-set parameters of Algorithm 3: how coarse, and the constant of the rate. Each row of rounds
#: has those that turned out best on its games.
HAND_SET = ((1.0, 0.01), (1.0, 0.005), (2.0, 0.01), (4.0, 0.01))
#: Within this of V* a principal has committed again.
CLOSE = 0.06
#: The agents that the learner meets unchanged, and one who is two of them.
AGENTS = {
    "Calibrated": Calibrated,
    "NonAdaptive": NonAdaptive,
    "Lazy": Lazy,
    "BestResponse": BestResponse,
    "QuantalResponse": QuantalResponse,
}
CHANGES = "payoffs change half-way"


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
    tasks = [
        (family, m, seed, value, name, horizon)
        for family in FAMILIES
        for m in sizes
        for i, (seed, _, value) in enumerate(regular_games(family, m, games))
        for name in (PLAYERS if i < compared else ["CommitmentLearner"])
    ]
    results = zip(tasks, in_parallel(_played, tasks), strict=True)
    rows = []
    for family in FAMILIES:
        for m in sizes:
            plays: dict[str, list[tuple[float, int, int]]] = {}
            for (_, _, _, _, name, _), one in islice(
                results, games + compared * (len(PLAYERS) - 1)
            ):
                plays.setdefault(name, []).append(one)
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


def _played(
    family: str, size: int, seed: int, value: float, name: str, horizon: int
) -> tuple[float, int, int]:
    """Return what a principal lost a round, its questions, and the rounds that it spent on them."""
    game = FAMILIES[family](size, size, seed)
    principal = PLAYERS[name](game, horizon, seed)
    agent = Calibrated(game.agent_view, seed=seed)
    t = play(principal, agent, horizon, game, forecasts=False)
    loss = value - float(utility_by_round(t, game).mean())
    asked = [block for block in t.blocks if block.phase != "commit"]
    questions = len({block.strategy.tobytes() for block in asked})
    if isinstance(principal, CommitmentLearner):
        questions = principal.result.questions
    return loss, questions, sum(block.rounds for block in asked)


def _by_hand(game: FiniteGame, horizon: int, seed: int, coarse: float, constant: float) -> Any:
    parameters = hand_set(*game.shape, horizon, coarse, constant)
    return ExploreThenCommit(game.principal_view, parameters, seed=seed, oracle="question")


#: The practical learner, and the principals that it is compared with.
PLAYERS: dict[str, Callable[[FiniteGame, int, int], Any]] = {
    "CommitmentLearner": lambda game, horizon, seed: CommitmentLearner(
        game.principal_view, horizon, seed=seed
    ),
    "Oracle, told the game": lambda game, _horizon, _seed: Oracle(game, margin=0.003),
    **{
        f"Algorithm 3, ×{coarse:g}, c = {constant:g}": partial(
            _by_hand, coarse=coarse, constant=constant
        )
        for coarse, constant in HAND_SET
    },
    "UniformExplore": lambda game, horizon, seed: UniformExplore(
        game.principal_view, horizon, seed=seed
    ),
    "GridBandit": lambda game, horizon, _seed: GridBandit(game.principal_view, horizon),
}


class Changing(Agent):
    """An agent whose payoffs change half-way: two agents, one after the other."""

    def __init__(self, before: Any, after: Any, switch: int) -> None:
        super().__init__(before.view)
        self._parts, self._switch, self._played = (before, after), switch, 0

    def respond(self, block: Block) -> Responses:
        """Answer with the first agent, then with the second."""
        left = max(0, min(block.rounds, self._switch - self._played))
        self._played += block.rounds
        answers = []
        for part, count in zip(self._parts, (left, block.rounds - left), strict=True):
            if count:
                answers.append(part.respond(Block(block.strategy, count)).responses)
        return Responses(np.concatenate(answers))


def agents(games: int, horizon: int) -> list[dict[str, Any]]:
    """Play the same learner, unchanged, against other agents (3×3)."""
    held = {family: list(regular_games(family, 3, games)) for family in FAMILIES}
    results = in_parallel(
        _answered,
        [
            (family, seed, value, name, horizon)
            for family in FAMILIES
            for name in (*AGENTS, CHANGES)
            for seed, _, value in held[family]
        ],
    )
    rows = []
    for family in FAMILIES:
        for name in (*AGENTS, CHANGES):
            losses, others = zip(*islice(results, games), strict=True)
            row: dict[str, Any] = {
                "family": family,
                "agent": name,
                "mean": float(np.mean(losses)),
                "worst": float(np.max(losses)),
            }
            if name == CHANGES:
                row["re-committed after (share of the horizon)"] = [round(d, 2) for d in others]
            else:
                row["sharpness"] = float(np.median(others))
            rows.append(row)
            print(json.dumps(row), flush=True)
    return rows


def _answered(family: str, seed: int, value: float, name: str, horizon: int) -> tuple[float, float]:
    """Return what the learner lost a round, and the sharpness it ended with, or its delay."""
    if name == CHANGES:
        return _changed(family, seed, horizon)
    game = FAMILIES[family](3, 3, seed)
    learner = CommitmentLearner(game.principal_view, horizon, seed=seed)
    agent = AGENTS[name](game.agent_view, seed=seed)
    return value - average_utility(learner, agent, game, horizon), learner.result.agent.sharpness


def _changed(family: str, seed: int, horizon: int) -> tuple[float, float]:
    """Change the agent's payoffs half-way, and find when the learner has committed again."""
    game = FAMILIES[family](3, 3, seed)
    other = FAMILIES[family](3, 3, 1000 + seed)
    after = FiniteGame(game.principal_payoffs, other.agent_payoffs)
    learner = CommitmentLearner(game.principal_view, horizon, seed=seed)
    agent = Changing(
        Calibrated(game.agent_view, seed=seed),
        Calibrated(after.agent_view, seed=seed),
        horizon // 2,
    )
    t = play(learner, agent, horizon, forecasts=False)
    loss = solve(after).value - utility_by_round(t, game)[horizon // 2 :]
    pieces = loss[: len(loss) // 50 * 50].reshape(50, -1).mean(axis=1)
    good = np.flatnonzero(pieces <= CLOSE)
    delay = float(good[0]) / 100 if len(good) else np.inf
    return float(loss[horizon // 10 :].mean()), delay


def horizons(games: int, longest: int) -> dict[str, list[float]]:
    """Return the mean regret of some horizons, by family (3×3)."""
    lengths = [h for h in (1000, 3162, 10_000, 31_623, 100_000, 316_228, 1_000_000) if h <= longest]
    found: dict[str, list[float]] = {"horizon": [float(h) for h in lengths]}
    held = {family: list(regular_games(family, 3, games)) for family in FAMILIES}
    results = in_parallel(
        _answered,
        [
            (family, seed, value, "Calibrated", horizon)
            for family in FAMILIES
            for horizon in lengths
            for seed, _, value in held[family]
        ],
    )
    for family in FAMILIES:
        found[family] = []
        for horizon in lengths:
            regret = float(np.mean([loss for loss, _ in islice(results, games)]))
            found[family].append(regret)
            row = {"family": family, "horizon": horizon, "regret": regret}
            print(json.dumps(row), flush=True)
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
    parser.add_argument("--sizes", type=at_least(2), nargs="+", help="instead of 2 3 5")
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
        if target == "searches":
            tables[target] = searches(games, options.sizes or [2, 3, 5])
        elif target == "rounds":
            sizes = options.sizes or [2, 3, 5]
            tables[target] = rounds(games, sizes, options.horizon, options.compared)
        elif target == "agents":
            tables[target] = agents(games, options.horizon)
        else:
            from stackcast.report import draw_horizons, save_figure

            found = horizons(games, options.longest)
            save_figure(FIGURE, partial(draw_horizons, found))
            columns = zip(*found.values(), strict=True)
            tables[target] = [dict(zip(found, row, strict=True)) for row in columns]
        write_table(target, "\n".join(table(tables[target], most=None)))
    return tables


if __name__ == "__main__":
    import sys

    store("principals", main(sys.argv[1:]), beside=True)
