"""The journal of a campaign: an SQLite file to which entries are only ever added.

Kinds of entries:

=============== ======== =====================================================================
kind            about    what it says
=============== ======== =====================================================================
start           –        the game, who advises, and the settings
ask             –        what to commit to, and for how long
draw            its ask  which action the mix drew for a round
tell            its ask  what was played and how the agent responded
correct         a tell   what that entry should have said
action          –        an action of the agent that the game did not have
decline, lift   –        a limit on what may be committed to, from now on or no longer
import          –        mixes and responses from before the campaign
undo            an entry takes it back
pause, resume   –        ask for nothing until resumed; go on
end             –        the campaign is closed
=============== ======== =====================================================================

An entry that was taken back stays, with ``revoked_by`` set. What is asked next is a function of the
entries that stand. The one snapshot is a cache: it may be deleted at any time.
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

from stackcast._files import reason
from stackcast._validation import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

#: How long a second writer waits for the first, in seconds.
_PATIENCE = 2.0
#: What SQLite's application_id says, the letters "scCa", and user_version.
APPLICATION, VERSION = 0x73634361, 3
_BESIDE = ("-wal", "-shm")
_SCHEMA = (
    """CREATE TABLE entry (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at TEXT NOT NULL,
        kind TEXT NOT NULL,
        about INTEGER REFERENCES entry (id),
        body TEXT NOT NULL,
        revoked_by INTEGER REFERENCES entry (id)
    )""",
    "CREATE INDEX entry_kind ON entry (kind, id)",
    "CREATE INDEX entry_about ON entry (about, kind)",
    "CREATE INDEX entry_revoked ON entry (revoked_by)",
    """CREATE TABLE snapshot (
        ask INTEGER PRIMARY KEY REFERENCES entry (id), software TEXT NOT NULL, state BLOB NOT NULL
    )""",
)


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and all(type(v) in (int, float) and v == v for v in value)


def _wholes(value: Any) -> bool:
    return isinstance(value, list) and all(type(v) is int and -1 <= v < 2**53 for v in value)


def _rows(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(row, list) and len(row) == 2 and _numbers(row[0]) and _wholes(row[1])
        for row in value
    )


def _days(value: Any) -> bool:
    return value is None or (
        isinstance(value, list) and len(value) == 2 and all(isinstance(v, str) for v in value)
    )


def _order(value: Any) -> bool:
    return value is None or _wholes(value)


_TOLD: dict[str, Any] = {
    "strategy": _numbers, "as_asked": bool, "counts": _wholes, "missing": int, "order": _order,
    "days": _days,
}  # fmt: skip
#: What the bodies of each kind hold: a type (whole numbers from 0 on), or what tells.
_BODIES: dict[str, dict[str, Any]] = {
    "start": {"game": dict, "fingerprint": str, "principal": str, "settings": dict},
    "ask": {
        "strategy": _numbers, "rounds": int, "phase": str, "why": str, "since": int, "turn": int,
        "pieces": int, "before": int,
    },
    "draw": {"action": int, "round": int},
    "tell": _TOLD,
    "correct": _TOLD,
    "action": {"name": str, "payoffs": _numbers},
    "decline": {"limit": dict, "why": str},
    "lift": {"limit": str},
    "import": {"rows": _rows, "estimated": bool, "rounds": int},
    "undo": {},
    "pause": {"why": str},
    "resume": {"why": str},
    "end": {"why": str},
}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """One line of the journal; ``revoked_by`` is the entry that took it back, if any."""

    id: int
    at: str
    kind: str
    about: int | None
    body: dict[str, Any]
    revoked_by: int | None

    def summary(self, agent_actions: Sequence[str]) -> str:
        """Return what the entry says, in a few words."""
        body, kind = self.body, self.kind
        if kind == "start":
            return f"start ({body['principal']})"
        if kind == "ask":
            strategy = ", ".join(f"{round(p, 4):g}" for p in body["strategy"])
            return f"ask ({strategy}) for {body['rounds']} rounds, {body['phase']}"
        if kind in ("tell", "correct"):
            pairs = zip(agent_actions, body["counts"], strict=False)
            words = [f"{action}={n}" for action, n in pairs if n]
            words += [f"?={body['missing']}"] if body["missing"] else []
            about = f" of entry {self.about}" if kind == "correct" else ""
            days = "" if body["days"] is None else " on " + " to ".join(dict.fromkeys(body["days"]))
            asked = "" if body["as_asked"] else ", not as asked"
            return f"{kind}{about} {','.join(words)}{days}{asked}"
        said: Callable[[], str] = {
            "draw": lambda: f"action {body['action'] + 1} for a round of entry {self.about}",
            "undo": lambda: f"of entry {self.about}",
            "action": lambda: body["name"],
            "decline": lambda: f"{body['limit'].get('name', '')}: {body['why']}".rstrip(": "),
            "lift": lambda: body["limit"],
            "import": lambda: f"{body['rounds']:,} rounds of {len(body['rows'])} mixes",
        }.get(kind, lambda: str(body["why"]))  # fmt: skip
        return f"{kind} {said()}".rstrip()


class Journal:
    """The entries in one file, and the snapshot."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.place = os.fspath(path)
        try:
            self._connection = self._connect()
        except sqlite3.Error as error:
            raise sentence(self.place, error) from None
        try:
            (application,) = self.rows("PRAGMA application_id")[0]
            (version,) = self.rows("PRAGMA user_version")[0]
            if application != APPLICATION:
                raise InputError(self.place, "a campaign", "another SQLite file")
            if version != VERSION:
                later = ", of a later version" if version > VERSION else ""
                expected = f"a campaign in format {VERSION}"
                raise InputError(self.place, expected, f"format {version}{later}")
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, path: str | os.PathLike[str], body: dict[str, Any]) -> Journal:
        """Make a file whose first entry is the start; it appears whole or not at all.

        Raises
        ------
        InputError
            If there is such a file already, or it cannot be written.
        """
        target = Path(path)
        taken = InputError(f"{target}", "a file that does not exist yet", "one that does")
        draft = target.with_name(f".{target.name[:200]}.{secrets.token_hex(8)}.tmp")
        try:
            if os.path.lexists(target):
                raise taken
            connection = sqlite3.connect(draft, isolation_level=None)
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("BEGIN IMMEDIATE")
                for statement in _SCHEMA:
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {VERSION}")
                connection.execute(
                    "INSERT INTO entry (at, kind, body) VALUES (?, 'start', ?)",
                    (_now(), json.dumps(body)),
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
        except sqlite3.Error as error:
            raise sentence(os.fspath(path), error) from None
        except OSError as error:
            expected = "a place that can be written to"
            raise InputError(f"{target}", expected, reason(error)) from None
        except ValueError as error:  # a zero byte in the name
            if isinstance(error, InputError):
                raise
            raise InputError("file", "the name of a file", "a zero byte in it") from None
        finally:
            for leftover in (draft, *(draft.with_name(draft.name + end) for end in _BESIDE)):
                with contextlib.suppress(OSError, ValueError):
                    leftover.unlink(missing_ok=True)
        return cls(path)

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(sqlite3.Error):  # what was acknowledged is on the disk already
            self._connection.close()

    def _connect(self) -> sqlite3.Connection:
        try:
            with self.path.open("rb") as file:
                head = file.read(32)
        except OSError as error:
            found = f"no readable file ({reason(error)})"
            raise InputError(self.place, "a campaign", found) from None
        except ValueError:  # a zero byte in the name
            raise InputError("file", "the name of a file", "a zero byte in it") from None
        if not head.startswith(b"SQLite format 3\0"):
            found = "an empty file" if not head else "a file of another sort"
            raise InputError(self.place, "a campaign", found)
        logged = any(self.path.with_name(self.path.name + end).exists() for end in _BESIDE)
        # SQLite itself does not notice that part of the last page is gone.
        page, pages = int.from_bytes(head[16:18]), int.from_bytes(head[28:32])
        if not logged and self.path.stat().st_size < (page if page > 1 else 65536) * pages:
            raise self.altered()
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

    # Transactions ---------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the file for one writer; what was added is there after it, or nothing is."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise sentence(self.place, error) from None

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Show the file as it is now until the end, whoever writes meanwhile."""
        self.rows("BEGIN")
        try:
            yield
        finally:
            self.rows("ROLLBACK")

    def add(self, kind: str, about: int | None, body: dict[str, Any]) -> int:
        """Add an entry and return its number."""
        cursor = self._connection.execute(
            "INSERT INTO entry (at, kind, about, body) VALUES (?, ?, ?, ?)",
            (_now(), kind, about, json.dumps(body)),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def revoke(self, entry: int, by: int) -> None:
        """Take an entry back; the snapshot may have known it."""
        self.rows("UPDATE entry SET revoked_by = ? WHERE id = ?", by, entry)
        self.rows("DELETE FROM snapshot")

    def reinstate(self, by: int) -> None:
        """Let stand again what an entry took back."""
        self.rows("UPDATE entry SET revoked_by = NULL WHERE revoked_by = ?", by)

    def keep_snapshot(self, ask: int, software: str, state: bytes) -> None:
        """Keep the one snapshot."""
        self.rows("DELETE FROM snapshot")
        self.rows("INSERT INTO snapshot VALUES (?, ?, ?)", ask, software, state)

    def snapshot(self, ask: int, software: str) -> bytes | None:
        """Return the state kept for an ask by this software."""
        where = "ask = ? AND software = ?"
        found = self.rows(f"SELECT state FROM snapshot WHERE {where}", ask, software)
        return found[0][0] if found and isinstance(found[0][0], bytes) else None

    # Reading --------------------------------------------------------------------------------

    def entry(self, number: int) -> Entry | None:
        """Return the entry of a number."""
        found = self.entries("id = ?", number)
        return found[0] if found else None

    def latest(self, limit: int | None = None) -> list[Entry]:
        """Return all entries in order, or the last ones."""
        return self.entries("1 ORDER BY id DESC LIMIT ?", -1 if limit is None else limit)[::-1]

    def standing(self, *kinds: str, after: int = 0) -> list[Entry]:
        """Return the entries of some kinds that were not taken back, in order."""
        marks = ", ".join("?" * len(kinds))
        condition = f"kind IN ({marks}) AND id > ? AND revoked_by IS NULL ORDER BY id"
        return self.entries(condition, *kinds, after)

    def last(self, *kinds: str) -> Entry | None:
        """Return the last entry of some kinds that was not taken back."""
        each = " UNION ALL ".join(
            "SELECT max(id) AS last FROM entry WHERE kind = ? AND revoked_by IS NULL" for _ in kinds
        )
        found = self.entries(f"id = (SELECT max(last) FROM ({each}))", *kinds)
        return found[0] if found else None

    def told(self, ask: int = 0, after: int = 0) -> list[Entry]:
        """Return the tells about an ask, or all after an entry, with their corrections' bodies."""
        chosen = ("t.about = ?", ask) if ask else ("t.id > ?", after)
        found = self.rows(
            "SELECT t.id, t.at, t.kind, t.about, coalesce((SELECT c.body FROM entry c WHERE"
            " c.about = t.id AND c.kind = 'correct' AND c.revoked_by IS NULL"
            " ORDER BY c.id DESC LIMIT 1), t.body), t.revoked_by FROM entry t"
            f" WHERE t.kind = 'tell' AND {chosen[0]} AND t.revoked_by IS NULL ORDER BY t.id",
            chosen[1],
        )
        return [self._entry(*row) for row in found]

    def pooled(self, upto: int) -> list[tuple[str, int, int]]:
        """Return (strategy as JSON, response, rounds) of all tells up to an entry, latest last."""
        return self.rows(
            "WITH now AS (SELECT t.id AS id, coalesce((SELECT c.body FROM entry c WHERE"
            " c.about = t.id AND c.kind = 'correct' AND c.revoked_by IS NULL"
            " ORDER BY c.id DESC LIMIT 1), t.body) AS body FROM entry t"
            " WHERE t.kind = 'tell' AND t.id <= ? AND t.revoked_by IS NULL)"
            " SELECT json_extract(now.body, '$.strategy') AS h, n.key, sum(n.value)"
            " FROM now, json_each(now.body, '$.counts') n GROUP BY h, n.key"
            " ORDER BY max(now.id), h, n.key",
            upto,
        )

    def entries(self, condition: str, *values: Any) -> list[Entry]:
        """Return the entries that a condition selects, each checked."""
        columns = "id, at, kind, about, body, revoked_by"
        found = self.rows(f"SELECT {columns} FROM entry WHERE {condition}", *values)
        return [self._entry(*row) for row in found]

    def _entry(self, number: Any, at: Any, kind: Any, about: Any, body: Any, by: Any) -> Entry:
        try:
            table = json.loads(body)
            shape = _BODIES[kind]
            fits = type(table) is dict and all(
                (type(table[key]) is holds and (holds is not int or 0 <= table[key] < 2**53))
                if isinstance(holds, type)
                else holds(table[key])
                for key, holds in shape.items()
            )
        except (TypeError, ValueError, KeyError, RecursionError):
            fits = False
        whole = isinstance(at, str) and all(
            value is None or type(value) is int for value in (about, by)
        )
        if not (fits and whole):
            raise self.altered(f"entry {number}")
        return Entry(number, at, kind, about, table, by)

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """Run a statement and return its rows."""
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise sentence(self.place, error) from None

    def altered(self, where: str = "") -> InputError:
        """Return the sentence about a file that holds something else than was written."""
        place = f"{self.place}: {where}" if where else self.place
        return InputError(place, "a campaign as it was written", "one that was cut or altered")


_BUSY = "no other program writing to it", "one at work: try again in a moment"
_READ = "a file that can be written to", "one that can only be read"
_CUT = "a campaign as it was written", "one that was cut or altered"
_SENTENCES = {
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_FULL: ("room on the disk", "none left, so nothing was changed"),
    sqlite3.SQLITE_IOERR: ("a disk that can be written to", "a failure, so nothing was changed"),
    sqlite3.SQLITE_READONLY: _READ,
    sqlite3.SQLITE_PERM: _READ,
    sqlite3.SQLITE_CANTOPEN: ("a file that can be opened", "one that cannot"),
    sqlite3.SQLITE_CORRUPT: _CUT,
    sqlite3.SQLITE_NOTADB: _CUT,
    sqlite3.SQLITE_ERROR: _CUT,  # a table or column is not there, or JSON is none
}


def sentence(place: str, error: sqlite3.Error) -> InputError:
    """Return what SQLite complains about in one sentence."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return InputError(place, *_SENTENCES.get(code, ("a campaign", f"a fault of SQLite ({error})")))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _make_durable(folder: Path) -> None:
    with contextlib.suppress(OSError):  # Windows cannot open a folder
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
