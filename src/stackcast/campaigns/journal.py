"""The journal of a campaign: an SQLite file to which entries are only ever added.

Kinds of entries:

========= ======================= ==========================================================
kind      about                   what it says
========= ======================= ==========================================================
start     a correction, or none   from here on this principal plays this game (a *chapter*)
ask       its start               what to commit to, and for how long
tell      its ask                 what was played and how the agent responded
correct   a tell                  what that entry should have said
undo      the entry taken back
pause     –                       ask for nothing until resumed, and why
resume    –                       go on
end       –                       the campaign is closed, and why
========= ======================= ==========================================================

An entry that was taken back stays, with ``revoked_by`` set. Snapshots are the principal's state
just before an ask was answered; they can be made again from the entries and only save time.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from stackcast._validation import InputError
from stackcast.campaigns.responses import Told
from stackcast.campaigns.schema import APPLICATION, SCHEMA, VERSION, migrate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: How long a second writer waits for the first, in seconds.
_PATIENCE = 2.0
#: A snapshot is kept for this many asks, times the largest power of two in its number.
_KEPT = 8


@dataclass(frozen=True)
class Entry:
    """One line of the journal; ``revoked_by`` is the entry that took it back, if any."""

    id: int
    at: str
    kind: str
    about: int | None
    body: dict[str, Any]
    software: str
    revoked_by: int | None

    def summary(self, agent_actions: Sequence[str]) -> str:
        """Return what the entry says, in a few words."""
        body = self.body
        if self.kind == "start":
            declined = body.get("declined", {})
            more = f" {declined['limit']}: {declined['why']}" if declined else ""
            return f"start ({body['reason']}{more.rstrip(': ')})"
        if self.kind in ("pause", "resume", "end"):
            return f"{self.kind} {body['why']}".rstrip()
        if self.kind == "ask":
            strategy = ", ".join(f"{round(p, 4):g}" for p in body["strategy"])
            return f"ask ({strategy}) for {body['rounds']} rounds, {body['phase']}"
        about = f" of entry {self.about}" if self.kind in ("correct", "undo") else ""
        if self.kind == "undo":
            return f"undo{about}"
        told = Told.from_table(body)
        counts = np.bincount(told.seen(), minlength=len(agent_actions)).tolist()
        words = [f"{a}={n}" for a, n in zip(agent_actions, counts, strict=True) if n]
        words += [f"?={told.missing}"] if told.missing else []
        played = "" if body["as_asked"] else ", not as asked"
        return f"{self.kind}{about} {','.join(words)}{played}"


@dataclass(frozen=True)
class Snapshot:
    """The principal's state before an ask: ``ordinal`` counts asks, ``state`` is a state file."""

    ask: int
    ordinal: int
    software: str
    state: bytes


class Journal:
    """Entries and snapshots in one file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._place = os.fspath(path)
        with self._said():
            self._connection = self._connect()
        try:
            with self._said():
                self._check_version()
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, path: str | os.PathLike[str], body: dict[str, Any], software: str) -> Journal:
        """Make a file whose first entry starts the first chapter; it appears whole or not at all.

        Raises
        ------
        InputError
            If there is such a file already, or it cannot be written.
        """
        target = Path(path)
        taken = InputError(f"{target}", "a file that does not exist yet", "one that does")
        if os.path.lexists(target):
            raise taken
        draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
        try:
            with said(os.fspath(path)):
                connection = sqlite3.connect(draft, isolation_level=None)
                try:
                    connection.execute("PRAGMA journal_mode = WAL")
                    connection.execute("PRAGMA synchronous = FULL")
                    connection.execute("BEGIN IMMEDIATE")
                    for statement in SCHEMA:
                        connection.execute(statement)
                    connection.execute(f"PRAGMA application_id = {APPLICATION}")
                    connection.execute(f"PRAGMA user_version = {VERSION}")
                    connection.execute(
                        "INSERT INTO entry (at, kind, body, software) VALUES (?, 'start', ?, ?)",
                        (_now(), json.dumps(body), software),
                    )
                    connection.execute("COMMIT")
                finally:
                    connection.close()
            try:
                os.link(draft, target)  # unlike a move, never over another file
            except FileExistsError:
                raise taken from None
            except OSError:  # a file system without links
                draft.replace(target)
            _make_durable(target.parent)
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise InputError(f"{target}", "a place that can be written to", reason) from None
        finally:
            for leftover in (draft, *(draft.with_name(draft.name + end) for end in _BESIDE)):
                with contextlib.suppress(OSError):
                    leftover.unlink(missing_ok=True)
        return cls(path)

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(sqlite3.Error):  # what was acknowledged is on the disk already
            self._connection.close()

    # Opening --------------------------------------------------------------------------------

    def _connect(self) -> sqlite3.Connection:
        try:
            with self.path.open("rb") as file:
                head = file.read(32)
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise InputError(self._place, "a campaign", f"no readable file ({reason})") from None
        if not head.startswith(b"SQLite format 3\0"):
            found = "an empty file" if not head else "a file of another sort"
            raise InputError(self._place, "a campaign", found)
        logged = any(self.path.with_name(self.path.name + end).exists() for end in _BESIDE)
        # SQLite itself does not notice that part of the last page is gone.
        page, pages = int.from_bytes(head[16:18]), int.from_bytes(head[28:32])
        if not logged and self.path.stat().st_size < (page if page > 1 else 65536) * pages:
            raise InputError(self._place, *_SENTENCES[sqlite3.SQLITE_CORRUPT])
        mode = "mode=rw"
        if not (os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)):
            # Without the right to write, there is no place for a log of writers, and no need.
            mode = "mode=ro" if logged else "immutable=1"
        connection = sqlite3.connect(
            f"file:{quote(os.fspath(self.path.absolute()))}?{mode}",
            uri=True,
            isolation_level=None,
            timeout=_PATIENCE,
        )
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    def _check_version(self) -> None:
        (application,) = self._connection.execute("PRAGMA application_id").fetchone()
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION:
            raise InputError(self._place, "a campaign", "another SQLite file")
        if version > VERSION:
            expected = f"a campaign in format {VERSION}"
            raise InputError(self._place, expected, f"format {version}, of a later version")
        if version < VERSION:
            with self.writing():
                migrate(self._connection)

    def _said(self) -> contextlib.AbstractContextManager[None]:
        return said(self._place)

    # Writing --------------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the file for one writer; what was added is there after it, or nothing is."""
        with self._said():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Show the file as it is now until the end, whoever writes meanwhile."""
        with self._said():
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.execute("ROLLBACK")

    def add(self, kind: str, about: int | None, body: dict[str, Any], software: str) -> int:
        """Add an entry and return its number."""
        cursor = self._connection.execute(
            "INSERT INTO entry (at, kind, about, body, software) VALUES (?, ?, ?, ?, ?)",
            (_now(), kind, about, json.dumps(body), software),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def revoke(self, entry: int, by: int) -> None:
        """Take an entry back."""
        self._connection.execute("UPDATE entry SET revoked_by = ? WHERE id = ?", (by, entry))
        self._connection.execute("DELETE FROM snapshot WHERE ask = ?", (entry,))

    def keep_snapshot(self, ask: int, state: bytes, software: str) -> None:
        """Keep a state, and drop old ones: all but about 8 + 4·log₂ of them."""
        (latest,) = self._connection.execute("SELECT max(ordinal) FROM snapshot").fetchone()
        ordinal = (latest or 0) + 1
        self._connection.execute(
            "INSERT INTO snapshot (ask, ordinal, software, state) VALUES (?, ?, ?, ?)",
            (ask, ordinal, software, state),
        )
        self._connection.execute(
            "DELETE FROM snapshot WHERE ? - ordinal > ? * (ordinal & -ordinal)", (ordinal, _KEPT)
        )

    def drop_snapshots(self, after: int) -> None:
        """Forget the states of the asks after this one."""
        self._connection.execute("DELETE FROM snapshot WHERE ask > ?", (after,))

    # Reading --------------------------------------------------------------------------------

    def entry(self, number: int) -> Entry | None:
        """Return the entry of a number."""
        return self._one("WHERE id = ?", number)

    def entries(self, last: int | None = None) -> list[Entry]:
        """Return all entries in order, or the last ones."""
        limit = -1 if last is None else last
        return self._all("ORDER BY id DESC LIMIT ?", limit)[::-1]

    def standing(self, *kinds: str) -> list[Entry]:
        """Return the entries of some kinds that were not taken back, in order."""
        marks = ", ".join("?" * len(kinds))
        return self._all(f"WHERE kind IN ({marks}) AND revoked_by IS NULL ORDER BY id", *kinds)

    def all_asks(self) -> dict[int, Entry]:
        """Return every ask by its number, those taken back included."""
        return {entry.id: entry for entry in self._all("WHERE kind = 'ask'")}

    def last(self, *kinds: str) -> Entry | None:
        """Return the last entry of some kinds that was not taken back."""
        found = [
            entry
            for kind in kinds
            if (
                entry := self._one(
                    "WHERE kind = ? AND revoked_by IS NULL ORDER BY id DESC LIMIT 1", kind
                )
            )
        ]
        return max(found, key=lambda entry: entry.id, default=None)

    def about(self, kind: str, number: int) -> list[Entry]:
        """Return the entries of a kind about another one that were not taken back, in order."""
        return self._all(
            "WHERE kind = ? AND about = ? AND revoked_by IS NULL ORDER BY id", kind, number
        )

    def as_corrected(self, tell: Entry) -> dict[str, Any]:
        """Return what a tell says, its last correction taken into account."""
        corrections = self.about("correct", tell.id)
        return corrections[-1].body if corrections else tell.body

    def asks(self, start: int, first: int = 0) -> list[Entry]:
        """Return the asks of a chapter from a number on that were not taken back, in order."""
        return self._all(
            "WHERE kind = 'ask' AND about = ? AND id >= ? AND revoked_by IS NULL ORDER BY id",
            start,
            first,
        )

    def snapshot(self, start: int, at_most: int | None = None, before: int = 0) -> Snapshot | None:
        """Return the latest state of a chapter; up to an ask, or some asks before the latest."""
        limit = 2**62 if at_most is None else at_most
        with self._said():
            found = self._connection.execute(
                "SELECT ask, ordinal, snapshot.software, state FROM snapshot"
                " JOIN entry ON entry.id = ask"
                " WHERE about = ? AND ask <= ? AND revoked_by IS NULL AND ordinal <="
                " (SELECT max(ordinal) FROM snapshot) - ? ORDER BY ask DESC LIMIT 1",
                (start, limit, before),
            ).fetchone()
        return None if found is None else Snapshot(*found)

    def _one(self, condition: str, *values: Any) -> Entry | None:
        found = self._all(condition, *values)
        return found[0] if found else None

    def _all(self, condition: str, *values: Any) -> list[Entry]:
        with self._said():
            rows = self._connection.execute(
                f"SELECT id, at, kind, about, body, software, revoked_by FROM entry {condition}",
                values,
            ).fetchall()
            return [
                Entry(number, at, kind, about, json.loads(body), by, revoked)
                for number, at, kind, about, body, by, revoked in rows
            ]


_BESIDE = ("-wal", "-shm")
_SENTENCES = {
    sqlite3.SQLITE_BUSY: ("no other program writing to it", "one at work: try again in a moment"),
    sqlite3.SQLITE_LOCKED: ("no other program writing to it", "one at work: try again in a moment"),
    sqlite3.SQLITE_FULL: ("room on the disk", "none left, so nothing was changed"),
    sqlite3.SQLITE_IOERR: ("a disk that can be written to", "a failure, so nothing was changed"),
    sqlite3.SQLITE_READONLY: ("a file that can be written to", "one that can only be read"),
    sqlite3.SQLITE_PERM: ("a file that can be written to", "one that can only be read"),
    sqlite3.SQLITE_CANTOPEN: ("a file that can be opened", "one that cannot"),
    sqlite3.SQLITE_CORRUPT: ("a campaign as it was written", "one that was cut or altered"),
    sqlite3.SQLITE_NOTADB: ("a campaign as it was written", "one that was cut or altered"),
}


@contextmanager
def said(place: str) -> Iterator[None]:
    """Turn what SQLite complains about into one sentence."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        expected, found = _SENTENCES.get(code, ("a campaign", f"a fault of SQLite ({error})"))
        raise InputError(place, expected, found) from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise InputError(place, *_SENTENCES[sqlite3.SQLITE_CORRUPT]) from None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _make_durable(folder: Path) -> None:
    with contextlib.suppress(OSError):  # Windows cannot open a folder
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
