"""A transcript as figures need it: sums over stretches of rounds instead of every round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._plain import visible
from stackcast._validation import InputError
from stackcast.games import ContinuousGame

if TYPE_CHECKING:
    from stackcast._validation import FloatArray, IntArray
    from stackcast.protocol import Transcript

#: Actions that a sentence names one by one.
_MOST_NAMED = 20


@dataclass(frozen=True, eq=False)
class Asked:
    """A strategy that was held: where, from which round on, how long, and what it drew.

    ``response`` is the most frequent answer, None in a continuous game.
    """

    strategy: FloatArray
    start: int
    rounds: int
    phase: str
    response: int | None


def played_game(transcript: Transcript, game: Any = None) -> Any:
    """Return the game that a figure is about."""
    found = transcript.game if game is None else game
    if found is None:
        raise InputError("game", "the game that was played, which the transcript lacks", "none")
    return found


def action_names(game: Any) -> list[str]:
    """Return the names of a strategy's coordinates."""
    view = game.principal_view
    names: Any = getattr(view, "principal_actions", ()) or getattr(view, "principal_features", ())
    return [str(name) for name in names] or [f"{j + 1}" for j in range(game.space.dimension)]


def held(transcript: Transcript) -> list[Asked]:
    """Return the strategies in order; blocks of the same strategy and phase in a row are one."""
    strategies, phases = transcript.block_strategies, transcript.block_phases
    new = np.ones(len(strategies), dtype=bool)
    new[1:] = (strategies[1:] != strategies[:-1]).any(axis=1) | (phases[1:] != phases[:-1])
    first = np.flatnonzero(new)
    starts = np.concatenate([[0], np.cumsum(transcript.block_rounds)])
    ends = np.append(first[1:], len(strategies))
    answers = transcript.compact_responses
    found = []
    for a, b in zip(first, ends, strict=True):
        span = answers[starts[a] : starts[b]]
        response = int(np.argmax(np.bincount(span))) if answers.ndim == 1 else None
        phase = transcript.phase_names[phases[a]]
        found.append(Asked(strategies[a], int(starts[a]), len(span), phase, response))
    return found


def explored_and_committed(transcript: Transcript) -> tuple[list[Asked], Asked]:
    """Return what was held before and between commitments, and the last commitment.

    Without a phase that begins with "commit", the strategy held longest is the commitment.
    """
    everything = held(transcript)
    commits = [entry for entry in everything if entry.phase.startswith("commit")]
    if not commits:
        longest = max(everything, key=lambda entry: entry.rounds)
        return [entry for entry in everything if entry is not longest], longest
    return [entry for entry in everything if not entry.phase.startswith("commit")], commits[-1]


def sampled_forecasts(transcript: Transcript, count: int) -> FloatArray | None:
    """Return the forecasts of up to ``count`` rounds, evenly spread; None without forecasts."""
    ids, table = transcript.forecast_ids, transcript.forecast_table
    if ids is None or table is None:
        return None
    chosen = np.unique(np.linspace(0, len(ids) - 1, count).astype(np.int64))
    sampled: FloatArray = table[ids[chosen]]
    return sampled


def stretches(rounds: int, count: int) -> IntArray:
    """Return the ends of at most ``count`` stretches of about equal length."""
    return np.unique(np.linspace(0, rounds, count + 1).round().astype(np.int64))[1:]


def phase_spans(transcript: Transcript) -> list[tuple[str, int, int]]:
    """Return (phase, first round, number of rounds), neighbours of one phase joined."""
    spans: list[tuple[str, int, int]] = []
    start = 0
    for number, rounds in zip(
        transcript.block_phases.tolist(), transcript.block_rounds.tolist(), strict=True
    ):
        name = transcript.phase_names[number]
        if spans and spans[-1][0] == name:
            spans[-1] = (name, spans[-1][1], spans[-1][2] + rounds)
        else:
            spans.append((name, start, rounds))
        start += rounds
    return spans


def in_words(game: Any, strategy: Any) -> str:
    """Return a commitment in words: shares of actions, or the point of a continuous game."""
    names = [visible(name, 60) for name in action_names(game)]
    if isinstance(game, ContinuousGame):
        return ", ".join(f"{n} {x:.4g}" for n, x in zip(names, strategy, strict=True))
    shown = set(np.argsort(-np.asarray(strategy), kind="stable")[:_MOST_NAMED].tolist())
    parts = [
        f"{100 * p:.4g}% {name}"
        for i, (name, p) in enumerate(zip(names, strategy, strict=True))
        if p > 5e-7 and i in shown
    ]
    rest = int((np.asarray(strategy) > 5e-7).sum()) - len(parts)
    return ", ".join([*parts, *([f"and {rest} more"] if rest > 0 else [])]) or "nothing"
