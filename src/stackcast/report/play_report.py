"""What ``stackcast play`` leaves behind: figures, a page, a summary, the transcript."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError
from stackcast.report import page
from stackcast.report.figures import inline_svg
from stackcast.report.play_figures import CAPTIONS, play_figures
from stackcast.report.play_words import (
    agent_sentences,
    classification_rows,
    classification_sentences,
    exploration_sentences,
)
from stackcast.report.rounds import action_names

if TYPE_CHECKING:
    from pathlib import Path

    from stackcast.auditing import Audit, ClassificationReport, ContinuousAudit
    from stackcast.protocol import Recommendation, Transcript
    from stackcast.solvers import Solution


@dataclass(frozen=True, eq=False)
class Played:
    """All that a report is about.

    Parameters
    ----------
    game : game
        The game that was played.
    transcript, audit : Transcript, Audit or ContinuousAudit
        What happened, and what it proves.
    solution : Solution or None
        The optimal commitment of the one-shot game.
    result : Recommendation
        What the principal would commit to at the end.
    asked_rounds : int
        How many rounds the run was to have; more than were played if it was stopped.
    command : str
        The command that made it.
    """

    game: Any
    transcript: Transcript
    audit: Audit | ContinuousAudit
    solution: Solution | None
    result: Recommendation
    asked_rounds: int
    command: str = ""

    @property
    def complete(self) -> bool:
        """Whether all rounds were played."""
        return self.transcript.rounds >= self.asked_rounds

    @cached_property
    def classification(self) -> ClassificationReport | None:
        """What strategic classification did to people; None in other games."""
        family = getattr(self.game, "family", None)
        if family is None or family.name != "strategic-classification":
            return None
        from stackcast.auditing import classification_report

        return classification_report(self.transcript, self.game)

    def sentences(self) -> list[str]:
        """Return the outcome in a few plain sentences."""
        audit, T = self.audit, self.transcript.rounds
        told = []
        if not self.complete:
            told.append(
                f"The run was stopped after {T:,} of {self.asked_rounds:,} rounds; what follows is "
                "about these."
            )
        told.append(
            f"Over {T:,} rounds the principal earned {audit.average_utility:.4g} a round of a "
            f"possible {audit.value:.4g} (V*)."
        )
        told += exploration_sentences(self.transcript, audit)
        told += agent_sentences(self.game, self.transcript, audit)
        if self.classification is not None:
            told += classification_sentences(self.classification)
        if audit.failed:
            names = ", ".join(bound.name for bound in audit.failed)
            told.append(f"Guarantees that FAILED: {names}.")
        else:
            count = len(audit.bounds)
            told.append(f"All {count} guarantees hold." if count > 1 else "The guarantee holds.")
        return told

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as JSON can hold it."""
        result = self.result
        actions = self.game.agent_view.agent_actions
        answer: Any = result.response
        listed = answer is not None and len(actions) > 0
        classification = None if self.classification is None else self.classification.to_dict()
        return {
            "game": self.game.name,
            "fingerprint": self.transcript.fingerprint,
            "rounds": self.transcript.rounds,
            "asked_rounds": self.asked_rounds,
            "complete": self.complete,
            "command": self.command,
            **self.transcript.metadata,
            "result": {
                "strategy": _plain(np.asarray(result.strategy).tolist()),
                "response": answer if answer is None or listed else np.asarray(answer).tolist(),
                "response_name": str(actions[answer]) if listed else None,
                "value": _plain(result.value),
                "margin": _plain(result.margin),
                "upper_bound": _plain(result.upper_bound),
            },
            "sentences": self.sentences(),
            "classification": classification,
            "audit": self.audit.to_dict(),
        }


def write_play(folder: Path, played: Played) -> list[Path]:
    """Write transcript, summary, figures and page into a folder; return the files."""
    figures = play_figures(played)
    files = [folder / "report.html", folder / "summary.json", folder / "transcript.parquet"]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        played.transcript.save(files[2])
        files[1].write_text(
            json.dumps(played.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n",
            encoding="utf-8",
        )
        for name, (svg, png) in figures.items():
            vector, pixels = folder / f"{name}.svg", folder / f"{name}.png"
            vector.write_text(svg, encoding="utf-8")
            pixels.write_bytes(png)
            files += [vector, pixels]
        files[0].write_text(play_page(played, figures), encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(str(folder), "a folder that can be written to", reason) from None
    return files


def play_page(played: Played, figures: dict[str, tuple[str, bytes]]) -> str:
    """Return the page of a play."""
    t, audit = played.transcript, played.audit
    title = f"{played.game.name or 'game'}: {_name(t, 'principal')} against {_name(t, 'agent')}"
    parts = [page.title(title)]
    description = getattr(played.game, "description", "")
    if description:
        parts.append(page.paragraph(description, "lead"))
    parts += [page.paragraph(sentence, "found") for sentence in played.sentences()]
    for name, (svg, _) in figures.items():
        parts += [
            page.heading(name.capitalize()),
            page.figure(inline_svg(svg, name, f"figure: {name}"), CAPTIONS[name]),
        ]
    if played.classification is not None:
        parts += [
            page.heading("Rules"),
            page.table(*classification_rows(played.classification)),
        ]
    parts += [
        page.heading("Guarantees"),
        page.table(
            ("quantity", "measured", "at most", "verdict", "paper", "note"),
            [(b.name, b.measured, b.bound, b.holds, b.where, b.note) for b in audit.bounds],
        ),
        page.heading("Phases"),
        page.table(
            ("phase", "rounds", "utility a round", "part of the regret"),
            [
                (p.name or "(no label)", f"{p.rounds:,}", p.average_utility, p.share)
                for p in audit.phases
            ],
        ),
        page.heading("What was played"),
        page.table(("", ""), _parameters(played)),
    ]
    if played.command:
        parts += [page.paragraph("The command that made it:"), page.code(played.command)]
    return page.page(title, parts)


def _parameters(played: Played) -> list[tuple[str, str]]:
    t = played.transcript
    rows = [
        ("rounds", f"{t.rounds:,} of {played.asked_rounds:,}, in {len(t.block_rounds):,} blocks"),
        ("fingerprint of the game", t.fingerprint[:16]),
    ]
    for side in ("principal", "agent"):
        for key, value in t.metadata.get(side, {}).items():
            if value is None or value == [] or value == [[], []]:
                continue  # left open
            text = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value
            rows.append((f"{side}: {key}", text if len(text) <= 80 else text[:77] + "…"))
    rows += [(f"version of {name}", v) for name, v in t.metadata.get("versions", {}).items()]
    names = action_names(played.game)
    result = np.asarray(played.result.strategy)
    mixture = ", ".join(
        f"{name} {p:.4g}" for name, p in zip(names, result.tolist(), strict=False) if abs(p) > 5e-5
    )
    rows.append(("the principal's commitment", mixture))
    return rows


def _name(transcript: Transcript, side: str) -> str:
    return str(transcript.metadata.get(side, {}).get("name", side))


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
