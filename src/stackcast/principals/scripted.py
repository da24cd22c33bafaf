"""Principals that follow a script: one strategy, a list of phases, or a recorded sequence.

They do not learn; they are the baselines and the adversaries of the others.
"""

from __future__ import annotations

import hashlib
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError, real_matrix, text, whole_number
from stackcast.protocol import UNTIL_THE_END, Block, Principal, Recommendation, fits

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from stackcast._validation import FloatArray
    from stackcast.games import PrincipalView


@dataclass(eq=False, repr=False)
class _Scripted(Principal):
    """Plays given strategies for given numbers of rounds, and counts the latest answers."""

    _played: int = field(default=0, init=False)
    _last: int = field(default=0, init=False)
    _counts: npt.NDArray[np.int64] = field(init=False)

    def _follow(
        self, strategies: FloatArray, rounds: npt.NDArray[np.int64], phases: Sequence[str]
    ) -> None:
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

    def observe(self, responses: npt.NDArray[Any]) -> None:
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
    """Commits to one strategy for ever.

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
    """Plays a recorded sequence of strategies, whatever the answers.

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
    def settings(self) -> dict[str, Any]:
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
