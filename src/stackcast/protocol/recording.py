"""The transcript while it grows: room for every round, blocks and forecasts as they come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError
from stackcast.protocol.transcript import Transcript, small_responses

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._state import State
    from stackcast.games import ContinuousGame, Game
    from stackcast.protocol.contracts import Block, Responses


class _Rows:
    """An array whose number of rows grows; amortised, appending costs what it writes."""

    def __init__(self, width: int | None, dtype: npt.DTypeLike, capacity: int = 16) -> None:
        self._buffer = np.empty(capacity if width is None else (capacity, width), dtype)
        self.count = 0

    def append(self, rows: npt.NDArray[Any]) -> None:
        needed = self.count + len(rows)
        self._reach(needed)
        self._buffer[self.count : needed] = rows
        self.count = needed

    def push(self, row: Any) -> None:
        self._reach(self.count + 1)
        self._buffer[self.count] = row
        self.count += 1

    def _reach(self, needed: int) -> None:
        if needed > len(self._buffer):
            larger = np.empty((max(needed, 2 * self.count), *self._buffer.shape[1:]), self.dtype)
            larger[: self.count] = self._buffer[: self.count]
            self._buffer = larger

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._buffer.dtype

    def since(self, start: int) -> npt.NDArray[Any]:
        return self._buffer[start : self.count]


class Recorder:
    """Collects what is played; ``part`` and ``replay`` move it to and from a checkpoint."""

    def __init__(self, rounds: int, dimension: int, actions: int, forecasts: bool) -> None:
        self._rounds, self._dimension, self._actions = rounds, dimension, actions
        self._keep_forecasts = forecasts
        self._strategies = _Rows(dimension, np.float64)
        self._block_rounds = _Rows(None, np.int64)
        self._block_phases = _Rows(None, np.int32)
        self._phases: dict[str, int] = {}
        self._responses: _Rows | None = None
        self._ids: _Rows | None = None
        self._table = _Rows(dimension, np.float64)
        self.played = 0

    @property
    def blocks(self) -> int:
        """The number of blocks begun."""
        return self._block_rounds.count

    def begin(self, block: Block) -> None:
        """Open a block; its rounds are counted as they are played."""
        self._open(block.strategy, block.phase)

    def _open(self, strategy: npt.NDArray[Any], phase: str) -> None:
        self._strategies.push(strategy)
        self._block_rounds.push(0)
        self._block_phases.push(self._phases.setdefault(phase, len(self._phases)))

    def add(self, answers: Responses, rounds: int) -> None:
        """Append the answers to ``rounds`` rounds of the open block."""
        responses = np.asarray(answers.responses)
        small = small_responses("agent's responses", responses, rounds, self._actions)
        if self._responses is None:
            width = None if small.ndim == 1 else small.shape[1]
            self._responses = _Rows(width, small.dtype, self._rounds)
            if self._keep_forecasts and answers.forecast_ids is not None:
                self._ids = _Rows(None, np.int32, self._rounds)
        self._responses.append(small)
        if self._keep_forecasts and answers.new_forecasts is not None:
            new = np.asarray(answers.new_forecasts, dtype=np.float64)
            if new.ndim != 2 or new.shape[1] != self._dimension:
                expected = f"rows of {self._dimension} numbers"
                raise InputError("agent's new forecasts", expected, f"shape {new.shape}")
            self._table.append(new)
        if self._ids is not None:
            self._add_ids(answers, rounds)
        self._block_rounds.since(self.blocks - 1)[0] += rounds
        self.played += rounds

    def _add_ids(self, answers: Responses, rounds: int) -> None:
        assert self._ids is not None
        ids = np.asarray(() if answers.forecast_ids is None else answers.forecast_ids)
        if ids.shape != (rounds,) or ids.dtype.kind not in "iu":
            found = f"{ids.dtype} numbers of shape {ids.shape}"
            raise InputError("agent's forecast ids", f"{rounds} whole numbers", found)
        if ids.min() < 0 or ids.max() >= self._table.count:
            expected = f"numbers of the {self._table.count} forecasts made so far"
            raise InputError("agent's forecast ids", expected, f"{ids.min()} to {ids.max()}")
        self._ids.append(ids)

    def last_responses(self, rounds: int) -> npt.NDArray[Any]:
        """Return the responses of the last ``rounds`` rounds, as a principal sees them."""
        return self.responses_between(self.played - rounds, self.played)

    def responses_between(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Return the responses of the rounds from ``start`` (counted from 0) to before ``stop``."""
        assert self._responses is not None
        seen = self._responses.since(0)[start:stop]
        seen = seen.astype(np.int64) if seen.ndim == 1 else seen.copy()
        seen.flags.writeable = False
        return seen

    def block(self, index: int) -> tuple[npt.NDArray[Any], int, str]:
        """Return the strategy, the rounds played and the phase of a block."""
        phase = list(self._phases)[self._block_phases.since(index)[0]]
        rounds = int(self._block_rounds.since(index)[0])
        return self._strategies.since(index)[0], rounds, phase

    def rounds_before(self, index: int) -> int:
        """Return the number of rounds in the blocks before ``index``."""
        return int(self._block_rounds.since(0)[:index].sum())

    def mark(self) -> tuple[int, int, int, int]:
        """Return where the recorder stands, for :meth:`part`."""
        open_rounds = int(self._block_rounds.since(self.blocks - 1)[0]) if self.blocks else 0
        return self.played, self.blocks, open_rounds, self._table.count

    def part(self, mark: tuple[int, int, int, int]) -> State:
        """Return what was played since ``mark``, as a state."""
        played, blocks, open_rounds, table = mark
        first = max(blocks - 1, 0)  # the block that was open at the mark may have gone on
        rounds = self._block_rounds.since(first).copy()
        if blocks:
            rounds[0] -= open_rounds
        names = list(self._phases)
        return {
            "goes_on": blocks > 0,
            "strategies": self._strategies.since(first).copy(),
            "block_rounds": rounds,
            "phases": [names[i] for i in self._block_phases.since(first)],
            "responses": None if self._responses is None else self._responses.since(played).copy(),
            "forecast_ids": None if self._ids is None else self._ids.since(played).copy(),
            "new_forecasts": self._table.since(table).copy(),
        }

    def replay(self, part: State) -> None:
        """Append a part that :meth:`part` made."""
        rounds, strategies, phases = part["block_rounds"], part["strategies"], part["phases"]
        for i, phase in enumerate(phases):
            if i or not part["goes_on"]:
                self._open(strategies[i], phase)
            self._block_rounds.since(self.blocks - 1)[0] += rounds[i]
        self._table.append(part["new_forecasts"])
        responses, ids = part["responses"], part["forecast_ids"]
        if responses is not None:
            if self._responses is None:
                width = None if responses.ndim == 1 else responses.shape[1]
                self._responses = _Rows(width, responses.dtype, self._rounds)
                self._ids = None if ids is None else _Rows(None, np.int32, self._rounds)
            self._responses.append(responses)
            if self._ids is not None:
                self._ids.append(ids)
            self.played += len(responses)

    def transcript(
        self, fingerprint: str, game: Game | ContinuousGame | None, metadata: dict[str, Any]
    ) -> Transcript:
        """Return what was played."""
        assert self._responses is not None
        return Transcript(
            block_strategies=self._strategies.since(0).copy(),
            block_rounds=self._block_rounds.since(0).copy(),
            block_phases=self._block_phases.since(0).copy(),
            phase_names=tuple(self._phases),
            compact_responses=self._responses.since(0),
            forecast_ids=None if self._ids is None else self._ids.since(0),
            forecast_table=None if self._ids is None else self._table.since(0).copy(),
            fingerprint=fingerprint,
            game=game,
            metadata=metadata,
        )
