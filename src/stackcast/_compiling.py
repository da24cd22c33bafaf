"""How compiled functions are put together.

Compiled functions that only other compiled functions call use ``@inner``; the few that Python calls
use ``@entry``. Both keep arithmetic as it is written, so that results do not depend on who calls;
both are kept on the disk, so that they are compiled once.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from numba import njit, types
from numba.extending import intrinsic

if TYPE_CHECKING:
    from collections.abc import Callable

_SOURCES = tuple(
    (path.name, path.stat().st_mtime_ns, path.stat().st_size)
    for path in sorted(Path(__file__).parent.rglob("*.py"))
)


def entry(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls."""
    return _cached(njit(cache=True, error_model="numpy")(function))


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function that only compiled functions call.

    It has no door to Python, which would take longer to compile than the function itself.
    """
    options: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return _cached(njit(cache=True, error_model="numpy", **options)(function))


def _cached(dispatcher: Any) -> Any:
    # Numba renews what it keeps on the disk when the file of the function changes, although what it
    # keeps contains the functions of other files too: renew it when any file of ours changes.
    kept: Any = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if hasattr(kept, "_source_stamp"):
        kept._source_stamp = _SOURCES
    return dispatcher


def _out_of_line(_typing_context: Any) -> Any:
    """Keep the calling compiled function out of its callers.

    Left alone, the compiler copies every function into every caller: compiling takes several times
    as long, and the copies are too large for it to vectorise.
    """

    def generate(context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), generate


out_of_line: Any = intrinsic(_out_of_line)
