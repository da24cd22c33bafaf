"""A commitment, watched: left when it fails, moved when something else should earn more."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from stackcast.principals.climbing import LAST, Climb
from stackcast.principals.payoff_search import plain_commitment, restored_commitment

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from stackcast._state import State
    from stackcast._validation import FloatArray
    from stackcast.principals.guessed_rate import GuessedRate
    from stackcast.principals.payoff_search import Commitment, PayoffSearch

    Outcome = Literal["kept", "changed", "lost"]

#: Commitments that may fail one after the other before exploration is opened again.
_REFUSALS = 4
#: A gain that is worth a move, in shares of the width of the payoffs: at least, and in all rounds.
_WORTH, _CONFUSION = 0.002, 300.0
#: A gain that is worth a jump, in the same shares.
_JUMP = 0.005
#: A share of other responses at which a margin is too small.
_SMALL = 0.04


class Watch:
    """Holds a commitment in pieces that grow, and says after each whether to go on.

    Parameters
    ----------
    search : PayoffSearch
        What is known; it learns from the pieces too.
    rate : GuessedRate
        How long answers take.
    horizon : int
        How many rounds will be played.
    width : float
        The width of the principal's payoffs.
    deny : callable
        Is told of every belief that was denied.
    """

    def __init__(
        self,
        search: PayoffSearch,
        rate: GuessedRate,
        horizon: int,
        width: float,
        deny: Callable[[str, float], None],
    ) -> None:
        self._search, self._rate, self._horizon, self._width = search, rate, horizon, width
        self._deny = deny
        self.commitment: Commitment | None = None
        self.block_length = 0
        self._climb = Climb()
        self._clean, self._refusals, self._caution = 0, 0, 1.0
        self._hold, self._settling = rate.first_look, False
        self._anchor: Commitment | None = None

    @property
    def base(self) -> Commitment | None:
        """The commitment that a step which is not yet trusted was taken from."""
        return self._climb.base

    def blur(self, left: int) -> float:
        """Return how far from the strategy forecasts stray in the rounds that are left."""
        rounds = max(20, left // 10)
        return self._caution * self._rate.accuracy(rounds, rounds)

    def likeliest(self, left: int) -> Commitment:
        """Return the commitment that is expected to earn most."""
        found = self._search.likeliest(self.blur(left))
        return found or self._search.planned or self._search.middle()

    def choose(self, left: int) -> None:
        """Commit to what is expected to earn most."""
        self.commitment = self.likeliest(left)
        self._clean = 0
        self._climb.start()
        self._look_again()

    def resume(self, left: int, *, surprised: bool) -> None:
        """Go on after a review, with something else if it has shown that this is worth more."""
        assert self.commitment is not None
        self.block_length = min(self.block_length, 4 * self._rate.first_look)
        self._settling = True
        if not surprised:
            return
        found = self._search.likeliest(self.blur(left))
        if found is None or found.value - self.commitment.value < _JUMP * self._width:
            return
        pair = np.array([found.strategy, self.commitment.strategy])
        worth = self._search.worth(pair, self.blur(left))[0]
        if worth[0] - worth[1] > _JUMP * self._width:
            self._leave(self.commitment, found, jump=True)

    def observe(self, responses: npt.NDArray[np.int64], left: int) -> Outcome:
        """Learn from a piece; leave the commitment if another one should earn more.

        ``changed`` says that the agent is not the same any more, ``lost`` that nothing known holds.
        """
        assert self.commitment is not None
        kept = self.commitment
        length, window = len(responses), responses[len(responses) // 2 :]
        wrong = float((window != kept.response).mean())
        if self._climb.base is not None:
            self._judge(kept, window, wrong, left)
            return "kept"
        if wrong > 0.5:
            return self._refuted(kept, window, wrong, left)
        self._clean += length
        if self._clean >= self._long:
            self._anchor = kept
        self.block_length = min(2 * self.block_length, max(20, self._horizon // 20))
        if self._settling:  # the agent finds back from a review: that says nothing of the margin
            self._settling = False
            return "kept"
        first_look = self._rate.first_look
        if length >= first_look:
            self._refusals = 0
            self._hear(kept.strategy, window)
        if length >= 4 * first_look:
            if wrong <= _SMALL:
                self._step_from(kept, left)
            else:
                self._caution = min(1.5 * self._caution, 16.0)
                if length >= self._hold:
                    self._move(kept, left)
        return "kept"

    def forget(self) -> None:
        """Begin anew, against an agent that has changed."""
        self.commitment = None
        self._clean = self._refusals = 0
        self._caution = 1.0
        self._anchor = None
        self._climb.start()

    @property
    def _long(self) -> int:
        """How many rounds a commitment must have been right to be relied on."""
        return max(1000, self._horizon // 50)

    def _look_again(self) -> None:
        self._settling = False
        self.block_length = self._rate.first_look

    def _leave(self, kept: Commitment, found: Commitment, *, jump: bool) -> None:
        self._climb.leave(kept, jump=jump)
        self.commitment = found
        self._look_again()

    def _judge(
        self, kept: Commitment, window: npt.NDArray[np.int64], wrong: float, left: int
    ) -> None:
        """Trust a step, take it back, or wait."""
        base, holds = self._climb.base, self._climb.judge(wrong)
        if holds is False:
            self._deny("step", wrong)
            self._hear(kept.strategy, window)
            self.commitment, self._climb.base = base, None
            self._look_again()
            return
        self.block_length *= 2
        if holds:
            self._clean = 0
            self._hear(kept.strategy, window)
            self._step_from(kept, left)

    def _step_from(self, kept: Commitment, left: int) -> None:
        """Take a step towards what the cloud's centre holds for best, or beyond."""
        if self._climb.step < LAST or left < self._horizon // 20:
            return
        blur = self.blur(left)
        found = self._search.likeliest(blur)
        jump = found is not None and self._climb.jumps > 0
        if found is None or not jump or found.value - kept.value < _JUMP * self._width:
            jump = False
            found = self._search.towards(kept, self._climb.step * self._width, blur)
        if found is not None:
            self._leave(kept, found, jump=jump)

    def _move(self, kept: Commitment, left: int) -> None:
        """Move to a commitment that should earn more, if it is worth the agent's confusion."""
        blur = self.blur(left)
        found = self._search.likeliest(blur)
        if found is None:
            return
        worth = self._search.worth(np.array([found.strategy, kept.strategy]), blur)[0]
        if worth[0] - worth[1] > self._width * max(_WORTH, _CONFUSION / max(left, 1)):
            self._deny("margin", math.nan)
            self.commitment, self._clean = found, 0
            self._hold = min(2 * self._hold, self._horizon // 20)
            self._climb.start()
            self._look_again()

    def _hear(self, strategy: FloatArray, window: npt.NDArray[np.int64]) -> None:
        """Add what the answers of a piece say: each frequent one, as surely as it is frequent."""
        cloud = self._search.cloud
        counts = np.bincount(window, minlength=self._search.view.payoffs.shape[1])
        for y in np.flatnonzero(counts >= 0.05 * len(window)):
            accuracy = self._rate.slack * self._rate.accuracy(len(window), int(counts[y]))
            same = (cloud.asked == strategy).all(axis=1) & (cloud.labels == y)
            if same.any() and cloud.accuracy[same].min() <= 1.4 * accuracy:
                continue
            if not cloud.add(strategy, int(y), accuracy):
                self._deny("answers", math.nan)
                self._search.reconcile()

    def _refuted(
        self, kept: Commitment, window: npt.NDArray[np.int64], wrong: float, left: int
    ) -> Outcome:
        """Leave a commitment that draws another response."""
        self._deny("commitment", wrong)
        self.commitment = None
        if self._clean >= self._long:
            return "changed"  # it was right for long: old answers are about another agent
        self._hear(kept.strategy, window)
        if self._anchor is not None:  # was it a step too far, or does nothing hold any more?
            self.commitment, self._anchor = self._anchor, None
            self._clean = self._long
            self._climb.start()
            self._look_again()
            return "kept"
        self._refusals += 1
        if self._search.certified is not None:
            self._search.refused()
        self._caution = min(1.5 * self._caution, 16.0)
        if self._refusals < _REFUSALS:
            self.choose(left)
            return "kept"
        self._refusals = 0
        return "lost"

    def state(self) -> State:
        """Return the commitment and how it went."""
        return {
            "commitment": plain_commitment(self.commitment),
            "climb": self._climb.state(),
            "numbers": [
                self.block_length,
                self._clean,
                self._refusals,
                self._caution,
                self._hold,
            ],
            "settling": self._settling,
            "anchor": plain_commitment(self._anchor),
        }

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""
        self.commitment = restored_commitment(state["commitment"])
        self._climb.restore(state["climb"])
        numbers = state["numbers"]
        self.block_length, self._clean, self._refusals, self._caution, self._hold = numbers
        self._settling = state["settling"]
        self._anchor = restored_commitment(state["anchor"])
