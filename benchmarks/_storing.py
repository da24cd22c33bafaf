"""Results as JSON in ``out/benchmarks``, with machine and versions, and the page of them."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks._page import write_page

FOLDER = Path("out/benchmarks")
PAGE = Path(__file__).parent.parent / "docs" / "reference" / "performance.md"
PACKAGES = ("stackcast", "numpy", "scipy", "numba", "quantecon", "open_spiel", "nashpy")


def store(name: str, tables: dict[str, Any], *, beside: bool = False) -> Path:
    """Store the tables of a benchmark, ``beside`` those that are there, and write the page."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    file = FOLDER / f"{name}.json"
    if beside and file.exists():
        tables = json.loads(file.read_text())["tables"] | tables
    machine = {"cores": os.cpu_count(), "machine": platform.machine(), "system": platform.system()}
    content = {"machine": machine, "versions": _versions(), "tables": tables}
    file.write_text(json.dumps(content, indent=2) + "\n")
    write_page(FOLDER, PAGE)
    return file


def _versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found
