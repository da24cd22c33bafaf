"""Where the rows of a sweep are kept, and what they say: Parquet parts in a folder.

A finished play is a part of its own, at once. A run joins its own small parts into larger ones as
they pile up: the large one is brought to the disc, then the small ones are removed, so that a kill
between the two leaves rows twice, which reading undoes. A part's name ends in the hash of its
content: what somebody else put there, and what was damaged, is not read, and never touched; the
plays of a damaged part are played again. No run touches the parts of another, so that several can
share a folder.
"""

from __future__ import annotations

import hashlib
import io
import math
import re
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast import agents, principals
from stackcast._files import reason, write_whole
from stackcast._frames import library
from stackcast._random import stream
from stackcast._validation import InputError
from stackcast.games import list_games
from stackcast.sweeps.specification import Specification

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import polars as pl

    from stackcast._validation import Table

#: So many small parts are joined into one.
_JOINED = 200
_NAME = re.compile(r"part-\w+-\w+-([0-9a-f]{16})\.parquet")
#: The columns that say which play it was, in the order by which rows are sorted.
IDENTITY = ("game", "principal", "agent", "rounds", "seed")


class Store:
    """The parts in one folder, for one run that adds to them.

    Parameters
    ----------
    folder : path
        Made if it is not there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(folder)
    ...     store.add({"key": "a1", "game": "g", "regret": 0.25, "error": None})
    ...     Store(folder).keys()
    {'a1': False}
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._run = uuid.uuid4().hex[:8]
        self._small: list[Path] = []
        self._count = 0
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            expected = "a folder that can be written to"
            raise InputError(str(self.folder), expected, reason(error)) from None

    def keys(self) -> dict[str, bool]:
        """Return the key of every play that is there, and whether it failed."""
        found: dict[str, bool] = {}
        for rows in _parts(self.folder):
            for key, error in rows.select("key", "error").iter_rows():
                found[key] = found.get(key, True) and error is not None
        return found

    def add(self, row: Mapping[str, Any]) -> None:
        """Keep one row; when this returns, killing the process does not lose it."""
        self._small.append(self._write(_polars().DataFrame([row])))
        if len(self._small) >= _JOINED:
            self.join()

    def join(self) -> None:
        """Make one part of the small parts of this run."""
        if len(self._small) < 2:
            return
        rows = [_polars().read_parquet(part) for part in self._small]
        self._write(_polars().concat(rows, how="diagonal_relaxed"))
        for part in self._small:
            part.unlink(missing_ok=True)
        self._small = []

    def _write(self, rows: pl.DataFrame) -> Path:
        polars, content = _polars(), io.BytesIO()
        rows.cast({polars.Null: polars.String}).write_parquet(content)
        self._count += 1
        name = f"part-{self._run}-{self._count:06d}-{_digest(content.getvalue())}.parquet"
        write_whole(self.folder / name, content.getvalue())
        return self.folder / name


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def _parts(folder: Path) -> Iterator[pl.DataFrame]:
    """Yield the rows of every part that is as a sweep wrote it."""
    for part in sorted(folder.glob("part-*.parquet")):
        named = _NAME.fullmatch(part.name)
        try:
            content = part.read_bytes() if named else b""
        except OSError:  # another run has joined it
            continue
        if named and named[1] == _digest(content):
            yield _polars().read_parquet(content)


def load(folder: str | os.PathLike[str]) -> pl.DataFrame:
    """Return every row of a sweep, each play once, sorted by what was played.

    A failed play counts only if it never succeeded. Any engine that reads Parquet can query the
    files themselves: ``SELECT * FROM 'folder/part-*.parquet'`` in DuckDB, with
    ``union_by_name`` where runs kept different metrics.
    """
    polars = _polars()
    frames = list(_parts(Path(folder)))
    if not frames:
        raise InputError(str(folder), "the folder of a sweep, with parts", "none")
    rows: pl.DataFrame = polars.concat(frames, how="diagonal_relaxed")
    rows = rows.sort(polars.col("error").is_not_null(), *IDENTITY, "key", maintain_order=True)
    rows = rows.unique("key", keep="first", maintain_order=True)
    order = [name for name in (*IDENTITY, "value", "regret") if name in rows.columns]
    rest = sorted(set(rows.columns) - set(order))
    return rows.sort(*IDENTITY, "key").select(*order, *rest)


def failures(rows: pl.DataFrame) -> Iterable[tuple[str, str]]:
    """Yield what was played and the error, of each play that failed."""
    polars = _polars()
    for row in rows.filter(polars.col("error").is_not_null()).iter_rows(named=True):
        yield ", ".join(str(row[name]) for name in IDENTITY), row["error"]


def _polars() -> Any:
    return library("polars", "sweeps", "sweeps")


#: Principals that play what they are given, and no tournament.
_SCRIPTED = ("Fixed", "PhaseSwitch", "Replay")


def tournament_specification(
    rounds: int = 20_000, seeds: int = 3, add: Sequence[str] = ()
) -> Specification:
    """Return the sweep of everybody against everybody on the catalogue.

    Each player meets the games that it plays: finite ones, constrained ones and security games.

    Parameters
    ----------
    rounds, seeds : int
        The rounds of a play, and how often each pair meets on each game.
    add : sequence of str
        More players: names of installed ones, or classes in files as ``"my.py:MyPrincipal"``.
    """
    sides: dict[str, dict[str, Table]] = {"principals": {}, "agents": {}}
    for kind in ("finite", "security"):
        for room, names in (("principals", principals.names), ("agents", agents.names)):
            sides[room] |= {name: {"name": name} for name in names(kind) if name not in _SCRIPTED}
    for name in add:
        sides["agents" if _is_agent(name) else "principals"][name] = {"name": name}
    return Specification.of(
        {
            "rounds": rounds,
            "seeds": seeds,
            "games": [{"name": name} for name in list_games()],
            **{room: list(players.values()) for room, players in sides.items()},
            "metrics": ["average_utility", "explored", "certificates", "curve"],
        }
    )


def _is_agent(name: str) -> bool:
    try:
        agents.find(name)
    except InputError:
        principals.find(name)  # says what is wrong with it
        return False
    return True


def summary(rows: pl.DataFrame, by: Sequence[str], column: str = "regret") -> pl.DataFrame:
    """Return mean, 95% interval and number of plays of a column, for each value of ``by``.

    The interval is Student's, over the plays as independent draws; one play has none.

    Examples
    --------
    >>> import polars as pl
    >>> rows = pl.DataFrame({"agent": ["a", "a", "b"], "regret": [0.1, 0.3, 0.5], "error": None})
    >>> summary(rows, ["agent"]).select("agent", "mean", "plays").rows()
    [('a', 0.2, 2), ('b', 0.5, 1)]
    """
    import polars as pl
    from scipy.stats import t

    known = rows.filter(pl.col("error").is_null())
    if column not in known.columns:
        raise InputError("column", "one of " + ", ".join(known.columns), column)
    grouped = known.group_by(*by, maintain_order=True).agg(
        mean=pl.col(column).mean(), spread=pl.col(column).std(), plays=pl.len()
    )

    def half(row: Table) -> float:
        if row["spread"] is None:
            return math.nan
        return float(t.ppf(0.975, row["plays"] - 1) * row["spread"] / math.sqrt(row["plays"]))

    halves = pl.Series("half", [half(row) for row in grouped.iter_rows(named=True)], pl.Float64)
    return grouped.with_columns(
        (pl.col("mean") - halves).alias("low"), (pl.col("mean") + halves).alias("high")
    ).select(*by, "mean", "low", "high", "plays")


def ranking(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the principals by mean regret with its 95% interval, the best first, by horizon.

    Regret is divided by the range of the principal's payoffs, so that games of different units
    weigh alike.

    Examples
    --------
    >>> import polars as pl
    >>> table = {"principal": ["a", "b"], "rounds": 9, "regret": [3.0, 0.2], "scale": [10.0, 1.0]}
    >>> ranking(pl.DataFrame({**table, "error": None})).select("rank", "principal", "mean").rows()
    [(1, 'b', 0.2), (2, 'a', 0.3)]
    """
    import polars as pl

    table = summary(scaled(rows), ["rounds", "principal"]).sort("rounds", "mean", "principal")
    ranks = pl.int_range(1, pl.len() + 1).over("rounds")
    return table.with_columns(rank=ranks).select("rounds", "rank", *table.columns[1:])


def scaled(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with regret in units of the range of the principal's payoffs."""
    import polars as pl

    return rows.with_columns(regret=pl.col("regret") / pl.col("scale"))


#: Resamples of an interval of :func:`growth`.
_RESAMPLES = 1000


def growth(rows: pl.DataFrame) -> pl.DataFrame:
    """Return how each principal's regret in all grows with the horizon T: like T^exponent.

    The exponent is the slope of ln(T·mean regret) against ln T, by least squares over the horizons;
    0.5 is the growth of √T, 1 that of a regret a round which stays. Its 95% interval is the
    bootstrap's over what a principal meets (game, agent and seed, all horizons together). It is NaN
    where a mean regret is not above 0.

    Examples
    --------
    >>> import polars as pl
    >>> table = {"rounds": [100, 400, 1600], "regret": [0.3, 0.15, 0.075], "scale": 1.0, "seed": 0}
    >>> table |= {"game": "g", "principal": "p", "agent": "a", "error": None}
    >>> growth(pl.DataFrame(table))["exponent"].round(6).to_list()
    [0.5]
    """
    import polars as pl

    known = scaled(rows.filter(pl.col("error").is_null()))
    horizons = sorted(known["rounds"].unique())
    if len(horizons) < 2:
        raise InputError("rounds", "plays of at least two lengths", f"{len(horizons)}")
    x = np.log(horizons)
    lever = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    found = []
    for name in sorted(known["principal"].unique()):
        table = known.filter(pl.col("principal") == name).pivot(
            "rounds", index=["game", "agent", "seed"], values="regret", aggregate_function="mean"
        )
        units = table.select(map(str, horizons)).drop_nulls().to_numpy()
        if not len(units):
            continue
        rng = stream(0, "growth", name)
        chosen = rng.integers(len(units), size=(_RESAMPLES, len(units)))
        means = np.vstack([units.mean(axis=0), units[chosen].mean(axis=1)])
        with np.errstate(invalid="ignore", divide="ignore"):
            slopes = np.where((means > 0).all(axis=1), 1 + np.log(means) @ lever, np.nan)
        certain = len(units) > 1 and np.isfinite(slopes).all()
        low, high = np.percentile(slopes[1:], [2.5, 97.5]) if certain else (math.nan, math.nan)
        found.append((name, float(slopes[0]), float(low), float(high), len(units)))
    columns = ["principal", "exponent", "low", "high", "meetings"]
    return pl.DataFrame(found, schema=columns, orient="row").sort("exponent", "principal")
