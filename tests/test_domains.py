"""Domains: projections are the nearest points, insets keep their distance, grids cover."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from stackcast.games.domains import domain_from_table

from stackcast import InputError
from stackcast.calibration import ConeBinning
from stackcast.games import Ball, Box, Domain, Polytope

if TYPE_CHECKING:
    import numpy.typing as npt

RNG = np.random.default_rng(0)
DOMAINS: list[Domain] = [
    Ball(1, 0.7),
    Ball(2),
    Ball(5, 2.0),
    Box([-1.0], [0.5]),
    Box([-1.0, -0.5, -2.0], [1.0, 2.0, 0.3]),
    Polytope([[-1, 0], [0, -1], [1, 1]], [1, 1, 1]),
    Polytope(np.vstack([RNG.normal(size=(9, 3)), -np.eye(3), np.eye(3)]), [0.8] * 15),
]


def points(domain: Domain, count: int) -> npt.NDArray[np.float64]:
    rng = np.random.default_rng(1)
    rows = domain.sample(count, rng)
    corners = [domain.support_point(v) for v in rng.normal(size=(count, domain.dimension))]
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
        assert direction @ x <= direction @ domain.support_point(direction) + 1e-9
        assert (x >= domain.limits[0] - 1e-9).all()
        assert (x <= domain.limits[1] + 1e-9).all()
    sphere = np.random.default_rng(4).normal(size=(100, domain.dimension))
    sphere *= domain.inner_radius / np.linalg.norm(sphere, axis=1, keepdims=True)
    assert all(domain.contains(x, 1e-9) for x in sphere)
    again = domain_from_table("domain", domain.to_table())
    assert again.to_table() == domain.to_table()


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
    with pytest.raises(InputError, match="one or two dimensions"):
        ConeBinning(Ball(3), 0.1)
    with pytest.raises(InputError, match="at most 20000 tents"):
        ConeBinning(Ball(2), 1e-4)
    with pytest.raises(InputError, match="bounded"):
        Polytope([[1, 0], [0, 1]], [1, 1])
    with pytest.raises(InputError, match="so that 0 lies inside"):
        Polytope([[1, 0], [-1, 0]], [1, 0])
    with pytest.raises(InputError, match="below 0"):
        Box([0.1], [1.0])
    with pytest.raises(InputError, match="within 1 of the origin"):
        Ball(2).check("strategy", [1.0, 1.0])
    with pytest.raises(InputError, match="row 2"):
        Ball(2).check_all("strategies", [[0.0, 0.0], [1.0, 1.0]])
    with pytest.raises(InputError, match="inner radius"):
        Ball(2).project([0.0, 0.0], 1.0)
    with pytest.raises(InputError, match="'ball', 'box' or 'polytope'"):
        domain_from_table("domain", {"kind": "torus"})
    with pytest.raises(InputError, match="keys dimension, radius"):
        domain_from_table("domain", {"kind": "ball", "radius": 1.0})
