"""The report: figures that show what they say, and a page that a browser opens."""

from __future__ import annotations

import dataclasses
import io
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import stackcast as sc
from stackcast.auditing import Bound
from stackcast.games import Ball, LabelledData, strategic_classification
from stackcast.games.generators import competing
from stackcast.protocol import Recommendation
from stackcast.report import (
    Played,
    draw_path,
    draw_responses,
    draw_strategies,
    draw_utility,
    inline_svg,
    play_page,
    rendered,
    write_play,
)
from stackcast.report.rounds import explored_and_committed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from stackcast.games import Game

GAMES: dict[str, Callable[[], Game]] = {
    "two": lambda: sc.load_game("textbook-commitment"),
    "three": lambda: sc.load_game("inspection"),
    "five": lambda: competing(5, 5, 1),
    "one": lambda: sc.FiniteGame([[1.0, 0.0]], [[0.0, 1.0]]),
    "many": lambda: competing(20, 12, 0),
    "wordy": lambda: sc.FiniteGame(
        np.eye(3), np.eye(3), agent_actions=["a" * 80, "b" * 80, "c" * 80]
    ),
}
BOUND = Bound.of("utility, from answers alone", "Theorem 3.1", 0.0, 1.0, 1.0)
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)


def played(name: str, rounds: int = 1500, agent: Any = None) -> Played:
    game = GAMES[name]()
    m = game.shape[0]
    asked = [*np.eye(m), np.full(m, 1 / m)]
    lengths = [max(1, rounds // (2 * len(asked)))] * len(asked)
    lengths[-1] = rounds - sum(lengths[:-1])
    principal = sc.principals.PhaseSwitch(game.principal_view, asked, lengths)
    responder = (agent or sc.agents.Calibrated)(game.agent_view)
    t = sc.play(principal, responder, rounds, game)
    result = Recommendation(np.full(m, 1 / m), 0, 0.5)
    return Played(game, t, sc.audit(t), sc.solve(game), result, rounds, "stackcast play")


@pytest.mark.parametrize("name", list(GAMES))
def test_every_figure_can_be_drawn_of_every_size_of_game(name: str) -> None:
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

    p, before = played(name, 300), plt.get_fignums()
    figure = Figure(figsize=(24, 4), layout="constrained")
    axes = figure.subplots(1, 3)
    assert isinstance(p.solution, sc.Solution)
    draw_strategies(p.transcript, solution=p.solution, ax=axes[0])
    draw_utility(p.transcript, p.audit, ax=axes[1])
    draw_responses(p.transcript, ax=axes[2])
    figure.draw_without_rendering()
    assert all(ax.has_data() for ax in axes)
    assert plt.get_fignums() == before  # nothing is left open


def classified(rounds: int = 60) -> Played:
    """Return a play of strategic classification, of 40 invented applicants."""
    labels = np.arange(40) % 2 == 0
    rows = np.random.default_rng(0).normal(size=(40, 2)) + 0.7 * labels[:, None]
    data = LabelledData.of(rows, labels, ["skill", "claim"])
    game = strategic_classification(Ball(2), data, changeable=["claim"], cost=1.0)
    principal = sc.principals.ResponseGradient(game.principal_view, epoch_rounds=5)
    agent = sc.agents.ContinuousBestResponse(game.agent_view)
    t = sc.play(principal, agent, rounds, game)
    return Played(game, t, sc.audit(t), sc.solve(game), principal.result, rounds)


def test_the_path_of_the_commitment_ends_where_the_principal_is() -> None:
    p = classified()
    ax = draw_path(p.transcript, p.game, p.solution)
    stairs = [patch for patch in ax.patches if hasattr(patch, "get_data")]
    for j, steps in enumerate(stairs):
        values, edges, _ = steps.get_data()
        assert values[-1] == p.transcript.block_strategies[-1][j]
        assert edges[-1] == 60
    dashed = [line.get_ydata()[0] for line in ax.get_lines() if line.get_linestyle() == "--"]
    assert p.solution is not None
    assert dashed == p.solution.strategy.tolist()


def test_a_certificate_out_of_sight_is_said() -> None:
    game = sc.load_game("textbook-commitment")
    bare = sc.Transcript.from_rounds([[0.0, 1.0]] * 50, [0] * 50, game=game)
    found = sc.audit(bare)
    away = dataclasses.replace(found, value=0.0, bounds=(dataclasses.replace(BOUND, bound=9.0),))
    ax = draw_utility(bare, away, game)
    assert "certificate: 9, above" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_agents_without_forecasts_have_a_report_too(tmp_path: Path) -> None:
    p = played("three", 300, sc.agents.FollowTheLeader)
    files = {file.name for file in write_play(tmp_path / "new", p)}
    assert "calibration.svg" not in files
    assert {"report.html", "utility.svg", "responses.png"} <= files


def test_the_average_line_ends_at_the_audit_s_average_and_the_certificate_is_above_it() -> None:
    p = played("three")
    ax = draw_utility(p.transcript, p.audit)
    lines = {line.get_label(): np.asarray(line.get_ydata()) for line in ax.get_lines()}
    assert lines["average so far"][-1] == pytest.approx(p.audit.average_utility)
    assert p.transcript.utilities(game=p.game).mean() == pytest.approx(p.audit.average_utility)
    bound = next(b for b in p.audit.bounds if b.name == "utility, from forecasts")
    assert lines["certificate"][-1] == pytest.approx(bound.bound)
    assert (lines["average so far"] <= lines["certificate"] + 1e-9).all()


def test_what_was_explored_comes_in_order_and_without_the_commitment() -> None:
    game = GAMES["two"]()
    labels = ["explore", "explore", "commit", "explore", "commit"]
    strategies = [[1.0, 0.0], [1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.4, 0.6]]
    t = sc.Transcript.from_rounds(strategies, [0, 0, 1, 1, 1], phases=labels, game=game)
    explored, commitment = explored_and_committed(t)
    assert [entry.strategy.tolist() for entry in explored] == [[1, 0], [0, 1]]
    assert [entry.rounds for entry in explored] == [2, 1]
    assert commitment.strategy.tolist() == [0.4, 0.6]
    assert commitment.response == 1


def test_the_strip_s_shares_sum_to_one() -> None:
    p = played("five", 700)
    ax = draw_responses(p.transcript)
    heights = [path.vertices[:, 1].max() for c in ax.collections for path in c.get_paths()]
    assert max(heights) == pytest.approx(1.0)


def test_figures_on_one_page_share_no_names() -> None:
    svg = '<?xml?><svg width="9" height="9"><a id="x" xlink:href="#x" href="data:,x"/></svg>'
    body = inline_svg(svg, "one", "a <b>")
    assert 'id="one-x"' in body
    assert 'xlink:href="#one-x"' in body
    assert 'href="data:,x"' in body
    assert "width=" not in body
    p = played("three", 200)
    figure = rendered(lambda ax: draw_responses(p.transcript, ax=ax), (8, 3))
    page = play_page(p, {"utility": figure, "responses": figure})
    names = re.findall(r'\bid="([^"]+)"', page)
    assert len(names) == len(set(names)) > 10
    assert not re.search(r'(?:src|href)="https?:', page)  # nothing is loaded


def test_what_a_user_wrote_cannot_become_part_of_the_page() -> None:
    game = sc.FiniteGame(
        np.eye(2), np.eye(2), principal_actions=["<b>", "b"], description="<script>x()</script>"
    )
    t = sc.play(
        sc.principals.Fixed(game.principal_view, [0.5, 0.5]),
        sc.agents.BestResponse(game.agent_view),
        5,
        game,
    )
    p = Played(game, t, sc.audit(t), None, Recommendation(np.ones(2) / 2, None, 0.0), 9, "<i>")
    page = play_page(p, {})
    for text in ("<script>", "<b>", "<i>"):
        assert text not in page
    assert "stopped after 5 of 9 rounds" in page


def browsed(page: Path, scratch: Path) -> tuple[str, list[str]]:
    """Return the document as a browser has it, and what it said on its console."""
    assert CHROMIUM is not None
    found = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            f"--user-data-dir={scratch}",
            "--enable-logging=stderr",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return found.stdout, [line for line in found.stderr.splitlines() if "CONSOLE" in line]


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed (apt install chromium)")
def test_a_browser_opens_the_report_without_complaint(tmp_path: Path) -> None:
    for p, told in ((played("three", 400), "Strategies"), (classified(), "naive: ignores")):
        write_play(tmp_path, p)
        document, console = browsed(tmp_path / "report.html", tmp_path / "profile")
        assert console == []
        assert len(re.findall(r'<svg[^>]*role="img"', document)) == 4
        assert len(re.findall(r"<figcaption>", document)) == 4
        assert "Consistency checks" in document
        assert told in document
    # What the test looks for would be seen.
    (tmp_path / "bad.html").write_text("<script>console.error('broken')</script>")
    assert browsed(tmp_path / "bad.html", tmp_path / "profile")[1]


def test_claims_are_a_table_of_eighty_columns_that_says_how_tight_bounds_are() -> None:
    from rich.console import Console

    from stackcast.claims import Finding
    from stackcast.report import describe

    file = io.StringIO()

    def finding(name: str, relation: Any, verdict: Any, measured: float, bound: float) -> Finding:
        return Finding(
            name, "Theorem 3.1", "…", "a quantity that has a name", relation, "", verdict, 12,
            verdict == "fails", 0.0, measured, bound, "", "3×3, 4,000 rounds", "", 0.0,
        )  # fmt: skip

    found = [
        finding("close", "at most", "holds", 0.9, 1.0),
        finding("far", "at most", "holds", 0.1, 1.0),
        finding("above", "at least", "holds", 0.7, 0.5),
        finding("attained", "at most", "holds", -1.0, -1.0),
        finding("says-nothing", "at most", "vacuous", 0.1, 9.0),
        finding("refuted", "at most", "fails", 2.0, 1.0),
    ]
    Console(width=80, file=file).print(describe(found, width=80))
    lines = file.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    for name, word in zip(
        ("close", "far", "above", "attained", "says-nothing", "refuted"),
        ("tight", "loose", "tight", "tight", "vacuous", "1 of 12"),
        strict=True,
    ):
        at = next(i for i, line in enumerate(lines) if name in line)
        assert word in " ".join(lines[at : at + 2]), name
        assert "a quantity that" in lines[at]
