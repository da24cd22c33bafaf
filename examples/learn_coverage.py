"""Four ports, one patrol boat, and a smuggler who watches: what the boat learns from his choices.

The learner knows neither what the ports are worth to the smuggler nor how well he forecasts. After
20,000 nights its coverage is drawn beside the best one, with the ports that he chose.

Run it with ``python -m examples.learn_coverage``; it writes ``patrol-coverage.png``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import stackcast as sc

NIGHTS = 20_000


def main(picture: Path | None = None) -> dict[str, Any]:
    """Let the learner play, and draw what it learnt if a file is given."""
    game = sc.load_game("patrol")
    assert isinstance(game, sc.SecurityGame)
    best = sc.solve(game)
    learner = sc.principals.CommitmentLearner(game.principal_view, horizon=NIGHTS)
    smuggler = sc.agents.Calibrated(game.agent_view, seed=0)
    record = sc.play(learner, smuggler, rounds=NIGHTS, game=game)
    learned = learner.result
    if picture is not None:
        from stackcast.report import draw_coverage

        ax = draw_coverage(game, best, learned.strategy, record)
        ax.figure.savefig(picture, dpi=120, bbox_inches="tight")
    return {
        "best": best.value,
        "learned": learned.value,
        "port": game.targets[learned.response or 0],
        "average": sc.audit(record, game, profile=False).average_utility,
    }


if __name__ == "__main__":
    print(main(Path("patrol-coverage.png")))
