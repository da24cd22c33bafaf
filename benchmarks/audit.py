"""The audit: its time against a plain loop over the rounds, and its growth with T.

Every number that is compared is a ratio of two times of the same run on the same machine. The
plain loop computes less than the audit: average utility, swap regret and calibration errors.
"""

from __future__ import annotations

import json
import tracemalloc
from functools import partial
from typing import Any

import numpy as np

from benchmarks._timing import Times, measured
from stackcast._random import stream
from stackcast.auditing import audit, diagnose
from stackcast.games import FiniteGame
from stackcast.protocol import Transcript


def game() -> FiniteGame:
    """Return a game with m = k = 3."""
    rng = stream(0, "benchmark", "audit")
    return FiniteGame(rng.random((3, 3)), rng.random((3, 3)))


def record(rounds: int, played: FiniteGame) -> Transcript:
    """Return blocks of 100 rounds, forecasts from a pool of 50, and best responses to them."""
    rng = stream(0, "benchmark", "audit", rounds)
    pool = rng.dirichlet(np.ones(3), 50)
    ids = rng.integers(0, 50, rounds, dtype=np.int32)
    blocks = rounds // 100
    return Transcript(
        block_strategies=rng.dirichlet(np.ones(3), blocks),
        block_rounds=np.full(blocks, 100),
        block_phases=np.zeros(blocks, dtype=np.int32),
        phase_names=("",),
        compact_responses=played.respond(pool)[ids].astype(np.uint8),
        forecast_ids=ids,
        forecast_table=pool,
        fingerprint=played.fingerprint,
        game=played,
    )


def plain_loop(transcript: Transcript, played: FiniteGame) -> tuple[float, float, float]:
    """Return utility, swap regret and largest calibration error by a loop over the rounds."""
    h, p, y = transcript.strategies, transcript.forecasts, transcript.responses
    assert p is not None
    m, k = played.shape
    utility, gains, sums = 0.0, np.zeros((k, k)), np.zeros((k, m))
    for t in range(len(y)):
        utility += float(h[t] @ played.principal_payoffs[:, y[t]])
        earned = h[t] @ played.agent_payoffs
        gains[y[t]] += earned - earned[y[t]]
        sums[y[t]] += h[t] - p[t]
    worst = float(np.abs(sums).max() / len(y))
    return utility / len(y), float(gains.max(axis=1).sum()), worst


def main() -> dict[str, Any]:
    """Return times and ratios; T = 10⁶ must take seconds."""
    played = game()
    audit(record(1000, played))
    small = record(10_000, played)
    found, told = audit(small, profile=False), plain_loop(small, played)
    assert found.errors is not None
    agree = np.allclose(
        told, (found.average_utility, found.swap_regret, max(found.errors.tolist())), rtol=1e-9
    )
    whole, lean, alone = {}, {}, {}
    for rounds in (10_000, 100_000, 1_000_000):
        large = record(rounds, played)
        whole[rounds] = measured(partial(audit, large))
        lean[rounds] = measured(partial(audit, large, profile=False))
        alone[rounds] = measured(partial(diagnose, large))
    tracemalloc.start()
    audit(large, profile=False)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    compact = sum(array.nbytes for array in large._arrays().values() if array is not None)
    loop = measured(lambda: plain_loop(small, played), 3)
    parts: dict[str, dict[int, Times]] = {
        "audit with its profile": whole,
        "audit without": lean,
        "diagnosis alone": alone,
        "plain loop": {10_000: loop},
    }
    return {
        "times": [
            {"part": part, "rounds": rounds, "seconds": each.median, "spread": each.spread}
            for part, times in parts.items()
            for rounds, each in times.items()
        ],
        "ratios": {
            "plain loop over the audit": loop.median / lean[10_000].median,
            "audit of 1,000,000 rounds over one of 100,000": whole[1_000_000].median
            / whole[100_000].median,
            "the same without the profile": lean[1_000_000].median / lean[100_000].median,
            "extra memory over that of the transcript, without the profile": peak / compact,
        },
        "agrees with the plain loop": bool(agree),
    }


if __name__ == "__main__":
    print(json.dumps(main(), indent=2))
