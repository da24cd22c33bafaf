"""Send damaged and hostile files, and hostile arguments, through the command line.

``python tools/fuzz.py [KIND …] [--inputs N] [--seed S] [--write]`` sends N inputs of each kind, and
prints a row for each: how many were refused in one sentence, how many were accepted, and what must
not happen: a traceback, an abort, a refusal over several lines, a changed input, more than a
gigabyte, more than twenty seconds. A failure is kept in ``out/fuzz``; ``--write`` puts the table on
``docs/reference/fuzzing.md``. The exit code is 1 if anything failed.

Inputs run in a worker process, whose death is noticed and blamed on the input that it read.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reference" / "fuzzing.md"
SECONDS, BYTES = 20, 2**30

#: Pieces of text that programs stumble over.
NASTY = (
    *(
        "",
        " ",
        "\0",
        "\x1b[31m",
        "\u202e",
        "\ufeff",
        "\r\n",
        "[/red]",
        "$x_{$",
        "\\frac",
        "<b>",
        "'",
    ),
    *("NaN", "nan", "inf", "-inf", "1e999", "-0", "1_000", "0x10", "1" * 5000, "-1", "1979-05-27"),
    *("null", "None", "true", "[]", "{}", '"', "[[", "]]", "[" * 3000, "{" * 3000, "a.b.c", "../x"),
    *("é" * 300, "🙈", "x" * 10_000, "%s", "{0}", "#", "=", ",", ";", "\t", "forecast_01"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 10**30, 1e308, float("nan"), float("inf"), "", "x", [], {}, [[]]),
    *([1], ["a", 1], {"a": 1}, [[1, 2], [3]], "\u202e$x$[/red]", "1e5", 0.1, -0.0, 2**63),
)


# ---- mutations


def mutate_text(text: str, rng: random.Random) -> str:
    """Return the text with a few places changed."""
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(text) + 1)
        end = min(len(text), at + rng.choice((0, 1, 1, 5, 40)))
        how = rng.randrange(4)
        piece = rng.choice(NASTY)
        if how == 0:
            text = text[:at] + text[end:]
        elif how == 1:
            text = text[:at] + piece + text[end:]
        elif how == 2:
            text = text[:at] + text[at:end] * 2 + text[end:]
        else:
            lines = text.splitlines(keepends=True)
            if len(lines) > 1:
                i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
                lines[i], lines[j] = lines[j], lines[i]
            text = "".join(lines)
    return text


def mutate_bytes(data: bytes, rng: random.Random) -> bytes:
    """Return the bytes with a few changed, cut or repeated."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 2, 8))):
        if not changed:
            break
        at = rng.randrange(len(changed))
        how = rng.randrange(4)
        if how == 0:
            changed[at] = rng.randrange(256)
        elif how == 1:
            del changed[at : at + rng.choice((1, 4, 100))]
        elif how == 2:
            changed[at:at] = rng.randbytes(rng.choice((1, 4, 100)))
        else:
            del changed[at:]
    return bytes(changed)


def mutate_tree(tree: Any, rng: random.Random) -> Any:
    """Return a copy of JSON data in which one place holds something else."""
    tree = json.loads(json.dumps(tree))
    for _ in range(rng.choice((1, 1, 2))):
        places: list[tuple[Any, Any]] = []
        stack = [tree]
        while stack:
            node = stack.pop()
            keys = list(node) if isinstance(node, dict) else range(len(node))
            for key in keys:
                places.append((node, key))
                if isinstance(node[key], dict | list):
                    stack.append(node[key])
        if not places:
            return tree
        node, key = rng.choice(places)
        how = rng.randrange(4)
        if how == 0:
            del node[key]
        elif how == 1 and isinstance(node, dict):
            node[rng.choice(NASTY)[:200]] = node[key]
        else:
            node[key] = rng.choice(VALUES)
    return tree


# ---- kinds of input: each writes one below a folder and returns the arguments that read it


@dataclass
class Seeds:
    """Valid files, which mutations begin from."""

    folder: Path

    def files(self, *suffixes: str) -> list[Path]:
        """Return the seeds with one of the suffixes."""
        return sorted(p for p in self.folder.iterdir() if p.suffix in suffixes)


def _game(folder: Path, seeds: Seeds, rng: random.Random) -> list[str]:
    source = rng.choice(seeds.files(".json", ".toml", ".nfg"))
    target = folder / f"game{source.suffix}"
    if source.suffix == ".json" and rng.random() < 0.6:
        text = json.dumps(mutate_tree(json.loads(source.read_text()), rng))
    else:
        text = mutate_text(source.read_text(), rng)
    target.write_bytes(text.encode("utf-8", "surrogatepass"))
    return ["solve", str(target), "--json"]


SWEEP = {
    "rounds": [200],
    "seeds": 2,
    "metrics": ["average_utility"],
    "games": [
        {"name": "inspection"},
        {"generator": "uniform", "m": [2, 3], "k": 2, "seeds": "0-1"},
    ],
    "principals": [{"name": "Oracle"}, {"name": "UniformExplore", "settings": {"block": 50}}],
    "agents": [{"name": "BestResponse"}, {"name": "Hedge"}],
}


def _sweep(folder: Path, seeds: Seeds, rng: random.Random) -> list[str]:  # noqa: ARG001
    import tomli_w

    target = folder / "sweep.toml"
    if rng.random() < 0.6:
        with contextlib.suppress(TypeError, ValueError):
            target.write_text(tomli_w.dumps(_without_none(mutate_tree(SWEEP, rng))))
    if not target.exists():
        text = mutate_text(tomli_w.dumps(SWEEP), rng)
        target.write_bytes(text.encode("utf-8", "surrogatepass"))
    return ["sweep", str(target), "--dry-run", "--out", str(folder / "out")]


def _without_none(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {k: _without_none(v) for k, v in tree.items() if v is not None}
    if isinstance(tree, list):
        return [_without_none(v) for v in tree if v is not None]
    return tree


def _frame(rng: random.Random, columns: dict[str, Any]) -> Any:
    """Return a table whose columns are changed to types and names that nobody expects."""
    import polars as pl

    frame = pl.DataFrame(columns)
    n = len(frame)
    name = rng.choice(frame.columns)
    odd: list[Any] = [
        pl.Series(name, [[1.0, 2.0]] * n),
        pl.Series(name, [b"x"] * n),
        pl.Series(name, [None] * n),
        pl.Series(name, ["a"] * n),
        pl.Series(name, [float("nan")] * n),
        pl.Series(name, [float("inf")] * n),
        pl.Series(name, [-5] * n),
        pl.Series(name, [2**62] * n),
        pl.Series(name, [True] * n),
        pl.Series(name, [1] * n).cast(pl.Duration),
        pl.Series(name, [1] * n).cast(pl.Date),
        pl.Series(name, ["a"] * n, dtype=pl.Categorical),
        pl.Series(name, [{"a": 1}] * n),
    ]
    how = rng.randrange(5)
    if how == 0:
        frame = frame.drop(name)
    elif how == 1:
        frame = frame.rename({name: rng.choice((*NASTY, "forecast_" + "9" * 5000, "forecast_01"))})
    elif how == 2:
        frame = frame.head(rng.choice((0, 1)))
    else:
        frame = frame.with_columns(rng.choice(odd))
    return frame


def _write_table(frame: Any, folder: Path, rng: random.Random) -> Path:
    if rng.random() < 0.5:
        target = folder / "table.parquet"
        frame.write_parquet(target)
        if rng.random() < 0.5:
            target.write_bytes(mutate_bytes(target.read_bytes(), rng))
        return target
    target = folder / "table.csv"
    try:
        text = frame.write_csv()
    except Exception:  # CSV has no lists
        text = "forecast,outcome\n0.5,1\n"
    if rng.random() < 0.7:
        text = mutate_text(text, rng)
    target.write_bytes(text.encode("utf-8", "surrogatepass"))
    return target


def _forecasts(folder: Path, seeds: Seeds, rng: random.Random) -> list[str]:  # noqa: ARG001
    n = rng.choice((1, 5, 60))
    columns: dict[str, Any] = {
        "forecast": [rng.random() for _ in range(n)],
        "outcome": [rng.randrange(2) for _ in range(n)],
    }
    if rng.random() < 0.4:
        columns = {f"forecast_{j}": [1 / 3] * n for j in (1, 2, 3)}
        columns["outcome"] = [rng.randrange(1, 4) for _ in range(n)]
    target = _write_table(_frame(rng, columns), folder, rng)
    return ["audit", "--forecasts", str(target), "--json"]


def _transcript(folder: Path, seeds: Seeds, rng: random.Random) -> list[str]:
    if rng.random() < 0.5:
        target = folder / "play.parquet"
        source = rng.choice(seeds.files(".parquet"))
        target.write_bytes(mutate_bytes(source.read_bytes(), rng))
        return ["audit", str(target), "--json"]
    n = rng.choice((1, 40))
    columns = {f"strategy_{x}": [1 / 3] * n for x in (1, 2, 3)}
    columns |= {"response": [rng.randrange(2) for _ in range(n)]}
    target = _write_table(_frame(rng, columns), folder, rng)
    return ["audit", str(target), "--game", "inspection", "--json"]


def _campaign(folder: Path, seeds: Seeds, rng: random.Random) -> list[str]:
    source = rng.choice(seeds.files(".db"))
    target = folder / "campaign.db"
    shutil.copyfile(source, target)
    if rng.random() < 0.3:
        target.write_bytes(mutate_bytes(target.read_bytes(), rng))
    else:
        connection = sqlite3.connect(target)
        with contextlib.suppress(sqlite3.Error), connection:
            tables = [
                r[0]
                for r in connection.execute("select name from sqlite_master where type='table'")
            ]
            table = rng.choice(tables)
            cells = [r[1] for r in connection.execute(f"pragma table_info('{table}')")]
            rows = [r[0] for r in connection.execute(f"select rowid from '{table}'")]
            column, row = rng.choice(cells), rng.choice(rows)
            old = connection.execute(
                f"select \"{column}\" from '{table}' where rowid=?", (row,)
            ).fetchone()[0]
            new: Any = rng.choice((None, -1, 2**62, 0.5, b"\0", *NASTY))
            if isinstance(old, str) and old[:1] in "{[" and rng.random() < 0.8:
                new = json.dumps(mutate_tree(json.loads(old), rng))
            how = rng.randrange(8)
            if how == 0:
                connection.execute(f"drop table '{table}'")
            elif how == 1:
                connection.execute(f"delete from '{table}' where rowid=?", (row,))
            else:
                connection.execute(f"update '{table}' set \"{column}\"=? where rowid=?", (new, row))
        connection.close()
    return ["campaign", rng.choice(("status", "log", "ask")), str(target), "--json"]


def _checkpoint(folder: Path, seeds: Seeds, rng: random.Random) -> list[str]:
    target = folder / "run"
    shutil.copytree(seeds.folder / "stopped", target)
    file = rng.choice(sorted(p for p in target.rglob("*") if p.is_file()))
    if file.suffix == ".json" and rng.random() < 0.7:
        file.write_text(json.dumps(mutate_tree(json.loads(file.read_text()), rng)))
    elif rng.random() < 0.1:
        file.unlink()
    else:
        file.write_bytes(mutate_bytes(file.read_bytes(), rng))
    return ["play", "--resume", str(target), "--quiet"]


WORDS = (
    *("solve", "games", "audit", "verify", "campaign", "sweep", "play", "tournament", "inspection"),
    *(
        "patrol",
        "credit-scoring",
        "--json",
        "--margin",
        "--rounds",
        "10",
        "0.02",
        "--seed",
        "--out",
    ),
    *("--details", "--agent", "Hedge", "--principal", "Oracle", "--forecasts", "--only", "--game"),
    *("ask", "tell", "new", "status", "--dry-run", "--threshold", "0.5", "--lengths", "1,2", "-h"),
)


def _arguments(folder: Path, seeds: Seeds, rng: random.Random) -> list[str]:  # noqa: ARG001
    verb = rng.choice(("solve", "games", "audit", "campaign", "verify", "sweep", "play"))
    words = [rng.choice(WORDS if rng.random() < 0.7 else NASTY) for _ in range(rng.randrange(5))]
    words = [w.replace("\0", "") for w in words]  # no operating system passes it on
    bounded = {"play": ["--rounds", "5", "--quiet"], "verify": ["--only", rng.choice(NASTY)]}
    return [verb, *words, *bounded.get(verb, [])]


KINDS: dict[str, Callable[[Path, Seeds, random.Random], list[str]]] = {
    "game files": _game,
    "sweep files": _sweep,
    "forecast tables": _forecasts,
    "transcripts": _transcript,
    "campaign databases": _campaign,
    "checkpoints": _checkpoint,
    "arguments": _arguments,
}


# ---- seeds


def make_seeds(folder: Path) -> Seeds:
    """Write valid files of every kind."""
    import stackcast as sc

    for name in (
        "inspection",
        "textbook-commitment",
        "patrol",
        "credit-scoring",
        "fare-inspection",
    ):
        game = sc.load_game(name)
        for suffix in (".json", ".toml"):
            sc.save_game(game, folder / f"{name}{suffix}")
    sc.save_game(sc.load_game("exam"), folder / "exam.nfg")
    game = sc.load_game("inspection")
    agent = sc.agents.Calibrated(game.agent_view, seed=0)
    principal = sc.principals.UniformExplore(game.principal_view, horizon=200)
    sc.play(principal, agent, 200, game).save(folder / "play.parquet")
    run = [sys.executable, "-c", "from stackcast.cli import main; main()"]
    for at, verb in enumerate((["tell", "comply=2,hide=1"], [])):
        file = str(folder / f"c{at}.db")
        _quiet([*run, "campaign", "new", file, "--game", "inspection", "--horizon", "200"])
        _quiet([*run, "campaign", "ask", file])
        if verb:
            _quiet([*run, "campaign", verb[0], file, verb[1]])
    stopped = folder / "stopped"
    player = subprocess.Popen(
        [*run, "play", "--rounds", "3000000", "--out", str(stopped), "--quiet"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for _ in range(600):
        time.sleep(0.1)
        if stopped.exists() and any(stopped.rglob("*.npz")):
            break
    player.kill()
    player.wait()
    for part in stopped.rglob("*.json"):
        part.write_text(part.read_text().replace("3000000", "100"))
    return Seeds(folder)


def _quiet(arguments: list[str]) -> None:
    subprocess.run(arguments, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


# ---- running


def work() -> None:
    """Read arguments as JSON lines, run them, and answer with exit code, output and peak memory."""
    out = os.fdopen(os.dup(1), "w")
    os.environ["COLUMNS"] = "400"
    from stackcast import cli

    for line in sys.stdin:
        sys.argv = ["stackcast", *json.loads(line)]
        stdout, stderr = io.StringIO(), io.StringIO()
        code: Any = 0
        trace = ""
        try:
            with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
                cli.main()
        except SystemExit as end:
            code = end.code or 0
        except BaseException as error:
            import traceback

            code, trace = "traceback", "".join(traceback.format_exception(error)[-4:])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(
            json.dumps([code, stderr.getvalue()[-4000:], trace[-3000:], peak]), file=out, flush=True
        )


class Worker:
    """A process that runs one input after another."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--work"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "OMP_NUM_THREADS": "1", "NO_COLOR": "1"},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (12 * BYTES, 12 * BYTES)),
            text=True,
        )
        os.set_blocking(self.process.stderr.fileno(), False)  # type: ignore[union-attr]

    def run(self, arguments: list[str]) -> list[Any]:
        """Return exit code, standard error, traceback and peak memory."""
        import select

        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(arguments) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return ["abort", "", "", 0]
        ready, _, _ = select.select([self.process.stdout], [], [], SECONDS + 40)
        line = self.process.stdout.readline() if ready else ""
        if not line:
            kind = "abort" if ready else "slow"
            self.end()
            return [kind, "", f"exit code {self.process.returncode}", 0]
        found: list[Any] = json.loads(line)
        return found

    def end(self) -> None:
        """Stop the process."""
        self.process.kill()
        self.process.wait()


def snapshot(folder: Path) -> str:
    """Return a hash of every file below a folder."""
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        digest.update(path.name.encode("utf-8", "surrogateescape") + path.read_bytes())
    return digest.hexdigest()


def verdict(kind: str, code: Any, stderr: str, took: float) -> str:
    """Return what became of an input: a failure if it is none of the first three."""
    if code in ("traceback", "abort", "slow"):
        return str(code)
    if took > SECONDS:
        return "slow"
    if code in (0, 1, 130):
        return "accepted"
    said = [line for line in stderr.splitlines() if not line.startswith("stackcast: compiling")]
    if kind == "arguments" and (not said or said[0].strip().startswith("Usage:")):
        return "refused"
    if len(said) == 1 and said[0].startswith("stackcast: ") and said[0].isprintable():
        return "refused"
    return "not one sentence"


def fuzz(kind: str, inputs: int, seed: int, seeds: Seeds, keep: Path) -> Counter[str]:
    """Send inputs of a kind, and return how many ended in which way."""
    make, found, peak = KINDS[kind], Counter[str](), 0
    rng = random.Random(f"{kind} {seed}")
    worker = Worker()
    worker.run(["games", "--json"])
    for at in range(inputs):
        folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
        try:
            arguments = make(folder, seeds, rng)
            before, start = snapshot(folder), time.monotonic()
            code, stderr, trace, memory = worker.run(arguments)
            end = verdict(kind, code, stderr, time.monotonic() - start)
            if end == "refused" and snapshot(folder) != before and "out" not in arguments:
                end = "changed the input"
            if memory - peak > BYTES:
                end = "memory"
            if worker.process.poll() is not None or memory > 1.5 * BYTES:
                worker.end()
                worker = Worker()
                memory = 0
            peak = memory
            found[end] += 1
            if end not in ("refused", "accepted"):
                where = keep / kind.replace(" ", "-") / f"{seed}-{at}"
                shutil.copytree(folder, where, dirs_exist_ok=True)
                (where / "found.txt").write_text(
                    f"{end}\n{arguments}\n{stderr}\n{trace}", encoding="utf-8", errors="replace"
                )
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    worker.end()
    return found


def main() -> int:
    """Fuzz, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(description="Fuzz the command line.")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--inputs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work()
        return 0
    failed, rows = 0, []
    with tempfile.TemporaryDirectory() as folder:
        seeds = make_seeds(Path(folder))
        for kind in given.kinds or KINDS:
            found = fuzz(kind, given.inputs, given.seed, seeds, ROOT / "out" / "fuzz")
            bad = {k: v for k, v in found.items() if k not in ("refused", "accepted")}
            failed += sum(bad.values())
            said = ", ".join(f"{v} {k}" for k, v in bad.items()) or "none"
            counts = f"{given.inputs:,} | {found['refused']:,} | {found['accepted']:,}"
            rows.append(f"| {kind} | {counts} | {said} |")
            print(rows[-1], flush=True)
    if given.write:
        text = PAGE.read_text(encoding="utf-8")
        head, _, _ = text.partition("| kind |")
        table = [
            "| kind | inputs | refused | accepted | failures |",
            "|---|---|---|---|---|",
            *rows,
        ]
        PAGE.write_text(head + "\n".join(table) + "\n", encoding="utf-8")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
