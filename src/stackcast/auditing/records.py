"""Records: a user's table as a transcript, and whether a transcript and a game belong together.

A table is CSV or Parquet, one row a round, in order of time.

Columns:

- ``strategy_1`` … ``strategy_m``: the strategy of the round, probabilities that sum to one; or,
  with a game, ``strategy_<name>`` for each of the principal's actions; *or*
- ``action``: the action that was drawn from a strategy which the table does not hold: its name, or
  its number from 1 on;
- ``response``: what the agent did: the name of the action, or its number from 1 on.

Optional columns:

- ``forecast_1`` … ``forecast_m`` (or ``forecast_<name>``): the agent's forecast of the round;
- ``phase``: a label, such as ``explore`` or ``commit``;
- ``round``: whole numbers that increase from row to row.

Other columns are left alone. Rows of probabilities that miss one by less than 0.01 are taken for
rounded decimals and scaled to sum to one.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._tables import silent
from stackcast._validation import InputError, shown
from stackcast.calibration import (
    float_column,
    numbered_columns,
    probability_columns,
    read_table,
    refuse_missing,
)
from stackcast.games import ContinuousGame
from stackcast.protocol import Transcript

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from stackcast._validation import FloatArray, IntArray, Table
    from stackcast.games import Game, StrategySpace

#: Strategies that are checked together, so that temporary tables stay small.
_CHUNK = 1 << 16


def read_transcript(path: str | Path, game: Game | None = None) -> Transcript:
    r"""Read a saved transcript, or a user's table with the columns named above.

    Parameters
    ----------
    path : str or Path
        A Parquet file that :meth:`Transcript.save` wrote, or a CSV or Parquet table.
    game : Game, optional
        The game that was played: needed where a table names actions.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from stackcast.games import load_game
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "season.csv"
    ...     _ = path.write_text("round,strategy_1,strategy_2,response\n1,0.5,0.5,left\n2,1,0,mid\n")
    ...     record = read_transcript(path, load_game("milking"))
    >>> record.responses.tolist(), record.strategies.tolist()
    ([0, 1], [[0.5, 0.5], [1.0, 0.0]])
    """
    place = Path(path)
    if place.suffix.lower() == ".parquet" and _is_saved_transcript(place):
        return Transcript.load(place)
    try:
        return _from_frame(read_table(place), game)
    except InputError as error:
        raise error.inside(place.name) from None


def _is_saved_transcript(path: Path) -> bool:
    import polars as pl

    try:
        with silent():
            return "stackcast" in pl.read_parquet_metadata(path)
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException:  # a reader that panics raises no ordinary exception
        return False


def _from_frame(frame: pl.DataFrame, game: Game | None) -> Transcript:
    actions = None if game is None else game.principal_actions
    _check_rounds(frame)
    strategies = _mixtures(frame, "strategy", actions)
    draws = strategies is None
    if strategies is None:
        if "action" not in frame.columns:
            expected = "strategy_1, strategy_2 … or action"
            raise InputError("columns", expected, ", ".join(frame.columns))
        strategies = _drawn(frame, actions)
    forecasts = _mixtures(frame, "forecast", actions)
    if forecasts is not None and forecasts.shape[1] != strategies.shape[1]:
        m = strategies.shape[1]
        raise InputError("columns", f"forecast_1 … forecast_{m}", f"{forecasts.shape[1]} of them")
    responses = _numbers_of(frame, "response", None if game is None else game.agent_actions)
    phases = None
    if "phase" in frame.columns:
        phases = frame["phase"].cast(str).fill_null("").to_list()
    record = Transcript.from_rounds(strategies, responses, forecasts, phases)
    metadata: Table = {"draws": True} if draws else {}
    if game is not None:
        m = game.space.dimension
        if strategies.shape[1] != m:
            raise InputError("columns", f"strategy_1 … strategy_{m}", f"{strategies.shape[1]}")
        if not draws:
            game.space.check_all("strategies", record.block_strategies)
        return replace(record, game=game, fingerprint=game.fingerprint, metadata=metadata)
    return replace(record, metadata=metadata)


def _check_rounds(frame: pl.DataFrame) -> None:
    if "round" not in frame.columns:
        return
    numbers = float_column(frame, "round")
    wrong = np.flatnonzero(numbers != np.floor(numbers))
    if wrong.size:
        field = f"column round, row {wrong[0] + 1}"
        raise InputError(field, "a whole number", shown(numbers[wrong[0]]))
    back = np.flatnonzero(np.diff(numbers) <= 0)
    if back.size:
        row = int(back[0]) + 2
        found = f"{numbers[row - 1]:g} after {numbers[row - 2]:g}"
        raise InputError(f"column round, row {row}", "numbers that increase", found)


def _mixtures(frame: pl.DataFrame, stem: str, actions: Sequence[str] | None) -> FloatArray | None:
    """Return the columns stem_1 … stem_m or stem_<name>; None if there are none."""
    named = [] if actions is None else [f"{stem}_{action}" for action in actions]
    present = [name for name in named if name in frame.columns]
    if present:
        missing = [name for name in named if name not in frame.columns]
        if missing:
            raise InputError("columns", f"a column {missing[0]}", ", ".join(present))
        return _mixture_rows(frame, named)
    columns = numbered_columns(frame, stem)
    if columns:
        if actions is not None and len(columns) != len(actions):
            expected = f"{stem}_1 … {stem}_{len(actions)}"
            raise InputError("columns", expected, f"{len(columns)} of them")
        return _mixture_rows(frame, columns)
    unknown = [name for name in frame.columns if name.startswith(f"{stem}_")]
    if unknown:
        expected = f"{stem}_1, {stem}_2 …" + (
            " (or names of actions, with a game)" if actions is None else f" or {named[0]} …"
        )
        raise InputError("columns", expected, unknown[0])
    return None


def _mixture_rows(frame: pl.DataFrame, names: list[str]) -> FloatArray:
    rows = probability_columns(frame, names)
    return np.ones_like(rows) if len(names) == 1 else rows


def _drawn(frame: pl.DataFrame, actions: Sequence[str] | None) -> FloatArray:
    numbers = _numbers_of(frame, "action", actions)
    rows = np.zeros((len(numbers), int(numbers.max()) + 1 if actions is None else len(actions)))
    rows[np.arange(len(numbers)), numbers] = 1.0
    return rows


def _numbers_of(frame: pl.DataFrame, name: str, actions: Sequence[str] | None) -> IntArray:
    """Return a column of names, or of numbers from 1 on, as numbers from 0 on."""
    refuse_missing(frame, name)
    column = frame[name]
    kinds = column.unique(maintain_order=True).to_list()
    codes = {kind: _number_of(kind, actions) for kind in kinds}
    for kind, code in codes.items():
        if code is None:
            row = int(np.argmax((column == kind).to_numpy())) + 1
            limit = "from 1 on" if actions is None else f"from 1 to {len(actions)}"
            expected = f"a whole number {limit}"
            if actions is not None:
                expected = f"one of {', '.join(actions)}, or {expected}"
            raise InputError(f"column {name}, row {row}", expected, shown(kind))
    return np.array([codes[kind] for kind in column.to_list()], dtype=np.int64)


def _number_of(kind: Any, actions: Sequence[str] | None) -> int | None:
    word = str(kind).strip()
    if actions is not None and word in actions:
        return actions.index(word)
    try:
        number = float(word)
    except ValueError:
        return None
    most = float("inf") if actions is None else len(actions)
    if number != np.floor(number) or not 1 <= number <= min(most, 2**31):
        return None
    return int(number) - 1


def checked_record(
    transcript: Transcript, game: Game | None, draws: bool | None
) -> tuple[Game, bool]:
    """Return the game that was played, and whether the record holds draws instead of strategies."""
    check_fingerprint(transcript, game)
    played = transcript.game if game is None else game
    if isinstance(played, ContinuousGame):
        raise InputError("game", "a game with lists of actions", "a continuous one")
    if played is None:
        raise InputError("game", "the game that was played, which the transcript lacks", "none")
    if draws is None:
        draws = bool(transcript.metadata.get("draws", False))
    m, k = played.space.dimension, len(played.agent_view.agent_actions)
    responses = transcript.compact_responses
    if responses.ndim != 1:
        raise InputError("responses", "columns of a finite game", "points of a continuous game")
    if int(responses.max()) >= k:
        raise InputError("responses", f"numbers from 0 to {k - 1}", f"{int(responses.max())}")
    # Drawn actions, and forecasts of them, need not satisfy constraints on mixtures.
    free = played.space.pure
    for name, rows, space in (
        ("strategies", transcript.block_strategies, free if draws else played.space),
        ("forecasts", transcript.forecast_table, free),
    ):
        if rows is None:
            continue
        if rows.shape[1] != m:
            raise InputError(name, f"{m} numbers a round", f"{rows.shape[1]}")
        for start in range(0, len(rows), _CHUNK):
            space.check_all(name, rows[start : start + _CHUNK])
    return played, draws


def check_fingerprint(transcript: Transcript, game: Game | ContinuousGame | None) -> None:
    """Refuse a game that is not the one of the transcript."""
    if game is not None and transcript.fingerprint not in ("", game.fingerprint):
        expected = f"the game that was played ({transcript.fingerprint[:8]})"
        raise InputError("game", expected, f"another one ({game.fingerprint[:8]})")


def pair_norms(game: Game) -> FloatArray:
    """Return ‖(U_A(·,j) − U_A(·,i)) − median‖₁ for all pairs i, j."""
    payoffs = game.agent_view.payoffs
    return np.array(
        [column_norms(payoffs - payoffs[:, [i]], game.space) for i in range(payoffs.shape[1])]
    )


def column_norms(columns: FloatArray, space: StrategySpace) -> FloatArray:
    """Return ‖column − median‖₁ for each column, or ‖column‖₁ where no constant may be taken."""
    if has_constant_sum(space):
        columns = columns - np.median(columns, axis=0)
    return np.abs(columns).sum(axis=0)


def has_constant_sum(space: StrategySpace) -> bool:
    """Tell whether the coordinates of every strategy have the same sum."""
    return bool(len(space.equality_rows) and (space.equality_rows == 1).all(axis=1).any())
