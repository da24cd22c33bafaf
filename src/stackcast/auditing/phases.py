"""The rounds of one label, as audits show them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Phase:
    """The rounds with one label.

    Attributes
    ----------
    name : str
        The label of their blocks.
    rounds : int
        How many there are.
    average_utility : float
        The principal's utility a round, among them.
    regret : float
        V* less that.
    share : float
        Their part of the regret of all rounds: the shares of all phases sum to it.
    """

    name: str
    rounds: int
    average_utility: float
    regret: float
    share: float
