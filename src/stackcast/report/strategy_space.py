"""Figures of the space of strategies: regions, plays, coverage, and what a campaign has learned.

Three principal actions make a triangle with a pure strategy at each corner, two make the
principal's utility along a line, and more are drawn as parallel axes or as bars.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError, shown
from stackcast.games import FiniteGame
from stackcast.report.rounds import (
    action_names,
    explored_and_committed,
    played_game,
    sampled_forecasts,
)
from stackcast.report.style import (
    COLOURS,
    GREY,
    colours_of,
    in_figure,
    load_pyplot,
    new_axes,
    plain_axes,
    short_name,
)
from stackcast.solvers import BestResponseRegions

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray, Table
    from stackcast.campaigns import Status
    from stackcast.games import Game, SecurityGame
    from stackcast.protocol import Transcript
    from stackcast.report.rounds import Asked
    from stackcast.solvers import Solution

#: Corners of the drawn triangle: the first action on top, the second left, the third right.
CORNERS = np.array([[0.5, math.sqrt(0.75)], [0.0, 0.0], [1.0, 0.0]])
#: The width of a letter where the triangle's sides have length 1.
_CHARACTER = 0.022
#: A commitment this far from V*, where the triangle's sides have length 1, is not magnified.
_FAR = 0.25
#: Forecasts that a cloud shows.
_CLOUD, _PURPLE = 3000, "#7A1F5C"
#: More axes, or targets, than this cannot be read: those that matter most are shown.
_MOST_AXES, _MOST_TARGETS = 12, 40


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
        _draw_volumes(game, solution, ax)
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
            ax.text(*place, in_figure(action), ha="center", va="center", fontsize=11)
        else:
            patch.set_label(short_name(action))
            beside.append(patch)
    if beside:
        ax.legend(handles=beside, loc="upper right", frameon=False, title="the response")
    _outline(ax, game.principal_actions)
    if star is not None:
        _mark(ax, star)
    ax.set_title(_title(game, solution), fontsize=12, pad=22)


def _outline(ax: Any, names: tuple[str, ...]) -> None:
    """Draw the triangle with the names of its corners."""
    ax.fill(CORNERS[:, 0], CORNERS[:, 1], facecolor="none", edgecolor="black", linewidth=1)
    for (x, z), name in zip(CORNERS, names, strict=True):
        shift, side = (0.02, "bottom") if z > 0 else (-0.02, "top")
        ax.text(x, z + shift, short_name(name), ha="center", va=side, fontsize=11, style="italic")
    ax.set_aspect("equal")
    ax.set_axis_off()


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
            label=short_name(action),
            solid_capstyle="butt",
        )
    if solution is not None:
        _mark(ax, np.array([solution.strategy[1], solution.value]))
    ax.set_xlim(-0.03, 1.03)
    ax.set_xlabel(f"probability of {short_name(game.principal_actions[1])}")
    ax.set_ylabel("principal's utility")
    ax.legend(title="the response", frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(_title(game, solution), fontsize=12)


def _draw_volumes(game: Game, solution: Solution | None, ax: Any) -> None:
    shares = BestResponseRegions(game).volume_shares()
    order = np.argsort(shares.share)
    low, high = shares.share - shares.lower, shares.upper - shares.share
    ax.barh(
        [short_name(game.agent_actions[y]) for y in order],
        100 * shares.share[order],
        xerr=100 * np.array([low[order], high[order]]),
        color=[COLOURS[y % len(COLOURS)] for y in order],
        ecolor="dimgray",
    )
    ax.set_xlabel("share of the strategies with this response, %")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(_title(game, solution), fontsize=12)


def _mark(ax: Any, point: FloatArray) -> None:
    ax.plot(*point, marker="*", markersize=20, color="black", markeredgecolor="white", zorder=5)


def _title(game: Game, solution: Solution | None) -> str:
    name = in_figure(game.name or "game")
    if solution is None:
        return f"{name}: best-response regions"
    response = short_name(solution.response_name)
    return f"{name}: the best commitment (★) draws '{response}' and earns {solution.value:.4g}"


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

    style: Table = {"linestyle": "", "markeredgecolor": "black"}
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
            Line2D([], [], marker=".", color=_PURPLE, markersize=7, linestyle="", label="forecasts")
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
    apart = 0.0 if star is None else float(np.abs(diamond - star).max())
    places = [ax]
    if apart < _FAR:  # far from V* there is nothing to look at closely
        near = ax.inset_axes((0.95, 0.06, 0.42, 0.42))
        draw_triangle(game, None, near, names_beside=True)
        near.get_legend().remove()
        places.append(near)
    for place in places:
        if cloud is not None:
            flat = cloud @ CORNERS
            _draw_cloud(place, flat[:, 0], flat[:, 1], 0.35)
        if len(points):
            place.plot(*points.T, color="black", linewidth=0.5, alpha=0.35, zorder=5)
        _dots(place, points)
        entries = _landmarks(place, star, diamond, len(points), cloud is not None)
    if len(places) > 1:
        _zoom(near, diamond if star is None else (diamond + star) / 2, max(0.07, 0.8 * apart))
        ax.indicate_inset_zoom(near, edgecolor="black", alpha=1.0)
    ax.legend(
        handles=entries, loc="upper left", bbox_to_anchor=(0.86, 0.80), frameon=False, fontsize=11
    )


def _zoom(near: Any, middle: FloatArray, reach: float) -> None:
    """Show the surroundings of a point alone."""
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
    ax.scatter(x, y, s=5, c=_PURPLE, alpha=alpha, linewidths=0, zorder=4, rasterized=True)


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
            edges, floor, floor + np.append(top, top[-1]), step="post", color=_PURPLE, alpha=0.5
        )
        ax.set_ylim(floor, high)
    points = np.array([place(entry) for entry in explored]).reshape(-1, 2)
    _dots(ax, points)
    star = None if solution is None else np.array([solution.strategy[1], solution.value])
    entries = _landmarks(ax, star, place(commitment), len(points), cloud is not None)
    drawn, names = ax.get_legend_handles_labels()
    ax.legend(
        handles=[*drawn, *entries],
        labels=[*(f"response '{name}'" for name in names), *(e.get_label() for e in entries)],
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
            [], [], color=colours[y], linewidth=2.5, label=f"… response '{short_name(answers[y])}'"
        )
        for y in drawn[:8]
    ]
    if cloud is not None:
        entries.append(Line2D([], [], marker=".", color=_PURPLE, ls="", label="forecasts"))
    ax.set_xticks(x, [names[axis] for axis in axes])
    if max(len(names[axis]) for axis in axes) * len(axes) > 60:
        ax.tick_params(axis="x", rotation=30)
    plain_axes(ax)
    cut = "" if len(axes) == len(names) else f" ({len(axes)} of {len(names)} actions)"
    ax.set_ylabel(f"strategy{cut}")
    ax.legend(
        handles=entries, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=11
    )


def draw_coverage(
    game: SecurityGame,
    solution: Solution,
    learned: npt.ArrayLike | None = None,
    transcript: Transcript | None = None,
    ax: Any = None,
) -> Any:
    """Draw the optimal coverage as bars, beside a learned one, and the attacks that happened.

    Parameters
    ----------
    game : SecurityGame
    solution : Solution
        The optimum; its target is marked with a star.
    learned : array-like, shape (n,), optional
        Another coverage to compare with.
    transcript : Transcript, optional
        A play: each target's share of the attacks is drawn as a dot, those of rounds whose phase
        begins with "commit" filled, all others open.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    The Axes.
    """
    n = len(game.targets)
    if ax is None:
        _, ax = load_pyplot().subplots(figsize=(max(6.4, 0.5 * n), 4.2))
    order = np.argsort(-solution.strategy, kind="stable")[:_MOST_TARGETS]
    place = np.arange(len(order))
    bars = [("optimal coverage", solution.strategy, COLOURS[0])]
    if learned is not None:
        bars.append(("learned coverage", game.space.check("learned", learned), COLOURS[1]))
    width = 0.8 / len(bars)
    for i, (label, coverage, colour) in enumerate(bars):
        left = place + (i - (len(bars) - 1) / 2) * width
        ax.bar(left, 100 * coverage[order], width, color=colour, label=label)
    if transcript is not None:
        for label, shares, face in _attacks(game, transcript):
            ax.plot(
                place,
                100 * shares[order],
                "o",
                color="black",
                markerfacecolor=face,
                markersize=6,
                label=label,
                clip_on=False,
            )
    names = [short_name(game.targets[t]) + (" ★" if t == solution.response else "") for t in order]
    ax.set_xticks(
        place,
        names,
        rotation=0 if len(order) <= 5 else 35,
        ha="center" if len(order) <= 5 else "right",
    )
    ax.set_ylabel("% of days, or of attacks")
    ax.set_ylim(0, None)
    plain_axes(ax)
    ax.grid(visible=False, axis="x")
    ax.legend(frameon=False, fontsize=11)
    ax.set_title(
        f"{in_figure(game.name or 'game')}: the best coverage draws "
        f"'{short_name(solution.response_name)}' (★) and earns {solution.value:.4g}",
        fontsize=12,
    )
    return ax


def _attacks(game: SecurityGame, transcript: Transcript) -> list[tuple[str, FloatArray, str]]:
    """Return each target's share of the attacks, while exploring and while committed."""
    if transcript.compact_responses.ndim != 1:
        raise InputError("transcript", "a play of a security game", shown(transcript))
    held = np.array([name.startswith("commit") for name in transcript.phase_names])
    committed = np.repeat(held[transcript.block_phases], transcript.block_rounds)
    groups = [("attacks while committed", committed, "black")]
    label = "attacks while exploring" if committed.any() else "attacks"
    groups.append((label, ~committed, "white"))
    shares = []
    for label, rounds, face in groups:
        if rounds.any():
            counts = np.bincount(transcript.responses[rounds], minlength=len(game.targets))
            shares.append((label, counts / rounds.sum(), face))
    return shares


def draw_learned(status: Status, ax: Any = None) -> Any:
    """Draw the strategies asked, the responses, and what they prove of the regions.

    With more than three principal actions, bars show how many strategies had each response.

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
        ax.barh(list(map(short_name, actions)), counts, color=colours_of(len(actions)))
        ax.set_xlabel("strategies with this response")
    else:
        _draw_flat(status, ax)
    ax.set_title(_learned_title(status), fontsize=11, pad=18)
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
            ax.scatter(
                *place.T, color=colour, edgecolor="white", s=42, label=short_name(action), zorder=3
            )
    unclear = [row.strategy for row in status.answers if row.response is None]
    if unclear:
        ax.scatter(*flat(np.array(unclear)).T, color="grey", marker="x", label="no clear response")
    if status.response is not None:
        ax.plot(*flat(status.strategy), marker="*", markersize=20, color="black", zorder=5)
    if len(names) == 3:
        _outline(ax, names)
    else:
        ax.plot([0, 1], [0, 0], color="black", linewidth=1, zorder=0)
        for x, name in enumerate(names):
            ax.text(x, -0.06, short_name(name), ha="center", va="top", fontsize=11, style="italic")
        ax.set_ylim(-0.3, 0.3)
    ax.set_axis_off()
    if status.answers:
        ax.legend(title="the response", frameon=False, loc="upper right")


def _learned_title(status: Status) -> str:
    name = in_figure(status.game.name or "campaign")
    if status.response is None:
        return f"{name}: nothing learned yet"
    response = short_name(status.game.agent_actions[status.response])
    return f"{name}: best so far (★) draws '{response}' and earns {status.value:.4g}"


def flat(strategies: FloatArray) -> FloatArray:
    """Return strategies over two or three actions as points of the drawn line or triangle."""
    if strategies.shape[-1] == 2:
        return np.stack([strategies[..., 1], np.zeros(strategies.shape[:-1])], axis=-1)
    return strategies @ CORNERS


def hulls(status: Status) -> dict[int, FloatArray]:
    """Return the corners of the part of each response's region that is known, as drawn points.

    Regions are convex: every strategy between strategies with the same response has that response.
    So the hull of the strategies with a response is a part of its region, as far as the answers are
    right; what lies in no hull is not known yet.
    """
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
