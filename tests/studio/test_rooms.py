"""The studio's rooms on the server: plays, seats, campaigns, forecasts and reports, by requests."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from serving import Served, served

import stackcast as sc
from stackcast.campaigns import Campaign
from stackcast.studio import messages as ms
from stackcast.studio.games import table_of

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMAND = [sys.executable, "-c", "from stackcast.cli import main; main()"]


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("folder")) as found:
        yield found


def game(name: str = "inspection") -> dict[str, Any]:
    found: dict[str, Any] = table_of(sc.load_game(name, sc.FiniteGame)).model_dump()
    return found


def until(condition: Any, seconds: float = 180) -> Any:
    """Wait until a condition holds, and return what it found."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.2)
    raise AssertionError("waited too long")


# Play -------------------------------------------------------------------------------------------


def start(studio: Served, **more: Any) -> str:
    asked = {"mode": "watch", "origin": "catalogue", "game": "inspection", "rounds": 800} | more
    name: str = studio.post("/api/plays", asked)["name"]
    return name


def test_a_play_leaves_what_stackcast_play_leaves(studio: Served) -> None:
    name = start(studio, principal="UniformExplore", seed=3)
    until(lambda: studio.get(f"/api/plays/{name}")["info"]["state"] == "kept")
    shown = ms.Shown.model_validate(studio.get(f"/api/plays/{name}"))
    assert shown.run is not None
    assert shown.run.round == 800
    assert sum(step.rounds for step in shown.run.steps) == 800
    told = subprocess.run(
        [
            *COMMAND,
            "play",
            "--principal",
            "UniformExplore",
            "--rounds",
            "800",
            "--seed",
            "3",
            "--out",
            str(studio.root / "twin"),
            "--quiet",
        ],
        check=True,
        capture_output=True,
    )
    assert told.returncode == 0
    ours, twin = (
        sc.Transcript.load(studio.root / place / "transcript.parquet") for place in (name, "twin")
    )
    assert ours == twin
    files = {path.name for path in (studio.root / "twin").iterdir()}
    assert {path.name for path in (studio.root / name).iterdir()} == files


def test_a_stopped_play_goes_on_here_and_on_the_command_line(studio: Served) -> None:
    name = start(studio, principal="UniformExplore", rounds=4000)
    path = f"/api/plays/{name}/move"
    studio.post(path, {"do": "speed", "speed": 400})
    until(lambda: studio.get(f"/api/plays/{name}")["info"]["state"] == "running")
    studio.post(path, {"do": "pause"})
    studio.post(path, {"do": "step"})
    studio.post(path, {"do": "stop"})
    info = until(
        lambda: (
            studio.get(f"/api/plays/{name}")["info"]["state"] == "stopped"
            and studio.get(f"/api/plays/{name}")["info"]
        )
    )
    assert 0 < info["played"] < 4000
    subprocess.run(
        [*COMMAND, "play", "--resume", str(studio.root / name), "--quiet"],
        check=True,
        capture_output=True,
    )
    assert studio.get(f"/api/plays/{name}")["info"]["state"] == "kept"
    record = sc.Transcript.load(studio.root / name / "transcript.parquet")
    assert record.game is not None
    pair = (
        sc.protocol.build("principal", "UniformExplore", record.game, horizon=4000),
        sc.protocol.build("agent", "Calibrated", record.game),
    )
    assert record == sc.play(*pair, 4000, record.game)


def test_a_person_who_commits_is_scored_like_a_play(studio: Served) -> None:
    name = start(studio, mode="principal", seed=2)
    blocks = [([0.5, 0.25, 0.25], 60), ([0.4, 0.3, 0.3], 90)]
    for strategy, rounds in blocks:
        seen = studio.get(f"/api/plays/{name}")["rounds"]
        move = {"do": "commit", "strategy": strategy, "rounds": rounds, "seen": seen}
        seat = ms.Seat.model_validate(studio.post(f"/api/plays/{name}/move", move))
    inspection = sc.load_game("inspection")
    principal = sc.principals.PhaseSwitch(
        inspection.principal_view, [h for h, _ in blocks], [n for _, n in blocks]
    )
    twin = sc.play(principal, sc.agents.Calibrated(inspection.agent_view, seed=2), 150, inspection)
    counts = np.array([step.answers for step in seat.steps])
    assert counts[0].tolist() == np.bincount(twin.responses[:60], minlength=3).tolist()
    assert counts[1].tolist() == np.bincount(twin.responses[60:], minlength=3).tolist()
    found = sc.audit(twin)
    assert seat.earned[-1][1] == pytest.approx(found.average_utility)
    assert seat.most is not None
    assert seat.earned[-1][1] <= seat.most + 1e-12
    again = {"do": "commit", "strategy": [1, 0, 0], "rounds": 5, "seen": 0}
    assert "another window" in studio.post(f"/api/plays/{name}/move", again, 422)["sentence"]
    wrong = {"do": "commit", "strategy": [0.9, 0.9, 0], "rounds": 5}
    assert "strategy" in studio.post(f"/api/plays/{name}/move", wrong, 422)["sentence"]
    assert studio.post(f"/api/plays/{name}/move", {"do": "keep"})["kept"] is True
    assert sc.Transcript.load(studio.root / name / "transcript.parquet").rounds == 150


def test_a_person_who_answers_sees_no_strategy_before_the_end(studio: Served) -> None:
    name = start(studio, mode="agent", rounds=60, principal="UniformExplore")
    for _ in range(3):
        seat = studio.post(f"/api/plays/{name}/move", {"do": "answer", "response": 1, "rounds": 10})
        assert seat["steps"] == []
        assert seat["see"] is None
        assert seat["believed"] is None
    assert seat["left"] == 30
    assert (
        "number of an answer"
        in studio.post(f"/api/plays/{name}/move", {"do": "answer", "response": 7}, 422)["sentence"]
    )
    kept = ms.Seat.model_validate(studio.post(f"/api/plays/{name}/move", {"do": "keep"}))
    assert kept.kept
    assert sum(step.rounds for step in kept.steps) == 30
    assert kept.believed is not None


# Campaigns --------------------------------------------------------------------------------------


def campaign(studio: Served, file: str, **more: Any) -> str:
    asked = {"file": file, "table": game(), "horizon": 400, "seed": 1} | more
    name: str = studio.post("/api/campaigns", asked)["name"]
    return name


def test_the_page_and_the_command_line_tell_the_same_campaign(studio: Served) -> None:
    name = campaign(studio, "both.db")
    shown = ms.CampaignMessage.model_validate(studio.get(f"/api/campaigns/{name}?ask=1&days=10"))
    assert shown.advice is not None
    assert sum(shown.advice.counts) == 10
    order = np.bincount(shown.advice.order, minlength=3).tolist()
    assert order == shown.advice.counts
    assert np.abs(np.array(shown.advice.counts) / 10 - shown.advice.strategy).max() <= 0.1
    rounds = shown.advice.rounds
    told = studio.post(f"/api/campaigns/{name}/tell", {"counts": {"comply": rounds, "?": 1}})
    assert told["words"].startswith(f"Recorded as entry {told['entry']}")
    file = str(studio.root / name)
    subprocess.run([*COMMAND, "campaign", "ask", file], check=True, capture_output=True)
    subprocess.run(
        [*COMMAND, "campaign", "tell", file, "cut corners=4"], check=True, capture_output=True
    )
    again = ms.CampaignMessage.model_validate(studio.get(f"/api/campaigns/{name}"))
    assert [row.answers for row in again.history] == [[rounds, 0, 0], [0, 4, 0]]
    assert again.rounds == rounds + 1 + 4
    corrected = {"entry": again.history[1].entry, "counts": {"comply": 4}}
    studio.post(f"/api/campaigns/{name}/correct", corrected)
    again = ms.CampaignMessage.model_validate(studio.get(f"/api/campaigns/{name}"))
    assert again.history[1].answers == [4, 0, 0]
    assert again.history[1].corrected
    with Campaign.open(file) as opened:
        assert opened.status().rounds == again.rounds


def test_a_decline_becomes_a_limit_and_can_be_lifted(studio: Served) -> None:
    name = campaign(studio, "limits")
    path = f"/api/campaigns/{name}"
    studio.get(f"{path}?ask=1")
    studio.post(f"{path}/decline", {"limit": "records audit ≤ 0.1", "why": "on leave"})
    shown = ms.CampaignMessage.model_validate(studio.get(f"{path}?ask=1"))
    assert [(limit.name, limit.why) for limit in shown.limits] == [
        ("records audit <= 0.1", "on leave")
    ]
    assert shown.advice is not None
    assert shown.advice.strategy[2] <= 0.1 + 1e-9
    sentence = studio.post(f"{path}/decline", {"limit": "nobody <= 1"}, 422)["sentence"]
    assert sentence.startswith("constraint: expected names of the principal's actions")
    studio.post(f"{path}/lift", {"limit": "records audit <= 0.1"})
    assert studio.get(path)["limits"] == []
    studio.post(f"{path}/pause", {"why": "holidays"})
    assert studio.get(f"{path}?ask=1")["advice"] is None
    studio.post(f"{path}/resume", {})
    assert studio.get(f"{path}?ask=1")["advice"] is not None
    studio.post(f"{path}/end", {})
    assert studio.get(path)["state"] == "ended"


def test_telling_by_day_from_a_file_and_wrongly(studio: Served) -> None:
    name = campaign(studio, "telling.db")
    path = f"/api/campaigns/{name}"
    studio.get(f"{path}?ask=1")
    wrong = studio.post(f"{path}/tell", {"counts": {"comply": 3, "cut cornres": 2}}, 422)
    assert wrong["sentence"] == (
        "responses: expected names of the agent's actions (perhaps 'cut corners'), "
        "found 'cut cornres'."
    )
    studio.post(f"{path}/tell", {"days": ["comply", None, "cut corners"]})
    studio.get(f"{path}?ask=1")
    upload = studio.upload(
        f"/api/upload/responses/{name}", "march.csv", b"response,count\ncomply,5\n?,2\n"
    )
    assert upload.status == 200, upload
    studio.get(f"{path}?ask=1")
    refused = studio.upload(f"/api/upload/responses/{name}", "march.csv", b"answer\ncomply\n")
    assert refused.status == 422
    assert "a column response" in refused.json()["sentence"]
    shown = studio.get(path)
    assert [(r["answers"], r["missing"]) for r in shown["history"]] == [
        ([1, 1, 0], 1),
        ([5, 0, 0], 2),
    ]
    studio.post(f"{path}/undo", {})
    assert studio.get(path)["history"][1]["revoked_by"] is not None
    studio.post(f"{path}/action", {"name": "bribe", "payoffs": [0, 0, -1]})
    assert studio.get(path)["agent_actions"][-1] == "bribe"
    export = studio.ask("GET", f"{path}/export?format=csv")
    assert export.status == 200
    assert len(export.body.splitlines()) == 1 + 2


def test_a_half_known_game_starts_a_campaign(studio: Served) -> None:
    half = game()
    half["knowledge"] = "ranges"
    half["agent_payoffs_low"] = [[v - 0.1 for v in row] for row in half["agent_payoffs"]]
    half["agent_payoffs_high"] = [[v + 0.1 for v in row] for row in half["agent_payoffs"]]
    name = campaign(studio, "half.db", table=half)
    assert studio.get(f"/api/campaigns/{name}?ask=1")["advice"]["rounds"] >= 1


def test_a_damaged_campaign_is_a_sentence_in_the_list(studio: Served) -> None:
    (studio.root / "broken.db").write_bytes(b"not a database")
    found = {info["file"]: info for info in studio.get("/api/campaigns")}
    assert found["broken.db"]["sentence"].startswith("broken.db: expected a campaign")
    (studio.root / "broken.db").unlink()


# Forecasts and reports --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rain(studio: Served) -> str:
    rng = np.random.default_rng(7)
    chance = rng.random(1500)
    forecast = np.where(np.arange(1500) < 1000, chance, chance / 2).round(3)
    outcome = (rng.random(1500) < chance).astype(int)
    rows = "\n".join(f"{p},{y}" for p, y in zip(forecast, outcome, strict=True))
    answer = studio.upload(
        "/api/upload/forecasts", "rain.csv", f"forecast,outcome\n{rows}\n".encode()
    )
    assert answer.status == 200
    name: str = answer.json()["name"]
    return name


def test_forecasts_get_the_verdict_of_the_command_line(studio: Served, rain: str) -> None:
    found = ms.Forecasts.model_validate(studio.get(f"/api/forecasts/{rain}?threshold=0.4"))
    told = subprocess.run(
        [*COMMAND, "audit", "--forecasts", str(studio.root / rain), "--threshold", "0.4", "--json"],
        check=False,
        capture_output=True,
        text=True,
    )
    theirs = json.loads(told.stdout)
    assert found.before.verdict == theirs["verdict"] == "refuted"
    assert found.after is not None
    assert found.after.verdict != "refuted"
    assert found.after.loss is not None
    assert found.before.loss is not None
    assert found.after.loss < found.before.loss
    answer = studio.ask("GET", f"/api/forecasts/{rain}/corrected?threshold=0.4")
    lines = answer.body.decode().splitlines()
    assert lines[0] == "forecast,outcome,recalibrated"
    assert len(lines) == 1501


def test_the_same_file_is_kept_once_and_a_wrong_one_gets_its_sentence(
    studio: Served, rain: str
) -> None:
    content = (studio.root / rain).read_bytes()
    assert studio.upload("/api/upload/forecasts", "rain.csv", content).json()["name"] == rain
    name = studio.upload("/api/upload/forecasts", "rain.csv", b"forecast,outcome\n1.7,0\n")
    answer = studio.ask("GET", f"/api/forecasts/{name.json()['name']}")
    assert answer.status == 422
    assert "0 to 1 (percent: divide by 100), found 1.7" in answer.json()["sentence"]
    assert studio.ask("GET", f"/api/forecasts/{rain}?threshold=x").status == 422
    assert studio.ask("GET", f"/api/forecasts/{rain}?threshold=2").status == 422


def test_reports_and_transcripts_are_listed_and_open(studio: Served) -> None:
    inspection = sc.load_game("inspection")
    principal = sc.principals.Fixed(inspection.principal_view, [0.4, 0.3, 0.3])
    record = sc.play(principal, sc.agents.BestResponse(inspection.agent_view), 300, inspection)
    record.save(studio.root / "record.parquet")
    (studio.root / "kept").mkdir()
    (studio.root / "kept" / "report.html").write_text("<title>Kept</title>")
    (studio.root / "kept" / "summary.json").write_text("{}")
    found = {entry["path"]: entry for entry in studio.get("/api/reports")}
    assert found["record.parquet"]["kind"] == "record"
    audited = ms.Audited.model_validate(studio.get("/api/audits/record.parquet"))
    assert audited.rounds == 300
    assert all(bound["holds"] is not False for bound in audited.bounds)
    assert found["kept/report.html"]["kind"] == "play"
    assert studio.ask("GET", "/reports/kept/report.html").status == 200


def test_a_continuous_game_can_be_watched(studio: Served) -> None:
    name = start(studio, game="strategic-score", rounds=200, principal="", agent="")
    until(lambda: studio.get(f"/api/plays/{name}")["info"]["state"] in ("kept", "failed"))
    shown = studio.get(f"/api/plays/{name}")
    assert shown["info"]["state"] == "kept"
    assert shown["run"]["round"] == 200
