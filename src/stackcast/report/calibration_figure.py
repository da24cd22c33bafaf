"""The figure of a calibration profile: the worst error against the length of the interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stackcast._validation import InputError, shown

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from stackcast.calibration import CalibrationProfile

# Okabe and Ito's blue and vermilion: told apart by every kind of colour vision, and in grey.
_ERROR, _RATE = "#0072B2", "#D55E00"


def draw_profile(profile: CalibrationProfile, ax: Axes | None = None) -> Axes:
    """Draw the worst error for each chosen length, with the rate beside it, on logarithmic axes.

    Parameters
    ----------
    profile : CalibrationProfile
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from stackcast.calibration import calibration_profile
    >>> ax = draw_profile(calibration_profile([1, 0] * 50, [0.5] * 100, bins=[0] * 100))
    >>> ax.get_xlabel()
    'interval length (rounds)'
    """
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    lengths = np.array(list(profile.errors), dtype=np.float64)
    errors = np.array(list(profile.errors.values()))
    grid = np.unique(np.geomspace(1, profile.rounds, 200).round())
    rates = np.asarray(profile.rate(grid), dtype=np.float64)
    ax.plot(grid, rates, "--", color=_RATE, linewidth=2.4, label="rate: the error allowed")
    seen = errors > 0  # a logarithmic axis has no place for an error of 0
    ax.plot(
        lengths[seen],
        errors[seen],
        "o-",
        color=_ERROR,
        linewidth=2.4,
        markersize=6,
        label="worst error of that length",
    )
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("interval length (rounds)", fontsize=14)
    ax.set_ylabel("calibration error", fontsize=14)
    ax.set_title(
        f"error/rate over all intervals ≥ {profile.shortest}: "
        f"{profile.lower:.3g} to {profile.upper:.3g}",
        fontsize=13,
        loc="left",
    )
    ax.tick_params(labelsize=13)
    ax.grid(visible=True, which="major", color="0.88", linewidth=0.8)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.legend(frameon=False, fontsize=13, loc="lower left")
    return ax


def save_profile(profile: CalibrationProfile, path: Path) -> None:
    """Draw the profile to a PNG, SVG or PDF file, on no screen."""
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise InputError("figure", "a file that ends in .png, .svg or .pdf", shown(path.name))
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError(
            "figure", "matplotlib to draw (pip install 'stackcast[plot]')", "none"
        ) from None
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    draw_profile(profile, figure.subplots())
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise InputError(
            "figure", "a place where a file can be written", shown(str(error))
        ) from None
