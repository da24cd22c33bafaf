"""The plays of the folder: those that run in processes of their own, and those that are kept."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import sys
from typing import TYPE_CHECKING, Any

import stackcast as sc
from stackcast._validation import InputError
from stackcast.games import game_from_table
from stackcast.report import write_files
from stackcast.studio import games
from stackcast.studio import messages as ms
from stackcast.studio.folder import file_name
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
        complaint = b""
        while line := await self.process.stdout.readline():
            try:
                message = ms.Run.model_validate_json(line)
            except ValueError:
                continue
            self._take(message)
            self._tell(message)
        if self.process.stderr is not None:
            complaint = await self.process.stderr.read()
        await self.process.wait()
        if self.run.state not in ("kept", "failed", "stopping"):
            last = complaint.decode(errors="replace").strip().splitlines()[-1:] or ["it ended"]
            self.run.state = "failed"
            self.run.sentence = f"The play ended before it was over: {last[0][:300]}"
            self._tell(
                ms.Run(
                    **{
                        **self.run.model_dump(),
                        "stretches": [],
                        "steps": [],
                        "from_step": len(self.run.steps),
                    }
                )
            )
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
    """All plays of a folder."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
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
        asked = _json(place / SETTINGS)
        seat = _json(place / "seat.json")
        summary = _json(place / "summary.json")
        if not asked and not seat and not summary:
            raise InputError("play", "the folder of a play", name[:60])
        running = self.running.get(name)
        given = seat or asked
        audit = summary.get("audit", {})
        state: Any = "kept" if summary and not asked else "stopped"
        if running is not None and not running.task.done():
            state = running.run.state
        if seat:
            state = "kept" if seat.get("kept") else "stopped"
        bounds = audit.get("bounds", [])
        failed = sum(bound.get("holds") is False for bound in bounds)
        verdict = ""
        if bounds:
            many = (
                "The consistency check holds."
                if len(bounds) == 1
                else f"All {len(bounds)} consistency checks hold."
            )
            verdict = f"{failed} of {len(bounds)} consistency checks failed." if failed else many
        return ms.PlayInfo(
            name=name,
            mode=seat.get("mode", "watch"),
            state=state,
            origin=given.get("origin", "file"),
            game=str(given.get("game") or summary.get("game") or ""),
            principal=str(given.get("principal") or summary.get("principal", {}).get("name", "")),
            agent=str(given.get("agent") or summary.get("agent", {}).get("name", "")),
            rounds=int(given.get("rounds") or summary.get("asked_rounds") or 0),
            seed=int(given.get("seed") or 0),
            played=summary.get("rounds"),
            earned=audit.get("average_utility"),
            value=audit.get("value"),
            verdict=verdict,
        )

    def shown(self, name: str) -> ms.Shown:
        """Return a play with its game and, where it has a transcript, with all that happened."""
        info = self.info(name)
        place = self.folder.at(name)
        asked, summary = _json(place / SETTINGS), _json(place / "summary.json")
        game: Any = None
        run = None
        running = self.running.get(name)
        live = running is not None and not running.task.done()
        live = live and info.state not in ("kept", "failed")
        if "table" in asked:
            game = game_from_table(asked["table"])
        if not live and (place / "transcript.parquet").exists():
            record = sc.Transcript.load(place / "transcript.parquet")
            game = record.game or game
            if game is not None:
                series = Series(game, max(info.rounds, record.rounds))
                replay(record, series)
                run = series.news("kept" if info.state == "kept" else "paused")
        plain = game is not None and not isinstance(game, sc.ContinuousGame)
        table: Any = games.table_of(game) if plain else None
        return ms.Shown(
            info=info,
            table=table,
            see=games.see(table) if plain else None,
            value=games.number(sc.solve(game).value) if game is not None else None,
            run=run,
            words=[str(word) for word in summary.get("sentences", [])],
        )

    async def start(self, request: ms.NewPlay, game: Any) -> ms.PlayInfo:
        """Start a play in a new folder, as ``stackcast play`` would name it."""
        self._room()
        stem = (game.name or request.game).rpartition("/")[2]
        name = self.folder.free(f"{file_name(stem, '')}-{request.seed}")
        place = self.folder.at(name)
        place.mkdir()
        settings = {
            "game": request.game if request.origin == "catalogue" else game.name or request.game,
            "principal": request.principal,
            "agent": request.agent,
            "rounds": request.rounds,
            "seed": request.seed,
            "feedback": request.feedback,
            "margin": None,
            "table": games.full_table(game),
        }
        write_files(place, {SETTINGS: json.dumps(settings, indent=2) + "\n"})
        await self._spawn(name)
        return self.info(name)

    def _room(self) -> None:
        if sum(not play.task.done() for play in self.running.values()) >= _MOST:
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

    async def move(self, name: str, move: ms.Move) -> ms.PlayInfo:
        """Do in a play what the person asks for; ``go`` brings a stopped one back."""
        running = self.running.get(name)
        if running is not None and running.run.state in ("kept", "failed"):
            await running.task  # its last files are written; the process is about to end
        info = self.info(name)
        if running is None or running.task.done():
            if move.do != "go" or not (self.folder.at(name) / SETTINGS).exists():
                raise InputError("play", "a play that runs", f"one that is {info.state}")
            self._room()
            await self._spawn(name)
        else:
            await running.send(move)
        return self.info(name)

    def remove(self, name: str) -> None:
        """Delete a play that does not run, and its folder."""
        self.info(name)
        if name in self.running and not self.running[name].task.done():
            raise InputError("play", "a play that is stopped", "one that runs")
        shutil.rmtree(self.folder.at(name))

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


def _json(path: Any) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
