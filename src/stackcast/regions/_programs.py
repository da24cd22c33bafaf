"""The compiled search over the agent's actions for the best commitment, and distances.

``best_commitment`` is the one entry to the programs of :mod:`stackcast.regions._simplex`: each
entry compiles them anew, which is most of what a first run waits for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stackcast._compiling import entry
from stackcast.regions._simplex import OPTIMAL, UNSURE, action_program

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray

    IntArray = npt.NDArray[np.int64]
    BoolArray = npt.NDArray[np.bool_]


@entry
def best_commitment(
    U: FloatArray,
    W: FloatArray,
    projected: FloatArray,
    margin: float,
    others: BoolArray,
    cuts: FloatArray,
    tie: float,
    slack: float,
    every: bool,
    actions: BoolArray,
) -> tuple[FloatArray, int, float, IntArray, FloatArray, FloatArray]:
    """Solve the programs of all actions, the most promising first.

    ``U`` is the principal's payoffs scaled to [1, 2], ``projected`` the agent's payoffs in the
    affine hull of the strategy space, ``slack`` what the agent may lose by playing y. With
    ``every`` the own optimum of each of the ``actions`` is found; otherwise an action is given up
    once it cannot beat the best one so far.

    Returns
    -------
    h, response (−1 if there is none), value, and for every action its status, value and bound
    """
    m, k = W.shape
    q = cuts.shape[0]
    status = np.full(k, UNSURE)
    values = np.full(k, np.nan)
    bounds = np.full(k, np.inf)
    lengths = np.zeros((k, k))
    if margin > 0.0:
        for y in range(k):
            for j in range(y):
                lengths[y, j] = normal_length(projected, y, j)
                lengths[j, y] = lengths[y, j]
    best = 0.0
    response = -1
    pure = 0
    strategy = np.zeros(m)
    u = np.zeros(m)
    top = np.zeros(k)
    for x in range(m):
        for y in range(k):
            top[y] = max(top[y], U[x, y])

    if margin == 0.0 and slack == 0.0 and q == 0:
        # The best pure commitment is a first strategy to beat.
        for x in range(m):
            utility = -np.inf
            for y in range(k):
                utility = max(utility, W[x, y])
            for y in range(k):
                if W[x, y] >= utility and U[x, y] > best:
                    best = U[x, y]
                    response = y
                    pure = x
        if response >= 0:
            strategy[pure] = 1.0

    for _ in range(k):
        y = int(np.argmax(top))
        top[y] = -1.0
        if not actions[y]:
            continue
        rows = cuts if margin == 0.0 else with_duplicate_rows(cuts, U, W, y, tie)
        for x in range(m):
            u[x] = U[x, y]
        status[y], value, bounds[y], h = action_program(
            u, W, y, others, lengths, margin, rows, best, not every, tie, slack
        )
        if status[y] == OPTIMAL:
            values[y] = value
            if value > best + 1e-12:  # rounding does not decide between equals
                best = value
                response = y
                for x in range(m):
                    strategy[x] = h[x]
    return strategy, response, best, status, values, bounds


@entry
def with_duplicate_rows(
    cuts: FloatArray, U: FloatArray, W: FloatArray, y: int, tie: float
) -> FloatArray:
    """Add rows that make y the worst for the principal among its duplicates.

    The agent cannot tell duplicates apart, so a robust commitment may count on no more.
    """
    m, k = W.shape
    count = cuts.shape[0]
    rows = np.zeros((count + k, m))
    for a in range(count):
        for x in range(m):
            rows[a, x] = cuts[a, x]
    for j in range(k):
        apart = 0.0
        worse = 0.0
        for x in range(m):
            apart = max(apart, abs(W[x, j] - W[x, y]))
            worse = max(worse, U[x, y] - U[x, j])
        if j != y and apart <= tie and worse > 0.0:
            for x in range(m):
                rows[count, x] = U[x, y] - U[x, j]
            count += 1
    return rows[:count]


@entry
def normal_length(projected: FloatArray, y: int, j: int) -> float:
    """Return the length of the normal between y and j within the affine hull."""
    total = 0.0
    for x in range(projected.shape[0]):
        difference = projected[x, j] - projected[x, y]
        total += difference * difference
    return np.sqrt(total)


@entry
def gap_and_distances(
    h: FloatArray,
    y: int,
    U: FloatArray,
    W: FloatArray,
    projected: FloatArray,
    others: BoolArray,
    tie: float,
    harmless: float,
) -> tuple[float, FloatArray]:
    """Return what the agent loses by y at h, and the signed distances to the other regions.

    The distance is within the affine hull and to the hyperplanes on which y ties with another
    action; it is negative where that action is better, and infinite where it is not in ``others``,
    is worse than y everywhere, or is a duplicate of y that costs the principal (payoffs U) no more
    than ``harmless``. Other duplicates of y are at distance 0.
    """
    m, k = W.shape
    distances = np.full(k, np.inf)
    largest_gap = 0.0
    for j in range(k):
        gap = 0.0
        loss = 0.0
        apart = 0.0
        lowest = np.inf
        for x in range(m):
            difference = W[x, y] - W[x, j]
            gap += h[x] * difference
            loss += h[x] * (U[x, y] - U[x, j])
            apart = max(apart, abs(difference))
            lowest = min(lowest, difference)
        largest_gap = max(largest_gap, -gap)
        if j == y or not others[j]:
            continue
        if apart <= tie:
            if loss > harmless:
                distances[j] = 0.0
        elif lowest <= tie:
            length = normal_length(projected, y, j)
            if length > 0.0:
                distances[j] = gap / length
            elif gap < 0.0:
                distances[j] = -np.inf
    return largest_gap, distances


@entry
def unit_payoffs(payoffs: FloatArray) -> tuple[FloatArray, float, float]:
    """Return the principal's payoffs scaled to [1, 2], their least value and their width."""
    low, high = np.inf, -np.inf
    for x in range(payoffs.shape[0]):
        for y in range(payoffs.shape[1]):
            low = min(low, payoffs[x, y])
            high = max(high, payoffs[x, y])
    half = high / 2 - low / 2 if high > low else 0.5  # halves cannot overflow
    return (payoffs / 2 - low / 2) / half + 1.0, low, 2 * half


@entry
def scaled_payoffs(payoffs: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Return the payoffs in units of their scale, the same centred, and the scale.

    Each row is shifted to a minimum of 0; the scale is that of the widest row, as in
    :attr:`stackcast.games.AgentView.scale`.
    """
    m, k = payoffs.shape
    frame = np.empty((m, k))
    scale = 0.0
    for x in range(m):
        low = np.inf
        for y in range(k):
            low = min(low, payoffs[x, y])
        for y in range(k):
            frame[x, y] = payoffs[x, y] / 2 - low / 2  # halves cannot overflow
            scale = max(scale, frame[x, y])
    if scale == 0.0:
        scale = 0.5
    mean = np.zeros(k)
    for x in range(m):
        for y in range(k):
            frame[x, y] /= scale
            mean[y] += frame[x, y] / m
    return frame, frame - mean, 2 * scale
