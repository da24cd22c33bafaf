"""Recalibration: a model's probabilities corrected online, for the decision taken from them.

A model forecasts q_t for a yes/no event; a decision is taken by comparing the corrected p_t with
thresholds. The corrector plays the paper's game (Section 4) with two kinds of objectives:

- *calibration*: for every decision i, and for every decision i among the rounds in which q_t lay in
  the cell c of [0, 1], the sum of ±(y_t − p_t), as in the forecaster;
- *staying close*: the loss (p_t − y_t)² − (q_t − y_t)² that the correction adds to the original.

All gains lie in [−1, 1], the second is linear in y too, and against a nature who draws y with
probability h the answer p = h makes every calibration term 0 in the mean and the second −(h − q)².
So Player 2 can hold the game's value to 0, and Player 1 (sleeping experts, streaming starts, as in
the forecaster) has no regret on any interval. Staying close has a prior e^loyalty times that of the
other objectives, so that a model is left alone until the evidence against it has some weight. Hence

**Guarantee.** Whatever the outcomes and the model, with probability 1 − δ on *every* interval of L
rounds, with ρ = √((log(N·L) + loyalty)/L) + √(log(T/δ)/L), N objectives, and up to a constant,

1. the calibration error of each decision, and of each decision within each cell, is at most ρ;
2. the mean squared error (Brier score) of p exceeds that of q by at most ρ;
3. if the model was right to begin with (y_t drawn from q_t), the mean of (p_t − q_t)² is at most ρ.

(3 follows from 2: given the past, the mean of the loss is then exactly (p_t − q_t)².)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._random import stream
from stackcast._state import State, generator_state, load_state, restored_generator, save_state
from stackcast._validation import InputError, real_number, shown, whole_number
from stackcast.calibration._experts import Experts, new_experts, with_room
from stackcast.calibration._recalibration_kernel import decide, learn_round, run_rounds
from stackcast.calibration.errors import decision_bins, forecast_record

if TYPE_CHECKING:
    import os

    import numpy.typing as npt

    from stackcast._validation import FloatArray

    IntArray = npt.NDArray[np.int64]

_KIND = "recalibrator"


@dataclass(frozen=True, eq=False)
class Recalibration:
    """Corrected forecasts, the decisions taken from them, and what they were made of.

    ``decisions`` are the labels of :func:`~stackcast.calibration.decision_bins` of ``forecasts``.
    """

    forecasts: FloatArray
    decisions: IntArray
    originals: FloatArray
    outcomes: FloatArray

    @property
    def mean_shift(self) -> float:
        """The mean of |corrected − original|."""
        return float(np.abs(self.forecasts - self.originals).mean())

    @property
    def added_loss(self) -> float:
        """How much the mean squared error grew by the correction; below 0 if it fell."""
        corrected = (self.forecasts - self.outcomes) ** 2
        return float((corrected - (self.originals - self.outcomes) ** 2).mean())


def recalibrate(
    forecasts: Any,
    outcomes: Any,
    thresholds: Any = 0.5,
    cells: int = 10,
    loyalty: float = 3.0,
    seed: int = 0,
) -> Recalibration:
    """Correct the probabilities of a yes/no event, each before its own outcome is known.

    Parameters
    ----------
    forecasts : array_like
        The original probabilities, in order of time.
    outcomes : array_like
        What happened: 1 or 0 (or a number between).
    thresholds : float or increasing floats
        Decisions: a forecast at or above a threshold is on its upper side.
    cells : int
        The corrections are calibrated within each of so many equal cells of the original too.
    loyalty : float
        How much evidence (in natural logarithms) it takes to move away from the original: with 0
        corrections come sooner and are rougher, with 10 they are smooth and late.
    seed : int
        For the decisions that are drawn at a threshold.

    Examples
    --------
    A model that says 0.8, which is right for some time and then is no more:

    >>> rng = np.random.default_rng(0)
    >>> happened = rng.random(4000) < np.repeat([0.8, 0.3], 2000)
    >>> result = recalibrate(np.full(4000, 0.8), happened)
    >>> [round(float(np.abs(result.forecasts - 0.8)[t : t + 1000].mean()), 1) for t in (1000, 3000)]
    [0.0, 0.5]
    >>> result.added_loss < -0.05
    True
    """
    corrector = Recalibrator(thresholds, cells, loyalty, seed)
    record = forecast_record(outcomes, forecasts, np.zeros(len(np.asarray(forecasts)), np.int64))
    if not record.yes_no:
        raise InputError("forecasts", "one column of probabilities", f"{record.coordinates}")
    return corrector.run(record.forecasts[:, 0], record.outcomes[:, 0])


class Recalibrator:
    """Corrects a model's probabilities one at a time: ``correct`` before, ``observe`` after.

    Parameters
    ----------
    thresholds, cells, loyalty, seed
        As for :func:`recalibrate`, which gives the same corrections for a whole record.

    Examples
    --------
    >>> corrector = Recalibrator(thresholds=0.5)
    >>> for rain in [0, 0, 0, 1] * 200:
    ...     p = corrector.correct(0.9)
    ...     corrector.observe(rain)
    >>> 0.0 <= corrector.correct(0.9) < 0.5
    True
    """

    def __init__(
        self, thresholds: Any = 0.5, cells: int = 10, loyalty: float = 3.0, seed: int = 0
    ) -> None:
        decision_bins([0.5], thresholds)  # says in one sentence what is wrong with thresholds
        self._edges = np.atleast_1d(np.asarray(thresholds, dtype=np.float64)).copy()
        self._cells = whole_number("cells", cells, at_least=1)
        self._loyalty = real_number("loyalty", loyalty, at_least=0.0)
        self._rng = stream(seed, "recalibrator")
        decisions = len(self._edges) + 1
        # First the decisions, then the decisions of each cell, and last of all staying close.
        self._experts = new_experts(decisions * (self._cells + 1) + 1, 1, "streaming", 64)
        self._imbalance = np.zeros(decisions * (self._cells + 1) + 1)
        self._pending = np.zeros(3)  # original, corrected, whether they wait for their outcome
        self._rounds = 0

    @property
    def rounds(self) -> int:
        """How many outcomes were observed."""
        return self._rounds

    @property
    def thresholds(self) -> FloatArray:
        """Where decisions change."""
        return self._edges.copy()

    def correct(self, forecast: float) -> float:
        """Return the corrected probability; the same until the outcome is observed."""
        q = real_number("forecast", forecast, at_least=0.0, at_most=1.0)
        if self._pending[2]:
            if self._pending[0] != q:
                raise InputError(
                    "forecast", "the outcome of the last one first (observe)", shown(forecast)
                )
            return float(self._pending[1])
        self._experts = with_room(self._experts, "streaming", self._rounds + 1)
        p = decide(
            self._experts,
            self._imbalance,
            self._rounds + 1,
            q,
            self._edges,
            self._cells,
            self._loyalty,
            self._rng.random(),
        )
        self._pending[:] = q, p, 1.0
        return float(p)

    def observe(self, outcome: float) -> None:
        """End the round with what happened: 1, 0, or a number between."""
        y = real_number("outcome", float(outcome), at_least=0.0, at_most=1.0)
        if not self._pending[2]:
            raise InputError("outcome", "a forecast to be corrected first", shown(outcome))
        q, p, _ = self._pending
        learn_round(self._experts, self._imbalance, q, p, y, self._edges, self._cells)
        self._pending[2] = 0.0
        self._rounds += 1

    def run(self, forecasts: Any, outcomes: Any) -> Recalibration:
        """Correct and observe many rounds, exactly as one by one but in compiled code."""
        if self._pending[2]:
            raise InputError("forecasts", "the outcome of the last one first (observe)", "a block")
        q = np.ascontiguousarray(forecasts, dtype=np.float64)
        y = np.ascontiguousarray(outcomes, dtype=np.float64)
        record = forecast_record(y, q, np.zeros(len(q), np.int64))
        self._experts = with_room(self._experts, "streaming", self._rounds + len(q))
        draws = self._rng.random(len(q))
        corrected = np.empty(len(q))
        run_rounds(
            self._experts,
            self._imbalance,
            self._rounds,
            record.forecasts[:, 0].copy(),
            record.outcomes[:, 0].copy(),
            self._edges,
            self._cells,
            self._loyalty,
            draws,
            corrected,
        )
        self._rounds += len(q)
        decisions = decision_bins(corrected, self._edges)
        q, y = record.forecasts[:, 0].copy(), record.outcomes[:, 0].copy()
        for array in (corrected, decisions, q, y):
            array.flags.writeable = False
        return Recalibration(corrected, decisions, q, y)

    def state(self) -> State:
        """Return everything that the corrector remembers, for :meth:`restore`."""
        return {
            "thresholds": self._edges.copy(),
            "cells": self._cells,
            "loyalty": self._loyalty,
            "rounds": self._rounds,
            "random": generator_state(self._rng),
            "experts": {name: array.copy() for name, array in self._experts._asdict().items()},
            "imbalance": self._imbalance.copy(),
            "pending": self._pending.copy(),
        }

    def restore(self, state: State) -> None:
        """Continue from ``state`` as if nothing had happened since."""
        try:
            same = np.array_equal(state["thresholds"], self._edges)
            if not same or (state["cells"], state["loyalty"]) != (self._cells, self._loyalty):
                raise InputError("state", "the same thresholds, cells and loyalty", "others")
            experts = Experts(**{name: np.array(a) for name, a in state["experts"].items()})
            rng = restored_generator(state["random"])
            imbalance, pending = np.array(state["imbalance"]), np.array(state["pending"])
            rounds = int(state["rounds"])
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError("state", "the state of a recalibrator", f"{error}") from None
        if imbalance.shape != self._imbalance.shape or pending.shape != (3,):
            raise InputError("state", "the state of a recalibrator of this size", "another size")
        self._experts, self._rng, self._rounds = experts, rng, rounds
        self._imbalance, self._pending = imbalance, pending

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file (see ``docs/state-files.md``)."""
        save_state(path, _KIND, self.state())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Recalibrator:
        """Return the corrector that was saved at ``path``."""
        state = load_state(path, _KIND)
        try:
            corrector = cls(state["thresholds"], state["cells"], state["loyalty"])
            corrector.restore(state)
        except InputError as error:
            raise error.inside(str(path)) from None
        except KeyError as error:
            raise InputError(str(path), "the state of a recalibrator", f"no {error}") from None
        return corrector
