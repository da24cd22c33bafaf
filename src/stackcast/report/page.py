"""One self-contained page: headings, sentences, figures inside the file, tables; nothing is loaded.

The page opens offline, on a phone and on a desk, and prints.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_STYLE = """
:root { color-scheme: light; --ink: #1b1b1b; --soft: #5b5b5b; --line: #dcdcdc; --accent: #0072b2; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 60rem; color: var(--ink);
  background: #fff; font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 .6rem; padding-top: .8rem;
  border-top: 1px solid var(--line); }
p { margin: .5rem 0; max-width: 46rem; }
.lead { color: var(--soft); }
.found { font-size: 1.08rem; }
figure { margin: 1rem 0; }
figure svg { display: block; width: 100%; height: auto; max-width: 52rem; }
figcaption { color: var(--soft); font-size: .92rem; max-width: 46rem; margin-top: .4rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .93rem; min-width: 20rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .9rem .35rem 0;
  border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.holds { color: #00694c; font-weight: 600; }
.failed { color: #a30000; font-weight: 700; }
.open { color: #7a5b00; font-weight: 600; }
code, pre { font: .9em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre { background: #f5f5f5; padding: .7rem .9rem; overflow-x: auto; border-radius: 4px; }
@media print { h2 { break-after: avoid; } figure { break-inside: avoid; } }
"""

#: A verdict, for people.
VERDICTS = {True: ("holds", "holds"), False: ("FAILED", "failed"), None: ("open", "open")}


def page(name: str, parts: Iterable[str]) -> str:
    """Return the page; the parts are HTML."""
    body = "\n".join(parts)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<link rel="icon" href="data:,">\n'
        f"<title>{escape(name)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def title(text: str) -> str:
    """Return the heading of the page."""
    return f"<h1>{escape(text)}</h1>"


def heading(text: str) -> str:
    """Return a heading of a section."""
    return f"<h2>{escape(text)}</h2>"


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph."""
    named = f' class="{kind}"' if kind else ""
    return f"<p{named}>{escape(text)}</p>"


def figure(svg: str, caption: str) -> str:
    """Return a figure: an ``<svg>`` element with its caption."""
    return f"<figure>\n{svg}\n<figcaption>{escape(caption)}</figcaption>\n</figure>"


def table(columns: Sequence[str], rows: Iterable[Sequence[str | bool | float | None]]) -> str:
    """Return a table; numbers are set right, a bool or None in a row is a verdict."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    lines = []
    for row in rows:
        cells = []
        for entry in row:
            if entry is None or isinstance(entry, bool):
                word, kind = VERDICTS[entry]
                cells.append(f'<td class="{kind}">{word}</td>')
            elif isinstance(entry, float):
                cells.append(f'<td class="number">{entry:.6g}</td>')
            else:
                cells.append(f"<td>{escape(entry)}</td>")
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n'
        + "\n".join(lines)
        + "\n</tbody></table></div>"
    )


def code(text: str) -> str:
    """Return a command or a file's text."""
    return f"<pre>{escape(text)}</pre>"
