"""Best responses by a solver, for games without a closed form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from stackcast._validation import FloatArray
    from stackcast.games.spaces import Domain, Polytope

#: A response is accepted where the slope of the agent's utility is this part of that at the start.
_SLOPE = 1e-5
#: The steps of central differences, for exact functions and for those that are rough themselves.
_FINE, COARSE = 6e-6, 1e-4


def central_differences(
    function: Callable[[Any], Any], point: FloatArray, size: float = _FINE
) -> FloatArray:
    """Return the derivatives of a function of a vector, one column for each coordinate.

    ``size`` is the step, relative to the size of a coordinate.
    """
    columns = []
    for j in range(len(point)):
        step = size * max(1.0, abs(float(point[j])))
        up, down = point.copy(), point.copy()
        up[j] += step
        down[j] -= step
        columns.append((np.asarray(function(up)) - np.asarray(function(down))) / (2 * step))
    return np.stack(columns, axis=-1)


class NumericResponse:
    """The map x → argmax_y U_A(x, y), found by SciPy.

    Each search starts at the best of a few known responses, found once on a cross of the domain:
    the start depends on x alone, so that an answer never depends on what was asked before. An
    answer is checked by the slope of U_A there; a search that does not end at a point without
    slope (within ``limits``: whose slope points out of the box) is an error that names the point.

    Parameters
    ----------
    utility : function
        U_A(x, y).
    domain : Domain
        Where x comes from.
    dimension : int
        The number of coordinates of a response.
    limits : Polytope, optional
        A box where responses must lie; by default anywhere.
    """

    def __init__(
        self,
        utility: Callable[[Any, Any], Any],
        domain: Domain,
        dimension: int,
        limits: Polytope | None = None,
    ) -> None:
        self._utility, self._dimension, self._limits = utility, dimension, limits
        self._starts = [np.zeros(dimension)]
        arms = 0.5 * domain.inner_radius * np.vstack([np.eye(domain.dimension)] * 2)
        arms[domain.dimension :] *= -1.0
        found = [self._search(x) for x in (np.zeros(domain.dimension), *arms)]
        self._starts = found

    def __call__(self, strategies: Any) -> FloatArray:
        """Return the best response to each row."""
        return np.array([self._search(x) for x in np.asarray(strategies, dtype=np.float64)])

    def _search(self, x: FloatArray) -> FloatArray:
        from scipy.optimize import minimize

        def loss(y: Any) -> Any:
            return -self._value(x, y)

        def slope(y: Any) -> Any:
            return central_differences(loss, y)

        start = max(self._starts, key=lambda y: self._value(x, y))
        bounds = None
        if self._limits is not None:
            bounds = self._limits.limits.T.tolist()
        result = minimize(
            loss,
            start,
            jac=slope,
            method="L-BFGS-B",
            bounds=bounds,
            options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 1000},
        )
        y, left = self._polished(loss, np.asarray(result.x, dtype=np.float64))
        steepest = max(1.0, float(np.abs(slope(start)).max()))
        if not left <= _SLOPE * steepest:
            found = f"none at the strategy {x.tolist()}: a slope of {left:.3g} after "
            raise InputError(
                "best response", "a solver that converges", f"{found}{result.nit} steps"
            )
        return y

    def _polished(
        self, loss: Callable[[FloatArray], float], y: FloatArray
    ) -> tuple[FloatArray, float]:
        """Return ``y`` after a few steps of Newton's method, and the slope that is left."""

        def slopes(at: FloatArray) -> FloatArray:
            return -central_differences(loss, at)

        def left(at: FloatArray) -> float:
            return float(np.abs(self._inside(at + slopes(at)) - at).max())

        remaining = left(y)
        for _ in range(3):
            bend = central_differences(slopes, y, COARSE)
            if not np.isfinite(bend).all() or np.linalg.matrix_rank(bend) < len(y):
                break
            new = self._inside(y - np.linalg.solve(bend, slopes(y)))
            found = left(new)
            if not found < remaining:
                break
            y, remaining = new, found
        return y, remaining

    def _inside(self, y: FloatArray) -> FloatArray:
        return y if self._limits is None else np.clip(y, *self._limits.limits)

    def _value(self, x: FloatArray, y: FloatArray) -> float:
        value = float(self._utility(x, y))
        if not np.isfinite(value):
            found = f"{value} at the strategy {x.tolist()} and the response {y.tolist()}"
            raise InputError("agent_utility", "finite numbers", found)
        return value
