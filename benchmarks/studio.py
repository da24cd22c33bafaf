"""The studio: until the page can be used, what its first view costs, and a hundred readers at once.

*Ready* is when the first card of the catalogue is drawn in Chromium, from the moment the address
is opened; *first* is the first visit after the command has started, which computes the catalogue.
The hundred clients each follow the events of a running play and read `GET /api/games` and the play
in turn, for ten seconds.
"""

from __future__ import annotations

import http.client
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._timing import summary

_OURS = "from stackcast.cli import main; main()"
_TOKEN = "a-token-of-the-benchmark"
_CLIENTS, _SECONDS, _VISITS = 100, 10.0, 7


class _Studio:
    """The command on an empty folder, for as long as the context lasts."""

    def __enter__(self) -> _Studio:
        self.place = tempfile.TemporaryDirectory()
        command = [sys.executable, "-c", _OURS, "studio", self.place.name]
        begin = time.perf_counter()
        self.process = subprocess.Popen(
            [*command, "--port", "0", "--no-browser", "--token", _TOKEN],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        self.seconds = time.perf_counter() - begin
        self.port = int(self.address.split(":")[2].split("/")[0])
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(30)
        self.place.cleanup()

    def ask(self, method: str, path: str, body: Any = None) -> bytes:
        """Send one request and return the body of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        sent = None if body is None else json.dumps(body)
        connection.request(method, path, sent, {"Authorization": f"Bearer {_TOKEN}"})
        response = connection.getresponse()
        content = response.read()
        connection.close()
        if response.status != 200:
            raise RuntimeError(f"{path}: {response.status}")
        return content


def _visits(studio: _Studio) -> list[dict[str, Any]]:
    """Open the first view some times, each in a fresh browser context."""
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        print("no Chromium or no Playwright: the page is not measured")
        return []
    found: list[tuple[float, int, int]] = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(_VISITS):
            context = browser.new_context()
            page: Any = context.new_page()
            sizes: list[int] = []
            page.on("response", lambda r, sizes=sizes: sizes.append(len(r.body())))
            begin = time.perf_counter()
            page.goto(studio.address)
            page.locator(".card").first.wait_for(timeout=120_000)
            found.append((time.perf_counter() - begin, len(sizes), sum(sizes)))
            context.close()
        browser.close()
    later = summary([seconds for seconds, _, _ in found[1:]])
    rows = [("first", found[0][0], 0.0), ("later", later.median, later.spread)]
    return [
        {
            "visit": name,
            "ready, seconds": seconds,
            "spread": spread,
            "requests": found[-1][1],
            "bytes": found[-1][2],
        }
        for name, seconds, spread in rows
    ]


def _readers(studio: _Studio) -> dict[str, Any]:
    """Let many clients read while a play runs."""
    asked = {"mode": "watch", "origin": "catalogue", "game": "inspection", "rounds": 400_000}
    play = json.loads(studio.ask("POST", "/api/plays", {**asked, "principal": "UniformExplore"}))
    path = f"/api/plays/{play['name']}"
    while json.loads(studio.ask("GET", path))["info"]["state"] == "starting":
        time.sleep(0.2)
    studio.ask("POST", f"{path}/move", {"do": "speed", "speed": 20_000})
    end = time.perf_counter() + _SECONDS
    times: list[float] = []
    told, failed = [0] * _CLIENTS, [0]

    def follow(client: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", studio.port, timeout=60)
        connection.request("GET", f"{path}/events", headers={"Authorization": f"Bearer {_TOKEN}"})
        response = connection.getresponse()
        while time.perf_counter() < end:
            line = response.readline()
            told[client] += line.startswith(b"data:")
        connection.close()

    def read() -> None:
        turn = 0
        while time.perf_counter() < end:
            begin = time.perf_counter()
            try:
                studio.ask("GET", ("/api/games", path)[turn % 2])
            except (OSError, RuntimeError):
                failed[0] += 1
            times.append(time.perf_counter() - begin)
            turn += 1
            time.sleep(0.5)

    threads = [threading.Thread(target=follow, args=(i,), daemon=True) for i in range(_CLIENTS)]
    threads += [threading.Thread(target=read, daemon=True) for _ in range(_CLIENTS)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads[_CLIENTS:]:
        thread.join()
    seconds = time.perf_counter() - begin
    state = json.loads(studio.ask("GET", path))["info"]["state"]
    return {
        "clients": _CLIENTS,
        "requests a second": len(times) / seconds,
        "median, milliseconds": 1e3 * float(np.median(times)),
        "99th per cent, milliseconds": 1e3 * float(np.quantile(times, 0.99)),
        "failed": failed[0],
        "events to each, at least": min(told),
        "the play then": state,
    }


def main() -> dict[str, Any]:
    """Print and return the page's costs and the readers' waits."""
    with _Studio() as studio:
        print(f"address printed after {studio.seconds:.1f} s")
        visits = _visits(studio)
        games = [_timed(studio) for _ in range(30)]
        readers = _readers(studio)
        files = sum(1 for _ in Path(studio.place.name).iterdir())
    for row in [*visits, readers]:
        print(row)
    assert files
    return {
        "seconds until the command prints the address": studio.seconds,
        "milliseconds of GET /api/games": 1e3 * summary(games).median,
        "the first view": visits,
        "a hundred clients reading while a play runs": [readers],
    }


def _timed(studio: _Studio) -> float:
    begin = time.perf_counter()
    studio.ask("GET", "/api/games")
    return time.perf_counter() - begin
