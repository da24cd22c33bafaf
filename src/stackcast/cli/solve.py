"""``stackcast solve``: the optimal commitment of a game whose payoffs are known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from stackcast.cli._screen import complete_game


def solve(
    game: Annotated[
        str | None, typer.Argument(metavar="[GAME]", autocompletion=complete_game)
    ] = None,
    payoffs: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            metavar="MINE THEIRS", help="Two tables (.csv), one for each side, instead of GAME."
        ),
    ] = None,
    margin: Annotated[
        float, typer.Option(help="Distance that the commitment keeps to every other region.")
    ] = 0.0,
    details: Annotated[
        bool, typer.Option("--details", help="Also: regularity, maximin, best Nash, sensitivity.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for solution.json and the picture of the regions.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the solution as JSON.")] = False,
) -> None:
    """Solve the one-shot game with full information: the optimal commitment and V*.

    GAME is a name of the catalogue (see `stackcast games`) or a file (.json, .toml, .nfg); without
    it the default game is solved. If the agent's payoffs are ranges or missing, the result is the
    commitment with the best worst case and the one with the best expected value.

    Examples:

        stackcast solve

        stackcast solve milking --details

        stackcast solve my-game.toml --margin 0.02 --json

        stackcast solve --payoffs mine.csv theirs.csv
    """
    from stackcast._validation import InputError
    from stackcast.cli._screen import compiling_said, print_json, say, screen
    from stackcast.games import DEFAULT_GAME, HalfKnownGame, load_any

    chosen: Any
    if payoffs is None:
        chosen = load_any(DEFAULT_GAME if game is None else game)
    elif game is not None:
        raise InputError("GAME", "no game besides --payoffs", game)
    else:
        from stackcast.interop import from_csv

        chosen = from_csv(*payoffs)
    with compiling_said():
        from stackcast.solvers import solve as solve_game

        solution = solve_game(chosen, margin, details)
    from stackcast import report

    if isinstance(chosen, HalfKnownGame):
        if as_json:
            print_json(solution.to_dict())
        else:
            for sentence in report.range_sentences(chosen, solution):
                say(sentence)
        return
    files = [] if out is None else report.write_solution(out, chosen, solution)
    if as_json:
        print_json(report.solution_table(chosen, solution))
        return
    screen().print(report.describe(solution, chosen))
    if files:
        say("Written: " + ", ".join(map(str, files)))
