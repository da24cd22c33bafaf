"""``stackcast games``: the catalogue."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from stackcast.cli._screen import complete_game


def games(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[GAME]", help="Show only this game.", autocompletion=complete_game),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the games of the catalogue, or show one with its story and payoffs.

    Examples:

        stackcast games

        stackcast games inspection
    """
    from stackcast import report
    from stackcast.cli._screen import print_json, screen
    from stackcast.games import (
        SecurityGame,
        continuous_entry,
        list_games,
        load_game,
    )

    listed = [*list_games(), *list_games("continuous")] if name is None else [name]
    continuous = [continuous_entry(entry) for entry in listed if entry in list_games("continuous")]
    chosen: list[Any] = [load_game(e) for e in listed if e not in list_games("continuous")]
    if as_json:
        entries = [
            {
                "name": game.name,
                "kind": "security" if isinstance(game, SecurityGame) else "mixed strategies",
                "shape": game.shape,
                "principal_actions": game.principal_actions,
                "agent_actions": game.agent_actions,
                "known_value": game.known_value,
                "description": game.description,
                "source": game.source,
            }
            for game in chosen
        ]
        print_json([*entries, *continuous])
    elif name is not None:
        screen().print(report.describe(chosen[0] if chosen else load_game(name)))
    else:
        screen().print(report.describe_catalogue(chosen))
        screen().print(report.describe_continuous_catalogue(continuous))
