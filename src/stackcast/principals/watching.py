"""A commitment, watched: left when it fails, moved when something else should earn more."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from stackcast.principals.climbing import LAST, Climb
from stackcast.principals.commitments import Commitment, plain_commitment, restored_commitment

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from stackcast._state import State
    from stackcast._validation import FloatArray
    from stackcast.principals.guessed_rate import GuessedRate
    from stackcast.principals.payoff_search import PayoffSearch

    Outcome = Literal["kept", "changed", "lost"]

#: Commitments that may fail one after the other before exploration is opened again.
_REFUSALS = 4
#: A gain that is worth a move, in shares of the width of the payoffs: at least, and in all rounds.
_WORTH, _CONFUSION = 0.002, 300.0
#: A gain that is worth a jump, in the same shares.
_JUMP = 0.005
#: What other responses may cost before a margin is too small, in the same shares.
_SMALL = 0.01
#: The share of other responses up to which a piece says that a commitment is right.
_CLEAN = 0.1
#: How far from its strategy an old answer must be the same to be relied on after refusals.
_SURE = 0.04
#: How near the other region is when a step has failed: in shares of the step, and at least.
_NEAR, _NEAREST = 0.5, 0.005


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
        self._earned = -math.inf
        self._before: tuple[Commitment, float] | None = None
        self._tried: tuple[Commitment, float] | None = None
        self._least, self._trial = math.inf, False

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
        self._clean, self._before = 0, None
        self._climb.start()
        self._look_again()

    def resume(self, left: int, *, surprised: bool, trial: Commitment | None) -> None:
        """Go on after a review, with something else if it has shown that this is worth more.

        ``trial`` denies an old answer: if it holds, the agent has changed.
        """
        assert self.commitment is not None
        self.block_length = min(self.block_length, 4 * self._rate.first_look)
        self._settling = True
        if trial is not None:
            self._leave(self.commitment, trial, jump=True)
            self._trial = True
            return
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
        earned = self._search.view.utilities(kept.strategy)[window] / self._width
        if self._climb.base is not None:
            return self._judge(kept, window, earned, left)
        mean, error = _mean(earned)
        if wrong > 0.5:
            if self._refusals < _REFUSALS or mean < self._least:
                return self._refuted(kept, window, mean, left)
            kept = self.commitment = self._drawn(kept, window)
        self._clean = self._clean + length if wrong <= _CLEAN else 0
        if self._clean >= self._long:
            self._anchor = kept
        self.block_length = min(2 * self.block_length, max(20, self._horizon // 20))
        if self._settling:  # the agent finds back from a review: that says nothing of the margin
            self._settling = False
            return "kept"
        if self._before is not None and mean + 2 * error < self._before[1]:
            self._take_back(kept, window, self._before[0])
            return "kept"
        self._earned = mean
        first_look = self._rate.first_look
        if length >= first_look:
            self._refusals, self._tried = 0, None
            if not self._hear(kept.strategy, window) and self._anchor is not None:
                return "changed"
        if length >= 4 * first_look:
            if kept.value / self._width - self._earned <= _SMALL:
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
        self._anchor = self._before = None
        self._climb.start()

    @property
    def _long(self) -> int:
        """How many rounds a commitment must have been right to be relied on."""
        return max(1000, self._horizon // 50)

    def _look_again(self) -> None:
        self._settling = False
        self.block_length = self._rate.first_look

    def _leave(self, kept: Commitment, found: Commitment, *, jump: bool) -> None:
        self._trial = False
        self._climb.leave(kept, (found.value - kept.value) / self._width, jump=jump)
        self.commitment = found
        self._look_again()

    def _judge(
        self, kept: Commitment, window: npt.NDArray[np.int64], earned: FloatArray, left: int
    ) -> Outcome:
        """Trust a step, take it back, or wait."""
        base = self._climb.base
        assert base is not None
        mean, error = _mean(earned)
        holds = self._climb.judge(mean - self._earned, error)
        if holds is False:
            self._take_back(kept, window, base)
            return "kept"
        self.block_length *= 2
        if holds and self._trial:
            return "changed"
        if holds:
            self._before = base, self._earned
            self._clean, self._earned = 0, mean
            if not self._hear(kept.strategy, window) and self._anchor is not None:
                return "changed"
            self._step_from(kept, left)
        return "kept"

    def _take_back(self, kept: Commitment, window: npt.NDArray[np.int64], base: Commitment) -> None:
        """Return to where a step began that earns less."""
        self._deny("step", float((window != kept.response).mean()))
        self._climb.fail()
        self._hear(kept.strategy, window)
        self._hear_facet(kept, base, window)
        self.commitment, self._before, self._clean = base, None, 0
        self._settling = True
        self.block_length = 2 * self._rate.first_look

    def _hear_facet(
        self, kept: Commitment, base: Commitment, window: npt.NDArray[np.int64]
    ) -> None:
        """Add that a step which failed has come near the region of the response that it drew."""
        counts = np.bincount(window, minlength=self._search.view.payoffs.shape[1])
        counts[base.response] = 0
        other = int(np.argmax(counts))
        if counts[other] < _CLEAN * len(window):
            return
        near = _NEAR * float(np.linalg.norm(kept.strategy - base.strategy))
        cloud = self._search.cloud
        last = np.array([len(cloud.labels)])
        if not cloud.add(kept.strategy, other, max(near, _NEAREST)) and not cloud.drop(last):
            self._search.reconcile()

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
            self.commitment, self._clean, self._before = found, 0, None
            self._hold = min(2 * self._hold, self._horizon // 20)
            self._climb.start()
            self._look_again()

    def _hear(self, strategy: FloatArray, window: npt.NDArray[np.int64]) -> bool:
        """Add what the answers of a piece say: each frequent one, as surely as it is frequent.

        False says that they cannot be reconciled with the answers before.
        """
        agrees = True
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
                agrees = False
        return agrees

    def _refuted(
        self, kept: Commitment, window: npt.NDArray[np.int64], earned: float, left: int
    ) -> Outcome:
        """Leave a commitment that draws another response."""
        self._deny("commitment", float((window != kept.response).mean()))
        self.commitment = None
        if self._clean >= self._long:
            return "changed"  # it was right for long: old answers are about another agent
        self._hear(kept.strategy, window)
        if self._anchor is not None:  # was it a step too far, or does nothing hold any more?
            self.commitment, self._anchor, self._before = self._anchor, None, None
            self._clean = self._long
            self._climb.start()
            self._look_again()
            return "kept"
        self._refusals += 1
        if self._tried is None or earned > self._tried[1]:
            self._tried = self._drawn(kept, window), earned
        if self._search.certified is not None:
            self._search.refused()
        self._caution = min(1.5 * self._caution, 16.0)
        if self._refusals < _REFUSALS:
            self.choose(left)
            return "kept"
        if self._refusals == _REFUSALS:  # what earned most is known at least, and old answers are
            self.commitment, best = self._tried
            sure = self._search.surest(_SURE)
            if sure is not None and sure.value / self._width > best + _SMALL:
                self.commitment, best = sure, sure.value / self._width
            self._least = best - _SMALL
            self._clean, self._before = 0, None
            self._climb.start()
            self._look_again()
            return "kept"
        self._refusals, self._tried = 0, None
        return "lost"

    def _drawn(self, kept: Commitment, window: npt.NDArray[np.int64]) -> Commitment:
        """Return the commitment with the response that it draws."""
        drawn = int(np.argmax(np.bincount(window)))
        value = float(self._search.view.utilities(kept.strategy)[drawn])
        return Commitment(kept.strategy, drawn, value, math.nan)

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
            "earned": [self._earned, self._least],
            "trial": self._trial,
            "before": _plain(self._before),
            "tried": _plain(self._tried),
        }

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""
        self.commitment = restored_commitment(state["commitment"])
        self._climb.restore(state["climb"])
        numbers = state["numbers"]
        self.block_length, self._clean, self._refusals, self._caution, self._hold = numbers
        self._settling = state["settling"]
        self._anchor = restored_commitment(state["anchor"])
        self._earned, self._least = state["earned"]
        self._trial = state["trial"]
        self._before, self._tried = _restored(state["before"]), _restored(state["tried"])


def _mean(earned: FloatArray) -> tuple[float, float]:
    """Return the mean of what rounds earned, and its standard error."""
    return float(earned.mean()), float(earned.std()) / math.sqrt(len(earned))


def _plain(known: tuple[Commitment, float] | None) -> State | None:
    """Return a commitment and what it earned as plain state."""
    return None if known is None else {"kept": plain_commitment(known[0]), "earned": known[1]}


def _restored(state: State | None) -> tuple[Commitment, float] | None:
    """Return what :func:`_plain` was given."""
    if state is None:
        return None
    kept = restored_commitment(state["kept"])
    return None if kept is None else (kept, state["earned"])
