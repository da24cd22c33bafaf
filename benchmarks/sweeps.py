"""What a sweep adds to its plays: how busy the cores are, how memory grows, one worker against two.

Plays of about 50 ms (``Calibrated`` on a 3×3 game, as many rounds as that takes here) and plays
that take next to nothing. Ratios within one run: ``python -m benchmarks sweeps``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks._timing import summary
from stackcast.sweeps import Specification, load, sweep
from stackcast.sweeps.running import run_play

PLAYS, MANY = 120, 20_000


def specification(agent: str, rounds: int, seeds: int) -> Specification:
    return Specification.of(
        {
            "rounds": rounds,
            "seeds": seeds,
            "games": [{"generator": "uniform", "m": 3, "k": 3}],
            "principals": [{"name": "UniformExplore"}],
            "agents": [{"name": agent}],
            "metrics": ["average_utility"],
        }
    )


def rounds_of(milliseconds: float) -> int:
    """Return how many rounds against ``Calibrated`` take so long here."""
    task = next(specification("Calibrated", 20_000, 1).plays())
    run_play(task)
    return int(20_000 * milliseconds / (1000 * run_play(task)["seconds"]))


def timed(workers: int, rounds: int, plays: int) -> tuple[float, float]:
    """Return the seconds of a sweep and the seconds of its plays, with workers already started."""
    with tempfile.TemporaryDirectory() as folder:
        sweep(specification("Calibrated", rounds + 1, 4 * workers), folder, workers=workers)
        with tempfile.TemporaryDirectory() as real:
            start = time.perf_counter()
            sweep(specification("Calibrated", rounds, plays), real, workers=workers)
            return time.perf_counter() - start, float(load(real)["seconds"].sum())


def peak() -> float:
    """Return the peak of this process's memory in MB, as Linux counts it."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def memory(plays: int) -> dict[str, float]:
    """Return the peak of this process's memory after a tenth of the plays and after all, in MB.

    For a process of its own: a peak does not fall, whatever ran before.
    """
    peaks = []

    def watch(standing: Any) -> None:
        if standing.done in (plays // 10, plays):
            peaks.append(peak())

    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        sweep(specification("BestResponse", 20, plays), folder, workers=2, watch=watch)
        took = time.perf_counter() - start
    return {
        "plays": plays,
        "megabytes after a tenth": round(peaks[0], 1),
        "megabytes after all": round(peaks[1], 1),
        "milliseconds a play": round(1000 * took / plays, 2),
    }


def main() -> dict[str, Any]:
    """Return the tables."""
    rounds = rounds_of(50)
    table: list[dict[str, float]] = []
    for workers in (1, 2):
        runs = [timed(workers, rounds, PLAYS) for _ in range(3)]
        wall = summary([run[0] for run in runs])
        inside = summary([run[1] for run in runs])
        row = {
            "workers": workers,
            "plays a second": PLAYS / wall.median,
            "spread": wall.spread,
            "milliseconds a play": 1000 * inside.median / PLAYS,
            "share of the time inside plays": inside.median / (workers * wall.median),
        }
        table.append(row)
        print(row, flush=True)
    one, two = (row["plays a second"] for row in table)
    program = "import json; from benchmarks import sweeps; print(json.dumps(sweeps.memory({})))"
    alone = [sys.executable, "-c", program.format(MANY)]
    many = json.loads(subprocess.run(alone, check=True, capture_output=True, text=True).stdout)
    print(many, flush=True)
    return {
        "one worker and two": table,
        "two workers over one": two / one,
        "rounds of a play": rounds,
        "plays that take next to nothing": [many],
    }
