"""What ``stackcast play`` leaves behind: figures, a page, a summary, the transcript."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import InputError
from stackcast.report import page
from stackcast.report.figures import inline_svg, rendered
from stackcast.report.rounds import action_names

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from stackcast.auditing import Audit
    from stackcast.protocol import Recommendation, Transcript
    from stackcast.solvers import Solution


@dataclass(frozen=True, eq=False)
class Played:
    """All that a report is about.

    Parameters
    ----------
    game : game
        The game that was played.
    transcript, audit : Transcript, Audit
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
    audit: Audit
    solution: Solution | None
    result: Recommendation
    asked_rounds: int
    command: str = ""

    @property
    def complete(self) -> bool:
        """Whether all rounds were played."""
        return self.transcript.rounds >= self.asked_rounds

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
        # An audit of a continuous game has phases only.
        before, after = (getattr(audit, name, None) for name in ("exploration", "commitment"))
        if before is not None and after is not None:
            told.append(
                f"{100 * before.rounds / T:.2g}% of the rounds were spent exploring, which cost "
                f"{before.share:.2g} a round; the commitment earned "
                f"{after.average_utility:.4g} a round."
            )
        if audit.calibration is not None:
            told.append(_calibration_sentence(audit))
        if audit.failed:
            names = ", ".join(bound.name for bound in audit.failed)
            told.append(f"Guarantees that FAILED: {names}.")
        else:
            told.append(f"All {len(audit.bounds)} guarantees hold.")
        return told

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as JSON can hold it."""
        result = self.result
        actions = self.game.agent_view.agent_actions
        answer: Any = result.response
        listed = answer is not None and len(actions) > 0
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
            "audit": self.audit.to_dict(),
        }


def _calibration_sentence(audit: Audit) -> str:
    assert audit.calibration is not None
    profile = audit.calibration.profile
    shown = [length for length in profile.errors if length <= max(1, profile.rounds // 100)]
    length = max((n for n in shown if n <= 500), default=min(profile.errors))
    rounds = f"{length:,} rounds" if length > 1 else "one round"
    return (
        f"No interval of {rounds} was miscalibrated by more than "
        f"{math.ceil(1e4 * profile.errors[length]) / 1e4:.4g}."
    )


#: Name, caption and size of the figures, in the order of the page.
_CAPTIONS = {
    "strategies": "Where the play took place. Every strategy that was explored, in order from "
    "white to black; the last commitment (diamond); V*'s point (star); the agent's forecasts as a "
    "cloud. Colours are the agent's best responses.",
    "utility": "The principal's utility: in stretches of rounds, and on average so far, against "
    "V* and the certificate: what the error of the agent's forecasts allows beyond V*.",
    "calibration": "The largest calibration error of any interval of a given length, with the "
    "paper's rate.",
    "responses": "Which answers the agent gave, as shares of stretches of rounds, and the phases "
    "of the principal.",
}


def play_figures(played: Played) -> dict[str, tuple[str, bytes]]:
    """Draw the figures; return each as SVG text and as PNG, by name."""
    from stackcast.report.calibration_figure import draw_profile
    from stackcast.report.responses_figure import draw_responses
    from stackcast.report.strategies_figure import draw_strategies
    from stackcast.report.utility_figure import draw_utility

    t, audit, game = played.transcript, played.audit, played.game
    draw: dict[str, tuple[Callable[[Any], Any], float]] = {
        "strategies": (lambda ax: draw_strategies(t, game, played.solution, ax), 4.8),
        "utility": (lambda ax: draw_utility(t, audit, game, ax), 4.2),
        "responses": (lambda ax: draw_responses(t, game, ax), 2.8),
    }
    if audit.calibration is not None:
        profile = audit.calibration.profile
        draw["calibration"] = (lambda ax: draw_profile(profile, ax), 4.2)
    return {
        name: rendered(draw[name][0], (8.0, draw[name][1])) for name in _CAPTIONS if name in draw
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
            page.figure(inline_svg(svg, name, f"figure: {name}"), _CAPTIONS[name]),
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
