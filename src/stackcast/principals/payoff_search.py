"""The search of the practical learner: learn the agent's payoffs up to what matters.

The payoffs that agree with all answers are held as a cloud of points (:mod:`.version_cloud`). Each
question is one of two:

- *certify*: the best robust commitment under the centre of the promising points, with m or
  more strategies around it whose answers prove its margin (:mod:`.certificates`), when most
  promising points agree with them and few promise much more. The least certain comes first, those
  between earlier answers are left out; a refusal is a deep cut.
- *explore*: otherwise, among the commitments that promising points hold for best, the one whose
  answer is expected to refute most of them.

A point is promising if under it some robust commitment beats the best certified value by more than
the tolerance, or by a part of it if the optimum does by all of it. When none is, points climb a
little in search of promises; when they find none the search ends: what is left is too unlikely.
That is evidence, not proof, that nothing more is to be gained.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stackcast._random import stream
from stackcast.principals.certificates import (
    certified_radius,
    corners_inside,
    fitted_points,
    lie_between,
)
from stackcast.principals.commitments import (
    Commitment,
    plain_commitment,
    restored_commitment,
)
from stackcast.principals.questions import Question
from stackcast.principals.version_cloud import VersionCloud

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._state import State
    from stackcast._validation import FloatArray
    from stackcast.games import PrincipalView, StrategySpace
    from stackcast.principals.questions import Search
    from stackcast.principals.version_cloud import Promises

#: Certify when this share of the promising points agrees and no larger share promises more.
_AGREE, _MORE = 0.5, 0.3
#: Steps up that points take in search of a promise before the search ends: at most, and times the
#: number of payoffs (many steps among many payoffs find what is too unlikely).
_CLIMBS, _STEEP = 8, 100
#: The share of the tolerance that a robust commitment must promise at least.
_LITTLE = 0.25
#: Solves that each question may cost.
_SOLVES = 40
#: Promising points to weigh a question by, as far as some near those found promise as well.
_ENOUGH = 12
#: Mixtures of promising strategies that are weighed beside them, for each response.
_MIXTURES = 12
#: How much farther from other regions the next certificate stays after a refusal, and at most.
_GROWTH, _FARTHEST = 1.15, 2.2
#: An answer is settled if this share of the cloud gives it nearby too.
_SETTLED = 0.8
#: Points whose best commitments are weighed against each other.
_CANDIDATES = 12


class PayoffSearch:
    """Finds a commitment that is nearly optimal and provably robust, with few questions.

    Parameters
    ----------
    view : PrincipalView
        The principal's view of a game of mixed strategies.
    margin : float
        ρ, the margin to certify.
    accuracy : float
        ε, the distance up to which answers are right.
    tolerance : float
        What may be lost against the optimum, the price of the margin included, in the principal's
        units.
    seed : int
        The seed of the cloud.
    low, high : arrays, shape (m, k)
        Bounds on the agent's payoffs.
    space : StrategySpace, optional
        What may be asked and committed to, if that is less than the view's space.
    """

    def __init__(
        self,
        view: PrincipalView,
        *,
        margin: float,
        accuracy: float,
        tolerance: float,
        seed: int,
        low: FloatArray | None = None,
        high: FloatArray | None = None,
        space: StrategySpace | None = None,
    ) -> None:
        m, k = view.payoffs.shape
        self.view = view
        self.space = view.space if space is None else space
        self.margin, self.accuracy, self.tolerance = margin, accuracy, tolerance
        self.cloud = VersionCloud(
            view,
            stream(seed, "principal", "version space"),
            np.zeros((m, k)) if low is None else low,
            np.ones((m, k)) if high is None else high,
            self.space,
        )
        self._safety = 1.2
        self.restart()

    def restart(self) -> None:
        """Forget what was certified (the answers stay)."""
        self.certified: Commitment | None = None
        self.planned: Commitment | None = None
        self.upper_bound = math.inf
        self.finished = False
        self._safety = 1.2
        self._points = np.zeros((0, self.view.space.dimension))
        self._left: list[int] = []

    def refine(self, *, margin: float, accuracy: float, tolerance: float) -> None:
        """Go on with finer answers, a smaller margin and a smaller tolerance."""
        self.margin, self.accuracy, self.tolerance = margin, accuracy, tolerance
        self.finished, self._left, self._safety = False, [], 1.2

    @property
    def best_value(self) -> float:
        """The best certified value; −∞ if nothing is certified."""
        return -math.inf if self.certified is None else self.certified.value

    def question(self) -> Question | None:
        """Return the next question, None when the search has ended."""
        while not self.finished and not self._left:
            found = self._plan()
            if found is not None:
                return Question(found, self.accuracy, "explore")
        if self.finished:
            return None
        assert self.planned is not None
        agree = self.cloud.answers(self._points[self._left]) == self.planned.response
        self._left.insert(0, self._left.pop(int(np.argmin(agree.mean(axis=0)))))
        return Question(self._points[self._left[0]], self.accuracy, "certify")

    def tell(self, question: Question, response: int, accuracy: float, slack: float = 1.0) -> bool:
        """Take an answer; False if it cannot be reconciled with the others."""
        asked = self._left[:1] if question.phase == "certify" else []
        agrees = self.cloud.add(question.strategy, response, slack * accuracy)
        if asked and self.planned is not None:
            if response != self.planned.response:
                self._left = []
                self._safety = min(self._safety * _GROWTH, _FARTHEST)
            else:
                self._left = self._unproven(self._left[1:])
                if not self._left:
                    self._certify(accuracy)
        return agrees

    def likeliest(self, blur: float) -> Commitment | None:
        """Return the commitment that is expected to earn most, not certified.

        The expectation is over the cloud and over forecasts ``blur`` away from the strategy: it
        weighs a margin's price against the risk of another response. Candidates are the certified
        commitment and what points of the cloud hold for best with margins from none to large ones.
        """
        some = self.cloud.rng.permutation(len(self.cloud.points))[:_CANDIDATES]
        found = [self.cloud.promises(blur * factor, some) for factor in (0, 1, 2, 4, 8, 16)]
        strategies = np.vstack([part.strategies[part.responses >= 0] for part in found])
        if self.certified is not None:
            strategies = np.vstack([strategies, self.certified.strategy])
        if not len(strategies):
            return None
        worth, responses = self.worth(strategies, blur)
        best = int(np.argmax(worth))
        value = float(self.view.utilities(strategies[best])[responses[best]])
        return Commitment(strategies[best], int(responses[best]), value, math.nan)

    def towards(self, kept: Commitment, gain: float, blur: float) -> Commitment | None:
        """Return a commitment to the same response that is worth more by ``gain``, or None.

        It lies on the way to what the cloud's centre holds for best; if that is worth no more, on
        the way on from there, as if its boundary lay farther out.
        """
        sample = self.cloud.promises(0.0)
        centre = self._centre(sample, sample.values > -np.inf)[None]
        inner, goal = (self.cloud.promises_of(centre, margin) for margin in (8 * blur, 0.0))
        if goal.responses[0] != kept.response:
            return None
        values, direction = self.view.payoffs[:, kept.response], goal.strategies[0] - kept.strategy
        if values @ direction < gain and inner.responses[0] == kept.response:
            direction = direction + (goal.strategies[0] - inner.strategies[0])
        rise = float(values @ direction)
        if rise <= 1e-12:
            return None
        ahead = self.space.inequality_rows @ direction
        room = self.space.inequality_bounds - self.space.inequality_rows @ kept.strategy
        limit = np.min(np.maximum(room[ahead > 1e-12], 0.0) / ahead[ahead > 1e-12], initial=1.0)
        part = min(gain / rise, float(limit))
        if part * rise < gain / 4:
            return None
        strategy = kept.strategy + part * direction
        return Commitment(strategy, kept.response, float(values @ strategy), math.nan)

    def worth(
        self, strategies: FloatArray, blur: float
    ) -> tuple[FloatArray, npt.NDArray[np.int64]]:
        """Return what strategies are expected to earn, and the response that is most likely."""
        n, k = len(strategies), self.view.payoffs.shape[1]
        basis = self.space.basis
        steps = blur * np.vstack([np.zeros((1, len(basis))), basis.T, -basis.T])
        near = np.maximum((strategies[:, None] + steps).reshape(-1, strategies.shape[1]), 0.0)
        near /= near.sum(axis=1, keepdims=True)
        answers = self.cloud.answers(near).reshape(-1, n, len(steps))
        shares = np.stack([(answers == y).mean(axis=(0, 2)) for y in range(k)], axis=1)
        worth: FloatArray = (shares * self.view.utilities(strategies)).sum(axis=1)
        return worth, shares.argmax(axis=1)

    def middle(self) -> Commitment:
        """Return a commitment for want of a better one, and the worst that it may earn."""
        spent = self.cloud.solves
        points = self.cloud.promises_of(self.cloud.points[:8], 0.0).strategies
        self.cloud.solves = spent  # whoever only looks must not change the search's budget
        strategy: FloatArray = points.mean(axis=0)
        utilities = self.view.utilities(strategy)
        worst = int(np.argmin(utilities))
        return Commitment(strategy, worst, float(utilities[worst]), math.nan)

    def reconcile(self) -> None:
        """Drop the answers that cannot all be right."""
        for _ in range(20):
            if self.cloud.drop(self.cloud.contradictions()[:2]):
                return
        self.cloud.forget()

    def promising(self, kept: Commitment, blur: float) -> tuple[FloatArray, float] | None:
        """Return the strategy whose answer may raise what ``kept`` earns most, and by how much.

        The expectation of the gain over the cloud: of what points hold for best, how likely it is
        that the answer is worth more.
        """
        sample = self.cloud.promises(2 * blur)
        pool = sample.strategies[sample.responses >= 0]
        if not len(pool):
            return None
        gain = np.maximum(self.view.utilities(pool) - kept.value, 0.0)
        answers = self.cloud.answers(pool)
        expected = gain[np.arange(len(pool)), answers].mean(axis=0)
        best = int(np.argmax(expected))
        return pool[best], float(expected[best])

    def settled(self, blur: float) -> npt.NDArray[np.bool_]:
        """Tell which answers the cloud would give again, even ``blur`` away from the strategy."""
        asked, labels = self.cloud.asked, self.cloud.labels
        basis = self.space.basis
        steps = blur * np.vstack([basis.T, -basis.T])
        near = np.maximum((asked[:, None] + steps).reshape(-1, asked.shape[1]), 0.0)
        near /= near.sum(axis=1, keepdims=True)
        again = self.cloud.answers(near).reshape(-1, len(asked), len(steps)) == labels[:, None]
        sure: npt.NDArray[np.bool_] = again.mean(axis=(0, 2)) >= _SETTLED
        return sure

    def surest(self, blur: float) -> Commitment | None:
        """Return the question whose answer is worth most, of the answers that are settled."""
        cloud = self.cloud
        worth = self.view.utilities(cloud.asked)[np.arange(len(cloud.labels)), cloud.labels]
        worth[~self.settled(blur)] = -np.inf
        best = int(np.argmax(worth)) if len(worth) else -1
        if best < 0 or worth[best] == -np.inf:
            return None
        return Commitment(cloud.asked[best], int(cloud.labels[best]), float(worth[best]), math.nan)

    def refused(self) -> None:
        """Take back the certified commitment and look farther from the other regions."""
        self.certified = None
        self.finished, self._left = False, []
        self._safety = min(self._safety * _GROWTH**2, 2 * _FARTHEST)

    def _certify(self, accuracy: float) -> None:
        assert self.planned is not None
        radius = certified_radius(self.planned.strategy, self._points, self.view.space)
        self.certified = Commitment(
            self.planned.strategy,
            self.planned.response,
            self.planned.value,
            max(0.0, min(radius - max(accuracy, self.accuracy), self.margin)),
        )

    def _plan(self) -> FloatArray | None:
        """Return a strategy to explore, or None with a certificate to ask for (or the end)."""
        radius, safety = self.margin + self.accuracy, self._safety * self.accuracy
        keep = radius + safety
        sample = self.cloud.promises(keep)
        self.upper_bound = max(self.best_value, float(sample.values.max()))
        promising, beat = self._promising(sample)
        centre = self._centre(sample, promising)
        plan = self.cloud.promises_of(centre[None], keep)
        candidate = None
        if plan.values[0] > -np.inf:
            candidate = Commitment(
                plan.strategies[0], int(plan.responses[0]), float(plan.values[0]), math.nan
            )
            if self.certified is None:
                self.planned = candidate
        if candidate is not None and candidate.value > beat and promising.any():
            points = fitted_points(
                candidate.strategy, candidate.response, centre, self.space, radius, safety
            )
            if points is None:
                points = corners_inside(candidate.strategy, radius, self.space)
            theirs = np.concatenate([centre[None], sample.payoffs[promising]])
            agree = (self.cloud.answers(points, theirs) == candidate.response).all(axis=1)
            more = (sample.values > candidate.value + self.tolerance).mean()
            if agree[0] and (more == 0 or (agree[1:].mean() >= _AGREE and more <= _MORE)):
                self.planned, self._points = candidate, points
                self._left = self._unproven(list(range(len(points))))
                if not self._left:
                    self._certify(self.accuracy)
                return None
        if not promising.any():
            spare = _SOLVES * len(self.cloud.labels) - self.cloud.solves
            climbs = min(_CLIMBS, max(1, _STEEP // self.view.payoffs.size))
            sample = self.cloud.climb(keep, beat, min(climbs, max(1, spare // len(sample.values))))
            self.upper_bound = max(self.upper_bound, float(sample.values.max()))
            promising, beat = self._promising(sample)
            if not promising.any():
                self.finished = True
                return None
        found = sample.where(promising)
        if len(found.values) < _ENOUGH:
            found = self.cloud.more_like(found, keep, beat)
        pool = np.vstack([found.strategies, self._mixtures(found)])
        if candidate is not None and candidate.value > beat:
            pool = np.vstack([pool, candidate.strategy])
        return pool[self._most_telling(pool, found.payoffs)]

    def _promising(self, sample: Promises) -> tuple[npt.NDArray[np.bool_], float]:
        """Tell which points promise enough, and the value that their commitments beat.

        The tolerance is for all that is lost, the margin's price included. So where no robust
        commitment is worth more by the tolerance, one that is worth a little more is enough if
        the optimum is that far away.
        """
        best, beat = self.best_value, self.best_value + self.tolerance
        promising = sample.values > beat
        if not promising.any():
            little = best + _LITTLE * self.tolerance
            some = np.flatnonzero(sample.values > little)
            promising[some] = self.cloud.promises_of(sample.payoffs[some], 0.0).values > beat
            if promising.any():
                beat = little
        return promising, beat

    def _centre(self, sample: Promises, promising: npt.NDArray[np.bool_]) -> FloatArray:
        """Return the mean of the promising payoffs, or one of them if the mean is not allowed."""
        which = np.flatnonzero(promising) if promising.any() else np.arange(len(promising))
        mean: FloatArray = sample.payoffs[which].mean(axis=0)
        if self.cloud.allows(mean):
            return mean
        order = which[np.argsort(sample.values[which])]
        return sample.payoffs[order[len(order) // 2]]

    def _most_telling(self, pool: FloatArray, promising: FloatArray) -> int:
        """Return which strategy's answer is expected to refute most promising points."""
        theirs, all_ = self.cloud.answers(pool, promising), self.cloud.answers(pool)
        kept = np.zeros(len(pool))
        for y in range(self.view.payoffs.shape[1]):
            kept += (theirs == y).mean(axis=0) * (all_ == y).mean(axis=0)
        return int(np.argmin(kept + 1e-6 * self.cloud.rng.random(len(pool))))

    def _mixtures(self, found: Promises) -> FloatArray:
        """Return mixtures of strategies that promise by the same response.

        Each promises as much by that response. What is best under one point lies at the end of a
        region; what lies between is in the regions of more points, so that its answer tells more.
        """
        parts = [np.zeros((0, found.strategies.shape[1]))]
        for response in np.unique(found.responses):
            same = found.strategies[found.responses == response]
            if len(same) > 1:
                parts.append(same.mean(axis=0, keepdims=True))
                weights = self.cloud.rng.dirichlet(np.full(len(same), 0.5), size=_MIXTURES)
                parts.append(weights @ same)
        return np.vstack(parts)

    def _unproven(self, points: list[int]) -> list[int]:
        """Return the points of the certificate that do not lie between answers that agree."""
        assert self.planned is not None
        which = self.cloud.labels == self.planned.response
        which &= self.cloud.accuracy <= self.accuracy * (1 + 1e-9)
        proven = lie_between(self._points[points], self.cloud.asked[which])
        return [i for i, known in zip(points, proven, strict=True) if not known]

    def state(self) -> State:
        """Return all that the search knows."""
        return {
            "cloud": self.cloud.state(),
            "numbers": [self.margin, self.accuracy, self.tolerance, self._safety],
            "certified": plain_commitment(self.certified),
            "planned": plain_commitment(self.planned),
            "upper_bound": self.upper_bound,
            "finished": self.finished,
            "points": self._points.copy(),
            "left": list(self._left),
        }

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""
        self.cloud.restore(state["cloud"])
        self.margin, self.accuracy, self.tolerance, self._safety = state["numbers"]
        self.certified, self.planned = (
            restored_commitment(state["certified"]),
            restored_commitment(state["planned"]),
        )
        self.upper_bound, self.finished = state["upper_bound"], state["finished"]
        self._points, self._left = state["points"].copy(), list(state["left"])


def search_payoffs(search: PayoffSearch) -> Search[Commitment | None]:
    """Run the search as a procedure that asks questions, and return what was certified."""
    while (question := search.question()) is not None:
        answer = yield question
        if not search.tell(question, answer.response, max(answer.accuracy, search.accuracy)):
            search.cloud.drop(search.cloud.contradictions()[:1])
    return search.certified
