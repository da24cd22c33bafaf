"""Certificates of robustness: a few strategies whose answers prove a margin (property P2).

Regions are convex. If every point of a set X draws the response y, so does every strategy in the
convex hull of X; if answers are right only up to a distance ε (the strategy lies within ε of the
region of its answer), a ball of radius r around h inside the hull leaves a margin of r − ε, because
a convex set that contains a ball after it was widened by ε contains the ball less ε.

**Caveat.** Facets of the strategy space do not count as boundaries: no forecast lies beyond them.
Where h is nearer than r to such a facet, the ball is cut, and a sliver of another region that is
thinner than ε may hide between h and the facet. :func:`certified_radius` says what the hull proves
without the slivers; ask points on such a facet more than once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import nnls

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray
    from stackcast.games import StrategySpace

#: What is nearer than this coincides, but for rounding.
_SAME = 1e-9
#: Vertices of what is cut, at most, for each action.
_MOST = 6


def corner_points(strategy: FloatArray, radius: float) -> FloatArray:
    """Return m mixed strategies (rows) whose hull contains all strategies within ``radius``.

    With r′ = radius·√((m−1)/m) and a = max(0, h − r′) they are a + (1 − Σa)·e_j. They lie up to
    (m−1)·radius away.

    Examples
    --------
    >>> corner_points(np.array([0.5, 0.5]), 0.1).round(3).tolist()
    [[0.571, 0.429], [0.429, 0.571]]
    """
    m = len(strategy)
    if m == 1:
        return strategy[None].copy()
    inner = np.maximum(0.0, strategy - radius * math.sqrt((m - 1) / m))
    corners: FloatArray = inner + (1.0 - inner.sum()) * np.eye(m)
    return corners


def corners_inside(strategy: FloatArray, radius: float, space: StrategySpace) -> FloatArray:
    """Return the corner points, drawn towards the strategy where they leave the space."""
    points = corner_points(strategy, radius)
    rows, bounds = space.inequality_rows, space.inequality_bounds
    over, room = (points - strategy) @ rows.T, bounds - rows @ strategy
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(over > 1e-15, np.maximum(room, 0.0) / over, np.inf).min(axis=1)
    inside: FloatArray = strategy + np.minimum(reach, 1.0)[:, None] * (points - strategy)
    return inside


def lie_between(points: FloatArray, others: FloatArray) -> npt.NDArray[np.bool_]:
    """Tell which points lie in the hull of others.

    Examples
    --------
    >>> lie_between(np.array([[0.5, 0.5], [0.0, 1.0]]), np.array([[1.0, 0.0], [0.2, 0.8]])).tolist()
    [True, False]
    """
    if not len(others):
        return np.zeros(len(points), dtype=np.bool_)
    corners = np.vstack([others.T, np.ones(len(others))])
    away = [nnls(corners, np.append(point, 1.0))[1] for point in points]
    return np.array(away, dtype=np.float64) <= _SAME


def fitted_points(
    strategy: FloatArray,
    response: int,
    payoffs: FloatArray,
    space: StrategySpace,
    radius: float,
    safety: float,
) -> FloatArray | None:
    """Return points around a vertex of a robust program whose hull contains the ball, or None.

    At a vertex h of {h : margin ≥ radius + safety} the m − 1 tight rows are facets of the region
    (by ``payoffs``) or of the space. A simplex has the same facets, those of the region kept at
    the distance ``safety``, and one more across: no point is nearer to another region than that,
    and the ball of ``radius`` fits exactly. So the certificate asks for no more margin than it
    proves, whatever m is. The points are the m vertices of the simplex, and where other facets cut
    it a few more; None if h is no such vertex, or if the cuts leave more than 6m vertices.
    """
    basis = space.basis
    m, d = len(strategy), basis.shape[1]
    if d == 0:
        return strategy[None].copy()
    normals, room = _facets(strategy, response, payoffs, space)
    regions = len(normals) - len(space.inequality_rows)
    tight = np.flatnonzero(
        np.append(room[:regions] <= radius + safety + 1e-7, room[regions:] <= _SAME)
    )
    if len(tight) != d:
        return None
    rows = normals[tight]
    gap = room[tight] - np.where(tight < regions, safety, 0.0)
    if np.linalg.cond(rows) > 1e4:
        return None
    across = rows.sum(axis=0)
    across /= np.linalg.norm(across)
    sides, limits = np.vstack([rows, -across]), np.append(-gap, -radius)
    vertices = np.array(
        [np.linalg.solve(np.delete(sides, i, axis=0), np.delete(limits, i)) for i in range(d + 1)]
    )
    limits = np.append(safety - room[:regions], -room[regions:])
    cut = _cut_simplex(vertices, normals, limits, most=_MOST * m)
    if cut is None:
        return None
    points: FloatArray = strategy + cut @ basis.T
    if (space.inequality_rows[:m] == -np.eye(m)).all():
        points = np.maximum(points, 0.0)
        points /= points.sum(axis=1, keepdims=True)
    return _needed(points, strategy, space, radius) if len(points) > m else points


def _needed(
    points: FloatArray, strategy: FloatArray, space: StrategySpace, radius: float
) -> FloatArray:
    """Return points without which the hull would not contain the ball, the farthest left out."""
    for point in points[np.argsort(-np.linalg.norm(points - strategy, axis=1))]:
        rest = points[(points != point).any(axis=1)]
        if certified_radius(strategy, rest, space) >= radius * (1 - 1e-9):
            points = rest
    return points


def _cut_simplex(
    vertices: FloatArray, rows: FloatArray, limits: FloatArray, most: int
) -> FloatArray | None:
    """Return the vertices of a simplex cut by rows·x ≥ limits; None if they are more than ``most``.

    What is cut is always simple: each vertex lies on d sides, and an edge joins two vertices that
    share d − 1 of them.
    """
    d = vertices.shape[1]
    points = list(vertices)
    sides = [frozenset(range(d + 1)) - {i} for i in range(d + 1)]
    for number, (row, limit) in enumerate(zip(rows, limits, strict=True), start=d + 1):
        over = np.array([float(row @ x) - limit for x in points])
        inside, outside = np.flatnonzero(over >= -_SAME), np.flatnonzero(over < -_SAME)
        if not len(outside):
            continue
        new = [(points[i], sides[i]) for i in inside]
        for i in inside:
            for j in outside:
                shared = sides[i] & sides[j]
                if len(shared) == d - 1:
                    part = max(over[i], 0.0) / (max(over[i], 0.0) - over[j])
                    new.append((points[i] + part * (points[j] - points[i]), shared | {number}))
        if not new or len(new) > most:
            return None
        points, sides = [x for x, _ in new], [s for _, s in new]
    return np.array(points)


def certified_radius(strategy: FloatArray, points: FloatArray, space: StrategySpace) -> float:
    """Return the distance from ``strategy`` to the nearest facet of the hull of points.

    Facets that lie in a facet of the space do not count; 0 if the strategy is outside, infinite if
    every facet is the space's own.

    Examples
    --------
    >>> from stackcast.games import StrategySpace
    >>> h = np.array([0.3, 0.7])
    >>> round(certified_radius(h, corner_points(h, 0.1), StrategySpace.simplex(2)), 6)
    0.1
    """
    from scipy.spatial import ConvexHull, QhullError

    d = space.hull_dimension
    if d == 0:
        return math.inf
    if len(points) < d + 1:
        return 0.0
    local = (points - strategy) @ space.basis
    if d == 1:
        faces = [np.array([i]) for i in (int(np.argmin(local)), int(np.argmax(local)))]
        distances = [-float(local.min()), float(local.max())]
    else:
        size = float(np.abs(local).max()) or 1.0
        try:
            hull = ConvexHull(local / size)
        except QhullError:  # flat
            return 0.0
        faces, distances = list(hull.simplices), list(-size * hull.equations[:, -1])
    tight = points @ space.inequality_rows.T >= space.inequality_bounds - _SAME
    counted = [
        float(distance)
        for face, distance in zip(faces, distances, strict=True)
        if not tight[face].all(axis=0).any()
    ]
    return max(min(counted, default=math.inf), 0.0)


def _facets(
    strategy: FloatArray, response: int, payoffs: FloatArray, space: StrategySpace
) -> tuple[FloatArray, FloatArray]:
    """Return inward unit normals in the hull and distances: other actions first, then the space."""
    differences = payoffs[:, [response]] - np.delete(payoffs, response, axis=1)
    rows = np.vstack([differences.T, -space.inequality_rows])
    bounds = np.append(np.zeros(differences.shape[1]), -space.inequality_bounds)
    normals = rows @ space.basis
    lengths = np.linalg.norm(normals, axis=1)
    flat = lengths < 1e-12
    lengths[flat] = 1.0
    room = (rows @ strategy - bounds) / lengths
    room[flat] = np.inf
    return normals / lengths[:, None], room
