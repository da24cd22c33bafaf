"""Figures of continuous games: regret against epochs, and what strategic classification did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError, shown
from stackcast.report.figures import COLOURS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from stackcast.auditing import ClassificationReport

_MARKERS = ("o", "s", "^", "D")
_STYLES = ("-", "--")
_SIZE = 13


def draw_regrets(
    found: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]], ax: Axes, unit: str
) -> Axes:
    """Draw regret against ``unit``: a line style for each principal, a colour for each series.

    ``found`` has, for each principal, the series by name, each of pairs (length, regret).
    """
    for style, (principal, series) in zip(_STYLES, found.items(), strict=False):
        for i, (name, pairs) in enumerate(series.items()):
            lengths, regrets = np.array(pairs, dtype=np.float64).T
            ax.plot(
                lengths,
                np.maximum(regrets, 1e-7),
                style,
                color=COLOURS[(5, 6, 2, 3)[i % 4]],
                marker=_MARKERS[i % len(_MARKERS)],
                markersize=6,
                linewidth=2,
                markerfacecolor="white" if style == "--" else None,
                label=f"{principal}, {name}",
            )
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel(unit, fontsize=_SIZE)
    ax.set_ylabel("V* − average utility", fontsize=_SIZE)
    ax.tick_params(labelsize=_SIZE - 1)
    ax.legend(
        frameon=False, fontsize=_SIZE - 2, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncol=2
    )
    _tidy(ax)
    return ax


def draw_classification(report: ClassificationReport, axes: Sequence[Axes]) -> None:
    """Draw utilities beside V* (first axes) and the shift of every feature (second)."""
    rules = {"optimal": report.optimal, "last played": report.last, "naive": report.naive}
    colours = [COLOURS[i] for i in (2, 5, 6)]
    utilities, shifts = axes
    values = [rule.utility for rule in rules.values()]
    utilities.axvline(report.optimal.utility, color="0.6", linewidth=1.5)
    utilities.axvline(report.believed, color="0.3", linestyle=":", linewidth=2)
    for row, (rule, colour) in enumerate(zip(rules.values(), colours, strict=True)):
        utilities.plot(rule.utility, row, "o", color=colour, markersize=11)
        words = f"{rule.utility:.4f}, balanced accuracy {100 * rule.balanced_accuracy:.1f}%"
        utilities.annotate(
            words,
            (0.5, row),
            (0, 10),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            ha="center",
            fontsize=_SIZE - 2,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
        )
    span = max(report.believed, *values) - min(values)
    utilities.set_xlim(min(values) - 0.12 * span, max(report.believed, *values) + 0.12 * span)
    utilities.set_ylim(-0.6, len(rules) - 0.5)
    utilities.set_yticks(range(len(rules)), list(rules))
    utilities.locator_params(axis="x", nbins=5)
    utilities.set_title("utility (line: V*; dotted: naive expects)", fontsize=_SIZE)
    places = np.arange(len(report.features))
    for i, ((name, rule), colour) in enumerate(zip(rules.items(), colours, strict=True)):
        shifts.barh(places + 0.26 * (i - 1), rule.shift, height=0.24, color=colour, label=name)
    shifts.set_yticks(places, report.features)
    shifts.set_title("shift of those who will not pay (std. dev.)", fontsize=_SIZE)
    shifts.axvline(0.0, color="0.3", linewidth=1)
    shifts.legend(frameon=False, fontsize=_SIZE - 2)
    for ax in axes:
        ax.tick_params(labelsize=_SIZE - 1)
        ax.invert_yaxis()
        _tidy(ax)


def save_classification(report: ClassificationReport, path: Path) -> None:
    """Draw the two panels of :func:`draw_classification` to a file, on no screen."""
    figure = new_figure(path, (11.0, 3.0 + 0.25 * len(report.features)))
    draw_classification(report, figure.subplots(1, 2))
    figure.savefig(path, dpi=150)


def save_regrets(
    panels: Mapping[str, Mapping[str, Mapping[str, Sequence[tuple[float, float]]]]], path: Path
) -> None:
    """Draw one panel for each unit (its name is the label of the axis) to a file."""
    figure = new_figure(path, (6.0 * len(panels), 6.0))
    axes = np.atleast_1d(figure.subplots(1, len(panels)))
    for ax, (unit, found) in zip(axes, panels.items(), strict=True):
        draw_regrets(found, ax, unit)
    figure.savefig(path, dpi=150)


def new_figure(path: Path, size: tuple[float, float]) -> Any:
    """Return an empty figure for a PNG, SVG or PDF file."""
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise InputError("figure", "a file that ends in .png, .svg or .pdf", shown(path.name))
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError(
            "figure", "matplotlib to draw (pip install 'stackcast[plot]')", "none"
        ) from None
    return Figure(figsize=size, layout="constrained")


def _tidy(ax: Axes) -> None:
    ax.grid(visible=True, which="major", color="0.88", linewidth=0.8)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
