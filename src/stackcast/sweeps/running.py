"""Running a sweep: what is not yet done, on this machine's cores or on a Dask cluster.

Written once to joblib: its processes by default, its Dask backend for a cluster. Rows do not depend
on where or in which order plays run.
"""

from __future__ import annotations

import time
import traceback
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from joblib.externals.loky.process_executor import TerminatedWorkerError

from stackcast._validation import InputError, whole_number
from stackcast.auditing import audit
from stackcast.protocol import kind_of, play
from stackcast.sweeps.specification import algorithms
from stackcast.sweeps.store import Store

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator

    from stackcast._validation import Table
    from stackcast.games import Game
    from stackcast.protocol import Transcript
    from stackcast.sweeps.specification import Play, Specification

#: A play whose worker dies this often while it runs alone is a failed play.
_LIVES = 2
#: Plays handed out ahead, for each worker.
_AHEAD = 3
#: Points of a curve in each decade of rounds.
_POINTS = 8


def run_play(wanted: Play) -> Table:
    """Play, audit and return the row; a play that fails leaves its error and traceback."""
    row, start = _row(wanted), time.perf_counter()
    try:
        game, rounds, seed = wanted.game, wanted.rounds, wanted.seed
        principal = wanted.principal.build(game, rounds, seed)
        agent = wanted.agent.build(game, rounds, seed)
        keep = not {"calibration", "certificates"}.isdisjoint(wanted.metrics)
        transcript = play(principal, agent, rounds, game, forecasts=keep)
        row |= _measured(transcript, game, wanted.metrics)
    except Exception as error:
        row |= {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
    return row | {"seconds": time.perf_counter() - start}


def _row(wanted: Play) -> Table:
    """Return what a row says of every play."""
    return {
        "key": wanted.key,
        "game": wanted.game.name,
        "kind": "constrained" if wanted.game.constraints else kind_of(wanted.game),
        "principal": wanted.principal.label,
        "agent": wanted.agent.label,
        "rounds": wanted.rounds,
        "seed": wanted.seed,
        "algorithms": algorithms(),
        "error": None,
        "traceback": None,
    }


def _measured(transcript: Transcript, game: Game, wanted: tuple[str, ...]) -> Table:
    found = audit(transcript, game, profile="calibration" in wanted)
    # Where each action is taken or each target covered: there lie the extremes.
    payoffs = game.principal_view.payoffs + game.principal_view.offsets
    scale = float(payoffs.max() - payoffs.min()) or 1.0
    row: Table = {"value": found.value, "regret": found.regret, "scale": scale}
    plain = {
        "average_utility": found.average_utility,
        "best_response_share": found.best_response_share,
        "external_regret": found.external_regret_per_round,
        "swap_regret": found.swap_regret_per_round,
    }
    row |= {name: value for name, value in plain.items() if name in wanted}
    if "explored" in wanted:
        explored = found.exploration
        row["explored"] = explored.rounds / found.rounds if explored is not None else 0.0
    if "certificates" in wanted:
        for side, holds in (("held", True), ("failed", False)):
            names = [bound.name for bound in found.bounds if bound.holds is holds]
            row[f"certificates_{side}"] = "\n".join(names)
    if "curve" in wanted:
        row["curve_rounds"], row["curve_regret"] = _curve(transcript, game, found.value)
    if "calibration" in wanted:
        kept = found.calibration
        row["calibration"] = None if kept is None else kept.profile.upper
    return row


def _curve(transcript: Transcript, game: Game, value: float) -> tuple[list[int], list[float]]:
    """Return V* less the average utility of the first t rounds, for t = 1, …, T on a log scale."""
    lengths = np.array([block.rounds for block in transcript.blocks])
    utilities = np.array([game.principal_utilities(b.strategy) for b in transcript.blocks])
    index = np.repeat(np.arange(len(lengths)), lengths)
    earned = np.cumsum(utilities.reshape(len(lengths), -1)[index, transcript.responses])
    total = transcript.rounds
    steps = np.arange(int(np.log10(total) * _POINTS) + 1) / _POINTS
    at = np.unique(np.append(np.rint(10**steps), total).astype(np.int64))
    return at.tolist(), (value - earned[at - 1] / at).tolist()


@dataclass(frozen=True)
class Standing:
    """The progress of a sweep.

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
    part: tuple[int, int] | None = None,
    watch: Callable[[Standing], None] | None = None,
) -> Standing:
    """Run every play of the specification that is not in the folder yet.

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
    part : (int, int), optional
        Only part i of n: every nth play from the ith on. Parts may share a folder.
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
    >>> standing.done, rows.shape[0], rows["regret"].max() < 0.05
    (4, 4, True)
    """
    if workers is not None:
        whole_number("workers", workers, at_least=1)
    store = Store(folder)
    kept = store.keys()
    skipped = {key for key, failed in kept.items() if not (failed and retry_failed)}
    i, n = (1, 1) if part is None else part
    if not 1 <= whole_number("part, i", i) <= whole_number("part, n", n, at_least=1):
        raise InputError("part", "i/n with i from 1 to n", f"{i}/{n}")
    tasks = {play.key: play for play in islice(specification.plays(), i - 1, None, n)}
    left = {key: play for key, play in tasks.items() if key not in skipped}
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
    pairs: dict[tuple[str, str], list[Any]] = {}
    for game, principal, agent in specification.meetings():
        pairs.setdefault((principal.label, agent.label), []).append((game, principal, agent))
    first, seconds = next(specification.plays()), 0.0
    for i, met in enumerate(pairs.values()):
        game, principal, agent = met[i % len(met)]
        repeats = len(met) * len(specification.seeds)
        rounds = min(1000, *specification.rounds)
        short = replace(first, game=game, principal=principal, agent=agent, rounds=rounds)
        run_play(replace(short, rounds=min(rounds, 50)))
        took = run_play(short)["seconds"]
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
    def run(tasks: Iterable[Play]) -> Iterator[Table]:
        rows: Iterator[Table] = joblib.Parallel(
            n_jobs=count,
            backend=backend,
            return_as="generator_unordered",
            batch_size=1,
            pre_dispatch=_AHEAD * count,
        )(joblib.delayed(run_play)(task) for task in tasks)
        return rows

    return run


def _surviving(run: Any, left: dict[str, Play]) -> Iterator[tuple[Table, int]]:
    """Run all tasks; when a worker dies, try alone what was under way, and go on with the rest."""
    waiting = deque(left)
    deaths = 0
    while waiting:
        under_way: dict[str, None] = {}

        def handed_out(under_way: dict[str, None] = under_way) -> Iterator[Play]:
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


def _alone(run: Any, task: Play) -> tuple[Table, int]:
    for life in range(_LIVES):
        try:
            return next(iter(run([task]))), life
        except Exception as error:
            if not _died(error):
                raise
    what = f"the worker died {_LIVES} times while this play ran alone"
    return _row(task) | {"error": what, "seconds": 0.0}, _LIVES


def _died(error: Exception) -> bool:
    return isinstance(error, TerminatedWorkerError) or type(error).__name__ == "KilledWorker"


def _checked(row: Table) -> Table:
    if row["algorithms"] != algorithms():
        expected = f"workers with the same version of stackcast ({algorithms()})"
        raise InputError("scheduler", expected, str(row["algorithms"]))
    return row
