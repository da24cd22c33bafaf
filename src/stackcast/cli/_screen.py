"""What the verbs share: printing, and a word of patience where something takes a while."""

from __future__ import annotations

import json
import sys
import threading
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


@contextmanager
def patience(message: str) -> Iterator[None]:
    """Say ``message`` on standard error if the work takes more than a second and a half."""
    timer = threading.Timer(1.5, lambda: print(message, file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
