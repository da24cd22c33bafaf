"""A campaign: a principal that advises people for months, one decision at a time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError, real_number, shown, text, whole_number
from stackcast.campaigns.advice import Advice, Receipt
from stackcast.campaigns.chapters import (
    answers,
    current_start,
    known_game,
    new_chapter,
    open_ask,
    start_body,
    still_follows,
)
from stackcast.campaigns.half_known import HalfKnownGame, load_half_known
from stackcast.campaigns.journal import Entry, Journal
from stackcast.campaigns.responses import Told, parse_responses, read_responses
from stackcast.campaigns.software import software
from stackcast.campaigns.wording import parse_constraint, parse_strategy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy.typing as npt

    from stackcast._validation import FloatArray
    from stackcast.campaigns.knowledge import Status
    from stackcast.games import Constraint, FiniteGame
    from stackcast.protocol import Transcript

    Responses = str | os.PathLike[str] | Mapping[str, int] | Iterable[str | int | None]
    Strategy = str | Mapping[str, float] | Iterable[float]

#: A strategy this near to the one asked for is that one, played by people who round.
CLOSE = 0.005


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
        constraints : iterable of Constraint or str, optional
            Further limits on what may be committed to, as ``"thorough + 2 light <= 0.4"``.
        """
        from stackcast.campaigns.replaying import Chapter

        known = load_half_known(game) if isinstance(game, str | os.PathLike) else game
        half = HalfKnownGame.of(known)
        half = half.with_constraints(
            parse_constraint(c, half.principal_actions) if isinstance(c, str) else c
            for c in constraints
        )
        body = start_body(
            "new",
            half,
            principal,
            {
                "horizon": whole_number("horizon", horizon, at_least=1),
                "seed": whole_number("seed", seed),
                "margin": None if margin is None else real_number("margin", margin, at_least=0),
                "floor": None if floor is None else real_number("floor", floor),
            },
        )
        Chapter.of(Entry(1, "", "start", None, body, "", None)).build()
        return cls(Journal.create(path, body, software()))

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

    # The four verbs of every day ------------------------------------------------------------

    @property
    def open_ask(self) -> Advice | None:
        """What was asked and not answered yet."""
        asked = open_ask(self._journal)
        return None if asked is None else self._advice(asked)

    def ask(self) -> Advice:
        """Return what to commit to now; asked again before an answer, the same."""
        asked = open_ask(self._journal)
        if asked is None:
            if self.state != "running":
                raise InputError("ask", "a campaign that is running (resume it)", self.state)
            with self._journal.writing():
                asked = open_ask(self._journal) or self._decide()
        return self._advice(asked)

    def tell(self, responses: Responses, played: Strategy | None = None) -> Receipt:
        """Record how the agent responded; on return, it is on the disk.

        Parameters
        ----------
        responses : str, mapping, iterable or path
            Counts (``"comply=7,violate=3"`` or a mapping), a list (``"comply,?,violate"`` or names
            or numbers, None where a response is missing), or the path of a CSV file. Fewer rounds
            than asked are fine; further ones are recorded and not shown to the principal.
        played : str, mapping or iterable, optional
            The strategy that was really played, if it is not the one asked for. Further than 0.005
            from it, the rounds are recorded and the ask stays open.
        """
        with self._journal.writing():
            asked = open_ask(self._journal)
            if asked is None:
                raise InputError("tell", "an ask to answer (ask, play, tell)", "none open")
            body = self._told(asked, responses, played)
            last = self._journal.last("tell")
            before = [] if last is None else last.body["seen"]
            new = sorted(Told.from_table(body).actions() - set(before))
            body["seen"] = sorted([*before, *new])
            entry = self._journal.add("tell", asked.id, body, software())
        return self._receipt(entry, asked, body, new)

    def status(self) -> Status:
        """Return what is known by now; nothing is changed."""
        from stackcast.campaigns.knowledge import status_of

        with self._journal.reading():
            return status_of(self._journal, self.open_ask)

    # When something was wrong ---------------------------------------------------------------

    def undo(self) -> Entry:
        """Take back the last entry of a person, and what was asked after it; return the entry."""
        with self._journal.writing():
            target = self._last_act()
            number = self._journal.add("undo", target.id, {}, software())
            asked = open_ask(self._journal)
            if asked is not None and asked.id > target.id:
                self._journal.revoke(asked.id, number)
            self._journal.revoke(target.id, number)
            if target.kind == "start" and target.about is not None:
                self._journal.revoke(target.about, number)  # the correction that started it
            if target.kind == "correct":
                tell = self._journal.entry(target.about or 0)
                self._journal.drop_snapshots(after=(tell and tell.about) or 0)
        return target

    def correct(self, entry: int, responses: Responses, played: Strategy | None = None) -> Receipt:
        """Record what an earlier tell should have said.

        If the principal would have decided otherwise since, it starts a new chapter that knows
        all answers as they stand now.
        """
        with self._journal.writing():
            tell = self._journal.entry(whole_number("entry", entry))
            if tell is None or tell.kind != "tell" or tell.revoked_by is not None:
                expected = "the number of a tell that stands (see the log)"
                raise InputError("correct", expected, shown(entry))
            asked = self._journal.entry(tell.about or 0)
            assert asked is not None
            body = {**self._told(asked, responses, played), "seen": tell.body["seen"]}
            number = self._journal.add("correct", tell.id, body, software())
            if not still_follows(self._journal, asked, number):
                new_chapter(self._journal, "correction", about=number)
        return self._receipt(number, asked, body, [])

    def add_action(self, name: str, payoffs: npt.ArrayLike) -> None:
        """Add an action of the agent that nobody had thought of.

        Parameters
        ----------
        name : str
            Its name.
        payoffs : array-like, shape (m,)
            What the principal earns by it, for each of its own actions.
        """
        with self._journal.writing():
            game = known_game(self._journal)
            game = game.with_action(text("action", name), payoffs)
            new_chapter(self._journal, "action", game=game)

    def decline(self, limit: Constraint | str, why: str = "") -> None:
        """Decline what was asked: add a limit that later advice keeps, and withdraw the ask.

        The principal starts a new chapter that knows all answers so far. ``undo`` takes it back.

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
        with self._journal.writing():
            game = known_game(self._journal)
            if isinstance(limit, str):
                limit = parse_constraint(limit, game.principal_actions)
            game = game.with_constraints([limit])
            declined = {"limit": limit.name, "why": text("why", why)}
            new_chapter(self._journal, "decline", game=game, declined=declined)

    def lift(self, limit: str) -> None:
        """Lift a limit by its name; the principal starts a new chapter that knows all answers."""
        with self._journal.writing():
            game = known_game(self._journal)
            new_chapter(self._journal, "lift", game=game.without_constraint(limit))

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
        """Go on with a campaign that was paused or ended."""
        self._turn("resume", "running", "")

    def _turn(self, kind: str, state: str, why: str) -> None:
        with self._journal.writing():
            if self.state == state:
                raise InputError(kind, f"a campaign that is not {state}", "one that is")
            self._journal.add(kind, None, {"why": text("why", why)}, software())

    def import_log(
        self, source: str | os.PathLike[str] | tuple[npt.ArrayLike, npt.ArrayLike]
    ) -> int:
        """Learn from strategies and responses that are not of this campaign.

        Parameters
        ----------
        source : path, or pair of arrays
            A table or transcript as :func:`stackcast.auditing.read_transcript` reads it, or
            strategies (n×m) and the numbers of the responses (n).

        Returns
        -------
        int
            How many rounds were read.
        """
        from stackcast.campaigns.logs import pooled_log

        with self._journal.writing():
            game = known_game(self._journal)
            imported, rounds = pooled_log(source, game)
            new_chapter(self._journal, "import", imported=imported)
        return rounds

    # What is there --------------------------------------------------------------------------

    def entries(self, last: int | None = None) -> list[Entry]:
        """Return the journal, or its last entries."""
        return self._journal.entries(last)

    @property
    def agent_actions(self) -> tuple[str, ...]:
        """The names of the agent's actions by now."""
        return tuple(current_start(self._journal).body["game"]["agent_actions"])

    def transcript(self) -> Transcript:
        """Return all rounds with a response, as they were really played."""
        from stackcast.campaigns.logs import transcript

        with self._journal.reading():
            return transcript(self._journal, current_start(self._journal).body)

    def export(self, path: str | os.PathLike[str]) -> int:
        """Write the transcript, for ``audit``, and return its rounds.

        Parameters
        ----------
        path : str or path
            A ``.parquet`` file, or a ``.csv`` table with one row a round.
        """
        from stackcast.campaigns.logs import write_transcript

        record = self.transcript()
        write_transcript(record, path, current_start(self._journal).body["game"])
        return record.rounds

    # Inside ---------------------------------------------------------------------------------

    def _decide(self) -> Entry:
        """Let the principal decide, and record it."""
        from stackcast.campaigns.advice import reason
        from stackcast.campaigns.replaying import Chapter, Rebuilt, encoded, rebuild

        chapter = Chapter.of(current_start(self._journal))
        rebuilt = rebuild(self._journal, chapter)
        if rebuilt is None:
            chapter = new_chapter(self._journal, "version")
            rebuilt = Rebuilt(chapter.build(), ())
        principal = rebuilt.principal
        state = encoded(principal.state())
        block = principal.commit()
        body = {
            "strategy": block.strategy.tolist(),
            "rounds": block.rounds,
            "phase": block.phase,
            "why": reason(block, principal.result, chapter.game.agent_actions),
            "differences": [str(difference) for difference in rebuilt.differences],
        }
        number = self._journal.add("ask", chapter.start, body, software())
        self._journal.keep_snapshot(number, state, software())
        asked = self._journal.entry(number)
        assert asked is not None
        return asked

    def _advice(self, asked: Entry) -> Advice:
        body = asked.body
        strategy: FloatArray = np.array(body["strategy"])
        strategy.flags.writeable = False
        start = self._journal.entry(asked.about or 0)
        assert start is not None
        return Advice(
            asked.id,
            strategy,
            tuple(start.body["game"]["principal_actions"]),
            body["rounds"],
            body["phase"],
            body["why"],
            tuple(body["differences"]),
        )

    def _told(self, asked: Entry, given: Responses, played: Strategy | None) -> dict[str, Any]:
        """Return the body of a tell: what was played, and the responses."""
        game = current_start(self._journal).body["game"]
        if isinstance(given, os.PathLike):
            told = read_responses(given, game["agent_actions"])
        else:
            told = parse_responses(given, game["agent_actions"])
        strategy, as_asked = None, True
        if played is not None:
            strategy = parse_strategy(played, game["principal_actions"])
            distance = float(np.linalg.norm(strategy - np.array(asked.body["strategy"])))
            as_asked = distance <= CLOSE
        return {
            "played": None if strategy is None else strategy.tolist(),
            "as_asked": as_asked,
            **told.to_table(),
        }

    def _receipt(
        self, entry: int, asked: Entry, body: dict[str, Any], first_seen: list[int]
    ) -> Receipt:
        told = Told.from_table(body)
        seen = told.rounds - told.missing
        names = current_start(self._journal).body["game"]["agent_actions"]
        return Receipt(
            entry,
            told.rounds,
            min(seen, asked.body["rounds"]) if body["as_asked"] else 0,
            told.missing,
            body["as_asked"],
            answers(body),
            tuple(names[y] for y in first_seen),
        )

    def _last_act(self) -> Entry:
        """Return the last entry of a person; chapters that a new version began are taken back."""
        while True:
            target = self._journal.last("tell", "correct", "start")
            if target is None or target.body.get("reason") == "new":
                raise InputError("undo", "an entry to take back", "none")
            if target.body.get("reason") != "version":
                return target
            number = self._journal.add("undo", target.id, {}, software())
            for asked in self._journal.asks(target.id):
                self._journal.revoke(asked.id, number)
            self._journal.revoke(target.id, number)
