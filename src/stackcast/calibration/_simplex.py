"""A compiled simplex method for the tiny linear programs of a round.

A program max ⟨c, x⟩, A x = b, x ≥ 0 is kept as a dense tableau in canonical form: one row for each
equation, solved for its basic variable, and a last row with the objective; the last column holds b.
A zero-sum game with positive payoffs is such a program and starts from its slack variables. A
polytope is brought into canonical form once, and its tableau then stays at the last optimal vertex.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stackcast._compiling import entry, inner, out_of_line
from stackcast._validation import InputError

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray
    from stackcast.games import StrategySpace

    IntArray = npt.NDArray[np.int64]

_TOLERANCE = 1e-11


@entry
def maximise(tableau: FloatArray, basis: IntArray) -> None:
    """Pivot until no variable can raise the objective, whose row holds −c at the start."""
    out_of_line()
    rows, columns = tableau.shape[0] - 1, tableau.shape[1] - 1
    patience = 10 * (rows + columns)
    for step in range(10 * patience):
        entering = -1
        most = -_TOLERANCE
        for c in range(columns):
            if tableau[rows, c] < most:
                entering = c
                most = tableau[rows, c]
                if step > patience:  # the lowest eligible index never cycles
                    break
        if entering < 0:
            return
        leaving = -1
        least = np.inf
        for r in range(rows):
            if tableau[r, entering] > _TOLERANCE:
                ratio = tableau[r, columns] / tableau[r, entering]
                if ratio < least or (ratio == least and basis[r] < basis[leaving]):
                    leaving = r
                    least = ratio
        if leaving < 0:
            return
        scale = 1.0 / tableau[leaving, entering]
        for c in range(columns + 1):
            tableau[leaving, c] *= scale
        tableau[leaving, entering] = 1.0
        for r in range(rows + 1):
            factor = tableau[r, entering]
            if r != leaving and factor != 0.0:
                for c in range(columns + 1):
                    tableau[r, c] -= factor * tableau[leaving, c]
                tableau[r, entering] = 0.0
        basis[leaving] = entering


@inner
def solve_game(game: FloatArray, shares: FloatArray, reply: FloatArray) -> None:
    """Solve the zero-sum game in which rows minimise: write both players' optimal mixtures."""
    out_of_line()
    rows, columns = game.shape
    size = 0.0
    for r in range(rows):
        for c in range(columns):
            size = max(size, abs(game[r, c]))
    if size == 0.0:
        size = 1.0
    # max Σy over B y ≤ 1, y ≥ 0 solves the game B > 0 whose rows maximise: B = 2 − game/size with
    # the forecasts as rows, or, if nature has fewer strategies, B = 2 + game/size with nature's.
    flipped = columns < rows
    a, b = (columns, rows) if flipped else (rows, columns)
    tableau = np.zeros((a + 1, b + a + 1))
    basis = np.empty(a, dtype=np.int64)
    for r in range(a):
        for c in range(b):
            tableau[r, c] = 2.0 + (game[c, r] if flipped else -game[r, c]) / size
        tableau[r, b + r] = 1.0
        tableau[r, a + b] = 1.0
        basis[r] = b + r
    for c in range(b):
        tableau[a, c] = -1.0
    maximise(tableau, basis)
    first, second = (reply, shares) if flipped else (shares, reply)
    for r in range(a):
        first[r] = max(tableau[a, b + r], 0.0)
    for c in range(b):
        second[c] = 0.0
    for r in range(a):
        if basis[r] < b:
            second[basis[r]] = max(tableau[r, a + b], 0.0)
    _normalise(shares)
    _normalise(reply)


@inner
def _normalise(shares: FloatArray) -> None:
    total = 0.0
    for x in range(shares.size):
        total += shares[x]
    for x in range(shares.size):
        shares[x] = shares[x] / total if total > 0.0 else 1.0 / shares.size


@inner
def furthest_vertex(
    tableau: FloatArray, basis: IntArray, direction: FloatArray, out: FloatArray
) -> None:
    """Write the point x ≥ 0 of a canonical polytope that is furthest along ``direction``."""
    out_of_line()
    rows, columns = tableau.shape[0] - 1, tableau.shape[1] - 1
    m = direction.size
    for c in range(columns + 1):
        tableau[rows, c] = -direction[c] if c < m else 0.0
    for r in range(rows):
        if basis[r] < m:
            factor = direction[basis[r]]
            for c in range(columns + 1):
                tableau[rows, c] += factor * tableau[r, c]
            tableau[rows, basis[r]] = 0.0
    maximise(tableau, basis)
    for j in range(m):
        out[j] = 0.0
    for r in range(rows):
        if basis[r] < m:
            out[basis[r]] = max(tableau[r, columns], 0.0)


def canonical_form(space: StrategySpace, low: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the tableau and basis of {y ≥ 0 : low + y ∈ space} at one of its vertices."""
    rows, equal = space.inequality_rows, space.equality_rows
    bounds = np.concatenate(
        [space.inequality_bounds - rows @ low, space.equality_bounds - equal @ low]
    )
    count, m = len(bounds), space.dimension
    body = np.zeros((count, m + len(rows)))
    body[: len(rows), :m], body[len(rows) :, :m] = rows, equal
    body[: len(rows), m:] = np.eye(len(rows))
    negative = bounds < 0
    body[negative] *= -1
    bounds = np.abs(bounds)
    # Phase one: an artificial variable for each equation, and their sum driven to 0.
    tableau = np.zeros((count + 1, body.shape[1] + count + 1))
    tableau[:count, : body.shape[1]], tableau[:count, -1] = body, bounds
    tableau[:count, body.shape[1] : -1] = np.eye(count)
    tableau[-1, : body.shape[1]], tableau[-1, -1] = -body.sum(axis=0), -bounds.sum()
    basis = np.arange(body.shape[1], body.shape[1] + count)
    maximise(tableau, basis)
    if tableau[-1, -1] < -1e-7:
        raise InputError("space", "at least one strategy", "none")
    for r in np.flatnonzero(basis >= body.shape[1]):
        choices = np.abs(tableau[r, : body.shape[1]])
        if choices.max() > 1e-9:
            entering = int(choices.argmax())
            tableau[r] /= tableau[r, entering]
            factors = tableau[:, entering].copy()
            factors[r] = 0.0
            tableau -= np.outer(factors, tableau[r])
            basis[r] = entering
    kept = np.flatnonzero(basis < body.shape[1])
    columns = [*range(body.shape[1]), tableau.shape[1] - 1]
    result = np.ascontiguousarray(tableau[np.ix_([*kept, count], columns)])
    return result, np.ascontiguousarray(basis[kept])
