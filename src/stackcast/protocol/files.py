"""Transcripts as Parquet files: one row a block, the game and the metadata inside.

The columns are described in ``docs/play.md``. The file's key-value metadata holds, under
``stackcast``, a JSON text with the format's number, the game, the players' settings, the versions
and a SHA-256 of all content, so that a file that was altered is noticed.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError
from stackcast.games import game_from_table, game_to_table
from stackcast.protocol.transcript import Transcript

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl

FORMAT = 1
_KEY = "stackcast"


def save_transcript(transcript: Transcript, path: str | os.PathLike[str]) -> None:
    """Write a transcript: afterwards the whole new file is there, or what was there before."""
    target = Path(path)
    about: dict[str, Any] = {
        "format": FORMAT,
        "dimension": transcript.block_strategies.shape[1],
        "response_type": transcript.compact_responses.dtype.str,
        "response_width": transcript.compact_responses.shape[1:],
        "forecasts": transcript.forecast_table is not None,
        "phase_names": transcript.phase_names,
        "fingerprint": transcript.fingerprint,
        "game": None if transcript.game is None else game_to_table(transcript.game),
        "metadata": transcript.metadata,
    }
    about["sha256"] = _digest(transcript, about)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        _table(transcript).write_parquet(
            temporary, statistics=False, metadata={_KEY: json.dumps(about)}
        )
        temporary.replace(target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise InputError(str(target), "a place that can be written to", _reason(error)) from None
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def load_transcript(path: str | os.PathLike[str]) -> Transcript:
    """Read a transcript, or say in one sentence why the file cannot be used."""
    import polars as pl

    place = os.fspath(path)
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        found = f"no readable file ({_reason(error)})"
        raise InputError(place, "a saved transcript", found) from None
    if data[:4] != b"PAR1":
        raise InputError(place, "a saved transcript (Parquet)", "a file of another sort")
    try:
        words = pl.read_parquet_metadata(data)
        if _KEY not in words:
            found = "a Parquet file that stackcast did not write"
            raise InputError(place, "a saved transcript", found)
        about = json.loads(words[_KEY])
        if about["format"] != FORMAT:
            found = f"format {about['format']!r}"
            raise InputError(place, f"a transcript in format {FORMAT}", found)
        transcript = _from_table(pl.read_parquet(data), about)
        intact = about.pop("sha256") == _digest(transcript, about)
    except InputError as error:
        if error.field == place:
            raise
        intact = False  # a game or a table that cannot be: somebody changed the file
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException:  # a reader that panics raises no ordinary exception
        intact = False
    if not intact:
        raise InputError(place, "a transcript as it was written", "one that was cut or altered")
    return transcript


def _table(transcript: Transcript) -> pl.DataFrame:
    import polars as pl

    rounds, starts = transcript.block_rounds, _starts(transcript.block_rounds)
    responses = transcript.compact_responses
    width = int(np.prod(responses.shape[1:], dtype=np.int64))
    names = np.array(transcript.phase_names, dtype=object)
    columns = [
        pl.Series("strategy", transcript.block_strategies),
        pl.Series("rounds", rounds),
        pl.Series("phase", names[transcript.block_phases], dtype=pl.String),
        _lists("responses", responses.reshape(-1), rounds * width),
    ]
    table, ids = transcript.forecast_table, transcript.forecast_ids
    if table is not None and ids is not None:
        # The block in which the list of forecasts reached its length: none is listed late.
        known = np.maximum.accumulate(np.maximum.reduceat(ids, starts).astype(np.int64) + 1)
        known[-1] = len(table)
        columns += [
            _lists("forecast_ids", ids, rounds),
            _lists("new_forecasts", table.reshape(-1), np.diff(known, prepend=0) * table.shape[1]),
        ]
    return pl.DataFrame(columns)


def _from_table(frame: pl.DataFrame, about: dict[str, Any]) -> Transcript:
    names = tuple(about["phase_names"])
    numbers = {name: i for i, name in enumerate(names)}
    m = int(about["dimension"])
    responses = _flat(frame["responses"], about["response_type"])
    ids = table = None
    if about["forecasts"]:
        ids = _flat(frame["forecast_ids"], "<i4")
        table = _flat(frame["new_forecasts"], "<f8").reshape(-1, m)
    game = None if about["game"] is None else game_from_table(about["game"])
    return Transcript(
        block_strategies=frame["strategy"].to_numpy().reshape(-1, m).astype(np.float64),
        block_rounds=frame["rounds"].to_numpy().astype(np.int64),
        block_phases=np.array([numbers[name] for name in frame["phase"]], dtype=np.int32),
        phase_names=names,
        compact_responses=responses.reshape(-1, *about["response_width"]),
        forecast_ids=ids,
        forecast_table=table,
        fingerprint=about["fingerprint"],
        game=game,
        metadata=about["metadata"],
    )


def _lists(name: str, values: npt.NDArray[Any], lengths: npt.NDArray[np.int64]) -> pl.Series:
    """Return ``values`` cut into consecutive lists of the given lengths, empty ones included."""
    import polars as pl

    filled = np.flatnonzero(lengths)
    row = np.repeat(np.arange(len(filled), dtype=np.uint32), lengths[filled])
    lists = (
        pl.DataFrame([pl.Series("row", row), pl.Series(name, values)])
        .group_by("row", maintain_order=True)
        .agg(pl.col(name))[name]
    )
    if len(filled) == len(lengths):
        return lists
    nothing = pl.Series(name, [[]], dtype=lists.dtype)
    position = np.full(len(lengths), len(filled), dtype=np.uint32)
    position[filled] = np.arange(len(filled), dtype=np.uint32)
    return pl.concat([lists, nothing]).gather(position)


def _flat(lists: pl.Series, dtype: str) -> npt.NDArray[Any]:
    values = lists.filter(lists.list.len() > 0).explode()
    return np.ascontiguousarray(values.to_numpy().astype(dtype))


def _starts(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.cumsum(lengths) - lengths


def _digest(transcript: Transcript, about: dict[str, Any]) -> str:
    content = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for array in (
        transcript.block_strategies,
        transcript.block_rounds,
        transcript.block_phases,
        transcript.compact_responses,
        transcript.forecast_ids,
        transcript.forecast_table,
    ):
        if array is not None:
            content.update(f"{array.dtype.str}{array.shape}".encode())
            content.update(np.ascontiguousarray(array).data)
    return content.hexdigest()


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
