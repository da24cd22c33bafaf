"""Continuous games for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType


def describe_point(game: Any, solution: Any) -> RenderableType:
    """Return what a person wants to read of the solution of a continuous game."""
    text = Text("Commit to ")
    text.append(_named(game.principal_features, solution.strategy), style="bold")
    text.append("; the agent answers ")
    text.append(_named(game.response_features, solution.response), style="bold")
    text.append(" and the principal earns ")
    text.append(f"{solution.value:.6g}", style="bold")
    kept = "V*" if solution.status == "optimal" else "the best found"
    text.append(f" ({kept}; no commitment earns more than {solution.bound:.9g}).")
    parts: list[RenderableType] = [text]
    if game.description:
        parts = [Text(game.name, style="bold"), Text(game.description), Text(), text]
    return Group(*parts)


def describe_continuous_catalogue(entries: Sequence[dict[str, Any]]) -> Table:
    """Return the table of the catalogue's continuous games."""
    table = Table(title="continuous games", title_justify="left")
    for column in ("name", "dimension", "V*", "story"):
        table.add_column(column, no_wrap=column != "story")
    for entry in entries:
        known = "" if entry["known_value"] is None else f"{entry['known_value']:.4g}"
        first = entry["description"].split(". ")[0].rstrip(".") + "."
        table.add_row(entry["name"], str(entry["dimension"]), known, first)
    return table


def _named(names: Sequence[str], point: Any) -> str:
    return ", ".join(f"{name} {x:.4g}" for name, x in zip(names, point, strict=True))
