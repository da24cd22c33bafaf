"""Security games: solving, calibrated attackers, and learning, at their real size.

Run it with ``python -m benchmarks security``; ``docs/reference/security.md`` says what its columns
mean. The families are those of ``near_equal_security`` and ``security``, with one resource where
learned. ``python -m benchmarks.security 0`` prints the learning of the games from seed 0 on, or
from any other; by default from one on which no setting was chosen.
"""

from __future__ import annotations

import sys
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

import stackcast as sc
from benchmarks._parallel import in_parallel
from benchmarks._timing import measured
from stackcast._random import stream
from stackcast.games import generators
from stackcast.principals import CommitmentLearner
from stackcast.protocol import Block

HORIZON = 100_000
GAMES = 24
#: No setting of the learner was chosen on the games from this seed on.
HELD = 2000


def main() -> dict[str, Any]:
    """Return the tables."""
    tables: dict[str, Any] = {}
    for name, table in (
        ("solving", solving),
        ("attackers", attackers),
        ("learning", learning),
    ):
        tables[name] = table()
        for row in tables[name]:
            print(name, row, flush=True)
    return tables


def solving() -> list[dict[str, Any]]:
    rows = []
    for n in (10, 100, 1000, 10_000):
        game = generators.security(n, max(1, n // 20), seed=0)
        found = measured(partial(sc.solve, game), 9)
        rows.append({"targets": n, "milliseconds": 1e3 * found.median, "spread": found.spread})
    return rows


def attackers() -> list[dict[str, Any]]:
    """Return rounds a second of the calibrated attacker, coverage changed every 500 rounds."""
    rows = []
    for n, resources, rounds in ((5, 1, 20_000), (20, 1, 10_000), (20, 4, 5000), (100, 10, 1000)):
        game = generators.security(n, resources, seed=0)
        found = measured(partial(_attacked, game, resources, rounds), 3)
        rows.append(
            {
                "targets": n,
                "resources": resources,
                "rounds a second": round(rounds / found.median),
                "spread": found.spread,
            }
        )
    return rows


def _attacked(game: sc.SecurityGame, resources: int, rounds: int) -> None:
    n = game.principal_view.space.dimension
    rng = stream(0, "benchmark", "security", n)
    agent = sc.agents.Calibrated(game.agent_view, seed=0)
    for _ in range(rounds // 500):
        coverage = np.minimum(rng.dirichlet(np.ones(n)) * resources, 1.0)
        agent.respond(Block(coverage, 500))


def learning(first: int = HELD) -> list[dict[str, Any]]:
    """Return the regret a round against the calibrated attacker, beside one who knows the game.

    Regret is the sum of its four parts (see ``_parts``). As many games as there are cores are
    played at once.
    """
    sizes, families = (5, 10, 20), ("near equal", "random")
    seeds = range(first, first + GAMES)
    results = in_parallel(
        _learned, [(family, n, seed) for n in sizes for family in families for seed in seeds]
    )
    rows = []
    for n in sizes:
        for family in families:
            parts, told, certified = zip(*islice(results, GAMES), strict=True)
            margins = [margin for margin in certified if margin is not None]
            regrets = [sum(part.values()) for part in parts]
            rows.append(
                {
                    "targets": n,
                    "family": family,
                    "games": GAMES,
                    "regret": round(float(np.mean(regrets)), 4),
                    "worst": round(max(regrets), 4),
                    **{
                        name: round(float(np.mean([part[name] for part in parts])), 4)
                        for name in parts[0]
                    },
                    "told everything": round(float(np.mean(told)), 4),
                    "certified": len(margins),
                    "least margin": round(min(margins, default=0.0), 4),
                }
            )
    return rows


def _learned(family: str, n: int, seed: int) -> tuple[dict[str, float], float, float | None]:
    """Return the parts of the learner's regret, that of one who knows, and a certified margin."""
    game = (
        generators.security(n, 1, seed)
        if family == "random"
        else generators.near_equal_security(n, seed)
    ).normalised()
    learner = CommitmentLearner(game.principal_view, HORIZON, seed=seed)
    parts = _parts(game, learner, seed)
    oracle = sc.principals.Oracle(game, margin=0.02)
    agent = sc.agents.Calibrated(game.agent_view, seed=seed)
    t = sc.play(oracle, agent, HORIZON, forecasts=False)
    told = sc.audit(t, game, profile=False).regret
    return parts, told, learner.result.margin if learner.result.certified else None


def _parts(game: sc.SecurityGame, learner: CommitmentLearner, seed: int) -> dict[str, float]:
    """Return what the learner loses a round, by what it is lost to.

    ``explore`` and ``certify`` are the rounds of questions. In the others ``margin`` is what the
    commitment is worth less than the optimum, and ``stray`` what attacks on other targets than the
    one that is meant cost beyond that.
    """
    value = sc.solve(game).value
    agent = sc.agents.Calibrated(game.agent_view, seed=seed)
    lost = {"explore": 0.0, "margin": 0.0, "stray": 0.0, "certify": 0.0}
    played = 0
    while played < HORIZON:
        block = learner.commit()
        block = Block(block.strategy, min(block.rounds, HORIZON - played), block.phase)
        meant = learner.result.response
        answers = agent.respond(block).responses
        utilities = game.principal_view.utilities(block.strategy)
        short = float((value - utilities[answers]).sum()) / HORIZON
        if block.phase == "commit":
            margin = block.rounds * (value - float(utilities[meant])) / HORIZON
            lost["margin"] += margin
            lost["stray"] += short - margin
        else:
            lost[block.phase] += short
        learner.observe(answers)
        played += block.rounds
    return lost


if __name__ == "__main__":
    for line in learning(int(sys.argv[1]) if len(sys.argv) > 1 else HELD):
        print(line, flush=True)
