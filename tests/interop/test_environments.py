"""Environments and policies: other people's checkers, what each side sees, one play twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test
from pettingzoo.utils import parallel_to_aec

import stackcast as sc
from stackcast.interop import ParallelEnv, PrincipalEnv

if TYPE_CHECKING:
    import numpy.typing as npt

# Warnings are errors in these tests, as in all of ours.
GAMES = ["inspection", "patrol", "food-hygiene"]  # a simplex, coverage, constraints
TEXTBOOK = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])


@pytest.mark.parametrize("hold", [1, 7])
@pytest.mark.parametrize("game", GAMES)
def test_gymnasium_checks_the_principals_environment(game: str, hold: int) -> None:
    env = gymnasium.make("stackcast/Principal-v0", game=game, rounds=50, hold=hold)
    check_env(env.unwrapped)
    observation, _ = env.reset(seed=0)
    over = False
    while not over:
        assert env.observation_space.contains(observation)
        observation, _, _, over, info = env.step(env.action_space.sample())
    assert env.unwrapped.transcript().rounds == 50  # type: ignore[attr-defined]
    assert info["certificates"]


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("feedback", ["strategy", "action"])
def test_pettingzoo_checks_the_environment_of_both_sides(game: str, feedback: Any) -> None:
    def make() -> ParallelEnv:
        return ParallelEnv(game, rounds=40, feedback=feedback)

    parallel_api_test(make(), num_cycles=100)
    parallel_seed_test(make, num_cycles=10)
    api_test(parallel_to_aec(make()), num_cycles=100)


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
def test_stable_baselines_checks_the_principals_environment(game: str) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(PrincipalEnv(game, rounds=50))


@pytest.mark.parametrize("feedback", ["strategy", "action"])
def test_the_agent_observes_nothing_of_the_round_that_it_answers(feedback: Any) -> None:
    rng = np.random.default_rng(0)
    one, other = (
        parallel_to_aec(ParallelEnv("inspection", rounds=30, feedback=feedback)) for _ in range(2)
    )
    for env in (one, other):
        env.reset(seed=3)
    past = []
    for t in range(29):
        commitments = rng.uniform(-1, 1, (2, 3)).astype(np.float32)
        for env, commitment in zip((one, other), commitments, strict=True):
            env.step(commitment if t == 28 else commitments[0])
            assert env.agent_selection == "agent_0"
            past.append(env.observe("agent_0"))
        assert np.array_equal(past[-2], past[-1])
        for env in (one, other):
            env.step(np.int64(t % 3))
    last = [env.observe("agent_0") for env in (one, other)]
    if feedback == "strategy":
        assert not np.array_equal(*last)  # it learns of the last strategy once it has answered


def test_the_agent_observes_the_last_strategy_or_an_action_drawn_from_it() -> None:
    choices: tuple[Any, ...] = ("strategy", "action")
    for feedback in choices:
        env = ParallelEnv(TEXTBOOK, rounds=400, feedback=feedback)
        env.reset(seed=0)
        rows = [
            env.step({"principal_0": [0.1, -0.1], "agent_0": 1})[0]["agent_0"] for _ in range(399)
        ]
        seen = np.array(rows)[:, :2]
        strategy = env._play.strategy([0.1, -0.1])
        if feedback == "strategy":
            assert np.allclose(seen, strategy)
        else:
            assert {*seen.ravel()} == {0.0, 1.0}
            assert abs(seen.mean(axis=0) - strategy).max() < 4 * 0.5 / np.sqrt(399)


def drift(observation: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Return an action of the environment that depends on all that is observed."""
    return np.sin(np.arange(1, 4) * 3.0 * observation.sum())


@pytest.mark.parametrize("hold", [1, 8])
def test_a_policy_plays_in_the_protocol_as_it_did_in_the_environment(hold: int) -> None:
    game = sc.load_game("inspection")
    env = PrincipalEnv(game, rounds=200, hold=hold)
    observation, over = env.reset(seed=5)[0], False
    while not over:
        observation, _, _, over, info = env.step(drift(observation))
    principal = sc.principals.FromPolicy(
        game.principal_view, lambda seen: env.strategy(drift(seen)), horizon=200, hold=hold
    )
    seed = int(np.random.default_rng(5).integers(2**31))
    agent = sc.agents.Calibrated(game.agent_view, seed=seed)
    t = sc.play(principal, agent, 200, game)
    assert np.array_equal(t.responses, env.transcript().responses)
    assert np.array_equal(t.strategies, env.transcript().strategies)
    found = sc.audit(t, game)
    assert found.regret == pytest.approx(info["regret"], abs=1e-12)
    assert [b["name"] for b in info["certificates"]]


def test_policies_keep_the_contracts_of_players() -> None:
    game = sc.load_game("inspection")

    def commits(seen: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        weights = 1 + seen[:3] + np.arange(3, dtype=np.float32)
        return weights / weights.sum()  # single precision: off by more than 1e-9

    def answers(seen: npt.NDArray[np.float32]) -> Any:
        return np.argmax(seen[:3])

    sc.checks.check_principal(
        lambda: sc.principals.FromPolicy(game.principal_view, commits, horizon=100, hold=3)
    )
    for feedback in ("strategy", "action"):
        sc.checks.check_agent(
            lambda f=feedback: sc.agents.FromPolicy(  # type: ignore[misc]
                game.agent_view, answers, horizon=100, feedback=f
            )
        )


def test_what_a_policy_may_not_say_is_one_sentence() -> None:
    view = TEXTBOOK.agent_view
    agent = sc.agents.FromPolicy(view, lambda _: 2, horizon=5)
    with pytest.raises(sc.InputError, match="policy's response: expected the number of an action"):
        agent.respond(sc.Block([0.5, 0.5]))
    wrong: list[Any] = [[0.5, 0.6], [np.nan, 1.0], [1.0]]
    for said in wrong:

        def policy(_: Any, said: Any = said) -> Any:
            return said

        principal = sc.principals.FromPolicy(TEXTBOOK.principal_view, policy, horizon=5)
        with pytest.raises(sc.InputError, match="policy's strategy"):
            principal.commit()
    with pytest.raises(sc.InputError, match="action: expected one of 'projection'"):
        PrincipalEnv("patrol", action="softmax")
    with pytest.raises(sc.InputError, match="a game with a list of responses"):
        PrincipalEnv("strategic-score")


def test_actions_reach_the_corners_and_the_whole_space() -> None:
    env = PrincipalEnv("patrol", rounds=10)
    space = env._play.game.space
    for action in np.random.default_rng(0).uniform(-1, 1, (50, env.action_space.shape[0])):
        strategy = env.strategy(action)
        assert space.contains(strategy)
        assert np.abs(env.strategy(2 * strategy - 1) - strategy).max() < 1e-9
    assert PrincipalEnv("inspection").strategy([1, -1, -1])[0] > 0.9999


def test_a_users_agent_responds() -> None:
    def contrary(view: Any, seed: int) -> sc.agents.FromPolicy:
        return sc.agents.FromPolicy(view, lambda seen: np.argmin(seen[:3]), horizon=10, seed=seed)

    env = PrincipalEnv("inspection", contrary, rounds=10)
    env.reset(seed=0)
    rewards = [env.step([1, -1, -1])[1] for _ in range(10)]
    game = sc.load_game("inspection")
    strategy = env.strategy([1, -1, -1])
    expected = game.principal_utilities(strategy)[np.argmin(strategy)]
    assert rewards[1:] == pytest.approx([float(expected)] * 9)
