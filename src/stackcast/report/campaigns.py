"""Pages and figures of campaigns: what next, the timeline, every mix, what to expect."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._files import write_whole
from stackcast.report.pages import element, figure, page, table
from stackcast.report.strategy_space import draw_learned
from stackcast.report.style import (
    BLUE,
    GREY,
    VERMILION,
    colours_of,
    in_figure,
    new_axes,
    plain_axes,
    rendered,
    short_name,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stackcast.auditing import RangeAudit
    from stackcast.campaigns import Answers, Entry, Rehearsal, Status
    from stackcast.games import HalfKnownGame
    from stackcast.solvers import RangeSolution

#: Mixes that a figure shows; the table has all.
_MOST = 14
_TIMELINE = (
    "What each entry earned a round (dots, larger for more rounds; hollow if it was not played as "
    "asked), the average so far (line), and the best mix on record (dashed). Crosses are corrected "
    "entries; dotted lines are limits, imports and new actions."
)
_MIXES = "What each mix earned a round, and how often each response came; the rounds are beside it."
_KNOWN = (
    "Between mixes that drew the same response, every mix draws it, as far as responses are right. "
    "The star is the best commitment so far."
)


def draw_timeline(status: Status, entries: Sequence[Entry], ax: Any = None) -> Any:
    """Draw what was earned round by round, and when something was changed.

    Parameters
    ----------
    status : Status
    entries : sequence of Entry
        The journal.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    The Axes.
    """
    ax = new_axes(ax, (8.0, 4.0))
    view, k = status.game.principal_view, len(status.game.agent_actions)
    fixed = {e.about: e for e in entries if e.kind == "correct" and e.revoked_by is None}
    at, total, average, ends, places = 0, 0.0, [], [], 0
    for entry in entries:
        if entry.revoked_by is not None:
            continue
        if entry.kind in ("decline", "lift", "import", "action"):
            ax.axvline(at, color=GREY, linestyle=":", linewidth=1.2)
        if entry.kind != "tell":
            continue
        body = fixed.get(entry.id, entry).body
        counts = np.zeros(k)
        counts[: len(body["counts"])] = body["counts"]
        n = int(counts.sum())
        if n:
            earned = float(counts @ view.utilities(np.array(body["strategy"])) / n)
            total, places = total + earned * n, places + n
            face = BLUE if body["as_asked"] else "white"
            size = 16 + 10 * math.sqrt(n)
            ax.scatter(at + n / 2, earned, s=size, color=face, edgecolor=BLUE, alpha=0.7, zorder=3)
            if entry.id in fixed:
                ax.scatter(at + n / 2, earned, s=60, marker="x", color="black", zorder=4)
            at += n
            ends.append(at)
            average.append(total / places)
        at += body["missing"]
    if ends:
        ax.plot(ends, average, color=VERMILION, linewidth=2, label="average so far")
    if status.best is not None:
        label = f"best mix on record: {status.best.utility:.4g}"
        ax.axhline(status.best.utility, color="black", linestyle="--", linewidth=1, label=label)
    ax.set_xlabel("rounds told")
    ax.set_ylabel("earned a round")
    plain_axes(ax)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, fontsize=10, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    return ax


def draw_mixes(status: Status, ax: Any = None) -> Any:
    """Draw what the mixes on record earned, those with most rounds, best on top.

    Parameters
    ----------
    status : Status
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    The Axes.
    """
    ax = new_axes(ax, (8.0, 4.4))
    rows = sorted(_tried(status), key=lambda row: -int(row.counts.sum()))[:_MOST]
    rows.sort(key=lambda row: row.utility)
    actions = status.game.agent_actions
    shown = [y for y in range(len(actions)) if any(row.counts[y] for row in rows)]
    low = min([0.0, *(row.utility for row in rows)])
    for i, row in enumerate(rows):
        n, left = int(row.counts.sum()), 0.0
        for y in shown:
            width = row.utility * row.counts[y] / n
            ax.barh(i, width, left=left, color=colours_of(len(actions))[y], height=0.7)
            left += width
        noun = "round" if n == 1 else "rounds"
        ax.text(max(row.utility, 0), i, f" {row.utility:.3g} in {n:,} {noun}", va="center")
    names = status.game.principal_actions
    ax.set_yticks(range(len(rows)), [_short(row, names) for row in rows], fontsize=9)
    for y in shown:
        ax.barh(0, 0, color=colours_of(len(actions))[y], label=short_name(actions[y]))
    top = max([0.0, *(row.utility for row in rows)])
    ax.set_xlim(low, top + 0.3 * max(top - low, 1e-9))
    ax.set_xlabel("earned a round")
    plain_axes(ax)
    ax.tick_params(axis="y", labelsize=9)
    if shown:
        ax.legend(title="the response", frameon=False, fontsize=10, loc="lower left",
                  bbox_to_anchor=(0, 1), ncols=min(len(shown), 3))  # fmt: skip
    return ax


def draw_rehearsal(found: Rehearsal, ax: Any = None) -> Any:
    """Draw what a campaign may earn: the average so far of the agents drawn, and V*.

    Parameters
    ----------
    found : Rehearsal
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    The Axes.
    """
    ax = new_axes(ax, (7.2, 4.4))
    low, middle, high = np.quantile(found.paths, (0.1, 0.5, 0.9), axis=0)
    ax.fill_between(found.days, low, high, color=BLUE, alpha=0.2, linewidth=0,
                    label="eight agents in ten")  # fmt: skip
    ax.plot(found.days, middle, color=BLUE, linewidth=2, label="typically")
    ax.axhline(float(np.median(found.optimum)), color="black", linestyle="--", linewidth=1.2,
               label="V*, typically")  # fmt: skip
    if found.now is not None:
        ax.axhline(float(np.median(found.now)), color=VERMILION, linewidth=1.6,
                   label="doing what you do now")  # fmt: skip
    ax.set_xlabel("rounds")
    ax.set_ylabel("earned a round so far")
    ax.set_xlim(left=0)
    plain_axes(ax)
    ax.legend(frameon=False, fontsize=10, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    return ax


def write_campaign(
    path: str | Path, name: str, status: Status, entries: Sequence[Entry], state: str = "running"
) -> Path:
    """Write the page of a campaign: one HTML file that needs nothing else.

    Parameters
    ----------
    path : str or Path
    name : str
        What the page is called if the game has no name.
    status : Status
    entries : sequence of Entry
        The journal.
    state : str
        Whether it is running, paused or ended.

    Returns
    -------
    Path
    """
    place = Path(path)
    write_whole(place, campaign_page(name, status, entries, state).encode())
    return place


def campaign_page(
    name: str, status: Status, entries: Sequence[Entry], state: str = "running"
) -> str:
    """Return the page of a campaign."""
    names, actions = status.game.principal_actions, status.game.agent_actions
    when = f", {' to '.join(dict.fromkeys(status.days))}" if status.days else ""
    told = f"{status.rounds:,} of about {status.horizon:,} rounds told{when}; {state}."
    if status.rounds >= status.horizon:
        told += " The planned rounds are over."
    earned = ""
    if not math.isnan(status.average_utility):
        earned = f" Earned {status.average_utility:.4g} a round on average."
    title = status.game.name or name
    parts = [element("h1", title), element("p", told + earned, "lead")]
    parts += [element("h2", "What next"), *_next(status, state)]
    parts += [element("h2", "What is known"), *(element("p", words) for words in _known(status))]
    parts.append(_drawn(lambda ax: draw_learned(status, ax), (6.4, 5.2), "known", _KNOWN))
    if _tried(status):
        timeline = _drawn(
            lambda ax: draw_timeline(status, entries, ax), (8.0, 4.0), "timeline", _TIMELINE
        )
        size = (8.0, 1.8 + 0.34 * min(len(_tried(status)), _MOST))
        mixes = _drawn(lambda ax: draw_mixes(status, ax), size, "mixes", _MIXES)
        rows: list[tuple[str, ...]] = [
            (_words(row, names), f"{int(row.counts.sum()):,}", *map(str, row.counts.tolist()),
             f"{row.utility:.4g}")
            for row in sorted(_tried(status), key=lambda row: -row.utility)
        ]  # fmt: skip
        parts += [element("h2", "Timeline"), timeline, element("h2", "Every mix tried"), mixes]
        parts.append(table(("mix", "rounds", *actions, "earned a round"), rows, sorts=True))
    acts = [e for e in entries if e.kind not in ("ask", "tell", "start", "draw")]
    if acts:
        taken = {e.id: f"taken back by entry {e.revoked_by}" for e in acts if e.revoked_by}
        changes = [(str(e.id), e.at[:10], e.summary(actions), taken.get(e.id, "")) for e in acts]
        parts.append(element("h2", "Corrections and changes"))
        parts.append(table(("entry", "date", "what", "stands"), changes))
    return page(title, parts)


def range_sentences(game: HalfKnownGame, found: RangeSolution) -> list[str]:
    """Return what to commit to where the agent's payoffs are known as ranges."""
    from stackcast.campaigns import mixture

    worst, mean = (
        mixture(h, game.principal_actions) for h in (found.strategy, found.expected_strategy)
    )
    low, middle, high = found.optimum
    known = "in the ranges" if game.bounds is not None else "at all: nothing is known of them"
    return [
        f"Best worst case: {worst}. It earns at least {found.value:.6g}, whatever the agent's "
        f"payoffs {known}, and {found.expected_of_strategy:.6g} on average.",
        f"Best on average: {mean}. It earns {found.expected:.6g} against agents drawn from what is "
        f"known, and at least {found.worst_of_expected:.6g}.",
        f"If the agent's payoffs were known, the optimum would earn {low:.4g} to {high:.4g}, "
        f"{middle:.4g} typically.",
    ]


def range_audit_sentences(game: HalfKnownGame, found: RangeAudit) -> list[str]:
    """Return what a record proves where the agent's payoffs are known as ranges."""
    low, middle, high = found.solution.optimum
    regret = (
        "Some payoffs in the ranges explain the responses: the agent may have no regret on average."
        if found.least_regret <= 1e-9
        else f"The agent's regret is at least {found.least_regret:.4g} a round, whatever its "
        "payoffs in the ranges: it did not respond best on average."
    )
    return [
        f"Earned {found.average_utility:.6g} a round in {found.rounds:,} rounds; with payoffs "
        f"drawn from what is known, V* is {low:.4g} to {high:.4g}, {middle:.4g} typically.",
        *([regret] if game.bounds is not None else []),
        *range_sentences(game, found.solution)[:2],
    ]


def _next(status: Status, state: str) -> list[str]:
    """Return what to do next, in paragraphs."""
    asked = status.open_ask
    if asked is None:
        words = "Ask for the next advice." if state == "running" else f"The campaign is {state}."
        return [element("p", words, "found")]
    when = f", {' to '.join(dict.fromkeys(asked.days))}" if asked.days else ""
    noun = "round" if asked.rounds == 1 else "rounds"
    words = f"Play {asked.mixture()} for {asked.rounds:,} {noun}{when} (entry {asked.entry})."
    return [element("p", words, "found"), element("p", asked.why)]


def _known(status: Status) -> list[str]:
    """Return what is believed of the best commitment, and what the record says."""
    from stackcast.campaigns import mixture

    names, said = status.game.principal_actions, []
    if status.response is not None and math.isfinite(status.value):
        said.append(
            f"Best commitment so far: {mixture(status.strategy, names)}. It is expected to draw "
            f"'{status.game.agent_actions[status.response]}' and to earn {status.value:.4g}."
        )
    else:
        said.append("No commitment stands out yet.")
    if status.best is not None:
        n = int(status.best.counts.sum())
        said.append(
            f"Best mix on record that the limits allow: {mixture(status.best.strategy, names)}. "
            f"It earned {status.best.utility:.4g} a round in {n:,} round{'s' if n > 1 else ''}."
        )
    return said


def _tried(status: Status) -> list[Answers]:
    return [row for row in status.answers if row.counts.sum()]


def _words(row: Answers, names: Sequence[str]) -> str:
    from stackcast.campaigns import mixture

    return mixture(row.strategy, names)


def _short(row: Answers, names: Sequence[str]) -> str:
    """Return a mix for an axis: at most three shares, in whole percent."""
    largest = sorted(range(len(names)), key=lambda x: -row.strategy[x])[:3]
    shares = [f"{100 * row.strategy[x]:.3g}% {names[x]}" for x in largest if row.strategy[x] > 5e-4]
    return in_figure(", ".join(shares), 60)


def _drawn(draw: Any, size: tuple[float, float], name: str, caption: str) -> str:
    return figure(rendered(draw, size)[0], name, caption)
