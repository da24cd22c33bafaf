"""Small steps from a commitment towards what may be worth more, taken back when they fail.

A calibrated agent keeps answering as before for a while when a strategy moves a little way across a
facet, and turns slowly: the share of other responses *rises* from piece to piece. Within the region
it falls. So a step outwards that fails is seen in time and costs little.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stackcast.principals.payoff_search import plain_commitment, restored_commitment

if TYPE_CHECKING:
    from stackcast._state import State
    from stackcast.principals.payoff_search import Commitment

#: The first step and the last, in shares of the width of the payoffs.
_FIRST, LAST = 0.01, 0.0015
#: Jumps that may fail.
_JUMPS = 2
#: A share of other responses that a step may draw, in its first piece and later.
_AT_FIRST, _LATER = 0.15, 0.03
#: Pieces, each twice as long as the one before, after which a step is trusted; one less if hardly
#: any other response was drawn.
_PIECES, _HARDLY = 3, 0.005


class Climb:
    """Where a commitment stood before a step, and how large the next step is."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Begin anew, from another commitment."""
        self.base: Commitment | None = None
        self.step, self._growth = _FIRST, 2.0
        self.jumps, self._jump = _JUMPS, False
        self._wrong, self._pieces = 1.0, 0

    def leave(self, base: Commitment, *, jump: bool) -> None:
        """Take a step from ``base``, or jump to a commitment that need not be near."""
        self.base, self._jump = base, jump
        self._wrong, self._pieces = 1.0, 0

    def judge(self, wrong: float) -> bool | None:
        """Return whether the step holds after a piece with a share of other responses.

        None says that it is too early to tell.
        """
        rising = wrong > max(_LATER, 1.3 * self._wrong)
        if rising or wrong > _AT_FIRST:
            if self._jump:
                self.jumps -= 1
            else:
                self.step /= 2
                self._growth = 1.0
            return False
        self._wrong = wrong
        self._pieces += 1
        if self._pieces < _PIECES - (wrong <= _HARDLY):
            return None
        self.base = None
        if not self._jump:
            self.step *= self._growth
        return True

    def state(self) -> State:
        """Return the step and how it went."""
        return {
            "base": plain_commitment(self.base),
            "numbers": [self.step, self._growth, self._wrong],
            "counts": [self._pieces, self.jumps, int(self._jump)],
        }

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""
        self.base = restored_commitment(state["base"])
        self.step, self._growth, self._wrong = state["numbers"]
        self._pieces, self.jumps = state["counts"][:2]
        self._jump = bool(state["counts"][2])
