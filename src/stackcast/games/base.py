"""What the games with finitely many responses share, whatever the principal commits to.

A principal commits to a point x of a strategy space, the agent answers with one of its actions y,
and both utilities are affine in x. :class:`FiniteGame` commits to mixed strategies,
:class:`SecurityGame` to coverage. What is written against this class serves both: play,
transcripts, agents, audits and reports.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from stackcast._notebook import InNotebook
from stackcast._validation import InputError, real_number, shown, text
from stackcast.games.spaces import Constraint
from stackcast.games.views import BEST_RESPONSE_TOLERANCE, AgentView, PrincipalView, TieRule

if TYPE_CHECKING:
    import numpy.typing as npt
    from rich.table import Table

    from stackcast._validation import FloatArray
    from stackcast.games.spaces import StrategySpace


class Game(InNotebook, ABC):
    """A game of a principal who commits and an agent who answers with one of its actions.

    Games are immutable, and equal when all that a file holds of them is.
    """

    def __init__(
        self,
        name: str,
        description: str,
        source: str,
        known_value: float | None,
        constraints: Iterable[Constraint | Mapping[str, Any]],
    ) -> None:
        self._name = text("name", name)
        self._description = text("description", description)
        self._source = text("source", source)
        self._known_value = None if known_value is None else real_number("known_value", known_value)
        if isinstance(constraints, Mapping | str) or not isinstance(constraints, Iterable):
            raise InputError("constraints", "a list of constraints", shown(constraints))
        self._constraints = tuple(
            c if isinstance(c, Constraint) else Constraint.from_table(f"constraints, entry {i}", c)
            for i, c in enumerate(constraints, start=1)
        )

    @property
    @abstractmethod
    def principal_actions(self) -> tuple[str, ...]:
        """The names of the coordinates of a strategy."""

    @property
    @abstractmethod
    def agent_actions(self) -> tuple[str, ...]:
        """The names of the agent's actions."""

    @property
    @abstractmethod
    def space(self) -> StrategySpace:
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

    @property
    def name(self) -> str:
        """What the game is called."""
        return self._name

    @property
    def description(self) -> str:
        """The game's story."""
        return self._description

    @property
    def source(self) -> str:
        """Where the game comes from."""
        return self._source

    @property
    def known_value(self) -> float | None:
        """The Stackelberg value that the source states, if it states one."""
        return self._known_value

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The linear constraints on the principal's commitments."""
        return self._constraints

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
    ) -> npt.NDArray[np.bool_]:
        """Return which agent actions are best responses (see :meth:`AgentView.best_responses`)."""
        real_number("tolerance", tolerance, at_least=0)
        return self.agent_view.best_responses(self.space.check_all("strategy", strategy), tolerance)

    def respond(
        self,
        strategy: npt.ArrayLike,
        ties: TieRule = "lowest",
        rng: np.random.Generator | None = None,
    ) -> npt.NDArray[np.int64]:
        """Return a best response to each strategy (see :meth:`AgentView.respond`)."""
        return self.agent_view.respond(self.space.check_all("strategy", strategy), ties, rng)

    @abstractmethod
    def normalised(self) -> Self:
        """Return the game in units in which both sides' payoffs span [0, 1]."""

    @abstractmethod
    def __rich__(self) -> Table:
        """Return the table of payoffs that Rich prints."""

    def _identity(self) -> tuple[object, ...]:
        return (
            self.fingerprint,
            self._name,
            self._description,
            self._source,
            self._known_value,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Game):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("_") and not hasattr(self, name):
            object.__setattr__(self, name, value)
            return
        raise AttributeError(f"a game cannot be changed: {name} is read-only")


def printable(name: str) -> str:
    """Return a name with what cannot be printed escaped."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name)


def to_unit(values: FloatArray, payoffs: FloatArray) -> FloatArray:
    """Map values by the affine function that takes payoffs onto [0, 1]."""
    # A power of two first: exact, and no width is then too large or too small for a float.
    exponent = -int(np.frexp(np.abs(payoffs).max())[1])
    low, high = np.ldexp(payoffs.min(), exponent), np.ldexp(payoffs.max(), exponent)
    result: FloatArray = (np.ldexp(values, exponent) - low) / (high - low if high > low else 1.0)
    return result
