"""Claims on committing against calibrated agents (Sections 3, 6, B and C).

What calibration does to both sides (Theorem 3.1, Lemma B.2), learning to commit (Theorem 3.2 and
the lemmas on its oracles), and agents that are calibrated, but not on every interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from stackcast._random import stream
from stackcast.agents import BlumMansour, Calibrated, FollowTheLeader, Hedge, Lazy
from stackcast.auditing import audit
from stackcast.calibration import PowerRate
from stackcast.claims.claim import NOTHING, Curve, Measured, claim
from stackcast.games import FiniteGame, StrategySpace, competing, load_game, uniform
from stackcast.principals import (
    BestResponseOracle,
    ExploreThenCommit,
    Fixed,
    FixedBlocks,
    Label,
    NoisyAnswersError,
    PhaseSwitch,
    Replay,
    RescheduledBlocks,
    approx_mem,
    ask_oracle,
    hand_set,
    learn_commitment,
    membership_opt,
)
from stackcast.protocol import Agent, Block, Principal, Recommendation, play
from stackcast.solvers import BestResponseRegions, solve
from stackcast.theory import Precision, TheoryParameters, ball_share, membership_epochs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt

    from stackcast._validation import FloatArray
    from stackcast.games import Game, TieRule
    from stackcast.principals import BlockSchedule, Search
    from stackcast.protocol import Transcript
    from stackcast.solvers import Solution

T = TypeVar("T")

#: The margin with which an agent is led to the optimal response.
_LEAD = 0.01
#: δ, the chance that Azuma's term is not enough in one play.
_CHANCE = 1e-3


# Calibration and both sides' utilities -------------------------------------------------------


@dataclass(eq=False, repr=False)
class _Tempted(Principal):
    """Plays what would be best against the answer that it saw last."""

    _last: int = field(init=False, default=0)

    @property
    def result(self) -> Recommendation:
        return Recommendation(self.commit().strategy, None, 0.0)

    def commit(self) -> Block:
        return Block(np.eye(len(self.view.payoffs))[np.argmax(self.view.payoffs[:, self._last])], 2)

    def observe(self, responses: npt.NDArray[Any]) -> None:
        self._last = int(responses[-1])


@dataclass(eq=False, repr=False)
class _Exploiter(_Tempted):
    """Leads the agent to the optimal answer, and once it gives that three times, takes."""

    lead: tuple[float, ...] = ()
    wanted: int = 0
    _patient: int = field(init=False, default=0)

    def commit(self) -> Block:
        return Block(super().commit().strategy if self._patient >= 3 else np.array(self.lead))

    def observe(self, responses: npt.NDArray[Any]) -> None:
        super().observe(responses)
        self._patient = self._patient + 1 if self._last == self.wanted else 0


def _principals(game: FiniteGame, rounds: int, seed: int) -> Iterator[Any]:
    """Yield principals that are out to earn more than V*."""
    view, rng = game.principal_view, stream(seed, "claims", "principals")
    m = game.shape[0]
    corners = np.eye(m)
    yield _Tempted(view)
    best = solve(game, margin=_LEAD)
    yield _Exploiter(view, lead=tuple(best.strategy.tolist()), wanted=best.response)
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
    games = [
        f(m, m, s) for s in ((0, 1) if full else (1,)) for m in sizes for f in (uniform, competing)
    ]
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
        tuple(_share(p.excess, allowed(p)) for p in plays),
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
        chance=_CHANCE if ties == "random" else 0.0,
    )


@claim("Theorem 3.1", "(average − V*) / (U_max·m·k·max CalErr_i)", shares="plays")
def upper_bound(full: bool) -> Measured:
    """Against a calibrated agent no principal earns more than V* + U_max·m·k·(r(T) + ε)."""
    return _upper_bound(full, "lowest")


@claim(
    "Theorem 3.1",
    "(average − V*) / (U_max·m·k·(max CalErr_i + √(log(1/δ)/T)))",
    shares="plays, random",
)
def upper_bound_random_ties(full: bool) -> Measured:
    """The same with ties at random and Azuma's √(log(1/δ)/T) more."""
    return _upper_bound(full, "random")


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
        tuple(_share(p.swap_regret, allowed(p)) for p in plays),
        1.0,
        f"{len(plays)} plays of adversarial principals against Calibrated, ties {ties}",
        f"the largest swap regret a round is {max(p.swap_regret / p.rounds for p in plays):.3g}",
        chance=_CHANCE if ties == "random" else 0.0,
    )


@claim("Lemma B.2", "swap regret / (2·U_max·m·k·T·max CalErr_i)", shares="plays")
def swap_regret(full: bool) -> Measured:
    """Calibrated forecasts leave no swap regret: at most 2·U_max·m·k·T·(r(T) + ε)."""
    return _swap_regret(full, "lowest")


@claim(
    "Lemma B.2",
    "swap regret / (the bound with Azuma's term)",
    correction="Tied actions have equal utility at the forecast, not at the strategy: both sums "
    "need Azuma's inequality, which leaves the order as it is.",
    shares="plays, random",
)
def swap_regret_random_ties(full: bool) -> Measured:
    """The same with ties at random and O(√(T·(k·log k + log(1/δ)))) more."""
    return _swap_regret(full, "random")


def _switched(full: bool, kinds: tuple[Any, ...], what: str) -> Measured:
    """Measure what Up for half of the rounds, then Down, earns against each kind of agent."""
    rounds, game = 100_000 if full else 20_000, load_game("milking")
    earned = {}
    for kind in kinds:
        principal = PhaseSwitch(game.principal_view, [[1, 0], [0, 1]], [rounds // 2, rounds // 2])
        t = play(principal, kind(game.agent_view), rounds, game)
        earned[kind.__name__] = audit(t, profile=False).average_utility
    told = ", ".join(f"{name} {value:.4g}" for name, value in earned.items())
    return Measured(
        tuple(earned.values()),
        0.5,
        f"Up for {rounds // 2:,} rounds, then Down, in the example of Deng, Schneider and Sivan, "
        f"against {what}",
        f"earned against {told}; V* = 0.5",
    )


@claim("Section 3", "average utility against a mean-based agent", "at least")
def exploiting(full: bool) -> Measured:
    """Agents that trust averages can be exploited beyond V*, which is why calibration matters."""
    return _switched(full, (FollowTheLeader, Hedge), "mean-based agents")


@claim("Section 3", "average utility against a calibrated agent")
def no_exploiting(full: bool) -> Measured:
    """What exploits mean-based agents earns no more than V* against calibrated ones."""
    return _switched(full, (BlumMansour, Calibrated), "agents without swap regret")


# Learning to commit ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Run:
    """A play of Algorithm 2: what it lost, and what it promised.

    ``short`` is V* less the commitment's value and ``margin`` its distance to other regions, both
    NaN without a commitment; ``wrong`` is the largest share of a wrong response in the commitment,
    in units of √m·CalErr_i/ε_robust.
    """

    game: str
    seed: int
    rounds: int
    regret: float
    explored: int
    short: float
    margin: float
    wrong: float
    theory: TheoryParameters


def _explore_then_commit(game: Game, rounds: int, seed: int) -> _Run:
    m, k = game.shape
    theory = hand_set(m, k, rounds)
    principal = ExploreThenCommit(game.principal_view, theory, seed=seed, oracle="question")
    t = play(principal, Calibrated(game.agent_view, seed=seed), rounds, game)
    last, h, y = t.blocks[-1], principal.result.strategy, principal.result.response
    value = solve(game).value
    regret = value - audit(t, profile=False).average_utility
    if last.phase != "commit" or y is None:
        return _Run(game.name, seed, rounds, regret, rounds, NOTHING, NOTHING, NOTHING, theory)
    starts = np.flatnonzero(np.array(t.phases) == "commit")
    start = rounds - int(t.block_rounds[starts[0] :].sum())
    responses, length = t.responses[start:], rounds - start
    assert t.forecasts is not None
    gaps, wrong = h - t.forecasts[start:], 0.0
    for i in set(range(k)) - {y}:
        chosen = responses == i
        error = float(np.abs(gaps[chosen].sum(axis=0)).max(initial=0.0)) / length
        wrong = max(wrong, _share(chosen.mean(), math.sqrt(m) * error / theory.robustness))
    margin = BestResponseRegions(game).margin(h, y)
    short = value - float(game.principal_utilities(h)[y])
    return _Run(game.name, seed, rounds, regret, start, short, margin, wrong, theory)


@cache
def _runs(full: bool) -> tuple[_Run, ...]:
    """Return runs on two games of the catalogue, by game and seed, each at every horizon."""
    horizons = (10_000, 100_000, 500_000) if full else (10_000, 100_000)
    games = [load_game(name).normalised() for name in ("inspection", "textbook-commitment")]
    return tuple(
        _explore_then_commit(game, rounds, seed)
        for game in games
        for seed in range(5 if full else 2)
        for rounds in horizons
    )


@claim(
    "Theorem 3.2",
    "(V* − average) / (the theorem's bound, with 1 for the constant that O(·) hides)",
    correction="The rate is t^(−β), so the leading term is T^(−β/14); for payoffs of any sign V* "
    "becomes V* − min U_P.",
    shares="explore, then commit",
)
def lower_bound(full: bool) -> Measured:
    """Explore-then-commit earns V* in the limit, whatever the agent's payoffs."""
    runs = _runs(full)
    horizons = sorted({run.rounds for run in runs})
    bounds = {n: TheoryParameters.compute(3, 3, 0.1, n, PowerRate(0.5)).guarantee for n in horizons}
    speaks = horizons[-1]
    while TheoryParameters.compute(3, 3, 0.1, speaks, PowerRate(0.5)).guarantee >= 1:
        speaks *= 100
    asked = TheoryParameters.compute(3, 3, 0.1, horizons[-1], PowerRate(0.5), tolerance=0.05).rounds
    means = [float(np.mean([run.regret for run in runs if run.rounds == n])) for n in horizons]
    near = sum(run.short <= run.theory.tolerance for run in runs)
    robust = sum(run.margin >= run.theory.robustness for run in runs)
    return Measured(
        tuple(run.regret / bounds[run.rounds] for run in runs),
        1.0,
        f"Algorithms 2 and 3 with parameters set by hand against Calibrated, {len(runs)} runs of "
        f"up to {horizons[-1]:,} rounds",
        f"mean regret {means[0]:.3g} at T = {horizons[0]:,}, {means[-1]:.3g} at T = "
        f"{horizons[-1]:,}; the theorem's own parameters ask for 10^{len(str(asked)) - 1} "
        f"rounds to come within 0.05 of V*; with those set by hand P1 is kept in {near} and P2 in "
        f"{robust} of {len(runs)} runs",
        Curve(
            "rounds T",
            "V* − average utility",
            tuple(map(float, horizons)),
            tuple(means),
            tuple(bounds[n] for n in horizons),
        ),
        speaks_from=f"T = {float(speaks):.0e} (the regret's bound falls below the payoffs' range)",
    )


@claim(
    "Theorem 3.2", "regret at the longest horizon / at the shortest", shares="explore, then commit"
)
def lower_bound_horizon(full: bool) -> Measured:
    """The longer the horizon, the closer to V*."""
    runs = _runs(full)
    first, last = min(run.rounds for run in runs), max(run.rounds for run in runs)
    shares = []
    for game in sorted({run.game for run in runs}):
        means = [
            np.mean([run.regret for run in runs if run.game == game and run.rounds == rounds])
            for rounds in (last, first)
        ]
        shares.append(float(means[0] / means[1]))
    seeds = len({run.seed for run in runs})
    ran = f"the same runs, means over {seeds} seeds of each game, T = {first:,} and {last:,}"
    return Measured(tuple(shares), 1.0, ran)


@claim("Theorem 3.2, proof", "wrong responses / that", shares="explore, then commit")
def wrong_responses(full: bool) -> Measured:
    """A commitment with margin ε_robust draws each wrong response i at most √m·CalErr_i·T₂/ε_robust
    times.
    """
    runs = _runs(full)
    outside = sum(not run.margin > 0 for run in runs)
    return Measured(
        tuple(run.wrong for run in runs if run.margin >= run.theory.robustness),
        1.0,
        f"the commitments of {len(runs)} runs that keep the promised margin ε_robust",
        f"{outside} runs commit outside of the region or not at all; they break P2, the hypothesis",
    )


# The oracles of Algorithm 3 -------------------------------------------------------------------


def _answered(search: Search[T], answer: Callable[[FloatArray], int]) -> T:
    """Run a search against a function of the strategy."""
    try:
        question = next(search)
        while True:
            question = search.send(Label(answer(question.strategy), question.accuracy))
    except StopIteration as stop:
        result: T = stop.value
        return result


def _halfspace(m: int) -> tuple[StrategySpace, FloatArray, FloatArray]:
    """Return a simplex, its middle, and the unit normal of a boundary of action 0."""
    space = StrategySpace.simplex(m)
    normal = space.basis @ stream(m, "claims", "normal").standard_normal(m - 1)
    return space, np.full(m, 1 / m), normal / np.linalg.norm(normal)


@claim("Lemma C.1", "refused (1) or not (0)")
def membership_inside(full: bool) -> Measured:
    """ApproxMem accepts every strategy that is deeper than ε₁ + ε₂ in its region."""
    trials, found = (300 if full else 50), []
    for m in (2, 3, 6, 12):
        e1, e2 = 0.02, 0.002 / math.sqrt(m)
        space, middle, normal = _halfspace(m)
        depth = e1 + _DEEP * e2 + 1e-9

        def worst(h: FloatArray, n: FloatArray = normal, c: FloatArray = middle) -> int:
            return int(n @ (h - c) + depth < e2)  # noqa: B023  # 1 wherever it may

        for trial in range(trials):
            rng = stream(trial, "claims", "inside", m)
            search = approx_mem(middle, e1, e2, 40, space, rng, 0)
            found.append(float(_answered(search, worst) != 0))
    return Measured(tuple(found), 0.0, f"{len(found):,} calls in m = 2, 3, 6, 12")


#: In units of ε₂: how much deeper than ε₁ the lemma's strategies lie.
_DEEP = 1.0


def _accepted(m: int, e1: float, e2: float, epochs: int, trials: int) -> list[float]:
    """Return whether calls accept a strategy of depth ε₂ + ε₁/√m: 1 or 0."""
    space, middle, normal = _halfspace(m)
    depth = e2 + e1 / math.sqrt(m) - 1e-12

    def worst(h: FloatArray) -> int:
        return int(normal @ (h - middle) + depth < -e2)  # 0 wherever it may

    found = []
    for trial in range(trials):
        rng = stream(trial, "claims", "outside", m)
        found.append(
            float(_answered(approx_mem(middle, e1, e2, epochs, space, rng, 0), worst) == 0)
        )
    return found


#: ε₂ in units of ε₁/√m, and epochs in units of ln(1/ε₃): the corrected constants.
_CONSERVATISM, _EPOCHS = 0.1, 9.0


@claim(
    "Lemma C.1",
    "accepted (1) or not (0)",
    correction="As printed it needs ⟨S, e⟩ ≥ 3/√m, which never happens for m ≤ 9: ε₂ ≤ 0.1·ε₁/√m "
    "and Φ = ⌈9·ln(1/ε₃)⌉ epochs instead.",
)
def membership_outside(full: bool) -> Measured:
    """ApproxMem accepts a strategy that is not deeper than ε₂ + ε₁/√m with chance at most ε₃."""
    e3, trials, found = 0.05, (1000 if full else 300), []
    epochs = math.ceil(_EPOCHS * math.log(1 / e3))
    for m in (2, 3, 6, 12, 40):
        e1 = 0.01 / math.sqrt(m)
        found += _accepted(m, e1, _CONSERVATISM * e1 / math.sqrt(m), epochs, trials)
    e1 = 0.01 / math.sqrt(6)
    printed = math.ceil(100 * math.sqrt(6) * math.log(1 / e3))
    as_printed = sum(_accepted(6, e1, e1 / math.sqrt(6), printed, 20)) / 20
    return Measured(
        tuple(found),
        0.0,
        f"{trials} calls in each of m = 2, 3, 6, 12, 40; ε₃ = {e3:g}",
        f"with the printed ε₂ = ε₁/√m and {printed} epochs, m = 6: {as_printed:.0%} accepted",
        chance=e3,
    )


def _regular_game(m: int, seed: int, regularity: float = 0.05) -> tuple[FiniteGame, Solution]:
    """Return a game whose optimal region holds a ball of this radius, and its optimum."""
    family, tried = (uniform if seed % 2 else competing), 1000 * seed
    while True:
        game = family(m, m, tried)
        best = solve(game, details=True)
        if best.regularity >= regularity:
            return game, best
        tried += 1


#: N_init in units of ln T / vol(η/2).
_SAMPLES = 10.0


@claim(
    "Lemma C.2",
    "none (1) or one (0)",
    correction="ε₂ = η/(40√m); vol(η/2) is a share of the simplex's volume.",
)
def initialisation(full: bool) -> Measured:
    """The initial set holds a strategy well inside the optimal region but for a chance 1/(5T)."""
    horizon, found = 100, []
    for m in (2, 3):
        for seed in range(40 if full else 8):
            game, best = _regular_game(m, seed)
            eta = best.regularity
            theory = TheoryParameters.compute(m, m, eta, horizon, PowerRate(0.5))
            count = math.ceil(_SAMPLES * math.log(horizon) / ball_share(m, eta / 2))
            regions = BestResponseRegions(game)
            rng, oracle = stream(seed, "claims", "initialise"), BestResponseOracle(game.agent_view)
            starts = game.space.sample(count, seed)
            # What another region answers, or lies less deep, cannot be what is looked for.
            deep = game.agent_view.respond(starts) == best.response
            missed = 1.0
            for start in starts[deep]:
                if regions.margin(start, best.response) < eta / 2:
                    continue
                search = approx_mem(
                    start,
                    theory.initial.approximation,
                    theory.initial.conservatism,
                    theory.epochs,
                    game.space,
                    rng,
                )
                if ask_oracle(search, oracle) == best.response:
                    missed = 0.0
                    break
            found.append(missed)
    return Measured(
        tuple(found),
        0.0,
        f"{len(found)} games with m = 2, 3, N_init = 10·ln T / vol(η/2), T = {horizon}",
        chance=1 / (5 * horizon),
    )


#: ε_opt of the searches, and the chance that one misses by its samples or its oracle.
_TOLERANCE, _MISS, _ORACLE = 0.05, 0.02, 0.03
#: Games whose optimal region is smaller would need more samples than this.
_MOST_SAMPLES = 1500


def _by_hand(game: FiniteGame, regularity: float) -> TheoryParameters:
    """Return parameters that keep the lemmas' conditions but for ε_robust, and fail rarely.

    N_init = ln(1/.02)/vol(η/2) samples miss the ball with a chance of .02, and Φ epochs let one of
    2·N_init membership calls fail with a chance of .03.
    """
    m, k = game.shape
    root = math.sqrt(m)
    theory = TheoryParameters.compute(m, k, regularity, 10**5, PowerRate(0.5))
    samples = math.ceil(math.log(1 / _MISS) / ball_share(m, regularity / 2))
    return replace(
        theory,
        tolerance=_TOLERANCE,
        robustness=0.002,
        epochs=membership_epochs(_ORACLE / (2 * samples)),
        samples=samples,
        initial=Precision(regularity / 4, regularity / (40 * root)),
        optimising=Precision(0.004, 0.0004 / root),
        checking=Precision(0.002 * root / 1.1, 0.002 / 11),
    )


@dataclass(frozen=True)
class _Search:
    """A run of Algorithm 3 against an oracle: P1's shortfall and P2's margin, NaN without any."""

    shape: str
    short: float
    margin: float
    boundary: float


@cache
def _searches(full: bool) -> tuple[_Search, ...]:
    """Return what Algorithm 3 finds in games whose regularity its samples can meet."""
    found = []
    for m in (2, 3, 4, 5) if full else (2, 3):
        for seed in range(25 if full else 5):
            game, best = _regular_game(m, seed, {2: 0.05, 3: 0.08, 4: 0.12, 5: 0.12}[m])
            # The paper's balls keep off the simplex's own boundary too, where optima may lie.
            theory = _by_hand(game, best.regularity)
            width = theory.checking.approximation + theory.optimising.approximation
            if theory.samples > _MOST_SAMPLES:
                theory = replace(theory, samples=_MOST_SAMPLES)
            oracle = BestResponseOracle(game.agent_view, ambiguous=_NOISE, seed=seed)
            made = ask_oracle(learn_commitment(game.principal_view, theory, seed), oracle, 10**7)
            short = margin = NOTHING
            if made is not None:
                short = best.value - made.value
                margin = BestResponseRegions(game).margin(made.strategy, made.response)
                margin /= theory.robustness
            found.append(_Search(f"{m}×{m}", short, margin, 2 * m * width))
    return tuple(found)


#: Answers are drawn among all actions within this distance of a facet.
_NOISE = 1e-5


@claim(
    "Lemma 3.3 (P1)",
    "(V* − value) / ε_opt",
    correction="Balls and volumes are relative to the affine hull; balls that leave the simplex "
    "cost value at its boundary although no forecast lies beyond it.",
    shares="algorithm 3",
)
def near_optimal(full: bool) -> Measured:
    """Algorithm 3 returns a commitment worth at least V* − ε_opt."""
    runs = _searches(full)
    beyond = [run for run in runs if not run.short <= _TOLERANCE]
    walls = sum(run.short <= _TOLERANCE + run.boundary for run in beyond)
    told = ", ".join(f"{run.shape} by {run.short:.3g}" for run in beyond)
    note = "every run is within ε_opt"
    if beyond:
        note = (
            f"beyond ε_opt: {told}; {walls} of these by no more than what balls that keep off the "
            "simplex's own boundary cost"
        )
    return Measured(
        tuple(run.short / _TOLERANCE for run in runs),
        1.0,
        f"Algorithm 3 on {len(runs)} games, answers random within {_NOISE:g} of a facet, "
        f"ε_opt = {_TOLERANCE:g}",
        note,
        chance=_MISS + _ORACLE,
    )


@claim(
    "Lemma 3.3 (P2), Lemma C.4",
    "margin / ε_robust",
    "at least",
    correction="The check uses ε₁ = ε_robust·√m/1.1 and ε₂ = ε_robust/11.",
    shares="algorithm 3",
)
def robust(full: bool) -> Measured:
    """The commitment of Algorithm 3 lies ε_robust inside its region."""
    runs = _searches(full)
    return Measured(
        tuple(run.margin for run in runs),
        1.0,
        f"Algorithm 3 on {len(runs)} games, ε_robust = 0.002; a run without a commitment fails",
        chance=_ORACLE,
    )


@claim(
    "Lemma C.3",
    "optimum of the region − value",
    correction="O(m·log) counts separations; membership calls are Õ(m²).",
)
def optimisation(full: bool) -> Measured:
    """MembershipOpt on ApproxMem finds the optimum of a region up to ε_opt, and inside it."""
    found, most, e1, tolerance = [], 0, 4e-4, 0.02
    for m in (3, 5) if full else (3,):
        size = Precision(e1, _CONSERVATISM * e1 / math.sqrt(m))
        for seed in range(30 if full else 10):
            game = competing(m, m, seed)
            regions = BestResponseRegions(game)
            for y in range(m):
                ball = regions.inscribed_ball(y)
                if ball is None or ball.radius < 0.03:
                    continue
                objective, rng = game.principal_payoffs[:, y], stream(seed, "claims", "optimise", y)
                oracle = BestResponseOracle(game.agent_view, size.conservatism, seed)
                search = membership_opt(
                    ball.center, y, objective, game.space, size, 60, tolerance / 2, rng
                )
                try:
                    h = ask_oracle(search, oracle, most=10**7)
                except NoisyAnswersError:
                    found.append(NOTHING)
                    continue
                best = float((regions.polytope(y).vertices @ objective).max())
                inside = game.agent_view.best_responses(h)[y]
                found.append(best - float(objective @ h) if inside else NOTHING)
                most = max(most, oracle.queries)
    ran = f"{len(found)} regions, ε₁ = {e1:g}, answers random within ε₂ of a facet, ε_opt = 0.02"
    note = f"at most {most:,} questions for one region; a search that gives up fails"
    return Measured(tuple(found), tolerance, ran, note)


# Agents that are calibrated, but not on every interval ----------------------------------------


#: What Lazy with a budget of ½·t^(−1/2) promises.
_RATE = PowerRate(0.5, 0.5)
#: The proposition's game; column 0 is d, for which ties are broken.
_SEPARATION = FiniteGame(
    np.zeros((2, 2)), [[0, 1], [0, -1]], principal_actions=["a", "b"], agent_actions=["d", "c"]
)
_D, _C = 0, 1


def _block_errors(
    game: FiniteGame, timing: BlockSchedule, asked: list[float], seed: int
) -> list[float]:
    """Return the worst calibration error of a bin on each block, against the lazy agent."""
    agent = Lazy(game.agent_view, budget=(0.5, 0.5), seed=seed)
    rng = np.random.default_rng(seed)
    forecasts = np.zeros((0, game.shape[0]))
    worst = []
    for error in asked:
        strategy = rng.dirichlet(np.full(game.shape[0], 0.3))
        answers = agent.respond(Block(strategy, timing.rounds(error)))
        assert answers.forecast_ids is not None
        assert answers.new_forecasts is not None
        forecasts = np.vstack([forecasts, answers.new_forecasts])
        apart = strategy - forecasts[answers.forecast_ids]
        sums = [apart[answers.responses == y].sum(axis=0) for y in range(game.shape[1])]
        worst.append(float(max(np.abs(s).max() for s in sums)) / len(apart))
    return worst


@claim(
    "Lemma 6.1",
    "error on a block / γ",
    correction="One index over all phases, lengths that never fall, and t·r(t) non-decreasing: "
    "rescheduling each phase for itself breaks the argument on prefixes.",
)
def rescheduling(full: bool) -> Measured:
    """With blocks r⁻¹(γ/2i) a non-adaptively calibrated agent errs by at most γ on each."""
    asked = [0.3, 0.2, 0.3, 0.15, 0.3, 0.2] + ([0.1, 0.3, 0.1, 0.2] if full else [])
    found: list[float] = []
    blocks, broken = 0, 0
    curve: tuple[float, ...] = ()
    for seed in range(8 if full else 3):
        game = uniform(3, 3, seed)
        errors = _block_errors(game, RescheduledBlocks(_RATE), asked, seed)
        curve = curve or tuple(errors)
        found += [f / a for f, a in zip(errors, asked, strict=True)]
        short = _block_errors(game, FixedBlocks(_RATE), [0.1] * 30, seed)
        broken += sum(f > 0.1 for f in short)
        blocks += len(short)
    return Measured(
        tuple(found),
        1.0,
        "blocks L_i = max(L_{i−1}, r⁻¹(γ_i/2i)) against Lazy, the laziest agent of its rate",
        f"with blocks r⁻¹(γ), enough for adaptive agents, {broken} of {blocks} blocks exceed γ",
        Curve(
            "block",
            "calibration error on the block",
            tuple(float(i + 1) for i in range(len(asked))),
            curve,
            tuple(asked),
            logarithmic=False,
        ),
    )


#: Rounds of a rescheduled search, how its blocks are scheduled, and c of the agent's c·t^(−1/2).
_LONGEST, _SCHEDULE, _SLOW = 4_000_000, "rescheduled", 3e-4


@claim("Corollary 6.3", "(V* − value) / ε_opt where P2 is kept")
def rescheduled_search(full: bool) -> Measured:
    """Rescheduled, Algorithm 3 keeps P1 and P2 against non-adaptively calibrated agents."""
    rate, found, outside, rounds = PowerRate(0.5, _SLOW), [], 0, 0
    for seed in range(40 if full else 8):
        game, best = _regular_game(2, seed, 0.4)
        theory = replace(
            TheoryParameters.compute(2, 2, best.regularity, 10**6, rate),
            tolerance=_TOLERANCE,
            robustness=0.01,
            samples=math.ceil(math.log(1 / _MISS) / ball_share(2, best.regularity / 2)),
            epochs=9,
            initial=Precision(0.1, 0.01),
            optimising=Precision(0.02, 0.01),
            checking=Precision(0.03, 0.01),
        )
        principal = ExploreThenCommit(game.principal_view, theory, seed=seed, schedule=_SCHEDULE)
        t = play(principal, Lazy(game.agent_view, budget=(_SLOW, 0.5)), _LONGEST, game)
        made, last = principal.result, t.blocks[-1]
        if last.phase != "commit" or made.response is None:
            found.append(NOTHING)
            continue
        rounds = max(rounds, t.rounds - last.rounds)
        kept = BestResponseRegions(game).margin(made.strategy, made.response) >= theory.robustness
        outside += not kept
        short = best.value - float(game.principal_utilities(made.strategy)[made.response])
        found.append(short / theory.tolerance if kept else NOTHING)
    return Measured(
        tuple(found),
        1.0,
        f"{len(found)} games 2×2 against Lazy with the rate {_SLOW:g}·t^(−1/2); ε_opt = "
        f"{_TOLERANCE:g}; a run without a commitment, or with a margin below ε_robust, fails",
        f"{outside} commitments break P2; the longest exploration took {rounds:,} rounds",
        chance=_MISS + _ORACLE,
    )


def _separation(agent: Agent, s: int, beta: float, after: int) -> tuple[Transcript, slice]:
    length = int(s ** (1 - beta))
    half = [0.5, 0.5]
    principal = PhaseSwitch(_SEPARATION.principal_view, [half, [1, 0], half], [s, length, after])
    t = play(principal, agent, s + length + after, _SEPARATION)
    return t, slice(s, s + length)


def _prefix_errors(t: Transcript) -> FloatArray:
    assert t.forecasts is not None
    bins = np.eye(2)[t.responses]
    sums = (bins[:, :, None] * (t.strategies - t.forecasts)[:, None, :]).cumsum(axis=0)
    errors: FloatArray = np.abs(sums).max(axis=(1, 2)) / np.arange(1, t.rounds + 1)
    return errors


def _cases(full: bool) -> list[tuple[int, float]]:
    sizes = (2, 100, 10_000, 100_000) if full else (2, 100, 10_000)
    return [(s, beta) for s in sizes for beta in (0.25, 0.5, 1.0)]


@claim(
    "Proposition 6.5 (1)",
    "error over rounds 1..t / r(t)",
    correction="BR is {c} for p_a > ½ and d at ½; the chain ends with L/(2t) ≤ t^(−β)/2.",
)
def separation_prefix(full: bool) -> Measured:
    """An agent that never moves its forecast is within r(t) = ½·t^(−β) on every prefix."""
    found, curve = [], None
    for s, beta in _cases(full):
        t, _ = _separation(Lazy(_SEPARATION.agent_view, budget=(0.5, beta)), s, beta, after=2 * s)
        rounds = np.arange(1, t.rounds + 1)
        errors, rates = _prefix_errors(t), 0.5 * rounds**-beta
        found.append(float((errors / rates).max()))
        if (s, beta) == (10_000, 0.5):
            at = np.unique(np.geomspace(s, t.rounds, 60).astype(int)) - 1
            curve = Curve(
                "round t",
                "error over rounds 1..t",
                tuple((at + 1.0).tolist()),
                tuple(errors[at].tolist()),
                tuple(rates[at].tolist()),
            )
    return Measured(tuple(found), 1.0, f"{len(found)} pairs of s and β, every prefix", curve=curve)


def _on_the_interval(full: bool, measure: Callable[[Transcript, slice], float]) -> Measured:
    found = []
    for s, beta in _cases(full):
        t, middle = _separation(Lazy(_SEPARATION.agent_view, budget=(0.5, beta)), s, beta, s)
        found.append(measure(t, middle))
    return Measured(tuple(found), 0.0, f"{len(found)} pairs of s and β, ⌊s^(1−β)⌋ rounds each")


@claim("Proposition 6.5 (2)", "error on the interval", "at least")
def separation_interval(full: bool) -> Measured:
    """Yet on an interval of s^(1−β) rounds its error is at least ½."""

    def error(t: Transcript, middle: slice) -> float:
        assert t.forecasts is not None
        gap = t.strategies[middle] - t.forecasts[middle]
        return float(np.abs(gap.sum(axis=0)).max()) / len(gap)

    return replace(_on_the_interval(full, error), bound=0.5)


@claim("Proposition 6.5 (3)", "share of best responses")
def separation_answers(full: bool) -> Measured:
    """On that interval its response is never the best response."""
    return _on_the_interval(full, lambda t, middle: float((t.responses[middle] == _C).mean()))


@claim("Section 6, after Proposition 6.5", "share of best responses", "at least")
def separation_adaptive(full: bool) -> Measured:
    """An adaptively calibrated agent plays the best response on most of the interval."""
    found, sizes = [], (10_000, 100_000) if full else (10_000,)
    for s in sizes:
        for seed in range(3):
            agent = Calibrated(_SEPARATION.agent_view, seed=seed)
            t, middle = _separation(agent, s, 0.25, after=100)
            found.append(float((t.responses[middle] == _C).mean()))
    ran = f"Calibrated, β = 1/4, s up to {max(sizes):,}, 3 seeds each"
    return Measured(tuple(found), 0.5, ran)
