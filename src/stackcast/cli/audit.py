"""``stackcast audit``: what a record proves."""

from pathlib import Path
from typing import Annotated, Any

import typer


def audit(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", show_default=False, help="A transcript or a table."),
    ] = None,
    game: Annotated[
        str | None,
        typer.Option(help="The game that was played: a name of the catalogue or a file."),
    ] = None,
    ties: Annotated[
        str | None, typer.Option(help="Also use the bins of a tie rule: lowest or random.")
    ] = None,
    forecasts: Annotated[
        Path | None,
        typer.Option(
            "--forecasts",
            metavar="FILE",
            help="Certify or refute the calibration of the forecasts in a CSV or Parquet file with "
            "columns forecast and outcome (a yes/no event), or forecast_1, forecast_2 … (or "
            "forecast_NAME) and outcome; columns bin and date are optional.",
            show_default=False,
        ),
    ] = None,
    forecast_column: Annotated[
        list[str] | None,
        typer.Option(
            "--forecast-column",
            metavar="NAME",
            help="With --forecasts: the column of the probabilities; several, one a class, in "
            "their order.",
            show_default=False,
        ),
    ] = None,
    outcome_column: Annotated[
        list[str] | None,
        typer.Option(
            "--outcome-column",
            metavar="NAME",
            help="With --forecasts: the column of what happened.",
            show_default=False,
        ),
    ] = None,
    date_column: Annotated[
        str | None,
        typer.Option(
            "--date-column",
            metavar="NAME",
            help="With --forecasts: a column of dates, by which intervals are named.",
            show_default=False,
        ),
    ] = None,
    threshold: Annotated[
        list[float] | None,
        typer.Option(
            "--threshold",
            help="Group forecasts of a yes/no event by whether they reach this threshold; may be "
            "given several times. One half if the file has no bins.",
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
        float | None,
        typer.Option(
            "--rate",
            help="The constant c of the rate c·√(log(k·m·L)/L): 1 with --forecasts; with a FILE, "
            "that its forecasts keep this rate is one more bound.",
            show_default=False,
        ),
    ] = None,
    shortest: Annotated[
        int,
        typer.Option("--shortest", help="With --forecasts: the shortest intervals of the verdict."),
    ] = 1,
    level: Annotated[
        float,
        typer.Option(
            "--level", help="The chance of refuting a perfect forecaster, or of a bound's failure."
        ),
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
    page: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="With --forecasts: write a page with reliability diagrams, errors by interval and "
            "the corrected forecasts.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Print what a record proves.

    FILE is a saved transcript (Parquet) or a table of your own (CSV or Parquet) with one row a
    round: columns strategy_1, strategy_2 … (or strategy_NAME; or action, for drawn actions),
    response, and if you have them forecast_1, forecast_2 …, phase and round. A table needs --game.
    With --forecasts instead, only the calibration of forecasts is certified, and no game is needed.

    The exit code is 1 where a bound fails, or where forecasts are refuted.

    Examples:

        stackcast audit play.parquet

        stackcast audit season.csv --game inspection --json

        stackcast audit --forecasts rain.csv --threshold 0.5
    """
    from stackcast._validation import InputError

    if (file is None) == (forecasts is None):
        found = "neither" if file is None else "both"
        raise InputError("audit", "a FILE or --forecasts FILE", found)
    if forecasts is not None:
        from stackcast.calibration import certify_forecasts, read_forecasts
        from stackcast.cli._screen import say

        columns: Any = {
            "forecast": forecast_column or None,
            "outcome": outcome_column or None,
            "date": date_column,
        }
        table = read_forecasts(forecasts, **columns)
        certificate = certify_forecasts(
            table,
            threshold or None,
            _whole_numbers(lengths),
            1.0 if rate is None else rate,
            shortest=shortest,
            level=level,
        )
        if page is not None:
            from stackcast._files import write_whole
            from stackcast.report import forecast_page

            write_whole(page, forecast_page(table, certificate, threshold or None).encode())
        _show(certificate, certificate.profile, figure, as_json)
        if page is not None and not as_json:
            say(f"Page: {page}")
        if certificate.verdict == "refuted":
            raise typer.Exit(1)
    if file is not None and not _audit_play(
        file, game, ties, lengths, rate, level, figure, as_json
    ):
        raise typer.Exit(1)


def _audit_play(
    path: Path,
    game: str | None,
    ties: str | None,
    lengths: str | None,
    rate: float | None,
    level: float,
    figure: Path | None,
    as_json: bool,
) -> bool:
    """Audit a transcript or a table; return whether no bound failed."""
    from typing import cast

    from stackcast._validation import InputError, one_of
    from stackcast.auditing import audit as audit_transcript
    from stackcast.auditing import read_transcript
    from stackcast.cli._screen import compiling_said
    from stackcast.games import HalfKnownGame, TieRule, load_any

    rule = None if ties is None else cast("TieRule", one_of("--ties", ties, ("lowest", "random")))
    chosen: Any = None if game is None else load_any(game)
    if isinstance(chosen, HalfKnownGame):
        _show_ranges(read_transcript(path, chosen.shell), chosen, as_json)
        return True
    with compiling_said():
        transcript = read_transcript(path, chosen)
        if chosen is None and transcript.game is None:
            raise InputError("--game", f"the game of {path.name}, which does not hold it", "none")
        found = audit_transcript(
            transcript, chosen, ties=rule, delta=level, lengths=_whole_numbers(lengths), rate=rate
        )
    if figure is not None and found.calibration is None:
        raise InputError("--figure", "a record with forecasts", "one without")
    _show(found, found.calibration.profile if found.calibration else None, figure, as_json)
    return not found.failed


def _show_ranges(transcript: Any, game: Any, as_json: bool) -> None:
    """Audit a record whose agent is known by ranges, and print what it proves."""
    from stackcast import report
    from stackcast.auditing import audit_ranges
    from stackcast.cli._screen import compiling_said, print_json, say

    with compiling_said():
        found = audit_ranges(transcript, game)
    if as_json:
        print_json(found.to_dict())
        return
    for sentence in report.range_audit_sentences(game, found):
        say(sentence)


def _show(found: Any, profile: Any, figure: Path | None, as_json: bool) -> None:
    """Draw and print an audit, or a certificate."""
    from stackcast import report
    from stackcast.cli._screen import print_json, screen

    if figure is not None:
        report.save_figure(figure, lambda ax: report.draw_profile(profile, ax))
    if as_json:
        print_json(found.to_dict())
    else:
        screen().print(report.describe(found))


def _whole_numbers(text: str | None) -> list[int] | None:
    from stackcast._validation import InputError, shown

    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError("--lengths", "whole numbers with commas", shown(text)) from None
