"""What anyone can earn from an agent of given regret: two programs against brute force."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import stackcast as sc
from stackcast._random import stream
from stackcast._validation import InputError
from stackcast.games.generators import competing, coordination, uniform, zero_sum
from stackcast.theory import least, most, upper_bound


def measured(game: Any, shares: Any) -> tuple[float, float, float]:
    """Return average utility, swap and external regret of shares of rounds (x, y), by loops."""
    U, W = game.principal_payoffs, game.agent_payoffs
    m, k = U.shape
    earned = sum(shares[x, y] * U[x, y] for x in range(m) for y in range(k))
    gains = [
        [sum(shares[x, y] * (W[x, j] - W[x, y]) for x in range(m)) for j in range(k)]
        for y in range(k)
    ]
    swap = sum(max(row) for row in gains)
    external = max(sum(gains[y][j] for y in range(k)) for j in range(k))
    return float(earned), float(swap), float(external)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("sigma", [0.0, 0.02, 0.1, 0.5])
def test_most_is_the_best_of_all_shares(seed: int, sigma: float) -> None:
    # All ways to share the rounds among the four pairs of pure actions, in steps of 1/24.
    game, best = (uniform, competing)[seed % 2](2, 2, seed), {"swap": -1.0, "external": -1.0}
    steps = 24
    for a, b, c in itertools.product(range(steps + 1), repeat=3):
        if a + b + c > steps:
            continue
        shares = np.array([[a, b], [c, steps - a - b - c]]) / steps
        earned, swap, external = measured(game, shares)
        for kind, regret in (("swap", swap), ("external", external)):
            if regret <= sigma:
                best[kind] = max(best[kind], earned)
    for kind, found in best.items():
        assert found <= most(game, sigma, kind) + 1e-9
        assert most(game, sigma, kind) <= found + 3.0 / steps


@pytest.mark.parametrize("family", [uniform, competing, coordination, zero_sum])
def test_without_swap_regret_nobody_earns_more_than_the_value(family: Any) -> None:
    for seed in range(15):
        game = family(3, 4, seed)
        value = sc.solve(game).value
        assert most(game) == pytest.approx(value, abs=1e-9)
        assert most(game, kind="external") >= value - 1e-9
        if family is zero_sum:
            assert most(game, kind="external") == pytest.approx(value, abs=1e-9)


def test_most_on_the_catalogue_and_in_other_units() -> None:
    for name in ("patrol", "wildlife", "food-hygiene", "inspection"):
        listed: Any = sc.load_game(name)
        assert most(listed) == pytest.approx(sc.solve(listed).value, abs=1e-7)
    game: Any = sc.load_game("milking")
    assert most(game, kind="external") == pytest.approx(16 / 21)
    scaled = sc.FiniteGame(1e6 * game.principal_payoffs - 7, 1e-6 * game.agent_payoffs + 3)
    assert most(scaled, kind="external") == pytest.approx(1e6 * 16 / 21 - 7)
    values = [most(game, sigma) for sigma in np.linspace(0, 0.4, 9)]
    assert (np.diff(values) >= -1e-12).all()  # more regret, more to earn
    assert (np.diff(values, 2) <= 1e-9).all()  # and concave in it


def test_no_play_earns_more_than_its_agents_regret_allows() -> None:
    rng = stream(0, "test", "regret programs")
    for seed in range(30):
        game = uniform(3, 3, seed)
        shares = rng.dirichlet(np.full(9, 0.3)).reshape(3, 3)
        earned, swap, external = measured(game, shares)
        assert earned <= most(game, max(swap, 0.0)) + 1e-12
        assert earned <= most(game, max(external, 0.0), "external") + 1e-12


def test_least_is_the_linear_program() -> None:
    rng = stream(0, "test", "least")
    for seed in range(40):
        game = uniform(3, 5, seed)
        h, sigma = rng.dirichlet(np.ones(3)), float(rng.choice([0.0, 0.01, 0.1, 1.0]))
        earned, utilities = h @ game.principal_payoffs, h @ game.agent_payoffs
        gaps = utilities.max() - utilities
        found = linprog(
            earned, A_ub=[gaps], b_ub=[sigma], A_eq=[np.ones(5)], b_eq=[1.0], method="highs"
        )
        assert least(game, h, sigma) == pytest.approx(found.fun, abs=1e-7)
        # At most σ over the second-best response's gap of the responses are wrong.
        wrong = min(1.0, sigma / np.sort(gaps)[1])
        right = earned[np.argmin(gaps)]
        assert least(game, h, sigma) >= right - wrong * np.ptp(earned) - 1e-12


def test_the_upper_bound_is_the_theorems() -> None:
    assert upper_bound(2.0, 3, 4, 100, 0.1) == pytest.approx(2.4)
    assert upper_bound(2.0, 3, 4, 100, lambda T: 1 / math.sqrt(T)) == pytest.approx(2.4)
    rate = sc.calibration.PowerRate(0.5)
    assert upper_bound(2.0, 3, 4, 100, rate, epsilon=0.05) == pytest.approx(3.6)
    noise = math.sqrt(math.log(100) / 400)
    tied = upper_bound(1.0, 2, 2, 400, 0.0, delta=0.01, random_ties=True)
    assert tied == pytest.approx(4 * noise)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda g: most(g, -0.1), "regret"),
        (lambda g: most(g, math.nan), "regret"),
        (lambda g: most(g, 0.1, "none"), "kind"),
        (lambda g: most(sc.load_game("quadratic-tax"), 0.1), "game"),  # type: ignore[arg-type]
        (lambda g: least(g, [0.5], 0.1), "strategy"),
        (lambda g: least(g, [0.5, 0.5], math.inf), "regret"),
        (lambda g: upper_bound(-1, 2, 2, 10, 0.1), "utility_max"),
        (lambda g: upper_bound(1, 0, 2, 10, 0.1), "m"),
        (lambda g: upper_bound(1, 2, 2, 0, 0.1), "rounds"),
        (lambda g: upper_bound(1, 2, 2, 10, lambda T: math.inf), "rate"),
        (lambda g: upper_bound(1, 2, 2, 10, 0.1, delta=0.0), "delta"),
    ],
)
def test_bad_input_is_one_sentence(call: Any, field: str) -> None:
    with pytest.raises(InputError) as error:
        call(sc.load_game("milking"))
    assert error.value.field == field
