"""One compiled pass over a transcript: all sums that the bounds need, in memory of size k·m."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._compiling import entry
from stackcast._validation import PROBABILITY_TOLERANCE
from stackcast.games import BEST_RESPONSE_TOLERANCE

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray
    from stackcast.games import Game, StrategySpace
    from stackcast.protocol import Transcript

#: Forecasts whose best responses are found at once, so that the temporary table stays small.
_CHUNK = 1 << 16


@dataclass(frozen=True, eq=False)
class Tallies:
    """Sums over the rounds of a transcript; row i belongs to the rounds that were answered i.

    Attributes
    ----------
    phase_counts, phase_utilities : arrays, one entry a phase
        Rounds, and the principal's utility summed over them.
    counts : array, shape (k,)
        Rounds answered i.
    strategies, forecasts : arrays, shape (k, m)
        Sums of h_t and of p_t over the rounds answered i; forecasts are None without any.
    weighted : array, shape (k, m), or None
        Σ_t w_i(p_t)(h_t − p_t) with the weights of a tie rule.
    best : int
        Rounds whose response was a best response to h_t.
    rational : int
        Rounds whose response was a best response to p_t, and p_t a strategy of the game.
    ruled : int
        Rounds whose response has weight under the tie rule.
    """

    phase_counts: npt.NDArray[np.int64]
    phase_utilities: FloatArray
    counts: npt.NDArray[np.int64]
    strategies: FloatArray
    forecasts: FloatArray | None
    weighted: FloatArray | None
    best: int
    rational: int
    ruled: int

    @property
    def errors(self) -> FloatArray | None:
        """S_i = Σ (h_t − p_t) over the rounds answered i: the sums behind CalErr_i."""
        return None if self.forecasts is None else self.strategies - self.forecasts


def tally(transcript: Transcript, game: Game, ties: str | None) -> Tallies:
    """Go once through the rounds of a transcript."""
    principal, agent = game.principal_view, game.agent_view
    table, ids = transcript.forecast_table, transcript.forecast_ids
    k, m = len(agent.agent_actions), agent.space.dimension
    known = table is not None and ids is not None
    tied, inside = np.zeros((0, k), dtype=np.bool_), np.zeros(0, dtype=np.bool_)
    if table is not None and ids is not None:
        tied, inside = np.empty((len(table), k), dtype=np.bool_), np.ones(len(table), np.bool_)
        for start in range(0, len(table), _CHUNK):
            rows = table[start : start + _CHUNK]
            tied[start : start + _CHUNK] = agent.best_responses(rows)
            if game.space.kind != "simplex":
                inside[start : start + _CHUNK] = _inside(game.space, rows)
    rule = {None: 0, "lowest": 1, "random": 2}[ties] if known else 0
    found = _tally(
        transcript.block_strategies,
        transcript.block_rounds,
        transcript.block_phases,
        len(transcript.phase_names),
        transcript.compact_responses,
        np.zeros(0, np.int32) if ids is None else ids,
        np.zeros((0, m)) if table is None else table,
        tied,
        inside,
        rule,
        principal.payoffs,
        principal.offsets,
        agent.payoffs,
        agent.offsets,
        BEST_RESPONSE_TOLERANCE * agent.scale,
    )
    phase_counts, phase_utilities, counts, strategies, forecasts, weighted, *shares = found
    best, rational, ruled = map(int, shares)
    return Tallies(
        phase_counts,
        phase_utilities,
        counts,
        strategies,
        forecasts if known else None,
        weighted if rule else None,
        best,
        rational,
        ruled,
    )


def _inside(space: StrategySpace, rows: FloatArray) -> npt.NDArray[np.bool_]:
    over = rows @ space.inequality_rows.T - space.inequality_bounds
    off = np.abs(rows @ space.equality_rows.T - space.equality_bounds)
    kept: npt.NDArray[np.bool_] = np.all(
        np.column_stack([over, off]) <= PROBABILITY_TOLERANCE, axis=1
    )
    return kept


@entry
def _tally(
    strategies: Any,
    rounds: Any,
    phases: Any,
    phase_count: int,
    responses: Any,
    ids: Any,
    table: Any,
    tied: Any,
    inside: Any,
    rule: int,
    principal: Any,
    principal_offsets: Any,
    agent: Any,
    agent_offsets: Any,
    tolerance: float,
) -> Any:
    m, k = agent.shape
    phase_counts = np.zeros(phase_count, np.int64)
    phase_utilities = np.zeros(phase_count)
    counts = np.zeros(k, np.int64)
    strategy_sums = np.zeros((k, m))
    forecast_sums = np.zeros((k, m))
    weighted = np.zeros((k, m))
    best, rational, ruled = 0, 0, 0
    here = np.zeros(k, np.int64)
    utilities = np.empty(k)
    t = 0
    for b in range(len(rounds)):
        here[:] = 0
        for r in range(t, t + rounds[b]):
            y = int(responses[r])
            here[y] += 1
            if len(ids) > 0:
                f = ids[r]
                rational += tied[f, y] and inside[f]
                for x in range(m):
                    forecast_sums[y, x] += table[f, x]
                if rule > 0:
                    share, first = 0, -1
                    for i in range(k):
                        if tied[f, i]:
                            share += 1
                            if first < 0:
                                first = i
                    ruled += (y == first) if rule == 1 else tied[f, y]
                    for i in range(k):
                        if (i == first) if rule == 1 else tied[f, i]:
                            w = 1.0 if rule == 1 else 1.0 / share
                            for x in range(m):
                                weighted[i, x] += w * (strategies[b, x] - table[f, x])
        t += rounds[b]
        top = -np.inf
        for y in range(k):
            utilities[y] = agent_offsets[y]
            for x in range(m):
                utilities[y] += strategies[b, x] * agent[x, y]
            top = max(top, utilities[y])
        phase_counts[phases[b]] += rounds[b]
        for y in range(k):
            if here[y] > 0:
                counts[y] += here[y]
                earned = principal_offsets[y]
                for x in range(m):
                    strategy_sums[y, x] += here[y] * strategies[b, x]
                    earned += strategies[b, x] * principal[x, y]
                phase_utilities[phases[b]] += here[y] * earned
                if utilities[y] >= top - tolerance:
                    best += here[y]
    return (
        phase_counts,
        phase_utilities,
        counts,
        strategy_sums,
        forecast_sums,
        weighted,
        best,
        rational,
        ruled,
    )
