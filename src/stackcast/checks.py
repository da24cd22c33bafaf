"""Contract checks for agents, principals and forecasters: the package's own, and yours.

Each check takes a *factory*, a function without arguments that builds the player from scratch with
the same seed every time, and raises an ``AssertionError`` of one sentence if a contract is broken:

    >>> import stackcast as sc
    >>> from stackcast.checks import check_agent
    >>> game = sc.FiniteGame([[1, 3], [0, 2]], [[1, 0], [0, 1]])
    >>> check_agent(lambda: sc.agents.Hedge(game.agent_view, seed=3))
"""

from __future__ import annotations

import gc
import json
import sys
import types
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from stackcast._random import stream
from stackcast._state import decode_state, encode_state
from stackcast._validation import InputError
from stackcast.games import ContinuousAgentView, ContinuousPrincipalView
from stackcast.protocol import Agent, Block, Principal, Responses

if TYPE_CHECKING:
    from collections.abc import Callable

    from stackcast._state import State
    from stackcast._validation import AnyArray, FloatArray
    from stackcast.games import StrategySpace

#: A state that grows by more bytes than this a round holds the past and not a summary of it.
_BYTES_A_ROUND = 0.5
_CODE = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.CodeType)


@runtime_checkable
class Forecaster(Protocol):
    """A forecaster of outcomes in a space, one round after the other."""

    space: Any  # a StrategySpace or the domain of a continuous game

    def forecast(self) -> FloatArray:
        """Return the forecast of the coming round."""

    def observe(self, outcome: FloatArray) -> None:
        """End the round with its outcome."""

    def run(self, outcomes: Any) -> Any:
        """Do many rounds: rows of outcomes, or a pair (outcome, rounds); has ``.forecasts``."""

    def state(self) -> State:
        """Return all that it remembers."""

    def restore(self, state: State) -> None:
        """Go on from where ``state`` was taken."""


def check_agent(factory: Callable[[], Agent]) -> None:
    """Check that an agent keeps the contract of :class:`stackcast.protocol.Agent`.

    It answers before it reads the strategy of a round (unless it says that it is informed); the
    same seed gives the same play; blocks give the same play as single rounds; a restored agent goes
    on as if nothing had happened; its memory does not grow with the rounds; it changes nothing that
    it is given.

    Parameters
    ----------
    factory : function without arguments
        Builds the agent, with the same seed every time.

    Raises
    ------
    AssertionError
        In one sentence, what is broken.
    """
    first = factory()
    name = type(first).__name__
    _require(isinstance(first, Agent), f"{name} lacks a part of the Agent contract")
    _require_plain_settings(name, first.settings)
    _require(factory() is not first, f"the factory gives the same {name} twice")
    script = _script(first.view.space, 40)

    whole = _played(first, script)
    again = _played(factory(), script)
    _require(whole.same_as(again), f"{name} plays differently when it is built again")
    singles = [Block(b.strategy) for b in script for _ in range(b.rounds)]
    _require(
        whole.same_as(_played(factory(), singles)),
        f"{name} answers a block otherwise than the same rounds one by one",
    )
    _check_restoring(name, factory, script)
    if not first.informed:
        _check_order(name, factory, script)
    _check_input_untouched(name, factory(), script)
    steady = factory()
    _check_growth(name, steady, steady.respond, steady.view.space)


def check_principal(factory: Callable[[], Principal]) -> None:
    """Check that a principal keeps the contract of :class:`stackcast.protocol.Principal`.

    It commits to strategies of its space; the same seed and answers give the same commitments; a
    restored principal goes on as if nothing had happened; it accepts the answers to a block that
    was cut; it has a result at any time; it changes nothing that it is given.

    Parameters
    ----------
    factory : function without arguments
        Builds the principal, with the same seed every time, for at least 1,000 rounds.

    Raises
    ------
    AssertionError
        In one sentence, what is broken.
    """
    first = factory()
    name = type(first).__name__
    _require(isinstance(first, Principal), f"{name} lacks a part of the Principal contract")
    _require_plain_settings(name, first.settings)
    _require(factory() is not first, f"the factory gives the same {name} twice")
    _check_result(name, first)

    blocks = _commitments(name, first, 40)
    _check_result(name, first)
    again = _commitments(name, factory(), 40)
    _require(blocks == again, f"{name} commits differently when it is built again")

    half, twin = factory(), factory()
    _commitments(name, half, 13)
    saved = encode_state(name, _state(name, half))
    _commitments(name, twin, 2)
    given = decode_state(name, saved, name)
    twin.restore(given)
    rest = _commitments(name, half, 20)
    _require(
        rest == _commitments(name, twin, 20), f"{name} goes on differently after it was restored"
    )
    _require(
        encode_state(name, given) == saved, f"{name} changes the state that it was restored from"
    )


def check_forecaster(factory: Callable[[], Forecaster]) -> None:
    """Check that a forecaster keeps the contract of :class:`Forecaster`.

    Its forecasts lie in the space of the outcomes and stand until the outcome is observed; the same
    seed gives the same forecasts; many rounds at once give the same forecasts as one by one, none
    of which moves when the outcome of its own round is changed; a restored forecaster goes on as if
    nothing had happened; its memory does not grow with the rounds; it changes nothing that it is
    given.

    Parameters
    ----------
    factory : function without arguments
        Builds the forecaster, with the same seed every time.

    Raises
    ------
    AssertionError
        In one sentence, what is broken.
    """
    first = factory()
    name = type(first).__name__
    _require(isinstance(first, Forecaster), f"{name} lacks a part of the Forecaster contract")
    _require(factory() is not first, f"the factory gives the same {name} twice")
    script = _script(first.space, 60, "outcomes", rounds=1)
    outcomes = np.array([block.strategy for block in script])

    forecasts = _forecasts(name, first, outcomes)
    again = _forecasts(name, factory(), outcomes)
    _require(
        np.array_equal(forecasts, again), f"{name} forecasts differently when it is built again"
    )
    given = outcomes.copy()
    at_once = np.asarray(factory().run(given).forecasts)
    _require(np.array_equal(given, outcomes), f"{name} changes the outcomes that it observes")
    _require(
        np.array_equal(forecasts, at_once),
        f"{name} forecasts many rounds otherwise than one by one",
    )
    for t in range(0, len(outcomes), 7):
        changed = outcomes[: t + 1].copy()
        changed[t] = outcomes[(t + 5) % len(outcomes)]
        _require(
            np.array_equal(factory().run(changed).forecasts, forecasts[: t + 1]),
            f"{name} reads the outcome of a round before it forecasts",
        )
    half, twin = factory(), factory()
    _forecasts(name, half, outcomes[:30])
    saved = encode_state(name, _state(name, half))
    _forecasts(name, twin, outcomes[:3])
    state = decode_state(name, saved, name)
    twin.restore(state)
    rest, twins = (_forecasts(name, f, outcomes[30:]) for f in (half, twin))
    _require(np.array_equal(rest, twins), f"{name} goes on differently after it was restored")
    _require(
        encode_state(name, state) == saved, f"{name} changes the state that it was restored from"
    )
    steady = factory()
    _check_growth(name, steady, lambda b: steady.run((b.strategy, b.rounds)), steady.space)


def _forecasts(name: str, forecaster: Forecaster, outcomes: FloatArray) -> FloatArray:
    """Return the forecasts of some rounds, taken one by one."""
    forecasts = []
    for outcome in outcomes:
        forecast = np.asarray(forecaster.forecast())
        _require(
            forecaster.space.contains(forecast, 1e-6), f"{name} forecasts outside of the outcomes"
        )
        _require(
            np.array_equal(forecast, forecaster.forecast()),
            f"{name} changes its forecast before it sees the outcome",
        )
        forecasts.append(forecast.copy())
        given = outcome.copy()
        forecaster.observe(given)
        _require(np.array_equal(given, outcome), f"{name} changes the outcomes that it observes")
    return np.array(forecasts)


def _commitments(name: str, principal: Principal, count: int) -> list[Block]:
    """Return the next blocks, answered by an invented agent; long blocks are cut."""
    view: Any = principal.view
    points = isinstance(view, ContinuousPrincipalView)
    shape = (view.space.dimension, view.response_dimension) if points else view.payoffs.shape
    payoffs = stream(0, "checks", "payoffs").random(shape)
    blocks = []
    for _ in range(count):
        block = principal.commit()
        _require(isinstance(block, Block), f"{name} commits to something that is no Block")
        try:
            view.space.check("strategy", block.strategy)
        except InputError as error:
            raise AssertionError(f"{name} commits outside its space ({error})") from None
        blocks.append(block)
        gains = block.strategy @ payoffs
        answer = gains if points else np.argmax(gains)
        responses = np.array([answer] * min(block.rounds, 20))
        principal.observe(responses)
        _require(bool((responses == answer).all()), f"{name} changes the responses that it sees")
    return blocks


def _check_result(name: str, principal: Principal) -> None:
    result = principal.result
    parts = ("strategy", "response", "value", "margin", "potential")
    missing = [part for part in parts if not hasattr(result, part)]
    _require(not missing, f"the result of {name} has no {' and no '.join(missing)}")


def _check_restoring(name: str, factory: Callable[[], Agent], script: list[Block]) -> None:
    half = len(script) // 2
    agent, twin = factory(), factory()
    _played(agent, script[:half])
    state = _state(name, agent)
    saved = encode_state(name, state)
    rest = _played(agent, script[half:])
    _require(encode_state(name, state) == saved, f"later play of {name} changes a state taken")
    _played(twin, script[:3])
    given = decode_state(name, saved, name)
    twin.restore(given)
    _require(
        rest.same_as(_played(twin, script[half:])),
        f"{name} goes on differently after it was restored",
    )
    _require(
        encode_state(name, given) == saved, f"{name} changes the state that it was restored from"
    )


def _check_order(name: str, factory: Callable[[], Agent], script: list[Block]) -> None:
    """Require that the answer to a round stays when only that round's strategy is changed."""
    agent, twin = factory(), factory()
    others = _script(agent.view.space, len(script), "others")
    known = 0
    for block, other in zip(script, others, strict=True):
        state = _state(name, agent)
        twin.restore(state)
        kept = _played(twin, [Block(block.strategy)]).first(known)
        for changed in (Block(other.strategy), other):
            twin.restore(state)
            _require(
                _played(twin, [changed]).first(known) == kept,
                f"{name} reads the strategy of a round before it answers",
            )
        known += len(_played(agent, [block]).new_forecasts)


def _check_input_untouched(name: str, agent: Agent, script: list[Block]) -> None:
    payoffs = _payoffs(agent).copy()
    for block in script:
        before = block.strategy.copy()
        open_block = Block(before.copy(), block.rounds, block.phase)
        open_block.strategy.flags.writeable = True
        agent.respond(open_block)
        _require(
            np.array_equal(open_block.strategy, before), f"{name} changes the strategy of a block"
        )
    _require(np.array_equal(_payoffs(agent), payoffs), f"{name} changes its view of the game")


def _payoffs(agent: Agent) -> FloatArray:
    """Return the payoffs that an agent knows; in a continuous game, its best responses."""
    view: Any = agent.view
    points = isinstance(view, ContinuousAgentView)
    return view.best_responses(np.zeros((1, view.space.dimension))) if points else view.payoffs


def _check_growth(
    name: str, player: Agent | Forecaster, play: Callable[[Block], object], space: StrategySpace
) -> None:
    """Neither the state nor what the player holds besides may grow with the rounds."""
    script = _script(space, 60, "memory", rounds=100)
    sizes, held = [], []
    for blocks in (script[:15], script[15:30], script[30:]):
        for block in blocks:
            play(block)
        sizes.append(len(encode_state(name, _state(name, player))))
        held.append(_held_bytes(player))
    rounds = 3000
    for grown, before, what in (
        (_growth(sizes), sizes[1], f"the state of {name}"),
        (_growth(held), held[1], f"what {name} holds"),
    ):
        # An eighth more is a table that is enlarged now and then.
        _require(
            grown <= _BYTES_A_ROUND * rounds + before / 8,
            f"{what} grew by {grown} bytes in {rounds} rounds",
        )


def _held_bytes(player: object) -> int:
    """Return the size of all that can be reached from an object, code left out."""
    seen: dict[int, object] = {}
    waiting = [player]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, _CODE):
            continue
        seen[id(thing)] = thing
        waiting.extend(gc.get_referents(thing))
    return sum(map(sys.getsizeof, seen.values()))


def _growth(sizes: list[int]) -> int:
    """Return the last growth if it is in proportion to the rounds: after 1, 2 and 4 times as many.

    What grows with the logarithm of the rounds grows as much from 1 to 2 as from 2 to 4.
    """
    early, late = sizes[1] - sizes[0], sizes[2] - sizes[1]
    return late if late > 1.5 * early else 0


class _Played(NamedTuple):
    responses: AnyArray
    forecast_ids: AnyArray
    new_forecasts: AnyArray

    def first(self, known: int) -> tuple[Any, ...]:
        """Return the first round's response and forecast, ``known`` forecasts made before."""
        answer = tuple(np.atleast_1d(self.responses[0]))
        if not len(self.forecast_ids):
            return answer
        number = int(self.forecast_ids[0])
        held = number if number < known else tuple(self.new_forecasts[number - known])
        return (*answer, held)

    def same_as(self, other: _Played) -> bool:
        return all(np.array_equal(a, b) for a, b in zip(self, other, strict=True))


def _played(agent: Agent, script: list[Block]) -> _Played:
    """Return the responses and the forecasts of every round."""
    name = type(agent).__name__
    k, m = len(agent.view.agent_actions), agent.view.space.dimension
    parts = []
    for block in script:
        answer = agent.respond(block)
        _require(isinstance(answer, Responses), f"{name} answers with no Responses")
        y = np.asarray(answer.responses)
        expected = f"{block.rounds} rounds"
        _require(y.shape[:1] == (block.rounds,), f"{name} gives {y.size} answers to {expected}")
        whole = y.dtype.kind in "iu" and y.min() >= 0 and y.max() < k
        _require(y.ndim > 1 or bool(whole), f"{name} plays a response that the game does not have")
        ids = np.empty(0) if answer.forecast_ids is None else np.asarray(answer.forecast_ids)
        _require(len(ids) in (0, block.rounds), f"{name} gives {len(ids)} forecasts to {expected}")
        new = np.empty((0, m)) if answer.new_forecasts is None else answer.new_forecasts
        _require(new.ndim == 2 and new.shape[1] == m, f"{name} makes forecasts of a wrong size")
        parts.append((y, ids, new))
    return _Played(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _script(
    space: StrategySpace, blocks: int, purpose: str = "script", rounds: int | None = None
) -> list[Block]:
    """Return blocks of random strategies: corners, mixtures, and repeats of the last one."""
    rng = stream(0, "checks", purpose)
    corners = np.array([space.argmax(rng.normal(size=space.dimension)) for _ in range(6)])
    script: list[Block] = []
    for _ in range(blocks):
        kind = rng.integers(4)
        length = int(rng.integers(1, 13)) if rounds is None else rounds
        if kind == 0 and script:
            strategy = script[-1].strategy
        else:
            some = corners[rng.integers(len(corners), size=1 if kind == 1 else 3)]
            strategy = space.check("strategy", rng.dirichlet(np.ones(len(some))) @ some)
        script.append(Block(strategy, length))
    return script


def _state(name: str, player: Agent | Principal | Forecaster) -> State:
    state = player.state()
    try:
        encode_state(name, state)
    except (TypeError, AttributeError) as error:
        raise AssertionError(f"the state of {name} cannot be saved ({error})") from None
    return state


def _require_plain_settings(name: str, settings: Any) -> None:
    try:
        plain = isinstance(settings, dict) and json.loads(json.dumps(settings)) is not None
    except (TypeError, ValueError):
        plain = False
    _require(plain, f"the settings of {name} are not what JSON can hold")


def _require(condition: bool, sentence: str) -> None:
    if not condition:
        raise AssertionError(sentence + ".")
