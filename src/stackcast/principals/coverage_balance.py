"""The coverage that makes targets equally attractive, found by following the attacks.

Let c* be the coverage that holds the attacker to the lowest level (see ``coverage_search``). An
attack on y at coverage c proves c_y ≤ c*_y, so y is covered more and all others less, by a step
that falls like one over the rounds played. Let D = Σ_z (c*_z − c_z)⁺ be what the coverage lacks,
and let p targets be covered at all. Raising y takes η(1 − 1/p) off D if y lacks that much, and
lowering the others adds at most η/p for each that lacks something. Not all p do: D falls by η/n or
more. Where y lacks less than a step, D rises by no more than a step.

That holds whatever η is, so it may depend on y. Where coverage stands still on average, every
target gains as much as it loses, hence attacks are as 1/η: with longer steps for targets whose
attacks are dear, most attacks go to those where they cost little.

An attacker who forecasts coverage errs, and lags behind; but its errors have no preferred sign for
long, and the mean of the coverage over the rounds evens them out. Where questions wait until each
answer is sure, every single round counts here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._state import State
    from stackcast._validation import FloatArray

#: The step after t rounds is _GAIN/(t + a share of the rounds), for each attack.
_GAIN, _HEAD_START = 3.0, 0.25
#: Steps are as the root of what attacks cost beside those on the best target, and of this much;
#: they are so many times the usual step at most.
_DEAR, _LONGEST = 0.05, 4.0


class CoverageBalance:
    """Moves coverage towards the attacked targets, and averages it.

    Parameters
    ----------
    targets : int
        n.
    resources : float
        r.
    rounds : int
        How many attacks will be told, about: it sets the steps.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.load_game("patrol")
    >>> balance = CoverageBalance(4, 1.0, rounds=2000)
    >>> for _ in range(2000):
    ...     attacked = int(np.argmax(game.agent_view.utilities(balance.coverage)))
    ...     balance.tell(np.array([attacked]))
    >>> balance.estimate.round(2).tolist()  # the optimum holds the attacker to the same level
    [0.5, 0.3, 0.2, 0.0]
    """

    def __init__(self, targets: int, resources: float, rounds: int) -> None:
        self._resources, self._rounds = resources, rounds
        self.coverage = np.full(targets, min(1.0, resources / targets))
        self.estimate = self.coverage.copy()
        self.seen = np.zeros(targets, dtype=np.bool_)
        self.played = 0

    @property
    def finished(self) -> bool:
        """Whether all rounds were told."""
        return self.played >= self._rounds

    def step(self, played: int) -> float:
        """Return by how much an attack moves coverage after so many rounds."""
        return _GAIN / (played + _HEAD_START * self._rounds)

    def tell(self, attacks: npt.NDArray[np.int64], worth: FloatArray | None = None) -> None:
        """Take the attacks on the coverage as it is.

        ``worth`` is what an attack on each target is worth to the defender, in units of the width
        of its payoffs: steps are longer where it is less. By default all attacks are alike.
        """
        n = len(self.coverage)
        counts = np.bincount(attacks, minlength=n)
        self.seen |= counts > 0
        self.played += len(attacks)
        lengths = np.ones(n) if worth is None else self._lengths(worth)
        moved = self.coverage + self.step(self.played) * lengths * counts
        self.coverage = levelled(moved, np.ones(n), self._resources)
        # A mean whose weights grow like the rounds: what was far off at first is soon forgotten.
        share = 2 * len(attacks) / (self.played + len(attacks))
        self.estimate = self.estimate + share * (self.coverage - self.estimate)

    def _lengths(self, worth: FloatArray) -> FloatArray:
        """Return how many times the usual step each target's attacks take: 1 as harmonic mean."""
        cost = np.maximum(0.0, float(worth[self.seen].max()) - worth)
        roots = np.sqrt(cost + _DEAR)
        lengths: FloatArray = roots * float((1 / roots[self.seen]).mean())
        return np.minimum(lengths, _LONGEST)

    def state(self) -> State:
        """Return coverage and mean."""
        return {
            "coverage": self.coverage.copy(),
            "estimate": self.estimate.copy(),
            "seen": self.seen.copy(),
            "played": self.played,
        }

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""
        self.coverage, self.estimate = state["coverage"].copy(), state["estimate"].copy()
        self.seen, self.played = state["seen"].copy(), state["played"]


def levelled(base: FloatArray, top: FloatArray, total: float) -> FloatArray:
    """Return ``base`` and one level for every entry, between 0 and ``top``, ``total`` in all."""
    if total >= top.sum():
        return top
    least, most = -float(base.max()), float((top - base).max())
    for _ in range(60):  # halved to rounding
        level = (least + most) / 2
        if np.clip(base + level, 0.0, top).sum() > total:
            most = level
        else:
            least = level
    return np.clip(base + least, 0.0, top)
