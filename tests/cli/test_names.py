"""Hostile names: shown as they are, on every medium, by every command."""

from __future__ import annotations

import contextlib
import io
import json
import random
import re
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import stackcast as sc
from stackcast._plain import hidden, json_text, visible
from stackcast._validation import InputError
from stackcast.cli import main
from stackcast.report import in_figure, in_page, rendered

if TYPE_CHECKING:
    from pathlib import Path

PIECES = (
    *("\x1b[31m", "\x1b]0;title\x07", "\x9b2J", "\r", "\n", "\t", "\b", "\0", "\x7f", "\u2028"),
    *("\u202e", "\u2066", "\u200f", "\ufeff", "\u00ad", "\u200d", "\U000e0041", "\ud7ff"),
    *("[/red]", "[bold red]", "[", "]", "\\[", "[link=file:///]", ":smile:", "{0}", "%s"),
    *("$", "$$", "$x_{$", "\\$", "$\\frac{1}$", "\\undefined", "^", "_", "\\", "$a$"),
    *("<script>alert(1)</script>", "&amp;", "&", '"', "'", "</svg>", "-->", "]]>", "javascript:"),
    *(
        "a" * 10_000,
        "é" * 300,
        "中文",
        "🙈",
        "👩‍👩‍👧",
        "ا ب",
        "e\u0301",
        " ",
        "a b",
        "..",
        "/",
        "-",
        "--json",
    ),
)


def nasty_names(count: int = 500) -> list[str]:
    """Return the pieces, and then random strings of two or three of them; all different."""
    rng = random.Random(0)
    names = dict.fromkeys(PIECES)
    while len(names) < count:
        names["".join(rng.choices(PIECES[:-1], k=rng.choice((2, 3))))] = None
    return list(names)


NAMES = nasty_names()


def ran(words: list[str], monkeypatch: pytest.MonkeyPatch) -> tuple[int, str, str]:
    """Run the program in this process; any exception but its own end is a failure."""
    monkeypatch.setattr(sys, "argv", ["stackcast", *words])
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
    return code, out.getvalue(), err.getvalue()


def check(found: tuple[int, str, str], codes: tuple[int, ...] = (0,)) -> str:
    """Check that nothing was sent raw, and that a refusal is one line; return the output."""
    code, out, err = found
    assert code in codes, err[-2000:]
    raw = {c for c in out + err if hidden(c) and c != "\n"}
    assert not raw, raw
    if code == 2:
        assert err.count("\n") == 1, err
    assert "Traceback" not in err
    return out


def game_of(names: list[str]) -> Any:
    """Return a table of a game whose every text is a hostile one."""
    own, other = names[: len(names) // 2], names[len(names) // 2 :]
    rng = np.random.default_rng(len(names))
    return {
        "name": names[0],
        "description": " ".join(names)[:3000],
        "source": names[-1],
        "principal_actions": own,
        "agent_actions": other,
        "principal_payoffs": rng.random((len(own), len(other))).tolist(),
        "agent_payoffs": rng.random((len(own), len(other))).tolist(),
    }


def written(names: list[str], folder: Path) -> tuple[Path, bool]:
    """Write the game; return its file, and whether the package takes these names."""
    table, file = game_of(names), folder / "game.json"
    file.write_text(json.dumps(table), encoding="utf-8")
    try:
        sc.load_game(str(file))
    except InputError:
        return file, False
    return file, True


def test_every_name_through_solve_and_games(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = 0
    for start in range(0, len(NAMES), 10):
        names = NAMES[start : start + 10]
        for chosen in (names, [n for n in names if n.strip()]):
            file, fine = written(chosen, tmp_path)
            codes = (0,) if fine else (2,)
            check(ran(["games", str(file)], monkeypatch), codes)
            out = check(ran(["solve", str(file), "--json"], monkeypatch), codes)
            if fine:
                taken += len(chosen)
                assert json.loads(out)["response_name"] in chosen
        check(ran(["solve", str(file)], monkeypatch), codes)
    assert taken > 400


@pytest.mark.slow
def test_names_of_everything_else_are_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [*PIECES, ""]:
        if "\0" in name or name == "--json":
            continue
        for words in (
            ["solve", "--", name],
            ["games", "--", name],
            ["play", "--", name],
            ["audit", f"--game={name}", "nothing.csv"],
            ["play", f"--agent={name}"],
            ["play", f"--principal={name}"],
            ["verify", f"--only={name}"],
            ["sweep", "--", name],
            ["campaign", "ask", "--", name],
            ["campaign", "new", f"--game={name}", "x.db"],
        ):
            code, out, err = ran(words, monkeypatch)
            check((code, out, err), (2,) if name != ".." else (1, 2))
    assert [file.name for file in tmp_path.iterdir()] == []


def test_an_empty_game_is_not_the_default_game(monkeypatch: pytest.MonkeyPatch) -> None:
    for words in (["solve", ""], ["games", ""], ["play", ""], ["solve", "", "--json"]):
        code, out, err = ran(words, monkeypatch)
        assert (code, out) == (2, ""), words
        assert err.startswith("stackcast: ")


PLAY = ["--principal", "UniformExplore", "--agent", "Hedge", "--rounds", "60", "--out", "[/red]$x$"]


def test_a_play_with_hostile_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = ["$x_{$", "[/red]", "\x1b[31m<b>", "\u202etrap", "a" * 10_000, "👩‍👩‍👧 🙈"]
    file, fine = written(names, tmp_path)
    assert fine
    out = check(ran(["play", str(file), *PLAY], monkeypatch))
    assert "[/red]$x$/report.html" in out
    folder = tmp_path / "[/red]$x$"
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<b>" not in page
    assert "\\x1b[31m&lt;b&gt;" in page
    assert not [c for c in set(page) if hidden(c) and c not in "\n\t"]
    assert (folder / "strategies.png").stat().st_size > 5_000
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert summary["game"] == names[0]
    record = str(folder / "transcript.parquet")
    check(ran(["audit", record], monkeypatch))
    check(ran(["audit", record, "--json"], monkeypatch))


@pytest.mark.slow
def test_every_name_through_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = [name for name in NAMES if name.strip()]
    for number, start in enumerate(range(0, len(names), 12)):
        file, fine = written(names[start : start + 12], tmp_path)
        rest = [*PLAY[:-1], f"out-{number}"]
        check(ran(["play", str(file), *rest], monkeypatch), (0,) if fine else (2,))


def test_a_campaign_with_hostile_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = ["$x_{$", "[/red]", "\x1b[31mred", "\u202etrap", "[bold]b", "👩‍👩‍👧"]
    file, _ = written(names, tmp_path)
    base = ["campaign", "new", "[red].db", "--game", str(file), "--principal", "UniformExplore"]
    check(ran(base, monkeypatch))
    for words in (
        ["ask", "[red].db"],
        ["ask", "[red].db", "--json"],
        ["tell", "[red].db", "\u202etrap=3"],
        ["status", "[red].db", "--figure", "[b].png"],
        ["status", "[red].db", "--json"],
        ["log", "[red].db"],
        ["log", "[red].db", "--json"],
        ["tell", "[red].db", "\x1b[31mnobody=3"],
    ):
        check(ran(["campaign", *words], monkeypatch), (0, 2))


def test_each_medium_shows_every_name() -> None:
    def draw(ax: Any) -> None:
        for row, name in enumerate(NAMES[:120]):
            ax.text(0, row / 120, in_figure(name), fontsize=4)
        ax.set_title(in_figure("$" + NAMES[0]))

    svg, png = rendered(draw, (6.0, 12.0))
    assert svg.endswith("</svg>\n")
    assert png.startswith(b"\x89PNG")
    for name in NAMES:
        line = visible(name, 20_000)
        assert not [c for c in line if hidden(c)]
        assert visible(line, 20_000) == line
        assert json.loads(json_text({"name": name})) == {"name": name}
        assert not [c for c in json_text([name]) if hidden(c) and c != "\n"]
        assert not re.search(r"[<>]", in_page(name))
