"""Logs that a campaign reads, and the transcript that it writes."""

from __future__ import annotations

import csv
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError, shown
from stackcast.campaigns.knowledge import played
from stackcast.protocol import Transcript, response_type

if TYPE_CHECKING:
    import os

    import numpy.typing as npt

    from stackcast.campaigns.half_known import HalfKnownGame
    from stackcast.campaigns.journal import Journal


def pooled_log(
    source: str | os.PathLike[str] | tuple[npt.ArrayLike, npt.ArrayLike], game: HalfKnownGame
) -> tuple[list[list[Any]], int]:
    """Return the rows [strategy, counts] of a log, and how many rounds it has."""
    if isinstance(source, tuple):
        if len(source) != 2:
            raise InputError("log", "strategies and responses", f"{len(source)} parts")
        record = Transcript.from_rounds(*source)
    else:
        from stackcast.auditing import read_transcript

        record = read_transcript(Path(source), game.shell)
    m, k = game.principal_view.payoffs.shape
    if record.metadata.get("draws", False):
        raise InputError("log", "the strategies that were played", "drawn actions alone")
    if record.block_strategies.shape[1] != m:
        raise InputError("log", f"strategies of {m} numbers", f"{record.block_strategies.shape[1]}")
    if record.fingerprint not in ("", game.fingerprint, game.shell.fingerprint):
        raise InputError("log", "rounds of the same game", "those of another one")
    responses = record.responses
    if responses.ndim != 1 or responses.max() >= k:
        raise InputError("log", f"responses that are numbers below {k}", shown(responses.max()))
    rows: dict[bytes, list[Any]] = {}
    start = 0
    for strategy, rounds in zip(record.block_strategies, record.block_rounds, strict=True):
        counts = np.bincount(responses[start : start + rounds], minlength=k)
        start += rounds
        row = rows.setdefault(strategy.tobytes(), [strategy.tolist(), np.zeros(k, dtype=np.int64)])
        row[1] = row[1] + counts
    return [[strategy, counts.tolist()] for strategy, counts in rows.values()], record.rounds


def transcript(journal: Journal, start: dict[str, Any]) -> Transcript:
    """Return all rounds with a response as they were really played, in order."""
    entries = [entry for entry in played(journal) if entry.told.rounds > entry.told.missing]
    if not entries:
        raise InputError("export", "at least one round with a response", "none")
    seen = [entry.told.seen() for entry in entries]
    phases = [entry.asked.phase for entry in entries]
    names = tuple(dict.fromkeys(phases))
    actions = start["game"]["agent_actions"]
    return Transcript(
        block_strategies=np.array([entry.strategy for entry in entries]),
        block_rounds=np.array([len(part) for part in seen], dtype=np.int64),
        block_phases=np.array(
            [names.index(entry.asked.phase) for entry in entries], dtype=np.int32
        ),
        phase_names=names,
        compact_responses=np.concatenate(seen).astype(response_type(len(actions))),
        fingerprint=start["fingerprint"],
        metadata={
            "principal": {"name": start["principal"], **start["settings"]},
            "rounds_without_response": sum(entry.told.missing for entry in entries),
            "order_known": all(entry.told.order is not None for entry in entries),
        },
    )


def write_transcript(
    record: Transcript, path: str | os.PathLike[str], game: dict[str, Any]
) -> None:
    """Write a transcript as Parquet, or as a table with one row a round."""
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix == ".parquet":
        record.save(target)
        return
    if suffix != ".csv":
        raise InputError(f"{target}", "a file name that ends in .parquet or .csv", shown(suffix))
    names, actions = game["principal_actions"], game["agent_actions"]
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        with draft.open("x", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            table.writerow(["round", *(f"strategy_{name}" for name in names), "response", "phase"])
            n, responses = 0, record.responses
            for block in record.blocks:
                for y in responses[n : n + block.rounds]:
                    n += 1
                    table.writerow([n, *block.strategy.tolist(), actions[y], block.phase])
        draft.replace(target)
    except OSError as error:
        draft.unlink(missing_ok=True)
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(f"{target}", "a place that can be written to", reason) from None
