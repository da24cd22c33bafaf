"""``stackcast games``: the catalogue."""

from __future__ import annotations

from typing import Annotated

import typer


def games(
    name: Annotated[
        str, typer.Argument(metavar="[GAME]", show_default=False, help="Show this game alone.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print for programs.")] = False,
) -> None:
    """List the games of the catalogue, or show one with its story and payoffs.

    Examples:

        stackcast games

        stackcast games inspection
    """
    from stackcast.cli._screen import print_json, screen
    from stackcast.games import (
        SecurityGame,
        catalogue,
        continuous_catalogue,
        continuous_entry,
        load_game,
    )

    if name in continuous_catalogue():
        _show_continuous(name, as_json)
        return
    chosen = [load_game(entry) for entry in ([name] if name else catalogue())]
    others = [] if name else [continuous_entry(entry) for entry in continuous_catalogue()]
    if as_json:
        print_json(
            [
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
            + others
        )
        return
    from stackcast.report import describe_catalogue, describe_continuous_catalogue, describe_game

    screen().print(describe_game(chosen[0]) if name else describe_catalogue(chosen))
    if others:
        screen().print(describe_continuous_catalogue(others))


def _show_continuous(name: str, as_json: bool) -> None:
    from stackcast.cli._screen import print_json, screen
    from stackcast.games import continuous_entry, load_game
    from stackcast.report import describe_game

    if as_json:
        print_json([continuous_entry(name)])
    else:
        screen().print(describe_game(load_game(name)))
