"""Strategy spaces: the polytope from which a principal takes its commitments.

The common case is the simplex, the mixed strategies over m actions. Linear constraints (budgets,
floors) cut it, and other games commit to other polytopes; all are stored alike, as

    {x ∈ ℝⁿ : A x ≤ b, E x = f}.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from stackcast._validation import (
    PROBABILITY_TOLERANCE,
    InputError,
    real_number,
    real_vector,
    shown,
    text,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray


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
        if not isinstance(table, Mapping):
            raise InputError(field, "a table with weights and a limit", shown(table))
        unknown = set(table) - {"weights", "at_least", "at_most", "name"}
        if unknown:
            raise InputError(
                field, "the keys weights, at_least, at_most, name", shown(min(unknown, key=str))
            )
        try:
            return cls(
                table.get("weights", {}),
                table.get("at_least"),
                table.get("at_most"),
                table.get("name", ""),
            )
        except InputError as error:
            raise error.inside(field) from None

    def to_table(self) -> dict[str, Any]:
        """Return the table that stands for this constraint in a game file."""
        table: dict[str, Any] = {"name": self.name} if self.name else {}
        table["weights"] = dict(self.weights)
        if self.at_least is not None:
            table["at_least"] = self.at_least
        if self.at_most is not None:
            table["at_most"] = self.at_most
        return table


def _number(field: str, value: object) -> float:
    return real_number(field, value) + 0.0  # −0 becomes 0, so that equal games hash alike


@dataclass(frozen=True, eq=False)
class StrategySpace:
    """A polytope of strategies {x : A x ≤ b, E x = f}.

    Build one with :meth:`simplex` or :meth:`coverage`. ``kind`` is ``"simplex"`` or ``"coverage"``
    where the space is exactly the probability simplex or all coverage of targets by resources,
    which many algorithms treat faster, and ``"polytope"`` otherwise.

    Examples
    --------
    >>> space = StrategySpace.simplex(3)
    >>> space.dimension, space.hull_dimension
    (3, 2)
    >>> space.contains([0.2, 0.3, 0.5]), space.contains([0.5, 0.6, -0.1])
    (True, False)
    """

    inequality_rows: FloatArray
    inequality_bounds: FloatArray
    equality_rows: FloatArray
    equality_bounds: FloatArray
    kind: Literal["simplex", "coverage", "polytope"] = "polytope"

    def __post_init__(self) -> None:
        for name in ("inequality_rows", "inequality_bounds", "equality_rows", "equality_bounds"):
            array = np.array(getattr(self, name), dtype=np.float64)
            object.__setattr__(self, name, _read_only(array))

    @classmethod
    def simplex(
        cls,
        actions: int | Sequence[str],
        constraints: Sequence[Constraint] = (),
    ) -> StrategySpace:
        """Return the mixed strategies over ``actions`` that satisfy every constraint."""
        m = actions if isinstance(actions, int) else len(actions)
        own = (-np.eye(m), np.zeros(m)), (np.ones((1, m)), np.ones(1))
        return cls._cut(*own, "simplex", actions, constraints)

    @classmethod
    def coverage(
        cls,
        targets: int | Sequence[str],
        resources: float,
        constraints: Sequence[Constraint] = (),
    ) -> StrategySpace:
        """Return the coverage {c : 0 ≤ c ≤ 1, Σc ≤ resources} that satisfies every constraint.

        Examples
        --------
        >>> space = StrategySpace.coverage(3, resources=2)
        >>> space.contains([1.0, 0.5, 0.5]), space.contains([1.0, 1.0, 0.5])
        (True, False)
        """
        n = targets if isinstance(targets, int) else len(targets)
        rows = np.vstack([-np.eye(n), np.eye(n), np.ones((1, n))])
        bounds = np.concatenate([np.zeros(n), np.ones(n), [resources]])
        own = (rows, bounds), (np.zeros((0, n)), np.zeros(0))
        return cls._cut(*own, "coverage", targets, constraints)

    @classmethod
    def _cut(
        cls,
        inequalities: tuple[FloatArray, FloatArray],
        equalities: tuple[FloatArray, FloatArray],
        kind: Literal["simplex", "coverage"],
        coordinates: int | Sequence[str],
        constraints: Sequence[Constraint],
    ) -> StrategySpace:
        """Return a space, cut by constraints on its named coordinates."""
        action_names = [] if isinstance(coordinates, int) else list(coordinates)
        rows, bounds = [inequalities[0]], [inequalities[1]]
        equal_rows, equal_bounds = [equalities[0]], [equalities[1]]
        m = rows[0].shape[1]
        for constraint in constraints:
            weights = np.zeros(m)
            for action, weight in constraint.weights.items():
                if action not in action_names:
                    raise InputError(
                        f"constraint {constraint.name!r}, weights",
                        "names of the principal's actions"
                        if kind == "simplex"
                        else "names of targets",
                        shown(action),
                    )
                weights[action_names.index(action)] = weight
            # Largest weight 1: tolerances then mean the same for a constraint in any units.
            unit = float(np.abs(weights).max()) or 1.0
            row = weights[None, :] / unit
            if constraint.at_least is not None and constraint.at_least == constraint.at_most:
                equal_rows.append(row)
                equal_bounds.append(np.array([constraint.at_least / unit]))
                continue
            if constraint.at_most is not None:
                rows.append(row)
                bounds.append(np.array([constraint.at_most / unit]))
            if constraint.at_least is not None:
                rows.append(-row)
                bounds.append(np.array([-constraint.at_least / unit]))
        space = cls(
            np.vstack(rows),
            np.concatenate(bounds),
            np.vstack(equal_rows),
            np.concatenate(equal_bounds),
            "polytope" if constraints else kind,
        )
        if constraints and space.support_point(np.zeros(m)) is None:
            raise InputError("constraints", "at least one strategy that satisfies them all", "none")
        return space

    @property
    def dimension(self) -> int:
        """The number of coordinates of a strategy."""
        return int(self.inequality_rows.shape[1])

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
        rank = int((singular > 1e-12 * max(1.0, singular.max(initial=0.0))).sum())
        return _read_only(right[rank:].T)

    @property
    def hull_dimension(self) -> int:
        """The dimension of the affine hull: m − 1 for the simplex."""
        return int(self.basis.shape[1])

    @cached_property
    def frame(self) -> FloatArray:
        """The vertices (rows) of a simplex that contains the space.

        A strategy is x = frameᵀ z with weights z ≥ 0, Σz = 1 that satisfy :attr:`cuts`, so that one
        kind of linear program serves every space. For mixed strategies the frame is the identity.
        """
        n = self.dimension
        if self._inside_simplex:
            return np.eye(n)
        lowest = np.array([-self._reach(-direction) for direction in np.eye(n)])
        width = self._reach(np.ones(n)) - lowest.sum()
        return lowest + np.vstack([np.zeros(n), max(width, 1e-12) * np.eye(n)])

    @cached_property
    def cuts(self) -> FloatArray:
        """Rows c with ⟨c, z⟩ ≤ 0 that cut the space out of its :attr:`frame`."""
        rows = self.inequality_rows @ self.frame.T - self.inequality_bounds[:, None]
        equal = self.equality_rows @ self.frame.T - self.equality_bounds[:, None]
        both = np.vstack([rows, equal, -equal])
        return np.ascontiguousarray(both[(both > 1e-15 * np.abs(both).max()).any(axis=1)])

    @cached_property
    def drawn(self) -> StrategySpace:
        """Where actions drawn from strategies live: constraints bind mixtures, not single draws."""
        n = self.dimension
        if self._inside_simplex:
            return StrategySpace.simplex(n)
        if self._inside_coverage:
            return StrategySpace.coverage(n, float(self.inequality_bounds[2 * n]))
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

    def _reach(self, direction: FloatArray) -> float:
        point = self.support_point(direction)
        if point is None:
            raise InputError("strategy space", "a bounded polytope that is not empty", "neither")
        return float(direction @ point)

    def contains(self, strategy: Any, tolerance: float = PROBABILITY_TOLERANCE) -> bool:
        """Tell whether ``strategy`` lies in the space, within ``tolerance`` in each constraint."""
        x = np.asarray(strategy, dtype=np.float64)
        return bool(
            x.shape == (self.dimension,)
            and np.isfinite(x).all()
            and (self.inequality_rows @ x <= self.inequality_bounds + tolerance).all()
            and (np.abs(self.equality_rows @ x - self.equality_bounds) <= tolerance).all()
        )

    def check_all(self, field: str, strategies: Any) -> FloatArray:
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
        inside: npt.NDArray[np.bool_] = np.zeros(len(rows), dtype=np.bool_)
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

    def check(self, field: str, strategy: Any) -> FloatArray:
        """Return ``strategy`` as a vector of this space, or say in one sentence why it is none."""
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

    def support_point(self, direction: Any) -> FloatArray | None:
        """Return a point of the space that is furthest along ``direction``; None if it is empty."""
        c = np.asarray(direction, dtype=np.float64)
        if self.kind == "simplex":
            vertex = np.zeros(self.dimension)
            vertex[int(np.argmax(c))] = 1.0
            return vertex
        if self.kind == "coverage":
            return self._covered(c)
        from scipy.optimize import linprog

        result = linprog(
            -c,
            A_ub=self.inequality_rows,
            b_ub=self.inequality_bounds,
            A_eq=self.equality_rows,
            b_eq=self.equality_bounds,
            bounds=(None, None),
            method="highs",
        )
        return None if result.x is None else np.asarray(result.x, dtype=np.float64)

    def _covered(self, direction: FloatArray) -> FloatArray:
        """Return the coverage that spends the resources where ``direction`` is largest."""
        order = np.argsort(-direction, kind="stable")
        left = float(self.inequality_bounds[-1]) - np.arange(self.dimension)
        point = np.zeros(self.dimension)
        point[order] = np.clip(left, 0.0, 1.0)
        point[direction <= 0] = 0.0
        return point


def _read_only(array: FloatArray) -> FloatArray:
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    return array
