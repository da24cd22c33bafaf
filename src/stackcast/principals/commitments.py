"""What a learner may hold: a strategy and what it expects of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stackcast._state import State
    from stackcast._validation import FloatArray


@dataclass(frozen=True, eq=False)
class Commitment:
    """A strategy, the response it draws, its value and how far inside the region it lies."""

    strategy: FloatArray
    response: int
    value: float
    margin: float


def plain_commitment(commitment: Commitment | None) -> State | None:
    """Return a commitment as plain state."""
    if commitment is None:
        return None
    return {
        "strategy": commitment.strategy.copy(),
        "response": commitment.response,
        "value": commitment.value,
        "margin": commitment.margin,
    }


def restored_commitment(state: State | None) -> Commitment | None:
    """Return what :func:`plain_commitment` was given."""
    if state is None:
        return None
    return Commitment(state["strategy"].copy(), state["response"], state["value"], state["margin"])
