"""How games, solutions, audits and players show themselves in a notebook."""

from __future__ import annotations


class InNotebook:
    """Gives a class the HTML that a notebook shows for its objects.

    The one import upwards of the package, named as such in the import contracts.
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        from stackcast.report import in_notebook

        return in_notebook(self)
