"""A studio on a folder, in a thread of the tests, and plain requests to it."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import uvicorn

from stackcast.studio.folder import Folder
from stackcast.studio.guard import Guard
from stackcast.studio.server import Studio

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOKEN = "a-token-of-the-tests"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Served:
    """Where a studio can be reached."""

    port: int
    root: Path

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        token: str | None = TOKEN,
    ) -> Answer:
        sent = {"Host": f"127.0.0.1:{self.port}"} | (headers or {})
        if token is not None:
            sent["Cookie"] = f"stackcast-{self.port}={token}"
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=240)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                connection.putheader(name, value)
            if body is not None and not {"Content-Length", "Transfer-Encoding"} & sent.keys():
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders()
            if body is not None:
                with suppress(ConnectionError):  # refused before all was sent
                    connection.send(body)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        answer = self.ask("GET", path)
        assert answer.status == 200, answer
        return answer.json()

    def post(self, path: str, body: Any, status: int = 200) -> Any:
        answer = self.ask("POST", path, body)
        assert answer.status == status, answer
        return answer.json()

    def upload(self, path: str, name: str, content: bytes) -> Answer:
        mark = "x-x-x-x"
        safe = name.replace('"', "%22").replace("\r", "").replace("\n", "")
        head = f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{safe}"\r\n\r\n'
        body = head.encode() + content + f"\r\n--{mark}--\r\n".encode()
        return self.ask(
            "POST", path, body, {"Content-Type": f"multipart/form-data; boundary={mark}"}
        )


@contextmanager
def served(root: Path) -> Iterator[Served]:
    """Serve a folder for as long as the context lasts."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
    app = Guard(Studio(Folder(root)).app(), TOKEN, hosts)
    config = uvicorn.Config(app, log_level="error", access_log=False, ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield Served(port, root.resolve())
    finally:
        server.should_exit = True
        thread.join(20)
