"""What strategic classification did to people: accuracy, the shift of features, and V*.

Beside the commitments that were played stand two that the institution could hold: the optimum of
the game, and the *naive* classifier, which is fitted as if nobody moved.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError, shown
from stackcast.games import ContinuousGame, strategic_classification
from stackcast.solvers import solve

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.protocol import Transcript

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
        table: dict[str, Any] = {
            "features": list(self.features),
            "changeable": list(self.changeable),
            "believed": self.believed,
        }
        for name in ("played", "last", "optimal", "naive"):
            rule = getattr(self, name)
            table[name] = {
                field.name: np.asarray(getattr(rule, field.name)).tolist() for field in fields(rule)
            }
        return table


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
