"""The best commitment by one linear program for each agent action, certified on the payoffs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stackcast.games import FiniteGame
from stackcast.regions._programs import best_commitment, unit_payoffs
from stackcast.regions._simplex import CERTIFIED, UNSURE
from stackcast.solvers.solution import Solution

if TYPE_CHECKING:
    from stackcast.games import Game
    from stackcast.regions.best_response import ScaledPayoffs


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
        payoffs = game.principal_view.utilities(scaled.vertices)
    U, low, width = unit_payoffs(payoffs)
    W, tie = scaled.frame, scaled.tie
    everyone = np.ones(W.shape[1], dtype=np.bool_)
    others = ~scaled.never_best() if margin > 0 else everyone
    weights, response, best, status, found, bounds = best_commitment(
        U, W, scaled.projected, margin, others, scaled.cuts, tie, slack, every, everyone
    )
    method = "lazy dual simplex"
    if (status == UNSURE).any():
        from stackcast.solvers.fallback import action_programs

        method = "HiGHS"
        actions = np.flatnonzero(status == UNSURE)
        for y, answer in action_programs(
            U, W, scaled.projected, margin, others, scaled.cuts, tie, slack, actions
        ):
            found[y], bounds[y] = math.nan, -math.inf
            if answer is not None:
                h, found[y], bounds[y] = answer
                if found[y] > best + 1e-12:
                    weights, response, best = h, y, found[y]
    if response < 0:
        return None
    gap, distance = scaled.gap_and_margin(weights, response, others, U)
    bound = max(float(np.fmax.reduce(bounds)), best)
    certified = gap <= tie + slack and bound - best <= CERTIFIED
    strategy = weights if scaled.vertices is None else weights @ scaled.vertices
    return Solution(
        value=float(weights @ payoffs[:, response]),
        strategy=strategy,
        response=int(response),
        margin=max(distance, 0.0),
        values=low + (found - 1.0) * width,
        gap=gap * scaled.scale,
        tolerance=max(tie, 0.0 if certified else gap) * scaled.scale,
        bound=low + (bound - 1.0) * width,
        status="optimal" if certified else "approximate",
        method=method,
        response_name=game.agent_actions[response],
    )
