"""The two sides of a continuous game: their functions, and the views that the players get."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError, shown
from stackcast.games.numeric_response import central_differences

if TYPE_CHECKING:
    from collections.abc import Callable

    from stackcast._validation import FloatArray
    from stackcast.games.continuous import ContinuousGame


@dataclass(frozen=True, eq=False)
class PrincipalSide:
    """U_P as functions: ``utilities(x, stack of y)`` and ``gradients(x, y)`` in x and in y."""

    utilities: Callable[[FloatArray, FloatArray], FloatArray]
    gradients: Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True, eq=False)
class AgentSide:
    """U_A as functions: ``utility(x, y)``, ``responses(stack of x)``, and BR's ``jacobian(x)``."""

    utility: Callable[[FloatArray, FloatArray], float]
    responses: Callable[[FloatArray], FloatArray]
    jacobian: Callable[[FloatArray], FloatArray]


class _ContinuousView:
    """What both sides know: the domain, the names of the coordinates, the fingerprint."""

    #: A continuous game has no list of responses.
    agent_actions: tuple[str, ...] = ()

    def __init__(self, game: ContinuousGame) -> None:
        self.space = game.space
        self.response_dimension = game.response_dimension
        self.principal_features = game.principal_features
        self.response_features = game.response_features
        self.fingerprint = game.fingerprint


class ContinuousPrincipalView(_ContinuousView):
    """What a principal of a continuous game knows: its utility and the domain."""

    def __init__(self, game: ContinuousGame, side: PrincipalSide) -> None:
        super().__init__(game)
        self._side = side

    def utilities(self, strategy: Any, responses: Any) -> FloatArray:
        """Return U_P of the strategy and each response (row)."""
        x, y = np.asarray(strategy, dtype=np.float64), np.asarray(responses, dtype=np.float64)
        return self._side.utilities(x, y)

    def gradients(self, strategy: Any, response: Any) -> tuple[FloatArray, FloatArray]:
        """Return the gradients of U_P in the strategy and in the response."""
        x, y = np.asarray(strategy, dtype=np.float64), np.asarray(response, dtype=np.float64)
        return self._side.gradients(x, y)


class ContinuousAgentView(_ContinuousView):
    """What an agent of a continuous game knows: its utility and the domain."""

    def __init__(self, game: ContinuousGame, side: AgentSide) -> None:
        super().__init__(game)
        self._side = side

    def utility(self, strategy: Any, response: Any) -> float:
        """Return U_A of the strategy and the response."""
        x, y = np.asarray(strategy, dtype=np.float64), np.asarray(response, dtype=np.float64)
        return float(self._side.utility(x, y))

    def best_responses(self, strategies: Any) -> FloatArray:
        """Return the best response to each strategy (row)."""
        return self._side.responses(np.atleast_2d(np.asarray(strategies, dtype=np.float64)))


def principal_side(utility: Callable[[Any, Any], Any]) -> PrincipalSide:
    """Return the side of a principal's utility that a user wrote; slopes are differences."""

    def utilities(x: FloatArray, responses: FloatArray) -> FloatArray:
        values = np.array([float(utility(x, y)) for y in responses])
        if not np.isfinite(values).all():
            raise InputError("principal_utility", "finite numbers", f"others at {x.tolist()}")
        return values

    def gradients(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        return (
            central_differences(lambda at: float(utility(at, y)), x),
            central_differences(lambda at: float(utility(x, at)), y),
        )

    return PrincipalSide(utilities, gradients)


def checked_responses(
    best_response: Callable[[Any], Any], dimension: int
) -> Callable[[FloatArray], FloatArray]:
    """Return a user's best response for stacks of strategies, every answer checked."""

    def responses(strategies: FloatArray) -> FloatArray:
        rows = []
        for x in strategies:
            y = np.asarray(best_response(x), dtype=np.float64)
            if y.shape != (dimension,) or not np.isfinite(y).all():
                found = f"{shown(y.tolist())} at {x.tolist()}"
                raise InputError("best_response", f"{dimension} finite numbers", found)
            rows.append(y)
        return np.array(rows).reshape(-1, dimension)

    return responses
