"""The plays of the folder: those that run in processes of their own, and those that are kept."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import sys
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

import stackcast as sc
from stackcast._validation import InputError
from stackcast.games import game_from_table
from stackcast.report import write_files
from stackcast.studio import games, players
from stackcast.studio import messages as ms
from stackcast.studio.folder import file_name
from stackcast.studio.seats import SEAT, Seats
from stackcast.studio.series import FORECASTS, Series, replay

#: What a play is to be, and where its checkpoint lies, as ``stackcast play`` names them.
SETTINGS, CHECKPOINT = "run.json", "run.ckpt"

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from stackcast.studio.folder import Folder

#: Plays that run at once.
_MOST = 4
_PATIENCE = 10.0


class Running:
    """A play in a process of its own, all that it said so far, and who listens."""

    def __init__(self, name: str, process: asyncio.subprocess.Process) -> None:
        self.name, self.process = name, process
        self.run = ms.Run(state="starting", round=0, rounds=0)
        self.listeners: set[asyncio.Queue[str | None]] = set()
        self.task = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            try:
                message = ms.Run.model_validate_json(line)
            except ValueError:
                continue
            self._take(message)
            self._tell(message)
        assert self.process.stderr is not None
        complaint = await self.process.stderr.read()
        await self.process.wait()
        if self.run.state not in ("kept", "failed", "stopping"):
            last = complaint.decode(errors="replace").strip().splitlines()[-1:] or ["it ended"]
            said = f"The play ended before it was over: {last[0][:300]}"
            message = ms.Run(state="failed", round=-1, rounds=0, sentence=said)
            self._take(message)
            self._tell(message)
        for queue in self.listeners:
            queue.put_nowait(None)

    def _take(self, message: ms.Run) -> None:
        run = self.run
        if message.round < 0:  # only the state is new
            message.round, message.rounds = run.round, run.rounds
            message.from_step = len(run.steps)
        elif not message.steps and message.from_step == 0 and run.steps:
            message.from_step = len(run.steps)
        run.state, run.round = message.state, message.round
        run.rounds = message.rounds or run.rounds
        run.stretches += message.stretches
        run.steps[message.from_step :] = message.steps
        run.forecasts = (run.forecasts + message.forecasts)[-FORECASTS:]
        run.reference = message.reference or run.reference
        run.words, run.sentence = message.words or run.words, message.sentence or run.sentence

    def _tell(self, message: ms.Run) -> None:
        text = message.model_dump_json()
        for queue in self.listeners:
            queue.put_nowait(text)

    async def send(self, move: ms.Move) -> None:
        """Pass a move on to the process."""
        if self.process.stdin is not None and self.process.returncode is None:
            with contextlib.suppress(ConnectionError):
                self.process.stdin.write(move.model_dump_json().encode() + b"\n")
                await self.process.stdin.drain()

    async def listen(self) -> AsyncIterator[str]:
        """Yield all so far as one message, then what is new, until the play is over."""
        queue: asyncio.Queue[str | None] = asyncio.Queue()
        self.listeners.add(queue)
        try:
            yield self.run.model_dump_json()
            while not self.task.done() or not queue.empty():
                try:
                    text = await asyncio.wait_for(queue.get(), 15)
                except TimeoutError:
                    yield ""  # keeps the connection
                    continue
                if text is None:
                    return
                yield text
        finally:
            self.listeners.discard(queue)


class Plays:
    """All plays of a folder: those that run, those with a person in a seat, those that are kept."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.seats = Seats(folder)
        self.running: dict[str, Running] = {}

    def listed(self) -> list[ms.PlayInfo]:
        """Return the plays, those that run first."""
        found = []
        for path in self.folder.folders():
            with contextlib.suppress(InputError, OSError, ValueError, KeyError, TypeError):
                found.append(self.info(path.name))
        order = {"running": 0, "paused": 0, "starting": 0, "stopped": 1}
        return sorted(found, key=lambda play: order.get(play.state, 2))

    def info(self, name: str) -> ms.PlayInfo:
        """Return what is known of a play."""
        place = self.folder.at(name)
        asked, seat, summary = (_json(place / f) for f in (SETTINGS, SEAT, "summary.json"))
        if not asked and not seat and not summary:
            raise InputError("play", "the folder of a play", name[:60])
        given, audit, live = seat or asked, summary.get("audit", {}), self._live(name)
        state: Any = "kept" if (seat.get("kept") if seat else summary and not asked) else "stopped"
        if live is not None and not seat:
            state = live.run.state
        bounds = audit.get("bounds", [])
        failed = sum(bound.get("holds") is False for bound in bounds)
        checks = f"{len(bounds)} consistency checks"
        holds = "The consistency check holds." if len(bounds) == 1 else f"All {checks} hold."
        verdict = f"{failed} of {checks} failed." if failed else holds

        def who(side: str) -> str:
            return str(given.get(side) or summary.get(side, {}).get("name", ""))

        return ms.PlayInfo(
            name=name,
            mode=seat.get("mode", "watch"),
            state=state,
            origin=given.get("origin", "file"),
            game=str(given.get("game") or summary.get("game") or ""),
            principal=who("principal"),
            agent=who("agent"),
            rounds=int(given.get("rounds") or summary.get("asked_rounds") or 0),
            seed=int(given.get("seed") or 0),
            played=summary.get("rounds"),
            earned=audit.get("average_utility"),
            value=audit.get("value"),
            verdict=verdict if bounds else "",
        )

    def _live(self, name: str) -> Running | None:
        running = self.running.get(name)
        return None if running is None or running.task.done() else running

    def shown(self, name: str) -> ms.Shown | ms.Seat:
        """Return a play with its game and, where it has a transcript, with all that happened."""
        info, place = self.info(name), self.folder.at(name)
        if info.mode != "watch":
            return self.seats.seat(name)
        asked, summary = _json(place / SETTINGS), _json(place / "summary.json")
        game: Any = game_from_table(asked["table"]) if "table" in asked else None
        run = None
        live = self._live(name) is not None and info.state not in ("kept", "failed")
        if not live and (place / "transcript.parquet").exists():
            record = sc.Transcript.load(place / "transcript.parquet")
            game = record.game or game
            if game is not None:
                series = Series(game, max(info.rounds, record.rounds))
                replay(record, series)
                run = series.news("kept" if info.state == "kept" else "paused")
        plain = game is not None and not isinstance(game, sc.ContinuousGame)
        return ms.Shown(
            info=info,
            table=games.table_of(game) if plain else None,
            see=games.see(game) if plain else None,
            value=None if game is None else games.number(sc.solve(game).value),
            run=run,
            words=[str(word) for word in summary.get("sentences", [])],
        )

    async def start(self, request: ms.NewPlay) -> ms.PlayInfo:
        """Start a play in a new folder, as ``stackcast play`` would name it, or a seat."""
        game = await run_in_threadpool(games.game_at, self.folder, request.origin, request.game)
        asked = await run_in_threadpool(players.checked, request, players.whole_game(game))
        if asked.mode != "watch":
            return self.info(await run_in_threadpool(self.seats.start, asked, game))
        self._room()
        stem = (game.name or asked.game).rpartition("/")[2]
        name = self.folder.free(f"{file_name(stem, '')}-{asked.seed}")
        settings = asked.model_dump(exclude={"mode", "origin"}) | {
            "game": asked.game if asked.origin == "catalogue" else game.name or asked.game,
            "margin": None,
            "table": games.full_table(game),
        }
        self.folder.at(name).mkdir()
        write_files(self.folder.at(name), {SETTINGS: json.dumps(settings, indent=2) + "\n"})
        await self._spawn(name)
        return self.info(name)

    def _room(self) -> None:
        if sum(self._live(name) is not None for name in self.running) >= _MOST:
            raise InputError("play", f"at most {_MOST} plays at once", f"{_MOST} that run")

    async def _spawn(self, name: str) -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "stackcast.studio.worker",
            str(self.folder.at(name)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            limit=32_000_000,
        )
        self.running[name] = Running(name, process)

    async def move(self, name: str, request: ms.Move) -> ms.PlayInfo | ms.Seat:
        """Do in a play what the person asks for; ``go`` brings a stopped one back."""
        running = self.running.get(name)
        if running is not None and running.run.state in ("kept", "failed"):
            await running.task  # its last files are written; the process is about to end
        info, live = self.info(name), self._live(name)
        if info.mode != "watch":
            return await run_in_threadpool(self.seats.move, name, request)
        if live is not None:
            await live.send(request)
            return self.info(name)
        if request.do != "go" or not (self.folder.at(name) / SETTINGS).exists():
            raise InputError("play", "a play that runs", f"one that is {info.state}")
        self._room()
        await self._spawn(name)
        return self.info(name)

    async def remove(self, name: str) -> ms.Done:
        """Delete a play that does not run, and its folder."""
        self.info(name)
        if self._live(name) is not None:
            raise InputError("play", "a play that is stopped", "one that runs")
        await run_in_threadpool(shutil.rmtree, self.folder.at(name))
        return ms.Done(words=f"Deleted {name}.")

    async def close(self) -> None:
        """End all that runs; the checkpoints stay."""
        alive = [play for play in self.running.values() if play.process.returncode is None]
        for play in alive:
            if play.process.stdin is not None:
                play.process.stdin.close()
        for play in alive:
            try:
                await asyncio.wait_for(play.process.wait(), _PATIENCE)
            except TimeoutError:
                play.process.kill()
        for play in self.running.values():
            play.task.cancel()


def players_of(folder: Folder, origin: str, name: str) -> ms.Players:
    """Return who can play a game."""
    return players.players(players.whole_game(games.game_at(folder, origin, name)))


def _json(path: Any) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
