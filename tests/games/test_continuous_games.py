"""Continuous games: closed forms, constants, V* with its certificate, files, real data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tomli_w

import stackcast as sc
from stackcast import InputError
from stackcast.cli import app
from stackcast.games import (
    Ball,
    ContinuousGame,
    Domain,
    LabelledData,
    Polytope,
    check_assumption,
    credit_data,
    game_from_table,
    game_to_table,
    list_games,
    quadratic_game,
    strategic_classification,
    strategic_score,
)
from stackcast.games.continuous import central_differences

if TYPE_CHECKING:
    from pathlib import Path


def domains(m: int) -> list[Domain]:
    cut = Polytope(np.vstack([-np.eye(m), np.ones((1, m))]), [0.6] * m + [0.5])
    return [Ball(m), Polytope.box([-1.0] * m, [0.5] * m), cut]


def random_quadratic(domain: Domain, seed: int) -> ContinuousGame:
    rng, m = np.random.default_rng(seed), domain.dimension
    reaction, interaction = rng.normal(size=(2, m)), rng.normal(size=(m, 2))
    bend = interaction @ reaction
    interaction *= 0.9 / max(1.0, float(np.linalg.eigvalsh(bend + bend.T).max()))
    return quadratic_game(
        domain,
        target=rng.normal(size=m),
        response_weight=rng.normal(size=2),
        interaction=interaction,
        offset=rng.normal(size=2),
        reaction=reaction,
        base=0.3,
    )


def random_score(domain: Domain, seed: int) -> ContinuousGame:
    rng, m = np.random.default_rng(seed), domain.dimension
    return strategic_score(
        domain, features=rng.normal(size=m), reference=rng.normal(size=m), cost=2.0
    )


def random_classification(domain: Domain, seed: int) -> ContinuousGame:
    rng, m = np.random.default_rng(seed), domain.dimension
    labels = np.arange(60) % 3 > 0
    rows = rng.normal(size=(60, m)) + 0.8 * labels[:, None]
    data = LabelledData.of(rows, labels)
    return strategic_classification(domain, data, changeable=data.features[:1], cost=0.7)


FAMILIES = (random_quadratic, random_score, random_classification)
GAMES = [
    family(domain, seed)
    for m in (1, 2, 3)
    for seed, domain in enumerate(domains(m))
    for family in FAMILIES
]


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_families_satisfy_the_assumption_and_their_gradients_are_right(
    game: ContinuousGame,
) -> None:
    report = check_assumption(game, 60)
    assert report.holds, report.failed
    assert not any(line.estimated for line in report.lines)
    rng = np.random.default_rng(5)
    for x in 0.9 * game.space.sample(4, rng):
        slope = central_differences(game.commitment_value, x)
        np.testing.assert_allclose(game.commitment_gradient(x), slope, atol=1e-7)
        answer = game.best_responses(x)[0]
        for y in answer + 0.3 * rng.normal(size=(10, game.response_dimension)):
            assert game.agent_utility(x, y) <= game.agent_utility(x, answer)


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_the_value_is_certified_and_no_point_earns_more(game: ContinuousGame) -> None:
    solution = sc.solve(game)
    assert solution.status == "optimal"
    assert solution.bound - solution.value <= 1e-9 * game.constants.utility_bound
    for x in game.space.sample(300, np.random.default_rng(6)):
        assert game.commitment_value(x) <= solution.bound
    assert solution.value == pytest.approx(game.commitment_value(solution.strategy))


def test_closed_form_optima() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        z, step = rng.normal(size=3), 0.3 * rng.normal(size=3)
        game = strategic_score(Ball(3), features=z, reference=z + step, cost=2.0)
        solution = sc.solve(game)
        np.testing.assert_allclose(solution.strategy, step / 2.0, atol=1e-8)
        assert solution.value == pytest.approx(step @ step / 4.0, abs=1e-10)
        bent = random_quadratic(Ball(3, 50.0), seed)
        assert bent.family is not None
        p = {key: np.array(value) for key, value in bent.family.parameters.items()}
        E, G = p["interaction"], p["reaction"]
        aim = p["target"] + G.T @ p["response_weight"] + E @ p["offset"]
        best = np.linalg.solve(np.eye(3) - E @ G - G.T @ E.T, aim)
        np.testing.assert_allclose(sc.solve(bent).strategy, best, atol=1e-5)


def test_a_game_of_functions_agrees_with_its_family() -> None:
    family = random_score(Ball(2), 3)
    assert family.family is not None
    z, aim = (np.array(family.family.parameters[key]) for key in ("features", "reference"))
    game = ContinuousGame(
        Ball(2),
        lambda x, y: x @ (aim - y) - 0.5 * x @ x,
        lambda x, y: x @ y - (y - z) @ (y - z),
        2,
    )
    x = np.array([0.3, -0.5])
    np.testing.assert_allclose(game.best_responses(x), family.best_responses(x), atol=1e-6)
    found = sc.solve(game)
    assert found.status == "approximate"
    assert found.value == pytest.approx(sc.solve(family).value, abs=1e-5)
    assert len(game.constants.estimated) == 5
    assert game.constants.lipschitz_best_response <= family.constants.lipschitz_best_response * (
        1 + 1e-4
    )
    known = ContinuousGame(
        Ball(2),
        lambda x, y: x @ (aim - y) - 0.5 * x @ x,
        lambda x, y: x @ y - (y - z) @ (y - z),
        2,
        best_response=lambda x: z + x / 2,
        constants={"lipschitz_value": 9.0},
    )
    assert "value" not in known.constants.estimated
    assert known == known
    assert known.fingerprint != family.fingerprint


def test_the_checker_finds_what_fails_and_where() -> None:
    game = ContinuousGame(
        Ball(1),
        lambda x, y: float(x[0] ** 2 + y[0]),
        lambda x, y: -float((y[0] - x[0]) ** 2),
        1,
        best_response=lambda x: np.sign(x) * np.sqrt(np.abs(x)),
        constants={
            "lipschitz_strategy": 1.0,
            "lipschitz_response": 1.0,
            "utility_bound": 1.0,
            "lipschitz_best_response": 1.0,
            "lipschitz_value": 1.0,
        },
    )
    failed = {line.claim for line in check_assumption(game).failed}
    assert "U_P is concave in the strategy" in failed
    assert "BR is L_BR-Lipschitz" in failed
    assert "BR maximises the agent's utility" in failed
    assert "C(x) = U_P(x, BR(x)) is concave" in failed
    line = next(x for x in check_assumption(game).failed if x.claim == "BR is L_BR-Lipschitz")
    (x,), (other,) = line.where
    assert abs(np.sqrt(abs(x)) * np.sign(x) - np.sqrt(abs(other)) * np.sign(other)) > abs(x - other)


def test_a_response_that_is_not_found_is_an_error_with_its_point() -> None:
    with pytest.raises(InputError, match=r"converges, found none at the strategy \[0.0\]"):
        ContinuousGame(Ball(1), lambda x, y: 0.0, lambda x, y: float(y[0] * (1 + x[0])), 1)
    with pytest.raises(InputError, match="finite numbers, found nan at the strategy"):
        ContinuousGame(Ball(1), lambda x, y: 0.0, lambda x, y: np.nan, 1)
    inside = ContinuousGame(
        Ball(1),
        lambda x, y: 0.0,
        lambda x, y: float(y[0] * (2 + x[0])),
        1,
        response_limits=Polytope.box([-1.0], [2.0]),
    )
    np.testing.assert_allclose(inside.best_responses([0.3]), [[2.0]])


@pytest.mark.parametrize("name", list_games("continuous"))
def test_the_catalogue(name: str, tmp_path: Path) -> None:
    game: Any = sc.load_game(name)
    assert game.name == name
    assert game.description
    assert game.source
    solution = sc.solve(game)
    assert solution.status == "optimal"
    if game.known_value is not None:
        assert solution.value == pytest.approx(game.known_value, abs=1e-9)
    for ending in ("json", "toml"):
        place = tmp_path / f"game.{ending}"
        sc.save_game(game, place)
        assert sc.load_game(place) == game
    with pytest.raises(InputError, match=r"an \.nfg file holds no other"):
        sc.save_game(game, tmp_path / "game.nfg")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"family": "cubic"}, "family: expected one of 'quadratic'"),
        ({"domain": None}, "domain: expected a table with kind"),
        ({"parameters": None}, "parameters: expected a table"),
        ({"colour": 1}, "keys: expected family, parameters, domain"),
        ({"format": "other"}, "format: expected"),
        (
            {"parameters": {"features": [0, 0]}},
            "parameters, reference: expected a list of numbers, found no such key",
        ),
        ({"parameters": {"features": [0, 0], "reference": [1, 1], "x": 1}}, "found 'x'"),
        ({"parameters": {"features": [0, 0], "reference": [1]}}, "reference: expected 2 numbers"),
        (
            {"parameters": {"features": [0, 0], "reference": [1, 1], "cost": 0}},
            "cost: expected a finite number above 0",
        ),
    ],
)
def test_files_that_are_no_games(change: dict[str, Any], sentence: str) -> None:
    game: Any = sc.load_game("strategic-score")
    with pytest.raises(InputError, match=sentence):
        game_from_table({**game_to_table(game), **change})


DATA = {"rows": [[1.0], [3.0], [2.0]], "labels": [False, True, True], "features": ["income"]}
CLASSIFICATION: dict[str, Any] = {
    "family": "strategic-classification",
    "domain": {"kind": "ball", "dimension": 1, "radius": 1.0},
    "parameters": {"data": DATA, "changeable": ["income"]},
}


@pytest.mark.parametrize("suffix", [".json", ".toml"])
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"domain": {"kind": ["ball"]}}, "domain: expected a table with kind 'ball', 'box'"),
        ({"domain": {"kind": {"a": 1}}}, "domain: expected a table with kind"),
        ({"domain": {"kind": "ball", "radius": 1.0}}, "domain, dimension: expected a whole number"),
        (
            {"domain": {"kind": "ball", "dimension": "1", "radius": 1}},
            "domain: dimension: expected",
        ),
        ({"domain": {"kind": "ball", "dimension": 1, "radius": 0}}, "bounded set with 0 strictly"),
        ({"domain": {"kind": "box", "low": 3, "high": [1]}}, "domain: low: expected a list"),
        ({"domain": {"kind": "box", "low": [1], "high": [2]}}, "domain: expected a bounded set"),
        ({"domain": {"kind": "polytope", "rows": [[1]], "bounds": [1]}}, "domain: expected a bou"),
        ({"domain": {"kind": "polytope", "rows": [[]], "bounds": [1]}}, "domain: rows, row 1: exp"),
        ({"family": ["quadratic"]}, "family: expected one of"),
        ({"parameters": 3}, "parameters: expected a table with the keys data, changeable, cost"),
        ({"name": 3}, "name: expected a text, found 3"),
        ({"known_value": "2"}, "known_value: expected a finite number, found '2'"),
    ],
)
def test_hostile_continuous_files_get_one_sentence(
    change: dict[str, Any], sentence: str, suffix: str, tmp_path: Path
) -> None:
    place = tmp_path / f"game{suffix}"
    write = json.dumps if suffix == ".json" else tomli_w.dumps
    place.write_text(write({**CLASSIFICATION, **change}))
    with pytest.raises(InputError) as refusal:
        sc.load_game(place)
    assert sentence in str(refusal.value)
    assert str(refusal.value).startswith(f"{place}: ")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"changeable": 3}, "changeable: expected some of income, found 3"),
        ({"changeable": [3]}, "changeable: expected some of income, found"),
        ({"changeable": [["income"]]}, "changeable: expected some of income, found"),
        ({"changeable": []}, "changeable: expected some of income, found"),
        ({"cost": "high"}, "cost: expected a finite number above 0, found 'high'"),
        ({"data": [1]}, "parameters, data: expected a table with the keys rows, labels, features"),
        ({"data": {"table": ["credit_data"]}}, "parameters, data, table: expected one of"),
        ({"data": {"table": "credit_data", "features": 3}}, "features: expected some of Seniority"),
        ({"data": {"table": "credit_data", "path": "/etc/passwd"}}, "data, keys: expected table"),
        ({"data": {"rows": 3, "labels": [True]}}, "rows: expected a list of rows of numbers"),
        ({"data": {**DATA, "labels": 3}}, "labels: expected 3 truth values"),
        ({"data": {**DATA, "labels": [[True], [False, True]]}}, "labels: expected 3 truth values"),
        ({"data": {**DATA, "features": 3}}, "features: expected a list of names, found 3"),
        (
            {"data": {**DATA, "rows": [[1.0], [1.0], [1.0]]}},
            "feature income: expected numbers",
        ),
    ],
)
def test_hostile_parameters_get_one_sentence(change: dict[str, Any], sentence: str) -> None:
    parameters = {**CLASSIFICATION["parameters"], **change}
    with pytest.raises(InputError) as refusal:
        game_from_table({**CLASSIFICATION, "parameters": parameters})
    assert sentence in str(refusal.value)


@pytest.mark.parametrize("names", [3, "ab", ["a"], ["a", "a"], [1, 2]])
def test_hostile_feature_names_get_one_sentence(names: Any) -> None:
    table = game_to_table(sc.load_game("strategic-score"))
    table["parameters"] = {**table["parameters"], "feature_names": names}
    with pytest.raises(InputError, match=r"^feature_names"):
        game_from_table(table)


def test_games_of_functions_cannot_be_saved(tmp_path: Path) -> None:
    game = ContinuousGame(Ball(1), lambda x, y: 0.0, lambda x, y: 0.0, 1, best_response=lambda x: x)
    with pytest.raises(InputError, match="one of functions"):
        sc.save_game(game, tmp_path / "game.json")


def test_concavity_is_required() -> None:
    with pytest.raises(InputError, match="no eigenvalue"):
        quadratic_game(
            Ball(1), target=[0], response_weight=[0], interaction=[[1]], offset=[0], reaction=[[1]]
        )


def test_credit_data_is_the_real_table_standardised() -> None:
    data = credit_data()
    assert data.rows.shape == (4454, 9)
    assert int((~data.labels).sum()) == 1254
    good, bad = data.rows[data.labels], data.rows[~data.labels]
    np.testing.assert_allclose(good.mean(axis=0) + bad.mean(axis=0), 0.0, atol=1e-12)
    spread = 0.5 * ((good**2).mean(axis=0) + (bad**2).mean(axis=0))
    np.testing.assert_allclose(spread, 1.0)
    with pytest.raises(InputError, match="some of Seniority"):
        credit_data(["Height"])
    game = strategic_classification(
        Ball(9), data, changeable=["Income", "Debt"], cost=1.0, name="credit"
    )
    moved = game.best_responses(np.arange(9.0) / 20)[0]
    assert moved.tolist() == [4 / 20, 6 / 20]


def test_the_command_line_knows_them(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ["solve", "strategic-score"],
        ["solve", "quadratic-tax", "--json"],
        ["games", "strategic-score"],
        ["games", "credit-scoring", "--json"],
        ["games"],
    ):
        with pytest.raises(SystemExit) as end:
            app(words)
        assert end.value.code == 0
    shown = capsys.readouterr().out
    assert "Commit to tests passed 0.35" in shown
    assert '"value": -0.07757575' in shown
    assert "L_BR 0.5" in shown
    assert "credit-scoring-full" in shown
