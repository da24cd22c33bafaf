"""Named games, each a TOML file in this folder: story, payoffs, source, known value.

Continuous games are in the folder ``continuous``: a family, its parameters and a domain. A new
game is a new file; its stem is the game's name. Nothing else needs to be told of it.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from stackcast._validation import Table


#: The names by the class of their game, so that a type checker knows what ``load_game`` returns.
FiniteName = Literal[
    "battle-of-the-sexes",
    "chicken",
    "content-moderation",
    "entry-deterrence",
    "exam",
    "food-hygiene",
    "inspection",
    "matching-pennies",
    "milking",
    "prisoners-dilemma",
    "product-choice",
    "quantity-leadership",
    "ransom",
    "rock-paper-scissors",
    "separation",
    "stag-hunt",
    "tax-audit",
    "textbook-commitment",
]
SecurityName = Literal[
    "airport-checkpoints",
    "fare-inspection",
    "patrol",
    "wildlife",
]
ContinuousName = Literal[
    "credit-scoring",
    "credit-scoring-full",
    "quadratic-tax",
    "strategic-score",
]

#: The game that is taken where none is named: three principal actions, so that it can be drawn.
DEFAULT_GAME = "inspection"


@cache
def list_games(kind: Literal["finite", "continuous"] = "finite") -> tuple[str, ...]:
    """Return the names of the catalogue's games, in alphabetical order.

    ``"finite"`` are those with finitely many responses, security games among them.

    Examples
    --------
    >>> [name for name in list_games() if name.startswith("m")]
    ['matching-pennies', 'milking']
    >>> "strategic-score" in list_games("continuous")
    True
    """
    folder = resources.files(__name__)
    if kind == "continuous":
        folder = folder.joinpath(kind)
    files = (entry.name for entry in folder.iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml")))


def continuous_entry(name: str) -> Table:
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
    place = f"continuous/{name}.toml" if name in list_games("continuous") else f"{name}.toml"
    return resources.files(__name__).joinpath(place).read_text(encoding="utf-8")
