"""Transcripts: compact, equal after a round trip, and refused in one sentence when damaged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stackcast as sc
from stackcast._random import stream
from stackcast.agents import Hedge
from stackcast.principals import PhaseSwitch
from stackcast.protocol import Transcript, play

if TYPE_CHECKING:
    from pathlib import Path

GAME = sc.FiniteGame(
    [[0.5, 0, 0], [0.5, 0, 1]],
    [[0.55, 0, 0.5], [0, 1, 0.5]],
    principal_actions=["Up", "Down"],
    name="switching",
    description="Ünïcode “quotes” and\nlines",
    known_value=0.5,
    constraints=[{"weights": {"Up": 1.0}, "at_least": 0.0, "name": "none"}],
)


def sample(blocks: int = 7, forecasts: bool = True, seed: int = 0) -> Transcript:
    rng = stream(seed, "test", "transcript")
    rounds = rng.integers(1, 9, blocks)
    total = int(rounds.sum())
    h = np.repeat(rng.dirichlet([1, 1], blocks), rounds, axis=0)
    pool = rng.dirichlet([1, 1], 5)
    phases = np.repeat(rng.choice(["explore", "commit", ""], blocks), rounds).tolist()
    p = pool[rng.integers(0, 5, total)] if forecasts else None
    return Transcript.from_rounds(h, rng.integers(0, 3, total), p, phases, GAME)


def test_rounds_are_given_back() -> None:
    h = np.array([[1, 0], [1, 0], [0.5, 0.5], [0.5, 0.5], [1, 0]])
    p = np.array([[0.1, 0.9], [0.2, 0.8], [0.1, 0.9], [0.1, 0.9], [0.3, 0.7]])
    t = Transcript.from_rounds(h, [0, 1, 2, 2, 0], p, ["a", "a", "a", "b", "b"], GAME)
    assert t.rounds == 5
    assert [(b.rounds, b.phase) for b in t.blocks] == [(2, "a"), (1, "a"), (1, "b"), (1, "b")]
    assert t.phases == ["a", "a", "b", "b"]
    np.testing.assert_array_equal(t.strategies, h)
    np.testing.assert_array_equal(t.forecasts, p)
    np.testing.assert_array_equal(t.responses, [0, 1, 2, 2, 0])
    assert t.responses.dtype == np.int64
    assert t.compact_responses.dtype == np.uint8
    assert len(t.forecast_table if t.forecast_table is not None else []) == 3
    assert t.blocks[-1] == t.blocks[3]
    assert t.blocks[1:3] == [t.blocks[1], t.blocks[2]]
    with pytest.raises(ValueError, match="read-only"):
        t.compact_responses[0] = 1


@settings(max_examples=25, deadline=None)
@given(blocks=st.integers(1, 30), forecasts=st.booleans(), seed=st.integers(0, 99))
def test_a_file_gives_an_equal_transcript(
    tmp_path_factory: Any, blocks: int, forecasts: bool, seed: int
) -> None:
    path = tmp_path_factory.mktemp("t") / "t.parquet"
    t = sample(blocks, forecasts, seed)
    t.save(path)
    back = Transcript.load(path)
    assert back == t
    assert back.game == GAME
    for name, array in t._arrays().items():
        found = back._arrays()[name]
        assert (found is None) == (array is None)
        if array is not None:
            assert found is not None
            assert (found.dtype, found.tobytes()) == (array.dtype, array.tobytes())
            assert not found.flags.writeable


def test_equality_covers_everything() -> None:
    t = sample()
    assert t == sample()
    assert t != sample(seed=1)
    assert t != sample(forecasts=False)
    h, y, p = t.strategies, t.responses, t.forecasts
    assert Transcript.from_rounds(h, y, p, game=GAME) != t
    assert Transcript.from_rounds(h, y, p) != Transcript.from_rounds(h, y, p, game=GAME)
    assert t != "a transcript"


def test_play_is_saved_with_its_players(tmp_path: Path) -> None:
    principal = PhaseSwitch(GAME.principal_view, [[1, 0], [0, 1]], [40, 60])
    t = play(principal, Hedge(GAME.agent_view, seed=11), 100, GAME)
    t.save(tmp_path / "t.parquet")
    back = Transcript.load(tmp_path / "t.parquet")
    assert back == t
    assert back.metadata["agent"] == {"name": "Hedge", "seed": 11, "feedback": "strategy"}
    assert back.metadata["principal"]["rounds"] == [40, 60]
    assert back.metadata["versions"]["stackcast"] == sc.__version__
    assert back.fingerprint == GAME.fingerprint
    assert back.forecasts is None


def test_points_as_responses(tmp_path: Path) -> None:
    y = np.array([[0.1, 0.2, 0.3], [0.4, -0.5, 0.6]])
    t = Transcript.from_rounds([[1, 0], [0, 1]], y)
    np.testing.assert_array_equal(t.responses, y)
    t.save(tmp_path / "t.parquet")
    assert Transcript.load(tmp_path / "t.parquet") == t


def test_a_damaged_file_is_refused_in_one_sentence(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.parquet", tmp_path / "bad.parquet"
    t = sample(40)
    t.save(good)
    data = good.read_bytes()
    rng = stream(0, "test", "damage")
    damaged = [data[:n] for n in (0, 3, 4, 50, len(data) // 2, len(data) - 1)]
    damaged += [data + b"x", data[:100] + data[120:]]
    for _ in range(60):
        where = int(rng.integers(0, len(data)))
        damaged.append(
            data[:where] + bytes([data[where] ^ (1 << rng.integers(8))]) + data[where + 1 :]
        )
    refused = 0
    for content in damaged:
        bad.write_bytes(content)
        sentence = ""
        try:
            found = Transcript.load(bad)
        except sc.InputError as error:
            sentence = str(error)
        if not sentence:
            assert found == t
            continue
        refused += 1
        assert sentence.startswith(str(bad))
        assert "\n" not in sentence
    assert refused >= 30


def test_other_files_are_refused(tmp_path: Path) -> None:
    import polars as pl

    path = tmp_path / "x.parquet"
    with pytest.raises(sc.InputError, match="expected a saved transcript, found no readable file"):
        Transcript.load(path)
    path.write_text("round,response\n1,0\n")
    with pytest.raises(sc.InputError, match="found a file of another sort"):
        Transcript.load(path)
    pl.DataFrame({"a": [1]}).write_parquet(path)
    with pytest.raises(sc.InputError, match="a Parquet file that stackcast did not write"):
        Transcript.load(path)
    with pytest.raises(sc.InputError, match="expected a place that can be written to"):
        sample().save(tmp_path / "no" / "folder.parquet")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([[1, 0]], [0, 1]), "responses: expected 1 whole numbers, one a round"),
        (([[1, 0]], [3]), "responses: expected responses from 0 to 2, found 3"),
        (([[1, 0]], [-1]), "responses: expected responses from 0 to 2, found -1"),
        (([[1, 0]], [0.5]), "responses: expected 1 whole numbers"),
        (([[0.6, 0.6]], [0]), "strategies, row 1: expected a strategy that satisfies"),
        (([[1, 0]], [0], [[1, 0], [1, 0]]), "forecasts: expected 1×2 numbers"),
        (([[1, 0]], [0], None, ["a", "b"]), "phases: expected 1 labels"),
    ],
)
def test_rounds_that_do_not_fit(arguments: tuple[Any, ...], sentence: str) -> None:
    strategies, responses, forecasts, phases = [*arguments, None, None][:4]
    with pytest.raises(sc.InputError, match=sentence):
        Transcript.from_rounds(strategies, responses, forecasts, phases, GAME)


def test_a_transcript_as_a_frame_is_read_again_and_has_what_both_sides_earned(
    tmp_path: Path,
) -> None:
    pytest.importorskip("pandas")
    game = sc.load_game("inspection")
    agent = sc.agents.Calibrated(game.agent_view, seed=1)
    t = sc.play(sc.principals.UniformExplore(game.principal_view, horizon=300), agent, 300, game)
    frame = t.to_polars()
    assert frame["principal_utility"].sum() == pytest.approx(300 * sc.audit(t).average_utility)
    payoffs = game.agent_view.payoffs
    by_hand = np.einsum("tx,xt->t", t.strategies, payoffs[:, t.responses])
    np.testing.assert_allclose(frame["agent_utility"].to_numpy(), by_hand)
    frame.write_csv(tmp_path / "t.csv")
    again = sc.auditing.read_transcript(tmp_path / "t.csv", game)
    assert (again.responses == t.responses).all()
    np.testing.assert_array_equal(again.strategies, t.strategies)
    assert t.to_pandas().to_dict("list") == frame.to_dict(as_series=False)
    bare = sc.Transcript.from_rounds([[1, 0], [0, 1]], [0, 1]).to_polars()
    assert bare.columns == ["round", "phase", "strategy_1", "strategy_2", "response"]
    assert bare["response"].to_list() == [1, 2]


def test_utilities_of_a_continuous_game_are_those_of_the_audit() -> None:
    game = sc.games.strategic_score(sc.games.Ball(2), features=[0, 0], reference=[0.6, 0.8])
    t = sc.play(
        sc.principals.ResponseGradient(game.principal_view, epoch_rounds=5),
        sc.agents.ContinuousBestResponse(game.agent_view),
        60,
        game,
    )
    frame = t.to_polars()
    assert frame["principal_utility"].mean() == pytest.approx(sc.audit(t, game).average_utility)
    assert frame["agent_utility"][7] == pytest.approx(
        game.agent_view.utility(t.strategies[7], t.responses[7])
    )
