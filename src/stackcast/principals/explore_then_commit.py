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

from collections.abc import Callable, Generator
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from stackcast._plain import plain
from stackcast._random import stream
from stackcast._validation import InputError, one_of, real_number, shown
from stackcast.calibration import AdaptiveRate, as_rate
from stackcast.protocol import UNTIL_THE_END, Block, Principal, Recommendation
from stackcast.theory import Precision, TheoryParameters

if TYPE_CHECKING:
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
    """A strategy, the response it draws, its value and how far inside the region it lies.

    ``margin`` is NaN where the check proves none; ``proven`` says whether the search proved the
    strategy to be best, up to the tolerance, among those as far inside as it may look for.
    """

    strategy: FloatArray
    response: int
    value: float
    margin: float
    proven: bool = False


class NoisyAnswersError(RuntimeError):
    """Answers are too noisy to prove that a strategy is best up to the tolerance.

    Attributes
    ----------
    best : array
        The best strategy found inside.
    gap : float
        How far below the optimum it may be, for all that the answers prove.
    """

    def __init__(self, best: FloatArray, gap: float) -> None:
        super().__init__(f"noise has beaten the search: the optimum may be {gap:.3g} better.")
        self.best, self.gap = best, gap


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
    size = Precision(approximation, conservatism)
    wanted, found = yield from _around(strategy, size, epochs, space, rng, response, phase)
    return found if found == wanted else None


def _around(
    strategy: FloatArray,
    size: Precision,
    epochs: int,
    space: StrategySpace,
    rng: np.random.Generator,
    response: int | None,
    phase: str,
) -> Search[tuple[int | None, int]]:
    """Return the response wanted, and the answer that was another one, if any (−1: outside)."""
    for _ in range(epochs):
        direction = rng.standard_normal(space.basis.shape[1])
        direction /= float(np.linalg.norm(direction)) or 1.0
        point = strategy + size.approximation * (space.basis @ direction)
        if not space.contains(point, 1e-12):
            return response, -1
        answer = yield Query(_clean(point, space), size.conservatism, phase)
        if response is None:
            response = answer.response
        if answer.response != response:
            return response, answer.response
    return response, -1 if response is None else response


@dataclass(frozen=True, eq=False)
class _Membership:
    """A membership oracle of a region: the label of a point, and how sharp its boundary is.

    ``ask`` gives the region's response, or another one that speaks against it. A boundary point
    that is bisected down to ``width`` lies within ``blur`` of the plane ``depth`` inside the facet;
    what is deeper than that plane by ``blur`` is a member.
    """

    ask: Callable[[FloatArray], Search[int]]
    width: float
    blur: float
    depth: float = 0.0


def membership_opt(
    start: FloatArray,
    response: int,
    objective: FloatArray,
    space: StrategySpace,
    precision: Precision,
    epochs: int,
    tolerance: float,
    rng: np.random.Generator,
    phase: str = "optimise",
) -> Search[FloatArray]:
    """Run MembershipOpt on ApproxMem: maximise a linear objective over a region, with a margin.

    From membership to separation to cutting planes (after Lee, Sidford and Vempala 2018): a point
    outside is bisected with the start to find the boundary; d − 1 parallel bisections nearby, with
    the same neighbour just outside, give the facet, which is one hyperplane; it cuts the outer
    polytope, whose maximum is the next point to ask. Every call is one of :func:`approx_mem`.

    Returns
    -------
    A strategy that is worth at least the best one deeper than ε₁ + ε₂ in the region (and as far
    inside the strategy space), less ``tolerance``.

    Raises
    ------
    NoisyAnswersError
        If the answers do not prove that.
    """
    e1 = precision.approximation

    def ask(point: FloatArray) -> Search[int]:
        _, found = yield from _around(point, precision, epochs, space, rng, response, phase)
        return found

    # A boundary lies between the depths ε₂ + ε₁/√m and ε₂ + ε₁.
    width = e1 / 4
    oracle = _Membership(ask, width, e1 * (1 - len(start) ** -0.5) / 2 + width / 2)
    inset = 1.01 * e1  # so that no sample leaves the strategy space by rounding
    return (yield from _maximise(start, response, objective, space, oracle, inset, tolerance))


def single_question_opt(
    start: FloatArray,
    response: int,
    objective: FloatArray,
    space: StrategySpace,
    margin: float,
    accuracy: float,
    tolerance: float,
    phase: str = "optimise",
) -> Search[FloatArray]:
    """Do what :func:`membership_opt` does, by single questions: cheap, and not the paper's.

    A strategy counts as inside if the one answer to it is the region's; each answer is right up to
    ``accuracy``, and facets are moved inwards by ``margin``. Some Φ times fewer questions.
    """

    def ask(point: FloatArray) -> Search[int]:
        return (yield Query(point, accuracy, phase)).response

    oracle = _Membership(ask, accuracy / 2, 1.5 * accuracy, margin)
    return (yield from _maximise(start, response, objective, space, oracle, margin, tolerance))


@dataclass(frozen=True, eq=False)
class _Facet:
    """A facet ⟨normal, h − point⟩ ≤ 0 of a region, estimated from ``point`` and others near it."""

    normal: FloatArray
    point: FloatArray
    coordinates: FloatArray  # (n, d − 1): h − point in units of the steps to the other points
    blur: float

    def slack(self, points: FloatArray) -> float:
        """Return how far the true facet may lie beyond this one at some of the points.

        It passes within ``blur`` of the point and the others; where h − point = Σ a_j·step_j along
        the facet, that is blur·(|1 − Σ a_j| + Σ |a_j|) at most, a convex function.
        """
        a = (points - self.point) @ self.coordinates
        return float((self.blur * (abs(1 - a.sum(axis=1)) + abs(a).sum(axis=1))).max(initial=0.0))


#: A facet is estimated from points this far apart if there is room, and at least so many times the
#: blur of the boundary; so many facets at most.
_WIDE, _ABOVE_NOISE, _MOST_CUTS = 0.2, 4.0, 100


def _maximise(
    start: FloatArray,
    response: int,
    objective: FloatArray,
    space: StrategySpace,
    oracle: _Membership,
    inset: float,
    tolerance: float,
) -> Search[FloatArray]:
    """Search by cutting planes, and prove what was found; see :func:`membership_opt`."""
    rows = space.inequality_rows
    lengths = np.linalg.norm(rows @ space.basis, axis=1)
    # The paper's conservative region keeps off the facets of the strategy space too.
    outer = space.cut(rows, space.inequality_bounds - inset * lengths)
    best, facets = np.array(start), list[_Facet]()
    members = [best]
    for _ in range(_MOST_CUTS):
        try:
            candidate = _clean(_tightened(outer, facets, oracle.depth).argmax(objective), space)
        except InputError:
            break  # the facets leave nothing: some are wrong
        if objective @ (candidate - best) <= tolerance / 2:
            break
        if (yield from oracle.ask(candidate)) == response:
            best = candidate
            break
        cut = None
        # From the start, or from half-way to a later member where that shows too little.
        for inside in (start, (start + members[-1]) / 2, np.mean(members, axis=0)):
            found = yield from _facet(inside, candidate, response, space, outer, oracle)
            members.append(found[1])
            if found[0] is not None and found[0].normal @ (candidate - found[0].point) > -1e-12:
                cut = found[0]
                break
        if cut is not None:
            facets.append(cut)
        if cut is not None or oracle.depth == 0.0:
            # Members that the cuts allow compete; ApproxMem's have their margin.
            allowed = _tightened(outer, facets, oracle.depth)
            inner = [h for h in members if oracle.depth == 0.0 or allowed.contains(h, 1e-9)]
            best = max([*inner, start], key=lambda h: float(objective @ h))
        if cut is None:
            break
    gap = _proven(outer, facets, objective, float(objective @ best), oracle.depth)
    if gap > tolerance:
        raise NoisyAnswersError(best, gap)
    return best


def _tightened(outer: StrategySpace, facets: list[_Facet], depth: float) -> StrategySpace:
    if not facets:
        return outer
    rows = np.array([f.normal for f in facets])
    return outer.cut(rows, np.array([f.normal @ f.point - depth for f in facets]))


def _proven(
    outer: StrategySpace, facets: list[_Facet], objective: FloatArray, floor: float, depth: float
) -> float:
    """Return how much more than ``floor`` any point may earn that the facets do not exclude.

    Only points that earn more matter, and facets are surer near them: so the slack of each is taken
    over the corners of what is left, as long as less and less is.
    """
    from scipy.spatial import QhullError

    rows = np.array([*(f.normal for f in facets), -objective])
    slacks, gap = np.array([f.slack(outer.vertices) for f in facets]), np.inf
    for _ in range(30):
        bounds = [f.normal @ f.point - depth + s for f, s in zip(facets, slacks, strict=True)]
        left = outer.cut(rows, np.append(bounds, -floor))
        try:
            corners = left.vertices
        except (InputError, QhullError):  # a sliver without an interior
            corners = left.argmax(objective)[None]
        if not len(corners):
            return 0.0
        before, gap = gap, max(float((corners @ objective).max()) - floor, 0.0)
        if gap > 0.9 * before:
            break
        slacks = np.minimum(slacks, [f.slack(corners) for f in facets])
    return min(before, gap)


def _facet(
    inside: FloatArray,
    outside: FloatArray,
    response: int,
    space: StrategySpace,
    outer: StrategySpace,
    oracle: _Membership,
) -> Search[tuple[_Facet | None, FloatArray]]:
    """Return the facet between the two points, if it can be told, and the last member before it."""
    member, boundary, neighbour = yield from _bisect(inside, outside, response, None, oracle)
    along = outside - inside
    along = along / np.linalg.norm(along)
    local = space.basis.T @ along
    full, _ = np.linalg.qr(np.column_stack([local, np.eye(len(local))]))
    steps = []
    for tangent in (space.basis @ full[:, 1 : len(local)]).T:
        reach, found = _WIDE, None
        while found is None and reach > _ABOVE_NOISE * oracle.blur:
            # A facet that runs nearly along the line is crossed far away only.
            for stretch, side in product((2.0, 8.0, 32.0), (1.0, -1.0)):
                middle = boundary + side * reach * tangent
                ends = middle - stretch * reach * along, middle + stretch * reach * along
                if all(outer.contains(end, 1e-12) for end in ends):
                    wanted = response, neighbour
                    found = yield from _crossing(*ends, wanted, oracle)
                if found is not None:
                    break
            reach /= 2
        if found is None:
            return None, member
        steps.append(found - boundary)
    spread = np.array(steps).reshape(-1, len(boundary)) @ space.basis
    _, _, right = np.linalg.svd(np.vstack([spread, np.zeros((1, len(local)))]))
    normal = space.basis @ right[-1]
    coordinates = space.basis @ np.linalg.pinv(spread) if len(spread) else np.zeros((len(along), 0))
    # The sine of the angle by which the true facet may be turned.
    turned = 2 * oracle.blur * float(np.linalg.norm(coordinates)) if len(spread) else 0.0
    if turned > 0.9:
        return None, member
    blur = oracle.blur / (1 - turned**2) ** 0.5
    return _Facet(normal if normal @ along >= 0 else -normal, boundary, coordinates, blur), member


def _crossing(
    inside: FloatArray, outside: FloatArray, wanted: tuple[int, int], oracle: _Membership
) -> Search[FloatArray | None]:
    """Return a boundary point of the segment if it lies between the two labels wanted."""
    for end, label in zip((inside, outside), wanted, strict=True):
        if (yield from oracle.ask(end)) != label:
            return None
    _, boundary, neighbour = yield from _bisect(inside, outside, *wanted, oracle)
    return boundary if neighbour == wanted[1] else None


def _bisect(
    inside: FloatArray,
    outside: FloatArray,
    response: int,
    neighbour: int | None,
    oracle: _Membership,
) -> Search[tuple[FloatArray, FloatArray, int]]:
    """Return the last member of a segment, the middle of its end, and the label just outside."""
    label = -1 if neighbour is None else neighbour
    while np.linalg.norm(outside - inside) > oracle.width:
        middle = (inside + outside) / 2
        answer = yield from oracle.ask(middle)
        if answer == response:
            inside = middle
        else:
            outside, label = middle, answer
    return inside, (inside + outside) / 2, label


def _clean(point: FloatArray, space: StrategySpace) -> FloatArray:
    if space.kind == "simplex":
        point = np.maximum(point, 0.0)
        return point / point.sum()
    return point


def learn_commitment(
    view: PrincipalView, theory: TheoryParameters, seed: int = 0, oracle: str = "membership"
) -> Search[Commitment | None]:
    """Run Algorithm 3: initialise, optimise, check robustness.

    With the parameters of the theory and answers that are right up to what is asked, the result has
    (P1) a value of at least V* − ε_opt and (P2) a margin of at least ε_robust, with probability at
    least 1 − 1/T. Once an optimum of a response is proven and has passed the check, further starts
    in its region can find no more, and are left out.

    Parameters
    ----------
    view : PrincipalView
    theory : TheoryParameters
    seed : int
        The seed of its samples.
    oracle : {"membership", "question"}
        Whether optimisation asks ApproxMem, as the paper does, or single questions.

    Returns
    -------
    The best commitment that passed the check; None if none did.
    """
    space, rng = view.space, stream(seed, "principal", "algorithm 3")
    first, precise, check = theory.initial, theory.optimising, theory.checking
    centred = []
    for start in space.sample(theory.samples, seed):
        found = yield from approx_mem(
            start, *(first.approximation, first.conservatism, theory.epochs), space, rng,
            phase="initialise",
        )  # fmt: skip
        if found is not None:
            centred.append((start, found))
    robust: list[Commitment] = []
    settled: set[int] = set()
    for start, response in centred:
        if response in settled:
            continue
        objective, proven = view.payoffs[:, response], True
        try:
            if oracle == "membership":
                strategy = yield from membership_opt(
                    start, response, objective, space, precise, theory.epochs,
                    theory.tolerance / 4, rng,
                )  # fmt: skip
            else:
                strategy = yield from single_question_opt(
                    start, response, objective, space, precise.approximation + precise.conservatism,
                    precise.conservatism, theory.tolerance / 4,
                )  # fmt: skip
        except NoisyAnswersError as noise:
            strategy, proven = noise.best, False
        passed = yield from approx_mem(
            strategy, check.approximation, check.conservatism, theory.epochs, space, rng, response,
            phase="check",
        )  # fmt: skip
        if passed is not None:
            value = float(view.utilities(strategy)[response])
            robust.append(Commitment(strategy, response, value, theory.proven_margin, proven))
            if proven:
                settled.add(response)
    return max(robust, key=lambda found: found.value, default=None)


def hand_set(actions: int, responses: int, horizon: int) -> TheoryParameters:
    """Return parameters with which Algorithm 3 ends within a playable horizon.

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


@dataclass(eq=False, repr=False)
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
    oracle : {"membership", "question"}
        Whether optimisation asks ApproxMem, as the paper does, or single questions: the only way to
        be done within horizons that can be played.

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
    ...     tolerance=0.1, robustness=0.01, samples=5, epochs=4,
    ...     initial=Precision(0.05, 0.02),
    ...     optimising=Precision(0.02, 0.01), checking=Precision(0.02, 0.01),
    ... )
    >>> principal = ExploreThenCommit(game.principal_view, theory)
    >>> t = play(principal, BestResponse(game.agent_view), 50_000)
    >>> principal.result.response, bool(principal.result.value > 2.4)
    (1, True)
    """

    plays = ("finite",)

    theory: TheoryParameters
    _: KW_ONLY
    schedule: str = "fixed"
    oracle: str = "membership"
    _answers: IntArray = field(init=False, metadata={"grows": True})
    _counts: IntArray = field(init=False)

    @classmethod
    def suited(cls, view: PrincipalView, horizon: int) -> dict[str, Any]:
        """Return parameters under which it commits within the horizon."""
        m, k = view.payoffs.shape
        return {"theory": hand_set(m, k, horizon), "oracle": "question"}

    def __post_init__(self) -> None:
        super().__post_init__()
        shape, theory = self.view.payoffs.shape, self.theory
        if shape != (theory.actions, theory.responses):
            expected = f"a theory for {shape[0]}×{shape[1]} actions"
            raise InputError("theory", expected, f"{theory.actions}×{theory.responses}")
        one_of("schedule", self.schedule, ("fixed", "rescheduled"))
        one_of("oracle", self.oracle, ("membership", "question"))
        self._counts = np.zeros(shape[1], dtype=np.int64)
        self._begin()

    def _begin(self) -> None:
        made = FixedBlocks if self.schedule == "fixed" else RescheduledBlocks
        self._timing: BlockSchedule = made(self.theory.rate)
        self._search = learn_commitment(self.view, self.theory, self.seed, self.oracle)
        self._answers = np.zeros(0, dtype=np.int64)
        self._best: Commitment | None = None
        self._commitment: Commitment | None = None
        self._query: Query | None = None
        self._advance(None)

    @property
    def settings(self) -> dict[str, Any]:
        """The name, the seed and the parameters."""
        told = {**plain(self.theory, but=("rate",)), "rate": repr(self.theory.rate)}
        rest = {"seed": self.seed, "schedule": self.schedule, "oracle": self.oracle}
        return {"name": type(self).__name__, **rest, "theory": told}

    @property
    def result(self) -> Recommendation:
        """The commitment; while exploring, the best strategy asked so far with its answer."""
        found = self._commitment or self._best
        if found is None:
            return Recommendation(self.view.space.sample(1, self.seed)[0], None, float("nan"))
        return Recommendation(found.strategy, found.response, found.value, found.margin)

    def commit(self) -> Block:
        """Return the block of the next question, or the commitment."""
        if self._query is None:
            return Block(self.result.strategy, UNTIL_THE_END, "commit")
        left = max(1, self._rounds - int(self._counts.sum()))
        return Block(self._query.strategy, min(left, UNTIL_THE_END), self._query.phase)

    def observe(self, responses: npt.NDArray[Any]) -> None:
        """Count the answers; the most frequent one of a whole block is the answer."""
        if self._query is None:
            return
        self._counts += np.bincount(responses, minlength=len(self._counts))
        if self._counts.sum() >= self._rounds:
            self._advance(int(np.argmax(self._counts)))

    def _advance(self, response: int | None) -> None:
        try:
            if response is None or self._query is None:
                self._query = next(self._search)
            else:
                asked = self._query
                self._answers = np.append(self._answers, response)
                value = float(self.view.utilities(asked.strategy)[response])
                if self._best is None or value > self._best.value:
                    self._best = Commitment(asked.strategy, response, value, float("nan"))
                self._query = self._search.send(Label(response, asked.accuracy))
        except StopIteration as stop:
            self._query, self._commitment = None, stop.value
            return
        self._counts[:] = 0
        self._rounds = self._timing.rounds(self.theory.block_error(self._query.accuracy))

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken, by replaying the recorded answers."""
        super().restore(state)
        answers, counts = self._answers, self._counts.copy()
        self._begin()
        for answer in answers.tolist():
            if self._query is None:
                raise InputError("state", "answers to this search", shown(len(answers)))
            self._advance(answer)
        self._counts = counts
