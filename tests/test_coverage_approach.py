"""How the coverage of an attacked target comes close to what its attacker bears."""

from __future__ import annotations

import numpy as np
import pytest

from stackcast.principals.coverage_approach import CoverageApproach

BLOCKS = 200
BALANCED = 0.3
WORTH = 0.4


@pytest.mark.parametrize("limit", [0.26, 0.28, 0.3, 0.31, 0.33])
def test_it_stops_below_what_an_exact_attacker_bears(limit: float) -> None:
    approach = CoverageApproach()
    approach.start(BALANCED, WORTH)
    held = np.empty(BLOCKS)
    for block in range(BLOCKS):
        held[block] = approach.coverage
        approach.move(float(held[block] > limit), 1 / BLOCKS)
    assert held[0] <= BALANCED - 0.05
    assert (held > limit).mean() < 0.08
    late = held[BLOCKS // 2 :]
    assert np.ptp(late) == 0
    assert limit - 0.03 < late[0] <= limit


def test_it_holds_where_the_balance_was_far_overestimated() -> None:
    approach = CoverageApproach()
    approach.start(BALANCED, WORTH)
    held = np.empty(BLOCKS)
    for block in range(BLOCKS):
        held[block] = approach.coverage
        approach.move(float(held[block] > BALANCED - 0.1), 1 / BLOCKS)
    late = held[BLOCKS // 2 :]
    assert np.ptp(late) == 0
    assert BALANCED - 0.13 < late[0] <= BALANCED - 0.1


def test_strayed_attacks_of_the_beginning_are_forgotten() -> None:
    approach = CoverageApproach()
    approach.start(BALANCED, WORTH)
    for block in range(BLOCKS):
        approach.move(0.3 if block < BLOCKS // 10 else 0.05, 1 / BLOCKS)
    assert approach.coverage > BALANCED - 0.01


def test_it_holds_still_where_the_attacker_began_to_leave() -> None:
    approach = CoverageApproach()
    approach.start(BALANCED, WORTH)
    for _ in range(BLOCKS // 2):
        approach.move(0.05, 1 / BLOCKS)
    before = approach.coverage
    held = approach.move(0.3, 1 / BLOCKS)
    assert before - 0.05 < held < before - 0.005
    again = CoverageApproach()
    again.restore(approach.state())
    for _ in range(BLOCKS // 2):
        assert approach.move(0.2, 1 / BLOCKS) == again.move(0.2, 1 / BLOCKS) == held


def test_it_waits_to_see_whether_the_attacker_comes_back() -> None:
    approach = CoverageApproach()
    approach.start(BALANCED, WORTH)
    first = approach.move(0.4, 1 / BLOCKS)
    assert first < BALANCED - 0.08
    assert approach.move(0.4, 1 / BLOCKS) == first
    assert approach.move(0.4, 1 / BLOCKS) < first


def test_coverage_stays_a_probability() -> None:
    for balanced, wrong in ((0.04, 1.0), (0.99, 0.0), (0.0, 0.5)):
        approach = CoverageApproach()
        approach.start(balanced, WORTH)
        for _ in range(BLOCKS):
            assert 0.0 <= approach.move(wrong, 1 / BLOCKS) <= 1.0


def test_it_is_patient_where_depth_is_dear() -> None:
    """Attacks that stray once, early: it stays there only where coverage is worth little."""
    held = {}
    for worth in (0.1, 0.6):
        approach = CoverageApproach()
        approach.start(BALANCED, worth)
        for block in range(BLOCKS):
            approach.move(0.3 if block == BLOCKS // 12 else 0.05, 1 / BLOCKS)
            if block == BLOCKS // 12:
                held[worth] = approach.coverage
        came_closer = approach.coverage > held[worth]
        assert came_closer == (worth > 0.5)
    assert held[0.1] == held[0.6]  # the way up to then is the same
