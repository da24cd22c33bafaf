"""What the practical learner reports, and what it may be told beforehand."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from stackcast._validation import InputError, real_matrix, shown
from stackcast.protocol import Recommendation

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray
    from stackcast.games import PrincipalView, StrategySpace


@dataclass(frozen=True)
class Contradiction:
    """Something that the learner believed and the agent's answers denied."""

    round: int
    kind: str
    share: float


@dataclass(frozen=True, eq=False)
class LearnedCommitment(Recommendation):
    """A recommendation, with how it was come by.

    Parameters
    ----------
    rounds : dict
        Rounds spent by phase.
    constant : float
        The c of the rate r(t) = c·√(log(k·m·t)/t) that the learner ended with.
    contradictions : tuple of Contradiction
        Every contradiction that it met.
    questions : int
        How many questions it asked.
    certified : bool
        Whether the margin was proved by a certificate.
    """

    rounds: dict[str, int] = field(default_factory=dict)
    constant: float = math.nan
    contradictions: tuple[Contradiction, ...] = ()
    questions: int = 0
    certified: bool = False


def checked_bounds(
    given: tuple[npt.ArrayLike, npt.ArrayLike] | None, shape: tuple[int, int]
) -> tuple[FloatArray, FloatArray]:
    """Return bounds on the agent's payoffs in units in which the widest is 1."""
    if given is None:
        return np.zeros(shape), np.ones(shape)
    low, high = (real_matrix("agent_payoffs", part) for part in given)
    if low.shape != shape or high.shape != shape or (low > high).any():
        raise InputError(
            "agent_payoffs", f"a lower and an upper bound of {shape[0]}×{shape[1]}", shown(given)
        )
    unit = float((high - low).max()) or 1.0
    return (low - low.min()) / unit, (high - low.min()) / unit


def checked_log(
    view: PrincipalView, log: tuple[npt.ArrayLike, npt.ArrayLike] | None
) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Return earlier strategies and responses, each checked."""
    m, k = view.payoffs.shape
    if log is None:
        return np.zeros((0, m)), np.zeros(0, dtype=np.int64)
    strategies = np.array([view.space.check("log", h) for h in np.asarray(log[0])])
    responses = np.asarray(log[1])
    if responses.shape != (len(strategies),) or responses.dtype.kind not in "iu":
        raise InputError("log", "one response for each strategy", shown(log[1]))
    if len(responses) and not 0 <= responses.min() <= responses.max() < k:
        raise InputError("log", f"responses below {k}", shown(responses.tolist()))
    return strategies, responses.astype(np.int64)


def space_above(view: PrincipalView, floor: float | None) -> StrategySpace:
    """Return the strategies that earn at least ``floor`` whatever the response."""
    space = view.space
    if floor is None:
        return space
    held = space.cut(-view.payoffs.T, np.full(view.payoffs.shape[1], -floor))
    if held.inscribed_ball() is None:
        raise InputError("floor", "a utility that some strategy always earns", f"{floor:g}")
    return held
