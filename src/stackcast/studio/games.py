"""Games for the page: cards, edited tables, and the geometry that a dragged point needs."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

import stackcast as sc
from stackcast._validation import InputError
from stackcast.campaigns import HalfKnownGame, load_half_known, parse_constraint
from stackcast.games import (
    continuous_entry,
    game_to_table,
    list_games,
    load_game,
)
from stackcast.studio import messages as ms
from stackcast.studio.folder import file_name, mark_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from stackcast.games import Constraint, Game
    from stackcast.studio.folder import Folder

ENDINGS = (".json", ".toml", ".nfg")
_CURVE = 60
#: Larger security games have no curve of margins, and no picture of shares.
_LARGE = 40
_SECURITY = ("defender_covered", "defender_uncovered", "attacker_covered", "attacker_uncovered")


# Tables ----------------------------------------------------------------------------------------


def limit_texts(constraints: Iterable[Constraint]) -> list[ms.Limit]:
    """Return constraints as people write them; one with two different limits becomes two."""
    found = []
    for c in constraints:
        terms = [
            (" - " if w < 0 else " + ") + (name if abs(w) == 1 else f"{abs(w)!r} {name}")
            for name, w in c.weights.items()
        ]
        left = "".join(terms).removeprefix(" + ")
        if left.startswith(" - "):
            name, w = next(iter(c.weights.items()))
            left = f"{w!r} {name}" + "".join(terms[1:])
        if c.at_least is not None and c.at_least == c.at_most:
            found.append(ms.Limit(text=f"{left} = {c.at_most!r}", name=c.name))
            continue
        if c.at_most is not None:
            found.append(ms.Limit(text=f"{left} <= {c.at_most!r}", name=c.name))
        if c.at_least is not None:
            found.append(ms.Limit(text=f"{left} >= {c.at_least!r}", name=c.name))
    return found


def table_of(game: Game | HalfKnownGame) -> ms.GameTable:
    """Return a game as the page edits it."""
    if isinstance(game, sc.SecurityGame):
        return ms.GameTable(
            kind="security",
            name=game.name,
            description=game.description,
            source=game.source,
            targets=list(game.targets),
            resources=game.resources,
            limits=limit_texts(game.constraints),
            **{key: getattr(game, key).tolist() for key in _SECURITY},
        )
    half = isinstance(game, HalfKnownGame)
    whole: Any = game.shell if isinstance(game, HalfKnownGame) else game
    table = ms.GameTable(
        name=whole.name,
        description=whole.description,
        source=whole.source,
        knowledge="unknown" if half else "known",
        principal_actions=list(whole.principal_actions),
        agent_actions=list(whole.agent_actions),
        principal_payoffs=whole.principal_payoffs.tolist(),
        agent_payoffs=whole.agent_payoffs.tolist(),
        limits=limit_texts(whole.constraints),
    )
    if isinstance(game, HalfKnownGame):
        bounds = game.bounds
        table.agent_payoffs = [[None] * len(row) for row in table.principal_payoffs]
        if bounds is not None:
            table.knowledge = "ranges"
            table.agent_payoffs_low, table.agent_payoffs_high = (
                bounds[0].tolist(),
                bounds[1].tolist(),
            )
    return table


def game_of(table: ms.GameTable) -> Game | HalfKnownGame:
    """Return the game that a table describes, or the sentence that says what is wrong with it."""
    actions = table.targets if table.kind == "security" else table.principal_actions
    constraints = []
    for limit in table.limits:
        c = parse_constraint(limit.text.replace("≤", "<=").replace("≥", ">="), actions)
        name = limit.name or c.name
        constraints.append(sc.Constraint(c.weights, c.at_least, c.at_most, name))
    texts: dict[str, Any] = {
        "name": table.name,
        "description": table.description,
        "source": table.source,
    }
    if table.kind == "security":
        resources: Any = table.resources
        if isinstance(resources, float) and resources.is_integer():
            resources = int(resources)
        return sc.SecurityGame(
            **{key: getattr(table, key) for key in _SECURITY},
            resources=resources,
            targets=table.targets,
            constraints=constraints,
            **texts,
        )
    names: dict[str, Any] = {
        "principal_actions": table.principal_actions,
        "agent_actions": table.agent_actions,
    }
    own: Any = table.principal_payoffs
    if table.knowledge == "known":
        other: Any = table.agent_payoffs
        return sc.FiniteGame(own, other, constraints=constraints, **names, **texts)
    bounds: dict[str, Any] = {}
    if table.knowledge == "ranges":
        bounds = {
            "agent_payoffs_low": table.agent_payoffs_low,
            "agent_payoffs_high": table.agent_payoffs_high,
        }
    return HalfKnownGame(own, constraints=constraints, **bounds, **names, **texts)


# Files -----------------------------------------------------------------------------------------


def open_game(folder: Folder, origin: str, name: str) -> ms.Opened:
    """Return a game of the catalogue or of the folder."""
    if origin == "catalogue":
        if name in list_games("continuous"):
            return ms.Opened(
                name=name, origin="catalogue", mark="", table=None, continuous=continuous_card(name)
            )
        if name not in list_games():
            load_game(name if name.isidentifier() else f"no-{len(name)}")  # has the sentence
            raise InputError("game", "a game of the catalogue", name)
        game: Any = load_game(name)
        return ms.Opened(name=name, origin="catalogue", mark="", table=table_of(game))
    content = folder.read(folder.at(name, *ENDINGS).name, 5_000_000)
    game = read_game(folder.at(name, *ENDINGS))
    if isinstance(game, sc.ContinuousGame):
        raise InputError(name, "a finite or a security game to edit", "a continuous one")
    return ms.Opened(name=name, origin="folder", mark=mark_of(content), table=table_of(game))


def read_game(path: Path) -> Any:
    """Return the game in a file, whole or half-known."""
    if path.suffix.lower() == ".nfg":
        return load_game(path)
    text = path.read_text(encoding="utf-8", errors="replace")
    if ("agent_payoffs" in text and "agent_payoffs_low" not in text) or "defender_covered" in text:
        return load_game(path)
    if "principal_payoffs" in text:
        return load_half_known(path)
    return load_game(path)


def content_of(table: ms.GameTable, ending: str, folder: Folder) -> bytes:
    """Return the bytes of a game in a format."""
    game = game_of(table)
    if isinstance(game, HalfKnownGame):
        if ending == ".nfg":
            raise InputError("format", ".json or .toml for a half-known game", ending)
        return _half_known_bytes(game, ending)
    draft = folder.root / f".studio-{threading.get_ident()}{ending}"
    try:
        sc.save_game(game, draft)
        return draft.read_bytes()
    except InputError as error:
        raise InputError("format", error.expected, error.found) from None
    finally:
        draft.unlink(missing_ok=True)


def _half_known_bytes(game: HalfKnownGame, ending: str) -> bytes:
    import json

    import tomli_w

    table = {"format": "stackcast-half-known-game-1", **game.to_table()}
    text = tomli_w.dumps(table) if ending == ".toml" else json.dumps(table, indent=2) + "\n"
    return text.encode()


def save(folder: Folder, name: str, request: ms.Save) -> ms.Saved | None:
    """Write a game to a file; None if the file is not the one with the mark any more."""
    new = request.mark is None
    if new:
        name = folder.free(name or file_name(request.table.name, ".toml"))
    path = folder.at(name, *ENDINGS)
    if not new and path.exists() and mark_of(path.read_bytes()) != request.mark:
        return None
    content = content_of(request.table, path.suffix.lower(), folder)
    folder.write(name, content)
    return ms.Saved(name=name, mark=mark_of(content))


# Cards -----------------------------------------------------------------------------------------

_lock = threading.Lock()
_kept: dict[str, ms.Card] = {}


def catalogue_cards() -> list[ms.Card]:
    """Return the catalogue: made once, then kept."""
    with _lock:
        if not _kept:
            for name in list_games():
                _kept[name] = card(load_game(name), name, "catalogue")
            for name in list_games("continuous"):
                _kept[name] = continuous_card(name)
    return list(_kept.values())


def continuous_card(name: str) -> ms.Card:
    """Return the card of a continuous game of the catalogue."""
    entry = continuous_entry(name)
    story = str(entry.get("description", ""))
    shape = entry.get("shape") or [entry.get("dimension", 1)]
    return ms.Card(
        name=name,
        origin="catalogue",
        kind="continuous",
        title=name,
        story=first_sentence(story),
        description=story,
        source=str(entry.get("source", "")),
        shape=[int(n) for n in np.atleast_1d(shape)],
        principal_actions=[],
        agent_actions=[],
        value=number(entry.get("known_value")),
    )


def folder_cards(folder: Folder) -> ms.Folder:
    """Return the games of the folder, and the sentences for files that hold none."""
    cards, problems = [], []
    for path in folder.files(*ENDINGS):
        try:
            game = read_game(path)
            if not isinstance(game, sc.ContinuousGame):
                cards.append(card(game, path.name, "folder"))
        except InputError as error:
            problems.append(ms.Problem(file=path.name, sentence=folder.plain(str(error))))
        except OSError:
            continue
    return ms.Folder(path=str(folder.root), games=cards, problems=problems)


def card(game: Any, name: str, origin: Any) -> ms.Card:
    """Return the card of a finite, half-known or security game."""
    half = isinstance(game, HalfKnownGame)
    whole: Any = game.shell if half else game
    security = isinstance(game, sc.SecurityGame)
    made = ms.Card(
        name=name,
        origin=origin,
        kind="security" if security else "finite",
        title=whole.name or name.rpartition(".")[0] or name,
        story=first_sentence(whole.description),
        description=whole.description,
        source=whole.source,
        shape=list(whole.shape),
        principal_actions=list(whole.principal_actions),
        agent_actions=list(whole.agent_actions),
        resources=game.resources if security else None,
    )
    if half:
        made.knowledge = "unknown" if game.bounds is None else "ranges"
        return made
    solution = sc.solve(game)
    made.value, made.response = number(solution.value), solution.response
    made.strategy = solution.strategy.tolist()
    if not security and len(whole.principal_actions) <= 3:
        made.geometry = geometry(game)
    elif not security:
        made.shares = sc.BestResponseRegions(game).volume_shares(samples=2000).share.tolist()
    return made


def first_sentence(text: str) -> str:
    """Return the first sentence of a story."""
    head, mark, _ = text.partition(". ")
    return head.rstrip(".") + "." if mark or text else ""


# What a game leads to ---------------------------------------------------------------------------


def geometry(game: Game, bounds: Any = None) -> ms.Geometry:
    """Return utilities, regions and limits as halfspaces.

    With bounds (low, high) on the agent's payoffs, a region holds where the answer is certain.
    """
    own, view, space = game.principal_view, game.agent_view, game.space
    low, high = (view.payoffs, view.payoffs) if bounds is None else bounds
    never = (
        sc.BestResponseRegions(game).never_best if bounds is None else np.zeros(low.shape[1], bool)
    )

    def tie(y: int, j: int) -> ms.Tie:
        normal = high[:, j] - low[:, y]
        return ms.Tie(
            other=j,
            normal=normal.tolist(),
            bound=float(view.offsets[y] - view.offsets[j]),
            length=float(np.linalg.norm(normal @ space.basis)),
        )

    actions = range(low.shape[1])
    limits = [
        ms.Tie(other=-1, normal=row.tolist(), bound=float(b), length=float(np.linalg.norm(row)))
        for row, b in zip(space.inequality_rows, space.inequality_bounds, strict=True)
    ]
    for row, b in zip(space.equality_rows, space.equality_bounds, strict=True):
        if not np.allclose(row, row[0]):  # that shares sum to one goes without saying
            limits += [
                ms.Tie(other=-1, normal=(s * row).tolist(), bound=float(s * b), length=1.0)
                for s in (1.0, -1.0)
            ]
    return ms.Geometry(
        principal_payoffs=own.payoffs.tolist(),
        principal_offsets=own.offsets.tolist(),
        agent_payoffs=((low + high) / 2).tolist(),
        agent_offsets=view.offsets.tolist(),
        limits=limits,
        regions=[[tie(y, j) for j in actions if j != y] for y in actions],
        never=[bool(entry) for entry in never],
    )


def see(table: ms.GameTable) -> ms.See:
    """Return what a game leads to."""
    game = game_of(table)
    if isinstance(game, HalfKnownGame):
        return _see_half(game)
    solution = sc.solve(game)
    large = isinstance(game, sc.SecurityGame) and game.shape[0] > _LARGE
    widest, price = (None, []) if large else price_of_margins(game)
    plain = geometry(game)
    if isinstance(game, sc.SecurityGame):
        plain.regions = []  # the page knows the slopes: a tie is one subtraction
    return ms.See(
        known="known",
        geometry=plain,
        value=number(solution.value),
        strategy=solution.strategy.tolist(),
        response=solution.response,
        price=price,
        widest=widest,
    )


def _see_half(game: HalfKnownGame) -> ms.See:
    if game.bounds is None:
        return ms.See(known="unknown")
    low, high = game.bounds
    shell = game.shell
    best: Any = None
    for y in range(low.shape[1]):
        found = _safe(game, y)
        if found is not None and (best is None or found[0].value > best[0].value):
            best = found
    middle = sc.FiniteGame(
        shell.principal_payoffs,
        (low + high) / 2,
        shell.principal_actions,
        shell.agent_actions,
        constraints=shell.constraints,
    )
    made = ms.See(
        known="ranges",
        geometry=geometry(middle, (low, high)),
        low=low.tolist(),
        high=high.tolist(),
    )
    if best is None:
        made.note = "No commitment has an answer that is certain within these ranges."
        return made
    solution, certain = best
    made.value, made.response = number(solution.value), solution.response
    made.strategy = solution.strategy.tolist()
    made.widest, made.price = price_of_margins(certain)
    return made


def _safe(game: HalfKnownGame, y: int) -> tuple[Any, Game] | None:
    """Return the best commitment that y answers whatever the payoffs, and the game that says so.

    Action y has its lowest payoffs and all others their highest; the others pay the principal so
    little that they win only where y cannot be certain.
    """
    bounds = game.bounds
    assert bounds is not None
    low, high = bounds
    shell = game.shell
    theirs = high.copy()
    theirs[:, y] = low[:, y]
    own = np.full_like(shell.principal_payoffs, shell.principal_payoffs.min() - 1.0)
    own[:, y] = shell.principal_payoffs[:, y]
    certain = sc.FiniteGame(
        own, theirs, shell.principal_actions, shell.agent_actions, constraints=shell.constraints
    )
    solution = sc.solve(certain)
    return (solution, certain) if solution.response == y else None


def price_of_margins(game: Game) -> tuple[float | None, list[ms.PricePoint]]:
    """Return the widest margin that the best answer allows, and the best commitment for each."""
    response = sc.solve(game).response
    low, high = 0.0, 1.5
    for _ in range(22):
        middle = (low + high) / 2
        try:
            low, high = (
                (middle, high) if sc.solve(game, middle).response == response else (low, middle)
            )
        except InputError:
            high = middle
    found = []
    for step in range(_CURVE + 1):
        margin = low * step / _CURVE
        try:
            solution = sc.solve(game, margin)
        except InputError:
            continue
        found.append(
            ms.PricePoint(
                margin=margin,
                value=solution.value,
                strategy=solution.strategy.tolist(),
                response=solution.response,
            )
        )
    return low, found


def worth(table: ms.GameTable) -> ms.Worth:
    """Return what commitment is worth beside other ways to play."""
    game = game_of(table)
    if isinstance(game, HalfKnownGame):
        return ms.Worth()
    solution = sc.solve(game, details=True)
    found = solution.sensitivity
    return ms.Worth(
        maximin=number(solution.maximin),
        nash=number(solution.nash),
        regularity=number(solution.regularity),
        payoff_error=None if found is None else number(found.payoff_error),
        highest=None if found is None else number(found.highest),
        guaranteed=None if found is None else number(found.guaranteed),
    )


def number(value: Any) -> float | None:
    """Return a finite number, or None."""
    return float(value) if value is not None and math.isfinite(value) else None


def full_table(game: Any) -> dict[str, Any]:
    """Return what a file of the game would hold."""
    return game.to_table() if isinstance(game, HalfKnownGame) else game_to_table(game)
