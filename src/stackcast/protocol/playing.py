"""Play (Algorithm 1 of the paper): blocks, their record, and checkpoints of both.

A principal's block is played as blocks of at most 8,192 rounds, so that memory, waiting and what a
killed run loses are bounded. The transcript joins them again.

A checkpoint is two files. ``run.ckpt`` is small and replaced as a whole: the two players' states
and how many bytes of the other file count. ``run.ckpt.rounds`` only grows: each checkpoint appends
what was played since the last one, so that all checkpoints together cost as much as the run is
long. The order makes every moment safe: first the rounds are appended and reach the disc, then the
small file is replaced; what lies beyond the bytes that count is cut off on resuming.
"""

from __future__ import annotations

import importlib
import json
import os
import struct
import time
from importlib import metadata as installed
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from stackcast._files import reason, remove_drafts
from stackcast._state import decode_state, encode_state, load_state, save_state
from stackcast._validation import InputError, shown, whole_number
from stackcast.protocol.contracts import Block, Responses, fits, small_responses
from stackcast.protocol.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from stackcast._state import State
    from stackcast._validation import AnyArray, Table
    from stackcast.games import ContinuousGame, Game
    from stackcast.protocol.contracts import Agent, Principal

    Watch = Callable[[Block, Responses], bool | None]

#: An agent is given at most this many rounds at once, whatever the principal's block.
LONGEST_BLOCK = 8192
_KIND, _PART_KIND = "checkpoint", "part of a run"
#: Without ``every``, seconds between checkpoints.
_SECONDS = 2.0


def play(
    principal: Principal,
    agent: Agent,
    rounds: int,
    game: Game | ContinuousGame | None = None,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int | None = None,
    forecasts: bool = True,
    watch: Watch | None = None,
) -> Transcript:
    """Play a principal against an agent and return the transcript.

    Parameters
    ----------
    principal, agent : Principal, Agent
        The two players, built from their views of the same game.
    rounds : int
        How many rounds are played. A block that is longer than what is left, or than 8,192 rounds,
        is cut, and the principal observes what was played.
    game : game, optional
        The game, to be kept with the transcript. Its fingerprint must be that of both views.
    checkpoint : path, optional
        Where to keep a checkpoint. If one of the same run (players, settings, rounds, versions) is
        there, the run goes on from it; a run that was killed ends with the same transcript, bit for
        bit, as one that was not. A finished run's checkpoint gives its transcript at once.
    every : int, optional
        After how many rounds the next end of a block is a checkpoint; by default after two seconds.
    forecasts : bool
        Whether to keep the forecasts of an agent that has them.
    watch : callable, optional
        Is shown every block with its responses: the place for a progress bar. If it returns True
        the run ends there: a checkpoint is made, and what was played so far is returned.

    Examples
    --------
    >>> import stackcast as sc
    >>> from stackcast.agents import FollowTheLeader
    >>> from stackcast.principals import PhaseSwitch
    >>> game = sc.FiniteGame([[0.5, 0, 0], [0.5, 0, 1]], [[0.55, 0, 0.5], [0, 1, 0.5]])
    >>> exploiter = PhaseSwitch(game.principal_view, [[1, 0], [0, 1]], [500, 500])
    >>> t = play(exploiter, FollowTheLeader(game.agent_view), rounds=1000, game=game)
    >>> t
    Transcript(1,000 rounds in 2 blocks)
    >>> t.responses[[0, 499, 500, 999]]
    array([0, 0, 0, 2])
    """
    total = whole_number("rounds", rounds, at_least=1)
    if every is not None:
        whole_number("every", every, at_least=1)
    fingerprint = _same_game(principal, agent, None if game is None else game.fingerprint)
    space = principal.view.space
    players = {"principal": principal.settings, "agent": agent.settings, "versions": _versions()}
    record = _Record(total, space.dimension, len(agent.view.agent_actions), forecasts)
    safe = None
    if checkpoint is not None:
        identity = {"rounds": total, "fingerprint": fingerprint, "forecasts": forecasts, **players}
        safe = _Checkpoint(checkpoint, identity, every)
    try:
        if safe is not None:
            safe.resume(principal, agent, record)
        stopped = False
        while record.played < total and not stopped:
            if safe is not None and safe.due(record.played):
                safe.save(principal, agent, record)
            whole = principal.commit()
            if not isinstance(whole, Block):
                raise InputError("principal", "a Block from commit()", shown(whole))
            # The strategy is checked here and nowhere else.
            strategy, left = whole.strategy, total - record.played
            if not fits(space, strategy):
                strategy = space.check("principal's strategy", strategy)
            block = Block(strategy, min(whole.rounds, left, LONGEST_BLOCK), whole.phase)
            responses = agent.respond(block)
            if not isinstance(responses, Responses):
                raise InputError("agent", "Responses from respond()", shown(responses))
            principal.observe(record.add(block, responses, whole.rounds > LONGEST_BLOCK))
            stopped = watch is not None and bool(watch(block, responses))
        if safe is not None:
            safe.save(principal, agent, record)
    finally:
        if safe is not None:
            safe.close()
    return record.transcript(fingerprint, game, players)


def _same_game(principal: Principal, agent: Agent, fingerprint: str | None) -> str:
    """Return the fingerprint of the one game that all parties speak of, or refuse."""
    ours = principal.view.fingerprint if fingerprint is None else fingerprint
    whose = "the principal's game" if fingerprint is None else "the game given"
    for who, player in (("principal", principal), ("agent", agent)):
        found = player.view.fingerprint
        if found != ours:
            raise InputError(who, f"a player of {whose} ({ours[:8]}…)", f"one of {found[:8]}…")
    return ours


def _versions() -> Table:
    package = importlib.import_module("stackcast")
    versions = {"stackcast": package.__version__}
    return versions | {name: installed.version(name) for name in ("numpy", "numba")}


class _Rows:
    """An array whose number of rows grows; amortised, appending costs what it writes."""

    def __init__(self, shape: tuple[int, ...], dtype: npt.DTypeLike, capacity: int = 16) -> None:
        self._buffer, self.count = np.empty((capacity, *shape), dtype), 0

    def append(self, rows: AnyArray) -> None:
        needed = self.count + len(rows)
        if needed > len(self._buffer):
            old = self._buffer
            larger = np.empty((max(needed, 2 * self.count), *old.shape[1:]), old.dtype)
            larger[: self.count] = old[: self.count]
            self._buffer = larger
        self._buffer[self.count : needed] = rows
        self.count = needed

    def since(self, start: int) -> AnyArray:
        return self._buffer[start : self.count]


class _Record:
    """What was played so far: room for every round, blocks and forecasts as they come."""

    def __init__(self, rounds: int, dimension: int, actions: int, forecasts: bool) -> None:
        self._total, self._actions, self._keep = rounds, actions, forecasts
        self._strategies = _Rows((dimension,), np.float64)
        # A row a block: its rounds, its phase, and whether the next one may go on with it.
        self._blocks = _Rows((3,), np.int64)
        self._phases: dict[str, int] = {}
        self._responses: _Rows | None = None
        self._ids: _Rows | None = None
        self._table = _Rows((dimension,), np.float64)
        self.played = 0

    def add(self, block: Block, answers: Responses, goes_on: bool) -> AnyArray:
        """Append a block and the responses to it; return these as a principal sees them."""
        rounds, dimension = block.rounds, len(block.strategy)
        responses = np.asarray(answers.responses)
        small = small_responses("agent's responses", responses, rounds, self._actions)
        ids = answers.forecast_ids if self._keep else None
        if self._keep and answers.new_forecasts is not None:
            new = np.asarray(answers.new_forecasts, dtype=np.float64)
            if new.ndim != 2 or new.shape[1] != dimension:
                expected = f"rows of {dimension} numbers"
                raise InputError("agent's new forecasts", expected, f"shape {new.shape}")
            self._table.append(new)
        if self._ids is not None or (self._responses is None and ids is not None):
            ids = np.asarray(() if ids is None else ids)
            if ids.shape != (rounds,) or ids.dtype.kind not in "iu":
                found = f"{ids.dtype} numbers of shape {ids.shape}"
                raise InputError("agent's forecast ids", f"{rounds} whole numbers", found)
            if ids.min() < 0 or ids.max() >= self._table.count:
                expected = f"numbers of the {self._table.count} forecasts made so far"
                raise InputError("agent's forecast ids", expected, f"{ids.min()} to {ids.max()}")
        phase = self._phases.setdefault(block.phase, len(self._phases))
        self._append(block.strategy[None], np.array([[rounds, phase, goes_on]]), small, ids)
        seen = small.astype(np.int64) if small.ndim == 1 else small
        seen.flags.writeable = False
        return seen

    def _append(
        self, strategies: AnyArray, blocks: AnyArray, responses: AnyArray, ids: AnyArray | None
    ) -> None:
        if self._responses is None:
            self._responses = _Rows(responses.shape[1:], responses.dtype, self._total)
            self._ids = None if ids is None else _Rows((), np.int32, self._total)
        self._strategies.append(strategies)
        self._blocks.append(blocks)
        self._responses.append(responses)
        if self._ids is not None and ids is not None:
            self._ids.append(ids)
        self.played += len(responses)

    @property
    def mark(self) -> tuple[int, int, int]:
        """Where the record stands, for :meth:`part`."""
        return self.played, self._blocks.count, self._table.count

    def part(self, mark: tuple[int, int, int]) -> State:
        """Return what was played since ``mark``."""
        assert self._responses is not None
        played, blocks, table = mark
        return {
            "phases": list(self._phases),
            "strategies": self._strategies.since(blocks),
            "blocks": self._blocks.since(blocks),
            "responses": self._responses.since(played),
            "forecast_ids": None if self._ids is None else self._ids.since(played),
            "new_forecasts": self._table.since(table),
        }

    def replay(self, part: State) -> None:
        """Append a part that :meth:`part` made."""
        self._phases = {phase: i for i, phase in enumerate(part["phases"])}
        self._table.append(part["new_forecasts"])
        names = ("strategies", "blocks", "responses", "forecast_ids")
        self._append(*(part[name] for name in names))

    def transcript(
        self, fingerprint: str, game: Game | ContinuousGame | None, metadata: Table
    ) -> Transcript:
        """Return what was played, blocks that were cut joined again."""
        assert self._responses is not None
        blocks, strategies = self._blocks.since(0), self._strategies.since(0)
        again = (blocks[:-1, 2] == 1) & (blocks[1:, 1] == blocks[:-1, 1])
        again &= (strategies[1:] == strategies[:-1]).all(axis=1)
        first = np.flatnonzero(np.append(True, ~again))
        return Transcript(
            block_strategies=strategies[first],
            block_rounds=np.add.reduceat(blocks[:, 0], first),
            block_phases=blocks[first, 1].astype(np.int32),
            phase_names=tuple(self._phases),
            compact_responses=self._responses.since(0),
            forecast_ids=None if self._ids is None else self._ids.since(0),
            forecast_table=None if self._ids is None else self._table.since(0).copy(),
            fingerprint=fingerprint,
            game=game,
            metadata=metadata,
        )


class _Checkpoint:
    """The checkpoint of one run; open it, resume from it, save to it, close it."""

    def __init__(self, path: str | os.PathLike[str], identity: Table, every: int | None) -> None:
        self._path = Path(path)
        self._rounds_path = self._path.with_name(self._path.name + ".rounds")
        self._identity = json.loads(json.dumps(identity))
        self._every, self._length, self._mark = every, 0, (0, 0, 0)
        self._last_time = time.monotonic()
        if self._path.exists() and not self._rounds_path.exists():
            expected = f"the rounds of {self._path.name}"
            raise InputError(str(self._rounds_path), expected, "no such file")
        try:
            self._file = self._rounds_path.open("r+b" if self._rounds_path.exists() else "x+b")
        except OSError as error:
            expected = "a place for a checkpoint that can be written to"
            raise InputError(str(self._path), expected, reason(error)) from None
        if not _locked(self._file):
            self._file.close()
            raise InputError(str(self._path), "a checkpoint of no other run", "one in use")

    def close(self) -> None:
        """Let go of the files."""
        self._file.close()

    def resume(self, principal: Principal, agent: Agent, record: _Record) -> None:
        """Bring both players and the record to the last checkpoint, if there is one."""
        remove_drafts(self._path.parent, [self._path.name])
        if not self._path.exists():
            self._file.truncate(0)
            return
        state = load_state(self._path, _KIND)
        damaged = InputError(str(self._path), "a checkpoint as it was written", "another content")
        found, length = state.get("identity"), state.get("length")
        if not isinstance(found, dict) or not isinstance(length, int) or length < 0:
            raise damaged
        for key, ours in self._identity.items():
            if found.get(key) != ours:
                wanted, seen = json.dumps(ours), json.dumps(found.get(key))
                raise InputError(str(self._path), f"a run with {key} {wanted}", f"{key} {seen}")
        try:
            for part in self._parts(length):
                record.replay(part)
            agent.restore(state["agent"])
            principal.restore(state["principal"])
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise error if isinstance(error, InputError) else damaged from None
        self._file.truncate(length)
        self._length, self._mark = length, record.mark

    def _parts(self, length: int) -> list[State]:
        place = str(self._rounds_path)
        self._file.seek(0)
        data = self._file.read(length)
        if len(data) < length:
            raise InputError(place, f"{length} bytes of rounds", f"{len(data)}")
        parts, offset = [], 0
        while offset + 8 <= len(data):
            (size,) = struct.unpack_from("<Q", data, offset)
            parts.append(decode_state(_PART_KIND, data[offset + 8 : offset + 8 + size], place))
            offset += 8 + size
        if offset != len(data):
            raise InputError(
                place, f"{length} bytes of whole parts", "a part that was cut or altered"
            )
        return parts

    def due(self, played: int) -> bool:
        """Tell whether it is time to save."""
        if self._every is not None:
            return played - self._mark[0] >= self._every
        return time.monotonic() - self._last_time >= _SECONDS

    def save(self, principal: Principal, agent: Agent, record: _Record) -> None:
        """Make what was played so far safe."""
        if record.played == self._mark[0]:
            return
        part = encode_state(_PART_KIND, record.part(self._mark))
        try:
            self._file.seek(self._length)
            self._file.write(struct.pack("<Q", len(part)) + part)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            expected = "a place for a checkpoint that can be written to"
            raise InputError(str(self._path), expected, reason(error)) from None
        self._length += 8 + len(part)
        self._mark = record.mark
        saved = {"identity": self._identity, "length": self._length}
        players = {"principal": principal.state(), "agent": agent.state()}
        save_state(self._path, _KIND, saved | players)
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
