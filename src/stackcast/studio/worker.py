"""The process of one play: it plays, tells the server what happened, and is told what to do.

``python -m stackcast.studio.worker FOLDER`` plays what FOLDER/run.json asks for, as ``stackcast
play`` does: with a checkpoint that survives a kill, and the same files at the end. Lines on
standard input are moves (go, pause, step, speed, stop), lines on standard output what is new. When
the input ends, because the server did, the play stops at its next block and keeps its checkpoint.
"""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import stackcast as sc
from stackcast._validation import InputError
from stackcast.games import game_from_table
from stackcast.report import Played, remove_files, write_play
from stackcast.studio import messages as ms
from stackcast.studio import players
from stackcast.studio.plays import CHECKPOINT, SETTINGS
from stackcast.studio.series import Series, reference, replay

if TYPE_CHECKING:
    from stackcast.protocol import Block, Responses

_PAUSE = 0.1


class Control:
    """What the person wants: read from standard input in a thread of its own."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.speed: float | None = None
        self.paused = self.stopped = self.gone = False
        self.steps = 0

    def listen(self) -> None:
        """Follow the lines of standard input until it ends."""
        for line in sys.stdin:
            move = ms.Move.model_validate_json(line)
            with self.changed:
                if move.do == "go":
                    self.paused = False
                elif move.do == "pause":
                    self.paused = True
                elif move.do == "step":
                    self.paused, self.steps = True, self.steps + 1
                elif move.do == "speed":
                    self.speed = move.speed
                elif move.do == "stop":
                    self.stopped = True
                self.changed.notify_all()
        with self.changed:
            self.stopped = self.gone = True
            self.changed.notify_all()

    def wait(self, rounds: int) -> bool:
        """Wait as long as the speed asks for after so many rounds; return whether to stop."""
        begin = time.monotonic()
        with self.changed:
            while not self.stopped:
                if self.paused:
                    if self.steps:
                        self.steps -= 1
                        return False
                    say(ms.Run(state="paused", round=-1, rounds=0))
                    self.changed.wait()
                    begin = time.monotonic()
                    continue
                left = rounds / self.speed - (time.monotonic() - begin) if self.speed else 0.0
                if left <= 0:
                    return False
                self.changed.wait(left)
            return True


def say(message: ms.Run) -> None:
    """Tell the server."""
    print(message.model_dump_json(), flush=True)


def main(folder: Path) -> None:
    """Play what the folder asks for."""
    control = Control()
    threading.Thread(target=control.listen, daemon=True).start()
    run = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
    control.speed, control.paused = run.get("speed"), bool(run.get("paused"))
    game = game_from_table(run["table"])
    rounds, seed = run["rounds"], run["seed"]
    say(ms.Run(state="starting", round=0, rounds=rounds))
    series = Series(game, rounds)

    if (folder / CHECKPOINT).exists():
        pair = players.pair(game, run)
        before = sc.play(*pair, rounds, game, checkpoint=folder / CHECKPOINT, watch=_at_once)
        replay(before, series)
    solution = sc.solve(game)
    last_said = 0.0

    def watch(block: Block, answers: Responses) -> bool:
        nonlocal last_said
        series.add(block, answers)
        now = time.monotonic()
        if control.speed or control.paused or now - last_said > _PAUSE:
            last_said = now
            say(series.news("paused" if control.paused else "running"))
        return control.wait(len(answers.responses))

    principal, agent = players.pair(game, run)
    say(series.news("running"))
    if points := told(game, run):
        say(ms.Run(state="running", round=series.round, rounds=rounds, reference=points))
    transcript = sc.play(
        principal, agent, rounds, game, checkpoint=folder / CHECKPOINT, watch=watch
    )
    say(series.news("stopping"))
    if control.gone:
        return
    command = f"stackcast play {run['game']} --principal {run['principal']} --agent {run['agent']} "
    command += f"--rounds {rounds} --seed {seed} --out {folder.name}"
    found = sc.audit(transcript)
    played = Played(game, transcript, found, solution, principal.result, rounds, command)
    write_play(folder, played)
    if played.complete:
        for name in (CHECKPOINT, f"{CHECKPOINT}.rounds"):
            (folder / name).unlink(missing_ok=True)
        remove_files(folder, [SETTINGS])
    say(ms.Run(state="kept", round=series.round, rounds=rounds, words=played.sentences()))


def _at_once(_block: Block, _answers: Responses) -> bool:
    return True


def told(game: Any, run: dict[str, Any]) -> list[list[float]]:
    """Return what one earns who is told the agent's payoffs, on the same seed."""
    if isinstance(game, sc.ContinuousGame) or "Oracle" not in players.players(game).principals:
        return []
    margin = min(0.15, 0.3 * run["rounds"] ** (-1 / 3))
    for part in (margin, margin / 4, margin / 16, 0.0):
        with contextlib.suppress(InputError):  # a game may not allow so wide a margin
            return reference(game, run | {"principal": "Oracle"}, part)
    return []


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except InputError as error:
        say(ms.Run(state="failed", round=0, rounds=0, sentence=str(error)))
        sys.exit(2)
