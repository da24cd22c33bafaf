"""`stackcast play` as a person meets it: in a terminal, stopped, narrow, where nothing fits."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pexpect  # type: ignore[import-untyped]
import pytest

import stackcast as sc
from stackcast.cli import main

CODE = "from stackcast.cli import main; main()"
#: A cold machine compiles first.
PATIENCE = 300
SHORT = ["play", "textbook-commitment", "--principal", "GridBandit", "--rounds", "3000"]


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CODE, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
    )


def terminal(*arguments: str, cwd: Path, columns: int = 100) -> Any:
    return pexpect.spawn(
        sys.executable,
        ["-c", CODE, *arguments],
        cwd=str(cwd),
        dimensions=(30, columns),
        timeout=PATIENCE,
        encoding="utf-8",
        env={**os.environ, "TERM": "xterm-256color"},
    )


def plain(text: str) -> list[str]:
    """Return the lines that stay on the screen: no colours, no lines that were drawn over."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    return [line.rpartition("\r")[2] for line in text.replace("\r\n", "\n").split("\n")]


def inside(
    arguments: list[str],
    cwd: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> tuple[int, str, str]:
    """Run the program in this process, which has loaded everything already."""
    monkeypatch.chdir(cwd)
    monkeypatch.setattr(sys, "argv", ["stackcast", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    said = capsys.readouterr()
    return int(end.value.code or 0), said.out, said.err


def test_a_short_play_writes_all_that_is_promised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = inside([*SHORT, "--seed", "3", "--json"], tmp_path, monkeypatch, capsys)
    assert code == 0, err
    summary = json.loads(out)
    folder = tmp_path / "textbook-commitment-3"
    written = {file.name for file in folder.iterdir()}
    figures = ("strategies", "utility", "calibration", "responses")
    assert written == {
        "report.html",
        "summary.json",
        "transcript.parquet",
        *(f"{name}.{kind}" for name in figures for kind in ("svg", "png")),
    }
    assert {"folder": summary.pop("folder")} == {"folder": folder.name}
    assert json.loads((folder / "summary.json").read_text()) == summary
    assert summary["complete"] is True
    assert summary["rounds"] == 3000
    assert summary["agent"]["name"] == "Calibrated"
    assert summary["principal"]["name"] == "GridBandit"
    assert summary["audit"]["bounds"][0]["holds"] is True
    t = sc.Transcript.load(folder / "transcript.parquet")
    assert t.rounds == 3000
    assert sc.audit(t).average_utility == summary["audit"]["average_utility"]
    # The command in the summary makes the same play again.
    again = shlex.split(summary["command"])[1:]
    again[again.index("--out") + 1] = "again"
    assert inside([*again, "--quiet"], tmp_path, monkeypatch, capsys)[:2] == (0, "")
    assert sc.Transcript.load(tmp_path / "again" / "transcript.parquet") == t


def test_words_and_guarantees_without_colours_when_nobody_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = inside(SHORT, tmp_path, monkeypatch, capsys)
    assert code == 0, err
    assert "of a possible 2.5 (V*)" in " ".join(out.split())
    assert "guarantees hold" in out
    assert "Theorem 3.1" in out
    assert "\x1b[" not in out + err
    assert "Report: textbook-commitment-0/report.html" in out


def test_ctrl_c_keeps_what_was_played_and_resume_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["play", "textbook-commitment", "--principal", "GridBandit", "--rounds", "120000"]
    child = terminal(*arguments, "--out", "run", cwd=tmp_path)
    child.expect("earned")
    child.sendintr()
    child.expect("stopping after this step")
    child.expect("go on with  stackcast play --resume run")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    part = sc.Transcript.load(tmp_path / "run" / "transcript.parquet")
    assert 0 < part.rounds < 120_000
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["complete"] is False
    # It is not run over.
    code, _, err = inside([*arguments, "--out", "run"], tmp_path, monkeypatch, capsys)
    assert code == 2
    assert "without a stopped run" in err
    code, _, err = inside(["play", "--resume", "run", "--quiet"], tmp_path, monkeypatch, capsys)
    assert code == 0, err
    whole = sc.Transcript.load(tmp_path / "run" / "transcript.parquet")
    game = sc.load_game("textbook-commitment")
    assert whole == sc.play(
        sc.principals.GridBandit(game.principal_view, horizon=120_000),
        sc.agents.Calibrated(game.agent_view),
        120_000,
        game,
    )
    assert not list((tmp_path / "run").glob("run.*"))


def test_a_narrow_window(tmp_path: Path) -> None:
    child = terminal(*SHORT, "--out", "o", cwd=tmp_path, columns=40)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    lines = plain(child.before)
    assert max(len(line.rstrip()) for line in lines) <= 40
    assert any("utility, from answers" in line for line in lines)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--out", "/proc/nowhere/at/all"], "expected a folder that can be written to"),
        (["--out", "a-file/folder"], "expected a folder that can be written to"),
        (["no-such-game"], "no-such-game"),
        (["--agent", "Nobody"], "agents: expected one of AdaptiveHedge"),
        (["--principal", "Fixed"], "settings of Fixed: expected a value of strategy"),
        (
            ["--principal", "GridBandit", "--margin", "0.1"],
            "settings of GridBandit: expected some of",
        ),
        (
            ["--agent", "BestResponse", "--feedback", "action"],
            "settings of BestResponse: expected some of",
        ),
        (["--feedback", "neither"], "feedback: expected one of 'strategy', 'action'"),
        (["--rounds", "0"], "expected a whole number of at least 1"),
        (["--resume", "nowhere"], "nowhere: expected the folder of a run that was stopped"),
        (["inspection", "--resume", "nowhere"], "--resume: expected a folder and nothing"),
        (["--resume", "nowhere", "--seed", "1"], "found seed as well"),
    ],
)
def test_a_mistake_is_one_sentence(
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "a-file").write_text("in the way")
    code, out, err = inside(["play", *arguments], tmp_path, monkeypatch, capsys)
    assert code == 2
    assert out == ""
    lines = [line for line in err.splitlines() if "compiling" not in line]
    assert len(lines) == 1
    assert lines[0].startswith("stackcast: ")
    assert sentence in lines[0]
    assert [file.name for file in tmp_path.iterdir()] == ["a-file"]


def test_the_shell_completes_verbs_games_and_players(tmp_path: Path) -> None:
    def completed(words: str) -> str:
        found = subprocess.run(
            [sys.executable, "-c", CODE],
            env={
                **os.environ,
                "_STACKCAST_COMPLETE": "complete_bash",
                "COMP_WORDS": words,
                "COMP_CWORD": f"{len(words.split(' ')) - 1}",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        return found.stdout

    assert "verify" in completed("stackcast ver")
    assert "inspection" in completed("stackcast play insp")
    assert "FollowTheLeader" in completed("stackcast play --agent Foll")


def test_help_has_examples(tmp_path: Path) -> None:
    for verb, example in (
        ("play", "stackcast play --resume inspection-0"),
        ("verify", "stackcast verify --full --out claims"),
    ):
        assert example in run(verb, "--help", cwd=tmp_path).stdout


def test_every_command_in_the_docs_is_one(tmp_path: Path) -> None:
    """Verbs and options exist; commands are read, not run."""
    import typer

    from stackcast.cli import app

    page = (Path(__file__).parent.parent / "docs" / "command-line.md").read_text()
    commands = re.findall(r"^\$ stackcast (.+)$", page, flags=re.MULTILINE)
    assert len(commands) >= 8
    group: Any = typer.main.get_command(app)
    for line in commands:
        verb, *rest = shlex.split(line)
        group.commands[verb].make_context(verb, rest)
