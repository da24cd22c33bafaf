"""The domains of continuous games: convex compact sets that hold a ball around the origin.

A ball, a box or a polytope (Assumption 5.1 (iii) of the paper: B(0, r) ⊆ A_P ⊆ B(0, R), diameter
D_P). Each projects a point onto itself, or onto its *inset* {x : B(x, δ) ⊆ A_P}, and finds its
furthest point along a direction.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import (
    PROBABILITY_TOLERANCE,
    InputError,
    real_matrix,
    real_number,
    real_vector,
    shown,
    whole_number,
)
from stackcast.games.spaces import StrategySpace

if TYPE_CHECKING:
    from stackcast._validation import FloatArray


class Ball:
    """The points within ``radius`` of the origin.

    Parameters
    ----------
    dimension : int
    radius : float

    Examples
    --------
    >>> Ball(2, 1.0).project([3.0, 4.0])
    array([0.6, 0.8])
    """

    kind = "ball"

    def __init__(self, dimension: int, radius: float = 1.0) -> None:
        self.dimension = whole_number("dimension", dimension, at_least=1)
        self.radius = real_number("radius", radius, above=0.0)

    @property
    def inner_radius(self) -> float:
        """The r of B(0, r) ⊆ domain."""
        return self.radius

    outer_radius = inner_radius

    @property
    def diameter(self) -> float:
        """The largest distance of two points."""
        return 2.0 * self.radius

    @property
    def limits(self) -> FloatArray:
        """The lowest (first row) and the highest value of each coordinate."""
        return np.array([[-self.radius], [self.radius]]).repeat(self.dimension, axis=1)

    def project(self, point: Any, inset: float = 0.0) -> FloatArray:
        """Return the nearest point of the domain, or of the points ``inset`` inside it."""
        x = np.array(point, dtype=np.float64)
        length, radius = float(np.sqrt(x @ x)), _left(self.radius, inset)
        return x if length <= radius else x * (radius / length)

    def support_point(self, direction: Any) -> FloatArray:
        """Return a point of the domain that is furthest along ``direction``."""
        d = np.asarray(direction, dtype=np.float64)
        length = float(np.sqrt(d @ d))
        return np.zeros(self.dimension) if length == 0 else d * (self.radius / length)

    def contains(self, strategy: Any, tolerance: float = PROBABILITY_TOLERANCE) -> bool:
        """Tell whether ``strategy`` lies in the domain, within ``tolerance``."""
        x = np.asarray(strategy, dtype=np.float64)
        return bool(x.shape == (self.dimension,) and np.sqrt(x @ x) <= self.radius + tolerance)

    def check(self, field: str, strategy: Any) -> FloatArray:
        """Return ``strategy`` as a point of the domain, or say in one sentence why it is none."""
        x = real_vector(field, strategy, self.dimension)
        if not self.contains(x):
            expected = f"a point within {self.radius:g} of the origin"
            raise InputError(field, expected, shown(x.tolist()))
        return x

    def check_all(self, field: str, strategies: Any) -> FloatArray:
        """Return one point or a stack of them as an array; refuse what is outside."""
        x = np.asarray(strategies, dtype=np.float64)
        rows = np.atleast_2d(x)
        inside = np.zeros(len(rows), dtype=np.bool_)
        if rows.shape[1] == self.dimension:
            lengths = np.sqrt((rows * rows).sum(axis=1))
            inside = lengths <= self.radius + PROBABILITY_TOLERANCE
        if not inside.all():
            first = int(np.argmin(inside))
            self.check(f"{field}, row {first + 1}" if x.ndim == 2 else field, rows[first])
        return x

    def sample(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Return points drawn uniformly."""
        rows = rng.normal(size=(count, self.dimension))
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        reach: FloatArray = rng.random((count, 1)) ** (1.0 / self.dimension)
        points: FloatArray = self.radius * reach * rows / lengths
        return points

    def to_table(self) -> dict[str, Any]:
        """Return the table that stands for this domain in a file."""
        return {"kind": "ball", "dimension": self.dimension, "radius": self.radius}


class _Flat(StrategySpace, ABC):
    """What boxes and polytopes share: they are strategy spaces that hold the origin inside."""

    @property
    @abstractmethod
    def vertices(self) -> FloatArray:
        """The corners, as rows."""

    @cached_property
    def limits(self) -> FloatArray:
        """The lowest (first row) and the highest value of each coordinate."""
        return np.array([self.vertices.min(axis=0), self.vertices.max(axis=0)])

    @cached_property
    def inner_radius(self) -> float:
        """The r of B(0, r) ⊆ domain."""
        lengths = np.linalg.norm(self.inequality_rows, axis=1)
        return float((self.inequality_bounds / lengths).min())

    @cached_property
    def outer_radius(self) -> float:
        """The R of domain ⊆ B(0, R)."""
        return float(np.linalg.norm(self.vertices, axis=1).max())

    @cached_property
    def diameter(self) -> float:
        """The largest distance of two points."""
        corners = self.vertices
        return max(float(np.linalg.norm(corners - corner, axis=1).max()) for corner in corners)

    def support_point(self, direction: Any) -> FloatArray:
        """Return a point of the domain that is furthest along ``direction``."""
        furthest: FloatArray = self.vertices[int(np.argmax(self.vertices @ np.asarray(direction)))]
        return furthest.copy()

    def sample(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Return points drawn uniformly from the box around the domain, those outside projected."""
        low, high = self.limits
        rows = low + (high - low) * rng.random((count, self.dimension))
        return np.array([self.project(row) for row in rows])

    @abstractmethod
    def project(self, point: Any, inset: float = 0.0) -> FloatArray:
        """Return the nearest point of the domain, or of the points ``inset`` inside it."""


class Box(_Flat):
    """The points between ``low`` and ``high`` in every coordinate; 0 lies strictly between.

    Examples
    --------
    >>> Box([-1, -1], [1, 2]).project([3.0, 0.5])
    array([1. , 0.5])
    """

    low: FloatArray
    high: FloatArray

    def __init__(self, low: Any, high: Any) -> None:
        lower = real_vector("low", low)
        upper = real_vector("high", high, len(lower))
        if lower.max() >= 0 or upper.min() <= 0:
            found = f"low {lower.tolist()}, high {upper.tolist()}"
            raise InputError("box", "low below 0 and high above 0 in every coordinate", found)
        m = len(lower)
        object.__setattr__(self, "low", lower)
        object.__setattr__(self, "high", upper)
        super().__init__(
            np.vstack([-np.eye(m), np.eye(m)]),
            np.concatenate([-lower, upper]),
            np.zeros((0, m)),
            np.zeros(0),
        )

    @cached_property
    def vertices(self) -> FloatArray:
        """The corners, as rows."""
        pairs = np.meshgrid(*zip(self.low, self.high, strict=True), indexing="ij")
        return np.column_stack([part.reshape(-1) for part in pairs])

    @cached_property
    def limits(self) -> FloatArray:
        """The lowest (first row) and the highest value of each coordinate."""
        return np.array([self.low, self.high])

    @cached_property
    def outer_radius(self) -> float:
        """The R of domain ⊆ B(0, R)."""
        return float(np.linalg.norm(np.maximum(-self.low, self.high)))

    @cached_property
    def diameter(self) -> float:
        """The largest distance of two points."""
        return float(np.linalg.norm(self.high - self.low))

    def support_point(self, direction: Any) -> FloatArray:
        """Return a point of the domain that is furthest along ``direction``."""
        return np.where(np.asarray(direction) > 0, self.high, self.low)

    def project(self, point: Any, inset: float = 0.0) -> FloatArray:
        """Return the nearest point of the domain, or of the points ``inset`` inside it."""
        _left(self.inner_radius, inset)
        return np.clip(np.asarray(point, dtype=np.float64), self.low + inset, self.high - inset)

    def to_table(self) -> dict[str, Any]:
        """Return the table that stands for this domain in a file."""
        return {"kind": "box", "low": self.low.tolist(), "high": self.high.tolist()}


class Polytope(_Flat):
    """The points x with ``rows`` x ≤ ``bounds``: bounded, and with the origin strictly inside.

    Examples
    --------
    >>> triangle = Polytope([[-1, 0], [0, -1], [1, 1]], [1, 1, 1])
    >>> triangle.project([3.0, 3.0])
    array([0.5, 0.5])
    """

    def __init__(self, rows: Any, bounds: Any) -> None:
        matrix = real_matrix("rows", rows)
        limits = real_vector("bounds", bounds, len(matrix))
        if limits.min() <= 0 or not np.linalg.norm(matrix, axis=1).all():
            expected = "bounds above 0 and rows that are not 0, so that 0 lies inside"
            raise InputError("polytope", expected, shown(limits.tolist()))
        m = matrix.shape[1]
        super().__init__(matrix, limits, np.zeros((0, m)), np.zeros(0))
        for axis in np.vstack([np.eye(m), -np.eye(m)]):
            if StrategySpace.support_point(self, axis) is None:
                raise InputError("polytope", "a bounded set", "an unbounded one")

    @cached_property
    def vertices(self) -> FloatArray:
        """The corners, as rows."""
        rows, bounds = self.inequality_rows, self.inequality_bounds
        if self.dimension == 1:
            ends = bounds / rows[:, 0]
            return np.array([[ends[ends < 0].max()], [ends[ends > 0].min()]])
        from scipy.spatial import HalfspaceIntersection

        cut = HalfspaceIntersection(np.column_stack([rows, -bounds]), np.zeros(self.dimension))
        return np.asarray(cut.intersections, dtype=np.float64)

    def project(self, point: Any, inset: float = 0.0) -> FloatArray:
        """Return the nearest point of the domain, or of the points ``inset`` inside it.

        A least-distance program, solved as nonnegative least squares (Lawson and Hanson 1974).
        """
        from scipy.optimize import nnls

        _left(self.inner_radius, inset)
        x = np.array(point, dtype=np.float64)
        rows = self.inequality_rows
        over = rows @ x - self.inequality_bounds + inset * np.linalg.norm(rows, axis=1)
        if over.max() <= 0:
            return x
        # min ‖u‖ with −A u ≥ over: the residual of min ‖[−Aᵀ; overᵀ] λ − e‖, λ ≥ 0.
        system = np.vstack([-rows.T, over])
        aim = np.append(np.zeros(self.dimension), 1.0)
        weights, _ = nnls(system, aim)
        residual = system @ weights - aim
        return x - residual[:-1] / residual[-1]

    def to_table(self) -> dict[str, Any]:
        """Return the table that stands for this domain in a file."""
        return {
            "kind": "polytope",
            "rows": self.inequality_rows.tolist(),
            "bounds": self.inequality_bounds.tolist(),
        }


Domain = Ball | Box | Polytope


def domain_from_table(field: str, table: Any) -> Domain:
    """Return the domain of a table as it stands in a file."""
    kinds: dict[str, tuple[Any, set[str]]] = {
        "ball": (Ball, {"dimension", "radius"}),
        "box": (Box, {"low", "high"}),
        "polytope": (Polytope, {"rows", "bounds"}),
    }
    if not isinstance(table, dict) or table.get("kind") not in kinds:
        raise InputError(field, "a table with kind 'ball', 'box' or 'polytope'", shown(table))
    make, keys = kinds[table["kind"]]
    given = {key: value for key, value in table.items() if key != "kind"}
    if set(given) != keys:
        expected = f"a {table['kind']} with the keys {', '.join(sorted(keys))}"
        raise InputError(field, expected, ", ".join(sorted(given)) or "none")
    try:
        domain: Domain = make(**given)
    except InputError as error:
        raise error.inside(field) from None
    return domain


def _left(radius: float, inset: float) -> float:
    if inset >= radius:
        raise InputError("inset", f"less than the inner radius {radius:g}", f"{inset:g}")
    return radius - inset
