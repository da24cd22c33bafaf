"""A claim of the paper as an experiment, and the verdict on it: data, for others to print and draw.

An experiment counts every run that the claim's hypothesis covers, and gives one number for each. A
run whose number lies beyond the bound has failed; so has one that gives no number, because a
principal did not commit, committed outside of its region, or found another response.

- A claim without a probability *holds* if no run fails.
- A claim that fails with a chance of at most δ is tested as one: it *fails* if so many failures
  would have a chance below 1% (one-sided, binomial), is *undecided* if their share is above δ but
  not significantly, and *holds* otherwise.
- Where the bound says nothing at the sizes that were run, because it lies beyond what is possible
  at all, the verdict is *vacuous*, with the size from which it would speak.
"""

from __future__ import annotations

import math
import os
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from stackcast._plain import plain
from stackcast._validation import one_of, whole_number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Relation = Literal["at most", "at least"]
Verdict = Literal["holds", "fails", "vacuous", "undecided"]

#: What rounding may add to a bound that is attained, relative to it.
_ROUNDING = 1e-9
#: A share of failures refutes a chance δ if it would be this rare.
SIGNIFICANT = 0.01
#: What a run measures that gives no number.
NOTHING = math.nan


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
    found : tuple of float
        A number for each run; NaN where the run gave none, which is a failure.
    bound : float
        What the numbers must not pass.
    ran : str
        What was run.
    note : str
        What else is worth knowing: how idle the bound is, what the printed constants would give.
    curve : Curve or None
    chance : float
        δ, the chance of a failure in one run that the claim allows.
    speaks_from : str
        Where the bound says nothing at these sizes: from which size on it would; empty elsewhere.
    """

    found: tuple[float, ...]
    bound: float
    ran: str
    note: str = ""
    curve: Curve | None = None
    chance: float = 0.0
    speaks_from: str = ""


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
        What is measured in a run.
    run : callable
        Takes whether the full size is wanted, and gives what was measured.
    relation : {"at most", "at least"}
        On which side of the bound the measured values must be.
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


def claim(
    where: str,
    quantity: str,
    relation: Relation = "at most",
    *,
    correction: str = "",
    shares: str = "",
) -> Callable[[Callable[[bool], Measured]], Claim]:
    """Make a claim of an experiment: its name is the function's, its statement the docstring."""

    def made(run: Callable[[bool], Measured]) -> Claim:
        name, statement = run.__name__.replace("_", "-"), " ".join((run.__doc__ or "").split())
        return Claim(name, where, statement, quantity, run, relation, correction, shares)

    return made


@dataclass(frozen=True)
class Finding:
    """A claim, measured; ``measured`` is the worst run that gave a number."""

    name: str
    where: str
    statement: str
    quantity: str
    relation: Relation
    correction: str
    verdict: Verdict
    runs: int
    failures: int
    chance: float
    measured: float
    bound: float
    speaks_from: str
    ran: str
    note: str
    seconds: float
    curve: Curve | None = None

    @classmethod
    def of(cls, claim: Claim, found: Measured, seconds: float = 0.0) -> Finding:
        """Compare what every run measured with the bound."""
        room = _ROUNDING * max(1.0, abs(found.bound))
        upper = claim.relation == "at most"
        sign = 1.0 if upper else -1.0
        kept = [sign * (value - found.bound) <= room for value in found.found]
        numbers = [value for value in found.found if not math.isnan(value)]
        runs, failures = len(kept), len(kept) - sum(kept)
        return cls(
            name=claim.name,
            where=claim.where,
            statement=claim.statement,
            quantity=claim.quantity,
            relation=claim.relation,
            correction=claim.correction,
            verdict=_verdict(runs, failures, found.chance, found.speaks_from),
            runs=runs,
            failures=failures,
            chance=found.chance,
            measured=(max if upper else min)(numbers, default=math.nan),
            bound=found.bound,
            speaks_from=found.speaks_from,
            ran=found.ran,
            note=found.note,
            seconds=seconds,
            curve=found.curve,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON can hold it; the curve is for figures."""
        table: dict[str, Any] = plain(self, but=("curve",))
        return table


def _verdict(runs: int, failures: int, chance: float, speaks_from: str) -> Verdict:
    if runs == 0:
        return "undecided"
    if failures:
        if chance <= 0.0 or _tail(runs, failures, chance) < SIGNIFICANT:
            return "fails"
        if failures > chance * runs:
            return "undecided"
    return "vacuous" if speaks_from else "holds"


def _tail(runs: int, failures: int, chance: float) -> float:
    """Return P[Binomial(runs, chance) ≥ failures]."""
    from scipy.stats import binom

    return float(binom.sf(failures - 1, runs, min(chance, 1.0)))


def all_claims() -> tuple[Claim, ...]:
    """Return every claim, in the order of the paper."""
    from stackcast.claims import commitment, continuous, forecasting

    rooms = (commitment, forecasting, continuous)
    return tuple(made for room in rooms for made in vars(room).values() if isinstance(made, Claim))


def claim_names() -> list[str]:
    """Return the names of all claims, in order.

    Examples
    --------
    >>> claim_names()[0]
    'upper-bound'
    """
    return [claim.name for claim in all_claims()]


def check_claim(name: str, full: bool = False) -> Finding:
    """Run the experiment of one claim.

    Parameters
    ----------
    name : str
        One of :func:`claim_names`.
    full : bool
        Whether to run the sizes that go into the docs instead of the quick ones.

    Examples
    --------
    >>> found = check_claim("separation-interval")
    >>> found.verdict, found.measured
    ('holds', 0.5)
    """
    one_of("claim", name, claim_names())
    claim = next(claim for claim in all_claims() if claim.name == name)
    start = time.perf_counter()
    found = claim.run(full)
    return Finding.of(claim, found, time.perf_counter() - start)


def verify(
    names: Sequence[str] | None = None,
    *,
    full: bool = False,
    workers: int | None = None,
    done: Callable[[Finding], object] | None = None,
) -> list[Finding]:
    """Run the experiments of many claims, and return what they found in the order of the paper.

    Parameters
    ----------
    names : sequence of str, optional
        Which claims; all by default.
    full : bool
        Whether to run the sizes that go into the docs.
    workers : int, optional
        How many processes; by default one for each core. Results do not depend on it.
    done : callable, optional
        Is shown every finding as it comes.
    """
    chosen = claim_names() if names is None else [one_of("claim", n, claim_names()) for n in names]
    chosen = [name for name in claim_names() if name in chosen]
    count = os.cpu_count() or 1
    if workers is not None:
        count = whole_number("workers", workers, at_least=1)
    found: dict[str, Finding] = {}

    def take(finding: Finding) -> None:
        found[finding.name] = finding
        if done is not None:
            done(finding)

    if min(count, len(chosen)) <= 1:
        for name in chosen:
            take(check_claim(name, full))
    else:
        from concurrent.futures import ProcessPoolExecutor, as_completed
        from multiprocessing import active_children, get_context

        groups: dict[str, list[str]] = {}
        for claim in all_claims():
            if claim.name in chosen:
                groups.setdefault(claim.shares or claim.name, []).append(claim.name)
        # The long ones first, so that no core waits for one at the end.
        order = sorted(groups, key=lambda key: -len(groups[key]))
        with ProcessPoolExecutor(
            min(count, len(groups)), get_context("spawn"), initializer=_end_quietly
        ) as pool:
            try:
                # Workers start with Ctrl-C held back, until they can end without a traceback.
                held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
                try:
                    futures = [pool.submit(_check, groups[key], full) for key in order]
                finally:
                    signal.pthread_sigmask(signal.SIG_SETMASK, held)
                for future in as_completed(futures):
                    for finding in future.result():
                        take(finding)
            except KeyboardInterrupt:
                for child in active_children():
                    child.kill()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    return [found[name] for name in chosen]


def _end_quietly() -> None:
    """Let Ctrl-C end a worker at once and without a word: the first process speaks."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _check(names: list[str], full: bool) -> list[Finding]:
    return [check_claim(name, full) for name in names]
