"""The six parts of the studio in Chromium, as a person uses them, from an empty folder.

Run by ``make test-studio``: minutes, of which the first compile takes most.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from browsing import PATIENCE, VIEWS, Person, browser, person
from serving import TOKEN, Served, served

import stackcast as sc
from stackcast.campaigns import Campaign
from stackcast.studio.games import table_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow
COMMAND = [sys.executable, "-c", "from stackcast.cli import main; main()"]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as found:
        yield found


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "folder") as found:
        yield found


@pytest.fixture
def visitor(studio: Served, chromium: Any) -> Iterator[Person]:
    with person(chromium, studio.port) as found:
        yield found


def until(condition: Any, seconds: float = 60) -> Any:
    """Wait until a condition holds, and return what it found."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError("waited too long")


# 1. Games ---------------------------------------------------------------------------------------


def test_a_game_is_written_down_checked_undone_and_exported(
    visitor: Person, studio: Served, tmp_path: Path
) -> None:
    page = visitor.go("/games")
    visitor.button("New game").click()
    page.get_by_label("Your payoff, first and left").wait_for()
    file = studio.root / "new-game.toml"
    assert file.exists()
    cell = visitor.field("Your payoff, first and left")
    cell.fill("a lot")
    visitor.reads("principal_payoffs, row 1, entry 1: expected a finite number, found 'a lot'.")
    assert cell.get_attribute("aria-invalid") == "true"
    assert sc.load_game(file, sc.FiniteGame).principal_payoffs[0, 0] == 1  # a mistake is not kept
    cell.fill("2,5")
    until(lambda: sc.load_game(file, sc.FiniteGame).principal_payoffs[0, 0] == 2.5)
    assert cell.get_attribute("aria-invalid") is None
    cell.press("Enter")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == (
        "Your payoff, second and left"
    )
    visitor.button("Add an answer").click()
    page.keyboard.type("middle")
    page.keyboard.press("Enter")
    visitor.button("Add an action of yours").click()
    until(lambda: sc.load_game(file, sc.FiniteGame).shape == (4, 3))
    page.get_by_label("Remove second").click()
    until(lambda: sc.load_game(file, sc.FiniteGame).shape == (3, 3))
    page.locator(".toast").get_by_role("button", name="Undo").click()
    until(lambda: sc.load_game(file, sc.FiniteGame).shape == (4, 3))
    page.reload()  # what was typed and what can be undone outlast it
    page.get_by_label("Your payoff, second and middle").wait_for()
    visitor.button("Undo").click()
    until(lambda: sc.load_game(file, sc.FiniteGame).shape == (3, 3))
    page.keyboard.press("Control+Shift+Z")
    until(lambda: sc.load_game(file, sc.FiniteGame).shape == (4, 3))

    visitor.field("A new limit").fill("nobody <= 1")
    visitor.button("Add limit").click()
    visitor.reads("expected names of the principal's actions")
    visitor.field("A new limit").fill("first <= 0.4")
    visitor.button("Add limit").click()
    until(lambda: len(sc.load_game(file, sc.FiniteGame).constraints) == 1)
    visitor.field("Name of the game").fill("My town")
    visitor.field("Name of the game").press("Tab")
    until(lambda: sc.load_game(file).name == "My town")

    for form in ("JSON", "TOML", "Gambit .nfg"):
        page.get_by_text("Export", exact=True).click()
        if form == "Gambit .nfg":
            visitor.button(form).click()
            visitor.reads("format: expected")  # .nfg knows no limits
            continue
        saved = visitor.saves(visitor.button(form))
        saved.save_as(tmp_path / saved.suggested_filename)
    visitor.go("/games")
    visitor.choose(visitor.button("Open a file…"), tmp_path / "My-town.json")
    page.wait_for_url("**/My-town.json")
    assert sc.load_game(studio.root / "My-town.json").fingerprint == sc.load_game(file).fingerprint
    page.get_by_text("The story, and where it comes from").click()
    visitor.button("Delete this game").click()
    page.locator(".toast").get_by_text("Deleted").wait_for()
    page.locator(".toast").get_by_role("button", name="Undo").click()
    page.get_by_label("Your payoff, first and left").wait_for()
    assert len(list(studio.root.glob("*.*"))) == 2
    (tmp_path / "bad.nfg").write_text("NFG 1 R this is none")
    visitor.go("/games")
    visitor.choose(visitor.button("Open a file…"), tmp_path / "bad.nfg")
    visitor.reads("bad.nfg")
    visitor.field("Search the catalogue").fill("smuggler")
    visitor.reads("1 of 26 games")


def test_half_known_games_and_names_that_are_script(visitor: Person, studio: Served) -> None:
    page = visitor.go("/game/catalogue/inspection")
    page.get_by_text("As ranges", exact=True).click()
    visitor.reads("saved in inspection.toml")
    low = page.get_by_label("Agent's payoff at least, announced visit and comply")
    low.fill("0.9")
    visitor.reads("expected")
    low.fill("0.55")
    until(lambda: "best safe one" in page.locator(".picture").inner_text())
    assert "agent_payoffs_low" in (studio.root / "inspection.toml").read_text()
    page.get_by_text("Unknown", exact=True).click()
    visitor.reads("Without the agent’s payoffs there are no regions to show.")
    script = "<img src=x onerror=alert(1)>"
    page.get_by_label("Name of an answer").first.fill(script)
    page.get_by_label("Name of an answer").first.press("Enter")
    until(lambda: script in (studio.root / "inspection.toml").read_text())
    visitor.go("/games")
    assert page.locator("main img").count() == 0


def test_two_tabs_do_not_write_over_each_other(visitor: Person, studio: Served) -> None:
    visitor.go("/games")
    visitor.button("New game").click()
    visitor.field("Your payoff, first and left").wait_for()
    other = visitor.window()
    visitor.go("/game/folder/new-game.toml", other)
    visitor.field("Your payoff, first and left").fill("7")
    file = studio.root / "new-game.toml"
    until(lambda: sc.load_game(file, sc.FiniteGame).principal_payoffs[0, 0] == 7)
    visitor.field("Your payoff, first and right", other).fill("8")
    visitor.reads("was changed elsewhere", other)
    assert sc.load_game(file, sc.FiniteGame).principal_payoffs[0, 1] == 0
    visitor.button("Load the other version", other).click()
    until(lambda: visitor.field("Your payoff, first and left", other).input_value() == "7")
    visitor.field("Your payoff, first and right", other).fill("8")
    until(lambda: sc.load_game(file, sc.FiniteGame).principal_payoffs[0].tolist() == [7, 8])


# 2. See -----------------------------------------------------------------------------------------


def test_a_dragged_commitment_never_waits_for_the_server(visitor: Person) -> None:
    page = visitor.go("/game/catalogue/inspection")
    visitor.reads("If every payoff of the agent may be off")
    before = len(visitor.requests)
    handle = page.get_by_role("slider", name="Your commitment")
    box = handle.locator(".grip").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    for step in range(1, 12):
        page.mouse.move(box["x"] - 14 * step, box["y"] + 4 * step)
    page.mouse.up()
    assert "falsify records" in page.locator("#statement").inner_text()
    handle.press("Home")
    assert page.locator("#mine").inner_text() == "0.825"
    handle.press("End")
    assert 0.7 < float(page.locator("#mine").inner_text()) < 0.825
    handle.press("Shift+ArrowUp")
    visitor.field("Share of spot check in per cent").fill("50")
    visitor.field("Share of spot check in per cent").press("Enter")
    assert "50% spot check" in page.locator("#statement").inner_text()
    slider = visitor.field("Margin to keep")
    slider.focus()
    for _ in range(10):
        slider.press("ArrowRight")
    assert "costs" in (slider.get_attribute("aria-valuetext") or "")
    assert len(visitor.requests) == before
    game = sc.load_game("inspection")
    margin = float(page.locator(".margin-words strong").first.inner_text())
    value = float(page.locator(".margin-words strong").nth(1).inner_text())
    assert value == pytest.approx(sc.solve(game, margin).value, abs=2e-3)


def test_two_actions_are_a_line_and_seven_a_choice_of_three(visitor: Person) -> None:
    page = visitor.go("/game/catalogue/milking")
    handle = page.get_by_role("slider", name="Your commitment")
    handle.press("Home")
    assert page.locator("#mine").inner_text() == "0.500"
    handle.press("ArrowLeft")
    visitor.go("/game/catalogue/quantity-leadership")
    visitor.reads("the rest held")
    visitor.field("Corner 1").select_option("produce 5")
    visitor.button("Go to V*").click()
    assert page.locator("#mine").inner_text() == "21.000"


def test_coverage_bars_keep_to_the_resources(visitor: Person) -> None:
    page = visitor.go("/game/catalogue/wildlife")
    bar = page.get_by_role("slider", name="Coverage of airstrip")
    box = bar.bounding_box()
    page.mouse.click(box["x"] + 0.7 * box["width"], box["y"] + 5)
    assert abs(int(bar.get_attribute("aria-valuenow")) - 70) <= 1
    assert page.locator("#placed").inner_text() == "2.00 of 2"
    bar.press("End")
    assert page.locator("#placed").inner_text() == "2.00 of 2"
    visitor.button("Go to V*").click()
    assert page.locator("#mine").inner_text() == "−1.600"


# 3. Play ----------------------------------------------------------------------------------------


def test_a_principal_is_watched_paused_stopped_and_kept(visitor: Person, studio: Served) -> None:
    page = visitor.go("/play")
    page.get_by_label("Rounds").fill("many")
    visitor.button("Start").click()
    visitor.reads("rounds: expected a whole number")
    page.get_by_label("Rounds").fill("3000")
    visitor.field("Principal").select_option("UniformExplore")
    visitor.button("Start").click()
    visitor.button("Pause").wait_for(timeout=PATIENCE)
    page.get_by_text("100", exact=True).click()
    visitor.button("Pause").click()
    visitor.button("Go on").wait_for()
    visitor.button("Step").click()
    page.reload()
    visitor.button("Go on").click(timeout=60_000)
    visitor.button("Stop and keep").click()
    visitor.reads("What was played is kept")
    page.get_by_role("link", name="Open its report").wait_for(timeout=PATIENCE)
    name = next(path.name for path in studio.root.iterdir() if path.is_dir())
    assert 0 < sc.Transcript.load(studio.root / name / "transcript.parquet").rounds < 3000
    visitor.button("Go on").click()
    page.get_by_text("All it can", exact=True).click()
    until(lambda: not (studio.root / name / "run.json").exists(), 120)
    assert sc.Transcript.load(studio.root / name / "transcript.parquet").rounds == 3000
    page.get_by_role("link", name="Open its report").click(timeout=60_000)
    report = page.frame_locator("iframe.report")
    report.locator("h1").first.wait_for()


def test_a_person_commits_and_is_scored(visitor: Person, studio: Served) -> None:
    page = visitor.go("/play")
    page.get_by_text("You are the principal", exact=True).click()
    visitor.button("Start").click()
    visitor.button("Commit for").wait_for(timeout=60_000)
    visitor.field("Rounds").fill("none")
    visitor.button("Commit for").click()
    visitor.reads("rounds: expected a whole number")
    visitor.field("Rounds").fill("60")
    visitor.field("Share of spot check in per cent").fill("90")
    visitor.field("Share of spot check in per cent").press("Tab")
    visitor.button("Commit for").click()
    visitor.reads("strategy")
    for name, share in (("announced visit", 40), ("spot check", 30), ("records audit", 30)):
        visitor.field(f"Share of {name} in per cent").fill(str(share))
        visitor.field(f"Share of {name} in per cent").press("Tab")
    visitor.button("Commit for").click()
    visitor.reads("in 60 rounds", timeout=PATIENCE)
    page.wait_for_function(
        "() => /The learner had [0-9.]+/.test(document.querySelector('#score').textContent)",
        timeout=PATIENCE,
    )
    said = page.locator("#score").inner_text()
    earned, most = float(re.findall(r"earned (\S+) a", said)[0]), float(said.split()[-1][:-1])
    assert earned <= most
    page.reload()
    visitor.reads("in 60 rounds")
    visitor.button("Stop and keep").click()
    page.get_by_role("link", name="Open its report").wait_for(timeout=60_000)
    name = next(path.name for path in studio.root.iterdir() if path.is_dir())
    assert sc.Transcript.load(studio.root / name / "transcript.parquet").rounds == 60


def test_a_person_answers_by_the_keys_and_is_learned(visitor: Person) -> None:
    page = visitor.go("/play")
    page.get_by_text("You are the agent", exact=True).click()
    visitor.field("Principal").select_option("UniformExplore")
    page.get_by_label("Rounds").fill("40")
    visitor.button("Start").click()
    visitor.reads("Nobody has been here yet.", timeout=60_000)
    for times, key in enumerate("1213", 1):
        page.keyboard.press(key)
        visitor.reads(f"has seen {times} answer")
    visitor.field("How often").select_option("the next 10 visits")
    page.get_by_role("button", name=re.compile("^comply")).click()
    visitor.reads("has seen 14 answers; 26 visits are left")
    assert page.locator(".picture, figure").count() == 0  # the strategies are not shown before
    page.reload()
    visitor.reads("has seen 14 answers")
    visitor.button("Stop and compare").click()
    visitor.reads("It would now commit to", timeout=PATIENCE)


# 4. Campaigns -----------------------------------------------------------------------------------


def started(visitor: Person) -> Any:
    """Start a campaign on the game inspection, and wait for its first advice."""
    page = visitor.go("/campaigns?game=catalogue%2Finspection")
    visitor.field("About how many rounds").fill("many")
    visitor.button("Start").click()
    visitor.reads("horizon: expected a whole number")
    visitor.field("About how many rounds").fill("300")
    visitor.button("Start").click()
    page.wait_for_url("**/campaigns/inspection.db")
    visitor.field("Days to draw").wait_for(timeout=PATIENCE)
    return page


def advised(page: Any) -> None:
    """Wait for the next advice."""
    page.locator(".advice[aria-busy=false] .schedule").wait_for(timeout=PATIENCE)


def told(studio: Served) -> list[list[int]]:
    """Return the counts that the campaign holds."""
    rows = studio.get("/api/campaigns/inspection.db")["history"]
    return [row["answers"] for row in rows if row["kind"] == "tell"]


def test_a_campaign_is_told_corrected_undone_and_declined(
    visitor: Person, studio: Served, tmp_path: Path
) -> None:
    page = started(visitor)
    visitor.field("Days to draw").fill("10")
    visitor.field("Days to draw").press("Tab")
    until(lambda: page.locator(".schedule li").count() == 10)
    visitor.field("comply").fill("6")
    page.reload()  # what was typed outlasts it
    advised(page)
    assert visitor.field("comply").input_value() == "6"
    visitor.button("One cut corners more").click()
    visitor.button("Record 7 rounds").click()
    visitor.reads("Recorded as entry")
    assert told(studio) == [[6, 1, 0]]
    advised(page)
    page.get_by_text("By day", exact=True).click()
    visitor.field("What happened on Today").select_option("falsify records")
    visitor.button("Record 1 round").click()
    until(lambda: told(studio) == [[6, 1, 0], [0, 0, 1]])
    advised(page)
    page.get_by_role("button", name=re.compile("^Correct entry")).first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("falsify records", exact=True).fill("0")
    dialog.get_by_label("comply", exact=True).fill("1")
    dialog.get_by_role("button", name=re.compile("^Correct entry")).click()
    until(lambda: told(studio) == [[6, 1, 0], [1, 0, 0]])
    advised(page)
    page.locator(".toast").get_by_role("button", name="Undo").click()
    until(lambda: told(studio) == [[6, 1, 0], [0, 0, 1]])
    advised(page)

    visitor.button("Decline with a reason…").click()
    page.get_by_text("Something else", exact=True).click()
    visitor.field("The limit in your own words").fill("nobody <= 1")
    visitor.button("Decline and ask again").click()
    dialog = page.get_by_role("dialog", name="Decline this advice")
    dialog.get_by_text("expected names of the principal's actions").wait_for()
    visitor.field("The limit in your own words").fill("records audit <= 0.1")
    page.locator("#why").fill("The auditor is on leave")
    visitor.button("Decline and ask again").click()
    visitor.reads("The auditor is on leave")
    advised(page)
    advice = studio.get("/api/campaigns/inspection.db")["advice"]
    assert advice["strategy"][2] <= 0.1 + 1e-9
    page.get_by_text("File", exact=True).click()
    (tmp_path / "march.csv").write_text("response\ncomply\nlaugh\n")
    visitor.choose(visitor.button("Choose a file…"), tmp_path / "march.csv")
    visitor.reads("laugh")
    (tmp_path / "march.csv").write_text("response,count\ncomply,4\n?,1\n")
    visitor.choose(visitor.button("Choose a file…"), tmp_path / "march.csv")
    until(lambda: told(studio)[-1] == [4, 0, 0])
    advised(page)
    page.get_by_text("Export", exact=True).click()
    saved = visitor.saves(visitor.button("CSV, one row a round"))
    saved.save_as(tmp_path / "out.csv")
    assert (
        len((tmp_path / "out.csv").read_text().splitlines()) == 1 + 7 + 1 + 4
    )  # one response nobody saw
    calendar = visitor.saves(visitor.button("Save as calendar"))
    assert calendar.suggested_filename == "inspection.ics"
    visitor.button("Pause").click()
    visitor.reads("This campaign is paused")
    page.locator(".advice").get_by_role("button", name="Go on").click()
    advised(page)
    visitor.button("Close", page.locator(".head")).click()
    visitor.reads("This campaign is closed.")
    visitor.go("/campaigns")
    visitor.reads("13 of about 300 rounds")


def test_two_tabs_and_a_second_process_tell_one_campaign(visitor: Person, studio: Served) -> None:
    page = started(visitor)
    other = visitor.window()
    visitor.go("/campaigns/inspection.db", other)
    advised(other)
    visitor.field("comply", other).fill("3")
    visitor.button("Record 3 rounds", other).click()
    visitor.reads("3 of about 300 rounds told", page)  # the first tab hears of it
    advised(page)
    file = str(studio.root / "inspection.db")
    for arguments in (["ask", file], ["tell", file, "cut corners=2"]):
        subprocess.run([*COMMAND, "campaign", *arguments], check=True, capture_output=True)
    visitor.reads("5 of about 300 rounds told", page)
    visitor.reads("5 of about 300 rounds told", other)
    advised(page)
    visitor.field("comply").fill("1")
    visitor.button("Record 1 round").click()
    until(lambda: told(studio) == [[3, 0, 0], [0, 2, 0], [1, 0, 0]])
    with Campaign.open(file) as campaign:
        assert campaign.status().rounds == 6


def launched(root: Path, port: int) -> subprocess.Popen[str]:
    """Start the command, and wait for its address."""
    options = ["--port", str(port), "--no-browser", "--token", TOKEN]
    process = subprocess.Popen(
        [*COMMAND, "studio", str(root), *options], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith(f"http://127.0.0.1:{port}/")
    return process


def test_a_kill_loses_nothing_that_was_told_or_played(chromium: Any, tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    root = tmp_path / "folder"
    process = launched(root, port)
    try:
        with person(chromium, port) as visitor:
            page = started(visitor)
            visitor.field("comply").fill("4")
            visitor.button("Record 4 rounds").click()
            visitor.reads("4 of about 300 rounds told")
            advised(page)
            player = visitor.window()
            visitor.go("/play", player)
            player.get_by_label("Rounds").fill("4000")
            visitor.field("Principal", player).select_option("UniformExplore")
            visitor.button("Start", player).click()
            visitor.button("Pause", player).wait_for(timeout=PATIENCE)
            player.get_by_text("100", exact=True).click()
            until(lambda: list(root.glob("*/run.ckpt*")), 120)
            process.kill()
            process.communicate()
            visitor.field("cut corners").fill("2")
            visitor.button("Record 2 rounds").click()
            visitor.reads("The studio does not answer. Is it still running?")
            time.sleep(2)  # the worker ends when its server does
            process = launched(root, port)
            visitor.button("Record 2 rounds").click()
            visitor.reads("6 of about 300 rounds told", timeout=PATIENCE)
            visitor.go("/play", player)
            player.get_by_role("link", name=re.compile("inspection-0")).first.click()
            visitor.reads("was stopped before it was over", player)
            player.get_by_text("All it can", exact=True).click()
            visitor.button("Go on", player).click()
            until(lambda: (root / "inspection-0" / "summary.json").exists(), 120)
            visitor.troubles.clear()  # the lost event stream
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    record = sc.Transcript.load(root / "inspection-0" / "transcript.parquet")
    game: Any = record.game
    build = sc.protocol.build
    pair = (
        build("principal", "UniformExplore", game, horizon=4000),
        build("agent", "Calibrated", game),
    )
    assert record == sc.play(*pair, 4000, game)


# 5. Forecasts, 6. reports -----------------------------------------------------------------------


def test_forecasts_are_judged_corrected_and_saved(
    visitor: Person, studio: Served, tmp_path: Path
) -> None:
    rng = np.random.default_rng(7)
    chance = rng.random(1500)
    forecast = np.where(np.arange(1500) < 1000, chance, chance / 2).round(3)
    outcome = (rng.random(1500) < chance).astype(int)
    rows = "\n".join(f"{p},{y}" for p, y in zip(forecast, outcome, strict=True))
    page = visitor.go("/forecasts")
    (tmp_path / "rain.csv").write_text("forecast,outcome\n1.7,0\n")
    visitor.choose(visitor.button("Choose a file…"), tmp_path / "rain.csv")
    visitor.reads("a number from 0 to 1 (percent: divide by 100), found 1.7", timeout=60_000)
    visitor.go("/forecasts")
    (tmp_path / "rain.csv").write_text(f"forecast,outcome\n{rows}\n")
    visitor.choose(visitor.button("Choose a file…"), tmp_path / "rain.csv")
    page.get_by_text("Refuted.").wait_for(timeout=PATIENCE)
    assert "–" not in page.locator("#verdict").inner_text()
    visitor.field("Threshold of the decision").fill("2")
    visitor.field("Threshold of the decision").press("Enter")
    visitor.reads("threshold: expected")
    visitor.field("Threshold of the decision").fill("0.4")
    visitor.field("Threshold of the decision").press("Enter")
    page.wait_for_url("**threshold=0.4")
    page.get_by_text("corrected", exact=True).click()
    assert "Refuted" not in page.locator("#verdict").inner_text()
    saved = visitor.saves(visitor.button("Download the corrected column"))
    saved.save_as(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().startswith("forecast,outcome,recalibrated\n")
    page.reload()
    page.get_by_text("Refuted.").wait_for(timeout=60_000)
    assert visitor.field("Threshold of the decision").input_value() == "0.4"
    script = "<script>alert(1)</script>.csv"
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    page.evaluate(
        """name => { const data = new DataTransfer(); data.items.add(new File(["a,b\\n"], name));
        location.hash = "#/forecasts"; window.dropped = data; }""",
        script,
    )
    page.locator(".drop").wait_for()
    page.evaluate(
        """() => document.querySelector(".drop").dispatchEvent(
        new DragEvent("drop", { dataTransfer: window.dropped, bubbles: true, cancelable: true }))"""
    )
    visitor.reads("expected")
    assert all("<" not in path.name for path in studio.root.iterdir())


def test_reports_open_without_running_anything(visitor: Person, studio: Served) -> None:
    arguments = ["play", "--principal", "UniformExplore", "--rounds", "300", "--quiet", "--out"]
    subprocess.run(
        [*COMMAND, *arguments, str(studio.root / "mine")], check=True, capture_output=True
    )
    evil = "<title>Evil</title><h1>Evil</h1><script>parent.document.title = 'taken'</script>"
    (studio.root / "evil.html").write_text(evil)
    (studio.root / "record.parquet").write_bytes(
        (studio.root / "mine" / "transcript.parquet").read_bytes()
    )
    page = visitor.go("/reports")
    assert page.locator("main a").count() == 3
    page.get_by_role("link", name="record").click()
    visitor.reads("Over 300 rounds the principal earned")
    visitor.go("/reports/mine/report.html")
    page.frame_locator("iframe").locator("h1").first.wait_for()
    visitor.go("/reports/evil.html")
    page.frame_locator("iframe").get_by_role("heading", name="Evil").wait_for()
    assert "taken" not in page.title()
    visitor.troubles.clear()  # Chromium says that the script was blocked


# What holds on every view -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the script of axe-core, fetched by npm for this run alone."""
    npm, place = shutil.which("npm"), tmp_path_factory.mktemp("axe")
    if npm is None:
        pytest.skip("no npm here to fetch axe-core")
    options = ["--no-audit", "--no-fund", "--ignore-scripts", "--silent", "--prefix", str(place)]
    got = subprocess.run([npm, "install", *options, "axe-core@4.10.3"], capture_output=True)
    script = place / "node_modules" / "axe-core" / "axe.min.js"
    if got.returncode or not script.exists():
        pytest.skip("npm could not fetch axe-core")
    return script.read_text()


def test_no_view_has_a_violation_of_accessibility(
    studio: Served, chromium: Any, axe: str, tmp_path: Path
) -> None:
    game = table_of(sc.load_game("inspection", sc.FiniteGame)).model_dump()
    studio.post("/api/campaigns", {"file": "mine.db", "table": game, "horizon": 300})
    studio.get("/api/campaigns/mine.db?ask=1")
    studio.post("/api/campaigns/mine.db/tell", {"counts": {"comply": 2, "cut corners": 1}})
    studio.get("/api/campaigns/mine.db?ask=1")
    play = {"origin": "catalogue", "game": "inspection", "principal": "UniformExplore"}
    watched = studio.post("/api/plays", {**play, "mode": "watch", "rounds": 400})["name"]
    seats = [
        studio.post("/api/plays", {**play, "mode": mode, "rounds": 40})["name"]
        for mode in ("principal", "agent")
    ]
    rows = "".join(f"{0.2 + 0.1 * (t % 5)},{int(t % 3 == 0)}\n" for t in range(200))
    studio.upload("/api/upload/forecasts", "rain.csv", f"forecast,outcome\n{rows}".encode())
    path = f"/api/plays/{watched}"
    until(lambda: studio.get(path)["info"]["state"] == "kept", PATIENCE / 1000)
    views = [
        *VIEWS,
        *(f"/play/{name}" for name in (watched, *seats)),
        "/campaigns/mine.db",
        "/forecasts/rain.csv?threshold=0.5",
        f"/reports/{watched}/report.html",
    ]
    serious = """async () => (await axe.run(document, { iframes: false })).violations
        .filter(v => ["serious", "critical"].includes(v.impact))
        .map(v => `${v.id}: ${v.nodes[0].html.slice(0, 200)}`)"""
    found = []
    for theme, width in (("light", 1600), ("dark", 400)):
        options = {"theme": theme, "width": width, "bypass_csp": True}
        with person(chromium, studio.port, **options) as visitor:
            for view in views:
                page = visitor.go(view)
                page.wait_for_timeout(500)
                page.evaluate(axe)
                found += [(theme, view, trouble) for trouble in page.evaluate(serious)]
    assert not found, found


@pytest.mark.parametrize("width", [400, 800, 1920])
def test_nothing_overflows_and_no_layout_jumps(studio: Served, chromium: Any, width: int) -> None:
    watch = """() => { window.moved = 0; new PerformanceObserver((list) => {
        for (const e of list.getEntries()) if (!e.hadRecentInput) window.moved += e.value;
        }).observe({ type: "layout-shift", buffered: false }); }"""
    with person(chromium, studio.port, width=width, theme="dark") as visitor:
        for view in VIEWS:
            page = visitor.go(view)
            page.evaluate(watch)
            page.wait_for_timeout(600)
            over = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert page.evaluate(over) <= 0, view
            assert page.evaluate("window.moved") < 0.1, view  # "good" by Core Web Vitals


def test_the_keyboard_is_enough(visitor: Person) -> None:
    page = visitor.go("/games")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "inspection":
            break
    page.keyboard.press("Enter")
    page.get_by_label("Your payoff, announced visit and comply").wait_for()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('role')") == "slider":
            break
    before = page.locator("#mine").inner_text()
    page.keyboard.press("Home")
    assert page.locator("#mine").inner_text() == "0.825" != before
    assert page.evaluate("getComputedStyle(document.activeElement.querySelector('.focus')).stroke")


# The house rules --------------------------------------------------------------------------------


def test_the_server_speaks_to_no_other_machine(studio: Served, visitor: Person) -> None:
    reached: list[Any] = []
    watching = True

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if watching and event in ("socket.connect", "socket.getaddrinfo"):
            reached.append(arguments)

    sys.addaudithook(hook)
    for view in ("/games", "/game/catalogue/inspection", "/play", "/campaigns", "/forecasts"):
        visitor.go(view)
    watching = False
    local = ("127.0.0.1", "localhost")
    assert all(json.dumps(a[-1], default=str).count("127.0.0.1") or a[0] in local for a in reached)
    assert len(visitor.requests) > 30
