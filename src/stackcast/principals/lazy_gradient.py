"""Lazy gradient descent without a gradient: Algorithm 4 of the paper, to the letter.

Epochs are counted from 1 (the step sizes divide by the epoch's number), and the guarantee has the
constants that the proof yields: see :func:`lazy_guarantee` and ``docs/continuous.md``.
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

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._state import State
    from stackcast._validation import FloatArray
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
    def suited(cls, view: Any, horizon: int) -> dict[str, Any]:  # noqa: ARG003
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
    def settings(self) -> dict[str, Any]:
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

    def observe(self, responses: npt.NDArray[Any]) -> None:
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
        inset=constants.value * delta * space.outer_radius / space.inner_radius,
        distance=space.diameter**2 / (2 * step) * falling,
        variance=2 * step * (constants.utility_bound / exploration) ** 2 * falling,
        smoothing=2 * constants.value * delta,
        response=m / delta * constants.utility_in_response * space.diameter * response_error,
        utility=constants.utility_in_response * response_error,
    )


def checked_view(view: object) -> ContinuousPrincipalView:
    """Return the view if it is a principal's view of a continuous game."""
    if not isinstance(view, ContinuousPrincipalView):
        raise InputError("view", "the principal's view of a continuous game", shown(view))
    return view


def mean_of(responses: npt.NDArray[Any]) -> FloatArray:
    """Return the mean response of the second half of a block, when forecasts have settled."""
    rows = np.asarray(responses, dtype=np.float64)
    mean: FloatArray = rows[len(rows) // 2 :].mean(axis=0)
    return mean
