"""What text, figures and pages share: safe text for each medium, colours, Axes, files.

Names come from files of strangers. Each medium has one function that makes a text safe for it,
applied where the text leaves the program: :func:`visible` for a terminal, :func:`in_figure` for
Matplotlib (where ``$`` begins mathematics), :func:`in_page` for HTML.
"""

from __future__ import annotations

import contextlib
import hashlib
import html
import io
import json
import re
import secrets
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stackcast._plain import LONGEST, visible
from stackcast._validation import InputError, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

#: Okabe and Ito's palette, without black; safe for colour-blind readers.
COLOURS = ("#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#0072B2", "#D55E00")
#: Lines: the darker ones of the palette, told apart in grey too.
BLUE, VERMILION = "#0072B2", "#D55E00"
#: What is neither: the rest of many.
GREY = "#9E9E9E"
#: Markers that tell lines apart in grey.
MARKERS = ("o", "s", "^", "D")

#: What a folder of results holds of the program's own files.
MANIFEST = ".stackcast-files.json"


def in_figure(text: object, most: int = 60) -> str:
    r"""Return a text for Matplotlib, with ``$`` as a letter.

    Examples
    --------
    >>> in_figure("a $10 fine")
    'a \\$10 fine'
    """
    return visible(text, most).replace("$", r"\$")


def in_page(text: object) -> str:
    """Return a text for HTML, in an element or a quoted attribute."""
    return html.escape(visible(text, 100 * LONGEST), quote=True)


def load_pyplot() -> Any:
    """Return Matplotlib's pyplot with the headless backend."""
    import matplotlib

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


def short_name(name: object, most: int = 26) -> str:
    """Return a name that a legend has room for, safe for a figure."""
    return in_figure(name, most)


def colours_of(count: int) -> list[str]:
    """Return a colour for each of ``count`` actions; they repeat after the seventh."""
    return [COLOURS[y % len(COLOURS)] for y in range(count)]


def _drawn(draw: Callable[[Any], Any], size: tuple[float, float], panels: int) -> Any:
    """Return a figure on no screen whose Axes ``draw`` has filled."""
    load_pyplot()
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    draw(figure.subplots(1, panels))
    return figure


def rendered(
    draw: Callable[[Any], Any], size: tuple[float, float], panels: int = 1
) -> tuple[str, bytes]:
    """Let ``draw`` fill the Axes of a figure on no screen; return it as SVG text and as PNG.

    With several panels side by side it gets an array of Axes.
    """
    load_pyplot()
    import matplotlib

    vector, pixels = io.StringIO(), io.BytesIO()
    # Names inside the file from its content alone: the same figure is the same file.
    with matplotlib.rc_context({"svg.hashsalt": "stackcast"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # a name in letters that the font lacks
        figure = _drawn(draw, size, panels)
        figure.savefig(vector, format="svg", dpi=200, metadata={"Date": None})
        figure.set_layout_engine("none")  # everything has its place now
        figure.savefig(pixels, format="png", dpi=200)
    return vector.getvalue(), pixels.getvalue()


def save_figure(
    path: str | Path,
    draw: Callable[[Any], Any],
    size: tuple[float, float] = (6.4, 4.4),
    panels: int = 1,
) -> None:
    """Let ``draw`` fill the Axes of a figure, and write it to a PNG, SVG or PDF file.

    Parameters
    ----------
    path : str or Path
    draw : callable
        Takes the Axes; an array of them with several panels.
    size : tuple of float
        Width and height in inches.
    panels : int
        How many Axes stand side by side.
    """
    place = Path(path)
    if place.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise InputError("figure", "a file that ends in .png, .svg or .pdf", shown(place.name))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")
        figure = _drawn(draw, size, panels)
        try:
            figure.savefig(place, dpi=150)
        except OSError as error:
            expected = "a place where a file can be written"
            raise InputError("figure", expected, shown(str(error))) from None


def inline_svg(svg: str, prefix: str, title: str) -> str:
    """Return an SVG file as an element of a page: scalable, named, its ids its own."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r'\b(id="|href="#)', rf"\1{prefix}-", body)
    body = body.replace("url(#", f"url(#{prefix}-")
    # The page decides how wide it is.
    body = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", body, count=1)
    body = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", body, count=1)
    return body.replace("<svg", f'<svg role="img" aria-label="{in_page(title)}"', 1)


def check_foreign(folder: Path, names: Iterable[str]) -> dict[str, list[str]]:
    """Refuse to replace files that the program did not write; return what it wrote there.

    A folder of results lists its files with their digests in ``.stackcast-files.json``. A file of
    one of ``names`` that is not listed, or that was changed since, is somebody else's.
    """
    try:
        table = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        own = {str(name): [str(digest) for digest in digests] for name, digests in table.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        own = {}
    for name in names:
        file = folder / name
        if (file.exists() or file.is_symlink()) and _digest(file) not in own.get(name, []):
            expected = "no file of this name, or one that stackcast wrote"
            raise InputError(str(file), expected, "another one; choose another folder")
    return own


def write_files(
    folder: Path, contents: Mapping[str, str | bytes | Callable[[Path], object]]
) -> list[Path]:
    """Write files into a folder, each whole or not at all; return them.

    A content that is callable is given the path to write to. Files that the program did not write
    are never replaced.
    """
    temporary = {name: folder / f".{secrets.token_hex(8)}.{name}" for name in contents}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        own = check_foreign(folder, contents)
        for name, content in contents.items():
            if callable(content):
                content(temporary[name])
            else:
                data = content.encode("utf-8") if isinstance(content, str) else content
                temporary[name].write_bytes(data)
            # The old digest stays: a run that is killed before it renames still knows its files.
            own[name] = [*own.get(name, [])[-1:], _digest(temporary[name])]
        _list(folder, own)
        for name in contents:
            temporary[name].replace(folder / name)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(str(folder), "a folder that can be written to", reason) from None
    finally:
        for file in temporary.values():
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)
    return [folder / name for name in contents]


def remove_files(folder: Path, names: Iterable[str]) -> None:
    """Remove files that the program wrote into a folder."""
    own = check_foreign(folder, names)
    for name in names:
        (folder / name).unlink(missing_ok=True)
        own.pop(name, None)
    _list(folder, own)


def _list(folder: Path, own: Mapping[str, list[str]]) -> None:
    temporary = folder / f".{secrets.token_hex(8)}{MANIFEST}"
    temporary.write_text(json.dumps(own, indent=1) + "\n", encoding="utf-8")
    temporary.replace(folder / MANIFEST)


def _digest(file: Path) -> str:
    if not file.is_file() or file.is_symlink():
        return "not a file"
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
