"""What the theory says before anything is played: bounds, parameters, and what anyone can earn.

- :func:`upper_bound`: Theorem 3.1's α, a priori;
- :class:`TheoryParameters`: every quantity of learning to commit (Theorem 3.2, Corollary 6.3);
- :func:`most`: what any principal can earn from an agent of given average regret;
- :func:`least`: what a commitment earns at least against such an agent.

Let q_y be the share of rounds with response y times the mean strategy on them. Play is a point
(q_y) of the cones over the strategy space with Σ_y (shares) = 1, and the agent's regrets and the
principal's utility are linear in it: so both extremes are linear programs.

The constants of :class:`TheoryParameters` are those under which the proofs go through. The
membership oracle needs ε₂ ≤ 0.1·ε₁/√m and Φ = ⌈9·ln(1/ε₃)⌉ epochs; with the printed constants its
second claim asks for ⟨S, e⟩ ≥ 3/√m, which has probability 0 for m ≤ 9. So Algorithm 3 initialises
with ε₂ = η/(40√m), checks with ε₁ = ε_robust·√m/1.1 and ε₂ = ε_robust/11, and needs
ε_robust ≤ (0.1·C/√m)·(η·ε_opt/m)¹³.

References
----------
Haghtalab, Podimata and Yang (2023). Calibrated Stackelberg games: learning optimal commitments
against calibrated agents. NeurIPS.

Deng, Schneider and Sivan (2019). Strategizing against no-regret learners. NeurIPS.

Lin and others (2025). Generalized principal-agent problem with a learning agent. ICLR.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError, one_of, real_number, shown, whole_number
from stackcast.calibration import AdaptiveRate, PowerRate, as_rate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stackcast._validation import FloatArray
    from stackcast.calibration import Rate
    from stackcast.games import Game


def upper_bound(
    utility_max: float,
    m: int,
    k: int,
    rounds: int,
    rate: float | Callable[[int], float],
    *,
    delta: float = 0.05,
    epsilon: float = 0.0,
    random_ties: bool = False,
) -> float:
    """Return α of Theorem 3.1: no principal earns more than V* + α a round.

    α = U_max·m·k·(r_δ(T) + ε), plus U_max·m·k·√(ln(1/δ)/T) if the agent draws among tied best
    responses.

    Parameters
    ----------
    utility_max : float
        The largest absolute payoff of the principal.
    m, k : int
        The numbers of actions of the principal and the agent.
    rounds : int
        T.
    rate : float or callable
        The agent's calibration error r_δ(T), or the rate as a function of T.
    delta : float
        The chance that the bound fails, with ``random_ties``.
    epsilon : float
        The ε of (ε, Π)-calibration.
    random_ties : bool
        Whether the agent draws among its best responses.

    Examples
    --------
    >>> upper_bound(1.0, 3, 3, 10_000, lambda T: T**-0.5)
    0.09
    """
    top = real_number("utility_max", utility_max, at_least=0.0)
    size = whole_number("m", m, at_least=1) * whole_number("k", k, at_least=1)
    T = whole_number("rounds", rounds, at_least=1)
    real_number("delta", delta, above=0.0, at_most=1.0)
    error: object = rate(T) if callable(rate) else rate
    if isinstance(error, np.generic):
        error = error.item()
    allowed = real_number("rate", error, at_least=0.0)
    allowed += real_number("epsilon", epsilon, at_least=0.0)
    return top * size * (allowed + (math.sqrt(math.log(1 / delta) / T) if random_ties else 0.0))


def most(game: Game, regret: float = 0.0, kind: str = "swap") -> float:
    """Return what any principal can earn a round from an agent of this average regret.

    With ``kind="swap"``: max Σ_y U_P(q_y, y) subject to z_y ≥ U_A(q_y, j) − U_A(q_y, y) for all j,
    z ≥ 0 and Σ_y z_y ≤ σ. At σ = 0 it is V*. With ``kind="external"`` the constraints are
    Σ_y (U_A(q_y, j) − U_A(q_y, y)) ≤ σ for all j; at σ = 0 it is what can be had from an agent
    without external regret, V* or more.

    Parameters
    ----------
    game : Game
        A finite or security game.
    regret : float
        The average regret σ ≥ 0 a round, in the agent's units. The value is concave in it.
    kind : {"swap", "external"}

    Notes
    -----
    The number returned is the value of a dual solution, evaluated with its constraints restored: an
    upper bound whatever the accuracy of the linear program, and equal to the optimum up to it.

    Examples
    --------
    >>> from stackcast.games import load_game
    >>> game = load_game("milking")
    >>> round(most(game), 6), round(most(game, kind="external"), 4)
    (0.5, 0.7619)
    """
    sigma = real_number("regret", regret, at_least=0.0)
    swap = one_of("kind", kind, ("swap", "external")) == "swap"
    _finite("game", game)
    U, W = game.principal_view, game.agent_view
    _m, k = U.payoffs.shape
    # Scales: the program sees payoffs of about 1, whatever the units.
    unit, width = W.scale, float(np.ptp(U.payoffs)) or 1.0
    prices = _prices(game, sigma / unit, swap, width, unit)
    if swap:
        price = float(prices.sum(axis=1).max())  # the price of regret, dσ of the value
        gains = [prices[y] @ (W.payoffs - W.payoffs[:, [y]]).T for y in range(k)]
        shifts = [float(prices[y] @ (W.offsets - W.offsets[y])) for y in range(k)]
    else:
        price = float(prices[0].sum())
        gains = [prices[0] @ (W.payoffs - W.payoffs[:, [y]]).T for y in range(k)]
        shifts = [float(prices[0] @ (W.offsets - W.offsets[y])) for y in range(k)]
    highest = -math.inf
    for y in range(k):
        column = U.payoffs[:, y] - gains[y]
        point = game.space.argmax(column)
        highest = max(highest, float(point @ column) + float(U.offsets[y]) - shifts[y])
    return price * sigma + highest


def _prices(game: Game, sigma: float, swap: bool, width: float, unit: float) -> FloatArray:
    """Return the dual prices of the regret constraints, one row a response (one row: external)."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, hstack, vstack

    U, W, space = game.principal_view, game.agent_view, game.space
    m, k = U.payoffs.shape
    # One block of columns for each response y: q_y, then its share t_y of the rounds.
    A = np.column_stack([space.inequality_rows, -space.inequality_bounds])
    E = np.column_stack([space.equality_rows, -space.equality_bounds])
    one = np.eye(k)
    worth = np.vstack([U.payoffs, U.offsets]) / width
    gain = np.vstack([W.payoffs, W.offsets]) / unit
    regrets = [coo_array((gain - gain[:, [y]]).T) for y in range(k)]
    cost = -worth.T.ravel()
    if swap:
        rows = _blocks(regrets)
        ones = coo_array(np.kron(one, -np.ones((k, 1))))
        rows = vstack([hstack([rows, ones]), _last(cost.size, k)])
        bounds = np.concatenate([np.zeros(k * k), [sigma]])
        cost = np.concatenate([cost, np.zeros(k)])
    else:
        rows, bounds = hstack(regrets), np.full(k, sigma)
    extra = cost.size - k * (m + 1)
    cones, hulls = _blocks([coo_array(A)] * k), _blocks([coo_array(E)] * k)
    share = np.concatenate([np.tile(np.append(np.zeros(m), 1.0), k), np.zeros(extra)])
    result = linprog(
        cost,
        A_ub=vstack([rows, _widened(cones, extra)]).tocsr(),
        b_ub=np.concatenate([bounds, np.zeros(cones.shape[0])]),
        A_eq=vstack([_widened(hulls, extra), coo_array(share[None])]).tocsr(),
        b_eq=np.concatenate([np.zeros(hulls.shape[0]), [1.0]]),
        bounds=[*([(None, None)] * m + [(0.0, None)]) * k, *[(0.0, None)] * extra],
        method="highs",
    )
    if result.x is None:
        raise RuntimeError(f"the linear program of regret was not solved: {result.message}")
    found = np.maximum(-result.ineqlin.marginals[: k * k if swap else k], 0.0) * (width / unit)
    return found.reshape(-1, k)


def _blocks(parts: Sequence[Any]) -> Any:
    from scipy.sparse import block_diag

    return block_diag(parts, format="coo")


def _widened(rows: Any, extra: int) -> Any:
    from scipy.sparse import coo_array, hstack

    return hstack([rows, coo_array((rows.shape[0], extra))]) if extra else rows


def _last(before: int, extra: int) -> Any:
    from scipy.sparse import coo_array

    return coo_array(np.concatenate([np.zeros(before), np.ones(extra)])[None])


def least(game: Game, strategy: Any, regret: float) -> float:
    """Return what a strategy that is held earns at least against any agent of this average regret.

    min Σ_y w_y U_P(h, y) subject to Σ_y w_y (max_j U_A(h, j) − U_A(h, y)) ≤ σ, w on the simplex:
    so a share of wrong responses is at most σ over the gap of the second-best response. The minimum
    mixes at most two responses, one with a gap up to σ and one beyond.

    Parameters
    ----------
    game : Game
        A finite or security game.
    strategy : array-like
        The strategy h.
    regret : float
        The agent's average regret σ ≥ 0 a round; while h is held, swap and external regret agree.

    Examples
    --------
    >>> from stackcast.games import load_game
    >>> game = load_game("textbook-commitment")
    >>> [round(least(game, [0.4, 0.6], sigma), 3) for sigma in (0.0, 0.02, 0.1)]
    [2.4, 2.2, 1.4]
    """
    _finite("game", game)
    h = game.space.check("strategy", strategy)
    sigma = real_number("regret", regret, at_least=0.0)
    earned, utilities = game.principal_view.utilities(h), game.agent_view.utilities(h)
    gaps = utilities.max() - utilities
    gaps[game.agent_view.best_responses(h)] = 0.0
    found = math.inf
    for i in np.flatnonzero(gaps <= sigma):
        found = min(found, float(earned[i]))
        for j in np.flatnonzero(gaps > sigma):
            share = (sigma - gaps[i]) / (gaps[j] - gaps[i])
            found = min(found, float((1 - share) * earned[i] + share * earned[j]))
    return found


def _finite(field: str, game: Any) -> None:
    if not hasattr(game, "agent_view") or not hasattr(game.agent_view, "payoffs"):
        raise InputError(field, "a game with lists of actions", shown(game))


@dataclass(frozen=True)
class Precision:
    """What a call of the membership oracle is asked for: ε₁ and ε₂."""

    approximation: float
    conservatism: float


@dataclass(frozen=True)
class TheoryParameters:
    """The parameters of Algorithms 2 and 3, and what the theorem says of them.

    Build one with :meth:`compute`; override any quantity with :func:`dataclasses.replace`.

    Parameters
    ----------
    actions, responses : int
        m and k.
    regularity : float
        η, the radius of a ball in the optimal region (Assumption 1).
    horizon : int
        T.
    rate : Rate
        r_δ, the rate of the agent's calibration.
    tolerance : float
        ε_opt, how far from V* the commitment may be; payoffs in [0, 1].
    robustness : float
        ε_robust, the margin of the commitment.
    failure : float
        ε₃, the chance that one call of the membership oracle fails.
    epochs : int
        Φ, strategies asked in one call.
    samples : int
        N_init, strategies drawn in the initialisation.
    initial, optimising, checking : Precision
        What the three phases ask the membership oracle for.

    Examples
    --------
    >>> from dataclasses import replace
    >>> theory = TheoryParameters.compute(3, 3, 0.1, 10**6, AdaptiveRate(3, 3), tolerance=0.05)
    >>> theory.epochs, theory.samples > 10_000
    (270, True)
    >>> theory.rounds > 10**80
    True
    >>> replace(theory, samples=20).samples
    20
    """

    actions: int
    responses: int
    regularity: float
    horizon: int
    rate: Rate
    tolerance: float
    robustness: float
    failure: float
    epochs: int
    samples: int
    initial: Precision
    optimising: Precision
    checking: Precision

    def __post_init__(self) -> None:
        whole_number("actions", self.actions, at_least=1)
        whole_number("responses", self.responses, at_least=1)
        whole_number("horizon", self.horizon, at_least=1)
        whole_number("epochs", self.epochs, at_least=1)
        whole_number("samples", self.samples, at_least=1)
        real_number("regularity", self.regularity, above=0.0, at_most=1.0)
        real_number("tolerance", self.tolerance, above=0.0)
        real_number("robustness", self.robustness, above=0.0)
        real_number("failure", self.failure, above=0.0, at_most=1.0)

    @classmethod
    def compute(
        cls,
        actions: int,
        responses: int,
        regularity: float,
        horizon: int,
        rate: Rate,
        tolerance: float | None = None,
        constant: float = 1.0,
    ) -> TheoryParameters:
        """Return the theorem's own parameters.

        ``tolerance`` is the theorem's ε_opt = k^(1/14)·m·η^(−13/14)·T^(−β/14) unless it is given;
        ``constant`` is the C of the cited lemma on optimisation with a membership oracle, which
        gives it no value.
        """
        m = whole_number("actions", actions, at_least=1)
        k = whole_number("responses", responses, at_least=1)
        eta = real_number("regularity", regularity, above=0.0, at_most=1.0)
        T = whole_number("horizon", horizon, at_least=1)
        r = as_rate(rate)
        if tolerance is None:
            beta = _exponent(r)
            tolerance = k ** (1 / 14) * m * eta ** (-13 / 14) * T ** (-beta / 14)
        power = constant * (eta * tolerance / m) ** 13
        robust = 0.1 * power / math.sqrt(m)
        failure = 1 / (10 * T**2)
        return cls(
            actions=m,
            responses=k,
            regularity=eta,
            horizon=T,
            rate=r,
            tolerance=tolerance,
            robustness=robust,
            failure=failure,
            epochs=membership_epochs(failure),
            samples=math.ceil(10 * max(math.log(T), 1.0) / ball_share(m, eta / 2)),
            initial=Precision(eta / 4, eta / (40 * math.sqrt(m))),
            optimising=Precision(math.sqrt(m) * power, robust * math.sqrt(m)),
            checking=Precision(robust * math.sqrt(m) / 1.1, robust / 11),
        )

    def block_error(self, conservatism: float) -> float:
        """Return γ = ε₂/(k√m), the calibration error that a block may have."""
        return conservatism / (self.responses * math.sqrt(self.actions))

    def block_rounds(self, conservatism: float) -> int:
        """Return ℓ = r⁻¹(γ), the rounds of one block."""
        return self.rate.inverse(self.block_error(conservatism))

    @property
    def calls(self) -> int:
        """The membership calls of one optimisation: Õ(m²), m² ln(m/(η ε_opt))."""
        m = self.actions
        return math.ceil(m**2 * math.log(max(m / (self.regularity * self.tolerance), math.e)))

    @property
    def rounds(self) -> int:
        """The rounds that Algorithm 3 asks for, if every sample is optimised and checked."""
        n, calls = self.samples * self.epochs, self.calls
        return self.planned(n, n * calls, n)

    def planned(
        self, initialise: int, optimise: int, check: int, *, rescheduled: bool = False
    ) -> int:
        """Return the rounds of so many questions in the three phases.

        Parameters
        ----------
        initialise, optimise, check : int
            Questions: strategies that are asked, each for one block. An accepting call of ApproxMem
            asks Φ of them, a refusing one stops at the first that speaks against it.
        rescheduled : bool
            Whether blocks grow for non-adaptive agents: block i has L_i = r⁻¹(γ_i/(2i)) rounds, no
            fewer than block i − 1 (Lemma 6.1). Then the count is for the three phases in this
            order, which for a rate t^(−β) is Corollary 6.3's O(M^(1+1/β)) in the number M of
            blocks, M^(1/β) times that for an adaptive agent (Remark 6.2).

        Examples
        --------
        >>> theory = TheoryParameters.compute(2, 2, 0.2, 100, PowerRate(0.5), tolerance=0.1)
        >>> theory.planned(1, 0, 0) == theory.block_rounds(theory.initial.conservatism)
        True
        """
        parts = (
            (whole_number("initialise", initialise), self.initial.conservatism),
            (whole_number("optimise", optimise), self.optimising.conservatism),
            (whole_number("check", check), self.checking.conservatism),
        )
        if not rescheduled:
            return sum(count * self.block_rounds(error) for count, error in parts)
        total = index = longest = 0
        for count, error in parts:
            for _ in range(count):
                index += 1
                needed = self.rate.inverse(self.block_error(error) / (2 * index))
                longest = max(longest, needed)
                total += longest
        return total

    @property
    def proven_margin(self) -> float:
        """The margin that a passed check proves, ε₂ + ε₁/√m; NaN where its lemma does not apply.

        That needs ε₂ ≤ 0.1·ε₁/√m and Φ ≥ 9·ln(1/ε₃) for some ε₃ below one half.
        """
        depth = self.checking.approximation / math.sqrt(self.actions)
        known = self.checking.conservatism <= 0.1 * depth * (1 + 1e-9) and self.epochs >= 7
        return self.checking.conservatism + depth if known else math.nan

    @property
    def vacuous(self) -> bool:
        """Whether ε_opt is at least the payoffs' range, 1: then every commitment is within it."""
        return self.tolerance >= 1.0

    @property
    def speaks_from(self) -> float:
        """The horizon from which the default ε_opt lies below the payoffs' range.

        ε_opt = k^(1/14) m η^(−13/14) T^(−β/14) = 1 at T = (k^(1/14) m η^(−13/14))^(14/β); infinite
        beyond the largest float.
        """
        m, k, eta = self.actions, self.responses, self.regularity
        log = (math.log(k) + 14 * math.log(m) - 13 * math.log(eta)) / _exponent(self.rate)
        return math.exp(log) if log < 709 else math.inf

    @property
    def guarantee(self) -> float:
        """The theorem's bound on V* − average utility, with 1 for the constant that O(·) hides.

        k^(1/14) m η^(−13/14) T^(−β/14)
        + k^(1/(14β)) m^(1/β+1/2) η^(−13/(14β)) T^(−1/14) log²T / vol,
        vol the share of the simplex that a ball of radius η/2 takes.
        """
        m, k, eta, T = self.actions, self.responses, self.regularity, self.horizon
        beta = _exponent(self.rate)
        first = k ** (1 / 14) * m * eta ** (-13 / 14) * T ** (-beta / 14)
        second = k ** (1 / (14 * beta)) * m ** (1 / beta + 0.5) * eta ** (-13 / (14 * beta))
        second *= T ** (-1 / 14) * math.log(T) ** 2 / ball_share(m, eta / 2)
        return first + second

    def describe(self) -> str:
        """Return what the theorem asks for and promises, in a few plain sentences."""
        rounds = self.rounds
        size = f"{rounds:,}" if rounds < 10**9 else f"about 10^{len(str(rounds)) - 1}"
        words = [
            f"Algorithm 3 would explore for {size} rounds ({self.samples:,} samples,",
            f"{self.epochs} strategies in each membership call) to find a commitment within",
            f"{self.tolerance:.3g} of V* with a margin of {self.robustness:.3g}.",
            f"Over {self.horizon:,} rounds the theorem bounds the regret by {self.guarantee:.3g}",
            "of the range of the payoffs, up to its constant.",
        ]
        if self.vacuous:
            words.append(
                "A tolerance of 1 or more is beyond the range of the payoffs and says nothing: the "
                f"default tolerance falls below it from a horizon of {self.speaks_from:.2g} on."
            )
        if rounds > self.horizon:
            words.append("That is longer than the horizon: set the quantities by hand.")
        return " ".join(words)


def membership_epochs(failure: float) -> int:
    """Return Φ = ⌈9·ln(1/ε₃)⌉."""
    return max(1, math.ceil(9 * math.log(1 / failure)))


def ball_share(actions: int, radius: float) -> float:
    """Return the share of the simplex that a ball of this radius takes, within the affine hull.

    The simplex has the volume √m/(m−1)!.

    Examples
    --------
    >>> round(ball_share(2, 0.1), 4)
    0.1414
    """
    d = actions - 1
    log_ball = d / 2 * math.log(math.pi) - math.lgamma(d / 2 + 1) + d * math.log(radius)
    return min(1.0, math.exp(log_ball - 0.5 * math.log(actions) + math.lgamma(d + 1)))


def _exponent(rate: Rate) -> float:
    """Return β of a rate t^(−β); the adaptive rate is t^(−1/2) up to a logarithm."""
    if isinstance(rate, PowerRate):
        return rate.exponent
    if isinstance(rate, AdaptiveRate):
        return 0.5
    raise InputError("rate", "a PowerRate or an AdaptiveRate, whose exponent is known", shown(rate))
