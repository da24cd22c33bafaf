"""Steps from a commitment: what fails is taken back, and a restored climb goes on as it would."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from stackcast.agents import Calibrated
from stackcast.games.generators import competing
from stackcast.principals import VersionSpace
from stackcast.principals.climbing import LAST, Climb
from stackcast.principals.payoff_search import Commitment

if TYPE_CHECKING:
    from stackcast.games import FiniteGame

BASE = Commitment(np.array([0.4, 0.6]), 1, 0.5, 0.0)


def stepping(*, jump: bool = False) -> Climb:
    climb = Climb()
    climb.leave(BASE, jump=jump)
    return climb


@pytest.mark.parametrize("shares", [[0.5], [0.1, 0.14], [0.02, 0.04], [0.0, 0.05]])
def test_a_share_of_others_that_is_large_or_rises_fails(shares: list[float]) -> None:
    climb = stepping()
    verdicts = [climb.judge(share) for share in shares]
    assert verdicts == [None] * (len(shares) - 1) + [False]


@pytest.mark.parametrize("shares", [[0.1, 0.05, 0.02], [0.02, 0.02, 0.02], [0.003, 0.004]])
def test_a_share_of_others_that_stays_low_or_falls_holds(shares: list[float]) -> None:
    climb = stepping()
    verdicts = [climb.judge(share) for share in shares]
    assert verdicts == [None] * (len(shares) - 1) + [True]
    assert climb.base is None


def test_steps_that_fail_shrink_until_none_is_taken() -> None:
    climb = Climb()
    failed = 0
    while climb.step >= LAST:
        climb.leave(BASE, jump=False)
        assert climb.judge(0.9) is False
        failed += 1
        assert failed <= 5  # what steps that fail may cost is bounded
    jumps = Climb()
    while jumps.jumps > 0:
        jumps.leave(BASE, jump=True)
        assert jumps.judge(0.9) is False
    assert jumps.step == Climb().step


def test_steps_that_hold_grow_only_until_one_has_failed() -> None:
    climb = stepping()
    first = climb.step
    climb.judge(0.0)
    assert climb.judge(0.0)
    assert climb.step == 2 * first
    climb.leave(BASE, jump=False)
    assert climb.judge(0.5) is False
    climb.leave(BASE, jump=False)
    climb.judge(0.0)
    assert climb.judge(0.0)
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
