"""The principal of a campaign, brought back from a snapshot and the entries after it.

Every decision that is made again on the way is compared with the one on record, so that a version
of the software that would decide otherwise is noticed.
"""

from __future__ import annotations

import contextlib
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._state import decode_state, encode_state
from stackcast._validation import InputError, shown, text
from stackcast.campaigns.half_known import HalfKnownGame
from stackcast.campaigns.responses import Told
from stackcast.protocol import Block

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._state import State
    from stackcast._validation import FloatArray
    from stackcast.campaigns.journal import Entry, Journal, Snapshot
    from stackcast.protocol import Principal

#: Decisions that are closer than this are the same: another processor may round otherwise.
_SAME = 1e-9
#: How many decisions a new version of the software makes again before it goes on.
_LOOKED_BACK = 8
#: The states that a campaign keeps.
KIND = "principal of a campaign"


@dataclass(frozen=True, eq=False)
class Chapter:
    """From which entry on which principal plays which game, and what it knew at the start."""

    start: int
    game: HalfKnownGame
    principal: str
    settings: dict[str, Any]
    log: tuple[FloatArray, npt.NDArray[np.int64]] | None

    @classmethod
    def of(cls, entry: Entry) -> Chapter:
        """Return the chapter that an entry starts."""
        body = entry.body
        log = None
        if body["log"]:
            strategies, responses = zip(*body["log"], strict=True)
            log = np.array(strategies), np.array(responses, dtype=np.int64)
        game = HalfKnownGame.from_table(body["game"], body["fingerprint"])
        return cls(entry.id, game, body["principal"], body["settings"], log)

    def build(self, with_log: bool = True) -> Principal:
        """Return the principal of the chapter's start; a state to restore knows the log already."""
        found = find_principal(self.principal)
        parameters = inspect.signature(found).parameters
        wanted = {name: value for name, value in self.settings.items() if value is not None}
        if self.game.bounds is not None:
            wanted["agent_payoffs"] = self.game.bounds
        if with_log and self.log is not None:
            wanted["log"] = self.log
        for name in ("horizon", "seed"):
            if name not in parameters:
                wanted.pop(name, None)
        for name in wanted:
            if name not in parameters:
                raise InputError(name, f"nothing, as {self.principal} cannot use it", "a value")
        required = [
            name
            for name, parameter in list(parameters.items())[1:]
            if parameter.default is parameter.empty and name not in wanted
        ]
        if required or "view" not in parameters:
            found_ = f"{self.principal}, which needs {', '.join(required) or 'the whole game'}"
            expected = "one that needs the principal's view, a horizon and a seed"
            raise InputError("principal", expected, found_)
        made: Principal = found(self.game.principal_view, **wanted)
        return made


def find_principal(name: str) -> type[Any]:
    """Return the class of a principal; ``fixed`` and ``Fixed`` are the same."""
    from stackcast.principals import find

    joined = "".join(part[:1].upper() + part[1:] for part in text("principal", name).split("-"))
    try:
        return find(joined)
    except InputError as error:
        if joined != name:
            with contextlib.suppress(InputError):
                return find(name)
        raise InputError("principal", error.expected, shown(name)) from None


def takes_log(principal: str) -> bool:
    """Tell whether a principal can be told of strategies and responses before it starts."""
    return "log" in inspect.signature(find_principal(principal)).parameters


@dataclass(frozen=True)
class Difference:
    """A decision on record that this version of the software would have taken otherwise."""

    ask: int
    recorded: Block
    now: Block

    def __str__(self) -> str:
        def words(block: Block) -> str:
            numbers = ", ".join(f"{p:.6g}" for p in block.strategy)
            return f"({numbers}) for {block.rounds} rounds"

        return (
            f"entry {self.ask} asked for {words(self.recorded)}, where this version of the "
            f"software would ask for {words(self.now)}"
        )


@dataclass(frozen=True)
class Step:
    """A decision on record and the answer to it, if there is one."""

    ask: int
    block: Block
    responses: npt.NDArray[np.int64] | None


@dataclass(frozen=True, eq=False)
class Rebuilt:
    """The principal before its next decision, and the decisions that it would not take again."""

    principal: Principal
    differences: tuple[Difference, ...]


def block_of(body: dict[str, Any]) -> Block:
    """Return the block of an ask on record."""
    return Block(body["strategy"], body["rounds"], body["phase"])


def steps(journal: Journal, start: int, first: int = 0) -> list[Step]:
    """Return the decisions of a chapter from an ask on, with the answers that the principal saw."""
    found = []
    for ask in journal.asks(start, first):
        block = block_of(ask.body)
        answer = None
        for tell in journal.about("tell", ask.id):
            body = journal.as_corrected(tell)
            if body["as_asked"]:
                seen = Told.from_table(body).seen()[: block.rounds]
                answer = seen if len(seen) else answer
        found.append(Step(ask.id, block, answer))
    return found


def rebuild(journal: Journal, chapter: Chapter) -> Rebuilt | None:
    """Return the principal as the journal has it; None if this version cannot read its state."""
    from stackcast.campaigns.software import software

    latest = journal.snapshot(chapter.start)
    differences: list[Difference] = []
    if latest is not None and latest.software != software():
        earlier = journal.snapshot(chapter.start, before=_LOOKED_BACK)
        past = steps(journal, chapter.start, earlier.ask if earlier else 0)
        past = [step for step in past if step.ask < latest.ask][: 4 * _LOOKED_BACK]
        twin = restored(chapter, earlier)
        if twin is None:
            return None
        found = replay(twin, past)[1]
        differences += [] if found is None else [found]
    principal = restored(chapter, latest)
    if principal is None:
        return None
    state, difference = replay(
        principal, steps(journal, chapter.start, 0 if latest is None else latest.ask)
    )
    if difference is not None:
        # The answer on record is to another question than this version asks: ask that first.
        differences.append(difference)
    principal.restore(state)
    return Rebuilt(principal, tuple(differences))


def replay(principal: Principal, past: list[Step]) -> tuple[State, Difference | None]:
    """Take decisions again and give the answers to them, until one differs or has no answer.

    Returns
    -------
    state, difference
        The principal's state before its next decision, and the decision that differs.
    """
    for step in past:
        state = principal.state()
        now = principal.commit()
        if not same_decision(now, step.block):
            return state, Difference(step.ask, step.block, now)
        if step.responses is None:
            return state, None
        principal.observe(step.responses)
    return principal.state(), None


def same_decision(a: Block, b: Block) -> bool:
    """Tell whether two blocks are the same decision, up to rounding."""
    return (
        a.rounds == b.rounds
        and a.phase == b.phase
        and a.strategy.shape == b.strategy.shape
        and bool(np.abs(a.strategy - b.strategy).max() <= _SAME)
    )


def restored(chapter: Chapter, snapshot: Snapshot | None) -> Principal | None:
    """Return the principal of a snapshot, or of the chapter's start; None if it cannot be read."""
    principal = chapter.build(with_log=snapshot is None)
    if snapshot is not None:
        state = decode_state(KIND, snapshot.state, f"snapshot of entry {snapshot.ask}")
        try:
            principal.restore(state)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            return None  # another version of the principal wrote it
    return principal


def encoded(state: State) -> bytes:
    """Return the bytes of a snapshot."""
    return encode_state(KIND, state)
