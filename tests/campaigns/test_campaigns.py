"""Campaigns: the same decisions however often they are closed, and people who make mistakes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from killed_campaigns import AGENT, GAME, Wanderer, use_wanderer

import stackcast as sc
from stackcast._validation import InputError
from stackcast.campaigns import Campaign, HalfKnownGame, load_half_known
from stackcast.campaigns import campaign as room
from stackcast.campaigns.parsing import parse_responses, read_responses
from stackcast.principals import VersionSpace
from stackcast.protocol import Block

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def wanderer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "find_principal", use_wanderer)


@pytest.fixture
def path(tmp_path: Path, wanderer: None) -> Path:
    Campaign.new(tmp_path / "x.db", GAME, "Wanderer", horizon=600, seed=3).close()
    return tmp_path / "x.db"


def best(strategy: Any) -> int:
    return int(np.argmax(np.asarray(strategy) @ AGENT))


def answer(campaign: Campaign, times: int = 1) -> None:
    for _ in range(times):
        advice = campaign.ask()
        campaign.tell([best(advice.strategy)] * advice.rounds)


# The principal that advises is the one that plays ---------------------------------------------


@pytest.mark.parametrize("principal", [Wanderer, VersionSpace])
def test_decisions_are_those_of_a_principal_that_is_never_interrupted(
    tmp_path: Path, principal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if principal is Wanderer:
        monkeypatch.setattr(room, "find_principal", use_wanderer)
    path = tmp_path / "x.db"
    Campaign.new(path, GAME, principal.__name__, horizon=2000, seed=5, agent_sees="mix").close()
    twin = principal(GAME.principal_view, 2000, seed=5)
    for i in range(25):
        with Campaign.open(path) as campaign:
            advice = campaign.ask()
        block = twin.commit()
        assert advice.strategy.tolist() == block.strategy.tolist()
        assert (advice.rounds, advice.phase) == (block.rounds, block.phase)
        responses = [best(block.strategy)] * max(1, block.rounds - i % 3)
        with Campaign.open(path) as campaign:
            campaign.tell(responses)
        twin.observe(np.array(responses))
    with Campaign.open(path) as campaign:
        status = campaign.status()
    assert status.strategy.tolist() == twin.result.strategy.tolist()
    assert status.rounds == sum(status.answers[i].counts.sum() for i in range(len(status.answers)))


def test_an_ask_is_asked_once(path: Path) -> None:
    with Campaign.open(path) as one, Campaign.open(path) as other:
        first, second, third = one.ask(), one.ask(), other.ask()
    assert first.entry == second.entry == third.entry == 2
    assert first.to_dict() == third.to_dict()
    with Campaign.open(path) as campaign:
        assert len(campaign.entries()) == 2
        assert campaign.open_ask is not None


def test_counts_are_spread_evenly_so_that_every_window_shows_the_same_shares() -> None:
    told = parse_responses({"a": 700, "b": 200, "c": 100}, ["a", "b", "c"])
    seen = told.seen()
    for window in (seen[:500], seen[500:], seen[333:666]):
        shares = np.bincount(window, minlength=3) / len(window)
        assert np.abs(shares - [0.7, 0.2, 0.1]).max() < 0.01


@pytest.mark.parametrize(
    ("given", "rounds", "missing", "counts"),
    [
        ("comply=7,violate=3", 10, 0, [7, 0, 3]),
        ("comply = 7 , ?=2", 9, 2, [7, 0, 0]),
        ("comply", 1, 0, [1, 0, 0]),
        ("cut corners,violate,?", 3, 1, [0, 1, 1]),
        ({"violate": 2}, 2, 0, [0, 0, 2]),
        ([0, None, "violate", np.int64(2)], 4, 1, [1, 0, 2]),
        (np.array([0, 1, 1]), 3, 0, [1, 2, 0]),
    ],
)
def test_responses_as_people_write_them(
    given: Any, rounds: int, missing: int, counts: list[int]
) -> None:
    told = parse_responses(given, GAME.agent_actions)
    assert (told.rounds, told.missing) == (rounds, missing)
    assert np.bincount(told.seen(), minlength=3).tolist() == counts


def test_responses_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "day.csv"
    file.write_text("day,response\n1,comply\n2,\n3,?\n4,violate\n")
    assert read_responses(file, GAME.agent_actions).order == (0, -1, -1, 2)
    file.write_text("response,count\ncomply,7\n?,2\nviolate,1\n")
    told = read_responses(file, GAME.agent_actions)
    assert (told.counts, told.missing) == ((7, 0, 1), 2)
    for text, sentence in (
        ("answer\ncomply\n", "a column response"),
        ("response\n", "found no rows"),
        ("response\ncomplied\n", r"day\.csv: responses: expected names .* \(perhaps 'comply'\)"),
        ("response,count\ncomply,-1\n", "column count, row 1: expected a whole number"),
    ):
        file.write_text(text)
        with pytest.raises(InputError, match=sentence):
            read_responses(file, GAME.agent_actions)


# People ----------------------------------------------------------------------------------------


def test_missing_responses_are_counted_and_the_rest_is_an_answer(path: Path) -> None:
    with Campaign.open(path) as campaign:
        advice = campaign.ask()
        receipt = campaign.tell([0, None, None])
        assert (receipt.rounds, receipt.missing, receipt.shown, receipt.answered) == (3, 2, 1, True)
        twin = Wanderer(GAME.principal_view, 600, 3)
        assert twin.commit().rounds == advice.rounds
        twin.observe(np.array([0]))
        assert campaign.ask().strategy.tolist() == twin.commit().strategy.tolist()
        nothing = campaign.tell("?=4")
        assert not nothing.answered
        assert campaign.open_ask is not None
        status = campaign.status()
        assert (status.rounds, status.missing, campaign.transcript().rounds) == (7, 6, 1)


def test_another_strategy_than_asked_is_kept_but_is_no_answer(path: Path) -> None:
    with Campaign.open(path) as campaign:
        advice = campaign.ask()
        receipt = campaign.tell("violate=9", played="thorough=0.9,none=0.1")
        assert (receipt.as_asked, receipt.answered, receipt.shown) == (False, False, 0)
        assert campaign.ask().entry == advice.entry
        nearly = advice.strategy + np.array([0.002, -0.002, 0.0])
        assert campaign.tell("comply=2", played=nearly).answered
        record = campaign.transcript()
        assert record.block_strategies.tolist() == [[0.9, 0.0, 0.1], nearly.tolist()]
        status = campaign.status()
        assert (status.rounds, status.unseen) == (11, 9)


def test_more_rounds_than_asked_are_kept_and_the_first_ones_shown(path: Path) -> None:
    with Campaign.open(path) as campaign:
        advice = campaign.ask()
        receipt = campaign.tell([2] * (advice.rounds + 5))
        assert (receipt.shown, receipt.rounds) == (advice.rounds, advice.rounds + 5)
        twin = Wanderer(GAME.principal_view, 600, 3)
        twin.commit()
        twin.observe(np.full(advice.rounds, 2))
        assert campaign.ask().strategy.tolist() == twin.commit().strategy.tolist()
        assert campaign.status().unseen == 5


def test_an_action_never_seen_before(path: Path) -> None:
    with Campaign.open(path) as campaign:
        campaign.ask()
        assert campaign.tell("comply").first_seen == ("comply",)
        campaign.ask()
        assert campaign.tell("comply,violate").first_seen == ("violate",)
        campaign.ask()
        before = campaign.entries()
        with pytest.raises(InputError, match=r"names of the agent's actions .*found 'bribe'"):
            campaign.tell("bribe")
        assert campaign.entries() == before
        campaign.add_action("bribe", [-1, 0, 0.5])
        advice = campaign.ask()
        assert advice.entry > before[-1].id
        assert campaign.tell("bribe,bribe").first_seen == ("bribe",)
        status = campaign.status()
        assert status.game.agent_actions[-1] == "bribe"
        assert np.sum([row.counts for row in status.answers], axis=0).tolist() == [2, 0, 1, 2]
        with pytest.raises(InputError, match="a new name"):
            campaign.add_action("bribe", [0, 0, 0])


def test_undo_takes_back_what_was_told_and_what_was_asked_after_it(path: Path) -> None:
    with Campaign.open(path) as campaign:
        answer(campaign, 4)
        asked = campaign.ask()
        campaign.tell("violate=3")
        wrong = campaign.ask()
        taken = campaign.undo()
        assert (taken.kind, taken.about) == ("tell", asked.entry)
        again = campaign.ask()
        assert again.to_dict() == asked.to_dict()
        campaign.tell("comply=3")
        right = campaign.ask()
        assert right.strategy.tolist() != wrong.strategy.tolist()
        for _ in range(5):
            campaign.undo()
        with pytest.raises(InputError, match="undo: expected an entry to take back, found none"):
            campaign.undo()
        assert campaign.ask().entry == 2
        answer(campaign, 4)
        assert campaign.ask().strategy.tolist() == asked.strategy.tolist()
        kinds = [entry.kind for entry in campaign.entries()]
        assert kinds.count("undo") == 6  # every one on record


def test_the_last_answer_can_be_corrected(path: Path) -> None:
    with Campaign.open(path) as campaign:
        answer(campaign, 3)
        campaign.ask()
        told = campaign.tell("violate=3")
        wrong = campaign.ask()
        campaign.correct(told.entry, "comply=3")
        right = campaign.ask()
        campaign.undo()
        assert campaign.ask().strategy.tolist() == wrong.strategy.tolist()
    with Campaign.new(path.with_name("y.db"), GAME, "Wanderer", horizon=600, seed=3) as other:
        answer(other, 3)
        other.ask()
        other.tell("comply=3")
        assert other.ask().strategy.tolist() == right.strategy.tolist()


def test_a_correction_is_another_log(path: Path) -> None:
    with Campaign.open(path) as campaign:
        campaign.ask()
        told = campaign.tell("violate=3")
        answer(campaign, 12)
        before = campaign.ask()
        campaign.correct(told.entry, "comply=3")
        asked = campaign.ask()
        assert asked.entry > before.entry
        log = campaign._log(campaign.setup, campaign._record(campaign.setup))
        twin: Any = campaign.setup.build(log)
        assert asked.strategy.tolist() == twin.commit().strategy.tolist()
        assert twin.counts[0] >= 4  # the corrected answer
        answer(campaign, 2)
        for _ in range(3):
            campaign.undo()
        again = campaign.ask()
        assert again.to_dict() == before.to_dict()
        answer(campaign)


def test_what_is_asked_is_a_function_of_the_entries_that_stand(tmp_path: Path) -> None:
    asked = []
    for name in ("corrected.db", "right.db"):
        with Campaign.new(tmp_path / name, GAME, horizon=600) as campaign:
            campaign.ask()
            told = campaign.tell("violate=5" if name == "corrected.db" else "comply=5")
            if name == "corrected.db":
                campaign.correct(told.entry, "comply=5")
            answer(campaign, 6)
            asked.append(campaign.ask())
    assert asked[0].strategy.tolist() == asked[1].strategy.tolist()
    assert asked[0].why == asked[1].why


def test_an_action_that_the_principal_cannot_use_changes_nothing(tmp_path: Path) -> None:
    with Campaign.new(tmp_path / "x.db", GAME, horizon=600, floor=0.2) as campaign:
        before = campaign.entries()
        with pytest.raises(InputError, match="floor"):
            campaign.add_action("arson", [-5, -5, -5])
        assert campaign.entries() == before
        assert campaign.agent_actions == GAME.agent_actions


@pytest.mark.parametrize("entry", [0, 1, 2, 99])
def test_only_a_tell_can_be_corrected(path: Path, entry: int) -> None:
    with Campaign.open(path) as campaign:
        answer(campaign)
        with pytest.raises(InputError, match="the number of a tell that stands"):
            campaign.correct(entry, "comply=1")


# Logs and transcripts --------------------------------------------------------------------------


def test_a_log_from_before_is_learned_and_can_be_taken_back(path: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(
        "strategy_thorough,strategy_light,strategy_none,response\n"
        "1,0,0,comply\n1,0,0,comply\n0,1,0,cut corners\n0,1,0,comply\n"
    )
    with Campaign.open(path) as campaign:
        answer(campaign, 2)
        plain = campaign.ask()
        assert campaign.import_log(log) == 4
        rows = campaign.entries(last=1)[0].body["rows"]
        assert rows == [[[1.0, 0.0, 0.0], [2, 0, 0]], [[0.0, 1.0, 0.0], [1, 1, 0]]]
        informed = campaign.ask()
        assert informed.strategy.tolist() != plain.strategy.tolist()
        assert sum(row.counts.sum() for row in campaign.status().answers) > 4
        campaign.undo()
        assert campaign.ask().strategy.tolist() == plain.strategy.tolist()
        log.write_text("strategy_1,strategy_2,response\n0.5,0.5,comply\n")
        with pytest.raises(InputError, match=r"log\.csv: columns"):
            campaign.import_log(log)


def test_the_practical_learner_knows_its_log_after_a_restart(tmp_path: Path) -> None:
    strategies = np.random.default_rng(0).dirichlet(np.ones(3), 30)
    log = strategies, np.argmax(strategies @ AGENT, axis=1)
    twin = VersionSpace(GAME.principal_view, 2030, seed=1, log=log)
    path = tmp_path / "x.db"
    with Campaign.new(
        path, GAME, "version-space", horizon=2000, seed=1, agent_sees="mix"
    ) as campaign:
        campaign.import_log(log)
    for _ in range(6):
        with Campaign.open(path) as campaign:
            advice = campaign.ask()
            campaign.tell([best(advice.strategy)] * advice.rounds)
        block = twin.commit()
        assert advice.strategy.tolist() == block.strategy.tolist()
        twin.observe(np.full(block.rounds, best(block.strategy)))


def test_what_is_exported_is_what_was_played(path: Path, tmp_path: Path) -> None:
    game = sc.FiniteGame(
        GAME.principal_view.payoffs, AGENT, GAME.principal_actions, GAME.agent_actions
    )
    with Campaign.open(path) as campaign:
        with pytest.raises(InputError, match="at least one round with a response"):
            campaign.export(tmp_path / "t.csv")
        answer(campaign, 5)
        campaign.ask()
        campaign.tell("comply=1", played=[1, 0, 0])
        rounds = campaign.export(tmp_path / "t.parquet")
        campaign.export(tmp_path / "t.csv")
        average = campaign.status().average_utility
    for name in ("t.parquet", "t.csv"):
        found = sc.auditing.read_transcript(tmp_path / name, game)
        assert found.rounds == rounds
        assert sc.audit(found, game).average_utility == pytest.approx(average, abs=1e-12)


# A new version that decides otherwise ----------------------------------------------------------


def test_another_version_starts_anew_and_knows_all_answers(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Otherwise(Wanderer):
        def commit(self) -> Block:
            block = super().commit()
            return Block(block.strategy, block.rounds + 1, block.phase)

    with Campaign.open(path) as campaign:
        answer(campaign, 30)
        told = campaign.status().rounds
    monkeypatch.setattr(room, "find_principal", lambda name: Otherwise)
    with Campaign.open(path) as campaign:
        log = campaign._log(campaign.setup, campaign._record(campaign.setup))
        twin: Any = campaign.setup.build(log)
        asked = campaign.ask()
        assert asked.strategy.tolist() == twin.commit().strategy.tolist()
        assert twin.counts.sum() == told + 3
        answer(campaign, 2)  # and it goes on, by its own decisions
        since = {e.body["since"] for e in campaign.entries() if e.kind == "ask"}
        assert len(since) == 2


def test_a_state_that_cannot_be_read_is_not_needed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Renamed(Wanderer):
        def restore(self, state: Any) -> None:
            super().restore({"rng": state["stream"], "counts": state["counts"]})

        def state(self) -> Any:
            state = super().state()
            return {"stream": state["rng"], "counts": state["counts"]}

    with Campaign.open(path) as campaign:
        answer(campaign, 3)
    path.with_name("y.db").write_bytes(path.read_bytes())
    with Campaign.open(path) as campaign:
        asked = campaign.ask().to_dict()
    monkeypatch.setattr(room, "find_principal", lambda name: Renamed)
    with Campaign.open(path.with_name("y.db")) as campaign:
        assert campaign.ask().to_dict() == asked


# What is known of the game ---------------------------------------------------------------------


def test_a_half_known_game_in_a_file(tmp_path: Path) -> None:
    toml = tmp_path / "mine.toml"
    toml.write_text(
        'principal_payoffs = [[1, 3], [0, 2]]\nprincipal_actions = ["up", "down"]\n'
        'agent_actions = ["left", "right"]\nagent_payoffs_low = [[0, 0], [0, 0.5]]\n'
        "agent_payoffs_high = [[1, 1], [1, 1]]\n"
        '[[constraints]]\nweights = { up = 1.0 }\nat_most = 0.7\nname = "budget"\n'
    )
    game = load_half_known(toml)
    assert game.bounds is not None
    assert game.bounds[0].tolist() == [[0, 0], [0, 0.5]]
    assert not game.principal_view.space.contains([0.8, 0.2])
    again = HalfKnownGame.from_table(game.to_table())
    assert again.to_table() == game.to_table()
    assert game.with_action("wait", [1, 1]).bounds is not None
    whole = load_half_known("inspection")
    assert whole.fingerprint == sc.load_game("inspection").fingerprint
    assert "agent_payoffs" not in whole.to_table()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("principal_actions = ['a']", "principal_payoffs: expected a list of rows"),
        ("principal_payoffs = [[1, nan]]", "expected a finite number"),
        ("principal_payoffs = [[1, 2]]\nagent_payofs_low = [[1, 2]]", "'agent_payoffs_low'"),
        ("principal_payoffs = [[1, 2]]\nagent_payoffs_low = [[1, 2]]", "both bounds or neither"),
        (
            "principal_payoffs = [[1, 2]]\nagent_payoffs_low = [[1, 2]]\n"
            "agent_payoffs_high = [[2, 1]]",
            "no more than agent_payoffs_high, found 2 > 1",
        ),
        ("principal_payoffs = [[1, 2]\n", "expected TOML"),
        ('format = "x"\nprincipal_payoffs = [[1, 2]]', "'stackcast-half-known-game-1'"),
    ],
)
def test_a_mistake_in_the_file_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=sentence) as caught:
        load_half_known(file)
    assert str(caught.value).startswith(str(file))
    assert "\n" not in str(caught.value)


def test_limits_on_what_may_be_committed_to_are_kept(tmp_path: Path) -> None:
    payoffs = [[-1.0, 0.5, 1.0], [0.0, 0.2, 0.4], [0.3, 0.3, 0.1]]
    game = HalfKnownGame(
        payoffs,
        ["a", "b", "c"],
        agent_payoffs_low=np.zeros((3, 3)),
        agent_payoffs_high=np.ones((3, 3)),
    )
    with Campaign.new(
        tmp_path / "x.db", game, horizon=800, floor=0.0, constraints=["b + 0.5 c >= 0.3"]
    ) as campaign:
        for _ in range(8):
            advice = campaign.ask()
            _, b, c = advice.strategy
            assert b + 0.5 * c >= 0.3 - 1e-9
            assert (advice.strategy @ np.array(payoffs)).min() >= -1e-9
            campaign.tell([int(np.argmax(advice.strategy @ AGENT))] * advice.rounds)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"principal": "GridBandit", "margin": 0.1}, "margin: expected nothing, as GridBandit"),
        ({"principal": "Fixed"}, "which needs strategy"),
        ({"principal": "Oracle"}, "which needs the whole game"),
        ({"principal": "wizard"}, "principal: expected one of"),
        ({"horizon": 0}, "horizon"),
        ({"margin": 2.0}, "margin"),
        ({"floor": 9.0}, "floor: expected a utility that some strategy always earns"),
        ({"constraints": ["sloppy <= 1"]}, "names of the principal's actions .* found 'sloppy'"),
        ({"constraints": ["none"]}, "a sum of actions"),
        ({"constraints": ["none >= 2"]}, "constraints: expected at least one strategy"),
    ],
)
def test_what_cannot_be_is_refused_before_there_is_a_file(
    tmp_path: Path, settings: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        Campaign.new(tmp_path / "x.db", GAME, **settings)
    assert list(tmp_path.iterdir()) == []


def test_a_principal_without_a_log_cannot_import(tmp_path: Path) -> None:
    with Campaign.new(tmp_path / "x.db", GAME, "grid-bandit") as campaign:
        answer(campaign)
        with pytest.raises(InputError, match="a principal that learns from a log"):
            campaign.import_log((np.eye(3), [0, 1, 2]))
        campaign.add_action("bribe", [0, 0, 0])
        answer(campaign)


# Advice that cannot be followed, and campaigns that rest ---------------------------------------


def test_a_declined_limit_holds_until_it_is_lifted(tmp_path: Path) -> None:
    with Campaign.new(tmp_path / "x.db", GAME, horizon=600, seed=3) as campaign:
        answer(campaign, 3)
        rounds = campaign.status().rounds
        action = GAME.principal_actions[2]
        campaign.decline(f"{action} <= 0.1", "nobody is free")
        assert campaign.open_ask is None
        for _ in range(3):
            assert campaign.ask().strategy[2] <= 0.1 + 1e-9
            answer(campaign)
        assert campaign.status().rounds > rounds  # what was told before still counts
        with pytest.raises(InputError, match="a limit in force"):
            campaign.lift("no such limit")
        with pytest.raises(InputError, match="names of the principal's actions"):
            campaign.decline("nothing <= 0.1")
        before = [c.name for c in campaign.status().game.shell.constraints]
        campaign.lift(f"{action} <= 0.1")
        assert len(campaign.status().game.shell.constraints) == len(before) - 1
        campaign.undo()
        assert [c.name for c in campaign.status().game.shell.constraints] == before


def test_a_paused_campaign_asks_for_nothing(path: Path) -> None:
    with Campaign.open(path) as campaign:
        advice = campaign.ask()
        campaign.pause("holidays")
        assert campaign.state == "paused"
        with pytest.raises(InputError, match="not paused, found one that is"):
            campaign.pause()
        campaign.tell([0] * advice.rounds)
        with pytest.raises(InputError, match="running"):
            campaign.ask()
        campaign.resume()
        assert campaign.ask().entry > advice.entry
        campaign.end()
    with Campaign.open(path) as campaign:
        assert campaign.state == "ended"
        campaign.resume()
