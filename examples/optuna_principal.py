"""Optuna as a principal: each trial is a block of rounds, its value what the block earned.

Needs Optuna (``pip install optuna``). Ten lines of ask and tell, and a class around them that
enters a tournament beside our learners:

    stackcast tournament --add examples/optuna_principal.py:OptunaPrincipal
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

import stackcast as sc


def ask_and_tell(rounds: int = 10_000, hold: int = 100, seed: int = 0) -> float:
    """Return what Optuna earned a round on the inspection game."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    env = sc.interop.PrincipalEnv("inspection", rounds=rounds, hold=hold, action="projection")
    env.reset(seed=seed)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    info: dict[str, Any] = {}
    for _ in range(rounds // hold):
        trial = study.ask()
        action = [trial.suggest_float(f"a{x}", -1.0, 1.0) for x in range(3)]
        _, reward, _, _, info = env.step(np.array(action))
        study.tell(trial, reward)
    return float(info["value"] - info["regret"])


@dataclass(eq=False, repr=False)
class OptunaPrincipal(sc.protocol.Principal):
    """Asks for a point of [0, 1]ᵐ, commits to the nearest strategy, tells what its block earned.

    Every trial's sampler is seeded by its number, so that the trials so far determine the next one.
    """

    _: KW_ONLY
    horizon: int
    trials: int = 100
    _points: Any = field(init=False, metadata={"grows": True})
    _values: Any = field(init=False, metadata={"grows": True})

    def __post_init__(self) -> None:
        super().__post_init__()
        self._points, self._values = np.zeros((0, self.view.space.dimension)), np.zeros(0)

    def _next(self) -> Any:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        m = self.view.space.dimension
        ranges: dict[str, Any] = {
            f"x{i}": optuna.distributions.FloatDistribution(0.0, 1.0) for i in range(m)
        }
        sampler = optuna.samplers.TPESampler(seed=1_000 * self.seed + len(self._values))
        study = optuna.create_study(direction="maximize", sampler=sampler)
        for point, value in zip(self._points, self._values, strict=True):
            params = {f"x{i}": float(x) for i, x in enumerate(point)}
            study.add_trial(
                optuna.trial.create_trial(params=params, distributions=ranges, value=float(value))
            )
        return np.array(list(study.ask(ranges).params.values()))

    @property
    def result(self) -> sc.protocol.Recommendation:
        """The trial that earned most."""
        if not len(self._values):
            start = self.view.space.project(np.full(self.view.space.dimension, 0.5))
            return sc.protocol.Recommendation(start, None, float("nan"))
        best = int(np.argmax(self._values))
        strategy = self.view.space.project(self._points[best])
        return sc.protocol.Recommendation(strategy, None, float(self._values[best]))

    def commit(self) -> sc.Block:
        """Commit to what is asked for next."""
        self._asked = self._next()
        strategy = self.view.space.project(self._asked)
        return sc.Block(strategy, max(1, self.horizon // self.trials), "trial")

    def observe(self, responses: Any) -> None:
        """Tell what the block earned."""
        earned = self.view.utilities(self.view.space.project(self._asked))[responses].mean()
        self._points = np.vstack([self._points, self._asked])
        self._values = np.append(self._values, earned)


if __name__ == "__main__":
    for seed in range(3):
        print(f"seed {seed}: {ask_and_tell(seed=seed):.3f} a round, V* 0.825")
