"""What the entries of a campaign say, summed up: answers by strategy, and the status."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast.campaigns.chapters import current_start
from stackcast.campaigns.replaying import Chapter, block_of, rebuild
from stackcast.campaigns.responses import Told

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    from stackcast._validation import FloatArray
    from stackcast.campaigns.advice import Advice
    from stackcast.campaigns.half_known import HalfKnownGame
    from stackcast.campaigns.journal import Entry, Journal
    from stackcast.games import PrincipalView
    from stackcast.protocol import Block

#: A response that was given less often than this does not answer for its strategy.
_CLEAR = 0.6
#: How many strategies a new chapter is told about, the latest ones.
_MOST = 300


@dataclass(frozen=True, eq=False)
class Played:
    """One tell as it stands now: what was really played, and the responses that were seen."""

    strategy: FloatArray
    asked: Block
    as_asked: bool
    told: Told


@dataclass(frozen=True, eq=False)
class Answers:
    """All responses to one strategy: ``counts`` by action."""

    strategy: FloatArray
    counts: npt.NDArray[np.int64]

    @property
    def response(self) -> int | None:
        """The response that answers for the strategy; None if no response is clear."""
        best = int(np.argmax(self.counts))
        return best if self.counts[best] >= _CLEAR * max(self.counts.sum(), 1) else None


def played(journal: Journal) -> Iterator[Played]:
    """Yield all that was told and stands, corrections taken into account."""
    asks = journal.all_asks()
    corrections: dict[int | None, Entry] = {c.about: c for c in journal.standing("correct")}
    for tell in journal.standing("tell"):
        assert tell.about is not None
        body = corrections.get(tell.id, tell).body
        block = block_of(asks[tell.about].body)
        strategy = block.strategy if body["played"] is None else np.array(body["played"])
        yield Played(strategy, block, body["as_asked"], Told.from_table(body))


def pooled(journal: Journal, actions: int, more: Iterable[list[Any]] = ()) -> list[Answers]:
    """Return all answers, those from before the campaign included, one row for each strategy."""
    rows: dict[bytes, Answers] = {}

    def add(strategy: Any, counts: npt.NDArray[np.int64]) -> None:
        h = np.array(strategy, dtype=np.float64)
        full = np.zeros(actions, dtype=np.int64)
        full[: len(counts)] = counts
        key = h.round(12).tobytes()
        if key in rows:
            full += rows.pop(key).counts  # the latest strategies come last
        rows[key] = Answers(h, full)

    for start in journal.standing("start"):
        for strategy, counts in start.body["imported"]:
            add(strategy, np.array(counts, dtype=np.int64))
    for strategy, counts in more:
        add(strategy, np.array(counts, dtype=np.int64))
    for entry in played(journal):
        add(entry.strategy, np.bincount(entry.told.seen(), minlength=actions))
    return list(rows.values())


def as_log(answers: Iterable[Answers], view: PrincipalView) -> list[list[Any]]:
    """Return what a new chapter is told: strategies with a clear response, as plain lists."""
    rows = [
        [answer.strategy.tolist(), answer.response]
        for answer in answers
        if answer.response is not None and view.space.contains(answer.strategy)
    ]
    return rows[-_MOST:]


@dataclass(frozen=True, eq=False)
class Status:
    """What is known in a campaign. A number that nobody can give yet is NaN.

    Parameters
    ----------
    game : HalfKnownGame
        What the principal knows of the game.
    principal : str
        Who advises.
    strategy : array of numbers
        The commitment that it would choose now.
    response : int or None
        The response that it expects.
    value : float
        The principal's utility of the two.
    margin : float
        How far, at least, the strategy lies inside the region of the response.
    certified : bool
        Whether a certificate proves the margin, as far as answers are right.
    potential : float
        What no commitment is thought to exceed.
    further_gain : float
        ``potential − value``.
    answers : tuple of Answers
        The responses that each strategy drew: the regions learned so far.
    contradictions : tuple of dict
        What the principal believed and answers denied, and strategies whose answers disagree.
    differences : tuple of str
        Decisions on record that the software which runs now would take otherwise.
    rounds, missing, unseen : int
        Rounds played; those without a response; those that the principal was not shown, because
        another strategy was played than asked, or for longer.
    average_utility : float
        The principal's utility a round, over the rounds with a response.
    open_ask : Advice or None
        What was asked and not answered yet.
    entries : int
        How many entries the journal has.
    """

    game: HalfKnownGame
    principal: str
    strategy: FloatArray
    response: int | None
    value: float
    margin: float
    certified: bool
    potential: float
    answers: tuple[Answers, ...]
    contradictions: tuple[dict[str, Any], ...]
    differences: tuple[str, ...]
    rounds: int
    missing: int
    unseen: int
    average_utility: float
    open_ask: Advice | None
    entries: int

    @property
    def further_gain(self) -> float:
        """How much more than ``value`` may be possible."""
        return self.potential - self.value

    def to_dict(self) -> dict[str, Any]:
        """Return the status as JSON can hold it; NaN and infinity are null."""
        actions = self.game.agent_actions

        def number(value: float) -> float | None:
            return float(value) if math.isfinite(value) else None

        def name(response: int | None) -> str | None:
            return None if response is None else actions[response]

        return {
            "game": self.game.name,
            "principal": self.principal,
            "principal_actions": list(self.game.principal_actions),
            "agent_actions": list(actions),
            "strategy": self.strategy.tolist(),
            "response": self.response,
            "response_name": name(self.response),
            "value": number(self.value),
            "margin": number(self.margin),
            "certified": self.certified,
            "potential": number(self.potential),
            "further_gain": number(self.further_gain),
            "answers": [
                {
                    "strategy": row.strategy.tolist(),
                    "counts": dict(zip(actions, row.counts.tolist(), strict=True)),
                    "response_name": name(row.response),
                }
                for row in self.answers
            ],
            "contradictions": list(self.contradictions),
            "differences": list(self.differences),
            "rounds": self.rounds,
            "missing": self.missing,
            "unseen": self.unseen,
            "average_utility": number(self.average_utility),
            "open_ask": None if self.open_ask is None else self.open_ask.to_dict(),
            "entries": self.entries,
        }


def status_of(journal: Journal, open_ask: Advice | None) -> Status:
    """Return what is known by now."""
    chapter = Chapter.of(current_start(journal))
    rebuilt = rebuild(journal, chapter)
    differences = dict.fromkeys(
        word for ask in journal.standing("ask") for word in ask.body["differences"]
    )
    if rebuilt is None:
        differences["this version of the software cannot read the principal's state"] = None
        principal = chapter.build()
    else:
        differences |= dict.fromkeys(map(str, rebuilt.differences))
        principal = rebuilt.principal
        if open_ask is not None:
            principal.commit()
    result = principal.result
    rounds, missing, unseen, average = summed_up(journal, chapter.game.principal_view)
    (last,) = journal.entries(last=1)
    return Status(
        game=chapter.game,
        principal=chapter.principal,
        strategy=result.strategy,
        response=result.response,
        value=result.value,
        margin=result.margin,
        certified=bool(getattr(result, "certified", False)),
        potential=result.potential,
        answers=tuple(pooled(journal, len(chapter.game.agent_actions))),
        contradictions=tuple(
            {"round": c.round, "kind": c.kind, "share": None if math.isnan(c.share) else c.share}
            for c in getattr(result, "contradictions", ())
        ),
        differences=tuple(differences),
        rounds=rounds,
        missing=missing,
        unseen=unseen,
        average_utility=average,
        open_ask=open_ask,
        entries=last.id,
    )


def summed_up(journal: Journal, view: PrincipalView) -> tuple[int, int, int, float]:
    """Return rounds, missing responses, rounds not shown, and the average utility."""
    rounds = missing = unseen = seen_rounds = 0
    earned = 0.0
    for entry in played(journal):
        seen = entry.told.seen()
        rounds += entry.told.rounds
        missing += entry.told.missing
        shown = min(len(seen), entry.asked.rounds) if entry.as_asked else 0
        unseen += len(seen) - shown
        seen_rounds += len(seen)
        counts = np.bincount(seen, minlength=view.payoffs.shape[1])
        earned += float(counts @ view.utilities(entry.strategy))
    return rounds, missing, unseen, earned / seen_rounds if seen_rounds else math.nan
