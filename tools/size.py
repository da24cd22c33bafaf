"""Count the lines of code below ``src``: no docstrings, comments or blank lines.

Usage: ``python tools/size.py [FOLDER]`` prints a row for each room, and the total last.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

_LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def code_lines(source: str) -> int:
    """Return how many lines of ``source`` hold code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            value = node.value
            if isinstance(value.value, str):
                lines.difference_update(range(value.lineno, (value.end_lineno or 0) + 1))
    return len(lines)


def main(folder: Path) -> None:
    """Print a row for each room, and the total."""
    rooms: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).parts[1:]  # below the package
        room = parts[0] if len(parts) > 1 else "."
        rooms[room] += code_lines(path.read_text(encoding="utf-8"))
        files[room] += 1
    for room, count in sorted(rooms.items()):
        print(f"{count:7,} lines in {files[room]:3} files  {room}")
    print(f"{rooms.total():7,} lines in {files.total():3} files")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent / "src"))
