"""Games of other libraries, in and out, and tables of payoffs.

Every one of them writes a two-player game as two matrices, the first player's actions in the rows.
The principal is the first player, or with ``leader=1`` the second; its actions are the rows of a
:class:`~stackcast.games.FiniteGame` either way. Payoffs pass through unchanged, bit for bit. Names
of actions pass through where the other library keeps them (OpenSpiel, Gambit, pandas).

No other library holds constraints on commitments, or payoffs that are not known: such games are
refused. A security game goes out through :meth:`~stackcast.games.SecurityGame.to_finite`.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stackcast._frames import library
from stackcast._validation import InputError, distinct_names, shown
from stackcast.games import FiniteGame

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from stackcast._validation import FloatArray


class _Sides(NamedTuple):
    """Both players' payoffs, the first player's actions in the rows, and both players' actions."""

    first: Any
    second: Any
    rows: Sequence[str] | None = None
    columns: Sequence[str] | None = None

    def turned(self) -> _Sides:
        """Return the same game with the players in the other order."""
        first, second = np.asarray(self.second).T, np.asarray(self.first).T
        return _Sides(first, second, self.columns, self.rows)


def _second(leader: int) -> bool:
    if leader not in (0, 1):
        raise InputError("leader", "0 or 1, the player who commits", shown(leader))
    return leader == 1


def _game(sides: _Sides, leader: int, name: str = "", description: str = "") -> FiniteGame:
    """Return the game in which ``leader`` is the principal."""
    sides = sides.turned() if _second(leader) else sides
    return FiniteGame(*sides, name=name, description=description)


def _sides(game: object, leader: int, library: str) -> _Sides:
    """Return both sides of a game in which the principal is to be player ``leader``."""
    if not isinstance(game, FiniteGame):
        expected = f"a finite game whose payoffs are known, because {library} holds nothing else"
        raise InputError("game", expected, shown(game))
    if game.constraints:
        expected = f"none, because {library} cannot hold them"
        raise InputError("constraints", expected, f"{len(game.constraints)}")
    payoffs = game.principal_payoffs.copy(), game.agent_payoffs.copy()
    sides = _Sides(*payoffs, game.principal_actions, game.agent_actions)
    return sides.turned() if _second(leader) else sides


def _two_players(players: int) -> None:
    if players != 2:
        raise InputError("game", "a game of 2 players", f"{players}")


def from_nashpy(game: Any, *, leader: int = 0) -> FiniteGame:
    """Return a game of Nashpy, with the row player or (``leader=1``) the column player committing.

    Examples
    --------
    >>> import nashpy
    >>> import stackcast as sc
    >>> game = sc.interop.from_nashpy(nashpy.Game([[1, 3], [0, 2]], [[1, 0], [0, 1]]))
    >>> sc.solve(game).value
    2.5
    """
    return _game(_Sides(*game.payoff_matrices), leader)


def to_nashpy(game: FiniteGame, *, leader: int = 0) -> Any:
    """Return the game as one of Nashpy, which has no names."""
    sides = _sides(game, leader, "Nashpy")
    return library("nashpy", "games").Game(sides.first, sides.second)


def from_quantecon(game: Any, *, leader: int = 0) -> FiniteGame:
    """Return a ``NormalFormGame`` of QuantEcon, with one of its two players committing."""
    _two_players(game.N)
    own = [np.asarray(player.payoff_array) for player in game.players]
    return _game(_Sides(own[0], own[1].T), leader)  # each player's own actions are its rows


def to_quantecon(game: FiniteGame, *, leader: int = 0) -> Any:
    """Return the game as a ``NormalFormGame`` of QuantEcon, which has no names.

    Examples
    --------
    >>> import stackcast as sc
    >>> from quantecon.game_theory import pure_nash_brute
    >>> pure_nash_brute(sc.interop.to_quantecon(sc.load_game("stag-hunt")))
    [(0, 0), (1, 1)]
    """
    sides = _sides(game, leader, "QuantEcon")
    theory = library("quantecon.game_theory", "games")
    columns = np.ascontiguousarray(sides.second.T)
    return theory.NormalFormGame((theory.Player(sides.first), theory.Player(columns)))


def from_openspiel(game: Any, *, leader: int = 0) -> FiniteGame:
    """Return a matrix game of OpenSpiel with its names.

    A sequential game of two players becomes one by ``pyspiel.extensive_to_matrix_game(game)``.
    """
    spiel = library("pyspiel", "games")
    if not isinstance(game, spiel.MatrixGame):
        expected = "a matrix game (pyspiel.load_matrix_game, pyspiel.extensive_to_matrix_game)"
        raise InputError("game", expected, shown(game))
    rows = [game.row_action_name(x) for x in range(game.num_rows())]
    columns = [game.col_action_name(y) for y in range(game.num_cols())]
    names = distinct_names(rows), distinct_names(columns)
    kind = game.get_type()
    sides = _Sides(game.row_utilities(), game.col_utilities(), *names)
    return _game(sides, leader, kind.short_name, kind.long_name)


def to_openspiel(game: FiniteGame, *, leader: int = 0) -> Any:
    """Return the game as a matrix game of OpenSpiel, with its names.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.load_game("inspection")
    >>> back = sc.interop.from_openspiel(sc.interop.to_openspiel(game))
    >>> back.fingerprint == game.fingerprint
    True
    """
    sides = _sides(game, leader, "OpenSpiel")
    rows, columns = list(sides.rows or ()), list(sides.columns or ())
    spiel = library("pyspiel", "games")
    payoffs = sides.first.tolist(), sides.second.tolist()
    return spiel.create_matrix_game(game.name, game.description, rows, columns, *payoffs)


def from_pygambit(game: Any, *, leader: int = 0) -> FiniteGame:
    """Return a game of Gambit with its names; a game tree is taken in strategic form."""
    players = list(game.players)
    _two_players(len(players))
    rows, columns = ([s.label or f"{i}" for i, s in enumerate(p.strategies, 1)] for p in players)
    first, second = game.to_arrays(dtype=float)
    sides = _Sides(first, second, distinct_names(rows), distinct_names(columns))
    return _game(sides, leader, game.title)


def to_pygambit(game: FiniteGame, *, leader: int = 0) -> Any:
    """Return the game as one of Gambit, with its names; the numbers are Gambit's exact decimals."""
    sides = _sides(game, leader, "Gambit")
    gambit = library("pygambit", "gambit")
    made = gambit.Game.from_arrays(sides.first, sides.second, title=game.name)
    for player, actions in zip(made.players, sides[2:], strict=True):
        for strategy, action in zip(player.strategies, actions or (), strict=True):
            strategy.label = action
    return made


def from_pandas(mine: Any, theirs: Any, *, leader: int = 0) -> FiniteGame:
    """Return the game of two data frames, one for each side, with the same rows and columns.

    The index names the rows, the columns name the columns; the frames may list them in different
    orders, and the first one's order is kept. With ``leader=1``, whoever chooses the column commits
    and ``theirs`` is its payoffs.

    Examples
    --------
    >>> import pandas as pd
    >>> import stackcast as sc
    >>> mine = pd.DataFrame([[1, 3], [0, 2]], ["up", "down"], ["left", "right"])
    >>> theirs = pd.DataFrame([[1, 0], [0, 1]], ["up", "down"], ["left", "right"])
    >>> sc.interop.from_pandas(mine, theirs)
    FiniteGame(2×2: up, down × left, right)
    """
    ours, others = (
        _Table([*map(str, frame.index)], [*map(str, frame.columns)], frame.to_numpy())
        for frame in (mine, theirs)
    )
    return _of_tables(ours, others, ("mine", "theirs"), leader)


def to_pandas(game: FiniteGame, *, leader: int = 0) -> tuple[Any, Any]:
    """Return the game as two data frames, the principal's payoffs first.

    With ``leader=1`` the principal's actions are the columns, and its payoffs the second frame.
    """
    pandas = library("pandas", "games")
    sides = _sides(game, leader, "a data frame")
    rows, columns = list(sides.rows or ()), list(sides.columns or ())
    first, second = (pandas.DataFrame(u, rows, columns) for u in (sides.first, sides.second))
    return first, second


def from_csv(
    mine: str | os.PathLike[str], theirs: str | os.PathLike[str], *, leader: int = 0
) -> FiniteGame:
    """Return the game of two CSV tables, one for each side.

    The first row names the columns and the first column the rows; a table of numbers alone has no
    names. Commas, semicolons and tabs separate cells, and where they are not commas a number may be
    written 0,5.
    """
    files = Path(mine), Path(theirs)
    ours, others = map(_read_csv, files)
    return _of_tables(ours, others, (files[0].name, files[1].name), leader)


class _Table(NamedTuple):
    rows: list[str] | None
    columns: list[str] | None
    payoffs: FloatArray


def _of_tables(mine: _Table, theirs: _Table, names: tuple[str, str], leader: int) -> FiniteGame:
    payoffs = theirs.payoffs
    for axis, (ours, others) in enumerate(zip(mine[:2], theirs[:2], strict=True)):
        if ours == others:
            continue
        if ours is None or others is None or sorted(ours) != sorted(others):
            what = f"{names[1]}, {'columns' if axis else 'rows'}"
            raise InputError(what, f"the names in {names[0]}", ", ".join(others or ["no names"]))
        if len(set(ours)) == len(ours):
            payoffs = np.take(payoffs, [others.index(name) for name in ours], axis)
    return _game(_Sides(mine.payoffs, payoffs, mine.rows, mine.columns), leader)


def _read_csv(file: Path) -> _Table:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        found = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(str(file), "a table that can be read", str(found)) from None
    first = text.partition("\n")[0]
    comma = next((mark for mark in "\t;" if mark in first), ",")
    lines = [row for row in csv.reader(io.StringIO(text), delimiter=comma) if any(row)]
    if not lines:
        raise InputError(file.name, "a table of payoffs", "an empty file")
    named = _number(lines[0][0], comma) is None
    columns = [cell.strip() for cell in lines.pop(0)[1:]] if named else None
    rows = [line.pop(0).strip() for line in lines] if named else None
    payoffs = [
        [
            _payoff(f"{file.name}, row {x}, column {y}", cell, comma)
            for y, cell in enumerate(line, 1)
        ]
        for x, line in enumerate(lines, 1)
    ]
    width = len(payoffs[0] if columns is None and payoffs else columns or [])
    for x, line in enumerate(payoffs, 1):
        if len(line) != width:
            raise InputError(f"{file.name}, row {x}", f"{width} payoffs", f"{len(line)}")
    if not payoffs or not width:
        raise InputError(file.name, "at least one row and one column of payoffs", "none")
    return _Table(rows, columns, np.array(payoffs))


def _number(cell: str, comma: str) -> float | None:
    try:
        return float(cell.strip() if comma == "," else cell.strip().replace(",", "."))
    except ValueError:
        return None


def _payoff(place: str, cell: str, comma: str) -> float:
    number = _number(cell, comma)
    if number is None or not np.isfinite(number):
        raise InputError(place, "a payoff", shown(cell))
    return number
