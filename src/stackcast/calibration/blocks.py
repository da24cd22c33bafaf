"""The forecasts of a block of rounds, as numbers into a table of distinct forecasts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray

    IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ForecastBlock:
    """The forecasts of a block of rounds.

    A forecaster uses few distinct forecasts many times, so they are stored as numbers: forecast
    ``forecast_ids[t]`` was made in the block's round t. Ids count up over the forecaster's life;
    the forecasts that were new in this block are the rows of ``new_forecasts``, with ids from
    ``first_new_id`` on. ``forecasts`` writes all of them out.
    """

    forecast_ids: IntArray
    bins: IntArray
    first_new_id: int
    new_forecasts: FloatArray
    _older_ids: IntArray = field(repr=False)
    _older: FloatArray = field(repr=False)

    @property
    def forecasts(self) -> FloatArray:
        """The forecast of every round, as rows."""
        result = np.empty((len(self.forecast_ids), self.new_forecasts.shape[1]))
        new = self.forecast_ids >= self.first_new_id
        result[new] = self.new_forecasts[self.forecast_ids[new] - self.first_new_id]
        order = np.argsort(self._older_ids)
        place = np.searchsorted(self._older_ids[order], self.forecast_ids[~new])
        result[~new] = self._older[order][place]
        result.flags.writeable = False
        return result

    def __len__(self) -> int:
        return len(self.forecast_ids)
