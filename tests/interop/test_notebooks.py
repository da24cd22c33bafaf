"""What notebooks show of objects: the words of the terminal as HTML, with names escaped."""

from __future__ import annotations

from functools import cache
from html.parser import HTMLParser
from typing import Any

import stackcast as sc

EVIL = '<script>alert("1")</script> & [bold]'


@cache
def displayed() -> dict[str, Any]:
    game = sc.FiniteGame(
        [[1, 3], [0, 2]], [[1, 0], [0, 1]], [EVIL, "down"], ["left", EVIL], name=EVIL
    )
    principal = sc.principals.UniformExplore(game.principal_view, horizon=300)
    agent = sc.agents.Calibrated(game.agent_view)
    t = sc.play(principal, agent, 300, game)
    security = sc.SecurityGame([0, 0], [-5, -3], [-1, -1], [5, 3], 1, [EVIL, "beach"], name=EVIL)
    score: Any = sc.load_game("strategic-score")
    return {
        "finite game": game,
        "security game": security,
        "continuous game": score,
        "solution": sc.solve(game),
        "solution of a security game": sc.solve(security),
        "solution of a continuous game": sc.solve(score),
        "audit": sc.audit(t, game),
        "learner": principal,
        "learner before its first answer": sc.principals.UniformExplore(
            game.principal_view, horizon=300
        ),
        "agent": agent,
        "learner of a continuous game": sc.principals.ResponseGradient(score.principal_view),
    }


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_every_object_shows_itself_and_no_name_becomes_markup() -> None:
    for name, thing in displayed().items():
        page = Tags()
        page.feed(thing._repr_html_())
        assert {*page.tags} <= {"pre", "span"}, name
        assert page.text.strip(), name
        if name in ("finite game", "security game", "learner", "agent"):
            assert EVIL[:8] in page.text, name


def test_the_numbers_are_there() -> None:
    shown = displayed()
    assert "2.5" in shown["solution"]._repr_html_()
    assert "would commit now to" in shown["learner"]._repr_html_()
    assert "expected response" in shown["learner"]._repr_html_()
    assert "expected response" not in shown["learner before its first answer"]._repr_html_()
