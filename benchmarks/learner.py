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
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass, fields
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import stackcast as sc
from benchmarks._held_games import utility_by_round
from stackcast._random import stream
from stackcast.games import generators

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parent.parent / "docs" / "explanation" / "principals.md"
#: The tables of the page end here.
LAST = "<!-- learner: end -->"
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


def security() -> tuple[str, ...]:
    return tuple(spec for name in SECURITY for spec in family(name, (5, 10, 20, 50), 6))


def tables() -> dict[str, Callable[[], Table]]:
    """Return what makes each table, by its name: to find regular games takes time."""
    short = ("uniform strategy", *FIXED[:3], FIXED[4])
    return {
        "catalogue": lambda: Table("Finite games of the catalogue", BOTH, (10_000,), CATALOGUE),
        "five": lambda: Table("Five games of the catalogue", BOTH, (100_000,), FIVE),
        "long": lambda: Table(
            "The catalogue, a million rounds", BOTH, (1_000_000,), CATALOGUE, seeds=1
        ),
        "families": lambda: Table("Families", BOTH, (10_000,), families((3, 5), 2)),
        "families-long": lambda: Table(
            "Families, long", BOTH, (100_000, 1_000_000), families((2, 3, 5, 8), 2), seeds=1
        ),
        "short": lambda: Table("Short horizons", BOTH, (100, 365, 1_000, 3_000), CATALOGUE, short),
        "actions": lambda: Table("Actions seen only", ACTIONS, (10_000, 100_000), FIVE, FIXED),
        "informed": lambda: Table(
            "Sees the strategy", ("BestResponse",), (20_000, 100_000), FIVE, ()
        ),
        "slow": lambda: Table("Slow agents", ("NonAdaptive", "Lazy"), (20_000,), FIVE),
        "quantal": lambda: Table(
            "Quantal response", ("QuantalResponse",), (20_000,), FIVE, ("fixed:0", *FIXED)
        ),
        "mean-based": lambda: Table(
            "Agents without regret",
            ("Hedge", "FollowTheLeader", "BlumMansour"),
            (50_000,),
            MEAN_BASED_GAMES,
            ("fixed:0.03",),
        ),
        "change": lambda: Table(
            "Payoffs that change half-way",
            ("betting+change",),
            (20_000,),
            (*FIVE[:2], *families((3,), 3)),
            ("told:0.3:-1/3",),
            seeds=1,
        ),
        "sensitivity": lambda: Table(
            "Regret over regret as it is, when a constant is halved or doubled: two games, "
            "3,000 rounds, betting agent",
            ("betting",),
            (3_000,),
            ("textbook-commitment", "exam"),
            (),
            seeds=1,
        ),
        "security": lambda: Table(
            "Security games", ("betting",), (100_000,), security(), ("fixed:0.02",), 1
        ),
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
    name, _, changed = spec.partition("?")
    key, _, number = changed.partition("=")
    settings = {key: json.loads(number)} if key else {}
    return getattr(sc.principals, name)(whole.principal_view, horizon=rounds, seed=seed, **settings)


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
    if "?" in spec:
        return RESULTS / "sensitivity.jsonl"
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
    """Return the plays of a table: every cell's first game first, then every cell's second one."""
    cells: dict[str, int] = {}
    order = {}
    for name in table.games:
        cell = name.rpartition(":")[0] or name
        order[name] = cells[cell] = cells.get(cell, -1) + 1
    return [
        (spec, against, rounds, name, seed)
        for seed in range(table.seeds)
        for rounds in table.rounds
        for name in sorted(table.games, key=order.__getitem__)
        for against in table.agents
    ]


def _run(job: tuple[str, str, int, str, int]) -> dict[str, Any]:
    try:
        return {"key": key_of(*job), **played(*job)}
    except Exception as error:  # a failure is a row: it counts
        return {"key": key_of(*job), "error": f"{type(error).__name__}: {error}"[:300]}


def fill(table: Table, specs: Sequence[str], workers: int, minutes: float) -> None:
    """Play what is missing, a game's learner and rivals one after the other, for so long."""
    done = {key for spec in specs for key in stored(spec)}
    rows = zip(*(jobs(table, spec) for spec in specs), strict=True)
    missing = [job for row in rows for job in row if key_of(*job) not in done]
    RESULTS.mkdir(exist_ok=True)
    end = time.monotonic() + 60 * minutes
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        waiting: dict[Any, str] = {}
        while missing or waiting:
            while missing and len(waiting) <= workers and time.monotonic() < end:
                job = missing.pop(0)
                waiting[pool.submit(_run, job)] = job[0]
            if not waiting:
                return
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                with file_of(waiting.pop(future)).open("a") as out:
                    out.write(json.dumps(future.result()) + "\n")


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
                    "fell": float(
                        np.mean(
                            [
                                r["last tenth"] > r["best earlier tenth"] + 0.01
                                for _, plays in found
                                for r in plays
                                if "regret" in r
                            ]
                        )
                    ),
                }
                best = [
                    [
                        np.mean(
                            [
                                told[k]["regret"]
                                for s in range(table.seeds)
                                if key_of(spec, against, rounds, n, s) in own
                                and (k := key_of(rival, against, rounds, n, s)) in told
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


def constants() -> dict[str, Any]:
    """Return the learner's constants and what they are."""
    known = fields(sc.principals.CommitmentLearner)
    return {f.name: f.default for f in known if f.init and isinstance(f.default, int | float)}


def sensitivity(workers: int, minutes: float) -> str:
    """Return the table of what it does to halve and to double each constant."""
    names = {name: value for name, value in constants().items() if name not in ("seed", "misread")}
    specs = ["CommitmentLearner?"]
    specs += [f"CommitmentLearner?{n}={type(v)(v * x)}" for n, v in names.items() for x in (0.5, 2)]
    table = tables()["sensitivity"]()
    fill(table, specs, workers, minutes)
    found = {}
    for spec in specs:
        rows = [stored(spec).get(key_of(*job)) for job in jobs(table, spec)]
        if all(row and "regret" in row for row in rows):
            found[spec] = float(np.mean([row["regret"] for row in rows if row]))
    usual = found.get(specs[0], np.nan)
    lines = ["| constant | value | halved | doubled |", "|---|---|---|---|"]
    for n, v in names.items():
        cells = [found.get(f"CommitmentLearner?{n}={type(v)(v * x)}", np.nan) for x in (0.5, 2)]
        shares = ["–" if np.isnan(c) else f"{c / usual:.2f}" for c in cells]
        lines.append(f"| `{n}` | {v:g} | {shares[0]} | {shares[1]} |")
    return f"{table.title}. Mean regret as it is: {usual:.4f}.\n\n" + "\n".join(lines)


def write(target: str, content: str) -> None:
    """Put a table between its two markers in the page; new ones go before the end of all."""
    page, start, end = PAGE.read_text(), f"<!-- {target}: measured -->", f"<!-- {target}: end -->"
    if start not in page:
        page = page.replace(LAST, f"{start}\n{end}\n\n{LAST}")
    before, _, rest = page.partition(start)
    PAGE.write_text(f"{before}{start}\n{content}\n{end}{rest.partition(end)[2]}")


def draw() -> None:
    """Draw one run: where it asks and holds, and what that earns."""
    from stackcast.report import draw_strategies, save_figure

    whole, rounds = game("inspection"), 10_000
    learner = sc.principals.CommitmentLearner(whole.principal_view, rounds, seed=0)
    transcript = sc.play(learner, agent("betting", whole.agent_view, 50), rounds, whole)
    best = sc.solve(whole)
    known = [part.mean() for part in np.array_split(utility_by_round(transcript, whole), 50)]

    def panels(axes: Any) -> None:
        draw_strategies(transcript, solution=best, ax=axes[0])
        edges = np.linspace(0, rounds, len(known) + 1)
        axes[1].stairs(known, edges, baseline=None, linewidth=2, label="earned a round")
        axes[1].axhline(best.value, color="0.3", linestyle="--", label="V*")
        axes[1].set(xlabel="round", ylabel="utility of the principal")
        axes[1].legend(frameon=False, loc="lower right")
        axes[1].spines[["top", "right"]].set_visible(False)

    save_figure(PAGE.parent / "images" / "principals-learner.png", panels, (13, 5.2), 2)


def text(title: str, rows: list[dict[str, Any]]) -> str:
    """Return the table as Markdown."""
    lines = [
        f"### {title}",
        "",
        "| agent | rounds | games | plays | regret | told | ratio | worst play | most over told | "
        "fell |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        told, ratio = (
            f"{row[k]:.{d}f}" if k in row else "–" for k, d in (("told", 4), ("ratio", 2))
        )
        worst, most = (
            f"{row[k][0]:.3f} ({row[k][1]})" if k in row else "–"
            for k in ("worst play", "worst excess")
        )
        lines.append(
            f"| {row['agent']} | {row['rounds']:,} | {row['games']} | {row['plays']} | "
            f"{row['regret']:.4f} | {told} | {ratio} | {worst} | {most} | {row['fell']:.0%} |"
        )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Play what is missing of the tables that are named, and print them."""
    known = tables()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="figure, " + ", ".join(known))
    parser.add_argument("--principal", default="CommitmentLearner")
    parser.add_argument("--told", action="store_true", help="play the rivals as well")
    parser.add_argument("--only-told", action="store_true", help="play the rivals alone")
    parser.add_argument("--only-print", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the tables into the page")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no play later")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    given = parser.parse_args(arguments)
    for name in given.tables or known:
        if name == "figure":
            draw()
            continue
        plays = given.tables and not given.only_print
        if name == "sensitivity":
            found = sensitivity(given.workers, given.minutes if plays else 0)
            print(found, "\n", flush=True)
            if given.write:
                write(name, found)
            continue
        table = known[name]()
        if plays:
            specs = [*([] if given.only_told else [given.principal])]
            specs += table.rivals * (given.told or given.only_told)
            fill(table, specs, given.workers, given.minutes)
        if rows := summary(table, given.principal):
            print(text(table.title, rows), "\n", flush=True)
            if given.write:
                write(name, text(table.title, rows))


if __name__ == "__main__":
    main()
