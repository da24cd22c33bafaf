"""The audit by plain loops over rounds, swaps and vertices, for comparison only."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
from reference import stackelberg_values
from scipy.optimize import linprog

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.games import FiniteGame
    from stackcast.protocol import Transcript


def audited(transcript: Transcript, game: FiniteGame, ties: str | None = None) -> dict[str, Any]:
    """Every number of an audit that loops can give."""
    h, y, p = transcript.strategies, transcript.responses, transcript.forecasts
    principal, agent = game.principal_payoffs, game.agent_payoffs
    T, k = len(y), principal.shape[1]
    value = float(np.nanmax(stackelberg_values(game)))
    utility = sum(h[t] @ principal[:, y[t]] for t in range(T)) / T
    found: dict[str, Any] = {"value": value, "average_utility": utility}
    swaps = itertools.product(range(k), repeat=k)
    found["swap_regret"] = max(
        sum(h[t] @ (agent[:, swap[y[t]]] - agent[:, y[t]]) for t in range(T)) for swap in swaps
    )
    found["external_regret"] = max(
        sum(h[t] @ (agent[:, j] - agent[:, y[t]]) for t in range(T)) for j in range(k)
    )
    scale = max(np.ptp(row) for row in agent) or 1.0
    best = [y[t] in _best(h[t] @ agent, scale) for t in range(T)]
    found["best_response_share"] = sum(best) / T
    found["answers alone"] = answers_alone(transcript, game, value)
    if p is not None:
        weights = np.zeros((T, k))
        for t in range(T):
            tied = [y[t]] if ties is None else _best(p[t] @ agent, scale)
            for a in tied[:1] if ties == "lowest" else tied:
                weights[t, a] = 1 / (1 if ties == "lowest" else len(tied))
        errors = [
            max(
                abs(sum(weights[t, a] * (h[t, x] - p[t, x]) for t in range(T)))
                for x in range(len(h[0]))
            )
            / T
            for a in range(k)
        ]
        found["errors"] = errors
        found["forecasts"] = value + sum(_least(principal[:, a]) * errors[a] for a in range(k))
        found["lemma"] = T * sum(
            max(_least(agent[:, j] - agent[:, a]) for j in range(k)) * errors[a] for a in range(k)
        )
    return found


def answers_alone(transcript: Transcript, game: FiniteGame, value: float) -> float:
    """V* + Σ_y (n_y/T)·min(½·range(U_P(·,y))·dist₁(h̄_y, P_y), (max U_P(·,y) − V*)⁺)."""
    h, y, T = transcript.strategies, transcript.responses, transcript.rounds
    excess = 0.0
    for a in range(game.shape[1]):
        column = game.principal_payoffs[:, a]
        if (y == a).any():
            most = max(0.0, column.max() - value)
            far = distance(h[y == a].mean(axis=0), vertices(game.agent_payoffs, a))
            near = np.ptp(column) / 2 * far if np.isfinite(far) else np.inf
            excess += (y == a).sum() / T * min(near, most)
    return value + excess


def _least(column: FloatArray) -> float:
    """min over c of ‖column − c‖₁, attained at an entry."""
    return min(float(np.abs(column - c).sum()) for c in column)


def _best(utilities: FloatArray, scale: float) -> list[int]:
    return [j for j, u in enumerate(utilities) if u >= utilities.max() - 1e-12 * scale]


def vertices(agent: FloatArray, action: int) -> FloatArray:
    """All corners of a best-response region, by trying every choice of tight constraints."""
    m, k = agent.shape
    scale = np.abs(agent).max() or 1.0
    rows = np.vstack(
        [np.eye(m), *[(agent[:, action] - agent[:, j])[None] / scale for j in range(k)]]
    )
    corners = []
    for tight in itertools.combinations(range(len(rows)), m - 1):
        system = np.vstack([np.ones((1, m)), rows[list(tight)]])
        if abs(np.linalg.det(system)) > 1e-10:
            corner = np.linalg.solve(system, np.eye(m)[0])
            if (rows @ corner >= -1e-9).all():
                corners.append(corner)
    return np.array(corners)


def distance(point: FloatArray, corners: FloatArray) -> float:
    """The ℓ1 distance to the hull of the corners; infinite if there are none."""
    if len(corners) == 0:
        return float("inf")
    n, m = corners.shape
    result = linprog(
        np.concatenate([np.zeros(n), np.ones(2 * m)]),
        A_eq=np.block(
            [[corners.T, np.eye(m), -np.eye(m)], [np.ones((1, n)), np.zeros((1, 2 * m))]]
        ),
        b_eq=np.append(point, 1.0),
        method="highs",
    )
    assert result.fun is not None
    return float(result.fun)
