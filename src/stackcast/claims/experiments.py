"""What an experiment is and what it finds: data, for others to print and draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from stackcast._plain import plain

if TYPE_CHECKING:
    from collections.abc import Callable

Relation = Literal["at most", "at least"]
Verdict = Literal["holds", "fails", "vacuous", "undecided"]

#: What rounding may add to a bound that is attained, relative to it.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Curve:
    """Measured values with their bound beside them, for a figure.

    Attributes
    ----------
    horizontal, vertical : str
        What the axes are.
    x, measured, bound : tuple of float
        The points.
    logarithmic : bool
        Whether both axes are.
    """

    horizontal: str
    vertical: str
    x: tuple[float, ...]
    measured: tuple[float, ...]
    bound: tuple[float, ...]
    logarithmic: bool = True


@dataclass(frozen=True)
class Measured:
    """What an experiment gives back.

    Attributes
    ----------
    measured, bound : float
        The number that the claim is about, and what it must not pass.
    ran : str
        What was run.
    note : str
        What else is worth knowing: how idle the bound is, what the printed constants would give.
    curve : Curve or None
    """

    measured: float
    bound: float
    ran: str
    note: str = ""
    curve: Curve | None = None


@dataclass(frozen=True)
class Claim:
    """A statement of the paper with the experiment that puts it into numbers.

    Attributes
    ----------
    name : str
        One word or a few, joined by hyphens.
    where : str
        The theorem, lemma or proposition.
    statement : str
        What is claimed, in a sentence.
    quantity : str
        What is measured.
    run : callable
        Takes whether the full size is wanted, and gives what was measured.
    relation : {"at most", "at least"}
        On which side of the bound the measured value must be.
    correction : str
        What had to be corrected in the paper for the claim to hold; empty if nothing.
    shares : str
        Claims that name the same runs here are measured in one process, which keeps them.
    """

    name: str
    where: str
    statement: str
    quantity: str
    run: Callable[[bool], Measured]
    relation: Relation = "at most"
    correction: str = ""
    shares: str = ""


@dataclass(frozen=True)
class Finding:
    """A claim, measured."""

    name: str
    where: str
    statement: str
    quantity: str
    relation: Relation
    correction: str
    measured: float
    bound: float
    verdict: Verdict
    runs: int
    failures: int
    ran: str
    note: str
    seconds: float
    curve: Curve | None = None

    @classmethod
    def of(cls, claim: Claim, found: Measured, seconds: float) -> Finding:
        """Compare what was measured with the bound; a measured NaN does not hold."""
        room = _ROUNDING * max(1.0, abs(found.bound))
        below = found.measured <= found.bound + room
        above = found.measured >= found.bound - room
        kept = bool(below if claim.relation == "at most" else above)
        return cls(
            name=claim.name,
            where=claim.where,
            statement=claim.statement,
            quantity=claim.quantity,
            relation=claim.relation,
            correction=claim.correction,
            measured=found.measured,
            bound=found.bound,
            verdict="holds" if kept else "fails",
            runs=1,
            failures=int(not kept),
            ran=found.ran,
            note=found.note,
            seconds=seconds,
            curve=found.curve,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON can hold it; the curve is for figures."""
        table: dict[str, Any] = plain(self, but=("curve",))
        return table
