"""Players of another distribution: ones that fail, that kill their worker, that need a moment."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stackcast.agents import BestResponse

if TYPE_CHECKING:
    from stackcast.protocol import Block, Responses


class Failing(BestResponse):
    """Raises, unless a file is there."""

    def __init__(self, view: Any, seed: int = 0, *, unless: str = "") -> None:
        super().__init__(view, seed=seed)
        self._unless = unless

    def respond(self, block: Block) -> Responses:
        if not Path(self._unless).exists():
            raise RuntimeError("out of paper")
        return super().respond(block)


class Deadly(BestResponse):
    """Kills its process: always, or only if a file is not there yet, which it makes."""

    def __init__(self, view: Any, seed: int = 0, *, once: str = "", only_seed: int = -1) -> None:
        super().__init__(view, seed=seed)
        self._once, self._armed = once, only_seed in (-1, seed)

    def respond(self, block: Block) -> Responses:
        if self._armed and not (self._once and Path(self._once).exists()):
            if self._once:
                Path(self._once).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().respond(block)


class Slow(BestResponse):
    """Takes some seconds for a play."""

    def __init__(self, view: Any, seed: int = 0, *, seconds: float = 0.05) -> None:
        super().__init__(view, seed=seed)
        self._seconds = seconds

    def respond(self, block: Block) -> Responses:
        time.sleep(self._seconds)
        return super().respond(block)
