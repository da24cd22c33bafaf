"""The figure of the regret against the horizon, with the theorem's exponent beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stackcast._validation import InputError, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

# Okabe and Ito's colours: told apart by every kind of colour vision, and by their markers in grey.
_COLOURS, _MARKERS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7"), ("o", "s", "^", "D")


def draw_horizons(
    found: Mapping[str, Sequence[float]], ax: Axes, exponent: float = 0.5 / 14
) -> Axes:
    """Draw the regret of each series against ``found["horizon"]``, on logarithmic axes.

    The grey line falls as T^(−exponent), the leading term of the theorem for a rate t^(−1/2), from
    the first point of the first series.
    """
    lengths = np.asarray(found["horizon"], dtype=np.float64)
    names = [name for name in found if name != "horizon"]
    top = max(float(found[name][0]) for name in names)
    ax.plot(
        lengths,
        top * (lengths / lengths[0]) ** -exponent,
        color="0.55",
        linestyle="--",
        linewidth=2,
        label=f"the theorem's exponent, T^(−{exponent:.3f})",
    )
    for name, colour, marker in zip(names, _COLOURS, _MARKERS, strict=False):
        values = np.maximum(np.asarray(found[name], dtype=np.float64), 1e-6)
        ax.plot(lengths, values, marker=marker, color=colour, linewidth=2, markersize=7, label=name)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("horizon (rounds)", fontsize=14)
    ax.set_ylabel("V* − average utility", fontsize=14)
    ax.tick_params(labelsize=13)
    ax.grid(visible=True, which="major", color="0.88", linewidth=0.8)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.legend(frameon=False, fontsize=13, loc="lower left")
    return ax


def save_horizons(found: Mapping[str, Sequence[float]], path: Path) -> None:
    """Draw the figure to a PNG, SVG or PDF file, on no screen."""
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise InputError("figure", "a file that ends in .png, .svg or .pdf", shown(path.name))
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError(
            "figure", "matplotlib to draw (pip install 'stackcast[plot]')", "none"
        ) from None
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    draw_horizons(found, figure.subplots())
    figure.savefig(path, dpi=150)
