"""The package as others get it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import stackcast as sc

ROOT = Path(__file__).parent.parent


def test_the_program_says_its_version() -> None:
    program = [sys.executable, "-c", "from stackcast.cli import main; main()", "--version"]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    assert done.stdout == f"stackcast {sc.__version__}\n"


def test_one_version_everywhere() -> None:
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), flags=re.M)
    assert cited is not None
    assert cited[1] == sc.__version__
    assert re.search(rf"^## {re.escape(sc.__version__)}", (ROOT / "CHANGELOG.md").read_text(), re.M)


@pytest.mark.slow
def test_wheel_and_source_archive_install_and_run_in_empty_environments() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "release.py")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("installs, solves, plays") == 2
    assert "pipx run" in done.stdout
