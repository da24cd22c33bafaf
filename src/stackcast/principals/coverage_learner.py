"""The learner of security games: balances the coverage, commits, watches, and adjusts.

It begins with :class:`CoverageBalance`, which finds the coverage that makes targets equally
attractive, and covers those sooner whose attacks cost more. Nothing is told about the attacker,
neither its payoffs nor the rate of its calibration: the rate is modelled as r(t) = c·√(log(n²t)/t)
with c low at first, and what contradicts it doubles c.

The commitment covers its target clearly less than that at first and comes closer smoothly, until
the attacker leaves (:class:`CoverageApproach`); then it holds still. The coverage of the other
targets leans towards those that draw strayed attacks, by steps that fall like one over the rounds.
When another target promises clearly more than the attacked one keeps, or than was earned of late,
the learner turns to it.

Towards the end of the horizon the commitment moves inwards until its answers prove a margin. Before
that a certificate would be lost with the next move, and a margin costs something in every round.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import real_number, whole_number
from stackcast.principals.commitments import Commitment, plain_commitment, restored_commitment
from stackcast.principals.coverage_approach import CoverageApproach
from stackcast.principals.coverage_balance import CoverageBalance
from stackcast.principals.coverage_search import CoverageSearch
from stackcast.principals.learned import Contradiction, LearnedCommitment
from stackcast.principals.questions import Answer, Question, SelfStopping
from stackcast.protocol import Block, Principal

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._state import State
    from stackcast._validation import FloatArray
    from stackcast.games import PrincipalView

#: c at first, and at most.
_CONSTANT, _LARGEST_CONSTANT = 0.01, 1.0
#: Rounds of exploration for each target, at most this part of the horizon, in blocks of so many.
_ROUNDS, _PART, _PIECE = 67, 20, 10
#: The balanced coverage of a target from which on it is known to be worth an attack.
_WORTH = 0.005
#: The share of the horizon after which the commitment is settled and certified: the second one if
#: most attacks go elsewhere (to targets worth as much), because they are slow to come.
_LATE, _SLOW = 0.85, 0.7
#: The share of attacks as they should be that is worth asking for a certificate.
_FIRM = 0.75
#: A certificate is given up if a smaller share of attacks is as it should be for a block.
_REFUSED = 0.6
#: How far the commitment moves inwards for a certificate, at least.
_INWARDS = 0.01
#: A share of attacks as they should be that grows by so much from block to block is left to grow.
_COMING = 0.05
#: How far a commitment leans for each strayed attack, over the rounds since the search was opened.
_LEANING = 8.0
#: Rounds of a block, if the horizon is long.
_ROUNDS_OF_BLOCK = 500
#: Rounds of a block after which it is given up if no larger share of attacks is as it should be.
_GLIMPSE, _LEFT = 50, 0.1
#: Blocks in a row that most attacks may miss before the search is opened again.
_FALLS = 5
#: Another target is tried if it promises more than the attacked one keeps, or is earned with it, by
#: these shares of the width of the payoffs, with at least this share of the horizon to go.
_PROMISE, _EARNED, _TO_GO = 0.01, 0.05, 0.25
#: Blocks that it takes to see what the attacker makes of a commitment, and over which earnings are
#: averaged.
_SHOWN, _RECENT = 20, 10
#: A commitment that was right for so many rounds (or a share of the horizon) was no accident.
_LONG, _LONG_SHARE = 1000, 50


class CoverageLearner(Principal):
    """Learns a commitment of a security game from attacks alone, and watches it.

    Parameters
    ----------
    view : PrincipalView
        The defender's view of a security game without constraints.
    horizon : int
        How many rounds will be played, about.
    seed : int
        Kept for the record: the learner draws nothing.
    margin : float, optional
        The margin to certify; by default what a hundredth of the horizon can prove.

    Examples
    --------
    >>> import stackcast as sc
    >>> from stackcast.agents import BestResponse
    >>> game = sc.load_game("patrol")
    >>> principal = CoverageLearner(game.principal_view, horizon=20_000)
    >>> t = sc.play(principal, BestResponse(game.agent_view), rounds=20_000)
    >>> game.targets[principal.result.response], bool(principal.result.value > -1.15)
    ('marina', True)
    """

    plays = ("security",)

    def __init__(
        self, view: PrincipalView, horizon: int, seed: int = 0, *, margin: float | None = None
    ) -> None:
        super().__init__(view, seed=seed)
        self._view = view
        self._horizon = whole_number("horizon", horizon, at_least=1)
        n = view.space.dimension
        self._search = CoverageSearch(view, 0.0)
        spread = float(np.ptp(self._search.loss) + self._search.relief.max()) or 1.0
        self._width = spread
        self._timing = SelfStopping(n, n, _CONSTANT)
        self._asked_margin = margin
        if margin is not None:
            real_number("margin", margin, above=0, at_most=0.5)
        self._played = self._questions = 0
        self._rounds: dict[str, int] = {}
        self._contradictions: list[Contradiction] = []
        self._question: Question | None = None
        self._heard = np.zeros(0, dtype=np.int64)
        self._commitment: Commitment | None = None
        self._proof: tuple[FloatArray, float] | None = None
        self._approach = CoverageApproach()
        self._clean = self._falls = self._opened = 0
        self._settling = math.nan
        self._earned = 0.0
        self._balance = self._new_balance()

    def _new_balance(self) -> CoverageBalance:
        n = self._view.space.dimension
        rounds = max(_PIECE, min(_ROUNDS * n, self._horizon // _PART))
        return CoverageBalance(n, self._search.resources, rounds)

    @property
    def settings(self) -> dict[str, Any]:
        """All that makes this principal another one."""
        return {
            "name": "CoverageLearner",
            "horizon": self._horizon,
            "seed": self.seed,
            "margin": self._asked_margin,
        }

    @property
    def result(self) -> LearnedCommitment:
        """What it would commit to now, and what it can say for it."""
        best = self._commitment
        if best is None:
            best = Commitment(self._balance.coverage, -1, math.nan, math.nan)
        margin = self._certified(best)
        return LearnedCommitment(
            best.strategy,
            best.response if best.response >= 0 else None,
            best.value,
            margin,
            max(self._search.upper_bound, best.value),
            rounds=dict(self._rounds),
            constant=self._timing.constant,
            contradictions=tuple(self._contradictions),
            questions=self._questions,
            certified=not math.isnan(margin),
        )

    def commit(self) -> Block:
        """Return the next piece of exploration, of a question, or of the commitment."""
        if self._commitment is None:
            return Block(self._balance.coverage, _PIECE, "explore")
        if self._question is not None:
            asked = self._question
            rounds, _ = self._timing.next_piece(self._heard, asked.accuracy, self._longest())
            if not len(self._heard):
                rounds = min(rounds, _GLIMPSE)
            return Block(asked.strategy, max(rounds, 1), asked.phase)
        rounds = self._block() - len(self._heard)
        if not len(self._heard) and self._watchful:
            rounds = min(rounds, _GLIMPSE)
        return Block(self._commitment.strategy, rounds, "commit")

    def observe(self, responses: npt.NDArray[Any]) -> None:
        """Learn from the attacks on a piece."""
        attacks = np.asarray(responses, dtype=np.int64)
        kept, asked = self._commitment, self._question
        phase = "explore" if kept is None else "commit" if asked is None else asked.phase
        self._rounds[phase] = self._rounds.get(phase, 0) + len(attacks)
        self._played += len(attacks)
        if kept is None:
            self._balance.tell(attacks, self._view.utilities(self._balance.coverage) / self._width)
            if self._balance.finished:
                self._open()
            return
        self._heard = np.append(self._heard, attacks)
        if asked is None:
            if len(self._heard) >= self._block() or self._gone():
                heard, self._heard = self._heard, np.zeros(0, dtype=np.int64)
                self._watch(heard)
            return
        answer = self._answer()
        if answer is None:
            return
        refused = self._refusing()
        self._question, self._heard = None, np.zeros(0, dtype=np.int64)
        self._questions += 1
        if answer.response == kept.response and not refused:
            self._proof = asked.strategy, answer.accuracy
        else:
            self._lower(kept)

    def _refusing(self) -> bool:
        """Tell whether the certificate that is being asked for is refused by now."""
        asked, kept, played = self._question, self._commitment, len(self._heard)
        if asked is None or kept is None:
            return False
        least = _REFUSED if played >= self._block() else _LEFT
        return float((self._heard[played // 2 :] == kept.response).mean()) < least

    def _answer(self) -> Answer | None:
        """Return the answer to the question if it is sure by now."""
        asked = self._question
        assert asked is not None
        # A refusal need not be as sure as a certificate.
        longest = len(self._heard) if self._refusing() else self._longest()
        return self._timing.next_piece(self._heard, asked.accuracy, longest)[1]

    def _certified(self, kept: Commitment) -> float:
        """Return the margin of a commitment that the last certificate proves; NaN if none.

        What the certificate proves for its own point, right up to its accuracy, it proves wherever
        the attacked target is covered less and the others more.
        """
        if self._proof is None or kept is not self._commitment:
            return math.nan
        point, accuracy = self._proof
        room = kept.strategy - point
        room[kept.response] *= -1
        others = np.arange(len(room)) != kept.response
        room[others & (point <= 0.0)] = math.inf  # no forecast covers a target less than not at all
        margin = float(room.min()) - accuracy
        return margin if margin > 0 else math.nan

    # What to do next ------------------------------------------------------------------------

    @property
    def _margin(self) -> float:
        """How far a certificate reaches: twice what a question of the longest kind can tell."""
        if self._asked_margin is not None:
            return 2 * self._asked_margin
        window = max(20, self._horizon // 40)
        return min(0.25, 2 * self._timing.accuracy(window, window))

    def _block(self) -> int:
        """Return how long the commitment is held before it is looked at."""
        return max(20, min(_ROUNDS_OF_BLOCK, self._horizon // 200))

    def _longest(self) -> int:
        """Return how many rounds a certificate may take."""
        return max(20, self._horizon // 20)

    def _open(self) -> None:
        """Commit to the best of what exploration found."""
        self._search.adopt(self._balance.estimate, self._balance.seen)
        search = self._search
        worth = np.where(search.seen, search.loss + search.relief * search.low, -np.inf)
        firm = np.where(search.low >= _WORTH, worth, -np.inf)
        y = int(np.argmax(firm if np.isfinite(firm).any() else worth))
        self._commitment = search.commitment(y, self._approached(y, float(search.low[y])))
        self._settling = math.nan

    def _approached(self, target: int, balanced: float) -> float:
        """Begin the way to the balance of a target; return its coverage at first."""
        self._approach.start(balanced, float(self._search.relief[target]) / self._width)
        return self._approach.coverage

    # The commitment, watched ----------------------------------------------------------------

    @property
    def _watchful(self) -> bool:
        """Whether a block is given up early if the attacker has left."""
        return self._approach.blocks >= _SHOWN and self._falls == 0

    def _gone(self) -> bool:
        """Tell whether the attacker has left for another target already."""
        assert self._commitment is not None
        right = float((self._heard == self._commitment.response).mean())
        return self._watchful and right < _LEFT

    def _watch(self, attacks: npt.NDArray[np.int64]) -> None:
        """Compare what the commitment earns with what it promised, and move it."""
        kept = self._commitment
        assert kept is not None
        counts = np.bincount(attacks, minlength=len(kept.strategy)).astype(np.float64)
        shares = counts / len(attacks)
        # Attacks on targets that are worth as much are no reason to retreat.
        utilities = self._view.utilities(kept.strategy)
        worse = utilities < kept.value - 0.01 * self._width
        wrong = float(shares[worse].sum())
        earned = float(utilities @ shares)
        self._earned += (earned - self._earned) / min(self._approach.blocks + 1, _RECENT)
        if wrong <= 0.5:
            self._clean += len(attacks)
            self._falls = 0
        elif self._approach.blocks >= _SHOWN or not math.isnan(self._settling):
            self._falls += 1
            if self._falls >= _FALLS:
                self._refuted(wrong)
                return
        share = float(shares[kept.response])
        late = (_LATE if share >= 0.5 else _SLOW) * self._horizon
        if self._played >= late or not math.isnan(self._settling):
            self._settle(kept, share)
            return
        self._search.balance(kept.response, counts, _LEANING / (self._played - self._opened))
        held = float(kept.strategy[kept.response])
        moved = self._approach.move(wrong, len(attacks) / self._horizon)
        target = self._turned(kept, held)
        if target != kept.response:
            self._search.leave(kept.response, held, self._earned)
            moved = self._approached(target, float(self._search.likely[target]))
        self._commitment = self._search.commitment(target, moved)

    def _turned(self, kept: Commitment, held: float) -> int:
        """Return the target to be attacked: another one if it promises clearly more.

        More than the attacked one is worth, or than is earned with it, strayed attacks included.
        """
        left = self._horizon - self._played
        if self._approach.blocks < _SHOWN or left < _TO_GO * self._horizon:
            return kept.response
        rival = self._search.rival(kept.response, held, _WORTH)
        worth = min(kept.value + _PROMISE * self._width, self._earned + _EARNED * self._width)
        return rival.response if rival is not None and rival.value > worth else kept.response

    def _settle(self, kept: Commitment, share: float) -> None:
        """Move inwards until the attacker's answers prove a margin; then stay.

        Late, because a margin costs something in every round and what moves loses its certificate.
        While the attacker is coming, as ``share`` of its attacks says, there is no need to move.
        """
        before, self._settling = self._settling, share
        if math.isnan(before):
            self._lower(kept)
        elif not math.isnan(self._certified(kept)) and share >= 0.5:
            return
        elif share >= _FIRM:
            point = self._search.certificate(kept, self._margin)
            self._question = Question(point, self._margin / 2, "certify")
        elif share < before + _COMING:
            self._proof = None
            self._lower(kept)

    def _lower(self, kept: Commitment) -> None:
        """Cover the target less, by the reach of a certificate."""
        by = max(self._margin, _INWARDS)
        less = max(0.0, float(kept.strategy[kept.response]) - by)
        self._commitment = self._search.commitment(kept.response, less)

    def _refuted(self, wrong: float) -> None:
        """Re-open the search: no lesser coverage leads the attacker back."""
        self._contradictions.append(Contradiction(self._played, "commitment", wrong))
        long = self._clean >= max(_LONG, self._horizon // _LONG_SHARE)
        self._commitment, self._proof = None, None
        self._clean = self._falls = 0
        self._opened = self._played
        if not long:  # otherwise the attacker has changed, which says nothing of its rate
            self._timing.constant = min(2 * self._timing.constant, _LARGEST_CONSTANT)
        self._balance = self._new_balance()

    def state(self) -> State:
        """Return all that the learner knows, as plain state."""
        asked = self._question
        return {
            "balance": self._balance.state(),
            "search": self._search.state(),
            "constant": self._timing.constant,
            "numbers": [
                self._played,
                self._questions,
                self._clean,
                self._falls,
                self._opened,
            ],
            "settling": self._settling,
            "earned": self._earned,
            "approach": self._approach.state(),
            "proof": None if self._proof is None else [self._proof[0].copy(), self._proof[1]],
            "rounds": dict(self._rounds),
            "contradictions": [[c.round, c.kind, c.share] for c in self._contradictions],
            "question": None
            if asked is None
            else [asked.strategy.copy(), asked.accuracy, asked.phase],
            "heard": self._heard.copy(),
            "commitment": plain_commitment(self._commitment),
        }

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""
        self._balance.restore(state["balance"])
        self._search.restore(state["search"])
        self._timing.constant = state["constant"]
        numbers = state["numbers"]
        self._played, self._questions, self._clean, self._falls, self._opened = numbers
        self._settling, self._earned = state["settling"], state["earned"]
        self._approach.restore(state["approach"])
        proof = state["proof"]
        self._proof = None if proof is None else (proof[0].copy(), proof[1])
        self._rounds = dict(state["rounds"])
        self._contradictions = [Contradiction(*entry) for entry in state["contradictions"]]
        asked = state["question"]
        self._question = None if asked is None else Question(asked[0].copy(), *asked[1:])
        self._heard = state["heard"].copy()
        self._commitment = restored_commitment(state["commitment"])
