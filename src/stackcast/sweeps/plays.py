"""One play of a sweep: what determines it, and the row that it leaves."""

from __future__ import annotations

import functools
import hashlib
import json
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from stackcast import agents, principals
from stackcast.auditing import audit
from stackcast.games import game_from_table, game_to_table
from stackcast.protocol import build, play

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stackcast.games import Game
    from stackcast.protocol import Transcript

#: What a row can hold besides V*, the regret and the range of the principal's payoffs, its scale.
#: All but the last take little time.
Metric = Literal[
    "average_utility",
    "best_response_share",
    "explored",
    "external_regret",
    "swap_regret",
    "curve",
    "calibration",
]
METRICS: tuple[Metric, ...] = get_args(Metric)
#: The columns that say which play it was, in the order by which rows are sorted.
IDENTITY = ("game", "principal", "agent", "rounds", "seed")
#: The rooms whose code decides what a play is; a change in them makes rows of before obsolete.
_DECIDING = (
    "games",
    "regions",
    "solvers",
    "calibration",
    "protocol",
    "agents",
    "principals",
    "auditing",
)
#: Points of a curve in each decade of rounds.
_POINTS = 8


@dataclass(frozen=True)
class Player:
    """A player by the name that its registry knows, with settings of its own."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The name, with the settings that were given."""
        given = ", ".join(f"{key}={json.dumps(value)}" for key, value in self.settings.items())
        return f"{self.name}({given})" if given else self.name


@dataclass(frozen=True)
class Play:
    """A game, two players, a length and a seed: everything that determines a row."""

    game: Game
    principal: Player
    agent: Player
    rounds: int
    seed: int
    metrics: tuple[str, ...]

    def task(self) -> dict[str, Any]:
        """Return the play as plain values that can be sent to another machine, with its key."""
        table = {
            "game": _table(self.game),
            "principal": {"name": self.principal.name, "settings": dict(self.principal.settings)},
            "agent": {"name": self.agent.name, "settings": dict(self.agent.settings)},
            "rounds": self.rounds,
            "seed": self.seed,
            "metrics": sorted(self.metrics),
        }
        origins = [principals.origin(self.principal.name), agents.origin(self.agent.name)]
        decides = {
            **table,
            "game": self.game.fingerprint,
            "by": origins,
            "algorithms": algorithms(),
        }
        digest = hashlib.blake2b(json.dumps(decides, sort_keys=True).encode(), digest_size=16)
        return {**table, "key": digest.hexdigest()}


_table = functools.cache(game_to_table)


@functools.cache
def algorithms() -> str:
    """Return a hash of the code that decides what a play is: the version of the algorithms."""
    package = Path(__file__).parent.parent
    digest = hashlib.blake2b(digest_size=8)
    for room in _DECIDING:
        for file in sorted((package / room).glob("*.py")):
            digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def made_players(
    game: Game, wanted: Mapping[str, Player], rounds: int, seed: int
) -> dict[str, Any]:
    """Return the players that are wanted of the rooms ``principals`` and ``agents``."""
    return {
        room: build(
            "agent" if room == "agents" else "principal",
            chosen.name,
            game,
            horizon=rounds,
            seed=seed,
            settings=chosen.settings,
        )
        for room, chosen in wanted.items()
    }


def run_play(task: Mapping[str, Any]) -> dict[str, Any]:
    """Play, audit and return the row; a play that fails leaves its error and traceback."""
    principal, agent = (Player(**task[side]) for side in ("principal", "agent"))
    row: dict[str, Any] = {
        "key": task["key"],
        "game": task["game"].get("name", ""),
        "principal": principal.label,
        "agent": agent.label,
        "rounds": task["rounds"],
        "seed": task["seed"],
        "algorithms": algorithms(),
        "error": None,
        "traceback": None,
    }
    start = time.perf_counter()
    try:
        game = game_from_table(task["game"])
        row["game"] = game.name
        players = made_players(
            game, {"principals": principal, "agents": agent}, task["rounds"], task["seed"]
        )
        wanted = task["metrics"]
        transcript = play(
            players["principals"],
            players["agents"],
            task["rounds"],
            game,
            forecasts="calibration" in wanted,
        )
        row |= _measured(transcript, game, wanted)
    except Exception as error:
        row["error"] = f"{type(error).__name__}: {error}"
        row["traceback"] = traceback.format_exc()
    row["seconds"] = time.perf_counter() - start
    return row


def _measured(transcript: Transcript, game: Game, wanted: list[str]) -> dict[str, Any]:
    found = audit(transcript, game, profile="calibration" in wanted)
    # Where each action is taken or each target covered: there lie the extremes.
    payoffs = game.principal_view.payoffs + game.principal_view.offsets
    scale = float(payoffs.max() - payoffs.min()) or 1.0
    row: dict[str, Any] = {"value": found.value, "regret": found.regret, "scale": scale}
    plain = {
        "average_utility": found.average_utility,
        "best_response_share": found.best_response_share,
        "external_regret": found.external_regret_per_round,
        "swap_regret": found.swap_regret_per_round,
    }
    row |= {name: value for name, value in plain.items() if name in wanted}
    if "explored" in wanted:
        explored = found.exploration
        row["explored"] = explored.rounds / found.rounds if explored is not None else 0.0
    if "curve" in wanted:
        row["curve_rounds"], row["curve_regret"] = _curve(transcript, game, found.value)
    if "calibration" in wanted:
        kept = found.calibration
        row["calibration"] = None if kept is None else kept.profile.upper
    return row


def _curve(transcript: Transcript, game: Game, value: float) -> tuple[list[int], list[float]]:
    """Return V* less the average utility of the first t rounds, for t = 1, …, T on a log scale."""
    lengths = np.array([block.rounds for block in transcript.blocks])
    utilities = np.array([game.principal_utilities(b.strategy) for b in transcript.blocks])
    index = np.repeat(np.arange(len(lengths)), lengths)
    earned = np.cumsum(utilities.reshape(len(lengths), -1)[index, transcript.responses])
    total = transcript.rounds
    steps = np.arange(int(np.log10(total) * _POINTS) + 1) / _POINTS
    at = np.unique(np.append(np.rint(10**steps), total).astype(np.int64))
    return at.tolist(), (value - earned[at - 1] / at).tolist()
