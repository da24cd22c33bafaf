"""Best-response regions: membership, margins, balls, samples, shares, corners."""

from __future__ import annotations

import math

import numpy as np
import pytest

import stackcast as sc
from stackcast.games import AgentView, Polytope
from stackcast.solvers import BestResponseRegions


def uniform(m: int, k: int, seed: int) -> sc.FiniteGame:
    rng = np.random.default_rng(seed)
    return sc.FiniteGame(rng.random((m, k)), rng.random((m, k)))


def coverage_view(n: int, resources: float, seed: int) -> AgentView:
    """An attacker who sees a coverage vector: a space that is no simplex, with offsets."""
    rng = np.random.default_rng(seed)
    space = Polytope(
        np.vstack([-np.eye(n), np.eye(n), np.ones((1, n))]),
        np.concatenate([np.zeros(n), np.ones(n), [resources]]),
        np.zeros((0, n)),
        np.zeros(0),
    )
    names = tuple(f"target {i}" for i in range(n))
    return AgentView(-np.diag(0.2 + rng.random(n)), rng.random(n), names, names, space, "")


@pytest.mark.parametrize("seed", range(12))
def test_the_margin_is_the_distance_at_which_the_response_changes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    game = uniform(int(rng.integers(2, 6)), int(rng.integers(2, 6)), seed)
    regions = BestResponseRegions(game)
    m = game.shape[0]
    for h in rng.dirichlet(np.ones(m), 10):
        y = int(game.respond(h)[0])
        margin = regions.margin(h, y)
        assert margin >= 0
        directions = rng.standard_normal((4000, m))
        directions -= directions.mean(axis=1, keepdims=True)
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        inside = h + 0.999 * min(margin, 5.0) * directions
        # Within the margin y beats every action that has a region, even beyond the simplex.
        u = inside @ game.agent_payoffs
        rivals = ~regions.never_best
        assert (u[:, y] >= u[:, rivals].max(axis=1) - 1e-12).all()
        for j in range(game.shape[1]):
            if j != y:
                assert regions.margin(h, j) <= 1e-12


def test_the_margin_is_attained() -> None:
    game = sc.FiniteGame(np.zeros((3, 2)), [[1, 0], [0, 1], [0, 0]])
    # The regions meet on h_0 = h_1; the distance is |h_0 − h_1|/√2.
    regions = BestResponseRegions(game)
    assert regions.margin([0.6, 0.2, 0.2], 0) == pytest.approx(0.4 / math.sqrt(2))
    assert regions.margin([0.6, 0.2, 0.2], 1) == pytest.approx(-0.4 / math.sqrt(2))
    # Here they meet on h_0 = 0.7, a line that lies 0.3·√(3/2) from the corner.
    slope = sc.FiniteGame(np.zeros((3, 2)), [[0.3, 0.0], [-0.7, 0.0], [-0.7, 0.0]])
    assert BestResponseRegions(slope).margin([1, 0, 0], 0) == pytest.approx(0.3 * math.sqrt(1.5))


def test_an_action_without_a_region_is_no_neighbour() -> None:
    # The third column is never best, though its tie with the first lies close to the simplex.
    game = sc.FiniteGame(np.zeros((2, 3)), [[1.0, 0.0, 0.99], [0.0, 1.0, -3.0]])
    regions = BestResponseRegions(game)
    assert regions.never_best.tolist() == [False, False, True]
    assert regions.margin([1, 0], 0) == pytest.approx(math.sqrt(0.5))
    # Here no single column beats the third everywhere, and its tie is the nearest to (0, 1, 0).
    mixed = [[0.8, 1.0, 0.4], [0.7, 1.0, 0.7], [0.9, 0.7, 0.7]]
    regions = BestResponseRegions(sc.FiniteGame(np.zeros((3, 3)), mixed))
    assert regions.never_best.tolist() == [False, False, True]
    assert regions.margin([0, 1, 0], 1) == pytest.approx(3 / math.sqrt(14))


@pytest.mark.parametrize("seed", range(10))
def test_inscribed_balls_are_in_their_regions_and_cannot_grow(seed: int) -> None:
    game = uniform(3, 3, seed)
    regions = BestResponseRegions(game)
    for y in range(3):
        ball = regions.inscribed_ball(y)
        if ball is None:
            assert regions.never_best[y]
            continue
        assert regions.margin(ball.center, y) >= ball.radius - 1e-9
        # The distance of a point of the triangle to its sides is h_x·√(3/2).
        assert (ball.center * math.sqrt(1.5)).min() >= ball.radius - 1e-9
        for h in regions.sample(y, 200, seed=seed) if ball.radius > 1e-3 else []:
            reach = min(regions.margin(h, y), (h * math.sqrt(1.5)).min())
            assert reach <= ball.radius + 1e-9


def test_regularity_of_the_whole_simplex() -> None:
    for m in range(2, 7):
        ball = Polytope.simplex(m).inscribed_ball()
        assert ball is not None
        assert ball.radius == pytest.approx(1 / math.sqrt(m * (m - 1)))


@pytest.mark.parametrize("seed", range(8))
def test_samples_stay_in_their_region_and_fill_it(seed: int) -> None:
    game = uniform(3, 3, seed)
    regions = BestResponseRegions(game)
    everywhere = game.space.sample(40_000, seed)
    labels = game.respond(everywhere)
    for y in range(3):
        exact = everywhere[labels == y]
        if len(exact) < 500:
            continue
        walk = regions.sample(y, 2000, seed)
        assert (game.respond(walk) == y).mean() > 0.999
        # Both means estimate the centroid: five standard errors, walk draws nearly independent.
        error = exact.std(axis=0) / math.sqrt(min(len(exact), 1000))
        assert (np.abs(walk.mean(axis=0) - exact.mean(axis=0)) < 5 * error + 1e-9).all()
        assert (np.abs(walk.std(axis=0) - exact.std(axis=0)) < 5 * error / math.sqrt(2)).all()


def test_volume_shares_cover_the_truth_as_often_as_they_say() -> None:
    # Column 0 is best where h_0 > 0.7: a share of 0.3² of the triangle.
    game = sc.FiniteGame(np.zeros((3, 2)), [[0.3, 0], [-0.7, 0], [-0.7, 0]])
    regions = BestResponseRegions(game)
    hits = 0
    for seed in range(200):
        shares = regions.volume_shares(samples=400, confidence=0.9, seed=seed)
        assert shares.share.sum() == pytest.approx(1)
        hits += bool(shares.lower[0] <= 0.09 <= shares.upper[0])
    # Binomial(200, 0.9) falls below 168 with probability below 0.005.
    assert hits >= 168


@pytest.mark.parametrize("seed", range(10))
def test_corners_span_the_region(seed: int) -> None:
    game = uniform(3, 4, seed)
    regions = BestResponseRegions(game)
    shares = regions.volume_shares(samples=20_000, seed=seed)
    total = 0.0
    for y in range(4):
        corners = regions.polytope(y).vertices
        flat = corners @ game.space.basis
        x, z = flat[:, 0], flat[:, 1]
        area = 0.5 * float(np.dot(x, np.roll(z, -1)) - np.dot(z, np.roll(x, -1)))
        share = area / (math.sqrt(3) / 2)
        total += abs(share)
        assert shares.lower[y] - 0.005 <= abs(share) <= shares.upper[y] + 0.005
        if len(corners):
            assert (
                game.agent_utilities(corners)[:, y]
                >= game.agent_utilities(corners).max(axis=1) - 1e-9
            ).all()
    assert total == pytest.approx(1)


def test_the_corners_of_the_simplex_are_its_pure_strategies() -> None:
    for m in range(1, 6):
        corners = Polytope.simplex(m).vertices
        np.testing.assert_allclose(
            corners[np.argsort(-corners @ np.arange(m))][::-1], np.eye(m), atol=1e-12
        )
    for bound in ([0.0], [-1.0]):
        flat = Polytope.simplex(4).cut(np.array([[1.0, 0.0, 0.0, 0.0]]), np.array(bound))
        if bound[0] < 0:
            assert not len(flat.vertices)
        else:
            with pytest.raises(sc.InputError, match="polytope: expected an interior"):
                _ = flat.vertices


@pytest.mark.parametrize("seed", range(6))
def test_conservative_regions_keep_their_distance(seed: int) -> None:
    game = uniform(4, 3, seed)
    regions = BestResponseRegions(game)
    for y in range(3):
        ball = regions.inscribed_ball(y)
        if ball is None or ball.radius < 0.03:
            continue
        inner = regions.polytope(y, margin=0.02)
        for h in inner.sample(50, seed):
            assert regions.margin(np.maximum(h, 0) / np.maximum(h, 0).sum(), y) >= 0.02 - 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_regions_of_a_space_that_is_no_simplex(seed: int) -> None:
    view = coverage_view(4, 1.5, seed)
    regions = BestResponseRegions(view)
    points = view.space.sample(3000, seed)
    labels = view.respond(points)
    seen = np.bincount(labels, minlength=4) > 0
    assert not (regions.never_best & seen).any()
    for h, y in zip(points[:100], labels[:100], strict=True):
        margin = regions.margin(h, int(y))
        normals = view.payoffs - view.payoffs[:, [y]]
        u = view.utilities(h)
        expected = min(
            (
                (u[y] - u[j]) / np.linalg.norm(normals[:, j])
                for j in range(4)
                if j != y and not regions.never_best[j]
            ),
            default=math.inf,
        )
        assert margin == pytest.approx(expected, abs=1e-9)
    shares = regions.volume_shares(samples=3000, seed=seed)
    assert (shares.lower <= shares.share).all()
    assert (shares.share <= shares.upper).all()
    for y in np.flatnonzero(seen):
        ball = regions.inscribed_ball(int(y))
        assert ball is not None
        assert view.space.contains(ball.center)


def test_bad_input_is_one_sentence() -> None:
    regions = BestResponseRegions(uniform(3, 2, 0))
    with pytest.raises(sc.InputError, match="action: expected an agent action below 2, found 5"):
        regions.margin([1, 0, 0], 5)
    with pytest.raises(sc.InputError, match="strategy: expected probabilities that sum to 1"):
        regions.margin([1, 1, 0], 0)
    with pytest.raises(sc.InputError, match="samples: expected a whole number of at least 30"):
        regions.volume_shares(samples=3)
    dominated = sc.FiniteGame(np.zeros((2, 2)), [[1, 0], [1, 0]], agent_actions=["good", "bad"])
    with pytest.raises(sc.InputError, match="region of 'bad': expected an interior"):
        BestResponseRegions(dominated).sample(1, 10, seed=0)
