"""What the practical learner takes the agent's calibration rate to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stackcast.principals.questions import SelfStopping

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from stackcast._state import State

#: c at first, and at most.
_CONSTANT, _LARGEST_CONSTANT = 0.05, 0.4
#: Changes of the answer, each at once, after which the agent is taken to be informed.
_INFORMED = 4
#: An answer is taken to be right up to this many times what the rate says: few are wrong then.
_SLACK = 2.0
#: The first piece of a commitment, and of one to an informed agent.
_FIRST_LOOK, _FIRST_GLANCE = 400, 40


class GuessedRate(SelfStopping):
    """r(t) = c·√(log(k·m·t)/t) with c low at first; what contradicts it doubles c.

    An agent that turns at once whenever its answer changes is taken to be informed: then c is a
    fifth, and nothing has to wait until the agent has noticed.
    """

    def __init__(self, actions: int, responses: int, horizon: int) -> None:
        super().__init__(actions, responses, _CONSTANT)
        self._horizon = horizon
        self._at_once, self._latest = 0, -1

    @property
    def informed(self) -> bool:
        """Whether the agent seems to know each strategy before it answers."""
        return self._at_once >= _INFORMED

    @property
    def slack(self) -> float:
        """How many times its accuracy an answer may be wrong."""
        return 1.0 if self.informed else _SLACK

    @property
    def first_look(self) -> int:
        """The length of the first piece of a commitment: the agent needs time to notice."""
        usual = _FIRST_GLANCE if self.informed else _FIRST_LOOK
        return max(20, min(usual, self._horizon // 50))

    def notice(self, heard: npt.NDArray[np.int64], response: int) -> None:
        """Lower c while the agent turns at once whenever its answer changes."""
        mixed = bool((heard != response).any())
        if mixed and self._at_once >= 0:
            self._at_once = -1
            self.constant = max(self.constant, _CONSTANT)
        elif not mixed and self._at_once >= 0 and response != self._latest:
            self._at_once += 1
            if self._at_once == _INFORMED:
                self.constant = _CONSTANT / 5
        self._latest = response

    def double(self) -> None:
        """Take the agent to be slower."""
        self.constant = min(2 * self.constant, _LARGEST_CONSTANT)

    def state(self) -> State:
        """Return c and what was noticed."""
        return {"constant": self.constant, "noticed": [self._at_once, self._latest]}

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""
        self.constant = state["constant"]
        self._at_once, self._latest = state["noticed"]
