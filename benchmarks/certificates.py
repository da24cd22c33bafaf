"""Power of tests of calibration at the same level, on forecasts that are wrong in known ways.

Four kinds are the planted drifts of the tests, eleven are others. Every record has 4,000 rounds, a
yes/no event and three bins of decisions; each kind is drawn 40 times.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.betting import fill
from stackcast._compiling import entry
from stackcast._random import stream
from stackcast.calibration import decision_bins, sequential_calibration_test
from stackcast.calibration._bankroll import bet, even_shares, new_bankroll, settle_round

if TYPE_CHECKING:
    from stackcast._validation import FloatArray

ROUNDS, RUNS, LEVEL = 4_000, 40, 0.05
KINDS = (
    "bias", "late bias", "one bin", "rare event",
    "early burst", "slow drift", "overconfident", "underconfident", "season", "bias that cancels",
    "top bin", "run of 25 misses", "coin", "forecasts 300 rounds late", "seldom wrong", "right",
)  # fmt: skip


def record(kind: str, rng: np.random.Generator, T: int) -> tuple[FloatArray, FloatArray]:
    """Return forecasts and true chances."""
    p = rng.random(T)
    truth = p.copy()
    late = np.arange(T) >= 0.85 * T
    if kind == "bias":
        truth = p + 0.05
    elif kind == "late bias":
        truth[late] += 0.17
    elif kind == "one bin":
        truth[p > 0.8] = 0.83
    elif kind == "rare event":
        p, truth = np.full(T, 1e-4), np.full(T, 2e-3)
    elif kind == "early burst":
        truth[:200] -= 0.25
    elif kind == "slow drift":
        truth += np.linspace(0, 0.09, T)
    elif kind == "overconfident":
        truth = 0.5 + 0.87 * (p - 0.5)
    elif kind == "underconfident":
        p = 0.5 + 0.6 * (p - 0.5)
        truth = 0.5 + 1.25 * (p - 0.5)
    elif kind == "season":
        truth += 0.1 * np.sin(np.arange(T) * 2 * np.pi / 2000)
    elif kind == "bias that cancels":
        truth += np.where(np.arange(T) < T // 2, 0.07, -0.07)
    elif kind == "top bin":
        truth[p > 0.8] -= 0.09
    elif kind == "run of 25 misses":
        truth[-25:] = 0.0
    elif kind == "coin":
        p, truth = np.full(T, 0.5), np.full(T, 0.533)
    elif kind == "forecasts 300 rounds late":
        walk = np.cumsum(rng.normal(size=T + 300) * 0.06)
        chance = 1 / (1 + np.exp(-(walk - walk.mean())))
        p, truth = chance[:-300], chance[300:]
    elif kind == "seldom wrong":
        wrong = rng.random(T) < 0.05
        truth[wrong] = 1 - p[wrong]
    return p, truth.clip(0, 1)


def band_evidence(y: FloatArray, p: FloatArray, bins: Any) -> float:
    """Return ln(1/p) of the time-uniform band: the best single bet from its best start."""
    scales = 16.0 * 0.5 ** np.arange(24)
    best = 0.0
    for i in range(3):
        x, q = y[bins == i], p[bins == i]
        a = np.arange(len(x)) + math.e
        price = np.log(a) + 2 * np.log(np.log(a))
        for tilt in (*scales, *-scales):
            sums = np.cumsum(tilt * x - np.log1p(q * np.expm1(tilt)))
            before = np.minimum.accumulate(np.concatenate([[0.0], sums[:-1]]) + price)
            best = max(best, float((sums - before).max(initial=0.0)) - math.log(2 * 24 * 3 * 1.4))
    return best


@entry
def _growth(bankroll: Any, y: FloatArray, p: FloatArray, bins: Any) -> float:
    gap, most = np.empty(1), 0.0
    for t in range(y.size):
        gap[0] = y[t] - p[t]
        bet(bankroll, bins[t], 1.0, gap)
        settle_round(bankroll, t + 1)
        most = max(most, bankroll.growth[-1])
    return most


def main() -> dict[str, Any]:
    rows = []
    for kind in KINDS:
        found = np.empty((RUNS, 3))
        for run in range(RUNS):
            rng = stream(run, "power", kind)
            p, truth = record(kind, rng, ROUNDS)
            y = (rng.random(ROUNDS) < truth).astype(np.float64)
            bins = decision_bins(p, [0.5, 0.8])
            found[run] = (
                band_evidence(y, p, bins),
                _growth(new_bankroll(even_shares(3, False), np.ones(1)), y, p, bins),
                math.log(sequential_calibration_test(y, p, bins, LEVEL).wealth),
            )
        refuted, middle = (found >= -math.log(LEVEL)).mean(axis=0), np.median(found, axis=0)
        rows.append(
            {"kind": kind}
            | {
                name: f"{refuted[c]:.0%} ({middle[c]:.1f})"
                for c, name in enumerate(("band", "same bets", "sequential test"))
            }
        )
    fill(Path(__file__).parent.parent / "docs" / "explanation" / "betting.md", {"power": rows})
    return {"power": rows}
