"""A person in a real browser: Chromium, watched for errors and for requests to other machines."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from serving import TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterator

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
_QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
#: Every view that opens in an empty folder.
VIEWS = (
    "/games",
    "/game/catalogue/inspection",
    "/game/catalogue/milking",
    "/game/catalogue/quantity-leadership",
    "/game/catalogue/wildlife",
    "/game/catalogue/strategic-score",
    "/play",
    "/campaigns",
    "/forecasts",
    "/reports",
)
#: The first play or advice on a machine compiles the package's kernels.
PATIENCE = 240_000


@contextmanager
def browser() -> Iterator[Any]:
    """Start Chromium, or skip the test in a sentence where there is none."""
    if not CHROMIUM:
        pytest.skip("no Chromium here")
    driver = pytest.importorskip("playwright.sync_api", reason="no Playwright here")
    with driver.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=_QUIET)
        try:
            yield found
        finally:
            found.close()


class Person:
    """One who looks at a studio in a window of a browser."""

    def __init__(
        self, chromium: Any, port: int, width: int = 1600, theme: str = "light", **more: Any
    ) -> None:
        self.port, self.foreign, self.requests = port, [], []  # type: ignore[var-annotated]
        self.troubles: list[str] = []
        self.context = chromium.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=theme,
            reduced_motion="reduce",
            accept_downloads=True,
            **more,
        )
        self.context.set_default_timeout(30_000)
        self.context.on("request", self._asked)
        self.page = self.window()

    def window(self) -> Any:
        """Open another tab."""
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on("console", self._said)
        return page

    def _asked(self, request: Any) -> None:
        self.requests.append(request.url)
        address = urlsplit(request.url)
        local = address.scheme in ("data", "blob") or address.netloc == f"127.0.0.1:{self.port}"
        if not local:
            self.foreign.append(request.url)

    def _said(self, message: Any) -> None:
        # Chromium reports every answer from 400 on: refusals are part of what is tested.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.troubles.append(message.text)

    def go(self, view: str, page: Any = None) -> Any:
        """Open a view and wait until it is drawn."""
        page = page or self.page
        if not page.url.startswith("http"):
            page.goto(f"http://127.0.0.1:{self.port}/?token={TOKEN}#{view}")
        else:
            page.evaluate(
                "view => { if (location.hash !== view)"
                " document.querySelector('main h1').dataset.old = ''; location.hash = view; }",
                f"#{view}",
            )
        page.wait_for_function(
            "view => decodeURIComponent(location.hash) === '#' + decodeURIComponent(view)"
            " && document.querySelector('main h1:not([data-old])')"
            " && !document.querySelector('main > progress')",
            arg=view,
            timeout=PATIENCE,
        )
        return page

    def button(self, name: str, page: Any = None) -> Any:
        """Return the button that is called so."""
        return (page or self.page).get_by_role("button", name=name, exact=True)

    def field(self, name: str, page: Any = None) -> Any:
        """Return the field that is labelled so."""
        return (page or self.page).get_by_label(name, exact=True)

    def reads(self, text: str, page: Any = None, timeout: float = 30_000) -> None:
        """Wait until the page shows a text."""
        (page or self.page).get_by_text(text).first.wait_for(timeout=timeout)

    def choose(self, opener: Any, path: Any) -> None:
        """Give a file to whatever asks for one when it is pressed."""
        with self.page.expect_file_chooser() as chooser:
            opener.click()
        chooser.value.set_files(str(path))

    def saves(self, button: Any) -> Any:
        """Press a button that saves a file, and return the file."""
        with self.page.expect_download() as download:
            button.click()
        return download.value


@contextmanager
def person(chromium: Any, port: int, **more: Any) -> Iterator[Person]:
    """Follow a person; afterwards nothing may have gone wrong or left the machine."""
    found = Person(chromium, port, **more)
    try:
        yield found
        assert not found.foreign, found.foreign
        assert not found.troubles, found.troubles
    finally:
        found.context.close()
