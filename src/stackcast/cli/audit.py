"""``stackcast audit``: what a record proves."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from stackcast.calibration import CalibrationProfile


def audit(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", show_default=False, help="A transcript or a table."),
    ] = None,
    game: Annotated[
        str,
        typer.Option(
            help="The game that was played: a name of the catalogue or a file.", show_default=False
        ),
    ] = "",
    ties: Annotated[
        str,
        typer.Option(help="Also use the bins of a tie rule: lowest or random.", show_default=False),
    ] = "",
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
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Say what a record proves.

    FILE is a saved transcript (Parquet) or a table of your own (CSV or Parquet) with one row a
    round: columns strategy_1, strategy_2 … (or strategy_NAME; or action, for drawn actions),
    response, and if you have them forecast_1, forecast_2 …, phase and round. A table needs --game.
    With --forecasts instead, only the calibration of forecasts is certified, and no game is needed.

    A bound that fails is shown as failed, and the exit code is then 1.

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
        constant = 1.0 if rate is None else rate
        _audit_forecasts(forecasts, threshold, lengths, constant, shortest, level, figure, as_json)
    elif file is not None:
        held = _audit_play(file, game, ties, lengths, rate, level, figure, as_json)
        if not held:
            raise typer.Exit(1)


def _audit_play(
    path: Path,
    game: str,
    ties: str,
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
    from stackcast.cli._screen import compiling_said, print_json, screen
    from stackcast.games import TieRule, load_game

    rule = cast("TieRule", one_of("--ties", ties, ("lowest", "random"))) if ties else None
    chosen = load_game(game) if game else None
    with compiling_said():
        transcript = read_transcript(path, chosen)
        if chosen is None and transcript.game is None:
            raise InputError("--game", f"the game of {path.name}, which does not hold it", "none")
        found = audit_transcript(
            transcript,
            chosen,
            ties=rule,
            delta=level,
            lengths=_whole_numbers(lengths),
            rate=rate,
        )
    if figure is not None:
        if found.calibration is None:
            raise InputError("--figure", "a record with forecasts", "one without")
        _draw(found.calibration.profile, figure)
    if as_json:
        print_json(found.to_dict())
    else:
        screen().print(found)
    return not found.failed


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
    from stackcast.cli._screen import print_json, screen

    certificate = certify_forecasts(
        path, threshold or None, _whole_numbers(lengths), rate, shortest=shortest, level=level
    )
    if figure is not None:
        _draw(certificate.profile, figure)
    if as_json:
        print_json(certificate.to_dict())
    else:
        screen().print(certificate.table())


def _draw(profile: "CalibrationProfile", path: Path) -> None:
    from stackcast.report.calibration_figure import save_profile

    save_profile(profile, path)


def _whole_numbers(text: str | None) -> list[int] | None:
    from stackcast._validation import InputError, shown

    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError("--lengths", "whole numbers with commas", shown(text)) from None
