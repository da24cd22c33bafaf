"""Optimal coverage by level search, without a linear program (after ORIGAMI, Kiekintveld 2009).

Write a_t for the attacker's uncovered payoff and δ_t for what covering costs it. If the attacker is
to be held to a utility of v everywhere, target t needs the coverage (a_t − v)/δ_t or more, which
must be at most 1. Whatever the defender wants to be attacked, the lowest level v* that the
resources reach is the best: the coverage of an attacked target is (a_t − v)/δ_t, and grows as v
falls. So one sort finds v*, and the defender's favourite among the targets with a_t ≥ v* is
attacked: O(n log n).

A margin ρ, or an error in the payoffs, raises the target that must be beaten from a_t to a_t plus a
shift that depends on the attacked target y. The same search then runs once for each y, the most
promising first.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stackcast._validation import real_number
from stackcast.games import BEST_RESPONSE_TOLERANCE
from stackcast.solvers.solution import Sensitivity, Solution

if TYPE_CHECKING:
    from collections.abc import Callable

    from stackcast._validation import BoolArray, FloatArray
    from stackcast.games import SecurityGame

#: Halvings of an interval of radii: to machine precision.
_HALVINGS = 60


class _Sides(NamedTuple):
    """Both sides' payoffs: uncovered, and what covering changes (both differences ≥ 0)."""

    reward: FloatArray  # a_t
    drop: FloatArray  # δ_t
    loss: FloatArray
    relief: FloatArray
    resources: int
    tie: float  # what counts as equal utilities of the attacker


class _Cover(NamedTuple):
    value: float
    coverage: FloatArray
    target: int
    values: FloatArray


def has_levels(game: SecurityGame, margin: float) -> bool:
    """Tell whether the level search finds the best coverage, or linear programs must.

    Constraints need programs; so does a margin among targets that coverage leaves as they are, for
    the attacker cannot tell those apart.
    """
    idle = int((game.attacker_covered == game.attacker_uncovered).sum())
    return not game.constraints and (margin == 0 or idle < 2)


def best_coverage(
    game: SecurityGame, margin: float, details: bool, payoff_error: float | None
) -> Solution | None:
    """Return the best coverage of a game without constraints; None if none has the margin."""
    sides = _sides(game)
    plain = _without_margin(sides)
    reachable = ~np.isnan(plain.values)
    found = plain
    if margin > 0:

        def shifts(y: int) -> FloatArray:
            distance = margin * np.hypot(sides.drop, sides.drop[y])
            return np.where(reachable, distance, -np.inf)

        robust = _target_by_target(sides, shifts, plain.values, details)
        if robust is None:
            return None
        found = robust
    utilities = sides.reward - sides.drop * found.coverage
    y = found.target
    solution = Solution(
        value=found.value,
        strategy=found.coverage,
        response=y,
        margin=_margin(sides, found, reachable),
        values=found.values,
        gap=float(max(0.0, (utilities - utilities[y]).max())),
        tolerance=sides.tie,
        bound=found.value,
        status="optimal",
        method="level search",
        response_name=game.targets[y],
    )
    return _with_details(sides, solution, ~reachable, payoff_error) if details else solution


def lowest_level(tops: FloatArray, drops: FloatArray, resources: float, floor: float) -> float:
    """Return the lowest v ≥ floor with Σ max(0, (tops − v)/drops) ≤ resources.

    Targets without a drop are left out; ``floor`` must not lie below them.
    """
    costly = drops > 0
    tops, weights = tops[costly], 1.0 / drops[costly]
    order = np.argsort(-tops, kind="stable")
    tops, weights = tops[order], weights[order]
    if not len(tops) or not math.isfinite(tops[0]):
        return floor
    below = tops - tops[0]  # from the highest: no digits are lost to payoffs far from 0
    finite = np.isfinite(below)
    below, weights = below[finite], weights[finite]
    slope = np.cumsum(weights)
    sums = np.cumsum(weights * below)
    count = int(np.searchsorted(sums - slope * below, resources, side="right"))
    level = tops[0] + (sums[count - 1] - resources) / slope[count - 1]
    return max(float(level), floor)


def _sides(game: SecurityGame) -> _Sides:
    reward = game.attacker_uncovered
    drop = reward - game.attacker_covered
    scale = float(drop.max() + np.ptp(reward)) or 1.0
    loss = game.defender_uncovered
    relief = game.defender_covered - loss
    tie = BEST_RESPONSE_TOLERANCE * scale
    return _Sides(reward, drop, loss, relief, game.resources, tie)


def _coverage(sides: _Sides, tops: FloatArray, level: float) -> FloatArray:
    """Return the least coverage that holds every target, raised to ``tops``, to the level."""
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.where(sides.drop > 0, (tops - level) / sides.drop, 0.0)
    return np.clip(needed, 0.0, 1.0)


def _without_margin(sides: _Sides) -> _Cover:
    """Return the best coverage, and the best value of every target that can be attacked."""
    floor = float((sides.reward - sides.drop).max())
    level = lowest_level(sides.reward, sides.drop, sides.resources, floor)
    coverage = _coverage(sides, sides.reward, level)
    own = coverage.copy()
    # Where coverage does not deter, an attacked target gets whatever resources are left.
    idle = sides.drop == 0
    own[idle] = min(1.0, max(0.0, sides.resources - float(coverage.sum())))
    values = np.where(sides.reward >= level - sides.tie, sides.loss + sides.relief * own, np.nan)
    target = int(np.nanargmax(values))
    coverage[target] = own[target]
    return _Cover(float(values[target]), coverage, target, values)


def _target_by_target(
    sides: _Sides, shifts: Callable[[int], FloatArray], bounds: FloatArray, every: bool
) -> _Cover | None:
    """Return the best coverage under which y stays ahead of all others by their shifts.

    ``bounds`` are upper bounds on the value of every target, NaN where it has none. Without
    ``every``, a target whose bound is not above the best value so far is passed over.
    """
    values = np.full(len(bounds), np.nan)
    best: tuple[float, FloatArray, int] | None = None
    for y in np.argsort(-np.nan_to_num(bounds, nan=-np.inf), kind="stable").tolist():
        if math.isnan(bounds[y]) or (best is not None and bounds[y] <= best[0] and not every):
            break
        tops = sides.reward + shifts(y)
        tops[y] = sides.reward[y]
        floor = float((tops - sides.drop).max())
        level = lowest_level(tops, sides.drop, sides.resources, floor)
        if level > sides.reward[y] + sides.tie:
            continue
        coverage = _coverage(sides, tops, level)
        if sides.drop[y] == 0:
            coverage[y] = min(1.0, max(0.0, sides.resources - float(coverage.sum())))
        values[y] = sides.loss[y] + sides.relief[y] * coverage[y]
        if best is None or values[y] > best[0]:
            best = float(values[y]), coverage, y
    return None if best is None else _Cover(*best, values)


def _margin(sides: _Sides, found: _Cover, reachable: BoolArray) -> float:
    """Return the distance to the nearest region of another target; infinite if there is none."""
    y, utilities = found.target, sides.reward - sides.drop * found.coverage
    others = reachable.copy()
    others[y] = False
    lengths = np.hypot(sides.drop, sides.drop[y])
    ahead = utilities[y] - utilities
    # Two targets that coverage does not touch are alike, or one of them is always ahead.
    alike = others & (lengths == 0)
    own = sides.loss + sides.relief * found.coverage
    if (alike & (ahead <= sides.tie) & (own < own[y])).any():
        return 0.0
    others &= ~alike
    if not others.any():
        return math.inf
    return max(0.0, float((ahead[others] / lengths[others]).min()))


def _with_details(
    sides: _Sides,
    solution: Solution,
    never: BoolArray,
    payoff_error: float | None,
) -> Solution:
    covered = sides.loss + sides.relief
    spread = float(sides.relief.max() + np.ptp(sides.loss)) or 1.0
    opposed = _Sides(
        -sides.loss,
        sides.relief,
        sides.loss,
        sides.relief,
        sides.resources,
        BEST_RESPONSE_TOLERANCE * spread,
    )
    scale = sides.tie / BEST_RESPONSE_TOLERANCE
    error = 0.01 * scale if payoff_error is None else payoff_error
    error = real_number("payoff_error", error, at_least=0)
    n = len(never)
    relaxed = _target_by_target(sides, lambda _: np.full(n, -2 * error), covered, every=False)
    safe = _target_by_target(sides, lambda _: np.full(n, 2 * error), covered, every=False)
    assert relaxed is not None
    strategy: FloatArray = np.full(n, math.nan) if safe is None else safe.coverage
    utilities = sides.reward - sides.drop * solution.strategy
    near = utilities >= utilities.max() - max(2 * error, sides.tie)
    own = sides.loss + sides.relief * solution.strategy
    never.flags.writeable = False
    return replace(
        solution,
        never_best=never,
        regularity=_regularity(sides, solution.response),
        maximin=_without_margin(opposed).value,
        sensitivity=Sensitivity(
            payoff_error=error,
            highest=relaxed.value,
            guaranteed=math.nan if safe is None else safe.value,
            safe_strategy=strategy,
            strategy_shift=float(np.linalg.norm(strategy - solution.strategy)),
            worst_case=float(own[near].min()),
        ),
    )


def _regularity(sides: _Sides, y: int) -> float:
    """Return η: the radius of the largest ball of coverage in which y is attacked.

    A ball of radius ρ fits if the coverage that is cheapest for it does: ρ at y itself, elsewhere
    what keeps y ahead by the distance ρ and at least ρ; everything below 1 − ρ, and ρ√n of the
    resources left over.
    """
    n = len(sides.reward)
    lengths = np.hypot(sides.drop, sides.drop[y])
    others = np.arange(n) != y

    def fits(radius: float) -> bool:
        lead = sides.reward + radius * (lengths + sides.drop[y]) - sides.reward[y]
        idle = others & (sides.drop == 0)
        if (lead[idle] > sides.tie).any():
            return False
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.where(sides.drop > 0, lead / sides.drop, 0.0)
        needed = np.maximum(needed, radius)
        needed[y] = radius
        room = sides.resources - radius * math.sqrt(n)
        return bool(needed.max() <= 1 - radius and needed.sum() <= room)

    low, high = 0.0, 0.5
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
