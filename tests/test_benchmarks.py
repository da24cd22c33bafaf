"""The page of the benchmarks: losses beside wins, nothing for what is not stored, no raw JSON."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def benchmarks_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))


def page_of(stored: dict[str, Any], folder: Path) -> str:
    for name, tables in stored.items():
        content = {
            "machine": {"cores": 2, "machine": "m", "system": "s"},
            "versions": {"python": "3.11", "nashpy": None},
            "tables": tables,
        }
        (folder / f"{name}.json").write_text(json.dumps(content))
    page = folder / "performance.md"
    importlib.import_module("benchmarks._page").write_page(folder, page)
    return page.read_text()


def solver_row(family: str, size: int, scipy: float, spiel: float | None) -> dict[str, Any]:
    return {"family": family, "size": size, "SciPy ratio": scipy, "OpenSpiel ratio": spiel}


def test_wins_and_losses_are_said_in_words(tmp_path: Path) -> None:
    page = page_of(
        {
            "solver": {
                "one-shot solver": [
                    solver_row("uniform", 3, 80.0, None),
                    solver_row("uniform", 200, 34_278.0, None),
                    solver_row("near zero-sum", 200, 0.5, None),
                ]
            },
            "startup": {"help over a bare Typer program": 1.13},
            "play": {"agents": {"Hedge": {"play over alone": 5.0}}},
        },
        tmp_path,
    )
    wins, _, losses = page.partition("### Losses")
    losses = losses.partition("\n## ")[0]
    assert "3×3 to 200×200 | one SciPy program per action | 80 to 34,000 times faster" in wins
    assert "near zero-sum" not in wins
    assert "2.00 times slower" in losses
    assert "bare Typer program | 1.13 times slower" in losses
    assert "its own loop alone | 5.00 times slower" in losses
    assert "OpenSpiel's" not in page.partition("\n## One-shot solver")[0]


def test_a_case_that_loses_makes_a_loss() -> None:
    summary = importlib.import_module("benchmarks._summary")
    mixed = summary.Comparison("a", "b", 0.8, 3.0, "faster", "slower")
    assert not mixed.won
    assert mixed.said == "from 1.25 times slower to 3.00 times faster"
    slow = summary.Comparison("a", "b", 0.1, 0.5, "faster", "slower")
    assert slow.said == "2.00 to 10 times slower"


def test_a_page_of_nothing_has_no_summary(tmp_path: Path) -> None:
    assert "In short" not in page_of({}, tmp_path)
    assert "In short" not in page_of({"learners": {"learners": {}}}, tmp_path)


def test_nested_results_are_never_shown_as_json(tmp_path: Path) -> None:
    page = page_of(
        {
            "audit": {
                "nested": [
                    {"a": {"weights": [0.7, 0.1], "of": {"b": None}}, "c": [[1, 2], [3, 4]]}
                ],
                "single": 3,
                "flat": {"one_ratio": 1.5, "holds": True},
            }
        },
        tmp_path,
    )
    assert not re.search(r'[{}"]', page)
    assert "Weights 0.7, 0.1; Of B –" in page
    assert "- One ratio: 1.5\n- Holds: yes" in page


def test_every_benchmark_has_a_title() -> None:
    titles = importlib.import_module("benchmarks._page")._TITLES
    modules = {p.stem for p in (ROOT / "benchmarks").glob("*.py") if not p.stem.startswith("_")}
    assert set(titles) == modules


@pytest.mark.parametrize(
    ("option", "least"), [("--games", 1), ("--compared", 1), ("--sizes", 2), ("--horizon", 1)]
)
def test_nothing_to_play_is_refused_in_a_sentence(
    option: str, least: int, capsys: pytest.CaptureFixture[str]
) -> None:
    main = importlib.import_module("benchmarks.principals").main
    with pytest.raises(SystemExit):
        main(["rounds", option, "0"])
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.endswith(f"{option}: expected a whole number of at least {least}, found 0.")
