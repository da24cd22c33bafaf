"""Objects as data frames, and libraries that may be missing."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from stackcast._validation import InputError

if TYPE_CHECKING:
    from stackcast._validation import Table


def library(module: str, extra: str, field: str = "interop") -> Any:
    """Return a library, or raise an error that names the extra that installs it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        wanted = module.partition(".")[0]
        expected = f"the library {wanted} (pip install 'stackcast[{extra}]')"
        raise InputError(field, expected, f"no {error.name}") from None


class InFrames:
    """Gives a class its rows as a data frame of Polars or of pandas."""

    __slots__ = ()

    def _columns(self) -> Table:
        """Return the columns, all of one length, by name."""
        raise NotImplementedError

    def to_polars(self) -> Any:
        """Return the rows as a data frame of Polars."""
        return library("polars", "tables", "to_polars").DataFrame(self._columns())

    def to_pandas(self) -> Any:
        """Return the rows as a data frame of pandas."""
        return library("pandas", "games", "to_pandas").DataFrame(self._columns())
