"""Checkpoints: a run that is killed at any moment goes on from its last one.

Two files. ``run.ckpt`` is small and replaced as a whole: the two players' states, where the run
stands, and how many bytes of the other file count. ``run.ckpt.rounds`` only grows: each checkpoint
appends what was played since the last one, so that all checkpoints together cost as much as the
run is long. The order makes every moment safe: first the rounds are appended and reach the disc,
then the small file is replaced; what lies beyond the bytes that count is cut off on resuming.

The principal's state is taken between blocks only. A checkpoint inside a long block keeps the last
such state, and resuming lets the principal see the recorded answers since then once more: it must
commit to the recorded strategies again, which is checked.
"""

from __future__ import annotations

import json
import os
import struct
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from stackcast._state import decode_state, encode_state, load_state, save_state
from stackcast._validation import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from stackcast._state import State
    from stackcast.protocol.contracts import Agent, Block, Principal
    from stackcast.protocol.recording import Recorder

_KIND = "checkpoint"
_PART_KIND = "part of a run"
#: Without ``every``, seconds between checkpoints.
_SECONDS = 2.0


class Checkpoint:
    """The checkpoint of one run; open it, resume from it, save to it, close it."""

    def __init__(
        self, path: str | os.PathLike[str], identity: dict[str, Any], every: int | None
    ) -> None:
        self._path = Path(path)
        self._rounds_path = self._path.with_name(self._path.name + ".rounds")
        self._identity = json.loads(json.dumps(identity))
        self._every = every
        self._length = 0
        self._mark = (0, 0, 0, 0)
        self._principal_state: State = {}
        self._principal_block = 0
        self._last_time = time.monotonic()
        self._file = self._opened()

    def _opened(self) -> IO[bytes]:
        try:
            file = self._rounds_path.open("r+b" if self._rounds_path.exists() else "x+b")
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            expected = "a place for a checkpoint that can be written to"
            raise InputError(str(self._path), expected, reason) from None
        if not _locked(file):
            file.close()
            raise InputError(str(self._path), "a checkpoint of no other run", "one in use")
        return file

    def close(self) -> None:
        """Let go of the files."""
        self._file.close()

    def resume(
        self,
        principal: Principal,
        agent: Agent,
        recorder: Recorder,
        committed: Callable[[int], Block],
    ) -> tuple[Block | None, int]:
        """Bring both players and the recorder to the last checkpoint, if there is one.

        Returns the block that was being played and how many of its rounds are done. ``committed``
        gives the principal's next block, cut to the rounds that are left after so many.
        """
        for left_over in self._path.parent.glob(f".{self._path.name}.*.tmp"):
            left_over.unlink(missing_ok=True)
        if not self._path.exists():
            self._file.truncate(0)
            self._principal_state = principal.state()
            return None, 0
        state = load_state(self._path, _KIND)
        self._compare(state["identity"])
        self._length = state["length"]
        self._principal_state, self._principal_block = state["principal"], state["principal_block"]
        for part in self._parts():
            recorder.replay(part)
        self._file.truncate(self._length)
        self._mark = recorder.mark()
        agent.restore(state["agent"])
        principal.restore(self._principal_state)
        return self._caught_up(principal, recorder, committed, bool(state["unfinished"]))

    def _compare(self, found: dict[str, Any]) -> None:
        for key, ours in self._identity.items():
            theirs = found.get(key)
            if theirs != ours:
                wanted, seen = json.dumps(ours), json.dumps(theirs)
                raise InputError(str(self._path), f"a run with {key} {wanted}", f"{key} {seen}")

    def _parts(self) -> list[State]:
        place = str(self._rounds_path)
        self._file.seek(0)
        data = self._file.read(self._length)
        if len(data) < self._length:
            raise InputError(place, f"{self._length} bytes of rounds", f"{len(data)}")
        parts, offset = [], 0
        while offset < len(data):
            (size,) = struct.unpack_from("<Q", data, offset)
            offset += 8
            parts.append(decode_state(_PART_KIND, data[offset : offset + size], place))
            offset += size
        return parts

    def _caught_up(
        self,
        principal: Principal,
        recorder: Recorder,
        committed: Callable[[int], Block],
        unfinished: bool,
    ) -> tuple[Block | None, int]:
        """Show the principal again what was answered since its state was taken."""
        start = recorder.rounds_before(self._principal_block)
        for b in range(self._principal_block, recorder.blocks):
            strategy, rounds, phase = recorder.block(b)
            block = committed(start)
            last = unfinished and b == recorder.blocks - 1
            if (
                not np.array_equal(block.strategy, strategy)
                or block.phase != phase
                or (block.rounds < rounds if last else block.rounds != rounds)
            ):
                raise InputError(
                    str(self._path),
                    "a principal that commits again to what it did",
                    f"another block {b + 1}: {block}",
                )
            if last:
                return block, rounds
            principal.observe(recorder.responses_between(start, start + rounds))
            start += rounds
        return None, 0

    def due(self, played: int) -> bool:
        """Tell whether it is time to save."""
        if self._every is not None:
            return played - self._mark[0] >= self._every
        return time.monotonic() - self._last_time >= _SECONDS

    def save(
        self, principal: Principal, agent: Agent, recorder: Recorder, *, unfinished: bool
    ) -> None:
        """Make what was played so far safe; ``unfinished`` if a block is being played."""
        if recorder.played == self._mark[0]:
            return
        if not unfinished:
            self._principal_state = principal.state()
            self._principal_block = recorder.blocks
        part = encode_state(_PART_KIND, recorder.part(self._mark))
        self._file.seek(self._length)
        self._file.write(struct.pack("<Q", len(part)) + part)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._length += 8 + len(part)
        self._mark = recorder.mark()
        save_state(
            self._path,
            _KIND,
            {
                "identity": self._identity,
                "length": self._length,
                "principal": self._principal_state,
                "principal_block": self._principal_block,
                "agent": agent.state(),
                "unfinished": unfinished,
            },
        )
        self._last_time = time.monotonic()


def _locked(file: IO[bytes]) -> bool:
    """Lock the file against other runs; the system lets go of it when this process ends."""
    try:
        import fcntl
    except ImportError:  # Windows
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
