"""One compiled pass over a transcript for the portrait of its agent, in memory of size k²·log T.

Windows are of three kinds: prefixes, aligned windows of 16, 32, 64 … rounds, and windows that begin
where the strategy changed. On each, what the agent would have gained by answering j wherever it
answered i, divided by ‖(U_A(·,j) − U_A(·,i)) − median‖₁ and the number of rounds, is a lower bound
on the calibration error of *any* forecasts that explain the answers (the swap-regret lemma read
backwards). It is compared with √(log(k·m·L)/L), the paper's rate for L rounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stackcast._compiling import entry

#: The shortest window, and the shortest prefix, that are looked at.
SHORTEST, SHORTEST_PREFIX = 16, 64


@entry
def _rate(actions: float, length: int) -> float:
    return float(np.sqrt(np.log(actions * length) / length))


@entry
def _implied(gains: Any, norms: Any) -> float:
    """Return the largest gain of a swap i → j over the norm of the pair."""
    worst = 0.0
    k = len(gains)
    for i in range(k):
        for j in range(k):
            if gains[i, j] > 0.0 and norms[i, j] > 0.0:
                worst = max(worst, gains[i, j] / norms[i, j])
    return worst


@entry
def observe(
    strategies: Any,
    rounds: Any,
    responses: Any,
    payoffs: Any,
    offsets: Any,
    norms: Any,
    tolerance: float,
    draws: bool,
) -> Any:
    """Return (ratios, counts, lags): the evidence on which a portrait stands.

    ``ratios``: implied error over rate, the worst of prefixes, of windows, and of what an agent
    that is calibrated in the long run only could have had in a window. ``counts``: rounds with a
    past, those answered by its leader; rounds where the leader is no best response to h_t, those of
    them answered by the leader, by a best response; the same three long after a change; changes
    after which no old best response is one, and those answered right at once. ``lags``: for each of
    these changes the rounds before the first best response.
    """
    m, k = payoffs.shape
    actions = 1.0 * k * m
    ratios, counts = np.zeros(3), np.zeros(10, np.int64)
    lags = np.empty(len(rounds), np.int64)
    changes = 0
    totals, utilities = np.zeros(k), np.empty(k)
    best, before = np.zeros(k, np.bool_), np.zeros(k, np.bool_)
    since, distance = np.zeros(k, np.int64), np.zeros(k)
    whole, cell = np.zeros((k, k)), np.zeros((k, k))
    levels = np.zeros((60, k, k))
    filled = np.zeros(60, np.bool_)
    t, age, waiting = 0, 0, False
    for b in range(len(rounds)):
        changed = b == 0
        if b > 0:
            for x in range(m):
                changed = changed or strategies[b, x] != strategies[b - 1, x]
        if changed:
            age = 0
            for y in range(k):  # loops: a slice that is assigned takes seconds to compile
                since[y] = 0
                before[y] = best[y]
            top = -np.inf
            for y in range(k):
                utilities[y] = offsets[y]
                for x in range(m):
                    utilities[y] += strategies[b, x] * payoffs[x, y]
                top = max(top, utilities[y])
            overlap = b == 0
            least = utilities.min()  # taken off, so that sums keep their digits
            top -= least
            for y in range(k):
                utilities[y] -= least
            for y in range(k):
                best[y] = utilities[y] >= top - tolerance
                overlap = overlap or (best[y] and before[y])
                distance[y] = 0.0
                for j in range(k):
                    if norms[y, j] > 0.0:
                        distance[y] = max(distance[y], (utilities[j] - utilities[y]) / norms[y, j])
            if waiting:  # the last change was never answered
                lags[changes - 1] = -1
            waiting = not overlap
            if waiting:
                changes += 1
                counts[8] += 1
                # How long could an agent have stayed wrong that is calibrated from round 1 on?
                stale = np.inf
                for y in range(k):
                    if before[y]:
                        stale = min(stale, distance[y])
                if stale > 0.0:
                    room = min(float(rounds[b]), t * _rate(actions, t) / stale)
                    length = int(room)
                    if length >= SHORTEST:
                        ratios[2] = max(ratios[2], stale / _rate(actions, length))
        for r in range(t, t + rounds[b]):
            y = int(responses[r])
            if r > 0:
                counts[0] += 1
                lead = totals.max() - tolerance * r
                counts[1] += totals[y] >= lead
                contested = True
                for j in range(k):
                    if best[j] and totals[j] >= lead:
                        contested = False
                if contested:
                    late = age > np.sqrt(r * np.log(actions * r))
                    counts[2] += 1
                    counts[3] += totals[y] >= lead
                    counts[4] += best[y]
                    if late:
                        counts[5] += 1
                        counts[6] += totals[y] >= lead
                        counts[7] += best[y]
            if waiting and best[y]:
                waiting = False
                lags[changes - 1] = age
                counts[9] += age == 0
            age += 1
            since[y] += 1
            for j in range(k):
                totals[j] += utilities[j]
                cell[y, j] += utilities[j] - utilities[y]
            ends = age & (age - 1) == 0 or r == t + rounds[b] - 1
            if ends and age >= SHORTEST and r >= age and not draws:
                worst = 0.0
                for i in range(k):
                    worst = max(worst, since[i] * distance[i])
                ratios[1] = max(ratios[1], worst / age / _rate(actions, age))
            if (r + 1) % SHORTEST == 0:
                level, length = 0, SHORTEST
                while True:
                    implied = _implied(cell, norms) / length / _rate(actions, length)
                    if length > r:
                        if length >= SHORTEST_PREFIX:
                            ratios[0] = max(ratios[0], implied)
                    else:
                        ratios[1] = max(ratios[1], implied)
                    if not filled[level]:
                        break
                    cell += levels[level]
                    filled[level] = False
                    level += 1
                    length *= 2
                filled[level] = True
                for i in range(k):
                    for j in range(k):
                        levels[level, i, j] = cell[i, j]
                        cell[i, j] = 0.0
        t += rounds[b]
    whole += cell
    for level in range(60):
        if filled[level]:
            whole += levels[level]
    ratios[0] = max(ratios[0], _implied(whole, norms) / t / _rate(actions, t))
    if waiting:
        lags[changes - 1] = -1
    return ratios, counts, lags[:changes]
