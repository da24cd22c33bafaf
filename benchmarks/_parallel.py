"""Games that do not depend on each other, as many at once as there are cores."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Result = TypeVar("Result")


def in_parallel(
    function: Callable[..., Result], arguments: Iterable[tuple[Any, ...]]
) -> Iterator[Result]:
    """Yield what the function returns for each tuple of arguments, in their order.

    All of a table goes in at once, so that no core waits for the last game of a row. The function
    is one of a module, and its arguments are plain data: processes are started anew.
    """
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        yield from pool.map(function, *zip(*arguments, strict=True))
