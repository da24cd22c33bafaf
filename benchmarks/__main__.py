"""Run the benchmarks that are named, or all."""

from __future__ import annotations

import importlib
import sys
import time
import traceback
from pathlib import Path

from benchmarks._storing import store


def run(names: list[str]) -> None:
    here = Path(__file__).parent
    known = sorted(p.stem for p in here.glob("*.py") if not p.stem.startswith("_"))
    unknown = set(names) - set(known)
    if unknown:
        sys.exit(f"benchmarks: expected some of {', '.join(known)}, found {min(unknown)}.")
    failed = []
    for name in names or known:
        print(f"\n== {name}", flush=True)
        start = time.perf_counter()
        try:
            tables = importlib.import_module(f"benchmarks.{name}").main()
        except Exception:  # the others are still worth an hour
            traceback.print_exc()
            failed.append(name)
        else:
            took = time.perf_counter() - start
            print(f"written after {took:,.0f} s: {store(name, tables)}", flush=True)
    if failed:
        sys.exit(f"benchmarks: {', '.join(failed)} failed; the others are written.")


run(sys.argv[1:])
