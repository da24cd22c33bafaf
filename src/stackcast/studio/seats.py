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
from stackcast._validation import InputError, shown, whole_number
from stackcast.games import game_from_table
from stackcast.protocol import Block, Recommendation
from stackcast.report import Played, write_play
from stackcast.studio import games, players
from stackcast.studio import messages as ms
from stackcast.studio.folder import file_name
from stackcast.studio.series import certificate

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
            return self._find(name).message()

    def move(self, name: str, move: ms.Move) -> ms.Seat:
        """Do what the person in the seat asks for."""
        with self._lock:
            seat = self._find(name)
            if seat.setup["kept"]:
                raise InputError("play", "a play that goes on", "one that was kept")
            if move.do == "keep":
                write_play(self.folder.at(name), seat.played())
                seat.setup["kept"] = True
            else:
                if move.seen is not None and move.seen != seat.round:
                    raise InputError(
                        "play",
                        f"a page that has seen round {seat.round}",
                        f"one at round {move.seen}: another window played on; reload",
                    )
                seat.setup["moves"].append(seat.do(move))
            self._keep(name, seat.setup)
            return seat.message()

    def reference(self, name: str) -> list[list[float]]:
        """Return what the learner earns on the same seed: (round, average)."""
        from stackcast.studio.worker import reference

        setup = self._setup(name)
        game = game_from_table(setup["table"])
        learner = players.players(game).principal
        rounds = min(2000, max(500, setup["rounds"]))
        return reference(game, learner, setup["agent"], rounds, setup["seed"], None)

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
            self._live[name] = made
        return self._live[name]


class PrincipalSeat:
    """A person commits; an agent answers, and forecasts the person."""

    def __init__(self, name: str, setup: dict[str, Any]) -> None:
        self.name, self.setup = name, setup
        self.game: Any = game_from_table(setup["table"])
        self.agent = players.agent(setup["agent"], self.game, setup["seed"], None)
        self.solution = sc.solve(self.game)
        self.blocks: list[tuple[Any, Any]] = []
        self.forecast_rows: list[Any] = []
        self.table: Any = None
        self.steps: list[ms.Step] = []
        self.round = 0
        self.most: float | None = None

    def do(self, move: ms.Move) -> dict[str, Any]:
        """Commit to a strategy for some rounds."""
        if move.do != "commit" or move.strategy is None:
            raise InputError("move", "a commitment", shown(move.do))
        rounds = whole_number("rounds", _whole(move.rounds), at_least=1)
        if rounds > _MOST_MOVE:
            raise InputError("rounds", f"at most {_MOST_MOVE:,} at once", f"{rounds:,}")
        given: Any = move.strategy
        strategy = self.game.space.check("strategy", given)
        found = self.agent.respond(Block(strategy, rounds, "yours"))
        responses = np.asarray(found.responses)
        if found.new_forecasts is not None:
            new = found.new_forecasts
            self.table = new if self.table is None else np.concatenate([self.table, new])
        if found.forecast_ids is not None:
            self.forecast_rows.append(self.table[np.asarray(found.forecast_ids)])
        earned = self.game.principal_view.utilities(strategy)[responses]
        self.blocks.append((strategy, responses))
        self.steps.append(
            ms.Step(
                first=self.round + 1,
                rounds=rounds,
                phase="yours",
                strategy=strategy.tolist(),
                answers=np.bincount(responses, minlength=self.game.shape[1]).tolist(),
                earned=float(earned.mean()),
            )
        )
        self.round += rounds
        self.most = certificate(self.transcript()) if self.forecast_rows else None
        return {"do": "commit", "strategy": strategy.tolist(), "rounds": rounds}

    def transcript(self) -> Any:
        """Return what was played."""
        strategies = np.concatenate([np.tile(h, (len(r), 1)) for h, r in self.blocks])
        responses = np.concatenate([r for _, r in self.blocks])
        forecasts = np.concatenate(self.forecast_rows) if self.forecast_rows else None
        return sc.Transcript.from_rounds(
            strategies, responses, forecasts, ["commit"] * len(responses), self.game
        )

    def played(self) -> Played:
        """Return the play as a report takes it."""
        if not self.blocks:
            raise InputError("play", "at least one round", "none")
        transcript = self.transcript()
        last, responses = self.blocks[-1]
        answer = int(np.argmax(np.bincount(responses)))
        value = float(self.game.principal_view.utilities(last)[answer])
        result = Recommendation(last, answer, value)
        return Played(
            self.game, transcript, sc.audit(transcript), self.solution, result, self.round
        )

    def message(self) -> ms.Seat:
        """Return what the person sees."""
        earned: list[list[float]] = []
        recent: list[int] = []
        if self.blocks:
            parts = [self.game.principal_view.utilities(h)[r] for h, r in self.blocks]
            averages = np.cumsum(np.concatenate(parts)) / np.arange(1, self.round + 1)
            at = np.unique(np.linspace(1, self.round, _POINTS).astype(int))
            earned = [[float(t), float(averages[t - 1])] for t in at]
            recent = np.concatenate([r for _, r in self.blocks])[-_RECENT:].tolist()
        rows = [row for part in self.forecast_rows[-3:] for row in part][-4 * _FORECASTS :: 4]
        table = games.table_of(self.game)
        return ms.Seat(
            name=self.name,
            mode="principal",
            table=table,
            see=games.see(table),
            rounds=self.round,
            kept=self.setup["kept"],
            value=games.number(self.solution.value),
            steps=self.steps,
            forecasts=[[float(p) for p in row] for row in rows],
            recent=recent,
            earned=earned,
            most=self.most,
        )


class AgentSeat:
    """A person answers visit by visit; a principal learns from the answers alone."""

    def __init__(self, name: str, setup: dict[str, Any]) -> None:
        self.name, self.setup = name, setup
        self.game: Any = game_from_table(setup["table"])
        self.principal = players.principal(
            setup["principal"], self.game, setup["rounds"], setup["seed"]
        )
        self.uniforms = stream(setup["seed"], "studio", "visits").random(setup["rounds"])
        self.visits: list[tuple[int, int]] = []
        self.blocks: list[tuple[Any, list[int]]] = []
        self.block = self.principal.commit()
        self.blocks.append((self.block, []))

    @property
    def round(self) -> int:
        """How many rounds were answered."""
        return len(self.visits)

    def do(self, move: ms.Move) -> dict[str, Any]:
        """Answer the next round, or some of them alike."""
        count = whole_number("rounds", _whole(move.rounds), at_least=1)
        k = self.game.shape[1]
        if move.do != "answer" or move.response is None or not 0 <= move.response < k:
            raise InputError(
                "answer", f"the number of an answer from 0 to {k - 1}", shown(move.response)
            )
        left = self.setup["rounds"] - self.round
        if not left:
            raise InputError("answer", "a play with rounds left", "one that is over")
        for _ in range(min(count, left, _MOST_MOVE)):
            u = self.uniforms[self.round]
            cumulative = np.cumsum(self.block.strategy)
            action = min(int(np.searchsorted(cumulative, u, side="right")), len(cumulative) - 1)
            self.visits.append((action, move.response))
            answers = self.blocks[-1][1]
            answers.append(move.response)
            if len(answers) == self.block.rounds and self.round < self.setup["rounds"]:
                self.principal.observe(np.array(answers, dtype=np.int64))
                self.block = self.principal.commit()
                self.blocks.append((self.block, []))
        return {"do": "answer", "response": move.response, "rounds": count}

    def _steps(self) -> list[ms.Step]:
        steps, first = [], 1
        for block, answers in self.blocks:
            if not answers:
                continue
            earned = self.game.principal_view.utilities(block.strategy)[answers]
            counts = np.bincount(answers, minlength=self.game.shape[1]).tolist()
            steps.append(
                ms.Step(
                    first=first,
                    rounds=len(answers),
                    phase=block.phase,
                    strategy=block.strategy.tolist(),
                    answers=counts,
                    earned=float(earned.mean()),
                )
            )
            first += len(answers)
        return steps

    def played(self) -> Played:
        """Return the play as a report takes it."""
        if not self.visits:
            raise InputError("play", "at least one answer", "none")
        held = [(block, answers) for block, answers in self.blocks if answers]
        transcript = sc.Transcript.from_rounds(
            np.concatenate([np.tile(b.strategy, (len(a), 1)) for b, a in held]),
            np.concatenate([a for _, a in held]),
            None,
            [b.phase for b, a in held for _ in a],
            self.game,
        )
        found, solution = sc.audit(transcript), sc.solve(self.game)
        return Played(self.game, transcript, found, solution, self.principal.result, self.round)

    def message(self) -> ms.Seat:
        """Return what the person sees: not the strategies, before the play is over."""
        kept = self.setup["kept"]
        table = games.table_of(self.game)
        view = self.game.agent_view
        recent = [action for action, _ in self.visits[-20:]]
        shares = np.bincount(recent, minlength=self.game.shape[0]) / max(1, len(recent))
        result = self.principal.result if kept else None
        payoffs = view.payoffs
        return ms.Seat(
            name=self.name,
            mode="agent",
            table=table,
            see=games.see(table) if kept else None,
            rounds=self.round,
            kept=kept,
            visits=[
                ms.Visit(action=x, response=y, earned=float(payoffs[x, y] + view.offsets[y]))
                for x, y in self.visits[-_RECENT:]
            ],
            left=self.setup["rounds"] - self.round,
            worth=view.utilities(shares).tolist(),
            steps=self._steps() if kept else [],
            believed=None if result is None else np.asarray(result.strategy).tolist(),
            believed_response=None if result is None else result.response,
            value=games.number(sc.solve(self.game).value) if kept else None,
        )


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value
