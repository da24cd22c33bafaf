"""The documentation says what is there: pages that are written by programs are up to date."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import stackcast as sc

ROOT = Path(__file__).parent.parent


def test_every_player_is_on_the_page_that_helps_to_choose() -> None:
    page = (ROOT / "docs" / "how-to" / "choose.md").read_text(encoding="utf-8")
    ours = {*sc.agents.names(), *sc.principals.names()}
    missing = sorted(name for name in ours if f"`{name}" not in page)
    assert not missing


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = {p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md")}
    assert sorted(p for p in pages if f" {p}\n" not in navigation) == []


def _commands() -> list[tuple[str, str]]:
    """Every command of the program that a page shows, with the page."""
    found = []
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"```(?:console|bash|sh)\n(.*?)```", text, flags=re.DOTALL):
            joined = block.replace("\\\n", " ")
            for line in joined.splitlines():
                command = re.match(r"(?:\$ )?(stackcast [^|>#&;]*)", line.strip())
                if command:
                    found.append((page.name, command[1].strip()))
    return found


def test_commands_that_pages_show_are_understood() -> None:
    from typer.main import get_command

    from stackcast.cli import app

    commands = _commands()
    assert len(commands) >= 15
    for page, command in commands:
        verb: Any = get_command(app)
        context = verb.context_class(verb)
        words = [re.sub(r"\$\w+|\$\(.*?\)", "x", word) for word in shlex.split(command)[1:]]
        while hasattr(verb, "commands"):
            assert words, f"{page}: {command}: no verb"
            assert words[0] in verb.commands, f"{page}: {command}: no verb {words[0]}"
            verb = verb.commands[words.pop(0)]
            context = verb.context_class(verb, parent=context)
        try:
            verb.make_context(verb.name, words, parent=context.parent)
        except Exception as error:
            raise AssertionError(f"{page}: {command}: {error}") from None


@pytest.mark.slow
@pytest.mark.parametrize("page", ["reference/command-line.md", "how-to/sweeps.md"])
def test_commands_that_pages_show_run_as_they_are_shown(page: str, tmp_path: Path) -> None:
    # What needs a cluster or a run that was stopped has both in test_sweeps.py, test_play_cli.py.
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    for name, content in re.findall(r"```toml\n# (\S+\.toml)\n(.*?)```", text, flags=re.DOTALL):
        shorter = content.replace("[10_000, 100_000]", "200").replace("seeds = 5 ", "seeds = 1 ")
        (tmp_path / name).write_text(shorter)  # 132 short plays instead of 1,320 long ones
    for name in ("mine.toml", "my-game.toml"):
        sc.save_game(sc.load_game("milking"), tmp_path / name)
    special = ("--scheduler", "--resume", "--full")  # the last takes most of an hour
    shown = [
        c for name, c in _commands() if name == Path(page).name and not any(s in c for s in special)
    ]
    assert len(shown) >= 2
    program = [sys.executable, "-c", "from stackcast.cli import main; main()"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    for words in shown:
        words = words.replace("1000,3000,10000,30000", "50,100")
        result = subprocess.run(
            [*program, *shlex.split(words)[1:]],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, f"{words}: {result.stdout}{result.stderr}"
