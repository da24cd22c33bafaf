"""Does a continuous game satisfy the paper's Assumption 5.1? Sampled points can only say no."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._random import stream
from stackcast._validation import whole_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stackcast._validation import FloatArray
    from stackcast.games.continuous import ContinuousGame

_ROUNDING = 1e-7
_SAMPLES = 200


@dataclass(frozen=True)
class AssumptionLine:
    """One part of the assumption on the sampled points.

    Attributes
    ----------
    part : str
        The part of Assumption 5.1, ``"(i)"`` to ``"(iv)"``.
    claim : str
        What it says.
    holds : bool
        Whether no sampled point denies it.
    worst : float
        The largest left side less right side: above 0 where it fails.
    where : tuple
        The points at which that is so, as lists.
    estimated : bool
        Whether the constant comes from sampled points itself, so that the line proves little.
    """

    part: str
    claim: str
    holds: bool
    worst: float
    where: tuple[list[float], ...]
    estimated: bool = False


@dataclass(frozen=True)
class AssumptionReport:
    """The lines of :func:`check_assumption`."""

    lines: tuple[AssumptionLine, ...]
    samples: int

    @property
    def holds(self) -> bool:
        """Whether no sampled point denies any part."""
        return all(line.holds for line in self.lines)

    @property
    def failed(self) -> tuple[AssumptionLine, ...]:
        """The lines that fail."""
        return tuple(line for line in self.lines if not line.holds)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values."""
        return {"samples": self.samples, "lines": [vars(line) for line in self.lines]}


def check_assumption(
    game: ContinuousGame, samples: int = _SAMPLES, seed: int = 0
) -> AssumptionReport:
    """Look for points at which a part of Assumption 5.1 fails.

    Parameters
    ----------
    game : ContinuousGame
    samples : int
        Pairs of points that are tried: half of them far apart, half of them near.
    seed : int

    Returns
    -------
    AssumptionReport
        "Holds" means that no sampled point denies it; a failure is a proof, with its points.

    Examples
    --------
    >>> from stackcast.games import load_game
    >>> check_assumption(load_game("strategic-score")).holds
    True
    """
    count = whole_number("samples", samples, at_least=1)
    constants = game.constants
    space = game.space
    tests: dict[tuple[str, str, str], tuple[float, tuple[FloatArray, ...]]] = {}

    def test(part: str, claim: str, constant: str, excess: float, *where: FloatArray) -> None:
        key = (part, claim, constant)
        if key not in tests or excess > tests[key][0]:
            tests[key] = (excess, where)

    value = game.commitment_value
    scale = max(1.0, constants.utility_bound)
    for x, other, y, apart in _pairs(game, count, seed):
        middle = 0.5 * (x + other)
        at = [float(game.principal_utilities(point, y[None])[0]) for point in (x, other, middle)]
        answers = game.best_responses(np.array([x, other]))
        near, far = answers
        moved = float(np.linalg.norm(near - far))
        between = game.principal_utilities(x, answers)
        values = [value(point) for point in (x, other, middle)]
        test(
            "(i)", "U_P is concave in the strategy", "", 0.5 * (at[0] + at[1]) - at[2], x, other, y
        )
        test(
            "(i)",
            "U_P is L₁-Lipschitz in the strategy",
            "utility_in_strategy",
            abs(at[0] - at[1]) - constants.utility_in_strategy * apart,
            x,
            other,
            y,
        )
        test(
            "(i)",
            "U_P is L₂-Lipschitz in the response",
            "utility_in_response",
            float(abs(between[0] - between[1])) - constants.utility_in_response * moved,
            x,
            near,
            far,
        )
        bound = max(map(abs, at)) - constants.utility_bound
        test("(i)", "|U_P| is at most W_P", "utility_bound", bound, x, other, y)
        better = game.agent_utility(x, far) - game.agent_utility(x, near)
        test("(ii)", "BR maximises the agent's utility", "", better, x, near, far)
        test(
            "(ii)",
            "BR is L_BR-Lipschitz",
            "response",
            moved - constants.response * apart,
            x,
            other,
        )
        outside = max(float(np.linalg.norm(x)) - space.outer_radius, apart - space.diameter)
        test("(iii)", "B(0, r) ⊆ domain ⊆ B(0, R), diameter D_P", "", outside, x, other)
        test(
            "(iii)",
            "the domain is convex",
            "",
            float(np.linalg.norm(space.project(middle) - middle)),
            x,
            other,
        )
        dent = 0.5 * (values[0] + values[1]) - values[2]
        test("(iv)", "C(x) = U_P(x, BR(x)) is concave", "", dent, x, other)
        test(
            "(iv)",
            "C is L_U-Lipschitz",
            "value",
            abs(values[0] - values[1]) - constants.value * apart,
            x,
            other,
        )
    return AssumptionReport(
        tuple(
            AssumptionLine(
                part,
                claim,
                bool(worst <= _ROUNDING * scale),
                float(worst),
                tuple(point.tolist() for point in where),
                constant in constants.estimated,
            )
            for (part, claim, constant), (worst, where) in tests.items()
        ),
        count,
    )


def estimate_constants(game: ContinuousGame, samples: int = _SAMPLES) -> dict[str, float]:
    """Return the largest slopes and sizes on sampled points: below the true constants, if any."""
    found = dict.fromkeys(
        ("utility_in_strategy", "utility_in_response", "utility_bound", "response", "value"), 0.0
    )

    def raise_to(name: str, rise: float, run: float = 1.0) -> None:
        if run > 0:
            found[name] = max(found[name], abs(rise) / run)

    for x, other, y, apart in _pairs(game, samples, 0):
        answers = game.best_responses(np.array([x, other]))
        moved = float(np.linalg.norm(answers[0] - answers[1]))
        at = [float(game.principal_utilities(point, y[None])[0]) for point in (x, other)]
        between = game.principal_utilities(x, answers)
        raise_to("utility_in_strategy", at[0] - at[1], apart)
        raise_to("utility_in_response", float(between[0] - between[1]), moved)
        raise_to("utility_bound", max(map(abs, at)))
        raise_to("response", moved, apart)
        raise_to("value", game.commitment_value(x) - game.commitment_value(other), apart)
    return found


def _pairs(
    game: ContinuousGame, count: int, seed: int
) -> Iterator[tuple[FloatArray, FloatArray, FloatArray, float]]:
    """Yield pairs of strategies, a response to a third one, and their distance."""
    rng = stream(seed, "assumption")
    first, second, third = (game.space.sample(count, rng) for _ in range(3))
    corners = rng.normal(size=(count, game.space.dimension))
    for i in range(count):
        x = first[i] if i % 3 else game.space.argmax(corners[i])
        other = second[i]
        if i % 2:
            other = x + 0.01 * (other - x)
        yield x, other, game.best_responses(third[i])[0], float(np.linalg.norm(x - other))
