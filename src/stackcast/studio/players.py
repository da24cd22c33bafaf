"""Players by name for a game, as the command line chooses and builds them."""

from __future__ import annotations

import inspect
from typing import Any

import stackcast as sc
from stackcast._validation import InputError, whole_number
from stackcast.studio import messages as ms

_OFFERED = {"view", "game", "horizon", "seed", "epochs", "epoch_rounds"}
_SCRIPTED = {"Fixed", "PhaseSwitch", "Replay"}
_LEARNERS = ("CommitmentLearner", "VersionSpace", "CoverageLearner", "ResponseGradient")
MOST_ROUNDS = 1_000_000


def players(game: Any) -> ms.Players:
    """Return who can play a game, and who does where nobody is named."""
    continuous = isinstance(game, sc.ContinuousGame)
    rooms = (sc.principals, sc.agents)
    found = [room.names(sc.protocol.kind_of(game)) for room in rooms]
    principals = [n for n in found[0] if n not in _SCRIPTED and _fits(sc.principals.find(n))]
    agents = [n for n in found[1] if _fits(sc.agents.find(n))]
    security = isinstance(game, sc.SecurityGame)
    learners = [n for n in _LEARNERS if n in principals and (n != "CoverageLearner" or security)]
    if security and "CoverageLearner" in learners:
        learners = ["CoverageLearner"]
    if security and game.constraints:
        learners = ["UniformExplore"]
    if not security:
        principals = [n for n in principals if n != "CoverageLearner"]
    else:
        principals = [n for n in principals if n != "VersionSpace" or n in learners]
    usual = "ContinuousCalibrated" if continuous else "Calibrated"
    if continuous and game.space.dimension > 2:
        usual = "ContinuousBestResponse"
    return ms.Players(
        principals=principals,
        agents=agents,
        principal=learners[0] if learners else principals[0],
        agent=usual if usual in agents else agents[0],
    )


def _fits(made: type[Any]) -> bool:
    parameters = inspect.signature(made).parameters.values()
    required = {p.name for p in parameters if p.default is p.empty and p.kind not in (2, 4)}
    return required <= _OFFERED


def principal(name: str, game: Any, rounds: int, seed: int) -> Any:
    """Return a principal by name."""
    return sc.protocol.build("principal", name, game, horizon=rounds, seed=seed)


def agent(name: str, game: Any, seed: int, feedback: str | None) -> Any:
    """Return an agent by name."""
    settings = {} if feedback is None else {"feedback": feedback}
    return sc.protocol.build("agent", name, game, seed=seed, settings=settings)


def checked(request: ms.NewPlay, game: Any) -> ms.NewPlay:
    """Return the request with whole numbers, and with players who can play the game."""
    known = players(game)
    for field, given, names in (
        ("principal", request.principal, known.principals),
        ("agent", request.agent, known.agents),
    ):
        if given and given not in names:
            raise InputError(field, "one of " + ", ".join(names), given[:60])
    rounds = whole_number("rounds", _whole(request.rounds), at_least=1)
    if rounds > MOST_ROUNDS:
        raise InputError("rounds", f"at most {MOST_ROUNDS:,} in the studio", f"{rounds:,}")
    return request.model_copy(
        update={
            "principal": request.principal or known.principal,
            "agent": request.agent or known.agent,
            "rounds": rounds,
            "seed": whole_number("seed", _whole(request.seed), at_least=0),
        }
    )


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value
