"""Games of which only the principal's half is known for certain.

A *half-known game* is a tuple (A_P, A_A, U_P, [L, H]): the principal's payoffs are numbers, the
agent's lie between L and H, cell by cell, or nothing is known of them. Its file is that of a whole
game whose ``agent_payoffs`` are missing, or hold ranges and question marks:

    agent_payoffs = [[0.4, [-1, 0]], ["?", 0.5]]

A ``"?"`` stands for anything between the least and the greatest number stated in the table.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._files import from_json, from_toml, read_text
from stackcast._random import stream
from stackcast._validation import (
    InputError,
    real_matrix,
    real_number,
    real_vector,
    shown,
    table_of,
    text,
)
from stackcast.games.files import AnyGame, load_game
from stackcast.games.game import FiniteGame

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    import numpy.typing as npt

    from stackcast._validation import FloatArray, Table
    from stackcast.games.game import PrincipalView
    from stackcast.games.spaces import Constraint

FORMAT = "stackcast-half-known-game-1"
_STORY = ("name", "description", "source")
_OPTIONAL = (
    *("principal_actions", "agent_actions", *_STORY, "constraints", "format"),
    *("agent_payoffs", "agent_payoffs_low", "agent_payoffs_high"),
)


class HalfKnownGame:
    """What a principal knows of a game against a real agent.

    Parameters
    ----------
    principal_payoffs : array-like, shape (m, k)
        U_P; any sign and scale.
    principal_actions, agent_actions : sequence of str, optional
        Names of the rows and of the columns.
    name, description, source : str
        What the game is called, its story, and where it comes from.
    constraints : sequence of Constraint, optional
        Linear constraints on what may be committed to.
    agent_payoffs_low, agent_payoffs_high : array-like, shape (m, k), optional
        Bounds on the agent's payoffs, in the agent's units; both or neither.
    agent_payoffs : list of rows, optional
        The same as one table: a cell is a number, a pair [low, high], or ``"?"``.
    fingerprint : str
        The fingerprint of the whole game, where somebody knows it.

    Examples
    --------
    >>> game = HalfKnownGame([[2, -1], [1, 0]], ["inspect", "trust"], ["comply", "violate"])
    >>> game
    HalfKnownGame(2×2: inspect, trust × comply, violate)
    >>> game.with_action("bribe", [-3, -5]).agent_actions
    ('comply', 'violate', 'bribe')
    >>> ranges = HalfKnownGame([[1, 3], [0, 2]], agent_payoffs=[[1, [0, 0.5]], [0, "?"]])
    >>> ranges.bounds[1].tolist()
    [[1.0, 0.5], [0.0, 1.0]]
    """

    def __init__(
        self,
        principal_payoffs: npt.ArrayLike,
        principal_actions: Iterable[str] | None = None,
        agent_actions: Iterable[str] | None = None,
        *,
        name: str = "",
        description: str = "",
        source: str = "",
        constraints: Iterable[Constraint] = (),
        agent_payoffs_low: npt.ArrayLike | None = None,
        agent_payoffs_high: npt.ArrayLike | None = None,
        agent_payoffs: Any = None,
        fingerprint: str = "",
    ) -> None:
        payoffs = real_matrix("principal_payoffs", principal_payoffs)
        # A whole game around our half, so that its checks are ours; the zeros are never looked at.
        self.shell = FiniteGame(
            payoffs, np.zeros_like(payoffs), principal_actions, agent_actions,
            name=name, description=description, source=source, constraints=constraints,
        )  # fmt: skip
        self.name = self.shell.name
        self.principal_actions = self.shell.principal_actions
        self.agent_actions = self.shell.agent_actions
        self.fingerprint = text("fingerprint", fingerprint)
        if agent_payoffs is not None:
            if agent_payoffs_low is not None or agent_payoffs_high is not None:
                expected = "agent_payoffs or bounds on them"
                raise InputError("agent_payoffs", expected, "both")
            agent_payoffs_low, agent_payoffs_high = _ranges(agent_payoffs)
        self.bounds = _checked_bounds(agent_payoffs_low, agent_payoffs_high, self.shell.shape)

    @classmethod
    def of(cls, game: object) -> HalfKnownGame:
        """Return the principal's half of a game."""
        if isinstance(game, HalfKnownGame):
            return game
        if not isinstance(game, FiniteGame):
            raise InputError("game", "a finite game or the known half of one", shown(game))
        return cls(
            game.principal_payoffs, game.principal_actions, game.agent_actions,
            name=game.name, description=game.description, source=game.source,
            constraints=game.constraints, fingerprint=game.fingerprint,
        )  # fmt: skip

    @cached_property
    def principal_view(self) -> PrincipalView:
        """What a principal of this game knows."""
        return self.shell.principal_view

    def with_constraints(self, constraints: Iterable[Constraint]) -> HalfKnownGame:
        """Return the game with further constraints on what may be committed to."""
        more = tuple(constraints)
        return self._changed(constraints=(*self.shell.constraints, *more)) if more else self

    def without_constraint(self, name: str) -> HalfKnownGame:
        """Return the game without the constraint of that name."""
        kept = [c for c in self.shell.constraints if c.name != name]
        if len(kept) == len(self.shell.constraints):
            known = ", ".join(c.name for c in self.shell.constraints) or "none is in force"
            raise InputError("limit", f"a limit in force ({known})", shown(name))
        return self._changed(constraints=kept)

    def with_action(self, name: str, payoffs: npt.ArrayLike) -> HalfKnownGame:
        """Return the game with one more action of the agent, and what the principal earns by it.

        Where the agent's payoffs are bounded, the new action has the widest of the bounds.
        """
        column = real_vector("payoffs", payoffs, len(self.principal_actions))
        if name in self.agent_actions:
            raise InputError("action", "a new name", shown(name))
        more: Table = {
            "principal_payoffs": np.column_stack([self.shell.principal_payoffs, column]),
            "agent_actions": [*self.agent_actions, name],
            "fingerprint": "",
        }
        if self.bounds is not None:
            low, high = self.bounds
            more["agent_payoffs_low"] = np.column_stack([low, np.full(len(low), low.min())])
            more["agent_payoffs_high"] = np.column_stack([high, np.full(len(high), high.max())])
        return self._changed(**more)

    def draws(self, count: int, seed: int = 0) -> FloatArray:
        """Return payoffs (count×m×k) of agents that are possible: uniform between the bounds.

        Without bounds they are standard normal.
        """
        rng = stream(seed, "half-known game", "agents")
        shape = (count, *self.shell.shape)
        if self.bounds is None:
            return rng.standard_normal(shape)
        low, high = self.bounds
        drawn: FloatArray = low + (high - low) * rng.random(shape)
        return drawn

    def whole(self, agent_payoffs: npt.ArrayLike) -> FiniteGame:
        """Return the whole game with these payoffs of the agent."""
        game = self.shell
        return FiniteGame(
            game.principal_payoffs, agent_payoffs, game.principal_actions, game.agent_actions,
            name=game.name, constraints=game.constraints,
        )  # fmt: skip

    def _changed(self, **fields: Any) -> HalfKnownGame:
        table: Table = {
            **self.to_table(),
            "constraints": self.shell.constraints,
            "fingerprint": self.fingerprint,
            **fields,
        }
        return HalfKnownGame(**table)

    def to_table(self) -> Table:
        """Return what a file would hold: numbers, texts, lists and tables."""
        game = self.shell
        table: Table = {key: word for key in _STORY if (word := getattr(game, key))}
        table["principal_actions"] = list(game.principal_actions)
        table["agent_actions"] = list(game.agent_actions)
        table["principal_payoffs"] = game.principal_payoffs.tolist()
        if self.bounds is not None:
            low, high = self.bounds
            table |= {"agent_payoffs_low": low.tolist(), "agent_payoffs_high": high.tolist()}
        if game.constraints:
            table["constraints"] = [c.to_table() for c in game.constraints]
        return table

    @classmethod
    def from_table(cls, table: Any, fingerprint: str = "") -> HalfKnownGame:
        """Return the game of a table as it stands in a file; refuse anything else."""
        required = {"principal_payoffs": "a list of rows of numbers"}
        fields = table_of("", table, required, _OPTIONAL)
        if fields.pop("format", FORMAT) != FORMAT:
            raise InputError("format", repr(FORMAT), shown(table["format"]))
        return cls(**fields, fingerprint=fingerprint)

    def __repr__(self) -> str:
        inside = repr(self.shell).removeprefix("FiniteGame(")
        return f"HalfKnownGame({inside}"


def load_any(name_or_path: str | os.PathLike[str]) -> AnyGame | HalfKnownGame:
    """Return a game of the catalogue or of a file, half-known or whole.

    A file of a finite game is half-known if its ``agent_payoffs`` are missing or hold ranges.
    """
    path = Path(name_or_path)
    suffix = path.suffix.lower()
    if suffix in (".toml", ".json"):
        content = read_text(path)
        try:
            table = from_toml(content) if suffix == ".toml" else from_json(content)
            if isinstance(table, dict) and "principal_payoffs" in table and _is_half(table):
                return HalfKnownGame.from_table(table)
        except InputError as error:
            raise error.inside(f"{path}") from None
    return load_game(name_or_path)


def load_half_known(name_or_path: str | os.PathLike[str]) -> HalfKnownGame:
    """Return the half-known game in a file, or the principal's half of a whole game.

    Parameters
    ----------
    name_or_path : str or path
        A .toml or .json file with the principal's half, a file of a whole game, or a name of the
        catalogue. Of a whole game, the agent's payoffs are left behind.
    """
    return HalfKnownGame.of(load_any(name_or_path))


def _is_half(table: Table) -> bool:
    rows = table.get("agent_payoffs")
    if rows is None or "agent_payoffs_low" in table or "agent_payoffs_high" in table:
        return True
    cells = (
        [cell for row in rows if isinstance(row, list) for cell in row]
        if (isinstance(rows, list))
        else []
    )
    return any(cell == "?" or isinstance(cell, list) for cell in cells)


def _ranges(rows: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return bounds from a table of numbers, pairs and question marks."""
    expected = "a number, a pair [low, high] or '?'"
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise InputError("agent_payoffs", "a list of rows", shown(rows))
    pairs: list[list[tuple[float, float] | None]] = []
    for i, row in enumerate(rows):
        pairs.append([])
        for j, cell in enumerate(row):
            field = f"agent_payoffs, row {i + 1}, entry {j + 1}"
            if isinstance(cell, str) and cell.strip() == "?":
                pairs[-1].append(None)
                continue
            ends = cell if isinstance(cell, list) else [cell, cell]
            if len(ends) != 2:
                raise InputError(field, expected, shown(cell))
            try:
                low, high = (real_number(field, end) for end in ends)
            except InputError:
                raise InputError(field, expected, shown(cell)) from None
            pairs[-1].append((low, high))
    stated = [end for line in pairs for pair in line if pair is not None for end in pair]
    if not stated:
        raise InputError("agent_payoffs", "a number somewhere (or no agent_payoffs)", "only '?'")
    widest = min(stated), max(stated)
    ends = [[[(pair or widest)[end] for pair in line] for line in pairs] for end in (0, 1)]
    return real_matrix("agent_payoffs", ends[0]), real_matrix("agent_payoffs", ends[1])


def _checked_bounds(
    low: npt.ArrayLike | None, high: npt.ArrayLike | None, shape: tuple[int, int]
) -> tuple[FloatArray, FloatArray] | None:
    if low is None and high is None:
        return None
    if low is None or high is None:
        missing = "agent_payoffs_low" if low is None else "agent_payoffs_high"
        raise InputError(missing, "both bounds or neither", "one of them")
    lowest = real_matrix("agent_payoffs_low", low)
    highest = real_matrix("agent_payoffs_high", high)
    for field, bound in (("agent_payoffs_low", lowest), ("agent_payoffs_high", highest)):
        if bound.shape != shape:
            found = "×".join(map(str, bound.shape))
            raise InputError(field, f"{shape[0]}×{shape[1]} numbers as in principal_payoffs", found)
    if (lowest > highest).any():
        i, y = np.argwhere(lowest > highest)[0]
        found = f"{lowest[i, y]:g} > {highest[i, y]:g}"
        raise InputError("agent_payoffs_low", "no more than agent_payoffs_high", found)
    return lowest, highest
