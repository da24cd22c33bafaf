"""Campaigns: the same decisions however often they are closed, and people who make mistakes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from killed_campaigns import AGENT, GAME, Wanderer, use_wanderer

import stackcast as sc
from stackcast._validation import InputError
from stackcast.campaigns import Campaign, HalfKnownGame
from stackcast.campaigns import campaign as room
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


# What people see wrongly, and days -------------------------------------------------------------

CITY = HalfKnownGame(
    [[6, 4, 2], [8, 5, 1], [10, 3, 0]],
    ["thorough", "light", "no visit"],
    ["comply", "cut corners", "violate"],
    name="city",
)


def test_advice_is_never_below_the_best_mix_of_the_record(tmp_path: Path) -> None:
    # An agent whom nobody can have in mind: it complies with one odd mix only.
    odd = np.array([0.2, 0.3, 0.5])

    def respond(strategy: Any) -> int:
        return 0 if np.abs(np.asarray(strategy) - odd).max() < 0.005 else 2

    with Campaign.new(tmp_path / "x.db", CITY, horizon=400, seed=1) as campaign:
        campaign.ask()
        campaign.tell({"comply": 40}, played=odd)
        earned = float(odd @ CITY.principal_view.payoffs[:, 0])
        asked = []
        for _ in range(25):
            advice = campaign.ask()
            asked.append(advice)
            best = campaign.status().best
            assert best is not None
            if advice.phase == "commit" and np.abs(advice.strategy - odd).max() > 0.005:
                # Only what is expected to earn more, or with the reason.
                known = campaign.status()
                assert known.value >= 40 / 41 * earned or "record" in advice.why
            campaign.tell([respond(advice.strategy)] * advice.rounds)
    held = [a for a in asked if np.abs(a.strategy - odd).max() < 0.005]
    assert held


def test_today_is_drawn_once_and_told_as_an_action(path: Path) -> None:
    with Campaign.open(path) as campaign:
        advice = campaign.ask()
        first, again = campaign.draw(), campaign.draw()
        assert first == again
        receipt = campaign.tell("comply", played={first.name: 1})
        assert (receipt.as_asked, receipt.answered) == (True, True)
        entry = campaign.entries(last=1)[0]
        assert entry.body["strategy"] == advice.strategy.tolist()
        assert entry.body["action"] == first.action
        campaign.ask()
        assert campaign.draw().entry != first.entry
        with pytest.raises(InputError, match="found 'nap'"):
            campaign.tell("comply", played="nap=1")


def test_draws_have_the_shares_of_the_mix(tmp_path: Path) -> None:
    with Campaign.new(tmp_path / "x.db", GAME, horizon=500, seed=2) as campaign:
        advice, drawn = campaign.ask(), []
        for _ in range(400):  # nothing is seen, so the ask stays open
            drawn.append(campaign.draw().action)
            campaign.tell("?")
        shares = np.bincount(drawn, minlength=3) / len(drawn)
    assert np.abs(shares - advice.strategy).max() < 0.08  # 3 standard deviations


def test_days_without_a_record_are_missing_rounds(tmp_path: Path) -> None:
    file = tmp_path / "week.csv"
    file.write_text("date;response\n2026-03-07;comply\n2026-03-05;violate\n2026-03-06;comply\n")
    with Campaign.new(tmp_path / "x.db", CITY, horizon=90, first_day="2026-03-02") as campaign:
        advice = campaign.ask()
        assert advice.days is not None
        assert advice.days[0] == "2026-03-02"
        receipt = campaign.tell(file)
        assert (receipt.rounds, receipt.missing) == (6, 3)
        assert receipt.days == ("2026-03-02", "2026-03-07")
        again = campaign.ask()
        assert again.days is not None
        assert again.days[0] == "2026-03-08"
        with pytest.raises(InputError, match="day: expected 2026-03-08 or later"):
            campaign.tell("comply", day="2026-03-01")
        assert campaign.tell("comply", day="2026-03-10").missing == 2
        status = campaign.status()
        assert (status.rounds, status.missing) == (9, 5)
        assert status.days == ("2026-03-02", "2026-03-10")


def test_that_the_horizon_is_over_is_said(tmp_path: Path) -> None:
    with Campaign.new(tmp_path / "x.db", CITY, horizon=30) as campaign:
        assert not campaign.ask().over
        for _ in range(12):
            advice = campaign.ask()
            campaign.tell({"comply": advice.rounds})
        advice = campaign.ask()
        assert advice.over
        assert "The planned 30 rounds are over" in advice.why


def test_responses_seen_wrongly_are_put_right_and_said(tmp_path: Path) -> None:
    mix, believed = [0.1, 0.2, 0.7], []
    for i, misread in enumerate((0.0, 0.2)):
        with Campaign.new(tmp_path / f"{i}.db", GAME, horizon=500, misread=misread) as campaign:
            campaign.ask()
            campaign.tell({"comply": 80, "cut corners": 10, "violate": 10}, played=mix)
            learner: Any = campaign.learner()
            believed.append(learner.response_probabilities(mix)[0])
            for _ in range(40):
                advice = campaign.ask()
                if advice.phase == "commit":
                    break
                campaign.tell([best(advice.strategy)] * advice.rounds)
            assert "the other side sees actions only" in advice.why
            assert ("20% of the responses are seen wrongly" in advice.why) == bool(misread)
    assert believed[1] > believed[0] + 0.02
    with pytest.raises(InputError, match=r"misread: expected a share below 0\.5"):
        Campaign.new(tmp_path / "z.db", GAME, misread=0.5)


def test_an_ask_costs_the_same_after_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What is decided again with the snapshot deleted is bounded, whatever came before.
    monkeypatch.setattr(room, "find_principal", use_wanderer)
    monkeypatch.setattr(room, "_PIECES", 50)
    counted = {"commits": 0}
    commit = Wanderer.commit

    def counting(self: Any) -> Block:
        counted["commits"] += 1
        return commit(self)

    with Campaign.new(tmp_path / "x.db", GAME, "Wanderer", horizon=10**6) as campaign:
        answer(campaign, 200)
        campaign._journal.rows("DELETE FROM snapshot")
        monkeypatch.setattr(Wanderer, "commit", counting)
        campaign.ask()
    assert 0 < counted["commits"] <= 51
