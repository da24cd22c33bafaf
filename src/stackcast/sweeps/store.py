"""Where the rows of a sweep are kept: Parquet parts in a folder.

A finished play is a part of its own, at once: written beside and renamed. A run joins its own small
parts into larger ones as they pile up: the large one is brought to the disc, then the small ones
are removed, so that a kill between the two leaves rows twice, which reading undoes. No run touches
the parts of another, so that several can share a folder. A part that cannot be read (a machine that
lost power) is set aside, and its plays are played again.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stackcast._validation import InputError
from stackcast.sweeps.plays import IDENTITY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

#: So many small parts are joined into one.
_JOINED = 200
_GLOB = "part-*.parquet"


class Store:
    """The parts in one folder, for one run that adds to them.

    Parameters
    ----------
    folder : path
        Made if it is not there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(folder)
    ...     store.add({"key": "a1", "game": "g", "regret": 0.25, "error": None})
    ...     Store(folder).keys()
    {'a1': False}
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.set_aside: list[Path] = []
        self._run = uuid.uuid4().hex[:8]
        self._small: list[Path] = []
        self._count = 0
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritable(self.folder, error) from None

    def keys(self) -> dict[str, bool]:
        """Return the key of every play that is there, and whether it failed."""
        polars = _polars()
        found: dict[str, bool] = {}
        for part in sorted(self.folder.glob(_GLOB)):
            try:
                rows = polars.read_parquet(part, columns=["key", "error"])
            except FileNotFoundError:  # another run has joined it
                continue
            except polars.exceptions.PolarsError:
                part.rename(part.with_suffix(".broken"))
                self.set_aside.append(part)
                continue
            for key, error in rows.iter_rows():
                found[key] = found.get(key, True) and error is not None
        return found

    def add(self, row: Mapping[str, Any]) -> None:
        """Keep one row; when this returns, killing the process does not lose it."""
        self._small.append(self._write([row]))
        if len(self._small) >= _JOINED:
            self.join()

    def join(self) -> None:
        """Make one part of the small parts of this run."""
        if len(self._small) < 2:
            return
        polars = _polars()
        rows = [polars.read_parquet(part) for part in self._small]
        self._write(polars.concat(rows, how="diagonal_relaxed"), synced=True)
        for part in self._small:
            part.unlink()
        self._small = []

    def _write(self, rows: Any, *, synced: bool = False) -> Path:
        polars = _polars()
        frame = rows if isinstance(rows, polars.DataFrame) else polars.DataFrame(rows)
        self._count += 1
        part = self.folder / f"part-{self._run}-{self._count:06d}.parquet"
        beside = part.with_suffix(".tmp")
        try:
            with beside.open("wb") as file:
                frame.cast({polars.Null: polars.String}).write_parquet(file)
                if synced:
                    file.flush()
                    os.fsync(file.fileno())
            beside.replace(part)
        except OSError as error:
            beside.unlink(missing_ok=True)
            raise _unwritable(self.folder, error) from None
        return part


def load(folder: str | os.PathLike[str]) -> pl.DataFrame:
    """Return every row of a sweep, each play once, sorted by what was played.

    A failed play counts only if it never succeeded. Any engine that reads Parquet can query the
    files themselves: ``SELECT * FROM 'folder/part-*.parquet'`` in DuckDB, with
    ``union_by_name`` where runs kept different metrics.
    """
    polars = _polars()
    parts = sorted(Path(folder).glob(_GLOB))
    frames = []
    for part in parts:
        try:
            frames.append(polars.read_parquet(part))
        except (polars.exceptions.PolarsError, FileNotFoundError):
            continue
    if not frames:
        raise InputError(str(folder), "the folder of a sweep, with parts", "none")
    rows: pl.DataFrame = polars.concat(frames, how="diagonal_relaxed")
    rows = rows.sort(polars.col("error").is_not_null(), *IDENTITY, "key", maintain_order=True)
    rows = rows.unique("key", keep="first", maintain_order=True)
    order = [name for name in (*IDENTITY, "value", "regret") if name in rows.columns]
    rest = sorted(set(rows.columns) - set(order))
    return rows.sort(*IDENTITY, "key").select(*order, *rest)


def failures(rows: pl.DataFrame) -> Iterable[tuple[str, str]]:
    """Yield what was played and the error, of each play that failed."""
    polars = _polars()
    for row in rows.filter(polars.col("error").is_not_null()).iter_rows(named=True):
        yield ", ".join(str(row[name]) for name in IDENTITY), row["error"]


def _unwritable(folder: Path, error: OSError) -> InputError:
    return InputError(str(folder), "a folder that can be written to", str(error.strerror))


def _polars() -> Any:
    try:
        import polars
    except ImportError:
        raise InputError(
            "sweeps", "Polars (pip install 'stackcast[sweeps]')", "no Polars"
        ) from None
    return polars
