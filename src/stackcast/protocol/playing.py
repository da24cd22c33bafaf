"""Play: two players, round after round, until the rounds are over (Algorithm 1 of the paper)."""

from __future__ import annotations

import importlib
import sys
import time
from importlib import metadata as installed
from typing import TYPE_CHECKING, Any

from stackcast._validation import InputError, shown, whole_number
from stackcast.protocol.checkpoints import Checkpoint
from stackcast.protocol.contracts import Block, Responses, fits, same_game
from stackcast.protocol.recording import Recorder

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from types import TracebackType

    from rich.progress import Progress, TaskID

    from stackcast.games import ContinuousGame, Game
    from stackcast.protocol.contracts import Agent, Principal
    from stackcast.protocol.transcript import Transcript

#: An agent is given at most this many rounds at once, whatever the principal's block.
_LONGEST_PIECE = 1 << 18
#: A piece that takes more seconds than the second number is halved, less than the first doubled.
_PACE = (0.05, 0.5)
#: A run that lasts longer than this many seconds shows how far it is.
_PATIENCE = 2.0


def play(
    principal: Principal,
    agent: Agent,
    rounds: int,
    game: Game | ContinuousGame | None = None,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int | None = None,
    forecasts: bool = True,
    progress: bool | None = None,
    watch: Callable[[Block, Responses], bool | None] | None = None,
) -> Transcript:
    """Let a principal and an agent play, and return what happened.

    Parameters
    ----------
    principal, agent : Principal, Agent
        The two players, built from their views of the same game.
    rounds : int
        How many rounds are played. A block that is longer than what is left is cut, and the
        principal observes what was played.
    game : game, optional
        The game, to be kept with the transcript. Its fingerprint must be that of both views.
    checkpoint : path, optional
        Where to keep a checkpoint. If one of the same run (players, settings, rounds, versions) is
        there, the run goes on from it; a run that was killed ends with the same transcript, bit for
        bit, as one that was not. A finished run's checkpoint gives its transcript at once.
    every : int, optional
        Rounds between checkpoints; by default one every two seconds.
    forecasts : bool
        Whether to keep the forecasts of an agent that has them.
    progress : bool, optional
        Whether to show a progress bar; by default if the run takes more than two seconds and the
        output is a terminal.
    watch : callable, optional
        Is shown every piece of a block with its answers, after they are recorded. If it returns
        True the run ends there: a checkpoint is made, and what was played so far is returned.

    Examples
    --------
    >>> import stackcast as sc
    >>> from stackcast.agents import FollowTheLeader
    >>> from stackcast.principals import PhaseSwitch
    >>> game = sc.FiniteGame([[0.5, 0, 0], [0.5, 0, 1]], [[0.55, 0, 0.5], [0, 1, 0.5]])
    >>> milker = PhaseSwitch(game.principal_view, [[1, 0], [0, 1]], [500, 500])
    >>> t = play(milker, FollowTheLeader(game.agent_view), rounds=1000, game=game)
    >>> t
    Transcript(1,000 rounds in 2 blocks)
    >>> t.responses[[0, 499, 500, 999]]
    array([0, 0, 0, 2])
    """
    total = whole_number("rounds", rounds, at_least=1)
    if every is not None:
        whole_number("every", every, at_least=1)
    fingerprint = same_game(principal, agent, None if game is None else game.fingerprint)
    space = principal.view.space
    players = {"principal": principal.settings, "agent": agent.settings, "versions": _versions()}
    recorder = Recorder(total, space.dimension, len(agent.view.agent_actions), forecasts)

    def committed(played: int) -> Block:
        block = principal.commit()
        if not isinstance(block, Block):
            raise InputError("principal", "a Block from commit()", shown(block))
        strategy, left = block.strategy, total - played
        if not fits(space, strategy):
            strategy = space.check("principal's strategy", strategy)
            strategy.flags.writeable = False
        elif block.rounds <= left:
            return block
        return Block(strategy, min(block.rounds, left), block.phase)

    safe = None
    block: Block | None = None
    done = 0
    if checkpoint is not None:
        identity = {"rounds": total, "fingerprint": fingerprint, "forecasts": forecasts, **players}
        safe = Checkpoint(checkpoint, identity, every)
    try:
        if safe is not None:
            block, done = safe.resume(principal, agent, recorder, committed)
        with _Bar(total, progress) as bar:
            pace = _Pace(every)
            stopped = False
            while recorder.played < total and not stopped:
                if block is None:
                    if safe is not None and safe.due(recorder.played):
                        safe.save(principal, agent, recorder, unfinished=False)
                    block, done = committed(recorder.played), 0
                    recorder.begin(block)
                piece = pace.piece(block, done)
                answers = agent.respond(piece)
                if not isinstance(answers, Responses):
                    raise InputError("agent", "Responses from respond()", shown(answers))
                recorder.add(answers, piece.rounds)
                done += piece.rounds
                pace.took(piece.rounds)
                bar.at(recorder.played, pace.now)
                stopped = watch is not None and bool(watch(piece, answers))
                if done == block.rounds:
                    principal.observe(recorder.last_responses(done))
                    block = None
                elif safe is not None and safe.due(recorder.played):
                    safe.save(principal, agent, recorder, unfinished=True)
            if safe is not None:
                safe.save(principal, agent, recorder, unfinished=block is not None)
    finally:
        if safe is not None:
            safe.close()
    return recorder.transcript(fingerprint, game, players)


class _Pace:
    """How many rounds an agent is given at once: short waits for the bar and for checkpoints.

    The clock decides only where a block is split, which does not change what is played.
    """

    def __init__(self, every: int | None) -> None:
        self._most = _LONGEST_PIECE if every is None else min(every, _LONGEST_PIECE)
        self._limit = min(1024, self._most)
        self.now = time.monotonic()

    def piece(self, block: Block, done: int) -> Block:
        left = block.rounds - done
        if done == 0 and left <= self._limit:
            return block
        return Block(block.strategy, min(left, self._limit), block.phase)

    def took(self, rounds: int) -> None:
        before, self.now = self.now, time.monotonic()
        if self.now - before > _PACE[1]:
            self._limit = max(1, self._limit // 2)
        elif rounds == self._limit and self.now - before < _PACE[0]:
            self._limit = min(self._most, 2 * self._limit)


class _Bar:
    """A Rich progress bar that appears once a run turns out to be long."""

    def __init__(self, total: int, wanted: bool | None) -> None:
        self._total = total
        self._wanted = sys.stderr.isatty() if wanted is None else wanted
        self._patience = 0.0 if wanted else _PATIENCE
        self._start = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> _Bar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def at(self, played: int, now: float) -> None:
        if not self._wanted or now - self._start < self._patience:
            return
        if self._bar is None:
            self._show()
        assert self._bar is not None
        assert self._task is not None
        self._bar.update(self._task, completed=played)

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("play"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("rounds"),
            TimeRemainingColumn(),
            console=console,
            transient=console.is_terminal,
        )
        self._task = self._bar.add_task("play", total=self._total)
        self._bar.start()


def _versions() -> dict[str, Any]:
    package = importlib.import_module("stackcast")
    versions = {"stackcast": package.__version__}
    return versions | {name: installed.version(name) for name in ("numpy", "numba")}
