"""The search in security games: learn the coverage that makes targets equally attractive.

An attacker's utility of target t falls with its coverage, a_t − δ_t c_t: 2n unknowns up to scale.
Let v* be the lowest level to which the resources hold the attacker and c* the coverage that does
it. Two facts need nothing else (not even that utilities are linear):

- An answer y at any coverage c proves c_y ≤ c*_y. Otherwise y would be worth less than v*, hence
  every target would, hence each would be covered by more than c*: more than the resources allow.
- c* spends no more than the resources r. So with proven lower bounds L ≤ c*, only S = r − ΣL is
  still unknown, and L_y ≤ c*_y ≤ L_y + S for every y.

Each question spreads the unknown S evenly over the targets and raises one lower bound by S/n: after
q questions S is r·(1 − 1/n)^q, whatever the answers. That is n·ln(r/tolerance) questions, where
looking for the hyperplanes between regions takes thousands. Where resources are so many that a
target can be covered for certain and is attacked all the same, the others are refused at their
coverage (upper bounds H), and what is left is a bisection for each target that promises more.

Targets that were never attacked in the first 2n questions are left uncovered from then on: if they
are worth an attack at all, they draw one.

**Attacks that stray say where bounds are wrong.** Answers of a calibrated attacker err, so bounds
are a few hundredths too high here and too low there, and what the attacked target gives up protects
it only from the rival whose bound is worst. So commitments lean: by a little more than the bound
where strayed attacks are more than the others' mean, by a little less where they are fewer, and not
at all where none stray.

**One question certifies a margin.** Regions are monotone: covering the attacked target y less, or
any other more, leaves y attacked. So if y answers where its own coverage is raised by ρ and every
other is lowered by ρ (cut at 0 and 1), every coverage within ρ of the commitment draws y.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stackcast._validation import InputError, real_number
from stackcast.principals.commitments import Commitment
from stackcast.principals.coverage_balance import levelled
from stackcast.principals.questions import Question

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._state import State
    from stackcast._validation import FloatArray
    from stackcast.games import PrincipalView
    from stackcast.principals.questions import Search

#: After this many questions for each target, those never attacked are left uncovered.
_PATIENCE = 2
#: How far a commitment leans at once, at most.
_LEAP = 0.01
#: How far the commitment stays below the proven coverage of its target, in units of what is in
#: doubt about it.
_BELOW = 0.5


class CoverageSearch:
    """Squeezes the coverage c* between bounds, one answer at a time.

    Parameters
    ----------
    view : PrincipalView
        The defender's view of a security game without constraints.
    tolerance : float
        The search ends when no target promises this much more than the best, in the defender's
        units.
    """

    def __init__(self, view: PrincipalView, tolerance: float) -> None:
        if view.space.kind != "coverage":
            found = "constraints on coverage, or another kind of game"
            raise InputError("view", "a security game of plain resources", found)
        self.view, self.tolerance = view, tolerance
        self.loss, self.relief = view.offsets, np.diag(view.payoffs).copy()
        self.resources = float(view.space.inequality_bounds[-1])
        self.restart()

    def restart(self) -> None:
        """Forget every answer."""
        n = self.view.space.dimension
        self.low, self.high = np.zeros(n), np.ones(n)
        self.seen = np.zeros(n, dtype=np.bool_)
        self.lean = np.zeros(n)
        self.kept = np.ones(n)
        self.asked = 0

    @property
    def unknown(self) -> float:
        """S: how much of the resources is not yet assigned to a target by an answer."""
        return max(0.0, self.resources - float(self.low.sum()))

    @property
    def upper(self) -> FloatArray:
        """The most that each target's coverage can be while it is attacked."""
        upper = np.minimum(self.high, self.low + self.unknown)
        upper[~self._awake] = 0.0
        return upper

    @property
    def _awake(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        early = self.asked < _PATIENCE * len(self.low)
        awake: np.ndarray[tuple[int], np.dtype[np.bool_]] = self.seen | early
        return awake

    @property
    def best(self) -> int:
        """The target to be attacked, by what is proven so far; −1 before the first answer."""
        if not self.seen.any():
            return -1
        return int(np.argmax(np.where(self.seen, self.loss + self.relief * self.low, -np.inf)))

    @property
    def upper_bound(self) -> float:
        """What no commitment can exceed, but for targets that were never attacked."""
        promised = self.loss + self.relief * self.upper
        return float(np.where(self._awake, promised, -np.inf).max())

    @property
    def finished(self) -> bool:
        """Whether nothing promises more than the tolerance beyond what is proven."""
        y = self.best
        if y < 0:
            return False
        proven = float(self.loss[y] + self.relief[y] * self.low[y])
        return self.upper_bound - proven <= self.tolerance

    def question(self) -> Question:
        """Return the coverage to be asked next."""
        room = np.where(self._awake, self.high - self.low, 0.0)
        coverage = self.low + levelled(np.zeros(len(room)), room, self.unknown)
        if room.sum() <= self.unknown + 1e-12:
            # Enough for all: only the coverage of one promising target is in doubt.
            promised = np.where(self._awake, self.loss + self.relief * self.upper, -np.inf)
            promised[self.high - self.low <= 0.0] = -np.inf
            y = int(np.argmax(promised))
            coverage[y] = (self.low[y] + self.high[y]) / 2
        return Question(np.clip(coverage, 0.0, 1.0), self.unknown / 2, "explore")

    def tell(self, coverage: FloatArray, response: int) -> None:
        """Take an answer."""
        self.asked += 1
        y, before = response, self.high[response]
        self.seen[y] = True
        proven = min(coverage[y], before)
        if proven > self.low[y]:
            self.low[y], self.lean[y] = proven, 0.0
        if coverage[y] >= before - 1e-15:
            # It is attacked at the most it can be covered: the others cannot be covered more.
            lowered = np.minimum(self.high, np.maximum(coverage, self.low))
            self.high = np.where(self._awake, lowered, self.high)
            self.high[y] = before

    def adopt(self, coverage: FloatArray, seen: npt.NDArray[np.bool_]) -> None:
        """Begin with coverage that was found in another way, and the targets that were attacked."""
        self.restart()
        self.low, self.seen = coverage.copy(), seen.copy()
        self.asked = _PATIENCE * len(coverage)

    def commitment(self, target: int, covered: float) -> Commitment:
        """Return coverage under which ``target`` should be attacked, itself covered as given.

        What is left of the resources goes to the other targets: to each what is proven for it, its
        lean, and the same level.
        """
        top = np.where(self._awake, self.high, 0.0)
        top[target] = 0.0
        coverage = levelled(self.low + self.lean, top, self.resources - covered)
        coverage[target] = covered
        value = float(self.loss[target] + self.relief[target] * covered)
        return Commitment(np.clip(coverage, 0.0, 1.0), target, value, 0.0)

    def balance(self, target: int, attacks: FloatArray, step: float) -> None:
        """Lean towards the targets that strayed attacks prefer, by ``step`` for each attack.

        ``attacks`` counts the attacks on each target while ``target`` was meant.
        """
        self.seen = self.seen | (attacks > 0)
        others = self.seen & (np.arange(len(attacks)) != target)
        if others.any():
            pull = step * (attacks - float(attacks[others].mean()))
            self.lean[others] += np.clip(pull, -_LEAP, _LEAP)[others]

    @property
    def likely(self) -> FloatArray:
        """What is proven for each target, or less where no attacks stray to it."""
        return np.minimum(self.low, self.low + self.lean)

    def leave(self, target: int, covered: float, earned: float) -> None:
        """Remember that no more was ``earned`` with a target for long, and how it was covered.

        It promises no more from now on, unless that is less than it is worth when uncovered.
        """
        relief = float(self.relief[target])
        worth = (earned - float(self.loss[target])) / relief if relief > 0 else covered
        self.kept[target] = max(0.0, min(covered, worth))

    def rival(self, target: int, held: float, worth: float) -> Commitment | None:
        """Return the best commitment to another target than the one that is attacked.

        The attacked one is held at ``held``. If that is below its bound, the others must stay as
        far below theirs: it is what the attacker's errors ask for, or how wrong bounds are. One
        that was left before promises no more than it kept, and one whose bound is below ``worth``
        nothing: it may not be worth an attack at all.
        """
        below = max(0.0, float(self.low[target]) - held)
        likely = self.likely
        covered = np.clip(likely - below, 0.0, self.kept)
        promised = np.where(
            self.seen & (likely >= worth), self.loss + self.relief * covered, -np.inf
        )
        promised[target] = -np.inf
        z = int(np.argmax(promised))
        if not np.isfinite(promised[z]):
            return None
        return self.commitment(z, float(covered[z]))

    def certificate(self, kept: Commitment, radius: float) -> FloatArray:
        """Return the coverage whose answer proves the margin ``radius`` of a commitment."""
        point = np.maximum(0.0, kept.strategy - radius)
        point[kept.response] = min(1.0, kept.strategy[kept.response] + radius)
        return point

    def state(self) -> State:
        """Return the bounds."""
        return {
            "low": self.low.copy(),
            "high": self.high.copy(),
            "seen": self.seen.copy(),
            "lean": self.lean.copy(),
            "kept": self.kept.copy(),
            "asked": self.asked,
            "tolerance": self.tolerance,
        }

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""
        self.low, self.high = state["low"].copy(), state["high"].copy()
        self.seen, self.asked = state["seen"].copy(), state["asked"]
        self.lean, self.kept = state["lean"].copy(), state["kept"].copy()
        self.tolerance = state["tolerance"]


def search_coverage(view: PrincipalView, tolerance: float) -> Search[Commitment]:
    """Find a commitment that is optimal within about ``tolerance``, and certify its margin.

    Parameters
    ----------
    view : PrincipalView
        The defender's view of a security game without constraints.
    tolerance : float
        In the defender's units.

    Examples
    --------
    >>> import stackcast as sc
    >>> from stackcast.principals import ExactOracle, ask_oracle
    >>> game = sc.load_game("wildlife")
    >>> oracle = ExactOracle(game.agent_view)
    >>> found = ask_oracle(search_coverage(game.principal_view, 1e-8), oracle)
    >>> game.targets[found.response], round(found.value, 7), found.margin > 0
    ('east plain', -1.6, True)
    """
    search = CoverageSearch(view, real_number("tolerance", tolerance, above=0))
    while True:
        while not search.finished:
            question = search.question()
            answer = yield question
            search.tell(question.strategy, answer.response)
        y, unknown = search.best, search.unknown
        doubt = float(search.upper[y] - search.low[y])
        kept = search.commitment(y, max(0.0, float(search.low[y]) - _BELOW * doubt))
        radius = doubt / (4 * len(search.low))
        point = search.certificate(kept, radius)
        answer = yield Question(point, radius / 2, "certify")
        if answer.response == y:
            margin = max(0.0, radius - answer.accuracy)
            return Commitment(kept.strategy, y, kept.value, margin)
        search.tell(point, answer.response)
        if search.unknown >= unknown:  # nothing was learnt: the rest is below rounding
            return kept
