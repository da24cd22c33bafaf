"""``stackcast studio``: a local page to see games, play them and run campaigns."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def studio(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="Where games, plays and campaigns are kept.")
    ] = Path(),
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    host: Annotated[
        str, typer.Option(help="Address to listen on; any but this machine's own needs --token.")
    ] = "127.0.0.1",
    token: Annotated[
        str,
        typer.Option(show_default=False, help="What visitors must send; by default a new one."),
    ] = "",
) -> None:
    """Open a local page to see games, play them and run campaigns.

    The printed address holds a token, without which no request is answered. Ctrl-C ends the page
    and its runs; a play continues later from its checkpoint.

    Examples:

        stackcast studio

        stackcast studio policy --port 0 --no-browser
    """
    from importlib.util import find_spec

    from stackcast._validation import InputError

    for package in ("starlette", "uvicorn", "python_multipart", "pydantic", "matplotlib", "polars"):
        if find_spec(package) is None:
            expected = f"{package} (pip install 'stackcast[studio]')"
            raise InputError("studio", expected, f"no {package}")
    if host not in ("127.0.0.1", "localhost", "::1"):
        if len(token) < 12:
            expected = "a --token of at least 12 characters for visitors from other machines"
            raise InputError("--host", expected, "none" if not token else "a shorter one")
        print(
            f"stackcast: listening on {host}. Whoever reaches this machine and knows the token can "
            f"read and change everything in {folder.resolve()}; nothing is encrypted on the way.",
            file=sys.stderr,
        )
    from stackcast.studio import serve

    def ready(address: str) -> None:
        print(address, flush=True)
        if browser:
            import webbrowser

            webbrowser.open(address)

    serve(folder, host, port, token or None, ready)
