"""Domains: projections are the nearest points, insets keep their distance, grids cover."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from stackcast import InputError
from stackcast.calibration import ConeBinning
from stackcast.games import Ball, Constraint, ContinuousGame, Domain, Polytope, game_from_table

if TYPE_CHECKING:
    import numpy.typing as npt

RNG = np.random.default_rng(0)
DOMAINS: list[Domain] = [
    Ball(1, 0.7),
    Ball(2),
    Ball(5, 2.0),
    Polytope.box([-1.0], [0.5]),
    Polytope.box([-1.0, -0.5, -2.0], [1.0, 2.0, 0.3]),
    Polytope([[-1, 0], [0, -1], [1, 1]], [1, 1, 1]),
    Polytope(np.vstack([RNG.normal(size=(9, 3)), -np.eye(3), np.eye(3)]), [0.8] * 15),
]


def points(domain: Domain, count: int) -> npt.NDArray[np.float64]:
    rng = np.random.default_rng(1)
    rows = domain.sample(count, rng)
    corners = [domain.argmax(v) for v in rng.normal(size=(count, domain.dimension))]
    return np.vstack([rows, corners])


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda d: f"{d.kind}{d.dimension}")
@pytest.mark.parametrize("part", [0.0, 0.4])
def test_a_projection_is_the_nearest_point_and_an_inset_keeps_its_distance(
    domain: Domain, part: float
) -> None:
    inset = part * domain.inner_radius
    rng = np.random.default_rng(2)
    others = np.array([domain.project(x, inset) for x in points(domain, 30)])
    for far in rng.normal(size=(30, domain.dimension)) * 3 * domain.outer_radius:
        near = domain.project(far, inset)
        # The variational inequality: no other point lies on the outer side.
        assert ((others - near) @ (far - near)).max() <= 1e-8
        for direction in rng.normal(size=(5, domain.dimension)):
            moved = near + inset * direction / np.linalg.norm(direction)
            assert domain.contains(moved, 1e-8)
    for inside in others:
        np.testing.assert_allclose(domain.project(inside, inset), inside, atol=1e-9)


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda d: f"{d.kind}{d.dimension}")
def test_radii_diameter_and_support(domain: Domain) -> None:
    found = points(domain, 200)
    for x in found:
        domain.check("x", x)
        assert np.linalg.norm(x) <= domain.outer_radius + 1e-9
        assert np.linalg.norm(found - x, axis=1).max() <= domain.diameter + 1e-9
        direction = np.random.default_rng(3).normal(size=domain.dimension)
        assert direction @ x <= direction @ domain.argmax(direction) + 1e-9
        assert (x >= domain.limits[0] - 1e-9).all()
        assert (x <= domain.limits[1] + 1e-9).all()
    sphere = np.random.default_rng(4).normal(size=(100, domain.dimension))
    sphere *= domain.inner_radius / np.linalg.norm(sphere, axis=1, keepdims=True)
    assert all(domain.contains(x, 1e-9) for x in sphere)
    game = {
        "family": "strategic-score",
        "domain": domain.to_table(),
        "parameters": {"features": [0] * domain.dimension, "reference": [1] * domain.dimension},
    }
    assert game_from_table(game).space.to_table() == domain.to_table()


@pytest.mark.parametrize("domain", [d for d in DOMAINS if d.dimension <= 2], ids=lambda d: d.kind)
@pytest.mark.parametrize("spacing", [0.3, 0.11])
def test_the_grid_covers_and_the_tents_are_the_papers(domain: Domain, spacing: float) -> None:
    binning = ConeBinning(domain, spacing)
    assert all(domain.contains(x, 1e-9) for x in binning.points)
    p = points(domain, 300)
    away = np.linalg.norm(p[:, None] - binning.points[None], axis=2)
    assert away.min(axis=1).max() <= spacing + 1e-9
    tents = np.maximum(0.0, 2 * spacing - away)
    expected = tents / tents.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(binning.weights(p), expected, atol=1e-12)


def test_what_is_wrong_is_said_in_a_sentence() -> None:
    with pytest.raises(InputError, match="dimensions"):
        ConeBinning(Ball(4), 0.1)
    with pytest.raises(InputError, match="at most 20000 tents"):
        ConeBinning(Ball(2), 1e-4)
    for domain in (
        Polytope([[1, 0], [0, 1]], [1, 1]),
        Polytope([[1, 0], [-1, 0]], [1, 0]),
        Polytope.box([0.1], [1.0]),
        Polytope.simplex(3),
        Ball([0.5, 0.0], 1.0),
    ):
        with pytest.raises(InputError, match="a bounded set with 0 strictly inside"):
            ContinuousGame(domain, lambda x, y: 0.0, lambda x, y: 0.0, 1, best_response=np.sum)
    with pytest.raises(InputError, match="low below high"):
        Polytope.box([0.1], [0.1])
    with pytest.raises(InputError, match="within 1 of the origin"):
        Ball(2).check("strategy", [1.0, 1.0])
    with pytest.raises(InputError, match="row 2"):
        Ball(2).check_all("strategies", [[0.0, 0.0], [1.0, 1.0]])
    with pytest.raises(InputError, match="inner radius"):
        Ball(2).project([0.0, 0.0], 1.0)


def spaces() -> list[Polytope]:
    """Return a strategy space of each kind: simplex, coverage, both with constraints."""
    limits = [Constraint({"a": 1.0, "b": 2.0}, at_most=0.9), Constraint({"c": 1.0}, at_least=0.1)]
    names = ["a", "b", "c", "d"]
    return [
        Polytope.simplex(1),
        Polytope.simplex(2),
        Polytope.simplex(7),
        Polytope.simplex(names, limits),
        Polytope.simplex(names, [*limits, Constraint({"a": 1, "d": -1}, at_least=0, at_most=0)]),
        Polytope.coverage(5, 2),
        Polytope.coverage(3, 3),
        Polytope.coverage(names, 1.5, limits),
    ]


@pytest.mark.parametrize("space", spaces(), ids=lambda s: f"{s.kind}{s.dimension}")
def test_a_projection_onto_strategies_is_the_nearest_one(space: Polytope) -> None:
    """The variational inequality at every vertex that a direction finds proves it."""
    rng = np.random.default_rng(6)
    n = space.dimension
    for scale in (0.01, 0.3, 1.0, 30.0):
        for far in scale * rng.normal(size=(40, n)) + rng.random(n):
            near = space.project(far)
            space.check("projection", near)
            gain = float((far - near) @ (space.argmax(far - near) - near))
            assert gain <= 1e-9 * max(1.0, float(np.abs(far).max()))
            np.testing.assert_allclose(space.project(near), near, atol=1e-9)
    if space.kind != "polytope":  # the closed form and the least-distance program agree
        other = Polytope(
            space.inequality_rows,
            space.inequality_bounds,
            space.equality_rows,
            space.equality_bounds,
        )
        for far in rng.normal(size=(20, n)):
            np.testing.assert_allclose(space.project(far), other.project(far), atol=1e-9)
    if n == 1:
        return
    with pytest.raises(InputError, match="inset: expected less than the radius of the inscribed"):
        space.cut(np.ones((1, n)), np.ones(1)).project(np.full(n, 3.0), inset=5.0)


@pytest.mark.parametrize("space", spaces()[1:], ids=lambda s: f"{s.kind}{s.dimension}")
def test_samples_vertices_and_the_inscribed_ball_are_inside(space: Polytope) -> None:
    points = space.sample(200, seed=1)
    assert all(space.contains(x, 1e-9) for x in points)
    ball = space.inscribed_ball()
    assert ball is not None
    rng = np.random.default_rng(7)
    for direction in rng.normal(size=(50, space.hull_dimension)) @ space.basis.T:
        x = ball.center + ball.radius * direction / np.linalg.norm(direction)
        assert space.contains(x, 1e-9)
    corners = space.vertices
    assert all(space.contains(x, 1e-8) for x in corners)
    for direction in rng.normal(size=(50, space.dimension)):
        most = direction @ space.argmax(direction)
        assert (corners @ direction).max() == pytest.approx(most, abs=1e-8)
    np.testing.assert_allclose(space.limits[0], corners.min(axis=0), atol=1e-8)
    np.testing.assert_allclose(space.limits[1], corners.max(axis=0), atol=1e-8)
