"""The examples run, and show what they say."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_a_real_stream_with_a_drift_is_recalibrated(tmp_path: Path) -> None:
    result = runpy.run_path(str(EXAMPLES / "recalibrate_stream.py"))["main"](tmp_path)
    assert (tmp_path / "recalibrate_stream.png").stat().st_size > 10_000
    original, corrected = result["original"], result["corrected"]
    assert result["flights"] == 107_511
    assert original["verdict"] == "refuted"
    assert corrected["verdict"] == "calibrated within rate"
    assert corrected["error_over_rate"][1] < 1 < 3 < original["error_over_rate"][0]
    assert corrected["squared_error"] < original["squared_error"] - 0.01


def test_only_agents_that_trust_averages_are_milked(tmp_path: Path) -> None:
    earned = runpy.run_path(str(EXAMPLES / "milk_averages.py"))["main"](tmp_path)
    assert min(earned["FollowTheLeader"], earned["Hedge"]) > 0.7
    assert max(earned["Calibrated"], earned["BlumMansour"], earned["NonAdaptive"]) < 0.5
    assert (tmp_path / "milk_averages.png").stat().st_size > 10_000


def test_learning_is_worth_nearly_as_much_as_being_told(tmp_path: Path) -> None:
    earned = runpy.run_path(str(EXAMPLES / "learn_commitment.py"))["main"](tmp_path)
    told, learned, _ = earned.values()
    assert told <= 2.5
    assert learned == pytest.approx(told, abs=0.3)  # payoffs from 0 to 3
    assert (tmp_path / "learn_commitment.png").stat().st_size > 10_000


def test_a_score_that_ignores_people_is_worse_than_a_coin(tmp_path: Path) -> None:
    accuracy = runpy.run_path(str(EXAMPLES / "publish_score.py"))["main"](tmp_path)
    assert accuracy["naive"] < 0.5 < 0.6 < accuracy["learned"] <= accuracy["optimal"] + 0.01
    assert (tmp_path / "publish_score.png").stat().st_size > 10_000


@pytest.mark.parametrize("notebook", sorted((EXAMPLES / "notebooks").glob("*.ipynb")), ids=str)
def test_notebooks_run_from_top_to_bottom(notebook: Path, tmp_path: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 3
    names: dict[str, object] = {"__name__": "__main__", "SAVE_TO": tmp_path}
    for i, source in enumerate(code, start=1):
        exec(compile(source, f"{notebook.name}, cell {i}", "exec"), names)
    from matplotlib import pyplot

    assert pyplot.get_fignums()
    pyplot.close("all")


def test_the_boat_learns_which_port_to_leave_to_the_smuggler(tmp_path: Path) -> None:
    picture = tmp_path / "coverage.png"
    found = runpy.run_path(str(EXAMPLES / "learn_coverage.py"))["main"](picture)
    assert found["port"] == "marina"
    assert found["best"] == pytest.approx(-1.0)
    assert found["best"] - found["learned"] < 0.3  # payoffs from -6 to 3
    assert 0 < found["best"] - found["average"] < 0.5
    assert picture.stat().st_size > 10_000


@pytest.mark.slow
def test_optuna_learns_something_and_keeps_the_contract() -> None:
    pytest.importorskip("optuna")
    import stackcast as sc

    example = runpy.run_path(str(EXAMPLES / "optuna_principal.py"))
    assert 0.5 < example["ask_and_tell"]() < 0.825
    view = sc.load_game("inspection").principal_view
    sc.checks.check_principal(lambda: example["OptunaPrincipal"](view, horizon=1000))


@pytest.mark.slow
def test_ppo_trains_in_our_environment_and_plays_in_our_protocol() -> None:
    pytest.importorskip("stable_baselines3")
    earned = runpy.run_path(str(EXAMPLES / "train_ppo.py"))["main"](40_000)
    trained, learned, best = earned.values()
    assert 0.3 < trained < best + 0.01
    assert 0.3 < learned < best + 0.01
