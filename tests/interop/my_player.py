"""A player of a user's own, for ``stackcast tournament --add``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import stackcast as sc


@dataclass(eq=False, repr=False)
class Middle(sc.protocol.Principal):
    """Commits to the middle for ever."""

    @property
    def result(self) -> sc.protocol.Recommendation:
        m = self.view.space.dimension
        return sc.protocol.Recommendation(
            self.view.space.project(np.full(m, 1.0 / m)), None, float("nan")
        )

    def commit(self) -> sc.Block:
        return sc.Block(self.result.strategy, 1000, "commit")

    def observe(self, responses: Any) -> None:
        pass


@dataclass(eq=False, repr=False)
class First(sc.protocol.Agent):
    """Plays its first action, whatever happens."""

    def respond(self, block: sc.Block) -> sc.protocol.Responses:
        return sc.protocol.Responses(np.zeros(block.rounds, dtype=np.int64))
