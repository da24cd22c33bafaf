"""What an agent costs that sees drawn actions only, and the margin that it asks for.

``python -m benchmarks feedback`` prints the table of ``docs/reference/play.md``. A principal
that is told the game holds the optimum with a margin. The margin of a row is the one of
:data:`MARGINS` with the least mean loss over :data:`GAMES` on seed 0; losses are those of seed 1,
as shares of the width of U_P. Every play is kept in
``out/feedback``, so that a run that was stopped goes on.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np

import stackcast as sc
from stackcast.protocol import Block, build

GAMES = ("inspection", "textbook-commitment", "exam", "content-moderation", "milking")
AGENTS = {
    "Calibrated": 6,
    "SleepingCalibrated": 5,
    "NonAdaptive": 5,
    "AdaNormalHedge": 5,
    "BlumMansour": 5,
    "Hedge": 5,
    "FollowTheLeader": 5,
}
FEEDBACKS = ("strategy", "action")
MARGINS = (0.003, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2)
HORIZONS = (10**3, 10**4, 10**5, 10**6)
KEPT = Path("out/feedback")


def losses(agent: str, feedback: str, name: str, margin: float, seed: int) -> list[float]:
    """Return what holding the optimum with a margin loses by each horizon; NaN if none is held."""
    file = KEPT / f"{agent}-{feedback}-{name}-{margin:g}-{seed}.json"
    if file.exists():
        return list(json.loads(file.read_text()))
    game: Any = sc.load_game(name)
    best, payoffs = sc.solve(game).value, game.principal_payoffs
    found = [float("nan")] * len(HORIZONS)
    with contextlib.suppress(sc.InputError):
        h = sc.solve(game, margin=margin).strategy
        player = build("agent", agent, game, seed=seed, settings={"feedback": feedback})
        earned, counts, played = h @ payoffs, np.zeros(payoffs.shape[1]), 0
        for i, rounds in enumerate(HORIZONS[: AGENTS[agent] - 2]):
            while played < rounds:
                length = min(8192, rounds - played)
                answers = player.respond(Block(h, length)).responses
                counts += np.bincount(answers, minlength=len(counts))
                played += length
            found[i] = float((best - earned @ counts / played) / np.ptp(payoffs))
    KEPT.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(found))
    return found


def main() -> dict[str, list[dict[str, Any]]]:
    """Return a row for each agent and horizon, with both feedbacks beside one another."""
    rows = []
    for agent in AGENTS:
        table = {}
        for feedback in FEEDBACKS:
            cells = [
                [[losses(agent, feedback, g, margin, seed) for g in GAMES] for margin in MARGINS]
                for seed in (0, 1)
            ]
            table[feedback] = np.array(cells)  # seed, margin, game, horizon
        for i, horizon in enumerate(HORIZONS[: AGENTS[agent] - 2]):
            row: dict[str, Any] = {"agent": agent, "rounds": horizon}
            for feedback in FEEDBACKS:
                chosen, told = table[feedback][..., i].mean(axis=2)
                at = int(np.nanargmin(chosen))
                row |= {f"margin, {feedback}": MARGINS[at], f"loss, {feedback}": told[at]}
                if feedback == "action":
                    usual = MARGINS.index(row["margin, strategy"])
                    row["loss, action, at the strategy's margin"] = told[usual]
            rows.append(row)
            print(json.dumps(row), flush=True)
    return {"what drawn actions cost": rows}


if __name__ == "__main__":
    main()
