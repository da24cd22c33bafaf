"""The figure of a continuous game's commitments over time, with the forecasts of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast.report.figures import BLUE, COLOURS, VERMILION, new_axes, plain_axes, short_name
from stackcast.report.rounds import action_names, played_game

if TYPE_CHECKING:
    from stackcast.protocol import Transcript

#: More lines than this cannot be told apart.
_MOST = 6
_DOTS = 1200


def draw_path(
    transcript: Transcript, game: Any = None, solution: Any = None, ax: Any = None
) -> Any:
    """Draw each coordinate of the commitment over the rounds, and the forecasts as dots.

    Parameters
    ----------
    transcript : Transcript
        A play of a continuous game.
    game : ContinuousGame, optional
        If the transcript does not hold it.
    solution : optional
        The optimum of the game; its coordinates are dashed lines.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    The Axes.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.load_game("strategic-score")
    >>> principal = sc.principals.ResponseGradient(game.principal_view, epoch_rounds=5)
    >>> t = sc.play(principal, sc.agents.ContinuousBestResponse(game.agent_view), 50, game)
    >>> len(draw_path(t, solution=sc.solve(game)).get_legend().get_texts())
    3
    """
    from matplotlib.lines import Line2D

    game = played_game(transcript, game)
    ax = new_axes(ax)
    strategies, T = transcript.block_strategies, transcript.rounds
    weight = np.abs(strategies[-1] if solution is None else solution.strategy)
    shown = np.sort(np.argsort(-weight, kind="stable")[:_MOST]).tolist()
    names = [short_name(name, 20) for name in action_names(game)]
    palette = (BLUE, VERMILION, COLOURS[2], COLOURS[3], COLOURS[1], COLOURS[0])
    edges = np.append(0, np.cumsum(transcript.block_rounds))
    rounds = np.unique(np.linspace(0, T - 1, _DOTS).astype(np.int64))
    entries = []
    for colour, j in zip(palette, shown, strict=False):
        if transcript.forecast_ids is not None and transcript.forecast_table is not None:
            seen = transcript.forecast_table[transcript.forecast_ids[rounds], j]
            ax.plot(rounds, seen, ".", color=colour, markersize=2.5, alpha=0.35, zorder=2)
        if solution is not None:
            ax.axhline(solution.strategy[j], color=colour, linestyle="--", linewidth=1.4, zorder=3)
        ax.stairs(strategies[:, j], edges, baseline=None, color=colour, linewidth=2.2, zorder=4)
        entries.append(Line2D([], [], color=colour, linewidth=2.5, label=names[j]))
    if solution is not None:
        entries.append(Line2D([], [], color="black", linestyle="--", label="optimum"))
    if transcript.forecast_ids is not None:
        entries.append(Line2D([], [], color="0.4", marker=".", ls="", label="forecasts"))
    cut = "" if len(shown) == len(names) else f" ({len(shown)} of {len(names)} coordinates)"
    ax.set_xlim(0, T)
    ax.set_xlabel("round")
    ax.set_ylabel(f"commitment{cut}")
    plain_axes(ax)
    ax.locator_params(axis="x", nbins=6)  # the legend leaves less room
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.legend(
        handles=entries, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=12
    )
    return ax
