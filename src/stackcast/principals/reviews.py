"""What is asked when the search has ended: before a commitment, and now and then during it.

A commitment that draws its response raises no alarm when a wrong answer has cut off something
better, nor when the agent has changed elsewhere, nor when exploration ended too early. So a review
asks *old* answers again, those at which another answer would be worth most, and *new* questions as
long as the gain that the cloud expects of them is worth what they cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stackcast.principals.commitments import (
    Commitment,
    plain_commitment,
    restored_commitment,
)
from stackcast.principals.questions import Question

if TYPE_CHECKING:
    from collections.abc import Callable

    from stackcast._state import State
    from stackcast._validation import FloatArray
    from stackcast.principals.guessed_rate import GuessedRate
    from stackcast.principals.payoff_search import PayoffSearch
    from stackcast.principals.questions import Answer

#: How accurate a review's answers are; an answer that is less sure than 1.5 times that is none.
_ACCURACY, _UNSURE = 0.04, 1.5
#: How accurate an answer must be to confirm an old one.
_QUICK = 0.08
#: Old answers and new questions before a commitment, and during it.
_BEFORE, _DURING = (1, 6), (2, 1)
#: How likely it is that an old answer is another one now.
_DOUBT = 0.01
#: Old answers to ask again when one was denied; and denials that say that the agent has changed.
_AFTER_DENIAL, _CHANGED = 2, 2
#: Old answers, other than the response to the commitment, that were given again: then the agent
#: notices. And how much less an old answer tells that is that response.
_NOTICED, _TELLS_LESS = 2, 0.2
#: Strategies asked again whose neighbours rather are not so soon.
_RECENT = 12
#: The weight of one of these where there is nothing else to ask.
_AGAIN = 0.01
#: Reviews in a horizon, at most; and how many times its cost the rounds between reviews are.
_REVIEWS, _SPARED = 16, 20
#: What a round of a question costs, in shares of the width of the payoffs: before a commitment, and
#: during it, when the agent must find back.
_COST, _COST_DURING = 1.0, 2.0
#: New questions after a surprise: an answer that is worth more than the commitment by this share.
_AFTER_SURPRISE, _SURPRISE = 2, 0.005


class Review:
    """Asks again what matters, and what else might be worth more.

    Parameters
    ----------
    search : PayoffSearch
        What is known.
    rate : GuessedRate
        How long answers take.
    horizon : int
        How many rounds will be played.
    width : float
        The width of the principal's payoffs.
    deny : callable
        Is told of every answer that was denied.
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
        self._slow: FloatArray | None = None
        self.prepare(0)

    def prepare(self, played: int) -> None:
        """Open a review before a commitment."""
        self._last = played
        self._old, self._new = _BEFORE
        self._price = _COST
        self._denied, self.surprised = 0, False
        self.trial: Commitment | None = None
        self._asked = self._found = self._noticed = self._unnoticed = 0
        self._recent = np.zeros((0, self._search.space.dimension))

    @property
    def _rounds(self) -> float:
        """What a question takes, with the time that the agent needs to find back."""
        return self._rate.shortest(_ACCURACY) + 0.75 * self._rate.first_look

    def until(self, played: int) -> int:
        """Return in how many rounds the next review is due; never, near the horizon's end."""
        spared = int(max(self._horizon / _REVIEWS, _SPARED * self._rounds))
        return self._last + spared - played if self._horizon - played > spared else self._horizon

    def begin(self, played: int) -> None:
        """Open a review during a commitment."""
        self._last = played
        self._old, self._new = _DURING
        self._price = _COST_DURING
        if self._unnoticed:
            self._noticed = self._unnoticed = 0
        self._denied, self.surprised = 0, False
        self.trial = None

    def question(self, kept: Commitment, blur: float, left: int) -> Question | None:
        """Return the next question, or None at the end of the review."""
        if self._slow is not None:
            slow, self._slow = self._slow, None
            return Question(slow, _ACCURACY, "recheck")
        while self._old > 0:
            self._old -= 1
            strategy = self._again(kept, left)
            if strategy is not None:
                self._recent = np.vstack([self._recent, strategy])[-_RECENT:]
                return Question(strategy, _QUICK, "recheck")
        if self._new > 0:
            self._new -= 1
            found = self._search.promising(kept, blur)
            if found is None:
                return None
            # What the cloud promised before, and how often that was found, says what to expect.
            gain = found[1] * (1 + self._found) / (1 + self._asked)
            if gain * left > self._price * self._width * self._rounds:
                known = (self._search.cloud.asked == found[0]).all(axis=1).any()
                if not known:
                    self._asked += 1
                    return Question(found[0], _ACCURACY, "explore")
        return None

    def weigh(self, question: Question, answer: Answer, kept: Commitment) -> None:
        """Ask on if an answer is worth more than what is kept."""
        utility = float(self._search.view.utilities(question.strategy)[answer.response])
        if utility > kept.value + _SURPRISE * self._width:
            self._found += question.phase == "explore"
            if not self.surprised:
                self.surprised = True
                self._new += _AFTER_SURPRISE

    def tell(self, question: Question, answer: Answer, kept: Commitment | None) -> bool:
        """Take the answer to an old question; True if it says that the agent has changed.

        An answer that is the response to the commitment denies nothing by itself: a lazy agent may
        not have noticed yet. If it is worth more than the commitment, it is put on trial; and it
        counts against an agent that has always noticed.
        """
        cloud = self._search.cloud
        same = np.flatnonzero((cloud.asked == question.strategy).all(axis=1))
        if (cloud.labels[same] == answer.response).any():
            self._noticed += kept is not None and answer.response != kept.response
            return False
        if question.accuracy > _ACCURACY:  # a quick look confirms, but does not deny
            self._slow = question.strategy
            return False
        if answer.accuracy > _UNSURE * question.accuracy:
            return False
        if kept is not None and answer.response == kept.response:
            value = float(self._search.view.utilities(question.strategy)[answer.response])
            if value > kept.value + _SURPRISE * self._width:
                self.trial = Commitment(question.strategy, answer.response, value, np.nan)
            self._unnoticed += 1
            if self._noticed < _NOTICED:
                return False
            self._old = max(self._old, _AFTER_DENIAL)
            return self._unnoticed >= _CHANGED
        self._deny("recheck", np.nan)
        self._denied += 1
        if kept is not None and self._denied >= _CHANGED:
            return True
        self._old = max(self._old, _AFTER_DENIAL)
        cloud.drop(same)
        self._search.finished = False
        if not cloud.add(question.strategy, answer.response, self._rate.slack * answer.accuracy):
            if kept is not None:
                return True  # no agent of before answers so
            self._deny("answers", np.nan)
            self._search.reconcile()
        return False

    def _again(self, kept: Commitment, left: int) -> FloatArray | None:
        """Return the old question at which another answer would be worth most for its cost.

        During a commitment, every second one lies far from the others, whatever it is worth: an
        agent that has changed may have changed there.
        """
        cloud, view = self._search.cloud, self._search.view
        if not len(cloud.labels):
            return None
        own = np.arange(len(cloud.labels)), cloud.labels
        utilities = view.utilities(cloud.asked)
        gain = np.maximum(utilities - kept.value, 0.0)
        gain[own] = 0.0
        cost = np.maximum(kept.value - utilities[own], 0.0) + 0.1 * self._width
        worth = np.maximum(_DOUBT * left * gain.sum(axis=1) - self._rounds * cost, 0.0)
        if self._price == _COST_DURING and (self._unnoticed or self._old % 2 == 0):
            worth = 1.0 / cost
            worth[cloud.labels == kept.response] *= 0.0 if self._unnoticed else _TELLS_LESS
        worth[~self._search.settled(_ACCURACY)] = 0.0
        # What is held or was asked lately says much about its neighbours too.
        worth *= np.linalg.norm(cloud.asked - kept.strategy, axis=1)
        recent = np.linalg.norm(cloud.asked[:, None] - self._recent, axis=2)
        worth[(recent[:, -1:] == 0.0).any(axis=1)] = 0.0  # not the same twice
        worth *= _AGAIN + recent.min(axis=1, initial=1.0)
        best = int(np.argmax(worth))
        return cloud.asked[best].copy() if worth[best] > 0.0 else None

    def state(self) -> State:
        """Return what is left to ask."""
        return {
            "numbers": [self._last, self._old, self._new, self._denied, self._price],
            "surprised": self.surprised,
            "trial": plain_commitment(self.trial),
            "counts": [self._asked, self._found, self._noticed, self._unnoticed],
            "slow": None if self._slow is None else self._slow.copy(),
            "recent": self._recent.copy(),
        }

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""
        self._last, self._old, self._new, self._denied, self._price = state["numbers"]
        self.surprised = state["surprised"]
        self.trial = restored_commitment(state["trial"])
        self._asked, self._found, self._noticed, self._unnoticed = state["counts"]
        self._slow = None if state["slow"] is None else state["slow"].copy()
        self._recent = state["recent"].copy()
