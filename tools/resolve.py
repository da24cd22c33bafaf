"""Do the pinned versions resolve for the Pythons that are named? Asks pip, installs nothing."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def requirements() -> list[str]:
    """Return everything that the core and the extras ask for, the package itself left out."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [
        *project["dependencies"],
        *(r for name in extras if name not in ("bench", "gambit") for r in extras[name]),
    ]
    return [r for r in wanted if not r.startswith("stackcast")]


def main(versions: list[str]) -> int:
    """Return 1 if some Python has no set of wheels within the constraints."""
    failed = 0
    for version in versions:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run"]
            command += ["--ignore-installed", "--only-binary=:all:", "--target", folder]
            command += ["--python-version", version, "--constraint", str(ROOT / "constraints.txt")]
            result = subprocess.run(
                [*command, *requirements()], capture_output=True, text=True, check=False
            )
        print(f"Python {version}: {'resolves' if result.returncode == 0 else 'does not resolve'}")
        if result.returncode:
            failed = 1
            print(result.stderr.strip(), file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["3.11", "3.12", "3.13"]))
