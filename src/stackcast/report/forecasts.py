"""Forecasts in pictures: reliability with its band, errors by interval, and a page of both."""

from __future__ import annotations

from functools import partial
from importlib import import_module, util
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast.calibration import (
    ForecastCertificate,
    ForecastTable,
    certify,
    interval_errors,
    recalibrate,
    reliability,
    table_bins,
)
from stackcast.report.pages import element, figure, page, table
from stackcast.report.series import draw_profile
from stackcast.report.style import (
    BLUE,
    GREY,
    VERMILION,
    in_figure,
    load_pyplot,
    new_axes,
    plain_axes,
    rendered,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Small multiples in one row at most.
_ABREAST = 3


def smooth_error(forecasts: Any, outcomes: Any) -> float | None:
    """Return the smooth calibration error of relplot; None if relplot is not installed."""
    if util.find_spec("relplot") is None:
        return None
    return float(import_module("relplot").smECE(np.asarray(forecasts), np.asarray(outcomes)))


def draw_reliability(
    forecasts: Any,
    outcomes: Any,
    ax: Any = None,
    *,
    cells: int = 10,
    level: float = 0.05,
    title: str = "",
) -> Any:
    """Draw the observed frequency of a yes/no event against its forecasts.

    Right forecasts keep every dot inside the band, whenever one looks, with a chance of 1 − level;
    dots outside are red. The smooth calibration error is told if relplot is installed.

    Parameters
    ----------
    forecasts, outcomes : array_like
        T probabilities, and 1 or 0 (or a number between).
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.
    cells, level
        As for :func:`stackcast.calibration.reliability`.
    title : str

    Returns
    -------
    Axes

    Examples
    --------
    >>> draw_reliability([0.2, 0.7] * 50, [0, 1] * 50).get_xlabel()
    'forecast'
    """
    found = reliability(forecasts, outcomes, cells, level)
    ax = new_axes(ax, (4.6, 4.4))
    x, red = found.forecasts, found.outside
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1.2, zorder=1)
    ax.vlines(x, found.low, found.high, color=BLUE, linewidth=9, alpha=0.25, zorder=2)
    size = 20 + 120 * np.sqrt(found.rounds / found.rounds.max())
    for inside, colour, name in ((~red, BLUE, "inside"), (red, VERMILION, "outside")):
        if inside.any():
            ax.scatter(
                x[inside], found.frequencies[inside], size[inside], colour,
                marker="o" if name == "inside" else "X", edgecolor="white", linewidth=0.7, zorder=3,
                label=f"{name} the band of right forecasts",
            )  # fmt: skip
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="forecast", ylabel="frequency")
    smooth = smooth_error(forecasts, outcomes)
    told = [] if smooth is None else [f"smooth ECE {smooth:.3f}"]
    ax.set_title(
        ", ".join([*([in_figure(title)] if title else []), *told]), fontsize=12, loc="left"
    )
    plain_axes(ax)
    ax.set_aspect("equal")
    ax.legend(frameon=False, fontsize=10, loc="upper left")
    return ax


def draw_reliabilities(
    forecasts: Any,
    outcomes: Any,
    names: Sequence[str] = (),
    axes: Any = None,
    *,
    cells: int = 10,
    level: float = 0.05,
) -> Any:
    """Draw a reliability diagram for each of m outcomes, side by side.

    Parameters
    ----------
    forecasts : array_like
        T×m probabilities.
    outcomes : array_like
        T labels 0 … m − 1, or T×m.
    names : list of str, optional
        The outcomes' names.
    axes : array of Axes, optional
        m of them; a new figure otherwise.
    cells, level
        As for :func:`draw_reliability`; the level is shared by the outcomes.

    Examples
    --------
    >>> axes = draw_reliabilities([[0.2, 0.3, 0.5]] * 50, [2, 2, 1, 0, 2] * 10, ["a", "b", "c"])
    >>> [ax.get_title(loc="left").partition(",")[0] for ax in axes]
    ['a', 'b', 'c']
    """
    P, y = np.asarray(forecasts, dtype=np.float64), np.asarray(outcomes)
    m = P.shape[1]
    H = np.eye(m)[y.astype(np.int64)] if y.ndim == 1 else y
    if axes is None:
        wide, high = min(m, _ABREAST), -(-m // _ABREAST)
        _, made = load_pyplot().subplots(
            high, wide, figsize=(4.2 * wide, 4.2 * high), layout="constrained", squeeze=False
        )
        axes = made.ravel()
        for empty in axes[m:]:
            empty.set_visible(False)
    shown = list(np.ravel(axes)[:m])
    for j, ax in enumerate(shown):
        title = names[j] if names else f"outcome {j + 1}"
        draw_reliability(P[:, j], H[:, j], ax, cells=cells, level=level / m, title=title)
        if j:
            ax.get_legend().remove()
    return shown


def draw_intervals(
    outcomes: Any,
    forecasts: Any = None,
    bins: Any = None,
    ax: Any = None,
    *,
    rate: Any = None,
    dates: Sequence[str] = (),
) -> Any:
    """Draw the error of every interval over its rate: start × length, blue too low, red too high.

    Parameters
    ----------
    outcomes, forecasts, bins, rate
        As for :func:`stackcast.calibration.interval_errors`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.
    dates : list of str, optional
        What to call the rounds.

    Examples
    --------
    >>> draw_intervals([1, 0] * 100, [0.5] * 200, [0] * 200).get_ylabel()
    'length (rounds)'
    """
    found = interval_errors(outcomes, forecasts, bins, rate)
    ax = new_axes(ax, (7.2, 3.6))
    edges = np.sqrt(found.lengths[1:] * found.lengths[:-1])
    edges = np.concatenate([[found.lengths[0]], edges, [found.lengths[-1] * 1.05]])
    shades = ax.pcolormesh(
        found.starts + 1, edges, found.ratios, cmap="RdBu", vmin=-2, vmax=2, rasterized=True
    )
    outside = np.abs(found.ratios) > 1
    if outside.any():
        middles = (found.starts[1:] + found.starts[:-1]) / 2 + 1
        ax.contour(
            middles, np.sqrt(edges[1:] * edges[:-1]), np.where(outside, 1.0, 0.0), [0.5],
            colors="black", linewidths=1.2,
        ) if min(outside.shape) > 1 else None  # fmt: skip
    bar = ax.figure.colorbar(shades, ax=ax, extend="both", ticks=[-2, -1, 0, 1, 2])
    bar.ax.set_yticklabels(["2 too high", "1", "0", "1", "2 too low"])
    bar.set_label("error / rate", fontsize=12)
    ax.set_yscale("log")
    ax.set(xlabel="first round", ylabel="length (rounds)")
    if dates:
        ticks = np.unique(np.linspace(0, len(dates) - 1, 5).astype(int))
        ax.set_xticks(ticks + 1, [in_figure(dates[t], 10) for t in ticks])
        ax.set_xlabel("first round of the interval")
    plain_axes(ax)
    ax.grid(visible=False)
    return ax


def forecast_page(told: ForecastTable, found: ForecastCertificate, threshold: Any = None) -> str:
    """Return the page of a certificate: verdict, pictures, and the corrected forecasts beside it.

    Parameters
    ----------
    told : ForecastTable
    found : ForecastCertificate
        Of this table.
    threshold : optional
        The thresholds that it was made for.
    """
    P, y, profile = told.forecasts, told.outcomes, found.profile
    bins, names = table_bins(told, threshold)
    parts = [element("h1", f"Forecasts: {told.source or 'a table'}")]
    parts += [element("p", found.sentences()[0], "found")]
    parts += [element("p", sentence) for sentence in found.sentences()[1:]]
    parts += [element("h2", "Frequency against forecast"), *_reliabilities(P, y, told, "told")]
    parts.append(element("h2", "Where the error lies in time"))
    drawn, _ = rendered(
        lambda ax: draw_intervals(y, P, bins, ax, rate=profile.rate, dates=told.dates), (7.6, 3.6)
    )
    caption = "Every interval by its start and length; black lines enclose those beyond the rate."
    parts.append(figure(drawn, "intervals", caption))
    drawn, _ = rendered(lambda ax: draw_profile(profile, ax), (6.4, 4.4))
    caption = "The worst error of each length, and the rate that is allowed."
    parts.append(figure(drawn, "profile", caption))
    if told.classes and y.ndim == 2:  # mixed strategies: nothing that happened to learn from
        return page("Forecasts", parts)
    labels = y.astype(np.int64) if told.classes else y
    mended = recalibrate(P, labels, threshold, classes=told.classes or None)
    decided = names if told.bins is None or threshold is not None else {}
    again = certify(
        labels, mended.forecasts, mended.decisions, rate=profile.rate,
        bin_names=decided, classes=told.classes, dates=told.dates,
    )  # fmt: skip
    errors = profile.largest_bin_error, again.profile.largest_bin_error
    rows = [
        ("log loss", *mended.log_losses),
        ("Brier score", *mended.brier_scores),
        ("largest error of a bin over all rounds", *errors),
        ("largest error over rate, all intervals", profile.lower, again.profile.lower),
    ]
    parts += [element("h2", "The same forecasts, corrected round by round")]
    parts += [element("p", sentence) for sentence in again.sentences()[:2]]
    parts.append(table(("", "as they are", "corrected"), rows))
    parts += _reliabilities(mended.forecasts, y, told, "corrected")
    return page("Forecasts", parts)


def _reliabilities(P: Any, y: Any, told: ForecastTable, prefix: str) -> list[str]:
    """Return reliability diagrams as figures of a page, one for each outcome."""
    caption = (
        "How often it happened where the forecasts said so much; larger marks stand for more "
        "forecasts. Right forecasts keep every mark inside its band, whenever one looks, with a "
        "chance of 95%."
    )
    if told.yes_no:
        P, H = P[:, None], y[:, None]
    else:
        H = np.eye(P.shape[1])[y.astype(np.int64)] if y.ndim == 1 else y
    m = P.shape[1]
    names = told.classes or ("yes",)

    def draw(axes: Any, first: int) -> None:
        for j, ax in enumerate(axes, first):
            if j < m:
                draw_reliability(P[:, j], H[:, j], ax, level=0.05 / m, title=names[j])
            ax.set_visible(j < m)

    parts = []
    for first in range(0, m, _ABREAST):
        drawn, _ = rendered(partial(draw, first=first), (11.4, 4.5), _ABREAST)
        parts.append(figure(drawn, f"{prefix}-{first}", caption if first + _ABREAST >= m else ""))
    return parts
