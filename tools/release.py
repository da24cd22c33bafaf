"""Build the wheel and the source archive, and try both in empty environments.

``python tools/release.py [PYTHON …]`` writes ``dist/`` and installs the wheel, with the core
dependencies alone, for every Python that is named (by default this one): version, one-shot
solution, a short play with its report, and the same through ``pipx``. The source archive is
installed once. The exit code is 1 if anything failed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
COMMANDS = (
    ["--version"],
    ["solve", "milking", "--json"],
    ["play", "--rounds", "2000", "--out", "out"],
)


def run(words: list[str], folder: Path) -> str:
    """Return what a command prints; its own folder, no sources of ours in sight."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(words, cwd=folder, env=kept, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: exit code {done.returncode}\n{done.stderr.strip()}")
    return done.stdout


def built() -> tuple[Path, Path]:
    """Return the wheel and the source archive, made from the sources as they are."""
    shutil.rmtree(DIST, ignore_errors=True)
    run([sys.executable, "-m", "build", "--outdir", str(DIST), str(ROOT)], ROOT)
    (wheel,), (source,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    return wheel, source


def tried(python: str, package: Path, folder: Path) -> None:
    """Install a package in an empty environment and use it."""
    run([python, "-m", "venv", str(folder / "env")], folder)
    tools = folder / "env" / "bin"
    limits = ["--constraint", str(ROOT / "constraints.txt")]
    quiet = ["--quiet", "--disable-pip-version-check"]
    run([str(tools / "python"), "-m", "pip", "install", *quiet, *limits, str(package)], folder)
    for words in COMMANDS:
        run([str(tools / "stackcast"), *words], folder)
    assert (folder / "out" / "report.html").stat().st_size > 10_000
    version = run([str(tools / "python"), "--version"], folder).strip()
    print(f"{package.name} in an empty environment of {version}: installs, solves, plays")


def through_pipx(wheel: Path, folder: Path) -> None:
    """Run the demo that needs no clone."""
    run([sys.executable, "-m", "venv", str(folder / "env")], folder)
    python = str(folder / "env" / "bin" / "python")
    run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pipx"], folder)
    os.environ["PIPX_HOME"] = str(folder / "pipx")
    words = ["pipx", "run", "--spec", str(wheel), "stackcast", "play", "--rounds", "2000"]
    printed = run([python, "-m", *words, "--out", "out"], folder)
    print("pipx run --spec dist/*.whl stackcast play: " + " ".join(printed.split())[:72] + " …")


def main(pythons: list[str]) -> None:
    """Build, try, say what was tried."""
    wheel, source = built()
    with tempfile.TemporaryDirectory() as name:
        trials = [(python, wheel) for python in pythons or [sys.executable]]
        for i, (python, package) in enumerate([*trials, (sys.executable, source)]):
            folder = Path(name) / str(i)
            folder.mkdir()
            tried(python, package, folder)
        through_pipx(wheel, Path(name))


if __name__ == "__main__":
    main(sys.argv[1:])
