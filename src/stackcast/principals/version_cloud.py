"""A cloud of payoffs that the agent may have, as far as its answers go (the version space)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stackcast._state import generator_state, restored_generator
from stackcast.principals._particles import answers, least_gaps, violations, walk
from stackcast.solvers import best_commitment, facet_leads, unit_payoffs

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._state import State
    from stackcast._validation import FloatArray
    from stackcast.games import PrincipalView, StrategySpace

    IntArray = npt.NDArray[np.int64]

#: Points solved for a question.
_SOLVED = 24
#: Steps to a point near another.
_NEAR = 4
#: Up to this many answers the points walk longer.
_WALKED = 200
_ALLOWED = 1e-9
#: Payoffs in [0, 1] that differ by less are tied.
_TIE = 1e-13


class Promises(NamedTuple):
    """The best robust commitment under each of some payoffs; response −1 where there is none."""

    payoffs: FloatArray
    strategies: FloatArray
    responses: IntArray
    values: FloatArray

    def where(self, chosen: npt.NDArray[np.bool_]) -> Promises:
        """Return some of them."""
        return Promises(
            self.payoffs[chosen],
            self.strategies[chosen],
            self.responses[chosen],
            self.values[chosen],
        )

    def joined(self, other: Promises) -> Promises:
        """Return these and others."""
        return Promises(
            np.concatenate([self.payoffs, other.payoffs]),
            np.concatenate([self.strategies, other.strategies]),
            np.concatenate([self.responses, other.responses]),
            np.concatenate([self.values, other.values]),
        )


class VersionCloud:
    """Points spread over the payoffs that agree with all answers, each answer up to its accuracy.

    Best responses do not change when a row is shifted or all payoffs are scaled, so payoffs in
    [0, 1] stand for all; narrower bounds say what is known beforehand.

    Parameters
    ----------
    view : PrincipalView
        The principal's view of a game of mixed strategies.
    rng : numpy.random.Generator
        The stream of its walks.
    low, high : arrays of numbers, shape (m, k)
        Bounds on the agent's payoffs.
    space : StrategySpace
        What may be committed to.
    """

    def __init__(
        self,
        view: PrincipalView,
        rng: np.random.Generator,
        low: FloatArray,
        high: FloatArray,
        space: StrategySpace,
    ) -> None:
        self.view, self.rng, self.low, self.high = view, rng, low, high
        m, k = view.payoffs.shape
        self._unit, self._least, self._width = unit_payoffs(view.payoffs)
        self._basis = np.ascontiguousarray(space.basis)
        self._cuts = space.homogeneous_rows
        self._size = max(40, 2 * m * k)
        self.solves = 0
        self.forget()

    @property
    def _steps(self) -> int:
        """Steps of each point after an answer: many as long as there are few answers to check."""
        m, k = self.view.payoffs.shape
        often = min(4.0, max(1.0, _WALKED / max(len(self.labels), 1)))
        return int(often * max(12, m * k // 2))

    def forget(self) -> None:
        """Drop all answers."""
        m, k = self.view.payoffs.shape
        self.asked, self.labels = np.zeros((0, m)), np.zeros(0, dtype=np.int64)
        self.accuracy = np.zeros(0)
        spread = self.high - self.low
        self.points = self.low + spread * self.rng.random((self._size, m, k))

    def add(self, strategy: FloatArray, response: int, accuracy: float) -> bool:
        """Take an answer into account; False if no payoffs were found that agree with all."""
        self.asked = np.vstack([self.asked, strategy])
        self.labels = np.append(self.labels, response)
        self.accuracy = np.append(self.accuracy, accuracy)
        last = slice(-1, None)
        bad = self._violations(last) > _ALLOWED
        for _ in range(6):
            if not bad.all():
                break
            self._walk(self.points, self._steps)  # an answer that is violated allows only ways out
            bad = self._violations(slice(None)) > _ALLOWED
        if bad.all() and not self._restart():
            return False
        bad = self._violations(slice(None)) > _ALLOWED
        good = np.flatnonzero(~bad)
        if not len(good):
            return False
        for i in np.flatnonzero(bad):
            self.points[i] = self.points[good[int(self.rng.random() * len(good))]]
        # The fewer are left, the longer their copies walk before they are spread again.
        self._walk(self.points, int(self._steps * (1 + np.log2(self._size / len(good)))))
        return True

    def drop(self, which: IntArray) -> bool:
        """Forget the answers with these numbers; False if the rest still contradict each other."""
        keep = np.ones(len(self.labels), dtype=bool)
        keep[which] = False
        self.asked, self.labels = self.asked[keep], self.labels[keep]
        self.accuracy = self.accuracy[keep]
        allowed = self._violations(slice(None)) <= _ALLOWED
        if not allowed.any() and not self._restart():
            return False
        good = np.flatnonzero(self._violations(slice(None)) <= _ALLOWED)
        for i in set(range(self._size)) - set(good.tolist()):
            self.points[i] = self.points[good[int(self.rng.random() * len(good))]]
        self._walk(self.points, 2 * self._steps)
        return True

    def contradictions(self) -> IntArray:
        """Return the answers that the best compromise between all of them violates, worst first."""
        centre, _ = self._compromise()
        gaps = np.array(
            [
                violations(
                    centre[None],
                    self.asked[[i]],
                    self.labels[[i]],
                    self.accuracy[[i]],
                    self._basis,
                )[0]
                for i in range(len(self.labels))
            ]
        )
        order = np.argsort(-gaps)
        return order[gaps[order] > _ALLOWED]

    def allows(self, payoffs: FloatArray) -> bool:
        """Tell whether payoffs agree with all answers."""
        worst = violations(payoffs[None], self.asked, self.labels, self.accuracy, self._basis)
        return bool(worst[0] <= _ALLOWED)

    def promises(self, margin: float, which: IntArray | None = None) -> Promises:
        """Return what some points of the cloud promise, in the principal's units."""
        if which is None:
            which = self.rng.permutation(self._size)[:_SOLVED]
        return self.promises_of(self.points[which], margin)

    def promises_of(self, payoffs: FloatArray, margin: float) -> Promises:
        """Return the best commitment with a margin under each of some payoffs."""
        strategies = np.zeros(payoffs.shape[:2])
        responses = np.full(len(payoffs), -1)
        values = np.full(len(payoffs), -np.inf)
        everyone = np.ones(payoffs.shape[2], dtype=np.bool_)
        projected = self._basis.T @ payoffs
        # Called from here and not from compiled code, which would compile the programs anew.
        margins = np.full((len(everyone), len(everyone)), float(margin))
        for i, W in enumerate(payoffs):
            lead = facet_leads(projected[i], margins)
            h, y, value, *_ = best_commitment(self._unit, W, lead, self._cuts, everyone, True)
            if y >= 0:
                strategies[i], responses[i] = h, y
                values[i] = self._least + (value - 1.0) * self._width
        self.solves += len(payoffs)
        return Promises(payoffs, strategies, responses, values)

    def climb(self, margin: float, beat: float, rounds: int) -> Promises:
        """Return promises of points that walked, each keeping the best place that it found.

        Uniform points miss what is promised in thin places; these look for it, and stop when one
        promises more than ``beat``.
        """
        start = self.points[self.rng.permutation(self._size)[:_SOLVED]].copy()
        self._walk(start, self._steps // 2)
        best = self.promises_of(start, margin)
        for _ in range(rounds):
            if best.values.max() > beat:
                break
            moved = best.payoffs.copy()
            self._walk(moved, self._steps // 3)
            new = self.promises_of(moved, margin)
            better = new.values >= best.values
            best = Promises(
                np.where(better[:, None, None], new.payoffs, best.payoffs),
                np.where(better[:, None], new.strategies, best.strategies),
                np.where(better, new.responses, best.responses),
                np.where(better, new.values, best.values),
            )
        return best

    def more_like(self, found: Promises, margin: float, beat: float) -> Promises:
        """Return promises above ``beat``, those of points near the given ones included."""
        near = found.payoffs[np.arange(_SOLVED) % len(found.values)].copy()
        self._walk(near, _NEAR)
        new = self.promises_of(near, margin)
        return found.joined(new.where(new.values > beat))

    def answers(self, strategies: FloatArray, payoffs: FloatArray | None = None) -> IntArray:
        """Return the best response to each strategy (columns) under each of the payoffs (rows)."""
        return answers(self.points if payoffs is None else payoffs, np.atleast_2d(strategies))

    def _walk(self, points: FloatArray, steps: int) -> None:
        """Move the points; answers that none is near to violating are left out, then checked."""
        near = np.ones(len(self.labels), dtype=bool)
        if len(near) > 20:
            gaps = least_gaps(points, self.asked, self.labels)
            near = gaps.min(axis=0) < 2 * np.ptp(gaps, axis=0) + self.accuracy
        before = points.copy() if not near.all() else points
        self._walk_among(near, points, steps)
        if not near.all():
            far = ~near
            out = (
                violations(
                    points, self.asked[far], self.labels[far], self.accuracy[far], self._basis
                )
                > _ALLOWED
            )
            if out.any():  # where points are near each other, few answers seem near to them
                again = before[out]
                self._walk_among(np.ones(len(near), dtype=bool), again, steps)
                points[out] = again

    def _walk_among(self, which: npt.NDArray[np.bool_], points: FloatArray, steps: int) -> None:
        walk(
            points,
            self.asked[which],
            self.labels[which],
            self.accuracy[which],
            self._basis,
            self.low,
            self.high,
            steps,
            self.rng,
        )

    def _violations(self, which: slice) -> FloatArray:
        return violations(
            self.points,
            self.asked[which],
            self.labels[which],
            self.accuracy[which],
            self._basis,
        )

    def _restart(self) -> bool:
        """Move the cloud to the best compromise, and tell whether that agrees with all answers."""
        centre, _ = self._compromise()
        self.points[:] = centre
        self._walk(self.points, 4 * self._steps)
        return bool((self._violations(slice(None)) <= _ALLOWED).any())

    def _compromise(self) -> tuple[FloatArray, float]:
        """Return payoffs whose worst violation is least (a linear program), and that violation."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array

        m, k = self.low.shape
        n = len(self.labels)
        i, j = (a.ravel() for a in np.meshgrid(np.arange(n), np.arange(k), indexing="ij"))
        i, j = i[j != self.labels[i]], j[j != self.labels[i]]
        row = np.repeat(np.arange(len(i)), m)
        action = np.tile(np.arange(m), len(i))
        weight = self.asked[i].ravel()
        other = action * k + np.repeat(j, m)
        own = action * k + np.repeat(self.labels[i], m)
        last = np.full(len(i), m * k)
        matrix = csr_array(
            (
                np.concatenate([weight, -weight, np.ones(len(i))]),
                (
                    np.concatenate([row, row, np.arange(len(i))]),
                    np.concatenate([other, own, last]),
                ),
            ),
            shape=(len(i), m * k + 1),
        )
        # Payoffs near 0 would agree with everything: stay on the side of the cloud's mean.
        mean = self.points.mean(axis=0)
        mean = mean - mean.mean(axis=1, keepdims=True)
        columns = self._basis.T @ mean
        typical = np.linalg.norm(columns[:, self.labels[i]] - columns[:, j], axis=0)
        box = zip(self.low.ravel(), self.high.ravel(), strict=True)
        result = linprog(
            np.append(np.zeros(m * k), -1.0),
            A_ub=np.vstack([matrix.toarray(), np.append(-mean.ravel(), 0.0)]),
            b_ub=np.append(self.accuracy[i] * typical, -0.5 * (mean**2).sum()),
            bounds=[*((float(a), float(b)) for a, b in box), (-np.inf, 1.0)],
            method="highs",
        )
        if result.x is None:
            return self.points.mean(axis=0), np.inf
        centre: FloatArray = np.clip(result.x[:-1].reshape(m, k), self.low, self.high)
        return centre, float(-result.x[-1])

    def state(self) -> State:
        """Return the answers, the points and the stream."""
        return {
            "asked": self.asked.copy(),
            "labels": self.labels.copy(),
            "accuracy": self.accuracy.copy(),
            "points": self.points.copy(),
            "solves": self.solves,
            "rng": generator_state(self.rng),
        }

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""
        self.asked, self.labels = state["asked"].copy(), state["labels"].copy()
        self.accuracy, self.points = state["accuracy"].copy(), state["points"].copy()
        self.solves, self.rng = state["solves"], restored_generator(state["rng"])
