"""How much of its coverage an attacked target can keep, by what is earned there."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stackcast._state import State

#: The first step, the least one, and how deep an attacker is led back to its target.
_FIRST, _LEAST, _DEEP = 0.02, 0.005, 0.03
#: The share of other attacks that calls for a retreat.
_STRAYING = 0.07
#: Blocks between two trials, at most.
_LONGEST_REST = 8

_HOLD, _TRY, _RECOVER = "hold", "try", "recover"


class CoverageClimb:
    """More coverage for the attacked target while that earns more, less when it does not.

    The more the attacked target is covered the more an attack is worth, until the attacker turns to
    another target. Each step is tried for one block and kept if it earned more. Attackers are slow
    to come back: one who has strayed is led back by a block with clearly less coverage, and stays
    where it would not have come by itself. The step is then halved, and tried again after a longer
    rest.
    """

    def __init__(self) -> None:
        self.start(0.0)

    def start(self, coverage: float) -> None:
        """Begin at a coverage of the target."""
        self.coverage = self.held = coverage
        self._earned = -math.inf
        self._step, self._rest, self._waited, self._mode = _FIRST, 1, 0, _HOLD
        self.blocks = 0

    @property
    def recovering(self) -> bool:
        """Whether the attacker is being led back to its target."""
        return self._mode == _RECOVER

    def move(self, earned: float, wrong: float) -> float:
        """Return the coverage for the next block, given what the last one earned.

        ``wrong`` is the share of attacks on other targets.
        """
        self.blocks += 1
        if self._mode == _TRY:
            if wrong <= _STRAYING and earned > self._earned:
                self.held, self._earned = self.coverage, earned
                self.coverage = min(1.0, self.held + self._step)
            else:
                self._step = max(self._step / 2, _LEAST)
                self._rest = min(2 * self._rest, _LONGEST_REST)
                if wrong > _STRAYING:
                    self._retreat(self.held)
                else:
                    self.coverage, self._mode, self._waited = self.held, _HOLD, 0
        elif self._mode == _RECOVER:
            if wrong <= _STRAYING:
                self.coverage, self._mode, self._waited = self.held, _HOLD, 0
            else:
                self._retreat(self.coverage)
        elif wrong > _STRAYING:
            self.held = max(0.0, self.held - self._step / 2)
            self._retreat(self.held)
        else:
            self._earned = earned
            self._waited += 1
            if self._waited >= self._rest:
                self.coverage, self._mode = min(1.0, self.held + self._step), _TRY
        return self.coverage

    def _retreat(self, coverage: float) -> None:
        self.coverage, self._mode = max(0.0, coverage - _DEEP), _RECOVER

    def state(self) -> State:
        """Return the coverage, the step, and what was earned."""
        numbers = [self.coverage, self.held, self._earned, self._step]
        return {
            "numbers": numbers,
            "rests": [self._rest, self._waited, self.blocks],
            "mode": self._mode,
        }

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""
        self.coverage, self.held, self._earned, self._step = state["numbers"]
        (self._rest, self._waited, self.blocks), self._mode = state["rests"], state["mode"]
