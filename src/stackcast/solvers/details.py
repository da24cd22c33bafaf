"""What else is worth knowing of a solution: why commit at all, and how firm the ground is."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from stackcast._validation import real_number
from stackcast.games import FiniteGame, Game, SecurityGame
from stackcast.regions import BestResponseRegions
from stackcast.regions.best_response import ScaledPayoffs
from stackcast.solvers.commitment import best_solution
from stackcast.solvers.solution import Sensitivity, Solution

if TYPE_CHECKING:
    from stackcast._validation import FloatArray

#: Seconds that the search for the best Nash equilibrium may take.
_NASH_SECONDS = 10.0


def with_details(game: Game, solution: Solution, payoff_error: float | None) -> Solution:
    """Return the solution with regularity, maximin, best Nash value and sensitivity filled in."""
    regions = BestResponseRegions(game)
    ball = regions.inscribed_ball(solution.response)
    return replace(
        solution,
        never_best=regions.never_best,
        regularity=0.0 if ball is None else ball.radius,
        maximin=maximin(game),
        nash=best_nash(game),
        sensitivity=sensitivity(game, solution, payoff_error),
    )


def maximin(game: Game) -> float:
    """Return what the principal can secure against any agent, max_h min_y U_P(h, y).

    It is the Stackelberg value against an agent that wants the opposite.

    Examples
    --------
    >>> maximin(FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]]))
    1.0
    """
    opposed = _opposed(game)
    solution = best_solution(opposed, ScaledPayoffs.of(opposed), 0.0, every=False)
    assert solution is not None
    return solution.value


def _opposed(game: Game) -> Game:
    """Return the game with an agent that wants the opposite of what the principal wants."""
    if isinstance(game, SecurityGame):
        covered, uncovered = game.defender_covered, game.defender_uncovered
        return SecurityGame(
            covered,
            uncovered,
            -covered,
            -uncovered,
            game.resources,
            game.targets,
            constraints=game.constraints,
        )
    assert isinstance(game, FiniteGame)
    return FiniteGame(
        game.principal_payoffs,
        -game.principal_payoffs,
        game.principal_actions,
        game.agent_actions,
        constraints=game.constraints,
    )


def best_nash(game: Game) -> float:
    """Return the principal's payoff in its best Nash equilibrium of the game without commitment.

    A mixed-integer program over supports (Sandholm, Gilpin and Conitzer 2005), so degenerate games
    are no exception; accurate to about 1e-6 of the payoffs' spread. NaN if it takes too long or if
    the commitments are constrained, or are not mixed strategies.
    """
    if game.constraints or not isinstance(game, FiniteGame):
        return math.nan
    from scipy.optimize import Bounds, LinearConstraint, milp

    unit = game.normalised()
    A, B = unit.principal_payoffs, unit.agent_payoffs
    m, k = unit.shape
    # Variables: h (m), q (k), v, w, and for every action a switch that is 1 if it may be played.
    n = 2 * (m + k) + 2
    at_q, at_v, at_w, at_rows, at_columns = m, m + k, m + k + 1, m + k + 2, 2 * m + k + 2
    rows, upper = [], []

    def at_most(entries: dict[int, float], bound: float) -> None:
        row = np.zeros(n)
        for index, entry in entries.items():
            row[index] = entry
        rows.append(row)
        upper.append(bound)

    for x in range(m):
        payoff = {at_q + y: float(A[x, y]) for y in range(k)}
        at_most({**payoff, at_v: -1.0}, 0.0)
        regret = {index: -entry for index, entry in payoff.items()}
        at_most({**regret, at_v: 1.0, at_rows + x: 1.0}, 1.0)
        at_most({x: 1.0, at_rows + x: -1.0}, 0.0)
    for y in range(k):
        payoff = {x: float(B[x, y]) for x in range(m)}
        at_most({**payoff, at_w: -1.0}, 0.0)
        regret = {index: -entry for index, entry in payoff.items()}
        at_most({**regret, at_w: 1.0, at_columns + y: 1.0}, 1.0)
        at_most({at_q + y: 1.0, at_columns + y: -1.0}, 0.0)
    sums = np.zeros((2, n))
    sums[0, :m] = sums[1, at_q : at_q + k] = 1.0
    objective = np.zeros(n)
    objective[at_v] = -1.0
    result = milp(
        objective,
        integrality=np.repeat([0, 1], [m + k + 2, m + k]),
        bounds=Bounds(0, 1),
        constraints=[
            LinearConstraint(np.array(rows), -np.inf, np.array(upper)),
            LinearConstraint(sums, 1, 1),
        ],
        options={"time_limit": _NASH_SECONDS, "mip_rel_gap": 1e-9},
    )
    if result.status != 0:
        return math.nan
    low, width = game.principal_payoffs.min(), np.ptp(game.principal_payoffs)
    return float(low + result.x[at_v] * (width if width > 0 else 1.0))


def sensitivity(game: Game, solution: Solution, payoff_error: float | None = None) -> Sensitivity:
    """Return how far V* and the commitment move when the agent's payoffs are slightly wrong.

    If no entry is off by more than δ, no comparison of two actions is off by more than 2δ. So V* of
    every such game is at most the value with best responses relaxed by 2δ (and reaches it, when y
    is raised and the others are lowered by δ), and a commitment at which y is better than all
    others by 2δ draws y in every such game.
    """
    view = game.agent_view
    error = 0.01 * view.scale if payoff_error is None else payoff_error
    error = real_number("payoff_error", error, at_least=0)
    scaled = ScaledPayoffs.of(game)
    slack = 2 * error / view.scale
    relaxed = best_solution(game, scaled, 0.0, every=False, slack=slack)
    safe = best_solution(game, scaled, 0.0, every=False, slack=-slack)
    assert relaxed is not None
    near = game.best_responses(solution.strategy, tolerance=max(slack, scaled.tie))
    strategy: FloatArray = np.full(game.shape[0], math.nan) if safe is None else safe.strategy
    return Sensitivity(
        payoff_error=error,
        highest=relaxed.value,
        guaranteed=math.nan if safe is None else safe.value,
        safe_strategy=strategy,
        strategy_shift=float(np.linalg.norm(strategy - solution.strategy)),
        worst_case=float(game.principal_utilities(solution.strategy)[near].min()),
    )
