"""What ``stackcast --help`` costs beside a bare Typer program, and what a first run compiles."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from typing import Any

from benchmarks._timing import summary

_BARE = """
import typer
app = typer.Typer()
@app.command()
def one(name: str = "") -> None:
    "First."
@app.command()
def two(name: str = "") -> None:
    "Second."
app()
"""
_OURS = "from stackcast.cli import main; main()"
_SOLVE = "import stackcast as sc; sc.solve(sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]]))"


def seconds(code: str, *arguments: str, cache: str | None = None) -> float:
    """Return the time of a fresh interpreter that runs ``code``."""
    environment = {**os.environ, **({"NUMBA_CACHE_DIR": cache} if cache else {})}
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", code, *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        env=environment,
    )
    return time.perf_counter() - start


def main() -> dict[str, Any]:
    """Print and return the ratio for --help, and the first and second solve."""
    pairs = [(seconds(_BARE, "--help"), seconds(_OURS, "--help")) for _ in range(15)]
    ratios = summary([ours / bare for bare, ours in pairs])
    first, again = [], []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as cache:
            first.append(seconds(_SOLVE, cache=cache))
            again += [seconds(_SOLVE, cache=cache) for _ in range(3)]
    programs = {"a bare Typer program": [p[0] for p in pairs], "stackcast": [p[1] for p in pairs]}
    solves = {"first, compiling": first, "later, from the cache": again}
    print(f"stackcast --help: {ratios.median:.2f} × a bare Typer program (of {len(pairs)} pairs)")
    print(f"first solve: {summary(first).median:.1f} s; later: {summary(again).median:.1f} s")
    return {
        "processes that print their help": _rows("program", programs),
        "help over a bare Typer program": ratios.median,
        "spread of this ratio": ratios.spread,
        "a process that solves one game": _rows("run", solves),
    }


def _rows(head: str, runs: dict[str, list[float]]) -> list[dict[str, Any]]:
    return [
        {
            head: name,
            "seconds": summary(times).median,
            "spread": summary(times).spread,
            "runs": len(times),
        }
        for name, times in runs.items()
    ]
