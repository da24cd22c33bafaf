"""Campaigns at the command line, as people and as programs use them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from killed_campaigns import AGENT, GAME, use_wanderer
from typer.testing import CliRunner

import stackcast as sc
from stackcast._validation import InputError
from stackcast.campaigns import Campaign, campaign
from stackcast.cli import app

DOCS = Path(__file__).parents[2] / "docs"
SOURCE = str(Path(sc.__file__).parents[1])


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["campaign", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(campaign, "find_principal", use_wanderer)
    (tmp_path / "mine.json").write_text(json.dumps(GAME.to_table()))
    path = tmp_path / "x.db"
    run("new", path, "--game", tmp_path / "mine.json", "--principal", "Wanderer", "--horizon", 500)
    return path


def test_the_verbs_of_every_day(path: Path, tmp_path: Path) -> None:
    words = run("ask", path)
    asked = json.loads(run("ask", path, "--json"))
    assert f"for {asked['rounds']} rounds (entry 2)" in words
    assert words.count("\n") == 2  # what, and why in one sentence
    best = GAME.agent_actions[int(np.argmax(np.array(asked["strategy"]) @ AGENT))]
    receipt = json.loads(run("tell", path, f"{best}={asked['rounds'] - 1},?=1", "--json"))
    assert receipt["answered"]
    assert receipt["missing"] == 1
    run("ask", path)
    told = run("tell", path, "violate", "--played", "90%,10%,0")
    assert "stays open" in told
    (tmp_path / "day.csv").write_text("response\nviolate\ncomply\n")
    run("tell", path, "--csv", tmp_path / "day.csv")
    run("correct", path, 5, "comply=2", "--played", "thorough=1")
    log = run("log", path)
    assert "correct of entry 5 comply=2, not as asked" in log
    status = json.loads(run("status", path, "--json"))
    assert status["rounds"] == asked["rounds"] + 4
    assert (status["missing"], status["unseen"]) == (1, 2)
    shown = run("status", path, "--figure", tmp_path / "known.svg")
    assert "answers so far" in shown
    assert "★" in shown
    assert (tmp_path / "known.svg").read_text().startswith("<?xml")
    assert "Taken back: entry" in run("undo", path)
    assert "rounds" in run("export", path, tmp_path / "t.csv")
    run("import", path, tmp_path / "t.csv")
    run("action", path, "bribe", "--payoffs", "0,0.1,-0.5")
    run("ask", path)
    assert "Seen for the first time: 'bribe'." in run("tell", path, "bribe")


def test_the_map_shows_what_answers_prove(path: Path) -> None:
    from stackcast.report.terminal import learned_map

    corners = np.array([[0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.05, 0.05, 0.9]])
    with Campaign.open(path) as campaign:
        for i, strategy in enumerate([*corners, corners[:2].mean(axis=0)]):
            campaign.ask()
            campaign.tell([0 if i != 2 else 2] * 5, played=strategy)
        drawing = learned_map(campaign.status())
        nothing = learned_map(replace(campaign.status(), response=None))
        assert nothing is not None
        assert "★" not in nothing.plain
        assert drawing is not None
        assert "★" in drawing.plain
        lines = drawing.plain.splitlines()[1:-1]
        assert sum(line.count("A") for line in lines) >= 10  # along the edge from first to second
        assert 1 <= sum(line.count("C") for line in lines) <= 4
        assert sum(line.count("?") for line in lines) == 0
        campaign.ask()
        campaign.tell([2] * 40, played=[0.5, 0.45, 0.05])  # against what the hull of A says
        drawing = learned_map(campaign.status())
        assert drawing is not None
        assert "?" in drawing.plain


@pytest.mark.parametrize("actions", [2, 4])
def test_every_size_has_a_picture(
    tmp_path: Path, actions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stackcast.report import draw_learned, save_figure

    payoffs = np.random.default_rng(0).random((actions, 3))
    game = sc.campaigns.HalfKnownGame(payoffs)
    with Campaign.new(tmp_path / "x.db", game, "GridBandit", horizon=500) as campaign:
        save_figure(tmp_path / "empty.png", partial(draw_learned, campaign.status()))
        for i in range(5):
            campaign.ask()
            campaign.tell([i % 3] * 10)
        save_figure(tmp_path / "known.png", partial(draw_learned, campaign.status()))
        with pytest.raises(InputError, match=r"ends in \.png, \.svg or \.pdf"):
            save_figure(tmp_path / "known.txt", partial(draw_learned, campaign.status()))
    assert (tmp_path / "known.png").stat().st_size > 5_000


def test_a_mistake_is_one_sentence(path: Path) -> None:
    run("ask", path)
    before = run("log", path)
    dated, mine = path.parent / "dated.db", path.parent / "mine.json"
    run("new", dated, "--game", mine, "--principal", "Wanderer", "--first-day", "2026-03-14")
    run("ask", dated)
    run("new", path.parent / "new.db", "--game", mine, "--principal", "Wanderer")
    (path.parent / "two.csv").write_text("date,response,count\n2026-03-14,comply,3\n")
    for arguments, sentence in (
        (["tell", path], "RESPONSES or --csv FILE, found neither"),
        (["tell", path, "comply=1,other=2"], "found 'other'"),
        (
            ["tell", dated, "--csv", path.parent / "two.csv"],
            "one row a day, or counts without dates",
        ),
        (["tell", path.parent / "new.db", "comply=1"], "expected an open question (ask first"),
        (["tell", path, "comply=1", "--played", "1,1,1"], "probabilities that sum to 1"),
        (["correct", path, "2", "comply=1"], "the number of a tell that stands"),
        (["export", path, "x.txt"], "at least one round"),
        (["import", path, "none.csv"], "none.csv"),
        (["action", path, "bribe", "--payoffs", "0,1"], "payoffs: expected 3 numbers, found 2"),
        (["undo", path], "an entry to take back"),
        (["ask", "none.db"], "none.db: expected a campaign, found no readable file"),
    ):
        with pytest.raises(InputError, match=re.escape(sentence)):
            run(*arguments)
    assert run("log", path) == before


def test_what_is_asked_again_and_told_needs_no_compiled_code(path: Path) -> None:
    run("ask", path)
    code = (
        "import sys; from stackcast.cli import app\n"
        "try: app()\n"
        "except SystemExit: pass\n"
        "print([m for m in ('numba', 'scipy', 'polars', 'matplotlib') if m in sys.modules])"
    )
    for arguments in (["ask", path], ["tell", path, "comply=1"], ["--help"]):
        result = subprocess.run(
            [sys.executable, "-c", code, "campaign", *map(str, arguments)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": SOURCE},
        )
        assert result.stdout.splitlines()[-1] == "[]"


@pytest.mark.slow
def test_the_tutorial_runs_and_ends_near_the_optimum(tmp_path: Path) -> None:
    blocks = re.findall(
        r"^```bash\n(.*?)^```", (DOCS / "tutorials" / "campaign.md").read_text(), re.M | re.S
    )
    assert len(blocks) >= 8
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, line in (
        ("stackcast", f"{sys.executable} -c 'from stackcast.cli import main; main()' \"$@\""),
        ("python", f'{sys.executable} "$@"'),
    ):
        (programs / name).write_text(f"#!/bin/sh\nexec {line}\n")
        (programs / name).chmod(0o755)
    folder = tmp_path / "office"
    folder.mkdir()
    result = subprocess.run(
        ["bash", "-e", "-c", "\n".join(blocks)],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
        env={**os.environ, "PYTHONPATH": SOURCE, "PATH": f"{programs}:{os.environ['PATH']}"},
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "perhaps 'violate'" in result.stderr
    assert "nothing was changed" in result.stdout
    assert (folder / "shop.png").stat().st_size > 5_000
    status = json.loads((folder / "status.json").read_text())
    game = sc.load_game(folder / "whole.toml", sc.FiniteGame)
    value = sc.solve(game).value
    strategy = np.array(status["strategy"])
    earned = game.principal_utilities(strategy)[game.agent_view.respond(strategy)[0]]
    assert value - 0.03 <= earned <= value  # what it truly earns, not only what it believes
    assert status["response_name"] == "comply"
