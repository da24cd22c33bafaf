"""``stackcast verify``: every claim of the paper, measured."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stackcast.cli._screen import complete_claim

if TYPE_CHECKING:
    from stackcast.claims import Finding


def verify(
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="NAME",
            help="This claim alone; may be repeated.",
            show_default=False,
            autocompletion=complete_claim,
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="The sizes that go into the docs; minutes.")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            help="How many processes; one for each core if not given.", show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for claims.html with figures, JSON and Markdown."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print for programs.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on the way.")] = False,
) -> None:
    """Run each theorem, lemma and proposition of the paper as an experiment.

    Takes about a minute on two cores. A claim that fails is shown as failed, and the exit code is
    then 1.

    Examples:

        stackcast verify

        stackcast verify --only upper-bound --only separation-prefix --json

        stackcast verify --full --out claims
    """
    from stackcast._validation import one_of
    from stackcast.claims import claim_names
    from stackcast.cli._screen import print_json, screen

    names = claim_names() if only is None else [one_of("--only", n, claim_names()) for n in only]
    if out is not None:
        _make(out)
    try:
        findings = _found(names, full, workers, shown=not quiet)
    except KeyboardInterrupt:
        print("stackcast: stopped.", file=sys.stderr)
        raise typer.Exit(130) from None
    if out is not None:
        from stackcast.report.claims_report import write_findings

        command = "stackcast verify" + (" --full" if full else "") + f" --out {out.name}"
        files = write_findings(out, findings, command)
    from stackcast.report.claims_report import describe_findings, findings_table

    if as_json:
        print_json(findings_table(findings))
    else:
        console = screen()
        console.print(describe_findings(findings, console.width))
        if out is not None:
            console.print(f"Report: {files[0]}", soft_wrap=True)
    if not all(finding.holds for finding in findings):
        raise typer.Exit(1)


def _found(names: list[str], full: bool, workers: int | None, *, shown: bool) -> list[Finding]:
    """Run the experiments, with a bar on standard error."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from stackcast.claims import verify as verify_claims

    console = Console(stderr=True)
    with Progress(
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("claims {task.description}"),
        console=console,
        transient=True,
        disable=not (shown and sys.stderr.isatty()),
        expand=True,
    ) as bar:
        task = bar.add_task("", total=len(names))
        return verify_claims(
            names,
            full=full,
            workers=workers,
            done=lambda finding: bar.update(task, advance=1, description=finding.name),
        )


def _make(folder: Path) -> None:
    """Say that a folder cannot be written to before the experiments, not after."""
    from stackcast._validation import InputError

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(str(folder), "a folder that can be written to", reason) from None
