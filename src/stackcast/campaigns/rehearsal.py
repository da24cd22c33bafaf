"""A campaign played before it starts, against many agents that are possible.

Every agent is drawn from what is known of its payoffs: the bounds of the game file and the
responses on record. It is calibrated, sees what the other side of the campaign sees, and the same
learner plays against it for the rounds that are left. Responses are misread as often as the owner
says. Nothing is written.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._plain import plain
from stackcast._random import stream
from stackcast._validation import InputError, whole_number
from stackcast.campaigns.parsing import parse_strategy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from stackcast._validation import FloatArray
    from stackcast.campaigns.campaign import Campaign, Setup

#: Agents of one block of work.
_BLOCK = 10
#: Points of the paths that are drawn.
_POINTS = 60


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """What the campaign earned a round against each agent that was drawn.

    Parameters
    ----------
    rounds : int
        How many rounds were played.
    earned : array of numbers, shape (agents,)
        The average over all rounds.
    optimum : array of numbers, shape (agents,)
        V*, what the best commitment against this agent earns.
    now : array of numbers or None
        What doing what is done now earns.
    strategy_now : array of numbers or None
        What is done now.
    days : array of whole numbers, shape (points,)
        Rounds at which the paths are looked at.
    paths : array of numbers, shape (agents, points)
        The average a round so far.
    """

    rounds: int
    earned: FloatArray
    optimum: FloatArray
    now: FloatArray | None
    strategy_now: FloatArray | None
    days: FloatArray
    paths: FloatArray

    @property
    def between(self) -> tuple[float, float, float]:
        """The tenth, the fiftieth and the ninetieth of a hundred agents, by what was earned."""
        low, middle, high = np.quantile(self.earned, (0.1, 0.5, 0.9))
        return float(low), float(middle), float(high)

    def sentence(self) -> str:
        """Return what to expect.

        Examples
        --------
        >>> one = np.array([5.9, 6.2, 6.5])
        >>> Rehearsal(90, one, one + 0.4, one - 0.6, None, one, one[:, None]).sentence()
        'After 90 rounds between 5.96 and 6.44 a round, 6.2 typically; doing what you do now earns
        5.6; V* 6.6.'
        """
        low, middle, high = self.between
        now = ""
        if self.now is not None:
            now = f"; doing what you do now earns {np.median(self.now):.3g}"
        return (
            f"After {self.rounds:,} rounds between {low:.3g} and {high:.3g} a round, {middle:.3g} "
            f"typically{now}; V* {np.median(self.optimum):.3g}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON can hold them."""
        low, middle, high = self.between
        return {
            "rounds": self.rounds,
            "agents": len(self.earned),
            "low": low,
            "typical": middle,
            "high": high,
            "now": None if self.now is None else float(np.median(self.now)),
            "optimum": float(np.median(self.optimum)),
            "strategy_now": plain(self.strategy_now),
            "earned": self.earned.tolist(),
        }


def rehearse(
    campaign: Campaign,
    agents: int = 200,
    *,
    now: str | Mapping[str, float] | Iterable[float] | None = None,
    workers: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Rehearsal:
    """Play a campaign's remaining rounds against agents drawn from what is known.

    Parameters
    ----------
    campaign : Campaign
    agents : int
        How many are drawn.
    now : str, mapping or iterable, optional
        The mix that is played now; by default the one on record that was played most.
    workers : int, optional
        Processes; the figures do not depend on it. By default one a processor.
    progress : callable, optional
        Is told how many agents are done.

    Returns
    -------
    Rehearsal
    """
    whole_number("agents", agents, at_least=2)
    setup, past = campaign.setup, campaign.past()
    view = setup.game.principal_view
    log = [(row.strategy, row.counts) for row in past if row.counts.sum()]
    told = sum(int(counts.sum()) for _, counts in log) - sum(
        int(counts.sum()) for _, counts in setup.imports
    )
    rounds = max(setup.settings["horizon"] - told, setup.settings["horizon"] // 10, 1)
    held = None
    if now is not None:
        held = parse_strategy(now, setup.game.principal_actions, "now")
    elif log:
        held = max(log, key=lambda row: int(row[1].sum()))[0]
    payoffs = _drawn(setup, log, agents)
    parts = [range(i, min(i + _BLOCK, agents)) for i in range(0, agents, _BLOCK)]
    rows: list[tuple[float, float, float, FloatArray]] = []
    at = np.unique(np.linspace(1, rounds, min(_POINTS, rounds)).round().astype(np.int64))
    for some in _spread(
        [(setup, log, payoffs[list(part)], part, rounds, at, held) for part in parts], workers
    ):
        rows += some
        if progress is not None:
            progress(len(rows))
    earned, optimum, holding, paths = (np.array(column) for column in zip(*rows, strict=True))
    if len(view.agent_actions) == 0:
        raise InputError("game", "actions of the agent", "none")
    return Rehearsal(
        rounds, earned, optimum, None if held is None else holding, held,
        at.astype(np.float64), paths,
    )  # fmt: skip


def _drawn(setup: Setup, log: list[Any], count: int) -> FloatArray:
    """Return payoffs of agents (count×m×k): from the learner's posterior, given the record."""
    from stackcast.principals import CommitmentLearner

    arrays = None
    if log:
        k = len(setup.game.agent_actions)
        arrays = (
            np.array([h for h, _ in log[-300:]]),
            np.array([np.pad(c, (0, k - len(c))) for _, c in log[-300:]]),
        )
    learner = CommitmentLearner(
        setup.game.principal_view, setup.settings["horizon"], seed=setup.settings["seed"],
        agent_payoffs=setup.game.bounds, log=arrays, particles=count,
        misread=setup.settings.get("misread") or 0.0,
    )  # fmt: skip
    return learner.particles_of_payoffs


def _spread(tasks: list[Any], workers: int | None) -> Any:
    """Yield what the tasks return, in order, from several processes."""
    import os

    count = min(workers or os.cpu_count() or 1, len(tasks))
    if count == 1:
        yield from map(_played, tasks)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(count, get_context("spawn")) as pool:
        try:
            yield from pool.map(_played, tasks)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _played(task: Any) -> list[tuple[float, float, float, FloatArray]]:
    """Play against a few agents; return earnings, V*, the earnings of the mix held, and paths."""
    from stackcast.solvers import solve

    setup, log, payoffs, numbers, rounds, at, held = task
    rows = []
    for i, agent_payoffs in zip(numbers, payoffs, strict=True):
        game = setup.game.whole(agent_payoffs)
        view = game.principal_view
        path = _play(setup, log, game, i, rounds)
        holding = math.nan
        if held is not None:
            holding = float(view.utilities(held)[game.agent_view.respond(held)[0]])
        average = np.cumsum(path) / np.arange(1, rounds + 1)
        rows.append((float(path.mean()), solve(game).value, holding, average[at - 1]))
    return rows


def _play(setup: Setup, log: list[Any], game: Any, number: int, rounds: int) -> FloatArray:
    """Return what the campaign earns in every round against one agent."""
    from stackcast.agents import Calibrated
    from stackcast.protocol import Block

    settings = setup.settings
    seen: Any = "action" if settings.get("agent_sees") == "actions" else "strategy"
    agent = Calibrated(game.agent_view, seed=number, feedback=seen)
    rng = stream(settings["seed"], "rehearsal", number)
    principal, view, slip = setup.build(log), game.principal_view, settings.get("misread") or 0.0
    k, earned, t = len(game.agent_actions), np.empty(rounds), 0
    while t < rounds:
        block = principal.commit()
        n = min(block.rounds, rounds - t)
        given = agent.respond(Block(block.strategy, n, block.phase)).responses
        earned[t : t + n] = view.utilities(block.strategy)[given]
        t += n
        told = np.array(given)
        if slip and k > 1:
            wrong = rng.random(n) < slip
            told[wrong] = (told[wrong] + rng.integers(1, k, int(wrong.sum()))) % k
        principal.observe(told)
    return earned
