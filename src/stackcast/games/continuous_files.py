"""Continuous games in files: a family, its parameters and a domain; never code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stackcast._validation import InputError, one_of, shown, table_entries, whole_number
from stackcast.games.families import quadratic_game, strategic_classification, strategic_score
from stackcast.games.labelled import labelled_from_table
from stackcast.games.spaces import Ball, Polytope

if TYPE_CHECKING:
    from collections.abc import Callable

    from stackcast.games.continuous import ContinuousGame
    from stackcast.games.spaces import Domain

_TEXTS = ("name", "description", "source", "known_value")
#: Family → its maker, the parameters it needs, and those it may have.
_FAMILIES: dict[str, tuple[Callable[..., ContinuousGame], set[str], set[str]]] = {
    "quadratic": (
        quadratic_game,
        {"target", "response_weight", "interaction", "offset", "reaction"},
        {"base"},
    ),
    "strategic-score": (
        strategic_score,
        {"features", "reference"},
        {"cost", "regularisation", "base", "feature_names"},
    ),
    "strategic-classification": (strategic_classification, {"data", "changeable"}, {"cost"}),
}


def is_continuous(table: object) -> bool:
    """Tell whether a table of a file means a continuous game."""
    return isinstance(table, dict) and "family" in table


def continuous_from_table(table: dict[str, Any]) -> ContinuousGame:
    """Return the game of a table as it stands in a file, without its ``format``."""
    family = table["family"]
    if not isinstance(family, str) or family not in _FAMILIES:
        raise InputError("family", "one of " + ", ".join(_FAMILIES), shown(family))
    allowed = {"family", "domain", "parameters", *_TEXTS}
    for key in table:
        if key not in allowed:
            raise InputError("keys", "some of " + ", ".join(sorted(allowed)), shown(key))
    parameters = table.get("parameters")
    make, needed, optional = _FAMILIES[family]
    if not isinstance(parameters, dict):
        raise InputError(
            "parameters", "a table with " + ", ".join(sorted(needed)), shown(parameters)
        )
    for key in sorted(needed - set(parameters)):
        raise InputError(f"parameters, {key}", "an entry", "no such key")
    for key in parameters:
        if key not in needed | optional:
            expected = "some of " + ", ".join(sorted(needed | optional))
            raise InputError("parameters", expected, shown(key))
    given = dict(parameters)
    if family == "strategic-classification":
        given["data"] = labelled_from_table("parameters, data", given["data"])
    domain = domain_from_table("domain", table.get("domain"))
    return make(domain, **given, **{key: table[key] for key in _TEXTS if key in table})


def continuous_to_table(game: ContinuousGame) -> dict[str, Any]:
    """Return the table that stands for a game in a file, without its ``format``."""
    if game.family is None:
        raise InputError("game", "a game of a family, which a file can hold", "one of functions")
    table: dict[str, Any] = {"family": game.family.name}
    for key in _TEXTS:
        value = getattr(game, key)
        if value not in ("", None):
            table[key] = value
    table["domain"] = game.space.to_table()
    table["parameters"] = dict(game.family.parameters)
    return table


#: Domains of files: the keys of each kind, and its maker.
_DOMAINS: dict[str, tuple[dict[str, str], Callable[..., Domain]]] = {
    "ball": (
        {"dimension": "a whole number", "radius": "a number"},
        lambda dimension, radius: Ball(whole_number("dimension", dimension, at_least=1), radius),
    ),
    "box": ({"low": "a list of numbers", "high": "a list of numbers"}, Polytope.box),
    "polytope": (
        {"rows": "a list of rows of numbers", "bounds": "a list of numbers"},
        lambda rows, bounds: Polytope(rows, bounds),
    ),
}


def domain_from_table(field: str, table: Any) -> Domain:
    """Return the domain of a table as it stands in a file."""
    if not isinstance(table, dict):
        raise InputError(field, "a table with kind 'ball', 'box' or 'polytope'", shown(table))
    keys, make = _DOMAINS[one_of(f"{field}, kind", table.get("kind"), tuple(_DOMAINS))]
    entries = table_entries(field, table, {"kind": "a word", **keys})
    del entries["kind"]
    try:
        return make(**entries)
    except InputError as error:
        raise error.inside(field) from None
