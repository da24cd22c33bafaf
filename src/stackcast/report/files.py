"""What a verb writes into a folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from stackcast._validation import InputError
from stackcast.games import ContinuousGame
from stackcast.solvers import ContinuousSolution

if TYPE_CHECKING:
    from pathlib import Path

    from stackcast.games import Game
    from stackcast.solvers import Solution


def write_solution(
    folder: Path, game: Game | ContinuousGame, solution: Solution | ContinuousSolution
) -> list[Path]:
    """Write ``solution.json`` and the picture of regions or coverage; return the files.

    A continuous game has no such picture.
    """
    from stackcast.games import SecurityGame
    from stackcast.report.coverage_figure import draw_coverage
    from stackcast.report.figures import load_pyplot
    from stackcast.report.regions_figure import draw_regions

    pyplot = load_pyplot()
    picture = "coverage" if isinstance(game, SecurityGame) else "regions"
    files = [folder / name for name in ("solution.json", f"{picture}.svg", f"{picture}.png")]
    if isinstance(solution, ContinuousSolution):
        files = files[:1]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        content = {"game": game.name, **solution.to_dict()}
        files[0].write_text(json.dumps(content, indent=2, allow_nan=False) + "\n")
        if isinstance(game, ContinuousGame) or isinstance(solution, ContinuousSolution):
            return files
        figure, ax = pyplot.subplots(figsize=(6.4, 5.2))
        if isinstance(game, SecurityGame):
            draw_coverage(game, solution, ax=ax)
        else:
            draw_regions(game, solution, ax=ax)
        for file in files[1:]:
            figure.savefig(file, dpi=160, bbox_inches="tight")
        pyplot.close(figure)
    except OSError as error:
        raise InputError(
            str(folder), "a folder that can be written to", str(error.strerror)
        ) from None
    return files
