"""The compiled search over the agent's actions for the best commitment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from stackcast.regions._distances import nearest_region, normal_length
from stackcast.regions._programs import CERTIFIED, OPTIMAL, UNSURE, action_program

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray

    IntArray = npt.NDArray[np.int64]
    BoolArray = npt.NDArray[np.bool_]


@njit(cache=True)
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
) -> tuple[FloatArray, int, float, IntArray, FloatArray, FloatArray]:
    """Solve the programs of all actions, the most promising first.

    ``U`` is the principal's payoffs scaled to [1, 2], ``projected`` the agent's payoffs in the
    affine hull of the strategy space, ``slack`` what the agent may lose by playing y. With
    ``every`` each action's own optimum is found; otherwise an action is given up once it cannot
    beat the best one so far.

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

    if margin == 0.0 and slack == 0.0 and q == 0 and not every:
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
        rows = cuts if margin == 0.0 else with_duplicate_rows(cuts, U, W, y, tie)
        for x in range(m):
            u[x] = U[x, y]
        status[y], value, bounds[y], h = action_program(
            u, W, y, others, lengths, margin, rows, best, not every, tie, slack
        )
        if status[y] == OPTIMAL:
            values[y] = value
            if value > best:
                best = value
                response = y
                for x in range(m):
                    strategy[x] = h[x]
    return strategy, response, best, status, values, bounds


@njit(cache=True)
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


@njit(cache=True)
def unit_payoffs(payoffs: FloatArray) -> tuple[FloatArray, float, float]:
    """Return the principal's payoffs scaled to [1, 2], their least value and their width."""
    low, high = np.inf, -np.inf
    for x in range(payoffs.shape[0]):
        for y in range(payoffs.shape[1]):
            low = min(low, payoffs[x, y])
            high = max(high, payoffs[x, y])
    half = high / 2 - low / 2 if high > low else 0.5  # halves cannot overflow
    return (payoffs / 2 - low / 2) / half + 1.0, low, 2 * half


@njit(cache=True)
def checked(
    U: FloatArray,
    W: FloatArray,
    projected: FloatArray,
    others: BoolArray,
    cuts: FloatArray,
    tie: float,
    h: FloatArray,
    y: int,
) -> tuple[float, float]:
    """Return the agent's gap at h and the margin of h in the region of y, from the payoffs.

    Duplicates of y that cost the principal nothing are no other region.
    """
    m, k = W.shape
    best = -np.inf
    own = 0.0
    counted = others.copy()
    for j in range(k):
        utility = 0.0
        apart = 0.0
        loss = 0.0
        for x in range(m):
            utility += h[x] * W[x, j]
            apart = max(apart, abs(W[x, j] - W[x, y]))
            loss += h[x] * (U[x, y] - U[x, j])
        best = max(best, utility)
        if j == y:
            own = utility
        if apart <= tie and loss <= CERTIFIED:
            counted[j] = False
    distance, _ = nearest_region(h, y, W, projected, counted, cuts, tie)
    return best - own, max(distance, 0.0)
