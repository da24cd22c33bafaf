"""Run the benchmarks that are named, or all."""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks._page import write_page

HERE = Path(__file__).parent
PACKAGES = ("stackcast", "numpy", "scipy", "numba", "quantecon", "open_spiel", "nashpy")


def _versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


def run(names: list[str]) -> None:
    known = sorted(p.stem for p in HERE.glob("*.py") if not p.stem.startswith("_"))
    unknown = set(names) - set(known)
    if unknown:
        sys.exit(f"benchmarks: expected some of {', '.join(known)}, found {min(unknown)}.")
    folder = Path("out/benchmarks")
    folder.mkdir(parents=True, exist_ok=True)
    machine = {"cores": os.cpu_count(), "machine": platform.machine(), "system": platform.system()}
    for name in names or known:
        print(f"\n== {name}", flush=True)
        tables = importlib.import_module(f"benchmarks.{name}").main()
        content = {"machine": machine, "versions": _versions(), "tables": tables}
        file = folder / f"{name}.json"
        file.write_text(json.dumps(content, indent=2) + "\n")
        print(f"written: {file}")
        write_page(folder, HERE.parent / "docs" / "performance.md")


run(sys.argv[1:])
