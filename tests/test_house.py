"""The shape of the house: short walks, and former names that stay importable."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import stackcast as sc

sys.path.append(str(Path(__file__).parent.parent / "tools"))
import bite
import walks

FORMER = {
    "principals.VersionSpace": "CommitmentLearner",
    "principals.CoverageLearner": "CommitmentLearner",
    "agents.AdaptiveHedge": "AdaNormalHedge",
    "agents.Lazy": "LazyCalibrated",
    "games.catalogue": "list_games",
    "games.StrategySpace": "Polytope",
}


@pytest.mark.parametrize("former", FORMER)
def test_a_former_name_is_the_same_object(former: str) -> None:
    room, name = former.split(".")
    assert getattr(getattr(sc, room), name) is getattr(getattr(sc, room), FORMER[former])


@pytest.mark.parametrize("former", ["AdaptiveHedge"])
def test_a_former_name_is_found_and_not_listed(former: str) -> None:
    assert sc.agents.find(former) is getattr(sc.agents, former)
    assert former not in sc.agents.names()


@pytest.mark.parametrize("entry", bite.BREAKS, ids=lambda entry: entry.what)
def test_every_break_still_fits_its_formula_and_its_test(entry: bite.Break) -> None:
    """`make bite` breaks these formulas; here only that they are where it looks for them."""
    root = Path(__file__).parent.parent
    source = (root / "src" / "stackcast" / entry.file).read_text(encoding="utf-8")
    for right, wrong in ((entry.right, entry.wrong), *entry.also):
        assert right in source
        assert right != wrong
    file, name = entry.test.split("::", 1)
    tests = (root / "tests" / file).read_text(encoding="utf-8")
    assert f"def {name.split('[')[0]}(" in tests


def test_one_round_of_play_is_a_short_walk() -> None:
    walk = walks.one_round()
    assert len({file for file, _ in walk.calls}) <= 11, str(walk)
    assert len(walk.calls) <= 50, str(walk)


def test_play_and_audit_solve_the_game_and_check_the_record_once() -> None:
    walk = walks.play_and_audit()
    assert walk.named("solve") == 1
    assert walk.named("checked_record") == 1
    # Each of the three blocks once in play; the record, all blocks together, once in the audit.
    assert walk.named("fits", "Polytope.check") <= 1 + 1
    assert walk.named("Polytope.check_all") <= 2
