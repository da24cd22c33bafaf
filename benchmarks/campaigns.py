"""Campaigns that grow: what one more ask and tell cost after 100 to 50,000 tells.

*In a program*: processor time of opening the file, the verb, and closing it, when everything is
imported and compiled. An ask is measured as it comes, with the snapshot deleted, and after a
correction of the first tell. *As a command*: processor time of a whole process, its start included.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stackcast.campaigns import Campaign
from stackcast.games import FiniteGame, load_game

if TYPE_CHECKING:
    from collections.abc import Callable

GAME = load_game("inspection", FiniteGame)
SIZES = (100, 1_000, 10_000, 50_000)
_PROGRAM = [sys.executable, "-c", "from stackcast.cli import main; main()", "campaign"]


def respond(campaign: Campaign) -> list[int]:
    """Return what a best-responding agent with one slip in ten does in at most ten rounds."""
    advice = campaign.ask()
    best = int(GAME.respond(advice.strategy)[0])
    slip = (best + 1) % len(GAME.agent_actions)
    return [slip if i == 6 else best for i in range(min(advice.rounds, 10))]


def _sql(path: Path, *statements: str) -> None:
    with Campaign.open(path) as campaign:
        for statement in statements:
            campaign._journal.rows(statement)


def timed(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return 1000 * (time.process_time() - start)


def measured(path: Path, repeats: int = 5) -> dict[str, float]:
    """Return the medians of asks and tells in milliseconds."""
    found: dict[str, list[float]] = {}

    def ask() -> None:
        with Campaign.open(path) as campaign:
            campaign.ask()

    def tell() -> None:
        with Campaign.open(path) as campaign:
            campaign.tell(answer)

    for _ in range(repeats):
        with Campaign.open(path) as campaign:  # an undo leaves an ask open and no snapshot
            campaign.tell(respond(campaign))
            answer = respond(campaign)
        found.setdefault("tell", []).append(timed(tell))
        found.setdefault("ask", []).append(timed(ask))
        found.setdefault("ask again", []).append(timed(ask))
        tell()
        _sql(path, "DELETE FROM snapshot")
        found.setdefault("ask, snapshot deleted", []).append(timed(ask))
        with Campaign.open(path) as campaign:
            first = next(e.id for e in campaign.entries(None) if e.kind == "tell")
            campaign.correct(first, {GAME.agent_actions[0]: 10})
        found.setdefault("ask, after a correction", []).append(timed(ask))
        with Campaign.open(path) as campaign:
            campaign.undo()
    return {name: statistics.median(seconds) for name, seconds in found.items()}


def as_command(path: Path) -> dict[str, float]:
    """Return the processor milliseconds of whole processes."""

    def run(*arguments: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*_PROGRAM, *arguments], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return 1000 * used

    file, rows = str(path), []
    for _ in range(3):
        with Campaign.open(path) as campaign:
            campaign.tell(respond(campaign))
        row = {"ask": run("ask", file), "ask again": run("ask", file)}
        row["tell"] = run("tell", file, "comply=3")
        _sql(path, "DELETE FROM snapshot")
        row["ask, snapshot deleted"] = run("ask", file)
        rows.append(row)
    return {name: statistics.median(row[name] for row in rows) for name in rows[0]}


def main(sizes: tuple[int, ...] = SIZES) -> dict[str, Any]:
    """Print and return the tables of both."""
    within, commands, told, spent = [], [], 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.db"
        Campaign.new(path, GAME, horizon=10 * sizes[-1]).close()
        for size in sizes:
            with Campaign.open(path) as campaign:
                # Only here, where nothing is measured, need the disk not be waited for.
                campaign._journal.rows("PRAGMA synchronous = OFF")
                start = time.process_time()
                while told < size:
                    campaign.tell(respond(campaign))
                    told += 1
                spent += time.process_time() - start
            each = 1000 * spent / told
            within.append({"tells": told, "ask + tell so far": each, **measured(path)})
            commands.append({"tells": told, **as_command(path)})
            print(within[-1], commands[-1], sep="\n", flush=True)
        size_of = path.stat().st_size / 1e6
    return {
        "milliseconds in a program": within,
        "milliseconds of the processor as a command": commands,
        "megabytes of the file": size_of,
    }
