"""What the one-shot solver returns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stackcast._notebook import InNotebook
from stackcast._plain import plain

if TYPE_CHECKING:
    from stackcast._validation import BoolArray, FloatArray, Table


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """How far the solution moves when the agent's payoffs are off by up to ``payoff_error``.

    Every entry of the agent's payoffs may be wrong by that much, in the agent's units.

    Attributes
    ----------
    highest : float
        The largest V* that such a game can have; some such game has it.
    guaranteed : float
        What ``safe_strategy`` earns in every such game; NaN if no commitment keeps its response in
        all of them.
    safe_strategy : array
        The best commitment whose response no such error can change.
    strategy_shift : float
        The ℓ2 distance from the optimal commitment to ``safe_strategy``.
    worst_case : float
        What the optimal commitment itself earns in the worst such game.
    """

    payoff_error: float
    highest: float
    guaranteed: float
    safe_strategy: FloatArray
    strategy_shift: float
    worst_case: float


@dataclass(frozen=True, eq=False, repr=False)
class Solution(InNotebook):
    """An optimal commitment of the one-shot game.

    Attributes
    ----------
    value : float
        V*, or with a margin the best value among the commitments that keep it.
    strategy : array
        The commitment h.
    response : int
        The agent action y that answers it, ties broken for the principal.
    margin : float
        The distance from h to the nearest region of another action; infinite if there is none.
    values : array
        Each action's own optimum where it was computed, NaN where it was not (see ``details``) and
        where the action is never a best response.
    gap : float
        How much more than y the agent could get at h: zero up to rounding.
    tolerance : float
        What counts as zero for ``gap``, in the agent's units.
    bound : float
        No commitment that was asked for earns more than this: ``value`` up to rounding.
    status : {"optimal", "approximate"}
        "approximate" if rounding kept the solution from being certified to ``tolerance``.
    method : str
        "lazy dual simplex", or "HiGHS" where that had to step in.
    asked_margin : float
        The margin that was asked for; ``value`` is V* if it is 0.
    never_best, regularity, maximin, nash, sensitivity
        Only with ``details``: which actions are never best responses; η, the radius of the largest
        ball in the region of ``response`` and the strategy space; the principal's maximin value;
        its best Nash equilibrium (NaN if not found in time); the effect of errors in the payoffs.
    """

    value: float
    strategy: FloatArray
    response: int
    margin: float
    values: FloatArray
    gap: float
    tolerance: float
    bound: float
    status: str
    method: str
    response_name: str = ""
    never_best: BoolArray | None = None
    regularity: float = math.nan
    maximin: float = math.nan
    nash: float = math.nan
    sensitivity: Sensitivity | None = None
    asked_margin: float = 0.0

    def __repr__(self) -> str:
        mix = ", ".join(f"{p:.4g}" for p in self.strategy[:6]) + (
            ", …" if len(self.strategy) > 6 else ""
        )
        answer = repr(self.response_name) if self.response_name else str(self.response)
        known = f"value={self.value:.6g}, strategy=[{mix}], response={answer}"
        return f"Solution({known}, margin={self.margin:.4g})"

    def __post_init__(self) -> None:
        self.strategy.flags.writeable = False
        self.values.flags.writeable = False

    def to_dict(self) -> Table:
        """Return the solution as JSON can hold it: arrays as lists, NaN and infinity as null."""
        return plain(self)
