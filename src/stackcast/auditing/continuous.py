"""The audit of a continuous game: Theorem 5.2 and its lemmas, held against a transcript.

With h_t, p_t, y_t the strategy, forecast and response of round t, tents w_i on an ε-grid x_i of the
domain, S_i = Σ_t w_i(p_t)(h_t − p_t), CalErr_i = ‖S_i‖_∞/T and the constants of Assumption 5.1:

- avg U_P ≤ V* + L₁√m·Σ_i CalErr_i + 2(L₁ + L₂·L_BR)ε if every y_t is BR(p_t); for other agents
  L₂·mean‖y_t − BR(p_t)‖ more;
- avg U_P ≤ V* + L₂·mean‖y_t − BR(h_t)‖, for every agent, forecasts or not;
- in a block of M rounds of one strategy h, with s the share of rounds in which ‖p_t − h‖ ≥ ε₀ = 4ε:
  s ≤ 8√m·I²/ε₀·max_i CalErr_i over the block (I bins), the mean response is within
  L_BR·(s·D_P + ε₀) of BR(h), and the mean utility within L₂ times that of C(h).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError, real_number
from stackcast.auditing.bounds import Bound
from stackcast.auditing.phases import Phase
from stackcast.calibration import ConeBinning
from stackcast.solvers import solve

if TYPE_CHECKING:
    from rich.console import Group

    from stackcast._validation import FloatArray
    from stackcast.games import ContinuousGame
    from stackcast.protocol import Transcript

THEOREM, KEY_LEMMA, FEEDBACK_LEMMA, UTILITY_LEMMA = (
    "Theorem 5.2",
    "Lemma E.1",
    "Lemma E.4",
    "Lemma E.5",
)
#: Rounds whose weights are computed at once.
_CHUNK = 1 << 13


@dataclass(frozen=True, eq=False)
class ContinuousAudit:
    """What a transcript of a continuous game proves; made by :func:`stackcast.audit`.

    Attributes
    ----------
    rounds : int
        The number of rounds T.
    value : float
        V*, the Stackelberg value of the game.
    average_utility, regret : float
        The principal's utility a round, and V* less that.
    phases : tuple of Phase
        The same by the labels of the blocks.
    response_distance : float
        The mean of ‖y_t − BR(h_t)‖.
    forecast_distance : float
        The mean of ‖p_t − h_t‖; NaN without forecasts.
    forecast_response_distance : float
        The mean of ‖y_t − BR(p_t)‖: 0 for an agent that best-responds to its forecasts.
    spacing : float
        The ε of the grid; NaN without forecasts.
    errors : array or None
        CalErr_i over the whole record, for the tents on the grid.
    bounds : tuple of Bound
        What the numbers are held against; a block's line is that of the block with least slack.
    estimated : tuple of str
        The constants that are estimates: a bound that is missed is then open, not failed.
    """

    rounds: int
    value: float
    average_utility: float
    regret: float
    phases: tuple[Phase, ...]
    response_distance: float
    forecast_distance: float
    forecast_response_distance: float
    spacing: float
    errors: FloatArray | None
    bounds: tuple[Bound, ...]
    estimated: tuple[str, ...] = ()
    #: A finite game's audit has the profile of its bins here.
    calibration: None = None

    @property
    def failed(self) -> tuple[Bound, ...]:
        """The bounds that do not hold."""
        return tuple(bound for bound in self.bounds if bound.holds is False)

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as plain values for JSON; NaN becomes null."""
        numbers = (
            "rounds",
            "value",
            "average_utility",
            "regret",
            "response_distance",
            "forecast_distance",
            "forecast_response_distance",
            "spacing",
        )
        table: dict[str, Any] = {
            name: None if math.isnan(getattr(self, name)) else getattr(self, name)
            for name in numbers
        }
        table["phases"] = [vars(phase) for phase in self.phases]
        table["errors"] = None if self.errors is None else self.errors.tolist()
        table["bounds"] = [bound.to_dict() for bound in self.bounds]
        table["estimated"] = list(self.estimated)
        return table

    def __rich__(self) -> Group:
        """Return the audit for a terminal: words first, then the tables."""
        from stackcast.auditing.terminal import described_continuous

        return described_continuous(self)


def audit_continuous(
    transcript: Transcript, game: ContinuousGame, spacing: float | None = None
) -> ContinuousAudit:
    """Say what a transcript of a continuous game proves; :func:`stackcast.audit` calls it.

    Parameters
    ----------
    transcript : Transcript
    game : ContinuousGame
    spacing : float, optional
        The ε of the grid; by default the agent's own if the transcript knows it, and otherwise a
        tenth of the domain's inner radius.
    """
    _check_record(transcript, game)
    value = solve(game).value
    tallies = _Tallies(transcript, game, _spacing(transcript, game, spacing))
    utility = tallies.utility.mean()
    constants, T = game.constants, transcript.rounds
    unit = max(constants.utility_bound, 1e-300)
    off = constants.utility_in_response * tallies.response_distance
    note = "holds for every agent: how far its answers were from best responses"
    name = "utility, from answers alone"
    lines = [Bound.of(name, THEOREM, float(utility), value + off, unit, note)]
    errors = None
    if tallies.sums is not None and tallies.binning is not None:
        errors = np.abs(tallies.sums).max(axis=1) / T
        errors.flags.writeable = False
        lines = [_by_forecasts(game, tallies, errors, value, float(utility)), *lines]
        lines += tallies.block_lines
    if constants.estimated:
        lines = [_open(line) for line in lines]
    return ContinuousAudit(
        rounds=T,
        value=value,
        average_utility=float(utility),
        regret=float(value - utility),
        phases=_phases(transcript, tallies.utility, value),
        response_distance=tallies.response_distance,
        forecast_distance=tallies.forecast_distance,
        forecast_response_distance=tallies.forecast_response_distance,
        spacing=math.nan if tallies.binning is None else tallies.binning.spacing,
        errors=errors,
        bounds=tuple(lines),
        estimated=constants.estimated,
    )


class _Tallies:
    """One pass over the blocks: utilities, distances, sums S_i, and the lemmas of each block."""

    def __init__(self, transcript: Transcript, game: ContinuousGame, spacing: float | None) -> None:
        self._game, self._constants = game, game.constants
        self.binning = None if spacing is None else ConeBinning(game.space, spacing)
        self.utility = np.empty(transcript.rounds)
        self.sums = None
        self.block_lines: list[Bound] = []
        table, ids = transcript.forecast_table, transcript.forecast_ids
        known = table is not None and ids is not None
        if self.binning is not None:
            self.sums = np.zeros((self.binning.bins, game.space.dimension))
        answers = game.best_responses(transcript.block_strategies)
        believed = game.best_responses(table) if known else None
        response = forecast = off = 0.0
        start = 0
        for b, rounds in enumerate(transcript.block_rounds.tolist()):
            h, at = transcript.block_strategies[b], slice(start, start + rounds)
            y = transcript.compact_responses[at]
            self.utility[at] = game.principal_utilities(h, y)
            response += float(_lengths(y - answers[b]).sum())
            if table is not None and ids is not None and believed is not None:
                p = table[ids[at]]
                away = _lengths(p - h)
                wrong = float(_lengths(y - believed[ids[at]]).sum())
                forecast, off = forecast + float(away.sum()), off + wrong
                if self.binning is not None:
                    self._block(h, p, y, away, wrong / rounds, self.utility[at], answers[b])
            start += rounds
        T = transcript.rounds
        self.response_distance = response / T
        self.forecast_distance = forecast / T if known else math.nan
        self.forecast_response_distance = off / T if known else math.nan

    def _block(
        self,
        h: FloatArray,
        p: FloatArray,
        y: FloatArray,
        away: FloatArray,
        wrong: float,
        utility: FloatArray,
        answer: FloatArray,
    ) -> None:
        """Add a block to the sums, and hold it against the three lemmas."""
        binning, constants, space = self.binning, self._constants, self._game.space
        assert binning is not None
        assert self.sums is not None
        sums = np.zeros_like(self.sums)
        for start in range(0, len(p), _CHUNK):
            part = p[start : start + _CHUNK]
            sums += binning.weights(part).T @ (h - part)
        self.sums += sums
        far = 4.0 * binning.spacing
        share = float((away >= far).mean())
        error = float(np.abs(sums).max()) / len(p)
        allowed = 8.0 * math.sqrt(space.dimension) * binning.bins**2 / far * error
        reach = constants.response * (share * space.diameter + far) + wrong
        drift = float(np.sqrt(((y.mean(axis=0) - answer) ** 2).sum()))
        value = float(self._game.principal_utilities(h, answer[None])[0])
        lines = [
            Bound.of("share of far forecasts, a block", KEY_LEMMA, share, allowed, 1.0),
            Bound.of("mean response, a block", FEEDBACK_LEMMA, drift, reach, 1.0),
            Bound.of(
                "mean utility, a block",
                UTILITY_LEMMA,
                abs(float(utility.mean()) - value),
                constants.utility_in_response * reach,
                max(constants.utility_bound, 1e-300),
            ),
        ]
        if not self.block_lines:
            self.block_lines = lines
        else:
            self.block_lines = [
                min(old, new, key=lambda line: line.slack)
                for old, new in zip(self.block_lines, lines, strict=True)
            ]


def _by_forecasts(
    game: ContinuousGame, tallies: _Tallies, errors: FloatArray, value: float, utility: float
) -> Bound:
    constants, binning = game.constants, tallies.binning
    assert binning is not None
    smooth = constants.utility_in_strategy + constants.utility_in_response * constants.response
    calibration = constants.utility_in_strategy * math.sqrt(game.space.dimension) * errors.sum()
    wrong = constants.utility_in_response * tallies.forecast_response_distance
    bound = value + float(calibration) + 2.0 * smooth * binning.spacing + wrong
    note = f"tents on a grid of {binning.bins} points, ε = {binning.spacing:g}"
    unit = max(constants.utility_bound, 1e-300)
    return Bound.of("utility, from forecasts", THEOREM, utility, bound, unit, note)


def _check_record(transcript: Transcript, game: ContinuousGame) -> None:
    if transcript.fingerprint not in ("", game.fingerprint):
        found = f"another one ({game.fingerprint[:8]})"
        expected = f"the game that was played ({transcript.fingerprint[:8]})"
        raise InputError("game", expected, found)
    responses, k = transcript.compact_responses, game.response_dimension
    if responses.ndim != 2 or responses.shape[1] != k:
        raise InputError("responses", f"points of {k} numbers a round", f"shape {responses.shape}")
    for field, rows in (
        ("strategies", transcript.block_strategies),
        ("forecasts", transcript.forecast_table),
    ):
        if rows is not None:
            game.space.check_all(field, rows)


def _spacing(transcript: Transcript, game: ContinuousGame, given: float | None) -> float | None:
    """Return the ε of the grid; None where there are no forecasts, or no grid."""
    if transcript.forecast_table is None or game.space.dimension > 2:
        return None
    if given is not None:
        return real_number("spacing", given, above=0.0)
    own = transcript.metadata.get("agent", {}).get("spacing")
    return float(own) if own else 0.1 * game.space.inner_radius


def _open(line: Bound) -> Bound:
    note = "; ".join(word for word in (line.note, "with estimated constants") if word)
    return replace(line, holds=line.holds or None, note=note)


def _phases(transcript: Transcript, utility: FloatArray, value: float) -> tuple[Phase, ...]:
    labels = np.repeat(transcript.block_phases, transcript.block_rounds)
    phases = []
    for number, name in enumerate(transcript.phase_names):
        chosen = utility[labels == number]
        if len(chosen):
            regret = value - float(chosen.mean())
            share = regret * len(chosen) / len(utility)
            phases.append(Phase(name, len(chosen), float(chosen.mean()), regret, share))
    return tuple(phases)


def _lengths(rows: FloatArray) -> FloatArray:
    result: FloatArray = np.sqrt((rows * rows).sum(axis=1))
    return result
