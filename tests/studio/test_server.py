"""The studio's server: nothing without the token, nothing outside the folder, names as text."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from serving import TOKEN, Served, served

import stackcast as sc
from stackcast.studio import messages as ms

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCRIPT = "<script>alert(1)</script>"
SECRET = "what lies outside"
PAGES = ["/", "/index.html", "/app.js", "/style.css", "/reports/x/report.html", "/nothing"]
ADDRESSES = [
    "/api/games",
    "/api/folder",
    "/api/games/catalogue/inspection",
    "/api/plays",
    "/api/plays/x/events",
    "/api/campaigns",
    "/api/forecasts",
    "/api/reports",
    "/api/nothing",
]


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    place = tmp_path_factory.mktemp("outside")
    (place / "secret.toml").write_text(f'name = "{SECRET}"\n')
    (place / "secret.html").write_text(SECRET)
    (place / "secret.csv").write_text(f"forecast,outcome\n0.5,1\n{SECRET},1\n")
    root = place / "folder"
    root.mkdir()
    (root / "link.toml").symlink_to(place / "secret.toml")
    (root / "link.csv").symlink_to(place / "secret.csv")
    (root / "link.db").symlink_to(place / "secret.toml")
    (root / "leads-out").symlink_to(place)
    (root / "link.html").symlink_to(place / "secret.html")
    with served(root) as found:
        yield found


def table(name: str = "inspection") -> dict[str, Any]:
    from stackcast.studio.games import table_of

    found: dict[str, Any] = table_of(sc.load_game(name, sc.FiniteGame)).model_dump()
    return found


# Two hundred requests that are refused ----------------------------------------------------------

WITHOUT = [
    (method, path, headers, token)
    for path in (*PAGES, *ADDRESSES)
    for method, headers, token in (
        ("GET", {}, None),
        ("POST", {}, None),
        ("GET", {}, "wrong"),
        ("GET", {"Authorization": "Bearer wrong"}, None),
    )
]
STRANGERS = [
    ("GET", path, headers)
    for path in ("/", "/api/games", "/api/folder", "/app.js")
    for headers in (
        {"Host": "evil.example"},
        {"Host": "evil.example:80"},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1.evil.example:8000"},
        {"Host": ""},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1"},
        {"Origin": "file://"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    )
]
PLACES = [
    "..",
    "%2e%2e",
    "%252e%252e%252fsecret",
    "..;%2Fsecret",
    "CON",
    "a" * 300,
    "%E2%80%AE",
    "x%0a",
    "../secret",
    "..%2Fsecret",
    "%2e%2e%2fsecret",
    "..%5Csecret",
    "%2Fetc%2Fpasswd",
    "....//secret",
    "leads-out%2Fsecret",
    "link",
    "a%00b",
    "%0d%0aSet-Cookie:%20x",
    ".hidden",
    "~root",
    "con:",
]
OUTSIDE = [
    *(f"/api/games/folder/{place}.toml" for place in PLACES),
    *(f"/api/campaigns/{place}.db" for place in PLACES),
    *(f"/api/forecasts/{place}.csv" for place in PLACES),
    *(f"/reports/{place}.html" for place in PLACES),
    "/reports/leads-out/secret.html",
    "/api/audits/leads-out/x.parquet",
    "/../guard.py",
    "/%2e%2e/guard.py",
    "/vendor/../../guard.py",
    "/vendor/%2e%2e/%2e%2e/guard.py",
    "//etc/passwd",
    "/api/plays/leads-out",
    "/api/plays/..",
]
BROKEN: list[tuple[str, Any]] = [
    ("/api/see", b"{"),
    ("/api/see", b"\xff\xfe"),
    ("/api/see", b"[" * 100_000),
    ("/api/see", b'{"table": NaN}'),
    ("/api/see", {"table": {"kind": "other"}}),
    ("/api/see", {"table": {"unknown": 1}}),
    ("/api/see", {"table": {"principal_payoffs": [[1, [2]]]}}),
    ("/api/see", {"table": {"principal_payoffs": [[0.0] * 3] * 600}}),
    ("/api/worth", {}),
    ("/api/games", {"table": 3}),
    ("/api/export", {"table": {}, "format": "exe"}),
    ("/api/plays", {"mode": "watch", "origin": "folder", "game": "../secret.toml"}),
    ("/api/plays", {"mode": "watch", "origin": "catalogue", "game": "inspection", "rounds": -1}),
    ("/api/plays", {"mode": "watch", "origin": "catalogue", "game": "inspection", "rounds": 1e12}),
    ("/api/plays", {"mode": "watch", "origin": "catalogue", "game": "inspection", "agent": "os"}),
    ("/api/plays/none/move", {"do": "go"}),
    ("/api/campaigns", {"file": "x", "table": {}, "horizon": "many"}),
    ("/api/campaigns/none.db/tell", {"counts": {"a": 1}}),
    ("/api/campaigns/none.db/drop", {}),
    ("/api/upload/game", b"no form at all"),
]


def test_there_are_two_hundred_hostile_requests() -> None:
    assert len(WITHOUT) + len(STRANGERS) + len(OUTSIDE) + len(BROKEN) >= 200


@pytest.mark.parametrize("path", [*PAGES, *ADDRESSES])
def test_without_the_token_every_address_answers_401_and_nothing_else(
    studio: Served, path: str
) -> None:
    for method, address, headers, token in WITHOUT:
        if address != path:
            continue
        answer = studio.ask(method, address, headers=headers, token=token)
        assert (answer.status, answer.body) == (401, b""), (method, address)
        assert "set-cookie" not in answer.headers


def test_other_hosts_and_other_sites_are_refused_even_with_the_token(studio: Served) -> None:
    for method, path, headers in STRANGERS:
        answer = studio.ask(method, path, headers=headers)
        assert (answer.status, answer.body) == (403, b""), (path, headers)


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_path_leaves_the_folder(studio: Served, path: str) -> None:
    answer = studio.ask("GET", path)
    assert answer.status in (404, 405, 422)
    assert SECRET.encode() not in answer.body
    assert b"root:" not in answer.body
    assert b"class Guard" not in answer.body


@pytest.mark.parametrize(("path", "body"), BROKEN)
def test_what_is_malformed_is_refused_in_one_sentence(studio: Served, path: str, body: Any) -> None:
    before = sorted(studio.root.iterdir())
    answer = studio.ask("POST", path, body)
    assert answer.status in (404, 422), answer
    if answer.status == 422:
        sentence = ms.Mistake.model_validate_json(answer.body).sentence
        assert sentence.endswith(".")
        assert "\n" not in sentence
        assert str(studio.root) not in sentence
    assert sorted(studio.root.iterdir()) == before


def test_what_is_too_large_is_refused_before_it_is_read(studio: Served) -> None:
    for path, most in (("/api/see", 2_000_000), ("/api/upload/forecasts", 50_000_000)):
        answer = studio.ask("POST", path, b"", {"Content-Length": str(100_000_000)})
        assert (answer.status, answer.body) == (413, b"")
        assert studio.ask("POST", path, b"x" * (most + 1)).status == 413
    assert studio.ask("POST", "/api/see", b"", {"Content-Length": "many"}).status == 400
    chunk = b"x" * 2_100_000  # a body without a length is counted as it comes
    body = f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n0\r\n\r\n"
    headers = {"Transfer-Encoding": "chunked"}
    assert studio.ask("POST", "/api/see", body, headers).status == 413


def test_uploads_must_be_tables_and_games_by_name(studio: Served) -> None:
    for name in (
        "x.exe",
        "x",
        "../../x.toml",
        "x.toml.sh",
        ".toml",
        f"{SCRIPT}.html",
        "x.csv\0.exe",
    ):
        answer = studio.upload("/api/upload/game", name, b"name = 'x'")
        assert answer.status == 422
    answer = studio.upload("/api/upload/game", "broken.toml", b"this is no game")
    assert answer.status == 422
    assert not (studio.root / "broken.toml").exists()
    assert studio.upload("/api/upload/forecasts", "x.db", b"SQLite").status == 422


@pytest.mark.parametrize("field", ["name", "description", "source", "principal_actions"])
def test_script_in_names_and_stories_stays_text(studio: Served, field: str) -> None:
    game = table()
    game[field] = [SCRIPT, "b", "c"] if field == "principal_actions" else SCRIPT
    saved = studio.post("/api/games", {"table": game})
    assert "<" not in saved["name"]
    assert ">" not in saved["name"]
    answer = studio.ask("GET", f"/api/games/folder/{saved['name']}")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.json()["table"][field] == game[field]
    assert studio.ask("DELETE", f"/api/games/folder/{saved['name']}").status == 200


def test_the_policy_allows_no_inline_script_and_no_other_machine(studio: Served) -> None:
    policy = studio.ask("GET", "/").headers["content-security-policy"]
    rules = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == rules["connect-src"] == rules["style-src"] == "'self'"
    assert rules["frame-ancestors"] == "'none'"
    assert "unsafe" not in policy
    (studio.root / "evil.html").write_text(f"<title>{SCRIPT}</title>{SCRIPT}")
    page = studio.ask("GET", "/reports/evil.html")
    assert "sandbox" in page.headers["content-security-policy"]
    assert "script-src" not in page.headers["content-security-policy"]
    titles = [r["title"] for r in studio.get("/api/reports") if r["path"] == "evil.html"]
    assert titles == ["alert(1)"]
    (studio.root / "evil.html").unlink()


# What a page is told ----------------------------------------------------------------------------


def test_the_first_visit_turns_the_token_into_a_cookie(studio: Served) -> None:
    answer = studio.ask("GET", f"/?token={TOKEN}", token=None)
    assert answer.status == 200
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert studio.ask("GET", "/api/games", token=None).status == 401
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    assert studio.ask("GET", "/api/games", headers=bearer, token=None).status == 200


def test_the_catalogue_is_a_list_of_games(studio: Served) -> None:
    found = [ms.Card.model_validate(card) for card in studio.get("/api/games")]
    assert {card.name for card in found} >= set(sc.games.list_games())
    inspection = next(card for card in found if card.name == "inspection")
    assert inspection.value == pytest.approx(0.825)
    assert inspection.shape == [3, 3]


@pytest.mark.parametrize("name", sc.games.list_games())
def test_every_game_of_the_catalogue_comes_back_as_it_was(studio: Served, name: str) -> None:
    from stackcast.studio.games import game_of

    opened = ms.Opened.model_validate(studio.get(f"/api/games/catalogue/{name}"))
    assert opened.table is not None
    game: Any = game_of(opened.table)
    assert game.fingerprint == sc.load_game(name).fingerprint


def test_the_halfspaces_say_what_the_package_says(studio: Served) -> None:
    import numpy as np

    for name in ("inspection", "food-hygiene", "milking", "quantity-leadership"):
        game = sc.load_game(name)
        seen = ms.See.model_validate(studio.post("/api/see", {"table": table(name)}))
        assert seen.geometry is not None
        assert seen.value == pytest.approx(sc.solve(game).value)
        regions = sc.BestResponseRegions(game)
        for h in np.random.default_rng(0).dirichlet(np.ones(game.shape[0]), 50):
            if not game.space.contains(h):
                continue
            inside = [
                all(np.dot(t.normal, h) <= t.bound + 1e-12 for t in ties)
                for ties in seen.geometry.regions
            ]
            assert inside == regions.contains(h).tolist()
            y = inside.index(True)
            margin = min(
                (t.bound - np.dot(t.normal, h)) / t.length
                for t in seen.geometry.regions[y]
                if not seen.geometry.never[t.other]
            )
            assert margin == pytest.approx(regions.margin(h, y), abs=1e-9)
        for point in seen.price[::20]:
            assert point.value == pytest.approx(sc.solve(game, point.margin).value, abs=1e-9)


def test_a_half_known_game_shows_what_is_certain(studio: Served) -> None:
    half = table()
    half["knowledge"] = "ranges"
    payoffs = half["agent_payoffs"]
    half["agent_payoffs_low"] = [[v - 0.02 for v in row] for row in payoffs]
    half["agent_payoffs_high"] = [[v + 0.02 for v in row] for row in payoffs]
    seen = ms.See.model_validate(studio.post("/api/see", {"table": half}))
    exact = sc.solve(sc.load_game("inspection"), details=True, payoff_error=0.02)
    assert exact.sensitivity is not None
    assert seen.value == pytest.approx(exact.sensitivity.guaranteed, abs=1e-6)
    saved = studio.post("/api/games", {"table": half})
    again = studio.get(f"/api/games/folder/{saved['name']}")["table"]
    assert again["knowledge"] == "ranges"
    assert again["agent_payoffs_low"] == half["agent_payoffs_low"]
    half["knowledge"] = "unknown"
    assert studio.post("/api/see", {"table": half})["geometry"] is None


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        ("abc", "principal_payoffs, row 1, entry 2: expected a finite number, found 'abc'."),
        (None, "principal_payoffs, row 1, entry 2: expected a finite number, found nothing."),
        ("1e999", "principal_payoffs, row 1, entry 2: expected a finite number, found '1e999'."),
    ],
)
def test_a_cell_that_is_no_number_gets_the_packages_own_sentence(
    studio: Served, cell: Any, sentence: str
) -> None:
    game = table()
    game["principal_payoffs"][0][1] = cell
    assert studio.post("/api/see", {"table": game}, 422)["sentence"] == sentence


def test_a_file_that_changed_meanwhile_is_not_written_over(studio: Served) -> None:
    game = table()
    saved = studio.post("/api/games", {"table": game})
    path = f"/api/games/folder/{saved['name']}"
    game["description"] = "mine"
    answer = studio.ask("PUT", path, {"table": game, "mark": saved["mark"]})
    assert answer.status == 200
    game["description"] = "of another window"
    answer = studio.ask("PUT", path, {"table": game, "mark": saved["mark"]})
    assert answer.status == 409
    assert studio.get(path)["table"]["description"] == "mine"


def test_files_of_all_formats_go_in_and_out(studio: Served) -> None:
    for form in ("json", "toml", "nfg"):
        answer = studio.ask("POST", "/api/export", {"table": table(), "format": form})
        assert answer.status == 200
        assert answer.headers["content-disposition"] == f'attachment; filename="inspection.{form}"'
        taken = studio.upload("/api/upload/game", f"given.{form}", answer.body)
        assert taken.status == 200, taken
        again = sc.load_game(studio.root / taken.json()["name"])
        assert again.fingerprint == sc.load_game("inspection").fingerprint


def test_a_limit_is_said_in_words_and_read_back(studio: Served) -> None:
    game = table("food-hygiene")
    assert game["limits"] == [
        {"text": "short visit + 4.0 full visit <= 1.0", "name": "staff hours", "why": ""}
    ]
    game["limits"].append({"text": "short visit ≥ 0.2", "name": ""})
    assert studio.post("/api/see", {"table": game})["value"] is not None
    game["limits"].append({"text": "nobody <= 1", "name": ""})
    assert (
        "names of the principal's actions"
        in studio.post("/api/see", {"table": game}, 422)["sentence"]
    )


# The command ------------------------------------------------------------------------------------


def test_the_command_prints_one_line_and_ends_on_ctrl_c(tmp_path: Path) -> None:
    import signal
    import urllib.request

    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from stackcast.cli import main; main()",
            "studio",
            str(tmp_path),
            "--port",
            "0",
            "--no-browser",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    assert address.startswith("http://127.0.0.1:")
    with urllib.request.urlopen(address, timeout=10) as page:
        assert b"stackcast" in page.read()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (out, err, process.returncode) == ("", "", 0)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--host", "0.0.0.0"], "--host: expected a --token"),
        (["--host", "0.0.0.0", "--token", "short"], "found a shorter one"),
        (["--host", "no.such.host.example"], "--host: expected"),
    ],
)
def test_visitors_from_elsewhere_need_a_token_of_the_owner(
    tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    result = subprocess.run(
        [
            sys.executable,
            "-c",
            "from stackcast.cli import main; main()",
            "studio",
            str(tmp_path),
            "--no-browser",
            *arguments,
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 2
    assert sentence in result.stderr


def test_messages_are_of_one_type_on_both_sides() -> None:
    kinds = [kind for kind in vars(ms).values() if isinstance(kind, type)]
    messages = [kind for kind in kinds if issubclass(kind, ms.Message)]
    assert all(kind.model_config.get("extra") == "forbid" for kind in messages)
    assert len(list(itertools.chain(messages))) > 30
    assert json.loads(ms.Mistake(sentence="x.").model_dump_json()) == {
        "sentence": "x.",
        "field": "",
    }
