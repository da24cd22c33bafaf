"""The picture of a game's best-response regions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast.games import FiniteGame
from stackcast.report.figures import COLOURS, load_pyplot, short_name
from stackcast.solvers import BestResponseRegions

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.games import Game
    from stackcast.solvers import Solution

#: Corners of the drawn triangle: the first action on top, the second left, the third right.
CORNERS = np.array([[0.5, math.sqrt(0.75)], [0.0, 0.0], [1.0, 0.0]])


def draw_regions(game: Game, solution: Solution | None = None, ax: Any = None) -> Any:
    """Draw the best-response regions and, if given, the commitment of a solution.

    Three principal actions make a triangle. Two make the principal's utility along the line of
    mixed strategies. More, and coverage of targets, cannot be drawn whole: bars show each region's
    share of the strategies.

    Parameters
    ----------
    game : Game
    solution : Solution, optional
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    The Axes.
    """
    if ax is None:
        _, ax = load_pyplot().subplots()
    if isinstance(game, FiniteGame) and game.shape[0] in (2, 3):
        draw = draw_line if game.shape[0] == 2 else draw_triangle
        draw(game, solution, ax)
    else:
        _draw_shares(game, solution, ax)
    return ax


def draw_triangle(
    game: FiniteGame, solution: Solution | None, ax: Any, *, names_beside: bool = False
) -> None:
    """Draw the regions of a game with three principal actions; ``names_beside`` leaves room."""
    regions = BestResponseRegions(game)
    star = None if solution is None else solution.strategy @ CORNERS
    beside = []
    for y, action in enumerate(game.agent_actions):
        corners = regions.polytope(y).vertices
        if len(corners) < 3:
            continue
        flat = corners @ CORNERS
        (patch,) = ax.fill(
            flat[:, 0],
            flat[:, 1],
            facecolor=COLOURS[y % len(COLOURS)],
            alpha=0.55,
            edgecolor="white",
            linewidth=1.5,
        )
        place, room = _label_place(flat, star)
        if room > _CHARACTER * len(action) and not names_beside:
            ax.text(*place, action, ha="center", va="center", fontsize=11)
        else:
            patch.set_label(short_name(action))
            beside.append(patch)
    if beside:
        ax.legend(handles=beside, loc="upper right", frameon=False, title="the agent answers")
    ax.fill(CORNERS[:, 0], CORNERS[:, 1], facecolor="none", edgecolor="black", linewidth=1)
    for (x, z), name in zip(CORNERS, game.principal_actions, strict=True):
        shift, side = (0.02, "bottom") if z > 0 else (-0.02, "top")
        ax.text(x, z + shift, name, ha="center", va=side, fontsize=11, style="italic")
    if star is not None:
        _mark(ax, star)
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set_title(_title(game, solution), fontsize=12, pad=22)


#: The width of a letter where the triangle's sides have length 1.
_CHARACTER = 0.022


def _label_place(flat: FloatArray, star: FloatArray | None) -> tuple[FloatArray, float]:
    """Return the point of a polygon with the widest free line through it, and that width."""
    best, room = flat.mean(axis=0), 0.0
    low, high = flat[:, 1].min(), flat[:, 1].max()
    for z in np.linspace(low, high, 60)[3:-3]:
        crossings = []
        for (x0, z0), (x1, z1) in zip(flat, np.roll(flat, -1, axis=0), strict=True):
            if (z0 > z) != (z1 > z):
                crossings.append(x0 + (z - z0) / (z1 - z0) * (x1 - x0))
        if len(crossings) < 2 or (star is not None and abs(z - star[1]) < 0.05):
            continue
        width = max(crossings) - min(crossings)
        # Not too close to a corner: what is free above and below counts as well.
        free = min(width, 6 * (z - low), 6 * (high - z))
        if free > room:
            best, room = np.array([(max(crossings) + min(crossings)) / 2, z]), free
    return best, room


def draw_line(game: FiniteGame, solution: Solution | None, ax: Any) -> None:
    """Draw the principal's utility along the line of mixtures of two actions."""
    regions = BestResponseRegions(game)
    for y, action in enumerate(game.agent_actions):
        ends = regions.polytope(y).vertices
        if len(ends) < 2 or abs(ends[0, 1] - ends[1, 1]) < 1e-12:
            continue
        utility = ends @ game.principal_payoffs[:, y]
        ax.plot(
            ends[:, 1],
            utility,
            color=COLOURS[y % len(COLOURS)],
            linewidth=4,
            label=action,
            solid_capstyle="butt",
        )
    if solution is not None:
        _mark(ax, np.array([solution.strategy[1], solution.value]))
    ax.set_xlim(-0.03, 1.03)
    ax.set_xlabel(f"probability of {game.principal_actions[1]!r}")
    ax.set_ylabel("principal's utility")
    ax.legend(title="the agent answers", frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(_title(game, solution), fontsize=12)


def _draw_shares(game: Game, solution: Solution | None, ax: Any) -> None:
    shares = BestResponseRegions(game).volume_shares()
    order = np.argsort(shares.share)
    low, high = shares.share - shares.lower, shares.upper - shares.share
    ax.barh(
        [game.agent_actions[y] for y in order],
        100 * shares.share[order],
        xerr=100 * np.array([low[order], high[order]]),
        color=[COLOURS[y % len(COLOURS)] for y in order],
        ecolor="dimgray",
    )
    ax.set_xlabel("share of the strategies that draw this answer, %")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(_title(game, solution), fontsize=12)


def _mark(ax: Any, point: FloatArray) -> None:
    ax.plot(*point, marker="*", markersize=20, color="black", markeredgecolor="white", zorder=5)


def _title(game: Game, solution: Solution | None) -> str:
    name = game.name or "game"
    if solution is None:
        return f"{name}: best-response regions"
    answer, value = solution.response_name, f"{solution.value:.4g}"
    return f"{name}: the best commitment (★) draws {answer!r} and earns {value}"
