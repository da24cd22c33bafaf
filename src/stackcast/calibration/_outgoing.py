"""The outgoing fixed point of a continuous binning, in one, two or three dimensions.

Against the imbalance z a forecast p earns nature ⟨F(p), h − p⟩ at the outcome h, with the pull
F(p) = Σ_i w_i(p)·z_i. Where the weights are continuous there is a p with ⟨F(p), h − p⟩ ≤ 0 for
every h (Section 4; Hartman and Stampacchia 1966): x − Π(x) = F(Π(x)) has a solution x, Π the
projection onto the space, and p = Π(x).

On a line it is found by bisection. In two and three dimensions a homotopy leads to it (Merrill
1972): the unit interval times the hull is cut into simplexes (Freudenthal's), and a path of facets
runs from the only zero of x − c, at level 0, to a zero of the piecewise linear interpolation of
Φ(x) = x − Π(x) − F(Π(x)), at level 1. It cannot end elsewhere, since Φ points outwards far from the
space. Newton's method on Φ ends the search; where it does not converge, because of a kink, the path
is followed again from the zero found, with simplexes a fourth as large.

Everything is done in coordinates of the affine hull, and the gain that is returned is computed from
the definition.

References
----------
O. H. Merrill: Applications and extensions of an algorithm that computes fixed points of certain
upper semi-continuous point to set mappings. University of Michigan, 1972.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stackcast._compiling import entry, inner, leaf, out_of_line
from stackcast.calibration._weights import CompiledBinning, write_weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from stackcast._validation import FloatArray

#: Dimensions of the hull, and facets of a polytope, up to which points are projected by trying
#: every set of facets.
MOST_DIMENSIONS, MOST_FACETS = 3, 24

#: A residual of Φ that is small enough, relative to the size of the space.
_EXACT = 1e-13
#: The first simplexes, relative to the space; how much smaller they get, and how often.
_COARSE, _FINER, _REFINEMENTS = 0.125, 0.25, 20
_NEWTON, _HALVINGS, _STEPS = 25, 6, 20_000


@inner
def fixed_point(
    binning: CompiledBinning,
    z: FloatArray,
    frame: FloatArray,
    facets: FloatArray,
    p: FloatArray,
    w: FloatArray,
) -> None:
    """Move ``p`` to the outgoing fixed point near it, and write its weights.

    ``frame`` has the basis of the hull in its columns, and last a point in the middle; ``facets``
    the unit normals of the space with their bounds, from that point, or one row with a radius.
    """
    out_of_line()
    m, d = frame.shape[0], frame.shape[1] - 1
    size, top = _size(facets), 0.0
    for i in range(z.size):
        top = max(top, abs(z[i]))
    scale = size / top if top > 0.0 else 0.0
    x, phi, jacobian = np.empty(d), np.empty(d), np.empty((d, d + 1))
    trial, there = np.empty(d), np.empty(d)
    for a in range(d):
        x[a] = 0.0
        for j in range(m):
            x[a] += frame[j, a] * (p[j] - frame[j, d])
    # The zero x of Φ lies beyond the point p by the pull there.
    _residual(binning, z, frame, facets, scale, x, phi, w, p)
    for a in range(d):
        x[a] -= phi[a]
    mesh = _COARSE * size
    for _ in range(_REFINEMENTS):
        if _newton(binning, z, frame, facets, scale, x, phi, jacobian, trial, there, w, p, size):
            break
        _follow(binning, z, frame, facets, scale, x, mesh, w, p)
        mesh *= _FINER
    _residual(binning, z, frame, facets, scale, x, phi, w, p)


@entry
def fixed_points(
    binning: CompiledBinning,
    stack: FloatArray,
    frame: FloatArray,
    facets: FloatArray,
    points: FloatArray,
) -> None:
    """Move each point to the outgoing fixed point of its row of ``stack``."""
    w = np.empty(stack.shape[1] // points.shape[1])
    for b in range(stack.shape[0]):
        fixed_point(binning, stack[b], frame, facets, points[b], w)


def outgoing_point(pull: Callable[[float], float], low: float, high: float) -> float:
    """Return a point p of [low, high] with pull(p)·(h − p) ≤ 0 for every h of it, by bisection.

    That is a forecast against which no outcome gains (the outgoing fixed point in one dimension).
    ``pull`` is continuous; the point is exact up to one unit in the last place.

    Examples
    --------
    >>> outgoing_point(lambda p: 0.25 - p, 0.0, 1.0)
    0.25
    >>> outgoing_point(lambda p: -1.0, 0.0, 1.0)
    0.0
    """
    if pull(low) <= 0.0:
        return low
    if pull(high) >= 0.0:
        return high
    left, right = low, high
    while True:
        middle = 0.5 * (left + right)
        if not left < middle < right:
            return left if abs(pull(left)) < abs(pull(right)) else right
        if pull(middle) > 0.0:
            left = middle
        else:
            right = middle


@leaf
def _size(facets: FloatArray) -> float:
    """Return the size of the space: the farthest facet, or the radius."""
    size = 0.0
    for i in range(facets.shape[0]):
        size = max(size, facets[i, facets.shape[1] - 1])
    return 2.0 * size


@leaf
def _residual(
    binning: CompiledBinning,
    z: FloatArray,
    frame: FloatArray,
    facets: FloatArray,
    scale: float,
    x: FloatArray,
    out: FloatArray,
    w: FloatArray,
    p: FloatArray,
) -> float:
    """Write Φ(x) = x − Π(x) − scale·F(Π(x)) and the point p of Π(x); return the length of Φ(x)."""
    out_of_line()
    m, d = p.size, x.size
    _project(facets, x, out)
    for j in range(m):
        p[j] = frame[j, d]
        for a in range(d):
            p[j] += frame[j, a] * out[a]
    write_weights(binning, p, w)
    squared = 0.0
    for a in range(d):
        pull = 0.0
        for i in range(w.size):
            if w[i] > 0.0:
                for j in range(m):
                    pull += w[i] * z[i * m + j] * frame[j, a]
        out[a] = x[a] - out[a] - scale * pull
        squared += out[a] * out[a]
    return float(np.sqrt(squared))


@leaf
def _project(facets: FloatArray, x: FloatArray, out: FloatArray) -> None:
    """Write the nearest point of the space to ``x``.

    Of a polytope: the projection is that onto the facets S where it lies, y = x − A_Sᵀλ with λ ≥ 0,
    and no other set of facets has such a λ and a y in the polytope. One of them is violated at x.
    """
    out_of_line()
    r, d = facets.shape[0], x.size
    if r == 1:  # a ball
        squared = 0.0
        for a in range(d):
            squared += x[a] * x[a]
        share = 1.0
        if squared > facets[0, d] * facets[0, d]:
            share = facets[0, d] / np.sqrt(squared)
        for a in range(d):
            out[a] = share * x[a]
        return
    outside = False
    for i in range(r):
        if _beyond(facets, i, x) > 0.0:
            outside = True
    for a in range(d):
        out[a] = x[a]
    if not outside:
        return
    best = np.inf
    for i in range(r):
        first = _beyond(facets, i, x)
        if first <= 0.0:
            continue
        best = _tried(facets, x, i, -1, -1, best, out)
        if d > 1:
            for j in range(r):
                if j != i:
                    best = _tried(facets, x, i, j, -1, best, out)
                    if d > 2:
                        for k in range(j):
                            if k != i:
                                best = _tried(facets, x, i, j, k, best, out)


@leaf
def _beyond(facets: FloatArray, i: int, x: FloatArray) -> float:
    over = -facets[i, x.size]
    for a in range(x.size):
        over += facets[i, a] * x[a]
    return over


@leaf
def _tried(
    facets: FloatArray, x: FloatArray, i: int, j: int, k: int, best: float, out: FloatArray
) -> float:
    """Write the projection onto up to three facets to ``out`` if it breaks the conditions less.

    Return the least that they were broken by so far.
    """
    d = x.size
    u = _beyond(facets, i, x)
    # λ from the Gram matrix of the normals, by elimination.
    l1, l2, l3 = u, 0.0, 0.0
    if j >= 0:
        v = _beyond(facets, j, x)
        ij = _product(facets, i, j)
        det = 1.0 - ij * ij
        if det < 1e-12:
            return best
        if k < 0:
            l1, l2 = (u - ij * v) / det, (v - ij * u) / det
        else:
            t = _beyond(facets, k, x)
            ik, jk = _product(facets, i, k), _product(facets, j, k)
            whole = det - ik * ik - jk * jk + 2.0 * ij * ik * jk
            if whole < 1e-12:
                return best
            l1 = (u * (1.0 - jk * jk) + v * (ik * jk - ij) + t * (ij * jk - ik)) / whole
            l2 = (u * (ik * jk - ij) + v * (1.0 - ik * ik) + t * (ij * ik - jk)) / whole
            l3 = (u * (ij * jk - ik) + v * (ij * ik - jk) + t * det) / whole
    broken = max(-l1, -l2, -l3, 0.0)
    if broken >= best:
        return best
    for other in range(facets.shape[0]):
        over = _beyond(facets, other, x) - l1 * _product(facets, i, other)
        if j >= 0:
            over -= l2 * _product(facets, j, other)
        if k >= 0:
            over -= l3 * _product(facets, k, other)
        broken = max(broken, over)
    if broken >= best:
        return best
    for a in range(d):
        out[a] = x[a] - l1 * facets[i, a]
        if j >= 0:
            out[a] -= l2 * facets[j, a]
        if k >= 0:
            out[a] -= l3 * facets[k, a]
    return broken


@leaf
def _product(facets: FloatArray, i: int, j: int) -> float:
    total = 0.0
    for a in range(facets.shape[1] - 1):
        total += facets[i, a] * facets[j, a]
    return total


@leaf
def _newton(
    binning: CompiledBinning,
    z: FloatArray,
    frame: FloatArray,
    facets: FloatArray,
    scale: float,
    x: FloatArray,
    phi: FloatArray,
    jacobian: FloatArray,
    trial: FloatArray,
    there: FloatArray,
    w: FloatArray,
    p: FloatArray,
    size: float,
) -> bool:
    """Improve ``x`` by Newton's method with differences; tell whether Φ(x) is exact."""
    out_of_line()
    d = x.size
    length = _residual(binning, z, frame, facets, scale, x, phi, w, p)
    for _ in range(_NEWTON):
        if length <= _EXACT * size:
            return True
        for a in range(d):
            step = 1e-7 * size
            for b in range(d):
                trial[b] = x[b]
            trial[a] += step
            _residual(binning, z, frame, facets, scale, trial, there, w, p)
            for b in range(d):
                jacobian[b, a] = (there[b] - phi[b]) / step
        for b in range(d):
            jacobian[b, d] = -phi[b]
        if not _solved(jacobian):
            return False
        share, better = 1.0, False
        for _ in range(_HALVINGS):
            for a in range(d):
                trial[a] = x[a] + share * jacobian[a, d]
            new = _residual(binning, z, frame, facets, scale, trial, there, w, p)
            if new < (1.0 - 0.1 * share) * length:
                for a in range(d):
                    x[a], phi[a] = trial[a], there[a]
                length, better = new, True
                break
            share *= 0.5
        if not better:
            break
    return length <= _EXACT * size


@leaf
def _solved(matrix: FloatArray) -> bool:
    """Solve A y = b for the columns of ``matrix`` beyond the square; False if A is singular."""
    out_of_line()
    n, columns = matrix.shape
    for c in range(n):
        pivot = c
        for r in range(c + 1, n):
            if abs(matrix[r, c]) > abs(matrix[pivot, c]):
                pivot = r
        if abs(matrix[pivot, c]) < 1e-300:
            return False
        for b in range(columns):
            matrix[c, b], matrix[pivot, b] = matrix[pivot, b], matrix[c, b]
        for r in range(n):
            if r != c:
                factor = matrix[r, c] / matrix[c, c]
                for b in range(columns):
                    matrix[r, b] -= factor * matrix[c, b]
    for r in range(n):
        for b in range(n, columns):
            matrix[r, b] /= matrix[r, r]
    return True


@inner
def _follow(
    binning: CompiledBinning,
    z: FloatArray,
    frame: FloatArray,
    facets: FloatArray,
    scale: float,
    x: FloatArray,
    mesh: float,
    w: FloatArray,
    p: FloatArray,
) -> bool:
    """Follow Merrill's path from ``x`` to a zero of the interpolated Φ, which replaces ``x``."""
    out_of_line()
    d = x.size
    n = d + 1  # of the hull and the level
    corners = np.zeros((n + 1, n), dtype=np.int64)
    order = np.arange(n)
    labels = np.empty((n + 1, d))
    matrix = np.empty((n, 2 * n + 1))
    centre, point, phi = x.copy(), np.empty(d), np.empty(d)
    for v in range(1, n + 1):
        for a in range(n):
            corners[v, a] = corners[v - 1, a]
        corners[v, v - 1] += 1
    # The centre is the middle of the first facet, at level 0.
    for a in range(d):
        centre[a] = x[a] - mesh * (d - a) / (d + 1.0)
    entering = n
    for v in range(n):
        for a in range(d):
            labels[v, a] = centre[a] + mesh * corners[v, a] - x[a]
    for _ in range(_STEPS):
        for a in range(d):
            point[a] = centre[a] + mesh * corners[entering, a]
        if corners[entering, d] == 0:
            for a in range(d):
                labels[entering, a] = point[a] - x[a]
        else:
            _residual(binning, z, frame, facets, scale, point, phi, w, p)
            for a in range(d):
                labels[entering, a] = phi[a]
        # The facet without the corner that enters: Σ λ = 1, Σ λ·label = 0, by the inverse, whose
        # rows also decide between equal ratios (lexicographically).
        column = 0
        for v in range(n + 1):
            if v != entering:
                matrix[0, column] = 1.0
                for a in range(d):
                    matrix[a + 1, column] = labels[v, a]
                column += 1
        for r in range(n):
            for c in range(n):
                matrix[r, n + c] = 1.0 if r == c else 0.0
            matrix[r, 2 * n] = 1.0 if r == 0 else labels[entering, r - 1]
        if not _solved(matrix):
            return False
        leaving = -1
        for r in range(n):
            if matrix[r, 2 * n] > 1e-14 and (leaving < 0 or _before(matrix, r, leaving)):
                leaving = r
        if leaving < 0:
            return False
        gone = leaving if leaving < entering else leaving + 1
        # Turn the simplex over the facet that keeps the others.
        if gone == 0:
            for v in range(n):
                for a in range(n):
                    corners[v, a] = corners[v + 1, a]
                for a in range(d):
                    labels[v, a] = labels[v + 1, a]
            first = order[0]
            for v in range(n - 1):
                order[v] = order[v + 1]
            order[n - 1] = first
            for a in range(n):
                corners[n, a] = corners[n - 1, a]
            corners[n, first] += 1
            entering = n
        elif gone == n:
            for v in range(n, 0, -1):
                for a in range(n):
                    corners[v, a] = corners[v - 1, a]
                for a in range(d):
                    labels[v, a] = labels[v - 1, a]
            last = order[n - 1]
            for v in range(n - 1, 0, -1):
                order[v] = order[v - 1]
            order[0] = last
            for a in range(n):
                corners[0, a] = corners[1, a]
            corners[0, last] -= 1
            entering = 0
        else:
            order[gone - 1], order[gone] = order[gone], order[gone - 1]
            for a in range(n):
                corners[gone, a] = corners[gone - 1, a]
            corners[gone, order[gone - 1]] += 1
            entering = gone
        level = corners[entering, d]
        if level > 1 or level < 0:
            # All others lie on one level, and that is level 1.
            column = 0
            for v in range(n + 1):
                if v != entering:
                    matrix[0, column] = 1.0
                    for a in range(d):
                        matrix[a + 1, column] = labels[v, a]
                    column += 1
            for r in range(n):
                for c in range(n, 2 * n + 1):
                    matrix[r, c] = 0.0
                matrix[r, 2 * n] = 1.0 if r == 0 else 0.0
            if level < 0 or not _solved(matrix):
                return False
            for a in range(d):
                x[a] = 0.0
                column = 0
                for v in range(n + 1):
                    if v != entering:
                        x[a] += matrix[column, 2 * n] * (centre[a] + mesh * corners[v, a])
                        column += 1
            return True
    return False


@leaf
def _before(matrix: FloatArray, r: int, other: int) -> bool:
    """Tell whether row r has the lexicographically smaller ratios."""
    out_of_line()
    n = matrix.shape[0]
    for c in range(n, 2 * n):
        mine = matrix[r, c] / matrix[r, 2 * n]
        theirs = matrix[other, c] / matrix[other, 2 * n]
        if mine != theirs:
            return bool(mine < theirs)
    return False
