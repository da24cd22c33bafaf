"""Compiled rounds of the corrector: Player 1's weights, Player 2 in closed form, the update.

**Player 2 in closed form.** With z_i the imbalance of decision i (that of q_t's cell included) and
ζ the weight of staying close, nature's pull on a forecast p of decision i is B(p) = z_i − 2ζ(p−q).
Where B vanishes, at p = q + z_i/(2ζ), the gain is −ζ(p − q)² whatever the outcome. From q one goes
the way the pull points, to the first p where B vanishes, or the end of [0, 1], or a threshold θ at
which B jumps from + to −: there p = θ, and the *decision* is drawn with the odds that make the mean
pull 0, again with gain −ζ(θ − q)².

Objectives are numbered: first the decisions, then the decisions of each cell, and last of all
staying close.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stackcast._compiling import entry, inner
from stackcast.calibration._experts import START_RULES, Experts, wake

if TYPE_CHECKING:
    from stackcast._validation import FloatArray

_STREAMING = START_RULES.index("streaming")


@inner
def _decision(p: float, edges: FloatArray) -> int:
    i = 0
    while i < edges.size and p >= edges[i]:
        i += 1
    return i


@inner
def _cell(q: float, cells: int) -> int:
    return min(int(q * cells), cells - 1)


@inner
def _weigh(experts: Experts, z: FloatArray, loyalty: float) -> None:
    """Write the imbalance of every objective into ``z``: π(+) − π(−), and the last one's π(+).

    Weights as in the forecaster (AdaNormalHedge), but staying close is one-sided: there is no
    expert who wants the correction to be no better than the original.
    """
    size, shift, total = z.size, -np.inf, 0.0
    now, led, last = experts.totals, 3 * size, experts.totals.size - 1
    for attempt in range(2):
        z[:] = 0.0
        for slot in range(experts.starts.shape[0]):
            if experts.starts[slot, 0] == 0:
                continue
            then = experts.marks[slot]
            lead, base = now[led] - then[led], now[led + 1] - then[led + 1] + 1.0
            for x in range(size):
                gain = now[x] - then[x]
                for side in range(2 if x < size - 1 else 1):
                    regret = (gain if side == 0 else -gain) - lead
                    if regret <= -1.0:
                        continue
                    at = (1 + side) * size + x
                    spread = 3.0 * (base + now[at] - then[at])
                    a = (regret + 1.0) ** 2 / spread
                    exponent = then[last] + a + (loyalty if x == size - 1 else 0.0)
                    if attempt == 0:
                        shift = max(shift, exponent)
                        continue
                    d = 4.0 * regret / spread if regret >= 1.0 else a
                    weight = -np.exp(exponent - shift) * np.expm1(-d)
                    total += weight
                    z[x] += weight if side == 0 else -weight
    if total > 0.0:
        z /= total
    else:  # every weight is 0: the prior, which favours neither sign and wants to stay close
        z[:] = 0.0
        z[size - 1] = 1.0


@entry
def answer(z: FloatArray, q: float, edges: FloatArray, cells: int) -> tuple[float, float, float]:
    """Return Player 2's answer to the imbalance z: a lower p, an upper p, and its share."""
    own = (edges.size + 1) * (1 + _cell(q, cells))
    close = z[z.size - 1]
    i = _decision(q, edges)
    pull = z[i] + z[own + i]
    if pull == 0.0:
        return q, q, 1.0
    up = pull > 0.0
    while True:
        low = edges[i - 1] if i > 0 else 0.0
        high = edges[i] if i < edges.size else np.inf
        target = q + pull / (2.0 * close) if close > 0.0 else np.copysign(np.inf, pull)
        if low <= target < high:
            return (target, target, 1.0) if target < 1.0 else (1.0, 1.0, 1.0)
        if (up and i == edges.size) or (not up and i == 0):
            end = 1.0 if up else 0.0
            return end, end, 1.0
        edge, j = (high, i + 1) if up else (low, i - 1)
        beyond = z[j] + z[own + j]
        shift = 2.0 * close * (edge - q)
        below, above = (pull, beyond) if up else (beyond, pull)
        if below - shift >= 0.0 >= above - shift:  # the pull changes its sign at this threshold
            share = (below - shift) / (below - above) if below > above else 1.0
            return np.nextafter(edge, 0.0), edge, share
        i, pull = j, beyond


@entry
def decide(
    experts: Experts,
    z: FloatArray,
    t: int,
    q: float,
    edges: FloatArray,
    cells: int,
    loyalty: float,
    draw: float,
) -> float:
    """Return the corrected forecast of round ``t``."""
    wake(experts, t, _STREAMING)
    _weigh(experts, z, loyalty)
    lower, upper, share = answer(z, q, edges, cells)
    return float(upper if draw < share else lower)


@entry
def learn_round(
    experts: Experts,
    z: FloatArray,
    q: float,
    p: float,
    y: float,
    edges: FloatArray,
    cells: int,
) -> None:
    """Add a round to the totals; gains are halved so that regrets lie in [−1, 1]."""
    decisions, last = edges.size + 1, z.size - 1
    i = _decision(p, edges)
    inside = decisions * (1 + _cell(q, cells)) + i
    gap, loss = 0.5 * (y - p), 0.5 * ((p - y) ** 2 - (q - y) ** 2)
    mixture = (z[i] + z[inside]) * gap + z[last] * loss
    now, size = experts.totals, z.size
    now[3 * size] += mixture
    now[3 * size + 1] += abs(mixture)
    for x, gain in ((i, gap), (inside, gap), (last, loss)):
        now[x] += gain
        now[size + x] += abs(gain - mixture) - abs(mixture)
        now[2 * size + x] += abs(gain + mixture) - abs(mixture)


@entry
def run_rounds(
    experts: Experts,
    z: FloatArray,
    rounds: int,
    forecasts: FloatArray,
    outcomes: FloatArray,
    edges: FloatArray,
    cells: int,
    loyalty: float,
    draws: FloatArray,
    corrected: FloatArray,
) -> None:
    """Fill ``corrected`` with the corrections of a block, each made before its own outcome."""
    for t in range(forecasts.size):
        q = forecasts[t]
        corrected[t] = decide(experts, z, rounds + t + 1, q, edges, cells, loyalty, draws[t])
        learn_round(experts, z, q, corrected[t], outcomes[t], edges, cells)
