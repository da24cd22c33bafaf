"""Baselines: one that is told everything, and two that know nothing of regions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import whole_number
from stackcast.principals.scripted import Fixed
from stackcast.protocol import Block, Recommendation
from stackcast.regions.best_response import sample_space
from stackcast.solvers import solve

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._state import State
    from stackcast._validation import FloatArray
    from stackcast.games import Game, PrincipalView


class Oracle(Fixed):
    """Knows the whole game and commits to a robust optimum from the first round on.

    Parameters
    ----------
    game : Game
        The whole game, the agent's payoffs included.
    margin : float
        The distance to keep to other regions.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> Oracle(game, margin=0.1).commit().strategy.round(3)
    array([0.429, 0.571])
    """

    def __init__(self, game: Game, margin: float = 0.003) -> None:
        self._solution = solve(game, margin=margin)
        self._margin = margin
        super().__init__(game.principal_view, self._solution.strategy)

    @property
    def settings(self) -> dict[str, Any]:
        """The margin and the strategy."""
        return {**super().settings, "name": "Oracle", "margin": self._margin}

    @property
    def result(self) -> Recommendation:
        """The optimum that it knows."""
        s = self._solution
        return Recommendation(s.strategy, s.response, s.value, s.margin, s.value)


class _Arms:
    """Strategies as the arms of a bandit: each pull is a block, its second half is what counts."""

    def __init__(self, view: PrincipalView, arms: FloatArray, block: int) -> None:
        self._view, self._arms, self._block = view, arms, block
        self._pulls = np.zeros(len(arms), dtype=np.int64)
        self._earned = np.zeros(len(arms))
        self._counts = np.zeros((len(arms), view.payoffs.shape[1]), dtype=np.int64)
        self._played = 0
        self._arm = 0

    @property
    def view(self) -> PrincipalView:
        """What the principal knows of the game."""
        return self._view

    @property
    def result(self) -> Recommendation:
        """The arm that earned most on average."""
        if not self._pulls.any():
            return Recommendation(self._arms[0], None, float("nan"))
        best = self._best()
        response = int(np.argmax(self._counts[best]))
        value = float(self._view.utilities(self._arms[best])[response])
        return Recommendation(self._arms[best], response, value)

    def _best(self) -> int:
        mean = np.full(len(self._arms), -np.inf)
        np.divide(self._earned, self._pulls, out=mean, where=self._pulls > 0)
        return int(np.argmax(mean))

    def observe(self, responses: npt.NDArray[Any]) -> None:
        """Credit the arm with what it earned."""
        window = np.asarray(responses)[len(responses) // 2 :]
        utilities = self._view.utilities(self._arms[self._arm])
        self._pulls[self._arm] += 1
        self._earned[self._arm] += float(utilities[window].mean())
        self._counts[self._arm] += np.bincount(window, minlength=self._counts.shape[1])
        self._played += len(responses)

    def state(self) -> State:
        """Return what every arm earned."""
        return {
            "pulls": self._pulls.copy(),
            "earned": self._earned.copy(),
            "counts": self._counts.copy(),
            "played": self._played,
            "arm": self._arm,
        }

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""
        self._pulls, self._earned = state["pulls"].copy(), state["earned"].copy()
        self._counts = state["counts"].copy()
        self._played, self._arm = state["played"], state["arm"]


class UniformExplore(_Arms):
    """Tries strategies drawn uniformly, one block each, then commits to the one that earned most.

    Parameters
    ----------
    view : PrincipalView
        The principal's view of the game.
    horizon : int
        How many rounds will be played; a tenth of them explores.
    seed : int
        The seed of the strategies.
    block : int
        Rounds for each strategy.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> UniformExplore(game.principal_view, horizon=10_000).commit().rounds
    100
    """

    def __init__(
        self, view: PrincipalView, horizon: int, *, seed: int = 0, block: int = 100
    ) -> None:
        self._horizon = whole_number("horizon", horizon, at_least=1)
        self._seed = whole_number("seed", seed)
        count = max(1, horizon // 10 // whole_number("block", block, at_least=1))
        super().__init__(view, sample_space(view.space, count, seed), block)

    @property
    def settings(self) -> dict[str, Any]:
        """The name, the seed and the parameters."""
        return {
            "name": "UniformExplore",
            "horizon": self._horizon,
            "seed": self._seed,
            "block": self._block,
        }

    def commit(self) -> Block:
        """Return the next strategy to try, or the best one."""
        fresh = np.flatnonzero(self._pulls == 0)
        self._arm = int(fresh[0]) if len(fresh) else self._best()
        phase = "explore" if len(fresh) else "commit"
        rounds = self._block if len(fresh) else max(self._block, self._horizon // 20)
        return Block(self._arms[self._arm], rounds, phase)


class GridBandit(_Arms):
    """A bandit (UCB) whose arms are a grid on the strategy space, one block for each pull.

    Parameters
    ----------
    view : PrincipalView
        The principal's view of the game.
    horizon : int
        How many rounds will be played.
    resolution : int
        Steps of the grid along an edge of the simplex.
    block : int
        Rounds for each pull.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> GridBandit(game.principal_view, horizon=10_000, resolution=4).settings["arms"]
    5
    """

    def __init__(
        self, view: PrincipalView, horizon: int, *, resolution: int = 10, block: int = 100
    ) -> None:
        self._horizon = whole_number("horizon", horizon, at_least=1)
        steps = whole_number("resolution", resolution, at_least=1)
        whole_number("block", block, at_least=1)
        arms = [h for h in _grid(view.space.dimension, steps) if view.space.contains(h)]
        if not arms:
            arms = [sample_space(view.space, 1, 0)[0]]
        self._resolution = steps
        self._scale = float(np.ptp(view.payoffs)) or 1.0
        super().__init__(view, np.array(arms), block)

    @property
    def settings(self) -> dict[str, Any]:
        """The name and the parameters."""
        return {
            "name": "GridBandit",
            "horizon": self._horizon,
            "resolution": self._resolution,
            "block": self._block,
            "arms": len(self._arms),
        }

    def commit(self) -> Block:
        """Return a block of the arm with the highest index."""
        fresh = np.flatnonzero(self._pulls == 0)
        if len(fresh):
            self._arm = int(fresh[0])
        else:
            spread = np.sqrt(2 * math.log(self._pulls.sum() + 1) / self._pulls)
            index = self._earned / self._pulls + 0.2 * self._scale * spread
            self._arm = int(np.argmax(index))
        return Block(self._arms[self._arm], self._block, "pull")


def _grid(m: int, steps: int) -> list[FloatArray]:
    """Return all mixed strategies whose probabilities are multiples of 1/steps."""
    if m == 1:
        return [np.ones(1)]
    found: list[FloatArray] = []
    for first in range(steps + 1):
        rest = steps - first
        if rest == 0:
            found.append(np.append(1.0, np.zeros(m - 1)))
        else:
            found += [np.append(first, rest * h) / steps for h in _grid(m - 1, rest)]
    return found
