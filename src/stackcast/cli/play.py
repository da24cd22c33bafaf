"""``stackcast play``: the main job."""

from __future__ import annotations

import json
import re
import shlex
import signal
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stackcast.cli._screen import complete_agent, complete_game, complete_principal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stackcast.protocol import Block, Responses
    from stackcast.report import Played
    from stackcast.solvers import Solution

_ROUNDS = 100_000
_SETTINGS, _CHECKPOINT = "run.json", "run.ckpt"
#: What a run leaves behind while it goes on, and at the end.
_PASSING = (_SETTINGS, _CHECKPOINT, f"{_CHECKPOINT}.rounds")
_RESULTS = ("report.html", "summary.json", "transcript.parquet")
#: Seconds between two updates of the screen.
_PAUSE = 0.1


@dataclass(frozen=True)
class _Run:
    """What was asked for."""

    game: str
    principal: str
    agent: str
    rounds: int
    seed: int
    feedback: str | None
    margin: float | None

    def command(self, folder: Path) -> str:
        words = ["stackcast", "play", self.game]
        for name in ("principal", "agent", "rounds", "seed"):
            words += [f"--{name}", f"{getattr(self, name)}"]
        for name in ("feedback", "margin"):
            if getattr(self, name) is not None:
                words += [f"--{name}", f"{getattr(self, name)}"]
        return shlex.join([*words, "--out", str(folder)])


def play(
    context: typer.Context,
    game: Annotated[
        str | None, typer.Argument(metavar="[GAME]", autocompletion=complete_game)
    ] = None,
    principal: Annotated[
        str | None,
        typer.Option(
            help="Who commits, by name; if not given, the learner for this kind of game.",
            autocompletion=complete_principal,
        ),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(
            help="Who responds, by name; if not given, an agent with calibrated forecasts.",
            autocompletion=complete_agent,
        ),
    ] = None,
    rounds: Annotated[int, typer.Option(help="The number of rounds.")] = _ROUNDS,
    seed: Annotated[int, typer.Option(help="The seed of both players' draws.")] = 0,
    feedback: Annotated[
        str | None,
        typer.Option(help="What the agent learns from: strategy, or action (drawn from it)."),
    ] = None,
    margin: Annotated[
        float | None, typer.Option(help="The margin that the principal keeps.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for report, figures, summary and transcript; GAME-SEED if not given."
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Continue the stopped or killed run in this folder."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Play a principal against an agent, and report what happened and what it proves.

    GAME is a name of the catalogue (see `stackcast games`) or a file (.json, .toml, .nfg); without
    it the default game is played. Ctrl-C stops the run: what was played is kept, and --resume
    continues it. The exit code is 1 if a consistency check fails.

    Examples:

        stackcast play

        stackcast play milking --agent Hedge --rounds 20000

        stackcast play credit-scoring --rounds 20000

        stackcast play my-game.toml --seed 3 --out results --json

        stackcast play --resume inspection-0
    """
    from stackcast import report
    from stackcast._files import remove_drafts
    from stackcast.cli._screen import print_json, say, screen, warn

    chosen: Any
    if resume is not None:
        folder, (run, chosen) = resume, _stopped_run(resume, context)
    else:
        from stackcast.games import DEFAULT_GAME, HalfKnownGame, load_any

        given = DEFAULT_GAME if game is None else game
        chosen = load_any(given)
        if isinstance(chosen, HalfKnownGame):
            chosen = chosen.whole(chosen.draws(1, seed)[0])
            warn(f"the agent's payoffs are drawn from what is known of them, by seed {seed}")
        usual = default_players(chosen)
        players = (
            usual[0] if principal is None else principal,
            usual[1] if agent is None else agent,
        )
        run = _Run(given, *players, rounds, seed, feedback, margin)
        name = re.sub(r"[^\w.-]+", "-", chosen.name or Path(run.game).stem)[:80]
        folder = out or Path(f"{name}-{seed}")
    played = _played(run, chosen, folder, fresh=resume is None, shown=not quiet)
    files = report.write_play(folder, played)
    if as_json:
        print_json({"folder": str(folder), **played.to_dict()})
    elif not quiet:
        console = screen()
        console.print(report.describe(played, width=console.width))
        if played.complete:
            say(f"Report: {files[0]}")
    if not played.complete:
        warn(f"stopped; go on with  {_resuming(folder, run)}")
        raise typer.Exit(130)
    for name in _PASSING[1:]:
        (folder / name).unlink(missing_ok=True)
    remove_drafts(folder, (*_PASSING, *_RESULTS, "stackcast-files.json"))
    report.remove_files(folder, [_SETTINGS])
    if played.audit.failed:
        raise typer.Exit(1)


def default_players(game: Any) -> tuple[str, str]:
    """Return the names of the principal and the agent that play a game where none is named."""
    from stackcast.protocol import kind_of

    if kind_of(game) == "continuous":  # in more dimensions forecasts are slow to be made
        forecasts = game.space.dimension <= 2
        agent = "ContinuousCalibrated" if forecasts else "ContinuousBestResponse"
        return "ResponseGradient", agent
    return "CommitmentLearner", "Calibrated"


def _resuming(folder: Path, run: _Run) -> str:
    words = ["stackcast", "play", "--resume", str(folder)]
    for role in ("principal", "agent"):
        if ":" in getattr(run, role):
            words += [f"--{role}", getattr(run, role)]
    return shlex.join(words)


def _played(run: _Run, game: Any, folder: Path, *, fresh: bool, shown: bool) -> Played:
    """Play, with a checkpoint in the folder; a run that was stopped gives what it has."""
    from stackcast.auditing import audit
    from stackcast.cli._screen import compiling_said, warn
    from stackcast.protocol import build
    from stackcast.protocol import play as play_game
    from stackcast.report import Played
    from stackcast.solvers import solve

    with compiling_said():
        kept = {} if run.margin is None else {"margin": run.margin}
        seen = {} if run.feedback is None else {"feedback": run.feedback}
        principal = build(
            "principal", run.principal, game, horizon=run.rounds, seed=run.seed, settings=kept
        )
        agent = build("agent", run.agent, game, seed=run.seed, settings=seen)
        solution: Solution = solve(game)
        if fresh:
            _begin(run, game, folder)
        live = LivePlay(game, solution.value, run.rounds if fresh else None, wanted=shown)
        try:
            with live, live.interruptible():
                transcript = play_game(
                    principal,
                    agent,
                    run.rounds,
                    game,
                    checkpoint=folder / _CHECKPOINT,
                    watch=live,
                )
        except KeyboardInterrupt:
            warn(f"stopped at once; go on with  {_resuming(folder, run)}")
            raise typer.Exit(130) from None
        found = audit(transcript, solution=solution)
    command = run.command(folder)
    return Played(game, transcript, found, solution, principal.result, run.rounds, command)


def _begin(run: _Run, game: Any, folder: Path) -> None:
    """Make the folder and keep what was asked for; never run over other files or a stopped run."""
    from stackcast import report
    from stackcast._validation import InputError
    from stackcast.games import game_to_table

    if (folder / _CHECKPOINT).exists():
        expected = "a folder without a stopped run (--resume goes on with it)"
        raise InputError(str(folder), expected, "one")
    own = report.check_foreign(folder, [_SETTINGS, *_RESULTS])
    left_over = folder / _PASSING[2]
    if left_over.exists():  # of a run that was killed before its first checkpoint
        if _SETTINGS not in own:
            raise InputError(str(left_over), "no file of this name", "one; choose another folder")
        left_over.unlink()
    settings = json.dumps({**asdict(run), "table": game_to_table(game)}, indent=2)
    report.write_files(folder, {_SETTINGS: settings + "\n"})


def _stopped_run(folder: Path, context: typer.Context) -> tuple[_Run, Any]:
    """Return what was asked for in a folder, and its game."""
    from stackcast import report
    from stackcast._validation import InputError
    from stackcast.games import game_from_table

    named = [
        name
        for name in ("game", "out", *_Run.__dataclass_fields__)
        if (source := context.get_parameter_source(name)) and source.name == "COMMANDLINE"
    ]
    others = [name for name in named if name not in ("principal", "agent")]
    if others:
        expected = "a folder and nothing that says what to play"
        raise InputError("--resume", expected, f"{others[0]} as well")
    expected = "the folder of a run that was stopped"
    try:
        table = json.loads((folder / _SETTINGS).read_text(encoding="utf-8"))
        game = game_from_table(table.pop("table"))
        run = _Run(**table)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        found = f"one without a readable {_SETTINGS}"
        raise InputError(str(folder), expected, found) from None
    for role in ("principal", "agent"):  # a folder of somebody else's runs no file
        player = getattr(run, role)
        if ":" in str(player):
            if context.params[role] != player:
                found = "the name in the folder alone"
                raise InputError(f"--{role}", f"{player} again: its code is run", found)
            named.remove(role)
    if named:
        expected = "a folder and nothing that says what to play"
        raise InputError("--resume", expected, f"{named[0]} as well")
    report.check_foreign(folder, [_SETTINGS, *_RESULTS])
    return run, game


class LivePlay:
    """What ``play`` shows its blocks to; a context that draws on standard error if it is wanted.

    ``rounds`` is None for a run that was resumed: then the averages are over the rounds since.
    """

    def __init__(self, game: Any, value: float, rounds: int | None, *, wanted: bool) -> None:
        from rich.progress import BarColumn, TaskProgressColumn, TimeRemainingColumn

        from stackcast.cli._screen import bar

        self._view, self._value, self._rounds = game.principal_view, value, rounds
        self._seen, self._earned, self._counted = 0, 0.0, 0
        self._forecasts = 0
        self._last: Any = None
        self._errors: Any = None
        self._phase, self._shown_at = "", 0.0
        self.stopped = False
        columns = (
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TimeRemainingColumn(compact=True),
        )
        self._bar = bar(*columns, "{task.description}", shown=wanted)

    def __call__(self, block: Block, answers: Responses) -> bool:
        """Take note of a piece; return whether the run is to stop."""
        import numpy as np

        responses = np.asarray(answers.responses)
        self._seen += len(responses)
        self._phase = block.phase
        if responses.ndim == 1:
            self._earned += float(self._view.utilities(block.strategy)[responses].sum())
            self._count_errors(block, answers)
        else:
            self._earned += float(self._view.utilities(block.strategy, responses).sum())
        now = time.monotonic()
        if now - self._shown_at > _PAUSE:
            self._shown_at = now
            self._bar.update(self._task, completed=self._seen, description=self.words())
        return self.stopped

    def _count_errors(self, block: Block, answers: Responses) -> None:
        """Add to Σ (h − p) by response, over the rounds whose forecast this play has just seen."""
        import numpy as np

        ids, new = answers.forecast_ids, answers.new_forecasts
        if ids is None or new is None or self._rounds is None:
            return
        first = self._forecasts
        if self._last is not None:  # the last forecast often stays
            new, first = np.vstack([self._last, new]), first - 1
        known = ids >= first
        if self._errors is None:
            self._errors = np.zeros((len(self._view.agent_actions), len(block.strategy)))
        chosen = np.asarray(answers.responses)[known]
        np.add.at(self._errors, chosen, block.strategy - new[ids[known] - first])
        self._counted += int(known.sum())
        self._forecasts, self._last = first + len(new), new[-1:]

    def words(self) -> str:
        """Return the state of things in a line."""
        from stackcast._plain import visible

        told = [visible(self._phase or "play", 20)]
        if self._seen:
            since = "" if self._rounds else f" in {self._seen:,} rounds since the resumption"
            told.append(f"earned {self._earned / self._seen:.4f} of {self._value:.4f}{since}")
        if self._counted:
            told.append(f"calibration error {abs(self._errors).max() / self._counted:.4f}")
        return " · ".join(told)

    def __enter__(self) -> LivePlay:
        self._bar.start()
        self._task = self._bar.add_task("play", total=self._rounds)
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let the first Ctrl-C end the run after its current piece, the second at once."""

        def gently(_number: int, _frame: object) -> None:
            from stackcast.cli._screen import warn

            self.stopped = True
            signal.signal(signal.SIGINT, signal.default_int_handler)
            warn("stopping after this step; Ctrl-C again stops at once.")

        before = signal.signal(signal.SIGINT, gently)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
