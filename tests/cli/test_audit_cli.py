"""The audit at the command line and from users' tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from stackcast._validation import InputError
from stackcast.agents import Calibrated, FollowTheLeader
from stackcast.auditing import audit, read_transcript
from stackcast.cli import app
from stackcast.games import load_game
from stackcast.principals import PhaseSwitch
from stackcast.protocol import Transcript, play

if TYPE_CHECKING:
    from pathlib import Path

GAME = load_game("milking")
HALVES = PhaseSwitch(GAME.principal_view, [[1, 0], [0, 1]], [200, 200])


def transcript(rounds: int = 400) -> Transcript:
    principal = PhaseSwitch(GAME.principal_view, [[1, 0], [0.3, 0.7]], [rounds // 2] * 2)
    return play(principal, Calibrated(GAME.agent_view, seed=1), rounds, GAME)


def as_table(record: Transcript) -> pl.DataFrame:
    assert record.forecasts is not None
    return pl.DataFrame(
        {
            "round": np.arange(1, record.rounds + 1),
            "strategy_1": record.strategies[:, 0],
            "strategy_2": record.strategies[:, 1],
            "response": record.responses + 1,
            "forecast_1": record.forecasts[:, 0],
            "forecast_2": record.forecasts[:, 1],
            "phase": np.repeat(record.phases, record.block_rounds),
            "remark": "left alone",
        }
    )


def test_a_transcript_and_its_table_agree(tmp_path: Path) -> None:
    record = transcript()
    told = audit(record).to_dict()
    record.save(tmp_path / "saved.parquet")
    table = as_table(record)
    table.write_csv(tmp_path / "t.csv")
    table.write_parquet(tmp_path / "t.parquet")
    named = table.rename(
        {
            f"{s}_{i}": f"{s}_{a}"
            for s in ("strategy", "forecast")
            for i, a in ((1, "up"), (2, "down"))
        }
    )
    actions = np.array(GAME.agent_actions)
    named = named.with_columns(pl.Series("response", actions[record.responses]))
    named.write_csv(tmp_path / "named.csv")
    for name in ("saved.parquet", "t.csv", "t.parquet", "named.csv"):
        shown = CliRunner().invoke(
            app, ["audit", str(tmp_path / name), "--game", "milking", "--json"]
        )
        assert shown.exit_code == 0, shown.output
        found = json.loads(shown.stdout)
        assert found["bounds"] == json.loads(json.dumps(told["bounds"]))
        assert found["phases"] == told["phases"]
        assert found["diagnosis"]["label"] == told["diagnosis"]["label"]
    alone = CliRunner().invoke(app, ["audit", str(tmp_path / "saved.parquet")])
    assert alone.exit_code == 0
    assert alone.stdout.startswith("Over 400 rounds the principal earned")
    assert "Every bound holds." in alone.stdout


def test_draws_by_name_or_number(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("action,response\nup,left\n2,3\ndown,mid\n")
    record = read_transcript(tmp_path / "d.csv", GAME)
    assert record.strategies.tolist() == [[1, 0], [0, 1], [0, 1]]
    assert record.responses.tolist() == [0, 2, 1]
    assert record.metadata["draws"]
    shown = CliRunner().invoke(
        app, ["audit", str(tmp_path / "d.csv"), "--game", "milking", "--json"]
    )
    assert json.loads(shown.stdout)["draws"]
    assert shown.exit_code == 0
    (tmp_path / "n.csv").write_text("action,response\n1,1\n2,3\n")
    assert read_transcript(tmp_path / "n.csv").strategies.tolist() == [[1, 0], [0, 1]]


def test_rounded_decimals_and_one_strategy(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("strategy_1,strategy_2,response\n0.333,0.667,1\n.333,.666,1\n")
    rows = read_transcript(tmp_path / "d.csv", GAME).strategies
    np.testing.assert_allclose(rows.sum(axis=1), 1, atol=1e-15)
    (tmp_path / "one.csv").write_text("strategy_1,response\n1,1\n1,2\n")
    assert read_transcript(tmp_path / "one.csv").strategies.tolist() == [[1], [1]]


def test_a_failed_bound_is_exit_code_1(tmp_path: Path) -> None:
    rows = ["strategy_1,strategy_2,response,forecast_1,forecast_2"] + ["0,1,right,0,1"] * 50
    (tmp_path / "bad.csv").write_text("\n".join(rows))
    shown = CliRunner().invoke(app, ["audit", str(tmp_path / "bad.csv"), "--game", "milking"])
    assert shown.exit_code == 1
    assert "FAILED" in shown.stdout
    assert "Bounds that FAILED: utility, from forecasts" in shown.stdout.replace("\n", " ")


def test_forecasts_alone_need_no_game(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("forecast,outcome\n" + "0.9,1\n0.9,0\n" * 300)
    arguments = ["audit", "--forecasts", str(tmp_path / "w.csv"), "--lengths", "100"]
    shown = CliRunner().invoke(app, [*arguments, "--json"])
    assert json.loads(shown.stdout)["verdict"] == "refuted"
    assert "Verdict: refuted." in CliRunner().invoke(app, arguments).stdout


def test_ties_and_other_options(tmp_path: Path) -> None:
    transcript().save(tmp_path / "t.parquet")
    path = str(tmp_path / "t.parquet")
    shown = CliRunner().invoke(
        app, ["audit", path, "--ties", "random", "--lengths", "50", "--json"]
    )
    found = json.loads(shown.stdout)
    assert list(found["calibration"]["profile"]["errors"]) == ["50"]
    assert any(bound["name"] == "utility, ties random" for bound in found["bounds"])
    strict = CliRunner().invoke(app, ["audit", path, "--rate", "0.01", "--json"])
    assert strict.exit_code == 1
    assert json.loads(strict.stdout)["bounds"][-1]["holds"] is False
    assert CliRunner().invoke(app, ["audit", path, "--rate", "3"]).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "audit: expected a FILE or --forecasts FILE, found neither."),
        (
            ["x.csv", "--forecasts", "x.csv"],
            "audit: expected a FILE or --forecasts FILE, found both.",
        ),
        (["{}/none.csv"], "none.csv: file: expected a file that exists, found none."),
        (["{}/none.parquet"], "none.parquet: file: expected a file that exists, found none."),
        (["{}/t.txt"], "t.txt: name: expected a file that ends in .csv or .parquet, found '.txt'."),
        (["{}/ok.csv"], "--game: expected the game of ok.csv, which does not hold it, found none."),
        (["{}/ok.csv", "--game", "chess"], "game: expected"),
        (["{}/ok.csv", "--game", "milking", "--ties", "any"], "--ties: expected one of 'lowest'"),
        (
            ["{}/ok.csv", "--game", "milking", "--figure", "x.png"],
            "--figure: expected a record with forecasts, found one without.",
        ),
        (["{}/ok.csv", "--game", "rock-paper-scissors"], "ok.csv: columns: expected strategy_1 …"),
        (["{}/t.parquet", "--game", "inspection"], "game: expected the game that was played"),
        (["{}/cut.parquet"], "cut.parquet: file: expected a parquet table"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    (tmp_path / "ok.csv").write_text("strategy_1,strategy_2,response\n1,0,1\n")
    (tmp_path / "t.txt").write_text("nothing")
    play(HALVES, FollowTheLeader(GAME.agent_view), 1, GAME).save(tmp_path / "t.parquet")
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "t.parquet").read_bytes()[:-20])
    shown = CliRunner().invoke(app, ["audit", *(word.format(tmp_path) for word in arguments)])
    assert isinstance(shown.exception, InputError)  # which the program prints, with exit code 2
    message = str(shown.exception)
    assert message.startswith(sentence), message
    assert message.strip().count("\n") == 0
    assert message.strip().endswith(".")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a,b\n1,2\n", "columns: expected strategy_1, strategy_2 … or action, found a, b."),
        ("strategy_1,strategy_2\n1,0\n", "columns: expected a column response"),
        ("strategy_1,strategy_3,response\n1,0,1\n", "columns: expected strategy_1 to strategy_2"),
        ("strategy_up,response\n1,left\n", "columns: expected a column strategy_down"),
        (
            "strategy_x,response\n1,left\n",
            "columns: expected strategy_1, strategy_2 … or strategy_up",
        ),
        ("strategy_1,strategy_2,response\n1,0.5,1\n", "columns strategy_1 … strategy_2, row 1:"),
        (
            "strategy_1,strategy_2,response\n2,-1,1\n",
            "column strategy_1, row 1: expected a number from",
        ),
        ("strategy_1,strategy_2,response\n1,x,1\n", "column strategy_2, row 1: expected a number"),
        ("strategy_1,strategy_2,response\n1,,1\n", "column strategy_2, row 1: expected a value"),
        ("strategy_1,strategy_2,response\n1,0,4\n", "column response, row 1: expected one of left"),
        ("strategy_1,strategy_2,response\n1,0,0\n", "column response, row 1: expected one of left"),
        (
            "strategy_1,strategy_2,response\n1,0,1.5\n",
            "column response, row 1: expected one of left",
        ),
        (
            "strategy_1,strategy_2,response\n1,0,Left\n",
            "column response, row 1: expected one of left",
        ),
        ("action,response\nsideways,1\n", "column action, row 1: expected one of up, down"),
        (
            "strategy_1,strategy_2,response,forecast_1\n1,0,1,1\n",
            "columns: expected forecast_1 … forecast_2, found 1 of them.",
        ),
        (
            "round,action,response\n1,1,1\n1,1,1\n",
            "column round, row 2: expected numbers that incr",
        ),
        ("round,action,response\n1.5,1,1\n", "column round, row 1: expected a whole number"),
        ("strategy_1,strategy_2,response\n", "file: expected at least one row"),
    ],
)
def test_tables_with_mistakes(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InputError) as caught:
        read_transcript(tmp_path / "t.csv", GAME)
    assert str(caught.value).startswith(f"t.csv: {sentence}"), str(caught.value)
    assert "\n" not in str(caught.value)


def test_constraints_of_the_game_are_checked(tmp_path: Path) -> None:
    from stackcast.games import FiniteGame

    game = FiniteGame(
        [[1], [2]], [[0], [0]], ["a", "b"], constraints=[{"weights": {"a": 1.0}, "at_most": 0.5}]
    )
    (tmp_path / "t.csv").write_text("strategy_a,strategy_b,response\n0.4,0.6,1\n0.9,0.1,1\n")
    with pytest.raises(InputError, match=r"t.csv: strategies, row 2: expected a strategy that"):
        read_transcript(tmp_path / "t.csv", game)
