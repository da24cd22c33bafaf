"""The paper's agents: best responses to calibrated forecasts (Section 2, Section 4, Section 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stackcast._validation import one_of
from stackcast.agents.base import Learner, fitting
from stackcast.calibration import AdaptiveForecaster, BestResponseBinning
from stackcast.protocol import Responses

if TYPE_CHECKING:
    from stackcast._state import State
    from stackcast.agents.base import Feedback
    from stackcast.calibration import Method, StartRule
    from stackcast.games import AgentView, TieRule
    from stackcast.protocol import Block


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
    method : {"betting", "sleeping"}
        How its forecaster watches all intervals: by one bankroll, or by sleeping experts (the
        paper to the letter); see :class:`~stackcast.calibration.AdaptiveForecaster`.
    starts : {"streaming", "all", "first"}, optional
        Which intervals sleeping experts watch from their beginning, by default "streaming".

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> agent = Calibrated(game.agent_view, seed=1)
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
        method: Method = "betting",
        starts: StartRule | None = None,
    ) -> None:
        super().__init__(view, seed=seed, feedback=feedback)
        self._ties = one_of("ties", ties, ("lowest", "random"))
        self._forecaster = AdaptiveForecaster(
            BestResponseBinning(view, ties),
            view.space if feedback == "strategy" else view.space.pure,
            method=method,
            starts=starts,
            seed=seed,
        )

    @property
    def settings(self) -> dict[str, Any]:
        """The name, the seed and the parameters of this agent."""
        return {
            **super().settings,
            "ties": self._ties,
            "method": self._forecaster.method,
            "starts": self._forecaster.starts,
        }

    def respond(self, block: Block) -> Responses:
        """Answer every round of the block, and learn from it."""
        strategy = fitting(self._view, block.strategy)
        if self._feedback == "strategy":
            made = self._forecaster.run((strategy, block.rounds))
        else:
            made = self._forecaster.run(self._observations(strategy, block.rounds))
        return Responses(made.bins, made.forecast_ids, made.new_forecasts)

    def _memory(self) -> State:
        return {"forecaster": self._forecaster.state()}

    def _recall(self, memory: State) -> None:
        self._forecaster.restore(memory["forecaster"])


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
