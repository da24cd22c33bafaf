"""``docs/performance.md``: what the benchmarks stored, the losses as plainly as the wins."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = """# Performance

Written by `python -m benchmarks` (or `make bench`, which also installs the peers) from what it
stored in `out/benchmarks`. Times are of the machine named below each title and differ elsewhere;
ratios are taken within one run. A peer that was not installed has no row.
"""
#: Longer tables are cut: the file has them whole.
_MOST_ROWS = 24


def write_page(stored: Path, page: Path) -> None:
    """Write the page from every file that is stored."""
    parts = [_HEAD]
    for file in sorted(stored.glob("*.json")):
        parts += list(_section(file))
    page.write_text("\n".join(parts), encoding="utf-8")


def _section(file: Path) -> Iterator[str]:
    content = json.loads(file.read_text())
    source = Path(__file__).parent / f"{file.stem}.py"
    if not source.exists():
        return
    about = (ast.get_docstring(ast.parse(source.read_text())) or "").replace("``", "`")
    yield f"## {file.stem}\n"
    yield about + "\n"
    machine, versions = content["machine"], content["versions"]
    known = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    yield f"*{machine['cores']} cores, {machine['machine']}, {machine['system']}; {known}.*\n"
    if file.stem == "growth":
        yield "![Cost against rounds and against actions, on log axes](images/growth.png)\n"
    loose: dict[str, Any] = {}
    for name, value in content["tables"].items():
        rows = _rows(value)
        if rows is None:
            loose[name] = value
        else:
            yield f"### {name.replace('_', ' ')}\n"
            yield from _table(rows)
    if loose:
        yield from _table([{"": name.replace("_", " "), "value": v} for name, v in loose.items()])


def _rows(value: Any) -> list[dict[str, Any]] | None:
    """Return the rows of a table, or None if it is a single number or text."""
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        return value
    if isinstance(value, dict) and value:
        if all(isinstance(row, dict) for row in value.values()):
            return [{"": name, **row} for name, row in value.items()]
        return [{"": name, "value": entry} for name, entry in value.items()]
    return None


def _table(rows: list[dict[str, Any]]) -> Iterator[str]:
    heads = list(dict.fromkeys(key for row in rows for key in row))
    yield "| " + " | ".join(str(head).replace("_", " ") for head in heads) + " |"
    yield "|" + "---|" * len(heads)
    for row in rows[:_MOST_ROWS]:
        yield "| " + " | ".join(_cell(row.get(head)) for head in heads) + " |"
    if len(rows) > _MOST_ROWS:
        yield f"\n({len(rows) - _MOST_ROWS} more rows are in the file.)"
    yield ""


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list | dict):
        text = json.dumps(value)
        return text if len(text) <= 60 else text[:57] + "…"
    return str(value)
