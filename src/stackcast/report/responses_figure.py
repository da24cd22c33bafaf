"""The figure of the responses over time: a strip, with the phases under it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast.report.figures import BLUE, GREY, VERMILION, colours_of, new_axes, short_name
from stackcast.report.rounds import phase_spans, played_game, stretches

if TYPE_CHECKING:
    from stackcast.protocol import Transcript

_COLUMNS = 500
#: With more answers than this, the rare ones share a colour.
_MOST_ANSWERS = 7
_PHASE_COLOURS = ("0.15", "0.75", "0.45", "0.9", "0.6", "0.3")


def draw_responses(transcript: Transcript, game: Any = None, ax: Any = None) -> Any:
    """Draw which share of a stretch of rounds drew which answer, and the phases below.

    In a continuous game the strip holds the mean answer of every coordinate instead.

    Parameters
    ----------
    transcript : Transcript
    game : game, optional
        If the transcript does not hold it.
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
    >>> draw_responses(t).get_xlabel()
    'round'
    """
    game = played_game(transcript, game)
    ax = new_axes(ax, (6.4, 2.6))
    if transcript.compact_responses.ndim == 1:
        low, height = _draw_shares(transcript, game, ax)
    else:
        low, height = _draw_means(transcript, game, ax)
    phases = _draw_phases(transcript, ax, low, height)
    answers = ax.get_legend_handles_labels()
    if phases:
        band = ax.legend(
            handles=phases,
            loc="lower left",
            bbox_to_anchor=(0, 1.0),
            ncols=len(phases),
            frameon=False,
            fontsize=11,
            borderpad=0,
            columnspacing=1.2,
            handlelength=1.2,
        )
        ax.add_artist(band)
        band.set_clip_on(False)  # outside the axes, and to be given room
    ax.legend(
        *answers,
        title="answers",
        alignment="left",
        loc="upper left",
        bbox_to_anchor=(1.0, 1.04),
        frameon=False,
        fontsize=11,
        title_fontsize=12,
        labelspacing=0.3,
    )
    ax.set_xlim(0, transcript.rounds)
    ax.set_xlabel("round", fontsize=13)
    ax.tick_params(labelsize=12)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.spines[["top", "right", "left"]].set_visible(False)
    return ax


def _draw_shares(transcript: Transcript, game: Any, ax: Any) -> tuple[float, float]:
    names = game.agent_view.agent_actions
    answers = transcript.compact_responses.astype(np.int64)
    ends = stretches(len(answers), _COLUMNS)
    column = np.searchsorted(ends, np.arange(len(answers)), side="right")
    counts = np.zeros((len(ends), len(names)))
    np.add.at(counts, (column, answers), 1.0)
    shares = counts / counts.sum(axis=1, keepdims=True)
    frequent = np.argsort(-counts.sum(axis=0), kind="stable")
    shown = sorted(frequent[:_MOST_ANSWERS].tolist())
    layers = [(names[y], colours_of(len(names))[y], shares[:, y]) for y in shown]
    rest = shares.sum(axis=1) - shares[:, shown].sum(axis=1)
    if len(names) > _MOST_ANSWERS:
        palette = colours_of(_MOST_ANSWERS)
        layers = [(names[y], palette[i], shares[:, y]) for i, y in enumerate(shown)]
        layers.append((f"{len(names) - len(shown)} others", GREY, rest))
    edges = np.append(0, ends)
    base = np.zeros(len(ends))
    for name, colour, share in layers:
        top = base + share
        ax.fill_between(
            edges,
            np.append(base, base[-1]),
            np.append(top, top[-1]),
            step="post",
            color=colour,
            linewidth=0,
            label=short_name(name),
        )
        base = top
    ax.set_yticks([0, 1], ["0%", "100%"])
    return 0.0, 1.0


def _draw_means(transcript: Transcript, game: Any, ax: Any) -> tuple[float, float]:
    answers = transcript.compact_responses
    ends = stretches(len(answers), _COLUMNS)
    sums = np.add.reduceat(answers, np.append(0, ends[:-1]), axis=0)
    means = sums / np.diff(np.append(0, ends))[:, None]
    palette = [BLUE, VERMILION, *colours_of(_MOST_ANSWERS)]
    names = [short_name(name, 20) for name in game.response_features]
    for j in range(min(means.shape[1], _MOST_ANSWERS)):
        ax.plot(ends, means[:, j], color=palette[j], linewidth=1.6, label=names[j])
    low, high = float(means.min()), float(means.max())
    return low, (high - low) or 1.0


def _draw_phases(transcript: Transcript, ax: Any, low: float, height: float) -> list[Any]:
    """Draw the phases as a band; return the entries of its legend."""
    from matplotlib.patches import Patch

    names = [name for name in transcript.phase_names if name]
    if not names:
        return []
    colour = {name: _PHASE_COLOURS[i % len(_PHASE_COLOURS)] for i, name in enumerate(names)}
    for name in names:
        spans = [
            (start, rounds) for label, start, rounds in phase_spans(transcript) if label == name
        ]
        band = (low - 0.24 * height, 0.16 * height)
        ax.broken_barh(spans, band, facecolors=colour[name], linewidth=0)
    ax.set_ylim(low - 0.27 * height, low + 1.02 * height)
    return [
        Patch(facecolor=colour[name], edgecolor="black", label=short_name(name))
        for name in names[:6]
    ]
