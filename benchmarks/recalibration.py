"""Recalibration against its rivals, on every stream: losses, the worst interval, time.

``python -m benchmarks.recalibration`` measures all methods on all streams (an hour; results are
kept in ``out/recalibration`` a stream at a time) and writes ``docs/reference/recalibration.md``.
Words after it select streams whose names contain one of them and print instead of writing.
``retired`` measures the ``recalibrate`` of the stackcast that is imported and writes its figures to
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

from benchmarks._forecast_streams import yes_no_streams
from stackcast.calibration import (
    AdaptiveRate,
    calibration_profile,
    decision_bins,
    recalibrate,
    sequential_calibration_test,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks._forecast_streams import Stream
    from stackcast._validation import FloatArray

    Method = Callable[[FloatArray, Any, Stream], FloatArray]

SMALL = 1e-6
OUT = Path("out") / "recalibration"
RETIRED = Path(__file__).parent / "retired_recalibration.json"
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


def netcal(name: str) -> Callable[[FloatArray, FloatArray], Callable[[FloatArray], FloatArray]]:
    """Return a calibrator of netcal, by its name."""

    def fit(q: FloatArray, y: FloatArray) -> Callable[[FloatArray], FloatArray]:
        import netcal.binning

        made = getattr(netcal.binning, name)()
        made.fit(np.clip(q, SMALL, 1 - SMALL), y.astype(int))
        return lambda fresh: np.asarray(made.transform(np.clip(fresh, SMALL, 1 - SMALL))).ravel()

    return fit


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
        sure = np.nan_to_num(np.max(made.predict_proba(fresh[:, None]), axis=1), nan=0.5)
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
    "netcal BBQ": lambda q, y, _s: refitted(netcal("BBQ"), q, y, 5000, max(250, len(q) // 20)),
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
    for method in methods.keys() - known.keys():
        q, y = stream.forecasts.copy(), stream.outcomes.copy()
        methods[method](q[:300], y[:300], stream)  # compile
        began = time.process_time()
        p = methods[method](q, y, stream)
        took = time.process_time() - began
        known[method] = figures(p, stream) | {"seconds a million": 1e6 * took / len(y)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(known, indent=1))
    return {method: known[method] for method in methods}


def retired() -> None:
    """Write the figures of the ``recalibrate`` that is imported."""
    rows = {}
    for name, stream in yes_no_streams().items():
        q, y = stream.forecasts, stream.outcomes
        began = time.process_time()
        p = recalibrate(q, y, stream.thresholds).forecasts
        took = time.process_time() - began
        rows[name] = figures(p, stream) | {"seconds a million": 1e6 * took / len(y)}
        print(name, rows[name], flush=True)
    RETIRED.write_text(json.dumps(rows, indent=1) + "\n")


def main(words: list[str]) -> None:
    """Measure the streams that are named, or all and write the page."""
    if words == ["retired"]:
        retired()
        return


if __name__ == "__main__":
    main(sys.argv[1:])
