"""Games with finitely many responses: what a principal commits to, what an agent answers.

A *Stackelberg game* (Section 2 of the paper) is a tuple (A_P, A_A, U_P, U_A): the principal's
actions x = 0..m−1, the agent's actions y = 0..k−1, and two m×k payoff matrices. The principal
commits to a point h of a strategy space, the agent answers with one of its actions y, and both
utilities are affine in h, U(h, y) = Σ_x h_x U(x, y) + offset_y. In a :class:`FiniteGame` h is a
mixed strategy and the offsets are 0; :class:`~stackcast.games.SecurityGame` commits to coverage.
An action y is a *best response* to h if no other gives the agent more, BR(h) = argmax_y U_A(h, y).
What is written against :class:`Game` serves both kinds.

A principal is built from a :class:`PrincipalView`, an agent from an :class:`AgentView`. Neither can
reach the other's payoffs; both carry the fingerprint of the game, so that a transcript can be
matched with its game.

Rows are always the principal's actions, columns the agent's.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from stackcast._notebook import InNotebook
from stackcast._validation import (
    InputError,
    names,
    one_of,
    real_matrix,
    real_number,
    shown,
    text,
)
from stackcast.games.spaces import Constraint, Polytope

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import BoolArray, FloatArray, IntArray, Table

#: Two utilities of an agent are tied when they differ by no more than this times the agent's scale.
#: Best-response sets, regions and the one-shot solver all use this one number: far above the
#: rounding of a dot product, far below any difference that a user could mean.
BEST_RESPONSE_TOLERANCE = 1e-13

TieRule = Literal["lowest", "random"]


@dataclass(frozen=True, eq=False, repr=False)
class _View:
    payoffs: FloatArray
    offsets: FloatArray
    principal_actions: tuple[str, ...]
    agent_actions: tuple[str, ...]
    space: Polytope
    fingerprint: str

    def __repr__(self) -> str:
        m, k = self.payoffs.shape
        rows, columns = few(self.principal_actions), few(self.agent_actions)
        return f"{type(self).__name__}({m}×{k}: {rows} × {columns})"

    def utilities(self, strategy: npt.ArrayLike) -> FloatArray:
        """Return this side's utility of every response; ``strategy`` may be a stack of rows."""
        return np.asarray(strategy, dtype=np.float64) @ self.payoffs + self.offsets

    @cached_property
    def scale(self) -> float:
        """The widest difference that the response can make, over the pure strategies."""
        with np.errstate(over="ignore"):
            spread = float((self.payoffs.max(axis=1) - self.payoffs.min(axis=1)).max())
            spread += float(self.offsets.max() - self.offsets.min())
        return min(spread, float(np.finfo(np.float64).max)) if spread > 0 else 1.0


class PrincipalView(_View):
    """What a principal knows: its own payoffs and the names of the actions."""


class AgentView(_View):
    """What an agent knows: its own payoffs and the names of the actions."""

    def best_responses(
        self, strategy: npt.ArrayLike, tolerance: float = BEST_RESPONSE_TOLERANCE
    ) -> BoolArray:
        """Return which responses are best, within ``tolerance`` times :attr:`scale`.

        For a stack of strategies the answer has one row for each.
        """
        u = self.utilities(strategy)
        best = u.max(axis=-1, keepdims=True)
        return u >= best - tolerance * self.scale

    def respond(
        self,
        strategy: npt.ArrayLike,
        ties: TieRule = "lowest",
        rng: np.random.Generator | None = None,
    ) -> IntArray:
        """Return a best response to each strategy, ties broken by ``ties``.

        ``"lowest"`` takes the first of the tied actions in the game's order, the paper's
        deterministic preference; ``"random"`` takes each of them equally often and needs ``rng``.
        """
        tied = np.atleast_2d(self.best_responses(strategy))
        if one_of("ties", ties, ("lowest", "random")) == "lowest":
            return np.argmax(tied, axis=1)
        if rng is None:
            raise TypeError('ties="random" needs a random stream: pass rng=')
        rank = np.floor(rng.random(len(tied)) * tied.sum(axis=1))
        return np.argmax(np.cumsum(tied, axis=1) > rank[:, None], axis=1)


class Immutable:
    """An object whose annotated attributes can be set once."""

    def __setattr__(self, name: str, value: object) -> None:
        fields = (vars(kind).get("__annotations__", ()) for kind in type(self).__mro__)
        if name in self.__dict__ or not any(name in field for field in fields):
            raise AttributeError(f"a game cannot be changed: {name} is read-only")
        object.__setattr__(self, name, value)


class Game(InNotebook, Immutable, ABC):
    """A game of a principal who commits and an agent who answers with one of its actions.

    Games are immutable, and equal when all that a file holds of them is.

    Attributes
    ----------
    principal_actions, agent_actions : tuple of str
        The names of the coordinates of a strategy, and of the agent's actions.
    name, description, source : str
        What the game is called, its story, and where it comes from.
    known_value : float or None
        The Stackelberg value that the source states, if it states one.
    constraints : tuple of Constraint
        The linear constraints on the principal's commitments.
    space : Polytope
        Where the principal's strategies live.
    fingerprint : str
        A hash of all that determines play.
    principal_view, agent_view
        What each side may know.
    """

    principal_actions: tuple[str, ...]
    agent_actions: tuple[str, ...]
    name: str
    description: str
    source: str
    known_value: float | None
    constraints: tuple[Constraint, ...]

    def _describe(
        self,
        name: str,
        description: str,
        source: str,
        known_value: float | None,
        constraints: Iterable[Constraint | Mapping[str, Any]],
    ) -> None:
        self.name = text("name", name)
        self.description = text("description", description)
        self.source = text("source", source)
        self.known_value = None if known_value is None else real_number("known_value", known_value)
        if isinstance(constraints, Mapping | str) or not isinstance(constraints, Iterable):
            raise InputError("constraints", "a list of constraints", shown(constraints))
        self.constraints = tuple(
            c if isinstance(c, Constraint) else Constraint.from_table(f"constraints, entry {i}", c)
            for i, c in enumerate(constraints, start=1)
        )
        if self.constraints:
            _ = self.space  # says whether any strategy satisfies them

    @property
    def _story(self) -> Table:
        """The arguments that do not depend on units."""
        words = ("name", "description", "source", "constraints")
        return {word: getattr(self, word) for word in words}

    @property
    @abstractmethod
    def space(self) -> Polytope:
        """Where the principal's strategies live."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """A hash of all that determines play."""

    @property
    @abstractmethod
    def principal_view(self) -> PrincipalView:
        """What a principal may know of this game."""

    @property
    @abstractmethod
    def agent_view(self) -> AgentView:
        """What an agent may know of this game."""

    @abstractmethod
    def normalised(self) -> Self:
        """Return the game in units in which both sides' payoffs span [0, 1]."""

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers (m, k) of coordinates of a strategy and of the agent's actions."""
        return len(self.principal_actions), len(self.agent_actions)

    def principal_utilities(self, strategy: npt.ArrayLike) -> FloatArray:
        """Return U_P(h, y) for every y; ``strategy`` may be a stack of rows."""
        return self.principal_view.utilities(self.space.check_all("strategy", strategy))

    def agent_utilities(self, strategy: npt.ArrayLike) -> FloatArray:
        """Return U_A(h, y) for every y; ``strategy`` may be a stack of rows."""
        return self.agent_view.utilities(self.space.check_all("strategy", strategy))

    def best_responses(
        self, strategy: npt.ArrayLike, tolerance: float = BEST_RESPONSE_TOLERANCE
    ) -> BoolArray:
        """Return which agent actions are best responses (see :meth:`AgentView.best_responses`)."""
        real_number("tolerance", tolerance, at_least=0)
        return self.agent_view.best_responses(self.space.check_all("strategy", strategy), tolerance)

    def respond(
        self,
        strategy: npt.ArrayLike,
        ties: TieRule = "lowest",
        rng: np.random.Generator | None = None,
    ) -> IntArray:
        """Return a best response to each strategy (see :meth:`AgentView.respond`)."""
        return self.agent_view.respond(self.space.check_all("strategy", strategy), ties, rng)

    def _hash(self, words: list[Any], *payoffs: FloatArray) -> str:
        words = [*words, [c.to_table() for c in self.constraints]]
        digest = hashlib.sha256(json.dumps(words, sort_keys=True).encode())
        for numbers in payoffs:
            digest.update(numbers.astype("<f8").tobytes())
        return digest.hexdigest()[:32]

    def _identity(self) -> tuple[object, ...]:
        return self.fingerprint, self.name, self.description, self.source, self.known_value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Game):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())


class FiniteGame(Game):
    """A finite game between a principal (rows) and an agent (columns).

    Parameters
    ----------
    principal_payoffs, agent_payoffs : array-like, shape (m, k)
        U_P and U_A; any sign and scale. The arrays kept cannot be written to.
    principal_actions, agent_actions : sequence of str, optional
        Names of the rows and of the columns.
    name, description, source : str
        What the game is called, its story, and where it comes from.
    known_value : float, optional
        The Stackelberg value that the source states.
    constraints : sequence of Constraint, optional
        Linear constraints on the principal's commitments.

    Examples
    --------
    The textbook example of why commitment pays (Conitzer and Sandholm 2006):

    >>> game = FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]],
    ...                   principal_actions=["up", "down"], agent_actions=["left", "right"])
    >>> game
    FiniteGame(2×2: up, down × left, right)
    >>> game.principal_utilities([0.5, 0.5])
    array([0.5, 2.5])
    >>> game.best_responses([0.5, 0.5])
    array([ True,  True])
    """

    principal_payoffs: FloatArray
    agent_payoffs: FloatArray

    def __init__(
        self,
        principal_payoffs: npt.ArrayLike,
        agent_payoffs: npt.ArrayLike,
        principal_actions: Iterable[str] | None = None,
        agent_actions: Iterable[str] | None = None,
        *,
        name: str = "",
        description: str = "",
        source: str = "",
        known_value: float | None = None,
        constraints: Iterable[Constraint | Mapping[str, Any]] = (),
    ) -> None:
        self.principal_payoffs = real_matrix("principal_payoffs", principal_payoffs)
        self.agent_payoffs = real_matrix("agent_payoffs", agent_payoffs)
        m, k = self.principal_payoffs.shape
        if self.agent_payoffs.shape != (m, k):
            found = "×".join(map(str, self.agent_payoffs.shape))
            raise InputError("agent_payoffs", f"{m}×{k} numbers as in principal_payoffs", found)
        self.principal_actions = names("principal_actions", principal_actions, m, "row")
        self.agent_actions = names("agent_actions", agent_actions, k, "column")
        self._describe(name, description, source, known_value, constraints)

    @cached_property
    def space(self) -> Polytope:
        """The principal's strategy space: the simplex, cut by the constraints."""
        return Polytope.simplex(self.principal_actions, self.constraints)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all that determines play: payoffs, action names, constraints."""
        words = [list(self.principal_actions), list(self.agent_actions)]
        return self._hash(words, self.principal_payoffs, self.agent_payoffs)

    @cached_property
    def principal_view(self) -> PrincipalView:
        """What a principal may know of this game."""
        return PrincipalView(self.principal_payoffs, *self._shared_knowledge())

    @cached_property
    def agent_view(self) -> AgentView:
        """What an agent may know of this game."""
        return AgentView(self.agent_payoffs, *self._shared_knowledge())

    def _shared_knowledge(
        self,
    ) -> tuple[FloatArray, tuple[str, ...], tuple[str, ...], Polytope, str]:
        offsets = np.zeros(self.shape[1])
        offsets.flags.writeable = False
        return offsets, self.principal_actions, self.agent_actions, self.space, self.fingerprint

    def normalised(self) -> FiniteGame:
        """Return the game in units in which both sides' payoffs span [0, 1]."""
        known, payoffs = self.known_value, self.principal_payoffs
        return FiniteGame(
            to_unit(payoffs, payoffs),
            to_unit(self.agent_payoffs, self.agent_payoffs),
            self.principal_actions,
            self.agent_actions,
            known_value=None if known is None else float(to_unit(np.array(known), payoffs)),
            **self._story,
        )

    def __repr__(self) -> str:
        m, k = self.shape
        label = f"{self.name!r}, " if self.name else ""
        rows, columns = few(self.principal_actions), few(self.agent_actions)
        return f"FiniteGame({label}{m}×{k}: {rows} × {columns})"


def few(labels: tuple[str, ...]) -> str:
    """Return the first of some names in a row, with what cannot be printed escaped."""
    chosen = labels if len(labels) <= 4 else (*labels[:3], "…")
    return ", ".join("".join(c if c.isprintable() else ascii(c)[1:-1] for c in n) for n in chosen)


def to_unit(values: FloatArray, payoffs: FloatArray) -> FloatArray:
    """Map values by the affine function that takes payoffs onto [0, 1]."""
    # A power of two first: exact, and no width is then too large or too small for a float.
    exponent = -int(np.frexp(np.abs(payoffs).max())[1])
    low, high = np.ldexp(payoffs.min(), exponent), np.ldexp(payoffs.max(), exponent)
    return (np.ldexp(values, exponent) - low) / (high - low if high > low else 1.0)
