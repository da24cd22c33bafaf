"""Games in files: exact round trips, golden files, and writes that happen wholly or not at all."""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackcast._validation import InputError
from stackcast.games import (
    Constraint,
    FiniteGame,
    SecurityGame,
    list_games,
    load_game,
    save_game,
)

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

DATA = Path(__file__).parent / "data"
SUFFIXES = (".json", ".toml", ".nfg")
GOOD = '"principal_payoffs": [[1, 2]], "agent_payoffs": [[0, 1]]'
NFG = 'NFG 1 R "t" { "P" "A" } '

texts = st.text(max_size=20)
# \r, \u2028, quotes, backslashes and the words that the formats use themselves
action_names = st.one_of(
    st.text(min_size=1, max_size=8),
    st.sampled_from(['"', '\\"x', "a\\b", "{", "1/2", "\r\n x", "é"]),
).filter(lambda name: bool(name.strip()))


@st.composite
def games(draw: DrawFn, constrained: bool = True) -> FiniteGame:
    m, k = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    numbers = st.floats(allow_nan=False, allow_infinity=False)
    matrix = st.lists(st.lists(numbers, min_size=k, max_size=k), min_size=m, max_size=m)
    rows = draw(st.lists(action_names, min_size=m, max_size=m, unique=True))
    columns = draw(st.lists(action_names, min_size=k, max_size=k, unique=True))
    constraints = []
    if constrained and draw(st.booleans()):
        weight = draw(st.floats(0.01, 100))
        at_least = draw(st.none() | st.floats(-1, 0))
        constraints.append(Constraint({rows[0]: weight}, at_least, 2 * weight, draw(texts)))
    return FiniteGame(
        draw(matrix),
        draw(matrix),
        rows,
        columns,
        name=draw(texts),
        description=draw(texts),
        source=draw(texts),
        known_value=draw(st.none() | numbers),
        constraints=constraints,
    )


def same_bits(a: object, b: FiniteGame) -> bool:
    assert isinstance(a, FiniteGame)
    pairs = ((a.principal_payoffs, b.principal_payoffs), (a.agent_payoffs, b.agent_payoffs))
    return all(x.tobytes() == y.tobytes() for x, y in pairs)


@settings(max_examples=150, deadline=None)
@given(game=games(), suffix=st.sampled_from([".json", ".toml", ".JSON"]))
def test_own_formats_round_trip(game: FiniteGame, suffix: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "game" + suffix)
        save_game(game, path)
        again = load_game(path)
        assert again == game
        assert hash(again) == hash(game)
        assert same_bits(again, game)
        assert os.listdir(folder) == [path.name]  # noqa: PTH208 - no draft is left behind


@settings(max_examples=150, deadline=None)
@given(game=games(constrained=False))
def test_gambit_keeps_payoffs_and_names_or_is_refused(game: FiniteGame) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "game.nfg")
        words = (*game.principal_actions, *game.agent_actions, game.name, game.description)
        try:
            save_game(game, path)
        except InputError:
            assert any(word.endswith("\\") for word in (*words, game.source))
            assert not path.exists()
            return
        again = load_game(path, FiniteGame)
        assert same_bits(again, game)
        assert again.principal_actions == game.principal_actions
        assert again.agent_actions == game.agent_actions
        assert again.name == game.name
        assert again.description.startswith(game.description)
        assert game.source in again.description


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", list_games())
def test_catalogue_round_trips(name: str, suffix: str, tmp_path: Path) -> None:
    game, path = load_game(name), tmp_path / f"game{suffix}"
    if suffix == ".nfg" and isinstance(game, FiniteGame) and game.constraints:
        with pytest.raises(InputError, match=r"constraints: expected none, because an \.nfg file"):
            save_game(game, path)
        return
    if suffix == ".nfg" and isinstance(game, SecurityGame):
        with pytest.raises(InputError, match=r"game: expected a finite game: an \.nfg"):
            save_game(game, path)
        return
    save_game(game, str(path))
    again = load_game(str(path))
    assert again.fingerprint == game.fingerprint
    assert again == game or suffix == ".nfg"


def test_golden_gambit_outcomes() -> None:
    game = load_game(DATA / "outcomes.nfg")
    assert isinstance(game, FiniteGame)
    assert game.principal_actions == ("top", "middle", "bottom")
    assert game.agent_actions == ("left", "right")
    assert game.name == 'A "quoted" title'
    assert game.description == "Two rows share an outcome, and one cell has none."
    np.testing.assert_array_equal(game.principal_payoffs, [[0.5, 0], [0.25, 0.5], [7, 0.25]])
    np.testing.assert_array_equal(game.agent_payoffs, [[-3, 0], [0.125, -3], [100, 0.125]])


def test_golden_gambit_payoffs() -> None:
    game = load_game(DATA / "payoffs.nfg")
    assert isinstance(game, FiniteGame)
    assert game.principal_actions == ("row 1", "row 2", "row 3")
    np.testing.assert_array_equal(game.principal_payoffs, [[1, -4], [2, 1 / 3], [3, 6]])
    np.testing.assert_array_equal(game.agent_payoffs, [[10, 40], [20, 50], [30, 60]])


def test_what_we_write_stays_as_it_is(tmp_path: Path) -> None:
    game = FiniteGame(
        [[1, 3], [0, 2]],
        [[1, 0], [0, 1]],
        ["up", "down"],
        ["left", "right"],
        name='textbook "commitment"',
        description="Why commit?",
        source="Conitzer and Sandholm",
        known_value=2.5,
    )
    save_game(game, tmp_path / "written.nfg")
    assert (tmp_path / "written.nfg").read_text() == (DATA / "written.nfg").read_text()
    again = load_game(DATA / "written.nfg")
    assert again.fingerprint == game.fingerprint
    assert again.description.endswith("Known value: 2.5")
    limited = load_game(DATA / "constrained.json", FiniteGame)
    assert limited.constraints == (Constraint({"work": 8}, at_most=6, name="hours"),)
    for suffix in (".json", ".toml"):
        save_game(limited, tmp_path / f"constrained{suffix}")
        written = (tmp_path / f"constrained{suffix}").read_text()
        assert written == (DATA / f"constrained{suffix}").read_text()


@pytest.mark.parametrize(
    ("start", "first"),
    [
        ("1/0", None),
        ("1/3", 1 / 3),
        ("-2/4", -0.5),
        ("1e400", None),
        ("9" * 5000 + "/7", None),
        ("1e-400", 0.0),
        ("0x10", None),
        ("1_0", None),
        ("٣", None),
        ("nan", None),
        ("--1", None),
    ],
)
def test_gambit_numbers(start: str, first: float | None, tmp_path: Path) -> None:
    path = tmp_path / "g.nfg"
    path.write_text(NFG + "{ 1 1 } " + start + " 0")
    if first is None:
        with pytest.raises(InputError, match="line 1: expected a payoff, found"):
            load_game(path)
    else:
        assert load_game(path, FiniteGame).principal_payoffs[0, 0] == first


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"\xef\xbb\xbf{" + GOOD.encode() + b"}")
    assert load_game(path, FiniteGame).shape == (1, 2)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    folder = tmp_path / "folder.json"
    folder.mkdir()
    with pytest.raises(InputError) as refusal:
        load_game(folder)
    expected = "a file that can be read, found no readable file (is a directory)"
    assert str(refusal.value) == f"{folder}: expected {expected}."
    with pytest.raises(InputError) as refusal:
        save_game(load_game("milking"), folder)
    expected = "a place that can be written to, found is a directory"
    assert str(refusal.value) == f"{folder}: expected {expected}."
    assert list(tmp_path.iterdir()) == [folder]


def test_a_word_is_the_catalogue_even_beside_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("milking").write_text("not a game")
    save_game(load_game("chicken"), "milking.json")
    assert load_game("milking").name == "milking"
    assert load_game("milking.json").name == "chicken"


@pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EACCES, errno.EROFS])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_write_leaves_what_was_there(
    step: str, reason: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "game.json"
    save_game(load_game("milking"), path)

    def fail(*_: object) -> None:
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(InputError) as refusal:
        save_game(load_game("chicken"), path)
    found = os.strerror(reason).lower()
    assert str(refusal.value) == f"{path}: expected a place that can be written to, found {found}."
    monkeypatch.undo()
    assert load_game(path).name == "milking"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(InputError, match="can be written to, found permission denied"):
            save_game(load_game("milking"), tmp_path / "game.json")
    finally:
        tmp_path.chmod(0o700)


def test_saving_keeps_links_and_the_usual_permissions(tmp_path: Path) -> None:
    real, link, plain = tmp_path / "real.json", tmp_path / "link.json", tmp_path / "plain"
    plain.touch()
    link.symlink_to(real)
    save_game(load_game("milking"), link)
    assert link.is_symlink()
    assert load_game(real).name == "milking"
    assert stat.S_IMODE(real.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    game = load_game("milking")
    with pytest.raises(InputError, match="game: expected a game, found 3"):
        save_game(3, tmp_path / "a.json")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="path: expected a file, found 3"):
        save_game(game, 3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"ends in \.json, \.toml or \.nfg, found no ending"):
        save_game(game, "game")
    with pytest.raises(InputError, match="no such file or directory"):
        save_game(game, tmp_path / "no" / "game.json")
    with pytest.raises(InputError, match="which ends in a backslash"):
        save_game(FiniteGame([[1]], [[1]], name="C:\\"), tmp_path / "a.nfg")
    assert list(tmp_path.iterdir()) == []


def test_a_file_never_runs_code(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    code = f"__import__('pathlib').Path({str(marker)!r}).touch()"
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"principal_payoffs": code, "agent_payoffs": [[1]], "name": code}))
    with pytest.raises(InputError):
        load_game(path)
    assert not marker.exists()


def test_a_gambit_file_with_a_name_twice_is_loaded_with_a_note(tmp_path: Path) -> None:
    file = tmp_path / "twice.nfg"
    payoffs = "1 2 3 4 5 6 7 8 9 10 11 12"
    file.write_text(
        f'NFG 1 R "t" {{ "A" "B" }} {{ {{ "x" "x" "x (2)" }} {{ "y" "z" }} }} {payoffs}'
    )
    game = load_game(str(file))
    assert isinstance(game, FiniteGame)
    assert game.principal_actions == ("x", "x (3)", "x (2)")
    assert game.description == "The file gives A strategies of the same name; renamed: 'x (3)'."
    assert np.array_equal(game.principal_payoffs, [[1, 7], [3, 9], [5, 11]])
