"""``stackcast audit``: what a record proves."""

from pathlib import Path
from typing import Annotated

import typer


def audit(
    forecasts: Annotated[
        Path | None,
        typer.Option(
            "--forecasts",
            metavar="FILE",
            help="Certify or refute the calibration of the forecasts in a CSV or Parquet file with "
            "columns forecast and outcome (a yes/no event), or forecast_1, forecast_2 … and "
            "outcome; a column bin is optional.",
            show_default=False,
        ),
    ] = None,
    threshold: Annotated[
        list[float] | None,
        typer.Option(
            "--threshold",
            help="Bin a yes/no event by the decision this threshold takes; may be given several "
            "times. One half if the file has no bins.",
            show_default=False,
        ),
    ] = None,
    lengths: Annotated[
        str | None,
        typer.Option(
            "--lengths",
            help="Lengths of intervals to list, with commas, as 50,500; 1, 2, 5, 10 … otherwise.",
            show_default=False,
        ),
    ] = None,
    rate: Annotated[
        float, typer.Option("--rate", help="The constant c of the rate c·√(log(k·m·L)/L).")
    ] = 1.0,
    shortest: Annotated[
        int, typer.Option("--shortest", help="The shortest intervals that the verdict covers.")
    ] = 1,
    level: Annotated[
        float, typer.Option("--level", help="The chance of refuting a perfect forecaster.")
    ] = 0.05,
    figure: Annotated[
        Path | None,
        typer.Option(
            "--figure",
            metavar="FILE",
            help="Draw error against length, with the rate beside it, to a PNG, SVG or PDF file.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Certify what a record proves: the calibration of forecasts on every interval of time."""
    from stackcast._validation import InputError

    try:
        if forecasts is None:
            raise InputError("audit", "--forecasts FILE", "nothing to audit")
        _audit_forecasts(forecasts, threshold, lengths, rate, shortest, level, figure, as_json)
    except InputError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None


def _audit_forecasts(
    path: Path,
    threshold: list[float] | None,
    lengths: str | None,
    rate: float,
    shortest: int,
    level: float,
    figure: Path | None,
    as_json: bool,
) -> None:
    from stackcast.calibration import certify_forecasts

    certificate = certify_forecasts(
        path, threshold or None, _whole_numbers(lengths), rate, shortest=shortest, level=level
    )
    if figure is not None:
        from stackcast.report.calibration_figure import save_profile

        save_profile(certificate.profile, figure)
    if as_json:
        import json

        typer.echo(json.dumps(certificate.to_dict(), allow_nan=False))
        return
    from rich.console import Console

    Console().print(certificate.table())


def _whole_numbers(text: str | None) -> list[int] | None:
    from stackcast._validation import InputError, shown

    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError("--lengths", "whole numbers with commas", shown(text)) from None
