"""Small steps from a commitment towards what may be worth more, taken back when they fail.

A calibrated agent keeps answering as before for a while when a strategy moves a little way across a
facet, and turns slowly: what the rounds earn *falls* from piece to piece. Within the region it does
not, and other responses that come in between count only by what they cost. So a step outwards that
fails is seen in time and costs little.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stackcast.principals.commitments import plain_commitment, restored_commitment

if TYPE_CHECKING:
    from stackcast._state import State
    from stackcast.principals.commitments import Commitment

#: The first step and the last, in shares of the width of the payoffs.
_FIRST, LAST = 0.01, 0.0015
#: Jumps that may fail.
_JUMPS = 2
#: What a step may lose against its base in its first piece, in shares of the width of the payoffs.
_AT_FIRST = 0.02
#: Pieces, each twice as long as the one before, after which a step is trusted or not: at least (one
#: less if it earns nearly all that it promised), and at most.
_PIECES, _MOST = 3, 5
#: Shares of what a step promised: to lose at most, where it earns nearly all; to earn at least.
_NEARLY, _ENOUGH = 0.125, 0.25


class Climb:
    """Where a commitment stood before a step, and how large the next step is."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Begin anew, from another commitment."""
        self.base: Commitment | None = None
        self.step, self._growth = _FIRST, 2.0
        self.jumps, self._jump = _JUMPS, False
        self._promised, self._lost, self._pieces = 0.0, 0.0, 0

    def leave(self, base: Commitment, promised: float, *, jump: bool) -> None:
        """Take a step from ``base``, or jump to a commitment that need not be near.

        ``promised`` is what it should earn more, in shares of the width of the payoffs.
        """
        self.base, self._jump = base, jump
        self._promised, self._lost, self._pieces = promised, 0.0, 0

    def judge(self, gain: float, error: float) -> bool | None:
        """Return whether the step holds after a piece.

        ``gain`` is what the piece earned more than the base, up to a standard ``error``. None says
        that it is too early to tell.
        """
        first, lost = self._pieces == 0, self._promised - gain
        rising = lost > max(self._lost, self._promised / 2) + 2 * error
        if gain < -(_AT_FIRST if first else 2 * error) or (rising and not first):
            return False
        self._lost = lost
        self._pieces += 1
        if self._pieces < _PIECES - (lost <= _NEARLY * self._promised):
            return None
        if gain < _ENOUGH * self._promised:
            return False if self._pieces >= _MOST else None
        self.base = None
        if not self._jump:
            self.step *= self._growth
        return True

    def fail(self) -> None:
        """Return to the base, to take smaller steps or jump less often."""
        self.base = None
        if self._jump:
            self.jumps -= 1
        else:
            self.step /= 2
            self._growth = 1.0

    def state(self) -> State:
        """Return the step and how it went."""
        return {
            "base": plain_commitment(self.base),
            "numbers": [self.step, self._growth, self._promised, self._lost],
            "counts": [self._pieces, self.jumps, int(self._jump)],
        }

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""
        self.base = restored_commitment(state["base"])
        self.step, self._growth, self._promised, self._lost = state["numbers"]
        self._pieces, self.jumps = state["counts"][:2]
        self._jump = bool(state["counts"][2])
