"""A scikit-learn classifier whose probabilities are corrected online."""

from __future__ import annotations

from typing import Any

import numpy as np

from stackcast._frames import library
from stackcast.calibration import Recalibrator

_base: Any = library("sklearn.base", "ml")
_folds = library("sklearn.model_selection", "ml")
_linear = library("sklearn.linear_model", "ml")
_Mixin: Any = _base.ClassifierMixin
_Estimator: Any = _base.BaseEstimator


class OnlineCalibratedClassifier(_Mixin, _Estimator):  # type: ignore[misc]
    """A classifier whose probabilities are corrected by a :class:`~stackcast.Recalibrator`.

    ``fit`` fits the estimator, and the correction learns from probabilities of rows that the
    estimator had not seen (cross-validation). After that, ``partial_fit`` takes what happens in
    order of time: each row is forecast before it is learnt from, so that the correction holds on
    every interval. An estimator without ``partial_fit`` stays as it was fitted; only the correction
    learns.

    Parameters
    ----------
    estimator : classifier, optional
        With ``predict_proba``; logistic regression by default.
    thresholds, loss, utility : optional
        The decisions, as for :class:`~stackcast.calibration.Recalibrator`.
    seed : int

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = rng.random(2000) < np.where(np.arange(2000) < 500, 0.9, 0.2)  # the rate has changed
    >>> model = OnlineCalibratedClassifier().fit(X[:500], y[:500])
    >>> for t in range(500, 2000, 100):
    ...     _ = model.partial_fit(X[t : t + 100], y[t : t + 100])
    >>> before = model.estimator_.predict_proba(X)[:, 1].mean()
    >>> bool(before > 0.8 and model.predict_proba(X)[:, 1].mean() < 0.5)
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        thresholds: Any = None,
        loss: Any = None,
        utility: Any = None,
        seed: int = 0,
    ) -> None:
        self.estimator = estimator
        self.thresholds = thresholds
        self.loss = loss
        self.utility = utility
        self.seed = seed

    def fit(self, X: Any, y: Any) -> OnlineCalibratedClassifier:
        """Fit the estimator, and the correction on rows that it had not seen."""
        own = self._new_estimator()
        self.estimator_ = own.fit(X, y)
        self._begin(self.estimator_.classes_)
        y = np.asarray(y).reshape(-1)
        folds = min(5, int(np.unique(y, return_counts=True)[1].min()))
        if folds > 1:
            split = _folds.StratifiedKFold(folds)
            q = _folds.cross_val_predict(
                self._new_estimator(), X, y, cv=split, method="predict_proba"
            )
            self._learn(q, y)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> OnlineCalibratedClassifier:
        """Forecast each row, learn its outcome, and let the estimator learn if it can."""
        if not hasattr(self, "estimator_"):
            own = self._new_estimator()
            if not hasattr(own, "partial_fit"):
                return self.fit(X, y)
            names = np.unique(y) if classes is None else np.asarray(classes)
            self.estimator_ = own.partial_fit(X, y, classes=names)
            self._begin(self.estimator_.classes_)
            return self
        self._learn(self.estimator_.predict_proba(X), np.asarray(y).reshape(-1))
        if hasattr(self.estimator_, "partial_fit"):
            self.estimator_.partial_fit(X, y)
        return self

    def predict_proba(self, X: Any) -> Any:
        """Return the corrected probabilities; nothing is learnt."""
        self._check_fitted()
        q = self.estimator_.predict_proba(X)
        if len(self.classes_) > 2:
            return self.recalibrator_.predict(q)
        if len(self.classes_) < 2:
            return q
        p = self.recalibrator_.predict(q[:, 1])
        return np.column_stack([1 - p, p])

    def predict(self, X: Any) -> Any:
        """Return the likeliest class of each row."""
        P = self.predict_proba(X)
        return self.classes_[np.argmax(P, axis=1)]

    def decide(self, X: Any) -> Any:
        """Return the decision of each row by ``thresholds``, ``loss`` or ``utility``."""
        P = self.predict_proba(X)
        return self.recalibrator_.decide(P if len(self.classes_) > 2 else P[:, 1])

    def __sklearn_tags__(self) -> Any:
        """Take what the estimator takes."""
        tags = super().__sklearn_tags__()
        own = library("sklearn.utils", "ml").get_tags(self._new_estimator())
        tags.input_tags.sparse = own.input_tags.sparse
        return tags

    def _new_estimator(self) -> Any:
        if self.estimator is None:
            return _linear.LogisticRegression()
        return _base.clone(self.estimator)

    def _check_fitted(self) -> None:
        library("sklearn.utils.validation", "ml").check_is_fitted(self, "estimator_")

    def _begin(self, classes: Any) -> None:
        self.classes_ = np.asarray(classes)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        self.recalibrator_ = Recalibrator(
            self.thresholds,
            loss=self.loss,
            utility=self.utility,
            classes=len(self.classes_) if len(self.classes_) > 2 else None,
            normalise=True,
            seed=self.seed,
        )

    def _learn(self, q: Any, y: Any) -> None:
        """Forecast and observe rows in their order."""
        labels = np.searchsorted(self.classes_, y)
        known = self.classes_[np.minimum(labels, len(self.classes_) - 1)] == y
        if not known.all():
            found = np.asarray(y)[~known][0]
            raise ValueError(f"y: expected the classes of fit, found {found!r}.")
        if len(self.classes_) > 1:
            self.recalibrator_.run(q if len(self.classes_) > 2 else q[:, 1], labels)
