"""What an unknown agent looks like, from its answers alone.

The answers and the game are all that is used: no forecasts, no name. What is looked for is how the
answers follow the strategies, on this record:

- **best-responding**: every answer is a best response to the strategy of its own round, also in the
  first round after a change, which no agent can manage that answers before it sees the strategy;
- **mean-based**: where the *leader*, the response with the most utility so far, is no best response
  to the strategy of the round, the answer is the leader;
- **adaptive**: on no window do the answers betray a calibration error beyond the paper's rate;
- **long-run calibrated**: on no prefix do they, but on some later window they do;
- **mixture**: a prefix betrays too large an error, and the leader does not explain it;
- **undecided**: the record has no round, and no change of strategy, that would tell these apart.

The error that answers betray: if all of them are best responses to forecasts, then the forecasts'
calibration error on a window of L rounds is at least the largest of
Σ_{t: y_t = i} (U_A(h_t, j) − U_A(h_t, i)) / (L·‖(U_A(·,j) − U_A(·,i)) − median‖₁) over pairs i, j.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from stackcast._validation import real_number
from stackcast.auditing._portrait_pass import SHORTEST, observe
from stackcast.auditing.bounds import pair_norms
from stackcast.auditing.records import checked_record
from stackcast.games import BEST_RESPONSE_TOLERANCE

if TYPE_CHECKING:
    from stackcast.games import Game
    from stackcast.protocol import Transcript

Label = Literal[
    "best-responding",
    "adaptive",
    "long-run calibrated",
    "mean-based",
    "mixture",
    "undecided",
]

#: An error this many times the paper's rate is beyond it; the package's own adaptive agent stays
#: below 1, and the constant of a rate is an agent's own.
BEYOND = 2.0
#: Rounds in which the leader is no best response: fewer decide nothing.
ENOUGH = 30
#: The share of such rounds that a mean-based agent answers with the leader.
FOLLOWS = 0.9


@dataclass(frozen=True)
class Portrait:
    """What the agent of a transcript looks like, and the numbers that say so.

    Attributes
    ----------
    label : str
        One of the words of this module.
    reasons : tuple of str
        The evidence in sentences.
    rounds : int
        The length of the record.
    prefix_error, window_error : float
        The largest error betrayed on a prefix, and on any other window, in units of the rate.
    visible_error : float
        What ``window_error`` could have been if the agent had kept its old answer after a change
        for as long as calibration over the whole past allows: below 2, the record cannot tell
        adaptive from long-run calibrated.
    leader_share : float
        The share of all rounds answered with the leader.
    contested : int
        Rounds in which no leader is a best response; those long after the last change, more than
        √(t·log(k·m·t)) rounds, if there are enough of them.
    contested_leader_share, contested_best_share : float
        The shares of these that were answered with the leader, and with a best response.
    changes : int
        Changes of strategy after which no earlier best response is one.
    at_once : float
        The share of these that was answered right in the first round.
    median_lag : float
        The median number of rounds until the first right answer; infinite if there was none.
    draws : bool
        Whether the record holds drawn actions instead of strategies.
    """

    label: Label
    reasons: tuple[str, ...]
    rounds: int
    prefix_error: float
    window_error: float
    visible_error: float
    leader_share: float
    contested: int
    contested_leader_share: float
    contested_best_share: float
    changes: int
    at_once: float
    median_lag: float
    draws: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the portrait as plain values for JSON; NaN and infinity become null."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        values["reasons"] = list(self.reasons)
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in values.items()
        }


def portrait(
    transcript: Transcript,
    game: Game | None = None,
    *,
    draws: bool | None = None,
    delta: float = 0.05,
) -> Portrait:
    """Say what the agent of a transcript looks like, from its answers alone.

    Parameters
    ----------
    transcript, game, draws
        As for :func:`stackcast.audit`.
    delta : float
        With draws: the chance that their noise alone makes an error look too large.

    Notes
    -----
    One pass, O(T·k) time; memory O(k² log T) and a number for each change of strategy.

    Examples
    --------
    >>> from stackcast.games import load_game
    >>> from stackcast.protocol import Transcript
    >>> game = load_game("milking")
    >>> strategies = [[1, 0]] * 500 + [[0, 1]] * 500
    >>> stale = Transcript.from_rounds(strategies, [0] * 550 + [2] * 450, game=game)
    >>> portrait(stale).label
    'mean-based'
    >>> quick = Transcript.from_rounds(strategies, [0] * 502 + [1] * 498, game=game)
    >>> portrait(quick).label
    'adaptive'
    """
    real_number("delta", delta, above=0.0, at_most=1.0)
    game, draws = checked_record(transcript, game, draws)
    view = game.agent_view
    ratios, counts, lags = observe(
        transcript.block_strategies,
        transcript.block_rounds,
        transcript.compact_responses,
        view.payoffs,
        view.offsets,
        pair_norms(game),
        BEST_RESPONSE_TOLERANCE * view.scale,
        draws,
    )
    past, led, some, some_led, some_best, late, late_led, late_best, changes, first = (
        counts.tolist()
    )
    if late >= ENOUGH:
        some, some_led, some_best = late, late_led, late_best
    lag = np.median(np.where(lags < 0, np.inf, lags)) if changes else math.nan
    found = Portrait(
        label="undecided",
        reasons=(),
        rounds=transcript.rounds,
        prefix_error=float(ratios[0]),
        window_error=float(ratios[1]),
        visible_error=math.nan if draws else float(ratios[2]),
        leader_share=_share(led, past),
        contested=0 if draws else some,
        contested_leader_share=math.nan if draws else _share(some_led, some),
        contested_best_share=math.nan if draws else _share(some_best, some),
        changes=0 if draws else changes,
        at_once=math.nan if draws else _share(first, changes),
        median_lag=math.nan if draws else float(lag),
        draws=draws,
    )
    limit = BEYOND
    if draws:
        # Azuma–Hoeffding for all pairs and windows; the shortest window has the least rate.
        m, k = view.payoffs.shape
        pairs = math.log(max(k * k * transcript.rounds, 2) / delta)
        limit += math.sqrt(pairs / (2 * math.log(SHORTEST * k * m)))
    label, reason = _judged(found, limit)
    return replace(found, label=label, reasons=(*_told(found, limit), *filter(None, [reason])))


def _judged(p: Portrait, limit: float) -> tuple[Label, str]:
    """Return the label, and what must be said with it."""
    if p.changes and p.at_once == 1.0 and p.contested_best_share == 1.0 and p.prefix_error == 0.0:
        return "best-responding", ""
    if p.draws:
        follows = p.leader_share >= FOLLOWS and max(p.prefix_error, p.window_error) > limit
    else:
        follows = p.contested >= ENOUGH and p.contested_leader_share >= FOLLOWS
    if follows:
        kept = p.prefix_error <= limit
        also = "No prefix contradicts an agent that is calibrated in the long run." if kept else ""
        return "mean-based", also
    if p.prefix_error > limit:
        return "mixture", ""
    if p.window_error > limit:
        return "long-run calibrated", ""
    if p.visible_error > limit:
        return "adaptive", ""
    return "undecided", "No change of strategy in this record would have shown a slow agent up."


def _told(p: Portrait, limit: float) -> list[str]:
    """Return the evidence in sentences."""
    told = []
    if p.draws:
        told += [
            "The record holds drawn actions, so best responses to the strategies cannot be seen; "
            f"errors count as too large from {limit:.3g} times the rate on.",
            f"{_percent(p.leader_share)} of the answers are the leader of the draws so far.",
        ]
    elif p.contested:
        told.append(
            f"In {p.contested:,} rounds the leader of the past is no best response: "
            f"{_percent(p.contested_leader_share)} were answered with the leader, "
            f"{_percent(p.contested_best_share)} with a best response."
        )
    else:
        told.append("In every round the leader of the past is also a best response.")
    if p.changes:
        wait = f"{p.median_lag:,.0f} rounds" if math.isfinite(p.median_lag) else "endless"
        told.append(
            f"Changes of strategy that made the old answer wrong: {p.changes:,}; "
            f"{_percent(p.at_once)} of them were answered right at once, the median wait is {wait}."
        )
    told.append(
        f"The error that the answers betray is {p.prefix_error:.3g} times the rate on the worst "
        f"prefix and {p.window_error:.3g} times on the worst other window."
    )
    return told


def _share(part: int, whole: int) -> float:
    return part / whole if whole else math.nan


def _percent(share: float) -> str:
    return "none" if math.isnan(share) else f"{100 * share:.4g}%"
