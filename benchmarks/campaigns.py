"""Campaigns of many tells: what one more ask and one more tell cost, in and out of a program.

Each call opens the file, does its verb and closes it, as the command line does. *In a program* is
the time of that, when everything is imported and compiled, in campaigns of one tell and of many.
*As a command* is the processor time of a whole process, its start included.
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

from benchmarks._timing import summary
from stackcast.campaigns import Campaign
from stackcast.games import load_game

if TYPE_CHECKING:
    from collections.abc import Callable


GAME = load_game("inspection")
TELLS = 10_000
_PROGRAM = [sys.executable, "-c", "from stackcast.cli import main; main()", "campaign"]


def respond(campaign: Campaign) -> list[int]:
    """Return what a best-responding agent with one slip in ten does in at most ten rounds."""
    advice = campaign.ask()
    best = int(GAME.respond(advice.strategy)[0])
    slip = (best + 1) % len(GAME.agent_actions)
    return [slip if i == 6 else best for i in range(min(advice.rounds, 10))]


def grow(path: Path, tells: int) -> None:
    """Make a campaign of so many tells, with nothing open."""
    with Campaign.new(path, GAME, horizon=10 * TELLS, margin=0.01) as campaign:
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


def _processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def as_command(path: Path, repeats: int) -> dict[str, list[float]]:
    """Return the seconds of whole processes."""
    found: dict[str, list[float]] = {"ask": [], "ask again": [], "tell": []}

    def run(*arguments: str) -> float:
        before = _processor_time()
        subprocess.run([*_PROGRAM, *arguments], check=True, stdout=subprocess.DEVNULL)
        return _processor_time() - before

    for _ in range(repeats):
        with Campaign.open(path) as campaign:
            campaign.tell(respond(campaign))
        found["ask"].append(run("ask", str(path)))
        found["ask again"].append(run("ask", str(path)))
        found["tell"].append(run("tell", str(path), "comply=3"))
    return found


def main() -> dict[str, Any]:
    """Print and return the tables of both."""
    with tempfile.TemporaryDirectory() as folder:
        large, small = Path(folder) / "large.db", Path(folder) / "small.db"
        grow(small, 1)
        start = time.perf_counter()
        grow(large, TELLS)
        grown = time.perf_counter() - start
        size = large.stat().st_size
        print(f"{TELLS:,} asks and tells took {grown:.0f} s; the file has {size / 1e6:.1f} MB")
        first, within = in_program(small, 100), in_program(large, 100)
        pairs = [(as_command(small, 1), as_command(large, 1)) for _ in range(5)]
    within_program = [
        {
            "verb": verb,
            "after one tell": 1000 * statistics.median(first[verb]),
            "after many": 1000 * statistics.median(seconds),
            "largest after many": 1000 * max(seconds),
            "runs": len(seconds),
        }
        for verb, seconds in within.items()
    ]
    commands = []
    for verb in within:
        small_, large_ = (summary([pair[i][verb][0] for pair in pairs]) for i in (0, 1))
        commands.append(
            {
                "verb": verb,
                "after one tell": 1000 * small_.median,
                "spread": small_.spread,
                "after many": 1000 * large_.median,
                "spread after many": large_.spread,
                "runs": len(pairs),
            }
        )
    for row in (*within_program, *commands):
        print(row)
    return {
        "milliseconds in a program": within_program,
        "milliseconds of the processor as a command": commands,
        "many tells are": TELLS,
        "seconds to make them": grown,
        "megabytes of the file": size / 1e6,
    }
