"""Recalibration: better probabilities online, by the bankroll of the forecaster.

A model forecasts q_t; the recalibrator prints p_t before the outcome y_t is known. Experts bet
against p_t: a bet multiplies its wealth by f, whose mean is 1 if y_t is drawn from p_t.

=============================  =================================================================
expert                         f
=============================  =================================================================
log loss of a map q_e          q_e(y)/p(y), so that ln f is what p loses more than q_e
Brier score of a map q_e       1 + (q_e − p)(y − p) for a yes/no event, 1 + ½⟨q_e − p, e_y − p⟩
bias of decision i, outcome j  1 ± δ(1{y = j} − p_j) if the decision from p is i, else 1
bias within a group            the same where the forecast belongs to the group
=============================  =================================================================

The maps are the original itself, Platt's and the beta map by online Newton steps (with and without
forgetting) and by gradient steps, histograms, the base rate, and isotonic regression; for k
outcomes temperature and vector scaling and tables of outcomes. The forecast printed is the one at
which all bets cancel, whatever happens: between two thresholds the sum of a yes/no event's bets
falls strictly in p, so there is one root, or a threshold at which it jumps from + to −, where the
side is drawn with the odds that cancel. For k outcomes see ``choose`` in the kernel.

**Theorem.** For every expert, on every interval s..t of rounds (counted as outcomes come in),

    Σ ln f  ≤  R,   R = ln(1/prior) + [s > 1]·(ln(s + e) + 2 ln ln(s + e)) + 1 + G,

with G = Σ ln(total wealth) over the interval: 0 where no side was drawn, and by Ville's inequality
at most ln(1/δ) + ln s + 2 ln ln(s + e) + 1.15 with chance 1 − δ on all intervals at once. *Proof*:
that of the bankroll; the maps share its wealth. ∎ Hence, whatever the outcomes, on every interval
of L rounds,

(a) the calibration error of each decision is within the second-order rate of its R (``rate``), and
    so is that of each decision within each group, at the price of the log of the group's number;
(b) the log loss exceeds that of the original or of any map by at most R/L, and the Brier score by
    at most 2R/L (4R/L where it is summed over k outcomes);
(c) p is never 0 or 1;
(d) a right model is left alone: its log loss rises by at most 3.4/T over T rounds.

*Proof of (b) for Brier.* Put u = e_y − p, v = e_y − q, a = |u|, b = |v|, and let
g = ln(1 + ½⟨q − p, u⟩) − ¼a² + ¼b² = ln(1 + ½a² − ½⟨u, v⟩) − ¼a² + ¼b². As ⟨u, v⟩ ≤ ab, g ≥ h(b)
with h(b) = ln(1 + ½a² − ½ab) − ¼a² + ¼b², h(a) = 0 and h′(b) = ½(b − a)(1 − ½ab)/(1 + ½a² − ½ab).
On the simplex a, b ≤ √2, so 1 − ½ab ≥ 0 and b = a is the minimum: g ≥ 0. For two outcomes
|u|² = 2(y − p)², which is the yes/no case. ∎ Outcomes of a yes/no event may lie between 0 and 1:
ln is concave, so all of it holds for the mean.

**Late outcomes.** Bets are paid when the outcome comes, in whatever order. The theorem stands, in
the order of payment, but with outcomes that come D rounds late the bets that are paid are not quite
those that were cancelled: G is no longer 0 and is measured (``growth``), not bounded. Nobody can
guard intervals shorter than the delay; ``docs/how-to/recalibrate.md`` shows what delays cost.

References
----------
V. Vovk, G. Shafer, A. Takemura: Defensive forecasting. AISTATS 2005.
C. Gupta, A. Ramdas: Online Platt scaling with calibeating. ICML 2023 (arXiv:2305.00070).
D. Foster, S. Hart: "Calibeating": beating forecasters at their own game. Theor. Economics 2023.
G. Farina, J. C. Perdomo: arXiv:2604.19592 (delayed outcomes).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stackcast._random import stream
from stackcast._state import State, load_state, save_state
from stackcast._validation import InputError, real_matrix, shown, whole_number
from stackcast.calibration import _bankroll
from stackcast.calibration._bankroll import Bank, Bankroll, new_bankroll, with_bins
from stackcast.calibration._recalibration_kernel import (
    EXPERTS,
    YES_NO_EXPERTS,
    Maps,
    new_maps,
    predict_rounds,
    row_width,
    run_rounds,
    settle_rounds,
)
from stackcast.calibration.errors import decision_bins
from stackcast.calibration.rates import SecondOrderRate
from stackcast.calibration.tables import array_of, column_names, column_of, read_forecasts

if TYPE_CHECKING:
    import os
    from collections.abc import Hashable, Sequence

    import numpy.typing as npt

    from stackcast._validation import FloatArray

    IntArray = npt.NDArray[np.int64]

_KIND = "recalibrator"

#: The prior: of the bets on bias (half of it for groups, if there are any), of the Brier bets among
#: the rest, and of the original among the maps.
BETS, BRIER, ORIGINAL = 0.5, 0.25, 0.4

#: The banks of the forecaster, and one that forgets within tens of rounds: base rates can move.
BANKS = (
    _bankroll.BANKS[0],
    Bank(returned=0.01, prior=0.2, sizes=4),
    Bank(returned=0.1, prior=0.2, sizes=2),
)

#: Rows of probabilities that miss 1 by more than this are refused, unless they are normalised.
_SUM = 1e-6


class Odds(NamedTuple):
    """The forecasts that may be printed, and with which chances: one, or the sides of a draw."""

    forecasts: FloatArray
    chances: FloatArray


@dataclass(frozen=True, eq=False)
class Recalibration:
    """Corrected forecasts, the decisions taken from them, and what they were made of.

    Attributes
    ----------
    forecasts, originals : array
        T probabilities of a yes/no event, or T×k.
    decisions : array of int
        The decision taken from each corrected forecast.
    outcomes : array
        What happened: 0 … 1 for a yes/no event, else labels 0 … k − 1.
    classes : tuple
        The names of k outcomes; empty for a yes/no event.
    """

    forecasts: FloatArray
    decisions: IntArray
    originals: FloatArray
    outcomes: Any
    classes: tuple[Any, ...] = ()

    @property
    def mean_shift(self) -> float:
        """The mean of |corrected − original|."""
        return float(np.abs(self.forecasts - self.originals).mean())

    @property
    def log_losses(self) -> tuple[float, float]:
        """The mean log loss of the original (read within 10⁻⁶ of 0 and 1) and of the corrected."""
        before, after = (self._log_loss(p) for p in (self.originals, self.forecasts))
        return before, after

    @property
    def brier_scores(self) -> tuple[float, float]:
        """The mean squared error of the original and of the corrected; k outcomes are summed."""
        before, after = (self._brier(p) for p in (self.originals, self.forecasts))
        return before, after

    @property
    def added_loss(self) -> float:
        """How much the Brier score grew by the correction; below 0 if it fell."""
        before, after = self.brier_scores
        return after - before

    def _log_loss(self, p: FloatArray) -> float:
        c = np.clip(p, 1e-6, 1 - 1e-6)
        if p.ndim == 1:
            y = self.outcomes
            return float(-(y * np.log(c) + (1 - y) * np.log(1 - c)).mean())
        c = c / c.sum(axis=1, keepdims=True)
        return float(-np.log(c[np.arange(len(c)), self.outcomes]).mean())

    def _brier(self, p: FloatArray) -> float:
        if p.ndim == 1:
            return float(((p - self.outcomes) ** 2).mean())
        happened = np.eye(p.shape[1])[self.outcomes]
        return float(((p - happened) ** 2).sum(axis=1).mean())


def recalibrate(
    forecasts: Any,
    outcomes: Any = None,
    thresholds: Any = None,
    *,
    loss: Any = None,
    utility: Any = None,
    groups: Any = None,
    classes: Any = None,
    delay: int = 0,
    normalise: bool = False,
    seed: int = 0,
) -> Recalibration:
    """Correct a record of probabilities, each from the rounds before it alone.

    Parameters
    ----------
    forecasts : array_like or table
        The original probabilities in order of time: T of a yes/no event, or T×k. A table with
        column names (pandas, polars, NumPy) names the classes. One that holds the outcomes too, or
        a file, is read as :func:`~stackcast.calibration.read_forecasts` does.
    outcomes : array_like, optional
        What happened. Yes/no: 1 or 0, or a number between. Otherwise labels 0 … k − 1, names of
        classes, or rows with a single one. None: in the columns of ``forecasts``.
    thresholds, loss, utility, normalise, seed
        As for :class:`Recalibrator`.
    groups : array_like, optional
        T labels, or T×a of them, known before the outcomes; or columns of the table by name.
    classes : list, optional
        The names of k outcomes, in the order of the columns.
    delay : int
        How many later forecasts are made before an outcome is known.

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

    Three outcomes, and what each of two decisions loses in each of them:

    >>> chance = rng.dirichlet([1, 1, 1], 4000)
    >>> sky = [rng.choice(["sun", "rain", "snow"], p=p) for p in chance]
    >>> result = recalibrate(
    ...     chance**2 / (chance**2).sum(axis=1, keepdims=True),  # overconfident
    ...     sky,
    ...     classes=["sun", "rain", "snow"],
    ...     loss=[[0, 2, 3], [1, 1, 1]],
    ... )
    >>> before, after = result.log_losses
    >>> after < before - 0.05
    True
    """
    if outcomes is None:
        table = read_forecasts(forecasts)
        if isinstance(groups, str) or (
            isinstance(groups, list) and set(map(type, groups)) == {str}
        ):
            columns = [groups] if isinstance(groups, str) else groups
            groups = np.array([column_of(forecasts, name) for name in columns], dtype=object).T
        forecasts, outcomes = table.forecasts, table.outcomes
        classes = table.classes if classes is None else classes
        if outcomes.ndim == 1 and table.classes:
            outcomes = outcomes.astype(np.int64)
    names = column_names(forecasts)
    p = probabilities("forecasts", forecasts)
    if p.ndim == 2 and p.shape[1] == 1:
        p = p[:, 0]
    if p.ndim == 2 and classes is None:
        classes = _classes(names, outcomes, p.shape[1])
    count = 0 if groups is None else _labels_of_groups(groups, len(p), None).shape[1]
    corrector = Recalibrator(
        thresholds,
        loss=loss,
        utility=utility,
        classes=None if p.ndim == 1 else classes,
        groups=count,
        normalise=normalise,
        seed=seed,
    )
    return corrector.run(p, outcomes, groups=groups, delay=delay)


class Recalibrator:
    """Corrects a model's probabilities: ``predict`` before, ``observe`` after.

    Parameters
    ----------
    thresholds : float or increasing floats, optional
        Decisions about a yes/no event: a forecast at or above a threshold is on its upper side. ½
        by default.
    loss, utility : table, optional
        Decisions instead of thresholds: a row for each decision, a column for each outcome (no,
        yes for a yes/no event). The decision of least expected loss, or of most expected utility,
        is the one that the forecasts are calibrated for; by default that for the likeliest outcome.
    classes : int or list, optional
        How many outcomes there are, or their names; a yes/no event by default.
    groups : int
        How many labels of groups come with each forecast (carrier, region, ward …). The b-th group
        that appears has the prior 1/(b(b + 1)); a round costs as much as its own groups.
    deadline : int, optional
        A forecast without an outcome is forgotten after so many later ones; never by default.
    normalise : bool
        Scale rows of probabilities to sum to 1 instead of refusing them.
    seed : int
        For forecasts that are drawn where decisions meet.

    Examples
    --------
    >>> corrector = Recalibrator(thresholds=0.3)
    >>> for day in range(800):
    ...     p = corrector.predict(0.9, key=day)  # the model says 0.9 every day
    ...     corrector.observe(day, day % 4 == 0)  # and it rains every fourth
    >>> 0.2 < corrector.predict(0.9) < 0.3  # asked without a key, nothing waits for an outcome
    True
    >>> corrector.predict([0.9, 0.1]).shape
    (2,)
    """

    def __init__(
        self,
        thresholds: Any = None,
        *,
        loss: Any = None,
        utility: Any = None,
        classes: int | Sequence[Any] | None = None,
        groups: int = 0,
        deadline: int | None = None,
        normalise: bool = False,
        seed: int = 0,
    ) -> None:
        self.classes = _named_classes(classes)
        self._given = {
            "thresholds": None if thresholds is None else np.asarray(thresholds).tolist(),
            "loss": None if loss is None else np.asarray(loss).tolist(),
            "utility": None if utility is None else np.asarray(utility).tolist(),
            "classes": list(self.classes) or None,
            "groups": groups,
            "deadline": deadline,
            "normalise": normalise,
            "seed": seed,
        }
        self._m = len(self.classes) or 1
        self.groups = whole_number("groups", groups)
        self.deadline = None if deadline is None else whole_number("deadline", deadline, at_least=1)
        self.normalise = bool(normalise)
        self.seed = whole_number("seed", seed)
        table = _loss_table(loss, utility, self._m)
        if table is not None and thresholds is not None:
            raise InputError("thresholds", "thresholds, or loss or utility, not both", "both")
        if self._m > 1 and thresholds is not None:
            raise InputError("thresholds", "loss or utility for several outcomes", "thresholds")
        # What kernels read: thresholds in one row, or the table of losses; and the user's decision
        # for each of the kernel's.
        if self._m > 1:
            self._table = 1.0 - np.eye(self._m) if table is None else table
            self._actions = np.arange(len(self._table))
        elif table is not None:
            edges, self._actions = _envelope(table)
            self._table = edges[None]
        else:
            edges = np.atleast_1d(0.5 if thresholds is None else thresholds)
            decision_bins([0.5], edges)  # says in one sentence what is wrong with thresholds
            self._table = np.array(edges, dtype=np.float64)[None]
            self._actions = np.arange(self._table.size + 1)
        self._n = len(self._actions)
        bins = 8 if self.groups else 1
        each = BETS / (2 if self.groups else 1)
        shares = np.zeros(bins * self._n + 1)
        shares[: self._n], shares[-1] = each / self._n, BETS - each
        self._bankroll = new_bankroll(shares, np.ones(self._m), expert_priors(self._m), BANKS)
        self._maps = new_maps(self._m, self._n)
        self._clock = np.zeros(4, dtype=np.int64)  # outcomes, forecasts kept, draws, misses
        self._key = np.uint64(stream(self.seed, "recalibrator").integers(2**63))
        self._groups: dict[tuple[int, Any], int] = {}
        self._pending: dict[Any, tuple[int, FloatArray]] = {}
        self._width = row_width(self._m, self.groups)
        self._at = YES_NO_EXPERTS + 3 if self._m == 1 else (EXPERTS + 1) * self._m
        sides = 2 if self._m == 1 else self._m + 1
        self._points, self._chances = np.empty((sides, self._m)), np.empty(sides)
        self._one, self._nobody = np.empty((1, 1)), np.zeros((1, 0), np.int64)
        self._gather()

    @property
    def rounds(self) -> int:
        """How many outcomes were observed."""
        return int(self._clock[0])

    @property
    def pending(self) -> list[Hashable]:
        """The keys of the forecasts that wait for their outcome, the oldest first."""
        return list(self._pending)

    @property
    def growth(self) -> float:
        """G from the first round on: the log of what the bankroll has won in all."""
        return float(self._bankroll.growth[-1])

    @property
    def draws(self) -> int:
        """How often ``run`` drew a forecast because decisions met."""
        return int(self._clock[2])

    @property
    def misses(self) -> int:
        """How often an outcome could earn more than ε_t; G counts what it earned."""
        return int(self._clock[3])

    @property
    def rate(self) -> SecondOrderRate:
        """The second-order rate of each decision's calibration error, groups aside."""
        return SecondOrderRate(self._n, self._m, share=BETS / (2 if self.groups else 1))

    def price(self, original: bool = True) -> float:
        """Return ln(1/prior) + 1: what the original (or any other map) may gain on p in log loss.

        It is R of the theorem for an interval from the first round on, without G.
        """
        priors = expert_priors(self._m)
        return float(1 - np.log(BANKS[0].prior * priors[0 if original else 1]))

    def predict(self, forecasts: Any, groups: Any = None, *, key: Any = None) -> Any:
        """Return the corrected forecast of one original, or of each in an array.

        Without ``key`` nothing is remembered: ask at any time, as often as you like. With a key (a
        number or a text; for several forecasts a list of them) the forecast counts: it is kept
        until :meth:`observe` brings its outcome, and keeps its groups.
        """
        if self._m == 1 and type(forecasts) is float and groups is None and not self.groups:
            if not 0.0 <= forecasts <= 1.0:
                raise InputError("forecasts", "a probability", shown(forecasts))
            self._one[0, 0] = forecasts
            rows = np.empty((1, self._width))
            if key is None:
                self._predict(self._one, self._nobody, False, rows)
            else:
                self._refuse_pending(key)
                self._predict(self._one, self._nobody, True, rows)
                self._keep(key, rows[0])
            return rows.item(self._at)
        q = self._originals(forecasts)
        single = q.ndim == (self._m > 1)
        table = q.reshape(1 if single else len(q), self._m)
        rows = np.empty((len(table), self._width))
        keys = [] if key is None else [key] if single else _keys(key, len(table))
        for one in keys:
            self._refuse_pending(one)
        labels = self._group_numbers(groups, len(table), single, keep=key is not None)
        self._predict(table, labels, key is not None, rows)
        for one, row in zip(keys, rows, strict=False):
            self._keep(one, row)
        made = rows[:, self._at : self._at + self._m].copy()
        if self._m == 1:
            return float(made[0, 0]) if single else made[:, 0]
        return made[0] if single else made

    def odds(self, forecast: Any, groups: Any = None) -> Odds:
        """Return what may be printed for one original, with which chances; nothing is remembered.

        Examples
        --------
        >>> odds = Recalibrator().odds(0.7)
        >>> odds.forecasts.round(2).tolist(), odds.chances.tolist()
        ([0.66], [1.0])
        """
        q = self._originals(forecast)
        if q.ndim != (self._m > 1):
            raise InputError("forecast", "one forecast", f"{len(q)}")
        labels = self._group_numbers(groups, 1, True, keep=False)
        count = self._predict(q.reshape(1, self._m), labels, False, np.empty((1, self._width)))
        points = self._points[:count].copy()
        return Odds(points[:, 0] if self._m == 1 else points, self._chances[:count].copy())

    def observe(self, key: Any, outcome: Any) -> None:
        """Learn the outcome of a forecast that was made with this key, late or at once."""
        try:
            row = self._pending[key][1]
        except (KeyError, TypeError):
            expected = "the key of a forecast that waits for its outcome"
            raise InputError("key", expected, shown(key)) from None
        if self._m == 1 and type(outcome) is int and (outcome == 0 or outcome == 1):
            y = float(outcome)
        else:
            y = float(self._outcomes([outcome], 1)[0])
        del self._pending[key]
        settle_rounds(*self._arrays, self.groups, row, y)

    def decide(self, forecasts: Any) -> Any:
        """Return the decision taken from a forecast, or from each in an array."""
        p = probabilities("forecasts", forecasts)
        if self._m == 1:
            made = self._actions[np.searchsorted(self._table[0], p.reshape(-1), side="right")]
        else:  # summed in the order of the kernel, to the last bit
            losses = sum(
                x[:, None] * row for x, row in zip(np.atleast_2d(p).T, self._table.T, strict=True)
            )
            made = np.argmin(losses, axis=1)
        return int(made[0]) if p.ndim == (self._m > 1) else made

    def run(
        self, forecasts: Any, outcomes: Any, groups: Any = None, delay: int = 0
    ) -> Recalibration:
        """Predict and observe many rounds, exactly as one by one but in compiled code.

        Each outcome is observed ``delay`` forecasts later, the last ones at the end.
        """
        q = self._originals(forecasts)
        if q.ndim == (self._m > 1):
            raise InputError("forecasts", "one forecast a round", "a single one")
        table, T = np.array(q.reshape(len(q), self._m)), len(q)
        y = self._outcomes(outcomes, T)
        late = whole_number("delay", delay)
        labels = self._group_numbers(groups, T, False, keep=True)
        made, decisions = np.empty((T, self._m)), np.empty(T, dtype=np.int64)
        rows = np.empty((min(late, T) + 1, self._width))
        sides = self._points, self._chances
        run_rounds(*self._arrays, self._key, table, y, labels, rows, *sides, made, decisions)
        happened = y if self._m == 1 else y.astype(np.int64)
        corrected, table = (made[:, 0], table[:, 0]) if self._m == 1 else (made, table)
        arrays = (corrected, self._actions[decisions], table, happened)
        for array in arrays:
            array.flags.writeable = False
        return Recalibration(*arrays, classes=self.classes)

    def state(self) -> State:
        """Return everything that the recalibrator remembers, for :meth:`restore`."""
        rows = [row for _, row in self._pending.values()]
        return {
            "settings": dict(self._given),
            "bankroll": {name: array.copy() for name, array in self._bankroll._asdict().items()},
            "maps": {name: array.copy() for name, array in self._maps._asdict().items()},
            "clock": self._clock.copy(),
            "groups": [[attribute, label] for attribute, label in self._groups],
            "keys": list(self._pending),
            "tickets": [ticket for ticket, _ in self._pending.values()],
            "rows": np.array(rows).reshape(len(rows), self._width),
        }

    def restore(self, state: State) -> None:
        """Continue from ``state`` as if nothing had happened since."""
        expected = "the state of a recalibrator"
        try:
            if state["settings"] != dict(self._given):
                raise InputError("state", f"{expected} with the same settings", "others")
            bankroll = Bankroll(**{k: np.array(v) for k, v in state["bankroll"].items()})
            maps = Maps(**{k: np.array(v) for k, v in state["maps"].items()})
            clock, rows = np.array(state["clock"]), np.array(state["rows"])
            groups = {(int(a), label): i + 1 for i, (a, label) in enumerate(state["groups"])}
            pending = zip(state["keys"], zip(state["tickets"], rows, strict=True), strict=True)
            kept = {key: (int(ticket), row) for key, (ticket, row) in pending}
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError("state", expected, f"{error}") from None
        own = with_bins(self._bankroll, max(len(self._bankroll.wealth), len(bankroll.wealth)))
        parts = zip((*own, *self._maps), (*bankroll, *maps), strict=True)
        same = rows.shape[1:] == (self._width,) and clock.shape == (4,)
        if not same or any((a.shape, a.dtype) != (b.shape, b.dtype) for a, b in parts):
            raise InputError("state", f"{expected} of this size", "another size")
        self._bankroll, self._maps, self._clock = bankroll, maps, clock
        self._groups, self._pending = groups, kept
        self._gather()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file (see ``docs/reference/state-files.md``)."""
        save_state(path, _KIND, self.state())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Recalibrator:
        """Return the recalibrator that was saved at ``path``."""
        state = load_state(path, _KIND)
        try:
            return cls._restored(state)
        except InputError as error:
            raise error.inside(str(path)) from None
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise InputError(str(path), "the state of a recalibrator", f"{error}") from None

    @classmethod
    def _restored(cls, state: State) -> Recalibrator:
        try:
            corrector = cls(**state["settings"])
        except (IndexError, KeyError, TypeError) as error:
            raise InputError("state", "the state of a recalibrator", f"{error}") from None
        corrector.restore(state)
        return corrector

    def __getstate__(self) -> State:
        """Return the state: a copy never shares arrays, nor maps those of a file."""
        return self.state()

    def __setstate__(self, state: State) -> None:
        """Become the recalibrator whose state this is."""
        self.__dict__.update(self._restored(state).__dict__)

    def _gather(self) -> None:
        """Put together what every kernel takes first."""
        self._arrays = (*self._bankroll, *self._maps, self._table, self._n, self._clock)

    def _predict(self, table: FloatArray, groups: IntArray, keep: bool, rows: FloatArray) -> int:
        return int(
            predict_rounds(
                *self._arrays, self._key, keep, table, groups, rows, self._points, self._chances
            )
        )

    def _refuse_pending(self, key: Any) -> None:
        if not isinstance(key, str | int | float):
            raise InputError("key", "a number or a text", shown(key))
        if key in self._pending:
            raise InputError("key", "one whose forecast does not wait for its outcome", shown(key))

    def _keep(self, key: Any, row: FloatArray) -> None:
        ticket = int(self._clock[1])
        self._pending[key] = (ticket, row)
        while self.deadline is not None:
            oldest = next(iter(self._pending))
            if self._pending[oldest][0] + self.deadline >= ticket:
                break
            del self._pending[oldest]

    def _originals(self, value: Any) -> FloatArray:
        """Return checked probabilities, an array that kernels may read."""
        p = probabilities("forecasts", value)
        if self._m == 1:
            if p.ndim == 2 and p.shape[1] == 1:
                p = p[:, 0].copy()
            if p.ndim > 1:
                raise InputError("forecasts", "one column of probabilities", f"{p.shape[1]}")
            return p
        if p.ndim == 0 or p.ndim > 2 or p.shape[-1] != self._m:
            found = f"{p.shape[-1]}" if p.ndim else "one number"
            raise InputError("forecasts", f"{self._m} probabilities, one a class", found)
        sums = np.atleast_1d(p.sum(axis=-1))
        off = np.abs(sums - 1) > _SUM
        if self.normalise:
            off = sums <= 0
        if off.any():
            where = int(np.argmax(off))
            field = f"forecasts, round {where + 1}" if p.ndim == 2 else "forecasts"
            expected = "probabilities that sum to 1 (normalise=True scales them)"
            raise InputError(field, expected, f"a sum of {sums[where]:.9g}")
        return np.asarray(p / p.sum(axis=-1, keepdims=True))

    def _outcomes(self, value: Any, rounds: int) -> FloatArray:
        """Return checked outcomes: numbers from 0 to 1, or labels of classes."""
        y = array_of("outcomes", value)
        if len(y) != rounds:
            raise InputError("outcomes", f"{rounds} rounds as in forecasts", f"{len(y)}")
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        if y.ndim == 2 and self._m > 1:
            right = y.shape[1] == self._m and y.dtype.kind in "fiub"
            if not right or ((y != 0) & (y != 1)).any() or (y.sum(axis=1) != 1).any():
                expected = f"rows of {self._m} with a single one, or labels"
                raise InputError("outcomes", expected, shown(y[0].tolist()))
            return np.asarray(np.argmax(y, axis=1), dtype=np.float64)
        if y.ndim != 1:
            raise InputError("outcomes", "one column", f"{y.ndim} axes")
        if self._m == 1:
            if y.dtype.kind in "fiub":
                z = y.astype(np.float64)
                wrong = ~((z >= 0) & (z <= 1))
            else:
                z, wrong = np.zeros(rounds), np.ones(rounds, dtype=bool)
            expected = "1 or 0, or a number between"
        else:
            numbers = {name: i for i, name in reversed(list(enumerate(self.classes)))}
            if y.dtype.kind in "fiub":
                numbers = {i: i for i in range(self._m)} | numbers
            z = np.array([float(numbers.get(one, -1)) for one in y.tolist()])
            wrong = z < 0
            expected = "one of " + ", ".join(shown(name) for name in self.classes[:12])
        if wrong.any():
            where = int(np.argmax(wrong))
            field = f"outcomes, round {where + 1}" if rounds > 1 else "outcome"
            raise InputError(field, expected, shown(y[where]))
        return z

    def _group_numbers(self, groups: Any, rounds: int, single: bool, keep: bool) -> IntArray:
        """Return the number of each group, T×a: 0 is everyone, −1 a group that is not known."""
        if self.groups == 0 and groups is None:
            return np.zeros((rounds, 0), dtype=np.int64)
        if single and groups is not None:
            several = isinstance(groups, list | tuple | np.ndarray)
            groups = [groups] if several else [[groups]]
        labels = _labels_of_groups(groups, rounds, self.groups)
        numbers = np.empty(labels.shape, dtype=np.int64)
        rows, known = labels.tolist(), self._groups
        for label in (label for row in rows for label in row):
            if not isinstance(label, str | int | float) or label != label:
                raise InputError("groups", "numbers or texts", shown(label))
        for t, row in enumerate(rows):
            for a, label in enumerate(row):
                if keep:
                    numbers[t, a] = known.setdefault((a, label), len(known) + 1)
                else:
                    numbers[t, a] = known.get((a, label), -1)
        room = (len(known) + 1) * self._n
        if keep and room > len(self._bankroll.wealth):
            self._bankroll = with_bins(self._bankroll, 2 * room)
            self._gather()
        return numbers


def expert_priors(outcomes: int) -> FloatArray:
    """Return the priors of the maps' bets: in log loss, then in Brier score; the original first."""
    count = YES_NO_EXPERTS if outcomes == 1 else EXPERTS
    each = np.full(count, (1 - ORIGINAL) / (count - 1))
    each[0] = ORIGINAL
    return (1 - BETS) * np.concatenate([(1 - BRIER) * each, BRIER * each])


def probabilities(field: str, value: Any) -> FloatArray:
    """Return numbers from 0 to 1 as a new array, whatever their shape."""
    array = array_of(field, value)
    if array.dtype.kind not in "fiub":
        raise InputError(field, "probabilities", shown(value))
    if array.size == 0:
        raise InputError(field, "at least one round", "none")
    p = np.array(array, dtype=np.float64, order="C")
    wrong = ~((p >= 0) & (p <= 1))
    if wrong.any():
        at = np.unravel_index(int(np.argmax(wrong)), p.shape)
        where = f"{field}, round {int(at[0]) + 1}" if p.ndim else field
        raise InputError(where, "a probability", shown(p[at]))
    return p


def _named_classes(classes: Any) -> tuple[Any, ...]:
    if classes is None:
        return ()
    if isinstance(classes, int | np.integer):
        return tuple(range(whole_number("classes", classes, at_least=2)))
    names = tuple(np.asarray(classes).tolist())
    if len(set(names)) < max(len(names), 2):
        raise InputError("classes", "two or more different names", shown(classes))
    return names


def _classes(names: list[str], outcomes: Any, count: int) -> Any:
    """Return the classes of ``count`` columns: their names, or sorted outcomes, or how many."""
    y = array_of("outcomes", outcomes)
    if y.ndim == 2 or y.dtype.kind in "fiub":
        return count
    known = names or sorted({str(one) for one in y.tolist()})
    if len(known) != count:
        raise InputError("classes", f"the names of the {count} columns", shown(known))
    return known


def _loss_table(loss: Any, utility: Any, outcomes: int) -> FloatArray | None:
    if loss is None and utility is None:
        return None
    if loss is not None and utility is not None:
        raise InputError("utility", "loss or utility, not both", "both")
    field = "loss" if utility is None else "utility"
    table = real_matrix(field, loss if utility is None else utility)
    columns = max(outcomes, 2)
    if table.shape[1] != columns:
        raise InputError(field, f"a column for each of {columns} outcomes", f"{table.shape[1]}")
    return np.array(table if utility is None else -table)


def _envelope(table: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the thresholds of a yes/no event's loss table, and the decision in each interval."""
    start, slope = table[:, 0], table[:, 1] - table[:, 0]
    crossings = {0.0, 1.0}
    for a in range(len(table)):
        for b in range(a):
            if slope[a] != slope[b]:
                p = float((start[b] - start[a]) / (slope[a] - slope[b]))
                crossings |= {p} if 0 < p < 1 else set()
    points = np.array(sorted(crossings))
    best = np.argmin(start + np.outer((points[:-1] + points[1:]) / 2, slope), axis=1)
    kept = np.flatnonzero(np.diff(best)) + 1
    return points[kept], best[np.concatenate([[0], kept])]


def _keys(key: Any, count: int) -> list[Any]:
    keys = np.asarray(key).tolist() if not isinstance(key, list | tuple | range) else list(key)
    if not isinstance(keys, list) or len(keys) != count or len(set(keys)) < count:
        raise InputError("key", f"{count} different keys, one for each forecast", shown(key))
    return keys


def _labels_of_groups(groups: Any, rounds: int, count: int | None) -> npt.NDArray[Any]:
    names = column_names(groups)
    array = np.asarray(groups, dtype=object)
    if names:
        array = np.array([np.asarray(groups[name], dtype=object) for name in names]).T
    if array.ndim == 1 and count in (None, 1):
        array = array[:, None]
    if array.ndim != 2 or len(array) != rounds or (count is not None and array.shape[1] != count):
        labels = "labels" if count is None else f"{count} label" + "s" * (count != 1)
        raise InputError("groups", f"{labels} for each of {rounds} forecasts", shown(groups))
    return array
