"""The audit of a finite game: what a transcript proves, with no access to the players' internals.

With h_t, p_t, y_t the strategy, forecast and response of round t, and the rounds sorted by their
*realised* response i = y_t: n_i rounds, mean strategy h̄_i, mean forecast p̄_i,
S_i = Σ (h_t − p_t) = n_i (h̄_i − p̄_i), and CalErr_i = ‖S_i‖_∞/T. Then

    avg U_P = Σ_i (n_i/T)·U_P(p̄_i, i) + Σ_i ⟨U_P(·,i), S_i⟩/T,

an identity. If every response is a best response to its forecast, p̄_i lies in the region of i,
which is convex, so U_P(p̄_i, i) ≤ V*, and the second sum certifies the average from above. Every
bound is per instance: the numbers of the transcript stand on both sides, with no constant of a
theorem and no assumed rate.

On mixed strategies the entries of S_i sum to 0, so a constant may be taken off a column of payoffs:
its median gives the least ℓ1 norm. On spaces whose coordinates have no constant sum (coverage
vectors) nothing is taken off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from stackcast._frames import InFrames
from stackcast._notebook import InNotebook
from stackcast._plain import plain
from stackcast._validation import PROBABILITY_TOLERANCE, one_of, real_number
from stackcast.auditing.diagnosis import AgentDiagnosis, diagnosed
from stackcast.auditing.records import checked_record, column_norms, has_constant_sum, pair_norms
from stackcast.calibration import ForecastCertificate, ForecastRecord, certify
from stackcast.games import ContinuousGame
from stackcast.solvers import BestResponseRegions, solve
from stackcast.theory import most

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from stackcast._validation import FloatArray
    from stackcast.auditing.continuous import ContinuousAudit
    from stackcast.games import Game, StrategySpace, TieRule
    from stackcast.protocol import Transcript
    from stackcast.solvers import Solution

UPPER_BOUND, SWAP_LEMMA, CALIBRATED = "Theorem 3.1", "Lemma B.2", "Definition 2.3"

#: What a bound may be missed by for rounding, in units of the payoffs' spread.
_ROUNDING = 1e-9
#: Products of actions beyond which the programs of regret are left out of an audit: seconds each.
_PROGRAMS = 2500
#: Rounds, or strategies, that are looked at together, so that temporary tables stay small.
_CHUNK = 1 << 14


@dataclass(frozen=True)
class Bound:
    """One line of an audit.

    Attributes
    ----------
    name : str
        What is bounded.
    where : str
        The theorem, lemma or definition of the paper.
    measured, bound, slack : float
        What the transcript has, what it may have at most, and the difference: bound − measured.
    holds : bool or None
        Whether it is kept; None where the evidence cannot say.
    note : str
        What the line assumes, or how to read it.
    """

    name: str
    where: str
    measured: float
    bound: float
    slack: float
    holds: bool | None
    note: str = ""

    @classmethod
    def of(
        cls, name: str, where: str, measured: float, bound: float, unit: float, note: str = ""
    ) -> Bound:
        """Compare ``measured`` with ``bound``, up to rounding in ``unit``."""
        slack = bound - measured
        return cls(name, where, measured, bound, slack, slack >= -_ROUNDING * unit, note)


@dataclass(frozen=True)
class Phase:
    """The rounds with one label.

    Attributes
    ----------
    name : str
        The label of their blocks.
    rounds : int
        How many there are.
    average_utility, regret : float
        The principal's utility a round among them, and V* less that.
    share : float
        Their part of the regret of all rounds: the shares of all phases sum to it.
    """

    name: str
    rounds: int
    average_utility: float
    regret: float
    share: float


def phases_of(
    transcript: Transcript, value: float, counts: npt.NDArray[Any], totals: npt.NDArray[Any]
) -> tuple[Phase, ...]:
    """Return the phases, given the rounds and the summed utility of each label."""
    rows = zip(transcript.phase_names, counts.tolist(), totals.tolist(), strict=True)
    return tuple(
        Phase(name, int(n), total / n, value - total / n, (value * n - total) / transcript.rounds)
        for name, n, total in rows
        if n
    )


class AnyAudit(InNotebook, InFrames):
    """What audits of finite and of continuous games share: a line, rows and what failed."""

    rounds: int
    value: float
    average_utility: float
    phases: tuple[Phase, ...]
    bounds: tuple[Bound, ...]

    @property
    def failed(self) -> tuple[Bound, ...]:
        """The bounds that do not hold."""
        return tuple(bound for bound in self.bounds if bound.holds is False)

    def __repr__(self) -> str:
        holding = sum(bound.holds is True for bound in self.bounds)
        return (
            f"{type(self).__name__}({self.rounds:,} rounds: utility {self.average_utility:.4g} a "
            f"round, V* {self.value:.4g}; {holding} of {len(self.bounds)} bounds hold)"
        )

    def _columns(self) -> dict[str, Any]:
        """Return utility a round by phase and in all, then every bound."""
        rows: list[tuple[Any, ...]] = [
            (f"utility a round, {p.name or '–'}", p.rounds, p.average_utility, None, None, "")
            for p in self.phases
        ]
        rows.append(("utility a round", self.rounds, self.average_utility, self.value, None, ""))
        rows += [(b.name, self.rounds, b.measured, b.bound, b.holds, b.where) for b in self.bounds]
        names = ("quantity", "rounds", "measured", "at_most", "holds", "where")
        return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


@dataclass(frozen=True, eq=False, repr=False)
class Audit(AnyAudit):
    """What a transcript proves; made by :func:`audit`.

    Attributes
    ----------
    rounds : int
        The number of rounds T.
    value : float
        V*, the Stackelberg value of the game.
    average_utility, regret : float
        The principal's utility a round, and V* less that: negative where it earned more than V*.
    phases : tuple of Phase
        The same by the labels of the blocks.
    swap_regret, external_regret : float
        The agent's, cumulative.
    best_response_share : float
        The share of the responses that were best responses to the strategy of their round.
    forecast_response_share : float
        The share that were best responses to the forecast; NaN without forecasts.
    errors : array or None
        CalErr_i over the whole record, by the realised response i.
    bounds : tuple of Bound
        What the numbers are held against.
    calibration : ForecastCertificate or None
        The calibration profile of the forecasts, on every interval, with the responses as bins, and
        for draws the time-uniform band; None without forecasts or if it was left out.
    diagnosis : AgentDiagnosis
        What kind of agent the responses point to.
    draws : bool
        Whether the record holds drawn actions instead of strategies.
    """

    rounds: int
    value: float
    average_utility: float
    regret: float
    phases: tuple[Phase, ...]
    swap_regret: float
    external_regret: float
    best_response_share: float
    forecast_response_share: float
    errors: FloatArray | None
    bounds: tuple[Bound, ...]
    calibration: ForecastCertificate | None
    diagnosis: AgentDiagnosis
    draws: bool = False

    @property
    def swap_regret_per_round(self) -> float:
        """The agent's swap regret divided by the rounds."""
        return self.swap_regret / self.rounds

    @property
    def external_regret_per_round(self) -> float:
        """The agent's external regret divided by the rounds."""
        return self.external_regret / self.rounds

    @property
    def exploration(self) -> Phase | None:
        """The rounds before and between commitments; None if no label begins with "commit"."""
        return self._joined("exploration", committed=False)

    @property
    def commitment(self) -> Phase | None:
        """The rounds whose label begins with "commit"; None if there are none."""
        return self._joined("commitment", committed=True)

    def _joined(self, name: str, *, committed: bool) -> Phase | None:
        labels = [phase.name.startswith("commit") for phase in self.phases]
        chosen = [p for p, ours in zip(self.phases, labels, strict=True) if ours is committed]
        rounds = sum(phase.rounds for phase in chosen)
        if not rounds or not any(labels):
            return None
        average = sum(phase.rounds * phase.average_utility for phase in chosen) / rounds
        share = sum(phase.share for phase in chosen)
        return Phase(name, rounds, average, self.value - average, share)

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as plain values for JSON; NaN and infinity become null."""
        return plain(
            self,
            also=(
                "swap_regret_per_round",
                "external_regret_per_round",
                "exploration",
                "commitment",
            ),
        )


@overload
def audit(transcript: Transcript, game: ContinuousGame) -> ContinuousAudit: ...
@overload
def audit(
    transcript: Transcript,
    game: Game | None = None,
    *,
    ties: TieRule | None = None,
    draws: bool | None = None,
    delta: float = 0.05,
    profile: bool = True,
    lengths: Iterable[int] | None = None,
    rate: Any = None,
    solution: Solution | None = None,
) -> Audit: ...
def audit(
    transcript: Transcript,
    game: Game | ContinuousGame | None = None,
    *,
    ties: TieRule | None = None,
    draws: bool | None = None,
    delta: float = 0.05,
    profile: bool = True,
    lengths: Iterable[int] | None = None,
    rate: Any = None,
    solution: Any = None,
) -> Audit | ContinuousAudit:
    """Return what a transcript proves about both players.

    Parameters
    ----------
    transcript : Transcript
        From :func:`stackcast.play`, a file, or a user's table (:func:`read_transcript`).
    game : Game or ContinuousGame, optional
        The game that was played, if the transcript does not hold it. For a continuous game the
        other arguments mean nothing, and the audit is a :class:`ContinuousAudit`.
    ties : {"lowest", "random"}, optional
        Also hold the record against the bounds with the paper's bins w_i of this tie rule. Without
        it the bins are the realised responses, which makes every bound exact for any ties.
    draws : bool, optional
        Whether the record holds actions drawn from the strategies; by default what the transcript
        says of itself, and otherwise not.
    delta : float
        The chance, at most, that a bound on something random fails, and the band's level.
    profile : bool
        Whether to find the calibration error on every interval, where there are forecasts. It
        takes most of the time, and 16 bytes a round.
    lengths : iterable of int, optional
        Lengths of intervals whose worst error is wanted; by default 1, 2, 5, 10 … and T.
    rate : Rate, callable or number, optional
        A rate that the calibration error must keep on every interval (a number is the constant of
        the paper's): then that is a bound too.
    solution : Solution, optional
        The solution of the game, if it was computed before; otherwise the game is solved.

    Returns
    -------
    Audit or ContinuousAudit

    Notes
    -----
    One pass over the rounds, O(T·k·m), one linear program for each response that was given, and
    the profile.

    Examples
    --------
    Up for half of the time, then Down, exploits an agent that follows the leader beyond V* = 0.5:

    >>> from stackcast.games import load_game
    >>> from stackcast.protocol import Transcript
    >>> strategies = [[1, 0]] * 500 + [[0, 1]] * 500
    >>> record = Transcript.from_rounds(strategies, [0] * 550 + [2] * 450)
    >>> found = audit(record, load_game("milking"))
    >>> round(found.value, 6), round(found.average_utility, 6), round(found.regret, 6)
    (0.5, 0.725, -0.225)
    >>> found.swap_regret, found.best_response_share
    (225.0, 0.5)
    >>> [(line.name, round(line.bound, 3), line.holds) for line in found.bounds]  # doctest: +SKIP
    """
    if ties is not None:
        one_of("ties", ties, ("lowest", "random"))
    real_number("delta", delta, above=0.0, at_most=1.0)
    played: Any = transcript.game if game is None else game
    if isinstance(played, ContinuousGame):
        from stackcast.auditing.continuous import audit_continuous

        return audit_continuous(transcript, played, solution=solution)
    game, draws = checked_record(transcript, played, draws)
    value = (solve(game) if solution is None else solution).value
    record = _Record(transcript, game, ties, draws, delta, value)
    certificate = None
    if profile and transcript.forecast_ids is not None:
        certificate = certify(
            _forecast_record(transcript),
            lengths=lengths,
            rate=rate,
            level=delta,
            draws=draws,
            bin_names=dict(enumerate(game.agent_actions)),
        )
    T, errors = transcript.rounds, None
    if record.forecasts is not None:
        errors = np.abs(record.errors).max(axis=1) / T
        errors.flags.writeable = False
    return Audit(
        rounds=T,
        value=value,
        average_utility=record.utility,
        regret=value - record.utility,
        phases=phases_of(transcript, value, record.phase_counts, record.phase_utilities),
        swap_regret=record.swap_regret,
        external_regret=record.external_regret,
        best_response_share=record.best / T,
        forecast_response_share=math.nan if errors is None else record.rational / T,
        errors=errors,
        bounds=(*record.bounds(), *_calibration_bounds(certificate, rate)),
        calibration=certificate,
        diagnosis=diagnosed(transcript, game, draws, delta),
        draws=draws,
    )


def _forecast_record(transcript: Transcript) -> ForecastRecord:
    """Return strategies, forecasts and responses as a record with a row a block, not a round."""
    ends: Any = np.cumsum(transcript.block_rounds, dtype=np.int64)
    ends.flags.writeable = False
    responses, ids = transcript.compact_responses, transcript.forecast_ids
    assert ids is not None
    assert transcript.forecast_table is not None
    return ForecastRecord(
        transcript.block_strategies, transcript.forecast_table, responses, None,
        bins=int(responses.max()) + 1, yes_no=transcript.block_strategies.shape[1] == 1,
        ends=ends, ids=ids,
    )  # fmt: skip


@dataclass(eq=False)
class _Record:
    """The sums over the rounds of a transcript, and the bounds that stand on them.

    Row i of an array belongs to the rounds with response i: ``counts`` n_i, ``strategies`` Σ h_t,
    ``forecasts`` Σ p_t (None without any); ``weighted`` is Σ_t w_i(p_t)(h_t − p_t) with the weights
    of the tie rule. ``best``, ``rational`` and ``ruled`` count responses: best responses to h_t;
    best responses to p_t where p_t is a strategy of the game; those with weight under the tie rule.
    """

    transcript: Transcript
    game: Game
    ties: TieRule | None
    draws: bool
    delta: float
    value: float
    best: int = field(default=0, init=False)
    rational: int = field(default=0, init=False)
    ruled: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        t, game = self.transcript, self.game
        principal, agent = game.principal_view, game.agent_view
        m, k = agent.payoffs.shape
        labels = len(t.phase_names)
        self.T = t.rounds
        self.counts, self.strategies = np.zeros(k, np.int64), np.zeros((k, m))
        self.weighted = np.zeros((k, m))
        self.phase_counts, self.phase_utilities = np.zeros(labels), np.zeros(labels)
        table, ids = t.forecast_table, t.forecast_ids
        self.forecasts = None if table is None or ids is None else np.zeros((k, m))
        ends = np.cumsum(t.block_rounds, dtype=np.int64)
        for start in range(0, self.T, _CHUNK):
            stop = min(start + _CHUNK, self.T)
            first = int(np.searchsorted(ends, start, side="right"))
            last = int(np.searchsorted(ends, stop - 1, side="right")) + 1
            held: Any = np.diff(np.clip(ends[first:last], start, stop), prepend=start)
            blocks = np.repeat(np.arange(last - first), held)
            h, phases = t.block_strategies[first:last], t.block_phases[first:last][blocks]
            y = t.compact_responses[start:stop].astype(np.intp)
            given = np.zeros((stop - start, k))
            given[np.arange(stop - start), y] = 1.0
            self.counts += np.bincount(y, minlength=k)
            self.best += int(agent.best_responses(h)[blocks, y].sum())
            self.phase_counts += np.bincount(phases, minlength=labels)
            earned = principal.utilities(h)[blocks, y]
            self.phase_utilities += np.bincount(phases, weights=earned, minlength=labels)
            h = h[blocks]
            self.strategies += given.T @ h
            if table is not None and ids is not None and self.forecasts is not None:
                self._forecast(given, y, h, table[ids[start:stop]])
        self.utility = float(self.phase_utilities.sum() / self.T)
        # Differences of payoffs before products: payoffs far from 0 then cost no digits.
        gains = np.zeros((k, k))
        for i in range(k):
            gains[i] = self.strategies[i] @ (agent.payoffs - agent.payoffs[:, [i]])
            gains[i] += self.counts[i] * (agent.offsets - agent.offsets[i])
        self.swap_regret = float(gains.max(axis=1).sum())
        self.external_regret = float(gains.sum(axis=0).max())

    def _forecast(
        self, given: FloatArray, y: npt.NDArray[np.intp], h: FloatArray, p: FloatArray
    ) -> None:
        rows, space = np.arange(len(y)), self.game.space
        tied = self.game.agent_view.best_responses(p)
        inside: Any = True
        if space.kind != "simplex":
            over = p @ space.inequality_rows.T - space.inequality_bounds
            off = np.abs(p @ space.equality_rows.T - space.equality_bounds)
            inside = (np.column_stack([over, off]) <= PROBABILITY_TOLERANCE).all(axis=1)
        self.rational += int((tied[rows, y] & inside).sum())
        assert self.forecasts is not None
        self.forecasts += given.T @ p
        if self.ties is not None:
            weights = tied / tied.sum(axis=1, keepdims=True)
            if self.ties == "lowest":
                weights = np.zeros_like(given)
                weights[rows, tied.argmax(axis=1)] = 1.0
            self.ruled += int((weights[rows, y] > 0).sum())
            self.weighted += weights.T @ (h - p)

    @property
    def errors(self) -> FloatArray:
        """S_i = Σ (h_t − p_t) over the rounds with response i: the sums behind CalErr_i."""
        assert self.forecasts is not None
        return np.subtract(self.strategies, self.forecasts)

    def bounds(self) -> list[Bound]:
        """Return the bounds on the utility, the agent's regrets, and those of the tie rule."""
        lines, note = [], self._premise(self.rational)
        if self.forecasts is not None:
            lines.append(self._utility("from forecasts", self._allowed(self.errors), note))
        note = "valid for any agent; computed from its responses alone"
        lines.append(self._utility("from answers alone", self._given_away(), note))
        lines += self._by_regret()
        if self.draws:
            least = min(line.bound for line in lines if line.holds)
            note = f"of the strategies behind the draws; fails with a chance of {self.delta:g}"
            noise = self._noise(self._drawn_spread())
            lines.append(self._utility("of the strategies", least - self.value + noise, note))
        if self.forecasts is None:
            return lines
        bound, note = self._swap_bound(self.errors), self._premise(self.rational)
        for name, measured in (
            ("swap regret", self.swap_regret),
            ("external regret", self.external_regret),
        ):
            lines.append(self._regret(name, measured, bound, note))
        return lines + (self._by_ties(self.ties) if self.ties else [])

    def _by_regret(self) -> list[Bound]:
        """Return what anyone at all can have earned at the agent's measured regrets."""
        if self.draws or self.strategies.size > _PROGRAMS:
            return []
        lines = []
        for kind, cumulative in (("swap", self.swap_regret), ("external", self.external_regret)):
            regret = max(cumulative, 0.0) / self.T
            excess = most(self.game, regret, kind) - self.value
            note = f"the most against any agent with {regret:.4g} {kind} regret a round"
            lines.append(self._utility(f"at its {kind} regret", excess, note, "linear program"))
        return lines

    def _by_ties(self, ties: TieRule) -> list[Bound]:
        note = self._premise(self.ruled, f", ties {ties}")
        excess, swap = self._allowed(self.weighted), self._swap_bound(self.weighted)
        if ties == "random":  # Azuma–Hoeffding; for the swap regret over all k^k swaps
            principal, agent = self.game.principal_view, self.game.agent_view
            k = len(self.counts)
            excess += self._noise(_spread(principal.payoffs, principal.offsets))
            swaps = k * math.log(k) + math.log(1 / self.delta)
            swap += _spread(agent.payoffs, agent.offsets) * math.sqrt(2 * self.T * swaps)
            note += f"{'; ' if note else ''}fails with a chance of at most {self.delta:g}"
        return [
            self._utility(f"ties {ties}", excess, note),
            self._regret(f"swap regret, ties {ties}", self.swap_regret, swap, note),
        ]

    def _utility(self, name: str, excess: float, note: str, where: str = UPPER_BOUND) -> Bound:
        unit = float(np.ptp(self.game.principal_view.payoffs)) or 1.0
        bound = self.value + excess
        return Bound.of(f"utility, {name}", where, self.utility, bound, unit, note)

    def _regret(self, name: str, measured: float, bound: float, note: str) -> Bound:
        unit = self.game.agent_view.scale * self.T
        return Bound.of(name, SWAP_LEMMA, measured, bound, unit, note)

    def _premise(self, kept: int, rule: str = "") -> str:
        if kept == self.T:
            return ""
        share = f"{100 * kept / self.T:.4g}%"
        return f"assumes best responses to the forecasts{rule}; {share} of the responses are"

    def _allowed(self, sums: FloatArray) -> float:
        """Return Σ_i ‖U_P(·,i) − mid_i‖₁·CalErr_i, given the sums S_i (or those with w_i)."""
        columns = column_norms(self.game.principal_view.payoffs, self.game.space)
        return float(columns @ np.abs(sums).max(axis=1) / self.T)

    def _swap_bound(self, sums: FloatArray) -> float:
        """Return Σ_i max_j ‖(U_A(·,j) − U_A(·,i)) − median‖₁·‖S_i‖_∞, the lemma's, cumulative."""
        return float(pair_norms(self.game).max(axis=1) @ np.abs(sums).max(axis=1))

    def _given_away(self) -> float:
        """Return what any agent at all can have given away beyond V*, from its responses alone.

        Σ_y (n_y/T)·min(½·range(U_P(·,y))·‖h̄_y − q‖₁ + (U_P(q,y) − V*)⁺, (max U_P(·,y) − V*)⁺),
        with q the point of the region of y nearest to the mean strategy h̄_y. The term with U_P(q,y)
        is 0 but for rounding, and makes the bound true for the q that was computed, whatever it is.
        The maximum is over the space where the h̄_y live.
        """
        view, regions = self.game.principal_view, BestResponseRegions(self.game)
        space = self.game.space.pure if self.draws else self.game.space
        balanced, total = has_constant_sum(self.game.space), 0.0
        for y in np.flatnonzero(self.counts).tolist():
            column, offset = view.payoffs[:, y], float(view.offsets[y])
            mean = self.strategies[y] / self.counts[y]
            excess = max(0.0, _support(space, column) + offset - self.value)
            q = nearest_in_region(regions, mean, y)
            if q is not None:
                width = np.ptp(column) / 2 if balanced else np.abs(column).max()
                beyond = max(0.0, float(q @ column) + offset - self.value)
                excess = min(excess, float(width * np.abs(mean - q).sum()) + beyond)
            total += self.counts[y] * excess
        return float(total / self.T)

    def _drawn_spread(self) -> float:
        space, columns = self.game.space.pure, self.game.principal_view.payoffs.T
        return max(_support(space, column) + _support(space, -column) for column in columns)

    def _noise(self, spread: float) -> float:
        """Return spread·√(ln(1/δ)/2T), Azuma–Hoeffding for the mean of T rounds."""
        return spread * math.sqrt(math.log(1 / self.delta) / (2 * self.T))


def _calibration_bounds(certificate: ForecastCertificate | None, rate: Any) -> list[Bound]:
    if certificate is None:
        return []
    found, test, lines = certificate.profile, certificate.test, []
    if rate is not None:
        name = "calibration error/rate, every interval"
        note = f"the largest error/rate lies between {found.lower:.4g} and {found.upper:.4g}"
        slack = 1.0 - found.lower
        lines = [Bound(name, CALIBRATED, found.lower, 1.0, slack, found.within_rate, note)]
    if test is not None:
        money, enough = math.log(test.wealth), -math.log(test.level)
        note = f"{certificate.verdict}: {certificate.test_sentences()[0]}"
        kept, name = certificate.verdict != "refuted", "log of a bettor's money, draws"
        lines.append(Bound(name, CALIBRATED, money, enough, enough - money, kept, note))
    return lines


def nearest_in_region(
    regions: BestResponseRegions, strategy: FloatArray, action: int
) -> FloatArray | None:
    """Return a strategy of the region of ``action`` that is nearest in ℓ1; None if it is empty.

    One linear program in the strategy q and the absolute differences s ≥ |q − h|.

    Examples
    --------
    >>> from stackcast.games import FiniteGame
    >>> from stackcast.solvers import BestResponseRegions
    >>> regions = BestResponseRegions(FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]]))
    >>> nearest_in_region(regions, np.array([0.75, 0.25]), 1).round(6).tolist()
    [0.5, 0.5]
    """
    if regions.view.best_responses(strategy)[action]:
        return strategy
    if regions.never_best[action]:
        return None
    from scipy.optimize import linprog

    region, n = regions.polytope(action), len(strategy)
    one, rows = np.eye(n), region.inequality_rows
    result = linprog(
        np.concatenate([np.zeros(n), np.ones(n)]),
        A_ub=np.block([[rows, np.zeros_like(rows)], [one, -one], [-one, -one]]),
        b_ub=np.concatenate([region.inequality_bounds, strategy, -strategy]),
        A_eq=np.hstack([region.equality_rows, np.zeros_like(region.equality_rows)]),
        b_eq=region.equality_bounds,
        bounds=[(None, None)] * n + [(0.0, None)] * n,
        method="highs",
    )
    return None if result.x is None else np.asarray(result.x[:n], dtype=np.float64)


def _spread(payoffs: FloatArray, offsets: FloatArray) -> float:
    return float(np.ptp(payoffs, axis=1).max() + np.ptp(offsets))


def _support(space: StrategySpace, column: FloatArray) -> float:
    return float(column @ space.argmax(column))
