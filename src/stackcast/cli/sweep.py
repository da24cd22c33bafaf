"""``stackcast sweep`` and ``stackcast tournament``: many plays."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from stackcast.sweeps import Specification, Standing

Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Where rows and report go.", show_default=False),
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", help="Processes; by default one for each core.", show_default=False),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler", metavar="ADDRESS", help="Use the workers of a Dask scheduler instead."
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print only the number of plays and the estimated time.")
]
Retry = Annotated[bool, typer.Option("--retry-failed", help="Repeat plays that failed before.")]
Part = Annotated[
    str | None,
    typer.Option("--part", metavar="I/N", help="Play only part I of N, for job arrays."),
]
Horizons = Annotated[
    str | None,
    typer.Option(
        "--horizons",
        metavar="T,T,…",
        help="Lengths instead of the file's; the report says how regret grows with them.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no table.")]


def sweep(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.toml", help="What to play.")],
    out: Out = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    dry_run: DryRun = False,
    retry_failed: Retry = False,
    part: Part = None,
    horizons: Horizons = None,
    add: Annotated[
        list[str] | None,
        typer.Option(
            "--add",
            metavar="MODULE:CLASS",
            help="Allow the file to run this class, as my.py:MyPrincipal; repeatable.",
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Play every combination of games, principals, agents, lengths and seeds.

    A restart continues where the last run stopped; several runs may share a folder. The rows are
    Parquet files; stackcast.sweeps.load(folder) reads them. The exit code is 1 if plays failed.

    Examples:

        stackcast sweep compare.toml --dry-run

        stackcast sweep compare.toml --out results --workers 8

        stackcast sweep compare.toml --scheduler tcp://10.0.0.1:8786

        stackcast sweep compare.toml --out results --part 3/16

        stackcast sweep compare.toml --horizons 1000,3000,10000,30000
    """
    from stackcast._validation import InputError

    try:
        from stackcast.sweeps import read_specification
    except ModuleNotFoundError as error:
        expected = "joblib and Polars (pip install 'stackcast[sweeps]')"
        raise InputError("sweep", expected, f"no {error.name}") from None
    specification = read_specification(spec, add or ())
    if horizons is not None:
        specification = replace(specification, rounds=_horizons(horizons))
    folder = out or Path(f"{spec.stem}-results")
    run = (specification, folder, workers, scheduler, dry_run, retry_failed, as_json, quiet)
    _run(*run, part=_part(part))


def _horizons(given: str) -> tuple[int, ...]:
    from stackcast._validation import InputError, shown

    found = {int(word) for word in given.split(",") if word.strip().isdecimal() and len(word) < 19}
    if len(found) != len(given.split(",")) or len(found) < 2 or min(found) < 1:
        expected = "at least two different lengths, such as 1000,10000,100000"
        raise InputError("--horizons", expected, shown(given))
    return tuple(sorted(found))


def _part(given: str | None) -> tuple[int, int] | None:
    if given is None:
        return None
    from stackcast._validation import InputError, shown

    i, slash, n = given.partition("/")
    if not (slash and i.isdecimal() and n.isdecimal() and 1 <= int(i) <= int(n)):
        raise InputError("--part", "I/N, such as 3/16", shown(given))
    return int(i), int(n)


def tournament(
    rounds: Annotated[int, typer.Option("--rounds", help="Rounds of each play.")] = 20_000,
    seeds: Annotated[int, typer.Option("--seeds", help="Plays of each pair on each game.")] = 3,
    add: Annotated[
        list[str] | None,
        typer.Option("--add", metavar="FILE.py:CLASS", help="A player of your own; repeatable."),
    ] = None,
    out: Out = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    dry_run: DryRun = False,
    retry_failed: Retry = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Let every principal play every agent on every game of the catalogue, and rank them.

    Examples:

        stackcast tournament --rounds 2000 --seeds 1

        stackcast tournament --out cup --json

        stackcast tournament --add my.py:MyPrincipal
    """
    from stackcast._validation import whole_number
    from stackcast.sweeps import tournament_specification

    whole_number("--rounds", rounds, at_least=1)
    whole_number("--seeds", seeds, at_least=1)
    specification = tournament_specification(rounds, seeds, add or ())
    folder = out or Path("tournament-results")
    _run(specification, folder, workers, scheduler, dry_run, retry_failed, as_json, quiet)


def _run(
    specification: "Specification",
    folder: Path,
    workers: int | None,
    scheduler: str | None,
    dry_run: bool,
    retry_failed: bool,
    as_json: bool,
    quiet: bool,
    part: tuple[int, int] | None = None,
) -> None:
    from stackcast import sweeps
    from stackcast.cli._screen import print_json, say, screen
    from stackcast.report import sweep_tables, write_sweep_report

    if dry_run:
        seconds = sweeps.estimate(specification, workers)
        if as_json:
            print_json({"plays": len(specification), "seconds": seconds})
        else:
            say(f"{len(specification):,} plays, about {_duration(seconds)}.")
        return
    silent = quiet or as_json
    standing = _watched(specification, folder, workers, scheduler, retry_failed, silent, part)
    if part is not None:
        _said_of_part(standing, folder, as_json, quiet)
        return
    rows = sweeps.load(folder)
    report = write_sweep_report(folder, rows)
    failed = list(sweeps.failures(rows))
    if as_json:
        print_json(
            {
                "plays": standing.plays,
                "found": standing.found,
                "done": standing.done,
                "failed": len(failed),
                "deaths": standing.deaths,
                "seconds": standing.seconds,
                "folder": str(folder),
                "report": str(report),
                "ranking": sweeps.ranking(rows).fill_nan(None).to_dicts(),
                "growth": sweeps.growth(rows).fill_nan(None).to_dicts()
                if rows["rounds"].n_unique() > 1
                else [],
            }
        )
    elif not quiet:
        console = screen()
        for table in sweep_tables(rows):
            console.print(table)
        for played, error in failed[:5]:
            say(f"failed: {played}: {error}")
        say(f"{_sentence(standing, len(failed))} See {report}.")
    if failed:
        raise typer.Exit(1)


def _said_of_part(standing: "Standing", folder: Path, as_json: bool, quiet: bool) -> None:
    """Report on one part; the run without ``--part`` writes the page of all."""
    from stackcast.cli._screen import print_json, say

    if as_json:
        counts = ("plays", "found", "done", "failed", "deaths", "seconds")
        print_json({**{name: getattr(standing, name) for name in counts}, "folder": str(folder)})
    elif not quiet:
        say(f"{_sentence(standing, standing.failed)} Without --part, the report of all is written.")
    if standing.failed:
        raise typer.Exit(1)


def _watched(
    specification: "Specification",
    folder: Path,
    workers: int | None,
    scheduler: str | None,
    retry_failed: bool,
    quiet: bool,
    part: tuple[int, int] | None,
) -> "Standing":
    from rich.progress import BarColumn, MofNCompleteColumn, TimeRemainingColumn

    from stackcast.cli._screen import bar, warn
    from stackcast.sweeps import sweep as run_sweep

    columns = (
        "plays",
        BarColumn(),
        MofNCompleteColumn(),
        "{task.fields[rate]}",
        TimeRemainingColumn(),
        "{task.fields[failed]}",
    )
    with bar(*columns, shown=not quiet) as drawn:
        shown = drawn.add_task("plays", total=None, rate="", failed="")

        def watch(standing: "Standing") -> None:
            rate = f"{standing.done / standing.seconds:.1f} a second" if standing.done else ""
            failed = f"{standing.failed} failed" if standing.failed else ""
            done = standing.found + standing.done
            drawn.update(shown, total=standing.plays, completed=done, rate=rate, failed=failed)

        try:
            return run_sweep(
                specification,
                folder,
                workers=workers,
                scheduler=scheduler,
                retry_failed=retry_failed,
                part=part,
                watch=watch,
            )
        except KeyboardInterrupt:
            drawn.stop()
            warn(f"stopped. What is done is in {folder}; the same command goes on.")
            raise typer.Exit(130) from None


def _sentence(standing: "Standing", failed: int) -> str:
    parts = [f"{standing.done:,} plays in {_duration(standing.seconds)}"]
    if standing.found:
        parts.append(f"{standing.found:,} were done before")
    if failed:
        parts.append(f"{failed:,} failed")
    if standing.deaths:
        parts.append(f"{standing.deaths} workers died and were replaced")
    return "; ".join(parts) + "."


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
