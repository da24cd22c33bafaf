"""Games for the page: cards, edited tables, and the geometry that a dragged point needs."""

from __future__ import annotations

import json
import math
import threading
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import tomli_w

import stackcast as sc
from stackcast._validation import InputError, whole_number
from stackcast.campaigns import parse_constraint
from stackcast.games import HalfKnownGame, continuous_entry, game_to_table, list_games, load_any
from stackcast.studio import messages as ms
from stackcast.studio.folder import ConflictError, File, file_name, mark_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stackcast.games import Constraint, Game
    from stackcast.studio.folder import Folder

ENDINGS = (".json", ".toml", ".nfg")
_CURVE = 60
#: Larger security games have no curve of margins, and no picture of shares.
_LARGE = 40
_SECURITY = ("defender_covered", "defender_uncovered", "attacker_covered", "attacker_uncovered")
_FINITE = ("principal_actions", "agent_actions", "principal_payoffs")
_RANGES = ("agent_payoffs_low", "agent_payoffs_high")
_STORY = ("name", "description", "source")


def number(value: Any) -> float | None:
    """Return a finite number, or None."""
    return float(value) if value is not None and math.isfinite(value) else None


def whole(field: str, value: Any, at_least: int) -> int:
    """Return a whole number, however it was typed."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return whole_number(field, value, at_least=at_least)


# Tables ----------------------------------------------------------------------------------------


def limit_texts(constraints: Iterable[Constraint]) -> list[ms.Limit]:
    """Return constraints as people write them; one with two different limits becomes two."""
    found = []
    for c in constraints:
        left = ""
        for name, w in c.weights.items():
            sign = (" - " if w < 0 else " + ") if left else ("-1 " if w == -1 else "")
            size = abs(w) if left else w
            left += sign + (name if abs(w) == 1 else f"{size!r} {name}")
        equal = c.at_least is not None and c.at_least == c.at_most
        sides = (("=" if equal else "<=", c.at_most), (">=", None if equal else c.at_least))
        for sign, bound in sides:
            if bound is not None:
                found.append(ms.Limit(text=f"{left} {sign} {bound!r}", name=c.name))
    return found


def full_table(game: Any) -> dict[str, Any]:
    """Return what a file of the game would hold."""
    return game.to_table() if isinstance(game, HalfKnownGame) else game_to_table(game)


def table_of(game: Game | HalfKnownGame) -> ms.GameTable:
    """Return a game as the page edits it."""
    whole_game: Any = game.shell if isinstance(game, HalfKnownGame) else game
    held = {k: v for k, v in full_table(game).items() if k in ms.GameTable.model_fields}
    table = ms.GameTable(**held, limits=limit_texts(whole_game.constraints))
    if isinstance(game, sc.SecurityGame):
        table.kind = "security"
    elif isinstance(game, HalfKnownGame):
        table.knowledge = "unknown" if game.bounds is None else "ranges"
        table.agent_payoffs = [[None] * len(row) for row in table.principal_payoffs]
    return table


def game_of(table: ms.GameTable) -> Game | HalfKnownGame:
    """Return the game that a table describes, or the sentence that says what is wrong with it."""
    security = table.kind == "security"
    constraints = []
    for limit in table.limits:
        words = limit.text.replace("≤", "<=").replace("≥", ">=")
        c = parse_constraint(words, table.targets if security else table.principal_actions)
        constraints.append(sc.Constraint(c.weights, c.at_least, c.at_most, limit.name or c.name))
    payoffs = {"known": ("agent_payoffs",), "ranges": _RANGES, "unknown": ()}[table.knowledge]
    keys = (*_SECURITY, "targets", "resources") if security else (*_FINITE, *payoffs)
    fields: dict[str, Any] = {key: getattr(table, key) for key in (*keys, *_STORY)}
    if security and isinstance(table.resources, float) and table.resources.is_integer():
        fields["resources"] = int(table.resources)
    make: Any = sc.FiniteGame if table.knowledge == "known" else HalfKnownGame
    return (sc.SecurityGame if security else make)(**fields, constraints=constraints)


# Files -----------------------------------------------------------------------------------------


def game_at(folder: Folder, origin: str, name: str) -> Any:
    """Return a game of the catalogue or of the folder, whole or half-known."""
    if origin == "folder":
        return load_any(folder.at(name, *ENDINGS))
    if origin != "catalogue":
        raise InputError("origin", "catalogue or folder", origin[:60])
    if name not in {*list_games(), *list_games("continuous")}:
        load_any(name if name.isidentifier() else f"no-{len(name)}")  # has the sentence
    return load_any(name)


def open_game(folder: Folder, origin: str, name: str) -> ms.Opened:
    """Return a game of the catalogue or of the folder, to edit."""
    made = ms.Opened(name=name, origin="catalogue", mark="", table=None)
    if origin == "catalogue" and name in list_games("continuous"):
        made.continuous = continuous_card(name)
        return made
    if origin == "folder":
        made.origin = "folder"
        made.mark = mark_of(folder.read(folder.at(name, *ENDINGS).name, 5_000_000))
    game = game_at(folder, origin, name)
    if isinstance(game, sc.ContinuousGame):
        raise InputError(name, "a finite or a security game to edit", "a continuous one")
    made.table = table_of(game)
    return made


def _content(folder: Folder, table: ms.GameTable, ending: str) -> bytes:
    """Return the bytes of a game in a format."""
    game = game_of(table)
    if isinstance(game, HalfKnownGame):
        if ending == ".nfg":
            raise InputError("format", ".json or .toml for a half-known game", ending)
        held = {"format": "stackcast-half-known-game-1", **game.to_table()}
        return (tomli_w.dumps(held) if ending == ".toml" else json.dumps(held, indent=2)).encode()
    with folder.draft(ending) as draft:
        try:
            sc.save_game(game, draft)
        except InputError as error:
            raise InputError("format", error.expected, error.found) from None
        return draft.read_bytes()


def keep(folder: Folder, request: ms.Asked, name: str = "") -> ms.Done:
    """Write a game to a new file."""
    name = folder.free(name or file_name(request.table.name, ".toml"))
    content = _content(folder, request.table, folder.at(name, *ENDINGS).suffix.lower())
    folder.write(name, content)
    return ms.Done(name=name, mark=mark_of(content))


def save(folder: Folder, name: str, request: ms.Asked) -> ms.Done:
    """Write a game over the version that was read; somebody else's is left as it is."""
    path = folder.at(name, *ENDINGS)
    if request.mark is None:
        raise InputError("mark", "the mark of the file that was read", "nothing")
    if path.exists() and mark_of(path.read_bytes()) != request.mark:
        raise ConflictError(f"{name} was changed elsewhere, in another window or program.")
    content = _content(folder, request.table, path.suffix.lower())
    folder.write(name, content)
    return ms.Done(name=name, mark=mark_of(content))


def delete(folder: Folder, name: str) -> ms.Done:
    """Delete a file of a game."""
    folder.at(name, *ENDINGS).unlink(missing_ok=True)
    return ms.Done(words=f"Deleted {name}.")


def export(folder: Folder, request: ms.Asked) -> File:
    """Return a game as a file to keep."""
    ending = f".{request.format}"
    return File(file_name(request.table.name, ending), _content(folder, request.table, ending))


def take(folder: Folder, file: File) -> ms.Done:
    """Keep a file that holds a game; any other leaves nothing behind."""
    file.must_end(*ENDINGS)
    name = folder.free(file.name)
    folder.write(name, file.content)
    try:
        return ms.Done(name=name, mark=open_game(folder, "folder", name).mark)
    except BaseException:
        folder.at(name).unlink(missing_ok=True)
        raise


# Cards -----------------------------------------------------------------------------------------

_lock = threading.Lock()
_kept: list[ms.Card] = []


def catalogue_cards() -> list[ms.Card]:
    """Return the catalogue: made once, then kept."""
    with _lock:
        if not _kept:
            found = [card(load_any(name), name, "catalogue") for name in list_games()]
            _kept.extend(found + [continuous_card(name) for name in list_games("continuous")])
    return _kept


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
        value=number(entry.get("known_value")),
    )


def folder_cards(folder: Folder) -> ms.Folder:
    """Return the games of the folder, and the sentences for files that hold none."""
    found = ms.Folder(path=str(folder.root), games=[], problems=[])
    for path in folder.files(*ENDINGS):
        try:
            game = load_any(path)
            if not isinstance(game, sc.ContinuousGame):
                found.games.append(card(game, path.name, "folder"))
        except InputError as error:
            problem = ms.FileInfo(path=path.name, sentence=folder.plain(str(error)))
            found.problems.append(problem)
        except OSError:
            continue
    return found


def card(game: Any, name: str, origin: Literal["catalogue", "folder"]) -> ms.Card:
    """Return the card of a finite, half-known or security game."""
    half, security = isinstance(game, HalfKnownGame), isinstance(game, sc.SecurityGame)
    known: Any = game.shell if half else game
    made = ms.Card(
        name=name,
        origin=origin,
        kind="security" if security else "finite",
        title=known.name or name.rpartition(".")[0] or name,
        story=first_sentence(known.description),
        description=known.description,
        source=known.source,
        shape=list(known.shape),
        resources=game.resources if security else None,
    )
    if half:
        made.knowledge = "unknown" if game.bounds is None else "ranges"
        return made
    solution = sc.solve(game)
    made.value, made.response = number(solution.value), solution.response
    made.strategy = solution.strategy.tolist()
    if not security and known.shape[0] <= 3:
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


def see_table(request: ms.Asked) -> ms.See:
    """Return what the game of a table leads to."""
    return see(game_of(request.table))


def see(game: Game | HalfKnownGame) -> ms.See:
    """Return what a game leads to: where payoffs are ranges, what is certain within them."""
    if not isinstance(game, HalfKnownGame):
        return _seen(ms.See(known="known", geometry=geometry(game)), game, game)
    if game.bounds is None:
        return ms.See(known="unknown")
    low, high = game.bounds
    middle = geometry(game.whole((low + high) / 2), (low, high))
    made = ms.See(known="ranges", geometry=middle, low=low.tolist(), high=high.tolist())
    found = [_certain(game, y) for y in range(low.shape[1])]
    certain = [one for y, one in enumerate(found) if sc.solve(one).response == y]
    if not certain:
        made.note = "No commitment has an answer that is certain within these ranges."
        return made
    return _seen(made, game, max(certain, key=lambda one: sc.solve(one).value))


def _seen(made: ms.See, game: Any, solved: Game) -> ms.See:
    """Fill in the best commitment and the price of a margin."""
    solution = sc.solve(solved)
    made.value, made.response = number(solution.value), solution.response
    made.strategy = solution.strategy.tolist()
    if isinstance(game, sc.SecurityGame):
        assert made.geometry is not None
        made.geometry.regions = []  # the page knows the slopes: a tie is one subtraction
    if not (isinstance(game, sc.SecurityGame) and game.shape[0] > _LARGE):
        made.widest, made.price = price_of_margins(solved)
    return made


def _certain(game: HalfKnownGame, y: int) -> sc.FiniteGame:
    """Return a game that only y answers where its answer is certain, whatever the payoffs.

    Action y has its lowest payoffs and all others their highest; the others pay the principal so
    little that they win only where y cannot be certain.
    """
    assert game.bounds is not None
    theirs = game.bounds[1].copy()
    theirs[:, y] = game.bounds[0][:, y]
    own = np.full_like(game.shell.principal_payoffs, game.shell.principal_payoffs.min() - 1.0)
    own[:, y] = game.shell.principal_payoffs[:, y]
    names = game.shell.principal_actions, game.shell.agent_actions
    return sc.FiniteGame(own, theirs, *names, constraints=game.shell.constraints)


def price_of_margins(game: Game) -> tuple[float | None, list[ms.PricePoint]]:
    """Return the widest margin that the best answer allows, and the best commitment for each."""

    def best(margin: float) -> Any:
        try:
            return sc.solve(game, margin)
        except InputError:  # nothing keeps this margin
            return None

    response, low, high = best(0.0).response, 0.0, 1.5
    for _ in range(22):
        middle = (low + high) / 2
        found = best(middle)
        keeps = found is not None and found.response == response
        low, high = (middle, high) if keeps else (low, middle)
    margins = [low * step / _CURVE for step in range(_CURVE + 1)]
    solved = [(margin, found) for margin in margins if (found := best(margin)) is not None]
    return low, [
        ms.PricePoint(
            margin=margin, value=f.value, strategy=f.strategy.tolist(), response=f.response
        )
        for margin, f in solved
    ]


def worth(request: ms.Asked) -> ms.Worth:
    """Return what commitment is worth beside other ways to play."""
    game = game_of(request.table)
    if isinstance(game, HalfKnownGame):
        return {}
    solution = sc.solve(game, details=True)
    keys = ("maximin", "nash", "regularity")
    found: ms.Worth = {key: number(getattr(solution, key)) for key in keys}
    for key in ("payoff_error", "highest", "guaranteed"):
        found[key] = number(getattr(solution.sensitivity, key, None))
    return found
