"""The picture of a security game: coverage of the targets, and the attacks that happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError, shown
from stackcast.report.figures import COLOURS, load_pyplot, plain_axes

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray
    from stackcast.games import SecurityGame
    from stackcast.protocol import Transcript
    from stackcast.solvers import Solution

#: Targets that fit into one picture with their names.
_MOST = 40


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
    order = np.argsort(-solution.strategy, kind="stable")[:_MOST]
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
    names = [game.targets[t] + (" ★" if t == solution.response else "") for t in order]
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
        f"{game.name or 'game'}: the best coverage draws {solution.response_name!r} (★) and earns "
        f"{solution.value:.4g}",
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
