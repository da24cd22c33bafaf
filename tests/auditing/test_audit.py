"""The audit: equal to plain loops, and its bounds kept by every agent they speak of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from reference_audit import answers_alone, audited

from stackcast._random import stream
from stackcast._validation import InputError
from stackcast.agents import (
    BlumMansour,
    Calibrated,
    FollowTheLeader,
    Hedge,
    Lazy,
    NonAdaptive,
)
from stackcast.auditing import Audit, audit
from stackcast.games import FiniteGame, load_game
from stackcast.principals import Fixed, PhaseSwitch, Replay
from stackcast.protocol import Block, Principal, Recommendation, Transcript, play
from stackcast.report import describe

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.auditing import Bound
    from stackcast.games import PrincipalView

MILKING = load_game("milking")


def line(found: Audit, name: str) -> Bound:
    return next(bound for bound in found.bounds if bound.name == name)


def game_of(seed: int) -> FiniteGame:
    """Payoffs of any sign and scale; some with ties, duplicates, one row or one column."""
    rng = stream(seed, "test", "audit", "games")
    m, k = (int(n) for n in rng.integers(2, 4, 2))
    principal, agent = rng.normal(size=(m, k)), rng.normal(size=(m, k))
    kind = seed % 8
    if kind == 1:
        principal, agent = np.round(principal), np.round(agent)
    elif kind == 2:
        agent[:, 1] = agent[:, 0]
    elif kind == 3:
        principal, agent = -5 - 3 * rng.random((m, k)), 100 + rng.random((m, k))
    elif kind == 4:
        agent[:, 0] = agent[:, 1] - 1  # never a best response
    elif kind == 5:
        principal = 1 - agent
    elif kind == 6 and seed % 16 == 6:
        principal, agent = principal[:1], agent[:1]
    elif kind == 6:
        principal, agent = principal[:, :1], agent[:, :1]
    return FiniteGame(principal, agent)


def record_of(game: FiniteGame, seed: int, rounds: int, ties: str) -> Transcript:
    """Random strategies and forecasts, many of them on ties, answered by best responses."""
    rng = stream(seed, "test", "audit", "records")
    m = game.shape[0]
    grid = rng.dirichlet(np.ones(m), 6)
    grid[:3] = np.eye(m)[rng.integers(0, m, 3)]
    grid[3] = 1 / m
    h, p = grid[rng.integers(0, 6, rounds)], grid[rng.integers(0, 6, rounds)]
    y = game.agent_view.respond(p, ties, rng)  # type: ignore[arg-type]
    phases = rng.choice(["explore", "commit", "commit 2"], rounds).tolist()
    return Transcript.from_rounds(h, y, p, phases, game)


@pytest.mark.parametrize("seed", range(32))
def test_the_audit_equals_plain_loops(seed: int) -> None:
    game = game_of(seed)
    ties = "random" if seed % 2 else "lowest"
    record = record_of(game, seed, 40, ties)
    found = audit(record, ties=ties, lengths=[7])  # type: ignore[call-overload]
    told = audited(record, game)
    unit = float(np.abs(game.principal_payoffs).max() + np.abs(game.agent_payoffs).max())
    for name in ("value", "average_utility", "swap_regret", "external_regret"):
        assert getattr(found, name) == pytest.approx(told[name], abs=1e-9 * unit * record.rounds)
    assert found.regret == found.value - found.average_utility
    assert found.best_response_share == pytest.approx(told["best_response_share"])
    assert found.forecast_response_share == 1
    assert found.errors is not None
    np.testing.assert_allclose(found.errors, told["errors"], atol=1e-12)
    for name, key in (
        ("utility, from forecasts", "forecasts"),
        ("utility, from answers alone", "answers alone"),
        ("swap regret", "lemma"),
        ("external regret", "lemma"),
    ):
        bound = line(found, name)
        assert bound.bound == pytest.approx(told[key], abs=1e-8 * unit * record.rounds), name
        assert bound.slack == bound.bound - bound.measured
        assert bound.holds
    ruled = audited(record, game, ties)
    noise = 0.0
    if ties == "random":
        spread = max(np.ptp(row) for row in game.principal_payoffs)
        noise = spread * np.sqrt(np.log(20) / (2 * record.rounds))
    assert line(found, f"utility, ties {ties}").bound == pytest.approx(
        ruled["forecasts"] + noise, abs=1e-8 * unit
    )
    if ties == "lowest":  # the rule's bins are the realised ones
        assert line(found, "swap regret, ties lowest").bound == pytest.approx(told["lemma"])
    assert sum(phase.share for phase in found.phases) == pytest.approx(found.regret, abs=1e-9)
    for phase in found.phases:
        mine = [t for t in range(40) if _label(record, t) == phase.name]
        payoffs = game.principal_payoffs
        earned = [record.strategies[t] @ payoffs[:, record.responses[t]] for t in mine]
        assert phase.rounds == len(mine)
        assert phase.average_utility == pytest.approx(np.mean(earned))


def _label(record: Transcript, t: int) -> str:
    return record.phases[int(np.searchsorted(np.cumsum(record.block_rounds), t, side="right"))]


@pytest.mark.parametrize("seed", range(16))
def test_the_identity_behind_the_certificate(seed: int) -> None:
    # avg U_P = Σ (n_i/T) U_P(p̄_i, i) + Σ ⟨U_P(·,i), S_i⟩/T, for answers of any kind.
    rng = stream(seed, "test", "audit", "identity")
    game = game_of(seed)
    m, k = game.shape
    record = Transcript.from_rounds(
        rng.dirichlet(np.ones(m), 300), rng.integers(0, k, 300), rng.dirichlet(np.ones(m), 300)
    )
    payoffs, right = game.principal_payoffs, 0.0
    strategies, forecasts = record.strategies, record.forecasts
    assert forecasts is not None
    for i in range(k):
        mine = record.responses == i
        sums, gaps = forecasts[mine].sum(axis=0), (strategies - forecasts)[mine].sum(axis=0)
        right += float(sums @ payoffs[:, i] + payoffs[:, i] @ gaps)
    found = audit(record, game, profile=False)
    assert found.average_utility == pytest.approx(right / 300, abs=1e-9 * np.abs(payoffs).max())


def test_the_bounds_are_attained() -> None:
    # Forecasts on the tie that is worth V*, strategies a little further: nothing smaller is true.
    game = load_game("textbook-commitment")
    record = Transcript.from_rounds([[0.8, 0.2]] * 50, [1] * 50, [[0.5, 0.5]] * 50, game=game)
    found = audit(record, ties="lowest", profile=False)
    assert found.value == pytest.approx(2.5)
    assert found.average_utility == pytest.approx(2.8)
    for name in ("utility, from forecasts", "utility, from answers alone", "swap regret"):
        bound = line(found, name)
        assert bound.holds
        assert bound.slack == pytest.approx(0, abs=1e-9)


class Adversary(Principal):
    result: Recommendation = None  # type: ignore[assignment]

    """A principal that is out for harm: walks, cycles, switches, or greed."""

    def __init__(self, view: PrincipalView, kind: str, seed: int) -> None:
        super().__init__(view, seed=seed)
        self.kind = kind
        self.rng = stream(seed, "test", "adversary")
        self.logits = np.zeros(view.space.dimension)
        self.cycle = self.rng.dirichlet(np.full(view.space.dimension, 0.3), 3)
        self.turn, self.last = 0, 0
        self.result = Recommendation(self.cycle[0], None, float("nan"))

    def commit(self) -> Block:
        m = len(self.logits)
        self.turn += 1
        if self.kind == "walk":
            self.logits += self.rng.normal(size=m)
            weights = np.exp(self.logits - self.logits.max())
            return Block(weights / weights.sum(), 2)
        if self.kind == "cycle":
            return Block(self.cycle[self.turn % 3], 3)
        if self.kind == "switch":
            return Block(np.eye(m)[self.turn % m], 60 + self.turn)
        return Block(np.eye(m)[int(np.argmax(self.view.payoffs[:, self.last]))], 2)

    def observe(self, responses: Any) -> None:
        self.last = int(responses[-1])


KINDS = ("walk", "cycle", "switch", "greedy")
AGENTS = (
    lambda view, seed: Calibrated(view, seed=seed),
    lambda view, seed: Calibrated(view, seed=seed, ties="random"),
    lambda view, seed: NonAdaptive(view, seed=seed),
    lambda view, seed: Lazy(view, seed=seed, ties="random"),
    lambda view, seed: Calibrated(view, seed=seed, feedback="action"),
    lambda view, seed: BlumMansour(view, seed=seed),
    lambda view, seed: Hedge(view, seed=seed),
    lambda view, seed: FollowTheLeader(view, seed=seed, ties="random"),
)


@pytest.mark.parametrize("part", range(8))
def test_no_bound_fails_on_200_games_with_adversaries(part: int) -> None:
    tight = 0.0
    for seed in range(part * 25, part * 25 + 25):
        game = game_of(seed)
        agent = AGENTS[seed % 8](game.agent_view, seed)
        principal = Adversary(game.principal_view, KINDS[(seed // 8) % 4], seed)
        record = play(principal, agent, 240, game)
        rule = None if record.forecasts is None else agent.settings["ties"]
        found = audit(record, ties=rule, delta=1e-6, profile=False)
        assert not found.failed, (seed, found.failed)
        # Also with the formula to the letter, from vertices instead of a nearest point.
        assert found.average_utility <= answers_alone(record, game, found.value) + 1e-8
        if record.forecasts is not None:
            assert found.forecast_response_share == 1
            assert len(found.bounds) == 8
        tight += line(found, "utility, from answers alone").slack < 0.05 * np.ptp(
            game.principal_payoffs
        )
    assert tight > 0  # the bound is no empty promise


def test_a_leader_s_history_explains_its_answers() -> None:
    # Follow-the-leader best-responds to the mean of the past: forecasts that it could have had.
    for seed in range(40):
        game = game_of(seed)
        principal = Adversary(game.principal_view, KINDS[seed % 4], seed)
        record = play(principal, FollowTheLeader(game.agent_view), 200, game)
        h = record.strategies
        means = np.cumsum(h, axis=0)[:-1] / np.arange(1, 200)[:, None]
        later = Transcript.from_rounds(h[1:], record.responses[1:], means, game=game)
        found = audit(later, profile=False)
        assert found.forecast_response_share > 0.98  # but for rounding at ties
        if found.forecast_response_share == 1:
            assert not found.failed


def milked(agent: Any, rounds: int = 100_000) -> Audit:
    principal = PhaseSwitch(MILKING.principal_view, [[1, 0], [0, 1]], [rounds // 2] * 2)
    return audit(play(principal, agent, rounds, MILKING), profile=False)


def test_mean_based_learners_are_milked() -> None:
    view = MILKING.agent_view
    assert milked(FollowTheLeader(view)).average_utility == pytest.approx(0.725, abs=1e-3)
    assert milked(Hedge(view, seed=1)).average_utility >= 0.70


@pytest.mark.parametrize("kind", [Calibrated, NonAdaptive, BlumMansour])
def test_agents_without_swap_regret_are_not_milked(kind: Any) -> None:
    view = MILKING.principal_view
    rng = stream(0, "test", "milking")
    walk = np.cumsum(rng.normal(size=4000)) / 40
    shares = 1 / (1 + np.exp(-walk))
    found = milked(kind(MILKING.agent_view, seed=1))
    assert found.average_utility <= 0.32
    principals: list[Any] = [
        Fixed(view, [1, 0]),
        Fixed(view, [10 / 11, 1 / 11]),  # a tie
        PhaseSwitch(view, [[1, 0], [0, 1]] * 10, [200] * 20),
        PhaseSwitch(view, [[1, 0], [0.45, 0.55]], [2000, 2000]),
        Replay(view, np.column_stack([shares, 1 - shares])),
    ]
    for principal in principals:
        record = play(principal, kind(MILKING.agent_view, seed=2), 4000, MILKING)
        found = audit(record, profile=False)
        assert not found.failed
        excess = min(bound.bound for bound in found.bounds if bound.name.startswith("utility"))
        assert found.average_utility <= excess
        assert excess <= 0.5 + 0.1  # and the certificate says something: FTL's is 0.725
        assert found.average_utility <= 0.5 + 0.02


def test_the_separation_between_adaptive_and_long_run() -> None:
    # The paper's proposition: s rounds of a fair coin, then s^(1−β) rounds of a.
    game, s, beta = load_game("separation"), 10_000, 0.5
    length = int(s ** (1 - beta))
    view = game.principal_view
    script: Any = [[0.5, 0.5], [1, 0], [0.5, 0.5]], [s, length, 2 * length]

    def played(agent: Any) -> tuple[Transcript, Audit]:
        record = play(PhaseSwitch(view, *script), agent, s + 3 * length, game)
        return record, audit(record, lengths=[length])

    record, found = played(Lazy(game.agent_view, budget=(0.5, beta), forecast=[0.5, 0.5]))
    assert record.forecasts is not None
    gaps = record.strategies - record.forecasts
    t = np.arange(1, len(gaps) + 1)
    prefix = np.abs(np.cumsum(gaps, axis=0)).max(axis=1) / t
    assert (prefix <= t ** (-beta) / 2 + 1e-12).all()
    assert found.calibration is not None
    assert found.calibration.profile.errors[length] == 0.5
    assert (record.responses[s : s + length] == game.agent_actions.index("d")).all()
    record, found = played(Calibrated(game.agent_view, seed=1))
    assert (record.responses[s : s + length] == game.agent_actions.index("c")).mean() > 0.5
    assert found.calibration is not None
    assert found.calibration.profile.errors[length] < 0.25


def test_sampled_actions_as_feedback_cost_a_vanishing_term() -> None:
    # Calibrated to the draws, hence to the strategies up to √(log(km·T)/T).
    rng = stream(3, "test", "sampled feedback")
    game = FiniteGame(rng.random((3, 3)), rng.random((3, 3)))
    h = np.repeat(rng.dirichlet(np.ones(3), 20), 1000, axis=0)
    excess = []
    for rounds in (2000, 20_000):
        agent = Calibrated(game.agent_view, seed=1, feedback="action")
        found = audit(play(Replay(game.principal_view, h), agent, rounds, game), profile=False)
        assert not found.failed
        assert found.errors is not None
        excess.append(found.errors.max() * np.sqrt(rounds / np.log(9 * rounds)))
    assert max(excess) < 1


def draws_of(h: FloatArray, seed: int) -> FloatArray:
    rng = stream(seed, "test", "draws")
    labels = (rng.random(len(h))[:, None] > h.cumsum(axis=1)).sum(axis=1)
    return np.eye(h.shape[1])[labels.clip(0, h.shape[1] - 1)]


@pytest.mark.slow
def test_draws_refute_only_outside_the_band() -> None:
    rng = stream(1, "test", "audit", "draws")
    game = FiniteGame(rng.random((2, 2)), [[1, 0], [0, 1]])
    p = rng.dirichlet([1, 1], 3000)
    y = game.respond(p)
    honest = Transcript.from_rounds(draws_of(p, 1), y, p, game=game)
    found = audit(honest, draws=True, lengths=[])
    told = line(found, "log of a bettor's money, draws")
    assert told.holds
    assert found.draws
    assert "calibrated" in told.note or "not refuted" in told.note
    noise = np.ptp(game.principal_payoffs, axis=0).max() * np.sqrt(np.log(20) / 6000)
    utility = [bound for bound in found.bounds if bound.name.startswith("utility")]
    assert utility[2].bound == pytest.approx(min(b.bound for b in utility[:2]) + noise)
    shifted = Transcript.from_rounds(draws_of(p[:, ::-1], 2), y, p, game=game)
    found = audit(shifted, draws=True, lengths=[])
    assert line(found, "log of a bettor's money, draws").holds is False
    assert line(found, "log of a bettor's money, draws").note.startswith("refuted")
    assert found.failed
    # The same rows taken for strategies carry no noise, and have no such line.
    assert all("draws" not in bound.name for bound in audit(shifted, lengths=[]).bounds)


def test_a_given_rate_is_a_bound() -> None:
    record = Transcript.from_rounds([[1, 0]] * 50 + [[0, 1]] * 50, [0] * 100, [[0.5, 0.5]] * 100)
    game = FiniteGame([[1, 0], [0, 1]], [[1, 1], [1, 1]])
    kept = audit(record, game, rate=lambda t: np.ones_like(t, dtype=float))
    assert line(kept, "calibration error/rate, every interval").holds
    broken = audit(record, game, rate=lambda t: np.asarray(t, dtype=float) ** -0.5)
    assert line(broken, "calibration error/rate, every interval").holds is False
    assert [bound.name for bound in broken.failed] == ["calibration error/rate, every interval"]


def test_forecasts_that_do_not_explain_the_answers_are_noticed() -> None:
    # The agent says Down but answers as if Up: the bound's premise fails, and here the bound too.
    record = Transcript.from_rounds([[0, 1]] * 200, [2] * 200, [[0, 1]] * 200, game=MILKING)
    found = audit(record)
    assert found.forecast_response_share == 0
    failed = line(found, "utility, from forecasts")
    assert failed.holds is False
    assert "0% of the responses" in failed.note
    assert line(found, "utility, from answers alone").holds


def test_constraints_draws_and_forecasts_outside_them() -> None:
    game = FiniteGame(
        [[1, 0], [0, 0]],
        [[1, 0], [0, 1]],
        ["a", "b"],
        constraints=[{"weights": {"a": 1.0}, "at_most": 0.6}],
    )
    with pytest.raises(InputError, match="strategies, row 1: expected a strategy that satisfies"):
        audit(Transcript.from_rounds([[1, 0]], [0]), game)
    drawn = audit(Transcript.from_rounds([[1, 0]] * 10, [0] * 10), game, draws=True)
    assert drawn.value == pytest.approx(0.6)
    assert drawn.average_utility == 1
    assert not drawn.failed
    outside = Transcript.from_rounds([[0.6, 0.4]] * 4, [0] * 4, [[0.9, 0.1]] * 4)
    assert audit(outside, game).forecast_response_share == 0


def test_exploration_and_commitment() -> None:
    record = record_of(game_of(0), 0, 60, "lowest")
    found = audit(record, profile=False)
    assert found.exploration is not None
    assert found.commitment is not None
    assert found.exploration.rounds + found.commitment.rounds == 60
    assert found.exploration.share + found.commitment.share == pytest.approx(found.regret)
    unlabelled = audit(Transcript.from_rounds(record.strategies, record.responses), game_of(0))
    assert unlabelled.exploration is None
    assert unlabelled.commitment is None


def test_json_and_table() -> None:
    import json

    from rich.console import Console

    record = record_of(game_of(0), 0, 60, "lowest")
    for found in (
        audit(record, ties="random"),
        audit(Transcript.from_rounds(record.strategies, record.responses), game_of(0)),
    ):
        table = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert table["value"] == found.value
        assert [entry["name"] for entry in table["bounds"]] == [b.name for b in found.bounds]
        assert {entry["where"] for entry in table["bounds"]} <= {
            "Theorem 3.1",
            "Lemma B.2",
            "linear program",
        }
        assert table["diagnosis"]["label"] == found.diagnosis.label
        console = Console(width=200)
        with console.capture() as shown:
            console.print(describe(found))
        text = shown.get()
        assert text.startswith("Over 60 rounds the principal earned")
        assert "Theorem 3.1" in text


@pytest.mark.parametrize(
    ("record", "game", "sentence"),
    [
        (Transcript.from_rounds([[1, 0]], [0]), None, "game: expected the game that was played"),
        (
            Transcript.from_rounds([[1, 0]], [0], game=MILKING),
            FiniteGame([[1, 2]], [[1, 2]]),
            r"game: expected the game that was played \(.*\), found another one",
        ),
        (Transcript.from_rounds([[1, 0]], [3]), MILKING, "responses: expected numbers from 0 to 2"),
        (Transcript.from_rounds([[1]], [0]), MILKING, "strategies: expected 2 numbers a round"),
        (Transcript.from_rounds([[0.5, 0.6]], [0]), MILKING, "strategies, row 1: expected prob"),
        (
            Transcript.from_rounds([[0.5, 0.5]], [0], [[1, 1]]),
            MILKING,
            "forecasts, row 1: expected probabilities that sum to 1",
        ),
        (
            Transcript.from_rounds([[0.5, 0.5]], np.array([[0.1]])),
            MILKING,
            "responses: expected columns of a finite game",
        ),
    ],
)
def test_records_that_do_not_fit(record: Transcript, game: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        audit(record, game)
