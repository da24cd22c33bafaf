"""Read a user's table (CSV or Parquet), or raise an error that says what is wrong."""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING, Any

from stackcast._files import reason
from stackcast._validation import InputError, shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import polars as pl

#: Rows that are read: what is done with so many takes about a gigabyte. Constant rows pack so well
#: that a file of a few kilobytes can hold billions.
MOST_ROWS = 15_000_000
_OURS = re.compile(
    r"(forecast|outcome|bin|strategy|action|response|phase|round)(_(.*))?", re.DOTALL
)


def read_frame(path: Path) -> pl.DataFrame:
    """Return the table in a CSV or Parquet file that has at least one row.

    Columns of lists, structures, bytes and durations hold nothing that is read: one with a name
    that means something is refused, others are left out.
    """
    try:
        import polars as pl
    except ImportError:
        expected = "polars to read tables (pip install 'stackcast[tables]')"
        raise InputError("forecasts", expected, "none") from None
    kind = path.suffix.lower()
    if kind not in (".csv", ".parquet"):
        raise InputError("name", "a file that ends in .csv or .parquet", shown(kind))
    try:
        exists = path.is_file()
    except ValueError:  # a zero byte in the name
        exists = False
    if not exists:
        raise InputError("file", "a file that exists", "none")
    try:
        frame = _read_csv(pl, path) if kind == ".csv" else _read_parquet(pl, path)
    except (InputError, KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except OSError as error:
        raise InputError("file", f"a {kind[1:]} table", reason(error)) from None
    except BaseException as error:  # a reader that panics raises no ordinary exception
        found = " ".join(str(error).split()) or type(error).__name__
        raise InputError("file", f"a {kind[1:]} table", shown(found)) from None
    if frame.height == 0:
        raise InputError("file", "at least one row below the names of the columns", "none")
    if frame.height > MOST_ROWS:
        raise InputError("file", f"at most {MOST_ROWS:,} rows", f"{frame.height:,}")
    return _known_columns(frame)


def _read_csv(pl: Any, path: Path) -> Any:
    """Return the table; where ; or tabs part its columns, commas are decimal ones."""
    with path.open("rb") as file:
        head = file.readline(1_000_000)
    mark = max(",;\t", key=lambda m: head.count(m.encode()))
    frame = pl.read_csv(
        path, separator=mark, infer_schema_length=None, try_parse_dates=False, glob=False
    )
    if mark == ",":
        return frame
    texts = frame.select(pl.col(pl.String).str.strip_chars())
    numbers = [c.name for c in texts if c.drop_nulls().str.contains(r"^\d+(,\d+)?$").all()]
    return frame.with_columns(
        texts.select(pl.col(numbers).str.replace(",", ".").cast(pl.Float64, strict=False))
    )


def _read_parquet(pl: Any, path: Path) -> Any:
    with path.open("rb") as file:
        first = file.read(4)
    if first != b"PAR1":
        raise InputError("file", "a parquet table", "a file of another sort")
    with silent():
        rows = pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
        if rows > MOST_ROWS:
            raise InputError("file", f"at most {MOST_ROWS:,} rows", f"{rows:,}")
        return pl.read_parquet(path, glob=False)


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Send what a reader in another language prints when it panics nowhere."""
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _known_columns(frame: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    kept, numbers = [], set[tuple[str, int]]()
    for name, dtype in frame.schema.items():
        ours = _OURS.fullmatch(name)
        repeated = re.fullmatch(r"(.*)_duplicated_\d+", name, re.DOTALL)
        if repeated and repeated[1] in frame.columns and _OURS.fullmatch(repeated[1]):
            raise InputError("columns", "every name once", f"{shown(repeated[1])} twice")
        if ours and ours[3] and ours[3].isdecimal():
            if len(ours[3]) > 6 or not ours[3].isascii():
                raise InputError("columns", "numbers of at most six digits", shown(name))
            if (ours[1], int(ours[3])) in numbers:
                found = f"{shown(name)} and another {ours[1]}_{int(ours[3])}"
                raise InputError("columns", "every number once", found)
            numbers.add((ours[1], int(ours[3])))
        plain = dtype.is_numeric() or dtype.is_(pl.Null) or isinstance(dtype, pl.Enum)
        plain = plain or dtype in (pl.Boolean, pl.String, pl.Categorical, pl.Date, pl.Datetime)
        if plain:
            kept.append(name)
        elif ours:
            raise InputError(f"column {shown(name)}", "numbers or texts", f"{dtype}")
    return frame.select(kept)
