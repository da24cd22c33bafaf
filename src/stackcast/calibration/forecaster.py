"""A forecaster that is calibrated to a binning on every interval (Section 4 of the paper)."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from stackcast._random import stream
from stackcast._state import (
    State,
    generator_state,
    load_state,
    restored_generator,
    save_state,
)
from stackcast._validation import (
    PROBABILITY_TOLERANCE,
    InputError,
    one_of,
    real_number,
    real_vector,
    shown,
    whole_number,
)
from stackcast.calibration import _rounds
from stackcast.calibration._bankroll import ACCURACY, even_shares, new_bankroll, with_bins
from stackcast.calibration._experts import START_RULES, StartRule, new_experts, with_room
from stackcast.calibration._forecast_game import (
    BIN,
    CHOSEN,
    CLOCK_LENGTH,
    GAMES,
    ID,
    LOGGED,
    MET,
    MISSES,
    NEXT_ID,
    PENDING,
    POOLED,
    REPEATS,
    ROUND,
    STAGE,
    SUPPORT,
    new_nature,
    new_pool,
    with_capacity,
)
from stackcast.calibration._outgoing import outgoing_point
from stackcast.calibration._rounds import BETTING, DONE, GIVEN, MIXED, NEEDS_ROOM, POINT
from stackcast.calibration._weights import FUNCTION, CompiledBinning
from stackcast.calibration.binnings import Binning
from stackcast.calibration.blocks import ForecastBlock
from stackcast.calibration.rates import AdaptiveRate, SecondOrderRate
from stackcast.games import Ball

if TYPE_CHECKING:
    import os

    import numpy.typing as npt

    from stackcast._validation import FloatArray
    from stackcast.games import StrategySpace

    IntArray = npt.NDArray[np.int64]

_KIND = "forecaster"

Method = Literal["betting", "sleeping"]
METHODS: tuple[Method, ...] = get_args(Method)

_ACCURACY = {"betting": ACCURACY, "sleeping": 0.05}

# A binning whose weights only Python can compute.
_BY_PYTHON = CompiledBinning(FUNCTION, np.zeros((1, 1)), np.zeros(1), 0.0, 0)

#: The accuracy is that of so many dimensions. In more, coordinates are smaller on average (those of
#: a strategy sum to 1), and what is small beside them must be smaller too; down to this share of
#: it, beyond which rounds would take long.
_FEW_DIMENSIONS = 5
_SHARPEST = 0.25


class AdaptiveForecaster:
    """Forecasts of a sequence of outcomes that are calibrated to a binning on every interval.

    Whatever the outcomes, chosen by an adversary who knows the forecaster and all of its past, with
    high probability the calibration error on every interval of L rounds is of the order of
    √(log(n·m·L)/L) + √(log(T)/L) in each bin and coordinate (Theorem 4.1). Nothing has to be tuned.

    Parameters
    ----------
    binning : Binning
        Which forecasts are judged together.
    space : StrategySpace, optional
        Where outcomes and forecasts live, by default where the binning says.
    method : {"betting", "sleeping"}
        How the errors of all intervals are watched: by one bankroll that bets against the forecasts
        (the default: O(1) bets a round, and an error that falls like 1/L where outcomes are quiet),
        or by sleeping experts (the paper to the letter).
    starts : {"streaming", "all", "first"}, optional
        Which intervals the sleeping experts watch from their beginning: O(log t) starts a round
        (the default), every start (O(t) time a round and O(t) memory), or the first alone
        (calibrated over the whole time, not on every interval).
    seed : int
        Forecasts are drawn from a mixture; the seed fixes the draws.
    accuracy : float, optional
        c: no outcome gains more than ε_t against Player 2's mixture in round t. Betting: ε_t = c/t,
        by default c = 0.1. Sleeping: ε_t = c/√t times the widest coordinate, by default c = 0.05;
        in m > 5 dimensions 5/m of that, but no less than a quarter.

    Examples
    --------
    >>> from stackcast.calibration import ThresholdBinning
    >>> forecaster = AdaptiveForecaster(ThresholdBinning([0.3]))
    >>> for rain in [1, 0, 0, 1, 0, 0, 0, 0] * 20:
    ...     p = forecaster.forecast()
    ...     forecaster.observe([rain])
    >>> forecaster.rounds
    160
    >>> block = forecaster.run(([0.25], 1000))  # 1,000 rounds of one strategy, compiled
    >>> bool(abs(block.forecasts[-100:].mean() - 0.25) < 0.05)
    True
    """

    def __init__(
        self,
        binning: Binning,
        space: StrategySpace | Ball | None = None,
        *,
        method: Method = "betting",
        starts: StartRule | None = None,
        seed: int = 0,
        accuracy: float | None = None,
    ) -> None:
        if not isinstance(binning, Binning):
            raise InputError("binning", "a binning", shown(binning))
        self.binning = binning
        self.space = binning.space if space is None else space
        if self.space.dimension != binning.dimension:
            raise InputError("space", f"{binning.dimension} coordinates", f"{self.space.dimension}")
        one_of("method", method, METHODS)
        self.method: Method = method
        if starts is not None:
            one_of("starts", starts, START_RULES)
            if method == "betting":
                raise InputError("starts", "none with betting, which has no starts", shown(starts))
        self.starts = (starts or "streaming") if method == "sleeping" else None
        self.accuracy = real_number(
            "accuracy", _ACCURACY[method] if accuracy is None else accuracy, above=0.0
        )
        self._rng = stream(seed, "forecaster")
        n, m = binning.bins, binning.dimension
        unknown = n == 0
        if unknown and method == "sleeping":
            raise InputError("method", "betting, for bins that are not known beforehand", method)
        self._nature = new_nature(self.space)
        widths = np.ptp(self._nature.limits, axis=0)
        self._per = 2.0 * float(widths.max()) if widths.max() > 0 else 1.0
        betting = method == "betting"
        capacity = 2 * _rounds.INSERTIONS if unknown else 0
        bins = (n or capacity) if betting else 0
        self._bankroll = new_bankroll(even_shares(bins, unknown), widths)
        self._experts = new_experts(
            0 if betting else n, m, self.starts or "first", 1 if betting else 64
        )
        # In a few dimensions a continuous binning has a deterministic answer.
        self._line = m == 1 or (m == 2 and self.space.kind == "simplex")
        hull = binning.compiled is not None and self._nature.facets.shape[1] > 2
        self._outgoing = POINT if binning.continuous and (self._line or hull) else MIXED
        self._pool = new_pool(n, binning.random and binning.continuous, self._centre(), capacity)
        self._clock = np.zeros(CLOCK_LENGTH, dtype=np.int64)
        self._imbalance = np.zeros((n or capacity) * m)
        self._weights = np.zeros(n)

    @property
    def rounds(self) -> int:
        """How many outcomes were observed."""
        return int(self._clock[ROUND])

    @property
    def rate(self) -> SecondOrderRate | AdaptiveRate:
        """The rate at which its calibration error falls with the length of an interval."""
        bins = self.binning.bins or max(1, int(self._clock[MET]) * (int(self._clock[MET]) + 1))
        kind = SecondOrderRate if self.method == "betting" else AdaptiveRate
        return kind(bins, self.space.dimension)

    @property
    def statistics(self) -> dict[str, float]:
        """How hard Player 2 had to work.

        ``games`` small zero-sum games were solved in ``rounds`` rounds; ``repeats`` rounds needed
        more than one; in ``misses`` rounds the mixture stayed above its accuracy; ``value`` is what
        nature can gain against the current mixture, ``epsilon`` what it was allowed. ``growth`` is
        the log of what the bankroll has won in all (0 for sleeping experts).
        """
        t = max(self.rounds + int(self._clock[PENDING]), 1)
        return {
            "rounds": self.rounds,
            "games": int(self._clock[GAMES]),
            "repeats": int(self._clock[REPEATS]),
            "misses": int(self._clock[MISSES]),
            "value": float(self._pool.request[-1]),
            "epsilon": 0.0 if self._outgoing else self._epsilon(t),
            "growth": float(self._bankroll.growth[-1]),
        }

    def forecast(self) -> FloatArray:
        """Return the forecast of the coming round: the same until the outcome is observed."""
        self._decide()
        result = self._pool.forecasts[self._clock[CHOSEN], : self.space.dimension].copy()
        result.flags.writeable = False
        return result

    def forecast_bin(self) -> int:
        """Return the bin of :meth:`forecast`: for best-response bins, the agent's response."""
        self._decide()
        return int(self._clock[BIN])

    def forecast_distribution(self) -> tuple[FloatArray, FloatArray]:
        """Return the forecasts from which the coming one is drawn (rows), and their probabilities.

        Even an adversary who sees this before it chooses the outcome cannot break calibration.
        """
        self._decide()
        count = int(self._clock[SUPPORT])
        support = self._pool.forecasts[self._pool.support[:count], : self.space.dimension]
        return support, self._pool.shares[:count].copy()

    def observe(self, outcome: Any) -> None:
        """End the round with its outcome: a strategy of the space, or the number of an action."""
        self._advance(_outcome_rows(self.space, (outcome, 1))[0], 1)
        self._clock[LOGGED] = self._clock[NEXT_ID]

    def run(self, outcomes: Any) -> ForecastBlock:
        """Forecast and observe many rounds, exactly as one by one but in compiled code.

        Parameters
        ----------
        outcomes : array-like or tuple
            A T×m array of outcomes, a vector of T action numbers, or ``(strategy, rounds)`` for the
            same strategy in each of ``rounds`` rounds.
        """
        rows, rounds = _outcome_rows(self.space, outcomes)
        first, pooled = int(self._clock[LOGGED]), int(self._clock[POOLED])
        older_ids = self._pool.tags[:pooled, ID].copy()
        older = self._pool.forecasts[:pooled, : self.space.dimension].copy()
        ids, bins, fresh = self._advance(np.ascontiguousarray(rows), rounds)
        for array in (ids, bins, fresh):
            array.flags.writeable = False
        return ForecastBlock(ids, bins, first, fresh, older_ids, older)

    def state(self) -> State:
        """Return everything that the forecaster remembers, for :meth:`restore`."""
        return {
            "binning": self.binning.description(),
            "method": self.method,
            "starts": self.starts,
            "accuracy": self.accuracy,
            "random": generator_state(self._rng),
            "clock": self._clock.copy(),
            "imbalance": self._imbalance.copy(),
            **{
                part: {name: array.copy() for name, array in arrays._asdict().items()}
                for part, arrays in self._parts().items()
            },
        }

    def restore(self, state: State) -> None:
        """Continue from ``state`` as if nothing had happened since."""
        if "method" not in state and "experts" in state:
            raise InputError("state", "one of this version", "one from before there were methods")
        try:
            own = (self.binning.description(), self.method, self.starts, self.accuracy)
            found = (state["binning"], state["method"], state["starts"], state["accuracy"])
            if found != own:
                raise InputError(
                    "state", f"that of {_identity(*own)}", f"that of {_identity(*found)}"
                )
            rng = restored_generator(state["random"])
            clock, imbalance = np.array(state["clock"]), np.array(state["imbalance"])
            parts = {
                name: type(part)(**{k: np.array(v) for k, v in state[name].items()})
                for name, part in self._parts().items()
            }
            self._grow(len(parts["pool"].cells))
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError("state", "the state of a forecaster", f"{error}") from None
        kept: list[Any] = [self._clock, self._imbalance]
        given: list[Any] = [clock, imbalance]
        for name, part in self._parts().items():
            # Sleeping experts have as many rows as they need.
            kept += [a for a in part if name != "experts" or a.ndim == 1]
            given += [a for a in parts[name] if name != "experts" or a.ndim == 1]
        if [(a.shape, a.dtype) for a in kept] != [(a.shape, a.dtype) for a in given]:
            raise InputError("state", "the state of a forecaster of this size", "another size")
        self._rng, self._clock, self._imbalance = rng, clock, imbalance
        self._pool = parts["pool"]
        if self.method == "betting":
            self._bankroll = parts["bankroll"]
        else:
            self._experts = parts["experts"]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file (see ``docs/reference/state-files.md``)."""
        save_state(path, _KIND, self.state())

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        binning: Binning,
        space: StrategySpace | None = None,
    ) -> AdaptiveForecaster:
        """Return the forecaster that was saved at ``path``, for the same binning and space."""
        state = load_state(path, _KIND)
        try:
            if "method" not in state:
                raise InputError(
                    "state", "one of this version", "one from before there were methods"
                )
            forecaster = cls(
                binning,
                space,
                method=state["method"],
                starts=state["starts"],
                accuracy=state["accuracy"],
            )
            forecaster.restore(state)
        except InputError as error:
            raise error.inside(str(path)) from None
        except KeyError as error:
            raise InputError(str(path), "the state of a forecaster", f"no {error}") from None
        return forecaster

    def _parts(self) -> dict[str, Any]:
        """Return the arrays of both players, by name."""
        if self.method == "betting":
            return {"bankroll": self._bankroll, "pool": self._pool}
        return {"experts": self._experts, "pool": self._pool}

    @cached_property
    def _accuracy(self) -> float:
        """The constant of ε_t in the units of Player 1's gains."""
        if self.method == "betting":
            return self.accuracy
        share = min(1.0, max(_SHARPEST, _FEW_DIMENSIONS / self.space.dimension))
        return self.accuracy * share * self._per / 2.0

    def _epsilon(self, t: int) -> float:
        """Return what outcomes may gain in round t against the imbalance."""
        return self._accuracy / (t if self.method == "betting" else t**0.5)

    def _advance(self, rows: FloatArray, rounds: int) -> tuple[IntArray, IntArray, FloatArray]:
        """Play ``rounds`` rounds, or fix the coming forecast if there are none."""
        clock, random = self._clock, self.binning.random
        if self.method == "sleeping":
            self._experts = with_room(
                self._experts, self.starts or "first", self.rounds + max(rounds, 1)
            )
        rule = BETTING if self.starts is None else START_RULES.index(self.starts)
        ids, bins = np.empty(rounds, dtype=np.int64), np.empty(rounds, dtype=np.int64)
        begun, decided = int(clock[ROUND]), int(clock[ROUND] + clock[PENDING])
        uniforms = self._rng.random((max(rounds, 1) - int(clock[PENDING])) * (1 + random))
        fresh: list[FloatArray] = []
        while True:
            done = int(clock[ROUND]) - begun
            logged = int(clock[LOGGED])
            run: Any = _rounds.run_rounds  # for a type checker a starred tuple has any length
            table = run(
                *self._experts,
                *self._bankroll,
                *self._pool,
                *self._nature,
                *(self.binning.compiled or _BY_PYTHON),
                clock,
                self._imbalance,
                rule,
                self._outgoing,
                random,
                self._accuracy,
                self._per,
                uniforms[(int(clock[ROUND] + clock[PENDING]) - decided) * (1 + random) :],
                rows if len(rows) == 1 else rows[done:],
                ids[done:],
                bins[done:],
                self._weights,
            )
            fresh.append(table[: int(clock[LOGGED]) - logged])
            if clock[STAGE] == DONE:
                break
            if clock[STAGE] == NEEDS_ROOM:
                self._grow(2 * len(self._pool.cells))
                clock[STAGE] = DONE
            else:
                self._ask_python()
                clock[STAGE] = GIVEN
        return ids, bins, fresh[0].copy() if len(fresh) == 1 else np.concatenate(fresh)

    def _ask_python(self) -> None:
        """Write the weights that the compiled loop waits for; on a line, find the point as well."""
        m = self.space.dimension
        point = self._pool.request[:m]
        if self._outgoing:
            z = self._imbalance.reshape(-1, m)
            slopes = z[:, 0] - (z[:, 1] if m == 2 else 0.0)

            def pull(p: float) -> float:
                return float(self.binning.weights([[p, 1.0 - p][:m]])[0] @ slopes)

            low, high = (float(limit) for limit in self._nature.limits[:, 0])
            p = outgoing_point(pull, low, high)
            point[:] = [p, 1.0 - p][:m]
            self._pool.request[m] = max(pull(p) * (low - p), pull(p) * (high - p))
        self._weights[:] = self.binning.weights(point[None].copy())[0]

    def _grow(self, bins: int) -> None:
        """Make room for so many bins, where they are made on the way."""
        if bins > len(self._pool.cells) and self.binning.bins == 0:
            self._pool = with_capacity(self._pool, bins)
            self._bankroll = with_bins(self._bankroll, bins)
            more = bins * self.space.dimension - len(self._imbalance)
            self._imbalance = np.pad(self._imbalance, (0, more))

    def _centre(self) -> FloatArray:
        """Return a point in the middle of the space: the first forecast."""
        m = self.space.dimension
        if self.space.kind == "simplex":
            return np.full(m, 1.0 / m)
        middle = np.zeros(m)
        for axis in np.vstack([np.eye(m), -np.eye(m)]):
            middle += self.space.argmax(axis) / (2 * m)
        return middle

    def _decide(self) -> None:
        if not self._clock[PENDING]:
            self._advance(np.empty((0, self.space.dimension)), 0)


def _identity(binning: Any, method: Any, starts: Any, accuracy: Any) -> str:
    how = method if starts is None else f"{method} with {starts} starts"
    return f"a forecaster by {how}, accuracy {accuracy:g} and the binning {binning}"


def _outcome_rows(space: StrategySpace | Ball, outcomes: Any) -> tuple[FloatArray, int]:
    """Return outcomes as rows, and how many rounds they are: one row may stand for all of them.

    They are a table, a vector of action numbers, or ``(outcome, rounds)``, where the outcome is a
    strategy or the number of an action.
    """
    m = space.dimension
    if isinstance(outcomes, tuple) and len(outcomes) == 2 and np.ndim(outcomes[1]) == 0:
        outcome, rounds = outcomes[0], whole_number("rounds", outcomes[1])
        if isinstance(outcome, int | np.integer) and space.kind == "simplex":
            if whole_number("outcome", outcome) >= m:
                raise InputError("outcome", f"an action below {m}", shown(outcome))
            return np.eye(m)[[int(outcome)]], rounds
        row = np.array(real_vector("outcome", outcome, m))[None, :]
        return _checked(space, "outcome", row), rounds
    array = np.asarray(outcomes)
    if array.ndim == 1 and array.dtype.kind in "iu" and space.kind == "simplex":
        if array.size and not (array.min() >= 0 and array.max() < m):
            raise InputError("outcomes", f"actions from 0 to {m - 1}", "another number")
        return np.eye(m)[array], len(array)
    if array.ndim != 2 or array.shape[1] != m or array.dtype.kind not in "biuf":
        raise InputError("outcomes", f"a table with {m} columns of numbers", f"shape {array.shape}")
    return _checked(space, "outcomes", array.astype(np.float64)), len(array)


def _checked(space: StrategySpace | Ball, field: str, rows: FloatArray) -> FloatArray:
    """Return outcomes that lie in the space, rounded back where they miss it by rounding."""
    if isinstance(space, Ball):
        return space.check_all(field, rows)
    if space.kind == "simplex":
        sums = rows.sum(axis=1)
        good = (rows.min(axis=1) >= -PROBABILITY_TOLERANCE) & (
            np.abs(sums - 1) <= PROBABILITY_TOLERANCE
        )
    else:
        over = (rows @ space.inequality_rows.T - space.inequality_bounds).max(axis=1)
        off = np.abs(rows @ space.equality_rows.T - space.equality_bounds)
        good = np.maximum(over, off.max(axis=1, initial=0.0)) <= PROBABILITY_TOLERANCE
    if not good.all():
        wrong = int(np.argmin(good))
        space.check(f"{field}, row {wrong + 1}" if len(rows) > 1 else field, rows[wrong])
    if space.kind == "simplex" and ((sums != 1).any() or rows.min(initial=0.0) < 0):
        rows = np.maximum(rows, 0.0)
        rows /= rows.sum(axis=1, keepdims=True)
    return rows
