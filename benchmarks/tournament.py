"""The tournament: all principals meet all agents on the catalogue, one page of results.

Regret is V* less what the principal earned a round, over the range of its payoffs. ``python -m
benchmarks tournament`` plays what ``out/tournament`` lacks and writes
``docs/reference/tournament.md`` with its figures.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks._page import table
from stackcast.games import list_games
from stackcast.report.series import draw_curves, draw_pairs
from stackcast.sweeps import load, ranking, sweep, tournament_specification

if TYPE_CHECKING:
    import polars as pl

ROUNDS, SEEDS = 5_000, 1
FOLDER, TUNED = Path("out/tournament"), Path("out/tournament-optuna")
OPTUNA, AGAINST = "examples/optuna_principal.py:OptunaPrincipal", "Calibrated"
DOCS = Path(__file__).parent.parent / "docs"

_HEAD = """# The tournament

All principals meet all agents on every game of the catalogue that they play: {plays:,} plays of
{rounds:,} rounds, {seeds}, {games} of its {known} games. Regret is V\\* less what the principal
earned a round, in units of the range of its payoffs; below 0 it earned more than V\\*, which agents
that trust averages allow. *Oracle* is told the agent's payoffs. Written by `python -m benchmarks
tournament`; `stackcast tournament` plays it anywhere; [your own player](../how-to/tournament.md)
may enter.
"""


_TUNER = """`OptunaPrincipal` of `examples/optuna_principal.py` asks Optuna's TPE for a hundred
strategies and tells it what each earned ([how](../how-to/optuna.md)).
"""


def ranks(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the ranking with its intervals, as people read it."""
    return [
        {
            "rank": row["rank"],
            "principal": row["principal"],
            "mean regret": f"{row['mean']:.4f}",
            "95% interval": f"{row['low']:.4f} to {row['high']:.4f}",
            "plays": row["plays"],
        }
        for row in ranking(rows).iter_rows(named=True)
    ]


def certificates(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """Return in how many plays each bound of the audit holds, and in how many it does not."""
    held, failed = (
        Counter(name for names in rows[f"certificates_{side}"] for name in names.split("\n"))
        for side in ("held", "failed")
    )
    return [
        {"bound": name, "holds": held[name], "does not hold": failed[name]}
        for name in sorted({*held, *failed} - {""})
    ]


def write(rows: pl.DataFrame, tuned: pl.DataFrame | None = None) -> dict[str, Any]:
    """Write the page and its figures from the rows of a sweep, and those of the tuner."""
    import polars as pl

    failed = rows.filter(pl.col("error").is_not_null()).height
    done = rows.filter(pl.col("error").is_null())
    seeds = done["seed"].n_unique()
    head = _HEAD.format(
        plays=done.height, rounds=done["rounds"].max(), games=done["game"].n_unique(),
        known=len(list_games()),
        seeds=f"{seeds} seed" + ("s" if seeds > 1 else ""),
    )  # fmt: skip
    tables: dict[str, Any] = {}
    lines = [head]
    if failed:
        lines.append(f"{failed} plays failed.\n")
    for one in done.partition_by("kind", maintain_order=True):
        kind = one["kind"][0]
        tables[kind] = ranks(one)
        lines += [f"## {kind.capitalize()} games ({one['game'].n_unique()})\n"]
        lines += table(tables[kind])
        for name, draw, about in (
            ("pairs", draw_pairs, "Mean regret of every pair"),
            ("curves", draw_curves, "Regret a round so far; bands hold 80% of the plays"),
        ):
            file = DOCS / "images" / f"tournament-{kind}-{name}.png"
            figure = draw(one)
            figure.savefig(file, dpi=110)
            lines.append(f"![{about}, {kind} games](../images/{file.name})\n")
    if tuned is not None:
        met = done.filter(pl.col("agent") == AGAINST, pl.col("game").is_in(tuned["game"].implode()))
        both = pl.concat([met, tuned.filter(pl.col("error").is_null())], how="diagonal_relaxed")
        tables["tuner"] = ranks(both)
        lines += [f"## Optuna beside them, against `{AGAINST}`\n", _TUNER, *table(tables["tuner"])]
    tables["certificates"] = certificates(done)
    lines += ["## Certificates\n", "In how many plays each bound of the audit holds.\n"]
    lines += table(tables["certificates"])
    (DOCS / "reference" / "tournament.md").write_text("\n".join(lines), encoding="utf-8")
    return tables


def main() -> dict[str, Any]:
    whole = tournament_specification(ROUNDS, SEEDS, [OPTUNA])
    ours = tuple(p for p in whole.principals if p.name != OPTUNA)
    sweep(replace(whole, principals=ours), FOLDER)
    tuner = tuple(p for p in whole.principals if p.name == OPTUNA)
    agents = tuple(a for a in whole.agents if a.name == AGAINST)
    sweep(replace(whole, principals=tuner, agents=agents), TUNED)  # slow: against one agent
    return write(load(FOLDER), load(TUNED))
