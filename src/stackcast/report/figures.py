"""What the figures share: Matplotlib, loaded late, and colours that everybody can tell apart."""

from __future__ import annotations

from typing import Any

from stackcast._validation import InputError

#: Okabe and Ito's palette, without black; safe for colour-blind readers.
COLOURS = ("#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#0072B2", "#D55E00")


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
