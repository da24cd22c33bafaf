"""The paper's oracles: approximate membership, and optimisation by membership (its appendix).

All are searches: generators that yield questions and are sent answers.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from stackcast.principals.questions import Question

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.games import StrategySpace
    from stackcast.principals.questions import Search

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
        answer = yield Question(point, conservatism, phase)
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
        answer = yield Question(candidate, accuracy, phase)
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
        answer = yield Question(_clean(end, space), accuracy, phase)
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
        answer = yield Question(middle, accuracy, phase)
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
