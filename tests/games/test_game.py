"""Finite games: what they hold, what they refuse, what stays hidden."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stackcast as sc
from stackcast.games import generators

FIELDS: dict[str, Any] = {
    "principal_payoffs": [[1.0, 3.0], [0.0, 2.0]],
    "agent_payoffs": [[1.0, 0.0], [0.0, 1.0]],
    "principal_actions": ["up", "down"],
    "agent_actions": ["left", "right"],
    "name": "textbook",
    "description": "Why commit?",
    "source": "Conitzer and Sandholm",
    "known_value": 2.5,
    "constraints": [{"weights": {"up": 1}, "at_most": 0.75, "name": "budget"}],
}
OTHER: dict[str, Any] = {
    "principal_payoffs": [[1.0, 3.0], [0.0, np.nextafter(2.0, 3.0)]],
    "agent_payoffs": [[1.0, 0.0], [5e-324, 1.0]],
    "principal_actions": ["up", "Down"],
    "agent_actions": ["right", "left"],
    "name": "Textbook",
    "description": "",
    "source": "Conitzer",
    "known_value": None,
    "constraints": [{"weights": {"up": 1}, "at_most": 0.76, "name": "budget"}],
}


def test_views_hide_the_other_side() -> None:
    game = sc.FiniteGame([[1.0, 3.0], [0.0, 2.0]], [[1.0, 0.0], [0.0, 1.0]])
    principal, agent = game.principal_view, game.agent_view
    assert principal.fingerprint == agent.fingerprint == game.fingerprint
    reachable = [value for value in vars(principal).values() if isinstance(value, np.ndarray)]
    assert not any(np.array_equal(value, game.agent_payoffs) for value in reachable)
    assert not np.shares_memory(principal.payoffs, agent.payoffs)
    with pytest.raises(ValueError, match="read-only"):
        game.principal_payoffs[0, 0] = 5.0
    with pytest.raises(AttributeError, match="read-only"):
        game.name = "other"


@pytest.mark.parametrize("field", FIELDS)
def test_equality_and_hash_cover_every_field(field: str) -> None:
    game, same = sc.FiniteGame(**FIELDS), sc.FiniteGame(**FIELDS)
    assert game == same
    assert hash(game) == hash(same)
    other = sc.FiniteGame(**{**FIELDS, field: OTHER[field]})
    assert game != other
    assert hash(game) != hash(other)
    plays_alike = field in ("name", "description", "source", "known_value")
    assert (game.fingerprint == other.fingerprint) == plays_alike


def test_equality_ignores_how_numbers_were_given() -> None:
    game = sc.FiniteGame([[1, 0], [0, 2]], [[0, 1], [1, 0]])
    arrays = sc.FiniteGame(np.array([[1, 0], [0, 2]]), np.array([[0, 1], [1, 0]], dtype=np.float32))
    signed = sc.FiniteGame([[1.0, -0.0], [0.0, 2.0]], [[0.0, 1.0], [1.0, -0.0]])
    assert game == arrays == signed
    assert len({game, arrays, signed}) == 1
    assert game != "game"
    a = sc.Constraint({"x": 1, "y": -0.0}, at_most=1)
    b = sc.Constraint({"y": 0, "x": 1.0}, at_most=1.0)
    assert a == b
    assert hash(a) == hash(b)
    assert a.to_table() == b.to_table()


def test_the_arrays_given_are_not_the_arrays_kept() -> None:
    payoffs = np.zeros((2, 2))
    game = sc.FiniteGame(payoffs, payoffs)
    payoffs[:] = 7
    assert game.principal_payoffs.max() == 0
    assert not game.space.basis.flags.writeable
    with pytest.raises(TypeError):
        sc.FiniteGame(**FIELDS).constraints[0].weights["up"] = 2.0  # type: ignore[index]


def test_games_can_be_copied_and_sent_to_another_process() -> None:
    game = sc.FiniteGame(**FIELDS)
    assert copy.deepcopy(game) == game
    assert pickle.loads(pickle.dumps(game)) == game


def test_complaints_can_be_sent_to_another_process() -> None:
    complaint = sc.InputError("horizon", "a whole number of at least 1", "0")
    received = pickle.loads(pickle.dumps(complaint))
    assert isinstance(received, sc.InputError)
    assert str(received) == str(complaint)
    assert received.field == "horizon"


def test_utilities_are_expectations() -> None:
    game = sc.FiniteGame(**{**FIELDS, "constraints": []})
    np.testing.assert_allclose(game.principal_utilities([0.25, 0.75]), [0.25, 2.25])
    stack = np.array([[0.25, 0.75], [1.0, 0.0]])
    np.testing.assert_allclose(game.agent_utilities(stack), stack)


def test_best_responses_within_a_tolerance() -> None:
    game = sc.FiniteGame(np.zeros((1, 3)), [[0.0, 1.0, 1.0 - 1e-6]])
    assert game.best_responses([1.0]).tolist() == [False, True, False]
    assert game.best_responses([1.0], tolerance=2e-6).tolist() == [False, True, True]
    assert game.best_responses([[1.0], [1.0]]).shape == (2, 3)
    # The tolerance is relative to what the response can change, not to the size of the payoffs.
    for factor, shift in ((1e-9, 0.0), (1e9, 0.0), (1.0, 64.0)):
        scaled = sc.FiniteGame(game.principal_payoffs, factor * game.agent_payoffs + shift)
        assert scaled.best_responses([1.0]).tolist() == [False, True, False]
        assert scaled.best_responses([1.0], tolerance=2e-6).tolist() == [False, True, True]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), m=st.integers(1, 6), k=st.integers(1, 6))
def test_a_response_is_a_best_response(seed: int, m: int, k: int) -> None:
    game = generators.degenerate(m, k, seed)
    rng = np.random.default_rng(seed)
    strategies = np.vstack([np.eye(m), rng.dirichlet(np.ones(m), 5)])
    best = game.best_responses(strategies)
    lowest = game.respond(strategies)
    drawn = game.respond(strategies, "random", rng)
    rows = np.arange(len(strategies))
    assert best[rows, lowest].all()
    assert best[rows, drawn].all()
    for row, y in enumerate(lowest):
        assert not best[row, :y].any()


def test_random_ties_are_fair() -> None:
    game = sc.FiniteGame(np.zeros((1, 4)), [[1, 0, 1, 1]])
    drawn = game.respond(np.ones((30_000, 1)), "random", np.random.default_rng(0))
    counts = np.bincount(drawn, minlength=4)
    assert counts[1] == 0
    assert np.abs(counts[[0, 2, 3]] - 10_000).max() < 5 * np.sqrt(30_000 * 2 / 9)


def test_wrong_tie_rules() -> None:
    game = sc.FiniteGame(**FIELDS)
    with pytest.raises(
        sc.InputError, match="ties: expected one of 'lowest', 'random', found 'best'"
    ):
        game.respond([0.5, 0.5], "best")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="needs a random stream"):
        game.respond([0.5, 0.5], "random")


@pytest.mark.parametrize(
    ("strategy", "sentence"),
    [
        ([0.5, 0.6], "strategy: expected probabilities that sum to 1, found a sum of 1.1."),
        ([1.5, -0.5], "strategy: expected probabilities of at least 0, found -0.5."),
        ([1.0], "strategy: expected 2 numbers, found 1."),
        ([], "strategy: expected 2 numbers, found 0."),
        ([np.nan, 1], "strategy, entry 1: expected a finite number, found nan."),
        ([np.inf, -np.inf], "strategy, entry 1: expected a finite number, found inf."),
        ("up", "strategy: expected a list of numbers, found 'up'."),
        (None, "strategy: expected a list of numbers, found nothing."),
        (0.5, "strategy: expected a list of numbers, found 0.5."),
        (["0.5", "0.5"], "strategy, entry 1: expected a finite number, found '0.5'."),
        ([True, False], "strategy, entry 1: expected a finite number, found True."),
        ([["a", "b"]], "strategy: expected 2 numbers, found 1."),
        (
            [[1, 0], [0.5, 0.4]],
            "strategy, row 2: expected probabilities that sum to 1, found a sum of 0.9.",
        ),
        (
            np.zeros((1, 1, 2)),
            "strategy: expected one strategy or a list of them, found an array of 3 dimensions.",
        ),
        (np.zeros((3, 3)), "strategy, row 1: expected 2 numbers, found 3."),
    ],
)
def test_what_is_no_strategy_is_refused(strategy: Any, sentence: str) -> None:
    game = sc.FiniteGame(**{**FIELDS, "constraints": []})
    methods = (
        game.principal_utilities,
        game.agent_utilities,
        game.best_responses,
        game.respond,
    )
    for method in methods:
        with pytest.raises(sc.InputError) as refusal:
            method(strategy)
        assert str(refusal.value) == sentence


def test_constraints_cut_the_strategies() -> None:
    game = sc.FiniteGame(**FIELDS)
    assert game.space.kind == "polytope"
    assert game.space.contains([0.75, 0.25])
    assert not game.space.contains([0.76, 0.24])
    with pytest.raises(sc.InputError, match="a strategy that satisfies every constraint"):
        game.respond([1.0, 0.0])
    # The same budget in other units is the same set of strategies.
    for unit in (1e-12, 1e12):
        constraint = sc.Constraint({"up": unit}, at_least=0.25 * unit, at_most=0.75 * unit)
        space = sc.FiniteGame(**{**FIELDS, "constraints": [constraint]}).space
        assert space.contains([0.25, 0.75])
        assert not space.contains([0.76, 0.24])
        assert not space.contains([0.24, 0.76])
        point = space.argmax([1, 0])
        assert point is not None
        np.testing.assert_allclose(point, [0.75, 0.25], atol=1e-9)
    fixed = sc.Constraint({"up": 2, "down": 1}, at_least=1.5, at_most=1.5)
    space = sc.FiniteGame(**{**FIELDS, "constraints": [fixed]}).space
    assert space.hull_dimension == 0
    assert space.contains([0.5, 0.5])


@pytest.mark.parametrize("scale", [1e-320, 1e-9, 1.0, 1e9, 1e308])
def test_normalised_at_every_scale(scale: float) -> None:
    base = np.array([[-1.0, 0.5], [0.0, 1.0]])
    game = sc.FiniteGame(scale * base, -scale * base, known_value=0.5 * scale).normalised()
    assert game.known_value == pytest.approx(0.75, abs=1e-3)
    for payoffs in (game.principal_payoffs, game.agent_payoffs):
        assert payoffs.min() == 0
        assert payoffs.max() == 1
    assert game.agent_view.scale <= 1


def test_normalised_constant_payoffs() -> None:
    game = sc.FiniteGame([[3, 3]], [[0, 0]], known_value=3).normalised()
    assert game.known_value == 0
    assert not game.principal_payoffs.any()
    assert not game.agent_payoffs.any()


def test_scale_of_the_widest_payoffs() -> None:
    game = sc.FiniteGame([[0, 0]], [[-1.7e308, 1.7e308]])
    assert game.best_responses([1.0]).tolist() == [False, True]


WRONG: list[tuple[dict[str, Any], str]] = [
    (
        {"principal_payoffs": None},
        "principal_payoffs: expected a list of rows of numbers, found nothing.",
    ),
    (
        {"principal_payoffs": np.zeros((0, 2))},
        "principal_payoffs: expected at least one row and one column, found shape (0, 2).",
    ),
    (
        {"principal_payoffs": np.zeros((2, 0))},
        "principal_payoffs: expected at least one row and one column, found shape (2, 0).",
    ),
    (
        {"principal_payoffs": np.zeros(2)},
        "principal_payoffs, row 1: expected a list of numbers, found 0.0.",
    ),
    (
        {"principal_payoffs": np.zeros((2, 2, 2))},
        "principal_payoffs, row 1, entry 1: expected a finite number, found array([0., 0.]).",
    ),
    (
        {"principal_payoffs": [[1, np.nan], [0, 0]]},
        "principal_payoffs, row 1, entry 2: expected a finite number, found nan.",
    ),
    (
        {"agent_payoffs": np.full((2, 2), -np.inf)},
        "agent_payoffs, row 1, entry 1: expected a finite number, found -inf.",
    ),
    (
        {"agent_payoffs": np.ones((2, 2), dtype=bool)},
        "agent_payoffs, row 1, entry 1: expected a finite number, found True.",
    ),
    (
        {"agent_payoffs": np.ones((2, 2), dtype=complex)},
        "agent_payoffs, row 1, entry 1: expected a finite number, found (1+0j).",
    ),
    (
        {"agent_payoffs": [[10**400, 1], [1, 1]]},
        "agent_payoffs, row 1, entry 1: expected a finite number, found 1" + "0" * 56 + "….",
    ),
    (
        {"agent_payoffs": [[10**5000, 1], [1, 1]]},
        "agent_payoffs, row 1, entry 1: expected a finite number, found int too large to show.",
    ),
    (
        {"agent_payoffs": [[1, 2], [3]]},
        "agent_payoffs, row 2: expected 2 numbers as in the rows above, found 1.",
    ),
    (
        {"agent_payoffs": [[1, 2]]},
        "agent_payoffs: expected 2×2 numbers as in principal_payoffs, found 1×2.",
    ),
    ({"principal_actions": ["up"]}, "principal_actions: expected 2 names, found 1."),
    ({"principal_actions": ["up", ""]}, "principal_actions, entry 2: expected a name, found ''."),
    (
        {"principal_actions": ["up", "up"]},
        "principal_actions: expected distinct names, found 'up' twice.",
    ),
    ({"agent_actions": "lr"}, "agent_actions: expected a list of names, found 'lr'."),
    (
        {"agent_actions": ["l", "\ud800"]},
        "agent_actions, entry 2: expected a text in Unicode, found "
        "half of a surrogate pair in '\\ud800'.",
    ),
    ({"name": b"x"}, "name: expected a text, found b'x'."),
    ({"description": 1}, "description: expected a text, found 1."),
    (
        {"source": "\udfff"},
        "source: expected a text in Unicode, found half of a surrogate pair in '\\udfff'.",
    ),
    ({"known_value": True}, "known_value: expected a finite number, found True."),
    ({"known_value": np.inf}, "known_value: expected a finite number, found inf."),
    ({"constraints": 3}, "constraints: expected a list of constraints, found 3."),
    (
        {"constraints": [{"weights": {1: 1}, "at_most": 1}]},
        "constraints, entry 1: constraint, action: expected a text, found 1.",
    ),
    (
        {"constraints": [{"weights": {"up": 1}, "at_least": 1, "at_most": 0}]},
        "constraints, entry 1: "
        "constraint: expected at_least to be no more than at_most, found 1.0 > 0.0.",
    ),
    (
        {"constraints": [{"weights": {"up": 1}, "at_least": 2}]},
        "constraints: expected at least one strategy that satisfies them all, found none.",
    ),
    (
        {"constraints": [{"weights": {"side": 1}, "at_least": 2}]},
        "constraint '', weights: expected names of the principal's actions, found 'side'.",
    ),
]


@pytest.mark.parametrize(("fields", "sentence"), WRONG)
def test_wrong_input_gets_one_sentence(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(sc.InputError) as refusal:
        sc.FiniteGame(**{**FIELDS, **fields})
    assert str(refusal.value) == sentence


def test_repr_is_short() -> None:
    assert repr(sc.FiniteGame(**FIELDS)) == "FiniteGame('textbook', 2×2: up, down × left, right)"
    assert repr(sc.FiniteGame(np.zeros((5, 1)), np.zeros((5, 1)))) == (
        "FiniteGame(5×1: row 1, row 2, row 3, … × column 1)"
    )
    assert "\n" not in repr(sc.FiniteGame([[1]], [[1]], ["a\nb"]))
