"""Continuous games: both directions of the theorem and its lemmas, on every family (Section 5).

The bounds are those of :mod:`stackcast.auditing.continuous` and
:func:`stackcast.principals.lazy_guarantee`; the numbers are computed here from the rounds alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._random import stream
from stackcast.agents import ContinuousBestResponse, ContinuousCalibrated
from stackcast.calibration import ConeBinning
from stackcast.claims.claim import Curve, Measured, claim
from stackcast.games import (
    Ball,
    ContinuousGame,
    LabelledData,
    Polytope,
    load_game,
    quadratic_game,
    strategic_classification,
    strategic_score,
)
from stackcast.principals import LazyGDwoG, PhaseSwitch, Replay, lazy_guarantee
from stackcast.protocol import play
from stackcast.solvers import solve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stackcast.protocol import Principal, Transcript

#: ε of the grids, as a part of the domain's inner radius.
_SPACING = 0.15
_SHARES = "continuous plays"


def _quadratic(domain: Polytope) -> ContinuousGame:
    return quadratic_game(
        domain,
        target=[0.2, -0.3],
        response_weight=[0.4],
        interaction=[[0.2], [-0.1]],
        offset=[0.1],
        reaction=[[0.5, 0.5]],
    )


def _score(dimension: int) -> ContinuousGame:
    rng = stream(0, "claims", "continuous", "score", dimension)
    features = rng.normal(0.0, 0.3, dimension)
    reference = features + rng.normal(0.0, 0.5, dimension)
    return strategic_score(Ball(dimension), features=features, reference=reference, cost=2.0)


@cache
def _games() -> dict[str, ContinuousGame]:
    """Return a game of every family, and of every kind of domain, in one and two dimensions."""
    tax: Any = load_game("quadratic-tax")
    labels = np.arange(80) % 2 == 0
    rows = stream(0, "claims", "continuous", "applicants").normal(size=(80, 2))
    data = LabelledData.of(rows + 0.7 * labels[:, None], labels, ["skill", "claim"])
    triangle = Polytope([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]], [0.6, 0.6, 0.6])
    return {
        "quadratic, a line": tax,
        "quadratic, a box": _quadratic(Polytope.box([-1.0, -0.8], [0.9, 1.0])),
        "quadratic, a triangle": _quadratic(triangle),
        "score, m = 1": _score(1),
        "score, m = 2": _score(2),
        "classification": strategic_classification(Ball(2), data, changeable=["claim"], cost=1.0),
    }


def _calibrated(game: ContinuousGame) -> ContinuousCalibrated:
    return ContinuousCalibrated(game.agent_view, spacing=_SPACING * game.space.inner_radius)


@dataclass(frozen=True)
class _BlockFound:
    """What the lemmas say of a block of one strategy, each measured in units of its bound."""

    key: float
    feedback: float
    utility: float


@dataclass(frozen=True)
class _PlayFound:
    """A play against the calibrated agent: its excess over V*, in what allows it."""

    game: str
    excess: float
    allowed: float
    blocks: tuple[_BlockFound, ...]


def _ratio(measured: float, bound: float) -> float:
    return 0.0 if measured <= 0.0 else (measured / bound if bound > 0.0 else math.inf)


def _examined(name: str, t: Transcript) -> _PlayFound:
    game = _games()[name]
    binning = ConeBinning(game.space, _SPACING * game.space.inner_radius)
    assert t.forecasts is not None
    constants, m, far = game.constants, game.space.dimension, 4.0 * binning.spacing
    sums, earned, start = np.zeros((binning.bins, m)), 0.0, 0
    blocks = []
    for h, rounds in zip(t.block_strategies, t.block_rounds.tolist(), strict=True):
        p, y = t.forecasts[start : start + rounds], t.responses[start : start + rounds]
        start += rounds
        here = binning.weights(p).T @ (h - p)
        sums += here
        utility = game.principal_utilities(h, y)
        earned += float(utility.sum())
        best = game.best_responses(h)
        share = float((np.linalg.norm(p - h, axis=1) >= far).mean())
        error = float(np.abs(here).max()) / rounds
        reach = constants.lipschitz_best_response * (share * game.space.diameter + far)
        lost = abs(float(utility.mean() - game.principal_utilities(h, best)[0]))
        blocks.append(
            _BlockFound(
                _ratio(share, 8.0 * math.sqrt(m) * binning.bins**2 / far * error),
                _ratio(float(np.linalg.norm(y.mean(axis=0) - best[0])), reach),
                _ratio(lost, constants.lipschitz_response * reach),
            )
        )
    smooth = (
        constants.lipschitz_strategy
        + constants.lipschitz_response * constants.lipschitz_best_response
    )
    errors = float(np.abs(sums).max(axis=1).sum()) / t.rounds
    return _PlayFound(
        name,
        earned / t.rounds - solve(game).value,
        constants.lipschitz_strategy * math.sqrt(m) * errors + 2.0 * smooth * binning.spacing,
        tuple(blocks),
    )


def _principals(game: ContinuousGame, rounds: int) -> Iterator[Principal]:
    """Yield principals that are out to earn more than V*, and one that holds what it has."""
    view: Any = game.principal_view
    rng = stream(0, "claims", "continuous", "principals")
    best = solve(game).strategy
    slope = view.gradients(best, game.best_responses(best)[0])[0]
    # Where U_P rises if the answers stay what they are at the optimum.
    tempting = game.space.project(best + 0.3 * game.space.inner_radius * slope)
    yield PhaseSwitch(view, [best, tempting], [rounds // 2, rounds - rounds // 2])
    yield Replay(view, np.tile([best, tempting], (rounds // 2, 1)))
    some = game.space.sample(4, rng)
    yield PhaseSwitch(view, list(some), [rounds // 4] * 3 + [rounds - 3 * (rounds // 4)])
    yield Replay(view, game.space.sample(rounds, rng))


@cache
def _plays(full: bool) -> tuple[_PlayFound, ...]:
    found = []
    for name, game in _games().items():
        for rounds in (4, 40, 400, 4000) if full else (4, 40, 400):
            for principal in _principals(game, rounds):
                t = play(principal, _calibrated(game), rounds, game)
                found.append(_examined(name, t))
    return tuple(found)


def _ran(full: bool) -> str:
    return f"{len(_plays(full))} plays of adversarial principals against ContinuousCalibrated"


@claim(
    "Theorem 5.2",
    "(average − V*) / (L₁·√m·Σ CalErr_i + 2·(L₁ + L₂·L_BR)·ε)",
    correction="The step from ‖·‖₂ to ‖·‖_∞ in the sums costs √m.",
    shares=_SHARES,
)
def continuous_upper_bound(full: bool) -> Measured:
    """In continuous games too, no principal earns more than V* against a calibrated agent but for
    what calibration error and grid allow.
    """
    plays = _plays(full)
    steady = _reached()
    return Measured(
        tuple(_ratio(p.excess, p.allowed) for p in plays),
        1.0,
        f"{_ran(full)}, on {len(_games())} games of every family",
        f"the largest average beyond V* is {max(p.excess for p in plays):.3g}; forecasts that stay "
        f"at the optimum while the principal leaves it reach {steady:.3g}",
    )


def _reached(norms: float = math.sqrt(2)) -> float:
    """Return the ratio of a fool who always forecasts the optimum: the bound is no idle one.

    ``norms`` is the price of the step from ‖·‖₂ to ‖·‖_∞, √m; the paper has 1.
    """
    game = quadratic_game(
        Ball(2),
        target=[0.0, 0.0],
        response_weight=[math.sqrt(0.5)] * 2,
        interaction=np.zeros((2, 2)),
        offset=[0.0, 0.0],
        reaction=np.eye(2),
    )
    best, binning = solve(game).strategy, ConeBinning(game.space, 0.01)
    h, p = 0.7 * best, best[None]
    excess = float(game.principal_utilities(h, game.best_responses(p))[0]) - solve(game).value
    c = game.constants
    smooth = c.lipschitz_strategy + c.lipschitz_response * c.lipschitz_best_response
    errors = float(np.abs(binning.weights(p).T @ (h - p)).max(axis=1).sum())
    return excess / (c.lipschitz_strategy * norms * errors + 2.0 * smooth * binning.spacing)


def _worst_block(full: bool, lemma: str, note: str = "") -> Measured:
    blocks = [getattr(block, lemma) for p in _plays(full) for block in p.blocks]
    ran = f"{len(blocks):,} blocks of one strategy in {_ran(full)}"
    return Measured(tuple(blocks), 1.0, ran, note)


@claim("Lemma E.1", "share of far forecasts / that", shares=_SHARES)
def continuous_key_lemma(full: bool) -> Measured:
    """When a strategy is held, forecasts that are 4ε or more away are at most a share of
    8·√m·I²/(4ε)·CalErr of the rounds, with I bins.
    """
    note = "the bound has the square of the number of bins and is far from tight"
    return _worst_block(full, "key", note)


@claim("Lemma E.4", "distance / (L_BR·(share of far forecasts·D_P + 4ε))", shares=_SHARES)
def continuous_feedback(full: bool) -> Measured:
    """When a strategy is held, the mean response is close to the best response."""
    return _worst_block(full, "feedback")


@claim("Lemma E.5", "distance / (L₂·L_BR·(share of far forecasts·D_P + 4ε))", shares=_SHARES)
def continuous_utility(full: bool) -> Measured:
    """When a strategy is held, the mean utility is close to that of the best response."""
    return _worst_block(full, "utility")


@claim("Lemma E.1", "power of M by which the share falls")
def continuous_repeated_play(full: bool) -> Measured:
    """That share falls at the rate of the calibration error, M^(−1/2)."""
    first, last = 250, 16_000 if full else 4_000
    lengths = np.unique(np.geomspace(first, last, 7).astype(int))
    slopes, curve = [], None
    for name in ("score, m = 1", "score, m = 2"):
        game = _games()[name]
        m = game.space.dimension
        spacing = 0.02 if m == 1 else 0.1
        for place in (-0.4, 0.6):
            h = np.full(m, place)
            view: Any = game.principal_view
            principal = PhaseSwitch(view, [-h, h], [2000, last])
            agent = ContinuousCalibrated(game.agent_view, spacing=spacing)
            t = play(principal, agent, 2000 + last, game)
            assert t.forecasts is not None
            away = np.linalg.norm(t.forecasts[2000:] - h, axis=1) >= 4 * spacing
            shares = np.array([max(away[:n].mean(), 1.0 / n) for n in lengths])
            slopes.append(math.log(shares[-1] / shares[0]) / math.log(last / first))
            stated = shares[0] * (lengths / lengths[0]) ** -0.5
            curve = curve or Curve(
                "rounds M of one strategy",
                "share of far forecasts",
                tuple(lengths.astype(float).tolist()),
                tuple(shares.tolist()),
                tuple(stated.tolist()),
            )
    return Measured(
        tuple(slopes),
        -0.5,
        f"{len(slopes)} strategies held for {last:,} rounds after 2,000 of another one, m = 1, 2",
        curve=curve,
    )


@claim(
    "Theorem 5.2",
    "(V* − average) / (the guarantee, with the measured error of the answers)",
    correction="Epochs count from 1; a point is within δ·R/r, not δ, of those that keep the "
    "distance δ to the boundary; the variance term has a factor γ₀; smoothing costs "
    "2·L_U·δ more; an error ε of the answers costs (m/δ)·L₂·D_P·ε, so a fixed grid "
    "needs a fixed δ.",
)
def continuous_lower_bound(full: bool) -> Measured:
    """LazyGDwoG earns V* in the limit against calibrated agents."""
    epochs, length = (200, 100) if full else (60, 40)
    found, regrets, vacuous, speaks = [], [], True, 0.0
    for game in _games().values():
        exploration = min(0.6, 0.9 * game.space.inner_radius * (epochs / 4) ** 0.25)
        principal = LazyGDwoG(
            game.principal_view, epochs, epoch_rounds=length, exploration=exploration, seed=1
        )
        t = play(principal, _calibrated(game), epochs * length, game)
        error = float(
            np.linalg.norm(t.responses - game.best_responses(t.strategies), axis=1).mean()
        )
        regret = solve(game).value - _earned(game, t)
        allowed = lazy_guarantee(game, epochs, exploration=exploration, response_error=error).total
        found.append(regret / allowed)
        regrets.append(regret)
        # The principal's utility is within W_P of 0: a larger bound says nothing.
        vacuous = vacuous and allowed >= 2 * game.constants.utility_bound
        speaks = max(speaks, allowed)
    return Measured(
        tuple(found),
        1.0,
        f"Algorithm 4, {epochs} epochs of {length} rounds against ContinuousCalibrated, "
        f"{len(regrets)} games of every family",
        f"regrets from {min(regrets):.3g} to {max(regrets):.3g}; the guarantees go up to "
        f"{speaks:.3g}",
        speaks_from="more epochs: the guarantee falls as Φ^(−1/4)" if vacuous else "",
    )


def _earned(game: ContinuousGame, t: Transcript) -> float:
    total, start = 0.0, 0
    for h, rounds in zip(t.block_strategies, t.block_rounds.tolist(), strict=True):
        total += float(game.principal_utilities(h, t.responses[start : start + rounds]).sum())
        start += rounds
    return total / t.rounds


@claim("Theorem 5.2", "(V* − average) / (the guarantee)")
def continuous_lower_bound_epochs(full: bool) -> Measured:
    """With exact best responses LazyGDwoG's regret is O(√m·Φ^(−1/4)) after Φ epochs."""
    epochs = (300, 1000, 3000, 10_000) if full else (300, 1000)
    found, allowed = [], []
    for count in epochs:
        regrets: list[float] = []
        bounds: list[float] = []
        for game in (*_games().values(), _score(3), _score(5)):
            space = game.space
            least = 0.9 * space.inner_radius * (epochs[0] / space.dimension**2) ** 0.25
            exploration = min(0.6, least)
            principal = LazyGDwoG(game.principal_view, count, exploration=exploration)
            agent = ContinuousBestResponse(game.agent_view)
            t = play(principal, agent, count, game)
            regrets.append(solve(game).value - _earned(game, t))
            bounds.append(lazy_guarantee(game, count, exploration=exploration).total)
        found.append(regrets)
        allowed.append(bounds)
    means = [float(np.mean(regrets)) for regrets in found]
    ratios = (np.array(found) / np.array(allowed)).ravel()
    return Measured(
        tuple(ratios.tolist()),
        1.0,
        f"Algorithm 4 with exact best responses, {epochs[0]:,} to {epochs[-1]:,} epochs, "
        f"{len(found[0])} games of every family, m up to 5",
        f"the mean regret falls from {means[0]:.3g} to {means[-1]:.3g}",
        Curve(
            "epochs",
            "V* − average utility, mean of the games",
            tuple(float(count) for count in epochs),
            tuple(means),
            tuple(float(np.mean(bounds)) for bounds in allowed),
        ),
    )
