"""Play: blocks are bookkeeping, views are kept apart, bad players are named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stackcast as sc
from stackcast import agents
from stackcast._random import stream
from stackcast.agents import BestResponse, Calibrated, Hedge
from stackcast.principals import Fixed, PhaseSwitch, Replay
from stackcast.protocol import Agent, Block, Recommendation, Responses, Transcript, play

GAME = sc.FiniteGame(
    [[0.2, 0.9, 0.1], [0.7, 0.3, 0.5], [0.4, 0.8, 0.6]],
    [[0.9, 0.1, 0.4], [0.2, 0.8, 0.5], [0.3, 0.4, 0.9]],
)
PHASE: Any = 3
OTHER = sc.FiniteGame(GAME.principal_payoffs, GAME.agent_payoffs, agent_actions=["a", "b", "c"])


class Chopper(Replay):
    """Plays a sequence in blocks of at most so many rounds, and keeps what it observes."""

    def __init__(self, strategies: Any, longest: int) -> None:
        super().__init__(GAME.principal_view, strategies)
        self.longest = longest
        self.seen: list[Any] = []

    def commit(self) -> Block:
        block = super().commit()
        return Block(block.strategy, min(block.rounds, self.longest), block.phase)

    def observe(self, responses: Any) -> None:
        assert not responses.flags.writeable
        self.seen.append(responses)
        super().observe(responses)


def sequence(rounds: int = 600) -> Any:
    rng = stream(0, "test", "sequence")
    lengths = rng.integers(1, 40, rounds)
    return np.repeat(rng.dirichlet(np.ones(3), rounds), lengths, axis=0)[:rounds]


def same_rounds(a: Transcript, b: Transcript) -> bool:
    if a.forecasts is None or b.forecasts is None:
        forecasts = a.forecasts is b.forecasts
    else:
        forecasts = np.array_equal(a.forecasts, b.forecasts)
    same = np.array_equal(a.strategies, b.strategies) and np.array_equal(a.responses, b.responses)
    return same and forecasts


@pytest.mark.parametrize("name", agents.names("finite"))
def test_one_by_one_play_is_blocked_play(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    h = sequence()
    whole = play(Chopper(h, 10**6), agents.find(name)(GAME.agent_view, seed=1), 600)
    single = play(Chopper(h, 1), agents.find(name)(GAME.agent_view, seed=1), 600)
    assert len(single.blocks) == 600
    assert same_rounds(whole, single)
    # Where a long block is cut is no part of the play either.
    monkeypatch.setattr("stackcast.protocol.playing.LONGEST_BLOCK", 7)
    assert play(Chopper(h, 10**6), agents.find(name)(GAME.agent_view, seed=1), 600) == whole


def test_the_principal_observes_what_was_played() -> None:
    principal = Chopper(sequence(), 50)
    t = play(principal, Hedge(GAME.agent_view), 333)
    assert t.rounds == 333
    assert sum(block.rounds for block in t.blocks) == 333
    np.testing.assert_array_equal(np.concatenate(principal.seen), t.responses)
    assert [len(seen) for seen in principal.seen] == [block.rounds for block in t.blocks]
    assert principal.result.response is not None


def test_a_block_without_end_is_cut() -> None:
    t = play(Fixed(GAME.principal_view, [0, 0, 1]), BestResponse(GAME.agent_view), 1000, GAME)
    assert [(b.rounds, b.phase) for b in t.blocks] == [(1000, "commit")]
    assert set(t.responses.tolist()) == {2}
    assert t.game == GAME


def test_labels_and_forecasts_are_kept() -> None:
    principal = PhaseSwitch(GAME.principal_view, [[1, 0, 0], [0, 1, 0]], [30, 70])
    t = play(principal, Calibrated(GAME.agent_view, seed=2), 100)
    assert t.phases == ["phase 1", "phase 2"]
    assert t.forecasts is not None
    assert t.forecasts.shape == (100, 3)
    np.testing.assert_array_equal(t.responses, GAME.agent_view.respond(t.forecasts))
    again = PhaseSwitch(GAME.principal_view, [[1, 0, 0], [0, 1, 0]], [30, 70])
    without = play(again, Calibrated(GAME.agent_view, seed=2), 100, forecasts=False)
    assert without.forecasts is None
    np.testing.assert_array_equal(without.responses, t.responses)


@pytest.mark.parametrize(
    ("principal", "agent", "game", "sentence"),
    [
        (GAME, OTHER, None, "agent: expected a player of the principal's game"),
        (GAME, GAME, OTHER, "principal: expected a player of the game given"),
        (OTHER, GAME, OTHER, "agent: expected a player of the game given"),
    ],
)
def test_players_of_other_games_are_refused(
    principal: sc.FiniteGame, agent: sc.FiniteGame, game: sc.FiniteGame | None, sentence: str
) -> None:
    with pytest.raises(sc.InputError, match=sentence):
        play(Fixed(principal.principal_view, [1, 0, 0]), Hedge(agent.agent_view), 10, game)


class Says(Hedge):
    """An agent that gives prepared answers."""

    answers: Any = None

    def respond(self, block: Block) -> Responses:
        return self.answers


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        ([0, 1], "agent: expected Responses from respond\\(\\), found"),
        (Responses(np.array([0])), "agent's responses: expected 2 whole numbers, one a round"),
        (Responses(np.array([0, 3])), "agent's responses: expected responses from 0 to 2, found 3"),
        (Responses(np.array([-1, 0])), "agent's responses: expected responses from 0 to 2"),
        (Responses(np.array([0.0, 1.0])), "agent's responses: expected 2 whole numbers"),
        (
            Responses(np.array([0, 1]), np.array([0, 1]), np.eye(3)[:1]),
            "agent's forecast ids: expected numbers of the 1 forecasts made so far, found 0 to 1",
        ),
        (
            Responses(np.array([0, 1]), np.array([0]), np.eye(3)[:1]),
            "agent's forecast ids: expected 2 whole numbers",
        ),
        (
            Responses(np.array([0, 1]), np.array([0, 0]), np.eye(2)),
            "agent's new forecasts: expected rows of 3 numbers",
        ),
    ],
)
def test_bad_answers_are_named(answers: Any, sentence: str) -> None:
    agent = Says(GAME.agent_view)
    agent.answers = answers
    with pytest.raises(sc.InputError, match=sentence):
        play(Fixed(GAME.principal_view, [1, 0, 0]), agent, 2)


class Commits(Fixed):
    """A principal that commits to something prepared."""

    what: Any = None

    def commit(self) -> Block:
        return self.what


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ([1, 0, 0], "principal: expected a Block from commit"),
        (Block([0.5, 0.6, 0.0]), "principal's strategy: expected probabilities that sum to 1"),
        (Block([0.5, 0.5]), "principal's strategy: expected 3 numbers"),
    ],
)
def test_bad_commitments_are_named(what: Any, sentence: str) -> None:
    principal = Commits(GAME.principal_view, [1, 0, 0])
    principal.what = what
    with pytest.raises(sc.InputError, match=sentence):
        play(principal, Hedge(GAME.agent_view), 2)


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: Block([0.5, float("nan")]), "strategy, entry 2: expected a finite number"),
        (lambda: Block([1.0], 0), "rounds: expected a whole number of at least 1, found 0"),
        (lambda: Block([1.0], 1, PHASE), "phase: expected a text"),
        (lambda: Fixed(GAME.principal_view, [1, 1, 1]), "strategy: expected probabilities"),
        (lambda: PhaseSwitch(GAME.principal_view, [[1, 0, 0]], [1, 2]), "rounds: expected 1"),
        (lambda: PhaseSwitch(GAME.principal_view, [], []), "strategies: expected at least one"),
        (lambda: Replay(GAME.principal_view, [[1, 0]]), "strategies: expected rows of 3 numbers"),
        (lambda: Replay(GAME.principal_view, [[1, 0, 0], [1, 1, 0]]), "strategies, row 2"),
        (
            lambda: play(Fixed(GAME.principal_view, [1, 0, 0]), Hedge(GAME.agent_view), 0),
            "rounds: expected a whole number of at least 1, found 0",
        ),
        (
            lambda: play(Replay(GAME.principal_view, [[1, 0, 0]]), Hedge(GAME.agent_view), 2),
            "rounds: expected at most 1, as long as the script, found more",
        ),
    ],
)
def test_bad_input(build: Any, sentence: str) -> None:
    with pytest.raises(sc.InputError, match=sentence):
        build()


class Points(Agent):
    """An agent of a continuous game: it answers with points."""

    def respond(self, block: Block) -> Responses:
        return Responses(np.tile([0.25, -0.5], (block.rounds, 1)))


def test_responses_may_be_points(tmp_path: Path) -> None:
    t = play(
        Fixed(GAME.principal_view, [1, 0, 0]),
        Points(GAME.agent_view),
        5,
        checkpoint=tmp_path / "c",
        every=2,
    )
    np.testing.assert_array_equal(t.responses, np.tile([0.25, -0.5], (5, 1)))


def test_recommendations_start_without_an_answer() -> None:
    principal = Fixed(GAME.principal_view, [0, 0, 1])
    assert isinstance(principal.result, Recommendation)
    before = principal.result
    assert before.response is None
    assert np.isnan(before.value)
    play(principal, BestResponse(GAME.agent_view), 10)
    assert principal.result.response == 2
    assert principal.result.value == 0.6


@pytest.mark.slow
def test_ten_million_rounds_in_well_under_a_gigabyte(tmp_path: Path) -> None:
    program = """
import resource, sys
import numpy as np
import stackcast as sc
from stackcast.protocol import Block, Responses, Transcript, play
from stackcast.agents import Hedge
from stackcast.principals import Replay, PhaseSwitch
game = sc.FiniteGame(np.eye(3), np.eye(3))
class Forecasting(Hedge):
    made = 0
    def respond(self, block):
        y = super().respond(block).responses
        new = np.eye(3)[:1] if self.made < 50_000 else np.empty((0, 3))
        self.made += len(new)
        return Responses(y, np.full(len(y), self.made - 1), new)
h = np.random.default_rng(0).dirichlet(np.ones(3), 100_000)
principal = PhaseSwitch(game.principal_view, list(h), [100] * 100_000)
agent = Forecasting(game.agent_view)
t = play(principal, agent, 10_000_000, game, checkpoint=sys.argv[1] + ".ckpt")
t.save(sys.argv[1])
assert Transcript.load(sys.argv[1]) == t
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""
    source = str(Path(sc.__file__).parents[1])
    outcome = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "t.parquet")],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": source, "PATH": ""},
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr
    assert int(outcome.stdout) < 700


def test_a_watcher_sees_every_round_and_may_end_the_run(tmp_path: Path) -> None:
    """What it ends is a beginning of the whole run, and the checkpoint goes on from there."""

    def players() -> tuple[Any, Any]:
        principal = PhaseSwitch(
            GAME.principal_view, [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [3000, 1500, 3500]
        )
        return principal, Hedge(GAME.agent_view, seed=2)

    seen: list[int] = []

    def watch(block: Block, answers: Responses) -> bool:
        seen.append(block.rounds)
        assert len(answers.responses) == block.rounds
        return sum(seen) >= 4000

    whole = play(*players(), 8000, GAME)
    part = play(*players(), 8000, GAME, checkpoint=tmp_path / "c", watch=watch)
    assert part.rounds == sum(seen) < 8000
    np.testing.assert_array_equal(part.responses, whole.responses[: part.rounds])
    assert play(*players(), 8000, GAME, checkpoint=tmp_path / "c") == whole
