"""A river classifier whose probabilities are corrected online."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._frames import library
from stackcast.calibration import Recalibrator

if TYPE_CHECKING:
    from collections.abc import Iterator

_Wrapper: Any = library("river.base", "ml").Wrapper
_Classifier: Any = library("river.base", "ml").Classifier


class OnlineCalibrator(_Wrapper, _Classifier):  # type: ignore[misc]
    """A river classifier whose probabilities are corrected by a recalibrator.

    Each observation is forecast before it is learnt from. Labels need not be known beforehand: with
    the third label and every later one the correction begins anew, for one outcome more.

    Parameters
    ----------
    model : river classifier
        With ``predict_proba_one``.
    thresholds : float or increasing floats, optional
        The decision taken from the probability of the larger of two labels; ½ by default.
    seed : int

    Examples
    --------
    >>> from river import linear_model, preprocessing
    >>> from river.datasets import Phishing
    >>> from stackcast.interop import OnlineCalibrator
    >>> scaled = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> model, loss = OnlineCalibrator(scaled), 0.0
    >>> for x, y in Phishing():
    ...     loss -= np.log(model.predict_proba_one(x).get(y, 0.5))
    ...     model.learn_one(x, y)
    >>> round(float(loss / 1250), 2)  # .33 without correction
    0.28
    """

    def __init__(self, model: Any, thresholds: Any = None, seed: int = 0) -> None:
        self.model = model
        self.thresholds = thresholds
        self.seed = seed
        self._labels: list[Any] = []
        self._recalibrator: Recalibrator | None = None

    @property
    def _wrapped_model(self) -> Any:
        return self.model

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        linear = library("river.linear_model", "ml")
        scaled = library("river.preprocessing", "ml").StandardScaler()
        yield {"model": scaled | linear.LogisticRegression()}
        yield {"model": library("river.naive_bayes", "ml").GaussianNB()}

    def learn_one(self, x: Any, y: Any, **kwargs: Any) -> None:
        """Forecast the label of x, learn that it was y, and let the model learn."""
        label = y.item() if isinstance(y, np.generic) else y
        if label not in self._labels:
            self._labels = sorted([*self._labels, label], key=lambda one: (str(type(one)), one))
            k = len(self._labels)
            if k > 1:
                self._recalibrator = Recalibrator(
                    self.thresholds if k == 2 else None,
                    classes=k if k > 2 else None,
                    seed=self.seed,
                )
        if self._recalibrator is not None:
            self._recalibrator.predict(self._told(x), key=0)
            self._recalibrator.observe(0, self._labels.index(label))
        self.model.learn_one(x, y, **kwargs)

    def predict_proba_one(self, x: Any, **kwargs: Any) -> dict[Any, float]:
        """Return the corrected probability of each label; nothing is learnt."""
        if self._recalibrator is None:
            said: dict[Any, float] = self.model.predict_proba_one(x, **kwargs)
            return said
        p = self._recalibrator.predict(self._told(x, **kwargs))
        if len(self._labels) == 2:
            return {self._labels[0]: 1.0 - p, self._labels[1]: p}
        return dict(zip(self._labels, p.tolist(), strict=True))

    def _told(self, x: Any, **kwargs: Any) -> Any:
        """Return the model's probabilities of the labels seen, the second alone of two."""
        said = self.model.predict_proba_one(x, **kwargs)
        q = np.array([max(float(said.get(label, 0.0)), 0.0) for label in self._labels])
        q = np.nan_to_num(q)
        q = q / q.sum() if q.sum() > 0 else np.full(len(q), 1 / len(q))
        return float(q[1]) if len(q) == 2 else q
