"""``stackcast play``: the main job."""

from __future__ import annotations

import json
import re
import shlex
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stackcast.cli._screen import complete_agent, complete_game, complete_principal

if TYPE_CHECKING:
    from stackcast.report.play_report import Played

_ROUNDS = 100_000
_SETTINGS, _CHECKPOINT = "run.json", "run.ckpt"


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
        str,
        typer.Argument(metavar="[GAME]", show_default=False, autocompletion=complete_game),
    ] = "",
    principal: Annotated[
        str,
        typer.Option(
            help="Who commits, by name; if not given, the learner for this kind of game.",
            show_default=False,
            autocompletion=complete_principal,
        ),
    ] = "",
    agent: Annotated[
        str,
        typer.Option(
            help="Who responds, by name; if not given, an agent with calibrated forecasts.",
            show_default=False,
            autocompletion=complete_agent,
        ),
    ] = "",
    rounds: Annotated[int, typer.Option(help="How many rounds are played.")] = _ROUNDS,
    seed: Annotated[int, typer.Option(help="The seed of both players' draws.")] = 0,
    feedback: Annotated[
        str | None,
        typer.Option(
            help="What the agent learns from: strategy, or action (drawn from it).",
            show_default=False,
        ),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(help="The margin that the principal keeps.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for report, figures, summary and transcript; GAME-SEED if not given.",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Go on with the run in this folder that was stopped or killed.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary for programs.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Let a principal and an agent play, and report what happened and what it proves.

    GAME is a name of the catalogue (see `stackcast games`) or a file (.json, .toml, .nfg); without
    it the default game is played. Ctrl-C stops the run: what was played is kept, and --resume goes
    on from there. A guarantee that fails is shown as failed, and the exit code is then 1.

    Examples:

        stackcast play

        stackcast play milking --agent Hedge --rounds 20000

        stackcast play credit-scoring --rounds 20000

        stackcast play my-game.toml --seed 3 --out results --json

        stackcast play --resume inspection-0
    """
    from stackcast._validation import InputError
    from stackcast.cli._screen import print_json, screen

    _need_tables_and_figures()
    if resume is not None:
        for name in ("game", "out", *_Run.__dataclass_fields__):
            source = context.get_parameter_source(name)
            if source is not None and source.name == "COMMANDLINE":
                expected = "a folder and nothing that says what to play"
                raise InputError("--resume", expected, f"{name} as well")
        folder, (run, chosen) = resume, _stopped_run(resume)
    else:
        from stackcast.cli._players import default_players
        from stackcast.games import DEFAULT_GAME, load_game

        chosen = load_game(game or DEFAULT_GAME)
        usual = default_players(chosen)
        players = (principal or usual[0], agent or usual[1])
        run = _Run(game or DEFAULT_GAME, *players, rounds, seed, feedback, margin)
        name = re.sub(r"[^\w.-]+", "-", chosen.name or Path(run.game).stem)
        folder = out or Path(f"{name}-{seed}")
    played = _played(run, chosen, folder, fresh=resume is None, shown=not quiet)
    from stackcast.report.play_report import write_play

    files = write_play(folder, played)
    if as_json:
        print_json({"folder": str(folder), **played.to_dict()})
    elif not quiet:
        from stackcast.report.play_terminal import describe_play

        console = screen()
        console.print(describe_play(played, console.width))
        if played.complete:
            console.print(f"Report: {files[0]}", soft_wrap=True)
    if not played.complete:
        how = shlex.join(["stackcast", "play", "--resume", str(folder)])
        print(f"stackcast: stopped; go on with  {how}", file=sys.stderr)
        raise typer.Exit(130)
    for name in (_CHECKPOINT, f"{_CHECKPOINT}.rounds", _SETTINGS):
        (folder / name).unlink(missing_ok=True)
    if played.audit.failed:
        raise typer.Exit(1)


def _played(run: _Run, game: Any, folder: Path, *, fresh: bool, shown: bool) -> Played:
    """Play, with a checkpoint in the folder; a run that was stopped gives what it has."""
    from stackcast.auditing import audit
    from stackcast.cli._live import LivePlay
    from stackcast.cli._players import build_agent, build_principal
    from stackcast.cli._screen import compiling_said
    from stackcast.protocol import play as play_game
    from stackcast.report.play_report import Played
    from stackcast.solvers import solve

    with compiling_said():
        principal = build_principal(run.principal, game, run.rounds, run.seed, run.margin)
        agent = build_agent(run.agent, game, run.seed, run.feedback)
        solution = solve(game)
        if fresh:
            _begin(run, game, folder)
        live = LivePlay(game, solution.value, run.rounds, wanted=shown)
        live.start = 0 if fresh else _played_before(folder)
        try:
            with live, live.interruptible():
                transcript = play_game(
                    principal,
                    agent,
                    run.rounds,
                    game,
                    checkpoint=folder / _CHECKPOINT,
                    progress=False,
                    watch=live,
                )
        except KeyboardInterrupt:
            how = shlex.join(["stackcast", "play", "--resume", str(folder)])
            print(f"stackcast: stopped at once; go on with  {how}", file=sys.stderr)
            raise typer.Exit(130) from None
        found = audit(transcript)
    command = run.command(folder)
    return Played(game, transcript, found, solution, principal.result, run.rounds, command)


def _begin(run: _Run, game: Any, folder: Path) -> None:
    """Make the folder and keep what was asked for; never run over a run that was stopped."""
    from stackcast._validation import InputError
    from stackcast.games import game_to_table

    if (folder / _CHECKPOINT).exists():
        expected = "a folder without a stopped run (--resume goes on with it)"
        raise InputError(str(folder), expected, "one")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{_CHECKPOINT}.rounds").unlink(missing_ok=True)
        settings = {**asdict(run), "table": game_to_table(game)}
        (folder / _SETTINGS).write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(str(folder), "a folder that can be written to", reason) from None


def _stopped_run(folder: Path) -> tuple[_Run, Any]:
    """Return what was asked for in a folder, and its game."""
    from stackcast._validation import InputError
    from stackcast.games import game_from_table

    try:
        table = json.loads((folder / _SETTINGS).read_text(encoding="utf-8"))
        game = game_from_table(table.pop("table"))
        return _Run(**table), game
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        expected = "the folder of a run that was stopped"
        raise InputError(str(folder), expected, f"one without a readable {_SETTINGS}") from None


def _played_before(folder: Path) -> int:
    """Return how many rounds a stopped run has in its transcript, for the screen alone."""
    from stackcast._validation import InputError
    from stackcast.protocol import Transcript

    try:
        return Transcript.load(folder / "transcript.parquet").rounds
    except InputError:
        return 0


def _need_tables_and_figures() -> None:
    """Say what is missing before hours of play, not after."""
    from importlib.util import find_spec

    from stackcast._validation import InputError

    for package in ("matplotlib", "polars"):
        if find_spec(package) is None:
            expected = f"{package} for the report (pip install 'stackcast[all]')"
            raise InputError("play", expected, f"no {package}")
