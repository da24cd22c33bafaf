"""What ``stackcast --help`` costs beside a bare Typer program, and what a first run compiles."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

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
    ratio = statistics.median(ours / bare for bare, ours in pairs)
    with tempfile.TemporaryDirectory() as cache:
        first, second = (seconds(_SOLVE, cache=cache) for _ in range(2))
    print(f"stackcast --help: {ratio:.2f} × a bare Typer program (median of {len(pairs)})")
    print(f"first solve, compiling: {first:.1f} s; from the cache: {second:.1f} s")
    return {
        "help": {"ratio": ratio, "pairs": pairs},
        "first_solve_seconds": first,
        "second_solve_seconds": second,
    }
