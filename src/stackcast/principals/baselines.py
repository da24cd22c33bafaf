"""Baselines: one that is told everything, and two that know nothing of regions."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import whole_number
from stackcast.principals.scripted import Fixed
from stackcast.protocol import Block, Principal, Recommendation
from stackcast.solvers import solve

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray
    from stackcast.games import Game


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
        return {**super().settings, "margin": self._margin}

    @property
    def result(self) -> Recommendation:
        """The optimum that it knows."""
        s = self._solution
        return Recommendation(s.strategy, s.response, s.value, s.margin, s.value)


@dataclass(eq=False, repr=False)
class _Arms(Principal):
    """Strategies as the arms of a bandit: each pull is a block, its second half is what counts."""

    horizon: int
    _: KW_ONLY
    block: int = 100
    _pulls: npt.NDArray[np.int64] = field(init=False)
    _earned: FloatArray = field(init=False)
    _counts: npt.NDArray[np.int64] = field(init=False)
    _arm: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("horizon", self.horizon, at_least=1)
        whole_number("block", self.block, at_least=1)
        self._arms = self._choices()
        self._pulls = np.zeros(len(self._arms), dtype=np.int64)
        self._earned = np.zeros(len(self._arms))
        self._counts = np.zeros((len(self._arms), self.view.payoffs.shape[1]), dtype=np.int64)

    @abstractmethod
    def _choices(self) -> FloatArray:
        """Return the strategies, one a row."""

    @property
    def result(self) -> Recommendation:
        """The arm that earned most on average."""
        if not self._pulls.any():
            return Recommendation(self._arms[0], None, float("nan"))
        best = self._best()
        response = int(np.argmax(self._counts[best]))
        value = float(self.view.utilities(self._arms[best])[response])
        return Recommendation(self._arms[best], response, value)

    def _best(self) -> int:
        mean = np.full(len(self._arms), -np.inf)
        np.divide(self._earned, self._pulls, out=mean, where=self._pulls > 0)
        return int(np.argmax(mean))

    def observe(self, responses: npt.NDArray[Any]) -> None:
        """Credit the arm with what it earned."""
        window = np.asarray(responses)[len(responses) // 2 :]
        utilities = self.view.utilities(self._arms[self._arm])
        self._pulls[self._arm] += 1
        self._earned[self._arm] += float(utilities[window].mean())
        self._counts[self._arm] += np.bincount(window, minlength=self._counts.shape[1])


@dataclass(eq=False, repr=False)
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

    def _choices(self) -> FloatArray:
        return self.view.space.sample(max(1, self.horizon // 10 // self.block), self.seed)

    def commit(self) -> Block:
        """Return the next strategy to try, or the best one."""
        fresh = np.flatnonzero(self._pulls == 0)
        self._arm = int(fresh[0]) if len(fresh) else self._best()
        phase = "explore" if len(fresh) else "commit"
        rounds = self.block if len(fresh) else max(self.block, self.horizon // 20)
        return Block(self._arms[self._arm], rounds, phase)


@dataclass(eq=False, repr=False)
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
    >>> GridBandit(game.principal_view, horizon=10_000, resolution=4).commit()
    Block([0.0, 1.0] for 100 rounds, 'pull')
    """

    _: KW_ONLY
    resolution: int = 10

    def _choices(self) -> FloatArray:
        space = self.view.space
        steps = whole_number("resolution", self.resolution, at_least=1)
        arms = [h for h in _grid(space.dimension, steps) if space.contains(h)]
        return np.array(arms) if arms else space.sample(1, 0)

    def commit(self) -> Block:
        """Return a block of the arm with the highest index."""
        fresh = np.flatnonzero(self._pulls == 0)
        if len(fresh):
            self._arm = int(fresh[0])
        else:
            scale = float(np.ptp(self.view.payoffs)) or 1.0
            spread = np.sqrt(2 * math.log(self._pulls.sum() + 1) / self._pulls)
            index = self._earned / self._pulls + 0.2 * scale * spread
            self._arm = int(np.argmax(index))
        return Block(self._arms[self._arm], self.block, "pull")


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
