"""Whether a transcript and a game belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stackcast._validation import InputError
from stackcast.games import ContinuousGame

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.games import Game, StrategySpace
    from stackcast.protocol import Transcript

#: Strategies that are checked at once, so that the temporary table stays small.
_CHUNK = 1 << 16


def checked_record(
    transcript: Transcript, game: Game | None, draws: bool | None
) -> tuple[Game, bool]:
    """Return the game that was played, and whether the record holds draws instead of strategies."""
    if game is not None and transcript.fingerprint not in ("", game.fingerprint):
        found = f"another one ({game.fingerprint[:8]})"
        expected = f"the game that was played ({transcript.fingerprint[:8]})"
        raise InputError("game", expected, found)
    played = transcript.game if game is None else game
    if isinstance(played, ContinuousGame):
        raise InputError("game", "a game with lists of actions", "a continuous one")
    game = played
    if game is None:
        raise InputError("game", "the game that was played, which the transcript lacks", "none")
    if draws is None:
        draws = bool(transcript.metadata.get("draws", False))
    m, k = game.space.dimension, len(game.agent_view.agent_actions)
    responses = transcript.compact_responses
    if responses.ndim != 1:
        raise InputError("responses", "columns of a finite game", "points of a continuous game")
    if int(responses.max()) >= k:
        raise InputError("responses", f"numbers from 0 to {k - 1}", f"{int(responses.max())}")
    strategies, table = transcript.block_strategies, transcript.forecast_table
    if strategies.shape[1] != m:
        raise InputError("strategies", f"{m} numbers a round", f"{strategies.shape[1]}")
    if table is not None and table.shape[1] != m:
        raise InputError("forecasts", f"{m} numbers a round", f"{table.shape[1]}")
    # Drawn actions, and forecasts of them, need not satisfy constraints on mixtures.
    free = game.space.pure
    _check_all("strategies", strategies, free if draws else game.space)
    if table is not None:
        _check_all("forecasts", table, free)
    return game, draws


def _check_all(field: str, rows: FloatArray, space: StrategySpace) -> None:
    for start in range(0, len(rows), _CHUNK):
        space.check_all(field, rows[start : start + _CHUNK])
