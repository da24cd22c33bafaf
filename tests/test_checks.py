"""The contract checks pass on everything exported, and each of them can fail."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import stackcast as sc
from stackcast import agents, principals
from stackcast.agents import Hedge
from stackcast.calibration import AdaptiveForecaster, BestResponseBinning
from stackcast.checks import check_agent, check_forecaster, check_principal
from stackcast.principals import Fixed, PhaseSwitch, Replay
from stackcast.protocol import Block, Responses

if TYPE_CHECKING:
    from collections.abc import Callable

    from stackcast._state import State
    from stackcast.protocol import Principal

GAMES = {
    "3×3": sc.FiniteGame(
        [[0.2, 0.9, 0.1], [0.7, 0.3, 0.5], [0.4, 0.8, 0.6]],
        [[0.9, 0.1, 0.4], [0.2, 0.8, 0.5], [0.3, 0.4, 0.9]],
    ),
    "1×1": sc.FiniteGame([[1.0]], [[2.0]]),
    "2×4, ties": sc.FiniteGame(np.ones((2, 4)), [[1.0, 1, 0, -5], [0.0, 0, 1, 1e3]]),
    "constrained": sc.FiniteGame(
        [[1, 3], [0, 2]],
        [[1, 0], [0, 1]],
        principal_actions=["up", "down"],
        constraints=[{"weights": {"up": 1.0}, "at_most": 0.4}],
    ),
}
NUMBER = 3
VIEW = GAMES["3×3"].agent_view
PRINCIPAL_VIEW = GAMES["3×3"].principal_view


def variants(name: str) -> list[dict[str, Any]]:
    """All combinations of the choices that an agent of that name offers."""
    settings = agents.find(name)(VIEW).settings
    choices: list[dict[str, Any]] = [{}]
    for key, words in (("feedback", ("strategy", "action")), ("ties", ("lowest", "random"))):
        if key in settings:
            choices = [{**choice, key: word} for choice in choices for word in words]
    return choices


def builder(name: str, game: sc.FiniteGame, choice: dict[str, Any]) -> Callable[[], Any]:
    return lambda: agents.find(name)(game.agent_view, seed=5, **choice)


@pytest.mark.parametrize("name", agents.names("finite"))
def test_every_agent_keeps_the_contract(name: str) -> None:
    for choice in variants(name):
        check_agent(builder(name, GAMES["3×3"], choice))
    for odd in ("1×1", "2×4, ties", "constrained"):
        check_agent(builder(name, GAMES[odd], variants(name)[-1]))


@pytest.mark.parametrize(
    "factory",
    [
        lambda: Fixed(PRINCIPAL_VIEW, [0.2, 0.3, 0.5]),
        lambda: PhaseSwitch(PRINCIPAL_VIEW, [[1, 0, 0], [0, 1, 0]], [500, 500]),
        lambda: Replay(PRINCIPAL_VIEW, np.eye(3)[np.arange(1000) % 3]),
    ],
)
def test_every_principal_keeps_the_contract(factory: Callable[[], Principal]) -> None:
    check_principal(factory)


class Peeks(Hedge):
    def respond(self, block: Block) -> Responses:
        answers = super().respond(block).responses.copy()
        answers[:] = np.argmax(self.view.utilities(block.strategy))
        return Responses(answers)


class Unseeded(Hedge):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._answers = np.random.Generator(np.random.PCG64())


class HoldsWithinABlock(Hedge):
    def respond(self, block: Block) -> Responses:
        answers = super().respond(block).responses
        return Responses(np.full(block.rounds, answers[0]))


class Remembers(Hedge):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.past = np.empty(0)

    def respond(self, block: Block) -> Responses:
        answers = super().respond(block)
        self.past = np.append(self.past, answers.responses)
        return answers

    def state(self) -> State:
        return {**super().state(), "past": self.past}

    def restore(self, state: State) -> None:
        super().restore(state)
        self.past = state["past"].copy()


class Hoards(Remembers):
    def state(self) -> State:
        return Hedge.state(self)

    def restore(self, state: State) -> None:
        Hedge.restore(self, state)


class Scribbles(Hedge):
    def respond(self, block: Block) -> Responses:
        answers = super().respond(block)
        if block.strategy.flags.writeable:
            block.strategy[:] = 1.0
        return answers


class ForgetsItsStream(Hedge):
    def restore(self, state: State) -> None:
        answers = self._answers
        super().restore(state)
        self._answers = answers


class GivesItsOwnArrays(Hedge):
    def state(self) -> State:
        return {**super().state(), "totals": self._totals}


class KeepsTheStateItIsGiven(Hedge):
    def restore(self, state: State) -> None:
        super().restore(state)
        self._totals = state["totals"]


class PlaysTooFar(Hedge):
    def respond(self, block: Block) -> Responses:
        return Responses(super().respond(block).responses + 1)


class AnswersOnce(Hedge):
    def respond(self, block: Block) -> Responses:
        return Responses(super().respond(block).responses[:1])


class HasOddSettings(Hedge):
    @property
    def settings(self) -> dict[str, Any]:
        return {"view": self.view}


class SavesTheUnsavable(Hedge):
    def state(self) -> State:
        return {**super().state(), "view": self.view}


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (Peeks, "Peeks reads the strategy of a round before it answers"),
        (Unseeded, "plays differently when it is built again"),
        (HoldsWithinABlock, "answers a block otherwise than the same rounds one by one"),
        (Remembers, "the state of Remembers grew by"),
        (Hoards, "what Hoards holds grew by"),
        (Scribbles, "Scribbles changes the strategy of a block"),
        (ForgetsItsStream, "goes on differently after it was restored"),
        (GivesItsOwnArrays, "later play of GivesItsOwnArrays changes a state taken"),
        (KeepsTheStateItIsGiven, "changes the state that it was restored from"),
        (PlaysTooFar, "plays a response that the game does not have"),
        (AnswersOnce, "gives 1 answers to"),
        (HasOddSettings, "settings of HasOddSettings are not what JSON can hold"),
        (SavesTheUnsavable, "state of SavesTheUnsavable cannot be saved"),
    ],
)
def test_each_check_of_agents_can_fail(broken: type[Hedge], sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check_agent(lambda: broken(VIEW, seed=2))


def test_an_agent_that_lacks_a_method_is_named() -> None:
    class Bare:
        pass

    with pytest.raises(AssertionError, match="Bare lacks a part of the Agent contract"):
        check_agent(Bare)  # type: ignore[arg-type]


class Outside(Fixed):
    def commit(self) -> Block:
        return Block([0.5, 0.6, 0.7])


class Restless(Fixed):
    def commit(self) -> Block:
        return Block(np.random.default_rng().dirichlet(np.ones(3)))


class Forgets(PhaseSwitch):
    def restore(self, state: State) -> None:
        pass


class Erases(Fixed):
    def observe(self, responses: Any) -> None:
        super().observe(responses)
        responses += 1


class Undecided(Fixed):
    @property
    def result(self) -> Any:
        return None


@pytest.mark.parametrize(
    ("factory", "sentence"),
    [
        (lambda: Outside(PRINCIPAL_VIEW, [1, 0, 0]), "commits outside its space"),
        (lambda: Restless(PRINCIPAL_VIEW, [1, 0, 0]), "commits differently when it is built again"),
        (
            lambda: Forgets(PRINCIPAL_VIEW, [[1, 0, 0], [0, 1, 0]], [250, 800]),
            "goes on differently after it was restored",
        ),
        (lambda: Erases(PRINCIPAL_VIEW, [1, 0, 0]), "changes the responses that it sees"),
        (lambda: Undecided(PRINCIPAL_VIEW, [1, 0, 0]), "the result of Undecided has no strategy"),
    ],
)
def test_each_check_of_principals_can_fail(factory: Callable[[], Principal], sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check_principal(factory)


@pytest.mark.parametrize(
    ("method", "starts"), [("betting", None), ("sleeping", "streaming"), ("sleeping", "first")]
)
def test_every_forecaster_keeps_the_contract(method: Any, starts: Any) -> None:
    check_forecaster(
        lambda: AdaptiveForecaster(
            BestResponseBinning(VIEW), VIEW.space, method=method, starts=starts, seed=3
        )
    )


class Mean:
    """A forecaster that keeps the contract: the mean of all outcomes."""

    def __init__(self) -> None:
        self.space = VIEW.space
        self.total, self.rounds = np.full(3, 1 / 3), 1

    def forecast(self) -> Any:
        return self.total / self.rounds

    def observe(self, outcome: Any) -> None:
        self.total = self.total + outcome
        self.rounds += 1

    def run(self, outcomes: Any) -> Any:
        rows = [outcomes[0]] * outcomes[1] if isinstance(outcomes, tuple) else outcomes
        forecasts = []
        for row in rows:
            forecasts.append(self.forecast())
            self.observe(row)
        return SimpleNamespace(forecasts=np.array(forecasts))

    def state(self) -> State:
        return {"total": self.total, "rounds": self.rounds}

    def restore(self, state: State) -> None:
        self.total, self.rounds = state["total"], state["rounds"]


class Fickle(Mean):
    def forecast(self) -> Any:
        self.total = self.total[::-1].copy()
        return super().forecast()


class Wild(Mean):
    def forecast(self) -> Any:
        return super().forecast() * 2


class Clairvoyant(Mean):
    def run(self, outcomes: Any) -> Any:
        rows = [outcomes[0]] * outcomes[1] if isinstance(outcomes, tuple) else outcomes
        made = super().run(outcomes)
        if len(rows) < 20:
            made.forecasts[-1] = rows[-1]
        return made


class Hasty(Mean):
    def run(self, outcomes: Any) -> Any:
        made = super().run(outcomes)
        made.forecasts[:] = made.forecasts[0]
        return made


class Amnesiac(Mean):
    def restore(self, state: State) -> None:
        pass


class Diary(Mean):
    def __init__(self) -> None:
        super().__init__()
        self.past: list[float] = []

    def observe(self, outcome: Any) -> None:
        super().observe(outcome)
        self.past.append(float(outcome[0]))


class Writes(Mean):
    def observe(self, outcome: Any) -> None:
        super().observe(outcome)
        outcome[:] = 0


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (Fickle, "changes its forecast before it sees the outcome"),
        (Wild, "forecasts outside of the outcomes"),
        (Clairvoyant, "reads the outcome of a round before it forecasts"),
        (Hasty, "forecasts many rounds otherwise than one by one"),
        (Amnesiac, "goes on differently after it was restored"),
        (Diary, "what Diary holds grew by"),
        (Writes, "changes the outcomes that it observes"),
    ],
)
def test_each_check_of_forecasters_can_fail(broken: type[Mean], sentence: str) -> None:
    check_forecaster(Mean)
    with pytest.raises(AssertionError, match=sentence):
        check_forecaster(broken)


def test_registries_know_the_names() -> None:
    assert agents.find("Hedge") is Hedge
    assert principals.find("Fixed") is Fixed
    assert set(agents.names()) >= {"BestResponse", "BlumMansour", "FollowTheLeader", "Hedge"}
    with pytest.raises(sc.InputError, match=r"agent: expected one of .*Hedge.*, found 'Hedgehog'"):
        agents.find("Hedgehog")


def test_other_distributions_add_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    added = EntryPoints(
        [
            EntryPoint("Peeks", f"{__name__}:Peeks", "stackcast.agents"),
            EntryPoint("Hedge", f"{__name__}:Peeks", "stackcast.agents"),
            EntryPoint("Number", f"{__name__}:NUMBER", "stackcast.agents"),
        ]
    )
    monkeypatch.setattr("stackcast.protocol.contracts.entry_points", added.select)
    assert "Peeks" in agents.names()
    assert agents.find("Peeks").__name__ == "Peeks"
    assert agents.find("Hedge") is Hedge
    assert "Peeks" not in principals.names()
    with pytest.raises(
        sc.InputError, match="entry point Number: expected a class of players, found 3"
    ):
        agents.find("Number")
