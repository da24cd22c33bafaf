"""The bankroll: its theorem on every interval, the steps of its proof, the literal algorithm."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from cases import BINNINGS, outcomes_for, prices, some_game

import stackcast as sc
from stackcast._random import stream
from stackcast.calibration import (
    AdaptiveForecaster,
    BestResponseBinning,
    CoverBinning,
    SecondOrderRate,
    TentBinning,
    calibration_profile,
)
from stackcast.calibration._bankroll import ACCURACY, BANKS, LARGEST, RATIO, held
from stackcast.calibration.adversaries import ADVERSARIES, hard_sequences, play_adversary
from stackcast.calibration.binnings import box
from stackcast.games import Ball

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.calibration import Binning

SIZES = LARGEST * RATIO ** np.arange(BANKS[0].sizes)


def played(
    binning: Binning, outcomes: FloatArray, space: Any = None, seed: int = 0
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """One round after the other: x = w_i(p)·(h_j − p_j) by round and row, Σ ln(total), and ε."""
    forecaster = AdaptiveForecaster(binning, space, seed=seed)
    rows, growth, epsilon = [], [0.0], []
    for h in outcomes:
        p = forecaster.forecast()
        epsilon.append(forecaster.statistics["epsilon"])
        rows.append(np.outer(binning.weights(p[None])[0], h - p).ravel())
        forecaster.observe(h)
        growth.append(forecaster.statistics["growth"])
    return np.array(rows), np.array(growth), np.array(epsilon)


def largest_excess(x: FloatArray, growth: FloatArray) -> float:
    """max over bets and intervals s..t of Σ ln f − R_s − G, by a running minimum over starts."""
    T, rows = x.shape
    cost = np.log(2 * rows * BANKS[0].sizes / BANKS[0].prior) + 1 + prices(T)
    worst = -np.inf
    for row in x.T:
        for step in (*SIZES, *-SIZES):
            run = np.concatenate([[0.0], np.cumsum(np.log1p(step * row))]) - growth
            least = np.minimum.accumulate(run[:-1] + cost)
            worst = max(worst, float((run[1:] - least).max()))
    return worst


def changing(m: int, T: int) -> FloatArray:
    """Fair draws for most of the time, then one vertex for good."""
    h = np.eye(m)[stream(3, "changing").integers(m, size=T)]
    h[3 * T // 4 :] = np.eye(m)[0]
    result: FloatArray = h
    return result


def test_running_minimum_equals_the_double_loop() -> None:
    T = 300
    binning = BestResponseBinning(some_game(3, 3).agent_view)
    x, growth, _ = played(binning, changing(3, T))
    cost = np.log(2 * x.shape[1] * BANKS[0].sizes / BANKS[0].prior) + 1 + prices(T)
    worst = -np.inf
    for step in (*SIZES, *-SIZES):
        won = np.log1p(step * x)
        for s in range(T):
            # Every interval that starts in round s + 1, summed from scratch.
            sums = np.cumsum(won[s:], axis=0).max(axis=1) - (growth[s + 1 :] - growth[s])
            worst = max(worst, float(sums.max() - cost[s]))
    assert worst <= 0
    assert largest_excess(x, growth) == pytest.approx(worst)


@pytest.mark.parametrize("size", [(2, 2), (3, 3), (5, 5)], ids=str)
def test_no_bet_wins_more_than_its_price_on_any_interval(size: tuple[int, int]) -> None:
    binning = BestResponseBinning(some_game(*size, seed=1).agent_view)
    sequences = hard_sequences(size[0], 1500) | {"changing": changing(size[0], 1500)}
    for name, outcomes in sequences.items():
        x, growth, _ = played(binning, outcomes)
        assert largest_excess(x, growth) <= 0, name


@pytest.mark.parametrize("name", list(BINNINGS))
def test_no_bet_wins_more_than_its_price_for_any_binning(name: str) -> None:
    binning, space = BINNINGS[name]
    outcomes = outcomes_for(AdaptiveForecaster(binning, space), 300)
    x, growth, _ = played(binning, outcomes, space)
    assert largest_excess(x, growth) <= 0


@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_no_bet_wins_more_than_its_price_against_adversaries(adversary: Any) -> None:
    binning = BestResponseBinning(some_game(3, 3, seed=2).agent_view)
    forecaster = AdaptiveForecaster(binning)
    outcomes, forecasts = play_adversary(forecaster, adversary, 1500)
    weights = binning.weights(forecasts)
    x = (weights[:, :, None] * (outcomes - forecasts)[:, None, :]).reshape(1500, -1)
    # With G at its largest prefix difference, which is more than the theorem allows itself.
    again, growth, _ = played(binning, outcomes)
    np.testing.assert_array_equal(x, again)
    assert largest_excess(x, growth) <= 0


@pytest.mark.parametrize("name", ["independent", "cycle", "switch every 50", "greedy"])
def test_total_wealth_stays_within_its_bound_on_every_interval(name: str) -> None:
    """Ville: with chance .95, G ≤ ln 20 + ln(s+e) + 2 ln ln(s+e) + Σ ε, however outcomes come."""
    T = 2000
    binning = BestResponseBinning(some_game(3, 3, seed=1).agent_view)
    outcomes = greedy(binning, T) if name == "greedy" else hard_sequences(3, T)[name]
    _, growth, epsilon = played(binning, outcomes)
    allowed = np.concatenate([[0.0], np.cumsum(epsilon)])
    run = growth - allowed
    least = np.minimum.accumulate(run[:-1] + prices(T))
    assert (run[1:] - least).max() <= np.log(20)
    # Σ ε is about c·ln T, so it is no more than a few bets' price.
    assert allowed[-1] <= ACCURACY * (1 + np.log(T)) + 1e-9


def greedy(binning: Binning, rounds: int) -> FloatArray:
    """Outcomes that earn the bankroll most against the mixture that Player 2 shows."""
    forecaster, m = AdaptiveForecaster(binning), binning.dimension
    chosen = np.empty((rounds, m))
    for t in range(rounds):
        support, shares = forecaster.forecast_distribution()
        z = forecaster._imbalance.reshape(-1, m)
        pull = shares @ (binning.weights(support) @ z)
        chosen[t] = np.eye(m)[int(np.argmax(pull))]
        forecaster.observe(chosen[t])
    return chosen


@pytest.mark.parametrize("name", ["best responses", "random ties", "coverage", "capped simplex"])
def test_no_outcome_earns_more_than_its_share_of_one_over_t(name: str) -> None:
    binning, space = BINNINGS[name]
    forecaster = AdaptiveForecaster(binning, space)
    for t, outcome in enumerate(outcomes_for(forecaster, 400), start=1):
        forecaster.forecast()
        assert forecaster.statistics["value"] <= ACCURACY / t + 1e-12
        forecaster.observe(outcome)
    assert forecaster.statistics["misses"] == 0


class Literal:
    """The bankroll as its definition says, every bet written out, nothing lazy."""

    def __init__(self, n: int, m: int) -> None:
        self.sizes = [LARGEST * RATIO ** np.arange(bank.sizes) for bank in BANKS]
        self.prior = [np.full((n, m, 2, b.sizes), b.prior / (n * m * 2 * b.sizes)) for b in BANKS]
        self.wealth = [prior.copy() for prior in self.prior]
        self.growth = 0.0

    def imbalance(self) -> FloatArray:
        parts = [
            (w[:, :, 0] - w[:, :, 1]) @ d for w, d in zip(self.wealth, self.sizes, strict=True)
        ]
        return np.asarray(sum(parts))

    def learn(self, t: int, x: FloatArray) -> None:
        signs = np.array([1.0, -1.0])
        for w, d in zip(self.wealth, self.sizes, strict=True):
            w *= 1 + x[:, :, None, None] * signs[:, None] * d
        total = sum(w.sum() for w in self.wealth)
        self.growth += np.log(total)
        c = 1 / ((t + math.e) * np.log(t + math.e) ** 2)
        for b, bank in enumerate(BANKS):
            w = (1 - c) / total * self.wealth[b]
            own = self.prior[b] / bank.prior * w.sum()
            self.wealth[b] = (1 - bank.returned) * w + bank.returned * own + c * self.prior[b]


@pytest.mark.parametrize("shared", [False, True])
def test_imbalance_equals_the_literal_algorithm_and_every_bet_keeps_its_fixed_share(
    shared: bool,
) -> None:
    binning: Binning = BestResponseBinning(some_game(3, 3, seed=1).agent_view)
    if shared:
        binning = TentBinning([0.0, 0.5, 1.0], [0.0, 1.0], dimension=3)
    n, m = binning.bins, 3
    literal, forecaster = Literal(n, m), AdaptiveForecaster(binning)
    for t, h in enumerate(changing(3, 700), start=1):
        p = forecaster.forecast()
        z = forecaster._imbalance.reshape(n, m)
        np.testing.assert_allclose(z, literal.imbalance(), atol=1e-13)
        literal.learn(t, binning.weights(p[None])[0][:, None] * (h - p))
        forecaster.observe(h)
        c = 1 / ((t + math.e) * np.log(t + math.e) ** 2)
        for kept, w, prior in zip(wealth(forecaster), literal.wealth, literal.prior, strict=True):
            np.testing.assert_allclose(kept, w, rtol=1e-9)
            assert (kept >= c * prior * (1 - 1e-9)).all()
        assert sum(w.sum() for w in wealth(forecaster)) == pytest.approx(1.0)
    assert forecaster.statistics["growth"] == pytest.approx(literal.growth)


def wealth(forecaster: AdaptiveForecaster) -> list[FloatArray]:
    """What every bet holds, by bank."""
    own = forecaster._bankroll
    return np.split(held(own), own.first[1:-1], axis=-1)


def test_fixed_shares_cost_less_than_one_in_all() -> None:
    """Σ −ln(1 − c_t), exactly for 10⁶ rounds and by the integral beyond, where −ln(1−c) ≤ 1.01c."""
    t = np.arange(1.0, 1e6)
    c = 1 / ((t + math.e) * np.log(t + math.e) ** 2)
    assert -np.log1p(-c).sum() + 1.01 / np.log(1e6 + math.e) < 1


@pytest.mark.parametrize("size", [(2, 2), (3, 3), (5, 5)], ids=str)
def test_second_order_rate_on_every_interval(size: tuple[int, int]) -> None:
    """The corollary, with G at the most that the bankroll won on any interval."""
    binning = BestResponseBinning(some_game(*size, seed=1).agent_view)
    for name, outcomes in hard_sequences(size[0], 2000).items():
        forecaster = AdaptiveForecaster(binning)
        block = forecaster.run(outcomes)
        rate = forecaster.rate
        assert isinstance(rate, SecondOrderRate)
        profile = calibration_profile(outcomes, block.forecasts, block.bins, rate=rate)
        assert profile.upper <= 1.0, name


@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_second_order_rate_against_adversaries(adversary: Any) -> None:
    binning = BestResponseBinning(some_game(3, 3, seed=2).agent_view)
    forecaster = AdaptiveForecaster(binning)
    outcomes, forecasts = play_adversary(forecaster, adversary, 1500)
    rate = SecondOrderRate(3, 3, horizon=1500)
    found = calibration_profile(outcomes, forecasts, binning.weights(forecasts), rate=rate)
    assert found.upper <= 1.0


def test_second_order_ratio_equals_the_double_loop() -> None:
    rng, rate, T = stream(1, "ratio"), SecondOrderRate(2, 2, constant=0.7), 60
    paid = math.log(2 * 4 * BANKS[0].sizes / BANKS[0].prior) + 1 + prices(T)
    bend = -np.log1p(-SIZES) - SIZES  # κ_δ·δ²
    p = rng.random(T)
    x, bins = (rng.random(T) < p).astype(int), (p > 0.5).astype(int)
    x[-20:] = 1 - bins[-20:]  # the worst interval, if starting late had no price
    for shortest in (1, 7):
        worst = 0.0
        for i in (0, 1):
            gap = (x - p) * (bins == i)
            for u in range(T):
                for v in range(u + shortest, T + 1):
                    sums = (paid[u] + bend * (gap[u:v] ** 2).sum()) / SIZES
                    worst = max(worst, abs(gap[u:v].sum()) / (0.7 * sums.min()))
        found = calibration_profile(x, p, bins, rate=rate, shortest=shortest)
        assert found.lower == found.upper == pytest.approx(worst)


def test_the_curvature_is_the_smallest_that_bounds_the_logarithm() -> None:
    rate = SecondOrderRate(2, 2)
    for size, curvature in zip(rate.sizes, rate.curvatures, strict=True):
        x = np.linspace(-size, size, 2001)
        assert (np.log1p(x) >= x - curvature * x**2 - 1e-12).all()
        assert np.log1p(-size) < -size - 0.99 * curvature * size**2


def test_errors_fall_like_one_over_the_length_where_a_strategy_is_held() -> None:
    binning = BestResponseBinning(some_game(3, 3).agent_view)
    errors = {}
    for T in (2_000, 200_000):
        made = AdaptiveForecaster(binning).run(([0.2, 0.3, 0.5], T))
        error = binning.weights(made.forecasts).T @ ([0.2, 0.3, 0.5] - made.forecasts)
        errors[T] = np.abs(error).max() / T
    assert errors[200_000] <= errors[2_000] / 30  # 1/√L would allow 1/10


def test_wealth_neither_overflows_nor_dies_out() -> None:
    binning = BestResponseBinning(some_game(2, 2, seed=1).agent_view)
    forecaster = AdaptiveForecaster(binning)
    rng = stream(0, "long")
    for part in range(20):
        outcomes = np.eye(2)[(rng.random(50_000) < rng.random()).astype(int)]
        forecaster.run(
            outcomes if part % 2 else ([float(part % 4 == 0), float(part % 4 != 0)], 50_000)
        )
        assert sum(w.sum() for w in wealth(forecaster)) == pytest.approx(1.0)
        assert min(w.min() for w in wealth(forecaster)) > 0
    assert np.isfinite(forecaster.statistics["growth"])


@pytest.mark.parametrize("begun", [10**6, 10**9])
def test_wealth_is_that_of_the_definition_after_a_billion_rounds(begun: int) -> None:
    """Late shares are tiny (10⁻¹² of the prior): still nothing is lost in rounding."""
    binning = BestResponseBinning(some_game(3, 3, seed=1).agent_view)
    forecaster, literal = AdaptiveForecaster(binning), Literal(3, 3)
    state = forecaster.state()
    state["clock"][0] = begun
    forecaster.restore(state)
    rng = stream(5, "late")
    for t in range(begun + 1, begun + 3001):
        # Long runs of one vertex, then of another: bets are all but ruined and become rich again.
        h = np.eye(3)[(t // 700) % 3] if t % 50 else np.eye(3)[rng.integers(3)]
        p = forecaster.forecast()
        literal.learn(t, binning.weights(p[None])[0][:, None] * (h - p))
        forecaster.observe(h)
    for kept, w in zip(wealth(forecaster), literal.wealth, strict=True):
        np.testing.assert_allclose(kept, w, rtol=1e-7, atol=0.0)
    assert forecaster.statistics["growth"] == pytest.approx(literal.growth)
    assert all(1e-60 < b < 1e60 for b in forecaster._bankroll.banks[2])


def test_read_only_outcomes_and_boxes_and_balls() -> None:
    square = box([-1.0, 0.0], [1.0, 2.0])
    for space in (square, Ball(2)):
        binning = CoverBinning(space, 0.4)
        rng = stream(2, "boxes")
        outcomes = np.clip(rng.normal(size=(400, 2)) * 0.3 + [0.3, 0.4], [-0.5, 0.0], [0.7, 0.7])
        outcomes.flags.writeable = False
        forecaster = AdaptiveForecaster(binning)
        made = forecaster.run(outcomes)
        rate = forecaster.rate
        limits = space.limits if isinstance(space, Ball) else np.array([[-1.0, 0.0], [1.0, 2.0]])
        scaled = np.ptp(limits, axis=0)
        found = calibration_profile(
            outcomes / scaled, made.forecasts / scaled, made.bins, rate=rate, shortest=20
        )
        assert found.upper <= 1.0


def test_a_cover_keeps_only_the_cells_that_were_visited() -> None:
    ball = Ball(9)
    binning = CoverBinning(ball, 0.5)
    forecaster = AdaptiveForecaster(binning, seed=2)
    rng = stream(4, "cover")
    points = rng.normal(size=(3000, 9))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    made = forecaster.run(points)
    cells = binning.cells(made.forecasts)
    # A number for each cell, in the order in which forecasts were made in them.
    assert len(np.unique(cells, axis=0)) == len(np.unique(made.bins))
    for number in np.unique(made.bins):
        assert len(np.unique(cells[made.bins == number], axis=0)) == 1
    assert len(forecaster._pool.cells) <= 4 * 128
    rate = forecaster.rate
    assert isinstance(rate, SecondOrderRate)
    assert calibration_profile(points, made.forecasts, made.bins, rate=rate).upper <= 1.0
    # One by one and after a restart the same bits.
    single, twin = AdaptiveForecaster(binning, seed=2), AdaptiveForecaster(binning, seed=2)
    single.run(points[:2900])
    twin.restore(single.state())
    for point in points[2900:]:
        single.observe(point)
    np.testing.assert_array_equal(twin.run(points[2900:]).forecasts, made.forecasts[2900:])
    assert single.state()["clock"].tolist() == forecaster.state()["clock"].tolist()


def test_what_does_not_fit_is_refused() -> None:
    game = sc.FiniteGame(np.eye(2), np.eye(2))
    binning = BestResponseBinning(game.agent_view)
    with pytest.raises(sc.InputError, match="method: expected one of 'betting', 'sleeping'"):
        AdaptiveForecaster(binning, method="gambling")  # type: ignore[arg-type]
    with pytest.raises(sc.InputError, match="starts: expected none with betting"):
        AdaptiveForecaster(binning, starts="all")
    with pytest.raises(sc.InputError, match="method: expected betting, for bins that"):
        AdaptiveForecaster(CoverBinning(Ball(2), 0.1), method="sleeping")
    with pytest.raises(sc.InputError, match="known beforehand"):
        CoverBinning(Ball(2), 0.1).weights([[0.0, 0.0]])
    betting, sleeping = (
        AdaptiveForecaster(binning, method=method) for method in ("betting", "sleeping")
    )
    with pytest.raises(sc.InputError, match="state: expected that of a forecaster by betting"):
        betting.restore(sleeping.state())
    old = {k: v for k, v in sleeping.state().items() if k != "method"}
    with pytest.raises(sc.InputError, match="one of this version, found one from before"):
        sleeping.restore(old)
