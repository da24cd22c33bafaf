"""The folder's campaigns, in the same files that ``stackcast campaign`` writes."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._random import stream
from stackcast._validation import InputError, whole_number
from stackcast.campaigns import Campaign, HalfKnownGame
from stackcast.games import FiniteGame
from stackcast.studio import games
from stackcast.studio import messages as ms
from stackcast.studio.folder import file_name

if TYPE_CHECKING:
    from pathlib import Path

    from stackcast.campaigns import Advice, Entry
    from stackcast.games import PrincipalView
    from stackcast.studio.folder import Folder

ENDING = ".db"
_MOST_DAYS = 366


def listed(folder: Folder) -> list[ms.CampaignInfo]:
    """Return the campaigns of the folder."""
    return [_info(folder, path) for path in folder.files(ENDING)]


def _info(folder: Folder, path: Path) -> ms.CampaignInfo:
    info = ms.CampaignInfo(
        file=path.name, name=path.stem, state="running", rounds=0, horizon=0, principal="", last=""
    )
    try:
        with Campaign.open(path) as campaign:
            entries = campaign.entries()
            start = campaign.setup
            info.name = start.game.name or path.stem
            info.state, info.last = campaign.state, entries[-1].at
            info.horizon, info.principal = start.settings["horizon"], start.principal
            info.rounds = sum(row.rounds for row in _rows(entries, start.game) if _counts(row))
    except InputError as error:
        info.sentence = folder.plain(str(error))
    return info


def start(folder: Folder, request: ms.NewCampaign) -> str:
    """Start a campaign from a game of the page and return its file."""
    game = games.game_of(request.table)
    if not isinstance(game, FiniteGame | HalfKnownGame):
        raise InputError("game", "a game with a table of payoffs", "a security game")
    name = folder.free(file_name(request.file.removesuffix(ENDING), ENDING))
    Campaign.new(
        folder.at(name),
        game,
        horizon=games_whole("horizon", request.horizon, 1),
        seed=games_whole("seed", request.seed, 0),
        margin=request.margin,
        floor=request.floor,
    ).close()
    return name


def games_whole(field: str, value: Any, at_least: int) -> int:
    """Return a whole number, however it was typed."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return whole_number(field, value, at_least=at_least)


def campaign_message(folder: Folder, name: str, days: int, ask: bool) -> ms.CampaignMessage:
    """Return all that is known of a campaign; with ``ask`` it decides what to do next first."""
    with Campaign.open(folder.at(name, ENDING)) as campaign:
        advice = campaign.open_ask
        if ask and advice is None and campaign.state == "running":
            advice = campaign.ask()
        status = campaign.status()
        entries = campaign.entries()
        state: Any = campaign.state
        settings = campaign.setup.settings
    rows = _rows(entries, status.game)
    actions = status.game.agent_actions
    declined = [e.body for e in entries if e.kind == "decline"]
    reasons = {d["limit"].get("name", ""): d["why"] for d in declined}
    known = status.to_dict()
    return ms.CampaignMessage(
        file=name,
        name=status.game.name or name.removesuffix(ENDING),
        state=state,
        principal=status.principal,
        horizon=settings["horizon"],
        principal_actions=list(status.game.principal_actions),
        agent_actions=list(actions),
        principal_payoffs=status.game.principal_view.payoffs.tolist(),
        advice=None if advice is None else _advice(advice, days, settings["seed"]),
        strategy=known["strategy"],
        response=known["response"],
        value=known["value"],
        margin=known["margin"],
        certified=known["certified"],
        further_gain=known["further_gain"],
        rounds=status.rounds,
        missing=status.missing,
        unseen=status.unseen,
        average_utility=known["average_utility"],
        answers=[
            ms.Answered(
                strategy=row.strategy.tolist(), counts=row.counts.tolist(), response=row.response
            )
            for row in status.answers
        ],
        limits=[
            ms.LimitInForce(name=limit.name or limit.text, why=reasons.get(limit.name, ""))
            for limit in games.limit_texts(games_constraints(status.game))
        ],
        history=rows,
    )


def games_constraints(game: Any) -> Any:
    """Return the limits of a campaign's game."""
    return game.shell.constraints


def _advice(advice: Advice, days: int, seed: int) -> ms.AdviceMessage:
    """Return the advice with whole counts for the days asked for, in an order that is drawn."""
    count = max(1, min(days or min(advice.rounds, 14), _MOST_DAYS))
    quota = np.asarray(advice.strategy) * count
    counts = np.floor(quota + 1e-9).astype(int)
    short = count - int(counts.sum())
    for x in np.argsort(counts - quota, kind="stable")[:short]:
        counts[x] += 1
    rng = stream(seed, "studio", f"schedule {advice.entry} {count}")
    order = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    return ms.AdviceMessage(
        entry=advice.entry,
        strategy=advice.strategy.tolist(),
        rounds=advice.rounds,
        phase=advice.phase,
        why=advice.why,
        counts=counts.tolist(),
        order=order.tolist(),
    )


def _counts(row: ms.Row) -> bool:
    return row.kind == "tell" and row.revoked_by is None


def _rows(entries: list[Entry], game: HalfKnownGame) -> list[ms.Row]:
    """Return the history: what was told as it stands now, and what else people did."""
    asks = {e.id: e for e in entries if e.kind == "ask"}
    corrections = {e.about: e for e in entries if e.kind == "correct" and e.revoked_by is None}
    names, view = game.agent_actions, game.principal_view
    rows = []
    for e in entries:
        if e.kind in ("start", "ask", "draw"):
            continue
        row = ms.Row(
            entry=e.id,
            at=e.at,
            kind=e.kind,
            revoked_by=e.revoked_by,
            words=e.summary(names),
        )
        if e.kind == "tell":
            body = corrections[e.id].body if e.id in corrections else e.body
            row.corrected = e.id in corrections
            _told(row, body, asks[e.about or 0].body, view)
        rows.append(row)
    return rows


def _told(row: ms.Row, body: dict[str, Any], asked: dict[str, Any], view: PrincipalView) -> None:
    """Fill in what a tell says, by the bodies that docs/reference/campaigns.md documents."""
    counts = np.zeros(view.payoffs.shape[1], dtype=int)
    counts[: len(body["counts"])] = body["counts"]
    row.missing = body["missing"]
    row.answers, row.rounds = counts.tolist(), int(counts.sum()) + row.missing
    row.asked, row.strategy = asked["strategy"], body["strategy"]
    row.phase, row.as_asked = asked["phase"], body["as_asked"]
    if counts.sum():
        earned = view.utilities(np.asarray(row.strategy)) @ counts / counts.sum()
        row.earned = float(earned)


def tell(folder: Folder, name: str, request: ms.Telling, correct: bool) -> ms.Done:
    """Record what the agent did, or what an earlier entry should have said."""
    given: Any = request.counts if request.days is None else request.days
    if given is None:
        raise InputError("responses", "counts or a list of responses", "nothing")
    if request.counts is not None:
        given = {key: n for key, n in request.counts.items() if n}
    return _told_as(folder, name, given, request.played, request.entry if correct else None)


def tell_file(folder: Folder, name: str, table: str) -> ms.Done:
    """Record the responses of an uploaded CSV file."""
    return _told_as(folder, name, folder.at(table, ".csv"), None, None)


def _told_as(folder: Folder, name: str, given: Any, played: Any, entry: int | None) -> ms.Done:
    with Campaign.open(folder.at(name, ENDING)) as campaign:
        if entry is not None:
            receipt = campaign.correct(entry, given, played or None)
        else:
            receipt = campaign.tell(given, played or None)
    noun = "round" if receipt.rounds == 1 else "rounds"
    words = f"Recorded as entry {receipt.entry}: {receipt.rounds:,} {noun}."
    if receipt.first_seen:
        words += " Seen for the first time: " + ", ".join(receipt.first_seen) + "."
    if not receipt.as_asked:
        words += " Not as asked: kept on record, and the advice stays open."
    elif not receipt.answered:
        words += " No response was seen: the advice stays open."
    return ms.Done(words=words, entry=receipt.entry)


def undo(folder: Folder, name: str) -> ms.Done:
    """Take back the last entry of a person."""
    with Campaign.open(folder.at(name, ENDING)) as campaign:
        entry = campaign.undo()
    return ms.Done(words=f"Entry {entry.id} ({entry.kind}) is taken back; the journal keeps both.")


def decline(folder: Folder, name: str, request: ms.Declining) -> ms.Done:
    """Decline what was asked; the reason becomes a limit."""
    limit = request.limit.replace("≤", "<=").replace("≥", ">=")
    with Campaign.open(folder.at(name, ENDING)) as campaign:
        campaign.decline(limit, request.why)
    return ms.Done(words=f"Declined, and recorded as the limit {limit}.")


def turn(folder: Folder, name: str, verb: str, request: ms.Reason) -> ms.Done:
    """Pause, close or resume a campaign, or lift a limit."""
    with Campaign.open(folder.at(name, ENDING)) as campaign:
        if verb == "pause":
            campaign.pause(request.why)
        elif verb == "end":
            campaign.end(request.why)
        elif verb == "resume":
            campaign.resume()
        else:
            campaign.lift(request.limit)
    done = {"pause": "Paused.", "end": "Closed.", "resume": "Running again."}
    return ms.Done(words=done.get(verb, f"Lifted: {request.limit}."))


def add_action(folder: Folder, name: str, request: ms.NewAction) -> ms.Done:
    """Add an action of the agent that nobody had thought of."""
    payoffs: Any = request.payoffs
    with Campaign.open(folder.at(name, ENDING)) as campaign:
        campaign.add_action(request.name, payoffs)
    return ms.Done(words=f"Added: {request.name}. The adviser starts anew, knowing all answers.")


def exported(folder: Folder, name: str, ending: str) -> bytes:
    """Return all rounds as they were played, as CSV or Parquet."""
    draft = folder.at(
        f"{name.removesuffix(ENDING)}-export-{stream(0, 'studio', name).integers(1 << 30)}{ending}"
    )
    try:
        with Campaign.open(folder.at(name, ENDING)) as campaign:
            campaign.export(draft)
        return draft.read_bytes()
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
