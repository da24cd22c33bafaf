"""Campaigns of many tells: what one more ask and one more tell cost, in and out of a program.

Each call opens the file, does its verb and closes it, as the command line does. *In a program* is
the time of that, when everything is imported and compiled. *As a command* is a whole process; its
start is that of the same verb on a campaign of one tell.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast.campaigns import Campaign
from stackcast.games import load_game

if TYPE_CHECKING:
    from collections.abc import Callable

GAME = load_game("inspection")
TELLS = 10_000
_PROGRAM = [sys.executable, "-c", "from stackcast.cli import main; main()", "campaign"]


def respond(campaign: Campaign) -> dict[str, int]:
    """Return what a best-responding agent with one slip in twenty does."""
    advice = campaign.ask()
    best = int(np.argmax(advice.strategy @ GAME.agent_payoffs))
    slips = advice.rounds // 20
    names = GAME.agent_actions
    return {names[best]: advice.rounds - slips, names[(best + 1) % len(names)]: slips}


def grow(path: Path, tells: int) -> None:
    """Make a campaign of so many tells, with nothing open."""
    with Campaign.new(path, GAME, horizon=100 * TELLS, margin=0.01) as campaign:
        # Only here, where nothing is measured, need the disk not be waited for.
        campaign._journal._connection.execute("PRAGMA synchronous = OFF")
        for _ in range(tells):
            campaign.tell(respond(campaign))


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def in_program(path: Path, repeats: int) -> dict[str, list[float]]:
    """Return the seconds of asks that decide, asks that repeat, and tells."""
    found: dict[str, list[float]] = {"ask": [], "ask again": [], "tell": []}

    def ask() -> None:
        with Campaign.open(path) as campaign:
            campaign.ask()

    def tell() -> None:
        with Campaign.open(path) as campaign:
            campaign.tell(answer)

    ask()
    for _ in range(repeats):
        with Campaign.open(path) as campaign:
            answer = respond(campaign)
        found["tell"].append(timed(tell))
        found["ask"].append(timed(ask))
        found["ask again"].append(timed(ask))
    return found


def as_command(path: Path, repeats: int) -> dict[str, list[float]]:
    """Return the seconds of whole processes."""
    found: dict[str, list[float]] = {"ask": [], "ask again": [], "tell": []}

    def run(*arguments: str) -> float:
        command = [*_PROGRAM, *arguments]
        return timed(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))

    for _ in range(repeats):
        with Campaign.open(path) as campaign:
            campaign.tell(respond(campaign))
        found["ask"].append(run("ask", str(path)))
        found["ask again"].append(run("ask", str(path)))
        found["tell"].append(run("tell", str(path), "comply=3"))
    return found


def main() -> dict[str, Any]:
    """Print and return both tables."""
    with tempfile.TemporaryDirectory() as folder:
        large, small = Path(folder) / "large.db", Path(folder) / "small.db"
        grow(small, 1)
        start = time.perf_counter()
        grow(large, TELLS)
        grown = time.perf_counter() - start
        size = large.stat().st_size
        print(f"{TELLS:,} asks and tells took {grown:.0f} s; the file has {size / 1e6:.1f} MB")
        within = in_program(large, 200)
        pairs = [(as_command(small, 1), as_command(large, 1)) for _ in range(9)]
    rows = []
    print("| verb | in a program: median, worst (ms) | as a command (ms) | its start (ms) |")
    print("|---|---|---|---|")
    for verb, seconds in within.items():
        whole = statistics.median(large_[verb][0] for _, large_ in pairs)
        begin = statistics.median(small_[verb][0] for small_, _ in pairs)
        row = {
            "verb": verb,
            "median_ms": 1000 * statistics.median(seconds),
            "worst_ms": 1000 * max(seconds),
            "command_ms": 1000 * whole,
            "start_ms": 1000 * begin,
        }
        rows.append(row)
        print(
            f"| {verb} | {row['median_ms']:.1f}, {row['worst_ms']:.1f} "
            f"| {row['command_ms']:.0f} | {row['start_ms']:.0f} |"
        )
    return {"rows": rows, "tells": TELLS, "grown_seconds": grown, "file_bytes": size}
