"""What the verbs share: printing safe text, progress, and completion."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console
    from rich.progress import Progress


def screen(*, stderr: bool = False) -> Console:
    """Return the console for people; colours only on a terminal, and no markup in texts."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False, stderr=stderr)


def say(text: str) -> None:
    """Print a line for people."""
    from stackcast._plain import visible

    print(visible(text, 100_000))


def warn(text: str) -> None:
    """Print a line on standard error."""
    from stackcast._plain import visible

    print(f"stackcast: {visible(text, 4000)}", file=sys.stderr)


def print_json(value: Any) -> None:
    """Print ``value`` for programs."""
    from stackcast._plain import json_text

    print(json_text(value))


def bar(*columns: Any, shown: bool) -> Progress:
    """Return a progress bar on standard error, if somebody looks."""
    from rich.progress import Progress

    console = screen(stderr=True)
    return Progress(
        *columns,
        console=console,
        transient=True,
        disable=not (shown and console.is_terminal),
        expand=True,
    )


def complete_game(incomplete: str) -> list[str]:
    """Return the games of the catalogue that begin so, for the shell."""
    from stackcast.games import list_games

    return [
        name for name in (*list_games(), *list_games("continuous")) if name.startswith(incomplete)
    ]


def complete_principal(incomplete: str) -> list[str]:
    """Return the principals whose names begin so."""
    from stackcast import principals

    return [name for name in principals.names() if name.startswith(incomplete)]


def complete_agent(incomplete: str) -> list[str]:
    """Return the agents whose names begin so."""
    from stackcast import agents

    return [name for name in agents.names() if name.startswith(incomplete)]


def complete_claim(incomplete: str) -> list[str]:
    """Return the claims whose names begin so."""
    from stackcast.claims import claim_names

    return [name for name in claim_names() if name.startswith(incomplete)]


@contextmanager
def compiling_said() -> Iterator[None]:
    """Say on standard error when something is being compiled, which only a first run needs."""
    from numba.core import event

    class Listener(event.Listener):
        said = False

        def on_start(self, _: object) -> None:
            if not self.said:
                warn("compiling, first run only …")
                self.said = True

        def on_end(self, _: object) -> None:
            pass

    with event.install_listener("numba:compile", Listener()):
        yield
