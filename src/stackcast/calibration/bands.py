"""How far a perfectly calibrated forecaster's realised error may stray, on every interval at once.

Outcomes that are draws carry noise: even a forecaster whose every outcome is drawn from its own
forecast has an error on each interval, and over T²/2 intervals some of them are large. The band
says how large, so that only what lies outside of it refutes the forecasts.

**Hypothesis.** Given the past, the outcome x_t is drawn from the forecast p_t, and the bins of
round t are fixed before x_t is drawn.

**Band.** For the bin i, the coordinate j and the rounds u+1..v put S = Σ w_i(p_τ)(x_τj − p_τj) and,
for a number λ of either sign,

    K_λ = Σ log E[exp(λ·w_i(p_τ)(x_τj − p_τj))] = Σ [−λ·w·p + log(1 − p + p·e^(λw))],

which the forecasts alone determine. With level δ, n·m rows (n for a yes/no event), 24 values
|λ| = 16, 8, 4, 2 … and a start that a = 0, 1, 2 … rounds with w_i > 0 precede, the band is

    |S|  ≤  min over λ of  [K_{±λ} + log(1/(δ·ω))]/λ,   1/ω = 2·24·rows·1.4·(a + e)·log²(a + e).

**Theorem.** Under the hypothesis, the chance that *any* interval of *any* record length leaves the
band in any bin and coordinate is at most δ.

*Proof.* Fix row, sign, λ and the a-th start, a stopping time. From there on exp(λS − K_λ) is a
martingale that starts from 1; before, let it be 1. The sum of all of them with their weights ω is a
nonnegative martingale that starts from Σω ≤ 1, because Σ_a 1/((a+e)log²(a+e)) ≤ 1/e + ∫_0^∞ < 1.4.
By Ville's inequality it ever reaches 1/δ with a chance of at most δ, and as all terms are positive
so does any one of them; that one term exceeds 1/δ is the statement that its interval leaves the
band. ∎ No horizon enters: the band holds at every time at once, also when one stops looking
because of what was seen.

**All intervals, exactly, in linear time.** With Y = λS − K_λ as a running sum, an interval leaves
the band at this λ when Y(v) − [Y(u) + log(1/ω_u)] > log(1/δ), so a running minimum of the square
bracket decides all starts at once. Cost O(T·n·m) times the number of λ that the record can use.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._compiling import entry
from stackcast._validation import PROBABILITY_TOLERANCE, InputError, real_number, shown
from stackcast.calibration.errors import ForecastRecord, forecast_record
from stackcast.calibration.profile import WorstInterval

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.calibration._profile_kernel import IntArray

# |λ| = 16·2^(−q): the largest serves rare events, the smallest, 2·10⁻⁶, some 10¹³ rounds.
_SCALES, _LARGEST_SCALE = 24, 16.0
_START_MASS = 1.4


@dataclass(frozen=True)
class BandTest:
    """What :func:`band_test` found: the interval that speaks most against the forecasts.

    Attributes
    ----------
    refuted : bool
        Whether some interval leaves the band of this level.
    level : float
        The chance of ``refuted`` for forecasts whose outcomes are drawn from them, at most.
    p_value : float
        The smallest level at which the record would be refuted (1 at most).
    interval : WorstInterval
        The interval with the strongest evidence, and its error there in that bin and coordinate.
    band : float
        The largest error that the band allows in that bin and coordinate on that interval.
    """

    refuted: bool
    level: float
    p_value: float
    interval: WorstInterval
    band: float

    def to_dict(self) -> dict[str, Any]:
        """Return the test as plain numbers."""
        return {
            "refuted": self.refuted,
            "level": self.level,
            "p_value": self.p_value,
            "interval": self.interval.to_dict(),
            "band": self.band,
        }


def band_test(outcomes: Any, forecasts: Any, bins: Any, level: float = 0.05) -> BandTest:
    """Test on all intervals, bins and coordinates at once whether outcomes follow the forecasts.

    Parameters
    ----------
    outcomes : array_like
        Draws: T labels, T×m rows with a single one, or a column of zeros and ones.
    forecasts, bins : array_like
        As for :func:`~stackcast.calibration.calibration_profile`; bins must not depend on the
        outcome of their own round.
    level : float
        δ: the chance of a false alarm, over all intervals and at whatever time one looks.

    Examples
    --------
    A run of 40 misses in a row against forecasts of one half is no chance, even among the 5,000
    intervals of 100 rounds:

    >>> outcomes = [0, 1] * 30 + [0] * 40
    >>> found = band_test(outcomes, [0.5] * 100, bins=[0] * 100)
    >>> found.refuted, found.interval.start, found.interval.stop
    (True, 60, 100)

    Twenty in a row are not enough:

    >>> band_test([0, 1] * 40 + [0] * 20, [0.5] * 100, bins=[0] * 100).refuted
    False
    """
    real_number("level", level, above=0.0, at_most=1.0)
    record = _draws(forecast_record(outcomes, forecasts, bins))
    weights = np.empty((0, 0)) if record.weights is None else record.weights
    labels = np.empty(0, np.int64) if record.labels is None else record.labels
    evidence, u, v, c = _strongest_evidence(
        record.outcomes, record.forecasts, labels, weights, record.bins, _scales(record.rounds)
    )
    evidence -= _shares(record)
    i, j = divmod(int(c), record.coordinates)
    start, stop = int(u), int(v)
    total = record.prefix_sums(start, stop)[c, -1]
    interval = WorstInterval(start, stop, i, j, abs(float(total)) / (stop - start))
    return BandTest(
        refuted=bool(evidence > -math.log(level)),
        level=level,
        p_value=math.exp(min(0.0, -evidence)),
        interval=interval,
        band=float(_allowed(record, interval, level, 1 if total > 0 else -1) / (stop - start)),
    )


def calibration_band(
    forecasts: Any, bins: Any, interval: WorstInterval, level: float = 0.05
) -> float:
    """Return the largest error that the band allows on an interval, in its bin and coordinate.

    Examples
    --------
    A thousand fair coins, at the start of a record and late in it:

    >>> p, bins = [0.5] * 50_000, [0] * 50_000
    >>> round(calibration_band(p, bins, WorstInterval(0, 1000, 0, 0, 0.0)), 3)
    0.064
    >>> round(calibration_band(p, bins, WorstInterval(49_000, 50_000, 0, 0, 0.0)), 3)
    0.107
    """
    real_number("level", level, above=0.0, at_most=1.0)
    p = np.asarray(forecasts, dtype=np.float64)
    record = _draws(forecast_record(np.zeros(p.shape[0], np.int64), p, bins))
    if not 0 <= interval.start < interval.stop <= record.rounds:
        raise InputError("interval", f"rounds within 0..{record.rounds}", shown(interval))
    wider = max(_allowed(record, interval, level, sign) for sign in (1, -1))
    return float(wider / interval.length)


def _draws(record: ForecastRecord) -> ForecastRecord:
    x, p = record.outcomes, record.forecasts
    wrong = np.flatnonzero(((x != 0) & (x != 1)).any(axis=1))
    if not record.yes_no and not wrong.size:
        wrong = np.flatnonzero(x.sum(axis=1) != 1)
    if wrong.size:
        picture = shown(x[wrong[0]].tolist())
        raise InputError(f"outcomes, round {wrong[0]}", "the draw of one outcome", picture)
    off = (p < 0).any(axis=1) | (p > 1).any(axis=1)
    if not record.yes_no:
        off |= np.abs(p.sum(axis=1) - 1) > PROBABILITY_TOLERANCE
    if off.any():
        where = int(np.argmax(off))
        picture = shown(p[where].tolist())
        raise InputError(f"forecasts, round {where}", "probabilities that sum to 1", picture)
    return record


def _scales(rounds: int) -> FloatArray:
    # The best λ is √(2 log(1/(δω))/V), with variance V ≤ T/4 and log(1/(δω)) > 4: above √(32/T).
    scales = _LARGEST_SCALE * 2.0 ** -np.arange(float(_SCALES))
    return np.asarray(scales[scales >= min(4.0, math.sqrt(16 / rounds))])


def _shares(record: ForecastRecord) -> float:
    """Return log of the number of shares of δ: rows, signs and scales, and the mass of starts."""
    return math.log(2 * _SCALES * record.bins * record.coordinates * _START_MASS)


def _allowed(record: ForecastRecord, interval: WorstInterval, level: float, sign: int) -> float:
    """Return the band on sign·S for one interval, bin and coordinate."""
    i, j, u, v = interval.bin, interval.coordinate, interval.start, interval.stop
    if record.labels is not None:
        w = (record.labels[:v] == i).astype(np.float64)
    else:
        assert record.weights is not None
        w = record.weights[:v, i]
    a = np.count_nonzero(w[:u]) + math.e
    paid = _shares(record) + math.log(a) + 2 * math.log(math.log(a)) - math.log(level)
    p, inside = record.forecasts[u:v, j], w[u:v]
    edges = [
        ((np.log1p(p * np.expm1(sign * s * inside)) - sign * s * inside * p).sum() + paid) / s
        for s in _scales(record.rounds)
    ]
    return float(min(edges))


@entry
def _strongest_evidence(
    outcomes: FloatArray,
    forecasts: FloatArray,
    labels: IntArray,
    weights: FloatArray,
    bins: int,
    scales: FloatArray,
) -> tuple[float, int, int, int]:
    """Return the largest Y(v) − Y(u) − log((a+e)log²(a+e)), with its u, v and row."""
    rounds, m = outcomes.shape
    labelled = labels.size > 0
    best, best_u, best_v, best_c = -np.inf, 0, rounds, 0
    for i in range(bins):
        # The rounds with weight: elsewhere S and K stand still, and the earliest start counts.
        active = np.empty(rounds, np.int64)
        count = 0
        for t in range(rounds):
            if (labels[t] == i) if labelled else (weights[t, i] > 0):
                active[count] = t
                count += 1
        price = np.empty(count)
        for a in range(count):
            price[a] = np.log(a + np.e) + 2 * np.log(np.log(a + np.e))
        for j in range(m):
            for q in range(2 * scales.size):
                s = scales[q // 2] if q % 2 == 0 else -scales[q // 2]
                growth = np.expm1(s)
                y, least, start = 0.0, np.inf, 0
                for a in range(count):
                    t = active[a]
                    if y + price[a] < least:
                        least, start = y + price[a], active[a - 1] + 1 if a > 0 else 0
                    p = forecasts[t, j]
                    if labelled:
                        y += s * (outcomes[t, j] - p) - (np.log1p(p * growth) - s * p)
                    else:
                        w = weights[t, i]
                        y += s * w * outcomes[t, j] - np.log1p(p * np.expm1(s * w))
                    if y - least > best:
                        best, best_u, best_v, best_c = y - least, start, t + 1, i * m + j
    return best, best_u, best_v, best_c
