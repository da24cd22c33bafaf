"""Commitments for games in which the agent's payoffs are known as ranges.

With L ≤ U_A ≤ H cell by cell, the action y cannot be a best response to h if h·H_y ≤ h·L_j for
some j (ties go to the principal, as in V*). The *best worst case* is

    max_h min {U_P(h, y) : y may be a best response to h},

a mixed-integer program for each j with the largest h·L_j: the binary b_y says that y is excluded.
Where nothing is known it is the maximin value, where L = H it is V*. The *best expected* value is
that of agents drawn uniformly from the ranges, over the commitments that are best for some of them
at some margin, refined by a local search: an estimate, and its strategy is no proven optimum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._plain import plain
from stackcast._random import stream
from stackcast._validation import whole_number
from stackcast.solvers.regions import ScaledPayoffs
from stackcast.solvers.stackelberg import best_solution

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.games import HalfKnownGame

#: Agents drawn for the expectation, and how many of them propose commitments.
_DRAWN, _PROPOSE = 400, 40
#: Margins at which they propose.
_MARGINS = (0.0, 0.02, 0.05, 0.1)


@dataclass(frozen=True, eq=False)
class RangeSolution:
    """What to commit to if the agent's payoffs are known as ranges.

    Attributes
    ----------
    value : float
        The best worst case: what ``strategy`` earns at least, whatever the payoffs in the ranges.
    strategy : array
        A commitment that has it.
    expected : float
        The best expected value over agents drawn from the ranges; an estimate.
    expected_strategy : array
        A commitment that has it.
    expected_of_strategy : float
        What ``strategy`` is expected to earn.
    worst_of_expected : float
        What ``expected_strategy`` earns at least.
    optimum : tuple of float
        V* of the drawn agents: of the tenth, the fiftieth and the ninetieth in a hundred.
    """

    value: float
    strategy: FloatArray
    expected: float
    expected_strategy: FloatArray
    expected_of_strategy: float
    worst_of_expected: float
    optimum: tuple[float, float, float]

    def to_dict(self) -> dict[str, Any]:
        """Return the solution as JSON can hold it."""
        table: dict[str, Any] = plain(self)
        return table


def solve_ranges(game: HalfKnownGame, seed: int = 0) -> RangeSolution:
    """Return the best worst case and the best expected commitment of a half-known game.

    Parameters
    ----------
    game : HalfKnownGame
    seed : int
        The seed of the agents that are drawn.

    Examples
    --------
    >>> from stackcast.games import HalfKnownGame
    >>> game = HalfKnownGame([[1, 3], [0, 2]], agent_payoffs=[[1, 0], [0, [0.5, 1]]])
    >>> found = solve_ranges(game)
    >>> round(found.value, 4), found.strategy.round(4)
    (2.3333, array([0.3333, 0.6667]))
    """
    whole_number("seed", seed)
    worst, strategy = _best_worst_case(game)
    payoffs = game.draws(_DRAWN, seed)
    optimum, proposed = [], [strategy]
    for W in payoffs[:_PROPOSE]:
        whole = game.whole(W)
        for margin in _MARGINS:
            found = best_solution(whole, ScaledPayoffs.of(whole), margin, every=False)
            if found is not None:
                proposed.append(found.strategy)
                if margin == 0.0:
                    optimum.append(found.value)
    candidates = np.array(proposed)
    values = _expected(game, payoffs, candidates)
    best = int(values.argmax())
    chosen, value = candidates[best], float(values[best])
    rng, space = stream(seed, "ranges", "search"), game.principal_view.space
    for step in np.repeat([0.1, 0.03, 0.01], 4):
        targets = np.array(proposed)[rng.integers(len(proposed), size=32)]
        tried = chosen + step * rng.random((32, 1)) * (targets - chosen)
        tried = np.array([space.check("strategy", h) for h in tried])
        found_values = _expected(game, payoffs, tried)
        if found_values.max() > value:
            value, chosen = float(found_values.max()), tried[int(found_values.argmax())]
    low, middle, high = np.quantile(optimum, (0.1, 0.5, 0.9))
    return RangeSolution(
        worst, strategy, value, chosen, float(_expected(game, payoffs, strategy[None])[0]),
        worst_case(game, chosen), (float(low), float(middle), float(high)),
    )  # fmt: skip


def worst_case(game: HalfKnownGame, strategy: FloatArray) -> float:
    """Return what a commitment earns at least, whatever the agent's payoffs in the ranges.

    Ties go to the principal, as in V*.

    Examples
    --------
    >>> from stackcast.games import HalfKnownGame
    >>> worst_case(HalfKnownGame([[1, 3], [0, 2]]), np.array([0.5, 0.5]))
    0.5
    """
    utilities = game.principal_view.utilities(strategy)
    if game.bounds is None:
        return float(utilities.min())
    low, high = (strategy @ bound for bound in game.bounds)
    certain = int(np.lexsort((utilities, low))[-1])
    possible = high > low.max() + 1e-9 * max(float(np.ptp(game.bounds)), 1e-300)
    possible[certain] = True
    return float(utilities[possible].min())


def _expected(game: HalfKnownGame, payoffs: FloatArray, strategies: FloatArray) -> FloatArray:
    """Return the mean utility of each strategy against the agents with these payoffs."""
    responses = np.einsum("cm,smk->csk", strategies, payoffs).argmax(2)
    utilities = game.principal_view.utilities(strategies)
    mean: FloatArray = np.take_along_axis(utilities, responses, 1).mean(1)
    return mean


def _best_worst_case(game: HalfKnownGame) -> tuple[float, FloatArray]:
    """Return the best worst case and a commitment that has it."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    view = game.principal_view
    U, space = view.payoffs, view.space
    m, k = U.shape
    low, high = game.bounds if game.bounds is not None else (np.zeros((m, k)), np.ones((m, k)))
    unit, span = float(np.ptp(U)) or 1.0, float(np.ptp([low, high])) or 1.0
    U, base = (U - U.min()) / unit, float(U.min())
    low, high = (low - low.min()) / span, (high - low.min()) / span
    best, strategy = -math.inf, space.argmax(np.zeros(m))
    # Variables: h (m), the worst case v, and b (k).
    for j in range(k):
        rows, tops = [], []
        for y in range(k):
            row = np.zeros(m + 1 + k)  # v − U(h, y) ≤ b_y
            row[:m], row[m], row[m + 1 + y] = -U[:, y], 1.0, -1.0
            rows.append(row)
            tops.append(0.0)
            if y != j:
                row = np.zeros(m + 1 + k)  # h·(H_y − L_j) ≤ M(1 − b_y)
                row[:m], row[m + 1 + y] = high[:, y] - low[:, j], 2.0
                rows.append(row)
                tops.append(2.0)
        A = np.zeros((len(space.inequality_rows), m + 1 + k))
        A[:, :m] = space.inequality_rows
        E = np.zeros((len(space.equality_rows), m + 1 + k))
        E[:, :m] = space.equality_rows
        may = np.full(k, 1.0 if game.bounds is not None else 0.0)
        may[j] = 0.0
        found = milp(
            np.r_[np.zeros(m), -1.0, np.zeros(k)],
            constraints=[
                LinearConstraint(np.array(rows), -np.inf, tops),
                LinearConstraint(A, -np.inf, space.inequality_bounds),
                LinearConstraint(E, space.equality_bounds, space.equality_bounds),
            ],
            integrality=np.r_[np.zeros(m + 1), np.ones(k)],
            bounds=Bounds(np.r_[np.zeros(m), -1, np.zeros(k)], np.r_[np.ones(m), 1, may]),
        )
        if found.x is not None and -found.fun > best:
            h = np.maximum(found.x[:m], 0)
            best, strategy = float(-found.fun), space.check("strategy", h / h.sum())
    return base + unit * best, strategy


__all__ = ["RangeSolution", "solve_ranges", "worst_case"]
