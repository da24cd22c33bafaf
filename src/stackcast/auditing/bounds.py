"""The bounds that a transcript is held against, each with what was measured.

All of them are per-instance: the numbers of this transcript stand on both sides, no constant of a
theorem and no assumed rate. With h_t, p_t, y_t the strategy, forecast and response of round t, and
the rounds sorted by their *realised* answer i = y_t:

- n_i rounds, mean strategy h̄_i, mean forecast p̄_i, S_i = Σ (h_t − p_t) = n_i (h̄_i − p̄_i), and
  CalErr_i = ‖S_i‖_∞/T;
- avg U_P = Σ_i (n_i/T)·U_P(p̄_i, i) + Σ_i ⟨U_P(·,i), S_i⟩/T, an identity. If every response is a
  best response to its forecast, p̄_i lies in the region of i, which is convex, so U_P(p̄_i, i) ≤ V*.

On mixed strategies the entries of S_i sum to 0, so a constant may be taken off a column of
payoffs: its median gives the least ℓ1 norm. On spaces whose coordinates have no constant sum
(coverage vectors) nothing is taken off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast.auditing.distances import nearest_in_region
from stackcast.solvers import BestResponseRegions

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.auditing._pass import Tallies
    from stackcast.games import Game, StrategySpace

#: What a bound may be missed by for rounding, in units of the payoffs' spread.
ROUNDING = 1e-9

UPPER_BOUND = "Theorem 3.1"
SWAP_LEMMA = "Lemma B.2"
CALIBRATED = "Definition 2.3"


@dataclass(frozen=True)
class Bound:
    """One line of an audit.

    Attributes
    ----------
    name : str
        What is bounded.
    where : str
        The theorem, lemma or definition of the paper.
    measured, bound, slack : float
        What the transcript has, what it may have at most, and the difference: bound − measured.
    holds : bool or None
        Whether it is kept; None where the evidence cannot say.
    note : str
        What the line assumes, or how it is to be read.
    """

    name: str
    where: str
    measured: float
    bound: float
    slack: float
    holds: bool | None
    note: str = ""

    @classmethod
    def of(
        cls, name: str, where: str, measured: float, bound: float, unit: float, note: str = ""
    ) -> Bound:
        """Compare ``measured`` with ``bound``, up to rounding in ``unit``."""
        slack = bound - measured
        return cls(name, where, measured, bound, slack, slack >= -ROUNDING * unit, note)

    def to_dict(self) -> dict[str, Any]:
        """Return the line as plain values."""
        return {
            "name": self.name,
            "where": self.where,
            "measured": self.measured,
            "bound": self.bound,
            "slack": self.slack,
            "holds": self.holds,
            "note": self.note,
        }


def utility_by_forecasts(game: Game, tallies: Tallies, errors: FloatArray) -> float:
    """Return Σ_i ‖U_P(·,i) − mid_i‖₁·CalErr_i, given the sums S_i (or those with weights w_i)."""
    columns = column_norms(game.principal_view.payoffs, game.space)
    return float(columns @ np.abs(errors).max(axis=1) / tallies.counts.sum())


def utility_by_responses(game: Game, tallies: Tallies, value: float, space: StrategySpace) -> float:
    """Return what any agent at all can have given away beyond V*, from its answers alone.

    Σ_y (n_y/T)·min(½·range(U_P(·,y))·‖h̄_y − q‖₁ + (U_P(q,y) − V*)⁺, (max U_P(·,y) − V*)⁺), with q
    the point of the region of y that is nearest to the mean strategy h̄_y. The term with U_P(q,y) is
    0 but for rounding, and makes the bound true for the q that was computed, whatever it is. The
    maximum is over ``space``, where the h̄_y live.
    """
    view, regions = game.principal_view, BestResponseRegions(game)
    balanced = has_constant_sum(game.space)
    total = 0.0
    for y in np.flatnonzero(tallies.counts):
        column, offset = view.payoffs[:, y], float(view.offsets[y])
        mean = tallies.strategies[y] / tallies.counts[y]
        highest = _support(space, column) + offset
        excess = max(0.0, highest - value)
        q = nearest_in_region(regions, mean, int(y))
        if q is not None:
            width = np.ptp(column) / 2 if balanced else np.abs(column).max()
            beyond = max(0.0, float(q @ column) + offset - value)
            excess = min(excess, float(width * np.abs(mean - q).sum()) + beyond)
        total += tallies.counts[y] * excess
    return float(total / tallies.counts.sum())


def regret_matrix(game: Game, tallies: Tallies) -> FloatArray:
    """Return what the agent would have gained by answering j wherever it answered i."""
    view = game.agent_view
    # Differences of payoffs before products: payoffs far from 0 then cost no digits.
    gains = np.zeros((len(tallies.counts), len(tallies.counts)))
    for i in range(len(gains)):
        gains[i] = tallies.strategies[i] @ (view.payoffs - view.payoffs[:, [i]])
        gains[i] += tallies.counts[i] * (view.offsets - view.offsets[i])
    return gains


def swap_regret_bound(game: Game, errors: FloatArray) -> float:
    """Return Σ_i max_j ‖(U_A(·,j) − U_A(·,i)) − median‖₁·‖S_i‖_∞, the lemma's, cumulative."""
    norms = pair_norms(game)
    return float(norms.max(axis=1) @ np.abs(errors).max(axis=1))


def pair_norms(game: Game) -> FloatArray:
    """Return ‖(U_A(·,j) − U_A(·,i)) − median‖₁ for all pairs i, j."""
    payoffs = game.agent_view.payoffs
    return np.array(
        [column_norms(payoffs - payoffs[:, [i]], game.space) for i in range(payoffs.shape[1])]
    )


def tie_noise(game: Game, rounds: int, delta: float) -> float:
    """Return how much U_P may exceed its mean over random ties: range·√(ln(1/δ)/2T)."""
    view = game.principal_view
    spread = float(np.ptp(view.payoffs, axis=1).max() + np.ptp(view.offsets))
    return spread * math.sqrt(math.log(1 / delta) / (2 * rounds))


def swap_tie_noise(game: Game, rounds: int, delta: float) -> float:
    """Return how much the swap regret may exceed its mean over random ties, for all k^k swaps.

    One swap's gain lies in an interval of twice the agent's range in every round (Azuma–Hoeffding).
    """
    view = game.agent_view
    k = view.payoffs.shape[1]
    spread = float(np.ptp(view.payoffs, axis=1).max() + np.ptp(view.offsets))
    return spread * math.sqrt(2 * rounds * (k * math.log(k) + math.log(1 / delta)))


def draw_noise(game: Game, rounds: int, delta: float) -> float:
    """Return how far U_P of the strategies may lie above that of actions drawn from them."""
    space, columns = game.space.pure, game.principal_view.payoffs.T
    spread = max(_support(space, column) + _support(space, -column) for column in columns)
    return spread * math.sqrt(math.log(1 / delta) / (2 * rounds))


def column_norms(columns: FloatArray, space: StrategySpace) -> FloatArray:
    """Return ‖column − median‖₁ for each column, or ‖column‖₁ where no constant may be taken."""
    if has_constant_sum(space):
        columns = columns - np.median(columns, axis=0)
    norms: FloatArray = np.abs(columns).sum(axis=0)
    return norms


def has_constant_sum(space: StrategySpace) -> bool:
    """Tell whether the coordinates of every strategy have the same sum."""
    return bool(len(space.equality_rows) and (space.equality_rows == 1).all(axis=1).any())


def _support(space: StrategySpace, column: FloatArray) -> float:
    return float(column @ space.argmax(column))
