"""A play for a terminal: the outcome in words, then the guarantees; readable in 40 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from stackcast.auditing import Bound
    from stackcast.report.play_report import Played

VERDICTS = {True: ("holds", "green"), False: ("FAILED", "bold red"), None: ("open", "yellow")}
#: Narrower windows get a list instead of a table.
_TABLE_WIDTH = 72


def describe_play(played: Played, width: int) -> RenderableType:
    """Return what a person wants to read of a play, in a window of so many columns."""
    name = Text(f"{played.game.name or 'game'}, {played.transcript.rounds:,} rounds", style="bold")
    parts: list[RenderableType] = [name]
    parts += [Text(sentence) for sentence in played.sentences()]
    parts.append(Text())
    if width >= _TABLE_WIDTH:
        parts.append(_guarantees(played.audit.bounds))
    else:
        parts += [_line(bound) for bound in played.audit.bounds]
    return Group(*parts)


def _guarantees(bounds: tuple[Bound, ...]) -> Table:
    table = Table(title="guarantees", title_justify="left")
    table.add_column("quantity")
    for name in ("measured", "at most"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("paper", no_wrap=True)
    for bound in bounds:
        word, style = VERDICTS[bound.holds]
        table.add_row(
            Text(bound.name),
            number(bound.measured),
            number(bound.bound),
            Text(word, style=style),
            bound.where,
        )
    return table


def _line(bound: Bound) -> Text:
    word, style = VERDICTS[bound.holds]
    text = Text(f"{bound.name}: {number(bound.measured)} ≤ {number(bound.bound)} ")
    text.append(word, style=style)
    return text


def number(value: float) -> str:
    """Return a number for people; what is rounding is 0."""
    return f"{0.0 if abs(value) < 1e-9 else value:.6g}"
