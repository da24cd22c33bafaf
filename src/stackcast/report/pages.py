"""Pages and folders of results: one self-contained HTML file, its figures, JSON and tables.

A page holds its figures inside, loads nothing, opens offline on a phone and on a desk, and prints.
"""

from __future__ import annotations

import io
import json
import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._plain import json_text, plain, visible
from stackcast.auditing import ContinuousAudit, classification_report
from stackcast.games import ContinuousGame, SecurityGame
from stackcast.report.rounds import action_names, in_words
from stackcast.report.series import (
    draw_classification,
    draw_curve,
    draw_curves,
    draw_growth,
    draw_pairs,
    draw_path,
    draw_profile,
    draw_responses,
    draw_utility,
    pair_means,
    signed,
)
from stackcast.report.strategy_space import draw_coverage, draw_regions, draw_strategies
from stackcast.report.style import (
    in_page,
    inline_svg,
    load_pyplot,
    rendered,
    write_files,
)
from stackcast.solvers import Solution, best_nash
from stackcast.theory import most

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    import polars as pl
    from rich.table import Table

    from stackcast.auditing import Audit, ClassificationReport
    from stackcast.claims import Finding
    from stackcast.games import Game
    from stackcast.protocol import Recommendation, Transcript
    from stackcast.solvers import ContinuousSolution

    Drawing = tuple[Callable[[Any], Any], tuple[float, float], int]

_LOOK = """
:root { color-scheme: light dark; --ink: #1b1b1b; --soft: #5b5b5b; --line: #dcdcdc;
  --paper: #fff; --shade: #f5f5f5; --good: #00694c; --bad: #a30000; --unsure: #7a5b00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --soft: #a9a9a9; --line: #3a3a3a;
  --paper: #16181b; --shade: #22252a; --good: #56c9a0; --bad: #ff8a80; --unsure: #e0b84a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 60rem; color: var(--ink);
  background: var(--paper);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 .6rem; padding-top: .8rem;
  border-top: 1px solid var(--line); }
p { margin: .5rem 0; max-width: 46rem; }
.lead { color: var(--soft); }
.found { font-size: 1.08rem; }
figure { margin: 1rem 0; }
figure svg { display: block; width: 100%; height: auto; max-width: 52rem; background: #fff;
  border-radius: 4px; padding: .3rem; }
figcaption { color: var(--soft); font-size: .92rem; max-width: 46rem; margin-top: .4rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .93rem; min-width: 20rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .9rem .35rem 0;
  border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.holds { color: var(--good); font-weight: 600; }
.failed { color: var(--bad); font-weight: 700; }
.open { color: var(--unsure); font-weight: 600; }
code, pre { font: .9em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre { background: var(--shade); padding: .7rem .9rem; overflow-x: auto; border-radius: 4px; }
@media (max-width: 32rem) {
  table, tbody, tr, td { display: block; min-width: 0; }
  thead { display: none; }
  tr { border-bottom: 1px solid var(--line); padding: .5rem 0; }
  td, td.number { display: flex; gap: .8rem; border: 0; padding: .1rem 0; text-align: left; }
  td[data-name]:not([data-name=""])::before { content: attr(data-name); flex: 0 0 8.5rem;
    color: var(--soft); font-weight: 400; }
  td:empty { display: none; }
}
@media print { h2 { break-after: avoid; } figure { break-inside: avoid; } }
"""

_SORTING = """<script>
for (const head of document.querySelectorAll("th[data-sorts]")) {
  head.style.cursor = "pointer";
  head.addEventListener("click", () => {
    const table = head.closest("table"), rows = [...table.tBodies[0].rows];
    const at = head.cellIndex, sign = head.dataset.sorts === "up" ? -1 : 1;
    head.dataset.sorts = sign > 0 ? "up" : "down";
    const value = row => row.cells[at].textContent.replace("−", "-");
    rows.sort((a, b) => {
      const x = value(a), y = value(b), d = Number(x) - Number(y);
      return sign * (Number.isNaN(d) ? x.localeCompare(y) : d);
    });
    table.tBodies[0].append(...rows);
  });
}
</script>"""
_PAIRS = (
    "The mean regret of each principal against each agent (of several horizons at the longest): "
    "orange lost, purple earned more than V*."
)
_CURVES = "Regret a round so far; bands hold 80% of the plays."
#: Name and caption of the figures, in the order of the page; a report has those that fit.
_CAPTIONS = {
    "strategies": "Where the play took place. Every strategy that was explored, in order from "
    "white to black; the last commitment (diamond); V*'s point (star); the agent's forecasts as a "
    "cloud. Colours are the agent's best responses.",
    "coverage": "How the targets are covered: at the optimum, and as the principal learned it; "
    "dots are the shares of the attacks that happened. The star is the target that the optimum "
    "draws the attacker to.",
    "path": "The commitment over time, a colour for each of its coordinates (those with the "
    "largest weights); dashed, the optimum; dots, the agent's forecasts.",
    "classification": "Left: the utility of three rules once people have responded. The "
    "naive rule is fitted as if nobody moved. Right: how far each rule makes those with the bad "
    "label move their features.",
    "utility": "The principal's utility: in stretches of rounds, and on average so far, against "
    "V* and the certificate: what the error of the agent's forecasts allows beyond V*.",
    "calibration": "The largest calibration error of any interval of a given length, with the "
    "paper's rate.",
    "responses": "The agent's responses, as shares of stretches of rounds (in a continuous game "
    "the mean response), and the phases of the principal.",
}
#: A verdict, for people, and its class in the style sheet.
VERDICTS: dict[Any, tuple[str, str]] = {
    True: ("holds", "holds"),
    False: ("FAILED", "failed"),
    None: ("open", "open"),
    "holds": ("holds", "holds"),
    "fails": ("FAILS", "failed"),
    "vacuous": ("vacuous here", "open"),
    "undecided": ("undecided", "open"),
}


class Word(str):
    """A verdict in a word, as claims have it."""

    __slots__ = ()


def page(name: str, parts: Iterable[str]) -> str:
    """Return the page; the parts are HTML."""
    body = "\n".join(parts)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<link rel="icon" href="data:,">\n'
        f"<title>{in_page(name)}</title>\n<style>{_LOOK}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def element(tag: str, text: object, kind: str = "") -> str:
    """Return a text as an element: a heading, a paragraph, a command."""
    named = f' class="{kind}"' if kind else ""
    return f"<{tag}{named}>{in_page(text)}</{tag}>"


def figure(svg: str, name: str, caption: str) -> str:
    """Return a figure, given the text of an SVG file."""
    drawn = inline_svg(svg, name, f"figure: {name}")
    return f"<figure>\n{drawn}\n<figcaption>{in_page(caption)}</figcaption>\n</figure>"


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str | bool | float | None]],
    *,
    sorts: bool = False,
) -> str:
    """Return a table; numbers are set right, a bool or None in a row is a verdict."""
    mark = ' data-sorts=""' if sorts else ""
    head = "".join(f"<th{mark}>{in_page(name)}</th>" for name in columns)
    body = "\n".join(f"<tr>{''.join(map(_cell, row, columns))}</tr>" for row in rows)
    return (
        f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}'
        "\n</tbody></table></div>"
    )


def _cell(entry: str | bool | float | None, column: str) -> str:
    kind, text = "", entry
    if entry is None or isinstance(entry, bool | Word):
        text, kind = VERDICTS[entry]
    elif isinstance(entry, float):
        text, kind = f"{entry:.6g}", "number"
    named = f' class="{kind}"' if kind else ""
    return f'<td{named} data-name="{in_page(column)}">{in_page(text)}</td>'


def solution_table(
    game: Game | ContinuousGame, solution: Solution | ContinuousSolution
) -> dict[str, Any]:
    """Return a solution for programs; one with details says what regret lets anyone earn."""
    table: dict[str, Any] = {"game": game.name, **solution.to_dict()}
    if not isinstance(game, ContinuousGame) and not math.isnan(
        getattr(solution, "maximin", math.nan)
    ):
        table["most"] = {kind: most(game, kind=kind) for kind in ("swap", "external")}
    return table


def write_solution(
    folder: Path, game: Game | ContinuousGame, solution: Solution | ContinuousSolution
) -> list[Path]:
    """Write ``solution.json`` and the picture of regions or coverage; return the files.

    A continuous game has no such picture.
    """
    contents: dict[str, Any] = {"solution.json": json_text(solution_table(game, solution)) + "\n"}
    if not isinstance(game, ContinuousGame):
        picture = "coverage" if isinstance(game, SecurityGame) else "regions"
        draw: Any = draw_coverage if isinstance(game, SecurityGame) else draw_regions
        svg, png = rendered(lambda ax: draw(game, solution, ax=ax), (6.4, 5.2))
        contents |= {f"{picture}.svg": svg, f"{picture}.png": png}
    return write_files(folder, contents)


@dataclass(frozen=True, eq=False)
class Played:
    """All that a report is about.

    Parameters
    ----------
    game : game
        The game that was played.
    transcript, audit : Transcript, Audit or ContinuousAudit
        What happened, and what it proves.
    solution : Solution, ContinuousSolution or None
        The optimal commitment of the one-shot game.
    result : Recommendation
        What the principal would commit to at the end.
    asked_rounds : int
        How many rounds the run was to have; more than were played if it was stopped.
    command : str
        The command that made it.
    """

    game: Any
    transcript: Transcript
    audit: Audit | ContinuousAudit
    solution: Solution | ContinuousSolution | None
    result: Recommendation
    asked_rounds: int
    command: str = ""

    @property
    def complete(self) -> bool:
        """Whether all rounds were played."""
        return self.transcript.rounds >= self.asked_rounds

    @cached_property
    def classification(self) -> ClassificationReport | None:
        """What strategic classification did to people; None in other games."""
        family = getattr(self.game, "family", None)
        if family is None or family.name != "strategic-classification":
            return None
        return classification_report(self.transcript, self.game)

    def sentences(self) -> list[str]:
        """Return the outcome in a few plain sentences."""
        audit, T = self.audit, self.transcript.rounds
        told = []
        if not self.complete:
            told.append(
                f"The run was stopped after {T:,} of {self.asked_rounds:,} rounds; what follows is "
                "about these."
            )
        told += _recommended(self)
        side = "below" if audit.regret >= 0 else "above"
        told.append(
            f"Over {T:,} rounds, learning included, the principal earned "
            f"{audit.average_utility:.4g} a round, {abs(audit.regret):.2g} {side} V*."
        )
        told += _exploration(self.transcript, audit)
        told += _agent(self.game, self.transcript, audit)
        if self.classification is not None:
            told += _classification(self.classification)
        why = getattr(self.result, "why", "")
        told += [f"Believed: {why[:1].lower()}{why[1:].rstrip('.')}."] if why else []
        if audit.failed:
            names = ", ".join(bound.name for bound in audit.failed)
            return [*told, f"Consistency checks that FAILED: {names}."]
        count = len(audit.bounds)
        checks = f"all {count} consistency checks hold" if count > 1 else "the check holds"
        told.append(
            f"Certain: {checks}. They limit what anybody could have earned from these forecasts "
            "and responses, not how far below that the principal stayed."
        )
        return told

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as JSON can hold it."""
        result, actions = self.result, self.game.agent_view.agent_actions
        response: Any = result.response
        listed = response is not None and len(actions) > 0
        return {
            "game": self.game.name,
            "fingerprint": self.transcript.fingerprint,
            "rounds": self.transcript.rounds,
            "asked_rounds": self.asked_rounds,
            "complete": self.complete,
            "command": self.command,
            **self.transcript.metadata,
            "result": {
                "strategy": plain(np.asarray(result.strategy)),
                "response": response if response is None or listed else plain(np.asarray(response)),
                "response_name": str(actions[response]) if listed else None,
                "value": plain(result.value),
                "margin": plain(result.margin),
                "potential": plain(result.potential),
            },
            "sentences": self.sentences(),
            "classification": None
            if self.classification is None
            else self.classification.to_dict(),
            "audit": self.audit.to_dict(),
        }


def _recommended(played: Played) -> list[str]:
    """Say what to commit to, what that earns, and what else would have earned how much."""
    game, result, value = played.game, played.result, played.audit.value
    held = in_words(game, result.strategy)
    if isinstance(game, ContinuousGame):
        earns = game.commitment_value(result.strategy)
        return [f"Commit to {held}. That earns {earns:.4g} a round; V* is {value:.4g}."]
    knows = int(game.respond(result.strategy)[0])
    names, earns = game.agent_view.agent_actions, game.principal_utilities(result.strategy)
    most = f"no commitment earns more than {value:.4g} (V*)."
    expected = knows if result.response is None else int(result.response)
    if expected == knows or earns[expected] <= earns[knows]:
        told = [
            f"Commit to {held}. An agent that knows it responds '{visible(names[knows], 60)}', "
            f"and that earns {earns[knows]:.4g} a round; {most}"
        ]
    else:
        gains = game.agent_utilities(result.strategy)
        told = [
            f"Commit to {held}. The response that it is meant for, "
            f"'{visible(names[expected], 60)}', would earn {earns[expected]:.4g} a round; {most}",
            f"An agent that knows this exact mix responds '{visible(names[knows], 60)}' instead, "
            f"for {gains[knows] - gains[expected]:.2g} more of its own payoff, and that earns "
            f"{earns[knows]:.4g}: --margin 0.02 keeps clear of such borders.",
        ]
    others, first = [], played.transcript.block_strategies[0]
    if np.abs(first - result.strategy).max() > 1e-9:
        before = game.principal_utilities(first)[game.respond(first)[0]]
        others.append(f"the run's first strategy earns {before:.4g}")
    nash = best_nash(game)
    others += [] if math.isnan(nash) else [f"the best Nash equilibrium {nash:.4g}"]
    return [*told, f"For comparison: {', '.join(others)}."] if others else told


def _exploration(transcript: Transcript, audit: Audit | ContinuousAudit) -> list[str]:
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


def _agent(game: Any, transcript: Transcript, audit: Audit | ContinuousAudit) -> list[str]:
    """Say how good the agent's forecasts were, or that it had none."""
    if audit.calibration is not None:
        return [_calibration_sentence(audit.calibration.profile)]
    if isinstance(audit, ContinuousAudit) and not math.isnan(audit.forecast_distance):
        return [
            f"On average a forecast was {audit.forecast_distance:.3g} away from the strategy, and "
            f"a response {audit.response_distance:.3g} away from the best response to it."
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


def _classification(report: ClassificationReport) -> list[str]:
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


def _rules(report: ClassificationReport) -> tuple[tuple[str, ...], list[tuple[str | float, ...]]]:
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


def play_figures(played: Played) -> dict[str, tuple[str, bytes]]:
    """Draw the figures; return each as SVG text and as PNG, by name."""
    t, audit, game, solution = played.transcript, played.audit, played.game, played.solution
    draw: dict[str, Drawing] = {
        "utility": (lambda ax: draw_utility(t, audit, game, ax), (8.0, 4.2), 1),
        "responses": (lambda ax: draw_responses(t, game, ax), (8.0, 2.8), 1),
    }
    if isinstance(game, ContinuousGame):
        draw["path"] = (lambda ax: draw_path(t, game, solution, ax), (8.0, 4.2), 1)
    elif isinstance(game, SecurityGame) and isinstance(solution, Solution):
        learned = played.result.strategy
        coverage = partial(draw_coverage, game, solution, learned, t)
        draw["coverage"] = (coverage, (8.0, 4.2), 1)
    else:
        best = solution if isinstance(solution, Solution) else None
        draw["strategies"] = (partial(draw_strategies, t, game, best), (8.0, 4.8), 1)
    if audit.calibration is not None:
        draw["calibration"] = (partial(draw_profile, audit.calibration.profile), (8.0, 4.2), 1)
    if played.classification is not None:
        size = (10.0, 3.0 + 0.25 * len(played.classification.features))
        draw["classification"] = (partial(draw_classification, played.classification), size, 2)
    return {name: rendered(*draw[name]) for name in _CAPTIONS if name in draw}


def write_play(folder: Path, played: Played) -> list[Path]:
    """Write transcript, summary, figures and page into a folder; return the files."""
    figures = play_figures(played)
    contents: dict[str, Any] = {
        "report.html": play_page(played, figures),
        "summary.json": json_text(played.to_dict()) + "\n",
        "transcript.parquet": played.transcript.save,
    }
    for name, (svg, png) in figures.items():
        contents |= {f"{name}.svg": svg, f"{name}.png": png}
    return write_files(folder, contents)


def play_page(played: Played, figures: dict[str, tuple[str, bytes]]) -> str:
    """Return the page of a play."""
    t, audit = played.transcript, played.audit
    sides = (str(t.metadata.get(side, {}).get("name", side)) for side in ("principal", "agent"))
    title = f"{played.game.name or 'game'}: {' against '.join(sides)}"
    parts = [element("h1", title)]
    description = getattr(played.game, "description", "")
    if description:
        parts.append(element("p", description, "lead"))
    parts += [element("p", sentence, "found") for sentence in played.sentences()]
    for name, (svg, _) in figures.items():
        parts += [element("h2", name.capitalize()), figure(svg, name, _CAPTIONS[name])]
    if played.classification is not None:
        parts += [element("h2", "Rules"), table(*_rules(played.classification))]
    columns = ("quantity", "measured", "at most", "verdict", "paper", "note")
    lines = [(b.name, b.measured, b.bound, b.holds, b.where, b.note) for b in audit.bounds]
    phases = [
        (p.name or "(no label)", f"{p.rounds:,}", p.average_utility, p.share) for p in audit.phases
    ]
    parts += [
        *(element("h2", "Consistency checks"), table(columns, lines)),
        element("h2", "Phases"),
        table(("phase", "rounds", "utility a round", "part of the regret"), phases),
        *(element("h2", "What was played"), table(("", ""), _parameters(played))),
    ]
    if played.command:
        parts += [element("p", "The command that made it:"), element("pre", played.command)]
    return page(title, parts)


def _parameters(played: Played) -> list[tuple[str, str]]:
    t = played.transcript
    rows = [
        ("rounds", f"{t.rounds:,} of {played.asked_rounds:,}, in {len(t.block_rounds):,} blocks"),
        ("fingerprint of the game", t.fingerprint[:16]),
    ]
    for side in ("principal", "agent"):
        for key, value in t.metadata.get(side, {}).items():
            if value is None or value == [] or value == [[], []]:
                continue  # left open
            text = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value
            rows.append((f"{side}: {key}", text if len(text) <= 80 else text[:77] + "…"))
    rows += [(f"version of {name}", v) for name, v in t.metadata.get("versions", {}).items()]
    names = action_names(played.game)
    result = np.asarray(played.result.strategy)
    mixture = ", ".join(
        f"{name} {p:.4g}" for name, p in zip(names, result.tolist(), strict=False) if abs(p) > 5e-5
    )
    rows.append(("the principal's commitment", mixture))
    return rows


def sweep_tables(rows: pl.DataFrame) -> list[Table]:
    """Return what a terminal shows of a sweep: the ranking, and the mean regret of each pair."""
    from stackcast.report.terminal import table as shown

    means, principals, agents = pair_means(rows)
    ranked = [
        shown(
            f"Regret in units of the principal's payoff range, {rounds:,} rounds",
            (">", "principal", "mean regret>", "95% interval", "plays>"),
            ranks,
        )
        for rounds, ranks in _rankings(rows).items()
    ]
    if len(ranked) > 1:
        grown = _GROWTH_HEADS[0], *(f"{head}>" for head in _GROWTH_HEADS[1:])
        ranked.append(shown("Growth of regret with the horizon", grown, _growth(rows)))
    pairs = shown(
        "Mean regret against each agent",
        ("agent", *(f"{name}>" for name in principals)),
        ((agent, *(signed(means[p, agent]) for p in principals)) for agent in agents),
    )
    for column in pairs.columns[1:]:
        column.overflow = "fold"
    return [*ranked, pairs]


_CERTIFICATES = (
    "Every play is audited; a bound is computed from the record of the play alone. Agents without "
    "forecasts have the bounds that need none."
)


def write_sweep_report(folder: Path, rows: pl.DataFrame) -> Path:
    """Write ``report.html``, a self-contained page; return its path."""
    import polars as pl

    from stackcast.sweeps import failures

    done = rows.filter(pl.col("error").is_null())
    failed = rows.height - done.height
    words = (
        f"{done.height:,} plays of {done['game'].n_unique()} games, "
        f"{done['principal'].n_unique()} principals and {done['agent'].n_unique()} agents"
        f"{f'; {failed:,} failed' if failed else ''}. Regret is V* less what the principal earned "
        "a round, in units of the range of its payoffs."
    )
    parts = [element("h1", "Sweep"), element("p", words, "lead")]
    if done.height:
        columns = ("", "principal", "mean regret", "95% interval", "plays")
        # Who plays only some kinds of games is compared on those.
        kinds = done.partition_by("kind", maintain_order=True) if "kind" in done.columns else [done]
        for one in kinds:
            on = f" on {one['kind'][0]} games" if len(kinds) > 1 else ""
            for rounds, ranks in _rankings(one).items():
                heading = f"Ranking{on}, {rounds:,} rounds"
                parts += [element("h2", heading), table(columns, ranks)]
            if one["rounds"].n_unique() > 1:
                drawn = _svg_of(draw_growth(one), "growth" + on.replace(" ", "-"), _GROWN)
                parts += [element("h2", f"Growth of regret{on}"), drawn]
                parts.append(table(_GROWTH_HEADS, _growth(one)))
            pairs = _svg_of(draw_pairs(one), "pairs" + on.replace(" ", "-"), _PAIRS)
            parts += [element("h2", f"Every pair{on}"), pairs]
            if "curve_regret" in one.columns:
                curves = _svg_of(draw_curves(one), "curves" + on.replace(" ", "-"), _CURVES)
                parts += [element("h2", f"Regret over time{on}"), curves]
        if "certificates_held" in done.columns:
            heads = ("bound", "holds", "does not hold", "plays")
            parts += [element("h2", "Certificates"), element("p", _CERTIFICATES)]
            parts.append(table(heads, _certificates(done)))
        heading = element("h2", "By game and pair; a click on a heading sorts")
        parts += [heading, _by_pair(done), _SORTING]
    if failed:
        parts += [element("h2", "What failed"), table(("play", "error"), failures(rows))]
    return write_files(folder, {"report.html": page("Sweep", parts)})[0]


def _rankings(rows: pl.DataFrame) -> dict[int, list[tuple[str, ...]]]:
    """Return the lines of the ranking at each horizon."""
    from stackcast.sweeps import ranking

    lines: dict[int, list[tuple[str, ...]]] = {}
    for row in ranking(rows).iter_rows(named=True):
        interval = f"{signed(row['low'])} to {signed(row['high'])}"
        line = str(row["rank"]), row["principal"], signed(row["mean"]), interval
        lines.setdefault(row["rounds"], []).append((*line, f"{row['plays']:,}"))
    return lines


_GROWTH_HEADS = ("principal", "regret grows like", "95% interval of the exponent", "meetings")
_GROWN = (
    "Mean regret a round against the horizon on logarithmic axes, with 95% intervals; dashed: what "
    "falls like 1/√T. Regret in all grows like T to the exponent: 0.5 for √T, 1 if regret a round "
    "stays."
)


def _growth(rows: pl.DataFrame) -> list[tuple[str, ...]]:
    from stackcast.sweeps import growth

    return [
        (
            row["principal"],
            "–" if math.isnan(row["exponent"]) else f"T^{row['exponent']:.2f}",
            "–" if math.isnan(row["low"]) else f"{row['low']:.2f} to {row['high']:.2f}",
            f"{row['meetings']:,}",
        )
        for row in growth(rows).iter_rows(named=True)
    ]


def _certificates(rows: pl.DataFrame) -> list[tuple[str, ...]]:
    """Return for each bound of the audits in how many plays it held."""
    counts = [
        Counter(
            name for names in rows[f"certificates_{side}"] for name in names.split("\n") if name
        )
        for side in ("held", "failed")
    ]
    return [
        (
            name,
            f"{counts[0][name]:,}",
            f"{counts[1][name]:,}",
            f"{counts[0][name] + counts[1][name]:,}",
        )
        for name in sorted({*counts[0], *counts[1]})
    ]


def _by_pair(rows: pl.DataFrame) -> str:
    from stackcast.sweeps import scaled, summary

    found = summary(scaled(rows), ["game", "principal", "agent", "rounds"])
    lines = [
        (
            row["game"],
            row["principal"],
            row["agent"],
            str(row["rounds"]),
            *(signed(row[name]) for name in ("mean", "low", "high")),
            str(row["plays"]),
        )
        for row in found.iter_rows(named=True)
    ]
    heads = ("game", "principal", "agent", "rounds", "mean regret", "low", "high", "plays")
    return table(heads, lines, sorts=True)


def _svg_of(drawn: Any, name: str, caption: str) -> str:
    """Return a figure of pyplot as a part of the page."""
    file = io.StringIO()
    drawn.savefig(file, format="svg")
    load_pyplot().close(drawn)
    return figure(file.getvalue(), name, caption)


def write_findings(folder: Path, findings: Sequence[Finding], command: str) -> list[Path]:
    """Write the page, its figures, the findings as JSON and as Markdown; return the files."""
    curves = {f.name: f.curve for f in findings if f.curve is not None}
    figures = {name: rendered(partial(draw_curve, c), (7.2, 4.0)) for name, c in curves.items()}
    contents: dict[str, Any] = {
        "claims.html": findings_page(
            findings, {n: svg for n, (svg, _) in figures.items()}, command
        ),
        "claims.json": json_text({"claims": [f.to_dict() for f in findings]}) + "\n",
        "claims.md": findings_markdown(findings, command),
    }
    for name, (svg, png) in figures.items():
        contents |= {f"{name}.svg": svg, f"{name}.png": png}
    return write_files(folder, contents)


def findings_page(findings: Sequence[Finding], figures: dict[str, str], command: str) -> str:
    """Return the page of the claims."""
    from stackcast.report.terminal import verdict_of

    title = "The claims of the paper, measured"
    columns = ("claim", "where", "failures", "worst", "bound", "verdict")
    rows = [
        (f.name, f.where, f"{f.failures:,} of {f.runs:,}", f.measured, _bound(f), Word(f.verdict))
        for f in findings
    ]
    parts = [element("h1", title), element("p", verdict_of(findings), "found")]
    parts.append(table(columns, rows))
    for f in findings:
        parts += [
            element("h2", f"{f.name}: {f.where}"),
            element("p", f.statement, "found"),
            element("p", f"{_measured(f)} Verdict: {VERDICTS[f.verdict][0]}."),
            element("p", f"Run: {f.ran}."),
        ]
        parts += [element("p", f"Also: {f.note}.")] if f.note else []
        if f.speaks_from:
            parts.append(element("p", f"The bound would speak from {f.speaks_from}."))
        parts += [element("p", f"Corrected: {f.correction}")] if f.correction else []
        if f.name in figures:
            caption = f"{f.quantity}: measured, and the bound."
            parts.append(figure(figures[f.name], f.name, caption))
    parts += [element("h2", "The command that made it"), element("pre", command)]
    return page(title, parts)


def findings_markdown(findings: Sequence[Finding], command: str) -> str:
    """Return the findings as a page of documentation."""
    from stackcast.report.terminal import verdict_of

    lines = [
        "# The paper in numbers",
        "",
        "Every theorem, lemma and proposition of *Calibrated Stackelberg Games* as an experiment.",
        f"This page is written by `{command}` (larger sizes with `--full`).",
        verdict_of(findings),
        "",
        "A run fails if what the claim says of it is not so; a claim that speaks of a probability",
        "is tested as one, at 99%. *Vacuous here*: the bound says nothing at this size. All seeds",
        "are fixed and counted from 0, so the same command gives the same page.",
        "",
        "| claim | where | failures | worst | bound | verdict |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| [{f.name}](#{f.name}) | {f.where} | {f.failures:,} of {f.runs:,} | {f.measured:.4g} | "
        f"{_bound(f)} | {VERDICTS[f.verdict][0]} |"
        for f in findings
    ]
    lines += ["", "## What had to be corrected", ""]
    lines += [f"- **{f.name}** ({f.where}): {f.correction}" for f in findings if f.correction]
    lines += ["", "The other claims are measured as they are printed.", ""]
    for f in findings:
        lines += [f"## {f.name}", "", f"{f.where}. {f.statement}", ""]
        lines += [f"- measured: {_measured(f)}", f"- run: {f.ran}"]
        lines += [f"- also: {f.note}"] if f.note else []
        lines += [f"- allowed chance of a failure: {f.chance:.4g}"] if f.chance else []
        lines += [f"- the bound would speak from {f.speaks_from}"] if f.speaks_from else []
        lines.append("")
    return "\n".join(lines[:-1]).replace("V*", "V\\*") + "\n"


def _bound(f: Finding) -> str:
    return f"{'≤' if f.relation == 'at most' else '≥'} {f.bound:.4g}"


def _measured(f: Finding) -> str:
    return f"{f.quantity} = {f.measured:.4g}, {_bound(f)}; {f.failures:,} of {f.runs:,} runs fail."
