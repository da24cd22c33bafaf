"""From names to classes: the package's own players, and those that others install.

Another distribution adds a player by an entry point, in the group ``stackcast.agents`` or
``stackcast.principals``:

.. code-block:: toml

    [project.entry-points."stackcast.agents"]
    Stubborn = "my_package:Stubborn"
"""

from __future__ import annotations

import inspect
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
        self._room = group.rpartition(".")[2]

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
        known = sorted({*self.names(), *self._continuous})
        raise InputError(self._room, "one of " + ", ".join(known), shown(name))

    def origin(self, name: str) -> str:
        """Return who made the player: nothing for our own, a distribution and its version else."""
        if name not in self._own:
            for entry in entry_points(group=self._group):
                if entry.name == name and entry.dist is not None:
                    return f"{entry.dist.name} {entry.dist.version}"
        return ""

    def make(self, name: str, settings: Mapping[str, Any], offered: Mapping[str, Any]) -> Any:
        """Return a player with ``settings``, and what its class takes of what is ``offered``.

        Examples
        --------
        >>> import stackcast as sc
        >>> game = sc.load_game("inspection")
        >>> offered = {"view": game.agent_view, "seed": 1, "horizon": 100}
        >>> sc.agents.make("QuantalResponse", {"precision": 5.0}, offered).settings["precision"]
        5.0
        """
        made = self.find(name)
        takes = inspect.signature(made).parameters
        unknown = [setting for setting in settings if setting not in takes]
        if unknown:
            free = [parameter for parameter in takes if parameter not in ("view", "game")]
            raise InputError(f"settings of {name}", "some of " + ", ".join(free), shown(unknown[0]))
        given = {key: value for key, value in offered.items() if key in takes} | dict(settings)
        missing = [
            parameter.name
            for parameter in takes.values()
            if parameter.default is parameter.empty and parameter.name not in given
        ]
        if missing:
            raise InputError(f"settings of {name}", f"a value of {missing[0]}", "none")
        return made(**given)
