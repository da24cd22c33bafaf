"""How fast is play: rounds a second of every agent, and what the protocol adds to the agent.

Ratios within one run, since machines differ: run it with ``python -m benchmarks.play``.
"""

from __future__ import annotations

import json
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import stackcast as sc
from benchmarks._timing import measured
from stackcast import agents
from stackcast._random import stream
from stackcast.principals import PhaseSwitch
from stackcast.protocol import Block, play

GAME = sc.FiniteGame(
    [[0.2, 0.9, 0.1], [0.7, 0.3, 0.5], [0.4, 0.8, 0.6]],
    [[0.9, 0.1, 0.4], [0.2, 0.8, 0.5], [0.3, 0.4, 0.9]],
)
BLOCK = 100
#: Rounds that take about half a second.
ROUNDS = {"Calibrated": 20_000, "NonAdaptive": 60_000, "AdaptiveHedge": 60_000, "Lazy": 60_000}


def main() -> dict[str, Any]:
    """Return rounds a second of every agent at 3×3, and the ratios that we hold ourselves to."""
    table = {}
    for name in agents.names("finite"):
        rounds = ROUNDS.get(name, 500_000)
        blocks = strategies(rounds)
        alone = measured(partial(own_loop, name, blocks))
        played = measured(partial(in_play, name, blocks, rounds))
        table[name] = {
            "rounds a second alone": round(rounds / alone.median),
            "rounds a second in play": round(rounds / played.median),
            "play over alone": round(played.median / alone.median, 3),
            "spread alone": round(alone.spread, 3),
            "spread in play": round(played.spread, 3),
        }
    rate = {name: row["rounds a second in play"] for name, row in table.items()}
    return {
        "rounds of a block": BLOCK,
        "agents": table,
        "rounds of Hedge in play while Calibrated plays one": round(
            rate["Hedge"] / rate["Calibrated"], 1
        ),
        "time with a checkpoint every 10,000 rounds over that without": checkpointed(),
    }


def strategies(rounds: int) -> list[Block]:
    rows = stream(0, "benchmark", "play").dirichlet(np.ones(3), rounds // BLOCK)
    return [Block(row / row.sum(), BLOCK) for row in rows]


def own_loop(name: str, blocks: list[Block]) -> None:
    agent = agents.find(name)(GAME.agent_view)
    for block in blocks:
        agent.respond(block)


def in_play(name: str, blocks: list[Block], rounds: int, checkpoint: Path | None = None) -> None:
    script = [block.strategy for block in blocks]
    principal = PhaseSwitch(GAME.principal_view, script, [BLOCK] * len(script))
    agent = agents.find(name)(GAME.agent_view)
    play(principal, agent, rounds, GAME, checkpoint=checkpoint, every=10_000)


def checkpointed() -> float:
    """Return how much longer a run takes with a checkpoint every 10,000 rounds of Calibrated."""
    rounds = ROUNDS["Calibrated"]
    blocks = strategies(rounds)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        numbers = iter(range(100))
        safe = measured(
            lambda: in_play("Calibrated", blocks, rounds, place / f"{next(numbers)}.ckpt")
        )
    plain = measured(lambda: in_play("Calibrated", blocks, rounds))
    return round(safe.median / plain.median, 3)


if __name__ == "__main__":
    print(json.dumps(main(), indent=1))
