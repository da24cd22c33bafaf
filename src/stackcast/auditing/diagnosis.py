"""Diagnose an unknown agent from its responses alone.

The responses and the game are all that is used: no forecasts, no name. The labels say how the
responses follow the strategies on this record:

- **best-responding**: every response is a best response to the strategy of its own round, also in
  the first round after a change, which no agent can manage that moves before it sees the strategy;
- **mean-based**: where the *leader*, the response with the most utility so far, is no best response
  to the strategy of the round, the response is the leader;
- **adaptive**: on no window do the responses imply a calibration error beyond the paper's rate;
- **long-run calibrated**: on no prefix do they, but on some later window they do;
- **mixture**: a prefix implies too large an error, and the leader does not explain it;
- **undecided**: the record has no round, and no change of strategy, that would tell these apart.

The implied error is the swap-regret lemma read backwards: if all responses are best responses to
forecasts, the forecasts' calibration error on a window of L rounds is at least the largest of
Σ_{t: y_t = i} (U_A(h_t, j) − U_A(h_t, i)) / (L·‖(U_A(·,j) − U_A(·,i)) − median‖₁) over pairs i, j.
It is compared with √(log(k·m·L)/L), the paper's rate. Windows are of three kinds: prefixes, aligned
windows of 16, 32, 64 … rounds, and windows that begin where the strategy changed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from stackcast._compiling import entry
from stackcast._plain import plain
from stackcast._validation import real_number
from stackcast.auditing.records import checked_record, pair_norms
from stackcast.games import BEST_RESPONSE_TOLERANCE

if TYPE_CHECKING:
    from stackcast.games import Game
    from stackcast.protocol import Transcript

Label = Literal[
    "best-responding", "adaptive", "long-run calibrated", "mean-based", "mixture", "undecided"
]

#: The shortest window, and the shortest prefix, that are looked at.
SHORTEST, SHORTEST_PREFIX = 16, 64
#: An error this many times the paper's rate is beyond it; the package's own adaptive agent stays
#: below 1, and the constant of a rate is an agent's own.
BEYOND = 2.0
#: Rounds in which the leader is no best response: fewer decide nothing.
ENOUGH = 30
#: The share of such rounds in which a mean-based agent's response is the leader.
FOLLOWS = 0.9


@dataclass(frozen=True)
class AgentDiagnosis:
    """The kind of agent that a transcript points to, and the evidence.

    Attributes
    ----------
    label : str
        One of the words of this module.
    reasons : tuple of str
        The evidence in sentences.
    rounds : int
        The length of the record.
    prefix_error, window_error : float
        The largest implied error on a prefix, and on any other window, in units of the rate.
    visible_error : float
        What ``window_error`` could have been if the agent had kept its old response after a change
        for as long as calibration over the whole past allows: below 2, the record cannot tell
        adaptive from long-run calibrated.
    leader_share : float
        The share of all rounds in which the response was the leader.
    contested : int
        Rounds in which no leader is a best response; those long after the last change, more than
        √(t·log(k·m·t)) rounds, if there are enough of them.
    contested_leader_share, contested_best_share : float
        The shares of these in which the response was the leader, and a best response.
    changes : int
        Changes of strategy after which no earlier best response is one.
    at_once : float
        The share of these with a best response in the first round.
    median_lag : float
        The median number of rounds until the first best response; infinite if there was none.
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
        """Return the diagnosis as plain values for JSON; NaN and infinity become null."""
        return plain(self)


def diagnose(
    transcript: Transcript,
    game: Game | None = None,
    *,
    draws: bool | None = None,
    delta: float = 0.05,
) -> AgentDiagnosis:
    """Return what kind of agent the responses of a transcript point to.

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
    >>> diagnose(stale).label
    'mean-based'
    >>> quick = Transcript.from_rounds(strategies, [0] * 502 + [1] * 498, game=game)
    >>> diagnose(quick).label
    'adaptive'
    """
    real_number("delta", delta, above=0.0, at_most=1.0)
    game, draws = checked_record(transcript, game, draws)
    return diagnosed(transcript, game, draws, delta)


def diagnosed(transcript: Transcript, game: Game, draws: bool, delta: float) -> AgentDiagnosis:
    """Return the diagnosis of a record that was checked; :func:`audit` calls it."""
    view = game.agent_view
    ratios, counts, lags = _observe(
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
    found = AgentDiagnosis(
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


def _judged(p: AgentDiagnosis, limit: float) -> tuple[Label, str]:
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
    return "undecided", "The strategy never changed in a way that would expose a slow agent."


def _told(p: AgentDiagnosis, limit: float) -> list[str]:
    """Return the evidence in sentences."""
    told = []
    if p.draws:
        told += [
            "The record holds drawn actions, so best responses to the strategies cannot be seen; "
            f"errors count as too large from {limit:.3g} times the rate on.",
            f"{_percent(p.leader_share)} of the responses are the leader of the draws so far.",
        ]
    elif p.contested:
        told.append(
            f"In {p.contested:,} rounds the leader of the past is no best response: the response "
            f"was the leader in {_percent(p.contested_leader_share)} of them and a best response "
            f"in {_percent(p.contested_best_share)}."
        )
    else:
        told.append("In every round the leader of the past is also a best response.")
    if p.changes:
        wait = f"{p.median_lag:,.0f} rounds" if math.isfinite(p.median_lag) else "endless"
        told.append(
            f"Changes of strategy that made the old response wrong: {p.changes:,}; the agent "
            f"followed {_percent(p.at_once)} of them at once, with a median delay of {wait}."
        )
    told.append(
        f"The calibration error implied by the responses is {p.prefix_error:.3g} of the allowed "
        f"rate on the worst prefix and {p.window_error:.3g} of it on the worst other window."
    )
    return told


def _share(part: int, whole: int) -> float:
    return part / whole if whole else math.nan


def _percent(share: float) -> str:
    return "none" if math.isnan(share) else f"{100 * share:.4g}%"


@entry
def _rate(actions: float, length: int) -> float:
    return float(np.sqrt(np.log(actions * length) / length))


@entry
def _implied(gains: Any, norms: Any) -> float:
    """Return the largest gain of a swap i → j over the norm of the pair."""
    worst = 0.0
    k = len(gains)
    for i in range(k):
        for j in range(k):
            if gains[i, j] > 0.0 and norms[i, j] > 0.0:
                worst = max(worst, gains[i, j] / norms[i, j])
    return worst


@entry
def _observe(
    strategies: Any,
    rounds: Any,
    responses: Any,
    payoffs: Any,
    offsets: Any,
    norms: Any,
    tolerance: float,
    draws: bool,
) -> Any:
    """Return (ratios, counts, lags): the evidence on which a diagnosis stands.

    ``ratios``: implied error over rate, the worst of prefixes, of windows, and of what an agent
    that is calibrated in the long run only could have had in a window. ``counts``: rounds with a
    past, those with the leader as response; rounds where the leader is no best response to h_t,
    those of them with the leader, with a best response; the same three long after a change; changes
    after which no old best response is one, and those followed at once. ``lags``: for each of
    these changes the rounds before the first best response.
    """
    m, k = payoffs.shape
    actions = 1.0 * k * m
    ratios, counts = np.zeros(3), np.zeros(10, np.int64)
    lags = np.empty(len(rounds), np.int64)
    changes = 0
    totals, utilities = np.zeros(k), np.empty(k)
    best, before = np.zeros(k, np.bool_), np.zeros(k, np.bool_)
    since, distance = np.zeros(k, np.int64), np.zeros(k)
    whole, cell = np.zeros((k, k)), np.zeros((k, k))
    levels = np.zeros((60, k, k))
    filled = np.zeros(60, np.bool_)
    t, age, waiting = 0, 0, False
    for b in range(len(rounds)):
        changed = b == 0
        if b > 0:
            for x in range(m):
                changed = changed or strategies[b, x] != strategies[b - 1, x]
        if changed:
            age = 0
            for y in range(k):  # loops: a slice that is assigned takes seconds to compile
                since[y] = 0
                before[y] = best[y]
            top = -np.inf
            for y in range(k):
                utilities[y] = offsets[y]
                for x in range(m):
                    utilities[y] += strategies[b, x] * payoffs[x, y]
                top = max(top, utilities[y])
            overlap = b == 0
            least = utilities.min()  # taken off, so that sums keep their digits
            top -= least
            for y in range(k):
                utilities[y] -= least
            for y in range(k):
                best[y] = utilities[y] >= top - tolerance
                overlap = overlap or (best[y] and before[y])
                distance[y] = 0.0
                for j in range(k):
                    if norms[y, j] > 0.0:
                        distance[y] = max(distance[y], (utilities[j] - utilities[y]) / norms[y, j])
            if waiting:  # the last change was never followed
                lags[changes - 1] = -1
            waiting = not overlap
            if waiting:
                changes += 1
                counts[8] += 1
                # How long could an agent have stayed wrong that is calibrated from round 1 on?
                stale = np.inf
                for y in range(k):
                    if before[y]:
                        stale = min(stale, distance[y])
                if stale > 0.0:
                    room = min(float(rounds[b]), t * _rate(actions, t) / stale)
                    length = int(room)
                    if length >= SHORTEST:
                        ratios[2] = max(ratios[2], stale / _rate(actions, length))
        for r in range(t, t + rounds[b]):
            y = int(responses[r])
            if r > 0:
                counts[0] += 1
                lead = totals.max() - tolerance * r
                counts[1] += totals[y] >= lead
                contested = True
                for j in range(k):
                    if best[j] and totals[j] >= lead:
                        contested = False
                if contested:
                    late = age > np.sqrt(r * np.log(actions * r))
                    counts[2] += 1
                    counts[3] += totals[y] >= lead
                    counts[4] += best[y]
                    if late:
                        counts[5] += 1
                        counts[6] += totals[y] >= lead
                        counts[7] += best[y]
            if waiting and best[y]:
                waiting = False
                lags[changes - 1] = age
                counts[9] += age == 0
            age += 1
            since[y] += 1
            for j in range(k):
                totals[j] += utilities[j]
                cell[y, j] += utilities[j] - utilities[y]
            ends = age & (age - 1) == 0 or r == t + rounds[b] - 1
            if ends and age >= SHORTEST and r >= age and not draws:
                worst = 0.0
                for i in range(k):
                    worst = max(worst, since[i] * distance[i])
                ratios[1] = max(ratios[1], worst / age / _rate(actions, age))
            if (r + 1) % SHORTEST == 0:
                level, length = 0, SHORTEST
                while True:
                    implied = _implied(cell, norms) / length / _rate(actions, length)
                    if length > r:
                        if length >= SHORTEST_PREFIX:
                            ratios[0] = max(ratios[0], implied)
                    else:
                        ratios[1] = max(ratios[1], implied)
                    if not filled[level]:
                        break
                    cell += levels[level]
                    filled[level] = False
                    level += 1
                    length *= 2
                filled[level] = True
                for i in range(k):
                    for j in range(k):
                        levels[level, i, j] = cell[i, j]
                        cell[i, j] = 0.0
        t += rounds[b]
    whole += cell
    for level in range(60):
        if filled[level]:
            whole += levels[level]
    ratios[0] = max(ratios[0], _implied(whole, norms) / t / _rate(actions, t))
    if waiting:
        lags[changes - 1] = -1
    return ratios, counts, lags[:changes]
