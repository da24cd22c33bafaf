"""Players from their names and the options of a verb."""

from __future__ import annotations

import inspect
from typing import Any

from stackcast._validation import InputError


def build_principal(name: str, game: Any, rounds: int, seed: int, margin: float | None) -> Any:
    """Return the principal of that name for a game and so many rounds."""
    from stackcast import principals

    known: dict[str, Any] = {
        "view": game.principal_view,
        "game": game,
        "horizon": rounds,
        "seed": seed,
    }
    kind = principals.find(name)
    if "theory" in inspect.signature(kind).parameters:
        from stackcast.claims.learning import hand_set

        # The theorem's own parameters ask for more rounds than there are atoms.
        m, k = game.shape
        known["theory"] = hand_set(m, k, rounds)
    chosen = {} if margin is None else {"margin": margin}
    return _built("principal", name, kind, known, chosen)


def build_agent(name: str, game: Any, seed: int, feedback: str | None) -> Any:
    """Return the agent of that name."""
    from stackcast import agents

    known = {"view": game.agent_view, "seed": seed}
    chosen = {} if feedback is None else {"feedback": feedback}
    return _built("agent", name, agents.find(name), known, chosen)


def _built(
    role: str, name: str, kind: type[Any], known: dict[str, Any], chosen: dict[str, Any]
) -> Any:
    """Call the class with what it takes of ``known`` and with all that the user chose."""
    takes = inspect.signature(kind).parameters
    for option, value in chosen.items():
        if option not in takes:
            raise InputError(f"--{option}", f"a choice that {name} has", f"{value}")
    missing = [
        parameter.name
        for parameter in takes.values()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        and parameter.name not in known
    ]
    if missing:
        expected = "one that a name and a seed describe"
        found = f"{name}, which needs {' and '.join(missing)} (use it from Python)"
        raise InputError(f"--{role}", expected, found)
    given = {key: value for key, value in known.items() if key in takes}
    return kind(**given, **chosen)
