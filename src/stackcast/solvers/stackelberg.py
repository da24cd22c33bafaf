"""The Stackelberg value and optimal commitments (Section 2 of the paper).

V* = max over y of max {U_P(h, y) : h ∈ P_y}, P_y = {h : y ∈ BR(h)}: one linear program for each
agent action; plain security games have a faster way (:mod:`stackcast.solvers.security`). Ties of
the agent are broken for the principal, as the definition of V* has it. A commitment has the
*margin* ε if every strategy within ε of it, in ℓ2, draws the same response; with a margin the same
programs ask for that.

Payoffs are shifted and scaled first, so that no tolerance depends on the user's units, and every
answer is checked afterwards against the payoffs: the response is a best response within a stated
tolerance, and no commitment can earn more than a bound that follows from the payoffs alone.

References
----------
V. Conitzer and T. Sandholm, Computing the optimal strategy to commit to, EC 2006; T. Sandholm,
A. Gilpin and V. Conitzer, Mixed-integer programming methods for finding Nash equilibria, AAAI 2005.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, overload

import numpy as np

from stackcast._validation import InputError, real_number
from stackcast.games import ContinuousGame, FiniteGame, HalfKnownGame, SecurityGame
from stackcast.solvers._programs import (
    CERTIFIED,
    TIE,
    UNSURE,
    best_commitment,
    facet_leads,
    unit_payoffs,
    with_duplicate_rows,
)
from stackcast.solvers.concave import solve_continuous
from stackcast.solvers.regions import BestResponseRegions, ScaledPayoffs
from stackcast.solvers.security import best_coverage, has_levels
from stackcast.solvers.solution import Sensitivity, Solution

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stackcast._validation import FloatArray
    from stackcast.games import Game
    from stackcast.solvers.concave import ContinuousSolution
    from stackcast.solvers.ranges import RangeSolution

#: Seconds that the search for the best Nash equilibrium may take.
_NASH_SECONDS = 10.0


@overload
def solve(
    game: HalfKnownGame,
    margin: float = 0.0,
    details: bool = False,
    *,
    payoff_error: float | None = None,
) -> RangeSolution: ...
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
    game: Game | ContinuousGame | HalfKnownGame,
    margin: float = 0.0,
    details: bool = False,
    *,
    payoff_error: float | None = None,
) -> Solution | ContinuousSolution | RangeSolution:
    """Return an optimal commitment of the one-shot game.

    Parameters
    ----------
    game : FiniteGame, SecurityGame or ContinuousGame
        The whole game: both sides' payoffs. A continuous game has neither margins nor details, nor
        has a HalfKnownGame, which is solved for the worst case and in expectation.
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
    Solution, ContinuousSolution or RangeSolution

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
    if isinstance(game, HalfKnownGame):
        from stackcast.solvers.ranges import solve_ranges

        if margin or details:
            expected = "nothing, as the agent's payoffs are known as ranges"
            raise InputError("margin or details", expected, "a value")
        return solve_ranges(game)
    if isinstance(game, SecurityGame) and has_levels(game, margin):
        solution = best_coverage(game, margin, details, payoff_error)
    else:
        solution = best_solution(game, ScaledPayoffs.of(game), margin, every=details)
        if solution is not None and details:
            solution = with_details(game, solution, payoff_error)
    if solution is None:
        raise InputError("margin", f"at most {_widest(game):.6g} in this game", f"{margin:g}")
    return replace(solution, asked_margin=margin) if margin else solution


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


def best_solution(
    game: Game, scaled: ScaledPayoffs, margin: float, every: bool, slack: float = 0.0
) -> Solution | None:
    """Return the best commitment; None if none has the margin.

    ``slack`` is added to the utility of y when it is compared with the other actions, in the units
    of ``scaled``: the agent may lose that much by playing y.
    """
    if isinstance(game, FiniteGame) and scaled.vertices is None:
        payoffs = game.principal_payoffs  # the common case, without the cost of a view
    else:
        assert scaled.vertices is not None
        payoffs = game.principal_view.utilities(scaled.vertices)
    U, low, width = unit_payoffs(payoffs)
    W = scaled.W
    k = W.shape[1]
    everyone = np.ones(k, dtype=np.bool_)
    others = ~scaled.never_best() if margin > 0 else everyone
    if margin > 0:
        margins = np.where(others, margin, -np.inf) + np.zeros((k, 1))
        np.fill_diagonal(margins, margin)
        lead = facet_leads(scaled.projected, margins)
    else:
        lead = np.full((k, k), -slack) if slack else np.zeros((k, k))
    found = best_commitment(U, W, lead, scaled.cuts, everyone, not every)
    weights, response, best, values, bounds = (
        found.strategy,
        found.response,
        found.value,
        found.values,
        found.bounds,
    )
    method = "lazy dual simplex"
    unsure = np.flatnonzero(found.status == UNSURE)
    if len(unsure):
        method = "HiGHS"
        for y, answer in _by_highs(U, W, lead, scaled.cuts, unsure):
            values[y], bounds[y] = math.nan, -math.inf
            if answer is not None:
                h, values[y], bounds[y] = answer
                if values[y] > best + 1e-12:
                    weights, response, best = h, y, float(values[y])
    if response < 0:
        return None
    gap, distance = scaled.gap_and_margin(weights, response, others, U)
    bound = max(float(np.fmax.reduce(bounds)), best)
    certified = gap <= TIE + slack and bound - best <= CERTIFIED
    strategy = weights if scaled.vertices is None else weights @ scaled.vertices
    return Solution(
        value=float(weights @ payoffs[:, response]),
        strategy=strategy,
        response=int(response),
        margin=max(distance, 0.0),
        values=low + (values - 1.0) * width,
        gap=gap * scaled.scale,
        tolerance=max(TIE, 0.0 if certified else gap) * scaled.scale,
        bound=low + (bound - 1.0) * width,
        status="optimal" if certified else "approximate",
        method=method,
        response_name=game.agent_actions[response],
    )


def _by_highs(
    U: FloatArray, W: FloatArray, lead: FloatArray, cuts: FloatArray, actions: Iterable[int]
) -> Iterator[tuple[int, tuple[FloatArray, float, float] | None]]:
    """Yield for each action its optimum (strategy, value, bound), or None where there is none.

    The rows are those of the compiled programs, each scaled to a largest entry of 1, so that the
    solver's absolute tolerances mean the same in every game.
    """
    from scipy.optimize import linprog

    m, k = W.shape
    for y in map(int, actions):
        rows = []
        for j in range(k):
            if j == y or lead[y, j] == -np.inf:
                continue
            row = W[:, j] - W[:, y] + lead[y, j]
            largest = np.abs(row).max()
            if largest > TIE:
                rows.append(row / largest)
        extra = with_duplicate_rows(cuts, U, W, y) if lead[y, y] > 0 else cuts
        rows.extend(row / np.abs(row).max() for row in extra)
        A = np.array(rows).reshape(-1, m)
        result = linprog(
            -U[:, y],
            A_ub=A,
            b_ub=np.zeros(len(A)),
            A_eq=np.ones((1, m)),
            b_eq=[1.0],
            method="highs",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if result.x is None:
            yield y, None
            continue
        h = _polished(np.asarray(result.x), A)
        multipliers = np.maximum(-np.asarray(result.ineqlin.marginals), 0.0)
        bound = float((U[:, y] - multipliers @ A).max())
        yield y, (h, float(h @ U[:, y]), bound)


def _polished(h: FloatArray, A: FloatArray) -> FloatArray:
    """Move h by rounding onto its active rows, where that does not break another row."""
    support = h > 1e-9
    active = A @ h > -1e-9
    system = np.vstack([A[active][:, support], np.ones((1, support.sum()))])
    target = np.append(np.zeros(int(active.sum())), 1.0)
    moved = np.zeros_like(h)
    moved[support] = (
        h[support] + np.linalg.lstsq(system, target - system @ h[support], rcond=None)[0]
    )
    moved = np.maximum(moved, 0.0) / np.maximum(moved, 0.0).sum()
    original = np.maximum(h, 0.0) / np.maximum(h, 0.0).sum()
    better = (A @ moved).max(initial=0.0) <= (A @ original).max(initial=0.0)
    return moved if better else original


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
    near = game.best_responses(solution.strategy, tolerance=max(slack, TIE))
    strategy: FloatArray = np.full(game.shape[0], math.nan) if safe is None else safe.strategy
    return Sensitivity(
        payoff_error=error,
        highest=relaxed.value,
        guaranteed=math.nan if safe is None else safe.value,
        safe_strategy=strategy,
        strategy_shift=float(np.linalg.norm(strategy - solution.strategy)),
        worst_case=float(game.principal_utilities(solution.strategy)[near].min()),
    )
