"""A play while it goes on: phase, average utility, calibration; and a way to stop it gently."""

from __future__ import annotations

import signal
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stackcast.protocol import Block, Responses

#: Seconds between two updates of the screen.
_PAUSE = 0.1


class LivePlay:
    """What ``play`` shows its pieces to; a context that draws on standard error if it is wanted.

    The averages are over the rounds that it was shown: after a resumption, those since.
    """

    def __init__(self, game: Any, value: float, rounds: int, *, wanted: bool) -> None:
        self._view, self._value, self._total = game.principal_view, value, rounds
        self._wanted = wanted and sys.stderr.isatty()
        self._seen, self._earned = 0, 0.0
        self._table: Any = None
        self._errors: Any = None
        self._phase, self._shown_at = "", 0.0
        self.start = 0
        self.stopped = False
        self._live: Any = None
        self._bar: Any = None

    def __call__(self, block: Block, answers: Responses) -> bool:
        """Take note of a piece; return whether the run is to stop."""
        responses = np.asarray(answers.responses)
        self._seen += len(responses)
        self._phase = block.phase
        if responses.ndim == 1:
            self._earned += float(self._view.utilities(block.strategy)[responses].sum())
            self._count_errors(block, answers)
        else:
            self._earned += float(self._view.utilities(block.strategy, responses).sum())
        now = time.monotonic()
        if self._live is not None and now - self._shown_at > _PAUSE:
            self._shown_at = now
            self._bar.update(0, completed=self.start + self._seen)
            self._live.update(self._screen())
        return self.stopped

    def _count_errors(self, block: Block, answers: Responses) -> None:
        ids, new = answers.forecast_ids, answers.new_forecasts
        if ids is None or new is None or self.start:
            return
        self._table = new if self._table is None else np.concatenate([self._table, new])
        if self._errors is None:
            self._errors = np.zeros((len(self._view.agent_actions), len(block.strategy)))
        np.add.at(self._errors, answers.responses, block.strategy - self._table[ids])

    def words(self) -> str:
        """Return the state of things in a line."""
        told = [self._phase or "play"]
        if self._seen:
            since = f" since round {self.start:,}" if self.start else ""
            told.append(f"earned {self._earned / self._seen:.4f} of {self._value:.4f}{since}")
        if self._errors is not None:
            told.append(f"calibration error {np.abs(self._errors).max() / self._seen:.4f}")
        return " · ".join(told)

    def _screen(self) -> Any:
        from rich.console import Group
        from rich.text import Text

        return Group(self._bar, Text(self.words()))

    def __enter__(self) -> LivePlay:
        if self._wanted:
            from rich.console import Console
            from rich.live import Live
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn

            console = Console(stderr=True)
            self._bar = Progress(
                BarColumn(bar_width=None),
                TaskProgressColumn(),
                TimeRemainingColumn(compact=True),
                console=console,
                expand=True,
            )
            self._bar.add_task("play", total=self._total, completed=self.start)
            self._live = Live(self._screen(), console=console, transient=True, auto_refresh=True)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let the first Ctrl-C end the run after its current piece, the second at once."""

        def gently(_number: int, _frame: object) -> None:
            self.stopped = True
            signal.signal(signal.SIGINT, signal.default_int_handler)
            print(
                "stackcast: stopping after this step; Ctrl-C again stops at once.", file=sys.stderr
            )

        before = signal.signal(signal.SIGINT, gently)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
