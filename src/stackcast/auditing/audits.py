"""The audit: what a transcript proves, with no access to the players' internals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from stackcast._validation import one_of, real_number
from stackcast.auditing._pass import tally
from stackcast.auditing.bounds import (
    CALIBRATED,
    SWAP_LEMMA,
    UPPER_BOUND,
    Bound,
    draw_noise,
    regret_matrix,
    swap_regret_bound,
    swap_tie_noise,
    tie_noise,
    utility_by_forecasts,
    utility_by_responses,
)
from stackcast.auditing.continuous import ContinuousAudit, audit_continuous
from stackcast.auditing.phases import Phase
from stackcast.auditing.portraits import Portrait, portrait
from stackcast.auditing.records import checked_record
from stackcast.calibration import ForecastCertificate, certify
from stackcast.games import ContinuousGame
from stackcast.solvers import solve

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Group

    from stackcast._validation import FloatArray
    from stackcast.auditing._pass import Tallies
    from stackcast.games import Game, TieRule
    from stackcast.protocol import Transcript


@dataclass(frozen=True, eq=False)
class Audit:
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
        CalErr_i over the whole record, by the realised answer i.
    bounds : tuple of Bound
        What the numbers are held against.
    calibration : ForecastCertificate or None
        The calibration profile of the forecasts, on every interval, with the answers as bins, and
        for draws the time-uniform band; None without forecasts or if it was left out.
    portrait : Portrait
        What the agent looks like.
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
    portrait: Portrait
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

    @property
    def failed(self) -> tuple[Bound, ...]:
        """The bounds that do not hold."""
        return tuple(bound for bound in self.bounds if bound.holds is False)

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as plain values for JSON; NaN and infinity become null."""
        plain = (
            "rounds",
            "value",
            "average_utility",
            "regret",
            "swap_regret",
            "swap_regret_per_round",
            "external_regret",
            "external_regret_per_round",
            "best_response_share",
            "forecast_response_share",
            "draws",
        )
        table: dict[str, Any] = {name: getattr(self, name) for name in plain}
        table["phases"] = [vars(phase) for phase in self.phases]
        for name in ("exploration", "commitment"):
            joined = getattr(self, name)
            table[name] = None if joined is None else vars(joined)
        table["errors"] = None if self.errors is None else self.errors.tolist()
        table["bounds"] = [bound.to_dict() for bound in self.bounds]
        table["calibration"] = None if self.calibration is None else self.calibration.to_dict()
        table["portrait"] = self.portrait.to_dict()
        return {name: _plain(entry) for name, entry in table.items()}

    def __rich__(self) -> Group:
        """Return the audit for a terminal: words first, then the tables."""
        from stackcast.auditing.terminal import described

        return described(self)


@overload
def audit(
    transcript: Transcript,
    game: ContinuousGame,
    *,
    ties: TieRule | None = None,
    draws: bool | None = None,
    delta: float = 0.05,
    profile: bool = True,
    lengths: Iterable[int] | None = None,
    rate: Any = None,
) -> ContinuousAudit: ...
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
) -> Audit | ContinuousAudit:
    """Say what a transcript proves about both players.

    Parameters
    ----------
    transcript : Transcript
        From :func:`stackcast.play`, a file, or a user's table (:func:`read_transcript`).
    game : Game or ContinuousGame, optional
        The game that was played, if the transcript does not hold it. For a continuous game the
        other arguments mean nothing, and the audit is a :class:`ContinuousAudit`.
    ties : {"lowest", "random"}, optional
        Also hold the record against the bounds with the paper's bins w_i of this tie rule. Without
        it the bins are the realised answers, which makes every bound exact for any ties.
    draws : bool, optional
        Whether the record holds actions drawn from the strategies; by default what the transcript
        says of itself, and otherwise not.
    delta : float
        The chance, at most, that a bound on something random fails, and the band's level.
    profile : bool
        Whether to find the calibration error on every interval, where there are forecasts. It
        takes most of the time, and 8·k·m bytes a round.
    lengths : iterable of int, optional
        Lengths of intervals whose worst error is wanted; by default 1, 2, 5, 10 … and T.
    rate : Rate, callable or number, optional
        A rate that the calibration error must keep on every interval (a number is the constant of
        the paper's): then that is a bound too.

    Returns
    -------
    Audit or ContinuousAudit

    Notes
    -----
    One pass over the rounds, O(T·(k + m)), one linear program for each answer that was given, and
    the profile.

    Examples
    --------
    Up for half of the time, then Down, milks an agent that follows the leader beyond V* = 0.5:

    >>> from stackcast.games import load_game
    >>> from stackcast.protocol import Transcript
    >>> strategies = [[1, 0]] * 500 + [[0, 1]] * 500
    >>> record = Transcript.from_rounds(strategies, [0] * 550 + [2] * 450)
    >>> found = audit(record, load_game("milking"))
    >>> round(found.value, 6), round(found.average_utility, 6), round(found.regret, 6)
    (0.5, 0.725, -0.225)
    >>> found.swap_regret, found.best_response_share
    (225.0, 0.5)
    >>> [(line.name, round(line.bound, 3), line.holds) for line in found.bounds]
    [('utility, from answers alone', 0.725, True)]
    """
    if ties is not None:
        one_of("ties", ties, ("lowest", "random"))
    real_number("delta", delta, above=0.0, at_most=1.0)
    played: Any = transcript.game if game is None else game
    if isinstance(game, ContinuousGame) or isinstance(played, ContinuousGame):
        return audit_continuous(transcript, played)
    game, draws = checked_record(transcript, game, draws)
    value = solve(game).value
    tallies = tally(transcript, game, ties)
    T = transcript.rounds
    gains = regret_matrix(game, tallies)
    utility = float(tallies.phase_utilities.sum() / T)
    certificate = None
    if profile and transcript.forecast_ids is not None:
        certificate = certify(
            transcript.strategies,
            transcript.forecasts,
            transcript.compact_responses,
            lengths=lengths,
            rate=rate,
            level=delta,
            draws=draws,
            bin_names=dict(enumerate(game.agent_actions)),
        )
    errors = tallies.errors
    by_answer = None if errors is None else np.abs(errors).max(axis=1) / T
    if by_answer is not None:
        by_answer.flags.writeable = False
    rational = math.nan if errors is None else tallies.rational / T
    regrets = float(gains.max(axis=1).sum()), float(gains.sum(axis=0).max())
    return Audit(
        rounds=T,
        value=value,
        average_utility=utility,
        regret=value - utility,
        phases=_phases(transcript, tallies, value),
        swap_regret=regrets[0],
        external_regret=regrets[1],
        best_response_share=tallies.best / T,
        forecast_response_share=rational,
        errors=by_answer,
        bounds=(
            *_utility_bounds(game, tallies, value, utility, draws, delta),
            *_regret_bounds(game, tallies, regrets),
            *_tie_bounds(game, tallies, value, utility, regrets[0], ties, delta),
            *_calibration_bounds(certificate, rate),
        ),
        calibration=certificate,
        portrait=portrait(transcript, game, draws=draws, delta=delta),
        draws=draws,
    )


def _phases(transcript: Transcript, tallies: Tallies, value: float) -> tuple[Phase, ...]:
    phases = []
    for name, rounds, total in zip(
        transcript.phase_names,
        tallies.phase_counts.tolist(),
        tallies.phase_utilities.tolist(),
        strict=True,
    ):
        if rounds:
            regret = value - total / rounds
            share = regret * rounds / transcript.rounds
            phases.append(Phase(name, rounds, total / rounds, regret, share))
    return tuple(phases)


def _utility_bounds(
    game: Game, tallies: Tallies, value: float, utility: float, draws: bool, delta: float
) -> list[Bound]:
    T = int(tallies.counts.sum())
    unit = float(np.ptp(game.principal_view.payoffs)) or 1.0
    lines = []
    if tallies.errors is not None:
        excess = utility_by_forecasts(game, tallies, tallies.errors)
        note = _premise(tallies.rational, T)
        lines.append(
            Bound.of("utility, from forecasts", UPPER_BOUND, utility, value + excess, unit, note)
        )
    space = game.space.pure if draws else game.space
    excess = utility_by_responses(game, tallies, value, space)
    note = "holds for every agent: what its answers gave away"
    lines.append(
        Bound.of("utility, from answers alone", UPPER_BOUND, utility, value + excess, unit, note)
    )
    if draws:
        least = min(line.bound for line in lines if line.holds)
        note = f"bounds the strategies' utility behind the draws, but for a chance of {delta:g}"
        bound = least + draw_noise(game, T, delta)
        lines.append(
            Bound.of("utility, of the strategies", UPPER_BOUND, utility, bound, unit, note)
        )
    return lines


def _regret_bounds(game: Game, tallies: Tallies, regrets: tuple[float, float]) -> list[Bound]:
    if tallies.errors is None:
        return []
    T = int(tallies.counts.sum())
    unit = game.agent_view.scale * T
    bound = swap_regret_bound(game, tallies.errors)
    note = _premise(tallies.rational, T)
    return [
        Bound.of("swap regret", SWAP_LEMMA, regrets[0], bound, unit, note),
        Bound.of("external regret", SWAP_LEMMA, regrets[1], bound, unit, note),
    ]


def _tie_bounds(
    game: Game,
    tallies: Tallies,
    value: float,
    utility: float,
    swap_regret: float,
    ties: TieRule | None,
    delta: float,
) -> list[Bound]:
    if tallies.weighted is None or ties is None:
        return []
    T = int(tallies.counts.sum())
    unit = float(np.ptp(game.principal_view.payoffs)) or 1.0
    note = _premise(tallies.ruled, T, f", ties {ties}")
    bound = value + utility_by_forecasts(game, tallies, tallies.weighted)
    swap = swap_regret_bound(game, tallies.weighted)
    if ties == "random":
        bound += tie_noise(game, T, delta)
        swap += swap_tie_noise(game, T, delta)
        note += f"{'; ' if note else ''}fails with a chance of at most {delta:g}"
    return [
        Bound.of(f"utility, ties {ties}", UPPER_BOUND, utility, bound, unit, note),
        Bound.of(
            f"swap regret, ties {ties}",
            SWAP_LEMMA,
            swap_regret,
            swap,
            game.agent_view.scale * T,
            note,
        ),
    ]


def _calibration_bounds(certificate: ForecastCertificate | None, rate: Any) -> list[Bound]:
    if certificate is None:
        return []
    found, band, lines = certificate.profile, certificate.band, []
    if rate is not None:
        note = f"the largest error/rate lies between {found.lower:.4g} and {found.upper:.4g}"
        lines.append(
            Bound(
                "calibration error/rate, every interval",
                CALIBRATED,
                found.lower,
                1.0,
                1.0 - found.lower,
                found.within_rate,
                note,
            )
        )
    if band is not None:
        at = band.interval
        refuted = certificate.verdict == "refuted"
        note = (
            f"{certificate.verdict}: rounds {at.start + 1}–{at.stop}, p-value {band.p_value:.3g}; "
            "the band allows for the draws' noise on all intervals at once"
        )
        slack = band.band - at.error
        lines.append(
            Bound(
                "calibration error, draws",
                CALIBRATED,
                at.error,
                band.band,
                slack,
                not refuted,
                note,
            )
        )
    return lines


def _premise(kept: int, rounds: int, rule: str = "") -> str:
    if kept == rounds:
        return ""
    return (
        f"assumes best responses to the forecasts{rule}, which {100 * kept / rounds:.4g}% "
        "of the answers are"
    )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
