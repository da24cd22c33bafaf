"""What the verbs share: printing, and a word where something takes a while."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console


def screen() -> Console:
    """Return the console for people; colours only on a terminal."""
    from rich.console import Console

    return Console(highlight=False)


def print_json(value: Any) -> None:
    """Print ``value`` for programs."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def complete_game(incomplete: str) -> list[str]:
    """Return the games of the catalogue that begin so, for the shell."""
    from stackcast.games import catalogue, continuous_catalogue

    return [name for name in (*catalogue(), *continuous_catalogue()) if name.startswith(incomplete)]


def complete_principal(incomplete: str) -> list[str]:
    """Return the principals whose names begin so."""
    from stackcast import principals

    names = (*principals.names(), *principals.continuous_names())
    return [name for name in names if name.startswith(incomplete)]


def complete_agent(incomplete: str) -> list[str]:
    """Return the agents whose names begin so."""
    from stackcast import agents

    names = (*agents.names(), *agents.continuous_names())
    return [name for name in names if name.startswith(incomplete)]


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
                print("stackcast: compiling, first run only …", file=sys.stderr)
                self.said = True

        def on_end(self, _: object) -> None:
            pass

    with event.install_listener("numba:compile", Listener()):
        yield
