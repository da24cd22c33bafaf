"""The paper's agents: best responses to calibrated forecasts (Section 2, Section 4, Section 6)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError, one_of
from stackcast.agents.base import Learner, fitting
from stackcast.calibration import (
    AdaptiveForecaster,
    BestResponseBinning,
    Binning,
    Method,
    StartRule,
)
from stackcast.protocol import Responses

if TYPE_CHECKING:
    from stackcast.agents.base import Feedback
    from stackcast.games import AgentView, TieRule
    from stackcast.protocol import Block


@dataclass(eq=False, repr=False)
class Calibrated(Learner):
    """Best-responds to forecasts that are calibrated on every interval of rounds.

    Its forecasts are calibrated to the best-response bins, whatever the principal does: on every
    interval of L rounds the error is of the order of √(log(k·m·L)/L). So no principal earns more
    than the Stackelberg value against it in the long run, and one that holds a strategy long enough
    sees the best response to it. With sampled actions the forecasts are calibrated to the actions,
    hence to the strategies up to the sampling error, of the same order.

    Parameters
    ----------
    view : AgentView
        The agent's view of the game.
    seed : int
        The seed of its draws.
    feedback : {"strategy", "action"}
        Whether it learns from the strategy of a round or from an action drawn from it.
    ties : {"lowest", "random"}
        Which of several best responses to a forecast is played; the bins follow it.
    method : {"betting", "sleeping"}, optional
        How its forecaster watches all intervals: by one bankroll, or by sleeping experts (the
        paper to the letter); see :class:`~stackcast.calibration.AdaptiveForecaster`. By default
        betting, unless ``starts`` is given.
    starts : {"streaming", "all", "first"}, optional
        Which intervals sleeping experts watch from their beginning, by default "streaming"; "all"
        is the paper's letter, "first" is calibrated over the whole time only.
    binning : Binning, optional
        What else its forecasts shall be calibrated to, such as a fine grid. It then best-responds
        to them with the lowest tie.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> agent = Calibrated(game.agent_view, seed=1)
    >>> answers = agent.respond(sc.protocol.Block([0.3, 0.7], 2000)).responses
    >>> bool((answers == 1).mean() > 0.9)
    True
    """

    _: KW_ONLY
    ties: TieRule = "lowest"
    method: Method | None = None
    starts: StartRule | None = None
    binning: Binning | None = None
    _forecaster: AdaptiveForecaster = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("ties", self.ties, ("lowest", "random"))
        if self.binning is not None and self.ties == "random":
            raise InputError("ties", "'lowest' for a binning of its own", "'random'")
        self.method = self.method or ("betting" if self.starts is None else "sleeping")
        self._forecaster = AdaptiveForecaster(
            BestResponseBinning(self.view, self.ties) if self.binning is None else self.binning,
            self.view.space if self.feedback == "strategy" else self.view.space.pure,
            method=self.method,
            starts=self.starts,
            seed=self.seed,
        )
        self.starts = self._forecaster.starts

    @property
    def settings(self) -> dict[str, Any]:
        """The name, the seed and the parameters of this agent."""
        names = ("seed", "feedback", "ties", "method", "starts")
        own = {} if self.binning is None else {"binning": self.binning.description()}
        return {"name": type(self).__name__, **{n: getattr(self, n) for n in names}, **own}

    def respond(self, block: Block) -> Responses:
        """Answer every round of the block, and learn from it."""
        seen: Any = (block.strategy, block.rounds)
        if self.feedback == "action":
            seen = self._observations(fitting(self.view, block.strategy), block.rounds)
        made = self._forecaster.run(seen)
        responses = made.bins
        if self.binning is not None:
            _, first, back = np.unique(made.forecast_ids, return_index=True, return_inverse=True)
            responses = self.view.respond(made.forecasts[first])[back.reshape(-1)]
        return Responses(responses, made.forecast_ids, made.new_forecasts)


class SleepingCalibrated(Calibrated):
    """The calibrated agent of the paper: its forecaster is one of sleeping experts.

    The same as :class:`Calibrated` with ``method="sleeping"``, under a name of its own.

    Parameters
    ----------
    view : AgentView
        The agent's view of the game.
    seed : int
        The seed of its draws.
    feedback : {"strategy", "action"}
        Whether it learns from the strategy of a round or from an action drawn from it.
    ties : {"lowest", "random"}
        Which of several best responses to a forecast is played; the bins follow it.
    starts : {"streaming", "all", "first"}
        Which intervals are watched from their beginning; "all" is the paper to the letter.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> agent = SleepingCalibrated(game.agent_view, starts="all", seed=1)
    >>> answers = agent.respond(sc.protocol.Block([0.3, 0.7], 1000)).responses
    >>> bool((answers == 1).mean() > 0.9)
    True
    """

    def __init__(
        self,
        view: AgentView,
        *,
        seed: int = 0,
        feedback: Feedback = "strategy",
        ties: TieRule = "lowest",
        starts: StartRule = "streaming",
    ) -> None:
        super().__init__(
            view, seed=seed, feedback=feedback, ties=ties, method="sleeping", starts=starts
        )

    @property
    def settings(self) -> dict[str, Any]:
        """The name, the seed and the parameters of this agent."""
        settings = super().settings
        del settings["method"]
        return settings


class NonAdaptive(Calibrated):
    """Best-responds to forecasts that are calibrated over the whole time, not on every interval.

    The same as :class:`Calibrated` with sleeping experts of the first start alone: the error over
    rounds 1..t falls as √(log(k·m·t)/t), but after a long past a new strategy may be noticed late.

    Parameters
    ----------
    view : AgentView
        The agent's view of the game.
    seed : int
        The seed of its draws.
    feedback : {"strategy", "action"}
        Whether it learns from the strategy of a round or from an action drawn from it.
    ties : {"lowest", "random"}
        Which of several best responses to a forecast is played; the bins follow it.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> agent = NonAdaptive(game.agent_view, seed=1)
    >>> answers = agent.respond(sc.protocol.Block([0.3, 0.7], 2000)).responses
    >>> bool((answers == 1).mean() > 0.9)
    True
    """

    def __init__(
        self,
        view: AgentView,
        *,
        seed: int = 0,
        feedback: Feedback = "strategy",
        ties: TieRule = "lowest",
    ) -> None:
        super().__init__(
            view, seed=seed, feedback=feedback, ties=ties, method="sleeping", starts="first"
        )

    @property
    def settings(self) -> dict[str, Any]:
        """The name, the seed and the parameters of this agent."""
        settings = super().settings
        del settings["method"], settings["starts"]
        return settings
