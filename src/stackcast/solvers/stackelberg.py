"""The Stackelberg value and optimal commitments (Section 2 of the paper).

V* = max over y of max {U_P(h, y) : h ∈ P_y}: one linear program for each agent action (Conitzer and
Sandholm 2006); plain security games have a faster way (:mod:`stackcast.solvers.security`). Ties of
the agent are broken for the principal, as the definition of V* has it.

Payoffs are shifted and scaled first, so that no tolerance depends on the user's units, and every
answer is checked afterwards against the payoffs: the response is a best response within a stated
tolerance, and no commitment can earn more than a bound that follows from the payoffs alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, overload

import numpy as np

from stackcast._validation import InputError, real_number
from stackcast.games import ContinuousGame, SecurityGame
from stackcast.regions import BestResponseRegions
from stackcast.regions.best_response import ScaledPayoffs
from stackcast.solvers.commitment import best_solution
from stackcast.solvers.concave import solve_continuous
from stackcast.solvers.details import with_details
from stackcast.solvers.security import best_coverage, has_levels

if TYPE_CHECKING:
    from stackcast.games import Game
    from stackcast.solvers.concave import ContinuousSolution
    from stackcast.solvers.solution import Solution


@overload
def solve(
    game: ContinuousGame,
    margin: float = 0.0,
    details: bool = False,
    *,
    payoff_error: float | None = None,
) -> ContinuousSolution: ...
@overload
def solve(
    game: Game,
    margin: float = 0.0,
    details: bool = False,
    *,
    payoff_error: float | None = None,
) -> Solution: ...


def solve(
    game: Game | ContinuousGame,
    margin: float = 0.0,
    details: bool = False,
    *,
    payoff_error: float | None = None,
) -> Solution | ContinuousSolution:
    """Return an optimal commitment of the one-shot game.

    Parameters
    ----------
    game : FiniteGame, SecurityGame or ContinuousGame
        The whole game: both sides' payoffs. A continuous game has neither margins nor details.
    margin : float
        Keep at least this ℓ2 distance to every other region, so that a forecast that is off by less
        draws the same response. Among agent actions that the agent cannot tell apart, a robust
        commitment counts on the worst for the principal.
    details : bool
        Also find every action's own optimum, the regularity η, the maximin and the best Nash value,
        and the sensitivity to errors in the agent's payoffs.
    payoff_error : float, optional
        The error for the sensitivity, in the agent's units; by default 1% of their spread.

    Returns
    -------
    Solution or ContinuousSolution

    Examples
    --------
    >>> from stackcast.games import FiniteGame
    >>> game = FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> solution = solve(game)
    >>> solution.value, solution.strategy, solution.response
    (2.5, array([0.5, 0.5]), 1)
    >>> robust = solve(game, margin=0.1)
    >>> round(robust.value, 4), round(robust.margin, 4)
    (2.4293, 0.1)
    """
    margin = real_number("margin", margin, at_least=0)
    if isinstance(game, ContinuousGame):
        return solve_continuous(game, margin)
    if isinstance(game, SecurityGame) and has_levels(game, margin):
        solution = best_coverage(game, margin, details, payoff_error)
    else:
        solution = best_solution(game, ScaledPayoffs.of(game), margin, every=details)
        if solution is not None and details:
            solution = with_details(game, solution, payoff_error)
    if solution is None:
        raise InputError("margin", f"at most {_widest(game):.6g} in this game", f"{margin:g}")
    return solution


def _widest(game: Game) -> float:
    """Return the largest margin that any commitment has."""
    regions = BestResponseRegions(game)
    return max(
        (_largest_margin(regions, y) for y in range(regions.count) if not regions.never_best[y]),
        default=0.0,
    )


def _largest_margin(regions: BestResponseRegions, y: int) -> float:
    from scipy.optimize import linprog

    region, space = regions.polytope(y), regions.space
    own = len(space.inequality_rows)
    rows, bounds = region.inequality_rows, region.inequality_bounds
    lengths = np.linalg.norm(rows @ space.basis, axis=1)
    lengths[:own] = 0.0
    if not lengths.any():
        return math.inf
    n = space.dimension
    result = linprog(
        np.append(np.zeros(n), -1.0),
        A_ub=np.column_stack([rows, lengths]),
        b_ub=bounds,
        A_eq=np.column_stack([space.equality_rows, np.zeros(len(space.equality_rows))]),
        b_eq=space.equality_bounds,
        bounds=[(None, None)] * n + [(0.0, None)],
        method="highs",
    )
    return 0.0 if result.x is None else float(result.x[n])
