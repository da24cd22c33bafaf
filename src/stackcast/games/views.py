"""What each side of a game may know: its own payoffs, the names, the strategy space.

A principal is built from a :class:`PrincipalView`, an agent from an :class:`AgentView`. Neither can
reach the other's payoffs; both carry the fingerprint of the game, so that a transcript can be
matched with its game.

Utilities are affine in the principal's strategy x: U(x, y) = ⟨x, payoffs[:, y]⟩ + offsets[y]. In a
finite game x is a mixed strategy and the offsets are 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from stackcast._validation import one_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray
    from stackcast.games.spaces import StrategySpace

#: Two utilities of an agent are tied when they differ by no more than this times the agent's scale.
#: Best-response sets, regions and the one-shot solver all use this one number: far above the
#: rounding of a dot product, far below any difference that a user could mean.
BEST_RESPONSE_TOLERANCE = 1e-13

TieRule = Literal["lowest", "random"]


@dataclass(frozen=True, eq=False)
class _View:
    payoffs: FloatArray
    offsets: FloatArray
    principal_actions: tuple[str, ...]
    agent_actions: tuple[str, ...]
    space: StrategySpace
    fingerprint: str

    def utilities(self, strategy: Any) -> FloatArray:
        """Return this side's utility of every response; ``strategy`` may be a stack of rows."""
        result: FloatArray = np.asarray(strategy, dtype=np.float64) @ self.payoffs + self.offsets
        return result

    @cached_property
    def scale(self) -> float:
        """The widest difference that the response can make, over the pure strategies."""
        with np.errstate(over="ignore"):
            spread = float((self.payoffs.max(axis=1) - self.payoffs.min(axis=1)).max())
            spread += float(self.offsets.max() - self.offsets.min())
        return min(spread, float(np.finfo(np.float64).max)) if spread > 0 else 1.0


class PrincipalView(_View):
    """What a principal knows: its own payoffs and the names of the actions."""


class AgentView(_View):
    """What an agent knows: its own payoffs and the names of the actions."""

    def best_responses(
        self, strategy: Any, tolerance: float = BEST_RESPONSE_TOLERANCE
    ) -> npt.NDArray[np.bool_]:
        """Return which responses are best, within ``tolerance`` times :attr:`scale`.

        For a stack of strategies the answer has one row for each.
        """
        u = self.utilities(strategy)
        best = u.max(axis=-1, keepdims=True)
        result: npt.NDArray[np.bool_] = u >= best - tolerance * self.scale
        return result

    def respond(
        self,
        strategy: Any,
        ties: TieRule = "lowest",
        rng: np.random.Generator | None = None,
    ) -> npt.NDArray[np.int64]:
        """Return a best response to each strategy, ties broken by ``ties``.

        ``"lowest"`` takes the first of the tied actions in the game's order, the paper's
        deterministic preference; ``"random"`` takes each of them equally often and needs ``rng``.
        """
        tied = np.atleast_2d(self.best_responses(strategy))
        if one_of("ties", ties, ("lowest", "random")) == "lowest":
            first: npt.NDArray[np.int64] = np.argmax(tied, axis=1)
            return first
        if rng is None:
            raise TypeError('ties="random" needs a random stream: pass rng=')
        rank = np.floor(rng.random(len(tied)) * tied.sum(axis=1))
        drawn: npt.NDArray[np.int64] = np.argmax(np.cumsum(tied, axis=1) > rank[:, None], axis=1)
        return drawn
