"""Plays with a person in one of the two seats.

What a person did is written to ``seat.json`` before it is acknowledged. A player is a function of
what it saw, so that a seat is brought back after a kill by playing the same moves again.
"""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

import stackcast as sc
from stackcast._random import stream
from stackcast._validation import InputError, shown
from stackcast.games import game_from_table
from stackcast.protocol import Block, Recommendation, Responses
from stackcast.report import Played, write_play
from stackcast.studio import games, players
from stackcast.studio import messages as ms
from stackcast.studio.folder import file_name
from stackcast.studio.series import STRETCHES, Series, certificate, reference

if TYPE_CHECKING:
    from stackcast.studio.folder import Folder

SEAT = "seat.json"
#: Rounds of one move, answers and forecasts shown, points of the score's line.
_MOST_MOVE, _RECENT, _FORECASTS, _POINTS = 1000, 40, 60, 300


class Seats:
    """The seats of a folder, the live ones kept in memory."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._live: dict[str, PrincipalSeat | AgentSeat] = {}
        self._lock = threading.Lock()

    def start(self, request: ms.NewPlay, game: Any) -> str:
        """Make the folder of a new seat and return its name."""
        if isinstance(game, sc.ContinuousGame):
            raise InputError("game", "a game with a list of answers", "a continuous one")
        stem = (game.name or request.game).rpartition("/")[2]
        name = self.folder.free(file_name(f"{stem}-you", ""))
        self.folder.at(name).mkdir()
        settings = request.model_dump(exclude={"feedback"})
        table = games.full_table(game)
        self._keep(name, {**settings, "table": table, "moves": [], "kept": False})
        return name

    def seat(self, name: str) -> ms.Seat:
        """Return a seat as the person in it may see it."""
        with self._lock:
            return self._find(name).shown()

    def move(self, name: str, move: ms.Move) -> ms.Seat:
        """Do what the person in the seat asks for."""
        with self._lock:
            seat = self._find(name)
            if seat.setup["kept"]:
                raise InputError("play", "a play that goes on", "one that was kept")
            if move.do == "keep":
                self._live.pop(name)  # should it fail, the moves on the disk bring it back
                write_play(self.folder.at(name), seat.played(seat.result()))
                seat.setup["kept"], self._live[name] = True, seat
            else:
                if move.seen is not None and move.seen != seat.round:
                    raise InputError(
                        "play",
                        f"a page that has seen round {seat.round}",
                        f"one at round {move.seen}: another window played on; reload",
                    )
                seat.setup["moves"].append(seat.do(move))
            self._keep(name, seat.setup)
            return seat.shown()

    def reference(self, name: str) -> list[list[float]]:
        """Return what the learner earns on the same seed: (round, average)."""
        setup = self._setup(name)
        game = game_from_table(setup["table"])
        learner, rounds = players.players(game).principal, min(2000, max(500, setup["rounds"]))
        return reference(game, setup | {"principal": learner, "rounds": rounds})

    def _keep(self, name: str, setup: dict[str, Any]) -> None:
        self.folder.write(f"{name}/{SEAT}", json.dumps(setup).encode())

    def _setup(self, name: str) -> dict[str, Any]:
        found = json.loads(self.folder.read(f"{name}/{SEAT}"))
        if not isinstance(found, dict):
            raise InputError(name, "a play as it was written", "something else")
        return found

    def _find(self, name: str) -> PrincipalSeat | AgentSeat:
        if name not in self._live:
            setup = self._setup(name)
            made = (PrincipalSeat if setup["mode"] == "principal" else AgentSeat)(name, setup)
            for move in setup["moves"]:
                made.do(ms.Move.model_validate(move))
            if setup["kept"]:
                made.result()
            self._live[name] = made
        return self._live[name]


class Seat:
    """A play with a person in one seat: what was played, and what it comes to."""

    def __init__(self, name: str, setup: dict[str, Any]) -> None:
        self.name, self.setup = name, setup
        self.game: Any = game_from_table(setup["table"])
        principal, agent = players.pair(self.game, setup)
        self.player = principal if setup["mode"] == "agent" else agent
        self.value = sc.solve(self.game).value
        self.series = Series(self.game, STRETCHES, certify=False)

    def add(self, block: Block, answers: Responses) -> None:
        """Take note of rounds that were played."""
        self.series.add(block, answers)

    def played(self, result: Recommendation) -> Played:
        """Return the play as a report takes it."""
        if not self.series.held:
            raise InputError("play", "at least one round", "none")
        transcript = self.series.transcript()
        found, solution = sc.audit(transcript), sc.solve(self.game)
        return Played(self.game, transcript, found, solution, result, self.series.round)

    def message(self, **more: Any) -> ms.Seat:
        """Return what both kinds of persons see."""
        table, kept = games.table_of(self.game), self.setup["kept"]
        shown = {"name": self.name, "mode": self.setup["mode"], "table": table, "kept": kept}
        return ms.Seat(**shown, **more)


class PrincipalSeat(Seat):
    """A person commits; an agent answers, and forecasts the person."""

    most: float | None = None

    @property
    def round(self) -> int:
        """How many rounds were played."""
        return self.series.round

    def do(self, move: ms.Move) -> dict[str, Any]:
        """Commit to a strategy for some rounds."""
        if move.do != "commit" or move.strategy is None:
            raise InputError("move", "a commitment", shown(move.do))
        rounds = games.whole("rounds", move.rounds, 1)
        if rounds > _MOST_MOVE:
            raise InputError("rounds", f"at most {_MOST_MOVE:,} at once", f"{rounds:,}")
        given: Any = move.strategy
        block = Block(self.game.space.check("strategy", given), rounds, "commit")
        self.add(block, self.player.respond(block))
        self.most = certificate(self.series.transcript()) if self.series.samples else None
        return {"do": "commit", "strategy": block.strategy.tolist(), "rounds": rounds}

    def result(self) -> Recommendation:
        """Return the last commitment and its usual answer."""
        if not self.series.held:
            raise InputError("play", "at least one round", "none")
        last, responses, _ = self.series.held[-1]
        answer = int(np.argmax(np.bincount(responses)))
        value = float(self.game.principal_view.utilities(last)[answer])
        return Recommendation(last, answer, value)

    def shown(self) -> ms.Seat:
        """Return what the person sees."""
        series = self.series
        points = [[float(s.end), s.average] for s in series.stretches]
        recent = [int(y) for _, responses, _ in series.held[-_RECENT:] for y in responses]
        return self.message(
            see=games.see(self.game),
            rounds=series.round,
            value=games.number(self.value),
            steps=series.steps,
            forecasts=series.samples[-4 * _FORECASTS :: 4],
            recent=recent[-_RECENT:],
            earned=points[:: max(1, len(points) // _POINTS)] + points[-1:],
            most=self.most,
        )


class AgentSeat(Seat):
    """A person answers visit by visit; a principal learns from the answers alone."""

    def __init__(self, name: str, setup: dict[str, Any]) -> None:
        super().__init__(name, setup)
        self.uniforms = stream(setup["seed"], "studio", "visits").random(setup["rounds"])
        self.visits: list[tuple[int, int]] = []
        self.block, self.answers = self.player.commit(), []  # type: ignore[var-annotated]

    @property
    def round(self) -> int:
        """How many rounds were answered."""
        return len(self.visits)

    def do(self, move: ms.Move) -> dict[str, Any]:
        """Answer the next round, or some of them alike."""
        count, k = games.whole("rounds", move.rounds, 1), self.game.shape[1]
        if move.do != "answer" or move.response is None or not 0 <= move.response < k:
            expected = f"the number of an answer from 0 to {k - 1}"
            raise InputError("answer", expected, shown(move.response))
        left = self.setup["rounds"] - self.round
        if not left:
            raise InputError("answer", "a play with rounds left", "one that is over")
        for _ in range(min(count, left, _MOST_MOVE)):
            cumulative = np.cumsum(self.block.strategy)
            action = int(np.searchsorted(cumulative, self.uniforms[self.round], side="right"))
            self.visits.append((min(action, len(cumulative) - 1), move.response))
            self.answers.append(move.response)
            if len(self.answers) == self.block.rounds and self.round < self.setup["rounds"]:
                self._close()
                self.player.observe(np.array(self.answers, dtype=np.int64))
                self.block, self.answers = self.player.commit(), []
        return {"do": "answer", "response": move.response, "rounds": count}

    def _close(self) -> None:
        """Take note of the answers to the block that is under way."""
        if self.answers:
            block = Block(self.block.strategy, len(self.answers), self.block.phase)
            self.add(block, Responses(np.array(self.answers, dtype=np.int64)))

    def result(self) -> Recommendation:
        """Return what the principal would commit to now; the play is over."""
        self._close()
        found: Recommendation = self.player.result
        return found

    def shown(self) -> ms.Seat:
        """Return what the person sees: not the strategies, before the play is over."""
        view, shape = self.game.agent_view, self.game.shape
        recent = [action for action, _ in self.visits[-20:]]
        shares = np.bincount(recent, minlength=shape[0]) / max(1, len(recent))
        made = self.message(
            see=None,
            rounds=self.round,
            visits=[
                ms.Visit(action=x, response=y, earned=float(view.payoffs[x, y] + view.offsets[y]))
                for x, y in self.visits[-_RECENT:]
            ],
            left=self.setup["rounds"] - self.round,
            worth=view.utilities(shares).tolist(),
        )
        if self.setup["kept"]:
            result = self.player.result
            made.see, made.steps = games.see(self.game), self.series.steps
            made.believed = np.asarray(result.strategy).tolist()
            made.believed_response, made.value = result.response, games.number(self.value)
        return made
