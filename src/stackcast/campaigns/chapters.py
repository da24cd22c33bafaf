"""Chapters: where a principal starts anew, knowing all answers as they stand.

A principal cannot go on where its game has another action, where it is told of a log, or where a
corrected answer would have led it elsewhere: a new chapter begins.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from stackcast._validation import InputError
from stackcast.campaigns.half_known import HalfKnownGame
from stackcast.campaigns.responses import Told
from stackcast.campaigns.software import software

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stackcast.campaigns.journal import Entry, Journal
    from stackcast.campaigns.replaying import Chapter

#: After a correction, decisions are looked at again if no more than this many came after it.
_LOOKED_AT = 200


def current_start(journal: Journal) -> Entry:
    """Return the entry that started the current chapter."""
    start = journal.last("start")
    if start is None:
        place = os.fspath(journal.path)
        raise InputError(place, "a campaign as it was written", "one without a start")
    return start


def known_game(journal: Journal) -> HalfKnownGame:
    """Return the game of the current chapter."""
    body = current_start(journal).body
    return HalfKnownGame.from_table(body["game"], body["fingerprint"])


def open_ask(journal: Journal) -> Entry | None:
    """Return the ask that waits for an answer."""
    asked = journal.last("ask")
    if asked is None:
        return None
    tells = journal.about("tell", asked.id)
    return None if any(answers(journal.as_corrected(tell)) for tell in tells) else asked


def answers(body: Mapping[str, Any]) -> bool:
    """Tell whether what was told answers the ask: its strategy was played and a response seen."""
    told = Told.from_table(body)
    return bool(body["as_asked"]) and told.rounds > told.missing


def start_body(
    why: str, game: HalfKnownGame, principal: str, settings: dict[str, Any]
) -> dict[str, Any]:
    """Return what the entry of a start says; the principal knows of no answers yet."""
    return {
        "reason": why,
        "game": game.to_table(),
        "fingerprint": game.fingerprint,
        "principal": principal,
        "settings": settings,
        "log": [],
        "imported": [],
    }


def new_chapter(
    journal: Journal,
    why: str,
    *,
    game: HalfKnownGame | None = None,
    imported: list[list[Any]] | None = None,
    about: int | None = None,
    declined: dict[str, str] | None = None,
) -> Chapter:
    """Let the principal start anew, within the caller's transaction; an open ask is withdrawn."""
    from stackcast.campaigns.knowledge import as_log, played, pooled
    from stackcast.campaigns.replaying import Chapter, takes_log

    first, *_ = journal.standing("start")
    body = current_start(journal).body
    known = game or known_game(journal)
    learns = takes_log(body["principal"])
    if imported is not None and not learns:
        raise InputError("import", "a principal that learns from a log", body["principal"])
    horizon = first.body["settings"]["horizon"]
    rounds = sum(entry.told.rounds for entry in played(journal))
    settings = {**body["settings"], "horizon": max(horizon - rounds, horizon // 10, 1)}
    new = start_body(why, known, body["principal"], settings)
    if learns:
        found = pooled(journal, len(known.agent_actions), imported or [])
        new["log"] = as_log(found, known.principal_view)
    new["imported"] = imported or []
    if declined is not None:
        new["declined"] = declined
    asked = open_ask(journal)
    number = journal.add("start", about, new, software())
    if asked is not None:
        journal.revoke(asked.id, number)
    chapter = Chapter.of(current_start(journal))
    chapter.build()  # refuses what the principal cannot use, before anything is kept
    return chapter


def still_follows(journal: Journal, corrected: Entry, correction: int) -> bool:
    """Tell whether all decisions after a corrected answer would be taken again.

    An ask that nobody has answered may change: it is withdrawn.
    """
    from stackcast.campaigns.replaying import Chapter, encoded, restored, same_decision, steps

    chapter = Chapter.of(current_start(journal))
    if corrected.about != chapter.start:
        return False
    snapshot = journal.snapshot(chapter.start, at_most=corrected.id)
    past = steps(journal, chapter.start, 0 if snapshot is None else snapshot.ask)
    principal = restored(chapter, snapshot)
    if principal is None or len(past) > _LOOKED_AT:
        return False
    state = principal.state()
    for step in past:
        last = step is past[-1]
        state = principal.state()
        if not same_decision(principal.commit(), step.block):
            if not last or step.responses is not None:
                return False
            journal.revoke(step.ask, correction)
        elif step.responses is not None:
            principal.observe(step.responses)
        elif not last:
            return False
    journal.drop_snapshots(after=corrected.id)
    asked = journal.last("ask")
    if asked is not None and asked.id > corrected.id and asked.id == past[-1].ask:
        journal.keep_snapshot(asked.id, encoded(state), software())
    return True
