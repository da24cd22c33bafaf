"""Best-response regions (Section 2 of the paper).

The region of an agent action y is the polytope P_y = {h : y ∈ BR(h)} of the strategies to which y
is a best response. The regions cover the strategy space and meet only at ties.

The **margin** of h in P_y is the ℓ2 distance to the nearest region of *another* action, within the
affine hull of the strategy space. The space's own facets do not count: no forecast lies beyond
them. The hyperplanes on which y ties with another action stand for that action's region, which is
exact unless the nearest tie lies outside the space, and on the safe side then.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError, real_number, whole_number
from stackcast.games import BEST_RESPONSE_TOLERANCE, AgentView, FiniteGame, Game
from stackcast.solvers._programs import (
    CERTIFIED,
    EMPTY,
    best_commitment,
    gap_and_distances,
    scaled_payoffs,
)

if TYPE_CHECKING:
    from stackcast._validation import BoolArray, FloatArray
    from stackcast.games import Ball, Polytope


@dataclass(frozen=True, eq=False)
class VolumeShares:
    """Each region's share of the strategy space's volume, with a confidence interval."""

    share: FloatArray
    lower: FloatArray
    upper: FloatArray
    confidence: float
    samples: int


class BestResponseRegions:
    """The best-response regions of a game.

    Parameters
    ----------
    game : Game or AgentView
        Only the agent's payoffs and the strategy space matter.

    Examples
    --------
    >>> game = FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> regions = BestResponseRegions(game)
    >>> round(regions.margin([0.75, 0.25], 0), 4)
    0.3536
    >>> regions.polytope(1).vertices.round(3).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """

    def __init__(self, game: Game | AgentView) -> None:
        self.view = game if isinstance(game, AgentView) else game.agent_view
        self.space = self.view.space

    @cached_property
    def scaled(self) -> ScaledPayoffs:
        """The agent's payoffs in the form that the compiled programs take."""
        return ScaledPayoffs.of(self.view)

    @property
    def count(self) -> int:
        """The number of agent actions."""
        return len(self.view.agent_actions)

    def contains(self, strategy: Any) -> BoolArray:
        """Return in which regions ``strategy`` lies: one, but for ties."""
        return self.view.best_responses(self.space.check("strategy", strategy))

    def margin(self, strategy: Any, action: int) -> float:
        """Return the signed distance from ``strategy`` to the nearest other region.

        It is negative outside the region of ``action``, and infinite where no other action is ever
        a best response.
        """
        h = self.space.check("strategy", strategy)
        everyone = np.ones(self.count, dtype=np.bool_)
        return self.scaled.gap_and_margin(self.scaled.weights(h), self._action(action), everyone)[1]

    @cached_property
    def never_best(self) -> BoolArray:
        """Which actions are a best response to no strategy at all."""
        return self.scaled.never_best()

    def polytope(self, action: int, margin: float = 0.0) -> Polytope:
        """Return P_y, or with a margin its ε-conservative version.

        The strategies of the latter keep a distance of at least ``margin`` to the other regions;
        the paper's B_2(P_y, −ε) without the facets of the strategy space itself.
        """
        y = self._action(action)
        margin = real_number("margin", margin, at_least=0)
        payoffs, offsets = self.view.payoffs / self.view.scale, self.view.offsets / self.view.scale
        normals = (payoffs - payoffs[:, [y]]).T
        bounds = offsets[y] - offsets
        others = np.array(
            [j != y and not (margin > 0 and self.never_best[j]) for j in range(self.count)]
        )
        lengths = np.linalg.norm(normals @ self.space.basis, axis=1)
        alike = (np.abs(normals).max(axis=1) + np.abs(bounds)) <= BEST_RESPONSE_TOLERANCE
        rows = others & ~alike
        return self.space.cut(normals[rows], bounds[rows] - margin * lengths[rows])

    def inscribed_ball(self, action: int) -> Ball | None:
        """Return a largest ball in the region and in the strategy space; None if it is empty."""
        return self.polytope(action).inscribed_ball()

    def sample(self, action: int, count: int, seed: int) -> FloatArray:
        """Return ``count`` strategies from the region of ``action``, nearly uniform."""
        try:
            return self.polytope(action).sample(count, seed)
        except InputError:
            name = self.view.agent_actions[action]
            raise InputError(f"region of {name!r}", "an interior to sample from", "none") from None

    def volume_shares(
        self, samples: int = 20_000, confidence: float = 0.95, seed: int = 0
    ) -> VolumeShares:
        """Estimate how much of the strategy space each region takes.

        Mixed strategies are drawn exactly, and the interval of each share is that of Clopper and
        Pearson. Other spaces are sampled by hit-and-run, whose draws hang together: there the
        interval comes from the spread of thirty stretches of the walk. Ties count for the action
        that comes first.
        """
        from scipy.special import betaincinv, stdtrit

        whole_number("samples", samples, at_least=30)
        confidence = real_number("confidence", confidence, above=0, at_most=1 - 1e-12)
        tail = (1 - confidence) / 2
        points = self.space.sample(samples, seed)
        labels = self.view.respond(points)
        hits = np.bincount(labels, minlength=self.count).astype(np.float64)
        share = hits / samples
        if self.space.kind == "simplex":
            lower = np.where(hits > 0, betaincinv(np.maximum(hits, 1), samples - hits + 1, tail), 0)
            misses = samples - hits
            upper = np.where(misses > 0, betaincinv(hits + 1, np.maximum(misses, 1), 1 - tail), 1.0)
        else:
            stretches = np.array(
                [
                    np.bincount(part, minlength=self.count) / len(part)
                    for part in np.array_split(labels, 30)
                ]
            )
            half = stdtrit(29, 1 - tail) * stretches.std(axis=0, ddof=1) / math.sqrt(30)
            lower, upper = np.maximum(share - half, 0), np.minimum(share + half, 1)
        return VolumeShares(share, lower, upper, confidence, samples)

    def _action(self, action: int) -> int:
        y = whole_number("action", action)
        if y >= self.count:
            raise InputError("action", f"an agent action below {self.count}", str(y))
        return y


@dataclass(frozen=True, eq=False)
class ScaledPayoffs:
    """The agent's payoffs as the compiled programs take them, in units in which they spread over 1.

    ``W`` holds the utilities at the vertices of the simplex around the strategy space (rows), less
    the smallest of each row, which changes no best response; ``projected`` the payoffs within the
    affine hull, for lengths of normals; ``cuts`` the space's own rows; ``scale`` the unit;
    ``vertices`` those of the simplex around the space, None if it is the space.
    """

    W: FloatArray
    projected: FloatArray
    cuts: FloatArray
    scale: float
    vertices: FloatArray | None

    @classmethod
    def of(cls, game: Game | AgentView) -> ScaledPayoffs:
        """Scale the payoffs of the agent in ``game``."""
        space = game.space
        if space.kind == "simplex":
            # The common case, for a game without the cost of a view; Σh = 1 takes in the offsets.
            if isinstance(game, FiniteGame):
                W, projected, scale = scaled_payoffs(game.agent_payoffs)
            else:
                view = game if isinstance(game, AgentView) else game.agent_view
                W, projected, scale = scaled_payoffs(view.payoffs + view.offsets)
            return cls(W, projected, np.zeros((0, W.shape[0])), scale, None)
        view = game if isinstance(game, AgentView) else game.agent_view
        vertices = space.enclosing_simplex
        utilities = vertices @ view.payoffs + view.offsets
        return cls(
            (utilities - utilities.min(axis=1)[:, None]) / view.scale,
            np.ascontiguousarray(space.basis.T @ view.payoffs) / view.scale,
            space.homogeneous_rows,
            view.scale,
            vertices,
        )

    def weights(self, strategy: FloatArray) -> FloatArray:
        """Return the weights of a strategy on the vertices around the space."""
        if self.vertices is None or self.vertices.shape[0] == self.vertices.shape[1]:
            return strategy
        lowest, width = self.vertices[0], self.vertices[1, 0] - self.vertices[0, 0]
        inner = (strategy - lowest) / width
        return np.append(1.0 - inner.sum(), inner)

    def never_best(self, actions: BoolArray | None = None) -> BoolArray:
        """Tell which of ``actions``, by default of all, are best responses to no strategy."""
        k = self.W.shape[1]
        chosen = np.ones(k, dtype=np.bool_) if actions is None else actions
        anything, lead = np.ones_like(self.W), np.zeros((k, k))
        found = best_commitment(anything, self.W, lead, self.cuts, chosen, False)
        return found.status == EMPTY

    def gap_and_margin(
        self,
        weights: FloatArray,
        action: int,
        others: BoolArray,
        principal: FloatArray | None = None,
    ) -> tuple[float, float]:
        """Return what the agent loses by ``action``, and the distance to the nearest other region.

        ``weights`` are a strategy's on the vertices. Regions of actions outside ``others`` do not
        count, nor do those of duplicates that are no worse for the ``principal`` (its payoffs at
        the vertices, in units in which they spread over 1).
        """
        gap, distances = gap_and_distances(
            weights,
            action,
            self.W if principal is None else principal,
            self.W,
            self.projected,
            others,
            -1.0 if principal is None else CERTIFIED,
        )
        while True:
            nearest = int(distances.argmin())
            margin = float(distances[nearest])
            # An action that is never best has no region; this is asked only where it matters.
            if not math.isfinite(margin):
                return gap, margin
            one = np.zeros(len(others), dtype=np.bool_)
            one[nearest] = True
            if not self.never_best(one)[nearest]:
                return gap, margin
            distances[nearest] = math.inf
