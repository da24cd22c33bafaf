"""From names to classes: the package's own players, and those that others install.

Another distribution adds a player by an entry point, in the group ``stackcast.agents`` or
``stackcast.principals``:

.. code-block:: toml

    [project.entry-points."stackcast.agents"]
    Stubborn = "my_package:Stubborn"
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from stackcast._validation import InputError, shown

if TYPE_CHECKING:
    from collections.abc import Mapping


class Registry:
    """The players of one room by name; the package's own names cannot be taken by others."""

    def __init__(
        self,
        group: str,
        own: Mapping[str, type[Any]],
        continuous: Mapping[str, type[Any]] | None = None,
    ) -> None:
        self._group, self._continuous = group, dict(continuous or {})
        self._own = {**own, **self._continuous}

    def names(self) -> list[str]:
        """Return the names of those who play games with lists of actions, sorted."""
        others = {entry.name for entry in entry_points(group=self._group)}
        return sorted(({*self._own} - {*self._continuous}) | others)

    def continuous_names(self) -> list[str]:
        """Return the names of those who play continuous games, sorted."""
        return sorted(self._continuous)

    def find(self, name: str) -> type[Any]:
        """Return the class of that name."""
        if name in self._own:
            return self._own[name]
        for entry in entry_points(group=self._group):
            if entry.name == name:
                found = entry.load()
                if not isinstance(found, type):
                    raise InputError(f"entry point {name}", "a class", shown(found))
                return found
        room = self._group.rpartition(".")[2]
        known = sorted({*self.names(), *self._continuous})
        raise InputError(room, "one of " + ", ".join(known), shown(name))
