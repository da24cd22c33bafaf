"""Named games, each a TOML file in this folder: story, payoffs, source, known value.

Continuous games are in the folder ``continuous``: a family, its parameters and a domain. A new
game is a new file; its stem is the game's name. Nothing else needs to be told of it.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any

#: The game that is taken where none is named: three principal actions, so that it can be drawn.
DEFAULT_GAME = "inspection"


@cache
def catalogue() -> tuple[str, ...]:
    """Return the names of the catalogue's games, in alphabetical order.

    Examples
    --------
    >>> [name for name in catalogue() if name.startswith("m")]
    ['matching-pennies', 'milking']
    """
    files = (entry.name for entry in resources.files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml")))


@cache
def continuous_catalogue() -> tuple[str, ...]:
    """Return the names of the catalogue's continuous games, in alphabetical order.

    Examples
    --------
    >>> "strategic-score" in continuous_catalogue()
    True
    """
    folder = resources.files(__name__).joinpath("continuous")
    files = (entry.name for entry in folder.iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml")))


def continuous_entry(name: str) -> dict[str, Any]:
    """Return what the catalogue says of a continuous game, without building it.

    A game may need data from a package; its name, story, known value and dimension do not.
    """
    table = tomllib.loads(catalogue_text(name))
    return {
        "name": name,
        "kind": "continuous",
        "family": table["family"],
        "dimension": table["domain"]["dimension"],
        "known_value": table.get("known_value"),
        "description": table["description"],
        "source": table["source"],
    }


def catalogue_text(name: str) -> str:
    """Return the TOML text of the game that the catalogue calls ``name``."""
    place = f"continuous/{name}.toml" if name in continuous_catalogue() else f"{name}.toml"
    return resources.files(__name__).joinpath(place).read_text(encoding="utf-8")
