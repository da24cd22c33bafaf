"""Checkpoints: a run that is killed at any moment ends as if it had not been."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import stackcast as sc
from stackcast.agents import Hedge
from stackcast.principals import Fixed, PhaseSwitch
from stackcast.protocol import Block, Responses, Transcript, play

GAME = sc.FiniteGame([[0.5, 0, 0], [0.5, 0, 1]], [[0.55, 0, 0.5], [0, 1, 0.5]])
FIRST, SECOND = [0.8, 0.2], [0.1, 0.9]


class StoppedError(Exception):
    """What stands for the end of a process inside of one."""


class StopsAfter(Hedge):
    """Hedge, until a number of rounds is reached."""

    limit = 10**9

    @property
    def settings(self) -> dict[str, Any]:
        return {**super().settings, "name": "Hedge"}

    def respond(self, block: Block) -> Responses:
        if self._played + block.rounds > self.limit:
            raise StoppedError
        return super().respond(block)


def principal() -> PhaseSwitch:
    return PhaseSwitch(GAME.principal_view, [FIRST, SECOND, FIRST], [1, 700, 1299])


def run(path: Path | None, limit: int = 10**9, seed: int = 3, rounds: int = 2000) -> Transcript:
    agent = StopsAfter(GAME.agent_view, seed=seed)
    agent.limit = limit
    return play(principal(), agent, rounds, GAME, checkpoint=path, every=50)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize("kills", [4, pytest.param(300, marks=pytest.mark.slow)])
def test_killed_runs_end_as_if_nothing_had_happened(tmp_path: Path, kills: int) -> None:
    program = Path(__file__).with_name("killed_runs.py")
    source = str(Path(sc.__file__).parents[1])
    outcome = subprocess.run(
        [sys.executable, str(program), str(tmp_path), str(kills), "5"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": source},
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr
    report = json.loads(outcome.stdout)
    assert report["kills"] == kills
    assert report["ends"] >= 3
    assert report["wrong"] == 0
    assert report["resumed"] >= kills // 4


def test_a_stop_anywhere_is_survived(tmp_path: Path) -> None:
    whole = run(None)
    for n, limit in enumerate([1, 50, 51, 700, 702, 1999]):
        path = tmp_path / f"{n}.ckpt"
        with pytest.raises(StoppedError):
            run(path, limit)
        assert run(path) == whole


def test_many_stops_in_one_run(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    for limit in range(60, 2000, 170):
        with pytest.raises(StoppedError):
            run(path, limit)
    assert run(path) == run(None)


def test_a_finished_run_is_given_back_without_playing(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    whole = run(path)
    before = path.read_bytes(), path.with_name("run.ckpt.rounds").read_bytes()
    assert run(path, limit=0) == whole
    assert (path.read_bytes(), path.with_name("run.ckpt.rounds").read_bytes()) == before


def test_checkpoints_cost_what_is_new(tmp_path: Path) -> None:
    sizes = []
    for rounds in (20_000, 40_000):
        path = tmp_path / f"{rounds}.ckpt"
        agent = Hedge(GAME.agent_view)
        play(Fixed(GAME.principal_view, FIRST), agent, rounds, checkpoint=path, every=500)
        sizes.append(path.with_name(path.name + ".rounds").stat().st_size)
    assert sizes[1] <= 2.05 * sizes[0]
    assert sizes[1] < 1_500 * 80


def test_without_every_the_clock_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stackcast.protocol.playing._SECONDS", 0.0)
    path = tmp_path / "run.ckpt"
    agent = StopsAfter(GAME.agent_view, seed=3)
    agent.limit = 1500
    with pytest.raises(StoppedError):
        play(principal(), agent, 2000, GAME, checkpoint=path)
    assert path.exists()
    other = StopsAfter(GAME.agent_view, seed=3)
    assert play(principal(), other, 2000, GAME, checkpoint=path) == run(None)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"seed": 4}, 'expected a run with agent {"name": "Hedge", "seed": 4'),
        ({"rounds": 1999}, "expected a run with rounds 1999, found rounds 2000"),
    ],
)
def test_another_run_is_refused(tmp_path: Path, change: dict[str, Any], sentence: str) -> None:
    path = tmp_path / "run.ckpt"
    with pytest.raises(StoppedError):
        run(path, 1000)
    with pytest.raises(sc.InputError, match=sentence):
        run(path, **change)


def test_a_checkpoint_of_other_versions_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.ckpt"
    run(path)
    monkeypatch.setattr(sc, "__version__", "99")
    with pytest.raises(sc.InputError, match=r'expected a run with versions {"stackcast": "99"'):
        run(path)


def test_damaged_checkpoints_are_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    rounds = path.with_name("run.ckpt.rounds")
    with pytest.raises(StoppedError):
        run(path, 1000)
    good, good_rounds = path.read_bytes(), rounds.read_bytes()
    for damaged, damaged_rounds, sentence in (
        (good[:-1], good_rounds, "cut or altered"),
        (b"", good_rounds, "a file of another sort"),
        (good, good_rounds[:-1], "bytes of rounds"),
        (good, b"", "bytes of rounds"),
        (good, good_rounds[:300] + b"x" + good_rounds[301:], "cut or altered"),
        (good, b"\xff" * 8 + good_rounds[8:], "cut or altered"),
    ):
        path.write_bytes(damaged)
        rounds.write_bytes(damaged_rounds)
        with pytest.raises(sc.InputError, match=sentence):
            run(path)


def test_what_was_half_written_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    with pytest.raises(StoppedError):
        run(path, 1000)
    with path.with_name("run.ckpt.rounds").open("ab") as file:
        file.write(b"half a part")
    (tmp_path / ".run.ckpt.0123456789abcdef.tmp").write_bytes(b"half a file")
    assert run(path) == run(None)
    assert run(path) == run(None)  # read once more what was written over it
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run.ckpt", "run.ckpt.rounds"]


def test_two_runs_cannot_share_a_checkpoint(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    path = tmp_path / "run.ckpt"

    class Nested(Hedge):
        def respond(self, block: Block) -> Responses:
            run(path)
            return super().respond(block)

    with pytest.raises(sc.InputError, match="a checkpoint of no other run, found one in use"):
        play(principal(), Nested(GAME.agent_view), 100, checkpoint=path)


def test_a_place_that_cannot_be_written_to(tmp_path: Path) -> None:
    with pytest.raises(sc.InputError, match="a place for a checkpoint that can be written to"):
        run(tmp_path / "no" / "run.ckpt")
