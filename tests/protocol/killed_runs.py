"""A program for ``test_checkpoints``: runs that are killed at random moments, and their ends.

It imports once and forks a child for every start of a run, so that a kill costs milliseconds:

    python killed_runs.py FOLDER KILLS SEED
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import stackcast as sc
from stackcast._random import stream
from stackcast._state import load_state
from stackcast.agents import Calibrated, Hedge, Lazy
from stackcast.protocol import Agent, Block, Principal, Recommendation, Transcript, play

if TYPE_CHECKING:
    from stackcast._validation import FloatArray

GAME = sc.FiniteGame(
    [[0.2, 0.9, 0.1], [0.7, 0.3, 0.5], [0.4, 0.8, 0.6]],
    [[0.9, 0.1, 0.4], [0.2, 0.8, 0.5], [0.3, 0.4, 0.9]],
)
RUNS: dict[str, tuple[int, int]] = {
    "Hedge": (60_000, 600),
    "Calibrated": (6_000, 60),
    "Lazy": (40_000, 400),
}
PLAYERS: dict[str, Any] = {"Hedge": Hedge, "Calibrated": Calibrated, "Lazy": Lazy}


@dataclass(eq=False, repr=False)
class Wanderer(Principal):
    """A principal whose next block depends on its stream and on all answers so far."""

    rng: np.random.Generator = field(init=False)
    counts: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.rng = stream(8, "wanderer")
        self.counts = np.ones(3)

    @property
    def result(self) -> Recommendation:
        return Recommendation(self.counts / self.counts.sum(), None, float("nan"))

    def commit(self) -> Block:
        lengths = (1, 7, 90, 2500)
        rounds = lengths[int(self.rng.integers(4))]
        strategy = self.rng.dirichlet(self.counts / self.counts.sum() * 3)
        return Block(strategy / strategy.sum(), rounds, f"up to {rounds}")

    def observe(self, responses: Any) -> None:
        self.counts = 0.9 * self.counts + np.bincount(responses, minlength=3) + 0.01


def agent(name: str) -> Agent:
    sees = {} if PLAYERS[name].informed else {"feedback": "action"}
    made: Agent = PLAYERS[name](GAME.agent_view, seed=4, **sees)
    return made


def digest(transcript: Transcript) -> str:
    content = hashlib.sha256(json.dumps([transcript.phases, transcript.metadata]).encode())
    for array in transcript._arrays().values():
        if array is not None:
            content.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())
    return content.hexdigest()


def start(name: str, folder: Path) -> int:
    """Fork a process that runs (or goes on) until it ends or is killed; return its id."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            rounds, every = RUNS[name]
            path = folder / f"{name}.ckpt"
            t = play(
                Wanderer(GAME.principal_view),
                agent(name),
                rounds,
                GAME,
                checkpoint=path,
                every=every,
            )
            (folder / f"{name}.end").write_text(digest(t))
            status = 0
        finally:
            os._exit(status)
    return child


def main(folder: Path, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    took, right = {}, {}
    for name, (rounds, _) in RUNS.items():
        play(Wanderer(GAME.principal_view), agent(name), 3000)
        begun = time.monotonic()
        right[name] = digest(play(Wanderer(GAME.principal_view), agent(name), rounds, GAME))
        took[name] = time.monotonic() - begun + 0.1
    report = {"kills": 0, "resumed": 0, "torn": 0, "ends": 0, "wrong": 0}
    names = list(RUNS)
    while report["kills"] < kills or report["ends"] < len(names):
        name = names[report["ends"] % len(names)]
        path = folder / f"{name}.ckpt"
        child = start(name, folder)
        if report["kills"] < kills:
            time.sleep(chance.random() * took[name] * 0.4)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            report["kills"] += 1
            if path.exists():
                report["resumed"] += 1
                counted = load_state(path, "checkpoint")["length"]
                report["torn"] += path.with_name(path.name + ".rounds").stat().st_size > counted
            continue
        end = folder / f"{name}.end"
        report["ends"] += 1
        report["wrong"] += status != 0 or end.read_text() != right[name]
        for file in folder.iterdir():
            file.unlink()
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
