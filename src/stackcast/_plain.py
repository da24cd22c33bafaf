"""Results as JSON holds them: the one encoder of the package."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np


def plain(value: Any, *, also: Iterable[str] = (), but: Iterable[str] = ()) -> Any:
    """Return ``value`` as tables, lists, texts, numbers, truth values and None.

    Arrays and tuples become lists, NaN and infinity None, keys texts, functions their names. A
    dataclass becomes the table of its public fields, with the properties named in ``also`` and
    without the fields in ``but``; inside another value, an object with ``to_dict`` decides itself.

    Examples
    --------
    >>> plain({1: np.array([0.5, np.nan]), "shape": (2, 3)})
    {'1': [0.5, None], 'shape': [2, 3]}
    """
    if value is None or (isinstance(value, str | bool | int) and not isinstance(value, Enum)):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): _inner(entry) for key, entry in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        left_out = set(but)
        names = [f.name for f in fields(value) if not f.name.startswith("_")]
        names = [name for name in (*names, *also) if name not in left_out]
        return {name: _inner(getattr(value, name)) for name in names}
    if isinstance(value, Iterable):
        return [_inner(entry) for entry in value]
    if isinstance(value, Path):
        return str(value)
    if callable(value):
        return f"{value.__module__}.{value.__qualname__}"
    raise TypeError(f"{type(value).__name__} has no plain form")


def _inner(value: Any) -> Any:
    return value.to_dict() if hasattr(value, "to_dict") else plain(value)
