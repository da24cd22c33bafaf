"""PPO as a principal: trained in our environment, then played and audited beside our learner.

Needs stable-baselines3 (``pip install stable-baselines3``), which brings PyTorch. The learner sees
10,000 rounds; PPO sees 800,000 rounds of training first, in episodes against fresh agents:

    python examples/train_ppo.py
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import stackcast as sc

ROUNDS, HOLD, SEEDS = 10_000, 10, (101, 102, 103)


def trained(training_rounds: int) -> Any:
    """Return a policy that PPO has trained on the inspection game, with its default settings."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.monitor import Monitor

    torch.set_num_threads(1)
    env = Monitor(sc.interop.PrincipalEnv("inspection", rounds=ROUNDS, hold=HOLD))
    model = PPO("MlpPolicy", env, seed=0, device="cpu")
    return model.learn(training_rounds // HOLD)


def earned(make_principal: Any) -> float:
    """Return the mean utility a round against calibrated agents that nobody has met before."""
    game = sc.load_game("inspection")
    return float(
        np.mean(
            [
                sc.audit(
                    sc.play(
                        make_principal(game, seed),
                        sc.agents.Calibrated(game.agent_view, seed=seed),
                        ROUNDS,
                        game,
                    ),
                    game,
                    profile=False,
                ).average_utility
                for seed in SEEDS
            ]
        )
    )


def main(training_rounds: int = 800_000) -> dict[str, float]:
    """Train, play, print, and return what was earned a round."""
    start = time.perf_counter()
    model = trained(training_rounds)
    took = time.perf_counter() - start
    env = sc.interop.PrincipalEnv("inspection", rounds=ROUNDS, hold=HOLD)

    def policy(observation: Any) -> Any:
        return env.strategy(model.predict(observation, deterministic=True)[0])

    def ppo(game: Any, seed: int) -> Any:
        del seed
        view = game.principal_view
        return sc.principals.FromPolicy(view, policy, horizon=ROUNDS, hold=HOLD, label="PPO")

    def learner(game: Any, seed: int) -> Any:
        return sc.principals.CommitmentLearner(game.principal_view, horizon=ROUNDS, seed=seed)

    table = {
        f"PPO, after {training_rounds:,} rounds of training": earned(ppo),
        "our learner, without training": earned(learner),
        "V*": sc.solve(sc.load_game("inspection")).value,
    }
    for name, value in table.items():
        print(f"{name:45} {value:.3f}")
    print(f"training took {took:,.0f} s")
    return table


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
