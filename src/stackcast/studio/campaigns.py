"""The folder's campaigns, in the same files that ``stackcast campaign`` writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._random import stream
from stackcast._validation import InputError
from stackcast.campaigns import Campaign, HalfKnownGame
from stackcast.games import FiniteGame
from stackcast.studio import games
from stackcast.studio import messages as ms
from stackcast.studio.folder import File, file_name

if TYPE_CHECKING:
    from pathlib import Path

    from stackcast.campaigns import Advice, Entry, Receipt
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
            rows = _rows(entries, start.game)
            info.rounds = sum(r.rounds for r in rows if r.kind == "tell" and r.revoked_by is None)
            info.entry = entries[-1].id
    except InputError as error:
        info.sentence = folder.plain(str(error))
    return info


def start(folder: Folder, request: ms.NewCampaign) -> ms.Done:
    """Start a campaign from a game of the page."""
    game = games.game_of(request.table)
    if not isinstance(game, FiniteGame | HalfKnownGame):
        raise InputError("game", "a game with a table of payoffs", "a security game")
    name = folder.free(file_name(request.file.removesuffix(ENDING), ENDING))
    Campaign.new(
        folder.at(name),
        game,
        horizon=games.whole("horizon", request.horizon, 1),
        seed=games.whole("seed", request.seed, 0),
        margin=request.margin,
        floor=request.floor,
    ).close()
    return ms.Done(name=name)


def shown(folder: Folder, name: str, days: Any = 0, ask: Any = 0) -> ms.CampaignMessage:
    """Return all that is known of a campaign; with ``ask`` it decides what to do next first."""
    with Campaign.open(folder.at(name, ENDING)) as campaign:
        advice = campaign.open_ask
        if ask and advice is None and campaign.state == "running":
            advice = campaign.ask()
        status, entries, settings = campaign.status(), campaign.entries(), campaign.setup.settings
        state: Any = campaign.state
    game, known = status.game, status.to_dict()
    reasons = {
        e.body["limit"].get("name", ""): e.body["why"] for e in entries if e.kind == "decline"
    }
    limits = games.limit_texts(game.shell.constraints)
    count = games.whole("days", days, 0)
    same = ("strategy", "response", "value", "margin", "certified", "further_gain")
    return ms.CampaignMessage(
        file=name,
        entry=entries[-1].id,
        name=game.name or name.removesuffix(ENDING),
        state=state,
        principal=status.principal,
        horizon=settings["horizon"],
        principal_actions=list(game.principal_actions),
        agent_actions=list(game.agent_actions),
        principal_payoffs=game.principal_view.payoffs.tolist(),
        advice=None if advice is None else _advice(advice, count, settings["seed"]),
        rounds=status.rounds,
        missing=status.missing,
        unseen=status.unseen,
        average_utility=known["average_utility"],
        answers=[
            ms.Answered(strategy=a.strategy.tolist(), counts=a.counts.tolist(), response=a.response)
            for a in status.answers
        ],
        limits=[
            ms.Limit(text=x.text, name=x.name or x.text, why=reasons.get(x.name, ""))
            for x in limits
        ],
        history=_rows(entries, game),
        **{key: known[key] for key in same},
    )


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


def act(folder: Folder, name: str, verb: str, request: ms.Deed) -> ms.Done:
    """Do what a person asks for in a campaign."""
    limit = request.limit.replace("≤", "<=").replace("≥", ">=")
    with Campaign.open(folder.at(name, ENDING)) as campaign:
        if verb in ("tell", "correct"):
            return _tell(campaign, request, verb == "correct")
        if verb == "undo":
            entry = campaign.undo()
            words = f"Entry {entry.id} ({entry.kind}) is taken back; the journal keeps both."
        elif verb == "decline":
            campaign.decline(limit, request.why)
            words = f"Declined, and recorded as the limit {limit}."
        elif verb == "action":
            payoffs: Any = request.payoffs
            campaign.add_action(request.name, payoffs)
            words = f"Added: {request.name}. The adviser starts anew, knowing all answers."
        elif verb == "pause":
            campaign.pause(request.why)
            words = "Paused."
        elif verb == "end":
            campaign.end(request.why)
            words = "Closed."
        elif verb == "resume":
            campaign.resume()
            words = "Running again."
        elif verb == "lift":
            campaign.lift(limit)
            words = f"Lifted: {limit}."
        else:
            verbs = "tell, correct, undo, decline, lift, action, pause, end or resume"
            raise InputError("verb", verbs, verb[:60])
    return ms.Done(words=words)


def _tell(campaign: Campaign, request: ms.Deed, correct: bool) -> ms.Done:
    """Record what the agent did, or what an earlier entry should have said."""
    given: Any = request.days
    if request.counts is not None and request.days is None:
        given = {key: n for key, n in request.counts.items() if n}
    if given is None:
        raise InputError("responses", "counts or a list of responses", "nothing")
    if correct:
        if request.entry is None:
            raise InputError("entry", "the number of an entry", "nothing")
        return _receipt(campaign.correct(request.entry, given, request.played or None))
    return _receipt(campaign.tell(given, request.played or None))


def _receipt(receipt: Receipt) -> ms.Done:
    noun = "round" if receipt.rounds == 1 else "rounds"
    words = f"Recorded as entry {receipt.entry}: {receipt.rounds:,} {noun}."
    if receipt.first_seen:
        words += " Seen for the first time: " + ", ".join(receipt.first_seen) + "."
    if not receipt.as_asked:
        words += " Not as asked: kept on record, and the advice stays open."
    elif not receipt.answered:
        words += " No response was seen: the advice stays open."
    return ms.Done(words=words, entry=receipt.entry)


def tell_file(folder: Folder, name: str, file: File) -> ms.Done:
    """Record the responses of an uploaded CSV file."""
    file.must_end(".csv")
    with folder.draft(".csv", file.content) as draft:
        try:
            with Campaign.open(folder.at(name, ENDING)) as campaign:
                return _receipt(campaign.tell(draft))
        except InputError as error:
            field = error.field.rpartition(".csv: ")[2]
            raise InputError(field, error.expected, error.found) from None


def exported(folder: Folder, name: str, format: str = "csv") -> File:  # noqa: A002
    """Return all rounds as they were played, as CSV or Parquet."""
    if format not in ("csv", "parquet"):
        raise InputError("format", "csv or parquet", str(format)[:60])
    with folder.draft(f".{format}") as draft, Campaign.open(folder.at(name, ENDING)) as campaign:
        campaign.export(draft)
        return File(f"{name.removesuffix(ENDING)}.{format}", draft.read_bytes())
