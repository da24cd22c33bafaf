"""What a record proves where the agent's payoffs are known as ranges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._plain import plain
from stackcast.solvers import solve_ranges

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.games import HalfKnownGame
    from stackcast.protocol import Transcript
    from stackcast.solvers import RangeSolution


@dataclass(frozen=True, eq=False)
class RangeAudit:
    """The audit of a play whose agent is known by ranges.

    Attributes
    ----------
    rounds : int
    average_utility : float
        What the principal earned a round.
    solution : RangeSolution
        The commitments with the best worst case and the best expected value.
    least_regret : float
        The least average regret of the agent over all payoffs in the ranges, in its units. Above 0,
        no such payoffs make the responses best on average; 0 where nothing is known.
    """

    rounds: int
    average_utility: float
    solution: RangeSolution
    least_regret: float

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as JSON can hold it."""
        table: dict[str, Any] = plain(self)
        return table


def audit_ranges(transcript: Transcript, game: HalfKnownGame) -> RangeAudit:
    """Return what a record proves of a half-known game.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.games.HalfKnownGame([[1, 3], [0, 2]], agent_payoffs=[[1, 0], [0, [0.5, 1]]])
    >>> t = sc.Transcript.from_rounds([[0.3, 0.7]] * 4, [1, 1, 1, 1])
    >>> found = audit_ranges(t, game)
    >>> round(found.average_utility, 4), round(found.least_regret, 9)
    (2.3, 0.0)
    """
    view = game.principal_view
    m, k = view.payoffs.shape
    played = np.zeros((k, m))  # Σ over rounds with response y of h, over T
    start, responses = 0, transcript.responses
    for h, n in zip(transcript.block_strategies, transcript.block_rounds, strict=True):
        counts = np.bincount(responses[start : start + n], minlength=k)
        played += counts[:, None] * h
        start += int(n)
    played /= max(start, 1)
    earned = float(np.einsum("ym,my->", played, view.payoffs) + played.sum(1) @ view.offsets)
    return RangeAudit(start, earned, solve_ranges(game), _least_regret(game, played))


def _least_regret(game: HalfKnownGame, played: FloatArray) -> float:
    """Return min over payoffs W in the ranges of max_j Σ_y played_y·(W_j − W_y)."""
    from scipy.optimize import linprog

    if game.bounds is None:
        return 0.0
    k, m = played.shape
    low, high = game.bounds
    rows = np.zeros((k, m * k + 1))  # variables: W by columns, and the regret
    for j in range(k):
        rows[j, :-1] = -played.ravel()
        rows[j, j * m : (j + 1) * m] += played.sum(0)
    rows[:, -1] = -1.0
    limits = [*zip(low.T.ravel(), high.T.ravel(), strict=True), (0.0, None)]
    found = linprog(np.r_[np.zeros(m * k), 1.0], A_ub=rows, b_ub=np.zeros(k), bounds=limits)
    return float(found.fun or 0.0)
