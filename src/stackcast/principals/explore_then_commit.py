"""The paper's principal: explore (Algorithm 3), then commit (Algorithm 2), and its oracles.

A search is a plain procedure, written as a generator that yields :class:`Query` and is sent
:class:`Label`; what it returns is what it found. The same search runs against

- an exact best-response oracle (:class:`BestResponseOracle`, :func:`ask_oracle`);
- blocks of a fixed length r⁻¹(γ) against adaptively calibrated agents (:class:`FixedBlocks`);
- rescheduled blocks against non-adaptive agents (:class:`RescheduledBlocks`).

References
----------
Haghtalab, Podimata and Yang (2023). Calibrated Stackelberg games: learning optimal commitments
against calibrated agents. NeurIPS. Algorithms 2 and 3, ApproxMem and MembershipOpt.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np

from stackcast._random import stream
from stackcast._validation import InputError, one_of, real_number, shown
from stackcast.calibration import AdaptiveRate, as_rate
from stackcast.protocol import UNTIL_THE_END, Block, Principal, Recommendation
from stackcast.theory import Precision, TheoryParameters

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._state import State
    from stackcast._validation import FloatArray
    from stackcast.calibration import Rate
    from stackcast.games import AgentView, PrincipalView, StrategySpace

    IntArray = npt.NDArray[np.int64]

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Query:
    """The question which response a strategy gets.

    The answer y must be right up to ``accuracy``: the strategy lies within that distance of the
    region of y.
    """

    strategy: FloatArray
    accuracy: float
    phase: str


class Label(NamedTuple):
    """A response, and the distance up to which it is right."""

    response: int
    accuracy: float


Search = Generator[Query, Label, T]


class BestResponseOracle:
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
    >>> BestResponseOracle(game.agent_view)(np.array([0.3, 0.7]))
    Label(response=1, accuracy=0.0)
    """

    def __init__(self, view: AgentView, ambiguous: float = 0.0, seed: int = 0) -> None:
        self._view = view
        self._ambiguous = real_number("ambiguous", ambiguous, at_least=0)
        self._rng = stream(seed, "oracle")
        projected = view.space.basis.T @ view.payoffs
        self._lengths = np.linalg.norm(projected[:, :, None] - projected[:, None, :], axis=0)
        self.queries = 0

    def __call__(self, strategy: FloatArray) -> Label:
        """Return a response to the strategy."""
        self.queries += 1
        utilities = self._view.utilities(strategy)
        best = int(np.argmax(utilities))
        near = utilities[best] - utilities <= self._ambiguous * self._lengths[best]
        candidates = np.flatnonzero(near)
        return Label(int(candidates[int(self._rng.random() * len(candidates))]), self._ambiguous)


def ask_oracle(search: Search[T], oracle: BestResponseOracle, most: int = 100_000) -> T:
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


class BlockSchedule(Protocol):
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


@dataclass(frozen=True, eq=False)
class Commitment:
    """A strategy, the response it draws, its value and how far inside the region it lies."""

    strategy: FloatArray
    response: int
    value: float
    margin: float


#: A facet's normal is estimated from points this far apart if there is room, and at least so many
#: times the accuracy of the answers.
_WIDE, _ABOVE_NOISE = 0.2, 4.0
_MOST_CUTS = 200


def approx_mem(
    strategy: FloatArray,
    approximation: float,
    conservatism: float,
    epochs: int,
    space: StrategySpace,
    rng: np.random.Generator,
    response: int | None = None,
    phase: str = "membership",
) -> Search[int | None]:
    """Run ApproxMem: tell whether a strategy is robustly inside a region (the paper's appendix).

    Asks ``epochs`` strategies at the distance ε₁ (``approximation``), uniformly around h within the
    affine hull, each with an answer that is right up to ε₂ (``conservatism``).

    1. If h lies deeper than ε₁ + ε₂ in the region of y, the answer is y for certain.
    2. If h is not deeper than ε₂ + ε₁/√m in it, the answer is y with probability at most ε₃, given
       ε₂ ≤ 0.1·ε₁/√m and ⌈9·ln(1/ε₃)⌉ epochs.

    Returns
    -------
    The response y if all answers are y (``response``, or the first answer if that is None);
    otherwise None. A strategy outside the space also gives None, as in the paper.
    """
    basis = space.basis
    for _ in range(epochs):
        direction = rng.standard_normal(basis.shape[1])
        norm = float(np.linalg.norm(direction))
        if norm > 0:
            direction /= norm
        point = strategy + approximation * (basis @ direction)
        if not space.contains(point, 1e-12):
            return None
        if space.kind == "simplex":
            point = np.maximum(point, 0.0)
            point /= point.sum()
        answer = yield Query(point, conservatism, phase)
        if response is None:
            response = answer.response
        if answer.response != response:
            return None
    return response


def membership_opt(
    start: FloatArray,
    response: int,
    objective: FloatArray,
    space: StrategySpace,
    margin: float,
    accuracy: float,
    tolerance: float,
    phase: str = "optimise",
) -> Search[FloatArray]:
    """Run MembershipOpt: maximise a linear objective over a region, keeping a margin.

    From membership to separation to cutting planes (after Lee, Sidford and Vempala 2018): a point
    outside is bisected with the start to find the boundary; d − 1 parallel bisections nearby, with
    the same neighbour just outside, give the facet, which is one hyperplane; the facet, moved
    inwards by the margin, cuts the outer polytope, whose maximum is the next point to ask. Each cut
    takes O(m·log(1/accuracy)) questions.

    Returns
    -------
    The best strategy found inside, at least the start.
    """
    rows = space.inequality_rows
    # The paper's conservative region keeps off the facets of the strategy space too.
    bounds = space.inequality_bounds - margin * np.linalg.norm(rows @ space.basis, axis=1)
    best = np.array(start)
    for _ in range(_MOST_CUTS):
        candidate = _maximum(objective, rows, bounds, space)
        if candidate is None or objective @ (candidate - best) <= tolerance:
            break
        answer = yield Query(candidate, accuracy, phase)
        if answer.response == response:
            best = candidate
            break
        facet = yield from _facet(start, candidate, response, space, accuracy, phase)
        if facet is None:
            break
        normal, bound = facet
        rows, bounds = np.vstack([rows, normal]), np.append(bounds, bound - margin)
        if normal @ candidate < bound - margin - 1e-12:
            break  # the facet found does not cut off the point: noise has the upper hand
        inside = _inside(best, start, normal, bound - margin)
        best = inside
    return best


def _inside(best: FloatArray, start: FloatArray, normal: FloatArray, bound: float) -> FloatArray:
    """Return the best point so far, moved towards the start if a cut excludes it."""
    over = normal @ best - bound
    if over <= 0:
        return best
    step = normal @ (best - start)
    share = min(1.0, float(over / step)) if step > 0 else 1.0
    moved: FloatArray = best + share * (start - best)
    return moved


def _maximum(
    objective: FloatArray, rows: FloatArray, bounds: FloatArray, space: StrategySpace
) -> FloatArray | None:
    from scipy.optimize import linprog

    result = linprog(
        -objective,
        A_ub=rows,
        b_ub=bounds,
        A_eq=space.equality_rows,
        b_eq=space.equality_bounds,
        bounds=(None, None),
        method="highs",
    )
    if result.x is None:
        return None
    point = np.asarray(result.x, dtype=np.float64)
    if space.kind == "simplex":
        point = np.maximum(point, 0.0)
        point /= point.sum()
    return point


def _facet(
    inside: FloatArray,
    outside: FloatArray,
    response: int,
    space: StrategySpace,
    accuracy: float,
    phase: str,
) -> Search[tuple[FloatArray, float] | None]:
    """Return the facet ⟨normal, h⟩ ≤ bound between the two points, normal in the affine hull."""
    boundary, neighbour = yield from _bisect(inside, outside, response, None, accuracy, phase)
    along = outside - inside
    along = along / np.linalg.norm(along)
    tangents = _tangents(along, space)
    points = [boundary]
    for tangent in tangents:
        reach, found = _WIDE, None
        while found is None and reach > _ABOVE_NOISE * accuracy:
            # A facet that runs nearly along the line is crossed far away only.
            for stretch, side in product((2.0, 8.0, 32.0), (1.0, -1.0)):
                found = yield from _parallel(
                    boundary + side * reach * tangent,
                    along,
                    stretch * reach,
                    (response, neighbour),
                    space,
                    accuracy,
                    phase,
                )
                if found is not None:
                    break
            reach /= 2
        if found is None:
            return None
        points.append(found)
    local = np.array([(p - boundary) @ space.basis for p in points[1:]])
    d = space.basis.shape[1]
    _, _, right = np.linalg.svd(np.vstack([local.reshape(-1, d), np.zeros((1, d))]))
    normal = space.basis @ right[-1]
    if normal @ along < 0:
        normal = -normal
    return normal, float(normal @ boundary)


def _tangents(along: FloatArray, space: StrategySpace) -> list[FloatArray]:
    """Return d − 1 orthonormal directions of the hull that are orthogonal to ``along``."""
    local = space.basis.T @ along
    full, _ = np.linalg.qr(np.column_stack([local, np.eye(len(local))]))
    return [space.basis @ full[:, i] for i in range(1, len(local))]


def _parallel(
    point: FloatArray,
    along: FloatArray,
    reach: float,
    labels: tuple[int, int],
    space: StrategySpace,
    accuracy: float,
    phase: str,
) -> Search[FloatArray | None]:
    """Return a boundary point on the line through ``point``, between the two labels, or None."""
    ends = [point - reach * along, point + reach * along]
    for end, label in zip(ends, labels, strict=True):
        if not space.contains(end, 1e-12):
            return None
        answer = yield Query(_clean(end, space), accuracy, phase)
        if answer.response != label:
            return None
    boundary, neighbour = yield from _bisect(
        _clean(ends[0], space), _clean(ends[1], space), labels[0], labels[1], accuracy, phase
    )
    return boundary if neighbour == labels[1] else None


def _bisect(
    inside: FloatArray,
    outside: FloatArray,
    response: int,
    neighbour: int | None,
    accuracy: float,
    phase: str,
) -> Search[tuple[FloatArray, int]]:
    """Return the point of a segment where ``response`` ends, and the label just outside."""
    label = -1 if neighbour is None else neighbour
    while np.linalg.norm(outside - inside) > accuracy / 2:
        middle = (inside + outside) / 2
        answer = yield Query(middle, accuracy, phase)
        if answer.response == response:
            inside = middle
        else:
            outside, label = middle, answer.response
    return (inside + outside) / 2, label


def _clean(point: FloatArray, space: StrategySpace) -> FloatArray:
    if space.kind == "simplex":
        point = np.maximum(point, 0.0)
        return point / point.sum()
    return point


def learn_commitment(
    view: PrincipalView, theory: TheoryParameters, seed: int = 0
) -> Search[Commitment | None]:
    """Run Algorithm 3: initialise, optimise, check robustness.

    With the parameters of the theory and answers that are right up to what is asked, the result has
    (P1) a value of at least V* − ε_opt and (P2) a margin of at least ε_robust, with probability at
    least 1 − 1/T.

    Returns
    -------
    The best commitment that passed the check; None if none did.
    """
    space = view.space
    rng = stream(seed, "principal", "algorithm 3")
    starts = space.sample(theory.samples, seed)
    centred = []
    for start in starts:
        found = yield from approx_mem(
            start,
            theory.initial.approximation,
            theory.initial.conservatism,
            theory.epochs,
            space,
            rng,
            phase="initialise",
        )
        if found is not None:
            centred.append((start, found))
    robust: list[Commitment] = []
    for start, response in centred:
        strategy = yield from membership_opt(
            start,
            response,
            view.payoffs[:, response],
            space,
            theory.optimising.approximation + theory.optimising.conservatism,
            theory.optimising.conservatism,
            theory.tolerance / 4,
        )
        check = theory.checking
        passed = yield from approx_mem(
            strategy,
            check.approximation,
            check.conservatism,
            theory.epochs,
            space,
            rng,
            response,
            phase="check",
        )
        if passed is not None:
            value = float(view.utilities(strategy)[response])
            robust.append(Commitment(strategy, response, value, theory.robustness))
    return max(robust, key=lambda found: found.value, default=None)


def hand_set(actions: int, responses: int, horizon: int) -> TheoryParameters:
    """Return parameters under which Algorithm 3 ends within a horizon that can be played.

    The theorem's own ask for about 10^90 rounds and more.

    Examples
    --------
    >>> hand_set(3, 3, 100_000).robustness
    0.01
    """
    rate = AdaptiveRate(responses, actions, constant=0.01)
    theory = TheoryParameters.compute(actions, responses, 0.1, horizon, rate)
    # Blocks last for about accuracy⁻² rounds: T^(−1/4) leaves most of the rounds to commit in.
    unit = 0.01 * (100_000 / horizon) ** 0.25
    return replace(
        theory,
        tolerance=2 * unit,
        robustness=unit,
        samples=3 * responses,
        epochs=4,
        initial=Precision(3 * unit, 2 * unit),
        optimising=Precision(2 * unit, unit),
        checking=Precision(1.5 * unit, unit),
    )


class ExploreThenCommit(Principal):
    """Explores by Algorithm 3 and commits to what it found (Algorithm 2).

    Every question is one block whose most frequent response is the answer. Against adaptively
    calibrated agents blocks have the length r⁻¹(ε₂/(k√m)); with ``schedule="rescheduled"`` they
    grow as the lemma on time rescheduling has it, for agents that are calibrated but not adaptively
    (Section 6).

    Parameters
    ----------
    view : PrincipalView
        The principal's view of the game.
    theory : TheoryParameters
        The quantities of the theory, overridden where the user wishes.
    seed : int
        The seed of its draws.
    schedule : {"fixed", "rescheduled"}
        How long blocks are.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import stackcast as sc
    >>> from stackcast.agents import BestResponse
    >>> from stackcast.calibration import PowerRate
    >>> from stackcast.theory import Precision, TheoryParameters
    >>> from stackcast.protocol import play
    >>> game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> theory = replace(
    ...     TheoryParameters.compute(2, 2, 0.2, 50_000, PowerRate(0.5, 0.1)),
    ...     tolerance=0.02, robustness=0.01, samples=5, epochs=4,
    ...     initial=Precision(0.05, 0.02),
    ...     optimising=Precision(0.02, 0.01), checking=Precision(0.02, 0.01),
    ... )
    >>> principal = ExploreThenCommit(game.principal_view, theory)
    >>> t = play(principal, BestResponse(game.agent_view), 50_000)
    >>> principal.result.response, bool(principal.result.value > 2.4)
    (1, True)
    """

    plays = ("finite",)

    @classmethod
    def suited(cls, view: PrincipalView, horizon: int) -> dict[str, Any]:
        """Return parameters under which it commits within the horizon."""
        m, k = view.payoffs.shape
        return {"theory": hand_set(m, k, horizon)}

    def __init__(
        self,
        view: PrincipalView,
        theory: TheoryParameters,
        *,
        seed: int = 0,
        schedule: str = "fixed",
    ) -> None:
        super().__init__(view, seed=seed)
        if view.payoffs.shape != (theory.actions, theory.responses):
            expected = f"a theory for {view.payoffs.shape[0]}×{view.payoffs.shape[1]} actions"
            raise InputError("theory", expected, f"{theory.actions}×{theory.responses}")
        self._view, self._theory = view, theory
        self._schedule = one_of("schedule", schedule, ("fixed", "rescheduled"))
        self._begin()

    def _begin(self) -> None:
        rate = self._theory.rate
        self._timing: BlockSchedule = (
            FixedBlocks(rate) if self._schedule == "fixed" else RescheduledBlocks(rate)
        )
        self._search = learn_commitment(self._view, self._theory, self.seed)
        self._answers: list[int] = []
        self._best: Commitment | None = None
        self._commitment: Commitment | None = None
        self._counts = np.zeros(self._view.payoffs.shape[1], dtype=np.int64)
        self._question: Query | None = None
        self._rounds = 0
        self._advance(None)

    @property
    def settings(self) -> dict[str, Any]:
        """The name, the seed and the parameters."""
        theory = self._theory
        precise = {
            name: [part.approximation, part.conservatism]
            for name, part in (
                ("initial", theory.initial),
                ("optimising", theory.optimising),
                ("checking", theory.checking),
            )
        }
        return {
            "name": "ExploreThenCommit",
            "seed": self.seed,
            "schedule": self._schedule,
            "rate": repr(theory.rate),
            "regularity": theory.regularity,
            "horizon": theory.horizon,
            "tolerance": theory.tolerance,
            "robustness": theory.robustness,
            "epochs": theory.epochs,
            "samples": theory.samples,
            **precise,
        }

    @property
    def result(self) -> Recommendation:
        """The commitment; while exploring, the best strategy asked so far with its answer."""
        found = self._commitment or self._best
        if found is None:
            middle = self._view.space.sample(1, self.seed)[0]
            return Recommendation(middle, None, float("nan"))
        return Recommendation(found.strategy, found.response, found.value, found.margin)

    def commit(self) -> Block:
        """Return the block of the next question, or the commitment."""
        if self._question is None:
            return Block(self.result.strategy, UNTIL_THE_END, "commit")
        left = max(1, self._rounds - int(self._counts.sum()))
        return Block(self._question.strategy, min(left, UNTIL_THE_END), self._question.phase)

    def observe(self, responses: npt.NDArray[Any]) -> None:
        """Count the answers; the most frequent one of a whole block is the answer."""
        if self._question is None:
            return
        self._counts += np.bincount(responses, minlength=len(self._counts))
        if self._counts.sum() >= self._rounds:
            self._advance(int(np.argmax(self._counts)))

    def _advance(self, response: int | None) -> None:
        try:
            if response is None:
                self._question = next(self._search)
            else:
                assert self._question is not None
                self._answers.append(response)
                asked = self._question
                value = float(self._view.utilities(asked.strategy)[response])
                if self._best is None or value > self._best.value:
                    self._best = Commitment(asked.strategy, response, value, float("nan"))
                self._question = self._search.send(Label(response, asked.accuracy))
        except StopIteration as stop:
            self._question = None
            self._commitment = stop.value
            return
        self._counts[:] = 0
        self._rounds = self._timing.rounds(self._theory.block_error(self._question.accuracy))

    def state(self) -> State:
        """Return the answers so far: the search is run again on them."""
        answers = np.array(self._answers, dtype=np.int64)
        return {"answers": answers, "counts": self._counts.copy()}

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken, by replaying the recorded answers."""
        self._begin()
        for answer in state["answers"].tolist():
            if self._question is None:
                raise InputError("state", "answers to this search", shown(len(state["answers"])))
            self._advance(answer)
        self._counts = state["counts"].copy()
