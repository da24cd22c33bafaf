"""Agents that are calibrated over all rounds but not on every interval (Section 6)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stackcast.agents import Calibrated, Lazy
from stackcast.calibration import PowerRate
from stackcast.claims.experiments import Claim, Curve, Measured
from stackcast.games import FiniteGame, uniform
from stackcast.principals import FixedBlocks, PhaseSwitch, RescheduledBlocks
from stackcast.protocol import Block, play

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.principals import BlockSchedule
    from stackcast.protocol import Agent, Transcript

#: What Lazy with a budget of ½·t^(−1/2) promises: that and the error of its fall-back forecaster.
_RATE = PowerRate(0.5, 1.0)
#: The proposition's game; column 0 is d, for which ties are broken.
_SEPARATION = FiniteGame(
    np.zeros((2, 2)),
    [[0, 1], [0, -1]],
    principal_actions=["a", "b"],
    agent_actions=["d", "c"],
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


def rescheduling(full: bool) -> Measured:
    """Measure the error on rescheduled blocks, in units of what was asked."""
    asked = [0.3, 0.2, 0.3, 0.15, 0.3, 0.2] + ([0.1, 0.3, 0.1, 0.2] if full else [])
    worst, blocks, broken = 0.0, 0, 0
    curve: tuple[float, ...] = ()
    for seed in range(8 if full else 3):
        game = uniform(3, 3, seed)
        found = _block_errors(game, RescheduledBlocks(_RATE), asked, seed)
        curve = curve or tuple(found)
        worst = max(worst, *(f / a for f, a in zip(found, asked, strict=True)))
        short = _block_errors(game, FixedBlocks(_RATE), [0.1] * 30, seed)
        broken += sum(f > 0.1 for f in short)
        blocks += len(short)
    return Measured(
        worst,
        1.0,
        "blocks L_i = max(L_{i−1}, r⁻¹(γ_i/2i)) against Lazy, the laziest honest agent",
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


def separation_prefix(full: bool) -> Measured:
    """Measure the error over rounds 1..t of the proposition's agent, in units of ½·t^(−β)."""
    worst, curve = 0.0, None
    for s, beta in _cases(full):
        t, _ = _separation(Lazy(_SEPARATION.agent_view, budget=(0.5, beta)), s, beta, after=2 * s)
        rounds = np.arange(1, t.rounds + 1)
        errors, rates = _prefix_errors(t), 0.5 * rounds**-beta
        worst = max(worst, float((errors / rates).max()))
        if (s, beta) == (10_000, 0.5):
            at = np.unique(np.geomspace(s, t.rounds, 60).astype(int)) - 1
            curve = Curve(
                "round t",
                "error over rounds 1..t",
                tuple((at + 1.0).tolist()),
                tuple(errors[at].tolist()),
                tuple(rates[at].tolist()),
            )
    return Measured(
        worst,
        1.0,
        f"{len(_cases(full))} pairs of s and β, every prefix",
        curve=curve,
    )


def separation_interval(full: bool) -> Measured:
    """Measure the error of the proposition's agent on its sub-interval."""
    least = math.inf
    for s, beta in _cases(full):
        t, middle = _separation(Lazy(_SEPARATION.agent_view, budget=(0.5, beta)), s, beta, s)
        assert t.forecasts is not None
        gap = t.strategies[middle] - t.forecasts[middle]
        least = min(least, float(np.abs(gap.sum(axis=0)).max()) / len(gap))
    return Measured(least, 0.5, f"{len(_cases(full))} pairs of s and β, ⌊s^(1−β)⌋ rounds each")


def separation_answers(full: bool) -> Measured:
    """Measure the share of right answers of the proposition's agent on its sub-interval."""
    right = 0.0
    for s, beta in _cases(full):
        t, middle = _separation(Lazy(_SEPARATION.agent_view, budget=(0.5, beta)), s, beta, s)
        right = max(right, float((t.responses[middle] == _C).mean()))
    return Measured(right, 0.0, f"{len(_cases(full))} pairs of s and β")


def separation_adaptive(full: bool) -> Measured:
    """Measure the same share for an adaptively calibrated agent: most answers are right."""
    least = 1.0
    sizes = (10_000, 100_000) if full else (10_000,)
    for s in sizes:
        for seed in range(3):
            agent = Calibrated(_SEPARATION.agent_view, seed=seed)
            t, middle = _separation(agent, s, 0.25, after=100)
            least = min(least, float((t.responses[middle] == _C).mean()))
    return Measured(least, 0.5, f"Calibrated, β = 1/4, s up to {max(sizes):,}, 3 seeds each")


CLAIMS = (
    Claim(
        "rescheduling",
        "Lemma 6.1 (for Corollary 6.3)",
        "With blocks r⁻¹(γ/2i) a non-adaptively calibrated agent errs by at most γ on each.",
        "error on a block / γ",
        rescheduling,
        correction="One index over all phases, lengths that never fall, and t·r(t) non-decreasing: "
        "rescheduling each phase for itself breaks the argument on prefixes.",
    ),
    Claim(
        "separation-prefix",
        "Proposition 6.5 (1)",
        "An agent that never moves its forecast is within r(t) = ½·t^(−β) on every prefix.",
        "error over rounds 1..t / r(t)",
        separation_prefix,
        correction="BR is {c} for p_a > ½ and d at ½; the chain ends with L/(2t) ≤ t^(−β)/2.",
    ),
    Claim(
        "separation-interval",
        "Proposition 6.5 (2)",
        "Yet on an interval of s^(1−β) rounds its error is at least ½.",
        "error on the interval",
        separation_interval,
        "at least",
    ),
    Claim(
        "separation-answers",
        "Proposition 6.5 (3)",
        "On that interval its answer is never the best response.",
        "share of best responses",
        separation_answers,
    ),
    Claim(
        "separation-adaptive",
        "Section 6, after Proposition 6.5",
        "An adaptively calibrated agent plays the best response on most of the interval.",
        "share of best responses",
        separation_adaptive,
        "at least",
    ),
)
