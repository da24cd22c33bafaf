"""The agents of continuous games: calibrated to tents or cells (Section 5), and informed."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from stackcast._validation import InputError, real_number, shown
from stackcast.agents.base import fitting
from stackcast.calibration import AdaptiveForecaster, tents_or_cells
from stackcast.games import ContinuousAgentView
from stackcast.protocol import Agent, Responses

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.protocol import Block


@dataclass(eq=False, repr=False)
class ContinuousCalibrated(Agent):
    """Best-responds to forecasts that are calibrated, on every interval, to small bins.

    In one and two dimensions the binning is the paper's Π₀, tents of radius 2ε on an ε-grid of the
    domain, and each forecast is the outgoing fixed point, deterministic and exact. In more
    dimensions the bins are cells with an ε-ball around each, made when a forecast first falls in
    them: cost and memory grow with the cells that were visited, not with (1/ε)^m. The forecast is
    then drawn from a mixture against which nature gains at most c/t in round t.

    A principal that repeats a strategy h sees the share of rounds with a forecast at least 4ε away
    from h fall as the calibration error does (the paper's key lemma).

    Parameters
    ----------
    view : ContinuousAgentView
        The agent's view of the game.
    seed : int
        The seed of its draws.
    spacing : float, optional
        ε, by default a tenth of the domain's inner radius.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.load_game("quadratic-tax")
    >>> agent = ContinuousCalibrated(game.agent_view)
    >>> answers = agent.respond(sc.protocol.Block([0.25], 1000)).responses
    >>> answers.shape, answers[-1].round(3), game.best_responses([0.25])[0].round(3)
    ((1000, 1), array([0.2]), array([0.2]))
    """

    plays = ("continuous",)
    view: ContinuousAgentView  # type: ignore[assignment]
    _: KW_ONLY
    spacing: float | None = None
    _forecaster: AdaptiveForecaster = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        space = _checked(self.view).space
        if self.spacing is None:
            self.spacing = 0.1 * space.inner_radius
        self.spacing = real_number("spacing", self.spacing, above=0.0)
        binning = tents_or_cells(space, self.spacing)
        self._forecaster = AdaptiveForecaster(binning, space, seed=self.seed)

    def respond(self, block: Block) -> Responses:
        """Answer every round of the block, and learn from it."""
        made = self._forecaster.run((fitting(self.view, block.strategy), block.rounds))
        _, first, back = np.unique(made.forecast_ids, return_index=True, return_inverse=True)
        answers = self.view.best_responses(made.forecasts[first])
        return Responses(answers[back.reshape(-1)], made.forecast_ids, made.new_forecasts)


@dataclass(eq=False, repr=False)
class ContinuousBestResponse(Agent):
    """Best-responds to the strategy itself, which it is told: the one-shot game's agent.

    Parameters
    ----------
    view : ContinuousAgentView
        The agent's view of the game.
    seed : int
        Not used: it draws nothing. Every agent takes one.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.load_game("strategic-score")
    >>> agent = ContinuousBestResponse(game.agent_view)
    >>> agent.respond(sc.protocol.Block([0.2, 0.4], 2)).responses
    array([[0.1, 0.2],
           [0.1, 0.2]])
    """

    informed = True
    plays = ("continuous",)
    view: ContinuousAgentView  # type: ignore[assignment]

    def __post_init__(self) -> None:
        super().__post_init__()
        _checked(self.view)

    def respond(self, block: Block) -> Responses:
        """Answer every round of the block with the best response to its strategy."""
        answer: FloatArray = self.view.best_responses(fitting(self.view, block.strategy))
        return Responses(np.repeat(answer, block.rounds, axis=0))


def _checked(view: object) -> ContinuousAgentView:
    if not isinstance(view, ContinuousAgentView):
        raise InputError("view", "the agent's view of a continuous game", shown(view))
    return view
