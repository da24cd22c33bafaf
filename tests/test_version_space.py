"""The learner over the agent's payoffs: against exact answers, and its contract."""

from __future__ import annotations

import pytest

import stackcast as sc
from stackcast.games import generators
from stackcast.principals import VersionSpace
from stackcast.regions import BestResponseRegions

GAMES = [
    sc.load_game("inspection"),
    *(generators.uniform(3, 3, seed) for seed in (1, 2)),
    *(generators.competing(3, 3, seed) for seed in (1, 2)),
]


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_exact_answers_lead_to_the_stackelberg_value(game: sc.FiniteGame) -> None:
    rounds = 40_000
    principal = VersionSpace(game.principal_view, horizon=rounds, seed=0)
    transcript = sc.play(principal, sc.agents.BestResponse(game.agent_view), rounds, game)
    found = principal.result
    assert found.response is not None
    # All rounds, exploration included; payoffs in [0, 1].
    assert sc.audit(transcript, profile=False).regret <= 0.03
    assert found.value <= sc.solve(game).value + 1e-9
    if found.certified:
        true_margin = BestResponseRegions(game).margin(found.strategy, found.response)
        assert true_margin >= found.margin - 1e-9


def test_it_keeps_the_contract_of_principals() -> None:
    game = GAMES[0]
    sc.checks.check_principal(lambda: VersionSpace(game.principal_view, horizon=3_000, seed=1))


@pytest.mark.parametrize("horizon", [0, -5, 1.5, "long"])
def test_a_bad_horizon_is_one_sentence(horizon: object) -> None:
    with pytest.raises(sc.InputError, match=r"^horizon: expected a whole number"):
        VersionSpace(GAMES[0].principal_view, horizon=horizon)  # type: ignore[arg-type]
