"""Figures along time, length or number of rounds: plays, profiles, horizons, claims and sweeps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast.auditing import column_norms
from stackcast.report.rounds import action_names, phase_spans, played_game, stretches
from stackcast.report.style import (
    BLUE,
    COLOURS,
    GREY,
    MARKERS,
    VERMILION,
    colours_of,
    load_pyplot,
    new_axes,
    plain_axes,
    short_name,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from stackcast._validation import FloatArray, IntArray, Table
    from stackcast.auditing import Audit, ClassificationReport, ContinuousAudit
    from stackcast.calibration import CalibrationProfile
    from stackcast.claims import Curve
    from stackcast.protocol import Transcript

#: Points of a curve, columns of a strip, dots of a cloud.
_POINTS, _COLUMNS, _DOTS = 400, 500, 1200
#: With more responses, or coordinates, than this, the rare ones share a colour or are left out.
_MOST_ANSWERS, _MOST_LINES = 7, 6
_PHASE_COLOURS = ("0.15", "0.75", "0.45", "0.9", "0.6", "0.3")
_LINES = (BLUE, VERMILION, COLOURS[2], COLOURS[3], COLOURS[1], COLOURS[0])


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
    ends = stretches(transcript.rounds, _POINTS)
    parts = _earned(transcript, game, ends)
    windows, average = parts / np.diff(ends, prepend=0), np.cumsum(parts) / ends
    ax.step(ends, windows, where="pre", color=BLUE, alpha=0.35, linewidth=1.0, label="as it went")
    ax.plot(ends, average, color=BLUE, linewidth=2.6, label="average so far")
    low, high = float(min(windows.min(), audit.value)), float(max(windows.max(), audit.value))
    room = (high - low) or 1.0
    bottom, top = low - 0.08 * room, high + 0.25 * room
    bound = _bound(transcript, audit, game, ends)
    if bound is not None:
        style: Table = {"color": VERMILION, "linewidth": 2, "linestyle": "-."}
        out = f": {bound[-1]:.3g}, above" if bound.min() > top else ""
        ax.plot(ends, bound, label=f"certificate{out}", **style)
    ax.axhline(audit.value, color="black", linestyle="--", linewidth=1.8, label="V*")
    ax.set_ylim(bottom, top)
    ax.set_xlim(0, transcript.rounds)
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


def _earned(transcript: Transcript, game: Any, ends: IntArray) -> FloatArray:
    """Return what the principal earned in each stretch, one stretch after the other."""
    starts = np.append(0, ends[:-1])
    if transcript.compact_responses.ndim == 2:
        return np.add.reduceat(transcript.utilities(game=game), starts)
    table = game.principal_view.utilities(transcript.block_strategies)
    last = np.cumsum(transcript.block_rounds)
    parts = np.empty(len(ends))
    for i, (a, b) in enumerate(zip(starts, ends, strict=True)):
        blocks = np.searchsorted(last, np.arange(a, b), side="right")
        parts[i] = table[blocks, transcript.compact_responses[a:b]].sum()
    return parts


def _bound(
    transcript: Transcript, audit: Audit | ContinuousAudit, game: Any, ends: IntArray
) -> FloatArray | None:
    """Return what certifies the average from above at every end."""
    certificate = _certificate(transcript, game, ends)
    if certificate is not None:
        return audit.value + certificate
    lines = [line.bound for line in audit.bounds if line.name.startswith("utility")]
    return np.full(len(ends), min(lines)) if lines else None


def _certificate(transcript: Transcript, game: Any, ends: IntArray) -> FloatArray | None:
    """Return what the forecasts' error over rounds 1..t allows beyond V*, at every end."""
    ids, table = transcript.forecast_ids, transcript.forecast_table
    if ids is None or table is None or transcript.compact_responses.ndim != 1:
        return None
    norms = column_norms(game.principal_view.payoffs, game.space)
    last = np.cumsum(transcript.block_rounds)
    answers = transcript.compact_responses
    totals = np.zeros((len(norms), table.shape[1]))
    found = np.empty(len(ends))
    start = 0
    for i, end in enumerate(ends.tolist()):
        blocks = np.searchsorted(last, np.arange(start, end), side="right")
        gaps = transcript.block_strategies[blocks] - table[ids[start:end]]
        np.add.at(totals, answers[start:end], gaps)
        found[i] = norms @ np.abs(totals).max(axis=1) / end
        start = end
    return found


def draw_profile(profile: CalibrationProfile, ax: Any = None) -> Any:
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
    >>> from stackcast.calibration import calibration_profile
    >>> ax = draw_profile(calibration_profile([1, 0] * 50, [0.5] * 100, bins=[0] * 100))
    >>> ax.get_xlabel()
    'interval length (rounds)'
    """
    ax = new_axes(ax)
    lengths = np.array(list(profile.errors), dtype=np.float64)
    errors = np.array(list(profile.errors.values()))
    grid = np.unique(np.geomspace(1, profile.rounds, 200).round())
    rates = np.asarray(profile.rate(grid), dtype=np.float64)
    ax.plot(grid, rates, "--", color=VERMILION, linewidth=2.4, label="rate: the error allowed")
    seen = errors > 0  # a logarithmic axis has no place for an error of 0
    ax.plot(
        lengths[seen],
        errors[seen],
        "o-",
        color=BLUE,
        linewidth=2.4,
        markersize=6,
        label="worst error of that length",
    )
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("interval length (rounds)")
    ax.set_ylabel("calibration error")
    ax.set_title(
        f"error/rate over all intervals ≥ {profile.shortest}: "
        f"{profile.lower:.3g} to {profile.upper:.3g}",
        fontsize=13,
        loc="left",
    )
    plain_axes(ax)
    ax.legend(frameon=False, fontsize=13, loc="lower left")
    return ax


def draw_responses(transcript: Transcript, game: Any = None, ax: Any = None) -> Any:
    """Draw the shares of the responses in stretches of rounds, and the phases below.

    In a continuous game the strip holds the mean response of every coordinate instead.

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
        low, height = _response_shares(transcript, game, ax)
    else:
        low, height = _response_means(transcript, game, ax)
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
        title="responses",
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


def _response_shares(transcript: Transcript, game: Any, ax: Any) -> tuple[float, float]:
    names = game.agent_view.agent_actions
    answers = transcript.compact_responses
    ends = stretches(len(answers), _COLUMNS)
    stretched = np.split(answers, ends[:-1])
    counts = np.array([np.bincount(part, minlength=len(names)) for part in stretched], np.float64)
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


def _response_means(transcript: Transcript, game: Any, ax: Any) -> tuple[float, float]:
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
    shown = np.sort(np.argsort(-weight, kind="stable")[:_MOST_LINES]).tolist()
    names = [short_name(name, 20) for name in action_names(game)]
    edges = np.append(0, np.cumsum(transcript.block_rounds))
    rounds = np.unique(np.linspace(0, T - 1, _DOTS).astype(np.int64))
    entries = []
    for colour, j in zip(_LINES, shown, strict=False):
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


def draw_horizons(
    found: Mapping[str, Sequence[float]], ax: Any = None, exponent: float = 0.5 / 14
) -> Any:
    """Draw the regret of each series against ``found["horizon"]``, on logarithmic axes.

    The grey line falls as T^(−exponent), the leading term of the theorem for a rate t^(−1/2), from
    the first point of the first series.
    """
    ax = new_axes(ax)
    lengths = np.asarray(found["horizon"], dtype=np.float64)
    names = [name for name in found if name != "horizon"]
    top = max(float(found[name][0]) for name in names)
    ax.plot(
        lengths,
        top * (lengths / lengths[0]) ** -exponent,
        color="0.55",
        linestyle="--",
        linewidth=2,
        label=f"the theorem's exponent, T^(−{exponent:.3f})",
    )
    for name, colour, marker in zip(names, _LINES, MARKERS, strict=False):
        values = np.maximum(np.asarray(found[name], dtype=np.float64), 1e-6)
        ax.plot(lengths, values, marker=marker, color=colour, linewidth=2, markersize=7, label=name)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("horizon (rounds)")
    ax.set_ylabel("V* − average utility")
    plain_axes(ax)
    ax.legend(frameon=False, fontsize=13, loc="lower left")
    return ax


def draw_regrets(
    found: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]], ax: Any, unit: str
) -> Any:
    """Draw regret against ``unit``: a line style for each principal, a colour for each series.

    ``found`` has, for each principal, the series by name, each of pairs (length, regret).
    """
    for style, (principal, series) in zip(("-", "--"), found.items(), strict=False):
        for i, (name, pairs) in enumerate(series.items()):
            lengths, regrets = np.array(pairs, dtype=np.float64).T
            ax.plot(
                lengths,
                np.maximum(regrets, 1e-7),
                style,
                color=COLOURS[(5, 6, 2, 3)[i % 4]],
                marker=MARKERS[i % len(MARKERS)],
                markersize=6,
                linewidth=2,
                markerfacecolor="white" if style == "--" else None,
                label=f"{principal}, {name}",
            )
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel(unit)
    ax.set_ylabel("V* − average utility")
    ax.legend(frameon=False, fontsize=11, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncol=2)
    plain_axes(ax)
    return ax


def draw_classification(report: ClassificationReport, axes: Sequence[Any]) -> None:
    """Draw utilities beside V* (first axes) and the shift of every feature (second)."""
    rules = {"optimal": report.optimal, "last played": report.last, "naive": report.naive}
    colours = [COLOURS[i] for i in (2, 5, 6)]
    utilities, shifts = axes
    values = [rule.utility for rule in rules.values()]
    utilities.axvline(report.optimal.utility, color="0.6", linewidth=1.5)
    utilities.axvline(report.believed, color="0.3", linestyle=":", linewidth=2)
    for row, (rule, colour) in enumerate(zip(rules.values(), colours, strict=True)):
        utilities.plot(rule.utility, row, "o", color=colour, markersize=11)
        words = f"{rule.utility:.4f}, balanced accuracy {100 * rule.balanced_accuracy:.1f}%"
        utilities.annotate(
            words,
            (0.5, row),
            (0, 10),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            ha="center",
            fontsize=11,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
        )
    span = max(report.believed, *values) - min(values)
    utilities.set_xlim(min(values) - 0.12 * span, max(report.believed, *values) + 0.12 * span)
    utilities.set_ylim(-0.6, len(rules) - 0.5)
    utilities.set_yticks(range(len(rules)), list(rules))
    utilities.locator_params(axis="x", nbins=5)
    utilities.set_title("utility (line: V*; dotted: naive expects)", fontsize=13)
    places = np.arange(len(report.features))
    for i, ((name, rule), colour) in enumerate(zip(rules.items(), colours, strict=True)):
        shifts.barh(places + 0.26 * (i - 1), rule.shift, height=0.24, color=colour, label=name)
    shifts.set_yticks(places, list(map(short_name, report.features)))
    shifts.set_title("shift of those who will not pay (std. dev.)", fontsize=13)
    shifts.axvline(0.0, color="0.3", linewidth=1)
    shifts.legend(frameon=False, fontsize=11)
    for ax in axes:
        ax.invert_yaxis()
        plain_axes(ax)


def draw_curve(curve: Curve, ax: Any = None) -> Any:
    """Draw what a claim measured with its bound beside it.

    Parameters
    ----------
    curve : Curve
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    The Axes.

    Examples
    --------
    >>> from stackcast.claims import Curve
    >>> draw_curve(Curve("rounds", "error", (1, 10), (0.5, 0.1), (1.0, 0.4))).get_ylabel()
    'error'
    """
    ax = new_axes(ax)
    # A logarithmic axis has no place for 0 and below.
    seen = [
        (x, y)
        for x, y in zip(curve.x, curve.measured, strict=True)
        if y > 1e-12 or not curve.logarithmic
    ]
    ax.plot(curve.x, curve.bound, "s--", color=VERMILION, linewidth=2, markersize=5, label="bound")
    if seen:
        xs, ys = zip(*seen, strict=True)
        ax.plot(xs, ys, "o-", color=BLUE, linewidth=2.2, markersize=6, label="measured")
    if curve.logarithmic:
        ax.set_xscale("log")
        ax.set_yscale("log")
    else:
        ax.set_ylim(bottom=0)
    ax.set_xlabel(curve.horizontal)
    ax.set_ylabel(curve.vertical)
    plain_axes(ax)
    ax.legend(frameon=False, fontsize=12)
    return ax


def draw_pairs(rows: pl.DataFrame) -> Any:
    """Return a heat map of mean regret, principals against agents."""
    pyplot = load_pyplot()
    means, principals, agents = pair_means(rows)
    width, height = 2.2 + 1.15 * len(principals), 1.6 + 0.5 * len(agents)
    drawn, ax = pyplot.subplots(figsize=(width, height), layout="constrained")
    grid = [[means[p, a] for p in principals] for a in agents]
    known = [abs(value) for line in grid for value in line if not math.isnan(value)]
    top = max([*known, 1e-9])
    ax.imshow(grid, cmap="PuOr_r", vmin=-top, vmax=top, aspect="auto")
    for i, line in enumerate(grid):
        for j, value in enumerate(line):
            dark = abs(value) > 0.6 * top
            colour = "white" if dark else "black"
            ax.text(j, i, signed(value), ha="center", va="center", color=colour, fontsize=9)
    ax.set_xticks(
        range(len(principals)), list(map(short_name, principals)), rotation=30, ha="right"
    )
    ax.set_yticks(range(len(agents)), list(map(short_name, agents)))
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    return drawn


def draw_curves(rows: pl.DataFrame) -> Any:
    """Return regret against rounds for each agent, a line for each principal, bands over plays."""
    import polars as pl

    pyplot = load_pyplot()
    longest = rows["rounds"].max()
    long = (
        rows.filter(pl.col("rounds") == longest)
        .select("principal", "agent", "scale", "curve_rounds", "curve_regret")
        .explode("curve_rounds", "curve_regret")
        .with_columns(regret=pl.col("curve_regret") / pl.col("scale"))
        .group_by("principal", "agent", "curve_rounds")
        .agg(
            mean=pl.col("regret").mean(),
            low=pl.col("regret").quantile(0.1, "linear"),
            high=pl.col("regret").quantile(0.9, "linear"),
        )
        .sort("curve_rounds")
    )
    agents = sorted(long["agent"].unique())
    principals = sorted(long["principal"].unique())
    columns = min(3, len(agents))
    lines = math.ceil(len(agents) / columns)
    drawn, axes = pyplot.subplots(
        lines,
        columns,
        figsize=(3.4 * columns, 2.6 * lines),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for ax in axes.flat[len(agents) :]:
        ax.set_visible(False)
    for agent, ax in zip(agents, axes.flat, strict=False):
        for i, principal in enumerate(principals):
            one = long.filter((pl.col("agent") == agent) & (pl.col("principal") == principal))
            colour = COLOURS[(5 + i) % len(COLOURS)]
            ax.plot(one["curve_rounds"], one["mean"], color=colour, label=short_name(principal))
            ax.fill_between(one["curve_rounds"], one["low"], one["high"], color=colour, alpha=0.15)
        ax.axhline(0, color="black", linewidth=0.8)
        ax.set_xscale("log")
        ax.set_title(short_name(agent), fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
    drawn.supxlabel("rounds", fontsize=10)
    drawn.supylabel("regret a round", fontsize=10)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside upper left", ncols=4, frameon=False, fontsize=9)
    return drawn


def draw_growth(rows: pl.DataFrame) -> Any:
    """Return mean regret a round against the horizon on log axes, a line for each principal."""
    import polars as pl

    from stackcast.sweeps import growth, scaled, summary

    pyplot = load_pyplot()
    drawn, ax = pyplot.subplots(figsize=(7.2, 4.4), layout="constrained")
    found = summary(scaled(rows), ["principal", "rounds"]).sort("rounds")
    tops = []
    for i, row in enumerate(growth(rows).iter_rows(named=True)):
        one = found.filter(pl.col("principal") == row["principal"], pl.col("mean") > 0)
        if one.is_empty():
            continue
        x, y = one["rounds"].to_numpy(), one["mean"].to_numpy()
        low = np.fmax(one["low"].to_numpy(), y / 1e3)
        grown = "" if math.isnan(row["exponent"]) else f", T^{row['exponent']:.2f}"
        ax.errorbar(
            x * 1.02**i,
            y,
            yerr=np.nan_to_num([y - low, one["high"].to_numpy() - y]).clip(0),
            color=COLOURS[(5 + i) % len(COLOURS)],
            marker=MARKERS[i % len(MARKERS)],
            linewidth=2,
            elinewidth=1,
            label=short_name(row["principal"]) + grown,
        )
        tops.append(y.min())
    ends = np.array([found["rounds"].min(), found["rounds"].max()], dtype=np.float64)
    if tops:
        ax.plot(ends, min(tops) * np.sqrt(ends[-1] / ends), "--", color="0.6", label="1/√T")
    ax.set(xscale="log", yscale="log", xlabel="horizon T (rounds)", ylabel="mean regret a round")
    plain_axes(ax)
    ax.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return drawn


def pair_means(rows: pl.DataFrame) -> tuple[dict[tuple[str, str], float], list[str], list[str]]:
    """Return the mean regret of each pair, the principals by rank, and the agents.

    Of several horizons the longest counts.
    """
    import polars as pl

    from stackcast.sweeps import ranking, scaled, summary

    rows = rows.filter(pl.col("rounds") == pl.col("rounds").max())
    found = summary(scaled(rows), ["principal", "agent"])
    order = ranking(rows)["principal"].to_list()
    agents = sorted(found["agent"].unique())
    means = dict.fromkeys(((p, a) for p in order for a in agents), math.nan)
    means |= {(r["principal"], r["agent"]): r["mean"] for r in found.iter_rows(named=True)}
    return means, order, agents


def signed(value: float | None) -> str:
    """Return a signed number for people, a dash where there is none."""
    if value is None or math.isnan(value):
        return "–"
    return f"{value:.4f}".replace("-", "−")
