"""Make the pictures of the studio anew: ``python tools/pictures.py`` (or ``make pictures``).

The command serves a fresh folder, a person in Chromium opens each view at a seeded state, and the
pictures are written to ``docs/images/studio-*.png``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image  # Matplotlib brings it

import stackcast as sc
from stackcast.campaigns import Campaign

IMAGES = Path(__file__).parent.parent / "docs" / "images"
_OURS = "from stackcast.cli import main; main()"
_TOKEN = "a-token-of-the-pictures"
_WAIT = 300_000


def prepare(folder: Path) -> None:
    """Leave a campaign that was told some times, and a table of forecasts."""
    game = sc.load_game("inspection", sc.FiniteGame)
    plant = sc.agents.BestResponse(game.agent_view)
    with Campaign.new(folder / "riverside.db", game, horizon=700, seed=2) as campaign:
        for _ in range(9):
            advice = campaign.ask()
            block = sc.protocol.Block(advice.strategy, advice.rounds)
            counts = np.bincount(plant.respond(block).responses, minlength=game.shape[1])
            names = zip(game.agent_actions, counts.tolist(), strict=True)
            campaign.tell({name: n for name, n in names if n})
        campaign.ask()
    rng = np.random.default_rng(7)
    chance = rng.random(1500)
    forecast = np.where(np.arange(1500) < 1000, chance, chance / 2).round(3)
    outcome = (rng.random(1500) < chance).astype(int)
    rows = "".join(f"{p},{y}\n" for p, y in zip(forecast, outcome, strict=True))
    (folder / "rain.csv").write_text(f"forecast,outcome\n{rows}")


def take(page: Any, name: str, height: int) -> None:
    """Write the top of the page as a picture."""
    page.wait_for_timeout(400)
    width = page.viewport_size["width"]
    clip = {"x": 0, "y": 0, "width": width, "height": height}
    file = IMAGES / f"studio-{name}.png"
    page.screenshot(path=file, full_page=True, clip=clip)
    method = Image.Quantize.MAXCOVERAGE  # rare hues stay
    few = Image.open(file).convert("RGB").quantize(256, method, dither=Image.Dither.NONE)
    few.save(file, optimize=True)
    print(f"docs/images/studio-{name}.png", flush=True)


def walk(page: Any, address: str) -> None:
    """Open each view and take its picture."""
    page.goto(address)
    page.locator(".card").first.wait_for(timeout=_WAIT)
    take(page, "games", 720)

    def go(view: str) -> None:
        page.evaluate("view => { location.hash = view; }", view)

    go("#/game/catalogue/inspection")
    page.get_by_text("If every payoff of the agent may be off").wait_for(timeout=_WAIT)
    take(page, "see", 830)
    go("#/game/catalogue/wildlife")
    page.get_by_text("If every payoff of the attacker").wait_for(timeout=_WAIT)
    page.get_by_role("slider", name="Coverage of airstrip").press("Shift+ArrowRight")
    take(page, "coverage", 640)
    go("#/play")
    page.get_by_role("button", name="Start", exact=True).click()
    page.get_by_text("2,500", exact=True).click()
    page.locator(".log").get_by_text("Committed to").first.wait_for(timeout=_WAIT)
    page.wait_for_function(
        "() => Number(document.querySelector('.scrub input').value) > 2000", timeout=_WAIT
    )
    page.get_by_role("button", name="Pause").click()
    take(page, "play", 980)
    go("#/play?mode=agent")
    page.get_by_role("button", name="Start", exact=True).click()
    page.get_by_text("Nobody has been here yet.").wait_for(timeout=_WAIT)
    for times, key in enumerate("11213", 1):
        page.keyboard.press(key)
        page.get_by_text(f"has seen {times} answer").wait_for(timeout=_WAIT)
    take(page, "agent", 560)
    go("#/campaigns/riverside.db")
    page.locator(".advice[aria-busy=false] .schedule").wait_for(timeout=_WAIT)
    take(page, "campaign", 1180)
    go("#/forecasts/rain.csv")
    page.get_by_text("Refuted.").wait_for(timeout=_WAIT)
    take(page, "forecasts", 860)


def main() -> None:
    """Serve a fresh folder and take the pictures."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("pictures: expected Chromium, found none.")
    from playwright.sync_api import sync_playwright

    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "policy"
        folder.mkdir()
        prepare(folder)
        command = [sys.executable, "-c", _OURS, "studio", str(folder), "--no-browser"]
        process = subprocess.Popen([*command, "--token", _TOKEN], stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            with sync_playwright() as driver:
                browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                size: Any = {"width": 1400, "height": 900}
                context = browser.new_context(viewport=size, reduced_motion="reduce")
                walk(context.new_page(), address)
                browser.close()
        finally:
            process.terminate()
            process.wait(30)


if __name__ == "__main__":
    main()
