"""Steps a second of the environments with holds of one round.

``python -m benchmarks environments``
The agent is ``Calibrated``; actions are drawn beforehand. Seconds of the processor, so that what
else runs on the machine does not count, and seconds of the clock.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

import stackcast as sc

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = 20_000


def rates(step: Callable[[Any], object], actions: Any) -> tuple[float, float]:
    """Return the median steps a second of five fifths, by the processor and by the clock."""
    for action in actions[:500]:
        step(action)
    found, fifth = [], len(actions) // 5
    for i in range(5):
        busy, clock = time.process_time(), time.perf_counter()
        for action in actions[i * fifth : (i + 1) * fifth]:
            step(action)
        found.append((time.process_time() - busy, time.perf_counter() - clock))
    busy, clock = np.median(found, axis=0) / fifth
    return 1 / busy, 1 / clock


def main() -> dict[str, Any]:
    """Return the table."""
    rows = []
    for name in ("inspection", "patrol"):
        game = sc.load_game(name)
        actions = np.random.default_rng(0).uniform(-1, 1, (STEPS, game.shape[0]))
        alone = sc.interop.PrincipalEnv(name, rounds=2 * STEPS)
        alone.reset(seed=0)
        both = sc.interop.ParallelEnv(name, rounds=2 * STEPS)
        both.reset(seed=0)
        pairs = [{"principal_0": action, "agent_0": 0} for action in actions]
        for environment, step, given in (
            ("PrincipalEnv", alone.step, actions),
            ("ParallelEnv", both.step, pairs),
        ):
            busy, clock = rates(step, given)
            row = {
                "environment": environment,
                "game": name,
                "m": game.shape[0],
                "k": game.shape[1],
                "steps a second of the processor": round(busy),
                "steps a second of the clock": round(clock),
            }
            rows.append(row)
            print(row, flush=True)
    return {"steps with holds of one round": rows}
