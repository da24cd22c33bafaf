"""Continuous Stackelberg games (Section 5 of the paper).

The principal commits to a point x of a convex compact domain; the agent answers with the point
BR(x) that maximises U_A(x, ·). The principal's value of a commitment is C(x) = U_P(x, BR(x)), and
V* = max C. The theory asks (Assumption 5.1) that U_P is concave and Lipschitz in x and Lipschitz in
y, that BR is Lipschitz, and that C is concave and Lipschitz: :class:`Constants` holds the
constants, and :func:`stackcast.games.check_assumption` looks for points where they fail.

A game of a family (:mod:`stackcast.games.families`) has everything in closed form and can be saved;
a game made of functions can be played, solved and audited all the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._notebook import InNotebook
from stackcast._random import stream
from stackcast._validation import InputError, names, real_number, shown, text, whole_number
from stackcast.games.continuous_sides import (
    AgentSide,
    ContinuousAgentView,
    ContinuousPrincipalView,
    PrincipalSide,
    checked_responses,
    principal_side,
)
from stackcast.games.numeric_response import COARSE, NumericResponse, central_differences
from stackcast.games.spaces import Ball, Domain, Polytope

if TYPE_CHECKING:
    from rich.text import Text

    from stackcast._validation import FloatArray

CONSTANT_NAMES = (
    "utility_in_strategy",
    "utility_in_response",
    "utility_bound",
    "response",
    "value",
)


@dataclass(frozen=True)
class Constants:
    """The constants of Assumption 5.1, each of them an upper bound unless it is an estimate.

    Attributes
    ----------
    utility_in_strategy : float
        L_1: U_P(·, y) is Lipschitz with it, for every response y.
    utility_in_response : float
        L_2: U_P(x, ·) is Lipschitz with it.
    utility_bound : float
        W_P: |U_P| is at most this.
    response : float
        L_BR: the best response is Lipschitz with it.
    value : float
        L_U: C(x) = U_P(x, BR(x)) is Lipschitz with it.
    estimated : tuple of str
        The names of those that come from sampled points: the true ones may be larger.
    """

    utility_in_strategy: float
    utility_in_response: float
    utility_bound: float
    response: float
    value: float
    estimated: tuple[str, ...] = ()


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


class ContinuousGame(InNotebook):
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
        BR(x); without it a solver looks for the maximum of U_A(x, ·), see
        :class:`~stackcast.games.numeric_response.NumericResponse`.
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
        self._set(
            domain,
            principal_side(principal_utility),
            AgentSide(
                lambda x, y: float(agent_utility(x, y)),
                responses,
                lambda x: central_differences(lambda at: responses(at[None])[0], x, COARSE),
            ),
            k,
            None,
            (principal_features, response_features),
            (name, description, source),
            known_value,
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
        texts: tuple[str, str, str],
        known_value: float | None,
    ) -> ContinuousGame:
        """Return a game whose functions are in closed form; families call it."""
        game = cls.__new__(cls)
        game._set(
            domain, principal, agent, response_dimension, family, features, texts, known_value
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
        texts: tuple[str, str, str],
        known_value: float | None,
    ) -> None:
        self._space, self._principal, self._agent = checked_domain(domain), principal, agent
        self._response_dimension, self._family = response_dimension, family
        m = domain.dimension
        self._principal_features = names("principal_features", features[0], m, "coordinate")
        self._response_features = names(
            "response_features", features[1], response_dimension, "response"
        )
        self._name, self._description, self._source = (
            text(field, word)
            for field, word in zip(("name", "description", "source"), texts, strict=True)
        )
        self._known_value = None if known_value is None else real_number("known_value", known_value)

    @property
    def space(self) -> Domain:
        """The domain of the commitments."""
        return self._space

    @property
    def response_dimension(self) -> int:
        """The number of coordinates of a response."""
        return self._response_dimension

    @property
    def principal_features(self) -> tuple[str, ...]:
        """The names of a commitment's coordinates."""
        return self._principal_features

    @property
    def response_features(self) -> tuple[str, ...]:
        """The names of a response's coordinates."""
        return self._response_features

    @property
    def name(self) -> str:
        """What the game is called."""
        return self._name

    @property
    def description(self) -> str:
        """The story of the game."""
        return self._description

    @property
    def source(self) -> str:
        """Where the game comes from."""
        return self._source

    @property
    def known_value(self) -> float | None:
        """The Stackelberg value that the source states."""
        return self._known_value

    @property
    def family(self) -> Family | None:
        """The family with its parameters; None for a game of functions."""
        return self._family

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
        if self._family is not None:
            return self._family.constants
        from stackcast.games.assumption import estimate_constants

        missing = tuple(name for name in CONSTANT_NAMES if name not in self._given)
        found = estimate_constants(self) if missing else {}
        return Constants(**{**found, **self._given}, estimated=missing)

    def principal_utilities(self, strategy: Any, responses: Any) -> FloatArray:
        """Return U_P of the strategy and each response (row)."""
        return self.principal_view.utilities(strategy, responses)

    def agent_utility(self, strategy: Any, response: Any) -> float:
        """Return U_A of the strategy and the response."""
        return self.agent_view.utility(strategy, response)

    def best_responses(self, strategies: Any) -> FloatArray:
        """Return the best response to each strategy (row)."""
        return self.agent_view.best_responses(strategies)

    def commitment_value(self, strategy: Any) -> float:
        """Return C(x) = U_P(x, BR(x))."""
        return float(self.principal_utilities(strategy, self.best_responses(strategy))[0])

    def commitment_gradient(self, strategy: Any) -> FloatArray:
        """Return ∇C(x) = ∇_x U_P + J_BRᵀ ∇_y U_P."""
        x = np.asarray(strategy, dtype=np.float64)
        in_strategy, in_response = self._principal.gradients(x, self.best_responses(x)[0])
        return in_strategy + self._agent.jacobian(x).T @ in_response

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all that is played: of the parameters, or of the functions at 64 points."""
        content = hashlib.sha256(json.dumps(self._space.to_table()).encode())
        if self._family is not None:
            content.update(json.dumps([self._family.name, self._family.digest]).encode())
            content.update(json.dumps(self._family.parameters, sort_keys=True).encode())
            return content.hexdigest()
        rng = stream(0, "fingerprint of a continuous game")
        for x in self._space.sample(64, rng):
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
            self._principal_features,
            self._response_features,
            self._name,
            self._description,
            self._source,
            self._known_value,
        )

    def __rich__(self) -> Text:
        """Return the game for a terminal: domain, coordinates and constants."""
        from rich.text import Text

        c = self.constants
        label = " (estimated: " + ", ".join(c.estimated) + ")" if c.estimated else ""
        return Text(
            f"{self!r}\ncommitment: {', '.join(self._principal_features)}\n"
            f"response: {', '.join(self._response_features)}\n"
            f"L₁ {c.utility_in_strategy:.4g}, L₂ {c.utility_in_response:.4g}, "
            f"W_P {c.utility_bound:.4g}, L_BR {c.response:.4g}, L_U {c.value:.4g}{label}"
        )

    def __repr__(self) -> str:
        kind = "of functions" if self._family is None else self._family.name
        label = f"{self._name}: " if self._name else ""
        sizes = f"{self._space.dimension} → {self._response_dimension} dimensions"
        return f"ContinuousGame({label}{kind}, {self._space.kind}, {sizes})"


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
