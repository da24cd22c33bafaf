"""The outcome of a play in words, for each kind of game."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast.auditing import ContinuousAudit

if TYPE_CHECKING:
    from stackcast.auditing import Audit, ClassificationReport
    from stackcast.protocol import Transcript


def exploration_sentences(transcript: Transcript, audit: Audit | ContinuousAudit) -> list[str]:
    """Say what exploring cost, where there was exploration and commitment."""
    held = [phase for phase in audit.phases if phase.name.startswith("commit")]
    spent = [phase for phase in audit.phases if not phase.name.startswith("commit")]
    if not held or not spent:
        return []
    rounds = sum(phase.rounds for phase in held)
    earned = sum(phase.rounds * phase.average_utility for phase in held) / rounds
    return [
        f"{100 * (1 - rounds / transcript.rounds):.2g}% of the rounds were spent exploring, which "
        f"cost {sum(phase.share for phase in spent):.2g} a round; the commitment earned "
        f"{earned:.4g} a round."
    ]


def agent_sentences(game: Any, transcript: Transcript, audit: Audit | ContinuousAudit) -> list[str]:
    """Say how good the agent's forecasts were, or that it had none."""
    if audit.calibration is not None:
        return [_calibration_sentence(audit.calibration.profile)]
    if isinstance(audit, ContinuousAudit) and not math.isnan(audit.forecast_distance):
        return [
            f"On average a forecast was {audit.forecast_distance:.3g} away from the strategy, and "
            f"an answer {audit.response_distance:.3g} away from the best response to it."
        ]
    name = transcript.metadata.get("agent", {}).get("name")
    if name == "ContinuousBestResponse" and game.space.dimension > 2:
        return [
            f"The agent was told the strategy: {game.space.dimension} dimensions are too many for "
            "calibrated forecasts on a grid."
        ]
    return []


def _calibration_sentence(profile: Any) -> str:
    shown = [length for length in profile.errors if length <= max(1, profile.rounds // 100)]
    length = max((n for n in shown if n <= 500), default=min(profile.errors))
    rounds = f"{length:,} rounds" if length > 1 else "one round"
    return (
        f"No interval of {rounds} was miscalibrated by more than "
        f"{math.ceil(1e4 * profile.errors[length]) / 1e4:.4g}."
    )


def classification_sentences(report: ClassificationReport) -> list[str]:
    """Say how accurate the rules were, and what the one that ignores strategy would have done."""
    last, best, naive = report.last, report.optimal, report.naive
    most = np.argsort(-np.abs(naive.shift), kind="stable")[:3]
    moved = [j for j in most.tolist() if abs(naive.shift[j]) > 5e-3]
    here = ", ".join(f"{report.features[j]} by {last.shift[j]:.2g}" for j in moved)
    there = ", ".join(f"{naive.shift[j]:.2g}" for j in moved)
    return [
        f"The last rule judged {100 * last.balanced_accuracy:.1f}% rightly, both labels counting "
        f"alike; the optimum {100 * best.balanced_accuracy:.1f}%. The rule that ignores strategy "
        f"expects {report.believed:.4g} and earns {naive.utility:.4g} "
        f"({100 * naive.balanced_accuracy:.1f}%).",
        f"Those with the bad label moved {here} standard deviations; the rule that ignores "
        f"strategy would make them move by {there}."
        if moved
        else "Nobody has a reason to move.",
    ]


def classification_rows(
    report: ClassificationReport,
) -> tuple[tuple[str, ...], list[tuple[str | float, ...]]]:
    """Return the columns and rows of the table of rules."""
    at = [report.features.index(name) for name in report.changeable]
    columns = ("rule", "utility", "accuracy", "balanced", "if nobody moved")
    rules = {
        "optimal (V*)": report.optimal,
        "last played": report.last,
        "all rounds": report.played,
        "naive: ignores strategy": report.naive,
    }
    rows: list[tuple[str | float, ...]] = [
        (
            name,
            rule.utility,
            f"{100 * rule.accuracy:.1f}%",
            f"{100 * rule.balanced_accuracy:.1f}%",
            f"{100 * rule.accuracy_if_nobody_moves:.1f}%",
            *(f"{rule.shift[j]:.3f}" for j in at),
        )
        for name, rule in rules.items()
    ]
    return (*columns, *(f"shift of {name}" for name in report.changeable)), rows
