"""Whatever is wrong with a game file is said in one sentence: file, field, expectation, find."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackcast._validation import InputError
from stackcast.games import FiniteGame, load_game

GOOD = '"principal_payoffs": [[1, 2]], "agent_payoffs": [[0, 1]]'
NFG = 'NFG 1 R "t" { "P" "A" } '

# file name, content, the sentence after "{path}"
MALFORMED: list[tuple[str, str | bytes, str]] = [
    ("empty.json", "", ": file: expected a game, found an empty file."),
    ("empty.toml", " \n", ": file: expected a game, found an empty file."),
    ("empty.nfg", "", ": file: expected a game, found an empty file."),
    (
        "bytes.json",
        b'{"name": "\xff"}',
        ": expected text in UTF-8, found the byte 0xff at position 10.",
    ),
    ("nul.toml", b"\x00\x9f", ": expected text in UTF-8, found the byte 0x9f at position 1."),
    (
        "a.json",
        "{",
        ": line 1, column 2: expected JSON, found a mistake (expecting property name "
        "enclosed in double quotes).",
    ),
    (
        "a.json",
        "[1, 2",
        ": line 1, column 6: expected JSON, found a mistake (expecting ',' delimiter).",
    ),
    (
        "a.json",
        "{" + GOOD + "} x",
        ": line 1, column 60: expected JSON, found a mistake (extra data).",
    ),
    (
        "a.toml",
        "x",
        ": text: expected TOML, found a mistake (expected '=' after a key in a "
        "key/value pair (at end of document)).",
    ),
    (
        "a.toml",
        "x = 1\nx = 2\n",
        ": text: expected TOML, found a mistake (cannot overwrite a value (at line 2, column 6)).",
    ),
    (
        "a.toml",
        "known_value = " + "1" * 5000,
        ": text: expected TOML, found a mistake (too long an integer).",
    ),
    (
        "a.json",
        "[]",
        ": game: expected a table with the keys principal_payoffs, agent_payoffs, found [].",
    ),
    (
        "a.json",
        '"text"',
        ": game: expected a table with the keys principal_payoffs, agent_payoffs, found 'text'.",
    ),
    (
        "a.json",
        "null",
        ": game: expected a table with the keys principal_payoffs, agent_payoffs, found nothing.",
    ),
    ("a.json", "{}", ": principal_payoffs: expected a list of rows of numbers, found no such key."),
    (
        "a.toml",
        "principal_payoffs = [[1]]",
        ": agent_payoffs: expected a list of rows of numbers, found no such key.",
    ),
    ("a.json", "{" + GOOD + ', "nmae": "x"}', ": keys: expected 'name', found 'nmae'."),
    (
        "a.json",
        "{" + GOOD + ', "__class__": "x"}',
        ": keys: expected principal_payoffs, agent_payoffs, "
        "principal_actions, agent_actions, name, description, source, known_value, constraints, "
        "format, found '__class__'.",
    ),
    (
        "a.json",
        "{" + GOOD + ', "name": "a", "name": "b"}',
        ": key 'name': expected every key once, found it twice.",
    ),
    (
        "a.json",
        "{" + GOOD + ', "format": "stackcast-game-9"}',
        ": format: expected 'stackcast-game-1', found 'stackcast-game-9'.",
    ),
    (
        "a.json",
        "{" + GOOD + ', "format": [1]}',
        ": format: expected 'stackcast-game-1', found [1].",
    ),
    (
        "a.json",
        '{"principal_payoffs": [[NaN]], "agent_payoffs": [[1]]}',
        ": numbers: expected finite numbers, found NaN.",
    ),
    (
        "a.json",
        '{"principal_payoffs": [[-Infinity]], "agent_payoffs": [[1]]}',
        ": numbers: expected finite numbers, found -Infinity.",
    ),
    (
        "a.toml",
        "principal_payoffs = [[nan]]\nagent_payoffs = [[1]]",
        ": principal_payoffs, row 1, entry 1: expected a finite number, found nan.",
    ),
    (
        "a.json",
        '{"principal_payoffs": [[1e999]], "agent_payoffs": [[1]]}',
        ": principal_payoffs, row 1, entry 1: expected a finite number, found inf.",
    ),
    (
        "a.json",
        '{"principal_payoffs": [[1' + "0" * 350 + ']], "agent_payoffs": [[1]]}',
        ": principal_payoffs, row 1, entry 1: expected a finite number, found 1" + "0" * 56 + "….",
    ),
    (
        "a.json",
        '{"principal_payoffs": [[' + "1" * 6000 + ']], "agent_payoffs": [[1]]}',
        ": principal_payoffs, row 1, entry 1: expected a finite number, found inf.",
    ),
    (
        "a.json",
        '{"principal_payoffs": [[true]], "agent_payoffs": [[1]]}',
        ": principal_payoffs, row 1, entry 1: expected a finite number, found True.",
    ),
    (
        "a.json",
        '{"principal_payoffs": [["1"]], "agent_payoffs": [[1]]}',
        ": principal_payoffs, row 1, entry 1: expected a finite number, found '1'.",
    ),
    (
        "a.json",
        '{"principal_payoffs": [[null]], "agent_payoffs": [[1]]}',
        ": principal_payoffs, row 1, entry 1: expected a finite number, found nothing.",
    ),
    (
        "a.json",
        '{"principal_payoffs": [[1, 2], [3]], "agent_payoffs": [[1]]}',
        ": principal_payoffs, row 2: expected 2 numbers as in the rows above, found 1.",
    ),
    (
        "a.json",
        '{"principal_payoffs": [], "agent_payoffs": [[1]]}',
        ": principal_payoffs: expected at least one row, found an empty list.",
    ),
    (
        "a.json",
        '{"principal_payoffs": [[]], "agent_payoffs": [[]]}',
        ": principal_payoffs, row 1: expected at least one number, found an empty list.",
    ),
    (
        "a.json",
        '{"principal_payoffs": [1, 2], "agent_payoffs": [[1]]}',
        ": principal_payoffs, row 1: expected a list of numbers, found 1.",
    ),
    (
        "a.json",
        '{"principal_payoffs": {"a": 1}, "agent_payoffs": [[1]]}',
        ": principal_payoffs: expected a list of rows of numbers, found {'a': 1}.",
    ),
    (
        "a.json",
        '{"principal_payoffs": "12", "agent_payoffs": [[1]]}',
        ": principal_payoffs: expected a list of rows of numbers, found '12'.",
    ),
    (
        "a.json",
        '{"principal_payoffs": [[[1]]], "agent_payoffs": [[1]]}',
        ": principal_payoffs, row 1, entry 1: expected a finite number, found [1].",
    ),
    (
        "a.json",
        '{"principal_payoffs": [[1, 2]], "agent_payoffs": [[1]]}',
        ": agent_payoffs: expected 1×2 numbers as in principal_payoffs, found 1×1.",
    ),
    (
        "a.json",
        "{" + GOOD + ', "agent_actions": ["a"]}',
        ": agent_actions: expected 2 names, found 1.",
    ),
    (
        "a.json",
        "{" + GOOD + ', "agent_actions": ["a", "a"]}',
        ": agent_actions: expected distinct names, found 'a' twice.",
    ),
    (
        "a.json",
        "{" + GOOD + ', "agent_actions": ["a", " "]}',
        ": agent_actions, entry 2: expected a name, found ' '.",
    ),
    (
        "a.json",
        "{" + GOOD + ', "agent_actions": ["a", 2]}',
        ": agent_actions, entry 2: expected a name, found 2.",
    ),
    (
        "a.json",
        "{" + GOOD + ', "agent_actions": "ab"}',
        ": agent_actions: expected a list of names, found 'ab'.",
    ),
    (
        "a.json",
        "{" + GOOD + ', "agent_actions": ["a", "\\ud800"]}',
        ": agent_actions, entry 2: expected "
        "a text in Unicode, found half of a surrogate pair in '\\ud800'.",
    ),
    ("a.json", "{" + GOOD + ', "name": 3}', ": name: expected a text, found 3."),
    (
        "a.json",
        "{" + GOOD + ', "description": null}',
        ": description: expected a text, found nothing.",
    ),
    ("a.json", "{" + GOOD + ', "source": []}', ": source: expected a text, found []."),
    (
        "a.json",
        "{" + GOOD + ', "known_value": "2"}',
        ": known_value: expected a finite number, found '2'.",
    ),
    (
        "a.toml",
        "principal_payoffs = [[1]]\nagent_payoffs = [[1]]\nknown_value = 1979-05-27",
        ": known_value: expected a finite number, found datetime.date(1979, 5, 27).",
    ),
    (
        "a.json",
        "{" + GOOD + ', "constraints": {}}',
        ": constraints: expected a list of constraints, found {}.",
    ),
    (
        "a.json",
        "{" + GOOD + ', "constraints": [3]}',
        ": constraints, entry 1: expected a table with the keys weights, at_least, at_most, name, "
        "found 3.",
    ),
    (
        "a.json",
        "{" + GOOD + ', "constraints": [{"weights": {"row 1": 1}, "max": 1}]}',
        ": constraints, entry 1, keys: expected weights, at_least, at_most, name, found 'max'.",
    ),
    (
        "a.json",
        "{" + GOOD + ', "constraints": [{"at_most": 1}]}',
        ": constraints, entry 1, weights: expected a table of action names and numbers, "
        "found no such key.",
    ),
    (
        "a.json",
        "{" + GOOD + ', "constraints": [{"weights": {"row 1": 1}}]}',
        ": constraints, entry 1: constraint: expected at_least or at_most, found neither.",
    ),
    (
        "a.json",
        "{" + GOOD + ', "constraints": [{"weights": {"row 1": true}, "at_most": 1}]}',
        ": constraints, entry 1: constraint, weight of 'row 1': expected a finite number, "
        "found True.",
    ),
    (
        "a.json",
        "{" + GOOD + ', "constraints": [{"weights": {"row 9": 1}, "at_most": 1, "name": "n"}]}',
        ": constraint 'n', weights: expected names of the principal's actions, found 'row 9'.",
    ),
    (
        "a.json",
        "{" + GOOD + ', "constraints": [{"weights": {"row 1": 1}, "at_most": 0.5}]}',
        ": constraints: expected at least one strategy that satisfies them all, found none.",
    ),
    (
        "deep.json",
        "[" * 100_000,
        ": text: expected a table, found too many levels of nesting.",
    ),
    (
        "deep.toml",
        "x = " + "[" * 100_000,
        ": text: expected a table, found too many levels of nesting.",
    ),
    ("a.nfg", "EFG 2 R", ": line 1: expected the word NFG, found 'EFG'."),
    ("a.nfg", '\nNFG 2 R "t"', ": line 2: expected the version 1, found '2'."),
    ("a.nfg", 'NFG 1 X "t"', ": line 1: expected the letter R or D, found 'X'."),
    ("a.nfg", "NFG 1 R title", ": line 1: expected the title in quotes, found 'title'."),
    ("a.nfg", "NFG 1 R", ": line 1: expected the title in quotes, found the end of file."),
    (
        "a.nfg",
        'NFG 1 R\n"open',
        ": line 2: expected a text that ends with a quote, found the end of file.",
    ),
    (
        "a.nfg",
        'NFG 1 R "x\\"',
        ": line 1: expected a text that ends with a quote, found the end of file.",
    ),
    ("a.nfg", 'NFG 1 R "t" { "P" "A" "B" } { 1 1 1 } 1 1 1', ": players: expected 2, found 3."),
    (
        "a.nfg",
        'NFG 1 R "t" { "P", "A" }',
        ": line 1: expected a name in quotes or a closing brace, found ','.",
    ),
    ("a.nfg", NFG + "{ 2 }", ": line 1: expected a number of strategies of at least 1, found '}'."),
    (
        "a.nfg",
        NFG + "{ 2 0 }",
        ": line 1: expected a number of strategies of at least 1, found '0'.",
    ),
    (
        "a.nfg",
        NFG + "{ 2 2 2 } 1",
        ": line 1: expected a closing brace after the strategies of 2 players, found '2'.",
    ),
    ("a.nfg", NFG + '{ { "a" } { } } 1', ": line 1: expected at least one strategy, found none."),
    (
        "a.nfg",
        NFG + '{ { "a" "" } { "b" } } 1 1 1 1',
        ": principal_actions, entry 2: expected a name, found ''.",
    ),
    ("a.nfg", NFG + "{ 1 2 } 1 1", ": body: expected 2 cells for 1×2 strategies, found 1."),
    (
        "a.nfg",
        NFG + "{ 999999999 999999999 } 1 1",
        ": body: expected 999999998000000001 cells for 999999999×999999999 strategies, found 1.",
    ),
    ("a.nfg", NFG + "{ 1 1 }", ": body: expected 1 cells for 1×1 strategies, found 0."),
    ("a.nfg", NFG + "{ 1 1 } 1", ": body: expected two payoffs for every cell, found 1 numbers."),
    ("a.nfg", NFG + '{ 1 1 } 1 "2"', ": line 1: expected a payoff, found '2'."),
    (
        "a.nfg",
        NFG + "{ 1 1 }\n{ { 1 2 } }",
        ": line 2: expected the outcome's name in quotes, found '1'.",
    ),
    ("a.nfg", NFG + '{ 1 1 } { { "" 1 } } 1', ": line 1: expected a payoff, found '}'."),
    (
        "a.nfg",
        NFG + '{ 1 1 } { { "" 1 2 3 } } 1',
        ": line 1: expected a closing brace after 2 payoffs, found '3'.",
    ),
    (
        "a.nfg",
        NFG + '{ 1 1 } { { "" 1 2 }',
        ": line 1: expected an outcome or a closing brace, found the end of file.",
    ),
    (
        "a.nfg",
        NFG + '{ 1 1 } { { "" 1 2 } } 2',
        ": line 1: expected the number of an outcome, 0 to 1, found '2'.",
    ),
    (
        "a.nfg",
        NFG + '{ 1 1 } { { "" 1 2 } } -1',
        ": line 1: expected the number of an outcome, 0 to 1, found '-1'.",
    ),
]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    MALFORMED,
    ids=[f"{i}-{row[0]}" for i, row in enumerate(MALFORMED)],
)
def test_malformed_file_gets_one_sentence(
    name: str, content: str | bytes, sentence: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as refusal:
        load_game(path)
    assert str(refusal.value) == f"{path}{sentence}"
    assert "\n" not in sentence


@settings(max_examples=300, deadline=None)
@given(
    content=st.one_of(
        st.binary(max_size=60),
        st.text(alphabet='{}[]",:.-+eE/\\ \n0123456789NaFGRDtrunl=x_#', max_size=80).map(
            str.encode
        ),
    ),
    suffix=st.sampled_from([".json", ".toml", ".nfg"]),
    start=st.sampled_from(
        ["", "{" + GOOD + ",", "principal_payoffs=[[1]]\n", NFG, NFG + "{ 1 1 }"]
    ),
)
def test_no_bytes_raise_anything_else(content: bytes, suffix: str, start: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "game" + suffix)
        path.write_bytes(start.encode() + content)
        try:
            assert isinstance(load_game(path), FiniteGame)
        except InputError as refusal:
            sentence = str(refusal)
            assert "\n" not in sentence


@pytest.mark.parametrize(
    ("given_as", "sentence"),
    [
        (
            "inspektion",
            "game: expected a name from the catalogue (perhaps 'inspection') or a .json, "
            ".toml or .nfg file, found 'inspektion'.",
        ),
        (
            "Milking",
            "game: expected a name from the catalogue (perhaps 'milking') or a .json, .toml "
            "or .nfg file, found 'Milking'.",
        ),
        (
            "qqqq",
            "game: expected a name from the catalogue or a .json, .toml or .nfg file, found "
            "'qqqq'.",
        ),
        ("", "game: expected a name from the catalogue or a .json, .toml or .nfg file, found ''."),
        (3, "game: expected a name from the catalogue or a file, found 3."),
        (None, "game: expected a name from the catalogue or a file, found nothing."),
        (
            "no/such.json",
            "no/such.json: expected a file that can be read, "
            "found no readable file (no such file or directory).",
        ),
        (
            "inspection.toml",
            "inspection.toml: expected a file that can be read, "
            "found no readable file (no such file or directory).",
        ),
        (
            "game.yaml",
            "game.yaml: expected a file name that ends in .json, .toml or .nfg, found the "
            "ending .yaml.",
        ),
        (
            "./inspection",
            "inspection: expected a file name that ends in .json, .toml or .nfg, found no ending.",
        ),
        (
            Path("inspection"),
            "inspection: expected a file name that ends in .json, .toml or .nfg, found no ending.",
        ),
        ("a\0.json", "'a\\x00.json': expected a file that can be read, found no name of a file."),
        (
            "x" * 300 + ".json",
            f"{'x' * 300}.json: expected a file that can be read, "
            "found no readable file (file name too long).",
        ),
    ],
)
def test_wrong_places(given_as: object, sentence: str) -> None:
    with pytest.raises(InputError) as refusal:
        load_game(given_as)  # type: ignore[call-overload]
    assert str(refusal.value) == sentence
