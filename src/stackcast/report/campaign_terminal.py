"""The status of a campaign for a terminal: words, and a map of what is known."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Group
from rich.table import Table
from rich.text import Text

from stackcast.campaigns import mixture
from stackcast.report.learned_regions import flat, hulls, inside

if TYPE_CHECKING:
    from rich.console import RenderableType

    from stackcast._validation import FloatArray
    from stackcast.campaigns import Status

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_UNKNOWN, _DISPUTED, _STAR = "·", "?", "★"
_HEIGHT = 15
_WIDTH = 61
#: What the principal believed, by kind of contradiction.
_BELIEFS = {
    "answers": "answers that cannot all be right",
    "commitment": "the commitment drew another response than expected",
    "step": "a step towards a larger utility drew other responses and was taken back",
    "margin": "the commitment lay too near to another region",
    "recheck": "an old answer was denied when it was asked again",
    "change": "the agent has changed; all answers before were forgotten",
}


def describe_status(status: Status) -> RenderableType:
    """Return what a person wants to read of a campaign."""
    parts: list[RenderableType] = [_sentence(status), Text()]
    drawing = learned_map(status)
    if drawing is not None:
        parts += [drawing, Text()]
    parts.append(_legend(status))
    for contradiction in status.contradictions:
        belief = _BELIEFS.get(contradiction["kind"], contradiction["kind"])
        parts.append(Text(f"Contradiction in round {contradiction['round']:,}: {belief}."))
    parts += [Text(f"Another decision: {difference}.") for difference in status.differences]
    if status.open_ask is not None:
        ask = status.open_ask
        parts.append(Text(f"Open: entry {ask.entry}, {ask.mixture()} for {ask.rounds:,} rounds."))
    return Group(*parts)


def _sentence(status: Status) -> Text:
    text = Text()
    if status.response is None or math.isnan(status.value):
        text.append("Nothing is known yet: ask, play, tell.")
    else:
        answer = status.game.agent_actions[status.response]
        text.append("Best so far: ")
        text.append(mixture(status.strategy, status.game.principal_actions), style="bold")
        text.append(f", which draws {answer!r} and earns ")
        text.append(f"{status.value:.6g}", style="bold")
        text.append(".\n")
        if status.certified:
            text.append(f"Certified: forecasts off by less than {status.margin:.3g} draw that too.")
        else:
            text.append("Not certified yet.")
        if math.isfinite(status.further_gain):
            text.append(f" At most {max(status.further_gain, 0.0):.3g} more is thought possible.")
    rounds = f"\n{status.rounds:,} rounds played"
    if status.missing:
        rounds += f", {status.missing:,} without a response"
    if status.unseen:
        rounds += f", {status.unseen:,} not as asked"
    if not math.isnan(status.average_utility):
        rounds += f"; {status.average_utility:.4g} earned a round on average"
    text.append(rounds + ".")
    return text


def learned_map(status: Status) -> Text | None:
    """Draw what is known of the regions in letters, for two or three principal actions; else None.

    A letter stands where the answers prove a response, ``?`` where they disagree, ``·`` where
    nothing is known.
    """
    names = status.game.principal_actions
    if len(names) not in (2, 3):
        return None
    rows = _cells(len(names))
    known = hulls(status)
    near = 0.5 / (_HEIGHT - 1) if len(names) == 3 else 0.5 / (_WIDTH - 1)
    star = min(
        ((r, c) for r, row in enumerate(rows) for c in range(len(row))),
        key=lambda cell: float(np.abs(rows[cell[0]][cell[1]] - status.strategy).sum()),
    )
    text = Text()
    margin = max(len(names[-2]) // 2, 2)
    if len(names) == 3:
        text.append(" " * max(margin + _HEIGHT - 1 - len(names[0]) // 2, 0) + names[0] + "\n")
    for r, row in enumerate(rows):
        text.append(" " * (margin + (_HEIGHT - 1 - r if len(names) == 3 else 0)))
        for c, strategy in enumerate(row):
            point = flat(strategy)
            found = [y for y, corners in known.items() if inside(corners, point, near)]
            mark = _LETTERS[found[0] % 26] if len(found) == 1 else _DISPUTED
            if not status.game.principal_view.space.contains(strategy):
                mark = " "
            elif not found:
                mark = _UNKNOWN
            text.append(_STAR if (r, c) == star else mark)
        text.append("\n")
    first, last = (names[1], names[2]) if len(names) == 3 else names
    width = 2 * _HEIGHT - 1 if len(names) == 3 else _WIDTH
    text.append(first + " " * max(width + 2 * margin - len(first) - len(last), 2) + last)
    return text


def _cells(actions: int) -> list[FloatArray]:
    if actions == 2:
        share = np.linspace(0, 1, _WIDTH)
        return [np.column_stack([1 - share, share])]
    rows = []
    for r in range(_HEIGHT):
        depth = r / (_HEIGHT - 1)
        right = np.linspace(0, depth, 2 * r + 1)
        rows.append(np.column_stack([np.full(2 * r + 1, 1 - depth), depth - right, right]))
    return rows


def _legend(status: Status) -> Table:
    table = Table(title="answers so far", title_justify="left")
    for column in ("", "the agent answers", "to strategies", "in rounds"):
        table.add_column(column)
    total = sum((row.counts for row in status.answers), np.zeros(len(status.game.agent_actions)))
    for y, action in enumerate(status.game.agent_actions):
        clear = sum(row.response == y for row in status.answers)
        table.add_row(_LETTERS[y % 26], action, f"{clear:,}", f"{int(total[y]):,}")
    unclear = sum(row.response is None for row in status.answers)
    if unclear:
        table.add_row(_DISPUTED, "no response clearly", f"{unclear:,}", "")
    return table
