"""Regret against the horizon, and players of one's own as names and as classes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import stackcast as sc
from stackcast._random import stream
from stackcast.cli import app
from stackcast.sweeps import Specification, growth, load, ranking, read_specification, sweep

if TYPE_CHECKING:
    from collections.abc import Iterator

HORIZONS = [1_000, 4_000, 16_000, 64_000]
PLAYERS = Path(__file__).parent.parent / "interop"


def plays(exponent: float, units: int, noise: float, seed: int = 0) -> pl.DataFrame:
    """Plays whose mean regret in all grows like T^exponent, with noise of its own in each play."""
    rng = stream(seed, "growth", "test")
    rows = [
        {
            "game": f"g{unit % 3}", "principal": "p", "agent": "a", "seed": unit, "rounds": T,
            "regret": 5 * T ** (exponent - 1) * rng.lognormal(-(noise**2) / 2, noise),
            "scale": 5.0, "error": None,
        }
        for unit in range(units)
        for T in HORIZONS
    ]  # fmt: skip
    return pl.DataFrame(rows)


@pytest.mark.parametrize("exponent", [0.33, 0.5, 1.0])
def test_the_exponent_is_the_planted_one(exponent: float) -> None:
    found = growth(plays(exponent, 4, 0.0)).row(0, named=True)
    for name in ("exponent", "low", "high"):
        assert found[name] == pytest.approx(exponent)
    assert found["meetings"] == 4


def test_intervals_cover_the_planted_exponent() -> None:
    # 60 sweeps of 20 meetings: a bootstrap of 95% covers in 90% of them at least, but for bad luck.
    covered = 0
    for seed in range(60):
        row = growth(plays(0.5, 20, 0.5, seed)).row(0, named=True)
        covered += row["low"] <= 0.5 <= row["high"]
    assert 48 <= covered <= 60
    row = growth(plays(0.5, 20, 0.5)).row(0, named=True)
    assert 0.0 < row["high"] - row["low"] < 0.5


def test_no_exponent_is_said_where_somebody_earns_more_than_v_star() -> None:
    rows = plays(0.5, 3, 0.0).with_columns(
        regret=pl.when(pl.col("rounds") == 4_000).then(-0.01).otherwise(pl.col("regret"))
    )
    assert np.isnan(growth(rows)["exponent"][0])
    with pytest.raises(sc.InputError, match="at least two lengths"):
        growth(rows.filter(pl.col("rounds") == 1_000))


def test_ranks_are_those_of_each_horizon() -> None:
    rows = pl.concat(
        [plays(0.9, 3, 0.0), plays(0.4, 3, 0.0).with_columns(principal=pl.lit("q"))]
    ).with_columns(
        regret=pl.when((pl.col("rounds") == 1_000) & (pl.col("principal") == "q"))
        .then(9.0)
        .otherwise(pl.col("regret"))
    )
    ranks = ranking(rows).select("rounds", "rank", "principal").rows()
    assert ranks[:2] == [(1_000, 1, "p"), (1_000, 2, "q")]
    assert ranks[2:4] == [(4_000, 1, "q"), (4_000, 2, "p")]


def table(*principals: Any) -> dict[str, Any]:
    return {
        "rounds": [50, 200],
        "games": [sc.load_game("inspection"), {"name": "patrol"}],
        "principals": list(principals),
        "agents": [{"name": "BestResponse"}],
    }


@pytest.fixture
def own_module(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(PLAYERS))
    import my_player

    yield my_player
    del sys.modules["my_player"]


def test_a_class_is_named_by_its_module_or_given(own_module: Any, tmp_path: Path) -> None:
    by_name = Specification.of(table("x") | {"principals": [{"name": "my_player:Middle"}]})
    given = Specification.of(table(own_module.Middle, {"name": "Oracle"}))
    keys = [play.key for play in by_name.plays()]
    assert keys == [play.key for play in given.plays() if play.principal.label == "Middle"]
    sweep(by_name, tmp_path, workers=1)
    assert sweep(given, tmp_path, workers=1).found == len(keys) == 4
    assert {*load(tmp_path)["principal"]} == {"Middle", "Oracle"}
    (tmp_path / "spec.toml").write_text(
        'rounds = 9\n[[games]]\nname = "inspection"\n[[principals]]\nname = "my_player:Middle"\n'
        '[[agents]]\nname = "my_player:First"\n'
    )
    with pytest.raises(sc.InputError, match="an installed player"):
        read_specification(tmp_path / "spec.toml", ["my_player:First"])
    named = ["my_player:First", "my_player:Middle"]
    assert len(read_specification(tmp_path / "spec.toml", named)) == 1


def test_a_class_that_was_typed_in_is_known_by_what_it_does(own_module: Any) -> None:
    def made(rounds: int) -> type[Any]:
        base: Any = own_module.Middle
        body = {"commit": lambda self, n=rounds: sc.Block(self.result.strategy, n)}
        return type("Typed", (base,), {**body, "__module__": "nowhere"})

    keys = [
        [play.key for play in Specification.of(table(made(rounds))).plays()]
        for rounds in (10, 10, 20)
    ]
    assert keys[0] == keys[1]
    assert not {*keys[0]} & {*keys[2]}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("no_such_module:Any", "no_such_module: expected a module that can be imported"),
        ("my_player:Nobody", "my_player:Nobody: expected a class of principals in the module"),
        ("my_player:First", "my_player:First: expected a class of principals"),
    ],
)
def test_what_is_no_class_of_principals_is_one_sentence(
    own_module: Any, name: str, sentence: str
) -> None:
    assert own_module
    with pytest.raises(sc.InputError, match=sentence):
        Specification.of(table({"name": name}))


def test_the_command_line_takes_horizons(tmp_path: Path) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(
        'rounds = 7\n[[games]]\nname = "inspection"\n[[principals]]\nname = "UniformExplore"\n'
        '[[agents]]\nname = "BestResponse"\n'
    )
    out = ["--out", str(tmp_path / "r"), "--workers", "1", "--json"]
    run = CliRunner().invoke(app, ["sweep", str(spec), "--horizons", "400,100", *out])
    said = json.loads(run.stdout)
    assert [row["rounds"] for row in said["ranking"]] == [100, 400]
    assert said["growth"][0]["principal"] == "UniformExplore"
    assert "Growth of regret" in (tmp_path / "r" / "report.html").read_text()
    for wrong in ("400", "100,100", "100,x", "0,5", ""):
        refused = CliRunner().invoke(app, ["sweep", str(spec), "--horizons", wrong, *out])
        assert isinstance(refused.exception, sc.InputError), wrong


def test_a_theory_is_overridden_entry_by_entry() -> None:
    theory = {"robustness": 0.03, "samples": 5, "checking": {"approximation": 0.2}}
    spec = Specification.of(table({"name": "ExploreThenCommit", "settings": {"theory": theory}}))
    game, player = spec.games[0], spec.principals[0]
    made = player.build(game, 5_000, 0).theory
    usual = sc.principals.hand_set(*game.shape, 5_000)
    assert (made.robustness, made.samples, made.checking.approximation) == (0.03, 5, 0.2)
    assert made.checking.conservatism == usual.checking.conservatism
    assert made.epochs == usual.epochs
    for wrong, sentence in (
        ({"robust": 1}, "theory, robust: expected one of actions"),
        ({"epochs": 0}, "epochs"),
        ({"checking": {"x": 1}}, "theory, checking, x: expected one of approximation"),
    ):
        with pytest.raises(sc.InputError, match=sentence):
            Specification.of(table({"name": "ExploreThenCommit", "settings": {"theory": wrong}}))
