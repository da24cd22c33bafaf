"""Games of which only the principal's half is known.

A campaign faces a real agent, whose payoffs nobody can write down. Its game file holds what the
principal does know: its own payoffs, the names of the actions of both sides, constraints on what it
may commit to, and perhaps bounds on the agent's payoffs. The format is that of game files without
``agent_payoffs``; it is described in ``docs/reference/campaigns.md``.
"""

from __future__ import annotations

import difflib
import json
import tomllib
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from stackcast._validation import InputError, real_matrix, real_vector, shown, text
from stackcast.games import Constraint, FiniteGame, load_game

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    import numpy.typing as npt

    from stackcast._validation import FloatArray
    from stackcast.games import PrincipalView

FORMAT = "stackcast-half-known-game-1"
_KEYS = (
    "principal_payoffs",
    "principal_actions",
    "agent_actions",
    "name",
    "description",
    "source",
    "constraints",
    "agent_payoffs_low",
    "agent_payoffs_high",
    "format",
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
    fingerprint : str
        The fingerprint of the whole game, where somebody knows it.

    Examples
    --------
    >>> game = HalfKnownGame([[2, -1], [1, 0]], ["inspect", "trust"], ["comply", "violate"])
    >>> game
    HalfKnownGame(2×2: inspect, trust × comply, violate)
    >>> game.with_action("bribe", [-3, -5]).agent_actions
    ('comply', 'violate', 'bribe')
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
        fingerprint: str = "",
    ) -> None:
        payoffs = real_matrix("principal_payoffs", principal_payoffs)
        # A whole game around our half, so that its checks are ours; the zeros are never looked at.
        self._shell = FiniteGame(
            payoffs,
            np.zeros_like(payoffs),
            principal_actions,
            agent_actions,
            name=name,
            description=description,
            source=source,
            constraints=constraints,
        )
        self.fingerprint = text("fingerprint", fingerprint)
        self._bounds = _checked_bounds(agent_payoffs_low, agent_payoffs_high, self._shell.shape)

    @classmethod
    def of(cls, game: object) -> HalfKnownGame:
        """Return the principal's half of a game."""
        if isinstance(game, HalfKnownGame):
            return game
        if not isinstance(game, FiniteGame):
            raise InputError("game", "a finite game or the known half of one", shown(game))
        return cls(
            game.principal_payoffs,
            game.principal_actions,
            game.agent_actions,
            name=game.name,
            description=game.description,
            source=game.source,
            constraints=game.constraints,
            fingerprint=game.fingerprint,
        )

    @property
    def name(self) -> str:
        """What the game is called."""
        return self._shell.name

    @property
    def principal_actions(self) -> tuple[str, ...]:
        """The names of the rows."""
        return self._shell.principal_actions

    @property
    def agent_actions(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._shell.agent_actions

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray] | None:
        """Bounds (low, high) on the agent's payoffs, if any are known."""
        return self._bounds

    @cached_property
    def principal_view(self) -> PrincipalView:
        """What a principal of this game knows."""
        return self._shell.principal_view

    @property
    def shell(self) -> FiniteGame:
        """A game with these names and spaces and no payoffs of the agent, for readers of tables."""
        return self._shell

    def with_constraints(self, constraints: Iterable[Constraint]) -> HalfKnownGame:
        """Return the game with further constraints on what may be committed to."""
        more = tuple(constraints)
        return self._changed(constraints=(*self._shell.constraints, *more)) if more else self

    def without_constraint(self, name: str) -> HalfKnownGame:
        """Return the game without the constraint of that name."""
        kept = [c for c in self._shell.constraints if c.name != name]
        if len(kept) == len(self._shell.constraints):
            known = ", ".join(c.name for c in self._shell.constraints) or "none is in force"
            raise InputError("limit", f"a limit in force ({known})", shown(name))
        return self._changed(constraints=kept)

    def with_action(self, name: str, payoffs: npt.ArrayLike) -> HalfKnownGame:
        """Return the game with one more action of the agent, and what the principal earns by it.

        Where the agent's payoffs are bounded, the new action has the widest of the bounds.
        """
        column = real_vector("payoffs", payoffs, len(self.principal_actions))
        if name in self.agent_actions:
            raise InputError("action", "a new name", shown(name))
        more: dict[str, Any] = {
            "principal_payoffs": np.column_stack([self._shell.principal_payoffs, column]),
            "agent_actions": [*self.agent_actions, name],
            "fingerprint": "",
        }
        if self._bounds is not None:
            low, high = self._bounds
            more["agent_payoffs_low"] = np.column_stack([low, np.full(len(low), low.min())])
            more["agent_payoffs_high"] = np.column_stack([high, np.full(len(high), high.max())])
        return self._changed(**more)

    def _changed(self, **fields: Any) -> HalfKnownGame:
        table: dict[str, Any] = {
            **self.to_table(),
            "constraints": self._shell.constraints,
            "fingerprint": self.fingerprint,
            **fields,
        }
        return HalfKnownGame(**table)

    def to_table(self) -> dict[str, Any]:
        """Return what a file would hold: numbers, texts, lists and tables."""
        game = self._shell
        texts = {"name": game.name, "description": game.description, "source": game.source}
        table: dict[str, Any] = {key: word for key, word in texts.items() if word}
        table["principal_actions"] = list(game.principal_actions)
        table["agent_actions"] = list(game.agent_actions)
        table["principal_payoffs"] = game.principal_payoffs.tolist()
        if self._bounds is not None:
            table["agent_payoffs_low"], table["agent_payoffs_high"] = (
                part.tolist() for part in self._bounds
            )
        if game.constraints:
            table["constraints"] = [c.to_table() for c in game.constraints]
        return table

    @classmethod
    def from_table(cls, table: Any, fingerprint: str = "") -> HalfKnownGame:
        """Return the game of a table as it stands in a file; refuse anything else."""
        if not isinstance(table, dict):
            raise InputError("game", "a table with principal_payoffs", shown(table))
        for key in table:
            if key not in _KEYS:
                close = difflib.get_close_matches(str(key), _KEYS, n=1)
                raise InputError("keys", repr(close[0]) if close else ", ".join(_KEYS), shown(key))
        fields = dict(table)
        if fields.pop("format", FORMAT) != FORMAT:
            raise InputError("format", repr(FORMAT), shown(table["format"]))
        if "principal_payoffs" not in fields:
            raise InputError("principal_payoffs", "a list of rows of numbers", "no such key")
        return cls(**fields, fingerprint=fingerprint)

    def __repr__(self) -> str:
        inside = repr(self._shell).removeprefix("FiniteGame(")
        return f"HalfKnownGame({inside}"


def load_half_known(name_or_path: str | os.PathLike[str]) -> HalfKnownGame:
    """Return the half-known game in a file, or the principal's half of a whole game.

    Parameters
    ----------
    name_or_path : str or path
        A .toml or .json file with the principal's half, a file of a whole game, or a name of the
        catalogue. Of a whole game, the agent's payoffs are left behind.
    """
    path = Path(name_or_path)
    suffix = path.suffix.lower()
    if suffix not in (".toml", ".json"):
        return HalfKnownGame.of(load_game(name_or_path))
    try:
        content = path.read_bytes().decode("utf-8-sig")
        table = tomllib.loads(content) if suffix == ".toml" else _json(content)
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise error.inside(f"{path}") from None
        load_game(path)  # has the sentence for what is no file, no text or no table
        raise InputError(f"{path}", "a game", "something else") from None
    if isinstance(table, dict) and "agent_payoffs" not in table:
        try:
            return HalfKnownGame.from_table(table)
        except InputError as error:
            raise error.inside(f"{path}") from None
    return HalfKnownGame.of(load_game(path))


def _json(content: str) -> Any:
    return json.loads(content, object_pairs_hook=_distinct, parse_constant=_no_constant)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InputError(f"key {shown(twice)}", "every key once", "it twice")
    return table


def _no_constant(word: str) -> NoReturn:
    raise InputError("numbers", "finite numbers", word)


def _checked_bounds(
    low: npt.ArrayLike | None, high: npt.ArrayLike | None, shape: tuple[int, int]
) -> tuple[FloatArray, FloatArray] | None:
    if low is None and high is None:
        return None
    if low is None or high is None:
        missing = "agent_payoffs_low" if low is None else "agent_payoffs_high"
        raise InputError(missing, "both bounds or neither", "one of them")
    lowest, highest = (
        real_matrix("agent_payoffs_low", low),
        real_matrix("agent_payoffs_high", high),
    )
    for field, bound in (("agent_payoffs_low", lowest), ("agent_payoffs_high", highest)):
        if bound.shape != shape:
            found = "×".join(map(str, bound.shape))
            raise InputError(field, f"{shape[0]}×{shape[1]} numbers as in principal_payoffs", found)
    if (lowest > highest).any():
        i, y = np.argwhere(lowest > highest)[0]
        found = f"{lowest[i, y]:g} > {highest[i, y]:g}"
        raise InputError("agent_payoffs_low", "no more than agent_payoffs_high", found)
    return lowest, highest
