"""Run the experiments, one after the other or on several cores."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

from stackcast._validation import one_of, whole_number
from stackcast.claims import calibrated, continuous, forecasting, learning, nonadaptive, oracles
from stackcast.claims.experiments import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stackcast.claims.experiments import Claim

#: Every claim, in the order of the paper. A further room of claims is one more line here.
CLAIMS: tuple[Claim, ...] = (
    *calibrated.CLAIMS,
    *learning.CLAIMS,
    *oracles.CLAIMS,
    *forecasting.CLAIMS,
    *continuous.CLAIMS,
    *nonadaptive.CLAIMS,
)


def claim_names() -> list[str]:
    """Return the names of all claims, in order.

    Examples
    --------
    >>> claim_names()[0]
    'upper-bound'
    """
    return [claim.name for claim in CLAIMS]


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
    claim = CLAIMS[claim_names().index(name)]
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
        for claim in CLAIMS:
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
