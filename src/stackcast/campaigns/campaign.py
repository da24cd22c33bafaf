"""A campaign: a principal that advises people for months, one decision at a time.

What is asked next is a function of the journal. The principal is told, as its log, every mix and
response up to an entry (``since`` of an ask), and takes its decisions after that again; each must
be the one on record. It starts anew, told of all there is by then,

- where what it knows beforehand changed: a limit, an action, an import;
- where a decision on record is not the one that it takes: after a correction, or under another
  version of the software;
- after 64 strategies or 400 asks, so that an ask costs the same after any number of tells.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import math
import os
from dataclasses import dataclass, field
from datetime import date, timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._plain import plain
from stackcast._random import stream
from stackcast._state import decode_state, encode_state
from stackcast._validation import InputError, one_of, real_number, shown, text, whole_number
from stackcast.campaigns.journal import Entry, Journal
from stackcast.campaigns.parsing import (
    Told,
    days_of,
    parse_constraint,
    parse_day,
    parse_responses,
    parse_strategy,
    read_log,
    read_responses,
)
from stackcast.games import Constraint, HalfKnownGame, load_half_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

    from stackcast._state import State
    from stackcast._validation import FloatArray
    from stackcast.games import FiniteGame, PrincipalView
    from stackcast.protocol import Block, Principal, Recommendation, Transcript

    IntArray = npt.NDArray[np.int64]
    Responses = str | os.PathLike[str] | Mapping[str, int] | Iterable[str | int | None]
    Strategy = str | Mapping[str, float] | Iterable[float]

#: A strategy this near to the one asked for is that one, played by people who round.
CLOSE = 0.005
#: Decisions that are closer than this are the same: another processor may round otherwise.
_SAME = 1e-9
#: Strategies and asks that are decided again at most; a decision takes about 10 ms.
_TURNS, _PIECES = 64, 400
#: Mixes that a principal is told about at its start, the latest ones.
_MOST = 300
#: A response that was given less often than this does not answer for its strategy.
_CLEAR = 0.6
#: The prior of the learner's blur where the other side sees actions only, and not the mix: the
#: noise of one action is about 0.5; docs/reference/campaigns.md has what it changes.
_BLUR_OF_ACTIONS = 0.4
_KIND = "principal of a campaign"
#: Entries that change what the principal knows beforehand.
_CHANGES = ("start", "action", "decline", "lift", "import")


# What a campaign hands back ---------------------------------------------------------------------


def mixture(strategy: FloatArray, actions: Sequence[str]) -> str:
    """Return a mixed strategy in words, with as many digits as people can use."""
    return ", ".join(
        f"{100 * p:.4g}% {action}" for p, action in zip(strategy, actions, strict=True) if p > 5e-7
    )


@dataclass(frozen=True, eq=False)
class Advice:
    """What to commit to now.

    Parameters
    ----------
    entry : int
        The number of the ask in the journal.
    strategy : array of numbers
        The mixed strategy to play.
    actions : tuple of str
        The names of its actions.
    rounds : int
        For how many rounds.
    phase : str
        What the principal is doing.
    why : str
        Why.
    days : tuple of str or None
        The dates of the first and the last round, in a campaign whose rounds are days.
    over : bool
        Whether the rounds that the campaign was meant to have are over.
    """

    entry: int
    strategy: FloatArray
    actions: tuple[str, ...]
    rounds: int
    phase: str
    why: str
    days: tuple[str, str] | None = None
    over: bool = False

    def mixture(self) -> str:
        """Return the strategy in words.

        Examples
        --------
        >>> import numpy as np
        >>> Advice(2, np.array([0.25, 0.75]), ("inspect", "trust"), 40, "explore", "").mixture()
        '25% inspect, 75% trust'
        """
        return mixture(self.strategy, self.actions)

    def to_dict(self) -> dict[str, Any]:
        """Return the advice as JSON can hold it."""
        table: dict[str, Any] = plain(self)
        return table


@dataclass(frozen=True)
class Draw:
    """What to do today: the action that the mix of an ask drew, and the entry that records it."""

    entry: int
    action: int
    name: str


@dataclass(frozen=True)
class Receipt:
    """What a recorded answer changed.

    Parameters
    ----------
    entry : int
        Its number in the journal.
    rounds : int
        The rounds that it tells of.
    shown : int
        The responses that the principal is shown as the answer to its question.
    missing : int
        Rounds without a response.
    as_asked : bool
        Whether the strategy that was played is the one asked for, up to rounding.
    answered : bool
        Whether the ask is closed by it.
    first_seen : tuple of str
        Actions of the agent that were never seen before in this campaign.
    days : tuple of str or None
        The dates of the first and of the last round.
    """

    entry: int
    rounds: int
    shown: int
    missing: int
    as_asked: bool
    answered: bool
    first_seen: tuple[str, ...]
    days: tuple[str, str] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the receipt as JSON can hold it."""
        table: dict[str, Any] = plain(self)
        return table


@dataclass(frozen=True, eq=False)
class Answers:
    """All responses to one mix: ``counts`` by action, and what it earned a round."""

    strategy: FloatArray
    counts: IntArray
    utility: float

    @property
    def response(self) -> int | None:
        """The response that answers for the mix; None if no response is clear."""
        best = int(np.argmax(self.counts))
        return best if self.counts[best] >= _CLEAR * max(self.counts.sum(), 1) else None


@dataclass(frozen=True, eq=False)
class Status:
    """What is known in a campaign; a number that is not known yet is NaN.

    Parameters
    ----------
    game : HalfKnownGame
        What the principal knows of the game.
    principal : str
        Who advises.
    strategy, response, value, margin, certified, potential
        The commitment that it would choose now, the response that it expects (or None), the
        principal's utility of the two, how far at least the strategy lies inside the region of the
        response, whether a certificate proves that, and an estimate of what the best earns.
    answers : tuple of Answers
        The responses that each mix drew, those from before the campaign included.
    best : Answers or None
        The mix that earned most on record, few rounds counting for little.
    rounds, missing, unseen : int
        Rounds played; those without a response; those that the principal was not shown, because
        another strategy was played than asked, or for longer.
    average_utility : float
        The principal's utility a round, over the rounds with a response.
    horizon : int
        About how many rounds the campaign was meant to have.
    days : tuple of str or None
        The dates of the first and the last round told.
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
    best: Answers | None
    rounds: int
    missing: int
    unseen: int
    average_utility: float
    horizon: int
    days: tuple[str, str] | None
    open_ask: Advice | None
    entries: int

    @property
    def further_gain(self) -> float:
        """How much more than ``value`` may be possible."""
        return self.potential - self.value

    def to_dict(self) -> dict[str, Any]:
        """Return the status as JSON can hold it; NaN and infinity are null."""
        actions = self.game.agent_actions

        def name(response: int | None) -> str | None:
            return None if response is None else actions[response]

        def row(answers: Answers) -> dict[str, Any]:
            return {
                "strategy": answers.strategy.tolist(),
                "counts": dict(zip(actions, answers.counts.tolist(), strict=True)),
                "response_name": name(answers.response),
                "utility": answers.utility,
            }

        return {
            **plain(self, also=("further_gain",), but=("game", "answers", "best")),
            "game": self.game.name,
            "principal_actions": list(self.game.principal_actions),
            "agent_actions": list(actions),
            "response_name": name(self.response),
            "answers": [row(answers) for answers in self.answers],
            "best": None if self.best is None else row(self.best),
        }


# What the journal says --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Setup:
    """What the principal knows beforehand, by the entries that stand.

    ``changed`` is the last entry that changed it; ``imports`` are rows [strategy, counts].
    """

    game: HalfKnownGame
    principal: str
    settings: dict[str, Any]
    imports: list[tuple[FloatArray, IntArray]]
    changed: int

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> Setup:
        """Fold the entries that changed it."""
        body = entries[0].body
        settings = dict(body["settings"])
        for name, least in (("horizon", 1), ("seed", 0)):
            if type(settings.get(name)) is not int or not least <= settings[name] < 2**53:
                expected = f"a whole number of at least {least}"
                raise InputError(f"settings, {name}", expected, shown(settings.get(name)))
        game = HalfKnownGame.from_table(body["game"], body["fingerprint"])
        imports: list[tuple[FloatArray, IntArray]] = []
        for entry in entries[1:]:
            body = entry.body
            if entry.kind == "action":
                game = game.with_action(text("name", body["name"]), body["payoffs"])
            elif entry.kind == "decline":
                game = game.with_constraints([Constraint.from_table("limit", body["limit"])])
            elif entry.kind == "lift":
                game = game.without_constraint(body["limit"])
            else:
                imports += [(np.array(h), np.array(c, dtype=np.int64)) for h, c in body["rows"]]
        first = entries[0].body
        return cls(game, first["principal"], settings, imports, entries[-1].id)

    def build(self, log: Sequence[tuple[FloatArray, IntArray]] = ()) -> Principal:
        """Return the principal at its start, told of mixes and the counts of their responses."""
        found = find_principal(self.principal)
        takes, settings = inspect.signature(found).parameters, self.settings
        wanted = {
            name: settings[name]
            for name in ("margin", "floor", "misread")
            if settings.get(name) is not None
        }
        for name in wanted:
            if name not in takes:
                raise InputError(name, f"nothing, as {self.principal} cannot use it", "a value")
        offered: dict[str, Any] = {"horizon": settings["horizon"], "seed": settings["seed"]}
        offered["agent_payoffs"] = self.game.bounds
        if settings.get("agent_sees") == "actions":
            offered["blur"] = _BLUR_OF_ACTIONS
        offered["horizon"] += sum(int(counts.sum()) for _, counts in self.imports)
        k = len(self.game.agent_actions)
        rows = [(h, np.pad(c, (0, k - len(c)))) for h, c in log if c.sum()][-_MOST:]
        if rows:
            offered["log"] = np.array([h for h, _ in rows]), np.array([c for _, c in rows])
        given = {key: value for key, value in offered.items() if key in takes and value is not None}
        given |= wanted
        required = [
            name
            for name, parameter in list(takes.items())[1:]
            if parameter.default is parameter.empty and name not in given
        ]
        if required or "view" not in takes:
            needs = f"{self.principal}, which needs {', '.join(required) or 'the whole game'}"
            expected = "one that needs the principal's view, a horizon and a seed"
            raise InputError("principal", expected, needs)
        made: Principal = found(self.game.principal_view, **given)
        return made


def find_principal(name: str) -> type[Any]:
    """Return the class of a principal; ``fixed`` and ``Fixed`` are the same."""
    from stackcast.principals import find

    if ":" in text("principal", name):
        raise InputError(
            "principal", "an installed principal: a campaign names no class", shown(name)
        )
    joined = "".join(part[:1].upper() + part[1:] for part in text("principal", name).split("-"))
    try:
        return find(joined)
    except InputError as error:
        if joined != name:
            with contextlib.suppress(InputError):
                return find(name)
        raise InputError("principal", error.expected, shown(name)) from None


@dataclass(eq=False)
class Record:
    """Every mix that was played, in order, with the counts of its responses.

    ``rounds`` counts rounds without a response too; ``upto`` is the last entry taken in.
    """

    rows: dict[tuple[float, ...], IntArray] = field(default_factory=dict)
    rounds: int = 0
    upto: int = 0

    def add(self, strategy: Iterable[float], counts: Sequence[int] | IntArray, k: int) -> None:
        """Add responses to a mix."""
        key = tuple(np.round(np.asarray(strategy, dtype=np.float64), 12).tolist())
        full = np.zeros(k, dtype=np.int64)
        full[: len(counts)] = counts
        full += self.rows.pop(key, 0)  # the latest mixes come last
        self.rows[key] = full

    def answers(self, view: PrincipalView) -> list[Answers]:
        """Return what each mix drew and earned."""
        found = []
        for key, counts in self.rows.items():
            h, n = np.array(key), int(counts.sum())
            h = h / h.sum() if view.space.pure.kind == "simplex" and h.sum() > 0 else h
            earned = float(counts @ view.utilities(h)) / n if n else math.nan
            found.append(Answers(h, counts, earned))
        return found


def best_mix(answers: Iterable[Answers], view: PrincipalView) -> Answers | None:
    """Return the mix that earned most, one more round at its worst response counted in.

    Examples
    --------
    >>> game = HalfKnownGame([[1, 3], [0, 2]])
    >>> rows = [Answers(np.array([1.0, 0]), np.array([5, 0]), 1.0),
    ...         Answers(np.array([0, 1.0]), np.array([0, 3]), 2.0)]
    >>> best_mix(rows, game.principal_view).strategy
    array([0., 1.])
    """

    def least(row: Answers) -> float:
        n = int(row.counts.sum())
        return (n * row.utility + float(view.utilities(row.strategy).min())) / (n + 1)

    allowed = [row for row in answers if row.counts.sum() and view.space.contains(row.strategy)]
    return max(allowed, key=least, default=None)


def _told(body: dict[str, Any]) -> Told:
    order, days = body["order"], body["days"]
    return Told(
        tuple(body["counts"]),
        body["missing"],
        None if order is None else tuple(order),
        None if days is None else (days[0], days[1]),
    )


def _answers(body: dict[str, Any]) -> bool:
    """Tell whether what was told answers the ask: its strategy was played and a response seen."""
    return bool(body["as_asked"]) and sum(body["counts"]) > 0


# The campaign -----------------------------------------------------------------------------------


class Campaign:
    """A principal that advises people who face a real agent.

    Everything that it is told is in a file before it is acknowledged, and only ever added to. Use
    it as a context, or close it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> game = HalfKnownGame([[1, 3], [0, 2]], ["up", "down"], ["left", "right"])
    >>> with TemporaryDirectory() as folder:
    ...     with Campaign.new(Path(folder) / "x.db", game, horizon=1000, seed=1) as campaign:
    ...         advice = campaign.ask()
    ...         receipt = campaign.tell({"left": 3, "right": advice.rounds - 3})
    ...         again = campaign.ask()
    ...     with Campaign.open(Path(folder) / "x.db") as campaign:
    ...         same = campaign.ask()
    >>> receipt.answered, again.entry == same.entry, bool((again.strategy == same.strategy).all())
    (True, True, True)
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        # The versions that a decision may depend on: a snapshot of others is not used.
        version = import_module("stackcast").__version__
        self._software = f"stackcast {version}, numpy {np.__version__}"

    @classmethod
    def new(
        cls,
        path: str | os.PathLike[str],
        game: HalfKnownGame | FiniteGame | str | os.PathLike[str],
        principal: str = "CommitmentLearner",
        *,
        horizon: int = 10_000,
        seed: int = 0,
        margin: float | None = None,
        floor: float | None = None,
        misread: float = 0.0,
        agent_sees: str = "actions",
        first_day: str | None = None,
        constraints: Iterable[Constraint | str] = (),
    ) -> Campaign:
        """Start a campaign in a new file.

        Parameters
        ----------
        path : str or path
            The file; there must be none of that name.
        game : HalfKnownGame, FiniteGame, str or path
            What the principal knows, or a file with it. Of a whole game, only the principal's half
            is taken.
        principal : str
            Who advises: a name that :func:`stackcast.principals.names` lists.
        horizon : int
            About how many rounds the campaign will have.
        seed : int
            The seed of the principal's draws.
        margin : float, optional
            The margin to certify.
        floor : float, optional
            Nothing is asked that may earn less than this, whatever the response.
        misread : float
            The share of responses that are seen wrongly, below ½.
        agent_sees : {"actions", "mix"}
            Whether the other side sees each day's action or is told the mix itself.
        first_day : str, optional
            The date of the first round, as ``"2026-03-14"``: rounds are then days.
        constraints : iterable of Constraint or str, optional
            Further limits on what may be committed to, as ``"thorough + 2 light <= 0.4"``.
        """
        half = HalfKnownGame.of(game) if not isinstance(game, str) else load_half_known(game)
        half = half.with_constraints(
            parse_constraint(c, half.principal_actions) if isinstance(c, str) else c
            for c in constraints
        )
        if real_number("misread", misread, at_least=0) >= 0.5:
            raise InputError("misread", "a share below 0.5", f"{misread:g}")
        settings = {
            "horizon": whole_number("horizon", horizon, at_least=1),
            "seed": whole_number("seed", seed),
            "margin": None if margin is None else real_number("margin", margin, at_least=0),
            "floor": None if floor is None else real_number("floor", floor),
            "misread": misread or None,
            "agent_sees": one_of("agent_sees", agent_sees, ("actions", "mix")),
            "first_day": None if first_day is None else str(parse_day("first_day", first_day)),
        }
        body = {
            "game": half.to_table(),
            "fingerprint": half.fingerprint,
            "principal": principal,
            "settings": settings,
        }
        Setup.of([Entry(1, "", "start", None, body, None)]).build()
        return cls(Journal.create(path, body))

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Campaign:
        """Open the campaign in a file."""
        return cls(Journal(path))

    def close(self) -> None:
        """Close the file."""
        self._journal.close()

    def __enter__(self) -> Campaign:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # The verbs of every day -----------------------------------------------------------------

    @property
    def open_ask(self) -> Advice | None:
        """What was asked and not answered yet."""
        asked = self._open()
        return None if asked is None else self._advice(asked, self._setup())

    def ask(self) -> Advice:
        """Return what to commit to now; asked again before an answer, the same."""
        version = "PRAGMA data_version"  # changes when another connection writes
        seen = self._journal.rows(version)
        (last, waits), setup = self._last(), self._setup()
        if not waits:
            if self.state != "running":
                raise InputError("ask", "a campaign that is running (resume it)", self.state)
            with self._journal.writing():
                if self._journal.rows(version) != seen:
                    (last, waits), setup = self._last(), self._setup()
                last = last if waits else self._decide(setup, last)
        assert last is not None
        return self._advice(last, setup)

    def draw(self) -> Draw:
        """Return what to do now: an action drawn from the mix; the same until something is told."""
        with self._journal.writing():
            asked = self._open()
            if asked is None:
                raise InputError("draw", "an ask to draw from (ask first)", "none open")
            tells = self._journal.last("tell")
            told = 0 if tells is None else tells.id
            setup = self._setup()
            names = setup.game.principal_actions
            drawn = self._journal.last("draw")
            if drawn is not None and drawn.about == asked.id and drawn.body["round"] == told:
                number, x = drawn.id, drawn.body["action"]
            else:
                h = np.cumsum(asked.body["strategy"])
                rng = stream(setup.settings["seed"], "campaign", "draw", asked.id, told)
                x = min(int(np.searchsorted(h, rng.random() * h[-1], "right")), len(names) - 1)
                number = self._journal.add("draw", asked.id, {"action": x, "round": told})
        if x >= len(names):
            raise self._journal.altered(f"entry {number}")
        return Draw(number, x, names[x])

    def tell(
        self, responses: Responses, played: Strategy | None = None, day: str | None = None
    ) -> Receipt:
        """Record how the agent responded; on return, it is on the disk.

        Parameters
        ----------
        responses : str, mapping, iterable or path
            Counts (``"comply=7,violate=3"`` or a mapping), a list (``"comply,?,violate"`` or names
            or numbers, None where a response is missing), or the path of a CSV file. Fewer rounds
            than asked are fine; further ones are recorded and not shown to the principal.
        played : str, mapping or iterable, optional
            The strategy that was really played, if it is not the one asked for. Further than 0.005
            from it, the rounds are recorded and the ask stays open. Of one round, a single action
            of the mix is what was done that day.
        day : str, optional
            The date of the first round. Days since the last one told have no record.
        """
        with self._journal.writing():
            asked = self._open()
            if asked is None:
                raise InputError("tell", "an open question (ask first, then tell)", "none")
            last, setup = self._journal.last("tell"), self._setup()
            body = self._read(
                setup, asked, responses, played, self._next_day(setup, last, asked), day
            )
            before = [] if last is None else last.body.get("seen", [])
            new = [y for y, n in enumerate(body["counts"]) if n and y not in before]
            body["seen"] = sorted([*before, *new])
            entry = self._journal.add("tell", asked.id, body)
            names = setup.game.agent_actions
        return self._receipt(entry, asked, body, tuple(names[y] for y in new))

    def status(self) -> Status:
        """Return what is known by now; nothing is changed."""
        with self._journal.reading():
            return self._status()

    # When something was wrong ---------------------------------------------------------------

    def undo(self) -> Entry:
        """Take back the last entry of a person, and what was asked after it; return the entry."""
        with self._journal.writing():
            target = self._journal.last("tell", "correct", *_CHANGES[1:])
            if target is None:
                raise InputError("undo", "an entry to take back", "none")
            number = self._journal.add("undo", target.id, {})
            self._withdraw(number, after=target.id)
            self._journal.revoke(target.id, number)
            self._journal.reinstate(target.id)
        return target

    def correct(self, entry: int, responses: Responses, played: Strategy | None = None) -> Receipt:
        """Record what an earlier tell should have said; what is asked next follows from that."""
        with self._journal.writing():
            tell = self._journal.entry(whole_number("entry", entry))
            if tell is None or tell.kind != "tell" or tell.revoked_by is not None:
                expected = "the number of a tell that stands (see the log)"
                raise InputError("correct", expected, shown(entry))
            asked = self._journal.entry(tell.about or 0)
            if asked is None or asked.kind != "ask":
                raise self._journal.altered(f"entry {tell.id}")
            body = self._read(self._setup(), asked, responses, played, None, None)
            body["days"] = body["days"] or tell.body["days"]
            number = self._journal.add("correct", tell.id, body)
            self._withdraw(number, after=tell.id)
            self._journal.rows("DELETE FROM snapshot")
        return self._receipt(number, asked, body, ())

    def add_action(self, name: str, payoffs: npt.ArrayLike) -> None:
        """Add an action of the agent that was not foreseen.

        Parameters
        ----------
        name : str
            Its name.
        payoffs : array-like, shape (m,)
            What the principal earns by it, for each of its own actions.
        """
        numbers = [float(v) for v in np.asarray(payoffs, dtype=np.float64).ravel()]
        self._change("action", {"name": text("action", name), "payoffs": numbers})

    def decline(self, limit: Constraint | str, why: str = "") -> None:
        """Decline what was asked: add a limit that later advice keeps, and withdraw the ask.

        Parameters
        ----------
        limit : Constraint or str
            What cannot be done, as a limit on what may be committed to: ``"audit <= 0.2"``.
        why : str
            The reason, for whoever reads the journal.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> game = HalfKnownGame([[1, 3], [0, 2]], ["up", "down"], ["left", "right"])
        >>> with TemporaryDirectory() as folder:
        ...     with Campaign.new(Path(folder) / "x.db", game, horizon=500) as campaign:
        ...         _ = campaign.ask()
        ...         campaign.decline("up <= 0.4", "too dear this month")
        ...         bool(campaign.ask().strategy[0] <= 0.4 + 1e-9)
        True
        """
        if isinstance(limit, str):
            limit = parse_constraint(limit, self._setup().game.principal_actions)
        self._change("decline", {"limit": limit.to_table(), "why": text("why", why)})

    def lift(self, limit: str) -> None:
        """Lift a limit by its name."""
        self._change("lift", {"limit": text("limit", limit)})

    @property
    def state(self) -> str:
        """Whether the campaign is ``"running"``, ``"paused"`` or ``"ended"``."""
        last = self._journal.last("pause", "resume", "end")
        return {"pause": "paused", "end": "ended"}.get(last.kind if last else "", "running")

    def pause(self, why: str = "") -> None:
        """Ask for nothing until :meth:`resume`; what was asked can still be told."""
        self._turn("pause", "paused", why)

    def end(self, why: str = "") -> None:
        """Close the campaign; :meth:`resume` opens it again."""
        self._turn("end", "ended", why)

    def resume(self) -> None:
        """Continue a campaign that was paused or ended."""
        self._turn("resume", "running", "")

    def import_log(
        self,
        source: str | os.PathLike[str] | tuple[npt.ArrayLike, npt.ArrayLike],
        strategy: Strategy | None = None,
        since: str | None = None,
        until: str | None = None,
    ) -> int:
        """Learn from mixes and responses that are not of this campaign.

        Parameters
        ----------
        source : path, or pair of arrays
            A CSV file (:func:`~stackcast.campaigns.parsing.read_log` has its columns), a transcript
            (.parquet), or strategies (n×m) and the numbers of the responses (n).
        strategy : str, mapping or iterable, optional
            The mix in force, for a file that says only what was done.
        since, until : str, optional
            The first and the last date to be read.

        Returns
        -------
        int
            How many rounds were read.
        """
        game = self._setup().game
        days = [None if d is None else parse_day("period", d) for d in (since, until)]
        h = None if strategy is None else parse_strategy(strategy, game.principal_actions)
        if isinstance(source, tuple) or str(source).lower().endswith(".parquet"):
            rows, estimated = _transcript_rows(source, game), False
        else:
            rows, estimated = read_log(source, game.principal_actions, game.agent_actions, h, *days)
        rounds = sum(int(counts.sum()) for _, counts in rows)
        if not rounds:
            raise InputError("import", "at least one round with a response", "none")
        body = {
            "rows": [[strategy.tolist(), counts.tolist()] for strategy, counts in rows],
            "estimated": estimated,
            "rounds": rounds,
        }
        if "log" not in inspect.signature(find_principal(self._setup().principal)).parameters:
            found = self._setup().principal
            raise InputError("import", "a principal that learns from a log", found)
        self._change("import", body)
        return rounds

    # What is there --------------------------------------------------------------------------

    def entries(self, last: int | None = None) -> list[Entry]:
        """Return the journal, or its last entries."""
        return self._journal.latest(last)

    @property
    def setup(self) -> Setup:
        """What the principal knows beforehand: the game with its limits, and the settings."""
        return self._setup()

    @property
    def agent_actions(self) -> tuple[str, ...]:
        """The names of the agent's actions by now."""
        return self._setup().game.agent_actions

    def past(self) -> list[Answers]:
        """Return every mix of the record, imports included, with its responses and earnings."""
        with self._journal.reading():
            setup = self._setup()
            return self._all(setup, self._record(setup)).answers(setup.game.principal_view)

    def learner(self) -> Principal:
        """Return the principal as it would decide next, told of all that is on record."""
        with self._journal.reading():
            setup = self._setup()
            return setup.build(self._log(setup, self._record(setup)))

    def transcript(self) -> Transcript:
        """Return all rounds with a response, as they were really played, in order."""
        from stackcast.protocol import Transcript, response_type

        with self._journal.reading():
            setup, asks = self._setup(), {e.id: e for e in self._journal.entries("kind = 'ask'")}
            tells = [tell for tell in self._journal.told() if sum(tell.body["counts"])]
        if not tells:
            raise InputError("export", "at least one round with a response", "none")
        seen = [_told(tell.body).seen() for tell in tells]
        phases = [asks[tell.about].body["phase"] if tell.about in asks else "" for tell in tells]
        names = tuple(dict.fromkeys(phases))
        return Transcript(
            block_strategies=np.array([tell.body["strategy"] for tell in tells]),
            block_rounds=np.array([len(part) for part in seen], dtype=np.int64),
            block_phases=np.array([names.index(phase) for phase in phases], dtype=np.int32),
            phase_names=names,
            compact_responses=np.concatenate(seen).astype(
                response_type(len(setup.game.agent_actions))
            ),
            fingerprint=setup.game.fingerprint,
            metadata={
                "principal": {"name": setup.principal, **setup.settings},
                "rounds_without_response": sum(tell.body["missing"] for tell in tells),
                "order_known": all(tell.body["order"] is not None for tell in tells),
            },
        )

    def export(self, path: str | os.PathLike[str]) -> int:
        """Write the transcript, for ``audit``, and return its rounds.

        Parameters
        ----------
        path : str or path
            A ``.parquet`` file, or a ``.csv`` table with one row a round.
        """
        import csv
        import io
        from pathlib import Path

        from stackcast._files import write_whole

        record, suffix = self.transcript(), Path(path).suffix.lower()
        if suffix == ".parquet":
            record.save(path)
            return record.rounds
        if suffix != ".csv":
            expected = "a file name that ends in .parquet or .csv"
            raise InputError(f"{path}", expected, shown(suffix))
        game, content = self._setup().game, io.StringIO(newline="")
        table = csv.writer(content)
        names = [f"strategy_{name}" for name in game.principal_actions]
        table.writerow(["round", *names, "response", "phase"])
        n, responses = 0, record.responses
        for block in record.blocks:
            for y in responses[n : n + block.rounds]:
                n += 1
                table.writerow([n, *block.strategy.tolist(), game.agent_actions[y], block.phase])
        write_whole(path, content.getvalue().encode())
        return record.rounds

    # Inside: deciding -----------------------------------------------------------------------

    def _setup(self) -> Setup:
        entries = self._journal.standing(*_CHANGES)
        if not entries or entries[0].kind != "start" or "start" in {e.kind for e in entries[1:]}:
            raise self._journal.altered()
        try:
            return Setup.of(entries)
        except InputError as error:
            raise error.inside(self._journal.place) from None

    def _last(self) -> tuple[Entry | None, bool]:
        """Return the last ask, and whether it waits for an answer."""
        last = self._journal.last("ask")
        if last is None:
            return None, False
        return last, not any(_answers(tell.body) for tell in self._journal.told(last.id))

    def _open(self) -> Entry | None:
        """Return the ask that waits for an answer."""
        last, waits = self._last()
        return last if waits else None

    def _decide(self, setup: Setup, last: Entry | None) -> Entry:
        """Let the principal decide after the last ask, and record it."""
        journal = self._journal
        principal, record = None, None
        since, turn, pieces = 0, 0, 0
        if last is not None and last.id > setup.changed:
            since, turn, pieces = (last.body[key] for key in ("since", "turn", "pieces"))
            if turn < _TURNS and pieces < _PIECES:
                principal, record = self._again(setup, last)
        record = record or self._record(setup)
        if principal is None:
            (found,) = journal.rows("SELECT max(id) FROM entry")
            since, turn, pieces = found[0], 0, 0
            principal = setup.build(self._log(setup, record))
        state = principal.state()
        block = principal.commit()
        strategy, why, kept = self._reviewed(setup, record, block, principal.result)
        moved = last is None or np.abs(strategy - np.array(last.body["strategy"])).max() > _SAME
        body = {
            "strategy": strategy.tolist(),
            "rounds": block.rounds,
            "phase": "commit" if kept else block.phase,
            "why": why,
            "since": since,
            # The record's own mix is none of the principal's: it starts anew after it.
            "turn": _TURNS if kept else turn + bool(moved),
            "pieces": pieces + 1,
            "before": record.rounds,
        }
        number = journal.add("ask", None, body)
        self._keep(number, state, record)
        return Entry(number, "", "ask", None, body, None)

    def _again(
        self, setup: Setup, last: Entry, waits: bool = False
    ) -> tuple[Principal | None, Record | None]:
        """Return the principal after the answer to the last ask, or none where it departs.

        If the last ask waits for its answer, it is committed to it.
        """
        kept = self._kept(setup, last.id)
        if kept is not None:
            (principal, record, tells), asks = kept, [last]
        else:
            since, record = last.body["since"], None
            rows = self._record(setup, since)
            principal = setup.build(self._log(setup, rows))
            asks, tells = (
                self._journal.standing("ask", after=since),
                self._journal.told(after=since),
            )
        answers: dict[int | None, Told] = {}
        for tell in tells:
            if _answers(tell.body):
                answers[tell.about] = _told(tell.body)
        for ask in asks:
            now, then = principal.commit(), np.array(ask.body["strategy"])
            if waits and ask.id == last.id:
                break
            same = now.strategy.shape == then.shape and np.abs(now.strategy - then).max() <= _SAME
            if not (same and now.rounds == ask.body["rounds"] and ask.id in answers):
                return None, record
            seen = answers[ask.id].seen()[: now.rounds]
            if seen.max() >= len(setup.game.agent_actions):
                raise self._journal.altered()
            principal.observe(seen)
        return principal, record

    def _record(self, setup: Setup, upto: int = 2**62) -> Record:
        """Return all mixes that were told up to an entry."""
        k, found = len(setup.game.agent_actions), Record()
        by: dict[str, IntArray] = {}
        for strategy, y, n in self._journal.pooled(upto):
            if not (isinstance(y, int) and 0 <= y < k and isinstance(n, int)):
                raise self._journal.altered()
            by.setdefault(strategy, np.zeros(k, dtype=np.int64))[y] += n
        m = len(setup.game.principal_actions)
        for strategy, counts in by.items():
            h = json.loads(strategy)
            if len(h) != m:
                raise self._journal.altered()
            found.add(h, counts, k)
            found.rounds += int(counts.sum())
        (missing,) = self._journal.rows(
            "SELECT coalesce(sum(json_extract(body, '$.missing')), 0) FROM entry"
            " WHERE kind = 'tell' AND revoked_by IS NULL"
        )[0]
        found.rounds += int(missing)
        found.upto = self._journal.rows("SELECT max(id) FROM entry")[0][0]
        return found

    def _all(self, setup: Setup, record: Record) -> Record:
        """Return the record with the imports before it."""
        if not setup.imports:
            return record
        k, whole = len(setup.game.agent_actions), Record(rounds=record.rounds)
        for h, counts in setup.imports:
            whole.add(h, counts, k)
        for key, counts in record.rows.items():
            whole.add(key, counts, k)
        return whole

    def _log(self, setup: Setup, record: Record) -> list[tuple[FloatArray, IntArray]]:
        """Return what a principal is told at its start."""
        rows = self._all(setup, record).answers(setup.game.principal_view)
        return [(row.strategy, row.counts) for row in rows if row.counts.sum()]

    def _keep(self, ask: int, state: State, record: Record) -> None:
        """Keep the state before an ask and the record, which may be forgotten at any time."""
        kept = {
            "principal": state,
            "mixes": np.array(list(record.rows), dtype=np.float64),
            "counts": np.array(list(record.rows.values()), dtype=np.int64),
            "rounds": record.rounds,
            "upto": record.upto,
        }
        self._journal.keep_snapshot(ask, self._software, encode_state(_KIND, kept))

    def _kept(self, setup: Setup, ask: int) -> tuple[Principal, Record, list[Entry]] | None:
        """Return the principal before an ask, the record now and the tells since, if kept."""
        found = self._journal.snapshot(ask, self._software)
        if found is None:
            return None
        try:
            kept = decode_state(_KIND, found, "snapshot")
            principal = setup.build()
            principal.restore(kept["principal"])
            k = len(setup.game.agent_actions)
            record = Record(rounds=int(kept["rounds"]), upto=int(kept["upto"]))
            for key, counts in zip(kept["mixes"].tolist(), kept["counts"], strict=True):
                record.rows[tuple(key)] = counts
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            return None  # it is only a cache
        tells = self._journal.told(after=record.upto)
        for tell in tells:
            record.add(tell.body["strategy"], tell.body["counts"], k)
            record.rounds += sum(tell.body["counts"]) + tell.body["missing"]
            record.upto = tell.id
        return principal, record, tells

    def _reviewed(
        self, setup: Setup, record: Record, block: Block, result: Recommendation
    ) -> tuple[FloatArray, str, bool]:
        """Return the strategy to ask for, why, and whether it is the best mix of the record.

        What promises less than the best mix on record has earned is replaced by that mix: a
        commitment by its value, a question by what the best commitment is thought to earn.
        """
        view, settings = setup.game.principal_view, setup.settings
        why, strategy = _reason(block, result, setup.game.agent_actions), block.strategy
        kept = False
        best = best_mix(self._all(setup, record).answers(view), view)
        if best is not None and np.abs(best.strategy - strategy).max() > CLOSE:
            n = int(best.counts.sum())
            least = (n * best.utility + float(view.utilities(best.strategy).min())) / (n + 1)
            said = mixture(best.strategy, setup.game.principal_actions)
            earned = f"{best.utility:.4g} a round in {n:,} round{'s' if n > 1 else ''}"
            changed = getattr(getattr(result, "agent", None), "changes", 0)
            commits = block.phase == "commit"
            promised = result.value if commits else result.potential
            if commits or block.phase == "explore":
                if least > promised and changed:
                    why += f" The best mix on record, {said}, earned {earned}, but responses have"
                    why += " changed since."
                elif least > promised:
                    strategy, kept = best.strategy, True
                    why = f"The best mix on record: it earned {earned}, and no other is expected"
                    why += " to earn more."
                elif not commits:
                    why += f" The best mix on record, {said}, earned {earned}."
                elif best.utility > promised:
                    why += f" The mix {said} earned {earned}, too few to rely on."
        because = ["the other side sees actions only"] * (settings.get("agent_sees") == "actions")
        if settings.get("misread"):
            because.append(f"{100 * settings['misread']:.3g}% of the responses are seen wrongly")
        if block.phase == "commit" and not kept and because and 0 < result.margin < math.inf:
            why += (
                f" It keeps a margin of {result.margin:.2g} from where the response is thought to"
            )
            why += f" change; {' and '.join(because)}, which asks for more room than usual."
        if record.rounds >= settings["horizon"]:
            why += f" The planned {settings['horizon']:,} rounds are over; this goes on as before."
        return strategy, why, kept

    def _advice(self, asked: Entry, setup: Setup) -> Advice:
        body = asked.body
        strategy: FloatArray = np.array(body["strategy"])
        strategy.flags.writeable = False
        if len(strategy) != len(setup.game.principal_actions):
            raise self._journal.altered(f"entry {asked.id}")
        before = body.get("before", 0)
        days = None
        if setup.settings.get("first_day"):
            first = self._next_day(setup, self._journal.last("tell"), asked)
            days = None if first is None else days_of(first, 0, body["rounds"])
        return Advice(
            asked.id, strategy, setup.game.principal_actions, body["rounds"], body["phase"],
            body["why"], days, before >= setup.settings["horizon"],
        )  # fmt: skip

    # Inside: recording ----------------------------------------------------------------------

    def _withdraw(self, by: int, after: int) -> None:
        """Take back the open ask if it came after an entry."""
        asked = self._open()
        if asked is not None and asked.id > after:
            self._journal.revoke(asked.id, by)

    def _change(self, kind: str, body: dict[str, Any]) -> None:
        """Add an entry that changes what the principal knows; the open ask is withdrawn."""
        with self._journal.writing():
            number = self._journal.add(kind, None, body)
            # Refuses what the principal cannot use; then nothing is kept.
            Setup.of(self._journal.standing(*_CHANGES)).build()
            self._withdraw(number, after=0)

    def _turn(self, kind: str, state: str, why: str) -> None:
        with self._journal.writing():
            if self.state == state:
                raise InputError(kind, f"a campaign that is not {state}", "one that is")
            self._journal.add(kind, None, {"why": text("why", why)})

    def _next_day(self, setup: Setup, last: Entry | None, asked: Entry) -> date | None:
        """Return the day after the last one told, if rounds are days."""
        first = setup.settings.get("first_day")
        if first is None:
            return None
        try:
            if last is not None and last.body["days"] is not None:
                return parse_day("days", last.body["days"][1]) + timedelta(days=1)
            return parse_day("first_day", first) + timedelta(days=asked.body.get("before", 0))
        except OverflowError:
            return None

    def _read(
        self,
        setup: Setup,
        asked: Entry,
        given: Responses,
        played: Strategy | None,
        next_day: date | None,
        day: str | None,
    ) -> dict[str, Any]:
        """Return the body of a tell: what was played, and the responses."""
        game = setup.game
        if isinstance(given, os.PathLike):
            told = read_responses(given, game.agent_actions, next_day)
        else:
            told = parse_responses(given, game.agent_actions)
        days, missing, order = told.days, told.missing, told.order
        if days is None and (day is not None or next_day is not None):
            first = next_day if day is None else parse_day("day", day)
            assert first is not None
            gap = 0 if next_day is None else (first - next_day).days
            if gap < 0:
                raise InputError("day", f"{next_day} or later", f"{first}")
            if gap:
                missing += gap
                order = None if order is None else (*[-1] * gap, *order)
            start = first if next_day is None else next_day
            days = days_of(start, 0, told.rounds + gap)
        strategy, as_asked, action = np.array(asked.body["strategy"]), True, None
        if played is not None:
            h = parse_strategy(played, game.principal_actions)
            x = int(h.argmax())
            today = h[x] == 1 and told.rounds == 1 and strategy[x] > 0 and strategy[x] < 1
            if today:
                action = x  # what the mix drew that day
            else:
                as_asked = bool(np.linalg.norm(h - strategy) <= CLOSE)
                strategy = h
        return {
            "strategy": strategy.tolist(),
            "as_asked": as_asked,
            "counts": list(told.counts),
            "missing": missing,
            "order": None if order is None else list(order),
            "days": None if days is None else list(days),
            **({} if action is None else {"action": action}),
        }

    def _receipt(
        self, entry: int, asked: Entry, body: dict[str, Any], first_seen: tuple[str, ...]
    ) -> Receipt:
        seen = sum(body["counts"])
        days = body["days"]
        return Receipt(
            entry,
            seen + body["missing"],
            min(seen, asked.body["rounds"]) if body["as_asked"] else 0,
            body["missing"],
            body["as_asked"],
            _answers(body),
            first_seen,
            None if days is None else (days[0], days[1]),
        )

    def _status(self) -> Status:
        journal, setup = self._journal, self._setup()
        view, k = setup.game.principal_view, len(setup.game.agent_actions)
        last, waits = self._last()
        asked = last if waits else None
        principal: Principal | None = None
        if last is not None and last.id > setup.changed:
            goes_on = last.body["turn"] < _TURNS and last.body["pieces"] < _PIECES
            if waits or goes_on:
                principal, _ = self._again(setup, last, waits)
        record = self._record(setup)
        if principal is None:
            principal = setup.build(self._log(setup, record))
            if record.rows:
                principal.commit()
        result = principal.result
        answers = tuple(self._all(setup, record).answers(view))
        rounds = missing = unseen = total = 0
        earned, days = 0.0, [day for day in [setup.settings.get("first_day")] if day]
        asks = {e.id: e.body["rounds"] for e in journal.entries("kind = 'ask'")}
        for tell in journal.told():
            body, counts = tell.body, np.zeros(k, dtype=np.int64)
            counts[: len(body["counts"])] = body["counts"][:k]
            seen = int(counts.sum())
            rounds += seen + body["missing"]
            missing += body["missing"]
            unseen += seen - (min(seen, asks.get(tell.about or 0, 0)) if body["as_asked"] else 0)
            total += seen
            earned += float(counts @ view.utilities(np.array(body["strategy"])))
            if body["days"]:
                days = [(days or body["days"])[0], body["days"][1]]
        return Status(
            game=setup.game, principal=setup.principal, strategy=result.strategy,
            response=result.response, value=result.value, margin=result.margin,
            certified=bool(getattr(result, "certified", False)), potential=result.potential,
            answers=answers, best=best_mix(answers, view), rounds=rounds, missing=missing,
            unseen=unseen, average_utility=earned / total if total else math.nan,
            horizon=setup.settings["horizon"],
            days=(days[0], days[1]) if len(days) == 2 else None,
            open_ask=None if asked is None else self._advice(asked, setup),
            entries=journal.rows("SELECT max(id) FROM entry")[0][0],
        )  # fmt: skip


def _reason(block: Block, result: Recommendation, agent_actions: Sequence[str]) -> str:
    """Return why a block is asked for: the principal's own words, if it has some."""
    own = getattr(result, "why", "")
    if own:
        return str(own)
    if block.phase != "commit" or result.response is None:
        return f"The principal is in its phase {block.phase or 'play'!r}."
    worth = f"{result.value:.4g}" if math.isfinite(result.value) else "an unknown utility"
    drawn = repr(agent_actions[result.response])
    return f"The best commitment found so far: it draws {drawn} and earns {worth}."


def _transcript_rows(source: Any, game: HalfKnownGame) -> list[tuple[FloatArray, IntArray]]:
    """Return the mixes and counts of a transcript, or of strategies and responses."""
    from stackcast.protocol import Transcript

    if isinstance(source, tuple):
        if len(source) != 2:
            raise InputError("log", "strategies and responses", f"{len(source)} parts")
        record = Transcript.from_rounds(*source)
    else:
        from stackcast.auditing import read_transcript

        record = read_transcript(source, game.shell)
    m, k = game.principal_view.payoffs.shape
    if record.metadata.get("draws", False):
        raise InputError("log", "the strategies that were played", "drawn actions alone")
    if record.block_strategies.shape[1] != m:
        raise InputError("log", f"strategies of {m} numbers", f"{record.block_strategies.shape[1]}")
    if record.fingerprint not in ("", game.fingerprint, game.shell.fingerprint):
        raise InputError("log", "rounds of the same game", "those of another one")
    responses, found, start = record.responses, [], 0
    if responses.ndim != 1 or responses.max() >= k:
        raise InputError("log", f"responses that are numbers below {k}", shown(responses.max()))
    for strategy, rounds in zip(record.block_strategies, record.block_rounds, strict=True):
        counts = np.bincount(responses[start : start + rounds], minlength=k)
        start += rounds
        found.append((np.array(strategy), counts.astype(np.int64)))
    return found
