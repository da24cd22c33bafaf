"""Security games: coverage, level search against linear programs, schedules, files, bad input."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import stackcast as sc
from stackcast.games import Constraint, Polytope, SecurityGame, generators
from stackcast.games.generators import SECURITY_GENERATORS

if TYPE_CHECKING:
    from pathlib import Path

GOOD: dict[str, Any] = {
    "defender_covered": [1, 2, 0],
    "defender_uncovered": [-3, -2, -1],
    "attacker_covered": [-1, -1, -2],
    "attacker_uncovered": [4, 3, 1],
    "resources": 1,
}


def random_game(rng: np.random.Generator, kind: int) -> SecurityGame:
    """Return a game of a family: uniform, full of ties, or of any scale; some with constraints."""
    n = int(rng.integers(1, 7))
    payoffs = [
        rng.random((4, n)),
        rng.integers(0, 4, (4, n)).astype(float),
        10.0 ** rng.uniform(-3, 3) * rng.normal(size=(4, n)) + 10 * rng.normal(),
    ][kind]
    defender, attacker = np.sort(payoffs[:2], axis=0), np.sort(payoffs[2:], axis=0)
    constraints = []
    if rng.random() < 0.3:
        weights = {f"target {t + 1}": float(rng.integers(0, 3)) for t in range(n)}
        weights["target 1"] = 1.0
        constraints.append(Constraint(weights, at_most=float(rng.random())))
    return SecurityGame(
        defender[1],
        defender[0],
        attacker[0],
        attacker[1],
        int(rng.integers(1, n + 1)),
        constraints=constraints,
    )


def spread(game: SecurityGame) -> float:
    return float(game.defender_covered.max() - game.defender_uncovered.min()) or 1.0


def by_programs(game: SecurityGame) -> SecurityGame:
    """Return the game with a constraint that binds nobody, and makes its solver use programs."""
    nothing = Constraint({game.targets[0]: 1.0}, at_most=2.0)
    return SecurityGame(
        game.defender_covered,
        game.defender_uncovered,
        game.attacker_covered,
        game.attacker_uncovered,
        game.resources,
        constraints=[*game.constraints, nothing],
    )


@pytest.mark.parametrize("games", [100, pytest.param(2000, marks=pytest.mark.slow)])
def test_level_search_agrees_with_linear_programs(games: int) -> None:
    rng = np.random.default_rng(games)
    searched = 0
    for i in range(games):
        game = random_game(rng, i % 3)
        margin = (0.0, 0.0, 0.01, 0.1)[i % 4]
        try:
            found = sc.solve(game, margin=margin)
        except sc.InputError:
            with pytest.raises(sc.InputError, match="margin"):
                sc.solve(by_programs(game), margin=margin)
            continue
        program = sc.solve(by_programs(game), margin=margin)
        searched += found.method == "level search"
        assert program.method != "level search"
        assert found.value == pytest.approx(program.value, abs=1e-9 * spread(game))
        assert found.margin >= margin - 1e-9
        assert found.gap <= 3 * found.tolerance
        game.space.check("coverage", found.strategy)
        own = game.principal_view.utilities(found.strategy)[found.response]
        assert own == pytest.approx(found.value, abs=1e-9 * spread(game))
    assert searched > games / 2


def test_the_finite_game_has_the_same_value() -> None:
    rng = np.random.default_rng(2)
    for i in range(30):
        game = random_game(rng, i % 3)
        value = sc.solve(game.to_finite()).value
        assert sc.solve(game).value == pytest.approx(value, abs=1e-8 * spread(game))


def test_margins_are_distances_to_other_regions() -> None:
    rng = np.random.default_rng(3)
    for _ in range(40):
        game = random_game(rng, 0)
        found = sc.solve(game, margin=0.005) if rng.random() < 0.5 else sc.solve(game)
        regions = sc.BestResponseRegions(game)
        assert min(found.margin, 9.0) == pytest.approx(
            min(regions.margin(found.strategy, found.response), 9.0), abs=1e-7
        )
        if math.isfinite(found.margin) and found.margin > 1e-6:
            steps = rng.normal(size=(50, len(game.targets)))
            steps *= 0.999 * found.margin / np.linalg.norm(steps, axis=1)[:, None]
            near = found.strategy + steps
            near = near[[game.space.contains(c) for c in near]]
            if len(near):
                assert (game.respond(near) == found.response).all()


def test_details_agree_with_linear_programs() -> None:
    rng = np.random.default_rng(4)
    for i in range(60):
        game = random_game(rng, i % 3)
        found, expected = sc.solve(game, details=True), sc.solve(by_programs(game), details=True)
        unit = spread(game)
        assert found.maximin == pytest.approx(expected.maximin, abs=1e-7 * unit)
        if found.response == expected.response:
            assert found.regularity == pytest.approx(expected.regularity, abs=1e-6)
        assert found.sensitivity is not None
        assert expected.sensitivity is not None
        assert found.sensitivity.highest == pytest.approx(
            expected.sensitivity.highest, abs=1e-7 * unit
        )
        assert found.sensitivity.guaranteed == pytest.approx(
            expected.sensitivity.guaranteed, abs=1e-7 * unit, nan_ok=True
        )


def test_ten_thousand_targets() -> None:
    game = generators.security(10_000, 500, seed=0)
    found = sc.solve(game)
    c, y = found.strategy, found.response
    utility = c * game.attacker_covered + (1 - c) * game.attacker_uncovered
    assert c.sum() <= 500 + 1e-9
    assert utility.max() - utility[y] <= found.tolerance
    assert sc.solve(game, margin=1e-5).value == pytest.approx(found.value, abs=1e-4)


def test_schedules_have_the_marginals_and_never_too_many_resources() -> None:
    game = generators.security(12, 5, seed=3)
    rng = np.random.default_rng(5)
    for coverage in (sc.solve(game).strategy, np.clip(rng.random(12) * 0.6, 0, 1)):
        coverage = coverage * min(1.0, 5 / coverage.sum())
        days = game.draw_schedules(coverage, days=10_000, seed=1)
        assert days.shape == (10_000, 12)
        assert days.sum(axis=1).max() <= 5
        deviation = np.sqrt(coverage * (1 - coverage) / 10_000) + 1e-12
        assert (np.abs(days.mean(axis=0) - coverage) <= 4.5 * deviation).all()
    again = game.draw_schedules(coverage, days=10_000, seed=1)
    assert (days == again).all()


@pytest.mark.parametrize("family", SECURITY_GENERATORS)
def test_seeds_make_games(family: str) -> None:
    arguments = (6, 2, 9) if family == "security" else (6, 9)
    game = SECURITY_GENERATORS[family](*arguments)
    call = game.source.removeprefix("stackcast.games.generators.")
    assert eval(call, dict(SECURITY_GENERATORS)) == game
    assert game != SECURITY_GENERATORS[family](*arguments[:-1], 10)


def test_near_equal_values_are_as_stated() -> None:
    game = generators.near_equal_security(1000, seed=0)
    assert game.attacker_uncovered.min() >= 0.9995
    assert game.attacker_uncovered.max() < 1
    assert not game.attacker_covered.any()
    assert (game.defender_uncovered == -game.attacker_uncovered).all()


@pytest.mark.parametrize("suffix", [".json", ".toml"])
def test_files_round_trip(suffix: str, tmp_path: Path) -> None:
    game = SecurityGame(
        **GOOD,
        targets=["a", "b", "ü"],
        name="x",
        description="y",
        source="z",
        known_value=-0.1,
        constraints=[Constraint({"a": 1, "ü": 2}, at_most=0.7, name="shift")],
    )
    sc.save_game(game, tmp_path / f"g{suffix}")
    again = sc.load_game(tmp_path / f"g{suffix}", SecurityGame)
    assert again == game
    assert again.fingerprint == game.fingerprint
    assert again.constraints == game.constraints
    assert repr(again) == "SecurityGame('x', 3 targets, 1 resource: a, b, ü)"


def test_views_hide_the_other_side() -> None:
    game = SecurityGame(**GOOD)
    defender, attacker = game.principal_view, game.agent_view
    assert defender.fingerprint == attacker.fingerprint == game.fingerprint
    held = [vars(defender)[name] for name in vars(defender)]
    assert not any(value is game.attacker_covered for value in held)
    assert (attacker.utilities([0.5, 0.5, 0]) == [1.5, 1.0, 1.0]).all()
    assert game.fingerprint != SecurityGame(**{**GOOD, "resources": 2}).fingerprint


def test_normalised_keeps_the_game() -> None:
    game = generators.security(7, 2, seed=4)
    unit = game.normalised()
    payoffs = np.concatenate([unit.defender_covered, unit.defender_uncovered])
    assert (payoffs.min(), payoffs.max()) == (0.0, 1.0)
    assert np.allclose(sc.solve(unit).strategy, sc.solve(game).strategy, atol=1e-9)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"resources": 4}, "resources: expected no more resources than targets, found 4 for 3"),
        ({"resources": 0}, "resources: expected a whole number of at least 1, found 0"),
        (
            {"defender_covered": [1, -5, 0]},
            "defender_covered, target 'target 2': expected at least the uncovered payoff, -2, "
            "found -5",
        ),
        (
            {"attacker_covered": [-1, 9, -2]},
            "attacker_uncovered, target 'target 2': expected at least the covered payoff, 9, "
            "found 3",
        ),
        ({"attacker_covered": [1, 2]}, "attacker_covered: expected 3 numbers, found 2"),
        (
            {"defender_uncovered": [math.nan, 0, 0]},
            "defender_uncovered, entry 1: expected a finite",
        ),
        ({"targets": ["a", "a", "b"]}, "targets: expected distinct names, found 'a' twice"),
        (
            {"constraints": [Constraint({"z": 1}, at_most=1)]},
            "expected names of targets, found 'z'",
        ),
        (
            {"constraints": [Constraint({"target 1": 1}, at_least=2)]},
            "constraints: expected at least one strategy that satisfies them all, found none",
        ),
    ],
)
def test_bad_games_get_one_sentence(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(sc.InputError) as caught:
        SecurityGame(**{**GOOD, **change})
    assert sentence in str(caught.value)
    assert str(caught.value).count("\n") == 0


@pytest.mark.parametrize(
    ("coverage", "sentence"),
    [
        ([-0.1, 0.5, 0.5], "coverage from 0 to 1 of every target, found -0.1"),
        ([1.1, 0, 0], "coverage from 0 to 1 of every target, found 1.1"),
        ([0.5, 0.5, 0.5], "coverage that sums to at most 1, the number of resources, found a sum"),
        ([0.5, 0.5], "3 numbers, found 2"),
    ],
)
def test_bad_coverage_gets_one_sentence(coverage: list[float], sentence: str) -> None:
    with pytest.raises(sc.InputError) as caught:
        SecurityGame(**GOOD).agent_utilities(coverage)
    assert sentence in str(caught.value)


def test_bad_files_get_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "g.toml"
    path.write_text("defender_covered = [1]\nresources = 1\n")
    with pytest.raises(sc.InputError, match="defender_uncovered: expected one number a target"):
        sc.load_game(path)
    path.write_text("defender_coverd = [1]\nresources = 1\n")
    with pytest.raises(sc.InputError, match="keys: expected 'defender_covered', found 'defender_c"):
        sc.load_game(path)
    with pytest.raises(sc.InputError, match="a game of at most 20,000 schedules"):
        generators.security(40, 10, seed=0).to_finite()


def test_coverage_space() -> None:
    space = Polytope.coverage(4, 2)
    assert space.pure.kind == "coverage"
    cut = Polytope.coverage(["a", "b"], 1, [Constraint({"a": 1}, at_most=0.25)])
    assert cut.kind == "polytope"
    assert cut.pure.contains([1, 0])
    rng = np.random.default_rng(0)
    for _ in range(30):
        direction = rng.normal(size=4)
        point = space.argmax(direction)
        assert space.contains(point)
        best = np.sort(np.maximum(direction, 0))[-2:].sum()
        assert direction @ point == pytest.approx(best)
