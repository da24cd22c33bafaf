"""Every quantity of the paper's theory of learning to commit, in one object (Sections 3 and 6).

The constants are those under which the proofs go through. The membership oracle needs
ε₂ ≤ 0.1·ε₁/√m and Φ = ⌈9·ln(1/ε₃)⌉ epochs; with the printed constants its second claim asks for
⟨S, e⟩ ≥ 3/√m, which has probability 0 for m ≤ 9. So Algorithm 3 initialises with ε₂ = η/(40√m),
checks with ε₁ = ε_robust·√m/1.1 and ε₂ = ε_robust/11, and needs
ε_robust ≤ (0.1·C/√m)·(η·ε_opt/m)¹³.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stackcast._validation import InputError, real_number, shown, whole_number
from stackcast.calibration import AdaptiveRate, PowerRate, as_rate

if TYPE_CHECKING:
    from stackcast.calibration import Rate


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
    def rounds(self) -> int:
        """The rounds that Algorithm 3 asks for, with Õ(m²) membership calls for each sample."""
        m = self.actions
        calls = math.ceil(m**2 * math.log(max(m / (self.regularity * self.tolerance), math.e)))
        per_sample = (
            self.block_rounds(self.initial.conservatism)
            + calls * self.block_rounds(self.optimising.conservatism)
            + self.block_rounds(self.checking.conservatism)
        )
        return self.samples * self.epochs * per_sample

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
