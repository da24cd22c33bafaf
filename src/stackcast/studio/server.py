"""The server of the studio: its addresses, and how it is started and ended."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
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
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from stackcast._validation import InputError
from stackcast.studio import campaigns, forecasts, games, plays, reports
from stackcast.studio import messages as ms
from stackcast.studio.folder import ConflictError, File, Folder, file_name
from stackcast.studio.guard import MOST_UPLOAD, Guard, TooMuchError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.requests import Request

    Handler = Callable[[Request], Awaitable[Response]]

PAGE = Path(__file__).parent / "page"
_SECONDS = 3


def reply(value: Any, status: int = 200) -> Response:
    """Return a message as JSON, a file to keep, or a response as it is."""
    if isinstance(value, Response):
        return value
    if isinstance(value, File):
        kind = mimetypes.guess_type(value.name)[0] or "application/octet-stream"
        safe = "".join(
            c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in value.name
        )
        headers = {"content-disposition": f'attachment; filename="{safe}"'}
        return Response(value.content, media_type=kind, headers=headers)
    if isinstance(value, BaseModel):
        content = value.model_dump_json()
    else:
        content = TypeAdapter(Any).dump_json(value).decode()
    return Response(content, status, media_type="application/json")


class Studio:
    """All addresses of the studio on one folder.

    A function that answers an address says by its parameters what it takes: ``folder``, the parts
    of the path and the query by their names, ``request`` of a type of ``messages`` the body, and
    ``file`` an upload. It returns a message, a file or a response.
    """

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.plays = plays.Plays(folder)

    def app(self) -> Starlette:
        """Return the application, without its guard."""

        @contextlib.asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            threading.Thread(target=games.catalogue_cards, daemon=True).start()
            yield
            await self.plays.close()

        table: list[tuple[str, str, Callable[..., Any]]] = [
            ("GET", "/api/games", games.catalogue_cards),
            ("GET", "/api/folder", games.folder_cards),
            ("GET", "/api/games/{origin}/{name}", games.open_game),
            ("PUT", "/api/games/folder/{name}", games.save),
            ("POST", "/api/games", games.keep),
            ("DELETE", "/api/games/folder/{name}", games.delete),
            ("POST", "/api/see", games.see_table),
            ("POST", "/api/worth", games.worth),
            ("POST", "/api/export", games.export),
            ("POST", "/api/upload/game", games.take),
            ("GET", "/api/players/{origin}/{name}", plays.players_of),
            ("GET", "/api/plays", self.plays.listed),
            ("POST", "/api/plays", self.plays.start),
            ("GET", "/api/plays/{name}", self.plays.shown),
            ("DELETE", "/api/plays/{name}", self.plays.remove),
            ("POST", "/api/plays/{name}/move", self.plays.move),
            ("GET", "/api/plays/{name}/events", self._events),
            ("GET", "/api/plays/{name}/reference", self.plays.seats.reference),
            ("GET", "/api/campaigns", campaigns.listed),
            ("POST", "/api/campaigns", campaigns.start),
            ("GET", "/api/campaigns/{name}", campaigns.shown),
            ("GET", "/api/campaigns/{name}/export", campaigns.exported),
            ("POST", "/api/campaigns/{name}/{verb}", campaigns.act),
            ("POST", "/api/upload/responses/{name}", campaigns.tell_file),
            ("GET", "/api/forecasts", forecasts.listed),
            ("POST", "/api/upload/forecasts", forecasts.take),
            ("GET", "/api/forecasts/{name}", forecasts.judged),
            ("GET", "/api/forecasts/{name}/corrected", forecasts.corrected),
            ("GET", "/api/reports", reports.listed),
            ("GET", "/api/audits/{path:path}", reports.audited),
            ("GET", "/reports/{path:path}", reports.page),
            ("GET", "/", _asset),
            ("GET", "/{path:path}", _asset),
        ]
        routes = [Route(path, self._told(run), methods=[verb]) for verb, path, run in table]
        return Starlette(routes=routes, lifespan=lifespan)

    def _told(self, run: Callable[..., Any]) -> Handler:
        """Return the handler of an address, which reports every error in one sentence."""
        takes = inspect.signature(run).parameters

        async def given(request: Request) -> dict[str, Any]:
            found: dict[str, Any] = {
                key: _plain(value) for key, value in request.query_params.items() if key in takes
            } | request.path_params
            if "folder" in takes:
                found["folder"] = self.folder
            if "file" in takes:
                found["file"] = await _upload(request)
            if "request" in takes:
                kind = getattr(ms, str(takes["request"].annotation).removeprefix("ms."))
                found["request"] = kind.model_validate_json(await request.body())
            return found

        async def handler(request: Request) -> Response:
            try:
                taken = await given(request)
                if inspect.iscoroutinefunction(run):
                    return reply(await run(**taken))
                return reply(await run_in_threadpool(run, **taken))
            except ConflictError as error:
                return reply(ms.Mistake(sentence=str(error), field="mark"), 409)
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

    async def _events(self, name: str) -> Response:
        self.plays.info(name)
        running = self.plays.running.get(name)

        async def lines() -> AsyncIterator[str]:
            if running is not None:
                async for text in running.listen():
                    yield f"data: {text}\n\n" if text else ": still here\n\n"
            yield "event: over\ndata: {}\n\n"

        return StreamingResponse(lines(), media_type="text/event-stream")


def _asset(path: str = "index.html") -> Response:
    """Return a file of the page."""
    parts = path.split("/")
    place = PAGE.joinpath(*parts)
    plain = all(part and not part.startswith(".") and "\\" not in part for part in parts)
    if not plain or not place.resolve().is_relative_to(PAGE.resolve()) or not place.is_file():
        return Response(status_code=404)
    kind = mimetypes.guess_type(place.name)[0] or "application/octet-stream"
    return Response(place.read_bytes(), media_type=kind)


def _plain(value: str) -> Any:
    """Return the number that a word of the query is, or the word."""
    try:
        number = float(value)
    except ValueError:
        return value
    return int(number) if number.is_integer() else number


async def _upload(request: Request) -> File:
    """Return the one file that was sent, under a plain name."""
    try:
        async with request.form(max_files=1, max_fields=2, max_part_size=MOST_UPLOAD) as form:
            file = form.get("file")
            if file is None or isinstance(file, str):
                raise InputError("file", "a file", "none")
            stem, _, ending = (file.filename or "").rpartition(".")
            return File(file_name(stem, f".{ending[:20].lower()}"), await file.read())
    except (MultiPartException, HTTPException):
        raise InputError("file", "one file, sent as a form", "something else") from None


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
        log_level="critical",  # an open page at Ctrl-C is no error
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_SECONDS,
        h11_max_incomplete_event_size=32_768,
        ws="none",
    )
    server = Server(config, f"http://{shown}:{port}/?token={token}", ready)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(server.serve([listening]))
