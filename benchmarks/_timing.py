"""How long things take: the median of repeats, and how far they lie apart."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Times(NamedTuple):
    """The median of some times in seconds, and (longest − shortest) / median."""

    median: float
    spread: float


def summary(times: list[float]) -> Times:
    """Return the median of times and their spread."""
    median = statistics.median(times)
    return Times(median, (max(times) - min(times)) / median)


def measured(job: Callable[[], object], repeats: int = 5) -> Times:
    """Return how long a job takes; its first run (compilation) is not counted."""
    job()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return summary(times)
