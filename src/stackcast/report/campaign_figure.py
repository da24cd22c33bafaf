"""The picture of what a campaign has learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError
from stackcast.report.figures import COLOURS, load_pyplot
from stackcast.report.learned_regions import flat, hulls
from stackcast.report.regions_figure import CORNERS

if TYPE_CHECKING:
    from pathlib import Path

    from stackcast.campaigns import Status


def draw_learned(status: Status, ax: Any = None) -> Any:
    """Draw the strategies asked, their answers, and what they prove of the regions.

    Two and three principal actions make a line and a triangle; more cannot be drawn whole, and bars
    show how many strategies drew each answer.

    Parameters
    ----------
    status : Status
        What is known.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    The Axes.
    """
    if ax is None:
        _, ax = load_pyplot().subplots()
    names, actions = status.game.principal_actions, status.game.agent_actions
    if len(names) not in (2, 3):
        counts = [sum(row.response == y for row in status.answers) for y in range(len(actions))]
        ax.barh(actions, counts, color=[COLOURS[y % len(COLOURS)] for y in range(len(actions))])
        ax.set_xlabel("strategies that drew this answer")
    else:
        _draw_flat(status, ax)
    ax.set_title(_title(status), fontsize=11, pad=18)
    return ax


def _draw_flat(status: Status, ax: Any) -> None:
    names, actions = status.game.principal_actions, status.game.agent_actions
    for y, corners in hulls(status).items():
        colour = COLOURS[y % len(COLOURS)]
        ax.fill(corners[:, 0], corners[:, 1], facecolor=colour, alpha=0.4, edgecolor=colour, lw=3)
    for y, action in enumerate(actions):
        points = [row.strategy for row in status.answers if row.response == y]
        if points:
            place = flat(np.array(points))
            colour = COLOURS[y % len(COLOURS)]
            ax.scatter(*place.T, color=colour, edgecolor="white", s=42, label=action, zorder=3)
    unclear = [row.strategy for row in status.answers if row.response is None]
    if unclear:
        ax.scatter(*flat(np.array(unclear)).T, color="grey", marker="x", label="no clear answer")
    ax.plot(*flat(status.strategy), marker="*", markersize=20, color="black", zorder=5)
    if len(names) == 3:
        ax.fill(CORNERS[:, 0], CORNERS[:, 1], facecolor="none", edgecolor="black", linewidth=1)
        for (x, z), name in zip(CORNERS, names, strict=True):
            shift, side = (0.02, "bottom") if z > 0 else (-0.02, "top")
            ax.text(x, z + shift, name, ha="center", va=side, fontsize=11, style="italic")
        ax.set_aspect("equal")
    else:
        ax.plot([0, 1], [0, 0], color="black", linewidth=1, zorder=0)
        for x, name in enumerate(names):
            ax.text(x, -0.06, name, ha="center", va="top", fontsize=11, style="italic")
        ax.set_ylim(-0.3, 0.3)
    ax.set_axis_off()
    if status.answers:
        ax.legend(title="the agent answers", frameon=False, loc="upper right")


def _title(status: Status) -> str:
    name = status.game.name or "campaign"
    if status.response is None:
        return f"{name}: nothing learned yet"
    answer = status.game.agent_actions[status.response]
    return f"{name}: best so far (★) draws {answer!r} and earns {status.value:.4g}"


def save_learned(status: Status, path: Path) -> None:
    """Write the picture to a PNG, SVG or PDF file."""
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise InputError(f"{path}", "a file name that ends in .png, .svg or .pdf", path.name)
    pyplot = load_pyplot()
    figure, ax = pyplot.subplots(figsize=(6.4, 5.2))
    try:
        draw_learned(status, ax)
        figure.savefig(path, dpi=160, bbox_inches="tight")
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(f"{path}", "a place that can be written to", reason) from None
    finally:
        pyplot.close(figure)
