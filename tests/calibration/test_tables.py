"""Forecasts from files: read, certified, drawn, and refused in one sentence."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
import typer
from typer.testing import CliRunner

from stackcast._random import stream
from stackcast._validation import InputError
from stackcast.calibration import (
    calibration_profile,
    certify,
    certify_forecasts,
    decision_bins,
    read_forecasts,
    recalibrate,
)
from stackcast.cli.audit import audit
from stackcast.report import draw_profile, save_figure

if TYPE_CHECKING:
    from pathlib import Path

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(audit)


def weather(rounds: int, seed: int = 0) -> pl.DataFrame:
    rng = stream(seed, "tables", "weather")
    p = rng.random(rounds).round(2)
    return pl.DataFrame({"forecast": p, "outcome": (rng.random(rounds) < p).astype(int)})


def test_csv_and_parquet_and_arrays_agree(tmp_path: Path) -> None:
    frame = weather(400)
    frame.write_csv(tmp_path / "w.csv")
    frame.write_parquet(tmp_path / "w.parquet")
    y, p = frame["outcome"].to_numpy(), frame["forecast"].to_numpy()
    told = certify(y, p, decision_bins(p, [0.3, 0.6]), [50]).to_dict()
    for name in ("w.csv", "w.parquet"):
        found = certify_forecasts(tmp_path / name, threshold=[0.3, 0.6], lengths=[50])
        assert found.to_dict()["profile"] == told["profile"]
        assert found.to_dict()["test"] == told["test"]
        assert found.bin_names[1] == "forecast from 0.3 on"


def test_words_for_yes_and_no_and_bins_by_name(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.write_text("day,forecast,outcome,bin\n1,0.5,yes,north\n2,0.5,No,south\n3,0.5,TRUE,north\n")
    table = read_forecasts(path)
    assert table.outcomes.tolist() == [1, 0, 1]
    assert table.bins is not None
    assert table.bins.tolist() == [0, 1, 0]
    assert table.bin_names == {0: "north", 1: "south"}
    assert certify_forecasts(path, lengths=[3]).profile.errors[3] == pytest.approx(1 / 3)


def test_semicolons_and_decimal_commas_are_read(tmp_path: Path) -> None:
    plain, local = tmp_path / "plain.csv", tmp_path / "local.csv"
    plain.write_text("forecast,outcome,bin\n0.25,1,1\n0.5,0,2\n1,1,1\n")
    local.write_text("forecast;outcome;bin\n0,25;1;1\n 0,5 ;0;2\n1;1;1\n")
    one, two = (
        certify_forecasts(path, lengths=[1]).to_dict()["profile"] for path in (plain, local)
    )
    assert one == two
    local.write_text("forecast;outcome\n0,25;1\nhalf;0\n")
    with pytest.raises(InputError, match="column forecast, row 1: expected a number"):
        certify_forecasts(local)


def test_several_outcomes_as_labels_draws_or_strategies(tmp_path: Path) -> None:
    head = "forecast_1,forecast_2,forecast_3"
    rows = ["0.2,0.3,0.5", "0.6,0.2,0.2", "0.333,0.334,0.333"]
    labels, draws = tmp_path / "labels.csv", tmp_path / "draws.csv"
    labels.write_text("\n".join([head + ",outcome", *map("{},{}".format, rows, "312")]))
    columns = [f"{row},{one}" for row, one in zip(rows, ["0,0,1", "1,0,0", "0,1,0"], strict=True)]
    draws.write_text("\n".join([head + ",outcome_1,outcome_2,outcome_3", *columns]))
    one, two = certify_forecasts(labels), certify_forecasts(draws)
    assert one.to_dict()["profile"] == two.to_dict()["profile"]
    assert one.test is not None
    assert one.profile.bins == 3
    mixed = tmp_path / "mixed.csv"
    mixed.write_text("forecast_1,forecast_2,outcome_1,outcome_2,bin_1,bin_2\n.5,.5,.4,.6,.5,.5\n")
    certificate = certify_forecasts(mixed)
    assert certificate.test is None
    assert certificate.profile.errors[1] == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("p,y\n0.5,1\n", "columns: expected a column forecast, or forecast_1"),
        ("forecast,y\n0.5,1\n", "columns: expected a column outcome, found forecast, y."),
        ("forecast,outcome\n", "file: expected at least one row"),
        (
            "forecast,outcome\n0.5,1\n,0\n",
            "column forecast, row 2: expected a value, found nothing.",
        ),
        ("forecast,outcome\n0.5,1\nhalf,0\n", "column forecast, row 2: expected a number"),
        ("forecast,outcome\n0.5,maybe\n", "column outcome, row 1: expected 1 or 0, yes or no"),
        (
            "forecast,outcome\n5,1\n70,1\n",
            "column forecast, row 1: expected a number from 0 to 1 (percent: divide",
        ),
        (
            "forecast,outcome\n-5,1\n70,1\n",
            "column forecast, row 1: expected a number from 0 to 1, f",
        ),
        ("forecast,outcome\n1.5,1\n", "column forecast, row 1: expected a number from 0 to 1"),
        ("forecast,outcome\n0.5,2\n", "column outcome, row 1: expected a number from 0 to 1"),
        ("forecast,forecast_1,outcome\n1,1,1\n", "columns: expected forecast or forecast_1"),
        ("forecast_1,forecast_3,outcome\n1,0,1\n", "columns: expected forecast_1 to forecast_2"),
        (
            "forecast_1,forecast_2,outcome\n1,0,3\n",
            "column outcome, row 1: expected a whole number",
        ),
        ("forecast_1,forecast_2,outcome_1\n1,0,1\n", "columns: expected outcome_1 … outcome_2"),
        ("forecast_1,forecast_2,outcome\n1,.2,1\n", "columns forecast_1 … forecast_2, row 1"),
        ("forecast,outcome\n0.5,1,3\n0.5,1\n", "file: expected a csv table"),
    ],
)
def test_mistakes_get_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "w.csv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        certify_forecasts(path)
    message = str(caught.value).removeprefix("w.csv: ")
    assert message.startswith(sentence)
    assert "\n" not in message
    shown = CliRunner().invoke(app, ["--forecasts", str(path)])
    assert isinstance(shown.exception, InputError)  # which the program prints, with exit code 2
    assert shown.stdout == ""
    assert str(shown.exception) == str(caught.value)


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv: file: expected a file that exists"):
        certify_forecasts(tmp_path / "none.csv")
    with pytest.raises(InputError, match=r"ends in \.csv or \.parquet"):
        certify_forecasts(tmp_path / "w.xlsx")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(InputError, match=r"broken\.parquet: file: expected a parquet table"):
        certify_forecasts(tmp_path / "broken.parquet")
    (tmp_path / "m.csv").write_text("forecast_1,forecast_2,outcome\n1,0,1\n")
    with pytest.raises(InputError, match="threshold"):
        certify_forecasts(tmp_path / "m.csv", threshold=0.5)


def test_the_command(tmp_path: Path) -> None:
    frame = weather(300)
    path, picture = tmp_path / "w.csv", tmp_path / "w.png"
    frame.write_csv(path)
    run = CliRunner().invoke
    arguments = ["--forecasts", str(path), "--threshold", "0.3", "--threshold", "0.6"]
    shown = run(app, [*arguments, "--lengths", "50,100", "--figure", str(picture)])
    assert shown.exit_code == 0
    assert "Verdict: calibrated within rate." in shown.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    told = json.loads(run(app, [*arguments, "--lengths", "50,100", "--json"]).stdout)
    assert list(told["profile"]["errors"]) == ["50", "100"]
    assert told["verdict"] == "calibrated within rate"
    assert told["bin_names"]["2"] == "forecast from 0.6 on"
    wrong = run(app, [*arguments, "--lengths", "50,many"])
    assert wrong.stdout == ""
    sentence = "--lengths: expected whole numbers with commas, found '50,many'."
    assert str(wrong.exception) == sentence
    assert isinstance(run(app, []).exception, InputError)


def test_figures_are_written_or_refused(tmp_path: Path) -> None:
    profile = certify([1, 0, 1, 1], [0.5] * 4, [0] * 4).profile
    save_figure(tmp_path / "p.svg", lambda ax: draw_profile(profile, ax))
    assert "<svg" in (tmp_path / "p.svg").read_text()
    with pytest.raises(InputError, match="figure"):
        save_figure(tmp_path / "p.docx", lambda ax: draw_profile(profile, ax))
    with pytest.raises(InputError, match="figure"):
        save_figure(tmp_path / "no" / "p.png", lambda ax: draw_profile(profile, ax))
    exact = certify(np.full(4, 0.5), np.full(4, 0.5), [0] * 4).profile
    save_figure(tmp_path / "flat.pdf", lambda ax: draw_profile(exact, ax))


def test_every_kind_of_table_is_read_alike() -> None:
    pandas = pytest.importorskip("pandas")
    frame = weather(300)
    expected = certify_forecasts(frame, 0.3).to_dict()
    plain = {name: frame[name].to_numpy() for name in frame.columns}
    same = pandas.DataFrame(plain)
    y, p = plain["outcome"], plain["forecast"]
    for table in (plain, same, same.to_records()):
        assert certify_forecasts(table, 0.3).to_dict() == expected
        assert calibration_profile(table).to_dict() == calibration_profile(y, p).to_dict()
        fixed = recalibrate(table)
        assert np.array_equal(fixed.forecasts, recalibrate(p, y).forecasts)


def test_columns_classes_dates_and_groups_by_name() -> None:
    pandas = pytest.importorskip("pandas")
    rng = stream(0, "tables", "classes")
    P = rng.dirichlet(np.ones(3), 400)
    y = (P.cumsum(axis=1) > rng.random((400, 1))).argmax(axis=1)
    sky = np.array(["sun", "light rain", "snow"])[y]
    days = pandas.date_range("2024-02-27", periods=400)
    columns = [f"p_{name}" for name in ("sun", "light rain", "snow")]
    table = pandas.DataFrame(P**2 / (P**2).sum(axis=1, keepdims=True), columns=columns)
    table = table.assign(sky=sky, when=days, ward=np.arange(400) % 3)
    found = certify_forecasts(table, forecast=columns, outcome="sky", date="when")
    assert found.classes == ("sun", "light rain", "snow")
    at = found.profile.worst_ratio
    told = found.sentences()[1]
    assert str(days[at.start].date()) in told.replace("From ", "")
    assert f"of {found.classes[at.coordinate]} in bin “" in told
    assert at.direction in told
    renamed = table.rename(columns=lambda name: name.replace("p_", "forecast_"))
    renamed = renamed.rename(columns={"sky": "outcome"})
    read = recalibrate(renamed, groups="ward")
    Q = table[columns].to_numpy()
    by_hand = recalibrate(Q / Q.sum(axis=1, keepdims=True), y, groups=np.arange(400) % 3)
    assert np.array_equal(read.forecasts, by_hand.forecasts)
    assert read.classes == found.classes
    for wrong, sentence in (
        (renamed.assign(outcome="hail"), "row 1: expected one of 'sun', 'light rain', 'snow'"),
        (renamed.assign(date=days[::-1]), "row 2: expected rows in order of time"),
        (renamed.assign(outcome=None), "row 1: expected a value, found nothing"),
    ):
        with pytest.raises(InputError, match=sentence):
            certify_forecasts(wrong)
    with pytest.raises(InputError, match="found no names"):
        certify_forecasts([0.5, 0.5])


def test_which_way_the_forecasts_are_off() -> None:
    high = certify([1, 0] * 200, [0.68] * 400, [0] * 400)
    assert high.profile.worst[400].direction == "too high by 0.18"
    assert high.verdict == "refuted"
    assert "Rounds 1–" in high.sentences()[1]
    low = certify([1, 1, 0, 1] * 100, [0.5] * 400, [0] * 400)
    assert low.profile.worst[400].gap == pytest.approx(0.25)
    # Only the rounds of the bin count: it is off by .4 in half of them.
    half = certify([1, 0] * 200, [0.6, 0.4] * 200, [0, 1] * 200)
    assert half.profile.worst[400].error == pytest.approx(0.2)
    assert abs(half.profile.worst[400].gap) == pytest.approx(0.4)


def test_the_command_takes_names_and_says_refuted_by_its_exit_code(tmp_path: Path) -> None:
    path, page = tmp_path / "w.csv", tmp_path / "w.html"
    lines = ["day,chance,rain", *(f"2024-01-{t % 28 + 1:02},0.9,no" for t in range(28))]
    path.write_text("\n".join(lines))
    words = ["--forecasts", str(path), "--forecast-column", "chance", "--outcome-column", "rain"]
    shown = CliRunner().invoke(app, [*words, "--date-column", "day", "--html", str(page)])
    assert shown.exit_code == 1
    assert "too high by 0.9" in shown.stdout
    assert "2024-01-01" in shown.stdout
    assert page.read_text().count("<svg") == 4
