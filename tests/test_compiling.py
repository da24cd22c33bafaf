"""What compiled functions keep on the disk, when several processes keep it at once."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from stackcast._compiling import _SharedFile

if TYPE_CHECKING:
    from pathlib import Path

_WRITER = """
import sys
from stackcast._compiling import _SharedFile
folder, first = sys.argv[1], int(sys.argv[2])
print("ready", flush=True)
input()
for i in range(150):
    key = ("types", first + i)
    kept = _SharedFile(folder, "function", "stamp")
    kept.save(key, [key] * 50)
    assert kept.load(key) == [key] * 50
"""


def test_processes_that_compile_at_once_find_their_own_code(tmp_path: Path) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(tmp_path), str(1000 * i)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for i in range(2)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    for writer in writers:
        _, errors = writer.communicate(timeout=60)
        assert writer.returncode == 0, errors
    kept = _SharedFile(str(tmp_path), "function", "stamp")
    for i in range(2):
        for j in range(150):
            key = ("types", 1000 * i + j)
            assert kept.load(key) == [key] * 50


_READ_ONLY = """
from numba.core import caching

def refused(self):
    raise OSError(30, "Read-only file system")

caching._CacheLocator.ensure_cache_path = refused
import numpy as np
import stackcast as sc
from stackcast.agents.base import pick
assert pick(np.array([0.0, 1.0]), 0.5) == 1
print(len(sc.agents.names()))
"""


def test_where_nothing_can_be_kept_everything_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _READ_ONLY], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 5
