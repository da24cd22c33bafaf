"""What the figures share: Matplotlib, loaded late, colours that everybody can tell apart, files."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

from stackcast._validation import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

#: Okabe and Ito's palette, without black; safe for colour-blind readers.
COLOURS = ("#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#0072B2", "#D55E00")
#: Lines: the darker ones of the palette, told apart in grey too.
BLUE, VERMILION = "#0072B2", "#D55E00"
#: What is neither: the rest of many.
GREY = "#9E9E9E"


def load_pyplot() -> Any:
    """Return Matplotlib's pyplot with the headless backend, or say how to get it."""
    try:
        import matplotlib
    except ImportError:
        raise InputError(
            "figures", "Matplotlib (pip install 'stackcast[plot]')", "no Matplotlib"
        ) from None
    matplotlib.use("Agg", force=False)
    from matplotlib import pyplot

    return pyplot


def new_axes(ax: Any = None, size: tuple[float, float] = (6.4, 4.4)) -> Any:
    """Return the Axes given, or those of a new figure."""
    if ax is None:
        _, ax = load_pyplot().subplots(figsize=size, layout="constrained")
    return ax


def plain_axes(ax: Any) -> None:
    """Give Axes the look that all figures share: legible at half size, nothing for decoration."""
    ax.tick_params(labelsize=12)
    ax.xaxis.label.set_size(13)
    ax.yaxis.label.set_size(13)
    ax.grid(visible=True, which="major", color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def short_name(name: str, most: int = 26) -> str:
    """Return a name that a legend has room for."""
    return name if len(name) <= most else name[: most - 1] + "…"


def colours_of(count: int) -> list[str]:
    """Return a colour for each of ``count`` actions; they repeat after the seventh."""
    return [COLOURS[y % len(COLOURS)] for y in range(count)]


def rendered(
    draw: Callable[[Any], Any], size: tuple[float, float], panels: int = 1
) -> tuple[str, bytes]:
    """Let ``draw`` fill the Axes of a figure on no screen; return it as SVG text and as PNG.

    With several panels side by side it gets an array of Axes.
    """
    load_pyplot()
    import matplotlib
    from matplotlib.figure import Figure

    # Names inside the file from its content alone: the same figure is the same file.
    with matplotlib.rc_context({"svg.hashsalt": "stackcast"}):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots(1, panels))
        vector, pixels = io.StringIO(), io.BytesIO()
        figure.savefig(vector, format="svg", dpi=200, metadata={"Date": None})
        figure.set_layout_engine("none")  # everything has its place now
        figure.savefig(pixels, format="png", dpi=200)
    return vector.getvalue(), pixels.getvalue()


def inline_svg(svg: str, prefix: str, title: str) -> str:
    """Return an SVG file as an element of a page: scalable, named, its ids its own."""
    from html import escape

    body = svg[svg.index("<svg") :]
    body = re.sub(r'\b(id="|href="#)', rf"\1{prefix}-", body)
    body = body.replace("url(#", f"url(#{prefix}-")
    # The page decides how wide it is.
    body = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", body, count=1)
    body = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", body, count=1)
    label = f'<svg role="img" aria-label="{escape(title, quote=True)}"'
    return body.replace("<svg", label, 1)
