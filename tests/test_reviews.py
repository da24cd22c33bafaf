"""Reviews: an old answer that is given again, denied, or not noticed by the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from stackcast.games import FiniteGame
from stackcast.principals.commitments import Commitment
from stackcast.principals.guessed_rate import GuessedRate
from stackcast.principals.payoff_search import PayoffSearch
from stackcast.principals.questions import Answer, Question
from stackcast.principals.reviews import Review

if TYPE_CHECKING:
    from stackcast._validation import FloatArray

GAME = FiniteGame([[0.5, 0.0, 0.0], [1.0, 0.0, 0.2], [0.3, 0.4, 0.0]], np.eye(3))
ONE, TWO = np.array([0.05, 0.9, 0.05]), np.array([0.0, 0.1, 0.9])
KEPT = Commitment(np.array([0.6, 0.2, 0.2]), 0, 0.56, float("nan"))


@pytest.fixture
def review() -> Review:
    search = PayoffSearch(GAME.principal_view, margin=0.02, accuracy=0.04, tolerance=0.01, seed=0)
    search.cloud.add(ONE, 1, 0.05)
    search.cloud.add(TWO, 2, 0.05)
    review = Review(search, GuessedRate(3, 3, 10_000), 10_000, 1.0, lambda kind, share: None)
    review.begin(0)
    return review


def tell(review: Review, strategy: FloatArray, response: int, accuracy: float = 0.04) -> bool:
    question = Question(strategy, accuracy, "recheck")
    return review.tell(question, Answer(response, accuracy), KEPT)


def test_a_quick_look_confirms_but_does_not_deny(review: Review) -> None:
    assert not tell(review, ONE, 2, accuracy=0.08)
    slow = review.question(KEPT, 0.01, 5000)
    assert slow is not None
    np.testing.assert_array_equal(slow.strategy, ONE)
    assert slow.accuracy < 0.08


def test_an_agent_that_always_noticed_and_does_not_any_more_has_changed(review: Review) -> None:
    assert not tell(review, ONE, 1)
    assert not tell(review, TWO, 2)
    assert not tell(review, ONE, KEPT.response)
    assert tell(review, TWO, KEPT.response)


def test_an_agent_that_never_notices_in_time_has_not_changed(review: Review) -> None:
    for strategy in (ONE, TWO, ONE, TWO):
        assert not tell(review, strategy, KEPT.response)


def test_an_answer_that_is_worth_more_is_put_on_trial(review: Review) -> None:
    tell(review, ONE, KEPT.response)  # 0.94
    assert review.trial is not None
    np.testing.assert_array_equal(review.trial.strategy, ONE)


def test_an_answer_that_is_worth_less_is_not(review: Review) -> None:
    tell(review, TWO, KEPT.response)  # 0.37
    assert review.trial is None


@pytest.mark.parametrize("kept", [False, True])
def test_promises_that_are_not_kept_are_believed_less(review: Review, *, kept: bool) -> None:
    asked = 0
    for played in range(0, 8000, 500):
        review.begin(played)
        while asked < 16 and (question := review.question(KEPT, 0.01, 20_000)) is not None:
            if question.phase == "explore":
                asked += 1
                utilities = GAME.principal_utilities(question.strategy)
                response = int(np.argmax(utilities) if kept else np.argmin(utilities))
                review.weigh(question, Answer(response, 0.04), KEPT)
    assert (asked == 16) if kept else (1 <= asked < 10)
