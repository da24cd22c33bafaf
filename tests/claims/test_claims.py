"""The claims: they hold, they bite, and the verb says so."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import sys
from pathlib import Path

import pexpect  # type: ignore[import-untyped]
import pytest

import stackcast as sc
from stackcast.claims import CLAIMS, Curve, Finding, Measured, check_claim, claim_names, verify
from stackcast.cli import main
from stackcast.report import findings_markdown, write_findings

QUICK = ["separation-interval", "separation-answers", "two-actions", "optimisation"]


@pytest.mark.parametrize(
    "name", [*QUICK, "separation-prefix", "membership-inside", "rescheduling", "robust"]
)
def test_a_claim_holds(name: str) -> None:
    found = check_claim(name)
    assert found.verdict == "holds", found
    assert found.ran
    assert found.quantity


@pytest.mark.slow
def test_all_claims_hold() -> None:
    assert all(finding.verdict != "fails" for finding in verify())


def test_names_are_unique_and_every_part_of_the_paper_is_there() -> None:
    assert len(set(claim_names())) == len(CLAIMS)
    told = " ".join(claim.where for claim in CLAIMS)
    for part in ("Theorem 3.1", "Theorem 3.2", "Lemma 3.3", "Theorem 4.1", "Lemma 6.1"):
        assert part in told
    for part in ("Theorem 5.2", "Lemma E.1", "Lemma E.4", "Lemma E.5"):
        assert part in told
    for part in ("Proposition 6.5", "Lemma B.2", "Lemma C.1", "Lemma C.2", "Lemma C.3"):
        assert part in told


def test_a_value_beyond_the_bound_or_none_at_all_fails() -> None:
    upper, lower = CLAIMS[0], next(c for c in CLAIMS if c.relation == "at least")
    assert Finding.of(upper, Measured(1.0 + 1e-12, 1.0, ""), 0.0).verdict == "holds"
    assert Finding.of(upper, Measured(1.001, 1.0, ""), 0.0).verdict == "fails"
    assert Finding.of(lower, Measured(0.4, 0.5, ""), 0.0).verdict == "fails"
    nothing = Finding.of(upper, Measured(math.nan, 1.0, ""), 0.0)
    assert nothing.verdict == "fails"
    assert nothing.to_dict()["measured"] is None


def test_an_agent_that_is_not_calibrated_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The experiments bite: with a mean-based agent in its place the claim on answers fails."""
    from stackcast.claims import nonadaptive

    monkeypatch.setattr(nonadaptive, "Calibrated", sc.agents.NonAdaptive)
    monkeypatch.setattr(nonadaptive, "Lazy", lambda view, **_: sc.agents.Calibrated(view))
    assert check_claim("separation-interval").verdict == "fails"
    assert check_claim("separation-answers").verdict == "fails"


def test_the_membership_oracle_as_printed_fails() -> None:
    from stackcast.claims.oracles import _accepted

    e1 = 0.01 / math.sqrt(6)
    assert _accepted(6, e1, e1 / math.sqrt(6), 700, 3) == 1.0


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
    assert {"name", "where", "measured", "bound", "holds"} <= set(claims[0])
    assert json.loads((tmp_path / "new" / "claims.json").read_text())["claims"] == claims
    page = (tmp_path / "new" / "claims.html").read_text()
    assert page.count('<svg role="img"') == 1


def test_a_claim_that_is_none_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = inside(["verify", "--only", "nothing"], monkeypatch, capsys)
    assert code == 2
    assert err.startswith("stackcast: --only: expected one of 'upper-bound'")


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
    from stackcast.claims import verifying

    bad = dataclasses.replace(CLAIMS[0], run=lambda _: Measured(2.0, 1.0, "x"))
    monkeypatch.setattr(verifying, "CLAIMS", (bad,))
    code, out, err = inside(["verify"], monkeypatch, capsys)
    assert code == 1, err
    assert "1 of 1 claims FAILED: upper-bound" in out


def test_markdown_and_page_of_findings(tmp_path: Path) -> None:
    curve = Curve("rounds", "error", (1.0, 10.0), (0.0, 0.1), (1.0, 0.5))
    found = Finding.of(CLAIMS[0], Measured(0.5, 1.0, "two plays", "V* is 1", curve), 0.1)
    text = findings_markdown([found], "stackcast verify --full")
    assert "| [upper-bound](#upper-bound) | Theorem 3.1 | 0.5 | ≤ 1 | holds |" in text
    files = {file.name for file in write_findings(tmp_path, [found], "stackcast verify")}
    assert files >= {"claims.html", "claims.json", "claims.md", "upper-bound.svg"}


def test_the_docs_are_the_claims() -> None:
    """`docs/paper.md` is written by the full run: every claim and every correction is in it."""
    page = (Path(__file__).parents[2] / "docs" / "paper.md").read_text()
    for claim in CLAIMS:
        assert f"## {claim.name}\n" in page
        if claim.correction:
            assert claim.correction in page.replace("\\*", "*")
