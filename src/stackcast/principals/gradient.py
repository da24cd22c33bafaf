"""Principals of continuous games: Algorithm 4 to the letter, and one that uses what it knows.

:class:`LazyGDwoG` is the paper's lazy gradient descent without a gradient. Epochs are counted from
1 (the step sizes divide by the epoch's number), and the guarantee has the constants that the proof
yields: see :func:`lazy_guarantee` and ``docs/tutorials/continuous.md``.

:class:`ResponseGradient` uses what a principal knows. The gradient of C(x) = U_P(x, BR(x)) is
∇_x U_P + Jᵀ ∇_y U_P with J the derivative of the best response. U_P is the principal's own, and a
response is a vector that is seen: m + 1 epochs give J by differences of mean responses, where a
one-point estimate of C needs thousands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._random import stream
from stackcast._state import generator_state, restored_generator
from stackcast._validation import InputError, real_number, shown, whole_number
from stackcast.games import ContinuousPrincipalView
from stackcast.protocol import UNTIL_THE_END, Block, Principal, Recommendation
from stackcast.solvers import maximise

if TYPE_CHECKING:
    from stackcast._state import State
    from stackcast._validation import AnyArray, FloatArray, Table
    from stackcast.games import ContinuousGame


class LazyGDwoG(Principal):
    """Holds x + δS for an epoch, S a random direction, and climbs by what the epoch earned.

    With m coordinates and Φ epochs: δ = δ₀·√m·Φ^(−1/4), γ_φ = γ₀·m^(−1/2)·φ^(−3/4), and
    x ← Proj(x + γ_φ·(m/δ)·S·U_P(x + δS, ȳ)) onto the points δ inside the domain, from x = 0. After
    the last epoch it commits to x.

    Parameters
    ----------
    view : ContinuousPrincipalView
        The principal's view of the game.
    epochs : int
        Φ.
    epoch_rounds : int
        M, the rounds of an epoch.
    step, exploration : float
        γ₀ and δ₀; the exploration δ must be less than the domain's inner radius.
    seed : int
        The seed of the directions.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.load_game("strategic-score")
    >>> principal = LazyGDwoG(game.principal_view, epochs=2000, seed=1)
    >>> t = sc.play(principal, sc.agents.ContinuousBestResponse(game.agent_view), 2000)
    >>> bool(abs(principal.result.strategy - sc.solve(game).strategy).max() < 0.1)
    True
    """

    plays = ("continuous",)

    @classmethod
    def suited(cls, view: Any, horizon: int) -> Table:  # noqa: ARG003
        """Return epochs of at most 200 rounds, at least 50 of them where the horizon allows."""
        rounds = max(1, min(200, horizon // 50))
        return {"epoch_rounds": rounds, "epochs": max(1, horizon // rounds)}

    def __init__(
        self,
        view: ContinuousPrincipalView,
        epochs: int,
        *,
        epoch_rounds: int = 1,
        step: float = 0.15,
        exploration: float = 0.6,
        seed: int = 0,
    ) -> None:
        super().__init__(view, seed=seed)  # type: ignore[arg-type]
        self._view = checked_view(view)
        self._epochs = whole_number("epochs", epochs, at_least=1)
        self._epoch_rounds = whole_number("epoch_rounds", epoch_rounds, at_least=1)
        self._step = real_number("step", step, above=0.0)
        self._exploration = real_number("exploration", exploration, above=0.0)
        m = view.space.dimension
        self._delta = exploration * m**0.5 * epochs**-0.25
        if self._delta >= view.space.inner_radius:
            least = (exploration * m**0.5 / view.space.inner_radius) ** 4
            raise InputError("epochs", f"more than {least:.6g} for this exploration", f"{epochs}")
        self._directions = stream(seed, "principal", "directions")
        self._epoch = 1
        self._x = np.zeros(m)
        self._direction = np.zeros(m)
        self._last = np.full(view.response_dimension + 1, np.nan)

    @property
    def settings(self) -> Table:
        """The name, the step sizes, the epochs and the seed."""
        return {
            "name": "LazyGDwoG",
            "epochs": self._epochs,
            "epoch_rounds": self._epoch_rounds,
            "step": self._step,
            "exploration": self._exploration,
            "seed": self.seed,
        }

    @property
    def radius(self) -> float:
        """δ, the distance at which it explores."""
        return self._delta

    @property
    def result(self) -> Recommendation:
        """The point that it has climbed to; mean response and utility are the last epoch's."""
        response = None if self._epoch == 1 else self._last[1:].copy()
        return Recommendation(self._x.copy(), response, float(self._last[0]))

    def commit(self) -> Block:
        """Return the next epoch."""
        if self._epoch > self._epochs:
            return Block(self._x.copy(), UNTIL_THE_END, "commit")
        raw = self._directions.normal(size=len(self._x))
        self._direction = raw / np.sqrt(raw @ raw)
        return Block(self._x + self._delta * self._direction, self._epoch_rounds, "explore")

    def observe(self, responses: AnyArray) -> None:
        """Climb along the direction by what the epoch's mean response earns."""
        mean = np.asarray(responses, dtype=np.float64).mean(axis=0)
        if self._epoch > self._epochs:
            earned = self._view.utilities(self._x, mean[None])[0]
        else:
            m = len(self._x)
            played = self._x + self._delta * self._direction
            earned = self._view.utilities(played, mean[None])[0]
            gamma = self._step * m**-0.5 * self._epoch**-0.75
            climbed = self._x + gamma * (m / self._delta) * earned * self._direction
            self._x = self._view.space.project(climbed, self._delta)
            self._epoch += 1
        self._last = np.append(earned, mean)

    def state(self) -> State:
        """Return where it stands."""
        return {
            "epoch": self._epoch,
            "x": self._x.copy(),
            "last": self._last.copy(),
            "directions": generator_state(self._directions),
        }

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""
        self._epoch, self._x = state["epoch"], state["x"].copy()
        self._last = state["last"].copy()
        self._directions = restored_generator(state["directions"])


@dataclass(frozen=True)
class LazyGuarantee:
    """What the theorem guarantees: the mean of V* − U_P over all rounds is at most ``total``.

    Attributes
    ----------
    inset : float
        L_U·δ·R/r: the best point may lie nearer than δ to the boundary.
    distance : float
        D_P²/(2γ₀)·√m·Φ^(−1/4).
    variance : float
        2γ₀W_P²/δ₀²·√m·Φ^(−1/4).
    smoothing : float
        2·L_U·δ: what is climbed is the mean of C over a ball.
    response : float
        (m/δ)·L₂·D_P·ε: responses off by ε move every step.
    utility : float
        L₂·ε: the same responses are what is earned.
    """

    inset: float
    distance: float
    variance: float
    smoothing: float
    response: float
    utility: float

    @property
    def total(self) -> float:
        """The sum of all terms."""
        return (
            self.inset
            + self.distance
            + self.variance
            + self.smoothing
            + self.response
            + self.utility
        )


def lazy_guarantee(
    game: ContinuousGame,
    epochs: int,
    *,
    step: float = 0.15,
    exploration: float = 0.6,
    response_error: float = 0.0,
) -> LazyGuarantee:
    """Return the guarantee of :class:`LazyGDwoG` in expectation, term by term.

    Parameters
    ----------
    game : ContinuousGame
        Its constants are used; with estimated ones the guarantee is an estimate.
    epochs, step, exploration
        Φ, γ₀ and δ₀, as for the principal.
    response_error : float
        ε: in every epoch the responses are off from BR(h) by this at most, on average.

    Examples
    --------
    >>> import stackcast as sc
    >>> round(lazy_guarantee(sc.load_game("strategic-score"), 10**8).total, 1)
    0.3
    """
    space, constants = game.space, game.constants
    m = space.dimension
    delta = exploration * m**0.5 * epochs**-0.25
    falling = m**0.5 * epochs**-0.25
    return LazyGuarantee(
        inset=constants.lipschitz_value * delta * space.outer_radius / space.inner_radius,
        distance=space.diameter**2 / (2 * step) * falling,
        variance=2 * step * (constants.utility_bound / exploration) ** 2 * falling,
        smoothing=2 * constants.lipschitz_value * delta,
        response=m / delta * constants.lipschitz_response * space.diameter * response_error,
        utility=constants.lipschitz_response * response_error,
    )


def checked_view(view: object) -> ContinuousPrincipalView:
    """Return the view if it is a principal's view of a continuous game."""
    if not isinstance(view, ContinuousPrincipalView):
        raise InputError("view", "the principal's view of a continuous game", shown(view))
    return view


def mean_of(responses: AnyArray) -> FloatArray:
    """Return the mean response of the second half of a block, when forecasts have settled."""
    rows = np.asarray(responses, dtype=np.float64)
    mean: FloatArray = rows[len(rows) // 2 :].mean(axis=0)
    return mean


_BASE, _DIFFERENCE, _STEP, _COMMIT = range(4)
_PHASES = ("explore", "explore", "step", "commit")
#: J is taken for stale when it misses a response by more than this part of what it told.
_MISS = 0.02


class ResponseGradient(Principal):
    """Learns the response map near its commitment, and commits to what that makes best.

    It plays a point and a step along each axis, an epoch each; the differences of the mean
    responses are J. It then moves to the maximum of U_P(x′, ȳ + J·(x′ − x)), within a trust radius
    that grows with success and shrinks with failure, and corrects J by the response that it gets
    (Broyden's rule). Where no move promises more it commits, and keeps averaging the responses.
    When moves fail at the scale of the differences, or nothing promises more but J has missed since
    it was measured, it takes differences again at half the scale, unless the responses are too
    noisy for that.

    Parameters
    ----------
    view : ContinuousPrincipalView
        The principal's view of the game.
    epoch_rounds : int
        The rounds of an epoch; the second half of them is averaged.
    difference : float, optional
        The first step of the differences, by default a fifth of the domain's inner radius.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.load_game("strategic-score")
    >>> principal = ResponseGradient(game.principal_view, epoch_rounds=1)
    >>> t = sc.play(principal, sc.agents.ContinuousBestResponse(game.agent_view), 6)
    >>> principal.result.strategy.round(6), sc.solve(game).strategy.round(6)
    (array([0.35, 0.15]), array([0.35, 0.15]))
    """

    plays = ("continuous",)

    @classmethod
    def suited(cls, view: Any, horizon: int) -> Table:  # noqa: ARG003
        """Return epochs of at most 200 rounds, at least 50 of them where the horizon allows."""
        rounds = max(1, min(200, horizon // 50))
        return {"epoch_rounds": rounds, "epochs": max(1, horizon // rounds)}

    def __init__(
        self,
        view: ContinuousPrincipalView,
        *,
        epoch_rounds: int = 500,
        difference: float | None = None,
    ) -> None:
        super().__init__(view)  # type: ignore[arg-type]
        self._view = checked_view(view)
        self._epoch_rounds = whole_number("epoch_rounds", epoch_rounds, at_least=1)
        inner = view.space.inner_radius
        self._first_difference = (
            0.2 * inner if difference is None else real_number("difference", difference, above=0.0)
        )
        if self._first_difference >= inner:
            found = f"{self._first_difference:g}"
            raise InputError("difference", f"less than the inner radius {inner:g}", found)
        m, k = view.space.dimension, view.response_dimension
        self._mode, self._axis = _BASE, 0
        self._difference, self._trust = self._first_difference, view.space.diameter
        self._x, self._candidate = np.zeros(m), np.zeros(m)
        self._mean, self._seen = np.full(k, np.nan), 0
        self._planned = 0  # rounds behind the mean when a step was last looked for
        self._jacobian = np.zeros((k, m))
        self._noise = 0.0
        self._stale = False  # whether J was measured elsewhere and has missed since

    @property
    def settings(self) -> Table:
        """The name, the rounds of an epoch and the first difference."""
        return {
            "name": "ResponseGradient",
            "epoch_rounds": self._epoch_rounds,
            "difference": self._first_difference,
        }

    @property
    def result(self) -> Recommendation:
        """The best point so far, with the mean response to it and what they earn."""
        if not self._seen:
            return Recommendation(self._x.copy(), None, float("nan"))
        return Recommendation(self._x.copy(), self._mean.copy(), self._earned())

    @property
    def gradient(self) -> FloatArray:
        """The estimate of ∇C at the commitment: ∇_x U_P + Jᵀ ∇_y U_P."""
        in_strategy, in_response = self._view.gradients(self._x, self._mean)
        return in_strategy + self._jacobian.T @ in_response

    def _earned(self) -> float:
        return float(self._view.utilities(self._x, self._mean[None])[0])

    def commit(self) -> Block:
        """Return the next epoch."""
        point = self._x
        if self._mode == _DIFFERENCE:
            point = self._x.copy()
            point[self._axis] += self._difference
        elif self._mode == _STEP:
            point = self._candidate
        return Block(point.copy(), self._epoch_rounds, _PHASES[self._mode])

    def observe(self, responses: AnyArray) -> None:
        """Learn from the mean response, and decide what to play next."""
        mean = mean_of(responses)
        if len(responses) >= 4:
            earlier = mean_of(np.asarray(responses)[: 3 * len(responses) // 4])
            self._noise = max(0.9 * self._noise, float(np.abs(mean - earlier).max()))
        if self._mode == _BASE:
            self._mean, self._seen = mean, len(responses)
            self._mode, self._axis = _DIFFERENCE, 0
        elif self._mode == _DIFFERENCE:
            self._jacobian[:, self._axis] = (mean - self._mean) / self._difference
            self._axis += 1
            if self._axis == len(self._x):
                self._stale = False
                self._plan()
        elif self._mode == _STEP:
            self._judge(mean, len(responses))
        else:
            total = self._seen + len(responses)
            self._mean = self._mean + (mean - self._mean) * (len(responses) / total)
            self._seen = total
            if total >= 2 * self._planned:
                self._plan()

    def _judge(self, mean: FloatArray, rounds: int) -> None:
        """Accept the candidate if it earns more; correct J by the response to it."""
        move = self._candidate - self._x
        length = float(np.sqrt(move @ move))
        before = self._earned()
        told = self._jacobian @ move
        miss = mean - self._mean - told
        if np.sqrt(miss @ miss) > _MISS * np.sqrt(told @ told) + 5 * self._noise:
            self._stale = True
        if length > 10 * self._noise:
            self._jacobian += np.outer(miss, move) / (length * length)
        if float(self._view.utilities(self._candidate, mean[None])[0]) > before:
            self._x, self._mean, self._seen = self._candidate, mean, rounds
            self._trust = min(max(self._trust, 2 * length), self._view.space.diameter)
        else:
            self._trust = 0.5 * length
            if self._trust < 0.5 * self._difference:
                self._look_closer()
                return
        self._plan()

    def _look_closer(self) -> None:
        """Take differences again at half the scale, or stay where the noise would drown them."""
        floor = max(1e-4 * self._view.space.inner_radius, 10 * self._noise)
        if 0.5 * self._difference < floor:
            self._trust, self._mode = 0.0, _COMMIT
            return
        self._difference *= 0.5
        self._trust = 2 * self._difference
        # From a point further inside, every difference stays in the domain.
        self._x = self._view.space.project(self._x, self._difference)
        self._mode = _BASE

    def _plan(self) -> None:
        """Step to the maximum of the learned model if it promises more, or commit."""
        x, mean, jacobian = self._x, self._mean, self._jacobian

        def response(at: FloatArray) -> FloatArray:
            result: FloatArray = mean + jacobian @ (at - x)
            return result

        def value(at: FloatArray) -> float:
            return float(self._view.utilities(at, response(at)[None])[0])

        def slope(at: FloatArray) -> FloatArray:
            in_strategy, in_response = self._view.gradients(at, response(at))
            return in_strategy + jacobian.T @ in_response

        self._mode, self._planned = _COMMIT, self._seen
        if self._trust <= 0.0:
            return
        here = value(x)
        best = maximise(self._view.space, value, slope, x, 1e-9 * (1.0 + abs(here)))
        move = best - x
        length = float(np.sqrt(move @ move))
        if length > self._trust:
            best = x + (self._trust / length) * move
        if value(best) - here > 1e-8 * (1.0 + abs(here)) and length > self._noise:
            self._candidate, self._mode = best, _STEP
        elif self._stale:
            self._look_closer()

    def state(self) -> State:
        """Return what it has learned, and what it does next."""
        return {
            "mode": self._mode,
            "axis": self._axis,
            "difference": self._difference,
            "trust": self._trust,
            "noise": self._noise,
            "stale": self._stale,
            "seen": self._seen,
            "planned": self._planned,
            "x": self._x.copy(),
            "candidate": self._candidate.copy(),
            "mean": self._mean.copy(),
            "jacobian": self._jacobian.copy(),
        }

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""
        self._mode, self._axis, self._seen = state["mode"], state["axis"], state["seen"]
        self._difference, self._trust = state["difference"], state["trust"]
        self._noise, self._planned = state["noise"], state["planned"]
        self._stale = state["stale"]
        self._x, self._candidate = state["x"].copy(), state["candidate"].copy()
        self._mean, self._jacobian = state["mean"].copy(), state["jacobian"].copy()
