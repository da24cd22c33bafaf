"""What people read on a terminal: :func:`describe` gives words first, then tables and maps.

All texts that a user or a file can have written pass :func:`~stackcast._plain.visible` and
reach Rich as :class:`rich.text.Text`, which knows no markup.
"""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from stackcast._plain import visible
from stackcast._validation import InputError
from stackcast.report.rounds import in_words
from stackcast.report.strategy_space import flat, hulls, inside
from stackcast.solvers import BestResponseRegions
from stackcast.theory import most

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rich.console import RenderableType

    from stackcast._validation import FloatArray
    from stackcast.auditing import Audit, Bound, ContinuousAudit
    from stackcast.calibration import CalibrationProfile, ForecastCertificate
    from stackcast.campaigns import Status
    from stackcast.claims import Finding
    from stackcast.games import ContinuousGame, Game, SecurityGame
    from stackcast.report.pages import Played
    from stackcast.solvers import ContinuousSolution, Solution

#: Letters tell the regions apart where colours cannot.
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_STYLES = ("cyan", "yellow", "magenta", "green", "blue", "red")
_STAR, _UNKNOWN, _DISPUTED = "★", "·", "?"
#: Actions that are named one by one, and the letters of a name in a sentence or a cell.
_MOST_NAMES, _NAME = 20, 60
#: Narrower windows get a list instead of a table.
_TABLE_WIDTH = 72
#: Rows of the triangle, columns of the line.
_HEIGHT, _WIDTH = 17, 61
#: A verdict, and its colour.
VERDICTS: dict[Any, tuple[str, str]] = {
    True: ("holds", "green"),
    False: ("FAILED", "bold red"),
    None: ("open", "yellow"),
    "holds": ("holds", "green"),
    "fails": ("FAILS", "bold red"),
    "vacuous": ("vacuous here", "yellow"),
    "undecided": ("undecided", "yellow"),
}
_LABELS = {
    "best-responding": "best-responding: it responds to the strategy itself",
    "adaptive": "adaptive: it follows changes as fast as calibration on every interval asks",
    "long-run calibrated": "calibrated in the long run only: it follows changes late",
    "mean-based": "mean-based: it follows the average of the past, and can be exploited",
    "mixture": "like a mixture, or like something else than the paper's agents",
    "undecided": "like several kinds of agents: this record does not tell them apart",
}
#: What the principal believed, by kind of contradiction.


def describe(thing: Any, game: Any = None, *, width: int = 80) -> RenderableType:
    """Return a readable summary of a game, a solution, an audit, a play and so on.

    Parameters
    ----------
    thing : object
        A game, solution (with ``game``), audit, calibration profile or certificate, campaign's
        status, play, or a list of findings of claims.
    game : game, optional
        The game of a solution.
    width : int
        The columns of the window: tables become lists where it is narrow.

    Returns
    -------
    A renderable of Rich, to be printed by a ``rich.console.Console``.

    Examples
    --------
    >>> import stackcast as sc
    >>> from rich.console import Console
    >>> game = sc.load_game("textbook-commitment")
    >>> Console(width=90).print(describe(sc.solve(game), game))  # doctest: +ELLIPSIS
    textbook-commitment
    ...
    Commit to 50% up, 50% down; the agent responds 'right' and the principal earns 2.5 (V*).
    ...
    """
    if isinstance(thing, list | tuple):
        return _findings(thing, width)
    for kind in type(thing).__mro__:
        made = _KINDS.get(kind.__name__)
        if made is not None:
            if "Solution" in kind.__name__:
                return _without_game(thing) if game is None else made(thing, game)
            return made(thing, width)
    raise InputError("describe", "a game, solution, audit, play, status …", type(thing).__name__)


def in_notebook(thing: Any) -> str:
    """Return what :func:`describe` says as HTML, every name escaped."""
    console = Console(file=io.StringIO(), record=True, width=100, color_system="truecolor")
    console.print(describe(thing, width=100))
    style = "font-family:monospace;line-height:1.25;overflow-x:auto"
    return console.export_html(
        inline_styles=True, code_format=f'<pre style="{style}">{{code}}</pre>'
    )


def name_of(text: object) -> str:
    """Return a name for a sentence or a cell."""
    return visible(text, _NAME)


def story(text: object) -> Text:
    """Return a text of any length, its line breaks as spaces."""
    return Text(visible(" ".join(str(text).split()), 10_000))


def table(
    title: str, columns: Iterable[str], rows: Iterable[Iterable[Any]], *, caption: str = ""
) -> Table:
    """Return a table; a column whose name ends in ``>`` is set right, cells are plain text."""
    made = Table(
        title=Text(title) if title else None,
        title_justify="left",
        caption=Text(caption) if caption else None,
    )
    for name in columns:
        made.add_column(Text(name.rstrip(">")), justify="right" if name.endswith(">") else "left")
    for row in rows:
        made.add_row(*(c if isinstance(c, Text | Table) else Text(visible(c)) for c in row))
    return made


def number(value: float, digits: int = 6) -> str:
    """Return a number as readable text; rounding errors become 0."""
    return f"{0.0 if abs(value) < 1e-9 else value:.{digits}g}"


def _percent(p: float) -> str:
    return f"{100 * p:.4g}%"


def _emphasised(*parts: str) -> Text:
    """Return a sentence; every second part is set in bold."""
    return Text.assemble(*((p, "bold") if i % 2 else p for i, p in enumerate(parts)))


# Games ------------------------------------------------------------------------------------------


def _game(game: Game | ContinuousGame, _: int) -> RenderableType:
    parts: list[RenderableType] = [story(game.description), Text()] if game.description else []
    parts.append(_payoffs(game))
    if game.source:
        parts.append(story(f"Source: {game.source}"))
    if game.known_value is not None:
        parts.append(Text(f"Stackelberg value in the source: {game.known_value:g}"))
    return Group(*parts)


def _payoffs(game: Any) -> RenderableType:
    if hasattr(game, "response_features"):
        c = game.constants
        label = " (estimated: " + ", ".join(c.estimated) + ")" if c.estimated else ""
        return Text(
            f"{visible(repr(game))}\n"
            f"commitment: {', '.join(map(name_of, game.principal_features))}\n"
            f"response: {', '.join(map(name_of, game.response_features))}\n"
            f"L₁ {c.lipschitz_strategy:.4g}, L₂ {c.lipschitz_response:.4g}, "
            f"W_P {c.utility_bound:.4g}, L_BR {c.lipschitz_best_response:.4g}, "
            f"L_U {c.lipschitz_value:.4g}{label}"
        )
    if hasattr(game, "targets"):
        return _targets(game)
    rows = (
        (name_of(x), *(f"{p:.4g}, {a:.4g}" for p, a in zip(own, other, strict=True)))
        for x, own, other in zip(
            game.principal_actions, game.principal_payoffs, game.agent_payoffs, strict=True
        )
    )
    columns = ("", *(f"{name_of(y)}>" for y in game.agent_actions))
    return table(name_of(game.name), columns, rows, caption="principal's payoff, agent's payoff")


def _targets(game: SecurityGame) -> Table:
    columns = ("target", "defender, covered>", "uncovered>", "attacker, covered>", "uncovered>")
    payoffs = (
        game.defender_covered,
        game.defender_uncovered,
        game.attacker_covered,
        game.attacker_uncovered,
    )
    rows = (
        (name_of(target), *(f"{vector[t]:.4g}" for vector in payoffs))
        for t, target in enumerate(game.targets)
    )
    caption = f"{game.resources} resource{'s' * (game.resources > 1)}"
    return table(name_of(game.name), columns, rows, caption=caption)


def describe_catalogue(games: Sequence[Any]) -> Table:
    """Return the table of the catalogue."""
    rows = []
    for game in games:
        size = f"{len(game.targets)} targets" if hasattr(game, "targets") else ""
        size = size or "×".join(map(str, game.shape))
        rows.append((game.name, size, _known(game.known_value), _first(game.description)))
    return table("games", ("name", "size", "V*", "story"), rows)


def describe_continuous_catalogue(entries: Sequence[dict[str, Any]]) -> Table:
    """Return the table of the catalogue's continuous games."""
    rows = [
        (e["name"], e["dimension"], _known(e["known_value"]), _first(e["description"]))
        for e in entries
    ]
    return table("continuous games", ("name", "dimension", "V*", "story"), rows)


def _known(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _first(description: str) -> str:
    return description.split(". ")[0].rstrip(".") + "."


# Solutions --------------------------------------------------------------------------------------


def _headed(game: Any, *parts: RenderableType) -> Group:
    above = [Text(name_of(game.name), style="bold"), story(game.description), Text()]
    return Group(*(above if game.description else []), *parts)


def _without_game(solution: Solution | ContinuousSolution) -> RenderableType:
    """Return the numbers alone: names and regions are the game's."""
    numbered = ", ".join(f"{x:.4g}" for x in solution.strategy)
    response = getattr(solution, "response_name", "") or np.round(solution.response, 6)
    rows: list[tuple[str, str]] = [
        ("value", f"{solution.value:.6g}"),
        ("strategy", numbered),
        ("response", name_of(response)),
        ("no commitment earns more than", f"{solution.bound:.6g}"),
    ]
    if hasattr(solution, "margin"):
        rows.append(("margin", f"{solution.margin:.4g}"))
    return table("optimal commitment", ("what", "value"), rows)


def _continuous_solution(solution: ContinuousSolution, game: ContinuousGame) -> RenderableType:
    kept = "V*" if solution.status == "optimal" else "the best found"
    text = _emphasised(
        "Commit to ",
        _named(game.principal_features, solution.strategy),
        "; the agent responds ",
        _named(game.response_features, solution.response),
        " and the principal earns ",
        f"{solution.value:.6g}",
        f" ({kept}; no commitment earns more than {solution.bound:.9g}).",
    )
    return _headed(game, text)


def _named(names: Sequence[str], point: Any) -> str:
    return ", ".join(f"{name_of(name)} {x:.4g}" for name, x in zip(names, point, strict=True))


def _solution(solution: Solution, game: Game) -> RenderableType:
    found: Any = _coverage if hasattr(game, "targets") else _map_and_legend
    parts: list[RenderableType] = [_sentence(game, solution), Text(), found(game, solution)]
    if not math.isnan(solution.maximin):
        parts += [Text(), _details(game, solution)]
    return _headed(game, *parts)


def _sentence(game: Game, solution: Solution) -> Text:
    if solution.bound - solution.value > 1e-9:
        kept = "the best found"
    else:
        asked = solution.asked_margin
        kept = "V*" if asked == 0 else f"the most that a margin of {asked:g} leaves"
    text = _emphasised(
        "Commit to ",
        in_words(game, solution.strategy),
        "; the agent responds ",
        f"'{name_of(solution.response_name)}'",
        " and the principal earns ",
        f"{solution.value:.6g}",
        f" ({kept}).\n",
    )
    if math.isinf(solution.margin):
        return text.append("No forecast of the agent can change that response.")
    if solution.margin < 1e-9:
        return text.append(
            "The commitment lies on a tie: the least error of a forecast may change the response. "
            "A margin (--margin 0.02) makes it firm."
        )
    return text.append(
        f"Forecasts that are off by less than {solution.margin:.4g} do not change that response."
    )


def _coverage(game: SecurityGame, solution: Solution) -> Table:
    """Return the coverage and both sides' utilities, target by target, the best covered first."""
    c = solution.strategy
    attacker = c * game.attacker_covered + (1 - c) * game.attacker_uncovered
    defender = c * game.defender_covered + (1 - c) * game.defender_uncovered
    # The first of them are those that the attacker may choose.
    order = np.lexsort((-c, -attacker))
    tied = int((attacker >= attacker.max() - 1e-9 * max(1.0, float(np.ptp(attacker)))).sum())
    rows = (
        (
            name_of(game.targets[t]) + (f" {_STAR}" if t == solution.response else ""),
            _percent(float(c[t])),
            f"{attacker[t]:.6g}",
            f"{defender[t]:.6g}",
        )
        for t in order[:_MOST_NAMES].tolist()
    )
    columns = ("target", "covered>", "attacker's utility>", "defender's utility>")
    more = f", the first {_MOST_NAMES} shown" if len(c) > _MOST_NAMES else ""
    caption = f"equally attractive to the attacker: {tied} of {len(c)} targets{more}"
    return table("coverage", columns, rows, caption=caption)


def _map_and_legend(game: Game, solution: Solution) -> RenderableType:
    shares = BestResponseRegions(game).volume_shares(samples=20_000).share
    order = [int(y) for y in np.argsort(-shares) if shares[y] > 0]
    letter = {y: _LETTERS[i % 26] for i, y in enumerate(order)}
    columns = ["", "the response", "share of strategies"]
    complete = not any(math.isnan(solution.values[y]) for y in order)
    rows = (
        (
            Text(letter[y], style=f"bold {_STYLES[i % len(_STYLES)]}"),
            name_of(game.agent_actions[y]) + (f" {_STAR}" if y == solution.response else ""),
            f"{100 * shares[y]:.1f}%",
            *([f"{solution.values[y]:.6g}"] if complete else []),
        )
        for i, y in enumerate(order)
    )
    columns += ["principal's best there"] if complete else []
    parts: list[RenderableType] = [table("best-response regions", columns, rows)]
    drawing = region_map(game, solution.strategy, letter)
    if drawing is not None:
        parts = [drawing, Text(), *parts]
    unseen = [name_of(a) for y, a in enumerate(game.agent_actions) if y not in letter]
    if unseen:
        parts.append(Text("Hardly ever or never a best response: " + ", ".join(unseen) + "."))
    return Group(*parts)


def _letter_map(
    names: Sequence[str],
    strategy: FloatArray | None,
    mark: Callable[[FloatArray], tuple[str, str]],
    contains: Callable[[FloatArray], bool],
) -> Text | None:
    """Draw a line or triangle of strategies, a letter for each; None for other numbers of actions.

    Three actions make a triangle with a pure strategy at each corner, two make a line. What the
    principal's constraints forbid is left blank, and ★ stands at ``strategy`` if there is one.
    """
    m, names = len(names), [name_of(name) for name in names]
    if m == 2:
        share = np.linspace(0, 1, _WIDTH)
        rows, width = [np.column_stack([1 - share, share])], _WIDTH
    elif m == 3:
        rows, width = [], 2 * _HEIGHT - 1
        for depth in np.linspace(0, 1, _HEIGHT):
            right = np.linspace(0, depth, 2 * len(rows) + 1)
            rows.append(np.column_stack([np.full(len(right), 1 - depth), depth - right, right]))
    else:
        return None
    star = None
    if strategy is not None:
        star = min(
            ((r, c) for r, row in enumerate(rows) for c in range(len(row))),
            key=lambda cell: float(np.abs(rows[cell[0]][cell[1]] - strategy).sum()),
        )
    indent = max(len(names[-2]) // 2, 2)
    text = Text()
    if m == 3:
        text.append(" " * max(indent + _HEIGHT - len(names[0]) // 2 - 1, 0) + names[0] + "\n")
    for r, row in enumerate(rows):
        text.append(" " * (indent + (_HEIGHT - 1 - r if m == 3 else 0)))
        for c, point in enumerate(row):
            letter, style = mark(point) if contains(point) else (" ", "")
            text.append(*((_STAR, "bold") if (r, c) == star else (letter, style)))
        text.append("\n")
    gap = max(width + 2 * indent - len(names[-2]) - len(names[-1]), 2)
    return text.append(names[-2] + " " * gap + names[-1], style="dim")


def region_map(game: Game, strategy: FloatArray, letters: dict[int, str]) -> Text | None:
    """Draw the regions of a game with two or three principal actions in letters; else None."""
    styles = {y: _STYLES[i % len(_STYLES)] for i, y in enumerate(letters)}

    def mark(point: FloatArray) -> tuple[str, str]:
        y = int(game.agent_view.respond(point)[0])
        return letters.get(y, _UNKNOWN), styles.get(y, "dim")

    return _letter_map(game.principal_actions, strategy, mark, game.space.contains)


def _details(game: Game, solution: Solution) -> Table:
    rows = [
        (
            f"with a margin of {solution.asked_margin:g}"
            if solution.asked_margin
            else "V*, with commitment",
            f"{solution.value:.6g}",
        ),
        ("best Nash equilibrium, without", f"{solution.nash:.6g}"),
        ("maximin, against anybody", f"{solution.maximin:.6g}"),
        ("regularity η of the response's region", f"{solution.regularity:.4g}"),
    ]
    s = solution.sensitivity
    if s is not None:
        error = f"payoffs of the agent off by {s.payoff_error:.3g}: V* at most"
        rows += [
            (error, f"{s.highest:.6g}"),
            ("… this commitment earns at least", f"{s.worst_case:.6g}"),
            ("… the safest commitment earns at least", f"{s.guaranteed:.6g}"),
            ("… and lies at a distance of", f"{s.strategy_shift:.4g}"),
        ]
    highest = most(game, kind="external")
    if highest > solution.value + 1e-6 * (float(np.ptp(game.principal_view.payoffs)) or 1.0):
        word = "a learner without external regret can be exploited up to"
        rows.append((word, f"{highest:.6g}"))
    else:
        rows.append(("against a learner without external regret", "exploiting cannot pay here"))
    gap = f"{solution.gap:.2g} ({solution.tolerance:.2g})"
    rows += [("agent's gap at the commitment (tolerance)", gap), ("method", solution.method)]
    made = table("details", ("", ""), rows)
    made.show_header = False
    return made


# Audits and plays -------------------------------------------------------------------------------


def _audit(audit: Audit, _: int) -> Group:
    parts: list[RenderableType] = [Text(sentence) for sentence in _audit_sentences(audit)]
    parts += _bounds_and_phases(audit)
    if audit.calibration is not None:
        parts += [Text(), _profile(audit.calibration.profile, 0)]
    return Group(*parts)


def _outcome(audit: Audit | ContinuousAudit) -> str:
    side = "lost" if audit.regret >= 0 else "gained"
    return (
        f"Over {audit.rounds:,} rounds the principal earned {audit.average_utility:.6g} a round; "
        f"V* is {audit.value:.6g}, so {abs(audit.regret):.4g} a round was {side} against it."
    )


def _continuous_audit(audit: ContinuousAudit, _: int) -> Group:
    told = [
        _outcome(audit),
        f"The agent's responses lie {audit.response_distance:.4g} from the best responses to the "
        "strategies, on average.",
    ]
    if not math.isnan(audit.forecast_distance):
        told.append(
            f"Its forecasts lie {audit.forecast_distance:.4g} from the strategies, and its "
            f"responses {number(audit.forecast_response_distance, 4)} from the best responses to "
            "them."
        )
    if audit.estimated:
        told.append(f"Estimated on sampled points: {', '.join(audit.estimated)}.")
    failed = ", ".join(bound.name for bound in audit.failed)
    told.append(f"Bounds that FAILED: {failed}." if failed else "No bound fails.")
    return Group(*map(Text, told), *_bounds_and_phases(audit))


def _audit_sentences(audit: Audit) -> list[str]:
    """Return the findings, a sentence each."""
    told = [_outcome(audit)]
    before, after = audit.exploration, audit.commitment
    if before is not None and after is not None:
        told.append(
            f"Of this regret, {before.share:.4g} comes from {before.rounds:,} rounds of "
            f"exploration and {after.share:.4g} from the commitment."
        )
    what = "drawn action" if audit.draws else "strategy"
    told.append(
        f"{_percent(audit.best_response_share)} of the agent's responses were best responses to "
        f"the {what} of their round; its swap regret is {number(audit.swap_regret)} "
        f"({number(audit.swap_regret_per_round, 4)} a round), its external regret "
        f"{number(audit.external_regret)}."
    )
    if not math.isnan(audit.forecast_response_share):
        share = _percent(audit.forecast_response_share)
        told.append(f"{share} were best responses to its forecasts.")
    told.append(f"The agent looks {_LABELS[audit.diagnosis.label]}.")
    told += [f"  {reason}" for reason in audit.diagnosis.reasons]
    failed = ", ".join(bound.name for bound in audit.failed)
    return [*told, f"Bounds that FAILED: {failed}." if failed else "Every bound holds."]


def _bounds_and_phases(audit: Audit | ContinuousAudit) -> list[RenderableType]:
    columns = ("quantity", "measured>", "at most>", "slack>", "verdict", "paper", "note")
    rows = (
        (
            b.name,
            number(b.measured),
            number(b.bound),
            number(b.slack, 4),
            Text(*VERDICTS[b.holds]),
            b.where,
            b.note,
        )
        for b in audit.bounds
    )
    parts: list[RenderableType] = [Text(), table("What is bounded", columns, rows)]
    if len(audit.phases) > 1:
        heads = ("phase", "rounds>", "utility a round>", "regret a round>", "part of the regret>")
        lines = (
            (
                name_of(p.name or "(no label)"),
                f"{p.rounds:,}",
                f"{p.average_utility:.6g}",
                f"{p.regret:.4g}",
                f"{p.share:.4g}",
            )
            for p in audit.phases
        )
        parts += [Text(), table("By phase", heads, lines)]
    return parts


def _profile(profile: CalibrationProfile, _: int, dates: Sequence[str] = ()) -> Table:
    """Return one row a length; rounds, bins and outcomes are counted from 1."""

    def when(start: int, stop: int) -> str:
        return f"{dates[start]} to {dates[stop - 1]}" if dates else f"{start + 1}–{stop}"

    caption = f"error/rate over {profile.covered}: {profile.lower:.4g} to {profile.upper:.4g}"
    several = profile.coordinates > 1
    names = ["rounds>", "worst error>", "rate>", "ratio>", "where>", "bin>", "forecasts"]
    names[6:6] = ["outcome>"] * several
    rows = (
        (
            f"{length}",
            f"{at.error:.4f}",
            f"{profile.rate(length):.4f}",
            f"{at.error / profile.rate(length):.3f}",
            visible(when(at.start, at.stop)),
            f"{at.bin + 1}",
            *[f"{at.coordinate + 1}"] * several,
            at.direction,
        )
        for length, at in profile.worst.items()
    )
    return table("Calibration profile", names, rows, caption=caption)


def _certificate(certificate: ForecastCertificate, _: int) -> Group:
    told = (Text(visible(sentence)) for sentence in certificate.sentences())
    return Group(_profile(certificate.profile, 0, certificate.dates), *told)


def _play(played: Played, width: int) -> RenderableType:
    audit, rounds = played.audit, played.transcript.rounds
    title = f"{name_of(played.game.name or 'game')}, {rounds:,} rounds"
    parts: list[RenderableType] = [Text(title, style="bold")]
    parts += [*map(Text, played.sentences()), Text()]
    if width < _TABLE_WIDTH:
        return Group(*parts, *(_line(b, f"{number(b.measured)} ≤") for b in audit.bounds))
    rows = (
        (b.name, number(b.measured), number(b.bound), Text(*VERDICTS[b.holds]), b.where)
        for b in audit.bounds
    )
    columns = ("quantity", "measured>", "at most>", "verdict", "paper")
    made = table("consistency checks", columns, rows)
    for column in made.columns[1:]:
        column.no_wrap = True
    return Group(*parts, made)


def _line(bound: Bound, measured: str) -> Text:
    return Text(f"{bound.name}: {measured} {number(bound.bound)} ").append(*VERDICTS[bound.holds])


# Campaigns --------------------------------------------------------------------------------------


def _status(status: Status, _: int) -> RenderableType:
    parts: list[RenderableType] = [_status_sentence(status), Text()]
    drawing = learned_map(status)
    if drawing is not None:
        parts += [drawing, Text()]
    parts.append(_answers(status))
    if status.open_ask is not None:
        ask = status.open_ask
        mix = visible(ask.mixture())
        parts.append(Text(f"Open: entry {ask.entry}, {mix} for {ask.rounds:,} rounds."))
    return Group(*parts)


def _status_sentence(status: Status) -> Text:
    from stackcast.campaigns import mixture

    if status.response is None or math.isnan(status.value):
        text = Text("No answer to a question yet: ask, play, tell.")
    else:
        text = _emphasised(
            "Best so far: ",
            visible(mixture(status.strategy, status.game.principal_actions)),
            f", which draws '{name_of(status.game.agent_actions[status.response])}' and earns ",
            f"{status.value:.6g}",
            ".\n",
        )
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
    return text.append(rounds + ".")


def learned_map(status: Status) -> Text | None:
    """Draw what is known of the regions in letters, for two or three principal actions; else None.

    A letter stands where the answers prove a response, ``?`` where they disagree, ``·`` where
    nothing is known.
    """
    names = status.game.principal_actions
    if len(names) not in (2, 3):
        return None
    known = hulls(status)
    near = 0.5 / (_HEIGHT - 1) if len(names) == 3 else 0.5 / (_WIDTH - 1)

    def mark(strategy: FloatArray) -> tuple[str, str]:
        point = flat(strategy)
        found = [y for y, corners in known.items() if inside(corners, point, near)]
        if not found:
            return _UNKNOWN, ""
        return (_LETTERS[found[0] % 26] if len(found) == 1 else _DISPUTED), ""

    best = None if status.response is None else status.strategy
    return _letter_map(names, best, mark, status.game.principal_view.space.contains)


def _answers(status: Status) -> Table:
    actions = status.game.agent_actions
    total = sum((row.counts for row in status.answers), np.zeros(len(actions)))
    rows = [
        (
            _LETTERS[y % 26],
            name_of(action),
            f"{sum(row.response == y for row in status.answers):,}",
            f"{int(total[y]):,}",
        )
        for y, action in enumerate(actions)
    ]
    unclear = sum(row.response is None for row in status.answers)
    if unclear:
        rows.append((_DISPUTED, "no response clearly", f"{unclear:,}", ""))
    return table("answers so far", ("", "the response", "to strategies", "in rounds"), rows)


# Claims -----------------------------------------------------------------------------------------


def verdict_of(findings: Sequence[Finding]) -> str:
    """Return the outcome of many claims in a sentence."""
    by: dict[str, list[str]] = {}
    for finding in findings:
        by.setdefault(finding.verdict, []).append(finding.name)
    told = [f"{len(by.get('holds', []))} of {len(findings)} claims hold"]
    words = {"fails": "FAILS", "undecided": "undecided", "vacuous": "vacuous at this size"}
    told += [f"{words[kind]}: {', '.join(by[kind])}" for kind in words if kind in by]
    return "; ".join(told) + "."


def tightness_of(finding: Finding) -> str:
    """Return how close a bound is to what was measured: tight (within a factor of 2) or loose.

    A bound that says nothing at these sizes is vacuous, and a claim that fails has none.
    """
    if finding.verdict in ("vacuous", "fails"):
        return "vacuous" if finding.verdict == "vacuous" else "–"
    less, more = finding.measured, finding.bound
    if finding.relation == "at least":
        less, more = more, less
    rounding = 1e-9 * max(1.0, abs(finding.bound))
    return "tight" if 2 * less >= more - rounding or more - less <= rounding else "loose"


def _findings(findings: Sequence[Finding], width: int) -> RenderableType:
    style = "bold red" if any(f.verdict == "fails" for f in findings) else "bold"
    last = Text(verdict_of(findings), style=style)
    wide = width >= 120
    rows = []
    for f in findings:
        claim = Text(f.name, style="bold").append(f"\n{f.where}", style="not bold dim")
        quantity = f"{f.quantity}; {f.ran}" if wide else f.quantity
        failed = f"\n{f.failures:,} of {f.runs:,}" if f.failures else ""
        verdict = Text(VERDICTS[f.verdict][0] + failed, VERDICTS[f.verdict][1])
        bound = f"{'≤' if f.relation == 'at most' else '≥'} {f.bound:.3g}"
        rows.append((claim, quantity, f"{f.measured:.3g}", bound, tightness_of(f), verdict))
    columns = ("claim", "what is measured", "worst>", "bound>", "which is", "verdict")
    made = table("The claims of the paper, measured", columns, rows)
    for column in made.columns[2:]:
        column.no_wrap = True
    for column in made.columns[:2]:
        column.overflow = "fold"
    made.show_lines = True
    return Group(made, last)


# Players ----------------------------------------------------------------------------------------


def _player(player: Any, _: int) -> Table:
    view, settings = player.view, player.settings
    rows = [(key, value) for key, value in settings.items() if key != "name" and value is not None]
    actions: Any = getattr(view, "agent_actions", None) or view.response_features
    rows.append(("responses", ", ".join(map(name_of, actions[:_MOST_NAMES]))))
    return table(name_of(settings.get("name", type(player).__name__)), ("setting", "value"), rows)


def _principal(principal: Any, width: int) -> RenderableType:
    """Return the settings, and what it would commit to now."""
    view, now = principal.view, principal.result
    names: Any = getattr(view, "principal_actions", None) or view.principal_features
    rows = [("strategy", _named(names, now.strategy))]
    if now.response is not None:
        actions: Any = getattr(view, "agent_actions", None)
        named = name_of(actions[now.response]) if actions else f"{np.round(now.response, 4)}"
        rows += [("expected response", named), ("utility", number(now.value))]
        rows += [("margin", number(now.margin))] if now.margin == now.margin else []
    return Group(_player(principal, width), table("would commit now to", ("what", "value"), rows))


_KINDS: dict[str, Callable[[Any, Any], RenderableType]] = {
    "FiniteGame": _game,
    "SecurityGame": _game,
    "ContinuousGame": _game,
    "Solution": _solution,
    "ContinuousSolution": _continuous_solution,
    "Audit": _audit,
    "ContinuousAudit": _continuous_audit,
    "CalibrationProfile": _profile,
    "ForecastCertificate": _certificate,
    "Played": _play,
    "Status": _status,
    "Principal": _principal,
    "Player": _player,
}
