"""Rates: how fast a calibration error is promised to fall with the length of an interval.

A rate r gives the error that is allowed on an interval of t rounds, and its inverse r⁻¹(x) is the
number of rounds from which on the promise is at most x for good: the smallest t with r(t') ≤ x for
every t' ≥ t. Principals hold a strategy for r⁻¹(x) rounds; profiles divide errors by r.

Rates take one whole number (as large as Python's, without overflow) or an array of them. The
inverse is exact with respect to the computed r for all answers below 10¹²; beyond, neighbouring
rounds have the same rate in floating point and the answer is right to a relative 10⁻¹².
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, Self, cast, overload, runtime_checkable

import numpy as np

from stackcast._validation import InputError, real_number, shown, whole_number
from stackcast.calibration._bankroll import ACCURACY, BANKS, LARGEST, RATIO

if TYPE_CHECKING:
    from collections.abc import Callable

    from stackcast._validation import FloatArray

# Rates that are still above x after this many rounds are said to stay above it.
_LARGEST = 1 << 4096


@runtime_checkable
class Rate(Protocol):
    """What every rate can do: be evaluated on one or many lengths, and be inverted."""

    @overload
    def __call__(self, rounds: int) -> float: ...
    @overload
    def __call__(self, rounds: Any) -> Any: ...
    def __call__(self, rounds: Any) -> Any:
        """Return the error allowed on an interval of so many rounds."""
        ...

    def inverse(self, error: float) -> int:
        """Return the smallest number of rounds from which on the rate is at most ``error``."""
        ...


class _Rate:
    """What every rate here shares: one or many lengths, the inverse, and a factor."""

    #: From so many rounds on it never rises.
    _falls_from = 1

    @overload
    def __call__(self, rounds: int) -> float: ...
    @overload
    def __call__(self, rounds: FloatArray) -> FloatArray: ...
    def __call__(self, rounds: Any) -> Any:
        """Return r at a whole number of rounds, or at an array of them."""
        if isinstance(rounds, int | np.integer):
            return self._one(int(rounds))
        return self._many(np.asarray(rounds, dtype=np.float64))

    def _one(self, t: int) -> float:
        raise NotImplementedError

    def _many(self, t: FloatArray) -> FloatArray:
        raise NotImplementedError

    def inverse(self, error: float) -> int:
        """Return r⁻¹(error)."""
        target = real_number("error", error, above=0.0)
        low = high = self._falls_from
        if self(low) <= target:
            while low > 1 and self(low - 1) <= target:
                low -= 1
            return low
        while self(high) > target:
            if high > _LARGEST:
                raise InputError("error", "an error that the rate falls to", shown(error))
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            if self(middle) <= target:
                high = middle
            else:
                low = middle
        return high

    def scaled(self, factor: float) -> Self:
        """Return the same rate with its constant multiplied by ``factor``."""
        chosen: Any = self
        return cast("Self", replace(chosen, constant=chosen.constant * factor))


@dataclass(frozen=True)
class AdaptiveRate(_Rate):
    """The rate of an adaptively calibrated forecaster, c·√(log(k·m·t)/t) (+ c·√(log(T/δ)/t)).

    It is the rate of the paper's theorem on adaptive calibration (Section 4), with its hidden
    constant c. Give ``horizon`` and ``level`` for the second term, which pays for chance.

    Parameters
    ----------
    bins, actions : int
        k bins and m coordinates of an outcome; a yes/no event has two.
    constant : float
        c, above 0.
    horizon : int, optional
        T, the number of rounds in which the promise must hold at once.
    level : float
        δ, the chance that it fails; only used with a horizon.

    Examples
    --------
    >>> rate = AdaptiveRate(bins=3, actions=3)
    >>> round(rate(1000), 4)
    0.0954
    >>> rate.inverse(0.1), rate(rate.inverse(0.1)) <= 0.1 < rate(rate.inverse(0.1) - 1)
    (900, True)
    """

    bins: int
    actions: int
    constant: float = 1.0
    horizon: int | None = None
    level: float = 0.05

    def __post_init__(self) -> None:
        whole_number("bins", self.bins, at_least=1)
        whole_number("actions", self.actions, at_least=1)
        real_number("constant", self.constant, above=0.0)
        real_number("level", self.level, above=0.0, at_most=1.0)
        if self.horizon is not None:
            whole_number("horizon", self.horizon, at_least=1)

    #: log(x)/x falls from x = e on, and so does r from t = e/(k·m) ≤ 3 on.
    _falls_from = 3

    @property
    def _chance(self) -> float:
        return 0.0 if self.horizon is None else math.log(self.horizon) - math.log(self.level)

    def _one(self, t: int) -> float:
        log_t = math.log(t)
        root = math.sqrt(t) if log_t < 700 else math.exp(min(0.5 * log_t, 700.0))
        spread = math.sqrt(math.log(self.bins * self.actions) + log_t)
        return self.constant * (spread + math.sqrt(self._chance)) / root

    def _many(self, t: FloatArray) -> FloatArray:
        spreads = np.sqrt(math.log(self.bins * self.actions) + np.log(t))
        return self.constant * (spreads + math.sqrt(self._chance)) / np.sqrt(t)


@dataclass(frozen=True)
class SecondOrderRate(_Rate):
    """The rate of a forecaster by betting, which knows how much the outcomes varied.

    On an interval of L rounds that starts in round s, with V = Σ w_i²(h_j − p_j)² over it (in units
    of the coordinate's width, as is the error), the calibration error is at most

        min over δ of  (R_s + κ_δ·δ²·V)/(δ·L),    κ_δ = (−ln(1 − δ) − δ)/δ²,
        R_s = ln(1/prior) + [s > 1]·(ln(s + e) + 2 ln ln(s + e)) + 1 + G,

    about 1.6·√(V·R)/L. *Proof*: Σ ln(1 + δ·x) ≤ R_s for each bet, and ln(1 + x) ≥ x − κ_δ·x² for
    |x| ≤ δ. ∎ Called with a length alone it is the bound for V = L, the most that outcomes vary.

    G is what the bankroll has won in all: as a rule 0 or less, and taken as 0 unless a horizon T is
    given. Then it is what it exceeds with a chance of at most ``level`` on any interval of T
    rounds, ln(1/level) + [s > 1]·(ln(s + e) + 2 ln ln(s + e)) + c·(1 + ln T), and intervals may
    start anywhere in 1..T.

    Parameters
    ----------
    bins, actions : int
        n bins and m coordinates of an outcome; a yes/no event has two.
    constant : float
        Multiplies the bound.
    horizon : int, optional
        T.
    level : float
        The chance that the bound fails; only used with a horizon.
    share : float
        The part of the bankroll that lies on these bins; all of it for a forecaster.

    Examples
    --------
    >>> rate = SecondOrderRate(bins=3, actions=3)
    >>> round(rate(1000), 4), round(rate.bound(1000, variance=10.0), 4)
    (0.1171, 0.0226)
    >>> rate(rate.inverse(0.1)) <= 0.1 < rate(rate.inverse(0.1) - 1)
    True
    """

    bins: int
    actions: int
    constant: float = 1.0
    horizon: int | None = None
    level: float = 0.05
    share: float = 1.0

    def __post_init__(self) -> None:
        whole_number("bins", self.bins, at_least=1)
        whole_number("actions", self.actions, at_least=1)
        real_number("constant", self.constant, above=0.0)
        real_number("level", self.level, above=0.0, at_most=1.0)
        real_number("share", self.share, above=0.0, at_most=1.0)
        if self.horizon is not None:
            whole_number("horizon", self.horizon, at_least=1)

    @property
    def sizes(self) -> FloatArray:
        """The sizes δ of the bets."""
        return np.asarray(LARGEST * RATIO ** np.arange(BANKS[0].sizes))

    @property
    def curvatures(self) -> FloatArray:
        """The constants κ_δ of the sizes."""
        return np.asarray((-np.log1p(-self.sizes) - self.sizes) / self.sizes**2)

    def price(self, start: Any) -> Any:
        """Return R_s for intervals that start in round ``start`` (or an array of rounds)."""
        s = np.asarray(start, dtype=np.float64)
        later = np.where(s > 1, np.log(s + math.e) + 2 * np.log(np.log(s + math.e)), 0.0)
        each = BANKS[0].prior * self.share / (2 * self.bins * self.actions * BANKS[0].sizes)
        price = -math.log(each) + 1 + later
        if self.horizon is not None:
            price = price + later - math.log(self.level) + ACCURACY * (1 + math.log(self.horizon))
        return price if price.ndim else float(price)

    def bound(self, rounds: int, variance: float, start: int | None = None) -> float:
        """Return the largest error on ``rounds`` rounds over which outcomes vary by ``variance``.

        They start in round ``start``, by default in the first one or, given a horizon, in the last.
        """
        paid = self.price(start or self.horizon or 1)
        sums = (paid + self.curvatures * self.sizes**2 * variance) / self.sizes
        return float(self.constant * sums.min() / rounds)

    def _one(self, t: int) -> float:
        return float(self._many(np.array(float(t) if t < 1 << 1000 else math.inf)))

    def _many(self, t: FloatArray) -> FloatArray:
        paid = self.price(self.horizon or 1)
        each = paid / (self.sizes * t[..., None]) + self.curvatures * self.sizes
        return np.asarray(self.constant * each.min(axis=-1))


@dataclass(frozen=True)
class PowerRate(_Rate):
    """The rate c·t^(−β).

    Examples
    --------
    >>> rate = PowerRate(exponent=0.5, constant=2.0)
    >>> rate(100), rate.inverse(0.2)
    (0.2, 100)

    The theory of the paper asks for numbers of rounds that no machine word holds:

    >>> len(str(PowerRate(exponent=1 / 14).inverse(1e-30)))
    421
    """

    exponent: float
    constant: float = 1.0

    def __post_init__(self) -> None:
        real_number("exponent", self.exponent, above=0.0)
        real_number("constant", self.constant, above=0.0)

    def _one(self, t: int) -> float:
        if t < 1 << 1000:
            return self.constant / float(t) ** self.exponent
        return self.constant * math.exp(-self.exponent * math.log(t))

    def _many(self, t: FloatArray) -> FloatArray:
        return np.asarray(self.constant / t**self.exponent)


@dataclass(frozen=True)
class CustomRate(_Rate):
    """A rate of the user's own.

    Parameters
    ----------
    function : callable
        Takes one whole number of rounds, returns the error allowed.
    decreasing_from : int
        The number of rounds from which on the function never rises.
    factor : float
        Multiplies the function.

    Examples
    --------
    >>> rate = CustomRate(lambda t: 3 / (t + 1))
    >>> rate(2), rate.inverse(0.5)
    (1.0, 5)
    """

    function: Callable[[int], float]
    decreasing_from: int = 1
    factor: float = 1.0

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InputError("rate", "a function of the number of rounds", shown(self.function))
        whole_number("decreasing_from", self.decreasing_from, at_least=1)
        real_number("factor", self.factor, above=0.0)

    @property
    def _falls_from(self) -> int:  # type: ignore[override]
        return self.decreasing_from

    def _one(self, t: int) -> float:
        return self.factor * float(self.function(t))

    def _many(self, t: FloatArray) -> FloatArray:
        return np.array([self._one(int(each)) for each in t.ravel()]).reshape(t.shape)

    def scaled(self, factor: float) -> Self:
        """Return the same rate multiplied by ``factor``."""
        return replace(self, factor=self.factor * factor)


def as_rate(value: Any) -> Rate:
    """Return ``value`` as a rate; a plain function becomes a :class:`CustomRate`."""
    return value if isinstance(value, Rate) else CustomRate(value)
