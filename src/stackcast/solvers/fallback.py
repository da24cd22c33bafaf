"""HiGHS for the programs that the compiled method could not certify."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stackcast.regions._programs import normal_length, with_duplicate_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    from stackcast._validation import FloatArray


def action_programs(
    U: FloatArray,
    W: FloatArray,
    projected: FloatArray,
    margin: float,
    others: npt.NDArray[np.bool_],
    cuts: FloatArray,
    tie: float,
    slack: float,
    actions: Iterable[int],
) -> Iterator[tuple[int, tuple[FloatArray, float, float] | None]]:
    """Yield for each action its optimum (strategy, value, bound), or None where there is none.

    The rows are those of :func:`stackcast.regions._simplex.action_program`, each scaled to a
    largest entry of 1, so that the solver's absolute tolerances mean the same in every game.
    """
    from scipy.optimize import linprog

    m, k = W.shape
    for y in map(int, actions):
        rows = []
        for j in range(k):
            if j == y or (margin > 0 and not others[j]):
                continue
            row = W[:, j] - W[:, y] - slack
            if margin > 0:
                row = row + margin * normal_length(projected, y, j)
            largest = np.abs(row).max()
            if largest > tie:
                rows.append(row / largest)
        extra = with_duplicate_rows(cuts, U, W, y, tie) if margin > 0 else cuts
        rows.extend(row / np.abs(row).max() for row in extra)
        A = np.array(rows).reshape(-1, m)
        result = linprog(
            -U[:, y],
            A_ub=A,
            b_ub=np.zeros(len(A)),
            A_eq=np.ones((1, m)),
            b_eq=[1.0],
            method="highs",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if result.x is None:
            yield y, None
            continue
        h = _polished(np.asarray(result.x), A)
        multipliers = np.maximum(-np.asarray(result.ineqlin.marginals), 0.0)
        bound = float((U[:, y] - multipliers @ A).max())
        yield y, (h, float(h @ U[:, y]), bound)


def _polished(h: FloatArray, A: FloatArray) -> FloatArray:
    """Move h by rounding onto its active rows, where that does not break another row."""
    support = h > 1e-9
    active = A @ h > -1e-9
    system = np.vstack([A[active][:, support], np.ones((1, support.sum()))])
    target = np.append(np.zeros(int(active.sum())), 1.0)
    moved = np.zeros_like(h)
    moved[support] = (
        h[support] + np.linalg.lstsq(system, target - system @ h[support], rcond=None)[0]
    )
    moved = np.maximum(moved, 0.0) / np.maximum(moved, 0.0).sum()
    original = np.maximum(h, 0.0) / np.maximum(h, 0.0).sum()
    better = (A @ moved).max(initial=0.0) <= (A @ original).max(initial=0.0)
    return moved if better else original
