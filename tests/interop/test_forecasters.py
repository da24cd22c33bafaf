"""Classifiers of scikit-learn and river that wrap a recalibrator: their checks, and ours."""

from __future__ import annotations

import pickle
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import stackcast.interop
from stackcast._random import stream
from stackcast._validation import InputError

sklearn_checks = pytest.importorskip("sklearn.utils.estimator_checks")
river_checks = pytest.importorskip("river.checks")


@pytest.mark.slow
def test_scikit_learn_checks_pass_whole() -> None:
    from stackcast.interop import OnlineCalibratedClassifier

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # theirs: skipped checks, iterations of their own estimator
        sklearn_checks.check_estimator(OnlineCalibratedClassifier())


def river_models() -> list[Any]:
    from stackcast.interop import OnlineCalibrator

    return [OnlineCalibrator(**params) for params in OnlineCalibrator._unit_test_params()]


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1])
def test_river_checks_pass_whole(number: int) -> None:
    for check in river_checks.yield_checks(river_models()[number]):
        check(river_models()[number])


def test_a_stream_is_forecast_better_with_the_wrapper() -> None:
    from river.datasets import Phishing

    from stackcast.interop import OnlineCalibrator

    plain, wrapped = river_models()[0].model.clone(), river_models()[0]
    assert isinstance(wrapped, OnlineCalibrator)
    losses = np.zeros(2)
    for x, y in Phishing():
        for i, model in enumerate((plain, wrapped)):
            losses[i] -= np.log(max(model.predict_proba_one(x).get(y, 0.5), 1e-6))
            model.learn_one(x, y)
    assert losses[1] < losses[0] - 0.03 * 1250


def test_what_comes_later_mends_a_fitted_model() -> None:
    from sklearn.naive_bayes import GaussianNB

    from stackcast.interop import OnlineCalibratedClassifier

    rng = stream(0, "later")
    X = rng.normal(size=(3000, 3))
    odds = X @ [1.0, -1.0, 0.5] - 2.0 * (np.arange(3000) > 1000)
    y = np.where(rng.random(3000) < 1 / (1 + np.exp(-odds)), "late", "in time")
    for estimator in (None, GaussianNB()):
        model = OnlineCalibratedClassifier(estimator, thresholds=0.3).fit(X[:1000], y[:1000])
        before = model.predict_proba(X[2500:])
        again = model.predict_proba(X[2500:])
        assert np.array_equal(before, again)
        for t in range(1000, 2500, 50):
            model.partial_fit(X[t : t + 50], y[t : t + 50])
        after = pickle.loads(pickle.dumps(model)).predict_proba(X[2500:])
        late = y[2500:] == "late"
        assert abs(after[:, 1].mean() - late.mean()) < abs(before[:, 1].mean() - late.mean())
        assert set(model.decide(X)) == {0, 1}
    with pytest.raises(ValueError, match="y: expected the classes of fit"):
        model.partial_fit(X[:2], ["late", "lost"])


@pytest.mark.parametrize(
    ("name", "module", "library"),
    [
        ("OnlineCalibratedClassifier", "scikit_learn", "sklearn"),
        ("OnlineCalibrator", "river", "river"),
    ],
)
def test_a_library_that_is_missing_is_one_sentence(
    name: str, module: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, f"stackcast.interop.{module}", raising=False)
    monkeypatch.delitem(vars(stackcast.interop), name, raising=False)
    for known in [one for one in sys.modules if one.partition(".")[0] == library]:
        monkeypatch.setitem(sys.modules, known, None)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(InputError, match=rf"the library {library} \(pip install 'stackcast\[ml\]'"):
        getattr(stackcast.interop, name)
