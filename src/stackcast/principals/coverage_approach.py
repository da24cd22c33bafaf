"""How closely the coverage of an attacked target may come to what the attacker bears.

A calibrated attacker carries errors from before, in the bin of every target, and attacks of those
bins pay them off: each by about as much as the commitment lies inside the region of its target. So
attacks stray often at first, whatever the commitment. Deep inside they are few, because each pays
off much; once they are paid off, little depth is enough. A commitment that jumps makes new errors.
Hence: begin deep, come closer smoothly, stop where the attacker leaves, and then hold still.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stackcast._state import State

#: How far below the balanced coverage of its target the commitment begins, and how far beyond it
#: the way leads if the attacker never leaves.
_DEEP, _BEYOND = 0.1, 0.02
#: The share of the horizon in which what is left of the way shrinks to 1/e.
_PACE = 0.1
#: The share of other attacks from which on the attacker is leaving.
_LEAVING = 0.25
#: How far the coverage is taken back then; and from which share on it has left altogether, as one
#: does whose answers are exact, and is taken back less.
_BACK, _ALTOGETHER, _LESS = 0.015, 0.9, 0.005
#: It stays there if it was nearer than this to the balance and this share of the horizon is over:
#: what strays before that are old errors.
_NEAR, _EARLY = 0.05, 0.2


class CoverageApproach:
    """Leads the coverage of the attacked target towards its balance, and stops in time."""

    def __init__(self) -> None:
        self.start(0.0)

    def start(self, balanced: float) -> None:
        """Begin below the coverage at which the target is as attractive as the others."""
        self._balanced, self._below = balanced, min(_DEEP, balanced)
        self._holding = False
        self._elapsed = 0.0
        self.blocks = 0

    @property
    def coverage(self) -> float:
        """The coverage of the target for the next block."""
        return min(1.0, max(0.0, self._balanced - self._below))

    def move(self, wrong: float, share: float) -> float:
        """Return the coverage for the next block.

        ``wrong`` is the share of attacks on other targets in the last one, ``share`` its share of
        the horizon.
        """
        self.blocks += 1
        self._elapsed += share
        if wrong > _LEAVING:
            self._holding |= self._below < _NEAR and self._elapsed > _EARLY
            self._below += _LESS if wrong > _ALTOGETHER else _BACK
        elif not self._holding:
            self._below -= (self._below + _BEYOND) * min(1.0, share / _PACE)
        return self.coverage

    def state(self) -> State:
        """Return where it is on its way."""
        return {
            "numbers": [self._balanced, self._below, self._elapsed],
            "holding": self._holding,
            "blocks": self.blocks,
        }

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""
        self._balanced, self._below, self._elapsed = state["numbers"]
        self._holding, self.blocks = state["holding"], state["blocks"]
