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
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError, names, real_matrix, real_number, real_vector
from stackcast.games.base import Game, printable, to_unit
from stackcast.games.spaces import Constraint, StrategySpace
from stackcast.games.views import AgentView, PrincipalView

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy.typing as npt
    from rich.table import Table

    from stackcast._validation import FloatArray


class FiniteGame(Game):
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
        super().__init__(name, description, source, known_value, constraints)
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
    def space(self) -> StrategySpace:
        """The principal's strategy space: the simplex, cut by the constraints."""
        return self._space

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
            to_unit(self._principal_payoffs, self._principal_payoffs),
            to_unit(self._agent_payoffs, self._agent_payoffs),
            None if known is None else float(to_unit(np.array(known), self._principal_payoffs)),
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

    def __repr__(self) -> str:
        m, k = self.shape
        rows, columns = (
            ", ".join(map(printable, a if len(a) <= 4 else (*a[:3], "…")))
            for a in (self._principal_actions, self._agent_actions)
        )
        label = f"{self._name!r}, " if self._name else ""
        return f"FiniteGame({label}{m}×{k}: {rows} × {columns})"

    def __rich__(self) -> Table:
        """Return the table that Rich prints: principal's and agent's payoff in every cell."""
        from rich.table import Table
        from rich.text import Text

        # Text, not str: a name is shown as it is, never read as Rich's markup.
        title = Text(printable(self._name)) if self._name else None
        table = Table(title=title, caption="principal's payoff, agent's payoff")
        table.add_column("", style="bold")
        for action in self._agent_actions:
            table.add_column(Text(printable(action)), justify="right")
        for x, action in enumerate(self._principal_actions):
            cells = zip(self._principal_payoffs[x], self._agent_payoffs[x], strict=True)
            table.add_row(Text(printable(action)), *(f"{p:.4g}, {a:.4g}" for p, a in cells))
        return table
