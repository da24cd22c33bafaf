"""The calibration profile: the worst error over intervals, for chosen lengths and for all.

For chosen lengths the worst interval is found exactly, in O(T·n·m) each. Over *all* T(T+1)/2
intervals the profile brackets

    sup over intervals of  CalErr(interval) / r(number of rounds)

between two certified numbers. Lengths are put into classes [a, b]; sliding a window over the prefix
sums gives the exact largest sum N over all intervals of a class, hence

    N / (ℓ·r(ℓ))  ≤  sup over the class  ≤  N / min{L·r(L) : a ≤ L ≤ b},

with ℓ the length at which N was attained. Dyadic classes come first, cut into stretches of end
points; then the stretch with the largest upper bound is split in its lengths, again and again,
until upper ≤ (1 + width)·lower. A class of one length is exact, so this always ends. Where L·r(L)
changes by at most a constant factor when L doubles, as for the paper's rate and for powers, the
cost is O(T log T·n·m/width), and in practice near that of the dyadic classes alone, because nearly
every stretch is discarded by its first bound, or by the mere range of the sums around it. Rows of
sums are bracketed one after the other: memory is 16 bytes a round besides the record.

For a :class:`SecondOrderRate`, whose bound on an interval knows the variance there, the sup is
found exactly instead: see :func:`_second_order`.

Both bounds allow for the rounding of the prefix sums, which is stated in ``rounding``.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError, real_number, shown, whole_number
from stackcast.calibration._profile_kernel import (
    UNIT_ROUNDOFF,
    prefix_sum,
    steepest_interval,
    worst_of_length,
    worst_of_lengths,
)
from stackcast.calibration.errors import CHUNK, ForecastRecord, _score, forecast_record
from stackcast.calibration.rates import AdaptiveRate, Rate, SecondOrderRate, as_rate

if TYPE_CHECKING:
    from stackcast._validation import FloatArray

_STRETCH = 8192  # end points that are bounded together, or four times the class's longest length


@dataclass(frozen=True)
class WorstInterval:
    """An interval with its largest error: rounds start..stop−1, and the bin and coordinate.

    ``gap`` is the mean of outcome − forecast over the rounds of the bin there: below 0 where the
    forecasts are too high.
    """

    start: int
    stop: int
    bin: int
    coordinate: int
    error: float
    gap: float

    @property
    def length(self) -> int:
        """The number of rounds."""
        return self.stop - self.start

    @property
    def direction(self) -> str:
        """Which way the forecasts are off, and by how much: "too high by 0.18"."""
        return f"too {'high' if self.gap < 0 else 'low'} by {abs(self.gap):.2g}"

    def to_dict(self) -> dict[str, Any]:
        """Return the interval as plain numbers."""
        return {
            "start": self.start,
            "stop": self.stop,
            "bin": self.bin,
            "coordinate": self.coordinate,
            "error": self.error,
            "gap": self.gap,
        }


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationProfile:
    """What :func:`calibration_profile` found.

    Attributes
    ----------
    rounds, bins, coordinates : int
        The size of the record.
    errors : mapping of int to float
        For each chosen length, the worst calibration error over all intervals of that length.
    worst : mapping of int to WorstInterval
        For each chosen length, where that is.
    lower, upper : float
        lower ≤ sup of error/rate over all intervals of at least ``shortest`` rounds ≤ upper.
    worst_ratio : WorstInterval
        An interval whose error/rate attains ``lower`` (up to ``rounding``).
    rate : Rate
        What the errors are divided by.
    shortest : int
        The shortest intervals that the bracket covers.
    width : float
        The relative width that was asked for.
    bin_errors : array
        The error of each bin over the whole record; ``largest_bin_error`` and ``total_error`` are
        its maximum (ℓ∞) and its sum (ℓ1).
    foster_vohra : float
        The Foster–Vohra score: the ℓ1 sum with each distinct forecast a bin of its own.
    rounding : float
        No sum over an interval is off by more than this; an error, by this over its length.
    """

    rounds: int
    bins: int
    coordinates: int
    errors: Mapping[int, float]
    worst: Mapping[int, WorstInterval]
    lower: float
    upper: float
    worst_ratio: WorstInterval
    rate: Rate
    shortest: int
    width: float
    bin_errors: FloatArray
    foster_vohra: float
    rounding: float

    @property
    def total_error(self) -> float:
        """The sum of the bins' errors over the whole record (ℓ1)."""
        return float(self.bin_errors.sum())

    @property
    def largest_bin_error(self) -> float:
        """The largest of the bins' errors over the whole record (ℓ∞)."""
        return float(self.bin_errors.max())

    @property
    def covered(self) -> str:
        """Which intervals the bracket covers, in words."""
        more = f" of {self.shortest:,} rounds or more" if self.shortest > 1 else ""
        return f"all intervals{more}"

    @property
    def within_rate(self) -> bool | None:
        """Whether every interval's error is within the rate; None if the bracket cannot say."""
        if self.upper <= 1:
            return True
        return False if self.lower > 1 else None

    def __repr__(self) -> str:
        size = f"{self.rounds:,} rounds, {self.bins} bins"
        return f"CalibrationProfile({size}, error over rate {self.lower:.3g} to {self.upper:.3g})"

    def to_dict(self) -> dict[str, Any]:
        """Return the profile as plain numbers, lists and tables for JSON."""
        return {
            "rounds": self.rounds,
            "bins": self.bins,
            "coordinates": self.coordinates,
            "errors": {str(length): error for length, error in self.errors.items()},
            "worst": {str(length): at.to_dict() for length, at in self.worst.items()},
            "rates": {str(length): self.rate(length) for length in self.errors},
            "lower": self.lower,
            "upper": self.upper,
            "worst_ratio": self.worst_ratio.to_dict(),
            "shortest": self.shortest,
            "width": self.width,
            "bin_errors": self.bin_errors.tolist(),
            "total_error": self.total_error,
            "largest_bin_error": self.largest_bin_error,
            "foster_vohra": self.foster_vohra,
            "within_rate": self.within_rate,
            "rounding": self.rounding,
        }


def calibration_profile(
    outcomes: Any,
    forecasts: Any = None,
    bins: Any = None,
    lengths: Iterable[int] | None = None,
    rate: Any = None,
    width: float = 0.05,
    shortest: int = 1,
) -> CalibrationProfile:
    """Return the calibration error of forecasts on every interval of time.

    Parameters
    ----------
    outcomes, forecasts : array_like
        T×m each; or outcomes as T labels 0..m−1 of what happened; or one column each for a yes/no
        event and its probability; or a file or table with names of columns as ``outcomes`` alone.
    bins : array_like, optional
        T labels 0..n−1 or T×n weights whose rows sum to one; :func:`decision_bins` makes labels
        from probabilities and a threshold. By default the decision: the side of one half, or the
        likeliest outcome.
    lengths : iterable of int, optional
        The lengths whose worst interval is wanted exactly; by default 1, 2, 5, 10, 20 … and T.
    rate : Rate, callable or float, optional
        What the errors of all intervals are compared with: a rate of :mod:`stackcast.calibration`,
        a function of one number of rounds, or the constant c of the paper's rate c·√(log(n·m·t)/t);
        by default 1. With a :class:`SecondOrderRate` every interval is compared with the bound for
        the variance on it, and lower = upper.
    width : float
        The bracket is refined until upper ≤ (1 + width)·lower.
    shortest : int
        The shortest intervals that the bracket covers.

    Returns
    -------
    CalibrationProfile

    Notes
    -----
    Cost O(T log T·n·m/width) time and 16·T bytes besides the record; see the module.

    Examples
    --------
    Forecasts of one half for an event that stops happening: right on the whole, wrong on parts.

    >>> outcomes = [1] * 50 + [0] * 50
    >>> profile = calibration_profile(outcomes, [0.5] * 100, bins=[0] * 100, lengths=[50, 100])
    >>> profile.errors[100], profile.errors[50]
    (0.0, 0.5)
    >>> profile.worst[50]
    WorstInterval(start=0, stop=50, bin=0, coordinate=0, error=0.5, gap=0.5)
    >>> profile.lower <= 0.5 / profile.rate(50) <= profile.upper <= 1.05 * profile.lower
    True
    """
    record = forecast_record(outcomes, forecasts, bins)
    T = record.rounds
    chosen = _default_lengths(T) if lengths is None else _checked_lengths(lengths, T)
    real_number("width", width, above=0.0)
    if whole_number("shortest", shortest, at_least=1) > T:
        raise InputError("shortest", f"at most the {T} rounds", f"{shortest}")
    if rate is None or isinstance(rate, int | float | np.number):
        constant = 1.0 if rate is None else real_number("rate", rate, above=0.0)
        allowed: Rate = AdaptiveRate(record.bins, record.actions, constant)
    else:
        allowed = as_rate(rate)
    rows = [(i, j) for i in range(record.bins) for j in range(record.coordinates)]
    sums, largest, by_bin = np.empty(T + 1), 0.0, np.zeros(record.bins)
    found = dict.fromkeys(chosen, (-1.0, 0, 0))
    for c, (i, j) in enumerate(rows):
        prefix_sum(*record.arrays, i, j, sums)
        largest = max(largest, float(sums.max()), -float(sums.min()))
        by_bin[i] = max(by_bin[i], abs(sums[-1]) / T)
        for length in chosen:
            total, u = worst_of_length(sums, length)
            if total > found[length][0]:
                found[length] = total, u, c
    rounding = _rounding(largest, T)
    known = [(total, u, u + length, c) for length, (total, u, c) in found.items()]
    worst = {v - u: worst_interval(record, u, v, c, total) for total, u, v, c in known}
    if isinstance(allowed, SecondOrderRate):
        lower, at = _second_order(record, rows, allowed, shortest)
        upper = lower
    else:
        lower, upper, at = _bracket(record, rows, sums, allowed, width, shortest, rounding, known)
    total, u, v, c = at
    by_bin.flags.writeable = False
    return CalibrationProfile(
        rounds=T,
        bins=record.bins,
        coordinates=record.coordinates,
        errors=MappingProxyType({length: at.error for length, at in worst.items()}),
        worst=MappingProxyType(worst),
        lower=lower,
        upper=upper,
        worst_ratio=worst_interval(record, u, v, c, total),
        rate=allowed,
        shortest=shortest,
        width=width,
        bin_errors=by_bin,
        foster_vohra=_score(record),
        rounding=rounding,
    )


def _bracket(
    record: ForecastRecord,
    rows: list[tuple[int, int]],
    sums: FloatArray,
    rate: Rate,
    width: float,
    shortest: int,
    rounding: float,
    known: Iterable[tuple[float, int, int, int]] = (),
) -> tuple[float, float, tuple[float, int, int, int]]:
    """Return lower, upper, and (sum, u, v, c) of the interval that attains lower.

    Rows are bracketed one after the other, in ``sums``, against the largest ratio so far. A stretch
    is (−upper bound, a, b, first, last): lengths a..b, ends first..last−1; ``allowed[L]`` is
    L·r(L). What is ``known`` of single intervals, (sum, u, v, c), gives a first lower bound.
    """
    T, allowed = record.rounds, _allowed_sums(rate, record.rounds)
    lower, highest, where = -1.0, 0.0, (0.0, 0, shortest, 0)

    def attain(total: float, u: int, v: int, c: int) -> float:
        nonlocal lower, where
        ratio = total / allowed[v - u]
        if ratio > lower:
            lower, where = ratio, (float(total), int(u), int(v), int(c))
        return float(ratio)

    for total, u, v, c in known:
        if v - u >= shortest:
            attain(total, u, v, c)
    for c, (i, j) in enumerate(rows):
        prefix_sum(*record.arrays, i, j, sums)
        stretches: list[tuple[float, int, int, int, int]] = []

        def bound(
            a: int, b: int, first: int, last: int, c: int = c, stretches: Any = stretches
        ) -> None:
            least = allowed[a : b + 1].min()
            enough = (1 + width) * lower * least * (1 - 8 * UNIT_ROUNDOFF) if a < b else -1.0
            total, u, v, skipped = worst_of_lengths(sums, a, b, first, last, enough)
            upper = skipped / least
            if total >= 0:
                ratio = attain(total, u, v, c)
                # Rounding of the division must not order a class of one length above its ratio.
                upper = max(upper, ratio if a == b else total / least)
            heapq.heappush(stretches, (-upper, a, b, first, last))

        a = shortest
        while a <= T:
            b = min(2 * a - 1, T)
            size = max(_STRETCH, 4 * b)
            for first in range(a, T + 1, size):
                bound(a, b, first, min(first + size, T + 1))
            a = b + 1
        while -stretches[0][0] > (1 + width) * lower:
            _, a, b, first, last = heapq.heappop(stretches)
            middle = min(max(math.isqrt(a * b), a), b - 1)
            bound(a, middle, first, last)
            if middle + 1 < last:
                bound(middle + 1, b, max(first, middle + 1), last)
        highest = max(highest, -stretches[0][0])
    upper = max(lower, highest)
    _, u, v, _ = where
    slack = 1 + 8 * UNIT_ROUNDOFF
    certified = max(0.0, lower / slack - rounding / allowed[v - u])
    return float(certified), float(upper * slack + rounding / allowed[shortest:].min()), where


def _second_order(
    record: ForecastRecord, rows: list[tuple[int, int]], rate: SecondOrderRate, shortest: int
) -> tuple[float, tuple[float, int, int, int]]:
    """Return the sup of error over bound, and (sum, u, v, c) there, in O(T·n·m) a step.

    For a bet of size δ the ratio is δ·|S|/(R_s + κδ²·V) with R_s, S and V those of the interval.
    It exceeds λ where the running sum Y(v) = Σ (±δ·x − λκδ²·x²) rises by more than λ·R_s: a running
    minimum of Y(u) + λ·R_(u+1) finds the interval where it does so most. Its ratio is the next λ
    (Dinkelbach's method), until none exceeds it.
    """
    prices = np.empty(record.rounds)
    for start in range(0, record.rounds, CHUNK):
        stop = min(start + CHUNK, record.rounds)
        prices[start:stop] = rate.price(np.arange(start + 1, stop + 1))
    ratio, where = 0.0, (0.0, 0, shortest, 0)
    while True:
        better = ratio
        for c, (i, j) in enumerate(rows):
            found, u, v, total = steepest_interval(
                *record.arrays, i, j, rate.sizes, rate.curvatures, prices, ratio, shortest
            )
            if found > better:
                better, there = found, (float(total), int(u), int(v), c)
        if better <= ratio * (1 + 1e-12):
            return float(ratio / rate.constant), where
        ratio, where = better, there


def _rounding(largest: float, rounds: int) -> float:
    """Return how far a difference of two stored prefix sums may be from the exact one."""
    steps = 8 * (rounds + 1) * UNIT_ROUNDOFF**2
    stored = UNIT_ROUNDOFF * largest + steps * max(1.0, largest)
    return (2 * stored + UNIT_ROUNDOFF * 2 * largest) if largest else 0.0


def _allowed_sums(rate: Rate, rounds: int) -> FloatArray:
    allowed = np.empty(rounds + 1)
    allowed[0] = np.inf
    for start in range(1, rounds + 1, CHUNK):
        lengths = np.arange(start, min(start + CHUNK, rounds + 1), dtype=np.float64)
        values = np.asarray(rate(lengths), dtype=np.float64)
        wrong = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
        if wrong.size:
            field = f"rate at {start + wrong[0]} rounds"
            raise InputError(field, "a number above 0", shown(values[wrong[0]]))
        allowed[start : start + len(lengths)] = lengths * values
    return allowed


def worst_interval(record: ForecastRecord, u: int, v: int, c: int, total: float) -> WorstInterval:
    """Return rounds u..v−1 with bin and coordinate of row c, whose gaps sum to ±``total``."""
    i, j = divmod(int(c), record.coordinates)
    gaps, weights = 0.0, 0.0
    for start in range(int(u), int(v), CHUNK):
        stop = min(start + CHUNK, int(v))
        (h, p), w = record.of_rounds(start, stop), record.weight(i, start, stop)
        gaps, weights = gaps + float(w @ (h[:, j] - p[:, j])), weights + float(w.sum())
    gap = gaps / weights if weights else 0.0
    return WorstInterval(int(u), int(v), i, j, float(total) / int(v - u), gap)


def _default_lengths(rounds: int) -> list[int]:
    series = [step * 10**power for power in range(len(str(rounds))) for step in (1, 2, 5)]
    return [length for length in series if length < rounds] + [rounds]


def _checked_lengths(lengths: Iterable[int], rounds: int) -> list[int]:
    if isinstance(lengths, str | bytes) or not isinstance(lengths, Iterable):
        raise InputError("lengths", "a list of whole numbers", shown(lengths))
    chosen = [whole_number("lengths", length, at_least=1) for length in lengths]
    if chosen and max(chosen) > rounds:
        raise InputError("lengths", f"at most the {rounds} rounds of the record", f"{max(chosen)}")
    return sorted(set(chosen))
