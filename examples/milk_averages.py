"""Who can be milked: a switch half-way against every agent of the package.

In the game of Deng, Schneider and Sivan no commitment earns more than V* = 0.5 against an agent who
best-responds. A principal that plays Up for half of the time and Down for the rest earns more from
agents that trust averages, and nothing from calibrated ones.

Run it with ``python examples/milk_averages.py``; it writes ``out/milk_averages.png``.
"""

from __future__ import annotations

from pathlib import Path

import stackcast as sc

ROUNDS = 20_000
AGENTS = ("FollowTheLeader", "Hedge", "NonAdaptive", "BlumMansour", "Calibrated")


def main(folder: Path = Path("out")) -> dict[str, float]:
    """Return what was earned from each agent, and draw it."""
    game = sc.load_game("milking")
    earned = {}
    for name in AGENTS:
        principal = sc.principals.PhaseSwitch(
            game.principal_view, [[1, 0], [0, 1]], [ROUNDS // 2, ROUNDS // 2]
        )
        agent = sc.agents.find(name)(game.agent_view, seed=0)
        transcript = sc.play(principal, agent, ROUNDS, game)
        earned[name] = sc.audit(transcript, profile=False).average_utility
    draw(earned, sc.solve(game).value, folder)
    return earned


def draw(earned: dict[str, float], value: float, folder: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    figure, ax = pyplot.subplots(figsize=(6.4, 3.0), layout="constrained")
    names = sorted(earned, key=earned.__getitem__)
    colours = ["#D55E00" if earned[name] > value + 0.01 else "#0072B2" for name in names]
    bars = ax.barh(names, [earned[name] for name in names], color=colours, height=0.6)
    ax.bar_label(bars, fmt="%.2f", padding=3)
    ax.axvline(value, color="black", linewidth=1)
    ax.text(value, 1.02, "V*", ha="center", transform=ax.get_xaxis_transform())
    ax.set_xlabel("earned a round, by a switch half-way")
    ax.set_xlim(0, 0.85)
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(folder / "milk_averages.png", dpi=160)
    pyplot.close(figure)


if __name__ == "__main__":
    for name, utility in main().items():
        print(f"{name:16} {utility:.3f}")
