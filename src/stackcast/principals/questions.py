"""Questions of a search: which response does h get, and how sure must I be.

A search is a plain procedure, written as a generator that yields :class:`Question` and is sent
:class:`Answer`; what it returns is what it found. The same search runs against

- an exact best-response oracle (:class:`ExactOracle`, :func:`ask_oracle`);
- blocks of a fixed length r⁻¹(γ) against adaptively calibrated agents (:class:`FixedBlocks`);
- rescheduled blocks against non-adaptive agents (:class:`RescheduledBlocks`);
- questions that end when they are sure (:class:`SelfStopping`).
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import numpy as np

from stackcast._random import stream
from stackcast._validation import real_number, whole_number
from stackcast.calibration import as_rate

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._state import State
    from stackcast._validation import FloatArray
    from stackcast.calibration import Rate
    from stackcast.games import AgentView

    IntArray = npt.NDArray[np.int64]

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Question:
    """The question which response a strategy gets.

    The answer y must be right up to ``accuracy``: the strategy lies within that distance of the
    region of y.
    """

    strategy: FloatArray
    accuracy: float
    phase: str


class Answer(NamedTuple):
    """A response, and the distance up to which it is right."""

    response: int
    accuracy: float


Search = Generator[Question, Answer, T]


class ExactOracle:
    """Answers with a best response; near a facet, with any action whose region is that near.

    Parameters
    ----------
    view : AgentView
        The agent's view of the game.
    ambiguous : float
        Within this distance of another region, the answer is drawn among all such actions.
    seed : int
        The seed of the draws.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> ExactOracle(game.agent_view)(np.array([0.3, 0.7]))
    Answer(response=1, accuracy=0.0)
    """

    def __init__(self, view: AgentView, ambiguous: float = 0.0, seed: int = 0) -> None:
        self._view = view
        self._ambiguous = real_number("ambiguous", ambiguous, at_least=0)
        self._rng = stream(seed, "oracle")
        projected = view.space.basis.T @ view.payoffs
        self._lengths = np.linalg.norm(projected[:, :, None] - projected[:, None, :], axis=0)
        self.queries = 0

    def __call__(self, strategy: FloatArray) -> Answer:
        """Return a response to the strategy."""
        self.queries += 1
        utilities = self._view.utilities(strategy)
        best = int(np.argmax(utilities))
        near = utilities[best] - utilities <= self._ambiguous * self._lengths[best]
        candidates = np.flatnonzero(near)
        return Answer(int(candidates[int(self._rng.random() * len(candidates))]), self._ambiguous)


def ask_oracle(search: Search[T], oracle: ExactOracle, most: int = 100_000) -> T:
    """Run a search against an oracle and return what it finds.

    Raises
    ------
    RuntimeError
        If it asks more than ``most`` questions.
    """
    try:
        question = next(search)
        for _ in range(most):
            question = search.send(oracle(question.strategy))
    except StopIteration as stop:
        result: T = stop.value
        return result
    raise RuntimeError(f"the search asked more than {most:,} questions.")


class Timing(Protocol):
    """How many rounds a question takes."""

    def rounds(self, error: float) -> int:
        """Return the length of the next block, whose error must be at most ``error``."""

    def state(self) -> State:
        """Return all that it remembers."""

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""


class FixedBlocks:
    """Blocks of r⁻¹(γ) rounds: enough for an adaptively calibrated agent of rate r.

    Examples
    --------
    >>> from stackcast.calibration import PowerRate
    >>> FixedBlocks(PowerRate(0.5)).rounds(0.1)
    100
    """

    def __init__(self, rate: Rate) -> None:
        self.rate = as_rate(rate)

    def rounds(self, error: float) -> int:
        """Return r⁻¹(error)."""
        return self.rate.inverse(error)

    def state(self) -> State:
        """Return nothing: there is nothing to remember."""
        return {}

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""


class RescheduledBlocks:
    """Blocks L_i = max(L_{i−1}, r⁻¹(γ_i/(2i))), enough for a non-adaptively calibrated agent.

    The lemma on time rescheduling (Section 6), with one index i over all phases: the lengths never
    fall, so that T_i ≤ i·L_i holds at every block, and with t·r(t) non-decreasing the error on
    block i is at most (T_i r(T_i) + T_{i−1} r(T_{i−1}))/L_i ≤ γ_i.

    Examples
    --------
    >>> from stackcast.calibration import PowerRate
    >>> blocks = RescheduledBlocks(PowerRate(0.5))
    >>> [blocks.rounds(error) for error in (0.1, 0.1, 0.5, 0.1)]
    [400, 1600, 1600, 6400]
    """

    def __init__(self, rate: Rate) -> None:
        self.rate = as_rate(rate)
        self._index = self._longest = 0

    def rounds(self, error: float) -> int:
        """Return L_i for the next i."""
        self._index += 1
        self._longest = max(self._longest, self.rate.inverse(error / (2 * self._index)))
        return self._longest

    def state(self) -> State:
        """Return the index and the longest block so far."""
        return {"index": self._index, "longest": self._longest}

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""
        self._index, self._longest = state["index"], state["longest"]


class SelfStopping:
    """A question that ends when it is sure, instead of assuming the worst.

    On a window of ℓ rounds with n_y answers y, calibration with rate r puts the strategy within
    √m·(ℓ/n_y)·r(ℓ) of the region of y. The window is the second half of the question; pieces double
    until the most frequent answer is that sure, or until ``longest`` rounds.

    Parameters
    ----------
    actions, responses : int
        m and k.
    constant : float
        The c of r(t) = c·√(log(k·m·t)/t).
    """

    def __init__(self, actions: int, responses: int, constant: float) -> None:
        self._m, self._k = actions, responses
        self.constant = real_number("constant", constant, above=0)

    def accuracy(self, rounds: int, hits: int) -> float:
        """Return √m·(ℓ/n)·r(ℓ) for n answers in ℓ rounds; infinite without an answer."""
        if hits == 0:
            return math.inf
        rate = self.constant * math.sqrt(math.log(self._k * self._m * rounds) / rounds)
        return math.sqrt(self._m) * rounds / hits * rate

    def shortest(self, accuracy: float) -> int:
        """Return the length of a question whose window is unanimous."""
        window = 20  # an agent needs some rounds to notice a change
        while self.accuracy(window, window) > accuracy:
            window = window + max(1, window // 8)
        return 2 * window

    def next_piece(
        self, responses: IntArray, accuracy: float, longest: int
    ) -> tuple[int, Answer | None]:
        """Return how many rounds to play on, or 0 and the answer."""
        whole_number("longest", longest, at_least=1)
        played = len(responses)
        if played == 0:
            return min(self.shortest(accuracy), longest), None
        window = responses[played // 2 :]
        counts = np.bincount(window, minlength=self._k)
        top = int(np.argmax(counts))
        found = self.accuracy(len(window), int(counts[top]))
        if found <= accuracy * 1.01 or played >= longest:
            return 0, Answer(top, found)
        return min(max(played // 2, 1), longest - played), None
