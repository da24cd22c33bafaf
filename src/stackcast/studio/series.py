"""A play while it runs, summed up in stretches of rounds: what is drawn of it, bounded in size."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

import stackcast as sc
from stackcast.protocol import Block, Responses
from stackcast.studio import messages as ms
from stackcast.studio import players

if TYPE_CHECKING:
    from stackcast.protocol import Transcript

#: Stretches that a play is drawn with, rounds of the error's window, forecasts.
STRETCHES, WINDOW, FORECASTS = 400, 200, 160
#: The bound on the principal's utility that forecasts give, as the audit calls it.
_BOUND = "utility, from forecasts"


class Series:
    """Stretches and steps of a play so far; ``news`` returns what was added since it was called."""

    def __init__(self, game: Any, rounds: int, *, certify: bool = True) -> None:
        self.game, self.rounds, self.round = game, rounds, 0
        self.stretch = max(1, math.ceil(rounds / STRETCHES))
        self._certify = certify
        self.stretches: list[ms.Stretch] = []
        self.steps: list[ms.Step] = []
        self._actions = 0 if isinstance(game, sc.ContinuousGame) else game.shape[1]
        self._total = self._since = 0.0
        self._answers = np.zeros(self._actions, dtype=np.int64)
        self._errors: Any = None
        self._kept_errors: list[Any] = []
        self._table: Any = None
        self.samples: list[list[float]] = []
        self.held: list[tuple[Any, Any, Any]] = []
        self._audited = 0
        self._allowed: float | None = None
        self._told_stretches = self._told_steps = 0

    def add(self, block: Block, answers: Responses) -> None:
        """Take note of a piece of a block and its answers."""
        responses = np.asarray(answers.responses)
        ids, new = answers.forecast_ids, answers.new_forecasts
        if new is not None:
            self._table = new if self._table is None else np.concatenate([self._table, new])
        forecasts = None if ids is None or self._table is None else self._table[np.asarray(ids)]
        view = self.game.principal_view
        if responses.ndim == 1:
            earned = view.utilities(block.strategy)[responses]
        else:
            earned = view.utilities(block.strategy, responses)
        self._step(block, responses, earned)
        if self._actions:
            self.held.append((block.strategy, responses, forecasts))
        done = 0
        while done < len(earned):
            take = min(len(earned) - done, self.stretch - self.round % self.stretch)
            part = slice(done, done + take)
            self._sum(
                block, responses[part], earned[part], None if forecasts is None else forecasts[part]
            )
            done += take
            if self.round % self.stretch == 0 or self.round == self.rounds:
                self._close()

    def _step(self, block: Block, responses: Any, earned: Any) -> None:
        counts = (
            np.bincount(responses, minlength=self._actions) if self._actions else np.zeros(0, int)
        )
        last = self.steps[-1] if self.steps else None
        strategy = np.asarray(block.strategy)
        if last and last.phase == block.phase and np.abs(strategy - last.strategy).max() < 1e-3:
            n = last.rounds + len(earned)
            last.earned = (last.earned * last.rounds + float(earned.sum())) / n
            last.rounds = n
            last.answers = (np.array(last.answers, dtype=int) + counts).tolist()
            self._told_steps = min(self._told_steps, len(self.steps) - 1)
            return
        self.steps.append(
            ms.Step(
                first=self.round + 1,
                rounds=len(earned),
                phase=block.phase,
                strategy=strategy.tolist(),
                answers=counts.tolist(),
                earned=float(earned.mean()),
            )
        )

    def _sum(self, block: Block, responses: Any, earned: Any, forecasts: Any) -> None:
        self.round += len(earned)
        self._since += float(earned.sum())
        if self._actions:
            self._answers += np.bincount(responses, minlength=self._actions)
        if forecasts is not None and self._actions:
            if self._errors is None:
                self._errors = np.zeros((self._actions, len(block.strategy)))
            np.add.at(self._errors, responses, block.strategy - forecasts)
            self.samples.append([float(p) for p in forecasts[-1]])

    def _close(self) -> None:
        begin = self.stretches[-1].end if self.stretches else 0
        self._total += self._since
        error = None
        if self._errors is not None:
            self._kept_errors.append(self._errors.copy())
            back = max(1, WINDOW // self.stretch)
            earlier = self._kept_errors[-1 - back] if len(self._kept_errors) > back else 0.0
            span = min(self.round, back * self.stretch)
            error = float(np.abs(self._errors - earlier).max()) / span
            del self._kept_errors[: -back - 1]
        self.stretches.append(
            ms.Stretch(
                end=self.round,
                earned=self._since / max(1, self.round - begin),
                average=self._total / self.round,
                answers=self._answers.tolist(),
                error=error,
                allowed=self._certificate(),
            )
        )
        self._since = 0.0
        self._answers = np.zeros(self._actions, dtype=np.int64)

    def _certificate(self) -> float | None:
        """Return what nobody can have earned more than, by the audit of what was played."""
        due = self.round - self._audited >= max(self.rounds / 40, self.round / 20)
        if self._certify and self._errors is not None and (due or self.round == self.rounds):
            self._audited = self.round
            self._allowed = certificate(self.transcript())
        return self._allowed

    def transcript(self) -> Transcript:
        """Return what was played so far, a row a round."""
        held = self.held
        strategies = np.concatenate([np.tile(h, (len(r), 1)) for h, r, _ in held])
        known = all(f is not None for _, _, f in held)
        forecasts = np.concatenate([f for _, _, f in held]) if known else None
        phases = [s.phase for s in self.steps for _ in range(s.rounds)]
        answers = np.concatenate([r for _, r, _ in held])
        return sc.Transcript.from_rounds(strategies, answers, forecasts, phases, self.game)

    def news(self, state: Any) -> ms.Run:
        """Return a message with all that is new since the last one."""
        message = ms.Run(
            state=state,
            round=self.round,
            rounds=self.rounds,
            stretches=self.stretches[self._told_stretches :],
            from_step=self._told_steps,
            steps=self.steps[self._told_steps :],
            forecasts=self.samples[-FORECASTS:],
        )
        self.samples.clear()
        self._told_stretches, self._told_steps = len(self.stretches), len(self.steps)
        return message


def replay(transcript: Any, series: Series) -> None:
    """Let a series catch up with what was played before."""
    ids, table, first = transcript.forecast_ids, transcript.forecast_table, 0
    for block in transcript.blocks:
        part = slice(first, first + block.rounds)
        new = table if first == 0 else None if table is None else table[:0]
        answers = Responses(
            transcript.compact_responses[part], None if ids is None else ids[part], new
        )
        series.add(Block(block.strategy, block.rounds, block.phase), answers)
        first += block.rounds


def reference(game: Any, run: dict[str, Any], margin: float | None = None) -> list[list[float]]:
    """Return (round, average utility) of a play on the same seed."""
    series = Series(game, run["rounds"], certify=False)

    def watch(block: Block, answers: Responses) -> bool:
        series.add(block, answers)
        return False

    pair = players.pair(game, run, margin)
    sc.play(*pair, run["rounds"], game, forecasts=False, watch=watch)
    return [[float(stretch.end), stretch.average] for stretch in series.stretches]


def certificate(transcript: Transcript) -> float | None:
    """Return the bound on the average utility that the agent's forecasts prove."""
    for bound in sc.audit(transcript).bounds:
        if bound.name == _BOUND and math.isfinite(bound.bound):
            return float(bound.bound)
    return None
