"""Games of which only the principal's half is known for certain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import stackcast as sc
from stackcast._validation import InputError
from stackcast.games import HalfKnownGame, load_any, load_half_known

if TYPE_CHECKING:
    from pathlib import Path


def test_a_half_known_game_in_a_file(tmp_path: Path) -> None:
    toml = tmp_path / "mine.toml"
    toml.write_text(
        'principal_payoffs = [[1, 3], [0, 2]]\nprincipal_actions = ["up", "down"]\n'
        'agent_actions = ["left", "right"]\nagent_payoffs_low = [[0, 0], [0, 0.5]]\n'
        "agent_payoffs_high = [[1, 1], [1, 1]]\n"
        '[[constraints]]\nweights = { up = 1.0 }\nat_most = 0.7\nname = "budget"\n'
    )
    game = load_half_known(toml)
    assert game.bounds is not None
    assert game.bounds[0].tolist() == [[0, 0], [0, 0.5]]
    assert not game.principal_view.space.contains([0.8, 0.2])
    again = HalfKnownGame.from_table(game.to_table())
    assert again.to_table() == game.to_table()
    assert game.with_action("wait", [1, 1]).bounds is not None
    whole = load_half_known("inspection")
    assert whole.fingerprint == sc.load_game("inspection").fingerprint
    assert "agent_payoffs" not in whole.to_table()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("principal_actions = ['a']", "principal_payoffs: expected a list of rows"),
        ("principal_payoffs = [[1, nan]]", "expected a finite number"),
        ("principal_payoffs = [[1, 2]]\nagent_payofs_low = [[1, 2]]", "'agent_payoffs_low'"),
        ("principal_payoffs = [[1, 2]]\nagent_payoffs_low = [[1, 2]]", "both bounds or neither"),
        (
            "principal_payoffs = [[1, 2]]\nagent_payoffs_low = [[1, 2]]\n"
            "agent_payoffs_high = [[2, 1]]",
            "no more than agent_payoffs_high, found 2 > 1",
        ),
        ("principal_payoffs = [[1, 2]\n", "expected TOML"),
        ('format = "x"\nprincipal_payoffs = [[1, 2]]', "'stackcast-half-known-game-1'"),
    ],
)
def test_a_mistake_in_the_file_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=sentence) as caught:
        load_half_known(file)
    assert str(caught.value).startswith(str(file))
    assert "\n" not in str(caught.value)


def test_ranges_and_question_marks(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'principal_payoffs = [[1, 3], [0, 2]]\nagent_payoffs = [[1, [0, 0.5]], [-1, "?"]]\n'
    )
    game = load_any(file)
    assert isinstance(game, HalfKnownGame)
    assert game.bounds is not None
    assert game.bounds[0].tolist() == [[1, 0], [-1, -1]]
    assert game.bounds[1].tolist() == [[1, 0.5], [-1, 1]]
    drawn = game.draws(200, seed=1)
    assert (drawn >= game.bounds[0]).all()
    assert (drawn <= game.bounds[1]).all()
    assert np.ptp(drawn[:, 1, 1]) > 1.5
    file.write_text("principal_payoffs = [[1, 3]]\nagent_payoffs = [[1, 0]]\n")
    assert isinstance(load_any(file), sc.FiniteGame)


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ("[[1, [0, 1, 2]]]", r"row 1, entry 2: expected a number, a pair \[low, high\] or '\?'"),
        ('[[1, "x"], ["?", 1]]', "row 1, entry 2"),
        ('[["?", "?"]]', "a number somewhere"),
        ("[[1, [2, 1]]]", "no more than agent_payoffs_high, found 2 > 1"),
        ("[[[0, 1]]]", "1×2 numbers as in principal_payoffs, found 1×1"),
    ],
)
def test_ranges_that_are_none(tmp_path: Path, cells: str, sentence: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(f"principal_payoffs = [[1, 3]]\nagent_payoffs = {cells}\n")
    with pytest.raises(InputError, match=sentence):
        load_any(file)
