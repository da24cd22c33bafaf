"""Steps from a commitment: what fails is taken back, and a restored climb goes on as it would."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stackcast._random import stream
from stackcast.games import FiniteGame
from stackcast.games.generators import competing
from stackcast.principals import VersionSpace
from stackcast.principals.climbing import LAST, Climb
from stackcast.principals.payoff_search import Commitment
from stackcast.protocol import Block

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


class Reluctant:
    """Answers with a best response, and with another one in a share that grows with the gap."""

    def __init__(self, game: FiniteGame) -> None:
        self._game, self._rng = game, stream(0, "test", "reluctant")

    def __call__(self, block: Block) -> Any:
        utilities = self._game.agent_utilities(block.strategy)
        best = int(np.argmax(utilities))
        other = int(np.argsort(utilities)[-2])
        share = 0.5 * float(np.exp(-60.0 * (utilities[best] - utilities[other])))
        return np.where(self._rng.random(block.rounds) < share, other, best)


def climbing_learner() -> tuple[VersionSpace, Reluctant, FiniteGame]:
    game = competing(3, 3, 3)
    return VersionSpace(game.principal_view, 60_000, seed=1), Reluctant(game), game


def test_a_step_that_fails_is_taken_back() -> None:
    learner, answers, _ = climbing_learner()
    taken_back = 0
    while learner.result.rounds.get("commit", 0) < 40_000:
        block = learner.commit()
        base, denied = learner.result.strategy, len(learner.result.contradictions)
        learner.observe(answers(block))
        new = learner.result.contradictions[denied:]
        if any(c.kind == "step" for c in new):
            taken_back += 1
            assert not np.array_equal(block.strategy, base)  # the step, and where it began
            following = learner.commit()
            if following.phase == "commit":
                np.testing.assert_array_equal(following.strategy, base)
    assert taken_back >= 2


def test_restored_in_the_middle_of_a_step_it_plays_the_same() -> None:
    learner, answers, game = climbing_learner()
    while True:
        block = learner.commit()
        if block.phase == "commit" and not np.array_equal(block.strategy, learner.result.strategy):
            break  # what is played is a step away from what is recommended
        learner.observe(answers(block))
    twin = VersionSpace(game.principal_view, 60_000, seed=1)
    twin.restore(learner.state())
    one, two = Reluctant(game), Reluctant(game)
    for _ in range(12):
        mine, theirs = learner.commit(), twin.commit()
        assert mine == theirs
        learner.observe(one(mine))
        twin.observe(two(theirs))
    assert learner.result.value == twin.result.value
    assert learner.result.contradictions[-1:] == twin.result.contradictions[-1:]
