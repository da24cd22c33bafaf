"""Forecasts in a table of the folder: the verdict, where they fail, and the corrected column."""

from __future__ import annotations

import contextlib
import csv
import io
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError, real_number
from stackcast.calibration import (
    certify,
    certify_forecasts,
    decision_bins,
    read_forecasts,
    recalibrate,
)
from stackcast.studio import messages as ms
from stackcast.studio.folder import File

if TYPE_CHECKING:
    from stackcast.calibration import ForecastCertificate
    from stackcast.studio.folder import Folder

ENDINGS = (".csv", ".parquet")
MOST_ROWS = 1_000_000
_COLUMNS, _GROUPS = 50, 10
_LENGTHS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)


def listed(folder: Folder) -> list[ms.FileInfo]:
    """Return the tables of the folder."""
    return [
        ms.FileInfo(path=path.name, size=path.stat().st_size)
        for path in folder.files(*ENDINGS)
        if not path.name.endswith("-corrected.csv")
    ]


def take(folder: Folder, file: File) -> ms.Done:
    """Keep a table; the same one is kept once."""
    file.must_end(*ENDINGS)
    with contextlib.suppress(InputError):
        if folder.read(file.name) == file.content:
            return ms.Done(name=file.name)
    name = folder.free(file.name)
    folder.write(name, file.content)
    return ms.Done(name=name)


def judged(folder: Folder, name: str, threshold: Any = 0.5) -> ms.Forecasts:
    """Return what a table proves of its forecasts, as they are and corrected."""
    real_number("threshold", threshold, at_least=0, at_most=1)
    path = folder.at(name, *ENDINGS)
    table = _read(folder, name)
    rows = len(table.outcomes)
    lengths = sorted({n for n in _LENGTHS if n < rows} | {rows})
    at = threshold if table.yes_no else None
    before = certify_forecasts(path, threshold=at, lengths=lengths)
    made = ms.Forecasts(file=name, rows=rows, threshold=threshold, before=_view(before), after=None)
    if not table.yes_no:
        return made
    p, y = np.asarray(table.forecasts), np.asarray(table.outcomes)
    fixed = recalibrate(p, y, thresholds=threshold)
    after = certify(y, fixed.forecasts, fixed.decisions, lengths=lengths)
    _draw(made.before, p, y, decision_bins(p, threshold), lengths)
    made.after = _view(after)
    _draw(made.after, fixed.forecasts, y, fixed.decisions, lengths)
    made.mean_shift = fixed.mean_shift
    return made


def corrected(folder: Folder, name: str, threshold: Any = 0.5) -> File:
    """Return forecasts, outcomes and the corrected column as CSV."""
    table = _read(folder, name)
    if not table.yes_no:
        raise InputError(name, "a column forecast of one probability to correct", "several columns")
    fixed = recalibrate(table.forecasts, table.outcomes, thresholds=threshold)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["forecast", "outcome", "recalibrated"])
    for row in zip(table.forecasts, table.outcomes, fixed.forecasts, strict=True):
        writer.writerow([f"{value:.6g}" for value in row])
    return File(f"{name.rpartition('.')[0]}-corrected.csv", out.getvalue().encode())


def _read(folder: Folder, name: str) -> Any:
    table = read_forecasts(folder.at(name, *ENDINGS))
    if len(table.outcomes) > MOST_ROWS:
        found = f"{len(table.outcomes):,}"
        raise InputError(name, f"at most {MOST_ROWS:,} rows in the studio", found)
    return table


def _view(found: ForecastCertificate) -> ms.Judged:
    profile, test = found.profile, found.test
    rates = profile.to_dict()["rates"]
    made = ms.Judged(
        verdict=found.verdict,
        sentences=found.sentences(),
        lower=profile.lower,
        upper=profile.upper,
        lengths=[[n, profile.errors[n], rates[str(n)]] for n in sorted(profile.errors)],
    )
    if test is not None:
        at = test.interval
        made.evidence, made.evidence_error = [at.start, at.stop], at.error
        made.evidence_wealth, made.p_value = test.wealth, test.p_value
        made.evidence_bin = found.bin_names.get(at.bin, f"bin {at.bin}")
    return made


def _draw(made: ms.Judged, p: Any, y: Any, bins: Any, lengths: list[int]) -> None:
    """Fill in what the pictures show."""
    made.loss = float(((p - y) ** 2).mean())
    made.groups = _groups(p, y)
    rates = {int(length): rate for length, _, rate in made.lengths}
    made.heat = _heat(p, y, np.asarray(bins), lengths, rates)


def _groups(p: Any, y: Any) -> list[list[float]]:
    """Return the frequency in groups of like forecasts, with the central 95% that chance allows."""
    from scipy.stats import binom

    cells = np.minimum((np.asarray(p) * _GROUPS).astype(int), _GROUPS - 1)
    groups = []
    for cell in np.unique(cells):
        inside = cells == cell
        n, mean = int(inside.sum()), float(p[inside].mean())
        low, high = (float(binom.ppf(q, n, mean)) / n for q in (0.025, 0.975))
        groups.append([mean, float(y[inside].mean()), n, low, high])
    return groups


def _heat(p: Any, y: Any, bins: Any, lengths: list[int], rates: Any) -> list[list[float | None]]:
    """Return the worst error over its rate, by length and by where the middle lies."""
    rounds = len(y)
    kinds = np.unique(bins)
    gaps = np.where(bins[:, None] == kinds[None, :], (y - p)[:, None], 0.0)
    sums = np.concatenate([np.zeros((1, len(kinds))), gaps.cumsum(axis=0)])
    table: list[list[float | None]] = []
    width = rounds / _COLUMNS
    for length in lengths:
        ratios = np.abs(sums[length:] - sums[:-length]).max(axis=1) / length / rates[length]
        row: list[float | None] = []
        for column in range(_COLUMNS):
            first = max(0, int(np.ceil(column * width - length / 2)))
            last = min(len(ratios), int(np.ceil((column + 1) * width - length / 2)))
            row.append(float(ratios[first:last].max()) if last > first else None)
        table.append(row)
    return table
