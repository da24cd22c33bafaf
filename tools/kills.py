"""Kill the command line at every kind of moment, go on, and compare with a run left alone.

``python tools/kills.py [play] [sweep] [tell] [--kills N] [--seed S] [--write]`` kills each command
N times: half of them by the clock, half *inside* a write, a sync, a rename or a truncation, which
strace counts and interrupts (without strace, all by the clock). After each kill the command is
given again as a person would, until it ends. What it leaves must equal, bit for bit, what a run
without kills leaves: nothing lost, nothing twice. ``--write`` puts the table on
``docs/reference/kills.md``. The exit code is 1 if anything differed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reference" / "kills.md"
PROGRAM = [sys.executable, "-c", "from stackcast.cli import main; main()"]
CALLS = "write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat,ftruncate"
STRACE = shutil.which("strace")
SPEC = """
rounds = [300]
seeds = 4
[[games]]
name = "inspection"
[[principals]]
name = "UniformExplore"
[[agents]]
name = "Calibrated"
[[agents]]
name = "Hedge"
"""


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the program to its end."""
    return subprocess.run(
        [*PROGRAM, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def count(arguments: list[str], folder: Path) -> int:
    """Return how many calls of the kinds that are interrupted a command makes."""
    if STRACE is None:
        return 0
    log = folder / "calls.log"
    trace = [STRACE, "-f", "-qq", "-o", str(log), "-e", f"trace={CALLS}"]
    subprocess.run([*trace, *PROGRAM, *arguments], cwd=folder, capture_output=True, check=False)
    calls = len(log.read_text(errors="replace").splitlines())
    log.unlink()
    return calls


def killed(arguments: list[str], folder: Path, at: int, seconds: float) -> bool:
    """Kill a command inside its call number ``at``, or after some seconds; say whether it died."""
    command = [*PROGRAM, *arguments]
    if at and STRACE is not None:
        inject = ["-e", f"trace={CALLS}", "-e", f"inject={CALLS}:signal=KILL:when={at}"]
        command = [STRACE, "-f", "-qq", "-o", "/dev/null", *inject, *command]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        process.wait(None if at else seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return process.returncode not in (0, 1, 2)


@dataclass
class Story:
    """A command that is killed: how it starts, how it goes on, and what it leaves."""

    begin: Callable[[Path], None]
    command: Callable[[Path], list[str]]
    left: Callable[[Path], str]


def _digest(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _nothing(folder: Path) -> None:
    pass


def _play(folder: Path) -> list[str]:
    if (folder / "run").exists():
        return ["play", "--resume", "run", "--quiet"]
    return ["play", "inspection", "--rounds", "40000", "--out", "run", "--quiet"]


def _play_left(folder: Path) -> str:
    import stackcast as sc

    t = sc.Transcript.load(folder / "run" / "transcript.parquet")
    arrays = [t.responses, t.strategies, t.forecasts]
    files = sorted(p.name for p in (folder / "run").iterdir())
    return _digest(
        files, [hashlib.sha256(a.tobytes()).hexdigest() for a in arrays if a is not None]
    )


def _sweep_begin(folder: Path) -> None:
    (folder / "spec.toml").write_text(SPEC)


def _sweep(folder: Path) -> list[str]:  # noqa: ARG001
    return ["sweep", "spec.toml", "--out", "rows", "--workers", "1", "--quiet"]


def _sweep_left(folder: Path) -> str:
    import polars as pl

    from stackcast.sweeps import load

    rows = pl.DataFrame(load(folder / "rows"))
    same = [c for c in rows.columns if not re.search("second|time|when|worker|host", c)]
    return _digest(sorted(json.dumps(row, default=str) for row in rows.select(same).rows()))


def _tell_begin(folder: Path) -> None:
    run(["campaign", "new", "c.db", "--game", "inspection", "--horizon", "500"], folder)
    for _ in range(3):
        _tell_one(folder)
    run(["campaign", "ask", "c.db", "--json"], folder)


def _rounds(folder: Path) -> int:
    found = run(["campaign", "status", "c.db", "--json"], folder)
    return int(json.loads(found.stdout)["rounds"])


def _tell_one(folder: Path) -> None:
    advice = json.loads(run(["campaign", "ask", "c.db", "--json"], folder).stdout)
    run(["campaign", "tell", "c.db", f"comply={advice['rounds']}"], folder)


def _tell(folder: Path) -> list[str]:
    advice = json.loads(run(["campaign", "ask", "c.db", "--json"], folder).stdout)
    return ["campaign", "tell", "c.db", f"comply={advice['rounds']}"]


def _tell_left(folder: Path) -> str:
    status = json.loads(run(["campaign", "status", "c.db", "--json"], folder).stdout)
    advice = json.loads(run(["campaign", "ask", "c.db", "--json"], folder).stdout)
    return _digest(
        status["rounds"], status["average_utility"], advice["strategy"], advice["rounds"]
    )


STORIES = {
    "play": Story(_nothing, _play, _play_left),
    "sweep": Story(_sweep_begin, _sweep, _sweep_left),
    "tell": Story(_tell_begin, _tell, _tell_left),
}


def attack(name: str, kills: int, seed: int) -> tuple[int, int, list[str]]:
    """Return how often the command died, how often inside a call, and what went wrong."""
    story, rng, wrong = STORIES[name], random.Random(f"{name} {seed}"), []
    died = inside = 0
    with tempfile.TemporaryDirectory() as where:
        base = Path(where)
        (base / "clean").mkdir()
        story.begin(base / "clean")
        shutil.copytree(base / "clean", base / "start")
        calls = count(story.command(base / "clean"), base / "clean")
        wanted = story.left(base / "clean")
        tells = _rounds(base / "clean") if name == "tell" else 0
        number = 0
        while died < kills and number < 3 * kills:
            number += 1
            folder = base / f"{number}"
            shutil.copytree(base / "start", folder)
            at = rng.randrange(1, calls + 1) if calls and number % 2 else 0
            if killed(story.command(folder), folder, at, rng.uniform(0.3, 5.0)):
                died, inside = died + 1, inside + bool(at)
            for _ in range(3):
                if name == "tell" and _rounds(folder) >= tells:
                    break
                end = run(story.command(folder), folder)
                if end.returncode in (0, 1):
                    break
            try:
                found = story.left(folder)
            except Exception as error:  # nothing readable is left
                found = f"{type(error).__name__}: {error}; {end.stderr[-300:]}"
            if found != wanted:
                wrong.append(f"{name}, kill {number} (call {at} of {calls}): {found[:400]}")
            shutil.rmtree(folder)
    return died, inside, wrong


def main() -> int:
    """Kill, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(description="Kill the command line and go on.")
    parser.add_argument("stories", nargs="*", metavar="STORY", help=", ".join(STORIES))
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    given = parser.parse_args()
    failed, rows = 0, []
    for name in given.stories or STORIES:
        died, inside, wrong = attack(name, given.kills, given.seed)
        failed += len(wrong)
        rows.append(f"| {name} | {died} | {inside} | {len(wrong)} |")
        print(rows[-1], *wrong, sep="\n", flush=True)
    if given.write:
        head, _, _ = PAGE.read_text(encoding="utf-8").partition("| command |")
        table = ["| command | kills | inside a call | differed |", "|---|---|---|---|", *rows]
        PAGE.write_text(head + "\n".join(table) + "\n", encoding="utf-8")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
