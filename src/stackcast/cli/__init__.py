"""The command line: one thin module for each verb.

Modules of this package import Typer and nothing heavier; a verb imports what it needs when it runs,
so that ``stackcast --help`` is fast.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from stackcast.cli.audit import audit
from stackcast.cli.campaign import campaign
from stackcast.cli.games import games
from stackcast.cli.play import play
from stackcast.cli.recalibrate import recalibrate
from stackcast.cli.solve import solve
from stackcast.cli.studio import studio
from stackcast.cli.sweep import sweep, tournament
from stackcast.cli.verify import verify

app = typer.Typer(
    name="stackcast",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (play, solve, games, audit, recalibrate, verify, sweep, tournament, studio):
    app.command()(verb)
app.add_typer(campaign, name="campaign")


def _version(wanted: bool) -> None:
    if wanted:
        from stackcast import __version__

        typer.echo(f"stackcast {__version__}")
        raise typer.Exit


@app.callback()
def program(
    _: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Calibrated Stackelberg games: commit, forecast, learn, certify."""


def main() -> None:
    """Run the program; a mistake of the user is one sentence and exit code 2."""
    misused: Any = typer.BadParameter.__base__  # of an option or argument, the parser's own error
    try:
        code = app(prog_name="stackcast", standalone_mode=False)
    except misused as error:
        where = error.ctx.command_path if error.ctx is not None else "stackcast"
        said = " ".join(error.format_message().split())
        if not said or type(error).__name__ == "NoArgsIsHelpError":
            error.show()
        else:
            _refuse(f"{said if said.endswith(('.', '?')) else said + '.'} See {where} --help.")
        sys.exit(2)
    except ValueError as error:
        from stackcast._validation import InputError

        if not isinstance(error, InputError):
            raise
        _refuse(str(error))
        sys.exit(2)
    sys.exit(code if isinstance(code, int) else 0)


def _refuse(sentence: str) -> None:
    from stackcast.cli._screen import warn

    warn(sentence)
