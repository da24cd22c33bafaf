"""The figures of a play's report: which ones each kind of game has, and what they show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stackcast.games import ContinuousGame, SecurityGame
from stackcast.report.figures import rendered

if TYPE_CHECKING:
    from collections.abc import Callable

    from stackcast.report.play_report import Played

#: Name and caption of the figures, in the order of the page; a report has those that fit.
CAPTIONS = {
    "strategies": "Where the play took place. Every strategy that was explored, in order from "
    "white to black; the last commitment (diamond); V*'s point (star); the agent's forecasts as a "
    "cloud. Colours are the agent's best responses.",
    "coverage": "How the targets are covered: at the optimum, and as the principal learned it; "
    "dots are the shares of the attacks that happened. The star is the target that the optimum "
    "draws the attacker to.",
    "path": "The commitment over time, a colour for each of its coordinates (those with the "
    "largest weights); dashed, the optimum; dots, the agent's forecasts.",
    "classification": "Left: the utility of three rules once people have answered them. The "
    "naive rule is fitted as if nobody moved. Right: how far each rule makes those with the bad "
    "label move their features.",
    "utility": "The principal's utility: in stretches of rounds, and on average so far, against "
    "V* and the certificate: what the error of the agent's forecasts allows beyond V*.",
    "calibration": "The largest calibration error of any interval of a given length, with the "
    "paper's rate.",
    "responses": "Which answers the agent gave, as shares of stretches of rounds (in a continuous "
    "game the mean answer), and the phases of the principal.",
}


def play_figures(played: Played) -> dict[str, tuple[str, bytes]]:
    """Draw the figures; return each as SVG text and as PNG, by name."""
    from stackcast.report.calibration_figure import draw_profile
    from stackcast.report.responses_figure import draw_responses
    from stackcast.report.utility_figure import draw_utility

    t, audit, game = played.transcript, played.audit, played.game
    draw: dict[str, tuple[Callable[[Any], Any], tuple[float, float], int]] = {
        **_first(played),
        "utility": (lambda ax: draw_utility(t, audit, game, ax), (8.0, 4.2), 1),
        "responses": (lambda ax: draw_responses(t, game, ax), (8.0, 2.8), 1),
    }
    if audit.calibration is not None:
        profile = audit.calibration.profile
        draw["calibration"] = (lambda ax: draw_profile(profile, ax), (8.0, 4.2), 1)
    if played.classification is not None:
        from stackcast.report.continuous_figure import draw_classification

        report = played.classification
        size = (10.0, 3.0 + 0.25 * len(report.features))
        draw["classification"] = (lambda axes: draw_classification(report, axes), size, 2)
    return {name: rendered(*draw[name]) for name in CAPTIONS if name in draw}


def _first(played: Played) -> dict[str, tuple[Callable[[Any], Any], tuple[float, float], int]]:
    """Return the figure that only this kind of game has: where the play took place."""
    t, game, solution = played.transcript, played.game, played.solution
    if isinstance(game, ContinuousGame):
        from stackcast.report.path_figure import draw_path

        return {"path": (lambda ax: draw_path(t, game, solution, ax), (8.0, 4.2), 1)}
    if isinstance(game, SecurityGame) and solution is not None:
        from stackcast.report.coverage_figure import draw_coverage

        learned = played.result.strategy
        return {
            "coverage": (lambda ax: draw_coverage(game, solution, learned, t, ax), (8.0, 4.2), 1)
        }
    from stackcast.report.strategies_figure import draw_strategies

    return {"strategies": (lambda ax: draw_strategies(t, game, solution, ax), (8.0, 4.8), 1)}
