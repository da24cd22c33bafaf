"""Regret of a learner against every kind of agent, beside a principal who is told the payoffs.

Regret is V* less what was earned, a round, over the width of the principal's payoffs. *Told* holds
the optimum with a margin that shrinks, the best in hindsight of three schedules for each game;
*best fixed* holds the optimum with the best of some fixed margins.

``python -m benchmarks.learner`` prints the tables that are stored; ``python -m benchmarks.learner
TABLE …`` first plays what is missing of them, a row at a time into ``benchmarks/results``: it may
be ended and started again. ``--told`` plays the rivals too, ``--principal NAME`` measures another
principal. Settings were chosen on seeds below 500; the games here begin at 40,000.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import stackcast as sc
from stackcast._random import stream
from stackcast.games import generators

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parent.parent / "docs" / "reference" / "learner.md"
FIVE = ("textbook-commitment", "inspection", "exam", "product-choice", "content-moderation")
CATALOGUE = (
    *FIVE,
    *("battle-of-the-sexes", "chicken", "entry-deterrence", "food-hygiene", "matching-pennies"),
    *("milking", "prisoners-dilemma", "quantity-leadership", "ransom", "rock-paper-scissors"),
    *("separation", "stag-hunt", "tax-audit"),
)
MEAN_BASED_GAMES = (*FIVE, "milking", "separation")
FAMILIES = (
    "uniform",
    "competing",
    "covariant",
    "coordination",
    "zero_sum",
    "one_resource_security",
)
SECURITY = ("near_equal_security", "security", "zero_when_covered")
#: Below this regularity an optimum is next to no region (the paper assumes that it is one).
REGULAR = 0.02
FIRST_SEED = 40_000
SCHEDULES = ("told:0.5:-1/3", "told:0.3:-1/3", "told:2:-1/2")
FIXED = ("fixed:0.02", "fixed:0.05", "fixed:0.1", "fixed:0.15", "fixed:0.2")


@dataclass(frozen=True)
class Table:
    """Which games are played against which agents, for how long."""

    title: str
    agents: tuple[str, ...]
    rounds: tuple[int, ...]
    games: tuple[str, ...]
    rivals: tuple[str, ...] = SCHEDULES
    seeds: int = 2


@cache
def family(
    name: str, sizes: tuple[int, ...], count: int, first: int = FIRST_SEED
) -> tuple[str, ...]:
    """Return the names of the first regular games of a family from a seed on, by size."""
    names: list[str] = []
    for n in sizes:
        seed, found = first, 0
        while found < count:
            spec = f"{name}:{n}:{seed}"
            if name in SECURITY or sc.solve(game(spec), details=True).regularity >= REGULAR:
                names, found = [*names, spec], found + 1
            seed += 1
    return tuple(names)


def families(sizes: tuple[int, ...], count: int) -> tuple[str, ...]:
    return tuple(spec for name in FAMILIES for spec in family(name, sizes, count))


BOTH = ("betting", "sleeping")
ACTIONS = ("betting+actions", "sleeping+actions")


def tables() -> dict[str, Table]:
    """Return every table by its name."""
    short = ("uniform strategy", *FIXED[:3], FIXED[4])
    security = tuple(s for name in SECURITY for s in family(name, (5, 10, 20, 50), 6))
    return {
        "catalogue": Table("Finite games of the catalogue", BOTH, (10_000,), CATALOGUE),
        "five": Table("Five games of the catalogue", BOTH, (100_000,), FIVE),
        "long": Table("The catalogue, a million rounds", BOTH, (1_000_000,), CATALOGUE, seeds=1),
        "families": Table("Families", BOTH, (10_000,), families((2, 3, 5, 8), 5)),
        "families-long": Table(
            "Families, long", BOTH, (100_000, 1_000_000), families((2, 3, 5, 8), 2), seeds=1
        ),
        "short": Table("Short horizons", BOTH, (100, 365, 1_000, 3_000), CATALOGUE, short),
        "actions": Table("Actions seen only", ACTIONS, (10_000, 100_000), FIVE, FIXED),
        "informed": Table("Sees the strategy", ("BestResponse",), (20_000, 100_000), FIVE, ()),
        "slow": Table("Slow agents", ("NonAdaptive", "Lazy"), (20_000,), FIVE),
        "quantal": Table(
            "Quantal response", ("QuantalResponse",), (20_000,), FIVE, ("fixed:0", *FIXED)
        ),
        "mean-based": Table(
            "Agents without regret",
            ("Hedge", "FollowTheLeader", "BlumMansour"),
            (50_000,),
            MEAN_BASED_GAMES,
            ("fixed:0.03",),
        ),
        "change": Table(
            "Payoffs that change half-way",
            ("betting+change",),
            (20_000,),
            (*FIVE[:2], *families((3,), 3)),
            ("told:0.3:-1/3",),
            seeds=1,
        ),
        "security": Table("Security games", ("betting",), (100_000,), security, ("fixed:0.02",), 1),
    }


@cache
def game(spec: str) -> Any:
    """Return the game of the catalogue, or of a family, size and seed."""
    if ":" not in spec:
        return sc.load_game(spec)
    name, n, seed = spec.split(":")
    if name == "zero_when_covered":
        reward, loss = stream(int(seed), "benchmark", name, int(n)).random((2, int(n)))
        zero = np.zeros(int(n))
        return sc.SecurityGame(zero, -loss, zero, reward, 1)
    make: Any = getattr(generators, name)
    if name == "covariant":
        return make(int(n), int(n), int(seed), correlation=-0.5)
    if name == "security":
        return make(int(n), 1, int(seed)).normalised()
    if name in ("near_equal_security", "one_resource_security"):
        return make(int(n), int(seed))
    return make(int(n), int(n), int(seed))


def agent(spec: str, view: Any, seed: int) -> Any:
    """Return a calibrated agent of either method and feedback, or an agent by its name."""
    name, _, feedback = spec.partition("+")
    if name in BOTH:
        told = "action" if feedback == "actions" else "strategy"
        return sc.agents.Calibrated(view, seed=seed, method=name, feedback=told)  # type: ignore[arg-type]
    return getattr(sc.agents, name)(view, seed=seed)


def changed(whole: Any) -> Any:
    """Return the game in which the agent's payoffs are those of other responses."""
    order = np.roll(np.arange(whole.agent_payoffs.shape[1]), 1)
    return sc.FiniteGame(
        whole.principal_payoffs, np.ascontiguousarray(whole.agent_payoffs[:, order])
    )


class _Scheduled:
    """Holds the optimum with a margin of a schedule; told the agent's payoffs."""

    result = None

    def __init__(self, whole: Any, spec: str, rounds: int) -> None:
        self._game, self._t, self._rounds = whole, 0, rounds
        kind, *numbers = spec.split(":")
        self._edges = np.unique(np.geomspace(20, max(rounds, 20), 60).astype(int))
        if kind == "fixed":
            self._edges = np.array([rounds])
        top, bottom = numbers[1].split("/") if kind == "told" else ("0", "1")
        self._size, self._power = float(numbers[0]), int(top) / int(bottom)
        self._most = 0.15 if kind == "told" else 1.0

    def switch(self, whole: Any) -> None:
        self._game = whole

    def commit(self) -> Any:
        later = self._edges[self._edges > self._t]
        end = int(later[0]) if len(later) else self._rounds
        margin = min(self._most, self._size * end**self._power)
        for _ in range(60):
            try:
                strategy = sc.solve(self._game, margin=margin).strategy
                break
            except sc.InputError:
                margin *= 0.7
        else:
            strategy = sc.solve(self._game).strategy
        return sc.Block(strategy, max(end - self._t, 1), "commit")

    def observe(self, responses: Any) -> None:
        self._t += len(responses)


def principal(spec: str, whole: Any, rounds: int, seed: int) -> Any:
    if spec.startswith(("told:", "fixed:")):
        return _Scheduled(whole, spec, rounds)
    if spec == "uniform strategy":
        space = whole.principal_view.space
        n = space.dimension
        centre = np.full(n, 1 / n) if space.kind == "simplex" else space.project(np.full(n, 0.5))
        return sc.principals.Fixed(whole.principal_view, centre)
    return getattr(sc.principals, spec)(whole.principal_view, horizon=rounds, seed=seed)


def width_of(whole: Any) -> float:
    """Return the width of the principal's payoffs."""
    if isinstance(whole, sc.SecurityGame):
        return float(np.ptp([whole.defender_covered, whole.defender_uncovered]))
    return float(np.ptp(whole.principal_payoffs))


def played(spec: str, against: str, rounds: int, name: str, seed: int) -> dict[str, Any]:
    """Return the row of one play."""
    whole = game(name)
    player, other = (
        principal(spec, whole, rounds, seed),
        agent(against, whole.agent_view, seed + 50),
    )
    view = whole.principal_view
    width, value = width_of(whole), sc.solve(whole).value
    half, values = rounds, [(0, value)]
    if against.endswith("+change"):
        half, after = rounds // 2, changed(whole)
        values.append((half, sc.solve(after).value))
    earned: list[Any] = []
    t, thinking, start = 0, 0.0, time.process_time()
    while t < rounds:
        begin = time.process_time()
        block = player.commit()
        thinking += time.process_time() - begin
        left = min(block.rounds, (half if t < half else rounds) - t)
        answers = []
        for first in range(0, left, 8192):
            piece = sc.Block(block.strategy, min(8192, left - first), block.phase)
            answers.append(other.respond(piece).responses)
        responses = np.concatenate(answers)
        earned.append(view.utilities(block.strategy)[responses].astype(np.float32))
        t += left
        begin = time.process_time()
        player.observe(responses)
        thinking += time.process_time() - begin
        if t == half and half < rounds:
            other = agent(against, after.agent_view, seed + 51)
            if isinstance(player, _Scheduled):
                player.switch(after)
    utilities = np.concatenate(earned).astype(float)
    ideal = np.concatenate(
        [
            np.full(b - a, v)
            for (a, v), b in zip(values, [*(a for a, _ in values[1:]), rounds], strict=True)
        ]
    )
    regret = (ideal - utilities) / width
    tenths = np.array([part.mean() for part in np.array_split(regret, 10)])
    row = {
        "regret": float(regret.mean()),
        "last tenth": float(tenths[-1]),
        "best earlier tenth": float(tenths[:-1].min()),
        "seconds": round(time.process_time() - start, 2),
        "thinking": round(thinking, 2),
    }
    if len(values) > 1:
        back = half + rounds // 20
        row["after the change"] = float(regret[back:].mean())
        row["in the first twentieth"] = float(regret[half:back].mean())
    result = player.result
    if result is not None and len(values) == 1:
        region = whole.agent_view.utilities(result.strategy)
        held = view.utilities(result.strategy)[int(np.argmax(region))]
        row["ends below V*"] = float((value - held) / width)
    return row


def file_of(spec: str) -> Path:
    return RESULTS / f"{'told' if spec.startswith(('told:', 'fixed:', 'uniform')) else spec}.jsonl"


def stored(spec: str) -> dict[str, dict[str, Any]]:
    """Return the rows that were played, by their keys."""
    file = file_of(spec)
    if not file.exists():
        return {}
    rows = [json.loads(line) for line in file.read_text().splitlines() if line.endswith("}")]
    return {row["key"]: row for row in rows}


def key_of(spec: str, against: str, rounds: int, name: str, seed: int) -> str:
    return f"{spec}|{against}|{rounds}|{name}|{seed}"


def jobs(table: Table, spec: str) -> list[tuple[str, str, int, str, int]]:
    return [
        (spec, against, rounds, name, seed)
        for rounds in table.rounds
        for seed in range(table.seeds)
        for name in table.games
        for against in table.agents
    ]


def _run(job: tuple[str, str, int, str, int]) -> dict[str, Any]:
    try:
        return {"key": key_of(*job), **played(*job)}
    except Exception as error:  # a failure is a row: it counts
        return {"key": key_of(*job), "error": f"{type(error).__name__}: {error}"[:300]}


def fill(table: Table, spec: str, workers: int) -> None:
    """Play what is missing."""
    done = stored(spec)
    missing = [job for job in jobs(table, spec) if key_of(*job) not in done]
    RESULTS.mkdir(exist_ok=True)
    if not missing:
        return
    with (
        ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool,
        file_of(spec).open("a") as out,
    ):
        for future in as_completed([pool.submit(_run, job) for job in missing]):
            out.write(json.dumps(future.result()) + "\n")
            out.flush()


def summary(table: Table, spec: str) -> list[dict[str, Any]]:
    """Return a row for each agent and horizon: means over games, beside those of the rivals."""
    own = stored(spec)
    told = {row["key"]: row for row in stored("told:").values()} if table.rivals else {}
    rows = []
    for against in table.agents:
        for rounds in table.rounds:
            for group in _groups(table):
                found = [
                    (
                        name,
                        [
                            own.get(key_of(spec, against, rounds, name, s), {})
                            for s in range(table.seeds)
                        ],
                    )
                    for name in group
                ]
                games = [(n, [r["regret"] for r in plays if "regret" in r]) for n, plays in found]
                games = [(n, r) for n, r in games if r]
                if not games:
                    continue
                row: dict[str, Any] = {
                    "agent": against,
                    "rounds": rounds,
                    "games": _label(group),
                    "regret": float(np.mean([np.mean(r) for _, r in games])),
                    "worst play": max((max(r), n) for n, r in games),
                    "plays": sum(len(r) for _, r in games),
                    "failed": sum("error" in r for _, plays in found for r in plays),
                }
                best = [
                    [
                        np.mean(
                            [
                                told[k]["regret"]
                                for s in range(table.seeds)
                                if (k := key_of(rival, against, rounds, n, s)) in told
                            ]
                            or [np.nan]
                        )
                        for rival in table.rivals
                    ]
                    for n, _ in games
                ]
                if table.rivals and np.isfinite(best).any():
                    row["told"] = float(np.nanmean(np.nanmin(best, axis=1)))
                    row["ratio"] = row["regret"] / row["told"] if row["told"] else float("nan")
                    row["worst excess"] = max(
                        (max(r) - float(np.nanmin(b)), n)
                        for (n, r), b in zip(games, best, strict=True)
                    )
                rows.append(row)
    return rows


def _groups(table: Table) -> list[tuple[str, ...]]:
    if table.title not in ("Security games", "Families, long"):
        return [table.games]
    labels = dict.fromkeys(_cell(table, name) for name in table.games)
    return [tuple(n for n in table.games if _cell(table, n) == label) for label in labels]


def _cell(table: Table, name: str) -> str:
    return name.rsplit(":", 1)[0] if table.title == "Security games" else name.split(":")[0]


def _label(group: tuple[str, ...]) -> str:
    cells = {name.rsplit(":", 1)[0] for name in group}
    return cells.pop() if len(cells) == 1 and ":" in group[0] else f"{len(group)} games"


def text(title: str, rows: list[dict[str, Any]]) -> str:
    """Return the table as Markdown."""
    lines = [
        f"### {title}",
        "",
        "| agent | rounds | games | plays | regret | told | ratio | worst play |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        told, ratio = (
            f"{row[k]:.{d}f}" if k in row else "–" for k, d in (("told", 4), ("ratio", 2))
        )
        worst, where = row["worst play"]
        lines.append(
            f"| {row['agent']} | {row['rounds']:,} | {row['games']} | {row['plays']} | "
            f"{row['regret']:.4f} | {told} | {ratio} | {worst:.3f} ({where}) |"
        )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Play what is missing of the tables that are named, and print them."""
    known = tables()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(known))
    parser.add_argument("--principal", default="CommitmentLearner")
    parser.add_argument("--told", action="store_true", help="play the rivals as well")
    parser.add_argument("--only-print", action="store_true")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    given = parser.parse_args(arguments)
    for name in given.tables or known:
        table = known[name]
        if not given.only_print and given.tables:
            for spec in (given.principal, *(table.rivals if given.told else ())):
                fill(table, spec, given.workers)
        if rows := summary(table, given.principal):
            print(text(table.title, rows), "\n", flush=True)


if __name__ == "__main__":
    main()
