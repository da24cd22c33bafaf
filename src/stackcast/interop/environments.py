"""Environments for reinforcement learning: Gymnasium for the principal, PettingZoo for both sides.

An episode is a play of some rounds against a fresh opponent. A principal's action is a point a of
[−1, 1]ᵐ that becomes a strategy in one of two ways:

- ``"softmax"``: h_x ∝ exp(5·a_x), for mixed strategies without constraints (two actions may differ
  by a factor of e¹⁰);
- ``"projection"``: the point of the strategy space nearest to (1 + a)/2, for every space.

Observations are those of :class:`stackcast.principals.FromPolicy` and
:class:`stackcast.agents.FromPolicy`, which let a trained policy play in a transcript.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from stackcast._frames import library
from stackcast._plain import plain
from stackcast._validation import InputError, one_of, shown, whole_number
from stackcast.agents import FromPolicy as AgentPolicy
from stackcast.auditing import audit
from stackcast.games import ContinuousGame, load_game
from stackcast.principals import FromPolicy as PrincipalPolicy
from stackcast.protocol import Transcript, build
from stackcast.solvers import solve

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from stackcast._validation import AnyArray, FloatArray, Table
    from stackcast.games import AgentView, Game
    from stackcast.protocol import Agent

    Feedback = Literal["strategy", "action"]

    Observation = npt.NDArray[np.float32]

gymnasium = library("gymnasium", "rl")
_Env: Any = gymnasium.Env
_ParallelEnv: Any = library("pettingzoo", "rl").ParallelEnv

#: Softmax of actions from −1 to 1 needs a scale to come close to pure strategies.
_SHARPNESS = 5.0


class _Play:
    """One side's strategies from actions, and the record of an episode."""

    def __init__(self, game: Game | str, rounds: int, hold: int, action: str | None) -> None:
        chosen: Any = load_game(game) if isinstance(game, str) else game
        if isinstance(chosen, ContinuousGame):
            raise InputError("game", "a game with a list of responses", shown(chosen))
        self.game: Game = chosen
        space = self.game.space
        self.rounds = whole_number("rounds", rounds, at_least=1)
        self.hold = whole_number("hold", hold, at_least=1)
        free = ("softmax", "projection") if space.kind == "simplex" else ("projection",)
        self.action = free[0] if action is None else one_of("action", action, free)
        self.value = float(solve(chosen).value)
        self._payoffs = chosen.principal_view, chosen.agent_view
        self._next: FloatArray = np.zeros(space.dimension)
        self.begin()

    def begin(self) -> None:
        """Forget the last episode."""
        self.principal = PrincipalPolicy(
            self.game.principal_view, lambda _: self._next, horizon=self.rounds, hold=self.hold
        )
        self.strategies: list[FloatArray] = []
        self.responses: list[AnyArray] = []
        self.played, self.earned = 0, 0.0

    def strategy(self, action: npt.ArrayLike) -> FloatArray:
        """Return the strategy that an action stands for."""
        a = np.asarray(action, dtype=np.float64)
        if self.action == "projection":
            return np.clip(self.game.space.project((1.0 + a) / 2.0), 0.0, 1.0)  # rounding
        weights = np.exp(_SHARPNESS * (a - a.max()))
        strategy: FloatArray = weights / weights.sum()
        return strategy

    def advance(self, action: npt.ArrayLike, agent: Agent) -> tuple[float, float]:
        """Play a block and return what both sides earned a round."""
        self._next = self.strategy(action)
        block = self.principal.commit()
        responses = agent.respond(block).responses[: self.rounds - self.played]
        self.principal.observe(responses)
        self.strategies.append(block.strategy)
        self.responses.append(responses)
        shares = np.bincount(responses, minlength=self.game.shape[1]) / len(responses)
        principal, other = (float(shares @ u.utilities(block.strategy)) for u in self._payoffs)
        self.played += len(responses)
        self.earned += principal * len(responses)
        return principal, other

    def info(self) -> Table:
        """Return V* and the regret a round; at the end also what the episode certifies."""
        if not self.played:
            return {"value": self.value}
        info: Table = {
            "value": self.value,
            "regret": self.value - self.earned / self.played,
            "strategy": self.strategies[-1],
        }
        if self.played == self.rounds:
            found = audit(self.transcript(), self.game, profile=False)
            info["certificates"] = [plain(bound) for bound in found.bounds]
        return info

    def transcript(self) -> Transcript:
        """Return the episode so far."""
        lengths = np.array([len(responses) for responses in self.responses])
        strategies = np.repeat(np.array(self.strategies), lengths, axis=0)
        return Transcript.from_rounds(strategies, np.concatenate(self.responses), game=self.game)

    def box(self, low: float, size: int) -> Any:
        """Return the space of vectors from ``low`` to 1."""
        return gymnasium.spaces.Box(low, 1.0, (size,), np.float32)


class PrincipalEnv(_Env):  # type: ignore[misc]
    """An environment for the principal; a built-in or user-defined agent responds.

    The reward is the principal's utility a round; the observation is the last strategy, the shares
    of the responses to it, and the share of the episode that has passed. ``info`` holds V*
    (``value``), the ``regret`` a round so far and the ``strategy`` of the action, and at the end of
    an episode the ``certificates`` of its audit. An episode is truncated after ``rounds``.

    Parameters
    ----------
    game : game or str
        A finite or a security game, or a name or file as for :func:`stackcast.load_game`.
    agent : str or callable
        The name of one of our agents, or a function of the agent's view and a seed that returns an
        agent (:class:`stackcast.agents.FromPolicy` makes one of a function).
    rounds : int
        The rounds of an episode.
    hold : int
        The rounds for which each strategy is held: one step.
    action : {"softmax", "projection"}, optional
        How an action becomes a strategy; by default the first where it is possible.

    Examples
    --------
    >>> import numpy as np
    >>> import stackcast as sc
    >>> env = sc.interop.PrincipalEnv("inspection", rounds=1000, hold=10)
    >>> observation, info = env.reset(seed=1)
    >>> info
    {'value': 0.825}
    >>> observation, reward, terminated, truncated, info = env.step(np.array([1, -1, -1]))
    >>> observation[:3].round(3), observation[-1]
    (array([1., 0., 0.], dtype=float32), np.float32(0.01))
    """

    metadata: ClassVar[Table] = {"render_modes": []}

    def __init__(
        self,
        game: Game | str,
        agent: str | Callable[[AgentView, int], Agent] = "Calibrated",
        *,
        rounds: int = 10_000,
        hold: int = 1,
        action: str | None = None,
    ) -> None:
        self._play = _Play(game, rounds, hold, action)
        self._made, self._agent = agent, self._new(agent, 0)
        m, k = self._play.game.shape
        self.action_space = self._play.box(-1.0, m)
        self.observation_space = self._play.box(0.0, m + k + 1)

    def _new(self, agent: str | Callable[[AgentView, int], Agent], seed: int) -> Agent:
        game = self._play.game
        if callable(agent):
            return agent(game.agent_view, seed)
        made: Agent = build("agent", agent, game, seed=seed)
        return made

    def strategy(self, action: npt.ArrayLike) -> FloatArray:
        """Return the strategy that an action stands for."""
        return self._play.strategy(action)

    def transcript(self) -> Transcript:
        """Return the episode so far, to be audited or saved."""
        return self._play.transcript()

    def reset(
        self, *, seed: int | None = None, options: Table | None = None
    ) -> tuple[Observation, Table]:
        """Begin an episode against a fresh agent."""
        super().reset(seed=seed, options=options)
        self._play.begin()
        self._agent = self._new(self._made, int(self.np_random.integers(2**31)))
        return self._play.principal.observation, self._play.info()

    def step(self, action: npt.ArrayLike) -> tuple[Observation, float, bool, bool, Table]:
        """Hold the action's strategy for some rounds."""
        play = self._play
        reward, _ = play.advance(action, self._agent)
        over = play.played >= play.rounds
        return play.principal.observation, reward, False, over, play.info()


gymnasium.register("stackcast/Principal-v0", entry_point=f"{__name__}:PrincipalEnv")


class ParallelEnv(_ParallelEnv):  # type: ignore[misc]
    """An environment for both sides; one step is one round, and the agent answers first.

    ``"principal_0"`` acts as in :class:`PrincipalEnv`, ``"agent_0"`` with the number of its action.
    The agent observes the strategy of the *last* round (with ``feedback="action"`` an action drawn
    from it), its own last response and the share of the episode that has passed: never the strategy
    of the round that it answers. Rewards are utilities.

    Parameters
    ----------
    game : game or str
        A finite or a security game, or a name or file as for :func:`stackcast.load_game`.
    rounds : int
        The rounds of an episode.
    feedback : {"strategy", "action"}
        What the agent observes of a past round.
    action : {"softmax", "projection"}, optional
        How an action of the principal becomes a strategy.

    Examples
    --------
    >>> import numpy as np
    >>> import stackcast as sc
    >>> env = sc.interop.ParallelEnv("textbook-commitment", rounds=100)
    >>> seen, _ = env.reset(seed=1)
    >>> seen, rewards, *_ = env.step({"principal_0": np.array([0.0, 0.0]), "agent_0": 1})
    >>> rewards
    {'principal_0': 2.5, 'agent_0': 0.5}
    >>> seen["agent_0"]
    array([0.5 , 0.5 , 0.  , 1.  , 0.01], dtype=float32)
    """

    metadata: ClassVar[Table] = {
        "name": "stackcast_v0",
        "render_modes": [],
        "is_parallelizable": True,
    }
    render_mode = None

    def __init__(
        self,
        game: Game | str,
        *,
        rounds: int = 10_000,
        feedback: Feedback = "strategy",
        action: str | None = None,
    ) -> None:
        self._play = _Play(game, rounds, 1, action)
        self._feedback, self._response, self._rng = feedback, 0, np.random.default_rng()
        self.possible_agents = ["principal_0", "agent_0"]
        self.agents: list[str] = []
        self._agent = self._new(0)
        m, k = self._play.game.shape
        self.observation_spaces = dict.fromkeys(
            self.possible_agents, self._play.box(0.0, m + k + 1)
        )
        self.action_spaces = {
            "principal_0": self._play.box(-1.0, m),
            "agent_0": gymnasium.spaces.Discrete(k),
        }

    def _new(self, seed: int) -> AgentPolicy:
        return AgentPolicy(
            self._play.game.agent_view,
            lambda _: self._response,
            horizon=self._play.rounds,
            feedback=self._feedback,
            seed=seed,
        )

    def observation_space(self, agent: str) -> Any:
        """Return the space of what a side observes."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        """Return the space of what a side does."""
        return self.action_spaces[agent]

    def transcript(self) -> Transcript:
        """Return the episode so far, to be audited or saved."""
        return self._play.transcript()

    def reset(
        self, seed: int | None = None, options: Table | None = None
    ) -> tuple[dict[str, Observation], dict[str, Table]]:
        """Begin an episode."""
        del options
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self.agents = [*self.possible_agents]
        self._play.begin()
        self._agent = self._new(int(self._rng.integers(2**31)))
        return self._observed(), {"principal_0": self._play.info(), "agent_0": {}}

    def step(self, actions: Table) -> tuple[Table, ...]:
        """Play a round; both acted on what they saw of the rounds before."""
        self._response = actions["agent_0"]
        earned = self._play.advance(actions["principal_0"], self._agent)
        rewards = dict(zip(self.possible_agents, earned, strict=True))
        over = self._play.played >= self._play.rounds
        ended, truncated = (dict.fromkeys(self.possible_agents, x) for x in (False, over))
        infos = {"principal_0": self._play.info(), "agent_0": {}}
        if over:
            self.agents = []
        return self._observed(), rewards, ended, truncated, infos

    def _observed(self) -> dict[str, Observation]:
        seen = self._play.principal.observation, self._agent.observation
        return dict(zip(self.possible_agents, seen, strict=True))
