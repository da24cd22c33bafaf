"""What comes from strangers: refused in one sentence, nothing run, nothing lost, memory bounded."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tracemalloc
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import stackcast as sc
from stackcast._files import remove_drafts
from stackcast._random import stream
from stackcast._state import decode_state, encode_state
from stackcast._validation import InputError
from stackcast.auditing import audit
from stackcast.calibration import AdaptiveForecaster, ThresholdBinning, certify, certify_forecasts
from stackcast.campaigns import Campaign
from stackcast.cli import main
from stackcast.sweeps import Specification

ROOT = Path(__file__).parent.parent


def ended(words: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """Run the command line in this process and return its exit code."""
    monkeypatch.setattr(sys, "argv", ["stackcast", *words])
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
@pytest.mark.parametrize(
    ("kind", "inputs"),
    [
        ("game files", 300),
        ("sweep files", 100),
        *(
            pytest.param(kind, 1000, marks=pytest.mark.slow)
            for kind in (
                "game files",
                "sweep files",
                "forecast tables",
                "transcripts",
                "campaign databases",
                "checkpoints",
                "state files",
                "arguments",
            )
        ),
    ],
)
def test_hostile_inputs_are_refused_in_a_sentence(kind: str, inputs: int, tmp_path: Path) -> None:
    words = [kind, "--inputs", f"{inputs}", "--seed", "1", "--keep", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "fuzz.py", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    seen = [file.read_text() for file in tmp_path.rglob("found.txt")]
    assert done.returncode == 0, (done.stdout, done.stderr, seen[:3])


@pytest.mark.parametrize(
    "words",
    [
        ["play", "--rouns", "5"],
        ["play", "--rounds", "x"],
        ["solve", "a", "b"],
        ["campaign", "ask"],
        ["nothing"],
        ["solve", ""],
        ["solve", "\x1b[31m"],
    ],
)
def test_a_slip_on_the_command_line_is_one_line(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(words, monkeypatch) == 2
    out, err = capsys.readouterr()
    assert not out
    assert err.startswith("stackcast: ")
    assert err.count("\n") == 1
    assert err[:-1].isprintable()


EVIL = "raise SystemExit(open('ran', 'w').write('ran'))\nclass Evil: ...\n"


def test_no_name_in_a_file_runs_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("evil.py").write_text(EVIL)
    Path("spec.toml").write_text(
        'rounds = 10\n[[games]]\nname = "inspection"\n[[principals]]\nname = "evil.py:Evil"\n'
        '[[agents]]\nname = "Hedge"\n'
    )
    run = {"game": "inspection", "principal": "Oracle", "agent": "evil.py:Evil", "rounds": 10}
    run |= {"seed": 0, "feedback": None, "margin": None}
    Path("run").mkdir()
    table = sc.games.game_to_table(sc.load_game("inspection"))
    Path("run/run.json").write_text(json.dumps({**run, "table": table}))
    for words in (["sweep", "spec.toml"], ["play", "--resume", "run"]):
        assert ended(words, monkeypatch) == 2
        assert "evil.py:Evil" in capsys.readouterr().err
    with pytest.raises(InputError, match="principal: expected an installed principal"):
        Campaign.new("c.db", sc.load_game("inspection"), "evil.py:Evil")
    assert not Path("ran").exists()


def test_a_checkpoint_without_its_rounds_is_refused_and_left_alone(tmp_path: Path) -> None:
    game = sc.load_game("inspection")

    def play(stop: bool) -> object:
        principal = sc.principals.UniformExplore(game.principal_view, horizon=300)
        agent = sc.agents.Hedge(game.agent_view)
        at = tmp_path / "run.ckpt"
        return sc.play(principal, agent, 300, game, checkpoint=at, watch=lambda *_: stop)

    play(True)
    (tmp_path / "run.ckpt.rounds").unlink()
    before = (tmp_path / "run.ckpt").read_bytes()
    with pytest.raises(InputError, match=r"run\.ckpt\.rounds: expected the rounds of run\.ckpt"):
        play(False)
    assert [file.name for file in tmp_path.iterdir()] == ["run.ckpt"]
    assert (tmp_path / "run.ckpt").read_bytes() == before


@pytest.mark.parametrize("value", [3, "x", None, [1], np.zeros(2), {"a": 1}])
@pytest.mark.parametrize("place", ["clock", "pool", "bankroll", "random", "binning", "method"])
def test_a_state_that_was_resealed_is_refused(place: str, value: object, tmp_path: Path) -> None:
    forecaster = AdaptiveForecaster(ThresholdBinning([0.3]))
    forecaster.save(tmp_path / "kept")
    state = decode_state("forecaster", (tmp_path / "kept").read_bytes(), "kept")
    state[place] = value
    (tmp_path / "kept").write_bytes(encode_state("forecaster", state))
    with pytest.raises(InputError, match="kept"):
        AdaptiveForecaster.load(tmp_path / "kept", ThresholdBinning([0.3]))


N, P, Y = 3, [0.5] * 3, [1] * 3


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"forecast": P, "outcome": [[1.0]] * N}, "column 'outcome': expected numbers or texts"),
        ({"forecast": P, "outcome": [b"x"] * N}, "column 'outcome': expected numbers or texts"),
        ({"forecast": P, "outcome": [timedelta(1)] * N}, "expected numbers or texts, found Dur"),
        ({"forecast_" + "9" * 5000: P, "outcome": Y}, "expected numbers of at most six digits"),
        ({"forecast_1": P, "forecast_01": P, "outcome": Y}, "expected every number once"),
    ],
)
def test_a_table_that_holds_something_else_is_one_sentence(
    columns: dict[str, list[Any]], sentence: str, tmp_path: Path
) -> None:
    pl.DataFrame(columns).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=sentence) as refused:
        certify_forecasts(tmp_path / "t.parquet")
    assert len(str(refused.value)) < 300


def test_columns_twice_and_more_rows_than_memory_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("forecast,outcome,outcome\n0.5,1,0\n")
    with pytest.raises(InputError, match=r"columns: expected every name once, found 'outcome'"):
        certify_forecasts(tmp_path / "t.csv")
    rows = pl.select(forecast=pl.repeat(0.5, 16_000_000, dtype=pl.Float32))
    rows.with_columns(outcome=pl.lit(1, pl.UInt8)).write_parquet(tmp_path / "t.parquet")
    assert (tmp_path / "t.parquet").stat().st_size < 500_000
    tracemalloc.start()
    with pytest.raises(InputError, match=r"expected at most 15,000,000 rows, found 16,000,000"):
        certify_forecasts(tmp_path / "t.parquet")
    tracemalloc.stop()


def test_a_damaged_table_is_one_sentence(tmp_path: Path, capfd: Any) -> None:
    rng, file = random.Random(0), tmp_path / "t.parquet"
    pl.DataFrame({"forecast": P * 20, "outcome": Y * 20}).write_parquet(file)
    whole = file.read_bytes()
    refused = 0
    for _ in range(60):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(whole) // 2, len(whole))] = rng.randrange(256)
        file.write_bytes(damaged)
        try:
            certify_forecasts(file)
        except InputError as error:
            refused += str(error).isprintable()
    assert refused > 10
    assert not capfd.readouterr().err


def test_an_audit_and_a_certificate_hold_few_bytes_a_round() -> None:
    T, rng = 1_000_000, stream(0, "hostile", "memory")
    game = sc.load_game("inspection")
    record = sc.Transcript.from_rounds([[0.25, 0.5, 0.25]], [0], [[0.5, 0.25, 0.25]], game=game)
    many = sc.Transcript(
        record.block_strategies, np.array([T]), record.block_phases, record.phase_names,
        rng.integers(2, size=T).astype(np.uint8), rng.integers(500, size=T).astype(np.int32),
        rng.dirichlet(np.ones(3), 500), game=game, fingerprint=game.fingerprint,
    )  # fmt: skip
    p = rng.random(T)
    y = (rng.random(T) < p).astype(float)
    audit(record)
    for limit, measured in ((40, lambda: audit(many)), (80, lambda: certify(y, p, p > 0.5))):
        tracemalloc.start()
        measured()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < limit * T, peak / T


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="forks")
@pytest.mark.parametrize("story", ["play", "sweep", "tell"])
def test_a_command_killed_inside_its_writes_goes_on(story: str) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "kills.py", story, "--kills", "20"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)


def test_what_a_killed_write_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    mark = "0123456789abcdef"
    ours = [f".{mark}.report.html", f".report.html.{mark}.tmp", f"..{mark}.report.html.{mark}.tmp"]
    others = ["report.html", ".report.html", f".{mark}.notes", ".report.html.x.tmp", f".{mark}"]
    for name in (*ours, *others):
        (tmp_path / name).write_text("x")
    remove_drafts(tmp_path, ["report.html"])
    assert {file.name for file in tmp_path.iterdir()} == {*others}


def test_more_seeds_than_a_machine_can_count_are_refused(tmp_path: Path) -> None:
    table = {"rounds": 10, "games": [{"name": "inspection"}], "seeds": 10**30}
    table |= {"principals": [{"name": "Oracle"}], "agents": [{"name": "Hedge"}]}
    with pytest.raises(InputError, match="seeds: expected at most 1,000,000 numbers"):
        Specification.of(table, tmp_path)


FULL = """
import resource, signal, sys
from stackcast.cli import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
main()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="limits of files")
@pytest.mark.parametrize(
    "words",
    [
        ["sweep", "spec.toml", "--out", "rows", "--workers", "1", "--quiet"],
        ["play", "inspection", "--principal", "Oracle", "--rounds", "9", "--out", "run", "-q"],
        ["campaign", "new", "c.db", "--game", "inspection"],
    ],
)
def test_a_disk_that_is_full_is_one_sentence(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(
        'rounds = 9\n[[games]]\nname = "inspection"\n[[principals]]\nname = "Oracle"\n'
        '[[agents]]\nname = "BestResponse"\n'
    )
    done = subprocess.run(
        [sys.executable, "-c", FULL, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    said = [line for line in done.stderr.splitlines() if "compiling" not in line]
    assert len(said) == 1, said
