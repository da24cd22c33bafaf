"""The laziest agent that is still calibrated over all rounds, and on no shorter interval.

The paper's separation between adaptive and non-adaptive calibration (Section 6) is an agent of this
kind: its error over rounds 1..t stays within a rate r(t) at all times, and yet on an interval of
about t·r(t) rounds its forecast is wrong all the time and its response tells nothing.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._random import stream
from stackcast._validation import InputError, one_of, real_number, shown
from stackcast.agents.base import fitting
from stackcast.calibration import BestResponseBinning
from stackcast.protocol import Agent, Responses

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from stackcast._validation import FloatArray
    from stackcast.games import TieRule
    from stackcast.protocol import Block

    Budget = tuple[float, float] | Callable[[FloatArray], FloatArray]


@dataclass(eq=False, repr=False)
class Lazy(Agent):
    """Keeps a stale forecast for as long as its calibration error over all rounds allows.

    With S_i the sum of w_i(p)·(h − p) over the rounds so far, it keeps its forecast in round t if
    afterwards ‖S_i‖_∞ ≤ t·r(t) in every bin i, and otherwise forecasts the strategy of the round,
    which adds nothing, and keeps that. So if t·r(t) never falls, **the error over rounds 1..t is at
    most r(t) at every t, whatever the principal does**. To keep that promise for every r it is told
    the strategy, as a best responder is: no agent that must guess can keep c·t^(−1/2) for a small
    c. Nobody who keeps it learns later.

    Parameters
    ----------
    view : AgentView
        The agent's view of the game.
    budget : pair of numbers, or function of an array of round numbers
        r(t): the pair (c, β) stands for c·t^(−β).
    forecast : array-like, optional
        The first forecast; by default the middle of the strategy space.
    seed : int
        The seed of its draws among ties.
    ties : {"lowest", "random"}
        Which of several best responses to a forecast is played; the bins follow it.

    Examples
    --------
    After 10,000 rounds it can afford to be wrong for a hundred:

    >>> import stackcast as sc
    >>> game = sc.FiniteGame([[0, 0], [0, 0]], [[0, 1], [0, -1]])
    >>> agent = Lazy(game.agent_view, budget=(0.5, 0.5))
    >>> answers = agent.respond(sc.protocol.Block([0.5, 0.5], 10_000))
    >>> int(agent.respond(sc.protocol.Block([1, 0], 100)).responses.max())
    0
    """

    informed = True
    _: KW_ONLY
    budget: Budget = (0.5, 0.5)
    forecast: npt.ArrayLike | None = None
    ties: TieRule = "lowest"
    _held: FloatArray = field(init=False)
    _made: int = field(init=False, default=0)
    _played: int = field(init=False, default=0)
    _sums: FloatArray = field(init=False)
    _answers: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        view, space = self.view, self.view.space
        one_of("ties", self.ties, ("lowest", "random"))
        self.budget = _checked(self.budget)
        self._binning = BestResponseBinning(view, self.ties)
        if self.forecast is None:
            self.forecast = _middle(space).tolist()
        self._held = np.array(space.check("forecast", self.forecast))
        self._sums = np.zeros((self._binning.bins, space.dimension))
        self._answers = stream(self.seed, "agent", "responses")

    @property
    def settings(self) -> dict[str, Any]:
        """The name, the seed and the parameters of this agent."""
        told = {} if isinstance(self.budget, tuple) else {"budget": repr(self.budget)}
        return {**super().settings, **told}

    def respond(self, block: Block) -> Responses:
        """Answer every round of the block: late ones first, as many as the budget allows."""
        n, h = block.rounds, fitting(self.view, block.strategy)
        weights = self._binning.weights(np.stack([self._held, h]))
        new = [self._held] if self._played == 0 else []
        wait = self._affordable(weights[0], h, n)
        self._sums += wait * np.outer(weights[0], h - self._held)
        late = np.full(n, self._made)
        if wait < n:
            late[wait:] = self._made = self._made + 1
            self._held = h.copy()
            new.append(self._held)
        self._played += n
        shares = np.cumsum(weights, axis=1)[np.where(np.arange(n) < wait, 0, 1)]
        drawn = (self._answers.random(n)[:, None] * shares[:, -1:] >= shares).sum(axis=1)
        return Responses(drawn, late, np.array(new).reshape(-1, len(h)))

    def _affordable(self, weights: FloatArray, h: FloatArray, rounds: int) -> int:
        """Return for how many of the coming rounds every prefix error stays within the budget."""
        t = np.arange(self._played + 1.0, self._played + rounds + 1.0)
        if isinstance(self.budget, tuple):
            limits = self.budget[0] * t ** (1.0 - self.budget[1])
        else:
            limits = t * np.asarray(self.budget(t), dtype=np.float64)
        step = np.outer(weights, h - self._held)
        # What is fixed must fit from now on; what moves does so in a straight line.
        moves = step != 0.0
        kept = np.full(rounds, np.abs(self._sums[~moves]).max(initial=0.0)) <= limits
        for start, slope in zip(self._sums[moves], step[moves], strict=True):
            kept &= np.abs(start + slope * (t - self._played)) <= limits
        return rounds if kept.all() else int(np.argmin(kept))


def _middle(space: Any) -> FloatArray:
    """Return the mean of the points of the space that are furthest along the axes."""
    axes = np.vstack([np.eye(space.dimension), -np.eye(space.dimension)])
    if space.kind == "simplex":
        axes = axes[: space.dimension]
    middle: FloatArray = np.mean([space.argmax(axis) for axis in axes], axis=0)
    return middle


def _checked(budget: Any) -> Any:
    if callable(budget):
        return budget
    if not isinstance(budget, list | tuple) or len(budget) != 2:
        raise InputError("budget", "a pair (c, β) or a function of the round", shown(budget))
    constant = real_number("budget, c", budget[0], at_least=0)
    return constant, real_number("budget, β", budget[1], at_least=0, at_most=1)
