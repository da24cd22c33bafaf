"""Binnings: which forecasts are judged together (Section 2 of the paper).

A binning is a set of functions w_1 … w_n from forecasts to [0, 1] that sum to one everywhere.
A forecaster is calibrated to a binning when, in each bin, the weighted mean of its forecasts agrees
with the weighted mean of the outcomes. The binnings here are

- :class:`BestResponseBinning`: one bin for each action of an agent, the forecasts to which the
  agent answers with it — what makes forecasts right *for the decision that is taken from them*;
- :class:`ThresholdBinning`: the decisions that thresholds on one probability take;
- :class:`GridBinning`: the cells around the points of a grid (standard calibration);
- :class:`TentBinning`: overlapping tents on a grid, which make the weights continuous;
- :class:`ConeBinning` (``calibration.cones``): the same with round tents on a domain, Section 5;
- :class:`CoverBinning`: cells of a grid in any dimension, made when a forecast first falls in them;
- :class:`FunctionBinning`: a function of the user's own, checked.

Forecasts are rows; ``weights`` takes a stack of B forecasts and returns a B×n array.
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from stackcast._validation import (
    PROBABILITY_TOLERANCE,
    InputError,
    one_of,
    real_matrix,
    real_number,
    real_vector,
    shown,
    text,
    whole_number,
)
from stackcast.calibration._weights import (
    CELLS,
    LINEAR,
    TENTS,
    THRESHOLDS,
    CompiledBinning,
    stacked_weights,
)
from stackcast.games import BEST_RESPONSE_TOLERANCE, AgentView, Ball, StrategySpace, TieRule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stackcast._state import State
    from stackcast._validation import FloatArray, IntArray


@runtime_checkable
class Binning(Protocol):
    """What a forecaster needs to know of a binning."""

    @property
    def bins(self) -> int:
        """The number n of bins; 0 if they are made when a forecast first falls in them."""

    @property
    def dimension(self) -> int:
        """The number of coordinates of a forecast."""

    @property
    def space(self) -> StrategySpace | Ball:
        """Where forecasts live unless the user says otherwise."""

    @property
    def random(self) -> bool:
        """Whether a forecast may belong to several bins, so that the realised one is drawn."""

    @property
    def continuous(self) -> bool:
        """Whether every weight is a continuous function of the forecast."""

    @property
    def compiled(self) -> CompiledBinning | None:
        """The binning for compiled code; None for a Python function."""

    def weights(self, forecasts: Any) -> FloatArray:
        """Return the weight of every forecast (row) in every bin (column)."""

    def description(self) -> State:
        """Return what identifies the binning, for saved files."""


class CompiledWeights:
    """What the binnings with compiled weights share."""

    compiled: CompiledBinning
    bins: int
    dimension: int
    random: bool = False
    continuous: bool = False

    def weights(self, forecasts: Any) -> FloatArray:
        """Return the weight of every forecast (row) in every bin (column)."""
        result: FloatArray = stacked_weights(
            self.compiled, _stack(forecasts, self.dimension), self.bins
        )
        return result

    def description(self) -> State:
        """Return what identifies the binning, for saved files."""
        digest = hashlib.sha256()
        digest.update(repr((*self.compiled.table.shape, self.compiled[3:])).encode())
        digest.update(self.compiled.table.tobytes() + self.compiled.vector.tobytes())
        return {
            "kind": type(self).__name__,
            "bins": self.bins,
            "dimension": self.dimension,
            "random": self.random,
            "digest": digest.hexdigest(),
        }


class BestResponseBinning(CompiledWeights):
    """One bin for each action of an agent: the forecasts to which it is a best response.

    Parameters
    ----------
    agent_view : AgentView
        The agent's side of a game.
    ties : {"lowest", "random"}
        Who gets a forecast with several best responses: the first of them in the game's order, or
        each of them the same weight.

    Examples
    --------
    >>> from stackcast.games import FiniteGame
    >>> game = FiniteGame([[1.0, 3.0], [0.0, 2.0]], [[1.0, 0.0], [0.0, 1.0]])
    >>> BestResponseBinning(game.agent_view).weights([[0.9, 0.1], [0.5, 0.5]])
    array([[1., 0.],
           [1., 0.]])
    >>> BestResponseBinning(game.agent_view, ties="random").weights([[0.5, 0.5]])
    array([[0.5, 0.5]])
    """

    def __init__(self, agent_view: AgentView, ties: TieRule = "lowest") -> None:
        if not isinstance(agent_view, AgentView):
            raise InputError("agent_view", "the agent's view of a game", shown(agent_view))
        self.ties = one_of("ties", ties, ("lowest", "random"))
        self.dimension, self.bins = agent_view.payoffs.shape
        self.space = agent_view.space
        self.random = self.ties == "random"
        self.compiled = CompiledBinning(
            LINEAR,
            np.array(agent_view.payoffs),
            np.array(agent_view.offsets, dtype=np.float64),
            BEST_RESPONSE_TOLERANCE * agent_view.scale,
            int(self.random),
        )


class ThresholdBinning(CompiledWeights):
    """The decisions that thresholds on one probability take.

    Bin 0 holds the forecasts below the first threshold, bin i those from the i-th threshold on and
    below the next: to act "from 30% on" is ``ThresholdBinning([0.3])``.

    Parameters
    ----------
    thresholds : sequence of float
        Increasing.
    column : int
        The coordinate of the forecast that is compared with them.
    dimension : int
        The number of coordinates of a forecast: 1 for plain probabilities of a yes/no event.

    Examples
    --------
    >>> ThresholdBinning([0.3, 0.8]).weights([[0.1], [0.3], [0.9]])
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """

    def __init__(self, thresholds: Any, column: int = 0, dimension: int = 1) -> None:
        points = _increasing("thresholds", thresholds, 1)
        self.dimension = whole_number("dimension", dimension, at_least=1)
        self.bins = len(points) + 1
        self.space = _usual_space(self.dimension)
        number = whole_number("column", column)
        if number >= self.dimension:
            raise InputError("column", f"a column below {self.dimension}", str(number))
        self.compiled = CompiledBinning(THRESHOLDS, np.zeros((1, 1)), points, 0.0, number)


class GridBinning(CompiledWeights):
    """The cells around the points of a grid: each forecast belongs to its nearest point.

    Calibration to the points of a fine grid is what "calibrated" means without a decision in mind.
    A forecast that is equally near to several points belongs to the first of them.

    Parameters
    ----------
    points : array-like, shape (n, m)
        The grid; numbers between 0 and 1 alone make a grid of plain probabilities.

    Examples
    --------
    >>> GridBinning([0.0, 0.5, 1.0]).weights([[0.2], [0.3]])
    array([[1., 0., 0.],
           [0., 1., 0.]])
    >>> GridBinning.on_simplex(3, 4).bins
    15
    """

    def __init__(self, points: Any) -> None:
        entries = np.asarray(points, dtype=object)
        table = real_matrix("points", entries[:, None] if entries.ndim == 1 else points)
        self.bins, self.dimension = table.shape
        self.space = _usual_space(self.dimension)
        for i, point in enumerate(table):
            if not self.space.contains(point):
                raise InputError(f"points, row {i + 1}", "probabilities", shown(point.tolist()))
        # The nearest point maximises ⟨p, g⟩ − |g|²/2, which is linear in p.
        self.compiled = CompiledBinning(
            LINEAR, np.ascontiguousarray(table.T), -(table * table).sum(axis=1) / 2, 0.0, 0
        )

    @classmethod
    def on_simplex(cls, actions: int, parts: int) -> GridBinning:
        """Return the grid of all probabilities over ``actions`` that are multiples of 1/parts."""
        m = whole_number("actions", actions, at_least=2)
        parts = whole_number("parts", parts, at_least=1)
        if math.comb(parts + m - 1, m - 1) > 100_000:
            raise InputError("parts", "a grid of at most 100000 points", "more")
        rows = [[]] if m == 0 else [[first] for first in range(parts, -1, -1)]
        for _ in range(m - 2):
            rows = [[*row, n] for row in rows for n in range(parts - sum(row), -1, -1)]
        return cls(np.array([[*row, parts - sum(row)] for row in rows]) / parts)


class TentBinning(CompiledWeights):
    """Tents on a grid: piecewise linear weights, 1 at their own grid point and 0 at the others.

    With two grids the bins are the products of the tents on the first two coordinates.

    Parameters
    ----------
    *grids : array-like
        One or two increasing lists of grid points, for the first coordinate and the second.
        Forecasts outside a grid count as its nearest end.
    dimension : int, optional
        The number of coordinates of a forecast, by default one for each grid.

    Examples
    --------
    >>> TentBinning([0.0, 0.5, 1.0]).weights([[0.5], [0.6]])
    array([[0. , 1. , 0. ],
           [0. , 0.8, 0.2]])
    >>> TentBinning([0.0, 1.0], [0.0, 1.0], dimension=3).bins
    4
    """

    random = True
    continuous = True

    def __init__(self, *grids: Any, dimension: int | None = None) -> None:
        if len(grids) not in (1, 2):
            raise InputError("grids", "one or two lists of grid points", f"{len(grids)}")
        lists = [_increasing(f"grid {i + 1}", grid, 2) for i, grid in enumerate(grids)]
        self.dimension = whole_number(
            "dimension", len(grids) if dimension is None else dimension, at_least=len(grids)
        )
        self.bins = math.prod(map(len, lists))
        self.space = (
            box([0.0] * self.dimension, [1.0] * self.dimension)
            if self.dimension == len(grids)
            else _usual_space(self.dimension)
        )
        table = np.full((len(lists), max(map(len, lists))), np.nan)
        for row, points in zip(table, lists, strict=True):
            row[: len(points)] = points
        lengths = np.array([len(points) for points in lists], dtype=np.float64)
        self.compiled = CompiledBinning(TENTS, table, lengths, 0.0, 0)


class CoverBinning(CompiledWeights):
    """The cells of a grid in any dimension, made when a forecast first falls in them.

    A fine grid in many dimensions has more cells than any forecaster could keep, but forecasts
    visit few of them: cost and memory grow with the cells that were visited. The b-th of them has
    the share 1/(b(b + 1)) of the forecaster's attention, so that its rate has ln(b(b + 1)) where a
    known number n of bins has ln n. The cells have no numbers before they are visited; afterwards
    they are those of :attr:`ForecastBlock.bins`.

    Parameters
    ----------
    space : StrategySpace or Ball
        Where forecasts live.
    spacing : float
        The side of a cell. On the simplex the last coordinate, which follows from the others, is
        not divided.

    Examples
    --------
    >>> import stackcast as sc
    >>> from stackcast.calibration import AdaptiveForecaster
    >>> nine = CoverBinning(sc.games.Ball(9), 0.5)
    >>> block = AdaptiveForecaster(nine).run(([0.3] * 9, 500))
    >>> bool(block.bins.max() < 50)
    True
    >>> nine.cells([[0.3] * 9])[0, :3].tolist()
    [2, 2, 2]
    """

    def __init__(self, space: StrategySpace | Ball, spacing: float) -> None:
        if not isinstance(space, StrategySpace | Ball):
            raise InputError("space", "a strategy space or a ball", shown(space))
        self.space, self.spacing = space, real_number("spacing", spacing, above=0.0)
        self.bins, self.dimension = 0, space.dimension
        divided = self.dimension - 1 if space.kind == "simplex" else self.dimension
        low = space.limits[0] if isinstance(space, Ball) else lowest(space)
        self.compiled = CompiledBinning(
            CELLS, np.zeros((1, 1)), np.array(low[:divided], dtype=np.float64), self.spacing, 0
        )

    def cells(self, forecasts: Any) -> IntArray:
        """Return the cell of every forecast (row), counted from the lowest in each coordinate."""
        stack = _stack(forecasts, self.dimension)[:, : len(self.compiled.vector)]
        return np.floor((stack - self.compiled.vector) / self.spacing).astype(np.int64)

    def weights(self, forecasts: Any) -> FloatArray:  # noqa: ARG002
        """Raise: the cells have no numbers of their own."""
        raise InputError("binning", "bins that are known beforehand", "a cover, made on the way")


class FunctionBinning:
    """A binning by a function of the user's own.

    Parameters
    ----------
    function : callable
        Takes a stack of B forecasts (B×m array) and returns their weights (B×n array): between 0
        and 1, with rows that sum to one. Every call is checked.
    bins : int
        The number n of bins.
    dimension : int, optional
        The number m of coordinates of a forecast; needed unless ``space`` is given.
    space : StrategySpace, optional
        Where forecasts live, by default the simplex (for one coordinate, the interval [0, 1]).
    random : bool
        Whether a forecast may belong to several bins.
    continuous : bool
        Whether the weights are continuous functions.
    name : str
        What the binning is called in saved files.

    Examples
    --------
    >>> halves = FunctionBinning(lambda p: np.column_stack([p[:, 0], 1 - p[:, 0]]), 2, 2)
    >>> halves.weights([[0.25, 0.75]])
    array([[0.25, 0.75]])
    """

    compiled = None

    def __init__(
        self,
        function: Callable[[FloatArray], Any],
        bins: int,
        dimension: int | None = None,
        *,
        space: StrategySpace | None = None,
        random: bool = True,
        continuous: bool = False,
        name: str = "function",
    ) -> None:
        if not callable(function):
            raise InputError("function", "a function of a stack of forecasts", shown(function))
        self.bins = whole_number("bins", bins, at_least=1)
        if space is None:
            self.dimension = whole_number("dimension", dimension, at_least=1)
            space = _usual_space(self.dimension)
        self.function, self.space, self.dimension = function, space, space.dimension
        self.random, self.continuous, self.name = bool(random), bool(continuous), text("name", name)

    def weights(self, forecasts: Any) -> FloatArray:
        """Return the weight of every forecast (row) in every bin (column), checked."""
        stack = _stack(forecasts, self.dimension)
        field = f"weights of binning {self.name!r}"
        try:
            result = np.array(self.function(stack), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(field, "an array of numbers", f"{error}") from error
        if result.shape != (len(stack), self.bins):
            raise InputError(field, f"shape {(len(stack), self.bins)}", f"shape {result.shape}")
        if not np.isfinite(result).all():
            raise InputError(field, "finite numbers", "NaN or infinity")
        if result.min(initial=0.0) < 0.0 or result.max(initial=0.0) > 1.0:
            wrong = result.min() if result.min() < 0 else result.max()
            raise InputError(field, "numbers between 0 and 1", f"{wrong:.17g}")
        sums = result.sum(axis=1)
        worst = int(np.abs(sums - 1).argmax()) if len(sums) else 0
        if len(sums) and abs(sums[worst] - 1) > PROBABILITY_TOLERANCE:
            raise InputError(
                field,
                "weights that sum to 1",
                f"a sum of {sums[worst]:.12g} at the forecast {shown(stack[worst].tolist())}",
            )
        if not self.random and ((result > 0) & (result < 1)).any():
            raise InputError(
                field, "weights of 0 or 1, as random=False promises", "a forecast in several bins"
            )
        return result

    def description(self) -> State:
        """Return what identifies the binning, for saved files."""
        return {
            "kind": type(self).__name__,
            "bins": self.bins,
            "dimension": self.dimension,
            "random": self.random,
            "name": self.name,
        }


def box(low: Sequence[float], high: Sequence[float]) -> StrategySpace:
    """Return the box of all points between ``low`` and ``high``, coordinate by coordinate."""
    lower, upper = real_vector("low", low), real_vector("high", high, len(low))
    m = len(lower)
    return StrategySpace(
        np.vstack([-np.eye(m), np.eye(m)]),
        np.concatenate([-lower, upper]),
        np.zeros((0, m)),
        np.zeros(0),
        "polytope",
    )


def lowest(space: StrategySpace) -> FloatArray:
    """Return the lowest value of each coordinate in a bounded space."""
    return space.limits[0]


def _usual_space(dimension: int) -> StrategySpace:
    return box([0.0], [1.0]) if dimension == 1 else StrategySpace.simplex(dimension)


def _increasing(field: str, value: Any, at_least: int) -> FloatArray:
    points = np.array(real_vector(field, value))
    if len(points) < at_least or (np.diff(points) <= 0).any():
        raise InputError(field, f"at least {at_least} increasing numbers", shown(points.tolist()))
    return points


def _stack(forecasts: Any, dimension: int) -> FloatArray:
    stack = np.ascontiguousarray(forecasts, dtype=np.float64)
    if stack.ndim != 2 or stack.shape[1] != dimension:
        raise InputError(
            "forecasts", f"rows of {dimension} numbers", f"an array of shape {stack.shape}"
        )
    if not np.isfinite(stack).all():
        raise InputError("forecasts", "finite numbers", "NaN or infinity")
    return stack
