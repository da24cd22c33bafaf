"""The lemma on time rescheduling (Section 6), on the laziest honest agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from stackcast.agents import Lazy
from stackcast.calibration import CustomRate, PowerRate
from stackcast.games.generators import uniform
from stackcast.principals import FixedBlocks, RescheduledBlocks
from stackcast.protocol import Block

if TYPE_CHECKING:
    from stackcast.games import FiniteGame
    from stackcast.principals import BlockSchedule


def block_errors(
    game: FiniteGame, timing: BlockSchedule, errors: list[float], seed: int
) -> list[float]:
    """Return the worst calibration error of any bin on each block against the lazy agent."""
    agent = Lazy(game.agent_view, budget=(0.5, 0.5), seed=seed)
    rng = np.random.default_rng(seed)
    forecasts = np.zeros((0, game.shape[0]))
    worst = []
    for error in errors:
        strategy = rng.dirichlet(np.full(game.shape[0], 0.3))
        answers = agent.respond(Block(strategy, timing.rounds(error)))
        assert answers.forecast_ids is not None
        assert answers.new_forecasts is not None
        forecasts = np.vstack([forecasts, answers.new_forecasts])
        apart = strategy - forecasts[answers.forecast_ids]
        worst.append(
            max(
                float(np.abs(apart[answers.responses == y].sum(axis=0)).max()) / len(apart)
                for y in range(game.shape[1])
                if (answers.responses == y).any()
            )
        )
    return worst


#: What the lazy agent promises: its budget plus the error of the forecaster that it falls back on.
RATE = PowerRate(0.5, 1.0)


@pytest.mark.parametrize("seed", range(3))
def test_on_every_rescheduled_block_the_error_is_what_was_asked(seed: int) -> None:
    game = uniform(3, 3, seed)
    errors = [0.3, 0.2, 0.3, 0.15, 0.3, 0.2]
    found = block_errors(game, RescheduledBlocks(RATE), errors, seed)
    assert all(f <= e for f, e in zip(found, errors, strict=True))


def test_fixed_blocks_are_too_short_for_a_lazy_agent() -> None:
    errors = [0.1] * 30
    broken = 0
    for seed in range(3):
        found = block_errors(uniform(3, 3, seed), FixedBlocks(RATE), errors, seed)
        broken += sum(f > e for f, e in zip(found, errors, strict=True))
    assert broken > 0


def test_one_index_over_all_phases_keeps_lengths_from_falling() -> None:
    blocks = RescheduledBlocks(CustomRate(lambda t: t**-0.5))
    lengths = [blocks.rounds(error) for error in (0.05, 0.5, 0.5, 0.2, 0.9)]
    assert lengths == sorted(lengths)
    total = np.cumsum(lengths)
    assert all(total[i] <= (i + 1) * lengths[i] for i in range(5))


def test_restored_schedules_go_on() -> None:
    blocks, twin = RescheduledBlocks(RATE), RescheduledBlocks(RATE)
    blocks.rounds(0.1)
    twin.restore(blocks.state())
    assert [blocks.rounds(0.2) for _ in range(4)] == [twin.rounds(0.2) for _ in range(4)]
