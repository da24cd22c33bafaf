"""Steps from a commitment: what fails is taken back, and a restored climb goes on as it would."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from stackcast.agents import Calibrated
from stackcast.games.generators import competing
from stackcast.principals import VersionSpace
from stackcast.principals.climbing import LAST, Climb
from stackcast.principals.commitments import Commitment

if TYPE_CHECKING:
    from stackcast.games import FiniteGame

BASE = Commitment(np.array([0.4, 0.6]), 1, 0.5, 0.0)


#: What the steps here promise, and the standard error of what they earn.
PROMISED, ERROR = 0.01, 0.001


def stepping(*, jump: bool = False) -> Climb:
    climb = Climb()
    climb.leave(BASE, PROMISED, jump=jump)
    return climb


@pytest.mark.parametrize(
    "gains",
    [
        [-0.05],  # far less than the base at once
        [0.0, -0.003],  # less than the base by more than chance
        [0.009, 0.001],  # what is lost rises
        [0.002, 0.002, 0.002, 0.002, 0.002],  # too little for too long
    ],
)
def test_a_step_that_earns_less_or_less_and_less_fails(gains: list[float]) -> None:
    climb = stepping()
    verdicts = [climb.judge(gain, ERROR) for gain in gains]
    assert verdicts == [None] * (len(gains) - 1) + [False]


@pytest.mark.parametrize("gains", [[-0.01, 0.002, 0.005], [0.006, 0.006, 0.006], [0.009, 0.0095]])
def test_a_step_that_earns_more_holds(gains: list[float]) -> None:
    climb = stepping()
    verdicts = [climb.judge(gain, ERROR) for gain in gains]
    assert verdicts == [None] * (len(gains) - 1) + [True]
    assert climb.base is None


def test_other_responses_that_cost_nothing_do_not_fail_a_step() -> None:
    # The error is that of a share of others: what counts is what the rounds earn.
    climb = stepping()
    assert [climb.judge(PROMISED, 0.05) for _ in range(2)] == [None, True]


def test_steps_that_fail_shrink_until_none_is_taken() -> None:
    climb = Climb()
    failed = 0
    while climb.step >= LAST:
        climb.leave(BASE, PROMISED, jump=False)
        assert climb.judge(-0.5, ERROR) is False
        climb.fail()
        assert climb.base is None
        failed += 1
        assert failed <= 5  # what steps that fail may cost is bounded
    jumps = Climb()
    while jumps.jumps > 0:
        jumps.leave(BASE, PROMISED, jump=True)
        assert jumps.judge(-0.5, ERROR) is False
        jumps.fail()
    assert jumps.step == Climb().step


def test_steps_that_hold_grow_only_until_one_has_failed() -> None:
    climb = stepping()
    first = climb.step
    climb.judge(PROMISED, ERROR)
    assert climb.judge(PROMISED, ERROR)
    assert climb.step == 2 * first
    climb.leave(BASE, PROMISED, jump=False)
    assert climb.judge(-0.5, ERROR) is False
    climb.fail()
    climb.leave(BASE, PROMISED, jump=False)
    climb.judge(PROMISED, ERROR)
    assert climb.judge(PROMISED, ERROR)
    assert climb.step == first


def climbing_learner() -> tuple[VersionSpace, Calibrated, FiniteGame]:
    game = competing(3, 3, 0)
    learner = VersionSpace(game.principal_view, 60_000, seed=0)
    return learner, Calibrated(game.agent_view, seed=0), game


def test_a_step_that_fails_is_taken_back() -> None:
    learner, agent, _ = climbing_learner()
    taken_back = 0
    while learner.result.rounds.get("commit", 0) < 40_000:
        block = learner.commit()
        base, denied = learner.result.strategy, len(learner.result.contradictions)
        learner.observe(agent.respond(block).responses)
        if any(c.kind == "step" for c in learner.result.contradictions[denied:]):
            taken_back += 1
            assert not np.array_equal(block.strategy, base)  # the step, and where it began
            np.testing.assert_array_equal(learner.result.strategy, base)
    assert taken_back >= 1


def test_restored_in_the_middle_of_a_step_it_plays_the_same() -> None:
    learner, agent, game = climbing_learner()
    while True:
        block = learner.commit()
        if block.phase == "commit" and not np.array_equal(block.strategy, learner.result.strategy):
            break  # what is played is a step away from what is recommended
        learner.observe(agent.respond(block).responses)
    twin = VersionSpace(game.principal_view, 60_000, seed=0)
    twin.restore(learner.state())
    for _ in range(12):
        mine, theirs = learner.commit(), twin.commit()
        assert mine == theirs
        responses = agent.respond(mine).responses
        learner.observe(responses)
        twin.observe(responses)
    assert learner.result.value == twin.result.value
    assert learner.result.rounds == twin.result.rounds
