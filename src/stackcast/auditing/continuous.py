"""The audit of a continuous game: Theorem 5.2 and its lemmas, held against a transcript.

With h_t, p_t, y_t the strategy, forecast and response of round t, tents w_i on an ε-grid x_i of the
domain, S_i = Σ_t w_i(p_t)(h_t − p_t), CalErr_i = ‖S_i‖_∞/T and the constants of Assumption 5.1:

- avg U_P ≤ V* + L₁√m·Σ_i CalErr_i + 2(L₁ + L₂·L_BR)ε if every y_t is BR(p_t); for other agents
  L₂·mean‖y_t − BR(p_t)‖ more;
- avg U_P ≤ V* + L₂·mean‖y_t − BR(h_t)‖, for any agent, forecasts or not;
- beyond two dimensions, with cells of side 2ε/√m in the place of tents, of those that were visited:
  avg U_P ≤ V* + L₁·Σ_i ‖S_i‖₂/T + L₂·L_BR·mean‖p_t − p̄_i‖, p̄_i the mean forecast of the cell of
  p_t. (U_P is concave in the strategy, so in each cell the mean of U_P(h_t, y) is at most
  U_P(p̄_i, y) + L₁·‖S_i‖₂/n_i, and U_P(p̄_i, BR(p̄_i)) ≤ V*.)
- in a block of M rounds of one strategy h, with s the share of rounds in which ‖p_t − h‖ ≥ ε₀ = 4ε:
  s ≤ 8√m·I²/ε₀·max_i CalErr_i over the block (I bins; for cells s ≤ Σ_i ‖S_i‖₂/(2ε·M), since a
  cell with a far forecast lies 2ε or more beyond h in some direction), the mean response is within
  L_BR·(s·D_P + ε₀) of BR(h), and the mean utility within L₂ times that of C(h).

A play of strategic classification also has a :class:`ClassificationReport`: accuracy, the shift of
the features, V*, and the *naive* classifier, which is fitted as if nobody moved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._plain import plain
from stackcast._validation import InputError, real_number, shown
from stackcast.auditing.finite import AnyAudit, Bound, Phase, phases_of
from stackcast.auditing.records import check_fingerprint
from stackcast.calibration import ConeBinning, CoverBinning, tents_or_cells
from stackcast.games import ContinuousGame, strategic_classification
from stackcast.solvers import solve

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.protocol import Transcript
    from stackcast.solvers import ContinuousSolution

THEOREM, KEY_LEMMA, FEEDBACK_LEMMA, UTILITY_LEMMA = (
    "Theorem 5.2",
    "Lemma E.1",
    "Lemma E.4",
    "Lemma E.5",
)
#: Rounds whose weights are computed at once.
_CHUNK = 1 << 13


@dataclass(frozen=True, eq=False, repr=False)
class ContinuousAudit(AnyAudit):
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
        CalErr_i over the whole record, for the tents on the grid or the cells that were visited.
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

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as plain values for JSON; NaN becomes null."""
        return plain(self, but=("calibration",))


def audit_continuous(
    transcript: Transcript,
    game: ContinuousGame,
    spacing: float | None = None,
    solution: ContinuousSolution | None = None,
) -> ContinuousAudit:
    """Return what a transcript of a continuous game proves; :func:`stackcast.audit` calls it.

    Parameters
    ----------
    transcript : Transcript
    game : ContinuousGame
    spacing : float, optional
        The ε of the grid; by default the agent's own if the transcript knows it, and otherwise a
        tenth of the domain's inner radius.
    solution : ContinuousSolution, optional
        The solution of the game, if it was computed before.
    """
    _check_record(transcript, game)
    value = (solve(game) if solution is None else solution).value
    spacing = _spacing(transcript, game, spacing)
    found = _Tallies(transcript, game, spacing)
    constants, T = game.constants, transcript.rounds
    utility = float(found.utility.mean())
    unit = max(constants.utility_bound, 1e-300)
    off = constants.lipschitz_response * found.response_distance
    note = "valid for any agent; computed from how far its responses are from best responses"
    lines = [Bound.of("utility, from answers alone", THEOREM, utility, value + off, unit, note)]
    errors, binning = None, found.binning
    if binning is not None and spacing is not None:
        errors = np.abs(found.sums).max(axis=1) / T
        errors.flags.writeable = False
        steep, through = constants.lipschitz_strategy, constants.lipschitz_response
        through *= constants.lipschitz_best_response
        bound = value + constants.lipschitz_response * found.forecast_response_distance
        if isinstance(binning, ConeBinning):
            bound += steep * math.sqrt(game.space.dimension) * float(errors.sum())
            bound += 2.0 * (steep + through) * spacing
            note = f"tents on a grid of {binning.bins} points, ε = {spacing:g}"
        else:
            bound += steep * float(_lengths(found.sums).sum()) / T + through * found.spread
            note = f"{len(errors)} cells were visited, ε = {spacing:g}"
        first = Bound.of("utility, from forecasts", THEOREM, utility, bound, unit, note)
        lines = [first, *lines, *found.block_lines]
    if constants.estimated:
        lines = [_open(line) for line in lines]
    labels = np.repeat(transcript.block_phases, transcript.block_rounds)
    count = len(transcript.phase_names)
    return ContinuousAudit(
        rounds=T,
        value=value,
        average_utility=utility,
        regret=value - utility,
        phases=phases_of(
            transcript,
            value,
            np.bincount(labels, minlength=count),
            np.bincount(labels, weights=found.utility, minlength=count),
        ),
        response_distance=found.response_distance,
        forecast_distance=found.forecast_distance,
        forecast_response_distance=found.forecast_response_distance,
        spacing=math.nan if spacing is None else spacing,
        errors=errors,
        bounds=tuple(lines),
        estimated=constants.estimated,
    )


@dataclass(eq=False)
class _Tallies:
    """One pass over the blocks: utilities, distances, sums S_i, and the lemmas of each block."""

    transcript: Transcript
    game: ContinuousGame
    spacing: float | None
    block_lines: list[Bound] = field(default_factory=list, init=False)
    #: The mean distance of a forecast from the mean of its cell.
    spread: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        t, game = self.transcript, self.game
        table, ids = t.forecast_table, t.forecast_ids
        self.binning = None if self.spacing is None else tents_or_cells(game.space, self.spacing)
        self.utility = np.empty(t.rounds)
        bins = 0 if self.binning is None else self.binning.bins
        if isinstance(self.binning, CoverBinning) and table is not None and ids is not None:
            used, at_ids = np.unique(ids, return_inverse=True)
            _, cells = np.unique(self.binning.cells(table[used]), axis=0, return_inverse=True)
            self._cells = np.zeros(len(table), dtype=np.int64)
            self._cells[used] = cells.reshape(-1)
            rounds, bins = np.bincount(at_ids.reshape(-1)), int(cells.max()) + 1
            of, here = self._cells[used], table[used]
            means = np.zeros((bins, game.space.dimension))
            np.add.at(means, of, rounds[:, None] * here)
            means /= np.bincount(of, weights=rounds)[:, None]
            self.spread = float(rounds @ _lengths(here - means[of])) / t.rounds
        self.sums = np.zeros((bins, game.space.dimension))
        answers = game.best_responses(t.block_strategies)
        known = table is not None and ids is not None
        believed = answers if table is None or ids is None else game.best_responses(table)
        response, forecast, off, start = 0.0, 0.0, 0.0, 0
        for h, best, rounds in zip(
            t.block_strategies, answers, t.block_rounds.tolist(), strict=True
        ):
            at = slice(start, start + rounds)
            y = t.compact_responses[at]
            self.utility[at] = game.principal_utilities(h, y)
            response += float(_lengths(y - best).sum())
            if table is not None and ids is not None:
                p = table[ids[at]]
                away, wrong = _lengths(p - h), float(_lengths(y - believed[ids[at]]).sum())
                forecast, off = forecast + float(away.sum()), off + wrong
                if self.binning is not None:
                    self._block(h, p, ids[at], y, away, wrong / rounds, at, best)
            start += rounds
        T = t.rounds
        self.response_distance = response / T
        self.forecast_distance = forecast / T if known else math.nan
        self.forecast_response_distance = off / T if known else math.nan

    def _block(
        self,
        h: FloatArray,
        p: FloatArray,
        ids: Any,
        y: FloatArray,
        away: FloatArray,
        wrong: float,
        at: slice,
        best: FloatArray,
    ) -> None:
        """Add a block to the sums, and hold it against the three lemmas."""
        constants, space = self.game.constants, self.game.space
        assert self.spacing is not None
        far = 4.0 * self.spacing
        share = float((away >= far).mean())
        if isinstance(self.binning, ConeBinning):
            sums = np.zeros_like(self.sums)
            for start in range(0, len(p), _CHUNK):
                part = p[start : start + _CHUNK]
                sums += self.binning.weights(part).T @ (h - part)
            self.sums += sums
            error = float(np.abs(sums).max()) / len(p)
            allowed = 8.0 * math.sqrt(space.dimension) * self.binning.bins**2 / far * error
        else:
            cells, of = np.unique(self._cells[ids], return_inverse=True)
            sums = np.zeros((len(cells), space.dimension))
            np.add.at(sums, of.reshape(-1), h - p)
            self.sums[cells] += sums
            allowed = float(_lengths(sums).sum()) / (0.5 * far * len(p))
        reach = constants.lipschitz_best_response * (share * space.diameter + far) + wrong
        drift = float(_lengths(y.mean(axis=0, keepdims=True) - best)[0])
        value = float(self.game.principal_utilities(h, best[None])[0])
        lost = abs(float(self.utility[at].mean()) - value)
        unit = max(constants.utility_bound, 1e-300)
        reached = constants.lipschitz_response * reach
        lines = [
            Bound.of("share of far forecasts, a block", KEY_LEMMA, share, allowed, 1.0),
            Bound.of("mean response, a block", FEEDBACK_LEMMA, drift, reach, 1.0),
            Bound.of("mean utility, a block", UTILITY_LEMMA, lost, reached, unit),
        ]
        pairs = zip(self.block_lines or lines, lines, strict=True)
        self.block_lines = [min(pair, key=lambda line: line.slack) for pair in pairs]


def _check_record(transcript: Transcript, game: ContinuousGame) -> None:
    check_fingerprint(transcript, game)
    responses, k = transcript.compact_responses, game.response_dimension
    if responses.ndim != 2 or responses.shape[1] != k:
        raise InputError("responses", f"points of {k} numbers a round", f"shape {responses.shape}")
    for name, rows in (
        ("strategies", transcript.block_strategies),
        ("forecasts", transcript.forecast_table),
    ):
        if rows is not None:
            game.space.check_all(name, rows)


def _spacing(transcript: Transcript, game: ContinuousGame, given: float | None) -> float | None:
    """Return the ε of tents or cells; None where there are no forecasts."""
    if transcript.forecast_table is None:
        return None
    if given is not None:
        return real_number("spacing", given, above=0.0)
    own = transcript.metadata.get("agent", {}).get("spacing")
    return float(own) if own else 0.1 * game.space.inner_radius


def _open(line: Bound) -> Bound:
    note = "; ".join(word for word in (line.note, "with estimated constants") if word)
    return replace(line, holds=line.holds or None, note=note)


def _lengths(rows: FloatArray) -> FloatArray:
    return np.sqrt((rows * rows).sum(axis=1))


#: With this cost nobody moves: a move by a standard deviation costs a billion points of the score.
_NOBODY_MOVES = 2e9


@dataclass(frozen=True, eq=False)
class Classifier:
    """A scoring rule, with what happens under it.

    Attributes
    ----------
    weights : array
        The weights of the features.
    utility : float
        The principal's utility with the responses of ``shift``.
    accuracy, balanced_accuracy : float
        The share of applicants on the right side of 0 once they have moved, and the mean of the
        two labels' shares.
    accuracy_if_nobody_moves : float
        The share without the moves.
    shift : array
        How far those with the bad label move each feature, in standard deviations.
    """

    weights: FloatArray
    utility: float
    accuracy: float
    balanced_accuracy: float
    accuracy_if_nobody_moves: float
    shift: FloatArray


@dataclass(frozen=True, eq=False)
class ClassificationReport:
    """What a play of strategic classification did; made by :func:`classification_report`.

    Attributes
    ----------
    features, changeable : tuple of str
        All features, and those that applicants can change.
    played : Classifier
        The means over all rounds; its weights are the mean weights.
    last : Classifier
        The last block's weights with the mean response to them.
    optimal : Classifier
        The optimum of the game, with best responses: its utility is V*.
    naive : Classifier
        The rule that is fitted as if nobody moved, with best responses to it.
    believed : float
        The utility that the naive rule would have if nobody moved.
    """

    features: tuple[str, ...]
    changeable: tuple[str, ...]
    played: Classifier
    last: Classifier
    optimal: Classifier
    naive: Classifier
    believed: float

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values."""
        return plain(self)


def classification_report(
    transcript: Transcript, game: ContinuousGame | None = None
) -> ClassificationReport:
    """Return accuracy, the shift of the features, and V* beside the rule that ignores strategy.

    Parameters
    ----------
    transcript : Transcript
        A play of strategic classification.
    game : ContinuousGame, optional
        The game, if the transcript does not hold it.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = sc.load_game("credit-scoring")
    >>> principal = sc.principals.Fixed(game.principal_view, [0.7, 0.1])
    >>> agent = sc.agents.ContinuousBestResponse(game.agent_view)
    >>> report = classification_report(sc.play(principal, agent, 10, game=game))
    >>> bool(report.naive.utility < report.optimal.utility < report.believed)
    True
    """
    played: Any = transcript.game if game is None else game
    if not isinstance(played, ContinuousGame) or played.family is None:
        raise InputError("game", "a game of strategic classification", shown(played))
    if played.family.name != "strategic-classification":
        raise InputError("game", "a game of strategic classification", played.family.name)
    naive_game = strategic_classification(
        played.space,
        played.family.data["labelled"],
        changeable=played.family.parameters["changeable"],
        cost=_NOBODY_MOVES,
    )
    naive = solve(naive_game)
    optimum = solve(played)
    start = transcript.rounds - int(transcript.block_rounds[-1])
    last = transcript.compact_responses[start:].mean(axis=0)
    return ClassificationReport(
        played.principal_features,
        played.response_features,
        _over_all_rounds(transcript, played),
        _classifier(played, transcript.block_strategies[-1], last),
        _classifier(played, optimum.strategy, optimum.response),
        _classifier(played, naive.strategy, played.best_responses(naive.strategy)[0]),
        naive.value,
    )


def _classifier(game: ContinuousGame, weights: FloatArray, moved: FloatArray) -> Classifier:
    assert game.family is not None
    data = game.family.data
    good, bad, at = data["good"] @ weights, data["bad"] @ weights, data["changeable"]
    passed = float((good > 0).mean())
    shift = np.zeros(len(weights))
    shift[at] = moved
    stopped = float((bad + weights @ shift <= 0).mean())
    before = float((bad <= 0).mean())
    share = len(good) / (len(good) + len(bad))
    return Classifier(
        weights=np.array(weights),
        utility=float(game.principal_utilities(weights, moved[None])[0]),
        accuracy=share * passed + (1 - share) * stopped,
        balanced_accuracy=0.5 * (passed + stopped),
        accuracy_if_nobody_moves=share * passed + (1 - share) * before,
        shift=shift,
    )


def _over_all_rounds(transcript: Transcript, game: ContinuousGame) -> Classifier:
    """Return the mean over the rounds of every number, by the mean response of each block."""
    starts = np.cumsum(transcript.block_rounds) - transcript.block_rounds
    sums = np.add.reduceat(transcript.compact_responses, starts, axis=0)
    rules = [
        _classifier(game, h, total / rounds)
        for h, total, rounds in zip(
            transcript.block_strategies, sums, transcript.block_rounds, strict=True
        )
    ]
    parts = transcript.block_rounds / transcript.rounds
    utility = 0.0
    for b, start in enumerate(starts):
        y = transcript.compact_responses[start : start + transcript.block_rounds[b]]
        utility += parts[b] * float(
            game.principal_utilities(transcript.block_strategies[b], y).mean()
        )

    def mean(name: str) -> Any:
        return parts @ np.array([getattr(rule, name) for rule in rules])

    return Classifier(
        weights=mean("weights"),
        utility=utility,
        accuracy=float(mean("accuracy")),
        balanced_accuracy=float(mean("balanced_accuracy")),
        accuracy_if_nobody_moves=float(mean("accuracy_if_nobody_moves")),
        shift=mean("shift"),
    )
