"""`stackcast play` as a person meets it: in a terminal, stopped, narrow, where nothing fits."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pexpect  # type: ignore[import-untyped]
import pytest

import stackcast as sc
from stackcast.cli import main
from stackcast.report.pages import Played

CODE = "from stackcast.cli import main; main()"
#: A cold machine compiles first.
PATIENCE = 300
SHORT = ["play", "textbook-commitment", "--principal", "GridBandit", "--rounds", "1000"]


def terminal(*arguments: str, cwd: Path, columns: int) -> Any:
    # The window says how wide it is, not a variable of those who run the tests.
    inherited = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    return pexpect.spawn(
        sys.executable,
        ["-c", CODE, *arguments],
        cwd=str(cwd),
        dimensions=(30, columns),
        timeout=PATIENCE,
        encoding="utf-8",
        env={**inherited, "TERM": "xterm-256color"},
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


def test_a_mix_across_a_border_is_not_said_to_earn_what_it_is_meant_for() -> None:
    game = sc.FiniteGame([[1.0, 0.0], [3.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], ["a", "b"], ["l", "r"])
    for share, meant, words in (
        (
            0.499,
            0,
            ["meant for, 'l', would earn 2.002", "responds 'r' instead", "that earns 0: --margin"],
        ),
        (0.501, 0, ["An agent that knows it responds 'l', and that earns 1.998"]),
        (0.499, None, ["An agent that knows it responds 'r', and that earns 0"]),
    ):
        strategy = [share, 1 - share]
        fixed = sc.principals.Fixed(game.principal_view, strategy)
        record = sc.play(fixed, sc.agents.BestResponse(game.agent_view), 10, game=game)
        found = replace(fixed.result, strategy=np.array(strategy), response=meant)
        played = Played(game, record, sc.audit(record), None, found, 10)
        said = " ".join(played.sentences())
        assert all(word in said for word in words), said
        assert ("instead" in said) == (len(words) == 3)


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the pictures out where a test is about something else: they take seconds."""
    monkeypatch.setattr("stackcast.report.pages.play_figures", lambda _: {})


def test_a_short_play_writes_and_says_all_that_is_promised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = inside([*SHORT, "--seed", "3"], tmp_path, monkeypatch, capsys)
    assert code == 0, err
    # What to commit to comes first; no colours when nobody looks.
    words = " ".join(out.split())
    first = words.index("Commit to ")
    assert first < words.index("no commitment earns more than 2.5 (V*)")
    assert first < words.index("best Nash equilibrium 1.") < words.index("learning included")
    assert words.index("learning included") < words.index("Certain: all")
    assert "not how far below" in words
    assert "Theorem 3.1" in out
    assert "\x1b[" not in out + err
    assert "Report: textbook-commitment-3/report.html" in out
    folder = tmp_path / "textbook-commitment-3"
    written = {file.name for file in folder.iterdir()}
    figures = ("strategies", "utility", "calibration", "responses")
    assert written == {
        "report.html",
        "summary.json",
        "transcript.parquet",
        ".stackcast-files.json",
        *(f"{name}.{kind}" for name in figures for kind in ("svg", "png")),
    }
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["complete"] is True
    assert summary["rounds"] == 1000
    assert summary["agent"]["name"] == "Calibrated"
    assert summary["principal"]["name"] == "GridBandit"
    assert summary["audit"]["bounds"][0]["holds"] is True
    t = sc.Transcript.load(folder / "transcript.parquet")
    assert t.rounds == 1000
    assert sc.audit(t).average_utility == summary["audit"]["average_utility"]
    # The command in the summary makes the same play again; JSON is the summary and the folder.
    again = shlex.split(summary["command"])[1:]
    again[again.index("--out") + 1] = "again"
    monkeypatch.setattr("stackcast.report.pages.play_figures", lambda _: {})
    code, out, err = inside([*again, "--json"], tmp_path, monkeypatch, capsys)
    assert code == 0, err
    printed = json.loads(out)
    assert printed.pop("folder") == "again"
    assert json.loads((tmp_path / "again" / "summary.json").read_text()) == printed
    assert printed.pop("command") != summary.pop("command")
    assert printed == summary
    assert sc.Transcript.load(tmp_path / "again" / "transcript.parquet") == t


#: A game of each other kind, who plays it by default, and the figure that only it has.
KINDS = {
    "wildlife": ("CommitmentLearner", "Calibrated", "coverage"),
    "strategic-score": ("ResponseGradient", "ContinuousCalibrated", "path"),
    "credit-scoring-full": ("ResponseGradient", "ContinuousBestResponse", "classification"),
}


@pytest.mark.parametrize("game", KINDS)
def test_every_kind_of_game_has_its_own_players_and_figures(
    game: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, err = inside(
        ["play", game, "--rounds", "1000", "--json"], tmp_path, monkeypatch, capsys
    )
    assert code == 0, err
    summary = json.loads(out)
    principal, agent, figure = KINDS[game]
    assert summary["principal"]["name"] == principal
    assert summary["agent"]["name"] == agent
    files = {file.name for file in (tmp_path / f"{game}-0").iterdir()}
    assert {f"{figure}.svg", "utility.png", "responses.svg"} <= files
    assert "strategies.svg" not in files
    words = " ".join(summary["sentences"])
    assert "rounds were spent exploring" in words
    told = "The agent was told the strategy: 9 dimensions are too many" in words
    assert told == (agent == "ContinuousBestResponse")
    page = (tmp_path / f"{game}-0" / "report.html").read_text()
    if figure == "classification":
        found = summary["classification"]
        assert found["naive"]["utility"] < found["optimal"]["utility"] < found["believed"]
        assert "naive: ignores strategy" in page
        assert "shift of Income" in page
        assert "% rightly" in words
    else:
        assert summary["classification"] is None
    where = {bound["where"] for bound in summary["audit"]["bounds"]}
    assert where >= ({"Lemma B.2"} if game == "wildlife" else {"Theorem 5.2"})


def test_every_game_of_the_catalogue_has_default_players_that_fit() -> None:
    from stackcast.cli.play import default_players
    from stackcast.protocol import build

    for name in (*sc.list_games(), *sc.games.list_games("continuous")):
        game = sc.load_game(name)
        principal, agent = default_players(game)
        assert build("principal", principal, game, horizon=1000).settings["name"] == principal
        assert build("agent", agent, game).settings["name"] == agent


@pytest.mark.usefixtures("no_figures")
@pytest.mark.parametrize("game", ["wildlife", "strategic-score", "credit-scoring"])
def test_every_kind_of_game_goes_on_where_it_was_stopped(
    game: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from stackcast.cli.play import LivePlay

    arguments = ["play", game, "--rounds", "1500", "--seed", "2", "--out"]
    assert inside([*arguments, "whole"], tmp_path, monkeypatch, capsys)[0] == 0
    with monkeypatch.context() as patch:
        seen = LivePlay.__call__

        def stopped_early(live: LivePlay, block: Any, answers: Any) -> bool:
            return seen(live, block, answers) or live._seen >= 500

        patch.setattr(LivePlay, "__call__", stopped_early)
        code, out, err = inside([*arguments, "part"], tmp_path, patch, capsys)
    assert code == 130
    assert "--resume part" in err
    assert "The run was stopped after" in out
    assert sc.Transcript.load(tmp_path / "part" / "transcript.parquet").rounds < 1500
    code, _, err = inside(["play", "--resume", "part", "--quiet"], tmp_path, monkeypatch, capsys)
    assert code == 0, err
    whole, part = (
        sc.Transcript.load(tmp_path / name / "transcript.parquet") for name in ("whole", "part")
    )
    assert part == whole


@pytest.mark.usefixtures("no_figures")
def test_ctrl_c_keeps_what_was_played_and_resume_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["play", "textbook-commitment", "--principal", "GridBandit", "--rounds", "120000"]
    # In a narrow window.
    child = terminal(*arguments, "--out", "run", cwd=tmp_path, columns=40)
    child.expect("earned")
    child.sendintr()
    child.expect("stopping after this step")
    child.expect("The run was stopped")
    child.expect("stackcast: stopped; go on with  stackcast play --resume run")
    # A first run's word on compiling may stand in the middle of the live line.
    lines = [line for line in plain(child.before) if "compiling" not in line]
    assert [line for line in lines if len(line.rstrip()) > 40] == []
    assert any("utility, from answers" in line for line in lines)
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


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--out", "/proc/nowhere/at/all"], "expected a folder that can be written to"),
        (["--out", "a-file/folder"], "expected a folder that can be written to"),
        (["no-such-game"], "no-such-game"),
        (["--agent", "Nobody"], "agent: expected one of AdaNormalHedge"),
        (["--principal", "Fixed"], "settings of Fixed, strategy: expected an entry"),
        (
            ["--principal", "GridBandit", "--margin", "0.1"],
            "settings of GridBandit, margin: expected one of",
        ),
        (
            ["--agent", "BestResponse", "--feedback", "action"],
            "settings of BestResponse, feedback: expected one of",
        ),
        (["wildlife", "--principal", "ExploreThenCommit"], "Replay, UniformExplore for security"),
        (["strategic-score", "--principal", "Oracle"], "ResponseGradient for continuous games"),
        (["inspection", "--agent", "ContinuousBestResponse"], " for games of mixed strategies"),
        (
            ["strategic-score", "--margin", "0.1"],
            "settings of ResponseGradient, margin: expected one of",
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
    assert "FollowTheLeader" in completed("stackcast play --agent Foll")


def test_names_of_every_kind_are_completed() -> None:
    from stackcast.cli._screen import complete_agent, complete_game, complete_principal

    assert complete_game("insp") == ["inspection"]
    assert complete_game("credit-scoring-") == ["credit-scoring-full"]
    assert complete_principal("Resp") == ["ResponseGradient"]
    assert complete_agent("ContinuousC") == ["ContinuousCalibrated"]


def test_help_has_examples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for verb, example in (
        ("play", "stackcast play --resume inspection-0"),
        ("verify", "stackcast verify --full --out claims"),
    ):
        assert example in inside([verb, "--help"], tmp_path, monkeypatch, capsys)[1]


def test_every_command_in_the_docs_is_one(tmp_path: Path) -> None:
    """Verbs and options exist; commands are read, not run."""
    import typer

    from stackcast.cli import app

    page = (Path(__file__).parents[2] / "docs" / "reference" / "command-line.md").read_text()
    commands = re.findall(r"^\$ stackcast (.+)$", page, flags=re.MULTILINE)
    assert len(commands) >= 8
    group: Any = typer.main.get_command(app)
    for line in commands:
        verb, *rest = shlex.split(line)
        group.commands[verb].make_context(verb, rest)
