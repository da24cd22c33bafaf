"""Strategies and constraints as people type them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError, real_vector, shown
from stackcast.games import Constraint, StrategySpace

if TYPE_CHECKING:
    from stackcast._validation import FloatArray

#: Probabilities that miss one by less than this are rounded decimals.
_ROUNDED = 0.015


def parse_strategy(
    given: str | Mapping[str, float] | Iterable[float], actions: Sequence[str]
) -> Any:
    """Return a mixed strategy that is given by names or in order.

    Examples
    --------
    >>> parse_strategy("inspect=0.3, trust=0.7", ["inspect", "trust"])
    array([0.3, 0.7])
    >>> parse_strategy("0.33,0.33,0.33", ["a", "b", "c"]).round(4)
    array([0.3333, 0.3333, 0.3333])
    """
    if isinstance(given, str):
        parts = [part.strip() for part in given.split(",")]
        if all("=" in part for part in parts):
            pairs = [part.rpartition("=") for part in parts]
            given = {name.strip(): _number("played", p) for name, _, p in pairs}
        else:
            given = [_number("played", part) for part in parts]
    if isinstance(given, Mapping):
        for name in given:
            if name not in actions:
                expected = "names of the principal's actions (" + ", ".join(actions) + ")"
                raise InputError("played", expected, shown(name))
        given = [given.get(action, 0.0) for action in actions]
    x = real_vector("played", given, len(actions))
    if 0 < abs(x.sum() - 1) < _ROUNDED and x.min() >= 0:
        x = x / x.sum()
    return np.array(StrategySpace.simplex(len(actions)).check("played", x))


def parse_constraint(given: str, actions: Sequence[str]) -> Constraint:
    """Return a linear constraint that is written as a sum of actions and a limit.

    Examples
    --------
    >>> constraint = parse_constraint("thorough + 2 light <= 0.4", ["thorough", "light", "none"])
    >>> dict(constraint.weights), constraint.at_most
    ({'thorough': 1.0, 'light': 2.0}, 0.4)
    """
    expected = "a sum of actions, <= or >= or =, and a number, as in 'thorough + 2 light <= 0.4'"
    match = re.fullmatch(r"(.+?)(<=|>=|=)([^<>=]+)", given.strip())
    if match is None:
        raise InputError("constraint", expected, shown(given))
    weights: dict[str, float] = {}
    for sign, term in re.findall(r"(^|\s\+\s|\s-\s)(.*?)(?=\s\+\s|\s-\s|$)", match[1].strip()):
        name, weight = term.strip(), 1.0
        if name not in actions:
            factor = re.fullmatch(r"([-+]?[0-9.]+(?:e[-+]?[0-9]+)?)\s*\*?\s*(.+)", name)
            if factor is None or factor[2] not in actions:
                known = "names of the principal's actions (" + ", ".join(actions) + ")"
                raise InputError("constraint", known, shown(name))
            name, weight = factor[2], _number("constraint", factor[1])
        weights[name] = weights.get(name, 0.0) + (-weight if "-" in sign else weight)
    limit = _number("constraint", match[3])
    return Constraint(
        weights,
        at_least=None if match[2] == "<=" else limit,
        at_most=None if match[2] == ">=" else limit,
        name=given.strip(),
    )


def parse_numbers(field: str, given: str) -> FloatArray:
    """Return numbers with commas between them."""
    return real_vector(field, [_number(field, part) for part in given.split(",")])


def _number(field: str, word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise InputError(field, "numbers", shown(word.strip())) from None
