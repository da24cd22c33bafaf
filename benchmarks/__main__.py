"""Run the benchmarks that are named, or all."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from benchmarks._storing import store


def run(names: list[str]) -> None:
    here = Path(__file__).parent
    known = sorted(p.stem for p in here.glob("*.py") if not p.stem.startswith("_"))
    unknown = set(names) - set(known)
    if unknown:
        sys.exit(f"benchmarks: expected some of {', '.join(known)}, found {min(unknown)}.")
    for name in names or known:
        print(f"\n== {name}", flush=True)
        tables = importlib.import_module(f"benchmarks.{name}").main()
        print(f"written: {store(name, tables)}")


run(sys.argv[1:])
