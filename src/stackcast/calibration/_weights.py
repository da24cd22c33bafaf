"""The weights of the binnings, compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stackcast._compiling import entry, leaf, out_of_line

if TYPE_CHECKING:
    from stackcast._validation import FloatArray

LINEAR, THRESHOLDS, TENTS, CONES, CELLS, FUNCTION = range(6)


class CompiledBinning(NamedTuple):
    """A binning as compiled code reads it; the meaning of the fields depends on ``kind``."""

    kind: int
    table: FloatArray
    vector: FloatArray
    tolerance: float
    number: int


@leaf
def write_weights(binning: CompiledBinning, p: FloatArray, out: FloatArray) -> None:
    """Write the weights of the forecast ``p`` into ``out``."""
    out_of_line()
    for i in range(out.size):
        out[i] = 0.0
    if binning.kind == LINEAR:
        m, n = binning.table.shape
        best = -np.inf
        for i in range(n):
            u = binning.vector[i]
            for j in range(m):
                u += p[j] * binning.table[j, i]
            out[i] = u
            best = max(best, u)
        tied = 0
        for i in range(n):
            is_best = out[i] >= best - binning.tolerance
            if is_best and (binning.number == 1 or tied == 0):
                out[i] = 1.0
                tied += 1
            else:
                out[i] = 0.0
        if tied > 1:
            for i in range(n):
                out[i] /= tied
    elif binning.kind == THRESHOLDS:
        out[_right_of(binning.vector, p[binning.number])] = 1.0
    elif binning.kind == CONES:
        _write_cones(binning, p, out)
    else:
        left, share = _tent(binning.table[0, : int(binning.vector[0])], p[0])
        if binning.vector.size == 1:
            out[left] = 1.0 - share
            out[left + 1] = share
        else:
            n2 = int(binning.vector[1])
            left2, share2 = _tent(binning.table[1, :n2], p[1])
            out[left * n2 + left2] = (1.0 - share) * (1.0 - share2)
            out[left * n2 + left2 + 1] = (1.0 - share) * share2
            out[(left + 1) * n2 + left2] = share * (1.0 - share2)
            out[(left + 1) * n2 + left2 + 1] = share * share2


@leaf
def _write_cones(binning: CompiledBinning, p: FloatArray, out: FloatArray) -> None:
    """Write (R − ‖p − x_i‖)₊ divided by its sum over i, for the rows x_i of the table."""
    out_of_line()
    radius = binning.tolerance
    total = 0.0
    nearest, least = 0, np.inf
    for i in range(out.size):
        squared = 0.0
        for j in range(binning.table.shape[1]):
            gap = p[j] - binning.table[i, j]
            squared += gap * gap
        if squared < least:
            nearest, least = i, squared
        if squared < radius * radius:
            out[i] = radius - np.sqrt(squared)
            total += out[i]
    if total > 0.0:
        for i in range(out.size):
            out[i] /= total
    else:
        out[nearest] = 1.0


@leaf
def cell_of(binning: CompiledBinning, p: FloatArray, cells: Any, clock: Any, met: int) -> int:
    """Return the number of the cell in which ``p`` lies, a new one if no forecast was in it yet.

    ``clock[met]`` counts the cells.
    """
    out_of_line()
    # The place after the last cell holds the one that is looked for.
    own = cells[clock[met]]
    for j in range(binning.vector.size):
        own[j] = np.int64(np.floor((p[j] - binning.vector[j]) / binning.tolerance))
    for i in range(clock[met]):
        same = True
        for j in range(binning.vector.size):
            if cells[i, j] != own[j]:
                same = False
                break
        if same:
            return i
    clock[met] += 1
    return int(clock[met]) - 1


@leaf
def _right_of(points: FloatArray, x: float) -> int:
    """Return how many of the increasing ``points`` are at most ``x``."""
    low, high = 0, points.size
    while low < high:
        middle = (low + high) // 2
        if points[middle] <= x:
            low = middle + 1
        else:
            high = middle
    return low


@leaf
def _tent(grid: FloatArray, x: float) -> tuple[int, float]:
    """Return the grid point to the left of ``x`` and the share of the one to its right."""
    left = min(max(_right_of(grid, x) - 1, 0), grid.size - 2)
    share = (x - grid[left]) / (grid[left + 1] - grid[left])
    return left, min(max(share, 0.0), 1.0)


@entry
def stacked_weights(binning: CompiledBinning, stack: FloatArray, bins: int) -> FloatArray:
    """Return the weights of every row of ``stack``."""
    out = np.empty((stack.shape[0], bins))
    for b in range(stack.shape[0]):
        write_weights(binning, stack[b], out[b])
    return out
