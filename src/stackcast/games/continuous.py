"""Continuous Stackelberg games (Section 5 of the paper).

The principal commits to a point x of a convex compact domain; the agent answers with the point
BR(x) that maximises U_A(x, ·). The principal's value of a commitment is C(x) = U_P(x, BR(x)), and
V* = max C. The theory asks (Assumption 5.1) that

(i) U_P is concave and Lipschitz in x, Lipschitz in y, and bounded;
(ii) BR(x) maximises U_A(x, ·) and is Lipschitz;
(iii) the domain is convex and B(0, r) ⊆ domain ⊆ B(0, R);
(iv) C is concave and Lipschitz.

:class:`Constants` holds the constants, and :func:`check_assumption` looks for points where a part
fails. A game of a family (:mod:`stackcast.games.families`) has everything in closed form and can be
saved; a game made of functions can be played, solved and audited all the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._notebook import InNotebook
from stackcast._random import stream
from stackcast._validation import InputError, names, real_number, shown, text, whole_number
from stackcast.games.game import Immutable
from stackcast.games.spaces import Ball, Domain, Polytope

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray, Table

#: A best response is accepted where the slope of the agent's utility is this part of the first.
_SLOPE = 1e-5
#: The steps of central differences, for exact functions and for those that are rough themselves:
#: about the cube root of the relative error of a value.
_FINE, _COARSE = 6e-6, 1e-4
#: What counts as 0 in the assumption's inequalities, in units of the utility's bound.
_ROUNDING = 1e-7
_SAMPLES = 200


@dataclass(frozen=True)
class Constants:
    """The constants of Assumption 5.1, each of them an upper bound unless it is an estimate.

    Attributes
    ----------
    lipschitz_strategy : float
        L_1: U_P(·, y) is Lipschitz with it, for every response y.
    lipschitz_response : float
        L_2: U_P(x, ·) is Lipschitz with it.
    utility_bound : float
        W_P: |U_P| is at most this.
    lipschitz_best_response : float
        L_BR: the best response is Lipschitz with it.
    lipschitz_value : float
        L_U: C(x) = U_P(x, BR(x)) is Lipschitz with it.
    estimated : tuple of str
        The names of those that come from sampled points: the true ones may be larger.
    """

    lipschitz_strategy: float
    lipschitz_response: float
    utility_bound: float
    lipschitz_best_response: float
    lipschitz_value: float
    estimated: tuple[str, ...] = ()


CONSTANT_NAMES = tuple(name for name in Constants.__dataclass_fields__ if name != "estimated")


@dataclass(frozen=True, eq=False)
class Family:
    """Where a game of a family comes from: what a file says of it, and its constants.

    ``data`` holds arrays that only some families have, by name.
    """

    name: str
    parameters: Mapping[str, Any]
    constants: Constants
    data: Mapping[str, Any]
    digest: str = ""  # of data that the parameters only name


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

    def utilities(self, strategy: npt.ArrayLike, responses: npt.ArrayLike) -> FloatArray:
        """Return U_P of the strategy and each response (row)."""
        x, y = np.asarray(strategy, dtype=np.float64), np.asarray(responses, dtype=np.float64)
        return self._side.utilities(x, y)

    def gradients(
        self, strategy: npt.ArrayLike, response: npt.ArrayLike
    ) -> tuple[FloatArray, FloatArray]:
        """Return the gradients of U_P in the strategy and in the response."""
        x, y = np.asarray(strategy, dtype=np.float64), np.asarray(response, dtype=np.float64)
        return self._side.gradients(x, y)


class ContinuousAgentView(_ContinuousView):
    """What an agent of a continuous game knows: its utility and the domain."""

    def __init__(self, game: ContinuousGame, side: AgentSide) -> None:
        super().__init__(game)
        self._side = side

    def utility(self, strategy: npt.ArrayLike, response: npt.ArrayLike) -> float:
        """Return U_A of the strategy and the response."""
        x, y = np.asarray(strategy, dtype=np.float64), np.asarray(response, dtype=np.float64)
        return float(self._side.utility(x, y))

    def best_responses(self, strategies: npt.ArrayLike) -> FloatArray:
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


class ContinuousGame(InNotebook, Immutable):
    """A game whose commitments and responses are points.

    Families with closed forms are made by :func:`stackcast.games.quadratic_game`,
    :func:`stackcast.games.strategic_score` and :func:`stackcast.games.strategic_classification`;
    this constructor makes a game of functions.

    Parameters
    ----------
    domain : Ball or Polytope
        Where the commitments x come from.
    principal_utility, agent_utility : function
        U_P(x, y) and U_A(x, y), of two vectors. U_P is concave in x.
    response_dimension : int
        The number of coordinates of a response y.
    best_response : function, optional
        BR(x); without it L-BFGS-B looks for the maximum of U_A(x, ·), and Newton steps polish it.
    response_limits : Polytope, optional
        A box (:meth:`Polytope.box`) where the solver looks for responses; by default anywhere.
    constants : mapping, optional
        Those of Assumption 5.1 that are known, by the names of :class:`Constants`; the others are
        estimated on sampled points, and labelled so.
    principal_features, response_features : sequence of str, optional
        Names of the coordinates of x and of y.
    name, description, source : str
        What the game is called, its story, and where it comes from.
    known_value : float, optional
        The Stackelberg value that the source states.

    Attributes
    ----------
    space : Ball or Polytope
        The domain.
    family : Family or None
        The family with its parameters; None for a game of functions.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = ContinuousGame(
    ...     Ball(1, 1.0),
    ...     principal_utility=lambda x, y: 0.5 * y[0] - x[0] ** 2,
    ...     agent_utility=lambda x, y: -((y[0] - x[0]) ** 2),
    ...     response_dimension=1,
    ... )
    >>> round(sc.solve(game).value, 6)  # C(x) = x/2 − x²
    0.0625
    """

    space: Domain
    response_dimension: int
    principal_features: tuple[str, ...]
    response_features: tuple[str, ...]
    name: str
    description: str
    source: str
    known_value: float | None
    family: Family | None
    _principal: PrincipalSide
    _agent: AgentSide
    _given: Mapping[str, float]

    def __init__(
        self,
        domain: Domain,
        principal_utility: Callable[[Any, Any], Any],
        agent_utility: Callable[[Any, Any], Any],
        response_dimension: int,
        *,
        best_response: Callable[[Any], Any] | None = None,
        response_limits: Polytope | None = None,
        constants: Mapping[str, float] | None = None,
        principal_features: Iterable[str] | None = None,
        response_features: Iterable[str] | None = None,
        name: str = "",
        description: str = "",
        source: str = "",
        known_value: float | None = None,
    ) -> None:
        checked_domain(domain)
        for field, function in (
            ("principal_utility", principal_utility),
            ("agent_utility", agent_utility),
            ("best_response", best_response or agent_utility),
        ):
            if not callable(function):
                raise InputError(field, "a function of vectors", shown(function))
        k = whole_number("response_dimension", response_dimension, at_least=1)
        responses = (
            NumericResponse(agent_utility, domain, k, response_limits)
            if best_response is None
            else checked_responses(best_response, k)
        )
        side = AgentSide(
            lambda x, y: float(agent_utility(x, y)),
            responses,
            lambda x: central_differences(lambda at: responses(at[None])[0], x, _COARSE),
        )
        features = principal_features, response_features
        words = name, description, source
        self._set(
            domain, principal_side(principal_utility), side, k, None, features, words, known_value
        )
        self._given = _checked_constants(constants)

    @classmethod
    def of_family(
        cls,
        domain: Domain,
        principal: PrincipalSide,
        agent: AgentSide,
        response_dimension: int,
        family: Family,
        features: tuple[Iterable[str] | None, Iterable[str] | None],
        words: tuple[str, str, str],
        known_value: float | None,
    ) -> ContinuousGame:
        """Return a game whose functions are in closed form; families call it."""
        game = cls.__new__(cls)
        game._set(
            domain, principal, agent, response_dimension, family, features, words, known_value
        )
        game._given = {}
        return game

    def _set(
        self,
        domain: Domain,
        principal: PrincipalSide,
        agent: AgentSide,
        response_dimension: int,
        family: Family | None,
        features: tuple[Iterable[str] | None, Iterable[str] | None],
        words: tuple[str, str, str],
        known_value: float | None,
    ) -> None:
        self.space, self._principal, self._agent = domain, principal, agent
        self.response_dimension, self.family = response_dimension, family
        m, k = domain.dimension, response_dimension
        self.principal_features = names("principal_features", features[0], m, "coordinate")
        self.response_features = names("response_features", features[1], k, "response")
        self.name, self.description, self.source = (
            text(field, word)
            for field, word in zip(("name", "description", "source"), words, strict=True)
        )
        self.known_value = None if known_value is None else real_number("known_value", known_value)

    @cached_property
    def principal_view(self) -> ContinuousPrincipalView:
        """What the principal may know."""
        return ContinuousPrincipalView(self, self._principal)

    @cached_property
    def agent_view(self) -> ContinuousAgentView:
        """What the agent may know."""
        return ContinuousAgentView(self, self._agent)

    @cached_property
    def constants(self) -> Constants:
        """The constants of Assumption 5.1: of the family, given, or estimated and labelled so."""
        if self.family is not None:
            return self.family.constants
        missing = tuple(name for name in CONSTANT_NAMES if name not in self._given)
        found = estimate_constants(self) if missing else {}
        return Constants(**{**found, **self._given}, estimated=missing)

    def principal_utilities(self, strategy: npt.ArrayLike, responses: npt.ArrayLike) -> FloatArray:
        """Return U_P of the strategy and each response (row)."""
        return self.principal_view.utilities(strategy, responses)

    def agent_utility(self, strategy: npt.ArrayLike, response: npt.ArrayLike) -> float:
        """Return U_A of the strategy and the response."""
        return self.agent_view.utility(strategy, response)

    def best_responses(self, strategies: npt.ArrayLike) -> FloatArray:
        """Return the best response to each strategy (row)."""
        return self.agent_view.best_responses(strategies)

    def commitment_value(self, strategy: npt.ArrayLike) -> float:
        """Return C(x) = U_P(x, BR(x))."""
        return float(self.principal_utilities(strategy, self.best_responses(strategy))[0])

    def commitment_gradient(self, strategy: npt.ArrayLike) -> FloatArray:
        """Return ∇C(x) = ∇_x U_P + J_BRᵀ ∇_y U_P."""
        x = np.asarray(strategy, dtype=np.float64)
        in_strategy, in_response = self._principal.gradients(x, self.best_responses(x)[0])
        return in_strategy + self._agent.jacobian(x).T @ in_response

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all that is played: of the parameters, or of the functions at 64 points."""
        content = hashlib.sha256(json.dumps(self.space.to_table()).encode())
        if self.family is not None:
            content.update(json.dumps([self.family.name, self.family.digest]).encode())
            content.update(json.dumps(self.family.parameters, sort_keys=True).encode())
            return content.hexdigest()
        rng = stream(0, "fingerprint of a continuous game")
        for x in self.space.sample(64, rng):
            y = self._agent.responses(x[None])
            numbers = (self._principal.utilities(x, y)[0], self._agent.utility(x, y[0]))
            content.update(np.array(numbers, dtype=np.float64).tobytes() + y.tobytes())
        return content.hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ContinuousGame):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def _identity(self) -> tuple[object, ...]:
        return (
            self.fingerprint,
            self.principal_features,
            self.response_features,
            self.name,
            self.description,
            self.source,
            self.known_value,
        )

    def __repr__(self) -> str:
        kind = "of functions" if self.family is None else self.family.name
        label = f"{self.name}: " if self.name else ""
        sizes = f"{self.space.dimension} → {self.response_dimension} dimensions"
        return f"ContinuousGame({label}{kind}, {self.space.kind}, {sizes})"


def checked_domain(domain: Domain) -> Domain:
    """Return a domain that is bounded and has 0 strictly inside; refuse anything else."""
    if isinstance(domain, Ball):
        inside = domain.radius > 0 and not domain.center.any()
    elif isinstance(domain, Polytope):
        inside = domain.bounded_around_origin
    else:
        raise InputError("domain", "a Ball or a Polytope", shown(domain))
    if not inside:
        raise InputError("domain", "a bounded set with 0 strictly inside, a ball around 0", "none")
    return domain


def _checked_constants(given: Mapping[str, float] | None) -> dict[str, float]:
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not set(given) <= set(CONSTANT_NAMES):
        raise InputError(
            "constants", "a table with some of " + ", ".join(CONSTANT_NAMES), shown(given)
        )
    return {
        key: real_number(f"constants, {key}", value, at_least=0) for key, value in given.items()
    }


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

    def __call__(self, strategies: npt.ArrayLike) -> FloatArray:
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
            bend = central_differences(slopes, y, _COARSE)
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


@dataclass(frozen=True)
class AssumptionLine:
    """One part of the assumption on the sampled points.

    Attributes
    ----------
    part : str
        The part of Assumption 5.1, ``"(i)"`` to ``"(iv)"``.
    claim : str
        What it says.
    holds : bool
        Whether no sampled point denies it.
    worst : float
        The largest left side less right side: above 0 where it fails.
    where : tuple
        The points at which that is so, as lists.
    estimated : bool
        Whether the constant comes from sampled points itself, so that the line proves little.
    """

    part: str
    claim: str
    holds: bool
    worst: float
    where: tuple[list[float], ...]
    estimated: bool = False


@dataclass(frozen=True)
class AssumptionReport:
    """The lines of :func:`check_assumption`."""

    lines: tuple[AssumptionLine, ...]
    samples: int

    @property
    def holds(self) -> bool:
        """Whether no sampled point denies any part."""
        return all(line.holds for line in self.lines)

    @property
    def failed(self) -> tuple[AssumptionLine, ...]:
        """The lines that fail."""
        return tuple(line for line in self.lines if not line.holds)

    def to_dict(self) -> Table:
        """Return the report as plain values."""
        return {"samples": self.samples, "lines": [vars(line) for line in self.lines]}


def check_assumption(
    game: ContinuousGame, samples: int = _SAMPLES, seed: int = 0
) -> AssumptionReport:
    """Look for points at which a part of Assumption 5.1 fails.

    Parameters
    ----------
    game : ContinuousGame
    samples : int
        Pairs of points that are tried: half of them far apart, half of them near.
    seed : int

    Returns
    -------
    AssumptionReport
        "Holds" means that no sampled point denies it; a failure is a proof, with its points.

    Examples
    --------
    >>> from stackcast.games import load_game
    >>> check_assumption(load_game("strategic-score")).holds
    True
    """
    count = whole_number("samples", samples, at_least=1)
    constants = game.constants
    space = game.space
    tests: dict[tuple[str, str, str], tuple[float, tuple[FloatArray, ...]]] = {}

    def test(part: str, claim: str, constant: str, excess: float, *where: FloatArray) -> None:
        key = (part, claim, constant)
        if key not in tests or excess > tests[key][0]:
            tests[key] = (excess, where)

    value = game.commitment_value
    scale = max(1.0, constants.utility_bound)
    for x, other, y, apart in _pairs(game, count, seed):
        middle = 0.5 * (x + other)
        at = [float(game.principal_utilities(point, y[None])[0]) for point in (x, other, middle)]
        answers = game.best_responses(np.array([x, other]))
        near, far = answers
        moved = float(np.linalg.norm(near - far))
        between = game.principal_utilities(x, answers)
        values = [value(point) for point in (x, other, middle)]
        test(
            "(i)", "U_P is concave in the strategy", "", 0.5 * (at[0] + at[1]) - at[2], x, other, y
        )
        test(
            "(i)",
            "U_P is L₁-Lipschitz in the strategy",
            "lipschitz_strategy",
            abs(at[0] - at[1]) - constants.lipschitz_strategy * apart,
            x,
            other,
            y,
        )
        test(
            "(i)",
            "U_P is L₂-Lipschitz in the response",
            "lipschitz_response",
            float(abs(between[0] - between[1])) - constants.lipschitz_response * moved,
            x,
            near,
            far,
        )
        bound = max(map(abs, at)) - constants.utility_bound
        test("(i)", "|U_P| is at most W_P", "utility_bound", bound, x, other, y)
        better = game.agent_utility(x, far) - game.agent_utility(x, near)
        test("(ii)", "BR maximises the agent's utility", "", better, x, near, far)
        test(
            "(ii)",
            "BR is L_BR-Lipschitz",
            "lipschitz_best_response",
            moved - constants.lipschitz_best_response * apart,
            x,
            other,
        )
        outside = max(float(np.linalg.norm(x)) - space.outer_radius, apart - space.diameter)
        test("(iii)", "B(0, r) ⊆ domain ⊆ B(0, R), diameter D_P", "", outside, x, other)
        test(
            "(iii)",
            "the domain is convex",
            "",
            float(np.linalg.norm(space.project(middle) - middle)),
            x,
            other,
        )
        dent = 0.5 * (values[0] + values[1]) - values[2]
        test("(iv)", "C(x) = U_P(x, BR(x)) is concave", "", dent, x, other)
        test(
            "(iv)",
            "C is L_U-Lipschitz",
            "lipschitz_value",
            abs(values[0] - values[1]) - constants.lipschitz_value * apart,
            x,
            other,
        )
    return AssumptionReport(
        tuple(
            AssumptionLine(
                part,
                claim,
                bool(worst <= _ROUNDING * scale),
                float(worst),
                tuple(point.tolist() for point in where),
                constant in constants.estimated,
            )
            for (part, claim, constant), (worst, where) in tests.items()
        ),
        count,
    )


def estimate_constants(game: ContinuousGame, samples: int = _SAMPLES) -> dict[str, float]:
    """Return the largest slopes and sizes on sampled points: below the true constants, if any."""
    found = dict.fromkeys(CONSTANT_NAMES, 0.0)

    def raise_to(name: str, rise: float, run: float = 1.0) -> None:
        if run > 0:
            found[name] = max(found[name], abs(rise) / run)

    for x, other, y, apart in _pairs(game, samples, 0):
        answers = game.best_responses(np.array([x, other]))
        moved = float(np.linalg.norm(answers[0] - answers[1]))
        at = [float(game.principal_utilities(point, y[None])[0]) for point in (x, other)]
        between = game.principal_utilities(x, answers)
        raise_to("lipschitz_strategy", at[0] - at[1], apart)
        raise_to("lipschitz_response", float(between[0] - between[1]), moved)
        raise_to("utility_bound", max(map(abs, at)))
        raise_to("lipschitz_best_response", moved, apart)
        raise_to("lipschitz_value", game.commitment_value(x) - game.commitment_value(other), apart)
    return found


def _pairs(
    game: ContinuousGame, count: int, seed: int
) -> Iterator[tuple[FloatArray, FloatArray, FloatArray, float]]:
    """Yield pairs of strategies, a response to a third one, and their distance."""
    rng = stream(seed, "assumption")
    first, second, third = (game.space.sample(count, rng) for _ in range(3))
    corners = rng.normal(size=(count, game.space.dimension))
    for i in range(count):
        x = first[i] if i % 3 else game.space.argmax(corners[i])
        other = second[i]
        if i % 2:
            other = x + 0.01 * (other - x)
        yield x, other, game.best_responses(third[i])[0], float(np.linalg.norm(x - other))
