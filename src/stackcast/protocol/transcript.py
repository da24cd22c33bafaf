"""What was played: strategies, forecasts and responses of every round, kept compactly.

A block's strategy is stored once, a response as the smallest whole number that holds it, and a
forecast as its number in the table of distinct forecasts. The arrays with one row a round,
:attr:`Transcript.strategies` and :attr:`Transcript.forecasts`, are made when they are asked for.

A file is Parquet, one row a block; the columns are described in ``docs/reference/play.md``. Its
key-value metadata holds, under ``stackcast``, a JSON text with the format's number, the game, the
players' settings, the versions and a SHA-256 of all content, so that a file that was altered is
noticed.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._files import read_bytes, write_whole
from stackcast._frames import InFrames
from stackcast._tables import silent
from stackcast._validation import InputError, one_of, real_matrix, text
from stackcast.games import ContinuousGame, game_from_table, game_to_table
from stackcast.protocol.contracts import Block, small_responses

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    import polars as pl

    from stackcast._validation import AnyArray, BoolArray, FloatArray, IntArray, Table
    from stackcast.games import Game

FORMAT = 1
_KEY = "stackcast"
#: Entries of lists that are made together.
_TOGETHER = 1 << 20


@dataclass(frozen=True, eq=False, repr=False)
class Transcript(InFrames):
    """A play, round by round; its arrays are read-only.

    Make one with :func:`stackcast.play`, :meth:`load` or :meth:`from_rounds`.

    Parameters
    ----------
    block_strategies : array, shape (blocks, m)
        The strategy of every block.
    block_rounds, block_phases : arrays of whole numbers, shape (blocks,)
        How long it was held, and its phase as an index into ``phase_names``.
    phase_names : tuple of str
        The labels of the phases.
    compact_responses : array, shape (rounds,) or (rounds, dimension)
        The responses, as small as they can be stored; :attr:`responses` has them as int64.
    forecast_ids : array of whole numbers, shape (rounds,), or None
        The row of ``forecast_table`` that was held in every round.
    forecast_table : array, shape (any, m), or None
        The distinct forecasts, in the order in which they were made.
    fingerprint : str
        The fingerprint of the game that was played; empty if it is not known.
    game : game or None
        The game itself, if it was given.
    metadata : dict
        The settings (seeds among them) of both players and the versions of the software.

    Examples
    --------
    >>> t = Transcript.from_rounds([[1, 0], [1, 0], [0, 1]], [0, 1, 1])
    >>> t
    Transcript(3 rounds in 2 blocks)
    >>> t.blocks[0]
    Block([1.0, 0.0] for 2 rounds)
    >>> t.responses
    array([0, 1, 1])
    >>> t.to_polars().columns
    ['round', 'phase', 'strategy_1', 'strategy_2', 'response']
    """

    block_strategies: FloatArray
    block_rounds: IntArray
    block_phases: npt.NDArray[np.int32]
    phase_names: tuple[str, ...]
    compact_responses: AnyArray
    forecast_ids: AnyArray | None = None
    forecast_table: FloatArray | None = None
    fingerprint: str = ""
    game: Game | ContinuousGame | None = None
    metadata: Table = field(default_factory=dict)

    def __post_init__(self) -> None:
        for array in self._arrays().values():
            if array is not None:
                array.flags.writeable = False

    def _arrays(self) -> dict[str, AnyArray | None]:
        return {
            "block_strategies": self.block_strategies,
            "block_rounds": self.block_rounds,
            "block_phases": self.block_phases,
            "compact_responses": self.compact_responses,
            "forecast_ids": self.forecast_ids,
            "forecast_table": self.forecast_table,
        }

    @classmethod
    def from_rounds(
        cls,
        strategies: npt.ArrayLike,
        responses: npt.ArrayLike,
        forecasts: npt.ArrayLike | None = None,
        phases: Sequence[str] | None = None,
        game: Game | ContinuousGame | None = None,
    ) -> Transcript:
        """Build a transcript from tables with one row a round, as an observer would keep them.

        Parameters
        ----------
        strategies : array-like, shape (T, m)
            The strategy of every round.
        responses : array-like of whole numbers, shape (T,)
            The column that was played in every round, counted from 0; in a continuous game points,
            one row of numbers a round.
        forecasts : array-like, shape (T, m), optional
            The forecast of every round.
        phases : sequence of str, optional
            A label for every round.
        game : game, optional
            The game that was played; strategies, forecasts and responses must fit it.
        """
        h = real_matrix("strategies", strategies)
        rounds = len(h)
        k = None if game is None else len(game.agent_view.agent_actions)
        y = small_responses("responses", np.asarray(responses), rounds, k)
        if game is not None:
            for t in np.flatnonzero(_starts_of_runs(h)):
                game.space.check(f"strategies, row {t + 1}", h[t])
        ids = table = None
        if forecasts is not None:
            p = real_matrix("forecasts", forecasts)
            if p.shape != h.shape:
                expected = f"{rounds}×{h.shape[1]} numbers as in strategies"
                raise InputError("forecasts", expected, "×".join(map(str, p.shape)))
            table, ids = _numbered(p)
        labels = [""] * rounds if phases is None else [text("phases", word) for word in phases]
        if len(labels) != rounds:
            raise InputError("phases", f"{rounds} labels, one a round", f"{len(labels)}")
        names = tuple(dict.fromkeys(labels))
        numbers = np.array([names.index(word) for word in labels], dtype=np.int32)
        first = np.flatnonzero(_starts_of_runs(h) | _starts_of_runs(numbers[:, None]))
        return cls(
            block_strategies=h[first].copy(),
            block_rounds=np.diff(np.append(first, rounds)),
            block_phases=numbers[first],
            phase_names=names,
            compact_responses=y,
            forecast_ids=ids,
            forecast_table=table,
            fingerprint="" if game is None else game.fingerprint,
            game=game,
        )

    @property
    def rounds(self) -> int:
        """The number of rounds T."""
        return len(self.compact_responses)

    @cached_property
    def blocks(self) -> list[Block]:
        """The blocks, each with ``strategy``, ``rounds`` and ``phase``."""
        rows = zip(self.block_strategies, self.block_rounds.tolist(), self.phases, strict=True)
        return [Block(strategy, rounds, phase) for strategy, rounds, phase in rows]

    @property
    def strategies(self) -> FloatArray:
        """The strategy of every round, T×m."""
        return np.repeat(self.block_strategies, self.block_rounds, axis=0)

    @property
    def forecasts(self) -> FloatArray | None:
        """The forecast of every round, T×m; None if the agent has none or they were left out."""
        if self.forecast_ids is None or self.forecast_table is None:
            return None
        return self.forecast_table[self.forecast_ids]

    @property
    def responses(self) -> AnyArray:
        """The response of every round: int64 columns, or points in a continuous game."""
        if self.compact_responses.ndim == 2:
            return self.compact_responses
        return self.compact_responses.astype(np.int64)

    def utilities(self, side: str = "principal", game: Any = None) -> FloatArray:
        """Return what a side, "principal" or "agent", earned in every round.

        ``game`` is the game that was played, where the transcript does not hold it.
        """
        played = self.game if game is None else game
        if played is None:
            raise InputError("game", "the game that was played, which the transcript lacks", "none")
        view = getattr(played, f"{one_of('side', side, ('principal', 'agent'))}_view")
        answers = self.compact_responses
        if isinstance(played, ContinuousGame):
            ends = np.cumsum(self.block_rounds)
            spans = zip(self.block_strategies, ends - self.block_rounds, ends, strict=True)
            if side == "agent":
                rows = [[view.utility(h, y) for y in answers[a:b]] for h, a, b in spans]
            else:
                rows = [view.utilities(h, answers[a:b]) for h, a, b in spans]
            return np.concatenate(rows)
        blocks = np.repeat(np.arange(len(self.block_rounds), dtype=np.int32), self.block_rounds)
        utilities: FloatArray = view.utilities(self.block_strategies)[blocks, answers]
        return utilities

    def _columns(self) -> Table:
        """Return one row a round: actions are named, what both sides earned comes last.

        The columns are those of a user's table (``stackcast audit``), so that a file made of them
        is read again.
        """
        game, m = self.game, self.block_strategies.shape[1]
        named = game is not None and not isinstance(game, ContinuousGame)
        actions = game.principal_actions if named else range(1, m + 1)  # type: ignore[union-attr]
        phases = np.array(self.phase_names, dtype=object)[self.block_phases]
        columns: Table = {
            "round": np.arange(1, self.rounds + 1),
            "phase": np.repeat(phases, self.block_rounds).tolist(),
        }
        for what, rows in (("strategy", self.strategies), ("forecast", self.forecasts)):
            if rows is not None:
                columns |= {f"{what}_{name}": rows[:, j] for j, name in enumerate(actions)}
        answers = self.responses
        if answers.ndim == 2:
            columns |= {f"response_{j + 1}": column for j, column in enumerate(answers.T)}
        elif named:
            names = np.array(game.agent_actions, dtype=object)  # type: ignore[union-attr]
            columns["response"] = names[answers].tolist()
        else:
            columns["response"] = answers + 1
        sides = ("principal", "agent") if game is not None else ()
        return columns | {f"{side}_utility": self.utilities(side) for side in sides}

    @property
    def phases(self) -> list[str]:
        """The phase of every block, in order."""
        return [self.phase_names[i] for i in self.block_phases]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the transcript, its game and its metadata to one Parquet file."""
        about: Table = {
            "format": FORMAT,
            "dimension": self.block_strategies.shape[1],
            "response_type": self.compact_responses.dtype.str,
            "response_width": self.compact_responses.shape[1:],
            "forecasts": self.forecast_table is not None,
            "phase_names": self.phase_names,
            "fingerprint": self.fingerprint,
            "game": None if self.game is None else game_to_table(self.game),
            "metadata": self.metadata,
        }
        about["sha256"] = _digest(self, about)
        buffer = io.BytesIO()
        _table(self).write_parquet(buffer, statistics=False, metadata={_KEY: json.dumps(about)})
        write_whole(path, buffer.getvalue())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Transcript:
        """Read a transcript that :meth:`save` wrote; equal to the one that was saved."""
        import polars as pl

        place = os.fspath(path)
        data = read_bytes(path, "a saved transcript")
        if data[:4] != b"PAR1":
            raise InputError(place, "a saved transcript (Parquet)", "a file of another sort")
        try:
            with silent():
                words = pl.read_parquet_metadata(data)
            if _KEY not in words:
                found = "a Parquet file that stackcast did not write"
                raise InputError(place, "a saved transcript", found)
            about = json.loads(words[_KEY])
            if about["format"] != FORMAT:
                found = f"format {about['format']!r}"
                raise InputError(place, f"a transcript in format {FORMAT}", found)
            with silent():
                frame = pl.read_parquet(data)
            transcript = _from_table(frame, about)
            intact = about.pop("sha256") == _digest(transcript, about)
        except InputError as error:
            if error.field == place:
                raise
            intact = False  # a game or a table that cannot be: somebody changed the file
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException:  # a reader that panics raises no ordinary exception
            intact = False
        if not intact:
            raise InputError(place, "a transcript as it was written", "one that was cut or altered")
        return transcript

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Transcript):
            return NotImplemented
        mine, theirs = self._arrays(), other._arrays()
        return (
            all(_same_array(mine[name], theirs[name]) for name in mine)
            and self.phase_names == other.phase_names
            and self.fingerprint == other.fingerprint
            and self.game == other.game
            and json.dumps(self.metadata, sort_keys=True)
            == json.dumps(other.metadata, sort_keys=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        def counted(count: int, noun: str) -> str:
            return f"{count:,} {noun}" + ("" if count == 1 else "s")

        known = "" if self.forecast_table is None else " with forecasts"
        size = f"{counted(self.rounds, 'round')} in {counted(len(self.block_rounds), 'block')}"
        return f"Transcript({size}{known})"


def _starts_of_runs(rows: AnyArray) -> BoolArray:
    first = np.ones(len(rows), dtype=bool)
    first[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return first


def _numbered(rows: FloatArray) -> tuple[FloatArray, npt.NDArray[np.int32]]:
    """Return the distinct rows in order of appearance, and the number of each row among them."""
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return rows[first[order]].copy(), rank[inverse.reshape(-1)]


def _same_array(a: AnyArray | None, b: AnyArray | None) -> bool:
    if a is None or b is None:
        return a is b
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def _table(transcript: Transcript) -> pl.DataFrame:
    import polars as pl

    rounds, starts = transcript.block_rounds, _starts(transcript.block_rounds)
    responses = transcript.compact_responses
    width = int(np.prod(responses.shape[1:], dtype=np.int64))
    names = np.array(transcript.phase_names, dtype=object)
    columns = [
        pl.Series("strategy", transcript.block_strategies),
        pl.Series("rounds", rounds),
        pl.Series("phase", names[transcript.block_phases], dtype=pl.String),
        _lists("responses", responses.reshape(-1), rounds * width),
    ]
    table, ids = transcript.forecast_table, transcript.forecast_ids
    if table is not None and ids is not None:
        # The block in which the list of forecasts reached its length: none is listed late.
        known = np.maximum.accumulate(np.maximum.reduceat(ids, starts).astype(np.int64) + 1)
        known[-1] = len(table)
        columns += [
            _lists("forecast_ids", ids, rounds),
            _lists("new_forecasts", table.reshape(-1), np.diff(known, prepend=0) * table.shape[1]),
        ]
    return pl.DataFrame(columns)


def _from_table(frame: pl.DataFrame, about: Table) -> Transcript:
    names = tuple(about["phase_names"])
    numbers = {name: i for i, name in enumerate(names)}
    m = int(about["dimension"])
    responses = _flat(frame["responses"], about["response_type"])
    ids = table = None
    if about["forecasts"]:
        ids = _flat(frame["forecast_ids"], "<i4")
        table = _flat(frame["new_forecasts"], "<f8").reshape(-1, m)
    game = None if about["game"] is None else game_from_table(about["game"])
    return Transcript(
        block_strategies=frame["strategy"].to_numpy().reshape(-1, m).astype(np.float64),
        block_rounds=frame["rounds"].to_numpy().astype(np.int64),
        block_phases=np.array([numbers[name] for name in frame["phase"]], dtype=np.int32),
        phase_names=names,
        compact_responses=responses.reshape(-1, *about["response_width"]),
        forecast_ids=ids,
        forecast_table=table,
        fingerprint=about["fingerprint"],
        game=game,
        metadata=about["metadata"],
    )


def _lists(name: str, values: AnyArray, lengths: IntArray) -> pl.Series:
    """Return ``values`` cut into consecutive lists of the given lengths, empty ones included.

    Some lists are made at a time, so that what making them takes stays small.
    """
    import polars as pl

    ends, made = np.cumsum(lengths), []
    first = stop = 0
    while first < len(lengths):
        start = stop
        last = max(int(np.searchsorted(ends, start + _TOGETHER, side="right")), first + 1)
        stop = int(ends[last - 1])
        made.append(_some_lists(name, values[start:stop], lengths[first:last]))
        first = last
    return pl.concat(made)


def _some_lists(name: str, values: AnyArray, lengths: IntArray) -> pl.Series:
    import polars as pl

    filled = np.flatnonzero(lengths)
    row = np.repeat(np.arange(len(filled), dtype=np.uint32), lengths[filled])
    lists = (
        pl.DataFrame([pl.Series("row", row), pl.Series(name, values)])
        .group_by("row", maintain_order=True)
        .agg(pl.col(name))[name]
    )
    if len(filled) == len(lengths):
        return lists
    nothing = pl.Series(name, [[]], dtype=lists.dtype)
    position = np.full(len(lengths), len(filled), dtype=np.uint32)
    position[filled] = np.arange(len(filled), dtype=np.uint32)
    return pl.concat([lists, nothing]).gather(position)


def _flat(lists: pl.Series, dtype: str) -> AnyArray:
    values = lists.filter(lists.list.len() > 0).explode()
    return np.ascontiguousarray(values.to_numpy().astype(dtype))


def _starts(lengths: IntArray) -> IntArray:
    return np.cumsum(lengths) - lengths


def _digest(transcript: Transcript, about: Table) -> str:
    content = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for array in (
        transcript.block_strategies,
        transcript.block_rounds,
        transcript.block_phases,
        transcript.compact_responses,
        transcript.forecast_ids,
        transcript.forecast_table,
    ):
        if array is not None:
            content.update(f"{array.dtype.str}{array.shape}".encode())
            content.update(np.ascontiguousarray(array).data)
    return content.hexdigest()
