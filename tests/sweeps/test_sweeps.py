"""Sweeps: the same rows everywhere, nothing lost, mistakes named by their place."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from joblib.externals.loky import get_reusable_executor

from stackcast._validation import InputError
from stackcast.report import write_sweep_report
from stackcast.sweeps import Specification, Store, load, read_specification, sweep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stackcast import sweeps

SPEC: dict[str, Any] = {
    "rounds": [200, 1000],
    "seeds": 2,
    "games": [{"name": "inspection"}, {"generator": "uniform", "m": [2, 3], "k": 2}],
    "principals": [{"name": "UniformExplore"}, {"name": "Oracle", "settings": {"margin": 0.01}}],
    "agents": [{"name": "Calibrated"}, {"name": "Hedge"}],
    "metrics": ["average_utility", "swap_regret", "explored", "curve", "calibration"],
}
PROGRAM = [sys.executable, "-c", "from stackcast.cli import main; main()"]


def rows_of(folder: Path) -> pl.DataFrame:
    """All that is determined: not the seconds, and no traceback with its paths."""
    return load(folder).drop("seconds", "traceback")


@pytest.fixture(scope="module")
def serial(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    folder = tmp_path_factory.mktemp("serial")
    assert sweep(Specification.of(SPEC), folder, workers=1).done == 48
    return rows_of(folder)


@pytest.fixture
def visitors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Players that another distribution brings by entry points; the environment that has them."""
    home = tmp_path / "visitors"
    info = home / "visitors-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: visitors\nVersion: 1.0\n")
    lines = [f"{name} = sweep_players:{name}" for name in ("Failing", "Deadly", "Slow")]
    (info / "entry_points.txt").write_text("[stackcast.agents]\n" + "\n".join(lines) + "\n")
    paths = [str(home), str(Path(__file__).parent)]
    for path in paths:
        monkeypatch.syspath_prepend(path)
    together = os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", together)
    get_reusable_executor().shutdown(wait=True)  # workers of before do not know the visitors
    return dict(os.environ)


def simple(agents: list[dict[str, Any]], seeds: int = 4) -> Specification:
    return Specification.of(
        {
            "rounds": 100,
            "seeds": seeds,
            "games": [{"name": "inspection"}],
            "principals": [{"name": "Oracle"}],
            "agents": agents,
            "metrics": ["average_utility"],
        }
    )


def test_processes_give_the_same_rows(serial: pl.DataFrame, tmp_path: Path) -> None:
    standing = sweep(Specification.of(SPEC), tmp_path, workers=2)
    assert (standing.done, standing.failed, standing.deaths) == (48, 0, 0)
    assert rows_of(tmp_path).equals(serial)


def test_the_order_of_the_file_does_not_matter(serial: pl.DataFrame, tmp_path: Path) -> None:
    turned = SPEC | {name: SPEC[name][::-1] for name in ("games", "principals", "agents", "rounds")}
    sweep(Specification.of(turned), tmp_path, workers=1)
    assert rows_of(tmp_path).equals(serial)


def test_rows_agree_with_a_play_by_hand(serial: pl.DataFrame) -> None:
    import stackcast as sc

    game = sc.load_game("inspection")
    principal = sc.principals.UniformExplore(game.principal_view, horizon=1000, seed=1)
    t = sc.play(principal, sc.agents.Calibrated(game.agent_view, seed=1), 1000, game)
    row = serial.row(
        by_predicate=(pl.col("game") == "inspection")
        & (pl.col("principal") == "UniformExplore")
        & (pl.col("agent") == "Calibrated")
        & (pl.col("rounds") == 1000)
        & (pl.col("seed") == 1),
        named=True,
    )
    audit = sc.audit(t, game)
    assert row["regret"] == audit.regret
    assert row["curve_rounds"][-1] == 1000
    assert row["curve_regret"][-1] == pytest.approx(audit.regret, abs=1e-12)
    utilities = game.principal_utilities(t.strategies)[np.arange(1000), t.responses]
    for t_at, regret in zip(row["curve_rounds"], row["curve_regret"], strict=True):
        assert regret == pytest.approx(audit.value - utilities[:t_at].mean(), abs=1e-12)


def test_a_restart_skips_what_is_done(tmp_path: Path) -> None:
    small = SPEC | {"rounds": 200, "games": SPEC["games"][:1]}
    assert sweep(Specification.of(small), tmp_path, workers=1).done == 8
    before = rows_of(tmp_path)
    again = sweep(Specification.of(small | {"seeds": 3}), tmp_path, workers=1)
    assert (again.found, again.done) == (8, 4)
    kept = rows_of(tmp_path).filter(pl.col("seed") < 2)
    assert kept.equals(before)


def test_a_broken_part_is_noticed_and_redone(tmp_path: Path) -> None:
    small = Specification.of(SPEC | {"rounds": 200, "games": SPEC["games"][:1]})
    sweep(small, tmp_path, workers=1)
    before = rows_of(tmp_path)
    part = next(tmp_path.glob("part-*.parquet"))
    part.write_bytes(part.read_bytes()[:-40])
    assert sweep(small, tmp_path, workers=1).done == 8
    assert rows_of(tmp_path).equals(before)


def test_what_others_put_there_is_neither_read_nor_touched(tmp_path: Path) -> None:
    foreign = pl.DataFrame({"key": ["k"], "error": [None], "game": ["theirs"]})
    foreign.write_parquet(tmp_path / "part-of-mine.parquet")
    foreign.write_parquet(tmp_path / "part-0a-000001-0123456789abcdef.parquet")
    (tmp_path / "part-text.parquet").write_text("no table at all")
    (tmp_path / "part-half.tmp").write_bytes(b"PAR1")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    small = Specification.of(SPEC | {"rounds": 200, "games": SPEC["games"][:1]})
    assert sweep(small, tmp_path, workers=1).done == 8
    assert "theirs" not in load(tmp_path)["game"]
    for name, content in before.items():
        assert (tmp_path / name).read_bytes() == content


def test_small_parts_are_joined_and_a_row_is_never_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stackcast.sweeps import store as room

    monkeypatch.setattr(room, "_JOINED", 5)
    store = Store(tmp_path)
    for i in range(23):
        row = dict.fromkeys(("game", "principal", "agent"), "x") | {"rounds": 1, "seed": i}
        store.add(row | {"key": f"k{i:02d}", "error": None, "value": 1.0, "regret": 0.5})
    assert len(list(tmp_path.glob("part-*"))) == 4 + 3
    assert load(tmp_path).height == 23
    # Killed after the large part was written and before the small ones were removed.
    part = sorted(tmp_path.glob("part-*"))[0]
    part.with_name(f"part-again-1-{part.stem[-16:]}.parquet").write_bytes(part.read_bytes())
    assert load(tmp_path).height == 23
    assert len(Store(tmp_path).keys()) == 23


@pytest.mark.usefixtures("visitors")
def test_a_play_that_fails_is_a_row_and_can_be_retried(tmp_path: Path) -> None:
    repaired = tmp_path / "repaired"
    failing = {"name": "Failing", "settings": {"unless": str(repaired)}}
    spec = simple([{"name": "BestResponse"}, failing])
    folder = tmp_path / "rows"
    assert sweep(spec, folder, workers=1).failed == 4
    rows = load(folder)
    bad = rows.filter(pl.col("error").is_not_null())
    assert bad["error"].unique().to_list() == ["RuntimeError: out of paper"]
    assert "in respond" in bad["traceback"][0]
    assert rows.height == 8
    assert sweep(spec, folder, workers=1).done == 0
    repaired.touch()
    assert sweep(spec, folder, workers=1, retry_failed=True).done == 4
    assert load(folder)["error"].null_count() == 8
    assert load(folder)["regret"].null_count() == 0


@pytest.mark.usefixtures("visitors")
def test_a_killed_worker_is_replaced_and_the_rest_goes_on(tmp_path: Path) -> None:
    once = {"name": "Deadly", "settings": {"once": str(tmp_path / "struck"), "only_seed": 2}}
    spec = simple([{"name": "Slow"}, once], seeds=6)
    standing = sweep(spec, tmp_path / "rows", workers=2)
    assert standing.deaths >= 1
    assert (standing.done, standing.failed) == (12, 0)


@pytest.mark.usefixtures("visitors")
def test_a_play_that_always_kills_its_worker_is_the_only_one_that_fails(tmp_path: Path) -> None:
    spec = simple([{"name": "Slow"}, {"name": "Deadly", "settings": {"only_seed": 1}}], seeds=5)
    standing = sweep(spec, tmp_path, workers=2)
    assert (standing.done, standing.failed) == (10, 1)
    failed = load(tmp_path).filter(pl.col("error").is_not_null())
    assert failed.select("agent", "seed").rows() == [("Deadly(only_seed=1)", 1)]


def test_a_kill_loses_at_most_the_plays_under_way(tmp_path: Path, visitors: dict[str, str]) -> None:
    file = tmp_path / "spec.toml"
    file.write_text(
        'rounds = 50\nseeds = 30\nmetrics = ["average_utility"]\n[[games]]\nname = "inspection"\n'
        '[[principals]]\nname = "Oracle"\n[[agents]]\nname = "Slow"\nsettings = {seconds = 0.03}\n'
    )
    folder = tmp_path / "rows"
    seen = 0
    rng = np.random.default_rng(5)
    for _ in range(3):
        process = subprocess.Popen(
            [*PROGRAM, "sweep", str(file), "--out", str(folder), "--workers", "2", "--quiet"],
            env=visitors,
            start_new_session=True,
        )
        deadline = time.monotonic() + 60
        while len(list(folder.glob("part-*.parquet"))) <= seen and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(rng.uniform(0.0, 0.2))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        now = load(folder).height
        assert now > seen  # every part that was seen is still a row
        seen = now
    subprocess.run(
        [*PROGRAM, "sweep", str(file), "--out", str(folder), "--quiet"], env=visitors, check=True
    )
    again = tmp_path / "again"
    sweep(read_specification(file), again, workers=1)
    assert rows_of(folder).equals(rows_of(again))
    assert (folder / "report.html").exists()


@pytest.fixture
def cluster(visitors: dict[str, str], tmp_path: Path) -> Iterator[tuple[str, list[Any]]]:
    """A real Dask scheduler and two real worker processes on loopback."""
    file = tmp_path / "scheduler.json"

    def started(part: str, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{part}", "--no-dashboard", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=visitors,
        )

    loopback = ("--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file))
    scheduler = started("scheduler", *loopback)
    deadline = time.monotonic() + 60
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    address = json.loads(file.read_text())["address"]
    alone = ("--nthreads", "1", "--no-nanny", "--local-directory", str(tmp_path))
    workers = [started("worker", address, *alone) for _ in range(2)]
    try:
        yield address, workers
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_a_cluster_gives_the_same_rows_though_a_worker_is_killed(
    cluster: tuple[str, list[Any]], serial: pl.DataFrame, tmp_path: Path
) -> None:
    address, workers = cluster
    killed: list[int] = []

    def watch(standing: sweeps.Standing) -> None:
        if standing.done == 10 and not killed:
            killed.append(workers[0].pid)
            os.kill(workers[0].pid, signal.SIGKILL)

    from distributed import Client

    with Client(address, timeout=30) as client:  # type: ignore[no-untyped-call]
        client.wait_for_workers(2, timeout=60)
    standing = sweep(Specification.of(SPEC), tmp_path / "rows", scheduler=address, watch=watch)
    assert killed
    assert (standing.done, standing.failed) == (48, 0)
    assert rows_of(tmp_path / "rows").equals(serial)


def test_no_scheduler_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^scheduler: expected the address of a Dask scheduler"):
        sweep(Specification.of(SPEC), tmp_path, scheduler="nonsense://nowhere")


def test_rows_can_be_queried_by_others(serial: pl.DataFrame, tmp_path: Path) -> None:
    import duckdb

    sweep(Specification.of(SPEC | {"rounds": 200}), tmp_path, workers=1)
    found = duckdb.sql(f"SELECT count(*) FROM '{tmp_path}/part-*.parquet'")
    assert found is not None
    assert found.fetchall() == [(24,)]
    frame = load(tmp_path).to_pandas()
    assert len(frame) == 24


def test_the_report_is_one_page(serial: pl.DataFrame, tmp_path: Path) -> None:
    page = write_sweep_report(tmp_path, serial.with_columns(seconds=0.0)).read_text()
    assert page.count("<svg") == 3
    assert "http" not in page.split("</style>")[1].replace("http://www.w3.org", "").replace(
        "http://purl.org", ""
    ).replace("http://creativecommons.org", "").replace("https://matplotlib.org", "")
    for word in ("UniformExplore", "Oracle(margin=0.01)", "uniform-3x2-0", "data-sorts"):
        assert word in page


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"rounds": 0}, "^rounds: expected a whole number"),
        ({"rounds": "many"}, "^rounds: expected a whole number"),
        ({"rounds": 1.5}, "^rounds: expected a whole number, a list of them, or a range"),
        ({"seeds": []}, "^seeds: expected"),
        ({"games": []}, "^games: expected"),
        ({"games": [{"name": "inspection"}, {"name": "no such"}]}, "no such"),
        ({"games": [{}]}, "^games, entry 1: expected one of name, file and generator"),
        (
            {"games": [{"name": "inspection", "m": 3}]},
            "^games, entry 1, keys: expected name, found 'm'",
        ),
        ({"games": [{"generator": "uniform", "m": 3}]}, "^games, entry 1, k: expected an entry"),
        ({"games": [{"generator": "odd"}]}, "^games, entry 1, generator: expected one of"),
        ({"games": [{"generator": "uniform", "m": 0, "k": 2}]}, "^games, entry 1: m: expected"),
        ({"agents": [{"name": "Nobody"}]}, "^agents, entry 1: agent: expected one of"),
        ({"agents": [{"nam": "Hedge"}]}, "^agents, entry 1, keys: expected 'name', found 'nam'"),
        ({"agents": [{"name": "Hedge", "settings": {"x": 1}}]}, "^agents, entry 1: settings of"),
        (
            {"principals": [{"name": "Fixed"}]},
            "^principals, entry 1: settings of Fixed, strategy: expected an",
        ),
        ({"principals": [{"name": "Oracle"}] * 2}, "^principals, entry 2: expected a player"),
        ({"metrics": ["fame"]}, "^metrics, entry 1: expected"),
        ({"colour": "red"}, "^keys: expected games, principals.*, found 'colour'"),
    ],
)
def test_a_mistake_is_named_by_its_place(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as error:
        Specification.of(SPEC | change)
    assert "\n" not in str(error.value)


HOSTILE = [
    "rounds = 2020-01-01",
    "rounds = " + "9" * 5000,
    "rounds = " + "9" * 300,
    "rounds = [[1]]",
    "rounds = true",
    'rounds = "0-3000000000"',
    'seeds = "0-3000000000"',
    "seeds = -1",
    "seeds = [1, 2.5]",
    'seeds = "٣-٤"',
    "seeds = " + "[" * 3000 + "]" * 3000,
    "metrics = 3",
    "metrics = [1979-05-27]",
    "games = 3",
    "games = [3]",
    "games = [{name = 3}]",
    'games = [{file = "\\u0000"}]',
    'games = [{name = "quadratic-tax"}]',
    'games = [{generator = "uniform", m = 1000000000, k = 3}]',
    'games = [{generator = "uniform", m = "0-2000000", k = 3}]',
    'games = [{generator = "uniform", m = "x", k = 3}]',
    'games = [{generator = "uniform", m = {a = 1}, k = 3}]',
    'games = [{generator = "uniform", m = 2, k = 2, seeds = "0-2000000"}]',
    'agents = [{name = "Hedge", settings = 3}]',
    'agents = [{name = "Hedge", settings = {view = 3}}]',
    'agents = [{name = "Hedge", settings = {seed = "x"}}]',
    'agents = [{name = "Hedge", settings = {feedback = 1979-05-27}}]',
    'agents = [{name = "QuantalResponse", settings = {precision = inf}}]',
    'agents = [{name = "QuantalResponse", settings = {precision = [1]}}]',
    'agents = [{name = "Lazy", settings = {budget = {a = 1}}}]',
    'agents = [{name = "Hedge", settings = {"a\\nb" = 1}}]',
    'principals = [{name = "Fixed", settings = {strategy = "abc"}}]',
    'principals = [{name = "Fixed", settings = {strategy = {a = 1}}}]',
    'principals = [{name = "PhaseSwitch", settings = {strategies = 3, rounds = 4}}]',
    'principals = [{name = "UniformExplore", settings = {block = 0}}]',
    'principals = [{name = "UniformExplore", settings = {horizon = "x"}}]',
    'principals = [{name = "LazyGDwoG"}]',
    "=",
    '"' + "a" * 3000 + '" = 1',
]


@pytest.mark.parametrize("line", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_file_is_one_sentence(line: str, tmp_path: Path) -> None:
    good = {
        "rounds": "rounds = 100",
        "games": 'games = [{name = "inspection"}]',
        "principals": 'principals = [{name = "Oracle"}]',
        "agents": 'agents = [{name = "Hedge"}]',
    }
    good.pop(line.partition(" ")[0], None)
    file = tmp_path / "spec.toml"
    file.write_text("\n".join([*good.values(), line]), encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_specification(file)
    assert str(error.value).count("\n") == 0
    assert len(str(error.value)) < 600


def test_every_principal_can_be_named_and_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    import stackcast as sc

    needs = {
        "Fixed": "strategy = [0.5, 0.3, 0.2]",
        "PhaseSwitch": "strategies = [[1, 0, 0], [0, 1, 0]], rounds = [50, 50]",
        "Replay": "strategies = [" + "[1, 0, 0], " * 100 + "]",
    }
    lines = ["rounds = 100", 'games = [{name = "inspection"}]', 'agents = [{name = "Hedge"}]']
    for name in sc.principals.names("finite"):
        if name != "FromPolicy":
            lines += ["[[principals]]", f'name = "{name}"', f"settings = {{{needs.get(name, '')}}}"]
    file = tmp_path / "spec.toml"
    file.write_text("\n".join(lines), encoding="utf-8-sig")
    standing = sweep(read_specification(file), tmp_path / "rows", workers=1)
    assert standing.failed == 0, load(tmp_path / "rows")["error"].to_list()
    assert standing.done >= 8


def test_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "spec.toml"
    file.write_text("rounds = \n")
    run = subprocess.run([*PROGRAM, "sweep", str(file)], capture_output=True, text=True)
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
    file.write_text(
        'rounds = 100\nseeds = 2\n[[games]]\nname = "inspection"\n'
        '[[principals]]\nname = "Oracle"\n[[agents]]\nname = "BestResponse"\n'
    )
    out = tmp_path / "rows"
    common = [*PROGRAM, "sweep", str(file), "--workers", "1", "--json"]
    run = subprocess.run([*common, "--dry-run"], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout)["plays"] == 2
    run = subprocess.run([*common, "--out", str(out)], capture_output=True, text=True, check=True)
    told = json.loads(run.stdout)
    assert (told["plays"], told["done"], told["failed"]) == (2, 2, 0)
    assert told["ranking"][0]["principal"] == "Oracle"
