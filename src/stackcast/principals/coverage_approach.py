"""How closely the coverage of an attacked target may come to what the attacker bears.

The picture behind it, which no theorem states and only the benchmark speaks for: a calibrated
attacker carries errors from before, in the bin of every target, and attacks of those bins pay them
off: each by about as much as the commitment lies inside the region of its target. So
attacks stray often at first, whatever the commitment. Deep inside they are few, because each pays
off much; once they are paid off, little depth is enough. A commitment that jumps makes new errors.
Hence: begin deep, come closer smoothly, stop where the attacker leaves, and then hold still. The
attacker leaves soon at first and comes back; how long that is put up with before the commitment
holds still depends on what depth costs at its target.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stackcast._state import State

#: How far below the balanced coverage of its target the commitment begins, and how far beyond it
#: the way leads if the attacker never leaves.
_DEEP, _BEYOND = 0.08, 0.04
#: The share of the horizon in which what is left of the way shrinks to 1/e.
_PACE = 0.05
#: The share of other attacks from which on the attacker is leaving.
_LEAVING = 0.25
#: How far the coverage is taken back then; and from which share on it has left altogether, as one
#: does whose answers are exact, and is taken back less.
_BACK, _ALTOGETHER, _LESS = 0.015, 0.9, 0.005
#: It stays there once its patience is over and the share of other attacks was as small as this:
#: what strays before are old errors.
_CALM = 0.12
#: Its patience in shares of the horizon: this much of what full coverage of the target is worth, in
#: shares of the width of the payoffs, but some at least. Staying early costs depth and saves
#: strayed attacks.
_PATIENCE, _SHORTEST = 0.2, 0.05
#: The same for one who has left altogether: answers that are exact need no second look.
_EXACT = 0.1


class CoverageApproach:
    """Leads the coverage of the attacked target towards its balance, and stops in time."""

    def __init__(self) -> None:
        self.start(0.0, 0.0)

    def start(self, balanced: float, worth: float) -> None:
        """Begin below the coverage at which the target is as attractive as the others.

        ``worth`` is what its full coverage is worth, in shares of the width of the payoffs: the
        less, the sooner it stays where it is.
        """
        self._balanced, self._below = balanced, min(_DEEP, balanced)
        self._patience = max(_SHORTEST, _PATIENCE * worth)
        self._calm = self._waiting = self._holding = False
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
        waiting, self._waiting = self._waiting, False
        self._calm |= wrong < _CALM
        if wrong > _LEAVING:
            exact = wrong > _ALTOGETHER
            patience = _EXACT if exact else self._patience
            self._holding |= self._calm and self._elapsed > patience
            if exact:
                self._below += _LESS
            elif not waiting:  # the attacker comes back with a delay: not twice in a row
                self._below += _BACK
                self._waiting = True
            self._below = min(self._below, self._balanced)
        elif not self._holding:
            self._below -= (self._below + _BEYOND) * min(1.0, share / _PACE)
        return self.coverage

    def state(self) -> State:
        """Return where it is on its way."""
        return {
            "numbers": [self._balanced, self._below, self._elapsed, self._patience],
            "calm": self._calm,
            "waiting": self._waiting,
            "holding": self._holding,
            "blocks": self.blocks,
        }

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""
        self._balanced, self._below, self._elapsed, self._patience = state["numbers"]
        self._calm, self._waiting = state["calm"], state["waiting"]
        self._holding, self.blocks = state["holding"], state["blocks"]
