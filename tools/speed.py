"""Compare the speed of two trees of the package: ratios of interleaved medians.

    git worktree add ../before COMMIT
    python tools/speed.py ../before [TURNS]

Solver, forecasters, play and start-up are timed in processes of their own, the two trees in turn,
so that whatever else the machine does slows both. A ratio above 1 means that this tree is slower.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

TASKS = """
import json, sys, time
import numpy as np
import stackcast as sc
from stackcast.calibration import AdaptiveForecaster, BestResponseBinning
from stackcast.games import generators

inspection = sc.load_game("inspection")
games = {n: [generators.uniform(n, n, seed) for seed in range(20)] for n in (5, 20)}
corners = np.eye(3)[np.random.default_rng(0).integers(0, 3, 20_000)]

def solve(n):
    for game in games[n]:
        sc.solve(game)

def forecast(method):
    AdaptiveForecaster(
        BestResponseBinning(inspection.agent_view), method=method, seed=0
    ).run(corners)

def play(principal, agent, rounds):
    sc.play(principal(), agent(inspection.agent_view, seed=0), rounds, inspection)

explore = lambda: sc.principals.UniformExplore(inspection.principal_view, horizon=20_000, seed=0)
fixed = lambda: sc.principals.Fixed(inspection.principal_view, [0.5, 0.3, 0.2])
tasks = {
    "solver, 20 games of 5×5": lambda: solve(5),
    "solver, 20 games of 20×20": lambda: solve(20),
    "forecaster, betting, 20,000 draws": lambda: forecast("betting"),
    "forecaster, sleeping experts, 20,000 draws": lambda: forecast("sleeping"),
    "play, UniformExplore and Calibrated": lambda: play(explore, sc.agents.Calibrated, 20_000),
    "play, Fixed and Hedge": lambda: play(fixed, sc.agents.Hedge, 100_000),
}
found = {}
for name, task in tasks.items():
    task()
    times = []
    for _ in range(5):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    found[name] = sorted(times)[2]
print(json.dumps(found))
"""
STARTS = {
    "start-up, import stackcast": "import stackcast",
    "start-up, the command line's help": "import stackcast.cli",
    "start-up, import of solver and play": "import stackcast as sc; sc.solve, sc.play",
}


def timed(tree: Path) -> dict[str, float]:
    """Return the seconds that each task takes in a tree."""
    here = {**os.environ, "PYTHONPATH": str(tree / "src")}

    def run(code: str) -> str:
        line = [sys.executable, "-c", code]
        return subprocess.run(line, env=here, check=True, capture_output=True, text=True).stdout

    found: dict[str, float] = json.loads(run(TASKS))
    clock = "import time; s = time.perf_counter(); {}; print(time.perf_counter() - s)"
    for name, code in STARTS.items():
        found[name] = statistics.median(float(run(clock.format(code))) for _ in range(3))
    return found


def main(before: Path, turns: int) -> None:
    """Print a table of ratios."""
    trees = {"before": before, "now": Path(__file__).parent.parent}
    rows: dict[str, dict[str, list[float]]] = {}
    for turn in range(turns + 1):
        for word, tree in trees.items():
            for task, seconds in timed(tree).items():
                if turn:  # the first turn compiles
                    rows.setdefault(task, {}).setdefault(word, []).append(seconds)
    print("| task | before (ms) | now (ms) | ratio |\n|---|---|---|---|")
    for task, found in rows.items():
        old, new = (statistics.median(found[word]) for word in trees)
        print(f"| {task} | {1e3 * old:.3g} | {1e3 * new:.3g} | {new / old:.2f} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 5)
