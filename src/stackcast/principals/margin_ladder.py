"""How far a commitment stays from other regions, by what it earns there."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from stackcast._state import State
    from stackcast.principals.payoff_search import Commitment


class MarginLadder:
    """Twice or half the distance, whichever earns more; never less than was certified.

    Near another region the agent errs now and then, for as long as its forecasts allow; farther
    inside the commitment is worth less. What was earned decides. An agent settles with time, so
    what was earned four times as long ago may be tried again.
    """

    def __init__(self) -> None:
        self.start(0.0)

    def start(self, margin: float) -> None:
        """Begin at a margin."""
        self.margin = margin
        self._rung = 0
        self._earned: dict[int, tuple[float, int]] = {}

    def move(
        self,
        kept: Commitment,
        earned: float,
        wrong: float,
        length: int,
        least: float,
        farther: Callable[[float], Commitment | None],
    ) -> tuple[Commitment, bool] | None:
        """Return another commitment that should earn more, and whether it is farther inside.

        Parameters
        ----------
        kept : Commitment
            What was held for ``length`` rounds; it earned ``earned`` on average, and drew another
            response in a share ``wrong`` of them.
        least : float
            A gain that is worth a move.
        farther : function
            Gives the best commitment with a margin.
        """
        self._earned[self._rung] = (earned, length)
        for step in (1, -1):
            rung = self._rung + step
            before, then = self._earned.get(rung, (math.inf, 0))
            recent = 4 * then > length
            if rung < 0 or (step < 0 and wrong > 0.02) or (recent and before <= earned):
                continue
            moved = farther(self.margin * 2.0**rung)
            if moved is None or moved.response != kept.response:
                continue
            hoped = moved.value if step < 0 else (moved.value + earned) / 2
            if min(hoped, before if recent else hoped) > earned + least:
                self._rung = rung
                return moved, step > 0
        return None

    def state(self) -> State:
        """Return the rung and what every rung earned."""
        earned = [[rung, value, then] for rung, (value, then) in self._earned.items()]
        return {"margin": self.margin, "rung": self._rung, "earned": earned}

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""
        self.margin, self._rung = state["margin"], state["rung"]
        self._earned = {rung: (value, then) for rung, value, then in state["earned"]}
