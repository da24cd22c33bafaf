"""What calibration does to the principal's utility and to the agent's regret (Sections 3, B)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._random import stream
from stackcast.agents import BlumMansour, Calibrated, FollowTheLeader, Hedge
from stackcast.auditing import audit
from stackcast.claims.experiments import Claim, Curve, Measured
from stackcast.games import FiniteGame, competing, load_game, uniform
from stackcast.principals import Fixed, PhaseSwitch, Replay
from stackcast.protocol import Block, Recommendation, play
from stackcast.solvers import solve

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from stackcast.games import PrincipalView, TieRule

_FAMILIES = (uniform, competing)
#: The margin with which an agent is led to the optimal answer.
_LEAD = 0.01
#: δ, the chance that Azuma's term is not enough in one play.
_CHANCE = 1e-3


class _Greedy:
    """Plays what would be best against the answer that it saw last."""

    def __init__(self, view: PrincipalView) -> None:
        self.view, self.settings = view, {"name": "greedy"}
        self._last = 0
        self.result = Recommendation(np.full(len(view.payoffs), 1 / len(view.payoffs)), None, 0.0)

    def commit(self) -> Block:
        best = int(np.argmax(self.view.payoffs[:, self._last]))
        return Block(np.eye(len(self.view.payoffs))[best], 2)

    def observe(self, responses: npt.NDArray[Any]) -> None:
        self._last = int(responses[-1])

    def state(self) -> dict[str, Any]:
        return {"last": self._last}

    def restore(self, state: dict[str, Any]) -> None:
        self._last = state["last"]


class _Exploiter:
    """Knows the whole game: leads the agent to the optimal answer, then takes what it gives."""

    def __init__(self, game: FiniteGame, patience: int) -> None:
        self.view, self.settings = game.principal_view, {"name": "exploiter"}
        best = solve(game, margin=_LEAD)
        self._wanted, self._lead, self._patience = best.response, best.strategy, patience
        self._take = np.eye(game.shape[0])[int(np.argmax(self.view.payoffs[:, best.response]))]
        self._patient, self.result = 0, Recommendation(best.strategy, best.response, best.value)

    def commit(self) -> Block:
        return Block(self._take if self._patient >= self._patience else self._lead)

    def observe(self, responses: npt.NDArray[Any]) -> None:
        self._patient = self._patient + 1 if int(responses[-1]) == self._wanted else 0

    def state(self) -> dict[str, Any]:
        return {"patient": self._patient}

    def restore(self, state: dict[str, Any]) -> None:
        self._patient = state["patient"]


def _principals(game: FiniteGame, rounds: int, seed: int) -> Iterator[Any]:
    """Yield principals that are out to earn more than V*."""
    view, rng = game.principal_view, stream(seed, "claims", "principals")
    m = game.shape[0]
    corners = np.eye(m)
    yield _Greedy(view)
    yield _Exploiter(game, patience=3)
    # A first forecast is a guess: over few rounds some pure strategy earns more than V*.
    yield from (Fixed(view, corner) for corner in corners)
    yield PhaseSwitch(view, [corners[0], corners[1]], [rounds // 2, rounds - rounds // 2])
    lengths = [10 * (i + 1) for i in range(max(1, rounds // 10))]
    lengths = lengths[: int(np.searchsorted(np.cumsum(lengths), rounds)) + 1]
    yield PhaseSwitch(view, list(rng.dirichlet(np.full(m, 0.5), len(lengths))), lengths)
    steps = rng.normal(size=(rounds, m)).cumsum(axis=0) / 15
    weights = np.exp(steps - steps.max(axis=1, keepdims=True))
    yield Replay(view, weights / weights.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class _Play:
    """What both theorems need of a play; the utilities' maxima are U_max of either side."""

    actions: int
    responses: int
    rounds: int
    excess: float
    swap_regret: float
    error: float
    most: float
    agent_most: float


@cache
def _plays(full: bool, ties: TieRule) -> tuple[_Play, ...]:
    """Return plays against the calibrated agent, with payoffs in [0, 1] as the theorems have it."""
    sizes = (2, 3, 5) if full else (2, 3)
    horizons = (2, 20, 200, 2000)
    games = [f(m, m, s) for s in ((0, 1) if full else (1,)) for m in sizes for f in _FAMILIES]
    textbook = load_game("textbook-commitment").normalised()
    assert isinstance(textbook, FiniteGame)
    games.append(textbook)
    plays = []
    for seed, game in enumerate(games):
        for rounds in horizons:
            for principal in _principals(game, rounds, seed):
                agent = Calibrated(game.agent_view, seed=seed, ties=ties)
                t = play(principal, agent, rounds, game)
                found = audit(t, profile=False, ties=ties)
                assert found.errors is not None
                plays.append(
                    _Play(
                        *game.shape,
                        rounds,
                        found.average_utility - found.value,
                        found.swap_regret,
                        float(found.errors.max()),
                        float(game.principal_payoffs.max()),
                        float(game.agent_payoffs.max()),
                    )
                )
    return tuple(plays)


def _share(value: float, allowed: float) -> float:
    """Return the part of what is allowed; where nothing is, anything but rounding is too much."""
    if allowed > 0:
        return value / allowed
    return 0.0 if value <= 1e-9 else math.inf


def _upper_bound(full: bool, ties: TieRule) -> Measured:
    def allowed(p: _Play) -> float:
        noise = math.sqrt(math.log(1 / _CHANCE) / p.rounds) if ties == "random" else 0.0
        return p.most * p.actions * p.responses * (p.error + noise)

    plays = _plays(full, ties)
    lengths = sorted({p.rounds for p in plays})
    # At each length the play that came out best for the principal, with its own bound.
    top = [max((p for p in plays if p.rounds == n), key=lambda p: p.excess) for n in lengths]
    beyond = max(p.excess for p in plays)
    return Measured(
        max(_share(p.excess, allowed(p)) for p in plays),
        1.0,
        f"{len(plays)} plays of adversarial principals against Calibrated, ties {ties}",
        f"the largest average beyond V* is {max(beyond, 0.0):.3g}",
        Curve(
            "rounds T",
            "average utility − V*",
            tuple(float(n) for n in lengths),
            tuple(p.excess for p in top),
            tuple(allowed(p) for p in top),
        ),
    )


def _swap_regret(full: bool, ties: TieRule) -> Measured:
    def allowed(p: _Play) -> float:
        k, T = p.responses, p.rounds
        bound = 2 * p.agent_most * p.actions * k * T * p.error
        if ties == "random":
            # Azuma for both sums and all k^k swaps; utilities in [0, U_max].
            log = k * math.log(k) + math.log(1 / _CHANCE)
            bound += p.agent_most * math.sqrt(2 * T * log)
        return bound

    plays = _plays(full, ties)
    return Measured(
        max(_share(p.swap_regret, allowed(p)) for p in plays),
        1.0,
        f"{len(plays)} plays of adversarial principals against Calibrated, ties {ties}",
        f"the largest swap regret a round is {max(p.swap_regret / p.rounds for p in plays):.3g}",
    )


def upper_bound(full: bool) -> Measured:
    """Measure how much of the bound adversarial principals reach; ties broken in order."""
    return _upper_bound(full, "lowest")


def upper_bound_random(full: bool) -> Measured:
    """Measure the same with ties at random."""
    return _upper_bound(full, "random")


def swap_regret(full: bool) -> Measured:
    """Measure how much of the lemma's bound the agent's swap regret reaches."""
    return _swap_regret(full, "lowest")


def swap_regret_random(full: bool) -> Measured:
    """Measure the same with ties at random."""
    return _swap_regret(full, "random")


def _milked(agent: Any, rounds: int) -> float:
    game = load_game("milking")
    principal = PhaseSwitch(game.principal_view, [[1, 0], [0, 1]], [rounds // 2, rounds // 2])
    t = play(principal, agent(game.agent_view), rounds, game)
    return audit(t, profile=False).average_utility


def milking(full: bool) -> Measured:
    """Measure what a switch of phases earns against mean-based agents: more than V*."""
    rounds = 100_000 if full else 20_000
    earned = {kind.__name__: _milked(kind, rounds) for kind in (FollowTheLeader, Hedge)}
    told = ", ".join(f"{name} {value:.4g}" for name, value in earned.items())
    return Measured(
        min(earned.values()),
        0.5,
        f"Up for {rounds // 2:,} rounds, then Down, in the example of Deng, Schneider and Sivan",
        f"earned against {told}; V* = 0.5",
    )


def not_milked(full: bool) -> Measured:
    """Measure what the same switch earns against agents without swap regret: no more than V*."""
    rounds = 100_000 if full else 20_000
    earned = {kind.__name__: _milked(kind, rounds) for kind in (BlumMansour, Calibrated)}
    told = ", ".join(f"{name} {value:.4g}" for name, value in earned.items())
    return Measured(
        max(earned.values()),
        0.5,
        f"the same {rounds:,} rounds against agents that are calibrated or have no swap regret",
        f"earned against {told}; V* = 0.5",
    )


CLAIMS = (
    Claim(
        "upper-bound",
        "Theorem 3.1",
        "Against a calibrated agent no principal earns more than V* + U_max·m·k·(r(T) + ε).",
        "(average − V*) / (U_max·m·k·max CalErr_i)",
        upper_bound,
        shares="plays",
    ),
    Claim(
        "upper-bound-random-ties",
        "Theorem 3.1",
        "The same with ties at random and Azuma's √(log(1/δ)/T) more.",
        "(average − V*) / (U_max·m·k·(max CalErr_i + √(log(1/δ)/T)))",
        upper_bound_random,
        shares="plays, random",
    ),
    Claim(
        "milking",
        "Section 3",
        "Agents that trust averages can be milked beyond V*, which is why calibration matters.",
        "average utility against mean-based agents",
        milking,
        "at least",
    ),
    Claim(
        "no-milking",
        "Section 3",
        "The principal that milks mean-based agents earns no more than V* against calibrated ones.",
        "average utility against calibrated agents",
        not_milked,
    ),
    Claim(
        "swap-regret",
        "Lemma B.2",
        "Calibrated forecasts leave no swap regret: at most 2·U_max·m·k·T·(r(T) + ε).",
        "swap regret / (2·U_max·m·k·T·max CalErr_i)",
        swap_regret,
        shares="plays",
    ),
    Claim(
        "swap-regret-random-ties",
        "Lemma B.2",
        "The same with ties at random and O(√(T·(k·log k + log(1/δ)))) more.",
        "swap regret / (the bound with Azuma's term)",
        swap_regret_random,
        shares="plays, random",
        correction="Tied actions have equal utility at the forecast, not at the strategy: both "
        "sums need Azuma's inequality, which leaves the order as it is.",
    ),
)
