"""Polytopes {x : A x ≤ b, E x = f} inside their affine hull {x : E x = f}.

Balls, distances and volumes are relative to the affine hull: a best-response region of a game with
three principal actions is a polygon, not a flat body in space.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._random import stream
from stackcast._validation import InputError, whole_number
from stackcast.regions._walk import hit_and_run

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.games import StrategySpace

#: Rows whose normal within the hull is shorter than this, relative to the row, are constants.
_FLAT = 1e-13


@dataclass(frozen=True, eq=False)
class Ball:
    """A ball within the affine hull."""

    center: FloatArray
    radius: float


@dataclass(frozen=True, eq=False)
class Polytope:
    """A bounded polytope {x : A x ≤ b, E x = f}.

    Examples
    --------
    >>> from stackcast.games import StrategySpace
    >>> triangle = Polytope.of_space(StrategySpace.simplex(3))
    >>> ball = triangle.inscribed_ball()
    >>> print(ball.center.round(3), round(ball.radius, 3))
    [0.333 0.333 0.333] 0.408
    """

    inequality_rows: FloatArray
    inequality_bounds: FloatArray
    equality_rows: FloatArray
    equality_bounds: FloatArray

    @classmethod
    def of_space(cls, space: StrategySpace) -> Polytope:
        """Return a strategy space as a polytope."""
        return cls(
            space.inequality_rows,
            space.inequality_bounds,
            space.equality_rows,
            space.equality_bounds,
        )

    def with_rows(self, rows: FloatArray, bounds: FloatArray) -> Polytope:
        """Return the part of the polytope that also satisfies rows·x ≤ bounds."""
        return Polytope(
            np.vstack([self.inequality_rows, rows]),
            np.concatenate([self.inequality_bounds, bounds]),
            self.equality_rows,
            self.equality_bounds,
        )

    def on_hyperplane(self, row: FloatArray, bound: float) -> Polytope:
        """Return the slice of the polytope on row·x = bound, a polytope of one dimension less."""
        return Polytope(
            self.inequality_rows,
            self.inequality_bounds,
            np.vstack([self.equality_rows, row]),
            np.append(self.equality_bounds, bound),
        )

    @cached_property
    def basis(self) -> FloatArray:
        """Orthonormal directions (columns) of the affine hull."""
        _, singular, right = np.linalg.svd(self.equality_rows)
        rank = int((singular > 1e-12 * singular.max(initial=1.0)).sum())
        return np.ascontiguousarray(right[rank:].T)

    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        """Tell whether x satisfies every row within ``tolerance`` times the row's length."""
        point = np.asarray(x, dtype=np.float64)
        lengths = np.linalg.norm(self.inequality_rows, axis=1)
        return bool(
            (self.inequality_rows @ point - self.inequality_bounds <= tolerance * lengths).all()
            and np.allclose(
                self.equality_rows @ point, self.equality_bounds, rtol=0, atol=tolerance
            )
        )

    def inscribed_ball(self) -> Ball | None:
        """Return a largest ball inside the polytope, by one linear program; None if it is empty.

        The radius is 0 where the polytope has no interior within its hull.
        """
        from scipy.optimize import linprog

        n = self.inequality_rows.shape[1]
        lengths = np.linalg.norm(self.inequality_rows @ self.basis, axis=1)
        sizes = np.abs(self.inequality_rows).max(axis=1)
        lengths[lengths <= _FLAT * sizes] = 0.0
        scales = np.where(lengths > 0, lengths, np.where(sizes > 0, sizes, 1.0))
        rows = np.column_stack([self.inequality_rows, lengths]) / scales[:, None]
        result = linprog(
            np.append(np.zeros(n), -1.0),
            A_ub=rows,
            b_ub=self.inequality_bounds / scales,
            A_eq=np.column_stack([self.equality_rows, np.zeros(len(self.equality_rows))]),
            b_eq=self.equality_bounds,
            bounds=[(None, None)] * n + [(0.0, None if self.basis.shape[1] else 0.0)],
            method="highs",
        )
        if result.x is None:
            return None
        center = np.asarray(result.x[:n], dtype=np.float64)
        center.flags.writeable = False
        return Ball(center, max(float(result.x[n]), 0.0))

    def sample(self, count: int, seed: int, thinning: int | None = None) -> FloatArray:
        """Return ``count`` points, nearly uniform, by hit-and-run from the inscribed ball's centre.

        Each point is ``thinning`` steps after the one before it (by default ten times the dimension
        of the hull, at least thirty), after a start of fifty times as many.
        """
        whole_number("count", count, at_least=1)
        ball = self.inscribed_ball()
        if ball is None or (ball.radius <= 0 and self.basis.shape[1] > 0):
            raise InputError("polytope", "an interior to sample from", "none")
        d = self.basis.shape[1]
        if d == 0:
            return np.tile(ball.center, (count, 1))
        steps = thinning if thinning is not None else max(30, 10 * d)
        walk = hit_and_run(
            np.ascontiguousarray(self.inequality_rows @ self.basis),
            self.inequality_bounds - self.inequality_rows @ ball.center,
            count,
            whole_number("thinning", steps, at_least=1),
            50 * steps,
            stream(seed, "hit and run"),
        )
        points: FloatArray = ball.center + walk @ self.basis.T
        return points

    def vertices(self) -> FloatArray:
        """Return the corners of a point, segment or polygon; polygons counter-clockwise.

        In more than two dimensions there may be far too many: that is an error.
        """
        d = self.basis.shape[1]
        if d > 2:
            raise InputError("polytope", "a hull of at most two dimensions", f"{d} dimensions")
        ball = self.inscribed_ball()
        if ball is None:
            return np.zeros((0, self.inequality_rows.shape[1]))
        rows = self.inequality_rows @ self.basis
        room = self.inequality_bounds - self.inequality_rows @ ball.center
        far = 4.0 * max(1.0, float(np.abs(room).max()))
        if d == 0:
            corners = np.zeros((1, 0))
        elif d == 1:
            reach = [np.inf, np.inf]
            for (slope,), gap in zip(rows, room, strict=True):
                if abs(slope) > _FLAT:
                    side = 0 if slope > 0 else 1
                    reach[side] = min(reach[side], max(gap, 0.0) / abs(slope))
            corners = np.array([[-reach[1]], [reach[0]]])
        else:
            corners = np.array([[-far, -far], [far, -far], [far, far], [-far, far]])
            for normal, gap in zip(rows, room, strict=True):
                if np.abs(normal).max() > _FLAT:
                    corners = _clipped(corners, normal, max(gap, 0.0))
        points: FloatArray = ball.center + corners @ self.basis.T
        return points


def _clipped(corners: FloatArray, normal: FloatArray, gap: float) -> FloatArray:
    """Return the polygon cut by the half-plane normal·x ≤ gap (Sutherland and Hodgman)."""
    kept: list[FloatArray] = []
    outside = corners @ normal - gap
    for i, corner in enumerate(corners):
        before, value = outside[i - 1], outside[i]
        if (before > 0) != (value > 0):
            share = before / (before - value)
            kept.append(corners[i - 1] + share * (corner - corners[i - 1]))
        if value <= 0:
            kept.append(corner)
    distinct = [p for i, p in enumerate(kept) if i == 0 or np.abs(p - kept[i - 1]).max() > 1e-12]
    if len(distinct) > 1 and np.abs(distinct[0] - distinct[-1]).max() <= 1e-12:
        distinct.pop()
    return np.array(distinct).reshape(-1, 2)
