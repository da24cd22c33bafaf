"""Send damaged and hostile files, and hostile arguments, through the command line.

``python tools/fuzz.py [KIND …] [--inputs N] [--seed S] [--write]`` sends N inputs of each kind, and
prints a row for each: how many were refused in one sentence, how many were accepted, and what must
not happen: a traceback, an abort, a refusal over several lines, a changed input, more than a
gigabyte, more than twenty seconds. A failure is kept in ``out/fuzz``; ``--write`` puts the table on
``docs/reference/fuzzing.md``. The exit code is 1 if anything failed.

Inputs run one after another in a child, in memory: no process and no disc an input. Where the child
dies or hangs, the input that it was at is blamed. A run that was stopped goes on where it was;
``--fresh`` begins again.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import multiprocessing
import os
import random
import resource
import shutil
import sqlite3
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reference" / "fuzzing.md"
KEEP = ROOT / "out" / "fuzz"
SECONDS, BYTES = 20, 2**30
#: Inputs a child, and where files live: a folder in memory, if there is one.
PIECE = 5000
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None

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


def _sealed(data: bytes, kind: str, rng: random.Random) -> bytes:
    """Return a state file with other types, sizes or entries, and the right digest of it.

    Numbers inside arrays stay: compiled loops believe them, which is not promised otherwise.
    """
    from stackcast._state import decode_state, encode_state

    state = decode_state(kind, data, "seed")
    stack: list[Any] = [state]
    places = []
    while stack:
        node = stack.pop()
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], dict | list):
                stack.append(node[key])
    node, key = rng.choice(places)
    old = node[key]
    if isinstance(old, np.ndarray) and rng.random() < 0.8:
        new: Any = old.copy()
        how = rng.randrange(3)
        if how == 0:
            new = new[:-1] if new.ndim else new.reshape(1)
        elif how == 1:
            new = new.astype(np.float32 if new.dtype.kind == "f" else np.int8)
        else:
            new = new.reshape(-1)
        node[key] = new
    elif rng.random() < 0.2:
        del node[key]
    else:
        node[key] = rng.choice((*VALUES, np.zeros(3), np.zeros((0, 2)), np.array(7)))
    return encode_state(kind, state)


def _checkpoint(folder: Path, seeds: Seeds, rng: random.Random) -> list[str]:
    target = folder / "run"
    shutil.copytree(seeds.folder / "stopped", target)
    file = rng.choice(sorted(p for p in target.rglob("*") if p.is_file()))
    if file.suffix == ".json" and rng.random() < 0.7:
        file.write_text(json.dumps(mutate_tree(json.loads(file.read_text()), rng)))
    elif file.suffix == ".ckpt" and rng.random() < 0.7:
        file.write_bytes(_sealed(file.read_bytes(), "checkpoint", rng))
    elif rng.random() < 0.1:
        file.unlink()
    else:
        file.write_bytes(mutate_bytes(file.read_bytes(), rng))
    return ["play", "--resume", str(target), "--quiet"]


def _state(folder: Path, seeds: Seeds, rng: random.Random) -> list[str]:
    source = rng.choice(seeds.files(".state"))
    target = folder / source.name
    kind = source.stem
    data = source.read_bytes()
    data = _sealed(data, kind, rng) if rng.random() < 0.6 else mutate_bytes(data, rng)
    target.write_bytes(data)
    return ["load", kind, str(target)]


def load(kind: str, path: str) -> None:
    """Read a state file and go on with what it holds; a refusal as on the command line."""
    from stackcast._validation import InputError
    from stackcast.calibration import AdaptiveForecaster, Recalibrator, ThresholdBinning

    try:
        if kind == "forecaster":
            forecaster = AdaptiveForecaster.load(path, ThresholdBinning([0.3]))
            for y in (0, 1, 1):
                forecaster.forecast()
                forecaster.observe([y])
        else:
            recalibrator = Recalibrator.load(path)
            for y in (0, 1, 1):
                recalibrator.predict(0.3, key=f"{y}")
                recalibrator.observe(f"{y}", y)
                with contextlib.suppress(InputError):
                    recalibrator.observe("waiting", y)
    except InputError as error:
        print(f"stackcast: {error}", file=sys.stderr)
        sys.exit(2)


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
    "state files": _state,
    "arguments": _arguments,
}


# ---- seeds


def make_seeds(kind: str, folder: Path) -> None:
    """Write the valid files that inputs of a kind begin from."""
    import stackcast as sc
    from stackcast.cli.play import LivePlay

    game = sc.load_game("inspection")
    if kind == "game files":
        for name in ("inspection", "textbook-commitment", "patrol", "credit-scoring"):
            for suffix in (".json", ".toml"):
                sc.save_game(sc.load_game(name), folder / f"{name}{suffix}")
        sc.save_game(sc.load_game("exam"), folder / "exam.nfg")
    elif kind == "transcripts":
        agent = sc.agents.Calibrated(game.agent_view, seed=0)
        principal = sc.principals.UniformExplore(game.principal_view, horizon=200)
        sc.play(principal, agent, 200, game).save(folder / "play.parquet")
    elif kind == "campaign databases":
        for at, told in enumerate((["comply=2,hide=1"], [])):
            file = str(folder / f"c{at}.db")
            run(["campaign", "new", file, "--game", "inspection", "--horizon", "200"])
            run(["campaign", "ask", file])
            if told:
                run(["campaign", "tell", file, *told])
    elif kind == "checkpoints":
        LivePlay.__call__ = lambda *_: True  # type: ignore[method-assign]  # stops after a block
        run(["play", "--rounds", "300", "--out", str(folder / "stopped"), "--quiet"])
    elif kind == "state files":
        forecaster = sc.calibration.AdaptiveForecaster(sc.calibration.ThresholdBinning([0.3]))
        forecaster.run(([0.25], 200))
        forecaster.save(folder / "forecaster.state")
        recalibrator = sc.calibration.Recalibrator()
        recalibrator.run([0.3, 0.6] * 50, [0, 1] * 50)
        recalibrator.predict(0.2, key="waiting")
        recalibrator.save(folder / "recalibrator.state")


# ---- running


def prepare() -> None:
    """Load the program once, and build its parser once: what an input costs is then its own."""
    os.environ |= {"COLUMNS": "400", "NO_COLOR": "1"}
    import typer

    from stackcast import cli, report

    cli.app = typer.main.get_command(cli.app)  # type: ignore[assignment]
    # A second for each play that is resumed to its end.
    vars(report.pages)["play_figures"] = lambda _: {}


def run(arguments: list[str]) -> tuple[Any, str, str]:
    """Run the program in this process; return its exit code, standard error and traceback."""
    from stackcast import cli

    sys.argv = ["stackcast", *arguments]
    stdout, stderr = io.StringIO(), io.StringIO()
    code: Any = 0
    trace = ""
    try:
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
            if arguments[0] == "load":
                load(*arguments[1:])
            else:
                cli.main()
    except SystemExit as end:
        code = end.code or 0
    except BaseException as error:  # a reader that panics raises no ordinary exception
        code, trace = "traceback", "".join(traceback.format_exception(error)[-6:])
    return code, stderr.getvalue(), trace


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder."""
    return {str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def verdict(kind: str, code: Any, stderr: str) -> str:
    """Return what became of an input: a failure if it is none of the first two."""
    if code == "traceback":
        return "traceback"
    if code in (0, 1, 130):
        return "accepted"
    said = [line for line in stderr.splitlines() if not line.startswith("stackcast: compiling")]
    if kind == "arguments" and not any(line.strip() for line in said):
        return "refused"  # nothing was asked: the help, on standard output
    if kind == "arguments" and any(line.strip().startswith("Usage:") for line in said):
        return "refused"
    if len(said) == 1 and said[0].startswith("stackcast: ") and said[0].isprintable():
        return "refused"
    return "not one sentence"


def memory() -> int:
    """Return the largest memory of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def one(kind: str, seed: int, at: int, folder: Path, seeds: Seeds) -> tuple[str, str]:
    """Make input number ``at``, run it, and return its verdict and what was seen."""
    for entry in folder.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    arguments = KINDS[kind](folder, seeds, random.Random(f"{kind} {seed} {at}"))
    before, begun, start = contents(folder), memory(), time.process_time()
    code, stderr, trace = run(arguments)
    end = verdict(kind, code, stderr)
    if end in ("refused", "accepted"):
        if time.process_time() - start > SECONDS:
            end = "slow"
        elif memory() - begun > BYTES:
            end = "memory"
        elif (
            end == "refused"
            and {k: v for k, v in contents(folder).items() if k in before} != before
        ):
            end = "changed the input"
    return end, f"{arguments}\n{stderr[-4000:]}\n{trace[-4000:]}"


def work(kind: str, seed: int, first: int, last: int, seeds: Seeds, log: Path) -> None:
    """Run inputs first … last − 1, with a line in ``log`` before each and after each failure."""
    prepare()
    resource.setrlimit(resource.RLIMIT_AS, (12 * BYTES, 12 * BYTES))
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=MEMORY) as place, log.open("a") as said:
        folder = Path(place)
        os.chdir(folder)  # where a play without --out puts its results
        for at in range(first, last):
            print(f"at {at}", file=said, flush=True)
            end, seen = one(kind, seed, at, folder, seeds)
            print(f"end {end}", file=said, flush=True)
            if end not in ("refused", "accepted"):
                keep(kind, seed, at, end, seen, folder)
            if memory() > 2 * BYTES:  # its peak hides that of the next inputs
                break


def keep(kind: str, seed: int, at: int, end: str, seen: str, folder: Path | None) -> None:
    """Put an input that failed into ``out/fuzz``."""
    where = KEEP / kind.replace(" ", "-") / f"{seed}-{at}"
    where.mkdir(parents=True, exist_ok=True)
    if folder is not None:
        shutil.copytree(folder, where, dirs_exist_ok=True)
    (where / "found.txt").write_text(f"{end}\n{seen}", encoding="utf-8", errors="replace")


def fuzz(kind: str, inputs: int, seed: int, seeds: Seeds) -> Counter[str]:
    """Send inputs of a kind, and return how many ended in which way.

    Inputs run in a child, one after another; where it dies or hangs, the input that it was at is
    blamed, and another child goes on with the next. A second call goes on where a first stopped.
    """
    KEEP.mkdir(parents=True, exist_ok=True)
    file = KEEP / f"{kind.replace(' ', '-')}-{seed}.json"
    done: dict[str, Any] = {"inputs": 0, "found": {}}
    if file.exists():
        done = json.loads(file.read_text())
    found = Counter[str](done["found"])
    log = Path(tempfile.mkstemp(prefix="fuzz-log-", dir=MEMORY)[1])
    at = done["inputs"]
    while at < inputs:
        log.write_text("")
        last = min(at + PIECE, inputs)
        child = multiprocessing.get_context("fork").Process(
            target=work, args=(kind, seed, at, last, seeds, log)
        )
        child.start()
        size, since = 0, time.monotonic()
        while child.is_alive():
            child.join(0.2)
            if log.stat().st_size > size:
                size, since = log.stat().st_size, time.monotonic()
            elif time.monotonic() - since > 3 * SECONDS:
                child.kill()
        lines = log.read_text().splitlines()
        for line in lines:
            found[line[4:]] += line.startswith("end ")
        at += sum(line.startswith("at ") for line in lines)
        if lines and lines[-1].startswith("at "):  # the child did not come back from this one
            end = "slow" if child.exitcode == -9 else "abort"
            found[end] += 1
            keep(kind, seed, at - 1, end, f"exit code {child.exitcode}", None)
        found = +found
        for line in [k for k in found if k.isdigit()]:
            del found[line]
        file.write_text(json.dumps({"inputs": at, "found": found}))
    log.unlink()
    return found


def main() -> int:
    """Fuzz, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(description="Fuzz the command line.")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--inputs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    parser.add_argument("--fresh", action="store_true", help="forget what earlier runs did")
    parser.add_argument("--keep", type=Path, default=KEEP, help="where failures are put")
    given = parser.parse_args()
    globals()["KEEP"] = given.keep
    if given.fresh:
        shutil.rmtree(KEEP, ignore_errors=True)
    failed, rows = 0, []
    for kind in given.kinds or KINDS:
        with tempfile.TemporaryDirectory() as folder:
            # In a child, as everything that loads the package: no threads survive a fork.
            fork = multiprocessing.get_context("fork")
            maker = fork.Process(target=make_seeds, args=(kind, Path(folder)))
            maker.start()
            maker.join()
            found = fuzz(kind, given.inputs, given.seed, Seeds(Path(folder)))
            bad = {k: v for k, v in found.items() if k not in ("refused", "accepted")}
            failed += sum(bad.values())
            said = ", ".join(f"{v} {k}" for k, v in bad.items()) or "none"
            counts = f"{found.total():,} | {found['refused']:,} | {found['accepted']:,}"
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
