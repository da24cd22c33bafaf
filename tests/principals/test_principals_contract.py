"""Every exported principal keeps the contract, on square, wide and tiny games."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from stackcast.calibration import PowerRate
from stackcast.checks import check_principal
from stackcast.games.generators import competing, uniform
from stackcast.principals import (
    ExploreThenCommit,
    Fixed,
    GridBandit,
    Oracle,
    PhaseSwitch,
    Precision,
    Replay,
    TheoryParameters,
    UniformExplore,
    VersionSpace,
    find,
    names,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from stackcast.games import FiniteGame
    from stackcast.protocol import Principal


def paper(game: FiniteGame, schedule: str) -> ExploreThenCommit:
    m, k = game.shape
    theory = replace(
        TheoryParameters.compute(m, k, 0.2, 10_000, PowerRate(0.5, 0.01)),
        samples=3,
        epochs=3,
        initial=Precision(0.05, 0.02),
        optimising=Precision(0.05, 0.02),
        checking=Precision(0.05, 0.02),
    )
    return ExploreThenCommit(game.principal_view, theory, schedule=schedule)


MAKERS: dict[str, Callable[[FiniteGame], Principal]] = {
    "ExploreThenCommit": lambda g: paper(g, "fixed"),
    "rescheduled": lambda g: paper(g, "rescheduled"),
    "Fixed": lambda g: Fixed(g.principal_view, np.full(g.shape[0], 1 / g.shape[0])),
    "GridBandit": lambda g: GridBandit(g.principal_view, 10_000, resolution=4),
    "Oracle": lambda g: Oracle(g, margin=0.0),
    "PhaseSwitch": lambda g: PhaseSwitch(
        g.principal_view, [np.eye(g.shape[0])[0], np.full(g.shape[0], 1 / g.shape[0])], [500, 5000]
    ),
    "Replay": lambda g: Replay(
        g.principal_view, np.random.default_rng(0).dirichlet(np.ones(g.shape[0]), 2000)
    ),
    "UniformExplore": lambda g: UniformExplore(g.principal_view, 10_000),
    "CommitmentLearner": lambda g: VersionSpace(g.principal_view, 10_000, seed=3),
}


@pytest.mark.parametrize("name", MAKERS)
def test_contract(name: str) -> None:
    game = competing(3, 3, 0)
    check_principal(lambda: MAKERS[name](game))


@pytest.mark.parametrize("shape", [(1, 3), (3, 1), (2, 5), (5, 2)])
def test_odd_shapes(shape: tuple[int, int]) -> None:
    game = uniform(*shape, seed=0)
    for name in ("CommitmentLearner", "UniformExplore", "GridBandit", "ExploreThenCommit"):
        check_principal(lambda name=name: MAKERS[name](game))  # type: ignore[misc]


def test_every_name_is_found_and_checked_here() -> None:
    assert set(names("finite")) <= set(MAKERS)
    assert find("VersionSpace") is find("CommitmentLearner") is VersionSpace
