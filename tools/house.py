"""Draw the rooms of the package and who imports whom, from the sources themselves.

``python tools/house.py`` writes ``docs/images/house.png`` and prints the lines of code of each
room. A room stands above every room that it imports; an arrow is left out where others imply it.
"""

from __future__ import annotations

import ast
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from size import code_lines

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "stackcast"
#: The package's own modules at the top that are no rooms.
BASE = "base"


def room_of(parts: tuple[str, ...]) -> str:
    """Return the room that a module of the package belongs to."""
    first = parts[0] if parts else ""
    return BASE if first.startswith("_") or not first else first


def imports() -> dict[str, set[str]]:
    """Return the rooms that each room imports when it is imported or when it runs."""
    found: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts == ("__init__",):
            continue
        room = room_of(parts)
        to = found.setdefault(room, set())
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
                if node.module == "stackcast":
                    names = [f"stackcast.{alias.name}" for alias in node.names]
            for name in names:
                first, *rest = name.split(".")
                if first == "stackcast" and rest and (PACKAGE / rest[0]).is_dir():
                    to.add(rest[0])
                elif first == "stackcast" and rest and (PACKAGE / f"{rest[0]}.py").exists():
                    to.add(room_of((rest[0],)))
        to.discard(room)
        to.discard(BASE)
    found.pop(BASE, None)
    return found


def floors(to: dict[str, set[str]]) -> dict[str, int]:
    """Return how high each room stands: above all that it imports."""
    heights: dict[str, int] = {}

    def height(room: str, seen: tuple[str, ...] = ()) -> int:
        if room in seen:
            return 0  # the one late import upwards
        if room not in heights:
            below = [height(r, (*seen, room)) for r in to.get(room, ())]
            heights[room] = 1 + max(below, default=-1)
        return heights[room]

    for room in to:
        height(room)
    return heights


def lines() -> dict[str, tuple[int, int]]:
    """Return code lines and files of each room."""
    found: dict[str, tuple[int, int]] = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        room = BASE if parts == ("__init__",) else room_of(parts)
        code, files = found.get(room, (0, 0))
        found[room] = code + code_lines(path.read_text(encoding="utf-8")), files + 1
    return found


def draw(target: Path) -> None:
    """Write the picture."""
    to = imports()
    # `_repr_html_` reaches up to `report` in one late import, the contract's exception.
    if "report" in to:
        for room in to:
            if room not in {"cli", "studio", "report"}:
                to[room].discard("report")
    heights, sizes = floors(to), lines()
    rows: dict[int, list[str]] = {}
    for room, floor in sorted(heights.items()):
        rows.setdefault(floor, []).append(room)
    place = {
        room: ((at + 0.5) / len(row) * 6 + 0.25 * (floor % 2), floor)
        for floor, row in rows.items()
        for at, room in enumerate(row)
    }
    figure, ax = plt.subplots(figsize=(8, 0.85 * (len(rows) + 1)))
    ax.axis("off")
    reach: dict[str, set[str]] = {}
    for room in sorted(heights, key=lambda r: heights[r]):
        reach[room] = set().union(*(reach[r] | {r} for r in to[room])) if to[room] else set()
    for room, below in to.items():
        for other in below:
            if any(other in reach[r] for r in below if r != other):
                continue
            ax.annotate(
                "",
                xy=(place[other][0], place[other][1] + 0.24),
                xytext=(place[room][0], place[room][1] - 0.24),
                arrowprops={"arrowstyle": "-|>", "color": "0.55", "lw": 0.9},
            )
    for room, (x, y) in place.items():
        code, files = sizes[room]
        ax.text(
            x,
            y,
            f"{room}\n{code:,} lines, {files} {'file' if files == 1 else 'files'}",
            ha="center",
            va="center",
            fontsize=9,
            linespacing=1.3,
            bbox={"boxstyle": "round,pad=0.4", "fc": "#e8f0f7", "ec": "#4477aa"},
        )
    ax.set_xlim(-0.2, 6.7)
    ax.set_ylim(-0.5, len(rows) - 0.5)
    figure.savefig(target, dpi=140, bbox_inches="tight")
    for room in sorted(sizes):
        code, files = sizes[room]
        print(f"{code:7,} lines in {files:3} files  {room}")


if __name__ == "__main__":
    draw(ROOT / "docs" / "images" / "house.png")
