"""What people write down, and how it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from killed_campaigns import GAME

from stackcast._validation import InputError
from stackcast.campaigns.parsing import (
    parse_constraint,
    parse_responses,
    parse_strategy,
    read_log,
    read_responses,
)

if TYPE_CHECKING:
    from pathlib import Path

ACTIONS = ("thorough", "light", "none")


def test_counts_are_spread_evenly_so_that_every_window_shows_the_same_shares() -> None:
    told = parse_responses({"a": 700, "b": 200, "c": 100}, ["a", "b", "c"])
    seen = told.seen()
    for window in (seen[:500], seen[500:], seen[333:666]):
        shares = np.bincount(window, minlength=3) / len(window)
        assert np.abs(shares - [0.7, 0.2, 0.1]).max() < 0.01


@pytest.mark.parametrize(
    ("given", "rounds", "missing", "counts"),
    [
        ("comply=7,violate=3", 10, 0, [7, 0, 3]),
        ("comply = 7 , ?=2", 9, 2, [7, 0, 0]),
        ("comply", 1, 0, [1, 0, 0]),
        ("cut corners,violate,?", 3, 1, [0, 1, 1]),
        ({"violate": 2}, 2, 0, [0, 0, 2]),
        ([0, None, "violate", np.int64(2)], 4, 1, [1, 0, 2]),
        (np.array([0, 1, 1]), 3, 0, [1, 2, 0]),
    ],
)
def test_responses_as_people_write_them(
    given: Any, rounds: int, missing: int, counts: list[int]
) -> None:
    told = parse_responses(given, GAME.agent_actions)
    assert (told.rounds, told.missing) == (rounds, missing)
    assert np.bincount(told.seen(), minlength=3).tolist() == counts


def test_responses_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "day.csv"
    file.write_text("day,response\n1,comply\n2,\n3,?\n4,violate\n")
    assert read_responses(file, GAME.agent_actions).order == (0, -1, -1, 2)
    file.write_text("response,count\ncomply,7\n?,2\nviolate,1\n")
    told = read_responses(file, GAME.agent_actions)
    assert (told.counts, told.missing) == ((7, 0, 1), 2)
    for text, sentence in (
        ("answer\ncomply\n", "a column response"),
        ("response\n", "found no rows"),
        ("response\ncomplied\n", r"day\.csv: responses: expected names .* \(perhaps 'comply'\)"),
        ("response,count\ncomply,-1\n", "column count, row 1: expected a whole number"),
    ):
        file.write_text(text)
        with pytest.raises(InputError, match=sentence):
            read_responses(file, GAME.agent_actions)


@pytest.mark.parametrize(
    "given",
    [
        "0.1,0.3,0.6", "10/30/60", "1/3/6", "10%,30%,60%", "0,1;0,3;0,6", "10,30,60",
        "thorough=10%,light=30%,none=60%", "none=0,6; thorough=0,1; light=0,3",
        {"thorough": 0.1, "light": 0.3, "none": 0.6}, [0.1, 0.3, 0.6],
    ],
)  # fmt: skip
def test_mixes_as_people_write_them(given: Any) -> None:
    assert parse_strategy(given, ACTIONS).tolist() == pytest.approx([0.1, 0.3, 0.6])


@pytest.mark.parametrize("given", ["0.5,0.5", "half/half/0", "0/0/0", "-1/1/1", "50,20,20", ""])
def test_what_is_no_mix_is_one_sentence(given: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_strategy(given, ACTIONS)
    assert str(caught.value).startswith("played: expected")


def test_limits_in_percent() -> None:
    assert parse_constraint("thorough <= 20%", ACTIONS).at_most == 0.2


def read(tmp_path: Path, text: str, **given: Any) -> Any:
    file = tmp_path / "log.csv"
    file.write_text(text)
    rows, estimated = read_log(file, ACTIONS, GAME.agent_actions, **given)
    return [(h.round(3).tolist(), c.tolist()) for h, c in rows], estimated


def test_logs_as_people_keep_them(tmp_path: Path) -> None:
    mixes = "strategy_thorough;strategy_light;strategy_none;response;count\n"
    mixes += "0,1;0,3;0,6;comply;7\n10%;30%;60%;violate;3\n1;0;0;?;5\n1;0;0;1;2\n"
    found = [([0.1, 0.3, 0.6], [7, 0, 3]), ([1.0, 0.0, 0.0], [2, 0, 0])]
    assert read(tmp_path, mixes) == (found, False)
    days = "date,action,response\n2025-01-01,none,violate\n2025-01-02,thorough,comply\n"
    days += "2025-01-03,none,comply\n2025-01-04,none,comply\n"
    assert read(tmp_path, days) == ([([0.25, 0.0, 0.75], [3, 0, 1])], True)
    mix = np.array([0.1, 0.3, 0.6])
    from datetime import date

    period = {"since": date(2025, 1, 2), "until": date(2025, 1, 3)}
    assert read(tmp_path, days, strategy=mix, **period) == ([([0.1, 0.3, 0.6], [2, 0, 0])], False)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("action,response\nnap,comply\n", "column action, row 1: expected one of thorough"),
        ("response\ncomply\n", ", or action, or --strategy MIX"),
        ("action,response,count\nnone,comply,1.5\n", "column count, row 1: expected a whole"),
        ("action,response\nnone,comply,3\n", "row 1: expected 2 cells, found 3"),
        ("action,action,response\nnone,none,comply\n", "expected distinct columns"),
        ("strategy_1,strategy_2,strategy_3,response\n0.5,0.6,0,comply\n", "row 1, strategy"),
        ("", "a column response"),
    ],
)
def test_a_mistake_in_a_log_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(str(tmp_path / "log.csv"))
    assert "\n" not in str(caught.value)
