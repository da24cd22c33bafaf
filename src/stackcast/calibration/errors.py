"""Calibration error: how far forecasts are from outcomes, on average, in each bin.

On the rounds s..t the error of bin i is ‖Σ_τ w_i(p_τ)(h_τ − p_τ)‖_∞ divided by the number of rounds
(Section 2; the paper writes t − s for what is the number of rounds here). Rounds are counted from
0, and an interval is given as ``start`` and ``stop``, the first round and the one after the last.

A record is given in one of three forms:

- outcomes T×m (mixed strategies, coverage vectors, or rows with a single one) and forecasts T×m;
- outcomes T labels 0..m−1 of what happened, and forecasts T×m;
- a yes/no event: one column of outcomes in [0, 1] and one column of forecast probabilities;
- a table with names of columns, or a file, in place of the outcomes (:mod:`.tables`).

Bins are T labels 0..n−1, or T×n weights whose rows sum to one. Without them, forecasts are judged
by the decision: on which side of one half a probability lies, or which outcome is the likeliest.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import PROBABILITY_TOLERANCE, InputError, shown, whole_number
from stackcast.calibration._profile_kernel import prefix_sum
from stackcast.calibration.tables import array_of, column_names, read_forecasts

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray
    from stackcast.calibration._profile_kernel import IntArray


#: No more bins, each of which costs a pass over the rounds.
_MOST_BINS = 1_000_000
#: Rounds that are looked at together, so that temporary tables stay small.
CHUNK = 1 << 16


def _nothing(shape: tuple[int, ...], dtype: Any) -> npt.NDArray[Any]:
    array = np.empty(shape, dtype)
    array.flags.writeable = False
    return array


@dataclass(frozen=True, eq=False)
class ForecastRecord:
    """Outcomes, forecasts and bins of T rounds, checked, in one form.

    Tables have a row a round, or fewer: with ``ends``, row b of the outcomes stands for the rounds
    from ends[b − 1] to ends[b] − 1; with ``ids``, row ids[t] of the forecasts for round t. Empty
    arrays say that there is a row a round. ``labels`` or ``weights`` holds the bins, the other is
    None. ``yes_no`` says that the single coordinate is the probability of an event, whose
    complement is left out.
    """

    outcomes: FloatArray
    forecasts: FloatArray
    labels: npt.NDArray[Any] | None
    weights: FloatArray | None
    bins: int
    yes_no: bool
    ends: IntArray = field(default_factory=lambda: _nothing((0,), np.int64))
    ids: npt.NDArray[Any] = field(default_factory=lambda: _nothing((0,), np.int32))

    @property
    def rounds(self) -> int:
        """The number of rounds, T."""
        return len(self.weights if self.labels is None else self.labels)  # type: ignore[arg-type]

    @property
    def coordinates(self) -> int:
        """The number of coordinates of an outcome."""
        return int(self.outcomes.shape[1])

    @property
    def actions(self) -> int:
        """The number of things that can happen: two for a yes/no event."""
        return 2 if self.yes_no else self.coordinates

    @property
    def arrays(self) -> tuple[FloatArray, IntArray, FloatArray, IntArray, Any, FloatArray]:
        """The record as compiled code takes it."""
        labels = _nothing((0,), np.uint8) if self.labels is None else self.labels
        weights = _nothing((0, 0), np.float64) if self.weights is None else self.weights
        return self.outcomes, self.ends, self.forecasts, self.ids, labels, weights

    def of_rounds(self, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        """Return outcomes and forecasts of the rounds start..stop−1, a row a round."""
        rounds: Any = slice(start, stop)
        h = p = rounds
        if self.ends.size:
            h = np.searchsorted(self.ends, np.arange(start, stop), side="right")
        if self.ids.size:
            p = self.ids[rounds]
        return self.outcomes[h], self.forecasts[p]

    def weight(self, i: int, start: int, stop: int) -> FloatArray:
        """Return the weight of bin i in the rounds start..stop−1."""
        if self.labels is not None:
            return (self.labels[start:stop] == i).astype(np.float64)
        assert self.weights is not None
        return self.weights[start:stop, i]

    def prefix_sums(self, i: int, j: int) -> FloatArray:
        """Return S, T + 1 numbers, of bin i and coordinate j."""
        row = np.empty(self.rounds + 1)
        prefix_sum(*self.arrays, i, j, row)
        return row

    def part(self, start: int, stop: int) -> ForecastRecord:
        """Return the rounds start..stop−1."""
        rounds = slice(start, stop)
        ends = np.clip(self.ends - start, 0, stop - start)
        ends.flags.writeable = False
        first = int(np.searchsorted(ends, 0, side="right")) if ends.size else 0
        return replace(
            self,
            outcomes=self.outcomes[first:] if ends.size else self.outcomes[rounds],
            forecasts=self.forecasts if self.ids.size else self.forecasts[rounds],
            labels=None if self.labels is None else self.labels[rounds],
            weights=None if self.weights is None else self.weights[rounds],
            ends=ends[first:],
            ids=self.ids[rounds],
        )


def forecast_record(outcomes: Any, forecasts: Any = None, bins: Any = None) -> ForecastRecord:
    """Return the checked record of outcomes, forecasts and bins; a record as it is."""
    if isinstance(outcomes, ForecastRecord):
        return outcomes
    if forecasts is None:
        told = read_forecasts(outcomes)
        outcomes, forecasts = told.outcomes, told.forecasts
        bins = told.bins if bins is None else bins
    p = _table("forecasts", forecasts)
    yes_no = p.ndim == 1 or p.shape[1] == 1
    y, classes = array_of("outcomes", outcomes), column_names(forecasts)
    if y.dtype.kind in "OU" and not yes_no and len(classes) == p.shape[1]:
        named = {"": y} | dict(zip(classes, p.T, strict=True))
        outcomes = read_forecasts(named, forecast=classes, outcome="").outcomes
    h = _table("outcomes", outcomes)
    rounds = p.shape[0]
    if h.shape[0] != rounds:
        raise InputError("outcomes", f"{rounds} rounds as in forecasts", f"{h.shape[0]}")
    if yes_no:
        p, h = p.reshape(rounds, 1), _event(h, rounds)
        outside = np.flatnonzero((p < 0) | (p > 1))
        if outside.size:
            raise _at_round("forecasts", outside[0], "a probability", p[outside[0], 0])
    elif h.ndim == 1 or h.shape[1] == 1:
        h = _indicators(h.reshape(rounds), p.shape[1])
    elif h.shape != p.shape:
        raise InputError("outcomes", f"{p.shape[1]} columns as in forecasts", f"{h.shape[1]}")
    if bins is None:
        bins = decision_bins(p) if yes_no else np.argmax(p, axis=1)
    labels, weights, count = _bins(bins, rounds)
    return ForecastRecord(_frozen(h), _frozen(p), labels, weights, count, yes_no)


def decision_bins(forecasts: Any, thresholds: Any = 0.5) -> IntArray:
    """Return for each probability of an event the decision that a threshold takes from it.

    Label 0 is below the first threshold, 1 from it on (the threshold itself included), 2 from the
    second on, and so forth.

    Examples
    --------
    >>> decision_bins([0.1, 0.5, 0.7, 0.95], thresholds=[0.5, 0.9]).tolist()
    [0, 1, 1, 2]
    """
    p = _table("forecasts", forecasts)
    if p.ndim == 2 and p.shape[1] != 1:
        raise InputError("forecasts", "one column of probabilities", f"{p.shape[1]} columns")
    edges = np.atleast_1d(_table("thresholds", np.atleast_1d(thresholds)))
    if (np.diff(edges) <= 0).any() or edges[0] <= 0 or edges[-1] > 1:
        raise InputError("thresholds", "increasing numbers above 0, at most 1", shown(thresholds))
    return np.searchsorted(edges, p.reshape(-1), side="right").astype(np.int64)


def bin_errors(
    outcomes: Any, forecasts: Any, bins: Any, start: int = 0, stop: int | None = None
) -> FloatArray:
    """Return the calibration error of every bin on the rounds start..stop−1.

    Examples
    --------
    >>> bin_errors([1, 0, 1, 1], [0.5, 0.5, 0.75, 0.75], bins=[0, 0, 1, 1]).tolist()
    [0.0, 0.125]
    """
    record = forecast_record(outcomes, forecasts, bins)
    end = record.rounds if stop is None else whole_number("stop", stop, at_least=1)
    if whole_number("start", start) >= end or end > record.rounds:
        raise InputError(
            "start and stop", f"0 ≤ start < stop ≤ {record.rounds}", f"{start} and {end}"
        )
    part = record.part(start, end)
    errors = np.zeros(record.bins)
    for i, j in np.ndindex(record.bins, record.coordinates):
        errors[i] = max(errors[i], abs(part.prefix_sums(i, j)[-1]))
    return _frozen(errors / (end - start))


def calibration_error(
    outcomes: Any, forecasts: Any, bins: Any, start: int = 0, stop: int | None = None
) -> float:
    """Return the calibration error on the rounds start..stop−1, the worst over the bins.

    Parameters
    ----------
    outcomes, forecasts, bins : array_like
        In one of the forms of this module: T×m, T labels or one column of a yes/no event; bins as
        T labels or T×n weights.
    start, stop : int
        The first round (counted from 0) and the one after the last; all rounds if left out.

    Examples
    --------
    >>> outcomes = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]
    >>> forecasts = [[0.5, 0.25, 0.25]] * 4
    >>> calibration_error(outcomes, forecasts, bins=[0, 0, 0, 0])
    0.0
    >>> calibration_error(outcomes, forecasts, bins=[0, 0, 0, 0], start=1, stop=3)
    0.5
    """
    return float(bin_errors(outcomes, forecasts, bins, start, stop).max())


def foster_vohra_score(outcomes: Any, forecasts: Any) -> float:
    """Return the Foster–Vohra calibration score C_T, each distinct forecast a bin of its own.

    It is Σ_p (n(p)/T)·‖ρ(p) − p‖_∞, with ρ(p) the mean outcome on the n(p) rounds that had the
    forecast p (the paper's appendix on the standard definition). Cost O(T log T).

    Examples
    --------
    >>> foster_vohra_score([1, 0, 1, 1], [0.5, 0.5, 0.75, 0.75])
    0.125
    """
    p = _table("forecasts", forecasts)
    return _score(forecast_record(outcomes, p, np.zeros(p.shape[0], np.int64)))


def _score(record: ForecastRecord) -> float:
    """Return Σ_p ‖Σ (h_t − p)‖_∞/T over the rounds with forecast p: one forecast a group."""
    table = record.forecasts
    order, new = _grouped(table)
    group = np.empty(len(table), np.int32)
    group[order] = np.cumsum(new) - 1
    sums = np.zeros((int(new.sum()), record.coordinates))
    for start in range(0, record.rounds, CHUNK):
        stop = min(start + CHUNK, record.rounds)
        here = group[record.ids[start:stop]] if record.ids.size else group[start:stop]
        h, p = record.of_rounds(start, stop)
        np.add.at(sums, here, h - p)
    return float(np.abs(sums).max(axis=1).sum() / record.rounds)


def _grouped(rows: FloatArray) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Return an order that puts equal rows side by side, and where a new one begins in it.

    Rows are sorted by one key, which is fast, unless two different rows share it.
    """
    key = np.zeros(rows.shape[0], np.uint64)
    for column in rows.T:
        words = (column + 0.0).view(np.uint64)  # −0 becomes 0
        key = (key ^ (key >> np.uint64(29)) ^ words) * np.uint64(0x9E3779B97F4A7C15)
    order, new = np.argsort(key), np.ones(len(rows), dtype=bool)
    new[1:] = np.diff(key[order]) != 0
    twins = order[1:][~new[1:]], order[:-1][~new[1:]]
    for column in rows.T:
        if (column[twins[0]] != column[twins[1]]).any():
            order = np.lexsort(rows.T)
            sorted_rows = rows[order]
            new[1:] = (sorted_rows[1:] != sorted_rows[:-1]).any(axis=1)
            break
    return order, new


def _table(field: str, value: Any) -> FloatArray:
    array = array_of(field, value)
    if array.dtype.kind not in "fiub":
        raise InputError(field, "numbers", shown(value))
    if array.ndim not in (1, 2):
        raise InputError(field, "one column, or a table with one row a round", f"{array.ndim} axes")
    if array.size == 0:
        raise InputError(field, "at least one round", "none")
    array = array.astype(np.float64, copy=False)
    bad = ~np.isfinite(array)
    if bad.any():
        where = int(np.argmax(bad.reshape(array.shape[0], -1).any(axis=1)))
        raise _at_round(field, where, "finite numbers", array[where])
    return array


def _event(outcomes: FloatArray, rounds: int) -> FloatArray:
    if outcomes.ndim == 2 and outcomes.shape[1] != 1:
        raise InputError("outcomes", "one column as in forecasts", f"{outcomes.shape[1]}")
    column = outcomes.reshape(rounds, 1)
    outside = np.flatnonzero((column < 0) | (column > 1))
    if outside.size:
        raise _at_round("outcomes", outside[0], "a number from 0 to 1", column[outside[0], 0])
    return column


def _indicators(outcomes: FloatArray, actions: int) -> FloatArray:
    wrong = np.flatnonzero(
        (outcomes != np.floor(outcomes)) | (outcomes < 0) | (outcomes >= actions)
    )
    if wrong.size:
        expected = f"a label from 0 to {actions - 1}, one for each column of forecasts"
        raise _at_round("outcomes", wrong[0], expected, outcomes[wrong[0]])
    table = np.zeros((outcomes.size, actions))
    table[np.arange(outcomes.size), outcomes.astype(np.int64)] = 1.0
    return table


def _bins(bins: Any, rounds: int) -> tuple[npt.NDArray[Any] | None, FloatArray | None, int]:
    table = _table("bins", bins)
    if table.shape[0] != rounds:
        raise InputError("bins", f"{rounds} rounds as in forecasts", f"{table.shape[0]}")
    if table.ndim == 1:
        wrong = np.flatnonzero((table != np.floor(table)) | (table < 0))
        if wrong.size:
            raise _at_round("bins", wrong[0], "a label 0, 1, 2 …", table[wrong[0]])
        count = int(table.max()) + 1
        if count > _MOST_BINS:
            raise _at_round("bins", np.argmax(table), f"labels below {_MOST_BINS:,}", table.max())
        labels = table.astype(np.min_scalar_type(count))
        labels.flags.writeable = False
        return labels, None, count
    sums = table.sum(axis=1)
    wrong = np.flatnonzero((np.abs(sums - 1) > PROBABILITY_TOLERANCE) | (table < 0).any(axis=1))
    if wrong.size:
        row = table[wrong[0]]
        raise _at_round("bins", wrong[0], "weights of at least 0 that sum to 1", row)
    return None, _frozen(table), int(table.shape[1])


def _at_round(field: str, where: Any, expected: str, found: Any) -> InputError:
    picture = found.tolist() if isinstance(found, np.ndarray) else found
    return InputError(f"{field}, round {int(where) + 1}", expected, shown(picture))


def _frozen(array: FloatArray) -> FloatArray:
    result = np.ascontiguousarray(array, dtype=np.float64).view()  # the caller's stays as it is
    result.flags.writeable = False
    return result
