"""Campaigns played before they start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import stackcast as sc
from stackcast.campaigns import Campaign, HalfKnownGame, rehearse

if TYPE_CHECKING:
    from pathlib import Path

GAME = sc.load_game("inspection")


def test_agents_that_are_known_are_rehearsed_as_they_are(tmp_path: Path) -> None:
    known = HalfKnownGame(
        GAME.principal_payoffs,
        GAME.principal_actions,
        GAME.agent_actions,
        agent_payoffs_low=GAME.agent_payoffs,
        agent_payoffs_high=GAME.agent_payoffs,
    )
    with Campaign.new(tmp_path / "x.db", known, horizon=300) as campaign:
        found = rehearse(campaign, 4, now="0,0,1", workers=1)
        entries = len(campaign.entries())
        again = rehearse(campaign, 4, now="0,0,1", workers=1)
    assert entries == 1  # nothing is written
    assert np.array_equal(found.earned, again.earned)
    assert found.optimum == pytest.approx(np.full(4, sc.solve(GAME).value))
    h = np.array([0.0, 0.0, 1.0])
    response = GAME.agent_view.respond(h)[0]
    assert found.now == pytest.approx(np.full(4, GAME.principal_utilities(h)[response]))
    assert (found.earned <= found.optimum + 0.1).all()
    assert found.earned.mean() > np.mean(found.now)  # it is worth starting
    assert found.paths[:, -1] == pytest.approx(found.earned)


@pytest.mark.slow
def test_processes_do_not_change_the_figures(tmp_path: Path) -> None:
    with Campaign.new(tmp_path / "x.db", GAME, horizon=60) as campaign:
        done: list[int] = []
        one = rehearse(campaign, 12, workers=1)
        two = rehearse(campaign, 12, workers=2, progress=done.append)
    assert np.array_equal(one.earned, two.earned)
    assert done == [10, 12]


def test_what_is_on_record_is_known(tmp_path: Path) -> None:
    mixes = np.random.default_rng(0).dirichlet(np.ones(3), 40)
    responses = GAME.agent_view.respond(mixes)
    with Campaign.new(tmp_path / "x.db", GAME, horizon=90) as campaign:
        unknown = rehearse(campaign, 10, workers=1)
        campaign.import_log((np.repeat(mixes, 30, 0), np.repeat(responses, 30)))
        informed = rehearse(campaign, 10, workers=1)
    value = sc.solve(GAME).value
    # Agents that the record allows have nearly the optimum of the agent that made it.
    assert np.abs(informed.optimum - value).mean() < np.abs(unknown.optimum - value).mean()
    assert informed.now is not None
    assert unknown.now is None
