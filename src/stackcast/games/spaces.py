"""Where a principal's commitments live: polytopes and balls.

A *polytope* is the bounded set {x ∈ ℝⁿ : A x ≤ b, E x = f}. The common one is the simplex, the
mixed strategies over m actions; security games commit to coverage {c ∈ [0, 1]ⁿ : Σc ≤ r};
linear constraints (budgets, floors) cut either, and so do the best responses of an agent, whose
regions are polytopes again. Continuous games commit to a polytope or a ball around the origin.

Balls, projections, distances and volumes are relative to the *affine hull* {x : E x = f}: a region
of a game with three principal actions is a polygon, not a flat body in space. The *inset* by δ is
the set of centres of balls of radius δ (within the hull) that lie in the set.

References
----------
C. L. Lawson and R. J. Hanson, Solving Least Squares Problems, 1974, chapter 23 (projection);
R. L. Smith, Efficient Monte Carlo procedures for generating points uniformly distributed over
bounded regions, Operations Research 32, 1984 (hit-and-run); I. E. Sutherland and G. W. Hodgman,
Reentrant polygon clipping, Communications of the ACM 17, 1974 (corners of polygons).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from stackcast._random import stream
from stackcast._validation import (
    PROBABILITY_TOLERANCE,
    InputError,
    real_matrix,
    real_number,
    real_vector,
    shown,
    table_of,
    text,
    whole_number,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import BoolArray, FloatArray, Table

#: Rows whose normal within the hull is shorter than this, relative to the row, are constants.
_FLAT = 1e-13


@dataclass(frozen=True)
class Constraint:
    """A linear constraint on commitments: ``at_least ≤ Σ_x weights[x]·h[x] ≤ at_most``.

    Parameters
    ----------
    weights : mapping of action names to numbers
        Actions that are not named have weight 0.
    at_least, at_most : float, optional
        At least one of the two. Equal limits make an equality.
    name : str
        What the constraint stands for, for people.

    Examples
    --------
    At most 40% of the days may be spent on thorough inspections:

    >>> Constraint({"thorough": 1.0}, at_most=0.4, name="budget").at_most
    0.4
    """

    weights: Mapping[str, float]
    at_least: float | None = None
    at_most: float | None = None
    name: str = ""

    def __post_init__(self) -> None:
        text("constraint name", self.name)
        field = f"constraint {self.name!r}" if self.name else "constraint"
        given: object = self.weights
        if not isinstance(given, Mapping) or not given:
            raise InputError(
                f"{field}, weights", "a table of action names and numbers", shown(given)
            )
        weights = {
            text(f"{field}, action", action): _number(f"{field}, weight of {shown(action)}", weight)
            for action, weight in self.weights.items()
        }
        object.__setattr__(self, "weights", MappingProxyType(weights))
        for limit in ("at_least", "at_most"):
            value = getattr(self, limit)
            if value is not None:
                object.__setattr__(self, limit, _number(f"{field}, {limit}", value))
        if self.at_least is None and self.at_most is None:
            raise InputError(field, "at_least or at_most", "neither")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise InputError(
                field, "at_least to be no more than at_most", f"{self.at_least} > {self.at_most}"
            )

    def __hash__(self) -> int:
        return hash((tuple(sorted(self.weights.items())), self.at_least, self.at_most, self.name))

    def __reduce__(self) -> tuple[object, ...]:
        # A read-only mapping cannot be copied or sent to another process, a dictionary can.
        return Constraint, (dict(self.weights), self.at_least, self.at_most, self.name)

    @classmethod
    def from_table(cls, field: str, table: Any) -> Constraint:
        """Build a constraint from a table as it stands in a game file."""
        entries = table_of(
            field,
            table,
            {"weights": "a table of action names and numbers"},
            ("at_least", "at_most", "name"),
        )
        try:
            return cls(**entries)
        except InputError as error:
            raise error.inside(field) from None

    def to_table(self) -> Table:
        """Return the table that stands for this constraint in a game file."""
        table: Table = {"name": self.name} if self.name else {}
        table["weights"] = dict(self.weights)
        if self.at_least is not None:
            table["at_least"] = self.at_least
        if self.at_most is not None:
            table["at_most"] = self.at_most
        return table


def _number(field: str, value: object) -> float:
    return real_number(field, value) + 0.0  # −0 becomes 0, so that equal games hash alike


class Ball:
    """The points within ``radius`` of ``center``.

    Parameters
    ----------
    center : array-like or int
        The centre; a whole number n means the origin of ℝⁿ.
    radius : float

    Examples
    --------
    >>> Ball(2, 1.0).project([3.0, 4.0])
    array([0.6, 0.8])
    """

    kind = "ball"

    def __init__(self, center: npt.ArrayLike, radius: float = 1.0) -> None:
        if np.ndim(center) == 0:
            center = np.zeros(whole_number("dimension", center, at_least=1))
        self.center = real_vector("center", center)
        self.radius = real_number("radius", radius, at_least=0.0)
        self.dimension = len(self.center)

    @property
    def inner_radius(self) -> float:
        """The r of the largest ball B(0, r) inside."""
        return self.radius - float(np.linalg.norm(self.center))

    @property
    def outer_radius(self) -> float:
        """The R of the smallest ball B(0, R) around."""
        return self.radius + float(np.linalg.norm(self.center))

    @property
    def diameter(self) -> float:
        """The largest distance of two points."""
        return 2.0 * self.radius

    @property
    def limits(self) -> FloatArray:
        """The lowest (first row) and the highest value of each coordinate."""
        return np.array([self.center - self.radius, self.center + self.radius])

    def project(self, point: npt.ArrayLike, inset: float = 0.0) -> FloatArray:
        """Return the nearest point of the ball, or of its inset."""
        x = np.array(point, dtype=np.float64) - self.center
        length, radius = float(np.sqrt(x @ x)), _left(self.radius, inset)
        return self.center + (x if length <= radius else x * (radius / length))

    def argmax(self, direction: npt.ArrayLike) -> FloatArray:
        """Return a point of the ball that is furthest along ``direction``."""
        d = np.asarray(direction, dtype=np.float64)
        length = float(np.sqrt(d @ d))
        return self.center + (
            np.zeros(self.dimension) if length == 0 else d * (self.radius / length)
        )

    def contains(self, strategy: npt.ArrayLike, tolerance: float = PROBABILITY_TOLERANCE) -> bool:
        """Tell whether ``strategy`` lies in the ball, within ``tolerance``."""
        x = np.asarray(strategy, dtype=np.float64)
        if x.shape != (self.dimension,):
            return False
        x = x - self.center
        return bool(np.sqrt(x @ x) <= self.radius + tolerance)

    def check(self, field: str, strategy: npt.ArrayLike) -> FloatArray:
        """Return ``strategy`` as a point of the ball, or raise :class:`InputError`."""
        x = real_vector(field, strategy, self.dimension)
        if not self.contains(x):
            place = "the origin" if not self.center.any() else shown(self.center.tolist())
            raise InputError(field, f"a point within {self.radius:g} of {place}", shown(x.tolist()))
        return x

    def check_all(self, field: str, strategies: npt.ArrayLike) -> FloatArray:
        """Return one point or a stack of them as an array; refuse what is outside."""
        x = np.asarray(strategies, dtype=np.float64)
        rows = np.atleast_2d(x)
        inside = np.zeros(len(rows), dtype=np.bool_)
        if rows.shape[1] == self.dimension:
            apart = rows - self.center
            inside = np.sqrt((apart * apart).sum(axis=1)) <= self.radius + PROBABILITY_TOLERANCE
        if not inside.all():
            first = int(np.argmin(inside))
            self.check(f"{field}, row {first + 1}" if x.ndim == 2 else field, rows[first])
        return x

    def sample(self, count: int, seed: int | np.random.Generator) -> FloatArray:
        """Return ``count`` points drawn uniformly; ``seed`` may be a random stream."""
        rng = _rng(seed, "ball")
        rows = rng.normal(size=(count, self.dimension))
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        reach: FloatArray = rng.random((count, 1)) ** (1.0 / self.dimension)
        return self.center + self.radius * reach * rows / lengths

    def to_table(self) -> Table:
        """Return the table that stands for this ball in a file."""
        return {"kind": "ball", "dimension": self.dimension, "radius": self.radius}


class Polytope:
    """The bounded polytope {x : A x ≤ b, E x = f}.

    Build the common ones with :meth:`simplex`, :meth:`coverage` and :meth:`box`. They remember
    their ``kind``, because much is faster there; everything else is a ``"polytope"``.

    Parameters
    ----------
    inequality_rows, inequality_bounds : array-like, shapes (p, n) and (p,)
        A and b.
    equality_rows, equality_bounds : array-like, shapes (q, n) and (q,), optional
        E and f; by default none.

    Attributes
    ----------
    dimension : int
        The number n of coordinates.

    Examples
    --------
    >>> space = Polytope.simplex(3)
    >>> space.dimension, space.hull_dimension
    (3, 2)
    >>> space.contains([0.2, 0.3, 0.5]), space.contains([0.5, 0.6, -0.1])
    (True, False)
    >>> ball = space.inscribed_ball()
    >>> print(ball.center.round(3), round(ball.radius, 3))
    [0.333 0.333 0.333] 0.408
    >>> Polytope([[-1, 0], [0, -1], [1, 1]], [1, 1, 1]).project([3.0, 3.0])
    array([0.5, 0.5])
    """

    def __init__(
        self,
        inequality_rows: npt.ArrayLike,
        inequality_bounds: npt.ArrayLike,
        equality_rows: npt.ArrayLike | None = None,
        equality_bounds: npt.ArrayLike | None = None,
        kind: Literal["simplex", "coverage", "box", "polytope"] = "polytope",
    ) -> None:
        rows, bounds = inequality_rows, inequality_bounds
        if not isinstance(rows, np.ndarray) or not isinstance(bounds, np.ndarray):
            rows = real_matrix("rows", rows)
            bounds = real_vector("bounds", bounds, len(rows))
        self.inequality_rows, self.inequality_bounds = _read_only(rows), _read_only(bounds)
        self.dimension = int(self.inequality_rows.shape[1])
        if equality_rows is None:
            equality_rows, equality_bounds = np.zeros((0, self.dimension)), np.zeros(0)
        self.equality_rows, self.equality_bounds = map(_read_only, (equality_rows, equality_bounds))
        self.kind = kind

    def __repr__(self) -> str:
        return f"Polytope({self.kind}, {self.dimension} coordinates)"

    @classmethod
    def simplex(
        cls, actions: int | Sequence[str], constraints: Sequence[Constraint] = ()
    ) -> Polytope:
        """Return the mixed strategies over ``actions`` that satisfy every constraint."""
        m = actions if isinstance(actions, int) else len(actions)
        own = cls(-np.eye(m), np.zeros(m), np.ones((1, m)), np.ones(1), "simplex")
        return own._constrained(actions, constraints, "names of the principal's actions")

    @classmethod
    def coverage(
        cls,
        targets: int | Sequence[str],
        resources: float,
        constraints: Sequence[Constraint] = (),
    ) -> Polytope:
        """Return the coverage {c : 0 ≤ c ≤ 1, Σc ≤ resources} that satisfies every constraint.

        Examples
        --------
        >>> space = Polytope.coverage(3, resources=2)
        >>> space.contains([1.0, 0.5, 0.5]), space.contains([1.0, 1.0, 0.5])
        (True, False)
        >>> space.project([2.0, 1.0, 0.5])
        array([1.  , 0.75, 0.25])
        """
        n = targets if isinstance(targets, int) else len(targets)
        rows = np.vstack([-np.eye(n), np.eye(n), np.ones((1, n))])
        bounds = np.concatenate([np.zeros(n), np.ones(n), [resources]])
        own = cls(rows, bounds, kind="coverage")
        return own._constrained(targets, constraints, "names of targets")

    @classmethod
    def box(cls, low: npt.ArrayLike, high: npt.ArrayLike) -> Polytope:
        """Return the points between ``low`` and ``high`` in every coordinate.

        Examples
        --------
        >>> Polytope.box([-1, -1], [1, 2]).project([3.0, 0.5])
        array([1. , 0.5])
        """
        lower = real_vector("low", low)
        upper = real_vector("high", high, len(lower))
        if (lower >= upper).any():
            found = f"low {lower.tolist()}, high {upper.tolist()}"
            raise InputError("box", "low below high in every coordinate", found)
        rows = np.vstack([-np.eye(len(lower)), np.eye(len(lower))])
        return cls(rows, np.concatenate([-lower, upper]), kind="box")

    def _constrained(
        self, coordinates: int | Sequence[str], constraints: Sequence[Constraint], known: str
    ) -> Polytope:
        """Return the part that satisfies constraints on the named coordinates."""
        if not constraints:
            return self
        labels = [] if isinstance(coordinates, int) else list(coordinates)
        rows, bounds = [self.inequality_rows], [self.inequality_bounds]
        equal_rows, equal_bounds = [self.equality_rows], [self.equality_bounds]
        for constraint in constraints:
            weights = np.zeros(self.dimension)
            for action, weight in constraint.weights.items():
                if action not in labels:
                    field = f"constraint {constraint.name!r}, weights"
                    raise InputError(field, known, shown(action))
                weights[labels.index(action)] = weight
            # Largest weight 1: tolerances then mean the same for a constraint in any units.
            unit = float(np.abs(weights).max()) or 1.0
            row = weights[None, :] / unit
            low, high = constraint.at_least, constraint.at_most
            if low is not None and low == high:
                equal_rows.append(row)
                equal_bounds.append(np.array([low / unit]))
                continue
            if high is not None:
                rows.append(row)
                bounds.append(np.array([high / unit]))
            if low is not None:
                rows.append(-row)
                bounds.append(np.array([-low / unit]))
        space = Polytope(
            np.vstack(rows), np.hstack(bounds), np.vstack(equal_rows), np.hstack(equal_bounds)
        )
        if space._furthest(np.zeros(self.dimension)) is None:
            raise InputError("constraints", "at least one strategy that satisfies them all", "none")
        return space

    def cut(self, rows: FloatArray, bounds: FloatArray) -> Polytope:
        """Return the part of the polytope that also satisfies rows·x ≤ bounds."""
        return Polytope(
            np.vstack([self.inequality_rows, rows]),
            np.append(self.inequality_bounds, bounds),
            self.equality_rows,
            self.equality_bounds,
        )

    @cached_property
    def basis(self) -> FloatArray:
        """Orthonormal directions (columns) of the affine hull {x : E x = f}."""
        if self.kind == "simplex":
            # A Householder reflection that sends the first axis to 1/√m gives a basis of 1⊥.
            m = self.dimension
            v = np.full(m, 1 / np.sqrt(m))
            v[0] += 1.0
            return _read_only((np.eye(m) - 2 * np.outer(v, v) / (v @ v))[:, 1:])
        if not len(self.equality_rows):
            return _read_only(np.eye(self.dimension))
        _, singular, right = np.linalg.svd(self.equality_rows)
        rank = int((singular > 1e-12 * singular.max(initial=1.0)).sum())
        return _read_only(right[rank:].T)

    @property
    def hull_dimension(self) -> int:
        """The dimension of the affine hull: m − 1 for the simplex."""
        return int(self.basis.shape[1])

    @cached_property
    def enclosing_simplex(self) -> FloatArray:
        """The vertices v_i (rows) of a simplex that contains the polytope.

        A point is x = Σ z_i v_i with weights z ≥ 0, Σz = 1 that satisfy :attr:`homogeneous_rows`,
        so that one kind of linear program serves every polytope. For mixed strategies z = x.
        """
        n = self.dimension
        if self._inside_simplex:
            return np.eye(n)
        lowest = np.array([-float(-d @ self.argmax(-d)) for d in np.eye(n)])
        ones = np.ones(n)
        width = float(ones @ self.argmax(ones)) - lowest.sum()
        return lowest + np.vstack([np.zeros(n), max(width, 1e-12) * np.eye(n)])

    @cached_property
    def homogeneous_rows(self) -> FloatArray:
        """Rows c with ⟨c, z⟩ ≤ 0 that cut the polytope out of its :attr:`enclosing_simplex`."""
        around = self.enclosing_simplex.T
        rows = self.inequality_rows @ around - self.inequality_bounds[:, None]
        equal = self.equality_rows @ around - self.equality_bounds[:, None]
        both = np.vstack([rows, equal, -equal])
        return np.ascontiguousarray(both[(both > 1e-15 * np.abs(both).max()).any(axis=1)])

    @cached_property
    def pure(self) -> Polytope:
        """Where actions drawn from strategies live: constraints bind mixtures, not single draws."""
        n = self.dimension
        if self._inside_simplex:
            return Polytope.simplex(n)
        if self._inside_coverage:
            return Polytope.coverage(n, float(self.inequality_bounds[2 * n]))
        return self

    @property
    def _inside_coverage(self) -> bool:
        """Whether the first rows say 0 ≤ x ≤ 1 and Σx ≤ r, as :meth:`coverage` writes them."""
        n = self.dimension
        return bool(
            len(self.inequality_rows) > 2 * n
            and np.array_equal(self.inequality_rows[:n], -np.eye(n))
            and not self.inequality_bounds[:n].any()
            and np.array_equal(self.inequality_rows[n : 2 * n], np.eye(n))
            and (self.inequality_bounds[n : 2 * n] == 1).all()
            and (self.inequality_rows[2 * n] == 1).all()
        )

    @property
    def _inside_simplex(self) -> bool:
        """Whether the first rows say x ≥ 0 and Σx = 1, as :meth:`simplex` writes them."""
        n = self.dimension
        return bool(
            len(self.inequality_rows) >= n
            and np.array_equal(self.inequality_rows[:n], -np.eye(n))
            and not self.inequality_bounds[:n].any()
            and len(self.equality_rows) > 0
            and (self.equality_rows[0] == 1).all()
            and self.equality_bounds[0] == 1
        )

    @property
    def _holds_origin(self) -> bool:
        return not len(self.equality_rows) and bool(self.inequality_bounds.min() > 0)

    @property
    def bounded_around_origin(self) -> bool:
        """Whether the polytope is bounded and 0 strictly inside."""
        sides = np.vstack([np.eye(self.dimension), -np.eye(self.dimension)])
        return self._holds_origin and all(self._program(d) is not None for d in sides)

    def contains(self, strategy: npt.ArrayLike, tolerance: float = PROBABILITY_TOLERANCE) -> bool:
        """Tell whether ``strategy`` lies in the polytope, within ``tolerance`` in each row."""
        x = np.asarray(strategy, dtype=np.float64)
        return bool(
            x.shape == (self.dimension,)
            and np.isfinite(x).all()
            and (self.inequality_rows @ x <= self.inequality_bounds + tolerance).all()
            and (np.abs(self.equality_rows @ x - self.equality_bounds) <= tolerance).all()
        )

    def check_all(self, field: str, strategies: npt.ArrayLike) -> FloatArray:
        """Return one strategy or a stack of them as an array, as given; refuse what is none."""
        try:
            given = np.asarray(strategies)
        except ValueError:  # rows of different lengths
            return self.check(field, strategies)
        if given.ndim > 2:
            found = f"an array of {given.ndim} dimensions"
            raise InputError(field, "one strategy or a list of them", found)
        if given.ndim == 0 or given.dtype.kind not in "fiu" or given.shape == (0,):
            return self.check(field, strategies)
        x = given.astype(np.float64)
        rows = np.atleast_2d(x)
        inside: BoolArray = np.zeros(len(rows), dtype=np.bool_)
        if rows.shape[1] == self.dimension:
            with np.errstate(invalid="ignore"):
                over = rows @ self.inequality_rows.T - self.inequality_bounds
                off = np.abs(rows @ self.equality_rows.T - self.equality_bounds)
            limits = np.column_stack([over, off])
            inside = np.all(limits <= PROBABILITY_TOLERANCE, axis=1)
        if not inside.all():
            first = int(np.argmin(inside))
            self.check(f"{field}, row {first + 1}" if x.ndim == 2 else field, rows[first])
        return x

    def check(self, field: str, strategy: npt.ArrayLike) -> FloatArray:
        """Return ``strategy`` as a vector of this space, or raise :class:`InputError`."""
        x = real_vector(field, strategy, self.dimension)
        if self.kind == "simplex":
            if x.min() < -PROBABILITY_TOLERANCE:
                raise InputError(field, "probabilities of at least 0", shown(x.min()))
            if abs(x.sum() - 1) > PROBABILITY_TOLERANCE:
                raise InputError(field, "probabilities that sum to 1", f"a sum of {x.sum():.6g}")
            if x.min() < 0 or x.sum() != 1:
                x = np.maximum(x, 0.0)
                x = _read_only(x / x.sum())
        elif self.kind == "coverage" and not self.contains(x):
            resources = self.inequality_bounds[-1]
            if x.min() < -PROBABILITY_TOLERANCE or x.max() > 1 + PROBABILITY_TOLERANCE:
                worst = x.min() if x.min() < -PROBABILITY_TOLERANCE else x.max()
                raise InputError(field, "coverage from 0 to 1 of every target", shown(worst))
            expected = f"coverage that sums to at most {resources:g}, the number of resources"
            raise InputError(field, expected, f"a sum of {x.sum():.6g}")
        elif not self.contains(x):
            raise InputError(field, "a strategy that satisfies every constraint", shown(x.tolist()))
        return x

    def argmax(self, direction: npt.ArrayLike) -> FloatArray:
        """Return a point of the polytope that is furthest along ``direction``."""
        point = self._furthest(np.asarray(direction, dtype=np.float64))
        if point is None:
            raise InputError("strategy space", "a bounded polytope that is not empty", "neither")
        return point

    def _furthest(self, direction: FloatArray) -> FloatArray | None:
        n = self.dimension
        if self.kind == "simplex":
            vertex = np.zeros(n)
            vertex[int(np.argmax(direction))] = 1.0
            return vertex
        if self.kind == "coverage":  # the resources go where ``direction`` is largest
            order = np.argsort(-direction, kind="stable")
            point = np.zeros(n)
            point[order] = np.clip(float(self.inequality_bounds[-1]) - np.arange(n), 0.0, 1.0)
            point[direction <= 0] = 0.0
            return point
        if self.kind == "box":
            return np.where(direction > 0, self.limits[1], self.limits[0])
        if self._holds_origin:
            corner: FloatArray = self.vertices[int(np.argmax(self.vertices @ direction))]
            return corner.copy()
        return self._program(direction)

    def _program(self, direction: FloatArray) -> FloatArray | None:
        """Return a furthest point by a linear program; None if there is none."""
        from scipy.optimize import linprog

        result = linprog(
            -direction,
            A_ub=self.inequality_rows,
            b_ub=self.inequality_bounds,
            A_eq=self.equality_rows,
            b_eq=self.equality_bounds,
            bounds=(None, None),
            method="highs",
        )
        return None if result.x is None else np.asarray(result.x, dtype=np.float64)

    def project(self, point: npt.ArrayLike, inset: float = 0.0) -> FloatArray:
        """Return the nearest point of the polytope, or of its inset.

        Simplex, coverage and box in closed form. Otherwise a least-distance program, solved as
        nonnegative least squares (Lawson and Hanson 1974).

        Examples
        --------
        >>> Polytope.simplex(3).project([0.9, 0.5, -1.0])
        array([0.7, 0.3, 0. ])
        """
        x = np.array(point, dtype=np.float64)
        if self.kind == "box":
            _left(float(np.ptp(self.limits, axis=0).min()) / 2, inset)
            return np.clip(x, self.limits[0] + inset, self.limits[1] - inset)
        if inset == 0 and self.kind in ("simplex", "coverage"):
            return self._shifted(x)
        from scipy.optimize import nnls

        rows, normals = self.inequality_rows, self.inequality_rows
        if len(self.equality_rows):
            off = self.equality_rows @ x - self.equality_bounds
            x = x - np.linalg.lstsq(self.equality_rows, off, rcond=None)[0]
            normals = rows @ self.basis
        over = rows @ x - self.inequality_bounds + inset * np.linalg.norm(normals, axis=1)
        if over.max() <= 0:
            return x
        # min ‖u‖ with −A u ≥ over: the residual of min ‖[−Aᵀ; overᵀ] λ − e‖, λ ≥ 0.
        system = np.vstack([-normals.T, over])
        aim = np.append(np.zeros(normals.shape[1]), 1.0)
        weights, length = nnls(system, aim)
        if length < 1e-12:
            raise InputError("inset", "less than the radius of the inscribed ball", f"{inset:g}")
        residual = system @ weights - aim
        step = residual[:-1] / residual[-1]
        return x - (self.basis @ step if len(self.equality_rows) else step)

    def _shifted(self, x: FloatArray) -> FloatArray:
        """Return clip(x − λ, 0, top) for the λ at which it has the sum of the simplex or coverage.

        That is the projection (Karush, Kuhn and Tucker); the sum falls piecewise linearly in λ,
        with kinks at the entries of x and of x − top.
        """
        whole = self.kind == "simplex"
        top = np.inf if whole else 1.0
        total = 1.0 if whole else float(self.inequality_bounds[-1])
        inside: FloatArray = np.clip(x, 0.0, top)
        if not whole and inside.sum() <= total:
            return inside
        kinks = np.sort(x if whole else np.concatenate([x, x - 1.0]))
        # The last kink at which the sum still reaches the total; the sum is linear after it.
        low, high = 0, len(kinks) - 1
        while low < high:
            middle = (low + high + 1) // 2
            if np.clip(x - kinks[middle], 0.0, top).sum() >= total:
                low = middle
            else:
                high = middle - 1
        at = kinks[low]
        free = (x > at) & (x - at <= top)
        excess = float(np.clip(x - at, 0.0, top).sum()) - total
        if excess < 0:  # left of every kink of the simplex, where all entries are free
            free = np.ones(len(x), dtype=np.bool_)
            excess = float((x - at).sum()) - total
        return np.clip(x - at - excess / max(int(free.sum()), 1), 0.0, top)

    @cached_property
    def limits(self) -> FloatArray:
        """The lowest (first row) and the highest value of each coordinate."""
        n = self.dimension
        if self.kind == "box":
            return np.array([-self.inequality_bounds[:n], self.inequality_bounds[n:]])
        return np.array([[e @ self.argmax(s * e) for e in np.eye(n)] for s in (-1.0, 1.0)])

    @cached_property
    def inner_radius(self) -> float:
        """The r of the largest ball B(0, r) inside."""
        lengths = np.linalg.norm(self.inequality_rows, axis=1)
        return float((self.inequality_bounds / lengths).min())

    @cached_property
    def outer_radius(self) -> float:
        """The R of the smallest ball B(0, R) around."""
        if self.kind == "box":
            return float(np.linalg.norm(np.abs(self.limits).max(axis=0)))
        return float(np.linalg.norm(self.vertices, axis=1).max())

    @cached_property
    def diameter(self) -> float:
        """The largest distance of two points."""
        if self.kind == "box":
            return float(np.linalg.norm(self.limits[1] - self.limits[0]))
        corners = self.vertices
        return max(float(np.linalg.norm(corners - corner, axis=1).max()) for corner in corners)

    def inscribed_ball(self) -> Ball | None:
        """Return a largest ball inside the polytope, by one linear program; None if it is empty.

        The radius is 0 where the polytope has no interior within its hull.
        """
        from scipy.optimize import linprog

        n = self.dimension
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
        return Ball(result.x[:n], max(float(result.x[n]), 0.0))

    def sample(
        self, count: int, seed: int | np.random.Generator, thinning: int | None = None
    ) -> FloatArray:
        """Return ``count`` points, uniform for the simplex and boxes, else nearly so.

        The others are walked by hit-and-run from the inscribed ball's centre: each point is
        ``thinning`` steps after the one before it (by default ten times the dimension of the hull,
        at least thirty), after a start of fifty times as many. ``seed`` may be a random stream.
        """
        whole_number("count", count, at_least=1)
        if self.kind == "simplex":
            return _rng(seed, "simplex").dirichlet(np.ones(self.dimension), count)
        if self.kind == "box":
            low, high = self.limits
            return low + (high - low) * _rng(seed, "box").random((count, self.dimension))
        ball, d = self.inscribed_ball(), self.hull_dimension
        if ball is None or (ball.radius <= 0 and d > 0):
            raise InputError("polytope", "an interior to sample from", "none")
        if d == 0:
            return np.tile(ball.center, (count, 1))
        steps = thinning if thinning is not None else max(30, 10 * d)
        from stackcast.games._drawing import hit_and_run

        walk = hit_and_run(
            np.ascontiguousarray(self.inequality_rows @ self.basis),
            self.inequality_bounds - self.inequality_rows @ ball.center,
            count,
            whole_number("thinning", steps, at_least=1),
            50 * steps,
            _rng(seed, "hit and run"),
        )
        return ball.center + walk @ self.basis.T

    @cached_property
    def vertices(self) -> FloatArray:
        """The corners, as rows; those of a polygon counter-clockwise within the hull.

        There may be exponentially many in the dimension of the hull.
        """
        d = self.hull_dimension
        if self.kind == "box":
            pairs = np.meshgrid(*self.limits.T, indexing="ij")
            return np.column_stack([part.reshape(-1) for part in pairs])
        ball = self.inscribed_ball()
        if ball is None:
            return np.zeros((0, self.dimension))
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
        elif d == 2:
            corners = np.array([[-far, -far], [far, -far], [far, far], [-far, far]])
            for normal, gap in zip(rows, room, strict=True):
                if np.abs(normal).max() > _FLAT:
                    corners = _clipped(corners, normal, max(gap, 0.0))
        elif ball.radius > 0:
            from scipy.spatial import HalfspaceIntersection

            solid = np.linalg.norm(rows, axis=1) > _FLAT
            halfspaces = np.column_stack([rows[solid], -room[solid]])
            corners = np.asarray(HalfspaceIntersection(halfspaces, np.zeros(d)).intersections)
        else:
            raise InputError("polytope", "an interior, or a hull of at most two dimensions", f"{d}")
        return ball.center + corners @ self.basis.T

    def to_table(self) -> Table:
        """Return the table that stands for the domain of a continuous game in a file."""
        if self.kind == "box":
            low, high = self.limits.tolist()
            return {"kind": "box", "low": low, "high": high}
        rows, bounds = self.inequality_rows.tolist(), self.inequality_bounds.tolist()
        return {"kind": "polytope", "rows": rows, "bounds": bounds}


#: The name for a polytope of commitments.
StrategySpace = Polytope
Domain = Ball | Polytope


def drawn_actions(strategy: FloatArray, uniforms: FloatArray) -> FloatArray:
    """Return one action drawn from the strategy for each uniform number, as rows of 0s and 1s.

    From a mixed strategy exactly one coordinate is drawn; from a coverage vector a set of targets
    in which each is covered with its probability (systematic sampling).
    """
    if strategy.min() < 0 or strategy.max() > 1:
        raise InputError("strategy", "probabilities, for actions to be drawn", shown(strategy))
    from stackcast.games._drawing import systematic

    return systematic(strategy, uniforms)


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


def _rng(seed: int | np.random.Generator, purpose: str) -> np.random.Generator:
    return seed if isinstance(seed, np.random.Generator) else stream(seed, purpose)


def _left(radius: float, inset: float) -> float:
    if inset > 0 and inset >= radius:
        raise InputError("inset", f"less than the inner radius {radius:g}", f"{inset:g}")
    return radius - inset


def _read_only(values: Any) -> FloatArray:
    """Return a read-only array of our own."""
    array = np.array(values, dtype=np.float64, order="C")
    array.flags.writeable = False
    return array
