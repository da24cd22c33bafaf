"""The command line: one thin module for each verb.

Modules of this room import Typer and nothing heavier; a verb imports what it needs when it runs, so
that ``stackcast --help`` answers at once.
"""

from __future__ import annotations

import sys

import typer

from stackcast.cli.audit import audit
from stackcast.cli.campaign import campaign
from stackcast.cli.games import games
from stackcast.cli.play import play
from stackcast.cli.solve import solve
from stackcast.cli.studio import studio
from stackcast.cli.sweep import sweep, tournament
from stackcast.cli.verify import verify

app = typer.Typer(
    name="stackcast",
    help="Calibrated Stackelberg games: commit, forecast, learn, certify.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (play, solve, games, audit, verify, sweep, tournament, studio):
    app.command()(verb)
app.add_typer(campaign, name="campaign")


def main() -> None:
    """Run the program; a mistake of the user is one sentence and exit code 2."""
    try:
        app(prog_name="stackcast")
    except ValueError as error:
        from stackcast._validation import InputError

        if not isinstance(error, InputError):
            raise
        from stackcast.cli._screen import warn

        warn(str(error))
        sys.exit(2)
