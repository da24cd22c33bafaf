"""The claims: they hold, they bite, and the verb says so."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import sys
from pathlib import Path
from typing import Any

import pexpect  # type: ignore[import-untyped]
import pytest

import stackcast as sc
from stackcast.claims import (
    Claim,
    Curve,
    Finding,
    Measured,
    all_claims,
    check_claim,
    claim_names,
    commitment,
    verify,
)
from stackcast.cli import main
from stackcast.report import findings_markdown, write_findings

QUICK = ["exploiting", "no-exploiting", "separation-interval", "separation-answers", "two-actions"]
QUICK += ["optimisation", "separation-prefix", "membership-inside", "rescheduling"]

#: A wrong constant for each claim: with the bound times this factor it must fail.
WRONG = {
    "upper-bound": 1 / 25,
    "upper-bound-random-ties": 1 / 120,
    "exploiting": 1.5,
    "no-exploiting": 1 / 2,
    "swap-regret": 1 / 5,
    "swap-regret-random-ties": 1 / 11,
    "lower-bound": 5e-8,
    "lower-bound-horizon": 1 / 2,
    "wrong-responses": 1 / 5,
    "near-optimal": 1 / 20,
    "robust": 3.0,
    "optimisation": 1 / 20,
    "rescheduling": 1 / 8,
    "rescheduled-search": 1 / 2000,
    "separation-prefix": 1 / 2,
    "separation-interval": 2.0,
    "separation-adaptive": 2.0,
    "adaptive-calibration": 1 / 5,
    "adaptive-calibration-continuous": 1 / 5,
    "two-actions": 1 / 100,
    "sleeping-experts": 1 / 50,
    "continuous-upper-bound": 1 / 100,
    "continuous-lower-bound": 1 / 1000,
    "continuous-lower-bound-epochs": 1 / 100,
    "continuous-key-lemma": 1 / 500,
    "continuous-repeated-play": 2.0,
    "continuous-feedback": 1 / 20,
    "continuous-utility": 1 / 20,
}
#: Claims of events: what is broken in them is in the tests below.
EVENTS = {"membership-inside", "membership-outside", "initialisation", "separation-answers"}


def judged(name: str, factor: float = 1.0) -> tuple[Finding, Finding]:
    """Return the finding of a claim, and that of the same runs with a wrong constant."""
    claim = next(claim for claim in all_claims() if claim.name == name)
    found = claim.run(False)
    wrong = dataclasses.replace(found, bound=found.bound * factor)
    return Finding.of(claim, found), Finding.of(claim, wrong)


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in claim_names()],
)
def test_a_claim_holds_and_with_a_wrong_constant_fails(name: str) -> None:
    found, wrong = judged(name, WRONG.get(name, 1.0))
    silent = ("lower-bound", "continuous-lower-bound")
    assert found.verdict == ("vacuous" if name in silent else "holds"), found
    assert found.runs > 0
    assert found.ran
    assert found.quantity
    if name in WRONG:
        assert wrong.verdict == "fails", wrong


def test_every_claim_has_a_broken_variant() -> None:
    assert set(WRONG) | EVENTS == set(claim_names())


def test_names_are_unique_and_every_part_of_the_paper_is_there() -> None:
    claims = all_claims()
    assert len(set(claim_names())) == len(claims)
    told = " ".join(claim.where for claim in claims)
    for part in ("Theorem 3.1", "Theorem 3.2", "Lemma 3.3", "Theorem 4.1", "Lemma 6.1"):
        assert part in told
    for part in ("Theorem 5.2", "Lemma E.1", "Lemma E.4", "Lemma E.5", "Corollary 6.3"):
        assert part in told
    for part in ("Proposition 6.5", "Lemma B.2", "Lemma C.1", "Lemma C.2", "Lemma C.3"):
        assert part in told


def test_every_run_counts() -> None:
    upper = all_claims()[0]
    lower = next(c for c in all_claims() if c.relation == "at least")

    def verdict(claim: Claim, *found: float, **more: Any) -> str:
        return Finding.of(claim, Measured(found, more.pop("bound", 1.0), "", **more)).verdict

    assert verdict(upper, 1.0 + 1e-12) == "holds"
    assert verdict(upper, 0.0, 1.001) == "fails"
    assert verdict(lower, 1.0, 0.4) == "fails"
    assert verdict(upper) == "undecided"
    # A run without a number is a failure of that run.
    lost = Finding.of(upper, Measured((0.5, math.nan), 1.0, ""))
    assert (lost.verdict, lost.runs, lost.failures, lost.measured) == ("fails", 2, 1, 0.5)
    assert Finding.of(upper, Measured((math.nan,), 1.0, "")).to_dict()["measured"] is None
    # A chance is tested as one: 5% allows 9 of 100 at 99%, not 12; more than 5% is undecided.
    for failures, word in ((5, "holds"), (9, "undecided"), (12, "fails")):
        runs = (2.0,) * failures + (0.5,) * (100 - failures)
        assert verdict(upper, *runs, chance=0.05) == word
    # What a bound cannot say is no evidence for it; a failure is one against it.
    assert verdict(upper, 0.5, speaks_from="10^90 rounds") == "vacuous"
    assert verdict(upper, 2.0, speaks_from="10^90 rounds") == "fails"


def test_an_agent_that_is_not_calibrated_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The experiments bite: with a mean-based agent in its place the claim on answers fails."""
    monkeypatch.setattr(commitment, "Calibrated", sc.agents.NonAdaptive)
    monkeypatch.setattr(commitment, "Lazy", lambda view, **_: sc.agents.Calibrated(view))
    assert check_claim("separation-interval").verdict == "fails"
    assert check_claim("separation-answers").verdict == "fails"


def test_agents_without_swap_regret_do_not_show_exploiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commitment, "Hedge", sc.agents.BlumMansour)
    assert check_claim("exploiting").verdict == "fails"


def test_the_membership_oracle_with_other_constants_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    e1 = 0.01 / math.sqrt(6)
    assert commitment._accepted(6, e1, e1 / math.sqrt(6), 700, 3) == [1.0] * 3  # as printed
    with monkeypatch.context() as patch:
        patch.setattr(commitment, "_EPOCHS", 2.0)
        assert check_claim("membership-outside").verdict == "fails"
    monkeypatch.setattr(commitment, "_DEEP", -5.0)
    assert check_claim("membership-inside").verdict == "fails"


def test_too_few_samples_miss_the_optimal_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commitment, "_SAMPLES", 0.05)
    assert check_claim("initialisation").verdict == "fails"


@pytest.mark.slow
def test_processes_and_order_do_not_matter() -> None:
    names = ["separation-answers", "separation-interval"]
    one, two = verify(names, workers=1), verify(names[::-1], workers=2)
    assert [f.name for f in one] == [f.name for f in two] == names[::-1]
    assert [f.measured for f in one] == [f.measured for f in two]


def inside(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str, str]:
    """Run the program in this process, which has loaded everything already."""
    monkeypatch.setattr(sys, "argv", ["stackcast", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    said = capsys.readouterr()
    return int(end.value.code or 0), said.out, said.err


def test_the_verb_prints_and_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ["--only", "separation-interval", "--only", "separation-prefix", "--workers", "1"]
    arguments = ["verify", *chosen, "--json", "--out", str(tmp_path / "new")]
    code, out, err = inside(arguments, monkeypatch, capsys)
    assert code == 0, err
    claims = json.loads(out)["claims"]
    assert [claim["name"] for claim in claims] == ["separation-prefix", "separation-interval"]
    assert {"name", "where", "runs", "failures", "verdict", "measured", "bound"} <= set(claims[0])
    assert json.loads((tmp_path / "new" / "claims.json").read_text())["claims"] == claims
    page = (tmp_path / "new" / "claims.html").read_text()
    assert page.count('<svg role="img"') == 1


def test_a_claim_that_is_none_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = inside(["verify", "--only", "nothing"], monkeypatch, capsys)
    assert code == 2
    assert err.startswith("stackcast: --only: expected one of 'upper-bound'")


@pytest.mark.slow
def test_ctrl_c_ends_all_processes_without_a_traceback(tmp_path: Path) -> None:
    code = "from stackcast.cli import main; main()"
    child = pexpect.spawn(
        sys.executable,
        ["-c", code, "verify", "--workers", "2"],
        timeout=120,
        encoding="utf-8",
        env={**os.environ, "TERM": "xterm-256color"},
    )
    child.expect("claims")
    child.sendintr()
    child.expect("stopped")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert "Traceback" not in child.before


def test_a_failed_claim_is_shown_as_failed_with_the_exit_code_to_match(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = dataclasses.replace(all_claims()[0], run=lambda _: Measured((2.0, 0.5), 1.0, "x"))
    monkeypatch.setattr("stackcast.claims.claim.all_claims", lambda: (bad,))
    code, out, err = inside(["verify"], monkeypatch, capsys)
    assert code == 1, err
    assert "0 of 1 claims hold; FAILS: upper-bound." in out


def test_markdown_and_page_of_findings(tmp_path: Path) -> None:
    curve = Curve("rounds", "error", (1.0, 10.0), (0.0, 0.1), (1.0, 0.5))
    found = Finding.of(all_claims()[0], Measured((0.5,), 1.0, "two plays", "V* is 1", curve), 0.1)
    text = findings_markdown([found], "stackcast verify --full")
    assert "| [upper-bound](#upper-bound) | Theorem 3.1 | 0 of 1 | 0.5 | ≤ 1 | holds |" in text
    files = {file.name for file in write_findings(tmp_path, [found], "stackcast verify")}
    assert files >= {"claims.html", "claims.json", "claims.md", "upper-bound.svg"}


def test_the_docs_are_the_claims() -> None:
    """`docs/explanation/paper.md` is of the full run: every claim and every correction is in it."""
    page = (Path(__file__).parents[2] / "docs" / "explanation" / "paper.md").read_text()
    for claim in all_claims():
        assert f"## {claim.name}\n" in page
        if claim.correction:
            assert claim.correction in page.replace("\\*", "*")
