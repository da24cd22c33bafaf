"""Which versions of what compute the decisions of a campaign."""

from __future__ import annotations

import importlib
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version


@lru_cache(maxsize=1)
def software() -> str:
    """Return the versions that a decision may depend on.

    Examples
    --------
    >>> software().split(" ")[0]
    'stackcast'
    """
    # By name: the package's front door names all rooms, this one included.
    words = ["stackcast " + str(importlib.import_module("stackcast").__version__)]
    for package in ("numpy", "numba", "scipy"):
        try:
            words.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            words.append(f"{package} unknown")
    return ", ".join(words)
