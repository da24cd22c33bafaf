"""Parts of a sweep on a cluster, and a tournament that a user's own player enters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import stackcast as sc
from stackcast.cli import app
from stackcast.report import write_sweep_report
from stackcast.sweeps import (
    Specification,
    load,
    read_specification,
    sweep,
    tournament_specification,
)

MINE = Path(__file__).parent / "my_player.py"
TABLE: dict[str, Any] = {
    "rounds": 200,
    "seeds": 3,
    "games": [{"name": "inspection"}, {"name": "food-hygiene"}, {"name": "patrol"}],
    "principals": [{"name": "UniformExplore"}, {"name": "ExploreThenCommit"}],
    "agents": [{"name": "Calibrated"}, {"name": "Hedge"}],
    "metrics": ["average_utility", "certificates", "curve"],
}


def test_parts_in_any_order_and_twice_give_the_rows_of_one_machine(tmp_path: Path) -> None:
    spec = Specification.of(TABLE)
    assert len(spec) == len(list(spec.plays())) == 30  # ExploreThenCommit plays no security games
    sweep(spec, tmp_path / "whole", workers=1)
    shares = [sweep(spec, tmp_path / "parts", workers=1, part=(i, 4)) for i in (3, 1, 4, 3, 2)]
    assert [share.plays for share in shares] == [7, 8, 7, 7, 8]
    assert [share.done for share in shares] == [7, 8, 7, 0, 8]
    whole, parts = (load(tmp_path / name).drop("seconds") for name in ("whole", "parts"))
    assert whole.equals(parts)
    assert whole["error"].null_count() == 30
    assert sweep(spec, tmp_path / "parts", workers=1).done == 0


def test_folders_of_parts_are_merged_by_copying_their_files(tmp_path: Path) -> None:
    spec = Specification.of({**TABLE, "seeds": 1})
    one, two = tmp_path / "one", tmp_path / "two"
    sweep(spec, one, workers=1, part=(1, 2))
    sweep(spec, two, workers=1, part=(2, 2))
    for file in two.glob("part-*.parquet"):
        (one / file.name).write_bytes(file.read_bytes())
    sweep(spec, tmp_path / "whole", workers=1)
    assert load(one).drop("seconds").equals(load(tmp_path / "whole").drop("seconds"))


@pytest.mark.parametrize("part", [(0, 3), (4, 3), (1, 0)])
def test_a_part_that_is_none_is_refused(part: tuple[int, int], tmp_path: Path) -> None:
    with pytest.raises(sc.InputError, match="part"):
        sweep(Specification.of(TABLE), tmp_path, workers=1, part=part)


def test_the_command_runs_a_part_and_the_whole_writes_the_report(tmp_path: Path) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(
        'rounds = 100\nseeds = 2\n[[games]]\nname = "inspection"\n'
        '[[principals]]\nname = "UniformExplore"\n[[agents]]\nname = "BestResponse"\n'
    )
    out = ["--out", str(tmp_path / "r"), "--workers", "1", "--json"]
    part = CliRunner().invoke(app, ["sweep", str(spec), "--part", "2/2", *out])
    assert json.loads(part.stdout)["done"] == 1
    assert not (tmp_path / "r" / "report.html").exists()
    whole = CliRunner().invoke(app, ["sweep", str(spec), *out])
    assert json.loads(whole.stdout)["found"] == 1
    assert (tmp_path / "r" / "report.html").exists()
    wrong = CliRunner().invoke(app, ["sweep", str(spec), "--part", "3/2", *out])
    assert isinstance(wrong.exception, sc.InputError)


@pytest.mark.slow
def test_everybody_meets_everybody_who_plays_the_game() -> None:
    spec = tournament_specification(100, 1)
    kinds = {game.name: "security" if hasattr(game, "targets") else "finite" for game in spec.games}
    assert {*kinds} == {*sc.list_games()}
    pairs = {(play.game.name, play.principal.name, play.agent.name) for play in spec.plays()}
    scripted = {"Fixed", "PhaseSwitch", "Replay"}
    assert pairs == {
        (game, principal, agent)
        for game, kind in kinds.items()
        for principal in {*sc.principals.names(kind)} - scripted
        for agent in sc.agents.names(kind)
    }


@pytest.mark.slow
def test_a_users_own_players_enter_the_tournament(tmp_path: Path) -> None:
    mine, first = f"{MINE}:Middle", f"{MINE}:First"
    spec = tournament_specification(50, 1, [mine, first])
    assert mine in [p.name for p in spec.principals]
    assert first in [a.name for a in spec.agents]
    few = Specification.of(
        {
            **TABLE,
            "seeds": 1,
            "principals": [{"name": mine}, {"name": "UniformExplore"}],
            "agents": [{"name": first}],
        }
    )
    sweep(few, tmp_path, workers=2)  # other processes find the file, too
    rows = load(tmp_path)
    assert rows["error"].null_count() == len(rows) == 6
    assert {*rows["kind"]} == {"finite", "constrained", "security"}
    assert {*rows["principal"]} == {"Middle", "UniformExplore"}
    page = write_sweep_report(tmp_path, rows).read_text()
    for kind in ("finite", "constrained", "security"):
        assert f"Ranking on {kind} games" in page
    assert (rows["certificates_held"] != "").all()
    assert "<h2>Certificates</h2>" in page


def test_what_a_file_of_players_may_not_be_is_one_sentence(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("1 / 0\n")
    for name, sentence in (
        (f"{MINE}:Nobody", "expected a class of principals in the file, found nothing"),
        (f"{broken}:Any", "expected a file that runs, found ZeroDivisionError"),
        (f"{tmp_path}/none.py:Any", "expected a file that can be read"),
    ):
        with pytest.raises(sc.InputError, match=sentence):
            tournament_specification(10, 1, [name])
    spec = tmp_path / "spec.toml"
    spec.write_text(
        'rounds = 100\n[[games]]\nname = "inspection"\n'
        f'[[principals]]\nname = "{broken}:Any"\n[[agents]]\nname = "BestResponse"\n'
    )
    with pytest.raises(sc.InputError, match="an installed player"):
        read_specification(spec)


def test_a_changed_file_is_another_player(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    keys = []
    for word in ("one", "two"):
        file.write_text(MINE.read_text() + f"\n# {word}\n")
        spec = Specification.of({**TABLE, "principals": [{"name": f"{file}:Middle"}]})
        keys.append({play.key for play in spec.plays()})
    assert not keys[0] & keys[1]
