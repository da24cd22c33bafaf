"""Every view in Chromium: drawn without an error, without overflow, without another machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from browsing import VIEWS, browser, person
from serving import Served, served

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("empty")) as found:
        yield found


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as found:
        yield found


def test_every_view_opens_and_fits(studio: Served, chromium: Any) -> None:
    for width, theme in ((1600, "light"), (400, "dark")):
        with person(chromium, studio.port, width=width, theme=theme) as visitor:
            for view in VIEWS:
                page = visitor.go(view)
                assert page.locator("main h1").inner_text().strip()
                assert page.locator(".notice.bad:visible").count() == 0, view
                over = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
                assert page.evaluate(over) <= 0, (view, width)
            assert "token=" not in page.url
