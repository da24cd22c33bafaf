"""The one-shot solver: theorems, degenerate games, scales, margins, details."""

from __future__ import annotations

import math
from itertools import pairwise

import nashpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import stackelberg_values

import stackcast as sc
from stackcast.solvers import (
    BestResponseRegions,
    Programs,
    best_commitment,
    best_nash,
    facet_leads,
    maximin,
    sensitivity,
    stackelberg,
    unit_payoffs,
)

# Few distinct entries make ties, duplicate and dominated actions common.
COARSE = st.sampled_from([0.0, 0.0, 1.0, 1.0, 0.5, 1 / 3, -2.0])
FINE = st.floats(-1.0, 1.0).map(lambda v: round(v, 6))


@st.composite
def games(draw: st.DrawFn, low: int = 1, high: int = 8) -> sc.FiniteGame:
    m, k = draw(st.integers(low, high)), draw(st.integers(low, high))
    entry = draw(st.sampled_from([COARSE, FINE]))
    matrix = st.lists(st.lists(entry, min_size=k, max_size=k), min_size=m, max_size=m)
    return sc.FiniteGame(draw(matrix), draw(matrix))


def uniform(m: int, k: int, seed: int) -> sc.FiniteGame:
    rng = np.random.default_rng(seed)
    return sc.FiniteGame(rng.random((m, k)), rng.random((m, k)))


def check(game: sc.FiniteGame, solution: sc.Solution) -> None:
    """What every solution promises, read off the payoffs alone."""
    h, y = solution.strategy, solution.response
    assert h.min() >= 0
    assert abs(h.sum() - 1) <= 1e-12
    utilities = h @ game.agent_payoffs
    assert utilities[y] >= utilities.max() - solution.tolerance
    assert solution.gap <= solution.tolerance <= 1e-9 * game.agent_view.scale
    assert solution.value == pytest.approx(h @ game.principal_payoffs[:, y], rel=1e-12)
    assert solution.status == "optimal"
    assert game.best_responses(h)[y]


@settings(max_examples=300, deadline=None)
@given(games())
def test_equals_one_program_per_action(game: sc.FiniteGame) -> None:
    solution = sc.solve(game)
    check(game, solution)
    assert solution.value == pytest.approx(np.nanmax(stackelberg_values(game)), abs=1e-8)


@settings(max_examples=100, deadline=None)
@given(games())
def test_details_give_every_actions_own_optimum(game: sc.FiniteGame) -> None:
    regions = BestResponseRegions(game)
    m, k = game.shape
    U, low, width = unit_payoffs(game.principal_payoffs)
    W = game.agent_payoffs - game.agent_payoffs.min(axis=1, keepdims=True)
    found = best_commitment(
        U,
        W / game.agent_view.scale,
        np.zeros((k, k)),
        np.zeros((0, m)),
        np.ones(k, dtype=np.bool_),
        prune=False,
    )
    values = low + (found.values - 1) * width
    expected = stackelberg_values(game)
    np.testing.assert_array_equal(np.isnan(values), regions.never_best)
    known = ~np.isnan(values)
    # HiGHS calls a region that is empty by less than its tolerance a point.
    np.testing.assert_allclose(values[known], expected[known], atol=1e-7)


@pytest.mark.filterwarnings("ignore:\\s*An even number of:RuntimeWarning")  # degenerate games
@settings(max_examples=60, deadline=None)
@given(games(1, 4))
def test_commitment_is_worth_at_least_every_nash_equilibrium_and_maximin(
    game: sc.FiniteGame,
) -> None:
    value = sc.solve(game).value
    pair = nashpy.Game(game.principal_payoffs, game.agent_payoffs)
    for h, q in pair.support_enumeration():
        assert value >= h @ game.principal_payoffs @ q - 1e-9
        assert best_nash(game) >= h @ game.principal_payoffs @ q - 1e-5
    assert value >= best_nash(game) - 1e-5
    assert value >= maximin(game) - 1e-12
    assert best_nash(game) >= maximin(game) - 1e-5


@pytest.mark.parametrize("seed", range(20))
def test_zero_sum_games_give_the_minimax_value(seed: int) -> None:
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    m, k = rng.integers(1, 9, 2)
    U = rng.standard_normal((m, k))
    result = linprog(
        np.append(np.zeros(m), -1.0),
        A_ub=np.column_stack([-U.T, np.ones(k)]),
        b_ub=np.zeros(k),
        A_eq=[[1.0] * m + [0.0]],
        b_eq=[1.0],
        bounds=[(0, 1)] * m + [(None, None)],
    )
    assert result.fun is not None
    assert sc.solve(sc.FiniteGame(U, -U)).value == pytest.approx(-result.fun, abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(games(1, 6), st.integers(6, 12), st.integers(0, 5), st.data())
def test_a_dominated_action_changes_nothing(
    game: sc.FiniteGame, digits: int, column: int, data: st.DataObject
) -> None:
    m, k = game.shape
    j = column % k
    scale = game.agent_view.scale
    dominated = game.agent_payoffs[:, [j]] - 10.0**-digits * scale
    more = sc.FiniteGame(
        np.hstack([np.full((m, 1), 1e3), game.principal_payoffs]),
        np.hstack([dominated, game.agent_payoffs]),
    )
    before, after = sc.solve(game), sc.solve(more)
    assert after.value == pytest.approx(before.value, abs=1e-9)
    assert after.response > 0
    margin = data.draw(st.sampled_from([0.01, 0.05]))
    try:
        robust = sc.solve(game, margin=margin).value
    except sc.InputError:
        with pytest.raises(sc.InputError, match="margin: expected at most"):
            sc.solve(more, margin=margin)
    else:
        assert sc.solve(more, margin=margin).value == pytest.approx(robust, abs=1e-8)


@settings(max_examples=100, deadline=None)
@given(
    games(),
    st.floats(-9, 9),
    st.floats(-9, 9),
    st.floats(-1, 1),
    st.floats(-1, 1),
)
def test_units_move_the_value_and_nothing_else(
    game: sc.FiniteGame, p: float, a: float, p_shift: float, a_shift: float
) -> None:
    factors = (10.0**p, p_shift * 10.0**p), (10.0**a, a_shift * 10.0**a)
    rescaled = sc.FiniteGame(
        factors[0][0] * game.principal_payoffs + factors[0][1],
        factors[1][0] * game.agent_payoffs + factors[1][1],
    )
    other = sc.solve(rescaled)
    check(rescaled, other)
    value = sc.solve(game).value
    assert other.value == pytest.approx(
        factors[0][0] * value + factors[0][1], rel=1e-9, abs=1e-9 * 10.0**p
    )


@settings(max_examples=60, deadline=None)
@given(games(2, 6), st.randoms(use_true_random=False))
def test_permuting_actions_permutes_the_answer(game: sc.FiniteGame, random: object) -> None:
    m, k = game.shape
    rng = np.random.default_rng(m * 100 + k)
    rows, columns = rng.permutation(m), rng.permutation(k)
    shuffled = sc.FiniteGame(
        game.principal_payoffs[np.ix_(rows, columns)], game.agent_payoffs[np.ix_(rows, columns)]
    )
    assert sc.solve(shuffled).value == pytest.approx(sc.solve(game).value, abs=1e-10)
    np.testing.assert_array_equal(
        BestResponseRegions(shuffled).never_best, BestResponseRegions(game).never_best[columns]
    )


@pytest.mark.parametrize("seed", range(30))
def test_one_resource_security_has_its_closed_form(seed: int) -> None:
    # Design: v = max(lowest level with Σ clip((a − v)/δ, 0, 1) ≤ 1, max(a − δ)).
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    attacker, delta = rng.random(n), 0.1 + rng.random(n)
    defender_up, defender_down = rng.random(n), -rng.random(n)
    coverage = np.eye(n)
    game = sc.FiniteGame(
        defender_down + coverage * (defender_up - defender_down),
        attacker - coverage * delta,
    )
    low, high = float((attacker - delta).max()), float(attacker.max())
    a, b = low - 2, high
    for _ in range(200):
        middle = (a + b) / 2
        if np.clip((attacker - middle) / delta, 0, 1).sum() <= 1:
            b = middle
        else:
            a = middle
    level = max(b, low)
    c = np.clip((attacker - level) / delta, 0, 1)
    tied = attacker - c * delta >= level - 1e-9
    expected = (defender_down + c * (defender_up - defender_down))[tied].max()
    assert sc.solve(game).value == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("seed", range(25))
def test_margins_keep_every_nearby_forecast_on_the_response(seed: int) -> None:
    rng = np.random.default_rng(seed)
    game = uniform(int(rng.integers(2, 6)), int(rng.integers(2, 6)), seed)
    for margin in (0.003, 0.02):
        try:
            solution = sc.solve(game, margin=margin)
        except sc.InputError:
            continue
        assert solution.margin >= margin - 1e-12
        m = game.shape[0]
        noise = rng.standard_normal((2000, m))
        noise -= noise.mean(axis=1, keepdims=True)
        noise *= 0.999 * solution.margin / np.linalg.norm(noise, axis=1, keepdims=True)
        near = solution.strategy + noise if math.isfinite(solution.margin) else np.eye(m)
        near = near[(near >= 0).all(axis=1)]
        assert (game.respond(near) == solution.response).all()


@pytest.mark.parametrize("seed", range(10))
def test_the_price_of_a_margin_grows_with_it(seed: int) -> None:
    game = uniform(4, 4, seed)
    values = [sc.solve(game).value]
    for margin in (0.001, 0.01, 0.03):
        try:
            values.append(sc.solve(game, margin=margin).value)
        except sc.InputError:
            break
    assert all(a >= b - 1e-12 for a, b in pairwise(values))
    # Linear in the margin: the limit at margin 0 is V* itself.
    if len(values) > 1:
        assert values[0] - values[1] <= 0.05


def test_too_large_a_margin_is_one_sentence() -> None:
    game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    with pytest.raises(sc.InputError) as error:
        sc.solve(game, margin=0.8)
    assert str(error.value) == "margin: expected at most 0.707107 in this game, found 0.8."
    assert sc.solve(game, margin=0.7071).margin >= 0.7071
    for bad in (-0.1, math.nan, "wide", None):
        with pytest.raises(sc.InputError, match=r"^margin: expected a finite number at least 0"):
            sc.solve(game, margin=bad)  # type: ignore[arg-type]


def test_duplicates_of_the_response() -> None:
    # The agent cannot tell the two columns apart; the principal can.
    game = sc.FiniteGame([[2, 0, 1], [2, 0, 1]], [[1, 1, 0], [1, 1, 0]])
    optimistic = sc.solve(game)
    assert (optimistic.value, optimistic.response, optimistic.margin) == (2.0, 0, 0.0)
    robust = sc.solve(game, margin=0.1)
    assert (robust.value, robust.response) == (0.0, 1)
    clones = sc.FiniteGame([[2, 2], [1, 1]], [[1, 1], [0, 0]])
    assert sc.solve(clones, margin=0.1).value == 2.0
    assert math.isinf(sc.solve(clones).margin)


def test_one_action_on_either_side() -> None:
    row = sc.FiniteGame([[1.0, 5.0, 3.0]], [[2.0, 2.0, 7.0]])
    assert (sc.solve(row).value, sc.solve(row).response) == (3.0, 2)
    assert math.isinf(sc.solve(row, margin=0.3).margin)
    tie = sc.FiniteGame([[1.0, 5.0]], [[2.0, 2.0]])
    assert sc.solve(tie).value == 5.0
    assert sc.solve(tie).margin == 0.0
    column = sc.FiniteGame([[1.0], [4.0]], [[0.0], [9.0]])
    assert sc.solve(column).value == 4.0
    assert sc.solve(column, details=True).nash == pytest.approx(4.0, abs=1e-6)


@pytest.mark.parametrize("seed", range(15))
def test_constraints_on_commitments(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, k = 4, 4
    names = ["a", "b", "c", "d"]
    game = sc.FiniteGame(
        rng.random((m, k)),
        rng.random((m, k)),
        names,
        constraints=[
            sc.Constraint({"a": 1.0, "b": 1.0}, at_most=0.6, name="budget"),
            sc.Constraint({"c": 1.0}, at_least=0.1, name="floor"),
            sc.Constraint({"a": 1.0, "d": -1.0}, at_least=0.0, at_most=0.0),
        ],
    )
    solution = sc.solve(game)
    h = solution.strategy
    assert h[0] + h[1] <= 0.6 + 1e-12
    assert h[2] >= 0.1 - 1e-12
    assert h[0] == pytest.approx(h[3], abs=1e-12)
    assert solution.value == pytest.approx(np.nanmax(stackelberg_values(game)), abs=1e-8)
    assert solution.status == "optimal"
    free = sc.FiniteGame(game.principal_payoffs, game.agent_payoffs)
    assert solution.value <= sc.solve(free).value + 1e-12
    assert maximin(game) <= solution.value + 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_sensitivity_brackets_every_perturbed_game(seed: int) -> None:
    game = uniform(3, 4, seed)
    solution = sc.solve(game)
    found = sensitivity(game, solution, 0.02)
    rng = np.random.default_rng(seed)
    for _ in range(40):
        error = 0.02 * (1 - 1e-9) * rng.choice([-1.0, 1.0], size=game.shape)
        other = sc.FiniteGame(game.principal_payoffs, game.agent_payoffs + error)
        value = sc.solve(other).value
        assert value <= found.highest + 1e-9
        if not math.isnan(found.guaranteed):
            assert value >= found.guaranteed - 1e-9
            answer = other.respond(found.safe_strategy)[0]
            assert game.principal_utilities(found.safe_strategy)[answer] >= found.guaranteed - 1e-9
        answer = other.respond(solution.strategy)[0]
        assert game.principal_utilities(solution.strategy)[answer] >= found.worst_case - 1e-9
    assert found.worst_case <= solution.value + 1e-12
    assert sensitivity(game, solution, 0.0).highest == pytest.approx(solution.value, abs=1e-9)


def test_details_say_why_to_commit() -> None:
    game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    solution = sc.solve(game, details=True)
    assert solution.nash == pytest.approx(1.0, abs=1e-6)
    assert solution.maximin == 1.0
    assert solution.value == 2.5
    assert solution.regularity == pytest.approx(math.sqrt(0.5) / 2)
    assert solution.values == pytest.approx([1.0, 2.5])
    plain = solution.to_dict()
    assert plain["strategy"] == [0.5, 0.5]
    assert plain["sensitivity"]["payoff_error"] == pytest.approx(0.01)


def test_hard_programs_are_left_to_highs_and_still_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def unsure(*arguments: object) -> Programs:
        W = arguments[1]
        assert isinstance(W, np.ndarray)
        m, k = W.shape
        nothing = np.full(k, np.nan)
        return Programs(np.zeros(m), -1, 0.0, np.full(k, 3), nothing, np.full(k, np.inf))

    monkeypatch.setattr(stackelberg, "best_commitment", unsure)
    for seed in range(10):
        game = uniform(4, 5, seed)
        solution = sc.solve(game)
        assert solution.method == "HiGHS"
        check(game, solution)
        assert solution.value == pytest.approx(np.nanmax(stackelberg_values(game)), abs=1e-8)


@pytest.mark.parametrize("seed", range(12))
def test_a_lead_is_kept_and_no_better_commitment_keeps_it(seed: int) -> None:
    """A margin for each facet: y leads j by lead[y, j], and the optimum is that of plain HiGHS."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    m, k = (int(n) for n in rng.integers(2, 6, 2))
    U, W = 1 + rng.random((m, k)), rng.random((m, k))
    projected = sc.games.Polytope.simplex(m).basis.T @ W
    margins = 0.05 * rng.random((k, k))
    np.fill_diagonal(margins, 0.0)
    margins[:, int(rng.integers(k))] = -np.inf  # an action that does not count
    lead = facet_leads(projected, margins)
    found = best_commitment(U, W, lead, np.zeros((0, m)), np.ones(k, dtype=np.bool_), prune=True)
    best = -np.inf
    for y in range(k):
        rows = [W[:, j] - W[:, y] + lead[y, j] for j in range(k) if j != y and lead[y, j] > -1e9]
        result = linprog(
            -U[:, y], np.array(rows).reshape(-1, m), np.zeros(len(rows)), np.ones((1, m)), [1.0]
        )
        best = max(best, -result.fun if result.fun is not None else -np.inf)
    if found.response < 0:
        assert best == -np.inf
        return
    assert found.value == pytest.approx(best, abs=1e-9)
    ahead = found.strategy @ (W[:, [found.response]] - W)
    counts = np.isfinite(lead[found.response])
    counts[found.response] = False
    assert (ahead[counts] >= lead[found.response][counts] - 1e-12).all()
    lengths = np.linalg.norm(projected[:, [found.response]] - projected, axis=0)
    assert (ahead[counts] / lengths[counts] >= margins[found.response][counts] - 1e-9).all()
