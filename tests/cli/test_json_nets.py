"""The documents that ``--json`` prints keep their keys and their numbers.

``python tests/cli/test_json_nets.py`` writes ``data/command_line.json`` anew. Sentences for people
and measured times are not compared.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

NET = Path(__file__).parent / "data" / "command_line.json"
PROSE = {
    "note",
    "reasons",
    "seconds",
    "folder",
    "report",
    "why",
    "description",
    "version",
    "versions",
}

COMMANDS = {
    "solve inspection": ["solve", "inspection", "--json"],
    "solve milking": ["solve", "milking", "--details", "--json"],
    "solve airport-checkpoints": ["solve", "airport-checkpoints", "--json"],
    "solve quadratic-tax": ["solve", "quadratic-tax", "--json"],
    "games": ["games", "--json"],
    "games inspection": ["games", "inspection", "--json"],
    "games quadratic-tax": ["games", "quadratic-tax", "--json"],
    "audit": ["audit", "season.csv", "--game", "inspection", "--ties", "lowest", "--json"],
    "audit draws": ["audit", "draws.csv", "--game", "inspection", "--json"],
    "audit forecasts": ["audit", "--forecasts", "rain.csv", "--json"],
    "play": [
        "play",
        "inspection",
        "--principal",
        "UniformExplore",
        "--agent",
        "BestResponse",
        "--rounds",
        "400",
        "--out",
        "p",
        "--json",
    ],
}


def write_tables() -> None:
    """Write the tables that are audited, in the working folder."""
    rng = np.random.default_rng(0)
    strategies = np.repeat(rng.dirichlet(np.ones(3), 4), 10, axis=0).round(3)
    strategies[:, 2] = 1 - strategies[:, 0] - strategies[:, 1]
    forecasts = np.repeat(rng.dirichlet(np.ones(3), 8), 5, axis=0).round(3)
    forecasts[:, 2] = 1 - forecasts[:, 0] - forecasts[:, 1]
    heads = [f"{stem}_{i}" for stem in ("strategy", "forecast") for i in (1, 2, 3)]
    lines = [",".join([*heads, "response", "phase"])]
    for t in range(40):
        numbers = [f"{v:.3f}" for v in (*strategies[t], *forecasts[t])]
        lines.append(",".join([*numbers, str(1 + t % 2), "explore" if t < 20 else "commit"]))
    Path("season.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    drawn = [f"{1 + int(x)},{1 + t % 2}" for t, x in enumerate(rng.integers(3, size=200))]
    Path("draws.csv").write_text("action,response\n" + "\n".join(drawn) + "\n", encoding="utf-8")
    chances = rng.integers(10, size=300) / 10
    rain = [f"{p},{int(rng.random() < p)}" for p in chances]
    Path("rain.csv").write_text("forecast,outcome\n" + "\n".join(rain) + "\n", encoding="utf-8")


def document(words: list[str]) -> Any:
    """Run a command in this process and return the document that it printed."""
    from stackcast.cli import app

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        app(words, prog_name="stackcast")
    return json.loads(printed.getvalue())


def differences(old: Any, new: Any, place: str = "") -> list[str]:
    """Return where two documents differ, leaving sentences for people out."""
    if isinstance(old, dict) and isinstance(new, dict):
        found = [f"{place}.{key}" for key in sorted(old.keys() ^ new.keys())]
        for key in (old.keys() & new.keys()) - PROSE:
            found += differences(old[key], new[key], f"{place}.{key}")
        return found
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        found = []
        for i, (one, other) in enumerate(zip(old, new, strict=True)):
            found += differences(one, other, f"{place}[{i}]")
        return found
    if isinstance(old, float) and isinstance(new, int | float):
        return [] if math.isclose(old, new, rel_tol=1e-7, abs_tol=1e-9) else [place]
    return [] if old == new else [place]


@pytest.mark.parametrize("name", COMMANDS)
def test_documents_stay(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_tables()
    kept = json.loads(NET.read_text(encoding="utf-8"))[name]
    assert differences(kept, document(COMMANDS[name])) == []


def test_the_net_sees_a_change() -> None:
    assert differences({"a": [1.0, {"b": 2}]}, {"a": [1.0, {"b": 3}]}) == [".a[1].b"]
    assert differences({"a": 1}, {"b": 1}) == [".a", ".b"]


if __name__ == "__main__":
    import os

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_tables()
        kept = {name: document(words) for name, words in COMMANDS.items()}
    NET.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(kept)} documents", file=sys.stderr)
