"""The server of the studio: its addresses, and how it is started and ended."""

from __future__ import annotations

import asyncio
import contextlib
import json
import mimetypes
import secrets
import socket
import sys
import threading
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from stackcast._validation import InputError
from stackcast.games import load_game
from stackcast.studio import campaigns, forecasts, games, players, plays, reports, seats
from stackcast.studio import messages as ms
from stackcast.studio.folder import Folder, file_name
from stackcast.studio.guard import MOST_UPLOAD, Guard, TooMuchError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.requests import Request

    Handler = Callable[[Request], Awaitable[Response]]

PAGE = Path(__file__).parent / "page"
_SECONDS = 3


def reply(value: Any, status: int = 200) -> Response:
    """Return messages as JSON."""
    if isinstance(value, BaseModel):
        content = value.model_dump_json()
    else:
        content = TypeAdapter(Any).dump_json(value).decode()
    return Response(content, status, media_type="application/json")


def download(content: bytes, name: str) -> Response:
    """Return a file to keep."""
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in name)
    headers = {"content-disposition": f'attachment; filename="{safe}"'}
    return Response(content, media_type=kind, headers=headers)


class Studio:
    """All addresses of the studio on one folder."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.plays = plays.Plays(folder)
        self.seats = seats.Seats(folder)

    def app(self) -> Starlette:
        """Return the application, without its guard."""

        @contextlib.asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            threading.Thread(target=games.catalogue_cards, daemon=True).start()
            yield
            await self.plays.close()

        table: list[tuple[str, str, Handler]] = [
            ("GET", "/api/games", self._catalogue),
            ("GET", "/api/folder", self._listing),
            ("GET", "/api/games/{origin}/{name}", self._open_game),
            ("PUT", "/api/games/folder/{name}", self._save_game),
            ("POST", "/api/games", self._save_game),
            ("DELETE", "/api/games/folder/{name}", self._delete_game),
            ("POST", "/api/see", self._see),
            ("POST", "/api/worth", self._worth),
            ("POST", "/api/export", self._export),
            ("POST", "/api/upload/game", self._upload_game),
            ("GET", "/api/players/{origin}/{name}", self._players),
            ("GET", "/api/plays", self._list_plays),
            ("POST", "/api/plays", self._start_play),
            ("GET", "/api/plays/{name}", self._play),
            ("DELETE", "/api/plays/{name}", self._delete_play),
            ("POST", "/api/plays/{name}/move", self._move),
            ("GET", "/api/plays/{name}/events", self._events),
            ("GET", "/api/plays/{name}/reference", self._reference),
            ("GET", "/api/campaigns", self._list_campaigns),
            ("POST", "/api/campaigns", self._start_campaign),
            ("GET", "/api/campaigns/{name}", self._campaign),
            ("GET", "/api/campaigns/{name}/export", self._export_campaign),
            ("POST", "/api/campaigns/{name}/{verb}", self._campaign_verb),
            ("POST", "/api/upload/responses/{name}", self._upload_responses),
            ("GET", "/api/forecasts", self._list_forecasts),
            ("POST", "/api/upload/forecasts", self._upload_forecasts),
            ("GET", "/api/forecasts/{name}", self._judge),
            ("GET", "/api/forecasts/{name}/corrected", self._corrected),
            ("GET", "/api/reports", self._list_reports),
            ("GET", "/api/audits/{path:path}", self._audit),
            ("GET", "/reports/{path:path}", self._report),
            ("GET", "/", self._page),
            ("GET", "/{path:path}", self._asset),
        ]
        routes = [Route(path, self.said(run), methods=[verb]) for verb, path, run in table]
        return Starlette(routes=routes, lifespan=lifespan)

    def said(self, run: Handler) -> Handler:
        """Return the handler with every mistake told in one sentence."""

        async def handler(request: Request) -> Response:
            try:
                return await run(request)
            except InputError as error:
                sentence, field = self.folder.plain(str(error)), self.folder.plain(error.field)
                return reply(ms.Mistake(sentence=sentence, field=field), 422)
            except ValidationError as error:
                return reply(ms.Mistake(sentence=_sentence(error), field="message"), 422)
            except TooMuchError:
                return Response(status_code=413)
            except (RecursionError, UnicodeError, json.JSONDecodeError):
                sentence = "message: expected JSON in UTF-8, found something else."
                return reply(ms.Mistake(sentence=sentence, field="message"), 422)
            except Exception:
                traceback.print_exc(file=sys.stderr)
                sentence = "The studio made a mistake. What is in the folder is as it was."
                return reply(ms.Mistake(sentence=sentence), 500)

        return handler

    # Games --------------------------------------------------------------------------------------

    async def _catalogue(self, _: Request) -> Response:
        return reply(await run_in_threadpool(games.catalogue_cards))

    async def _listing(self, _: Request) -> Response:
        return reply(await run_in_threadpool(games.folder_cards, self.folder))

    async def _open_game(self, request: Request) -> Response:
        return reply(await run_in_threadpool(self._opened, request))

    def _opened(self, request: Request) -> ms.Opened:
        return games.open_game(self.folder, _origin(request), request.path_params["name"])

    def _game(self, origin: str, name: str) -> Any:
        if origin == "catalogue":
            games.open_game(self.folder, origin, name)
            return load_game(name)
        return games.read_game(self.folder.at(name, *games.ENDINGS))

    async def _save_game(self, request: Request) -> Response:
        asked = ms.Save.model_validate_json(await request.body())
        name = request.path_params.get("name", "")
        if not name:
            asked = asked.model_copy(update={"mark": None})
        elif asked.mark is None:
            raise InputError("mark", "the mark of the file that was read", "nothing")
        kept = await run_in_threadpool(games.save, self.folder, name, asked)
        if kept is None:
            sentence = f"{name} was changed elsewhere, in another window or program."
            return reply(ms.Mistake(sentence=sentence, field="mark"), 409)
        return reply(kept)

    async def _delete_game(self, request: Request) -> Response:
        path = self.folder.at(request.path_params["name"], *games.ENDINGS)
        path.unlink(missing_ok=True)
        return reply(ms.Done(words=f"Deleted {path.name}."))

    async def _see(self, request: Request) -> Response:
        asked = ms.Question.model_validate_json(await request.body())
        return reply(await run_in_threadpool(games.see, asked.table))

    async def _worth(self, request: Request) -> Response:
        asked = ms.Question.model_validate_json(await request.body())
        return reply(await run_in_threadpool(games.worth, asked.table))

    async def _export(self, request: Request) -> Response:
        asked = ms.Export.model_validate_json(await request.body())
        ending = f".{asked.format}"
        content = await run_in_threadpool(games.content_of, asked.table, ending, self.folder)
        return download(content, file_name(asked.table.name, ending))

    async def _upload_game(self, request: Request) -> Response:
        name, content = await _upload(request, games.ENDINGS)
        return reply(await run_in_threadpool(self._take_game, name, content))

    def _take_game(self, name: str, content: bytes) -> ms.Saved:
        name = self.folder.free(name)
        self.folder.write(name, content)
        try:
            opened = games.open_game(self.folder, "folder", name)
        except BaseException:
            self.folder.at(name).unlink(missing_ok=True)
            raise
        return ms.Saved(name=name, mark=opened.mark)

    # Play ---------------------------------------------------------------------------------------

    async def _players(self, request: Request) -> Response:
        def found() -> ms.Players:
            return players.players(
                _whole_game(self._game(_origin(request), request.path_params["name"]))
            )

        return reply(await run_in_threadpool(found))

    async def _list_plays(self, _: Request) -> Response:
        return reply(await run_in_threadpool(self.plays.listed))

    async def _start_play(self, request: Request) -> Response:
        asked = ms.NewPlay.model_validate_json(await request.body())
        game = await run_in_threadpool(self._game, asked.origin, asked.game)
        asked = await run_in_threadpool(players.checked, asked, _whole_game(game))
        if asked.mode == "watch":
            return reply(await self.plays.start(asked, game))
        name = await run_in_threadpool(self.seats.start, asked, game)
        return reply(self.plays.info(name))

    async def _play(self, request: Request) -> Response:
        name = request.path_params["name"]
        info = await run_in_threadpool(self.plays.info, name)
        if info.mode == "watch":
            return reply(await run_in_threadpool(self.plays.shown, name))
        return reply(await run_in_threadpool(self.seats.seat, name))

    async def _delete_play(self, request: Request) -> Response:
        name = request.path_params["name"]
        await run_in_threadpool(self.plays.remove, name)
        return reply(ms.Done(words=f"Deleted {name}."))

    async def _move(self, request: Request) -> Response:
        asked = ms.Move.model_validate_json(await request.body())
        name = request.path_params["name"]
        if self.plays.info(name).mode == "watch":
            return reply(await self.plays.move(name, asked))
        return reply(await run_in_threadpool(self.seats.move, name, asked))

    async def _reference(self, request: Request) -> Response:
        return reply(await run_in_threadpool(self.seats.reference, request.path_params["name"]))

    async def _events(self, request: Request) -> Response:
        name = request.path_params["name"]
        self.plays.info(name)
        running = self.plays.running.get(name)

        async def lines() -> AsyncIterator[str]:
            if running is not None:
                async for text in running.listen():
                    yield f"data: {text}\n\n" if text else ": still here\n\n"
            yield "event: over\ndata: {}\n\n"

        return StreamingResponse(lines(), media_type="text/event-stream")

    # Campaigns ----------------------------------------------------------------------------------

    async def _list_campaigns(self, _: Request) -> Response:
        return reply(await run_in_threadpool(campaigns.listed, self.folder))

    async def _start_campaign(self, request: Request) -> Response:
        asked = ms.NewCampaign.model_validate_json(await request.body())
        name = await run_in_threadpool(campaigns.start, self.folder, asked)
        return reply(ms.Saved(name=name, mark=""))

    async def _campaign(self, request: Request) -> Response:
        name, days = request.path_params["name"], _number(request, "days", 0)
        ask = request.query_params.get("ask") == "1"
        found = campaigns.campaign_message
        return reply(await run_in_threadpool(found, self.folder, name, int(days), ask))

    async def _campaign_verb(self, request: Request) -> Response:
        name, verb = request.path_params["name"], request.path_params["verb"]
        body = await request.body()

        def run() -> ms.Done:
            if verb in ("tell", "correct"):
                asked = ms.Telling.model_validate_json(body)
                return campaigns.tell(self.folder, name, asked, verb == "correct")
            if verb == "undo":
                return campaigns.undo(self.folder, name)
            if verb == "decline":
                return campaigns.decline(self.folder, name, ms.Declining.model_validate_json(body))
            if verb == "action":
                asked_action = ms.NewAction.model_validate_json(body)
                return campaigns.add_action(self.folder, name, asked_action)
            if verb in ("pause", "end", "resume", "lift"):
                return campaigns.turn(self.folder, name, verb, ms.Reason.model_validate_json(body))
            raise InputError(
                "verb", "tell, correct, undo, decline, lift, pause, end or resume", verb[:60]
            )

        return reply(await run_in_threadpool(run))

    async def _export_campaign(self, request: Request) -> Response:
        name = request.path_params["name"]
        ending = "." + request.query_params.get("format", "csv")
        if ending not in (".csv", ".parquet"):
            raise InputError("format", "csv or parquet", ending[1:60])
        content = await run_in_threadpool(campaigns.exported, self.folder, name, ending)
        return download(content, name.rpartition(".")[0] + ending)

    async def _upload_responses(self, request: Request) -> Response:
        name = request.path_params["name"]
        _, content = await _upload(request, (".csv",))

        def run() -> ms.Done:
            draft = f"responses-{secrets.token_hex(6)}.csv"
            self.folder.write(draft, content)
            try:
                return campaigns.tell_file(self.folder, name, draft)
            except InputError as error:
                sentence = InputError(
                    error.field.rpartition(".csv: ")[2], error.expected, error.found
                )
                raise sentence from None
            finally:
                self.folder.at(draft).unlink(missing_ok=True)

        return reply(await run_in_threadpool(run))

    # Forecasts and reports ----------------------------------------------------------------------

    async def _list_forecasts(self, _: Request) -> Response:
        return reply(await run_in_threadpool(forecasts.listed, self.folder))

    async def _upload_forecasts(self, request: Request) -> Response:
        name, content = await _upload(request, forecasts.ENDINGS)
        with contextlib.suppress(InputError):
            if self.folder.read(name) == content:
                return reply(ms.Saved(name=name, mark=""))
        name = self.folder.free(name)
        await run_in_threadpool(self.folder.write, name, content)
        return reply(ms.Saved(name=name, mark=""))

    async def _judge(self, request: Request) -> Response:
        name, threshold = request.path_params["name"], _number(request, "threshold", 0.5)
        return reply(await run_in_threadpool(forecasts.judged, self.folder, name, threshold))

    async def _corrected(self, request: Request) -> Response:
        name, threshold = request.path_params["name"], _number(request, "threshold", 0.5)
        content = await run_in_threadpool(forecasts.corrected, self.folder, name, threshold)
        return download(content, name.rpartition(".")[0] + "-corrected.csv")

    async def _list_reports(self, _: Request) -> Response:
        return reply(await run_in_threadpool(reports.listed, self.folder))

    async def _audit(self, request: Request) -> Response:
        found = await run_in_threadpool(reports.audited, self.folder, request.path_params["path"])
        return reply(found)

    async def _report(self, request: Request) -> Response:
        path = self.folder.below(request.path_params["path"], reports.ENDING)
        content = await run_in_threadpool(
            self.folder.read, path.relative_to(self.folder.root).as_posix()
        )
        headers = {"content-security-policy": reports.POLICY}
        return Response(content, media_type="text/html", headers=headers)

    # The page -----------------------------------------------------------------------------------

    async def _page(self, _: Request) -> Response:
        return Response((PAGE / "index.html").read_bytes(), media_type="text/html")

    async def _asset(self, request: Request) -> Response:
        parts = request.path_params["path"].split("/")
        path = PAGE.joinpath(*parts)
        plain = all(part and not part.startswith(".") and "\\" not in part for part in parts)
        if not plain or not path.resolve().is_relative_to(PAGE.resolve()) or not path.is_file():
            return Response(status_code=404)
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        return Response(path.read_bytes(), media_type=kind)


def _whole_game(game: Any) -> Any:
    """Return the game, if both sides' payoffs are known."""
    if not hasattr(game, "agent_view"):
        raise InputError(
            "game", "a game whose agent's payoffs are known, to play it", "a half-known one"
        )
    return game


def _origin(request: Request) -> str:
    origin = str(request.path_params["origin"])
    if origin not in ("catalogue", "folder"):
        raise InputError("origin", "catalogue or folder", origin[:60])
    return origin


def _number(request: Request, name: str, usual: float) -> float:
    given = request.query_params.get(name)
    try:
        return usual if given is None else float(given)
    except ValueError:
        raise InputError(name, "a number", repr(given[:60] if given else given)) from None


async def _upload(request: Request, endings: tuple[str, ...]) -> tuple[str, bytes]:
    """Return the name and the content of the one file that was sent."""
    from starlette.exceptions import HTTPException
    from starlette.formparsers import MultiPartException

    try:
        async with request.form(max_files=1, max_fields=2, max_part_size=MOST_UPLOAD) as form:
            file = form.get("file")
            if file is None or isinstance(file, str):
                raise InputError("file", "a file", "none")
            content = await file.read()
            name = file.filename or ""
    except (MultiPartException, HTTPException):
        raise InputError("file", "one file, sent as a form", "something else") from None
    stem, _, ending = name.rpartition(".")
    if f".{ending.lower()}" not in endings:
        raise InputError("file", "a name that ends in " + " or ".join(endings), repr(name[-60:]))
    return file_name(stem, f".{ending.lower()}"), content


def _sentence(error: ValidationError) -> str:
    """Return the first complaint about a message in one sentence."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ", ".join(str(part) for part in first["loc"]) or "message"
    return f"{place[:200]}: expected {first['msg'].lower()[:200]}, found something else."


class Server(uvicorn.Server):
    """A server that prints its address once it can be reached."""

    def __init__(self, config: uvicorn.Config, address: str, ready: Callable[[str], None]) -> None:
        super().__init__(config)
        self._address, self._ready = address, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, then say where."""
        await super().startup(sockets)
        if self.started:
            self._ready(self._address)


def serve(
    root: Path, host: str, port: int, token: str | None, ready: Callable[[str], None]
) -> None:
    """Serve a folder until Ctrl-C; ``ready`` is given the address with its token."""
    token = token or secrets.token_urlsafe(24)
    folder = Folder(root)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or "no such port"
        raise InputError("--port", f"a free port on {host}", str(reason).lower()) from None
    port = listening.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    hosts = {f"{shown}:{port}"}
    if host in ("127.0.0.1", "::1", "localhost"):
        hosts |= {f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"}
    elif host in ("0.0.0.0", "::"):
        name = socket.gethostname()
        hosts |= {f"{h}:{port}" for h in (name, f"{name}.local", "127.0.0.1", "localhost")}
        with contextlib.suppress(OSError):
            hosts |= {f"{ip}:{port}" for ip in socket.gethostbyname_ex(name)[2]}
    app = Guard(Studio(folder).app(), token, hosts)
    config = uvicorn.Config(
        app,
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_SECONDS,
        h11_max_incomplete_event_size=32_768,
        ws="none",
    )
    server = Server(config, f"http://{shown}:{port}/?token={token}", ready)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(server.serve([listening]))
