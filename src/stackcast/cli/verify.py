"""``stackcast verify``: every claim of the paper, measured."""

from __future__ import annotations

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
            help="Check only this claim; may be repeated.",
            show_default=False,
            autocompletion=complete_claim,
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Run the sizes of the docs; takes minutes.")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(help="Processes; by default one for each core.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for claims.html with figures, JSON and Markdown.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress.")] = False,
) -> None:
    """Run each theorem, lemma and proposition of the paper as an experiment.

    Takes about a minute on two cores. The exit code is 1 if a claim fails.

    Examples:

        stackcast verify

        stackcast verify --only upper-bound --only separation-prefix --json

        stackcast verify --full --out claims
    """
    from stackcast import report
    from stackcast._validation import one_of
    from stackcast.claims import claim_names
    from stackcast.cli._screen import print_json, say, screen, warn

    names = claim_names() if only is None else [one_of("--only", n, claim_names()) for n in only]
    if out is not None:
        report.check_foreign(out, ["claims.html", "claims.json", "claims.md"])
        _make(out)
    try:
        findings = _found(names, full, workers, shown=not quiet)
    except KeyboardInterrupt:
        warn("stopped.")
        raise typer.Exit(130) from None
    if out is not None:
        command = "stackcast verify" + (" --full" if full else "") + f" --out {out.name}"
        files = report.write_findings(out, findings, command)
    if as_json:
        print_json({"claims": [finding.to_dict() for finding in findings]})
    else:
        console = screen()
        console.print(report.describe(findings, width=console.width))
        if out is not None:
            say(f"Report: {files[0]}")
    if any(finding.verdict == "fails" for finding in findings):
        raise typer.Exit(1)


def _found(names: list[str], full: bool, workers: int | None, *, shown: bool) -> list[Finding]:
    """Run the experiments, with a bar on standard error."""
    from rich.progress import BarColumn, MofNCompleteColumn

    from stackcast.claims import verify as verify_claims
    from stackcast.cli._screen import bar

    columns = (BarColumn(bar_width=None), MofNCompleteColumn(), "claims {task.description}")
    with bar(*columns, shown=shown) as drawn:
        task = drawn.add_task("", total=len(names))
        return verify_claims(
            names,
            full=full,
            workers=workers,
            done=lambda finding: drawn.update(task, advance=1, description=finding.name),
        )


def _make(folder: Path) -> None:
    """Say that a folder cannot be written to before the experiments, not after."""
    from stackcast._validation import InputError

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(str(folder), "a folder that can be written to", reason) from None
