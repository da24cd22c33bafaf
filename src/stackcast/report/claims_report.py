"""The claims of the paper, measured: for a terminal, as a page with figures, as Markdown."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from stackcast._validation import InputError
from stackcast.report import page
from stackcast.report.figures import BLUE, VERMILION, inline_svg, new_axes, plain_axes, rendered

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import RenderableType

    from stackcast.claims import Curve, Finding

_SIGNS = {"at most": "≤", "at least": "≥"}


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


def describe_findings(findings: Sequence[Finding], width: int) -> RenderableType:
    """Return the table for a terminal; a list where the window is narrow."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from stackcast.report.play_terminal import VERDICTS, number

    failed = [finding for finding in findings if not finding.holds]
    last = Text(verdict(findings), style="bold red" if failed else "bold")
    if width < 90:
        lines = []
        for f in findings:
            word, style = VERDICTS[f.holds]
            text = Text(f"{f.name} ({f.where}): {number(f.measured)} {_SIGNS[f.relation]} ")
            lines.append(text.append(f"{number(f.bound)} ").append(word, style=style))
        return Group(*lines, last)
    table = Table(title="the claims of the paper, measured", title_justify="left")
    for name in ("claim", "where", "what is measured, in what", "measured", "bound", "verdict"):
        table.add_column(name, justify="right" if name in ("measured", "bound") else "left")
    for f in findings:
        word, style = VERDICTS[f.holds]
        table.add_row(
            Text(f.name),
            Text(f.where),
            Text(f"{f.quantity}; {f.ran}"),
            f"{f.measured:.4g}",
            f"{_SIGNS[f.relation]} {f.bound:.4g}",
            Text(word, style=style),
        )
    return Group(table, last)


def verdict(findings: Sequence[Finding]) -> str:
    """Return the outcome in a sentence."""
    failed = [finding.name for finding in findings if not finding.holds]
    if not failed:
        return f"All {len(findings)} claims hold."
    return f"{len(failed)} of {len(findings)} claims FAILED: {', '.join(failed)}."


def write_findings(folder: Path, findings: Sequence[Finding], command: str) -> list[Path]:
    """Write the page, its figures, the findings as JSON and as Markdown; return the files."""
    curves = {f.name: f.curve for f in findings if f.curve is not None}
    figures = {name: rendered(partial(draw_curve, c), (7.2, 4.0)) for name, c in curves.items()}
    files = [folder / name for name in ("claims.html", "claims.json", "claims.md")]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, (svg, png) in figures.items():
            files += [folder / f"{name}.svg", folder / f"{name}.png"]
            files[-2].write_text(svg, encoding="utf-8")
            files[-1].write_bytes(png)
        content = json.dumps(findings_table(findings), indent=2, ensure_ascii=False)
        files[1].write_text(content + "\n", encoding="utf-8")
        files[2].write_text(findings_markdown(findings, command), encoding="utf-8")
        inside = {name: svg for name, (svg, _) in figures.items()}
        files[0].write_text(findings_page(findings, inside, command), encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(str(folder), "a folder that can be written to", reason) from None
    return files


def findings_table(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return the findings as JSON holds them."""
    return {"claims": [finding.to_dict() for finding in findings]}


def findings_page(findings: Sequence[Finding], figures: dict[str, str], command: str) -> str:
    """Return the page."""
    parts = [
        page.title("The claims of the paper, measured"),
        page.paragraph(verdict(findings), "found"),
        page.table(
            ("claim", "where", "measured", "bound", "verdict"),
            [
                (f.name, f.where, f.measured, f"{_SIGNS[f.relation]} {f.bound:.4g}", f.holds)
                for f in findings
            ],
        ),
    ]
    for f in findings:
        parts += [
            page.heading(f"{f.name}: {f.where}"),
            page.paragraph(f.statement, "found"),
            page.paragraph(
                f"Measured: {f.quantity} = {f.measured:.4g}, to be {f.relation} {f.bound:.4g}: "
                f"{page.VERDICTS[f.holds][0]}."
            ),
            page.paragraph(f"Run: {f.ran}."),
        ]
        if f.note:
            parts.append(page.paragraph(f"Also: {f.note}."))
        if f.correction:
            parts.append(page.paragraph(f"Corrected: {f.correction}"))
        if f.name in figures:
            svg = inline_svg(figures[f.name], f.name, f"figure: {f.name}")
            parts.append(page.figure(svg, f"{f.quantity}: measured, and the bound."))
    parts += [page.heading("The command that made it"), page.code(command)]
    return page.page("The claims of the paper, measured", parts)


def findings_markdown(findings: Sequence[Finding], command: str) -> str:
    """Return the findings as a page of documentation."""
    lines = [
        "# The paper in numbers",
        "",
        "Every theorem, lemma and proposition of *Calibrated Stackelberg Games* as an experiment.",
        f"This page is written by `{command}`; `stackcast verify` runs the quick sizes.",
        verdict(findings),
        "",
        "| claim | where | measured | bound | verdict |",
        "|---|---|---|---|---|",
    ]
    for f in findings:
        word = page.VERDICTS[f.holds][0]
        lines.append(
            f"| [{f.name}](#{f.name}) | {f.where} | {f.measured:.4g} | {_SIGNS[f.relation]} "
            f"{f.bound:.4g} | {word} |"
        )
    corrected = [f for f in findings if f.correction]
    lines += ["", "## What had to be corrected", ""]
    lines += [f"- **{f.name}** ({f.where}): {f.correction}" for f in corrected]
    lines += ["", "The other claims are measured as they are printed.", ""]
    for f in findings:
        lines += [f"## {f.name}", "", f"{f.where}. {f.statement}", ""]
        lines.append(f"- measured: {f.quantity} = {f.measured:.4g}, {f.relation} {f.bound:.4g}")
        lines.append(f"- run: {f.ran}")
        lines += [f"- also: {f.note}"] if f.note else []
        lines.append("")
    return "\n".join(lines[:-1]).replace("V*", "V\\*") + "\n"
