"""What a record of forecasts looks like: frequency against forecast, and error by interval.

**The band.** In a cell of forecasts let S be the number of times that the outcome happened in n
rounds, and let p_1 … p_n be the forecasts. For every λ the wealth

    M_n(λ) = exp(λS − Σ ln(1 + p_t·(e^λ − 1)))

is a nonnegative martingale with mean 1 if the forecasts are right (a supermartingale for outcomes
between 0 and 1), and so is a mixture of them over λ > 0, or over λ < 0. By Ville's inequality the
chance that a mixture *ever* reaches 2·cells/level is at most level/(2·cells). It rises with S for
λ > 0 and falls for λ < 0, so it says how large and how small S may be: with a chance of at least
1 − level the frequency of every cell is inside its band at all times at once, however often one
looks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError, real_number, whole_number
from stackcast.calibration.errors import ForecastRecord, forecast_record
from stackcast.calibration.rates import SecondOrderRate
from stackcast.calibration.sequential_test import SCALES

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray
    from stackcast.calibration.rates import Rate


@dataclass(frozen=True, eq=False)
class Reliability:
    """Observed frequencies in each cell of forecasts, and the band that right forecasts keep.

    Attributes
    ----------
    forecasts, frequencies : array
        The mean forecast and the mean outcome of each cell that holds forecasts.
    rounds : array of int
        How many forecasts lie there.
    low, high : array
        The band: right forecasts keep every frequency inside, at all times at once, with a chance
        of 1 − ``level``.
    """

    forecasts: FloatArray
    frequencies: FloatArray
    rounds: npt.NDArray[np.int64]
    low: FloatArray
    high: FloatArray
    level: float

    @property
    def outside(self) -> npt.NDArray[np.bool_]:
        """Which cells lie outside the band."""
        return (self.frequencies < self.low) | (self.frequencies > self.high)


def reliability(forecasts: Any, outcomes: Any, cells: int = 10, level: float = 0.05) -> Reliability:
    """Return the observed frequency of a yes/no event in each cell of its forecasts.

    Parameters
    ----------
    forecasts, outcomes : array_like
        T probabilities, and what happened: 1, 0 or a number between.
    cells : int
        Forecasts are grouped by equal cells of [0, 1].
    level : float
        The chance that a band of right forecasts is ever left, over all cells and times.

    Examples
    --------
    >>> found = reliability([0.9] * 100, [1, 0] * 50)
    >>> found.frequencies.tolist(), bool(found.outside[0])
    ([0.5], True)
    """
    record = forecast_record(outcomes, forecasts)
    if not record.yes_no:
        raise InputError("forecasts", "one column of probabilities", f"{record.coordinates}")
    count = whole_number("cells", cells, at_least=1)
    real_number("level", level, above=0.0, at_most=1.0)
    p, y = record.forecasts[:, 0], record.outcomes[:, 0]
    own = np.minimum((p * count).astype(np.int64), count - 1)
    rounds = np.bincount(own, minlength=count)
    seen = np.flatnonzero(rounds)
    n = rounds[seen]
    total = [np.bincount(own, values, count)[seen] for values in (p, y)]
    logs = np.array(  # Σ ln(1 + p(e^λ − 1)) of each cell, a row for each λ
        [np.bincount(own, np.log1p(p * np.expm1(s)), count)[seen] for s in (*SCALES, *-SCALES)]
    )
    limit = np.log(2 * count / level)
    high = _furthest(SCALES, logs[: len(SCALES)], n, limit)
    low = n - _furthest(SCALES, logs[len(SCALES) :] + SCALES[:, None] * n, n, limit)
    return Reliability(total[0] / n, total[1] / n, n, low / n, high / n, level)


def _furthest(scales: Any, logs: FloatArray, n: Any, limit: float) -> FloatArray:
    """Return the largest S ≤ n at which the mixture of exp(λS − logs) stays below its limit."""
    below, above = np.zeros(len(n)), n.astype(np.float64)
    for _ in range(60):
        S = (below + above) / 2
        powers = scales[:, None] * S - logs
        top = powers.max(axis=0)
        reached = top + np.log(np.exp(powers - top).mean(axis=0)) >= limit
        below, above = np.where(reached, below, S), np.where(reached, S, above)
    return above


@dataclass(frozen=True, eq=False)
class IntervalErrors:
    """The worst error over its rate of the intervals that start in each stretch, by their length.

    ``ratios[i, j]`` belongs to the intervals of ``lengths[i]`` rounds that start in the rounds
    ``starts[j]`` … ``starts[j + 1]`` − 1, over all bins and coordinates: above 0 where forecasts
    are too low, below 0 where they are too high, NaN where the record is too short.
    """

    starts: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    ratios: FloatArray


def interval_errors(
    outcomes: Any,
    forecasts: Any = None,
    bins: Any = None,
    rate: Rate | None = None,
    shortest: int = 10,
    columns: int = 120,
    rows: int = 24,
) -> IntervalErrors:
    """Return where errors lie in time: start × length.

    Parameters
    ----------
    outcomes, forecasts, bins, rate
        As for :func:`~stackcast.calibration.calibration_profile`; the rate is by default the
        second-order rate, which knows how much outcomes vary on each interval.
    shortest, columns, rows : int
        The shortest length; how many stretches of starts and how many lengths.

    Examples
    --------
    >>> found = interval_errors([1] * 50 + [0] * 50, [0.5] * 100, bins=[0] * 100, columns=4)
    >>> found.ratios[-1].round(1).tolist(), found.lengths[-1]
    ([0.0, nan, nan, nan], np.int64(100))
    """
    record = forecast_record(outcomes, forecasts, bins)
    T = record.rounds
    if rate is None:
        rate = SecondOrderRate(record.bins, record.actions)
    first = min(whole_number("shortest", shortest, at_least=1), T)
    lengths = np.unique(np.geomspace(first, T, rows).round().astype(np.int64))
    starts = np.unique(np.linspace(0, T, min(columns, T) + 1).astype(np.int64))
    ratios = np.full((len(lengths), len(starts) - 1), np.nan)
    for sums, squares in _rows(record):
        for i, length in enumerate(lengths):
            total = sums[length:] - sums[:-length]
            if isinstance(rate, SecondOrderRate):
                varied = squares[length:] - squares[:-length]
                paid = rate.price(np.arange(1, len(total) + 1))
                allowed = np.full(len(total), np.inf)
                for size, curved in zip(rate.sizes, rate.curvatures, strict=True):
                    allowed = np.minimum(allowed, (paid + curved * size**2 * varied) / size)
                found = total / (rate.constant * allowed)
            else:
                found = total / (length * rate(int(length)))
            for j in range(np.searchsorted(starts, len(found), side="left")):
                part = found[starts[j] : starts[j + 1]]
                at = part[np.argmax(np.abs(part))]
                if not abs(at) <= abs(ratios[i, j]):
                    ratios[i, j] = at
    return IntervalErrors(starts, lengths, ratios)


def _rows(record: ForecastRecord) -> Any:
    """Yield the prefix sums of the gaps and of their squares, for each bin and coordinate."""
    h, p = record.of_rounds(0, record.rounds)
    for i in range(record.bins):
        w = record.weight(i, 0, record.rounds)
        for j in range(record.coordinates):
            x = w * (h[:, j] - p[:, j])
            yield tuple(np.concatenate([[0.0], np.cumsum(part)]) for part in (x, x * x))
