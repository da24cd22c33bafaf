"""Agents that learn from utilities: mean-based, and without external, adaptive or swap regret.

With u_t(y) = U_A(h_t, y), an agent's *external regret* over T rounds is max_y Σ_t (u_t(y) −
u_t(y_t)), its *swap regret* the same with the best map y ↦ φ(y) in place of the best y, and its
*adaptive regret* the largest external regret on an interval of rounds. Utilities are shifted by the
least of the round and divided by the widest difference that a response can make
(:attr:`AgentView.scale`), so that they lie in [0, 1]: neither changes regrets but for the unit.

References
----------
Y. Freund and R. Schapire, A decision-theoretic generalization of on-line learning, 1997 (Hedge);
G. Brown, Iterative solution of games by fictitious play, 1951 (follow the leader); A. Blum and
Y. Mansour, From external to internal regret, JMLR 8, 2007; W. Grassmann, M. Taksar and D. Heyman,
Regenerative analysis and steady state distributions for Markov chains, 1985; H. Luo and
R. Schapire, Achieving all with no parameters: AdaNormalHedge, COLT 2015; E. Hazan and
C. Seshadhri, Efficient learning algorithms for changing environments, ICML 2009 (starts).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from stackcast._compiling import entry
from stackcast._random import stream
from stackcast._validation import one_of
from stackcast.agents.base import Learner, fitting, pick, softmax
from stackcast.games import BEST_RESPONSE_TOLERANCE
from stackcast.protocol import Responses

if TYPE_CHECKING:
    from stackcast._validation import FloatArray, IntArray
    from stackcast.games import TieRule
    from stackcast.protocol import Block


@dataclass(eq=False, repr=False)
class UtilityLearner(Learner):
    """A learner from utilities alone: what each response would have earned in each round."""

    _answers: np.random.Generator = field(init=False)
    _played: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._answers = stream(self.seed, "agent", "responses")

    def respond(self, block: Block) -> Responses:
        """Answer every round of the block, and learn from it."""
        view, rounds = self.view, block.rounds
        seen = self._observations(fitting(view, block.strategy), rounds)
        responses = np.empty(rounds, dtype=np.int64)
        self._play(_unit_gains(seen, view.payoffs, view.offsets, view.scale), responses)
        self._played += rounds
        return Responses(responses)

    @abstractmethod
    def _play(self, gains: FloatArray, responses: IntArray) -> None:
        """Fill in the responses, learning from each row of gains after its response.

        ``gains`` has one row for all rounds, or one for each.
        """


@entry
def _unit_gains(
    observations: FloatArray, payoffs: FloatArray, offsets: FloatArray, scale: float
) -> FloatArray:
    """Return the utilities of each row, from 0 for the least of the row, in units of ``scale``."""
    m, k = payoffs.shape
    gains = np.empty((len(observations), k))
    for t in range(len(observations)):
        for y in range(k):
            gains[t, y] = offsets[y]
        for x in range(m):
            if observations[t, x] != 0.0:
                for y in range(k):
                    gains[t, y] += observations[t, x] * payoffs[x, y]
        least = gains[t].min()
        for y in range(k):
            gains[t, y] = (gains[t, y] - least) / scale
    return gains


@dataclass(eq=False, repr=False)
class FollowTheLeader(UtilityLearner):
    """Plays the response with the most utility so far; fictitious play.

    It has no regret guarantee (alternating strategies defeat it) and can be exploited beyond the
    Stackelberg value by a principal who changes its strategy once.

    Parameters
    ----------
    view : AgentView
        The agent's view of the game.
    seed : int
        The seed of its draws.
    feedback : {"strategy", "action"}
        Whether it learns from the strategy of a round or from an action drawn from it.
    ties : {"lowest", "random"}
        Which of several leaders is played.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> agent = FollowTheLeader(game.agent_view)
    >>> agent.respond(sc.protocol.Block([0, 1], 4)).responses
    array([0, 1, 1, 1])
    """

    _: KW_ONLY
    ties: TieRule = "lowest"
    _totals: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("ties", self.ties, ("lowest", "random"))
        self._totals = np.zeros(len(self.view.agent_actions))

    def _play(self, gains: FloatArray, responses: IntArray) -> None:
        rounds = len(responses)
        at_random = self.ties == "random"
        uniforms = self._answers.random(rounds) if at_random else np.zeros(rounds)
        _follow(self._totals, self._played, gains, uniforms, responses, BEST_RESPONSE_TOLERANCE)


@entry
def nth_tied(values: FloatArray, tolerance: float, uniform: float) -> int:
    """Return the index of one of the largest values: the first for uniform = 0."""
    level = values.max() - tolerance
    tied = 0
    for y in range(len(values)):
        tied += values[y] >= level
    rank = int(uniform * tied)
    for y in range(len(values)):
        if values[y] >= level:
            if rank == 0:
                return y
            rank -= 1
    return len(values) - 1


@entry
def _follow(
    totals: FloatArray,
    played: int,
    gains: FloatArray,
    uniforms: FloatArray,
    responses: IntArray,
    tolerance: float,
) -> None:
    k = len(totals)
    step = 1 if len(gains) > 1 else 0
    for t in range(len(responses)):
        # The tolerance of one round for each round in the sum.
        responses[t] = nth_tied(totals, tolerance * (played + t), uniforms[t])
        for y in range(k):
            totals[y] += gains[step * t, y]


@dataclass(eq=False, repr=False)
class Hedge(UtilityLearner):
    """Plays each response with a probability exponential in its utility so far.

    In round t response y has weight exp(η_t·G_y), G_y the sum of its utilities (in units of the
    widest difference that a response makes) and η_t = 2√(ln k / t). Against every sequence of
    strategies and for every T at once, the expected external regret is at most
    √(T ln k) of those units: the mixability gaps sum to at most Σ η_t/8 and the change of the rate
    costs ln k / η_T.

    Mean-based: it trusts averages, so a principal can exploit it beyond the Stackelberg value.

    Parameters
    ----------
    view : AgentView
        The agent's view of the game.
    seed : int
        The seed of its draws.
    feedback : {"strategy", "action"}
        Whether it learns from the strategy of a round or from an action drawn from it.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> agent = Hedge(game.agent_view, seed=1)
    >>> agent.mixture
    array([0.5, 0.5])
    >>> int(agent.respond(sc.protocol.Block([1, 0], 1000)).responses[-100:].max())
    0
    """

    _totals: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._totals = np.zeros(len(self.view.agent_actions))

    @property
    def mixture(self) -> FloatArray:
        """The distribution from which the next response is drawn."""
        weights = np.empty_like(self._totals)
        softmax(self._totals, learning_rate(len(weights), self._played + 1.0), weights)
        return weights / weights.sum()

    def _play(self, gains: FloatArray, responses: IntArray) -> None:
        uniforms = self._answers.random(len(responses))
        _hedge(self._totals, self._played, gains, uniforms, responses)


@entry
def learning_rate(actions: int, rounds: float) -> float:
    """Return 2√(ln k / t)."""
    return float(2.0 * np.sqrt(np.log(actions) / rounds))


@entry
def _hedge(
    totals: FloatArray, played: int, gains: FloatArray, uniforms: FloatArray, responses: IntArray
) -> None:
    k = len(totals)
    step = 1 if len(gains) > 1 else 0
    weights = np.empty(k)
    for t in range(len(responses)):
        softmax(totals, learning_rate(k, played + t + 1.0), weights)
        responses[t] = pick(weights, uniforms[t])
        for y in range(k):
            totals[y] += gains[step * t, y]


#: No transition is rarer than this: the chain stays irreducible when an exponential underflows.
_RAREST = 1e-250


@dataclass(eq=False, repr=False)
class BlumMansour(UtilityLearner):
    """Plays the stationary distribution of k copies of Hedge, copy i being paid for response i.

    Copy i recommends a distribution q_i; the mixture p solves p = pQ; copy i gains p_i·u. Its rate
    2√(ln k / (1 + Σ p_i²)) follows its own share: its regret is at most √((1 + Σ p_i²) ln k), and
    the expected swap regret, against every sequence and for every T at once, at most
    √(k (T + k) ln k), in units of the widest difference that a response makes.

    No principal earns more than the Stackelberg value against it in the long run.

    Parameters
    ----------
    view : AgentView
        The agent's view of the game.
    seed : int
        The seed of its draws.
    feedback : {"strategy", "action"}
        Whether it learns from the strategy of a round or from an action drawn from it.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> agent = BlumMansour(game.agent_view, seed=1)
    >>> agent.mixture
    array([0.5, 0.5])
    >>> int(agent.respond(sc.protocol.Block([1, 0], 1000)).responses[-100:].max())
    0
    """

    _totals: FloatArray = field(init=False)
    _shares: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        k = len(self.view.agent_actions)
        self._totals = np.zeros((k, k))
        self._shares = np.zeros(k)

    @property
    def mixture(self) -> FloatArray:
        """The distribution from which the next response is drawn."""
        k = len(self._shares)
        mixture = np.empty(k)
        _mix_chain(self._totals, self._shares, np.empty((k, k)), mixture)
        return mixture

    def _play(self, gains: FloatArray, responses: IntArray) -> None:
        uniforms = self._answers.random(len(responses))
        _blum_mansour(self._totals, self._shares, gains, uniforms, responses)


@entry
def stationary(chain: FloatArray, mixture: FloatArray) -> None:
    """Write to ``mixture`` the p with p = pQ; ``chain`` (Q, positive) is overwritten.

    Gaussian elimination without a subtraction (Grassmann, Taksar and Heyman 1985): every entry is
    right to a few digits less than machine precision, however small it is.
    """
    k = len(mixture)
    for n in range(k - 1, 0, -1):
        out = 0.0
        for j in range(n):
            out += chain[n, j]
        for i in range(n):
            chain[i, n] /= out
            for j in range(n):
                chain[i, j] += chain[i, n] * chain[n, j]
    mixture[0] = 1.0
    total = 1.0
    for j in range(1, k):
        mixture[j] = 0.0
        for i in range(j):
            mixture[j] += mixture[i] * chain[i, j]
        total += mixture[j]
    for j in range(k):
        mixture[j] /= total


@entry
def _mix_chain(
    totals: FloatArray, shares: FloatArray, chain: FloatArray, mixture: FloatArray
) -> None:
    k = len(shares)
    for i in range(k):
        softmax(totals[i], learning_rate(k, 1.0 + shares[i]), chain[i])
        total = chain[i].sum()
        for j in range(k):
            chain[i, j] = max(chain[i, j] / total, _RAREST)
    stationary(chain, mixture)


@entry
def _blum_mansour(
    totals: FloatArray,
    shares: FloatArray,
    gains: FloatArray,
    uniforms: FloatArray,
    responses: IntArray,
) -> None:
    k = len(shares)
    step = 1 if len(gains) > 1 else 0
    chain, mixture = np.empty((k, k)), np.empty(k)
    for t in range(len(responses)):
        _mix_chain(totals, shares, chain, mixture)
        responses[t] = pick(mixture, uniforms[t])
        for i in range(k):
            shares[i] += mixture[i] ** 2
            for y in range(k):
                totals[i, y] += mixture[i] * gains[step * t, y]


# A start s = odd·2^a lives for 4·2^a + 1 rounds, so at most three of level a live at once: slots
# 3a+1 … 3a+3. Slot 0 is start 1, which lives for ever.
_SLOTS = 1 + 3 * 62
#: Weights below the largest by this factor (in logs) cannot be seen in a double.
_NEGLIGIBLE = 45.0


@dataclass(eq=False, repr=False)
class AdaNormalHedge(UtilityLearner):
    """Draws responses so that its regret is small on every interval of rounds at once.

    One sleeping expert for each response and each start s, awake from round s; starts follow the
    streaming rule of Hazan and Seshadhri (O(log t) of them alive), and start 1 lives for ever. For
    every interval of L rounds that ends in round t, the expected external regret on it is at most
    3.42·√(3 L ln(k t (5/2 + (3/2) ln(1+t)))) in units of the widest difference that a response
    makes: √(3 L ln …) for a start's lifetime, and a chain of lifetimes that double covers the
    interval.

    Parameters
    ----------
    view : AgentView
        The agent's view of the game.
    seed : int
        The seed of its draws.
    feedback : {"strategy", "action"}
        Whether it learns from the strategy of a round or from an action drawn from it.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> agent = AdaNormalHedge(game.agent_view, seed=1)
    >>> int(agent.respond(sc.protocol.Block([1, 0], 20_000)).responses[-1])
    0
    >>> answers = agent.respond(sc.protocol.Block([0, 1], 1000)).responses
    >>> bool((answers == 1).mean() > 0.9)
    True
    """

    _regrets: FloatArray = field(init=False)
    _starts: IntArray = field(init=False)
    _snapshots: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        k = len(self.view.agent_actions)
        self._regrets = np.zeros((2, k))  # Σ r and Σ |r| of every response since round 1
        self._starts = np.zeros(_SLOTS, dtype=np.int64)
        self._snapshots = np.zeros((_SLOTS, 2, k))  # the two sums before each start

    @property
    def mixture(self) -> FloatArray:
        """The distribution from which the next response is drawn."""
        mixture = np.empty(self._regrets.shape[1])
        starts, snapshots = self._starts.copy(), self._snapshots.copy()
        _wake(starts, snapshots, self._regrets, self._played + 1)
        _mix(starts, snapshots, self._regrets, self._played + 1, mixture)
        return mixture

    def _play(self, gains: FloatArray, responses: IntArray) -> None:
        _ada_normal_hedge(
            self._regrets,
            self._starts,
            self._snapshots,
            self._played,
            gains,
            self._answers.random(len(responses)),
            responses,
        )


@entry
def _wake(starts: IntArray, snapshots: FloatArray, regrets: FloatArray, now: int) -> None:
    """Begin the start ``now``, in the slot of a start that is over."""
    if now == 1:
        starts[0] = 1
    level = 0
    while (now >> level) % 2 == 0:
        level += 1
    slot = 1 + 3 * level + (now >> (level + 1)) % 3
    starts[slot] = now
    snapshots[slot] = regrets


@entry
def _log_weight(regret: float, size: float) -> float:
    """Return log w(R, C) of AdaNormalHedge; −∞ for weight 0."""
    if regret <= -1.0:
        return -np.inf
    a = (regret + 1.0) ** 2 / (3.0 * (size + 1.0))
    d = 4.0 * regret / (3.0 * (size + 1.0)) if regret >= 1.0 else a
    return float(a + np.log(-np.expm1(-d)) - np.log(2.0))


@entry
def _mix(
    starts: IntArray, snapshots: FloatArray, regrets: FloatArray, now: int, mixture: FloatArray
) -> None:
    """Write to ``mixture`` the weights of the responses, summed over the starts that are awake."""
    k = len(mixture)
    slots = 1
    while (now >> (slots // 3)) > 0:
        slots += 3
    awake = np.empty(slots, dtype=np.int64)
    count = 0
    for slot in range(slots):
        level = (slot - 1) // 3
        if starts[slot] > 0 and (slot == 0 or now - starts[slot] <= 4 << level):
            awake[count] = slot
            count += 1
    top_a, top = -np.inf, -np.inf
    exponents = np.full((count, k), -np.inf)
    for n in range(count):
        for y in range(k):
            regret = regrets[0, y] - snapshots[awake[n], 0, y]
            if regret > -1.0:
                size = regrets[1, y] - snapshots[awake[n], 1, y]
                exponents[n, y] = (regret + 1.0) ** 2 / (3.0 * (size + 1.0))
                if exponents[n, y] > top_a:
                    top_a = exponents[n, y]
                    top = _log_weight(regret, size)
    if top == -np.inf:
        mixture[:] = 1.0 / k
        return
    mixture[:] = 0.0
    total = 0.0
    for n in range(count):
        for y in range(k):
            if exponents[n, y] > top - _NEGLIGIBLE:  # log w is at most the exponent
                regret = regrets[0, y] - snapshots[awake[n], 0, y]
                size = regrets[1, y] - snapshots[awake[n], 1, y]
                weight = np.exp(_log_weight(regret, size) - top)
                mixture[y] += weight
                total += weight
    for y in range(k):
        mixture[y] /= total


@entry
def _ada_normal_hedge(
    regrets: FloatArray,
    starts: IntArray,
    snapshots: FloatArray,
    played: int,
    gains: FloatArray,
    uniforms: FloatArray,
    responses: IntArray,
) -> None:
    k = regrets.shape[1]
    step = 1 if len(gains) > 1 else 0
    mixture = np.empty(k)
    for t in range(len(responses)):
        now = played + t + 1
        _wake(starts, snapshots, regrets, now)
        _mix(starts, snapshots, regrets, now, mixture)
        responses[t] = pick(mixture, uniforms[t])
        mean = 0.0
        for y in range(k):
            mean += mixture[y] * gains[step * t, y]
        for y in range(k):
            regret = gains[step * t, y] - mean
            regrets[0, y] += regret
            regrets[1, y] += abs(regret)
