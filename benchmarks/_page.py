"""``docs/reference/performance.md``: what the benchmarks stored, losses as plainly as wins."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks._summary import comparisons

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = """# Performance

Written by `python -m benchmarks` (or `make bench`, which also installs the peers) from what it
stored in `out/benchmarks`. Times differ between machines; ratios are taken within one run. Times
are medians of repeats, and a spread is (longest − shortest) / median. A peer that was not installed
has no row.
"""
#: The order of the sections; one that is not listed comes last, under its own name.
_TITLES = {
    "solver": "One-shot solver",
    "forecaster": "Forecaster",
    "play": "Agents in play",
    "learners": "Learners of other packages",
    "principals": "Principals",
    "audit": "Audit",
    "profile": "Calibration profile",
    "sweeps": "Sweeps",
    "startup": "Start-up and first compilation",
    "campaigns": "Campaigns",
    "studio": "The studio",
    "security": "Security games",
    "betting": "Betting against sleeping experts",
    "certificates": "Certificates",
    "recalibration": "Recalibration",
    "feedback": "What drawn actions cost",
    "learner": "The learner",
    "tournament": "Tournament",
    "environments": "Environments",
    "continuous": "Continuous games",
    "growth": "Growth with rounds and actions",
}
#: Tables whose names are those of commands or functions, in their order.
_HEADINGS = {
    "principals": {
        "queries": "Questions of the practical learner's search to an exact oracle",
        "searches": "Questions of every principal to an exact oracle",
        "rounds": "Regret of every principal against the calibrated agent",
        "agents": "Regret of the practical learner against other agents",
        "horizons": "Regret of the practical learner against the horizon",
    },
    "security": {
        "solving": "Time to solve",
        "attackers": "Calibrated attackers",
        "questions": "Questions to an exact oracle",
        "learning": "Regret against the calibrated attacker",
    },
}
#: Longer tables are cut: the file has them whole.
_MOST_ROWS = 40


def write_page(stored: Path, page: Path) -> None:
    """Write the page from every file that is stored."""
    here = Path(__file__).parent
    order = list(_TITLES)
    files = [file for file in stored.glob("*.json") if (here / f"{file.stem}.py").exists()]
    files.sort(key=lambda f: (order.index(f.stem) if f.stem in _TITLES else len(order), f.stem))
    contents = {file.stem: json.loads(file.read_text()) for file in files}
    machines = {name: _machine(content) for name, content in contents.items()}
    one = len(set(machines.values())) == 1
    parts = [_HEAD]
    if one:
        parts.append(next(iter(machines.values())) + "\n")
    parts += _summary({name: content["tables"] for name, content in contents.items()})
    for name, content in contents.items():
        about = ast.get_docstring(ast.parse((here / f"{name}.py").read_text())) or ""
        parts += [f"## {_TITLES.get(name, name)}\n", about.replace("``", "`") + "\n"]
        if not one:
            parts.append(machines[name] + "\n")
        if name == "growth":
            parts.append("![Cost against rounds and actions, on log axes](images/growth.png)\n")
        parts += _section(content["tables"], _HEADINGS.get(name, {}))
    page.write_text("\n".join(parts), encoding="utf-8")


def _machine(content: dict[str, Any]) -> str:
    machine = content["machine"]
    known = ", ".join(f"{name} {found}" for name, found in content["versions"].items() if found)
    return f"*{machine['cores']} cores, {machine['machine']}, {machine['system']}; {known}.*"


def _summary(stored: dict[str, Any]) -> Iterator[str]:
    found = comparisons(stored)
    if not found:
        return
    yield "## In short\n"
    for title, won in (("Wins", True), ("Losses", False)):
        rows = [one for one in found if one.won is won]
        if rows:
            yield f"### {title}\n"
            yield from table(
                [{"what": one.what, "against": one.against, "result": one.said} for one in rows]
            )


def _section(tables: dict[str, Any], headings: dict[str, str]) -> Iterator[str]:
    parts: dict[str, list[str]] = {name: [] for name in headings}
    loose: dict[str, Any] = {}
    for name, value in tables.items():
        rows = _rows(value)
        if rows is not None:
            parts[name] = list(table(rows))
        elif isinstance(value, dict):
            parts[name] = list(_list(value))
        else:
            loose[name] = value
    if loose:
        yield from _list(loose)
    for name, lines in parts.items():
        if lines:
            yield f"### {headings.get(name) or _words(name)}\n"
            yield from lines


def _rows(value: Any) -> list[dict[str, Any]] | None:
    """Return the rows of a table, or None if it has none."""
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        return value
    if isinstance(value, dict) and value and all(isinstance(row, dict) for row in value.values()):
        return [{"": name, **row} for name, row in value.items()]
    return None


def _words(name: str) -> str:
    words = name.replace("_", " ")
    return words[:1].upper() + words[1:]


def _list(values: dict[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        yield f"- {_words(name)}: {_cell(value)}"
    yield ""


def table(rows: list[dict[str, Any]], most: int | None = _MOST_ROWS) -> Iterator[str]:
    """Yield the lines of a Markdown table, of at most so many rows."""
    heads = list(dict.fromkeys(key for row in rows for key in row))
    yield "| " + " | ".join(str(head).replace("_", " ") for head in heads) + " |"
    yield "|" + "---|" * len(heads)
    for row in rows[:most]:
        yield "| " + " | ".join(_cell(row.get(head)) for head in heads) + " |"
    if most is not None and len(rows) > most:
        yield f"\n({len(rows) - most} more rows are in the file.)"
    yield ""


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if abs(value) < 1e-16:  # what rounding leaves of zero
            return "0"
        return f"{value:,.4g}" if abs(value) < 1e3 else f"{value:,.0f}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, dict):
        return "; ".join(f"{_words(str(name))} {_cell(entry)}" for name, entry in value.items())
    if isinstance(value, list):
        return ", ".join(_cell(entry) for entry in value)
    return str(value)
