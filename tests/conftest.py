"""Compiled code is cached by the state of all sources.

Numba renews a cached function when its own file changes, but not when a function that it calls in
another file does. Here a change anywhere starts a fresh cache, so that a test never runs old code.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

_ROOT = Path(__file__).parent.parent
_CACHE = _ROOT / ".pytest_cache" / "numba"


def _use_cache_of_these_sources() -> None:
    digest = hashlib.sha256()
    for file in sorted((_ROOT / "src").rglob("*.py")):
        source = file.read_bytes()
        if b"njit" in source:
            digest.update(source)
    folder = _CACHE / digest.hexdigest()[:16]
    if not folder.exists() and "PYTEST_XDIST_WORKER" not in os.environ:
        shutil.rmtree(_CACHE, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["NUMBA_CACHE_DIR"] = str(folder)


_use_cache_of_these_sources()
