r"""Gambit's strategic games (``.nfg``), in both directions.

The format is the one of Gambit's manual, chapter "Game representation formats": a prologue
``NFG 1 R "title" { players } { strategies } "comment"``, then either the payoffs themselves or a
list of outcomes and the outcome of each cell. The first player's strategies vary fastest; outcome 0
pays nothing to anybody; ``\"`` is the only escape in a text. The first player is the principal.

We write the payoff version with names. The title is the game's name; the comment holds its
description, its source and known value, and is read as the description. A constraint has no place
in the format, nor has a text that ends in a backslash: such games are refused.

References
----------
R. Savani and T. L. Turocy, Gambit: The package for computation in game theory,
www.gambit-project.org.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stackcast._validation import InputError, distinct_names, shown
from stackcast.games.game import FiniteGame

if TYPE_CHECKING:
    from stackcast._validation import FloatArray
    from stackcast.games.continuous import ContinuousGame
    from stackcast.games.game import Game

_TOKEN = re.compile(
    r"""\s*(?:
        "(?P<text>(?:\\"|[^"])*+)"
      | (?P<mark>[{},])
      | (?P<word>[^\s{},"]+)
    )""",
    re.VERBOSE,
)
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_RATIONAL = re.compile(r"([+-]?[0-9]{1,4000})/([0-9]{1,4000})")


def read_nfg(content: str) -> FiniteGame:
    r"""Return the game that the text of an ``.nfg`` file describes.

    Examples
    --------
    >>> game = read_nfg('NFG 1 R "textbook" { "Ann" "Bob" } { 2 2 }\n 1 1  0 0  3 0  2 1')
    >>> game.principal_payoffs
    array([[1., 3.],
           [0., 2.]])
    """
    tokens = _Tokens(content)
    tokens.take("word", "the word NFG", "NFG")
    tokens.take("word", "the version 1", "1")
    tokens.take("word", "the letter R or D", "R", "D")
    title = tokens.take("text", "the title in quotes")
    tokens.take("mark", "the players in braces", "{")
    players = tokens.texts()
    if len(players) != 2:
        raise InputError("players", "2", f"{len(players)}")
    counts, labels = _strategies(tokens)
    comment = tokens.take("text", "a comment") if tokens.next.kind == "text" else ""
    m, k = counts
    # The body is read before anything of size m·k is made: the counts may be typos.
    cells = _outcome_cells(tokens) if tokens.next.text == "{" else _payoff_cells(tokens)
    if cells.shape[0] != m * k:
        raise InputError("body", f"{m * k} cells for {m}×{k} strategies", f"{cells.shape[0]}")
    for player, given in zip(players, labels, strict=True):
        if given is not None and len(set(given)) < len(given):
            named = distinct_names(given)
            new = ", ".join(shown(b) for a, b in zip(given, named, strict=True) if a != b)
            note = f"The file gives {player} strategies of the same name; renamed: {new}."
            comment = f"{comment}\n\n{note}".lstrip()
            given[:] = named
    return FiniteGame(
        cells[:, 0].reshape(k, m).T,
        cells[:, 1].reshape(k, m).T,
        labels[0],
        labels[1],
        name=title,
        description=comment,
    )


def write_nfg(game: Game | ContinuousGame) -> str:
    """Return the text of the ``.nfg`` file for ``game``, its payoffs bit for bit."""
    if not isinstance(game, FiniteGame):
        expected = "a finite game: an .nfg file holds no other (see SecurityGame.to_finite)"
        raise InputError("game", expected, shown(game))
    if game.constraints:
        raise InputError(
            "constraints", "none, because an .nfg file cannot hold them", f"{len(game.constraints)}"
        )
    comment = [game.description, f"Source: {game.source}" if game.source else ""]
    if game.known_value is not None:
        comment.append(f"Known value: {game.known_value!r}")
    lines = [
        f"NFG 1 R {_quoted('name', game.name)} {{ {_quoted('player', 'Principal')} "
        f"{_quoted('player', 'Agent')} }}",
        "",
        "{ { " + " ".join(_quoted("principal_actions", a) for a in game.principal_actions) + " }",
        "  { " + " ".join(_quoted("agent_actions", a) for a in game.agent_actions) + " }",
        "}",
        _quoted("description", "\n\n".join(part for part in comment if part)),
        "",
    ]
    pairs = np.stack([game.principal_payoffs, game.agent_payoffs], axis=2)
    lines += [
        "  ".join(f"{p!r} {a!r}" for p, a in pairs[:, y].tolist()) for y in range(game.shape[1])
    ]
    return "\n".join(lines) + "\n"


class _Token(NamedTuple):
    kind: str
    text: str
    place: int


class _Tokens:
    """The file as texts in quotes, braces and commas, and other words, one at a time."""

    def __init__(self, content: str) -> None:
        self._content = content
        self._end = len(content.rstrip())
        self.next = self._scan(0)

    def _scan(self, start: int) -> _Token:
        if start >= self._end:
            self._after = self._end
            return _Token("end", "", self._end)
        match = _TOKEN.match(self._content, start)
        if match is None:  # only an opening quote can fail to match
            place = self._content.index('"', start)
            raise InputError(self.line(place), "a text that ends with a quote", "the end of file")
        self._after = match.end()
        kind = match.lastgroup or ""
        text = match[kind].replace('\\"', '"') if kind == "text" else match[kind]
        return _Token(kind, text, match.end() - 1)

    def line(self, place: int) -> str:
        return f"line {self._content.count(chr(10), 0, place) + 1}"

    def refuse(self, expected: str) -> InputError:
        found = "the end of file" if self.next.kind == "end" else shown(self.next.text)
        return InputError(self.line(self.next.place), expected, found)

    def take(self, kind: str, expected: str, *choices: str) -> str:
        if self.next.kind != kind or (choices and self.next.text not in choices):
            raise self.refuse(expected)
        text = self.next.text
        self.next = self._scan(self._after)
        return text

    def texts(self) -> list[str]:
        """Take texts up to a closing brace."""
        found = []
        while self.next.kind == "text":
            found.append(self.take("text", "a name"))
        self.take("mark", "a name in quotes or a closing brace", "}")
        return found

    def number(self, expected: str) -> float:
        if self.next.kind != "word":
            raise self.refuse(expected)
        number = _as_number(self.next.text)
        if number is None or not np.isfinite(number):
            raise self.refuse(expected)
        self.take("word", expected)
        return number

    def index(self, expected: str, at_least: int) -> int:
        word = self.next.text
        if self.next.kind != "word" or not re.fullmatch("[0-9]{1,9}", word) or int(word) < at_least:
            raise self.refuse(expected)
        return int(self.take("word", expected))


def _as_number(word: str) -> float | None:
    if _DECIMAL.fullmatch(word):
        return float(word)
    rational = _RATIONAL.fullmatch(word)
    if rational is None or int(rational[2]) == 0:
        return None
    try:
        return float(Fraction(int(rational[1]), int(rational[2])))
    except OverflowError:
        return None


def _strategies(tokens: _Tokens) -> tuple[list[int], list[list[str] | None]]:
    """Read both players' strategies: their numbers, and their names where they have any."""
    tokens.take("mark", "the strategies in braces", "{")
    counts: list[int] = []
    labels: list[list[str] | None] = []
    for _ in range(2):
        if tokens.next.text == "{":
            tokens.take("mark", "the strategies in braces", "{")
            place = tokens.next.place
            named = tokens.texts()
            if not named:
                raise InputError(tokens.line(place), "at least one strategy", "none")
            counts.append(len(named))
            labels.append(named if any(label.strip() for label in named) else None)
        else:
            counts.append(tokens.index("a number of strategies of at least 1", at_least=1))
            labels.append(None)
    tokens.take("mark", "a closing brace after the strategies of 2 players", "}")
    return counts, labels


def _payoff_cells(tokens: _Tokens) -> FloatArray:
    payoffs = []
    while tokens.next.kind != "end":
        payoffs.append(tokens.number("a payoff"))
    if len(payoffs) % 2:
        raise InputError("body", "two payoffs for every cell", f"{len(payoffs)} numbers")
    return np.array(payoffs, dtype=np.float64).reshape(-1, 2)


def _outcome_cells(tokens: _Tokens) -> FloatArray:
    tokens.take("mark", "the outcomes in braces", "{")
    outcomes = [(0.0, 0.0)]
    while tokens.next.text == "{":
        tokens.take("mark", "an outcome in braces", "{")
        tokens.take("text", "the outcome's name in quotes")
        pair = []
        for _ in range(2):
            pair.append(tokens.number("a payoff"))
            if tokens.next.text == ",":
                tokens.take("mark", "a comma", ",")
        tokens.take("mark", "a closing brace after 2 payoffs", "}")
        outcomes.append((pair[0], pair[1]))
    tokens.take("mark", "an outcome or a closing brace", "}")
    cells = []
    expected = f"the number of an outcome, 0 to {len(outcomes) - 1}"
    while tokens.next.kind != "end":
        refusal = tokens.refuse(expected)
        index = tokens.index(expected, at_least=0)
        if index >= len(outcomes):
            raise refusal
        cells.append(outcomes[index])
    return np.array(cells, dtype=np.float64).reshape(-1, 2)


def _quoted(field: str, text: str) -> str:
    if text.endswith("\\"):
        raise InputError(
            field, "a text that an .nfg file can hold", f"{shown(text)}, which ends in a backslash"
        )
    return '"' + text.replace('"', '\\"') + '"'
