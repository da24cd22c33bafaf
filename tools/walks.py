"""Count the walks through the house: files, functions and calls of what is done most often.

    python tools/walks.py [--calls]

Only Python functions under ``src/stackcast`` count, bodies of classes and comprehensions do not.
Of play and audit together it is counted how often V* is solved and the record is checked.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import stackcast as sc

if TYPE_CHECKING:
    from collections.abc import Callable

_HOUSE = str(Path(sc.__file__).parent) + "/"
_ROUNDS, _BLOCK = 20_000, 30


class Walk:
    """The calls between ``start`` and ``stop``, by file and function."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()

    def start(self) -> None:
        """Count from here."""
        sys.setprofile(self._note)

    def stop(self) -> None:
        """Count no more."""
        sys.setprofile(None)

    def _note(self, frame: Any, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(_HOUSE) and code.co_name[0] != "<":
            self.calls[code.co_filename.removeprefix(_HOUSE), code.co_qualname] += 1

    def of(self, action: Callable[[], Any]) -> Walk:
        """Count what an action calls."""
        self.start()
        try:
            action()
        finally:
            self.stop()
        return self

    def named(self, *names: str) -> int:
        """Return how often functions of these names were called."""
        return sum(count for (_, name), count in self.calls.items() if name in names)

    def __str__(self) -> str:
        files = len({file for file, _ in self.calls})
        return f"{files} files, {len(self.calls)} functions, {self.calls.total()} calls"


def one_round() -> Walk:
    """Return the walk of one block in the middle of a play: the learner, the calibrated agent."""
    game = sc.load_game("inspection")
    principal = sc.protocol.build("principal", "VersionSpace", game, horizon=_ROUNDS)
    agent = sc.protocol.build("agent", "Calibrated", game)
    found, left = Walk(), _BLOCK

    def watch(_block: Any, _answers: Any) -> bool:
        nonlocal left
        left -= 1
        if left == 0:
            found.start()
        elif left == -1:
            found.stop()
        return left < 0

    sc.play(principal, agent, _ROUNDS, game, watch=watch)
    return found


def one_ask() -> Walk:
    """Return the walk of opening a campaign and asking, as ``stackcast campaign ask`` does."""
    from stackcast.campaigns import Campaign, HalfKnownGame

    game = HalfKnownGame([[1, 3], [0, 2]], ["up", "down"], ["left", "right"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.db"
        with Campaign.new(path, game, horizon=500) as campaign:
            for response in (0, 1, 1):
                campaign.ask()
                campaign.tell([response] * 5)

        def ask() -> None:
            with Campaign.open(path) as campaign:
                campaign.ask()

        return Walk().of(ask)


def play_and_audit() -> Walk:
    """Return the walk of a play and its audit."""
    game = sc.load_game("inspection")
    principal = sc.principals.Fixed(game.principal_view, [0.5, 0.3, 0.2])
    agent = sc.protocol.build("agent", "Calibrated", game)
    return Walk().of(lambda: sc.audit(sc.play(principal, agent, 1000, game), game))


def main() -> None:
    """Print the walks."""
    walks = {"one round of play": one_round(), "campaign ask": one_ask()}
    both = play_and_audit()
    for name, found in (*walks.items(), ("play + audit", both)):
        print(f"{name}: {found}")
        if "--calls" in sys.argv:
            for (file, function), count in sorted(found.calls.items()):
                print(f"    {count:5}  {file}  {function}")
    print(f"play + audit: V* solved {both.named('solve')} times", end=", ")
    print(f"the strategy of a block checked {both.named('fits', 'StrategySpace.check')} times")


if __name__ == "__main__":
    main()
