"""Campaign files: nothing acknowledged is lost, and what cannot be done changes nothing."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from killed_campaigns import GAME, use_wanderer

import stackcast as sc
from stackcast._validation import InputError
from stackcast.campaigns import Campaign, journal
from stackcast.campaigns import campaign as room

SOURCE = str(Path(sc.__file__).parents[1])
PROGRAM = [sys.executable, "-c", "from stackcast.cli import main; main()"]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(room, "find_principal", use_wanderer)
    path = tmp_path / "x.db"
    with Campaign.new(path, GAME, "Wanderer", horizon=600, seed=3) as campaign:
        for _ in range(12):
            advice = campaign.ask()
            campaign.tell([0] * advice.rounds)
        campaign.ask()
    return path


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return list(connection.iterdump())


def program(*arguments: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    return subprocess.run(
        [*PROGRAM, "campaign", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        **settings,
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize(
    ("principal", "kills"),
    [
        ("Wanderer", 20),
        pytest.param("Wanderer", 200, marks=pytest.mark.slow),
        pytest.param("VersionSpace", 100, marks=pytest.mark.slow),
    ],
)
def test_killed_campaigns_end_as_if_nothing_had_happened(
    tmp_path: Path, principal: str, kills: int
) -> None:
    script = Path(__file__).parents[1] / "killed_campaigns.py"
    outcome = subprocess.run(
        [sys.executable, str(script), str(tmp_path), principal, str(kills), "5"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": SOURCE},
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr
    report = json.loads(outcome.stdout)
    assert report["kills"] == kills
    assert report["lost"] == 0
    assert report["wrong"] == 0
    assert report["entries"] > 80


def test_the_file_is_durable_and_keeps_its_references(path: Path) -> None:
    with Campaign.open(path) as campaign:
        connection = campaign._journal._connection
        for pragma, value in (("journal_mode", "wal"), ("synchronous", 2), ("foreign_keys", 1)):
            assert connection.execute(f"PRAGMA {pragma}").fetchone() == (value,)
        with pytest.raises(InputError, match="FOREIGN KEY"), campaign._journal.writing():
            campaign._journal.add("tell", 999, {})
    assert [file.name for file in path.parent.iterdir()] == ["x.db"]


def test_the_one_snapshot_may_be_deleted(path: Path) -> None:
    with Campaign.open(path) as one:
        one.tell("comply=3")
    shutil.copy(path, path.with_name("y.db"))
    with closing(sqlite3.connect(path.with_name("y.db"))) as connection, connection:
        assert connection.execute("SELECT count(*) FROM snapshot").fetchone() == (1,)
        connection.execute("DELETE FROM snapshot")
    asked = []
    for file in (path, path.with_name("y.db")):
        with Campaign.open(file) as campaign:
            before = campaign.status().to_dict()
            asked.append((campaign.ask().to_dict(), before, campaign.status().to_dict()))
    assert asked[0] == asked[1]


def test_a_second_writer_is_told_to_wait(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "_PATIENCE", 0.05)
    with Campaign.open(path) as one, Campaign.open(path) as other:
        with one._journal.writing():
            with pytest.raises(InputError, match="no other program writing to it, found one at"):
                other.tell("comply=1")
            assert other.status().open_ask is not None  # readers need not wait
        assert other.tell("comply=1").answered
        with pytest.raises(InputError, match="an open question"):
            one.tell("comply=1")  # the other's answer is seen
        assert one.ask().entry == other.ask().entry


def test_a_full_disk_changes_nothing(path: Path) -> None:
    before = dump(path)
    with Campaign.open(path) as campaign:
        connection = campaign._journal._connection
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(InputError, match="room on the disk, found none left"):
            campaign.tell([0] * 20_000)
        connection.execute("PRAGMA max_page_count = 1000000")
        assert campaign.open_ask is not None
    assert dump(path) == before
    with Campaign.open(path) as campaign:
        assert campaign.tell("comply=3").answered


def test_a_disk_that_takes_no_more_is_one_sentence_of_the_program(path: Path) -> None:
    resource = pytest.importorskip("resource")
    before = dump(path)

    def nearly_full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))

    result = program("tell", str(path), "comply=3", preexec_fn=nearly_full)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"stackcast: {path}: expected ")
    assert result.stderr.count("\n") == 1
    assert "nothing was changed" in result.stderr
    assert dump(path) == before
    result = program("new", str(path.with_name("y.db")), "--game", "inspection",
                     "--principal", "grid-bandit", preexec_fn=nearly_full)  # fmt: skip
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert {file.name[:4] for file in path.parent.iterdir()} == {"x.db"}


_AS_READER = """
import os, shutil, sys
from stackcast.campaigns import Campaign
from stackcast._validation import InputError
path, scratch = sys.argv[1:]
with Campaign.open(scratch) as campaign:   # imports all that is needed while it may
    campaign.tell("comply=1"), campaign.entries(), campaign.transcript()
if os.geteuid() == 0:
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
with Campaign.open(path) as campaign:
    print(campaign.ask().entry, len(campaign.entries()), campaign.transcript().rounds)
    for verb in (lambda: campaign.tell("comply=1"), campaign.undo):
        try:
            verb()
        except InputError as error:
            print(error)
"""


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs the rights of POSIX")
def test_a_read_only_file_can_be_read_and_is_left_alone(path: Path) -> None:
    # Not in tmp_path: its parents are closed to other users, and the owner root may write always.
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "x.db"
        place.write_bytes(path.read_bytes())
        before = place.read_bytes()
        place.chmod(0o444)
        Path(folder).chmod(0o555)
        result = subprocess.run(
            [sys.executable, "-c", _AS_READER, str(place), str(path)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": SOURCE},
        )
        Path(folder).chmod(0o755)
        assert result.returncode == 0, result.stderr
        first, *refusals = result.stdout.splitlines()
        assert first.startswith("26 26 ")
        expected = f"{place}: expected a file that can be written to, found one that can only"
        assert [line.startswith(expected) for line in refusals] == [True, True]
        assert place.read_bytes() == before
        assert os.listdir(folder) == ["x.db"]  # noqa: PTH208


def test_a_truncated_file_is_refused_and_left_alone(path: Path) -> None:
    whole = path.read_bytes()
    for length in {0, 1, 15, 16, 100, 4096, 5000, *range(8192, len(whole), 7 * 1024)}:
        path.write_bytes(whole[:length])
        for verb in (Campaign.ask, Campaign.status, lambda c: c.tell("comply=1")):
            with pytest.raises(InputError) as caught, Campaign.open(path) as campaign:
                verb(campaign)
            assert str(caught.value).startswith(f"{path}: expected a campaign")
            assert path.read_bytes() == whole[:length]


def test_files_of_another_sort_are_refused(path: Path) -> None:
    with pytest.raises(InputError, match=r"found no readable file \(no such file or directory\)"):
        Campaign.open(path.with_name("none.db"))
    with pytest.raises(InputError, match="a file that does not exist yet"):
        Campaign.new(path, GAME, "Wanderer")
    with pytest.raises(InputError, match=r"a place that can be written to|that can be opened"):
        Campaign.new(path.parent / "no" / "x.db", GAME, "Wanderer")
    other = path.with_name("other.db")
    other.write_text("some text")
    with pytest.raises(InputError, match="a file of another sort"):
        Campaign.open(other)
    other.unlink()
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE t (x)")
    with pytest.raises(InputError, match="another SQLite file"):
        Campaign.open(other)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(InputError, match="format 99, of a later version"):
        Campaign.open(path)


def test_an_altered_snapshot_is_not_used(path: Path) -> None:
    with Campaign.open(path) as campaign:
        campaign.tell("comply=1")
    shutil.copy(path, path.with_name("y.db"))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE snapshot SET state = substr(state, 1, length(state) - 3)")
    with Campaign.open(path) as one, Campaign.open(path.with_name("y.db")) as other:
        assert one.ask().to_dict() == other.ask().to_dict()


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("ask", {"strategy": [0.5, 0.5], "rounds": "many"}),
        ("ask", []),
        ("tell", {"strategy": [1, 0, 0], "as_asked": True, "counts": {"comply": 1}}),
        ("tell", None),
        ("start", {"game": [], "fingerprint": "", "principal": "x", "settings": {}}),
        ("start", {"game": {}, "fingerprint": "", "principal": "x", "settings": {}}),
    ],
)
@pytest.mark.parametrize("verb", ["ask", "status", "log", "tell", "undo", "export"])
def test_json_of_another_shape_is_one_sentence(path: Path, kind: str, body: Any, verb: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        last = "(SELECT max(id) FROM entry WHERE kind = ?)"
        connection.execute(f"UPDATE entry SET body = ? WHERE id = {last}", (json.dumps(body), kind))
    before = dump(path)
    verbs: dict[str, Any] = {
        "ask": Campaign.ask, "status": Campaign.status, "log": Campaign.entries,
        "tell": lambda c: c.tell("comply=1"), "undo": Campaign.undo,
        "export": lambda c: c.export(path.with_suffix(".csv")),
    }  # fmt: skip
    said = ""
    try:
        with Campaign.open(path) as campaign:
            verbs[verb](campaign)
    except InputError as error:
        said = str(error)
    if said:
        assert said.startswith(f"{path}")
        assert "\n" not in said
        assert dump(path) == before
    else:  # the damaged entry is not one that this verb reads
        assert verb in ("undo", "tell", "ask") or (verb == "log" and body)


@pytest.mark.parametrize(
    ("responses", "played", "sentence"),
    [
        ("comply=1,vialate=2", None, "(perhaps 'violate'), found 'vialate'"),
        ("comply=0", None, "responses: expected 1 to 10,000,000 rounds, found 0"),
        ({"comply": -1}, None, "count of comply: expected a whole number, found -1"),
        ([7], None, "numbers from 0 to 2, found 7"),
        ("comply=1", "0.5,0.6,0", "probabilities that sum to 1"),
        ("comply=1", "thorough=0.5,heavy=0.5", "names of the principal's actions"),
        ("comply=1", "half,half,0", "played: expected numbers, found 'half'"),
    ],
)
def test_what_cannot_be_told_changes_nothing(
    path: Path, responses: Any, played: Any, sentence: str
) -> None:
    before = dump(path)
    with Campaign.open(path) as campaign:
        with pytest.raises(InputError) as caught:
            campaign.tell(responses, played)
        assert sentence in str(caught.value)
        assert "\n" not in str(caught.value)
        assert campaign.open_ask is not None
    assert dump(path) == before


def test_a_tell_without_an_ask_changes_nothing(path: Path) -> None:
    with Campaign.open(path) as campaign:
        campaign.tell("comply=1")
    before = dump(path)
    with (
        Campaign.open(path) as campaign,
        pytest.raises(InputError, match=r"an open question .*found none"),
    ):
        campaign.tell("comply=1")
    assert dump(path) == before
