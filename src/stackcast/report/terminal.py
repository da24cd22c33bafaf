"""Games and solutions for a terminal: words before numbers, and a map of the regions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Group
from rich.table import Table
from rich.text import Text

from stackcast.games import ContinuousGame, SecurityGame
from stackcast.report.continuous_terminal import describe_point
from stackcast.solvers import BestResponseRegions, ContinuousSolution

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from stackcast._validation import FloatArray
    from stackcast.games import Game
    from stackcast.solvers import Solution

#: Letters tell the regions apart where colours cannot.
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_STYLES = ("cyan", "yellow", "magenta", "green", "blue", "red")
_STAR = "★"
#: Actions that are named one by one.
_MOST_NAMES = 20


def describe_solution(
    game: Game | ContinuousGame, solution: Solution | ContinuousSolution
) -> RenderableType:
    """Return what a person wants to read of a solution."""
    if isinstance(game, ContinuousGame) or isinstance(solution, ContinuousSolution):
        return describe_point(game, solution)
    parts: list[RenderableType] = []
    if game.description:
        parts += [Text(game.name, style="bold"), Text(game.description), Text()]
    if isinstance(game, SecurityGame):
        parts += [_sentence(game, solution), Text(), _coverage(game, solution)]
    else:
        parts += [_sentence(game, solution), Text(), _map_and_legend(game, solution)]
    if not math.isnan(solution.maximin):
        parts += [Text(), _details(solution)]
    return Group(*parts)


def _sentence(game: Game, solution: Solution) -> Text:
    order = np.argsort(-solution.strategy, kind="stable")[:_MOST_NAMES]
    parts = [
        f"{_percent(p)} {action}"
        for t, (p, action) in enumerate(zip(solution.strategy, game.principal_actions, strict=True))
        if p > 5e-7 and t in order
    ]
    rest = int((solution.strategy > 5e-7).sum()) - len(parts)
    if rest > 0:
        parts.append(f"and {rest} more")
    text = Text("Commit to ")
    text.append(", ".join(parts) or "nothing", style="bold")
    text.append("; the agent answers ")
    text.append(repr(solution.response_name), style="bold")
    text.append(" and the principal earns ")
    text.append(f"{solution.value:.6g}", style="bold")
    text.append(f" ({'V*' if solution.bound - solution.value < 1e-9 else 'the best found'}).\n")
    if math.isinf(solution.margin):
        text.append("No forecast of the agent can change that answer.")
    elif solution.margin < 1e-9:
        text.append(
            "The commitment lies on a tie: the least error of a forecast may change the answer. "
            "A margin (--margin 0.02) makes it firm."
        )
    else:
        text.append(f"Forecasts that are off by less than {solution.margin:.4g} draw that answer.")
    return text


def _coverage(game: SecurityGame, solution: Solution) -> Table:
    """Return the coverage and both sides' utilities, target by target, the best covered first."""
    table = Table(title="coverage", title_justify="left")
    for column in ("target", "covered", "attacker's utility", "defender's utility"):
        table.add_column(column, justify="left" if column == "target" else "right")
    c = solution.strategy
    attacker = c * game.attacker_covered + (1 - c) * game.attacker_uncovered
    defender = c * game.defender_covered + (1 - c) * game.defender_uncovered
    # The first of them are those that the attacker may choose.
    order = np.lexsort((-c, -attacker))
    tied = int((attacker >= attacker.max() - 1e-9 * max(1.0, float(np.ptp(attacker)))).sum())
    for t in order[:_MOST_NAMES].tolist():
        table.add_row(
            Text(game.targets[t] + (f" {_STAR}" if t == solution.response else "")),
            _percent(float(c[t])),
            f"{attacker[t]:.6g}",
            f"{defender[t]:.6g}",
        )
    more = f", the first {_MOST_NAMES} shown" if len(c) > _MOST_NAMES else ""
    table.caption = f"equally attractive to the attacker: {tied} of {len(c)} targets{more}"
    return table


def _percent(p: float) -> str:
    return f"{100 * p:.4g}%"


def _map_and_legend(game: Game, solution: Solution) -> RenderableType:
    regions = BestResponseRegions(game)
    shares = regions.volume_shares(samples=20_000)
    order = [y for y in np.argsort(-shares.share) if shares.share[y] > 0]
    letter = {int(y): _LETTERS[i % 26] for i, y in enumerate(order)}
    legend = Table(title="best-response regions", title_justify="left")
    columns = ["", "the agent answers", "share of strategies"]
    complete = not any(math.isnan(solution.values[y]) for y in order)
    for column in columns + (["principal's best there"] if complete else []):
        legend.add_column(column)
    for i, y in enumerate(order):
        legend.add_row(
            Text(letter[int(y)], style=f"bold {_STYLES[i % len(_STYLES)]}"),
            game.agent_actions[y] + (f" {_STAR}" if y == solution.response else ""),
            f"{100 * shares.share[y]:.1f}%",
            *([f"{solution.values[y]:.6g}"] if complete else []),
        )
    unseen = [a for y, a in enumerate(game.agent_actions) if int(y) not in letter]
    parts: list[RenderableType] = [legend]
    drawing = region_map(game, solution.strategy, letter)
    if drawing is not None:
        parts = [drawing, Text(), legend]
    if unseen:
        parts.append(Text("Hardly ever or never a best response: " + ", ".join(unseen) + "."))
    return Group(*parts)


def region_map(
    game: Game,
    strategy: FloatArray,
    letters: dict[int, str],
    height: int = 17,
) -> Text | None:
    """Draw the regions of a game with two or three principal actions in letters; else None.

    Three actions make a triangle with a pure strategy at each corner, two make a line. What the
    principal's constraints forbid is left blank.
    """
    m = game.shape[0]
    if m == 3:
        rows = [
            np.array(
                [
                    [
                        1 - r / (height - 1),
                        (1 - c / max(2 * r, 1)) * r / (height - 1),
                        c / max(2 * r, 1) * r / (height - 1),
                    ]
                    for c in range(2 * r + 1)
                ]
            )
            for r in range(height)
        ]
    elif m == 2:
        rows = [np.array([[1 - c / 60, c / 60] for c in range(61)])]
    else:
        return None
    style = {y: _STYLES[i % len(_STYLES)] for i, y in enumerate(letters)}
    nearest = min(
        ((r, c) for r, row in enumerate(rows) for c in range(len(row))),
        key=lambda cell: float(np.abs(rows[cell[0]][cell[1]] - strategy).sum()),
    )
    top, left, right = (
        game.principal_actions[0],
        game.principal_actions[1],
        game.principal_actions[-1],
    )
    indent = max(len(left) // 2, 2)
    text = Text()
    if m == 3:
        text.append(" " * max(indent + height - len(top) // 2 - 1, 0) + top + "\n", style="dim")
    for r, row in enumerate(rows):
        text.append(" " * (indent + (height - 1 - r if m == 3 else 0)))
        for c, y in enumerate(game.agent_view.respond(row)):
            if (r, c) == nearest:
                text.append(_STAR, style="bold")
            elif not game.space.contains(row[c]):
                text.append(" ")
            else:
                text.append(letters.get(int(y), "·"), style=style.get(int(y), "dim"))
        text.append("\n")
    first, last = (left, right) if m == 3 else (top, right)
    width = 2 * height - 1 if m == 3 else 61
    gap = max(width + 2 * indent - len(first) - len(last), 2)
    text.append(first + " " * gap + last, style="dim")
    return text


def _details(solution: Solution) -> Table:
    table = Table(title="details", title_justify="left", show_header=False)
    table.add_row("V*, with commitment", f"{solution.value:.6g}")
    table.add_row("best Nash equilibrium, without", f"{solution.nash:.6g}")
    table.add_row("maximin, against anybody", f"{solution.maximin:.6g}")
    table.add_row("regularity η of the answer's region", f"{solution.regularity:.4g}")
    s = solution.sensitivity
    if s is not None:
        table.add_row(
            f"payoffs of the agent off by {s.payoff_error:.3g}: V* at most", f"{s.highest:.6g}"
        )
        table.add_row("… this commitment earns at least", f"{s.worst_case:.6g}")
        table.add_row("… the safest commitment earns at least", f"{s.guaranteed:.6g}")
        table.add_row("… and lies at a distance of", f"{s.strategy_shift:.4g}")
    table.add_row(
        "agent's gap at the commitment (tolerance)",
        f"{solution.gap:.2g} ({solution.tolerance:.2g})",
    )
    table.add_row("method", solution.method)
    return table


def describe_game(game: Game) -> RenderableType:
    """Return a game's story and payoffs."""
    parts: list[RenderableType] = [Text(game.description), Text(), game]
    if game.source:
        parts.append(Text(f"Source: {game.source}"))
    if game.known_value is not None:
        parts.append(Text(f"Stackelberg value in the source: {game.known_value:g}"))
    return Group(*parts)


def describe_catalogue(games: Sequence[Game]) -> Table:
    """Return the table of the catalogue."""
    table = Table(title="games", title_justify="left")
    for column in ("name", "size", "V*", "story"):
        table.add_column(column, no_wrap=column != "story")
    for game in games:
        known = "" if game.known_value is None else f"{game.known_value:.4g}"
        first = game.description.split(". ")[0].rstrip(".") + "."
        size = "×".join(map(str, game.shape))
        if isinstance(game, SecurityGame):
            size = f"{len(game.targets)} targets"
        table.add_row(game.name, size, known, first)
    return table
