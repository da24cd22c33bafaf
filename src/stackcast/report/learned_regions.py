"""What a campaign's answers prove of the best-response regions, in two dimensions.

Regions are convex: between strategies that drew the same response, every strategy draws it. So the
hull of the strategies that drew a response is a part of its region for certain, as far as answers
are right; what lies in no hull is not known yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stackcast.report.regions_figure import CORNERS

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.campaigns import Status


def flat(strategies: FloatArray) -> FloatArray:
    """Return strategies over two or three actions as points of the drawn line or triangle."""
    if strategies.shape[-1] == 2:
        return np.stack([strategies[..., 1], np.zeros(strategies.shape[:-1])], axis=-1)
    return strategies @ CORNERS


def hulls(status: Status) -> dict[int, FloatArray]:
    """Return the corners of the part of each response's region that is known, as drawn points."""
    found: dict[int, list[FloatArray]] = {}
    for row in status.answers:
        if row.response is not None:
            found.setdefault(row.response, []).append(row.strategy)
    return {y: hull(flat(np.array(points))) for y, points in sorted(found.items())}


def hull(points: FloatArray) -> FloatArray:
    """Return the corners of the convex hull of points in the plane, counterclockwise.

    Examples
    --------
    >>> hull(np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.5], [1.0, 2.0]])).tolist()
    [[0.0, 0.0], [2.0, 0.0], [1.0, 2.0]]
    """
    ordered = np.unique(points, axis=0)
    if len(ordered) < 3:
        return ordered
    halves = []
    for sequence in (ordered, ordered[::-1]):
        half: list[FloatArray] = []
        for point in sequence:
            while len(half) > 1 and _turn(half[-2], half[-1], point) <= 1e-15:
                half.pop()
            half.append(point)
        halves += half[:-1]
    return np.array(halves)


def inside(corners: FloatArray, point: FloatArray, tolerance: float) -> bool:
    """Tell whether a point lies in a hull, or within ``tolerance`` of one of its sides."""
    sides = list(zip(corners, np.roll(corners, -1, axis=0), strict=True))
    if len(corners) > 2 and all(_turn(a, b, point) >= 0 for a, b in sides):
        return True
    for a, b in sides:
        length = float((b - a) @ (b - a))
        share = min(max(float((point - a) @ (b - a)) / length, 0.0), 1.0) if length else 0.0
        if float(np.linalg.norm(a + share * (b - a) - point)) <= tolerance:
            return True
    return False


def _turn(a: FloatArray, b: FloatArray, c: FloatArray) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
