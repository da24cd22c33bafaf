"""V* of continuous games: the maximum of a concave function on a domain, with a certificate.

For concave C with gradient g, no point of the domain earns more than C(x) + max_h ⟨g(x), h − x⟩:
one call of the domain's linear oracle bounds V* from above, whatever found x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stackcast._notebook import InNotebook
from stackcast._plain import plain
from stackcast._validation import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from stackcast._validation import FloatArray, Table
    from stackcast.games import ContinuousGame, Domain

#: A solution counts as optimal when nothing can earn more by this, in units of the utility's bound.
TOLERANCE = 1e-9
#: The same where the best response and its derivatives are numbers of a solver.
_ROUGH = 1e-6
_STEPS = 20_000
_POLISHING = 1_000


@dataclass(frozen=True, eq=False)
class ContinuousSolution(InNotebook):
    """An optimal commitment of a continuous game.

    Attributes
    ----------
    value : float
        V* = C(strategy).
    strategy, response : array
        The commitment, and the best response to it.
    bound : float
        No commitment earns more than this, if C is concave and its gradient is exact.
    gap : float
        ``bound`` less ``value``.
    status : {"optimal", "approximate"}
        "optimal" if the gap is at most 1e-9 of the utility's bound and the gradient is in closed
        form; "approximate" for games of functions, whose gradients are differences.
    method : str
    """

    value: float
    strategy: FloatArray
    response: FloatArray
    bound: float
    gap: float
    status: str
    method: str = "accelerated projected gradient"

    def __post_init__(self) -> None:
        self.strategy.flags.writeable = False
        self.response.flags.writeable = False

    def to_dict(self) -> Table:
        """Return the solution as JSON can hold it: arrays as lists."""
        return plain(self)


def solve_continuous(game: ContinuousGame, margin: float = 0.0) -> ContinuousSolution:
    """Return an optimal commitment of a continuous game; :func:`solve` calls it."""
    if margin != 0:
        raise InputError("margin", "0: a continuous game has no regions", f"{margin:g}")
    scale = max(game.constants.utility_bound, 1e-300)
    exact = game.family is not None
    x = maximise(
        game.space,
        game.commitment_value,
        game.commitment_gradient,
        np.zeros(game.space.dimension),
        (1e-2 * TOLERANCE if exact else _ROUGH) * scale,
        1e-15 if exact else 1e-10,
    )
    value = game.commitment_value(x)
    gap = frank_wolfe_gap(game.space, x, game.commitment_gradient(x))
    if not exact and gap > 100 * _ROUGH * scale:
        expected = "a concave game, whose maximum gradients find"
        raise InputError("game", expected, f"a slope of {gap:.3g} left at {x.tolist()}")
    certified = exact and gap <= TOLERANCE * scale
    return ContinuousSolution(
        value=value,
        strategy=x,
        response=game.best_responses(x)[0].copy(),
        bound=value + gap,
        gap=gap,
        status="optimal" if certified else "approximate",
    )


def frank_wolfe_gap(domain: Domain, x: FloatArray, gradient: FloatArray) -> float:
    """Return max_h ⟨gradient, h − x⟩ over the domain: at least V* − C(x) if C is concave."""
    return max(0.0, float(gradient @ (domain.argmax(gradient) - x)))


def maximise(
    domain: Domain,
    value: Callable[[FloatArray], float],
    gradient: Callable[[FloatArray], FloatArray],
    start: FloatArray,
    tolerance: float,
    rounding: float = 1e-15,
) -> FloatArray:
    """Return a point of the domain at which the Frank–Wolfe gap is at most ``tolerance``, if found.

    Accelerated projected gradient ascent, with backtracking on the step and a restart wherever the
    momentum points downhill. Where rounding hides the differences of values (they are of the order
    of the gap squared), plain steps go on by gradients alone. ``rounding`` is the relative error of
    a value.
    """
    x, step = _climbed(domain, value, gradient, domain.project(start), tolerance, rounding)
    best, least = x, frank_wolfe_gap(domain, x, gradient(x))
    for _ in range(_POLISHING):
        if least <= tolerance:
            break
        x = domain.project(x + 0.5 * step * gradient(x))
        gap = frank_wolfe_gap(domain, x, gradient(x))
        if gap < least:
            best, least = x, gap
    return best


def _climbed(
    domain: Domain,
    value: Callable[[FloatArray], float],
    gradient: Callable[[FloatArray], FloatArray],
    x: FloatArray,
    tolerance: float,
    rounding: float,
) -> tuple[FloatArray, float]:
    """Return where the values no longer grow, and the step there."""
    ahead, momentum, step, known = x, 1.0, 1.0, value(x)
    for _ in range(_STEPS):
        at, slope = value(ahead), gradient(ahead)
        while True:
            new = domain.project(ahead + step * slope)
            move = new - ahead
            found = value(new)
            # What a concave function with curvature 1/step would have there at least.
            model = at + float(slope @ move) - float(move @ move) / (2 * step)
            if found >= model - rounding * (1.0 + abs(at)):
                break
            step *= 0.5
            if step < 1e-18:
                return x, step
        if found <= known:
            if ahead is x:
                return x, step
            ahead, momentum = x, 1.0
            continue
        if frank_wolfe_gap(domain, new, gradient(new)) <= tolerance:
            return new, step
        following = 0.5 * (1.0 + float(np.sqrt(1.0 + 4.0 * momentum * momentum)))
        ahead = domain.project(new + (momentum - 1.0) / following * (new - x))
        x, known, momentum, step = new, found, following, step * 1.2
    return x, step
