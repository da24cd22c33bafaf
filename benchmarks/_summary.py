"""Wins and losses: what the stored tables say of us against others, or against ourselves.

Whether a comparison is a win is decided by its figures alone. One whose tables are not stored, or
whose peer was not installed, is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Tables = dict[str, Any]


@dataclass(frozen=True)
class Comparison:
    """How many times better we are than somebody else, from the worst to the best case.

    Parameters
    ----------
    what, against : str
        The two sides.
    least, most : float
        The ratios: above 1 is better.
    better, worse : str
        The words for it, such as faster and slower.
    """

    what: str
    against: str
    least: float
    most: float
    better: str
    worse: str

    @property
    def won(self) -> bool:
        """Whether we are at least as good in every case."""
        return self.least >= 1

    @property
    def said(self) -> str:
        """The ratio in words."""
        if self.least == self.most:
            return self._times(self.least)
        if self.won:
            return f"{_number(self.least)} to {_number(self.most)} times {self.better}"
        if self.most < 1:
            return f"{_number(1 / self.most)} to {_number(1 / self.least)} times {self.worse}"
        return f"from {self._times(self.least)} to {self._times(self.most)}"

    def _times(self, ratio: float) -> str:
        if ratio >= 1:
            return f"{_number(ratio)} times {self.better}"
        return f"{_number(1 / ratio)} times {self.worse}"


def _number(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 10 else f"{float(f'{ratio:.2g}'):,.0f}"


_PEERS = ("QuantEcon fictitious play", "Nashpy fictitious play", "OpenSpiel regret matching")
_SPEED = ("faster", "slower")
_REGRET = ("less regret", "more regret")
_ERROR = ("less error", "more error")
_QUESTIONS = ("fewer questions", "more questions")


def comparisons(stored: dict[str, Tables]) -> list[Comparison]:
    """Return all comparisons of which the figures are stored."""
    found = []
    for look in _looks(stored):
        try:
            found.append(look())
        except (KeyError, ValueError):  # not stored, or no row of a peer
            continue
    return found


def _looks(stored: dict[str, Tables]) -> Iterator[Callable[[], Comparison]]:
    for family in ("uniform", "competing", "near zero-sum", "degenerate"):
        yield partial(_solver, stored, family, "SciPy", "one SciPy program per action")
    yield partial(_solver, stored, "uniform", "OpenSpiel", "OpenSpiel's `stackelberg_lp`")
    yield partial(_starts, stored)
    yield partial(_calibration, stored)
    yield partial(_minmax, stored)
    for learner in ("FollowTheLeader", "Hedge", "Calibrated"):
        for peer in _PEERS:
            yield partial(_learner, stored, learner, peer)
    yield partial(_learner, stored, "Hedge", "bare compiled Hedge loop")
    for agent in ("Hedge", "QuantalResponse"):
        yield partial(_protocol, stored, agent)
    yield partial(_single, stored, "audit", "plain loop over the audit", "Audit", "a plain loop")
    yield partial(
        _single,
        stored,
        "profile",
        "double loop over the profile",
        "Calibration profile over all intervals",
        "a compiled double loop",
    )
    yield partial(_sweep, stored)
    yield partial(_overhead, stored)
    yield partial(_help, stored)
    yield partial(_first_solve, stored)
    yield partial(_campaign, stored)
    for other in ("Algorithm 3", "UniformExplore", "GridBandit", "Oracle"):
        yield partial(_regret, stored, other)
    for other in ("Algorithm 3", "UniformExplore", "GridBandit"):
        yield partial(_questions, stored, other)
    yield partial(_clinch, stored)
    yield partial(_coverage, stored)
    yield partial(_continuous, stored)


def _of(what: str, against: str, ratios: list[float], words: tuple[str, str]) -> Comparison:
    return Comparison(what, against, min(ratios), max(ratios), *words)


def _solver(stored: dict[str, Tables], family: str, peer: str, against: str) -> Comparison:
    rows = [row for row in stored["solver"]["one-shot solver"] if row["family"] == family]
    ratios = [row[f"{peer} ratio"] for row in rows if row[f"{peer} ratio"] is not None]
    sizes = [row["size"] for row in rows]
    what = f"Solver, {family} games, {min(sizes)}×{min(sizes)} to {max(sizes)}×{max(sizes)}"
    return _of(what, against, ratios, _SPEED)


def _starts(stored: dict[str, Tables]) -> Comparison:
    ratio = stored["forecaster"]["ratios"]["every start over streaming, after 10,000 rounds"]
    return _of(
        "Forecaster, a round after 10,000",
        "a start in every round, the letter of the paper",
        [ratio],
        _SPEED,
    )


def _calibration(stored: dict[str, Tables]) -> Comparison:
    table = stored["forecaster"]["error of streaming starts over that of every start"]
    return _of(
        "Forecaster, worst calibration error of any interval",
        "a start in every round, the letter of the paper",
        [1 / ratio for row in table.values() for ratio in row.values()],
        _ERROR,
    )


def _minmax(stored: dict[str, Tables]) -> Comparison:
    ratio = stored["forecaster"]["ratios"]["round over one zero-sum game, 3×3"]
    return _of(
        "Forecaster, a round, 3×3", "one zero-sum game by QuantEcon's `minmax`", [1 / ratio], _SPEED
    )


def _learner(stored: dict[str, Tables], learner: str, peer: str) -> Comparison:
    table = stored["learners"]["learners"]
    ours, theirs = (
        table[name]["rounds a second"] for name in (f"stackcast {learner}, played", peer)
    )
    return _of(f"{learner} in play, a round, 3×3", peer, [ours / theirs], _SPEED)


def _protocol(stored: dict[str, Tables], agent: str) -> Comparison:
    ratio = stored["play"]["agents"][agent]["play over alone"]
    return _of(f"{agent} in play, with its transcript", "its own loop alone", [1 / ratio], _SPEED)


def _single(stored: dict[str, Tables], name: str, key: str, what: str, against: str) -> Comparison:
    return _of(f"{what}, 10,000 rounds", against, [stored[name]["ratios"][key]], _SPEED)


def _sweep(stored: dict[str, Tables]) -> Comparison:
    ratio = stored["sweeps"]["two workers over one"]
    return _of("Sweep with two workers, on two cores", "one worker", [ratio], _SPEED)


def _overhead(stored: dict[str, Tables]) -> Comparison:
    share = stored["sweeps"]["one worker and two"][0]["share of the time inside plays"]
    return _of("Sweep of plays of 50 ms, one worker", "its plays alone", [share], _SPEED)


def _help(stored: dict[str, Tables]) -> Comparison:
    ratio = stored["startup"]["help over a bare Typer program"]
    return _of("`stackcast --help`", "a bare Typer program", [1 / ratio], _SPEED)


def _first_solve(stored: dict[str, Tables]) -> Comparison:
    first, again = (row["seconds"] for row in stored["startup"]["a process that solves one game"])
    return _of(
        "First solve after installation, compiling", "a later process", [again / first], _SPEED
    )


def _campaign(stored: dict[str, Tables]) -> Comparison:
    few, *_, many = stored["campaigns"]["milliseconds in a program"]
    return _of("Campaign's ask after 50,000 tells", "after 100", [few["ask"] / many["ask"]], _SPEED)


def _by_principal(rows: list[dict[str, Any]], principal: str, key: str) -> list[float]:
    found = [row[key] for row in rows if row["principal"].startswith(principal)]
    if not found:
        raise KeyError(principal)
    return found


def _regret(stored: dict[str, Tables], other: str) -> Comparison:
    """Compare means over all families and sizes: those of the told one may be zero in a cell."""
    rows = stored["principals"]["rounds"]
    key = next((key for key in rows[0] if key.startswith("mean of the first")), "")
    ours, theirs = (fmean(_by_principal(rows, name, key)) for name in ("VersionSpace", other))
    told = {
        "Oracle": "`Oracle`, which is told the game",
        "Algorithm 3": "Algorithm 3, parameters set by hand",
    }
    against = told.get(other, f"`{other}`")
    return _of(
        "`VersionSpace` against the calibrated agent, mean regret",
        against,
        [theirs / ours],
        _REGRET,
    )


def _questions(stored: dict[str, Tables], other: str) -> Comparison:
    rows = stored["principals"]["searches"]
    ours, theirs = (
        _by_principal(rows, name, "median questions") for name in ("VersionSpace", other)
    )
    near = {
        name: f"within 0.01 of V* in {sum(_by_principal(rows, name, 'found within 0.01')):.0f} of "
        f"{sum(_by_principal(rows, name, 'games')):.0f} games"
        for name in ("VersionSpace", other)
    }
    told = other if " " in other else f"`{other}`"
    return _of(
        f"Questions of `VersionSpace` to an exact oracle, {near['VersionSpace']}",
        f"{told}, {near[other]}",
        [b / a for a, b in zip(ours, theirs, strict=True)],
        _QUESTIONS,
    )


def _clinch(stored: dict[str, Tables]) -> Comparison:
    rows = stored["security"]["questions"]
    ratios = [row["Clinch"] / row["most"] for row in rows]
    return _of("Search of coverages, most questions to 1e-8", "Clinch", ratios, _QUESTIONS)


def _coverage(stored: dict[str, Tables]) -> Comparison:
    rows = stored["security"]["learning"]
    return _of(
        "`CoverageLearner` against the calibrated attacker, mean regret",
        "`Oracle`, which is told the game and keeps a margin of 0.02",
        [row["told everything"] / row["regret"] for row in rows],
        _REGRET,
    )


def _continuous(stored: dict[str, Tables]) -> Comparison:
    rows = stored["continuous"]["regret after rounds against the calibrated agent"]
    last = [list(row.values())[-1] for row in rows]
    half = len(rows) // 2
    ratios = [theirs / ours for theirs, ours in zip(last[:half], last[half:], strict=True)]
    return _of(
        "`ResponseGradient` against the calibrated agent, regret after 100,000 rounds",
        "`LazyGDwoG`, the paper's",
        ratios,
        _REGRET,
    )
