"""``docs/reference/tests.md``: what the tests guard, and how it was shown that they bite.

Read off the tests' own first lines and the breaks of ``tools/bite.py``. Run it with
``python tools/guards.py``; a test checks that the page is what it writes.
"""

from __future__ import annotations

import ast
from pathlib import Path

from bite import BREAKS

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reference" / "tests.md"

_HEAD = """# What the tests guard

`make test` runs all of it; `make test-slow` what takes minutes. Written by `python tools/guards.py`
from the first line of each file.

| file | what it guards |
|---|---|
"""
_BREAKS = """
## Shown to bite

`make bite` makes each of these changes in a copy and runs the test that must fail.

| a formula broken on purpose | the test that notices |
|---|---|
"""


def page() -> str:
    """Return the page."""
    lines = []
    for file in sorted((ROOT / "tests").glob("test_*.py")):
        about = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        lines.append(f"| `{file.stem}` | {about.splitlines()[0]} |")
    breaks = [f"| {b.what} | `{b.test.replace('.py::', ': ')}` |" for b in BREAKS]
    return _HEAD + "\n".join(lines) + "\n" + _BREAKS + "\n".join(breaks) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
