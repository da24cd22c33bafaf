"""An audit for a terminal: words first, then the tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from stackcast.auditing.audits import Audit
    from stackcast.auditing.continuous import ContinuousAudit

_VERDICTS = {True: ("holds", "green"), False: ("FAILED", "bold red"), None: ("open", "yellow")}


def described(audit: Audit) -> Group:
    """Return what a person wants to read of an audit."""
    parts: list[RenderableType] = [Text(sentence) for sentence in sentences(audit)]
    parts += [Text(), _bounds(audit)]
    if len(audit.phases) > 1:
        parts += [Text(), _phases(audit)]
    if audit.calibration is not None:
        parts += [Text(), audit.calibration.profile.table()]
    return Group(*parts)


def described_continuous(audit: ContinuousAudit) -> Group:
    """Return what a person wants to read of the audit of a continuous game."""
    side = "lost" if audit.regret >= 0 else "gained"
    told = [
        f"Over {audit.rounds:,} rounds the principal earned {audit.average_utility:.6g} a round; "
        f"V* is {audit.value:.6g}, so {abs(audit.regret):.4g} a round was {side} against it.",
        f"The agent's answers lie {audit.response_distance:.4g} from the best responses to the "
        "strategies, on average.",
    ]
    if not math.isnan(audit.forecast_distance):
        told.append(
            f"Its forecasts lie {audit.forecast_distance:.4g} from the strategies, and its answers "
            f"{_number(audit.forecast_response_distance, 4)} from the best responses to them."
        )
    if audit.estimated:
        told.append(f"Estimated on sampled points: {', '.join(audit.estimated)}.")
    failed = ", ".join(bound.name for bound in audit.failed)
    told.append(f"Bounds that FAILED: {failed}." if failed else "No bound fails.")
    parts: list[RenderableType] = [*map(Text, told), Text(), _bounds(audit)]
    if len(audit.phases) > 1:
        parts += [Text(), _phases(audit)]
    return Group(*parts)


def sentences(audit: Audit) -> list[str]:
    """Return the findings, a sentence each."""
    side = "lost" if audit.regret >= 0 else "gained"
    told = [
        f"Over {audit.rounds:,} rounds the principal earned {audit.average_utility:.6g} a round; "
        f"V* is {audit.value:.6g}, so {abs(audit.regret):.4g} a round was {side} against it."
    ]
    before, after = audit.exploration, audit.commitment
    if before is not None and after is not None:
        told.append(
            f"Of this regret, {before.share:.4g} comes from {before.rounds:,} rounds of "
            f"exploration and {after.share:.4g} from the commitment."
        )
    what = "drawn action" if audit.draws else "strategy"
    told.append(
        f"{100 * audit.best_response_share:.4g}% of the agent's answers were best responses to the "
        f"{what} of their round; its swap regret is {_number(audit.swap_regret)} "
        f"({_number(audit.swap_regret_per_round, 4)} a round), its external regret "
        f"{_number(audit.external_regret)}."
    )
    if not math.isnan(audit.forecast_response_share):
        told.append(
            f"{100 * audit.forecast_response_share:.4g}% were best responses to its forecasts."
        )
    told.append(f"The agent looks {_ADJECTIVES[audit.portrait.label]}.")
    told += [f"  {reason}" for reason in audit.portrait.reasons]
    if audit.failed:
        names = ", ".join(bound.name for bound in audit.failed)
        told.append(f"Bounds that FAILED: {names}.")
    else:
        told.append("Every bound holds.")
    return told


def _number(value: float, digits: int = 6) -> str:
    return f"{0.0 if abs(value) < 1e-9 else value:.{digits}g}"  # rounding is not worth a line


_ADJECTIVES = {
    "best-responding": "best-responding: it answers the strategy itself",
    "adaptive": "adaptive: it follows changes as fast as calibration on every interval asks",
    "long-run calibrated": "calibrated in the long run only: it follows changes late",
    "mean-based": "mean-based: it follows the average of the past, and can be milked",
    "mixture": "like a mixture, or like something else than the paper's agents",
    "undecided": "like several kinds of agents: this record does not tell them apart",
}


def _bounds(audit: Audit | ContinuousAudit) -> Table:
    table = Table(title="What is bounded", title_justify="left")
    table.add_column("quantity")
    for name in ("measured", "at most", "slack"):
        table.add_column(name, justify="right")
    for name in ("verdict", "paper", "note"):
        table.add_column(name)
    for line in audit.bounds:
        word, style = _VERDICTS[line.holds]
        table.add_row(
            Text(line.name),
            _number(line.measured),
            _number(line.bound),
            _number(line.slack, 4),
            Text(word, style=style),
            line.where,
            Text(line.note),
        )
    return table


def _phases(audit: Audit | ContinuousAudit) -> Table:
    table = Table(title="By phase", title_justify="left")
    table.add_column("phase")
    for name in ("rounds", "utility a round", "regret a round", "part of the regret"):
        table.add_column(name, justify="right")
    for phase in audit.phases:
        table.add_row(
            Text(phase.name or "(no label)"),
            f"{phase.rounds:,}",
            f"{phase.average_utility:.6g}",
            f"{phase.regret:.4g}",
            f"{phase.share:.4g}",
        )
    return table
