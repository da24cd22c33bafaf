"""Games of other libraries and of spreadsheets: in, out and back, and what is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import nashpy
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import stackcast as sc
from stackcast import interop
from stackcast.cli import app

if TYPE_CHECKING:
    from pathlib import Path

LIBRARIES = ["nashpy", "openspiel", "quantecon", "pandas", "pygambit"]
NAMELESS = ("nashpy", "quantecon")
GAMES = [
    game
    for game in map(sc.load_game, sc.list_games())
    if isinstance(game, sc.FiniteGame) and not game.constraints
]
TEXTBOOK = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])


def sent(game: sc.FiniteGame, library: str, leader: int = 0) -> Any:
    if library == "pygambit":
        pytest.importorskip("pygambit")
    return getattr(interop, f"to_{library}")(game, leader=leader)


def received(theirs: Any, library: str, leader: int = 0) -> sc.FiniteGame:
    sides = theirs if library == "pandas" else (theirs,)
    game: sc.FiniteGame = getattr(interop, f"from_{library}")(*sides, leader=leader)
    return game


@pytest.mark.parametrize("leader", [0, 1])
@pytest.mark.parametrize("library", LIBRARIES)
def test_every_finite_game_of_the_catalogue_comes_back_bit_for_bit(
    library: str, leader: int
) -> None:
    assert len(GAMES) >= 15
    rng = np.random.default_rng(0)
    awkward = sc.FiniteGame(*rng.normal(size=(2, 3, 5)) * 10.0 ** rng.integers(-9, 9, (2, 3, 5)))
    for game in (*GAMES, awkward):
        back = received(sent(game, library, leader), library, leader)
        assert back.principal_payoffs.tobytes() == game.principal_payoffs.tobytes()
        assert back.agent_payoffs.tobytes() == game.agent_payoffs.tobytes()
        if library not in NAMELESS:
            assert back.fingerprint == game.fingerprint  # the names too


@pytest.mark.parametrize("library", LIBRARIES)
def test_either_player_may_commit(library: str) -> None:
    game = sc.FiniteGame(
        [[3, 0, 5], [1, 4, 2]], [[1, 2, 0], [0, 1, 3]], ["a", "b"], ["u", "v", "w"]
    )
    other = received(sent(game, library), library, leader=1)
    assert np.array_equal(other.principal_payoffs, game.agent_payoffs.T)
    assert np.array_equal(other.agent_payoffs, game.principal_payoffs.T)
    if library not in NAMELESS:
        assert (other.principal_actions, other.agent_actions) == (("u", "v", "w"), ("a", "b"))
    with pytest.raises(sc.InputError, match="leader: expected 0 or 1"):
        received(sent(game, library), library, leader=2)


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_cannot_be_carried_over_is_refused_in_a_sentence(library: str) -> None:
    with pytest.raises(sc.InputError, match="constraints: expected none, because"):
        sent(sc.load_game("food-hygiene"), library)
    for game in (sc.load_game("patrol"), TEXTBOOK.principal_view):
        with pytest.raises(sc.InputError, match="a finite game whose payoffs are known"):
            sent(game, library)  # type: ignore[arg-type]


def test_games_of_more_players_or_of_another_kind_are_refused() -> None:
    import pyspiel
    import quantecon.game_theory as theory

    with pytest.raises(sc.InputError, match="2 players, found 3"):
        interop.from_quantecon(theory.NormalFormGame((2, 2, 2)))
    with pytest.raises(sc.InputError, match="expected a matrix game"):
        interop.from_openspiel(pyspiel.load_game("tic_tac_toe"))
    with pytest.raises(sc.InputError, match="a finite number"):
        interop.from_nashpy(nashpy.Game([[np.nan]], [[1]]))


def test_openspiel_keeps_its_names_and_repeated_ones_are_numbered() -> None:
    import pyspiel

    dilemma = interop.from_openspiel(pyspiel.load_matrix_game("matrix_pd"))
    assert dilemma.principal_actions == ("Cooperate", "Defect")
    assert (dilemma.name, dilemma.description) == ("matrix_pd", "Prisoner's Dilemma")
    twice = pyspiel.create_matrix_game(
        "g", "", ["x", "x"], ["y", "y"], [[1, 2], [3, 4]], [[0, 0]] * 2
    )
    assert interop.from_openspiel(twice).principal_actions == ("x", "x (2)")


def test_frames_in_another_order_are_put_in_order() -> None:
    mine, theirs = interop.to_pandas(sc.load_game("inspection"))
    shuffled = theirs.iloc[::-1, ::-1]
    assert interop.from_pandas(mine, shuffled) == interop.from_pandas(mine, theirs)
    with pytest.raises(sc.InputError, match="theirs, rows: expected the names in mine"):
        interop.from_pandas(mine, theirs.rename(index={theirs.index[0]: "nobody"}))
    with pytest.raises(sc.InputError, match="finite number"):
        interop.from_pandas(pd.DataFrame([["much"]]), pd.DataFrame([[1.0]]))


@pytest.mark.parametrize("comma", [",", ";", "\t"])
def test_two_tables_of_a_spreadsheet_are_a_game(comma: str, tmp_path: Path) -> None:
    mine, theirs = tmp_path / "mine.csv", tmp_path / "theirs.csv"
    game = sc.load_game("inspection")
    for file, frame in zip((mine, theirs), interop.to_pandas(game), strict=True):
        frame.to_csv(file, sep=comma, decimal="." if comma == "," else ",", encoding="utf-8-sig")
    assert interop.from_csv(mine, theirs).fingerprint == game.fingerprint
    shown = CliRunner().invoke(app, ["solve", "--payoffs", str(mine), str(theirs), "--json"])
    assert json.loads(shown.stdout)["value"] == sc.solve(game).value


def test_a_table_of_numbers_alone_has_no_names_and_numbers_may_be_names(tmp_path: Path) -> None:
    plain, named = tmp_path / "plain.csv", tmp_path / "named.csv"
    plain.write_text("1,3\n0,2\n")
    assert np.array_equal(interop.from_csv(plain, plain).principal_payoffs, [[1, 3], [0, 2]])
    named.write_text('mine,0,1\n10,1,3\n"20",0,2\n\n')
    assert interop.from_csv(named, named).principal_actions == ("10", "20")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "mine.csv: expected a table of payoffs, found an empty file."),
        (",u,v\na,1,x\n", "mine.csv, row 1, column 2: expected a payoff, found 'x'."),
        (",u,v\na,1,inf\n", "mine.csv, row 1, column 2: expected a payoff, found 'inf'."),
        (",u,v\na,1\n", "mine.csv, row 1: expected 2 payoffs, found 1."),
        (",u,v\n", "mine.csv: expected at least one row and one column of payoffs, found none."),
        (",u\na,1\n", "theirs.csv, columns: expected the names in mine.csv, found u, v."),
    ],
)
def test_a_mistake_in_a_table_is_one_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    mine, theirs = tmp_path / "mine.csv", tmp_path / "theirs.csv"
    mine.write_text(text)
    theirs.write_text(",u,v\na,1,2\n")
    with pytest.raises(sc.InputError) as error:
        interop.from_csv(mine, theirs)
    assert str(error.value) == sentence


def test_a_missing_library_is_one_sentence_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "nashpy", None)
    with pytest.raises(sc.InputError) as error:
        interop.to_nashpy(TEXTBOOK)
    assert str(error.value) == (
        "interop: expected the library nashpy (pip install 'stackcast[games]'), found no nashpy."
    )


def test_importing_the_room_imports_no_library() -> None:
    import subprocess
    import sys

    program = "import sys, stackcast.interop as i; i.from_csv; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not {"nashpy", "pyspiel", "quantecon", "pandas", "gymnasium"} & {*loaded.stdout.split()}
