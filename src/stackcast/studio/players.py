"""Players by name for a game, as the command line chooses and builds them."""

from __future__ import annotations

import inspect
from typing import Any

import stackcast as sc
from stackcast._validation import InputError
from stackcast.games import HalfKnownGame
from stackcast.protocol import build, kind_of
from stackcast.studio import messages as ms
from stackcast.studio.games import whole

_OFFERED = {"view", "game", "horizon", "seed", "epochs", "epoch_rounds"}
_LEARNERS = {
    "finite": ("CommitmentLearner", "VersionSpace"),
    "security": ("CommitmentLearner", "CoverageLearner"),
    "continuous": ("ResponseGradient",),
}
MOST_ROUNDS = 1_000_000


def players(game: Any) -> ms.Players:
    """Return who can play a game, and who does where nobody is named."""
    kind = kind_of(game)
    principals = [n for n in sc.principals.names(kind) if _fits(sc.principals.find(n))]
    agents = [n for n in sc.agents.names(kind) if _fits(sc.agents.find(n))]
    learners = [n for n in _LEARNERS[kind] if n in principals]
    if kind == "security" and game.constraints:
        learners = ["UniformExplore"]  # no learner knows constraints on coverage
    usual = "ContinuousCalibrated" if kind == "continuous" else "Calibrated"
    if kind == "continuous" and game.space.dimension > 2:
        usual = "ContinuousBestResponse"
    return ms.Players(
        principals=principals,
        agents=agents,
        principal=(learners or principals)[0],
        agent=usual if usual in agents else agents[0],
    )


def _fits(made: type[Any]) -> bool:
    parameters = inspect.signature(made).parameters.values()
    required = {p.name for p in parameters if p.default is p.empty and p.kind not in (2, 4)}
    return required <= _OFFERED


def pair(game: Any, run: dict[str, Any], margin: float | None = None) -> tuple[Any, Any]:
    """Return the principal and the agent of a play, as its settings name them."""
    rounds, seed = run["rounds"], run["seed"]
    kept = {} if margin is None else {"margin": margin}
    seen = {} if run.get("feedback") is None else {"feedback": run["feedback"]}
    return (
        build("principal", run["principal"], game, horizon=rounds, seed=seed, settings=kept),
        build("agent", run["agent"], game, seed=seed, settings=seen),
    )


def whole_game(game: Any) -> Any:
    """Return the game, if both sides' payoffs are known."""
    if isinstance(game, HalfKnownGame):
        known = "a game whose agent's payoffs are known, to play it"
        raise InputError("game", known, "a half-known one")
    return game


def checked(request: ms.NewPlay, game: Any) -> ms.NewPlay:
    """Return the request with whole numbers, and with players who can play the game."""
    known = players(game)
    for field, given, names in (
        ("principal", request.principal, known.principals),
        ("agent", request.agent, known.agents),
    ):
        if given and given not in names:
            raise InputError(field, "one of " + ", ".join(names), given[:60])
    rounds = whole("rounds", request.rounds, 1)
    if rounds > MOST_ROUNDS:
        raise InputError("rounds", f"at most {MOST_ROUNDS:,} in the studio", f"{rounds:,}")
    return request.model_copy(
        update={
            "principal": request.principal or known.principal,
            "agent": request.agent or known.agent,
            "rounds": rounds,
            "seed": whole("seed", request.seed, 0),
        }
    )
