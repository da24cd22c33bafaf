"""The command line killed for real, with an agent that forecasts, and resumed: nothing changes."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

import stackcast as sc
from stackcast.cli import main

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = [sys.executable, "-c", "from stackcast.cli import main; main()"]
ROUNDS = 120_000
PLAY = ["play", "inspection", "--principal", "UniformExplore", "--rounds", str(ROUNDS), "--json"]


def ended(words: list[str], folder: Path) -> dict[str, object]:
    """Run a command to its end and return its document."""
    done = subprocess.run(
        [*PROGRAM, *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, object] = json.loads(done.stdout)
    return found


def killed(words: list[str], folder: Path, run: Path, delay: float) -> bool:
    """Start a command, kill it ``delay`` seconds after its run began; tell whether it was alive."""
    before = (run / "run.ckpt").exists()
    child = subprocess.Popen(
        [*PROGRAM, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    patience = time.monotonic() + 120
    while not before and not (run / "run.json").exists() and child.poll() is None:
        assert time.monotonic() < patience
        time.sleep(0.005)
    try:
        child.wait(delay)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGKILL)
        child.wait()
        return True
    return False


@pytest.mark.parametrize("kills", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_a_killed_play_goes_on_to_the_same_transcript(kills: int, tmp_path: Path) -> None:
    whole = ended([*PLAY, "--out", "whole"], tmp_path)
    chance, done, start = random.Random(0), 0, 0
    while done < kills:
        run = tmp_path / f"run-{start}"
        start += 1
        words = [*PLAY, "--out", run.name]
        for attempt in range(8):  # the first kills come at once, before any checkpoint
            longest = 0.2 if start == 1 and attempt == 0 else 6.0
            if not killed(words, tmp_path, run, chance.uniform(0.0, longest)):
                break
            done += 1
            words = ["play", "--resume", run.name, "--json"]
            if done >= kills:
                break
        if (run / "run.json").exists():
            found = ended(["play", "--resume", run.name, "--json"], tmp_path)
            assert found["audit"] == whole["audit"]
        one = sc.Transcript.load(run / "transcript.parquet")
        assert one == sc.Transcript.load(tmp_path / "whole" / "transcript.parquet")
        assert not (run / "run.ckpt").exists()


def test_files_of_others_are_neither_replaced_nor_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    monkeypatch.setattr("stackcast.report.pages.play_figures", lambda _: {})
    short = ["stackcast", "play", "inspection", "--principal", "UniformExplore", "--agent", "Hedge"]
    monkeypatch.setattr(sys, "argv", [*short, "--rounds", "50", "--json", "--out", str(folder)])

    def code() -> int:
        with pytest.raises(SystemExit) as end:
            main()
        return int(end.value.code or 0)

    for name in ("run.json", "report.html", "transcript.parquet", "run.ckpt", "run.ckpt.rounds"):
        (folder / name).write_text("mine", encoding="utf-8")
        assert code() == 2, name
        assert capsys.readouterr().err.count("\n") == 1
        assert {file.name for file in folder.iterdir()} == {name}
        assert (folder / name).read_text(encoding="utf-8") == "mine"
        (folder / name).unlink()
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    assert code() == 0
    first = capsys.readouterr().out
    assert code() == 0  # its own results may be replaced
    assert capsys.readouterr().out == first
    assert (folder / "notes.txt").read_text(encoding="utf-8") == "mine"
    assert not (folder / "run.json").exists()
    (folder / "summary.json").write_text("changed by hand", encoding="utf-8")
    assert code() == 2
    assert (folder / "summary.json").read_text(encoding="utf-8") == "changed by hand"
