"""What a sweep looks like: tables, a heat map, curves with bands, one page."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any

from stackcast._validation import InputError
from stackcast.report.figures import COLOURS, inline_svg, load_pyplot
from stackcast.report.page import figure, heading, page, paragraph, table, title
from stackcast.sweeps import failures, ranking, summary

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl
    from rich.table import Table

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
    "The mean regret of each principal against each agent: orange lost, purple earned more than V*."
)
_CURVES = "Regret a round so far; bands hold 80% of the plays."


def sweep_tables(rows: pl.DataFrame) -> list[Table]:
    """Return what a terminal shows: the ranking, and the mean regret of each pair."""
    from rich.table import Table

    ranked = Table(title="Regret in units of the principal's payoff range", title_justify="left")
    for name in ("", "principal", "mean regret", "95% interval", "plays"):
        right = name not in ("principal", "95% interval")
        ranked.add_column(name, justify="right" if right else "left")
    for row in ranking(rows).iter_rows(named=True):
        interval = f"{_number(row['low'])} to {_number(row['high'])}"
        plays = f"{row['plays']:,}"
        ranked.add_row(str(row["rank"]), row["principal"], _number(row["mean"]), interval, plays)
    pairs = Table(title="Mean regret against each agent", title_justify="left")
    means, principals, agents = _pairs(rows)
    pairs.add_column("agent")
    for principal in principals:
        pairs.add_column(principal, justify="right", overflow="fold")
    for agent in agents:
        pairs.add_row(agent, *(_number(means[p, agent]) for p in principals))
    return [ranked, pairs]


def write_sweep_report(folder: Path, rows: pl.DataFrame) -> Path:
    """Write ``report.html``, which needs nothing besides itself; return the file."""
    import polars as pl

    done = rows.filter(pl.col("error").is_null())
    failed = rows.height - done.height
    words = (
        f"{done.height:,} plays of {done['game'].n_unique()} games, "
        f"{done['principal'].n_unique()} principals and {done['agent'].n_unique()} agents"
        f"{f'; {failed:,} failed' if failed else ''}. Regret is V* less what the principal earned "
        "a round, in units of the range of its payoffs."
    )
    parts = [title("Sweep"), paragraph(words, "lead")]
    if done.height:
        parts += [heading("Ranking"), _ranking_table(done)]
        parts += [
            heading("Everybody against everybody"),
            _figure(draw_pairs(done), "pairs", _PAIRS),
        ]
        if "curve_regret" in done.columns:
            curves = _figure(draw_curves(done), "curves", _CURVES)
            parts += [heading("Regret over time"), curves]
        parts += [heading("By game and pair; a click on a heading sorts"), _details(done), _SORTING]
    if failed:
        parts += [heading("What failed"), table(("play", "error"), failures(rows))]
    file = folder / "report.html"
    try:
        file.write_text(page("Sweep", parts), encoding="utf-8")
    except OSError as error:
        expected = "a folder that can be written to"
        raise InputError(str(folder), expected, str(error.strerror)) from None
    return file


def draw_pairs(rows: pl.DataFrame) -> Any:
    """Return a heat map of mean regret, principals against agents."""
    pyplot = load_pyplot()
    means, principals, agents = _pairs(rows)
    width, height = 2.2 + 1.15 * len(principals), 1.6 + 0.5 * len(agents)
    drawn, ax = pyplot.subplots(figsize=(width, height), layout="constrained")
    grid = [[means[p, a] for p in principals] for a in agents]
    known = [abs(value) for line in grid for value in line if not math.isnan(value)]
    top = max([*known, 1e-9])
    ax.imshow(grid, cmap="PuOr_r", vmin=-top, vmax=top, aspect="auto")
    for i, line in enumerate(grid):
        for j, value in enumerate(line):
            dark = abs(value) > 0.6 * top
            colour = "white" if dark else "black"
            ax.text(j, i, _number(value), ha="center", va="center", color=colour, fontsize=9)
    ax.set_xticks(range(len(principals)), principals, rotation=30, ha="right")
    ax.set_yticks(range(len(agents)), agents)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    return drawn


def draw_curves(rows: pl.DataFrame) -> Any:
    """Return regret against rounds for each agent, a line for each principal, bands over plays."""
    import polars as pl

    pyplot = load_pyplot()
    longest = rows["rounds"].max()
    long = (
        rows.filter(pl.col("rounds") == longest)
        .select("principal", "agent", "scale", "curve_rounds", "curve_regret")
        .explode("curve_rounds", "curve_regret")
        .with_columns(regret=pl.col("curve_regret") / pl.col("scale"))
        .group_by("principal", "agent", "curve_rounds")
        .agg(
            mean=pl.col("regret").mean(),
            low=pl.col("regret").quantile(0.1, "linear"),
            high=pl.col("regret").quantile(0.9, "linear"),
        )
        .sort("curve_rounds")
    )
    agents = sorted(long["agent"].unique())
    principals = sorted(long["principal"].unique())
    columns = min(3, len(agents))
    lines = math.ceil(len(agents) / columns)
    drawn, axes = pyplot.subplots(
        lines,
        columns,
        figsize=(3.4 * columns, 2.6 * lines),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for ax in axes.flat[len(agents) :]:
        ax.set_visible(False)
    for agent, ax in zip(agents, axes.flat, strict=False):
        for i, principal in enumerate(principals):
            one = long.filter((pl.col("agent") == agent) & (pl.col("principal") == principal))
            colour = COLOURS[(5 + i) % len(COLOURS)]
            ax.plot(one["curve_rounds"], one["mean"], color=colour, label=principal)
            ax.fill_between(one["curve_rounds"], one["low"], one["high"], color=colour, alpha=0.15)
        ax.axhline(0, color="black", linewidth=0.8)
        ax.set_xscale("log")
        ax.set_title(agent, fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
    drawn.supxlabel("rounds", fontsize=10)
    drawn.supylabel("regret a round so far; bands hold 80% of the plays", fontsize=10)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside upper left", ncols=4, frameon=False, fontsize=9)
    return drawn


def _pairs(rows: pl.DataFrame) -> tuple[dict[tuple[str, str], float], list[str], list[str]]:
    import polars as pl

    scaled = rows.with_columns(regret=pl.col("regret") / pl.col("scale"))
    found = summary(scaled, ["principal", "agent"])
    order = ranking(rows)["principal"].to_list()
    agents = sorted(found["agent"].unique())
    means = dict.fromkeys(((p, a) for p in order for a in agents), math.nan)
    means |= {(r["principal"], r["agent"]): r["mean"] for r in found.iter_rows(named=True)}
    return means, order, agents


def _ranking_table(rows: pl.DataFrame) -> str:
    lines = [
        (
            str(row["rank"]),
            row["principal"],
            _number(row["mean"]),
            f"{_number(row['low'])} to {_number(row['high'])}",
            f"{row['plays']:,}",
        )
        for row in ranking(rows).iter_rows(named=True)
    ]
    return table(("", "principal", "mean regret", "95% interval", "plays"), lines)


def _details(rows: pl.DataFrame) -> str:
    import polars as pl

    scaled = rows.with_columns(regret=pl.col("regret") / pl.col("scale"))
    found = summary(scaled, ["game", "principal", "agent", "rounds"])
    lines = [
        (
            row["game"],
            row["principal"],
            row["agent"],
            str(row["rounds"]),
            *(_number(row[name]) for name in ("mean", "low", "high")),
            str(row["plays"]),
        )
        for row in found.iter_rows(named=True)
    ]
    heads = ("game", "principal", "agent", "rounds", "mean regret", "low", "high", "plays")
    return table(heads, lines).replace("<th>", '<th data-sorts="">')


def _number(value: float | None) -> str:
    if value is None or math.isnan(value):
        return "–"
    return f"{value:.4f}".replace("-", "−")


def _figure(drawn: Any, name: str, caption: str) -> str:
    """Return a figure as a part of the page."""
    file = io.StringIO()
    drawn.savefig(file, format="svg")
    load_pyplot().close(drawn)
    return figure(inline_svg(file.getvalue(), name, caption), caption)
