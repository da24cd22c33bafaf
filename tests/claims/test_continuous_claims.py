"""The claims on continuous games: they hold on games of the line, and they bite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import stackcast as sc
from stackcast.claims import check_claim, continuous
from stackcast.protocol import Block, Responses

if TYPE_CHECKING:
    from collections.abc import Iterator

SHARED = ["upper-bound", "key-lemma", "feedback", "utility"]


@pytest.fixture
def on_the_line(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave the games of one dimension, which are quick, and forget all plays."""
    games = {name: g for name, g in continuous._games().items() if g.space.dimension == 1}
    monkeypatch.setattr(continuous, "_games", lambda: games)
    continuous._plays.cache_clear()
    yield
    continuous._plays.cache_clear()


@pytest.mark.usefixtures("on_the_line")
@pytest.mark.parametrize("name", [*SHARED, "lower-bound"])
def test_a_claim_holds(name: str) -> None:
    found = check_claim(f"continuous-{name}")
    assert found.verdict == ("vacuous" if name == "lower-bound" else "holds"), found


def test_far_forecasts_become_rare() -> None:
    assert check_claim("continuous-repeated-play").verdict == "holds"


def test_every_family_and_every_kind_of_domain_is_there() -> None:
    games = continuous._games().values()
    families = {game.family.name for game in games if game.family is not None}
    assert families == {"quadratic", "strategic-score", "strategic-classification"}
    assert {game.space.kind for game in games} == {"ball", "box", "polytope"}
    assert not any(game.constants.estimated for game in games)


def test_the_upper_bound_as_printed_fails() -> None:
    """Without the factor √m a fool in the plane gives away more than the bound allows."""
    assert continuous._reached(1.0) > 1.0 >= continuous._reached()


class Obliging(sc.agents.ContinuousCalibrated):
    """Has honest forecasts, and answers as suits the principal."""

    def respond(self, block: Block) -> Responses:
        made = super().respond(block)
        return Responses(made.responses - 5.0, made.forecast_ids, made.new_forecasts)


@pytest.mark.usefixtures("on_the_line")
def test_answers_that_are_no_best_responses_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    score = continuous._games()["score, m = 1"]
    monkeypatch.setattr(continuous, "_games", lambda: {"score, m = 1": score})
    monkeypatch.setattr(continuous, "_calibrated", lambda game: Obliging(game.agent_view))
    for name in ("upper-bound", "feedback", "utility"):
        assert check_claim(f"continuous-{name}").verdict != "holds", name


class Averaging(sc.agents.ContinuousCalibrated):
    """Forecasts the mean of all strategies so far: calibrated to nothing, and slow to move."""

    _count, _mean = 0, np.zeros(1)

    def respond(self, block: Block) -> Responses:
        steps = np.arange(1, block.rounds + 1)[:, None]
        total = self._count + steps
        means = (self._count * self._mean + steps * block.strategy) / total
        self._count, self._mean = int(total[-1, 0]), means[-1]
        answers: Any = self.view.best_responses(means)
        return Responses(answers, np.arange(block.rounds) + self._count - block.rounds, means)


def test_forecasts_that_move_slowly_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(continuous, "ContinuousCalibrated", Averaging)
    assert check_claim("continuous-repeated-play").verdict == "fails"
