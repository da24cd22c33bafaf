"""Finite Stackelberg games (Section 2 of the paper).

A game is a tuple (A_P, A_A, U_P, U_A): the principal's actions x = 0..m−1, the agent's actions
y = 0..k−1, and two m×k payoff matrices. The principal commits to a mixed strategy h over its
actions; expected payoffs are U(h, y) = Σ_x h_x U(x, y). An action y is a *best response* to h if no
other action gives the agent more, BR(h) = argmax_y U_A(h, y).

Rows are always the principal's actions, columns the agent's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import (
    InputError,
    names,
    real_matrix,
    real_number,
    real_vector,
    shown,
    text,
)
from stackcast.games.spaces import Constraint, StrategySpace
from stackcast.games.views import BEST_RESPONSE_TOLERANCE, AgentView, PrincipalView, TieRule

if TYPE_CHECKING:
    import numpy.typing as npt
    from rich.table import Table

    from stackcast._validation import FloatArray


class FiniteGame:
    """A finite game between a principal (rows) and an agent (columns).

    Parameters
    ----------
    principal_payoffs, agent_payoffs : array-like, shape (m, k)
        U_P and U_A; any sign and scale.
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
        self._principal_payoffs = real_matrix("principal_payoffs", principal_payoffs)
        self._agent_payoffs = real_matrix("agent_payoffs", agent_payoffs)
        m, k = self._principal_payoffs.shape
        if self._agent_payoffs.shape != (m, k):
            raise InputError(
                "agent_payoffs",
                f"{m}×{k} numbers as in principal_payoffs",
                "×".join(map(str, self._agent_payoffs.shape)),
            )
        self._principal_actions = names("principal_actions", principal_actions, m, "row")
        self._agent_actions = names("agent_actions", agent_actions, k, "column")
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
        self._space = StrategySpace.simplex(self._principal_actions, self._constraints)

    @property
    def principal_payoffs(self) -> FloatArray:
        """U_P, an m×k array that cannot be written to."""
        return self._principal_payoffs

    @property
    def agent_payoffs(self) -> FloatArray:
        """U_A, an m×k array that cannot be written to."""
        return self._agent_payoffs

    @property
    def principal_actions(self) -> tuple[str, ...]:
        """The names of the rows."""
        return self._principal_actions

    @property
    def agent_actions(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._agent_actions

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
    def space(self) -> StrategySpace:
        """The principal's strategy space: the simplex, cut by the constraints."""
        return self._space

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of actions (m, k) of the principal and of the agent."""
        m, k = self._principal_payoffs.shape
        return m, k

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all that determines play: payoffs, action names, constraints."""
        words = [
            list(self._principal_actions),
            list(self._agent_actions),
            [c.to_table() for c in self._constraints],
        ]
        digest = hashlib.sha256(json.dumps(words, sort_keys=True).encode())
        digest.update(self._principal_payoffs.astype("<f8").tobytes())
        digest.update(self._agent_payoffs.astype("<f8").tobytes())
        return digest.hexdigest()[:32]

    @cached_property
    def principal_view(self) -> PrincipalView:
        """What a principal may know of this game."""
        return PrincipalView(self._principal_payoffs, *self._shared_knowledge())

    @cached_property
    def agent_view(self) -> AgentView:
        """What an agent may know of this game."""
        return AgentView(self._agent_payoffs, *self._shared_knowledge())

    def _shared_knowledge(
        self,
    ) -> tuple[FloatArray, tuple[str, ...], tuple[str, ...], StrategySpace, str]:
        offsets = np.zeros(self.shape[1])
        offsets.flags.writeable = False
        return offsets, self._principal_actions, self._agent_actions, self._space, self.fingerprint

    def principal_utilities(self, strategy: npt.ArrayLike) -> FloatArray:
        """Return U_P(h, y) for every y; ``strategy`` may be a stack of rows."""
        return self.principal_view.utilities(self._space.check_all("strategy", strategy))

    def agent_utilities(self, strategy: npt.ArrayLike) -> FloatArray:
        """Return U_A(h, y) for every y; ``strategy`` may be a stack of rows."""
        return self.agent_view.utilities(self._space.check_all("strategy", strategy))

    def best_responses(
        self, strategy: npt.ArrayLike, tolerance: float = BEST_RESPONSE_TOLERANCE
    ) -> npt.NDArray[np.bool_]:
        """Return which agent actions are best responses (see :meth:`AgentView.best_responses`)."""
        real_number("tolerance", tolerance, at_least=0)
        return self.agent_view.best_responses(
            self._space.check_all("strategy", strategy), tolerance
        )

    def respond(
        self,
        strategy: npt.ArrayLike,
        ties: TieRule = "lowest",
        rng: np.random.Generator | None = None,
    ) -> npt.NDArray[np.int64]:
        """Return a best response to each strategy (see :meth:`AgentView.respond`)."""
        return self.agent_view.respond(self._space.check_all("strategy", strategy), ties, rng)

    def rescaled(
        self,
        principal: tuple[float, float] = (1.0, 0.0),
        agent: tuple[float, float] = (1.0, 0.0),
    ) -> FiniteGame:
        """Return the game with each side's payoffs u replaced by factor·u + shift.

        Factors are positive, so that the game stays the same up to units: best responses do not
        change, and V* is mapped as the principal's payoffs are.
        """
        p_factor, p_shift = real_vector("principal", principal, 2).tolist()
        a_factor, a_shift = real_vector("agent", agent, 2).tolist()
        real_number("principal, factor", p_factor, above=0)
        real_number("agent, factor", a_factor, above=0)
        with np.errstate(over="ignore"):  # what becomes infinite is refused as a payoff
            return self._with_payoffs(
                p_factor * self._principal_payoffs + p_shift,
                a_factor * self._agent_payoffs + a_shift,
                None if self._known_value is None else p_factor * self._known_value + p_shift,
            )

    def normalised(self) -> FiniteGame:
        """Return the game in units in which both sides' payoffs span [0, 1]."""
        known = self._known_value
        return self._with_payoffs(
            _to_unit(self._principal_payoffs, self._principal_payoffs),
            _to_unit(self._agent_payoffs, self._agent_payoffs),
            None if known is None else float(_to_unit(np.array(known), self._principal_payoffs)),
        )

    def _with_payoffs(
        self, principal: FloatArray, agent: FloatArray, known_value: float | None
    ) -> FiniteGame:
        return FiniteGame(
            principal,
            agent,
            self._principal_actions,
            self._agent_actions,
            name=self._name,
            description=self._description,
            source=self._source,
            known_value=known_value,
            constraints=self._constraints,
        )

    def _identity(self) -> tuple[object, ...]:
        return (
            self.fingerprint,
            self._name,
            self._description,
            self._source,
            self._known_value,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FiniteGame):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __repr__(self) -> str:
        m, k = self.shape
        rows, columns = (
            ", ".join(map(_printable, a if len(a) <= 4 else (*a[:3], "…")))
            for a in (self._principal_actions, self._agent_actions)
        )
        label = f"{self._name!r}, " if self._name else ""
        return f"FiniteGame({label}{m}×{k}: {rows} × {columns})"

    def __rich__(self) -> Table:
        """Return the table that Rich prints: principal's and agent's payoff in every cell."""
        from rich.table import Table
        from rich.text import Text

        # Text, not str: a name is shown as it is, never read as Rich's markup.
        title = Text(_printable(self._name)) if self._name else None
        table = Table(title=title, caption="principal's payoff, agent's payoff")
        table.add_column("", style="bold")
        for action in self._agent_actions:
            table.add_column(Text(_printable(action)), justify="right")
        for x, action in enumerate(self._principal_actions):
            cells = zip(self._principal_payoffs[x], self._agent_payoffs[x], strict=True)
            table.add_row(Text(_printable(action)), *(f"{p:.4g}, {a:.4g}" for p, a in cells))
        return table

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("_") and not hasattr(self, name):
            object.__setattr__(self, name, value)
            return
        raise AttributeError(f"a game cannot be changed: {name} is read-only")


def _to_unit(values: FloatArray, payoffs: FloatArray) -> FloatArray:
    """Map values by the affine function that takes payoffs onto [0, 1]."""
    # A power of two first: exact, and no width is then too large or too small for a float.
    exponent = -int(np.frexp(np.abs(payoffs).max())[1])
    low, high = np.ldexp(payoffs.min(), exponent), np.ldexp(payoffs.max(), exponent)
    result: FloatArray = (np.ldexp(values, exponent) - low) / (high - low if high > low else 1.0)
    return result


def _printable(name: str) -> str:
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name)
