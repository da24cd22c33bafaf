"""The figure of what was played: regions, optimum, commitment, questions in order, forecasts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast.report.figures import GREY, colours_of, new_axes, plain_axes, short_name
from stackcast.report.regions_figure import CORNERS, draw_line, draw_triangle
from stackcast.report.rounds import (
    action_names,
    explored_and_committed,
    played_game,
    sampled_forecasts,
)

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.protocol import Transcript
    from stackcast.report.rounds import Asked
    from stackcast.solvers import Solution

_CLOUD = 3000
#: Parallel axes for more actions than this cannot be read: those that matter most are shown.
_MOST_AXES = 12


def draw_strategies(
    transcript: Transcript, game: Any = None, solution: Solution | None = None, ax: Any = None
) -> Any:
    """Draw where a play took place.

    Three principal actions: the triangle of mixed strategies with the best-response regions. Two:
    the principal's utility along the line of them. More, and other spaces: one axis for each
    action, every strategy a line. Dots from white to black are the explored strategies in order,
    the diamond is the (last) commitment, the star V*'s point, the fine cloud the forecasts.

    Parameters
    ----------
    transcript : Transcript
    game : game, optional
        If the transcript does not hold it.
    solution : Solution, optional
        The optimal commitment, for the star.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    The Axes.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.load_game("inspection")
    >>> principal = sc.principals.Fixed(game.principal_view, [0.4, 0.3, 0.3])
    >>> t = sc.play(principal, sc.agents.BestResponse(game.agent_view), 100, game)
    >>> len(draw_strategies(t, solution=sc.solve(game)).get_legend().get_texts())
    2
    """
    game = played_game(transcript, game)
    ax = new_axes(ax)
    explored, commitment = explored_and_committed(transcript)
    cloud = sampled_forecasts(transcript, _CLOUD)
    mixtures = hasattr(game, "agent_payoffs")  # a finite game: regions of mixed strategies
    if mixtures and game.shape[0] == 3:
        _draw_ternary(game, solution, explored, commitment, cloud, ax)
    elif mixtures and game.shape[0] == 2:
        _draw_along(game, solution, explored, commitment, cloud, ax)
    else:
        _draw_parallel(game, solution, explored, commitment, cloud, ax)
    ax.set_title("")
    return ax


def _shades(count: int) -> list[str]:
    """Return greys from white to black."""
    return [f"{level:.3f}" for level in np.linspace(1.0, 0.0, max(count, 2))]


def _dots(ax: Any, points: FloatArray, size: float = 34) -> None:
    if not len(points):
        return
    shades = _shades(len(points))[: len(points)]
    ax.scatter(
        points[:, 0], points[:, 1], s=size, c=shades, edgecolors="black", linewidths=0.8, zorder=6
    )


def _landmarks(
    ax: Any, star: FloatArray | None, diamond: FloatArray, count: int, cloud: bool
) -> list[Any]:
    """Draw the commitment and V*'s point; return the entries of the legend."""
    from matplotlib.lines import Line2D

    style: dict[str, Any] = {"linestyle": "", "markeredgecolor": "black"}
    ax.plot(
        *diamond, marker="D", markersize=10, color="white", markeredgewidth=2, zorder=7, **style
    )
    entries = [Line2D([], [], marker="D", color="white", markersize=9, label="commitment", **style)]
    if star is not None:
        ax.plot(*star, marker="*", markersize=15, color="black", markeredgecolor="white", zorder=8)
        entries.append(
            Line2D([], [], marker="*", color="black", markersize=11, linestyle="", label="V*")
        )
    if count:
        word = f"explored, white to black ({count})"
        entries.append(Line2D([], [], marker="o", color="0.6", markersize=7, label=word, **style))
    if cloud:
        entries.append(
            Line2D(
                [], [], marker=".", color="#7A1F5C", markersize=7, linestyle="", label="forecasts"
            )
        )
    return entries


def _draw_ternary(
    game: Any,
    solution: Solution | None,
    explored: list[Asked],
    commitment: Asked,
    cloud: FloatArray | None,
    ax: Any,
) -> None:
    draw_triangle(game, None, ax, names_beside=True)
    regions = ax.get_legend()
    if regions is not None:
        regions.set_loc("upper left")
        regions.set_bbox_to_anchor((0.86, 1.12))
        ax.add_artist(regions)
        regions.set_clip_on(False)
    points = np.array([entry.strategy @ CORNERS for entry in explored]).reshape(-1, 2)
    diamond = commitment.strategy @ CORNERS
    star = None if solution is None else solution.strategy @ CORNERS
    near = ax.inset_axes((0.95, 0.06, 0.42, 0.42))
    draw_triangle(game, None, near, names_beside=True)
    near.get_legend().remove()
    for place in (ax, near):
        if cloud is not None:
            flat = cloud @ CORNERS
            _draw_cloud(place, flat[:, 0], flat[:, 1], 0.35)
        if len(points):
            place.plot(*points.T, color="black", linewidth=0.5, alpha=0.35, zorder=5)
        _dots(place, points)
        entries = _landmarks(place, star, diamond, len(points), cloud is not None)
    _zoom(near, diamond, star)
    ax.indicate_inset_zoom(near, edgecolor="black", alpha=1.0)
    ax.legend(
        handles=entries, loc="upper left", bbox_to_anchor=(0.86, 0.80), frameon=False, fontsize=11
    )


def _zoom(near: Any, diamond: FloatArray, star: FloatArray | None) -> None:
    """Show the surroundings of the commitment alone."""
    middle = diamond if star is None else (diamond + star) / 2
    apart = 0.0 if star is None else float(np.abs(diamond - star).max())
    reach = max(0.07, 0.8 * apart)
    near.set_xlim(middle[0] - reach, middle[0] + reach)
    near.set_ylim(middle[1] - reach, middle[1] + reach)
    near.set_title("")
    for text in near.texts:  # the names of corners that lie outside
        text.set_clip_on(True)
    near.set_axis_on()
    near.set_xticks([])
    near.set_yticks([])


def _draw_cloud(ax: Any, x: FloatArray, y: FloatArray, alpha: float) -> None:
    # Thousands of dots: pixels inside the vector file, which stays small.
    ax.scatter(x, y, s=5, c="#7A1F5C", alpha=alpha, linewidths=0, zorder=4, rasterized=True)


def _draw_along(
    game: Any,
    solution: Solution | None,
    explored: list[Asked],
    commitment: Asked,
    cloud: FloatArray | None,
    ax: Any,
) -> None:
    draw_line(game, None, ax)

    def place(entry: Asked) -> FloatArray:
        utility = game.principal_view.utilities(entry.strategy)[entry.response]
        return np.array([entry.strategy[1], utility])

    plain_axes(ax)
    low, high = ax.get_ylim()
    if cloud is not None:
        # The forecasts as a density along the bottom: its area is what counts.
        counts, edges = np.histogram(cloud[:, 1], bins=100, range=(0, 1))
        floor = low - 0.22 * (high - low)
        top = 0.18 * (high - low) * np.sqrt(counts / counts.max())
        ax.fill_between(
            edges, floor, floor + np.append(top, top[-1]), step="post", color="#7A1F5C", alpha=0.5
        )
        ax.set_ylim(floor, high)
    points = np.array([place(entry) for entry in explored]).reshape(-1, 2)
    _dots(ax, points)
    star = None if solution is None else np.array([solution.strategy[1], solution.value])
    entries = _landmarks(ax, star, place(commitment), len(points), cloud is not None)
    answers, names = ax.get_legend_handles_labels()
    ax.legend(
        handles=[*answers, *entries],
        labels=[
            *(f"answer {short_name(name)!r}" for name in names),
            *(e.get_label() for e in entries),
        ],
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        frameon=False,
        fontsize=11,
    )


def _draw_parallel(
    game: Any,
    solution: Solution | None,
    explored: list[Asked],
    commitment: Asked,
    cloud: FloatArray | None,
    ax: Any,
) -> None:
    from matplotlib.lines import Line2D

    names = [short_name(name, 20) for name in action_names(game)]
    rows = [entry.strategy for entry in explored] + [commitment.strategy]
    if solution is not None:
        rows.append(solution.strategy)
    stack = np.array(rows)
    axes = np.arange(stack.shape[1])
    if len(axes) > _MOST_AXES:
        weight = commitment.strategy + (0 if solution is None else solution.strategy)
        axes = np.sort(np.argsort(-weight, kind="stable")[:_MOST_AXES])
    x = np.arange(len(axes))
    answers = game.agent_view.agent_actions
    colours = colours_of(len(answers))
    if cloud is not None:
        shifts = np.linspace(-0.12, 0.12, 7)[np.arange(len(cloud)) % 7]
        for j, axis in enumerate(axes):
            _draw_cloud(ax, x[j] + shifts, cloud[:, axis], 0.2)
    drawn = sorted({entry.response for entry in explored if entry.response is not None})
    for entry in explored:
        colour = GREY if entry.response is None else colours[entry.response]
        ax.plot(x, entry.strategy[axes], color=colour, linewidth=1.0, alpha=0.5, zorder=3)
    for j, axis in enumerate(axes):
        points = np.array([[x[j], entry.strategy[axis]] for entry in explored]).reshape(-1, 2)
        _dots(ax, points, size=12)
    ax.plot(
        x,
        commitment.strategy[axes],
        color="black",
        linewidth=2.2,
        marker="D",
        markersize=9,
        markerfacecolor="white",
        markeredgewidth=2,
        zorder=7,
    )
    entries = [
        Line2D([], [], color="black", linewidth=2.2, marker="D", mfc="white", label="commitment")
    ]
    if solution is not None:
        ax.plot(
            x, solution.strategy[axes], "*--", color="black", linewidth=1.4, markersize=11, zorder=8
        )
        entries.append(Line2D([], [], color="black", linestyle="--", marker="*", label="V*"))
    if explored:
        word = f"explored, white to black ({len(explored)})"
        entries.append(
            Line2D([], [], marker="o", color="0.6", markeredgecolor="black", ls="", label=word)
        )
    entries += [
        Line2D(
            [], [], color=colours[y], linewidth=2.5, label=f"… answered {short_name(answers[y])!r}"
        )
        for y in drawn[:8]
    ]
    if cloud is not None:
        entries.append(Line2D([], [], marker=".", color="#7A1F5C", ls="", label="forecasts"))
    ax.set_xticks(x, [names[axis] for axis in axes])
    if max(len(names[axis]) for axis in axes) * len(axes) > 60:
        ax.tick_params(axis="x", rotation=30)
    plain_axes(ax)
    cut = "" if len(axes) == len(names) else f" ({len(axes)} of {len(names)} actions)"
    ax.set_ylabel(f"strategy{cut}")
    ax.legend(
        handles=entries, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=11
    )
