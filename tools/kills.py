"""Kill the command line at every kind of moment, go on, and compare with a run left alone.

``python tools/kills.py [play] [sweep] [tell] [--kills N] [--seed S] [--write]`` kills each command
N times: half of them by the clock, half *inside* a write, a sync, a rename, an unlink or a
truncation, of which the first half is done where there is a half. A library of 30 lines that is
loaded before the C library counts the calls (it is compiled with cc; without one, all kills are by
the clock). After each kill the command is given again as a person would, until it ends. What it
leaves must equal, bit for bit, what a run without kills leaves: nothing lost, nothing twice.
``--write`` puts the table on ``docs/reference/kills.md``. The exit code is 1 if anything differed.

The program is loaded once, and every command is a fork of it.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reference" / "kills.md"
LIBRARY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>
static long left = -1, seen = 0;
void arm(long n) { left = n; seen = 0; }
long count(void) { return seen; }
static int now(void) { seen++; return left > 0 && --left == 0; }
static void die(void) { kill(getpid(), SIGKILL); for (;;) pause(); }
#define REAL(name, ...) static __typeof__(name) *real; if (!real) real = dlsym(RTLD_NEXT, #name)
ssize_t write(int fd, const void *p, size_t n) {
  REAL(write); if (now()) { real(fd, p, n / 2); die(); } return real(fd, p, n); }
ssize_t pwrite(int fd, const void *p, size_t n, off_t at) {
  REAL(pwrite); if (now()) { real(fd, p, n / 2, at); die(); } return real(fd, p, n, at); }
ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at) {
  REAL(pwrite64); if (now()) { real(fd, p, n / 2, at); die(); } return real(fd, p, n, at); }
int fsync(int fd) { REAL(fsync); if (now()) die(); return real(fd); }
int fdatasync(int fd) { REAL(fdatasync); if (now()) die(); return real(fd); }
int ftruncate(int fd, off_t n) { REAL(ftruncate); if (now()) die(); return real(fd, n); }
int ftruncate64(int fd, off64_t n) { REAL(ftruncate64); if (now()) die(); return real(fd, n); }
int unlink(const char *p) { REAL(unlink); if (now()) die(); return real(p); }
int rename(const char *p, const char *q);
int rename(const char *p, const char *q) { REAL(rename); if (now()) die(); return real(p, q); }
"""
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


@dataclass(frozen=True)
class Ended:
    """How a fork ended."""

    code: int
    stdout: str
    stderr: str
    calls: int = 0


def forked(
    work: Callable[[], Any], folder: Path, at: int = 0, seconds: float | None = None
) -> Ended:
    """Run ``work`` in a fork, in a folder; kill it in its call number ``at``, or after seconds."""
    counter = None
    with contextlib.suppress(AttributeError):
        counter = (ctypes.CDLL(None).arm, ctypes.CDLL(None).count)
    with tempfile.TemporaryDirectory() as place:
        out, err, calls = (Path(place) / name for name in ("out", "err", "calls"))
        child = os.fork()
        if child == 0:
            os.chdir(folder)
            for number, file in ((1, out), (2, err)):
                os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), number)
            if counter:
                counter[0](ctypes.c_long(at or -1))
            code = 70
            try:
                work()
                code = 0
            except SystemExit as end:
                code = int(end.code or 0)
            finally:
                seen = counter[1]() if counter else 0
                sys.stdout.flush()
                sys.stderr.flush()
                calls.write_text(f"{seen}")
                os._exit(code)
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            done, status = os.waitpid(child, 0 if deadline is None else os.WNOHANG)
            if done:
                break
            if deadline is not None and time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
                deadline = None
            time.sleep(0.002)
        read = [p.read_text(errors="replace") if p.exists() else "" for p in (out, err, calls)]
        return Ended(os.waitstatus_to_exitcode(status), read[0], read[1], int(read[2] or 0))


def run(arguments: list[str], folder: Path, at: int = 0, seconds: float | None = None) -> Ended:
    """Run the program in a fork."""

    def work() -> None:
        from stackcast.cli import main

        sys.argv = ["stackcast", *arguments]
        main()

    return forked(work, folder, at, seconds)


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
    if (folder / "run" / "run.json").exists():
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
        command, start = story.command(base / "clean"), time.monotonic()
        whole = run(command, base / "clean")
        took = time.monotonic() - start
        wanted = _left(story, base / "clean")
        tells = _rounds(base / "clean") if name == "tell" else 0
        number = 0
        while died < kills and number < 3 * kills:
            number += 1
            folder = base / f"{number}"
            shutil.copytree(base / "start", folder)
            at = rng.randrange(1, whole.calls + 1) if whole.calls and number % 2 else 0
            seconds = None if at else rng.uniform(0.0, took)
            end = run(story.command(folder), folder, at, seconds)
            if end.code < 0:
                died, inside = died + 1, inside + bool(at)
            for _ in range(3):
                if name == "tell" and _rounds(folder) >= tells:
                    break
                end = run(story.command(folder), folder)
                if end.code in (0, 1):
                    break
            found = _left(story, folder)
            if found != wanted:
                moment = f"call {at} of {whole.calls}" if at else f"{seconds:.2f} s"
                wrong.append(f"{name}, kill {number} ({moment}): {found[:400]} {end.stderr[-300:]}")
            shutil.rmtree(folder)
    return died, inside, wrong


def _left(story: Story, folder: Path) -> str:
    """Return what a folder holds, read in a fork; or what is wrong with it."""
    found = forked(lambda: print(story.left(folder)), folder)
    return found.stdout.strip() or found.stderr[-400:]


def prepare() -> None:
    """Load the program and its compiled functions, without a thread."""
    import stackcast as sc
    from stackcast import cli, report, sweeps  # noqa: F401
    from stackcast.auditing import audit

    vars(report.pages)["play_figures"] = lambda _: {}  # a second for each play
    game = sc.load_game("inspection")
    for agent in (sc.agents.Calibrated(game.agent_view), sc.agents.Hedge(game.agent_view)):
        principal = sc.principals.UniformExplore(game.principal_view, horizon=100)
        audit(sc.play(principal, agent, 100, game))
    learner = sc.protocol.build("principal", "CommitmentLearner", game, horizon=500, seed=0)
    audit(sc.play(learner, sc.agents.BestResponse(game.agent_view), 500, game))


def with_library() -> None:
    """Start again under the library that counts calls, if it can be compiled."""
    compiler = shutil.which("cc")
    if compiler is None or "KILLS_LIBRARY" in os.environ:
        return
    made = Path(tempfile.mkdtemp()) / "kills.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", str(made), "-ldl"]
    if subprocess.run(command, input=LIBRARY, text=True, check=False).returncode == 0:
        preload = {"LD_PRELOAD": str(made), "KILLS_LIBRARY": str(made)}
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | preload)


def main() -> int:
    """Kill, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(description="Kill the command line and go on.")
    parser.add_argument("stories", nargs="*", metavar="STORY", help=", ".join(STORIES))
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    given = parser.parse_args()
    with_library()
    prepare()
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
