"""Running a sweep: what is not yet done, on this machine's cores or on a Dask cluster.

Written once to joblib: its processes by default, its Dask backend for a cluster. Rows do not depend
on where or in which order plays run.
"""

from __future__ import annotations

import time
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import joblib
from joblib.externals.loky.process_executor import TerminatedWorkerError

from stackcast._validation import InputError, whole_number
from stackcast.sweeps.plays import Player, algorithms, run_play
from stackcast.sweeps.store import Store

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator

    from stackcast.sweeps.specification import Specification

    Task = dict[str, Any]

#: A play whose worker dies this often while it runs alone is a failed play.
_LIVES = 2
#: Plays handed out ahead, for each worker.
_AHEAD = 3


@dataclass(frozen=True)
class Standing:
    """How far a sweep is.

    Attributes
    ----------
    plays : int
        All plays of the specification.
    found : int
        Those that an earlier run had done.
    done, failed : int
        Those that this run has done, and how many of them failed.
    deaths : int
        Workers that died and were replaced.
    seconds : float
        Since this run began.
    """

    plays: int
    found: int
    done: int = 0
    failed: int = 0
    deaths: int = 0
    seconds: float = 0.0

    @property
    def left(self) -> int:
        """The plays still to be done."""
        return self.plays - self.found - self.done


def sweep(
    specification: Specification,
    folder: str | os.PathLike[str],
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    retry_failed: bool = False,
    watch: Callable[[Standing], None] | None = None,
) -> Standing:
    """Run every play of the specification that the folder does not have yet.

    Parameters
    ----------
    specification : Specification
        What to play.
    folder : path
        Where the rows are kept; read them with :func:`stackcast.sweeps.load`.
    workers : int, optional
        Processes on this machine; by default as many as it has cores. One means this process.
    scheduler : str, optional
        The address of a Dask scheduler whose workers are used instead.
    retry_failed : bool
        Whether to play again what failed before.
    watch : callable, optional
        Told how far the sweep is, after each play.

    Examples
    --------
    >>> import tempfile
    >>> from stackcast.sweeps import Specification, load
    >>> spec = Specification.of(
    ...     {
    ...         "rounds": 500,
    ...         "seeds": 2,
    ...         "games": [{"name": "inspection"}],
    ...         "principals": [{"name": "Oracle"}],
    ...         "agents": [{"name": "BestResponse"}, {"name": "FollowTheLeader"}],
    ...     }
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     standing = sweep(spec, folder, workers=1)
    ...     rows = load(folder)
    >>> standing.done, rows.shape[0], rows["regret"].max() < 0.02
    (4, 4, True)
    """
    if workers is not None:
        whole_number("workers", workers, at_least=1)
    store = Store(folder)
    kept = store.keys()
    skipped = {key for key, failed in kept.items() if not (failed and retry_failed)}
    tasks = {task["key"]: task for task in (play.task() for play in specification.plays())}
    left = {key: task for key, task in tasks.items() if key not in skipped}
    standing = Standing(len(tasks), len(tasks) - len(left))
    start = time.monotonic()
    if watch is not None:
        watch(standing)
    with _backend(workers, scheduler) as run:
        for row, deaths in _surviving(run, left):
            store.add(_checked(row))
            standing = replace(
                standing,
                done=standing.done + 1,
                failed=standing.failed + (row["error"] is not None),
                deaths=deaths,
                seconds=time.monotonic() - start,
            )
            if watch is not None:
                watch(standing)
    store.join()
    return standing


def estimate(specification: Specification, workers: int | None = None) -> float:
    """Return about how many seconds all plays would take, from short plays of every pair."""
    pairs = [(p, a) for p in specification.principals for a in specification.agents]
    seconds = 0.0
    short = 1000
    for i, (principal, agent) in enumerate(pairs):
        game = specification.games[i % len(specification.games)]
        rounds = min(short, max(specification.rounds))
        task = next(
            replace(
                specification,
                games=(game,),
                principals=(principal,),
                agents=(agent,),
                rounds=(rounds,),
                seeds=specification.seeds[:1],
            ).plays()
        ).task()
        run_play({**task, "rounds": min(rounds, 50)})
        took = run_play(task)["seconds"]
        repeats = len(specification.games) * len(specification.seeds)
        seconds += repeats * sum(max(1.0, T / rounds) for T in specification.rounds) * took
    return seconds / (workers or joblib.cpu_count())


@contextmanager
def _backend(workers: int | None, scheduler: str | None) -> Iterator[Any]:
    """Give a function that runs tasks and yields their rows as they come."""
    if scheduler is None:
        count = workers or joblib.cpu_count()
        if count == 1:
            yield lambda tasks: map(run_play, tasks)
            return
        yield _parallel(count, "loky")
        return
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        expected = "Dask's distributed (pip install 'stackcast[cluster]')"
        raise InputError("scheduler", expected, "none") from None
    try:
        client = distributed.Client(scheduler, timeout=10)
    except (OSError, ValueError) as error:
        expected = "the address of a Dask scheduler that answers"
        raise InputError("scheduler", expected, f"{scheduler} ({error})") from None
    with client, joblib.parallel_config(backend="dask"):
        threads = sum(client.nthreads().values())
        if not threads:
            raise InputError("scheduler", "a scheduler with workers", "none")
        yield _parallel(threads, None)


def _parallel(count: int, backend: str | None) -> Any:
    def run(tasks: Iterable[Task]) -> Iterator[dict[str, Any]]:
        rows: Iterator[dict[str, Any]] = joblib.Parallel(
            n_jobs=count,
            backend=backend,
            return_as="generator_unordered",
            batch_size=1,
            pre_dispatch=_AHEAD * count,
        )(joblib.delayed(run_play)(task) for task in tasks)
        return rows

    return run


def _surviving(run: Any, left: dict[str, Task]) -> Iterator[tuple[dict[str, Any], int]]:
    """Run all tasks; when a worker dies, try alone what was under way, and go on with the rest."""
    waiting = deque(left)
    deaths = 0
    while waiting:
        under_way: dict[str, None] = {}

        def handed_out(under_way: dict[str, None] = under_way) -> Iterator[Task]:
            while waiting:
                key = waiting.popleft()
                under_way[key] = None
                yield left[key]

        try:
            for row in run(handed_out()):
                del under_way[row["key"]]
                yield row, deaths
        except Exception as error:
            if not _died(error):
                raise
            deaths += 1
        for key in under_way:
            row, alone = _alone(run, left[key])
            deaths += alone
            yield row, deaths


def _alone(run: Any, task: Task) -> tuple[dict[str, Any], int]:
    for life in range(_LIVES):
        try:
            return next(iter(run([task]))), life
        except Exception as error:
            if not _died(error):
                raise
    principal, agent = (Player(**task[side]).label for side in ("principal", "agent"))
    row = {
        "key": task["key"],
        "game": task["game"].get("name", ""),
        "principal": principal,
        "agent": agent,
        "rounds": task["rounds"],
        "seed": task["seed"],
        "algorithms": algorithms(),
        "error": f"the worker died {_LIVES} times while this play ran alone",
        "traceback": None,
        "seconds": 0.0,
    }
    return row, _LIVES


def _died(error: Exception) -> bool:
    return isinstance(error, TerminatedWorkerError) or type(error).__name__ == "KilledWorker"


def _checked(row: dict[str, Any]) -> dict[str, Any]:
    if row["algorithms"] != algorithms():
        expected = f"workers with the same version of stackcast ({algorithms()})"
        raise InputError("scheduler", expected, str(row["algorithms"]))
    return row
