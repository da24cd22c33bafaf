"""How compiled functions are put together.

Compiled functions that only other compiled functions call use ``@inner``, or ``@leaf`` if they make
no arrays; the few that Python calls use ``@entry``. All keep arithmetic as it is written, so that
results do not depend on who calls; all are kept on the disk, so that they are compiled once.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from zlib import crc32

from numba import njit, types
from numba.core import caching
from numba.extending import intrinsic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_KERNEL_ROOMS = (
    "games",
    "solvers",
    "calibration",
    "protocol",
    "agents",
    "principals",
    "auditing",
)


def _sources() -> tuple[tuple[str, int], ...]:
    """Return the files that hold compiled functions, each with a checksum of its content."""
    found = []
    for room in _KERNEL_ROOMS:
        for path in sorted((Path(__file__).parent / room).glob("*.py")):
            content = path.read_bytes()
            if b"_compiling" in content:
                found.append((path.name, crc32(content)))
    return tuple(found)


_SOURCES = _sources()
F = TypeVar("F", bound="Callable[..., Any]")
_INNER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def entry(function: F) -> F:
    """Compile a function that Python calls."""
    return cached(njit(error_model="numpy")(function))


def inner(function: F) -> F:
    """Compile a function that only compiled functions call.

    It has no door to Python, which would take longer to compile than the function itself.
    """
    return cached(njit(error_model="numpy", **_INNER | {"_nrt": True})(function))


def leaf(function: F) -> F:
    """Compile a function that only compiled functions call, and that makes no arrays of its own.

    It counts no references to the arrays that it is given: in short rounds counting takes half the
    time. Views of arrays are allowed; its callers keep the arrays alive.
    """
    return cached(njit(error_model="numpy", **_INNER | {"_nrt": False})(function))


_locks: Any = None
with suppress(ImportError):  # Windows has none and keeps Numba's own way
    _locks = import_module("fcntl")
_NumbaFile: Any = caching.IndexDataCacheFile


class _SharedFile(_NumbaFile):  # type: ignore[misc]
    """What Numba keeps of one function, for processes that compile it at the same time.

    Numba writes an index and then a numbered file. Two processes that compile the function for
    different types may choose the same number, and one that reads between the two writes finds an
    old file: either runs code made for something else. Here both steps are one.
    """

    def save(self, key: Any, data: Any) -> None:
        with suppress(OSError), self._alone():  # a disk that is full keeps nothing
            super().save(key, data)

    def load(self, key: Any) -> Any:
        if not Path(self._index_path).exists():
            return None
        with self._alone():
            return super().load(key)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with ExitStack() as held:
            with suppress(OSError):  # a folder that may only be read has no writers
                lock = held.enter_context(Path(f"{self._index_path}.lock").open("a"))
                if _locks:
                    _locks.flock(lock, _locks.LOCK_EX)
            yield


def cached(dispatcher: Any) -> Any:
    """Keep what Numba compiles of a function on the disk, where there is a place for it."""
    # Numba renews what it keeps on the disk when the file of the function changes, although what it
    # keeps contains the functions of other files too: renew it when any file with kernels changes.
    with suppress(RuntimeError):  # no folder to write to, not even at home: compile in every run
        dispatcher.enable_caching()
        cache = dispatcher._cache
        shared: Any = _SharedFile
        cache._cache_file = shared(cache.cache_path, cache._impl.filename_base, _SOURCES)
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
