"""Learn a commitment against someone who learns, and see what it cost.

Three principals face the same calibrated agent: one is told everything, one learns what it needs,
one tries everything equally. The picture shows what each had earned a round so far.

Run it with ``python examples/learn_commitment.py``; it writes ``out/learn_commitment.png``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import stackcast as sc

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.protocol import Principal

ROUNDS = 30_000


def main(folder: Path = Path("out")) -> dict[str, float]:
    """Return what each principal earned a round, and draw it."""
    game = sc.load_game("textbook-commitment")
    principals: dict[str, Principal] = {
        "told everything": sc.principals.Oracle(game, margin=0.02),
        "learns (CommitmentLearner)": sc.principals.CommitmentLearner(
            game.principal_view, horizon=ROUNDS, seed=1
        ),
        "tries all alike": sc.principals.UniformExplore(
            game.principal_view, horizon=ROUNDS, seed=1
        ),
    }
    curves = {}
    for name, principal in principals.items():
        agent = sc.agents.Calibrated(game.agent_view, seed=1)
        t = sc.play(principal, agent, ROUNDS, game)
        utilities = game.principal_utilities(t.strategies)[np.arange(ROUNDS), t.responses]
        curves[name] = np.cumsum(utilities) / np.arange(1, ROUNDS + 1)
    draw(curves, sc.solve(game).value, folder)
    return {name: float(curve[-1]) for name, curve in curves.items()}


def draw(curves: dict[str, FloatArray], value: float, folder: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    figure, ax = pyplot.subplots(figsize=(6.4, 3.6), layout="constrained")
    for (name, curve), colour in zip(
        curves.items(), ("#009E73", "#0072B2", "#E69F00"), strict=True
    ):
        ax.plot(np.arange(1, ROUNDS + 1), curve, color=colour, label=name)
    ax.axhline(value, color="black", linewidth=1)
    ax.text(10, value, "V*", va="bottom")
    ax.set_xscale("log")
    ax.set_xlim(10, ROUNDS)
    ax.set_ylim(bottom=0.5)
    ax.set_xlabel("rounds")
    ax.set_ylabel("earned a round so far")
    ax.legend(frameon=False, loc="lower right")
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(folder / "learn_commitment.png", dpi=160)
    pyplot.close(figure)


if __name__ == "__main__":
    for name, utility in main().items():
        print(f"{name:22} {utility:.3f}")
