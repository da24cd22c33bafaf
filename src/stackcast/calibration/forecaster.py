"""A forecaster that is calibrated to a binning on every interval (Section 4 of the paper)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._random import stream
from stackcast._state import (
    State,
    generator_state,
    load_state,
    restored_generator,
    save_state,
)
from stackcast._validation import InputError, one_of, real_number, shown
from stackcast.calibration import _rounds
from stackcast.calibration.binnings import Binning
from stackcast.calibration.blocks import ForecastBlock
from stackcast.calibration.experts import START_RULES, Experts, StartRule, new_experts, with_room
from stackcast.calibration.explicit import outgoing_point
from stackcast.calibration.minimax import (
    BIN,
    CHOSEN,
    CLOCK_LENGTH,
    GAMES,
    ID,
    LOGGED,
    MISSES,
    NEXT_ID,
    PENDING,
    POOLED,
    REPEATS,
    ROUND,
    SUPPORT,
    Pool,
    new_nature,
    new_pool,
)
from stackcast.calibration.outcomes import many_outcomes, one_outcome

if TYPE_CHECKING:
    import os

    import numpy.typing as npt

    from stackcast._validation import FloatArray
    from stackcast.calibration._weights import CompiledBinning
    from stackcast.games import Ball, StrategySpace

    IntArray = npt.NDArray[np.int64]

_KIND = "forecaster"

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
    starts : {"streaming", "all", "first"}
        Which intervals the experts watch from their beginning: O(log t) starts a round (the
        default), every start (the paper to the letter, O(t) time a round and O(t) memory), or the
        first alone (calibrated over the whole time, not on every interval).
    seed : int
        Forecasts are drawn from a mixture; the seed fixes the draws.
    accuracy : float
        Player 2's mixture in round t is optimal within ``accuracy``/√t times the widest coordinate;
        in m > 5 dimensions within 5/m of that, but no less than a quarter.

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
        starts: StartRule = "streaming",
        seed: int = 0,
        accuracy: float = 0.05,
    ) -> None:
        if not isinstance(binning, Binning):
            raise InputError("binning", "a binning", shown(binning))
        self.binning = binning
        self.space = binning.space if space is None else space
        if self.space.dimension != binning.dimension:
            raise InputError("space", f"{binning.dimension} coordinates", f"{self.space.dimension}")
        one_of("starts", starts, START_RULES)
        self.starts: StartRule = starts
        self.accuracy = real_number("accuracy", accuracy, above=0.0)
        self._rng = stream(seed, "forecaster")
        n, m = binning.bins, binning.dimension
        self._nature = new_nature(self.space)
        widest = float(np.ptp(self._nature.limits, axis=0).max())
        self._per = 2.0 * widest if widest > 0 else 1.0
        self._experts = new_experts(n, m, starts, 64)
        # In one dimension a continuous binning has a deterministic answer.
        line = m == 1 or (m == 2 and self.space.kind == "simplex")
        self._outgoing = binning.continuous and line
        self._pool = new_pool(n, binning.random and binning.continuous, self._centre())
        self._clock = np.zeros(CLOCK_LENGTH, dtype=np.int64)
        self._imbalance = np.zeros(n * m)
        self._no_numbers = np.empty(0)

    @property
    def rounds(self) -> int:
        """How many outcomes were observed."""
        return int(self._clock[ROUND])

    @property
    def statistics(self) -> dict[str, float]:
        """How hard Player 2 had to work.

        ``games`` small zero-sum games were solved in ``rounds`` rounds; ``repeats`` rounds needed
        more than one; in ``misses`` rounds the mixture stayed above its accuracy; ``value`` is what
        nature can gain against the current mixture, ``epsilon`` what it was allowed.
        """
        decided = max(self.rounds + int(self._clock[PENDING]), 1)
        return {
            "rounds": self.rounds,
            "games": int(self._clock[GAMES]),
            "repeats": int(self._clock[REPEATS]),
            "misses": int(self._clock[MISSES]),
            "value": float(self._pool.request[-1]),
            "epsilon": 0.0 if self._outgoing else self._epsilon / decided**0.5,
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
        row = one_outcome(self.space, outcome)
        self._decide()
        self._finish(row)
        self._clock[LOGGED] = self._clock[NEXT_ID]

    def run(self, outcomes: Any) -> ForecastBlock:
        """Forecast and observe many rounds, exactly as one by one but in compiled code.

        Parameters
        ----------
        outcomes : array-like or tuple
            A T×m array of outcomes, a vector of T action numbers, or ``(strategy, rounds)`` for the
            same strategy in each of ``rounds`` rounds.
        """
        rows, rounds = many_outcomes(self.space, outcomes)
        self._make_room(rounds)
        ids, bins = np.empty(rounds, dtype=np.int64), np.empty(rounds, dtype=np.int64)
        first, pooled = int(self._clock[LOGGED]), int(self._clock[POOLED])
        older_ids = self._pool.tags[:pooled, ID].copy()
        older = self._pool.forecasts[:pooled, : self.space.dimension].copy()
        binning = self.binning.compiled
        if binning is not None and rounds > 0:
            table = self._compiled_rounds(binning, np.ascontiguousarray(rows), ids, bins)
            fresh = table[: self._clock[LOGGED] - first].copy()
        else:
            fresh = self._run_interpreted(rows, ids, bins)
        for array in (ids, bins, fresh):
            array.flags.writeable = False
        return ForecastBlock(ids, bins, first, fresh, older_ids, older)

    def state(self) -> State:
        """Return everything that the forecaster remembers, for :meth:`restore`."""
        return {
            "binning": self.binning.description(),
            "starts": self.starts,
            "accuracy": self.accuracy,
            "random": generator_state(self._rng),
            "experts": {name: array.copy() for name, array in self._experts._asdict().items()},
            "pool": {name: array.copy() for name, array in self._pool._asdict().items()},
            "clock": self._clock.copy(),
            "imbalance": self._imbalance.copy(),
        }

    def restore(self, state: State) -> None:
        """Continue from ``state`` as if nothing had happened since."""
        try:
            own = (self.binning.description(), self.starts, self.accuracy)
            if (state["binning"], state["starts"], state["accuracy"]) != own:
                raise InputError(
                    "state",
                    f"a forecaster with {self.starts} starts, accuracy {self.accuracy:g} and the "
                    f"binning {own[0]}",
                    f"one with {state['starts']} starts, accuracy {state['accuracy']:g} and the "
                    f"binning {state['binning']}",
                )
            rng = restored_generator(state["random"])
            experts = Experts(**{k: np.array(v) for k, v in state["experts"].items()})
            pool = Pool(**{k: np.array(v) for k, v in state["pool"].items()})
            clock, imbalance = np.array(state["clock"]), np.array(state["imbalance"])
        except (KeyError, TypeError) as error:
            raise InputError("state", "the state of a forecaster", f"{error}") from None
        kept = [*self._pool, self._clock, self._imbalance, self._experts.totals]
        if [(a.shape, a.dtype) for a in kept] != [
            (a.shape, a.dtype) for a in (*pool, clock, imbalance, experts.totals)
        ]:
            raise InputError("state", "the state of a forecaster of this size", "another size")
        self._rng, self._experts, self._pool = rng, experts, pool
        self._clock, self._imbalance = clock, imbalance

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file (see ``docs/state-files.md``)."""
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
            forecaster = cls(binning, space, starts=state["starts"], accuracy=state["accuracy"])
            forecaster.restore(state)
        except InputError as error:
            raise error.inside(str(path)) from None
        except KeyError as error:
            raise InputError(str(path), "the state of a forecaster", f"no {error}") from None
        return forecaster

    @property
    def _epsilon(self) -> float:
        share = min(1.0, max(_SHARPEST, _FEW_DIMENSIONS / self.space.dimension))
        return self.accuracy * share * self._per / 2.0

    def _compiled_rounds(
        self, binning: CompiledBinning, outcomes: FloatArray, ids: IntArray, bins: IntArray
    ) -> FloatArray:
        decisions = max(len(ids), 1) - int(self._clock[PENDING])
        fresh: FloatArray = _rounds.run_rounds(
            *self._experts,
            *self._pool,
            *self._nature,
            *binning,
            self._clock,
            self._imbalance,
            START_RULES.index(self.starts),
            self._outgoing,
            self.binning.random,
            self._epsilon,
            self._per,
            self._rng.random(decisions * (2 if self.binning.random else 1)),
            outcomes,
            ids,
            bins,
        )
        return fresh

    def _make_room(self, rounds: int) -> None:
        self._experts = with_room(self._experts, self.starts, self.rounds + rounds)

    def _centre(self) -> FloatArray:
        """Return a point in the middle of the space: the first forecast."""
        m = self.space.dimension
        if self.space.kind == "simplex":
            return np.full(m, 1.0 / m)
        middle = np.zeros(m)
        for axis in np.vstack([np.eye(m), -np.eye(m)]):
            point = self.space.support_point(axis)
            if point is None:
                raise InputError("space", "a bounded space with a strategy in it", "none")
            middle += point / (2 * m)
        return middle

    def _decide(self) -> None:
        if self._clock[PENDING]:
            return
        self._make_room(1)
        if self.binning.compiled is not None:
            none = np.empty(0, dtype=np.int64)
            nothing = np.empty((0, self.space.dimension))
            self._compiled_rounds(self.binning.compiled, nothing, none, none)
        else:
            self._decide_interpreted()

    def _finish(self, outcome: FloatArray) -> None:
        if self.binning.compiled is not None:
            one = np.empty(1, dtype=np.int64)
            self._compiled_rounds(self.binning.compiled, outcome[None, :], one, one)
        else:
            self._step(_rounds.FINISH, outcome)

    def _step(
        self, what: int, point: FloatArray | None = None, weights: FloatArray | None = None
    ) -> bool:
        empty = self._no_numbers
        drawing = what == _rounds.DRAW
        return bool(
            _rounds.step(
                self._experts,
                self._pool,
                self._clock,
                self._nature,
                self._imbalance,
                START_RULES.index(self.starts),
                self.binning.random,
                self._rng.random(1 + self.binning.random) if drawing else empty,
                self._epsilon / (self.rounds + 1) ** 0.5,
                self._per,
                what,
                empty if point is None else point,
                empty if weights is None else weights,
            )
        )

    def _decide_interpreted(self) -> None:
        """Decide as the compiled loop does, with a binning that is a Python function."""
        self._step(_rounds.BEGIN)
        if self._outgoing:
            self._place_interpreted()
        else:
            clock = self._clock
            games = int(clock[GAMES])
            reached = bool(clock[POOLED]) and self._step(_rounds.SEARCH)
            for _ in range(_rounds.INSERTIONS):
                if reached:
                    break
                point = self._pool.request[:-1].copy()
                self._step(_rounds.INSERT, point, self.binning.weights(point[None])[0])
                reached = self._step(_rounds.SEARCH)
            clock[REPEATS] += clock[GAMES] - games > 1
            clock[MISSES] += not reached
        self._step(_rounds.DRAW)

    def _place_interpreted(self) -> None:
        m = self.space.dimension
        z = self._imbalance.reshape(-1, m)
        slopes = z[:, 0] - (z[:, 1] if m == 2 else 0.0)

        def weights(p: float) -> FloatArray:
            row: FloatArray = self.binning.weights([[p, 1.0 - p][:m]])[0]
            return row

        low, high = (float(limit) for limit in self._nature.limits[:, 0])
        p = outgoing_point(lambda p: float(weights(p) @ slopes), low, high)
        pull = float(weights(p) @ slopes)
        self._pool.request[-1] = max(pull * (low - p), pull * (high - p))
        self._step(_rounds.PLACE, np.array([p, 1.0 - p][:m]), weights(p))

    def _run_interpreted(self, rows: FloatArray, ids: IntArray, bins: IntArray) -> FloatArray:
        pool, clock, m = self._pool, self._clock, self.space.dimension
        fresh: list[FloatArray] = []
        for r in range(len(ids)):
            self._decide()
            tags = pool.tags[: clock[POOLED], ID]
            new = np.flatnonzero(tags >= clock[LOGGED])
            fresh += [pool.forecasts[slot, :m].copy() for slot in new[np.argsort(tags[new])]]
            clock[LOGGED] = clock[NEXT_ID]
            ids[r], bins[r] = tags[clock[CHOSEN]], clock[BIN]
            self._finish(rows[0 if len(rows) == 1 else r].copy())
        return np.array(fresh).reshape(-1, m)
