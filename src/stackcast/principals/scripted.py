"""Principals to compare with: scripts, one that is told everything, two that know no regions."""

from __future__ import annotations

import hashlib
import math
from abc import abstractmethod
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError, real_matrix, text, whole_number
from stackcast.protocol import UNTIL_THE_END, Block, Principal, Recommendation, fits
from stackcast.solvers import solve

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from stackcast._validation import AnyArray, FloatArray, IntArray, Table
    from stackcast.games import Game, PrincipalView


#: The first block of an :class:`Oracle` ends here.
_FIRST_END = 32


@dataclass(eq=False, repr=False)
class _Scripted(Principal):
    """Plays given strategies for given numbers of rounds, and counts the latest answers."""

    _played: int = field(default=0, init=False)
    _last: int = field(default=0, init=False)
    _counts: IntArray = field(init=False)

    def _follow(self, strategies: FloatArray, rounds: IntArray, phases: Sequence[str]) -> None:
        strategies.flags.writeable = False
        self._strategies, self._rounds, self._phases = strategies, rounds, phases
        self._ends = np.cumsum(rounds)
        self._counts = np.zeros(len(self.view.agent_actions), dtype=np.int64)

    @property
    def result(self) -> Recommendation:
        """The latest strategy, with the most frequent response to it."""
        strategy = self._strategies[self._last]
        if not self._counts.any():
            return Recommendation(strategy, None, float("nan"))
        response = int(np.argmax(self._counts))
        return Recommendation(strategy, response, float(self.view.utilities(strategy)[response]))

    def commit(self) -> Block:
        """Return what is left of the script's current entry."""
        entry = int(np.searchsorted(self._ends, self._played, side="right"))
        if entry == len(self._ends):
            raise InputError("rounds", f"at most {self._ends[-1]}, as long as the script", "more")
        left = int(self._ends[entry]) - self._played
        return Block(self._strategies[entry], left, self._phases[entry % len(self._phases)])

    def observe(self, responses: AnyArray) -> None:
        """Count the answers, and move on in the script."""
        entry = int(np.searchsorted(self._ends, self._played, side="right"))
        if entry != self._last:
            self._counts[:] = 0
            self._last = entry
        if responses.ndim == 1:
            self._counts += np.bincount(responses, minlength=len(self._counts))
        self._played += len(responses)


@dataclass(eq=False, repr=False)
class Fixed(_Scripted):
    """Commits to one strategy in all rounds.

    Parameters
    ----------
    view : PrincipalView
        The principal's view of the game.
    strategy : array-like
        The commitment.
    phase : str
        The label of its one block.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> Fixed(game.principal_view, [0.4, 0.6]).commit().strategy
    array([0.4, 0.6])
    """

    strategy: npt.ArrayLike
    _: KW_ONLY
    phase: str = "commit"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.strategy = self.view.space.check("strategy", self.strategy)
        endless = np.array([UNTIL_THE_END])
        self._follow(self.strategy[None, :], endless, [text("phase", self.phase)])


@dataclass(eq=False, repr=False)
class PhaseSwitch(_Scripted):
    """Holds a few strategies one after the other: the exploiter of mean-based learners.

    Against an agent that trusts averages (follow-the-leader, Hedge), a principal can earn more than
    the Stackelberg value by a change that averages notice late (Deng, Schneider and Sivan 2019).

    Parameters
    ----------
    view : PrincipalView
        The principal's view of the game.
    strategies : sequence of array-like
        The strategies, in order.
    rounds : sequence of int
        How long each is held.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> PhaseSwitch(game.principal_view, [[1, 0], [0, 1]], [50, 50]).commit()
    Block([1.0, 0.0] for 50 rounds, 'phase 1')
    """

    strategies: Sequence[npt.ArrayLike]
    rounds: Sequence[int]

    def __post_init__(self) -> None:
        super().__post_init__()
        checked = [
            _accepted(self.view, f"strategies, entry {i}", h)
            for i, h in enumerate(self.strategies, start=1)
        ]
        if not checked:
            raise InputError("strategies", "at least one strategy", "none")
        lengths = [
            whole_number(f"rounds, entry {i}", n, at_least=1)
            for i, n in enumerate(self.rounds, start=1)
        ]
        if len(lengths) != len(checked):
            raise InputError("rounds", f"{len(checked)} numbers, one a strategy", f"{len(lengths)}")
        phases = [f"phase {i + 1}" for i in range(len(checked))]
        self._follow(np.array(checked), np.array(lengths), phases)


@dataclass(eq=False, repr=False)
class Replay(_Scripted):
    """Plays a recorded sequence of strategies and ignores the answers.

    Equal neighbours are held as one block.

    Parameters
    ----------
    view : PrincipalView
        The principal's view of the game.
    strategies : array-like, shape (T, m)
        The strategy of every round.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> Replay(game.principal_view, [[1, 0], [1, 0], [0, 1]]).commit()
    Block([1.0, 0.0] for 2 rounds, 'replay')
    """

    strategies: npt.ArrayLike

    def __post_init__(self) -> None:
        super().__post_init__()
        rows, view = real_matrix("strategies", self.strategies), self.view
        if rows.shape[1] != view.space.dimension:
            expected = f"rows of {view.space.dimension} numbers"
            raise InputError("strategies", expected, f"rows of {rows.shape[1]}")
        first = np.ones(len(rows), dtype=bool)
        first[1:] = (rows[1:] != rows[:-1]).any(axis=1)
        at = np.flatnonzero(first)
        kept = np.array([_accepted(view, f"strategies, row {t + 1}", rows[t]) for t in at])
        self._follow(kept, np.diff(np.append(at, len(rows))), ["replay"])

    @property
    def settings(self) -> Table:
        """The name and a hash of the sequence, which may be long."""
        content = self._strategies.tobytes() + self._rounds.tobytes()
        return {
            "name": type(self).__name__,
            "seed": self.seed,
            "rounds": int(self._ends[-1]),
            "sequence": hashlib.sha256(content).hexdigest()[:32],
        }


def _accepted(view: PrincipalView, field: str, strategy: npt.ArrayLike) -> FloatArray:
    if (
        isinstance(strategy, np.ndarray)
        and strategy.dtype == np.float64
        and fits(view.space, strategy)
    ):
        return strategy
    return view.space.check(field, strategy)


@dataclass(eq=False, repr=False, init=False)
class Oracle(Principal):
    """Knows the whole game and commits to a robust optimum from the first round on.

    Agents learn: the longer they have watched, the closer to the edge of a region they can be
    trusted. So by default the margin shrinks, min(0.15, 0.3·t^(−1/3)) in blocks that end at rounds
    t = 32, 64, 128, …; where no commitment has it, 0.7 times that, and so forth.

    Parameters
    ----------
    game : Game
        The whole game, the agent's payoffs included.
    margin : float, optional
        The distance to keep to other regions, if it shall always be the same.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> Oracle(game, margin=0.1).commit().strategy.round(3)
    array([0.429, 0.571])
    >>> first = Oracle(game).commit()
    >>> first.strategy.round(3), first.rounds
    (array([0.433, 0.567]), 32)
    """

    _played: int = field(default=0, init=False)

    def __init__(self, game: Game, margin: float | None = None) -> None:
        super().__init__(game.principal_view)
        self._game, self._margin, self._end = game, margin, 0
        self._solution = self._solved(_FIRST_END) if margin is None else solve(game, margin=margin)

    def _solved(self, end: int) -> Any:
        self._end = end
        margin = min(0.15, 0.3 * end ** (-1 / 3))
        while margin > 1e-9:
            with suppress(InputError):
                return solve(self._game, margin=margin)
            margin *= 0.7
        return solve(self._game)

    @property
    def settings(self) -> Table:
        """The name, the seed and the margin."""
        return {**super().settings, "margin": self._margin}

    @property
    def result(self) -> Recommendation:
        """The optimum that it holds."""
        s = self._solution
        return Recommendation(s.strategy, s.response, s.value, s.margin, s.value)

    def commit(self) -> Block:
        """Return the optimum for the coming rounds."""
        if self._margin is not None:
            return Block(self._solution.strategy, UNTIL_THE_END - self._played, "commit")
        end = max(_FIRST_END, 1 << int(self._played).bit_length())
        if end != self._end:
            self._solution = self._solved(end)
        return Block(self._solution.strategy, end - self._played, "commit")

    def observe(self, responses: AnyArray) -> None:
        """Count the rounds; the answers were known beforehand."""
        self._played += len(responses)


@dataclass(eq=False, repr=False)
class _Arms(Principal):
    """Strategies as the arms of a bandit: each pull is a block, its second half is what counts."""

    horizon: int
    _: KW_ONLY
    block: int = 100
    _pulls: IntArray = field(init=False)
    _earned: FloatArray = field(init=False)
    _counts: IntArray = field(init=False)
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

    def observe(self, responses: AnyArray) -> None:
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
