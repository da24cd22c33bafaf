"""A program for ``test_journal``: campaigns that are killed at random moments, and their ends.

It imports once and forks a child for every life of a campaign, so that a kill costs milliseconds:

    python killed_campaigns.py FOLDER PRINCIPAL KILLS SEED
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from stackcast._random import stream
from stackcast._state import State, generator_state, restored_generator
from stackcast.campaigns import Campaign, HalfKnownGame, campaign
from stackcast.protocol import Block, Recommendation

GAME = HalfKnownGame(
    [[0.2, 0.9, 0.1], [0.7, 0.3, 0.5], [0.4, 0.8, 0.6]],
    ["thorough", "light", "none"],
    ["comply", "cut corners", "violate"],
    name="shop",
)
AGENT = np.array([[0.9, 0.1, 0.4], [0.2, 0.8, 0.5], [0.3, 0.4, 0.9]])
ACTS = 60


class Wanderer:
    """A principal whose next block depends on its stream, its log and all answers so far."""

    def __init__(
        self, view: Any, horizon: int, seed: int = 0, *, log: Any = None, margin: float = 0.0
    ) -> None:
        self.view, self.horizon = view, horizon
        self.settings = {"name": "Wanderer", "seed": seed, "margin": margin}
        self.rng = stream(seed, "wanderer")
        self.counts = np.ones(len(view.agent_actions))
        if log is not None:
            self.counts += np.sum(log[1], axis=0)
        self.committed = False

    @property
    def result(self) -> Recommendation:
        mean = np.full(len(self.view.principal_actions), 1 / len(self.view.principal_actions))
        best = int(np.argmax(self.counts))
        return Recommendation(mean, best, float(self.view.utilities(mean)[best]), 0.01, 1.0)

    def commit(self) -> Block:
        assert not self.committed
        self.committed = True
        rounds = int(self.rng.integers(3, 12))
        strategy = self.rng.dirichlet(np.resize(self.counts / self.counts.sum() * 3, 3))
        return Block(strategy / strategy.sum(), rounds, f"up to {rounds}")

    def observe(self, responses: Any) -> None:
        assert self.committed
        assert len(responses) > 0
        self.committed = False
        self.counts = 0.9 * self.counts + np.bincount(responses, minlength=len(self.counts))

    def state(self) -> State:
        assert not self.committed
        return {"rng": generator_state(self.rng), "counts": self.counts.copy()}

    def restore(self, state: State) -> None:
        self.rng, self.counts = restored_generator(state["rng"]), state["counts"].copy()
        self.committed = False


def use_wanderer(name: str) -> Any:
    return Wanderer


def act(campaign: Campaign) -> bool:
    """Do the next thing, whatever was done before; False when all is done."""
    entries = campaign.entries()
    acts = [entry for entry in entries if entry.kind != "ask"]
    n = len(acts)
    if n >= ACTS:
        return False
    if n % 13 == 6:
        campaign.undo()
    elif n % 13 == 10:
        told = [entry for entry in acts if entry.kind == "tell" and entry.revoked_by is None]
        campaign.correct(told[-1].id, {"comply": n, "violate": 1})
    elif n == 30:
        campaign.import_log((np.eye(3)[[0, 1, 1]], [0, 1, 1]))
    elif n == 45:
        campaign.add_action("bribe", [0, 0, 0.5])
    else:
        advice = campaign.ask()
        played = [0.2, 0.3, 0.5] if n % 13 == 3 else None
        best = int(np.argmax((advice.strategy if played is None else np.array(played)) @ AGENT))
        responses: list[int | None] = [best] * advice.rounds
        responses[n % advice.rounds] = None if n % 3 else (best + 1) % 3
        campaign.tell(responses[: max(1, advice.rounds - n % 2)], played)
    return True


def content(path: Path) -> list[Any]:
    with Campaign.open(path) as campaign:
        return [[e.id, e.kind, e.about, e.body, e.revoked_by] for e in campaign.entries()]


def until(entries: list[Any], last: int) -> list[Any]:
    """Return the entries as they stood when there were so many."""
    return [[*e[:4], e[4] if e[4] is not None and e[4] <= last else None] for e in entries[:last]]


def live(path: Path, acknowledged: Path, principal: str) -> int:
    """Fork a process that goes on with the campaign until it ends or is killed; return its id."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if not path.exists():
                Campaign.new(path, GAME, principal, horizon=600, seed=3).close()
            with Campaign.open(path) as campaign, acknowledged.open("ab", buffering=0) as file:
                while act(campaign):
                    file.write(b"%d\n" % campaign.entries(last=1)[0].id)
            status = 0
        finally:
            os._exit(status)
    return child


def main(folder: Path, principal: str, kills: int, seed: int) -> None:
    if principal == "Wanderer":
        campaign.find_principal = use_wanderer
    chance = random.Random(seed)
    whole = folder / "whole.db"
    os.waitpid(live(folder / "first.db", folder / "first.txt", principal), 0)  # compiles
    begun = time.monotonic()
    os.waitpid(live(whole, folder / "whole.txt", principal), 0)
    took = time.monotonic() - begun
    right = content(whole)
    report = {"kills": 0, "ends": 0, "wrong": 0, "lost": 0, "entries": len(right)}
    while report["kills"] < kills or report["ends"] < 2:
        path, acknowledged = (folder / f"{report['ends']}.{end}" for end in ("db", "txt"))
        child = live(path, acknowledged, principal)
        if report["kills"] < kills:
            time.sleep(chance.random() * took * 0.5)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if acknowledged.exists():
            numbers = [int(word) for word in acknowledged.read_text().split()]
            found = content(path)
            report["lost"] += found != until(right, len(found)) or numbers[-1:] > [len(found)]
        if os.WIFSIGNALED(status):
            report["kills"] += 1
            continue
        report["ends"] += 1
        report["wrong"] += status != 0 or content(path) != right
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
