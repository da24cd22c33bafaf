"""What a campaign hands back to a person: advice, and receipts for what was told."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stackcast._validation import FloatArray
    from stackcast.protocol import Block, Recommendation


@dataclass(frozen=True, eq=False)
class Advice:
    """What to commit to now.

    Parameters
    ----------
    entry : int
        The number of the ask in the journal.
    strategy : array of numbers
        The mixed strategy to play.
    actions : tuple of str
        The names of its actions.
    rounds : int
        For how many rounds.
    phase : str
        What the principal is doing.
    why : str
        Why, in one sentence.
    differences : tuple of str
        Decisions on record that this version of the software would have taken otherwise, noticed
        when this one was taken.
    """

    entry: int
    strategy: FloatArray
    actions: tuple[str, ...]
    rounds: int
    phase: str
    why: str
    differences: tuple[str, ...] = ()

    def mixture(self) -> str:
        """Return the strategy in words.

        Examples
        --------
        >>> import numpy as np
        >>> Advice(2, np.array([0.25, 0.75]), ("inspect", "trust"), 40, "explore", "").mixture()
        '25% inspect, 75% trust'
        """
        return mixture(self.strategy, self.actions)

    def to_dict(self) -> dict[str, Any]:
        """Return the advice as JSON can hold it."""
        return {
            "entry": self.entry,
            "strategy": self.strategy.tolist(),
            "actions": list(self.actions),
            "rounds": self.rounds,
            "phase": self.phase,
            "why": self.why,
            "differences": list(self.differences),
        }


@dataclass(frozen=True)
class Receipt:
    """What became of an answer.

    Parameters
    ----------
    entry : int
        Its number in the journal.
    rounds : int
        The rounds that it tells of.
    shown : int
        The responses that the principal is shown as the answer to its question.
    missing : int
        Rounds without a response.
    as_asked : bool
        Whether the strategy that was played is the one asked for, up to rounding.
    answered : bool
        Whether the ask is closed by it.
    first_seen : tuple of str
        Actions of the agent that were never seen before in this campaign.
    """

    entry: int
    rounds: int
    shown: int
    missing: int
    as_asked: bool
    answered: bool
    first_seen: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the receipt as JSON can hold it."""
        return {**self.__dict__, "first_seen": list(self.first_seen)}


def mixture(strategy: FloatArray, actions: Sequence[str]) -> str:
    """Return a mixed strategy in words, most digits that a person could use."""
    return ", ".join(
        f"{100 * p:.4g}% {action}" for p, action in zip(strategy, actions, strict=True) if p > 5e-7
    )


def reason(block: Block, result: Recommendation, agent_actions: Sequence[str]) -> str:
    """Return why a block is asked for, in one sentence.

    Examples
    --------
    >>> import numpy as np
    >>> from stackcast.protocol import Block, Recommendation
    >>> h = np.array([0.5, 0.5])
    >>> reason(Block(h, 40, "commit"), Recommendation(h, 1, 2.4, 0.02, 2.45), ["left", "right"])
    "The best commitment found so far: it draws 'right' and earns 2.4, and at most 0.05 more is
    thought possible."
    """
    answer = (
        "the agent's answer" if result.response is None else repr(agent_actions[result.response])
    )
    gain = result.potential - result.value
    more = (
        f", and at most {max(gain, 0.0):.3g} more is thought possible"
        if math.isfinite(gain)
        else ""
    )
    worth = f"{result.value:.4g}" if math.isfinite(result.value) else "an unknown utility"
    sentences = {
        "explore": "The answer tells apart agents under which better commitments would pay.",
        "certify": f"If the agent answers {answer} here too, a commitment worth {worth} is proved "
        "safe against small errors of its forecast.",
        "recheck": "An earlier answer here would matter most if it were wrong: ask it again.",
        "commit": f"The best commitment found so far: it draws {answer} and earns {worth}{more}.",
    }
    return sentences.get(block.phase, f"The principal is in its phase {block.phase or 'play'!r}.")
