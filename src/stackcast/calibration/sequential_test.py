"""A sequential test of calibration: the money of a bettor who disbelieves the forecasts.

**Hypothesis.** Given the past, the outcome x_t has the mean p_t, which is the forecast, in every
coordinate, and the bins of round t are fixed before x_t is known. Draws from the forecasts are the
usual case.

**Bets.** A bet e = (i, j, λ) says that in bin i the odds of coordinate j are e^λ times what the
forecast says. With weight w = w_i(p) a round multiplies what lies on it by

    f_e = (1 + x_j·g)/(1 + p_j·g),    g = e^(λw) − 1,

whose mean is 1 under the hypothesis. The bettor begins with 1, half of it on λ > 0 (forecasts too
low) and half on λ < 0 (too high), and shares it by the rule of the forecaster's own bankroll
(:mod:`stackcast.calibration._bankroll`): a round's share c_t goes back to the prior of all bets, so
that a bet can begin to win in any round, and a quick bank gives back 1% of its own wealth besides.

**Theorem.** Under the hypothesis the chance that the bettor's money *ever* reaches 1/δ is at most
δ. *Proof*: it is a nonnegative martingale that starts from 1; Ville's inequality. ∎ No horizon
enters, and one may stop looking because of what was seen. For every bet of the slow bank and every
interval s..t, money ≥ prior_e·c_(s−1)·Π f_e up to a factor .4: where one bin is off in one
direction on one interval, the bettor grows rich at the rate of the best bet there, having paid the
logarithm of the choices (1 + ln(1/prior_e) + ln(s + e) + 2 ln ln(s + e)).

**Cost.** O(m) bets a round in the bins in which the forecast has weight, as in that module.

References
----------
J. Ville: Étude critique de la notion de collectif. Paris 1939.
G. Shafer: Testing by betting. J. R. Stat. Soc. A 184, 2021.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from stackcast._compiling import entry
from stackcast._validation import InputError, real_number, shown
from stackcast.calibration._bankroll import (
    Bank,
    Bankroll,
    bet_on_odds,
    even_shares,
    held,
    new_bankroll,
    settle_round,
)
from stackcast.calibration.errors import CHUNK, ForecastRecord, forecast_record
from stackcast.calibration.profile import WorstInterval, worst_interval

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.calibration._profile_kernel import IntArray

#: |λ| of the slow bank, 16·2^−q: the largest for rare events, the smallest for some 10⁷ rounds; the
#: quick bank has the larger half (``python -m benchmarks.certificates``).
_SCALE = (16.0, 0.5)
_BANKS = (Bank(0.0, 0.8, 14), Bank(0.01, 0.2, 7))
SCALES = _SCALE[0] * _SCALE[1] ** np.arange(_BANKS[0].sizes)
#: The bettor stops here, as nobody doubts any more and numbers would overflow.
_ENOUGH = 1e300
_LOG_ENOUGH = math.log(_ENOUGH)


@dataclass(frozen=True)
class SequentialTest:
    """What :func:`sequential_calibration_test` found: how rich the bettor was at best, and how.

    Attributes
    ----------
    refuted : bool
        Whether the bettor's money ever reached 1/level.
    level : float
        The chance of ``refuted`` for forecasts that are right, at most.
    wealth : float
        By how much the bettor had multiplied the money at the best time (1e300 at most).
    round : int
        How many rounds that took.
    direction : {"too low", "too high"}
        What the bet that held most then says of the forecasts.
    interval : WorstInterval
        Its bin and coordinate, the rounds in which it won, and the calibration error there.
    """

    refuted: bool
    level: float
    wealth: float
    round: int
    direction: Literal["too low", "too high"]
    interval: WorstInterval

    @property
    def p_value(self) -> float:
        """The smallest level at which the record is refuted."""
        return min(1.0, 1.0 / self.wealth)

    def sentence(self, where: str, when: str) -> str:
        """Return what was found in words; ``where`` and ``when`` name the bin and the rounds."""
        at = self.interval
        return (
            f"A bettor against these forecasts would have multiplied the money by "
            f"{_amount(self.wealth)} by round {self.round:,}, mostly by betting that forecasts "
            f"{where} are {self.direction} ({when}: {at.direction} on average, error "
            f"{at.error:.4g}); right forecasts let that happen with a chance of at most "
            f"{self.p_value:.3g}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the test as plain numbers."""
        return {
            "refuted": self.refuted,
            "level": self.level,
            "p_value": self.p_value,
            "wealth": self.wealth,
            "round": self.round,
            "direction": self.direction,
            "interval": self.interval.to_dict(),
        }


def _amount(wealth: float) -> str:
    if wealth >= _ENOUGH:
        return "1e+300 or more"
    return f"{wealth:,.0f}" if 100 <= wealth < 1e6 else f"{wealth:.3g}"


def sequential_calibration_test(
    outcomes: Any, forecasts: Any, bins: Any, level: float = 0.05
) -> SequentialTest:
    """Test on all intervals, bins and coordinates at once whether outcomes follow the forecasts.

    Parameters
    ----------
    outcomes : array_like
        Draws, or anything from 0 to 1 that has the forecast as its mean.
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
    >>> found = sequential_calibration_test(outcomes, [0.5] * 100, bins=[0] * 100)
    >>> found.refuted, found.direction, found.interval.start, found.interval.stop
    (True, 'too high', 60, 100)

    Ten in a row are not enough:

    >>> outcomes = [0, 1] * 45 + [0] * 10
    >>> sequential_calibration_test(outcomes, [0.5] * 100, bins=[0] * 100).refuted
    False
    """
    real_number("level", level, above=0.0, at_most=1.0)
    record = forecast_record(outcomes, forecasts, bins)
    for field, table in (("outcomes", record.outcomes), ("forecasts", record.forecasts)):
        wrong = np.flatnonzero(((table < 0) | (table > 1)).any(axis=1))
        if wrong.size:
            picture = shown(table[wrong[0]].tolist())
            raise InputError(f"{field}, round {wrong[0] + 1}", "numbers from 0 to 1", picture)
    shares, widths = even_shares(record.bins, False), np.ones(record.coordinates)
    bankroll = new_bankroll(shares, widths, kinds=_BANKS, scale=_SCALE)
    money, last = _bet(bankroll, *record.arrays, record.rounds)
    stop = int(last) + 1
    bankroll = new_bankroll(shares, widths, kinds=_BANKS, scale=_SCALE)
    _bet(bankroll, *record.arrays, stop)
    i, j, side, e = map(int, np.unravel_index(held(bankroll).argmax(), bankroll.wealth.shape))
    sign, wealth = 1 - 2 * side, min(math.exp(money), _ENOUGH)
    start = _beginning(record, i, j, sign * bankroll.sizes[e], stop)
    total = abs(float(record.part(start, stop).prefix_sums(i, j)[-1]))
    c = i * record.coordinates + j
    return SequentialTest(
        refuted=bool(wealth >= 1 / level),
        level=level,
        wealth=wealth,
        round=stop,
        direction="too low" if sign > 0 else "too high",
        interval=worst_interval(record, start, stop, c, total),
    )


def _beginning(record: ForecastRecord, i: int, j: int, tilt: float, stop: int) -> int:
    """Return the first round of the interval on which one bet won most, its price paid."""
    least, found, before, inside = math.inf, 0, 0.0, True
    for start in range(0, stop, CHUNK):
        end = min(start + CHUNK, stop)
        w, s = record.weight(i, start, end), np.arange(start, end) + math.e
        h, p = record.of_rounds(start, end)
        g = np.expm1(tilt * w)
        won = np.cumsum(np.append(before, np.log1p(h[:, j] * g) - np.log1p(p[:, j] * g)))
        paid = np.log(s) + 2 * np.log(np.log(s))
        # An interval begins after a round of the bin, or at the start.
        paid[np.append(not inside, w[:-1] == 0)] = np.inf
        at = int(np.argmin(won[:-1] + paid))
        if won[at] + paid[at] < least:
            least, found = won[at] + paid[at], start + at
        before, inside = won[-1], w[-1] != 0
    return found


@entry
def _bet(
    bankroll: Bankroll,
    outcomes: FloatArray,
    ends: IntArray,
    forecasts: FloatArray,
    ids: IntArray,
    labels: IntArray,
    weights: FloatArray,
    rounds: int,
) -> tuple[float, int]:
    """Let the bettor play; return the log of the most money, and the round."""
    best, best_t, h_row, last = 0.0, 0, 0, 0.0
    labelled = labels.size > 0
    odds = np.empty((2, bankroll.sizes.size))
    for t in range(rounds):
        if ends.size == 0:
            h_row = t
        elif t == ends[h_row]:
            h_row += 1
        p_row = ids[t] if ids.size else t
        for i in range(
            labels[t] if labelled else 0, labels[t] + 1 if labelled else weights.shape[1]
        ):
            w = 1.0 if labelled else weights[t, i]
            if w == 0.0:
                continue
            if w != last:
                odds[0], odds[1] = np.expm1(w * bankroll.sizes), np.expm1(-w * bankroll.sizes)
                last = w
            for j in range(outcomes.shape[1]):
                bet_on_odds(bankroll, i, j, odds, outcomes[h_row, j], forecasts[p_row, j])
        settle_round(bankroll, t + 1)
        if bankroll.growth[-1] > best:
            best, best_t = bankroll.growth[-1], t
        if best >= _LOG_ENOUGH:
            break
    return best, best_t
