"""The tables of a campaign's file, and how files of older versions become files of this one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stackcast._validation import InputError

if TYPE_CHECKING:
    import sqlite3

#: What SQLite's application_id says: the letters "scCa".
APPLICATION = 0x73634361
#: What user_version says.
VERSION = 2

SCHEMA = (
    """CREATE TABLE entry (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at TEXT NOT NULL,
        kind TEXT NOT NULL
            CHECK (kind IN ('start', 'ask', 'tell', 'correct', 'undo', 'pause', 'resume', 'end')),
        about INTEGER REFERENCES entry (id),
        body TEXT NOT NULL,
        software TEXT NOT NULL DEFAULT '',
        revoked_by INTEGER REFERENCES entry (id)
    )""",
    "CREATE INDEX entry_kind ON entry (kind, id)",
    "CREATE INDEX entry_about ON entry (about, kind)",
    """CREATE TABLE snapshot (
        ask INTEGER PRIMARY KEY REFERENCES entry (id),
        ordinal INTEGER NOT NULL UNIQUE,
        software TEXT NOT NULL DEFAULT '',
        state BLOB NOT NULL
    )""",
)

#: From version 1, which could neither undo nor correct and did not say what software wrote it.
_FROM_1 = (
    "ALTER TABLE entry RENAME TO entry_1",
    "ALTER TABLE snapshot RENAME TO snapshot_1",
    *SCHEMA,
    "INSERT INTO entry (id, at, kind, about, body) SELECT id, at, kind, about, body FROM entry_1",
    """INSERT INTO snapshot (ask, ordinal, state)
        SELECT ask, row_number() OVER (ORDER BY ask), state FROM snapshot_1""",
    "DROP TABLE snapshot_1",
    "DROP TABLE entry_1",
)
_STEPS = {1: _FROM_1}


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a file to this version, within the caller's transaction."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    while version < VERSION:
        if version not in _STEPS:
            expected = f"a campaign in format 1 to {VERSION}"
            raise InputError("campaign", expected, f"format {version}")
        # Renamed tables still point at each other until both are gone.
        connection.execute("PRAGMA defer_foreign_keys = ON")
        for statement in _STEPS[version]:
            connection.execute(statement)
        version += 1
        connection.execute(f"PRAGMA user_version = {version}")
