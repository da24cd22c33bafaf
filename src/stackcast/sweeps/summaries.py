"""What the rows of a sweep say: means with intervals, and a ranking."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from stackcast._validation import InputError
from stackcast.games import FiniteGame, catalogue, load_game
from stackcast.sweeps.specification import Specification

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

#: Who takes part in a tournament: those that need nothing but a view, a horizon and a seed.
_PRINCIPALS = (
    {"name": "CommitmentLearner"},
    {"name": "UniformExplore"},
    {"name": "GridBandit"},
    {"name": "Oracle", "settings": {"margin": 0.02}},  # a margin for plays of some 10,000 rounds
)
_AGENTS = (
    "Calibrated",
    "NonAdaptive",
    "Lazy",
    "BestResponse",
    "QuantalResponse",
    "Hedge",
    "FollowTheLeader",
    "BlumMansour",
)


def _finite_games() -> list[str]:
    return [name for name in catalogue() if isinstance(load_game(name), FiniteGame)]


def tournament_specification(rounds: int = 20_000, seeds: int = 3) -> Specification:
    """Return the sweep of everybody against everybody on the finite games of the catalogue."""
    return Specification.of(
        {
            "rounds": rounds,
            "seeds": seeds,
            "games": [{"name": name} for name in _finite_games()],
            "principals": list(_PRINCIPALS),
            "agents": [{"name": name} for name in _AGENTS],
            "metrics": ["average_utility", "explored", "curve"],
        }
    )


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

    def half(row: dict[str, Any]) -> float:
        if row["spread"] is None:
            return math.nan
        return float(t.ppf(0.975, row["plays"] - 1) * row["spread"] / math.sqrt(row["plays"]))

    halves = pl.Series("half", [half(row) for row in grouped.iter_rows(named=True)], pl.Float64)
    return grouped.with_columns(
        (pl.col("mean") - halves).alias("low"), (pl.col("mean") + halves).alias("high")
    ).select(*by, "mean", "low", "high", "plays")


def ranking(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the principals by mean regret, the best first.

    Regret is divided by the range of the principal's payoffs, so that games of different units
    weigh alike.

    Examples
    --------
    >>> import polars as pl
    >>> table = {"principal": ["a", "b"], "regret": [3.0, 0.2], "scale": [10.0, 1.0], "error": None}
    >>> ranking(pl.DataFrame(table)).select("rank", "principal", "mean").rows()
    [(1, 'b', 0.2), (2, 'a', 0.3)]
    """
    import polars as pl

    scaled = rows.with_columns(regret=pl.col("regret") / pl.col("scale"))
    table = summary(scaled, ["principal"]).sort("mean", "principal")
    return table.with_columns(rank=pl.int_range(1, pl.len() + 1)).select("rank", *table.columns)
