"""The command line: what people read, what programs read, what a mistake looks like."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import stackcast as sc

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = [sys.executable, "-c", "from stackcast.cli import main; main()"]


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *arguments], capture_output=True, text=True, check=False, cwd=cwd
    )


def test_solve_says_it_in_words_and_draws_the_map() -> None:
    result = run("solve")
    assert result.returncode == 0
    assert "responds 'comply'" in " ".join(result.stdout.split())
    assert "0.825 (V*)" in result.stdout
    assert "★" in result.stdout
    assert "\x1b[" not in result.stdout  # no colours when it is not a terminal


def test_json_has_the_attributes_of_the_solution(tmp_path: Path) -> None:
    result = run(
        "solve", "milking", "--details", "--json", "--out", str(tmp_path / "new" / "folder")
    )
    assert result.returncode == 0, result.stderr
    solution = json.loads(result.stdout)
    assert solution["value"] == pytest.approx(0.5)
    assert solution["response_name"] == "left"
    assert solution["margin"] is not None
    assert set(solution["sensitivity"]) >= {"highest", "guaranteed", "worst_case"}
    written = json.loads((tmp_path / "new" / "folder" / "solution.json").read_text())
    assert written == solution
    assert (tmp_path / "new" / "folder" / "regions.svg").read_text().startswith("<?xml")


def test_the_catalogue_can_be_listed_and_read() -> None:
    games = json.loads(run("games", "--json").stdout)
    known = [*sc.list_games(), *sc.games.list_games("continuous")]
    assert [game["name"] for game in games] == known
    assert "inspection" in run("games").stdout
    shown = run("games", "milking").stdout
    assert "Source:" in shown
    assert "0.55" in shown


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["solve", "inspektion"], "'inspection'"),
        (["solve", "no-such-file.json"], "no-such-file.json: expected a file that can be read"),
        (["solve", "--margin", "0.9"], "margin: expected at most 0."),
        (["solve", "--margin", "-1"], "margin: expected a finite number at least 0, found -1.0."),
        (["solve", "broken.json"], "broken.json: "),
        (["solve", "--out", "a-file"], "a-file: expected a folder that can be written to"),
        (["games", "nothing"], "expected a name from the catalogue"),
        (["audit"], "audit: expected a FILE or --forecasts FILE, found neither."),
        (["audit", "--forecasts", "none.csv"], "none.csv: file: expected a file that exists"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(
    arguments: list[str], sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "broken.json").write_text('{"principal_payoffs": [[1, NaN]]}')
    (tmp_path / "a-file").write_text("in the way")
    result = run(*arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert result.stdout == ""
    lines = [line for line in result.stderr.splitlines() if "compiling" not in line]
    assert len(lines) == 1
    assert sentence in lines[0]
    assert lines[0].startswith("stackcast: ")
    assert (tmp_path / "a-file").read_text() == "in the way"


def test_help_has_examples_and_imports_nothing_heavy() -> None:
    assert "stackcast solve milking --details" in run("solve", "--help").stdout
    heavy = "[m for m in ('numpy', 'numba', 'scipy') if m in sys.modules]"
    code = f"import sys, stackcast.cli; print({heavy})"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
