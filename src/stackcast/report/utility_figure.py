"""The figure of the principal's utility over time, against V* and the certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast.auditing import column_norms
from stackcast.report.figures import BLUE, VERMILION, new_axes, plain_axes
from stackcast.report.rounds import played_game, stretches, utilities_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray
    from stackcast.auditing import Audit, ContinuousAudit
    from stackcast.protocol import Transcript

_POINTS = 400


def draw_utility(
    transcript: Transcript, audit: Audit | ContinuousAudit, game: Any = None, ax: Any = None
) -> Any:
    """Draw the average utility up to every round, with V* and what certifies it from above.

    The certificate at round t is V* + Σ_i ‖U_P(·,i) − mid_i‖₁·CalErr_i over rounds 1..t (Theorem
    3.1, per instance); without forecasts, the audit's least bound of the whole play.

    Parameters
    ----------
    transcript : Transcript
    audit : Audit or ContinuousAudit
        The audit of the transcript.
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
    >>> draw_utility(t, sc.audit(t)).get_ylabel()
    'utility of the principal'
    """
    game = played_game(transcript, game)
    ax = new_axes(ax)
    earned = utilities_of(transcript, game)
    ends = stretches(len(earned), _POINTS)
    sums = np.concatenate([[0.0], np.cumsum(earned)])
    windows = np.diff(np.concatenate([[0.0], sums[ends]])) / np.diff(np.append(0, ends))
    ax.step(ends, windows, where="pre", color=BLUE, alpha=0.35, linewidth=1.0, label="as it went")
    ax.plot(ends, sums[ends] / ends, color=BLUE, linewidth=2.6, label="average so far")
    low, high = float(min(windows.min(), audit.value)), float(max(windows.max(), audit.value))
    room = (high - low) or 1.0
    bottom, top = low - 0.08 * room, high + 0.25 * room
    bound = _bound(transcript, audit, game, ends)
    if bound is not None:
        style: dict[str, Any] = {"color": VERMILION, "linewidth": 2, "linestyle": "-."}
        out = f": {bound[-1]:.3g}, above" if bound.min() > top else ""
        ax.plot(ends, bound, label=f"certificate{out}", **style)
    ax.axhline(audit.value, color="black", linestyle="--", linewidth=1.8, label="V*")
    ax.set_ylim(bottom, top)
    ax.set_xlim(0, len(earned))
    ax.set_xlabel("round")
    ax.set_ylabel("utility of the principal")
    plain_axes(ax)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        ncols=4,
        frameon=False,
        fontsize=12,
        borderpad=0,
        columnspacing=1.2,
    )
    return ax


def _bound(
    transcript: Transcript,
    audit: Audit | ContinuousAudit,
    game: Any,
    ends: npt.NDArray[np.int64],
) -> FloatArray | None:
    """Return what certifies the average from above at every end."""
    certificate = _certificate(transcript, game, ends)
    if certificate is not None:
        return audit.value + certificate
    lines = [line.bound for line in audit.bounds if line.name.startswith("utility")]
    return np.full(len(ends), min(lines)) if lines else None


def _certificate(
    transcript: Transcript, game: Any, ends: npt.NDArray[np.int64]
) -> FloatArray | None:
    """Return what the forecasts' error over rounds 1..t allows beyond V*, at every end."""
    ids, table = transcript.forecast_ids, transcript.forecast_table
    if ids is None or table is None or transcript.compact_responses.ndim != 1:
        return None
    norms = column_norms(game.principal_view.payoffs, game.space)
    blocks = np.repeat(np.arange(len(transcript.block_rounds)), transcript.block_rounds)
    answers = transcript.compact_responses
    totals = np.zeros((len(norms), table.shape[1]))
    found = np.empty(len(ends))
    start = 0
    for i, end in enumerate(ends.tolist()):
        gaps = transcript.block_strategies[blocks[start:end]] - table[ids[start:end]]
        np.add.at(totals, answers[start:end], gaps)
        found[i] = norms @ np.abs(totals).max(axis=1) / end
        start = end
    return found
