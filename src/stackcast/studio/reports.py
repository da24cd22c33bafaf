"""The pages that plays, sweeps and audits left in the folder."""

from __future__ import annotations

import contextlib
import html
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from starlette.responses import Response

import stackcast as sc
from stackcast._validation import InputError
from stackcast.studio import messages as ms
from stackcast.studio.games import number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from stackcast.studio.folder import Folder

ENDING = ".html"
_HEAD = 200_000
#: A report brings its own style; nothing in it runs, and nothing is fetched.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'self'"
)
_KINDS = {
    "report.html": "play",
    "sweep.html": "sweep",
    "tournament.html": "sweep",
    "claims.html": "claims",
}


def listed(folder: Folder) -> list[ms.FileInfo]:
    """Return the pages of the folder and of the folders in it, and records that can be audited."""
    found = [*map(_info_of(folder), _pages(folder)), *_records(folder)]
    return sorted(found, key=lambda page: page.at, reverse=True)


def _records(folder: Folder) -> Iterator[ms.FileInfo]:
    for path in folder.files(".parquet"):
        with contextlib.suppress(InputError, OSError):
            record = sc.Transcript.load(path)
            yield ms.FileInfo(
                path=path.name,
                title=path.stem,
                kind="record",
                at=_when(path),
                sentence=f"{record.rounds:,} rounds; open it to audit it.",
            )


def page(folder: Folder, path: str) -> Response:
    """Return a report under a policy of its own: nothing in it runs."""
    place = folder.below(path, ENDING)
    content = folder.read(place.relative_to(folder.root).as_posix())
    headers = {"content-security-policy": POLICY}
    return Response(content, media_type="text/html", headers=headers)


def audited(folder: Folder, path: str) -> ms.Audited:
    """Return what a saved transcript proves."""
    record = sc.Transcript.load(folder.below(path, ".parquet"))
    found = sc.audit(record)
    return ms.Audited(
        path=path,
        rounds=record.rounds,
        value=number(found.value),
        average_utility=number(found.average_utility),
        bounds=found.to_dict()["bounds"],
    )


def _when(path: Path) -> str:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")


def _pages(folder: Folder) -> Iterator[Path]:
    yield from folder.files(ENDING)
    for place in folder.folders():
        for path in sorted(place.glob(f"*{ENDING}"))[:20]:
            if path.is_file() and path.resolve().is_relative_to(folder.root):
                yield path


def _info_of(folder: Folder) -> Callable[[Path], ms.FileInfo]:
    def info(path: Path) -> ms.FileInfo:
        head = path.read_bytes()[:_HEAD].decode("utf-8", errors="replace")
        title = re.search(r"<title>(.*?)</title>", head, re.DOTALL)
        first = re.search(r'<p class="found">(.*?)</p>', head, re.DOTALL)
        kind = _KINDS.get(path.name, "report")
        if kind == "play" and not (path.parent / "summary.json").exists():
            kind = "sweep"
        return ms.FileInfo(
            path=path.relative_to(folder.root).as_posix(),
            title=_text(title[1]) if title else path.stem,
            kind=kind,
            at=_when(path),
            sentence=_text(first[1]) if first else "",
        )

    return info


def _text(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", markup)).strip()[:300]
