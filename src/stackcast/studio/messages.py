"""The type of every message between the page and the server.

Requests are checked against these types before anything is done. Cells of payoff tables may be
anything that was typed: the game's own checks judge them, so that a mistake gets the package's
sentence. Numbers that do not exist are ``None``.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Cell = int | float | str | None
Vector = list[float]
Cells = list[Cell]
Number = float | None
#: What commitment is worth beside other ways to play, and how firm V* is.
Worth = dict[str, Number]


class Message(BaseModel):
    """What all messages share: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid")


class Mistake(Message):
    """One sentence that says what was expected and what was found."""

    sentence: str
    field: str = ""


# Games ------------------------------------------------------------------------------------------


class FileInfo(Message):
    """A file of the folder, or the sentence that says why it cannot be read."""

    path: str
    title: str = ""
    kind: str = ""
    at: str = ""
    size: int = 0
    sentence: str = ""


class Done(Message):
    """That something was done, in words; where it was kept."""

    words: str = ""
    entry: int | None = None
    name: str = ""
    mark: str = ""


class Limit(Message):
    """A limit on commitments as people write it: ``"thorough + 2 light <= 0.4"``."""

    text: str = Field(max_length=2000)
    name: str = Field(default="", max_length=2000)
    why: str = Field(default="", max_length=2000)


class GameTable(Message):
    """A game as it is edited: finite or security, the agent's payoffs known, as ranges, or not."""

    kind: Literal["finite", "security"] = "finite"
    name: str = Field(default="", max_length=2000)
    description: str = Field("", max_length=20_000)
    source: str = Field("", max_length=20_000)
    knowledge: Literal["known", "ranges", "unknown"] = "known"
    principal_actions: list[str] = Field(default=[], max_length=500)
    agent_actions: list[str] = Field(default=[], max_length=500)
    principal_payoffs: list[Cells] = Field(default=[], max_length=500)
    agent_payoffs: list[Cells] = Field(default=[], max_length=500)
    agent_payoffs_low: list[Cells] = Field(default=[], max_length=500)
    agent_payoffs_high: list[Cells] = Field(default=[], max_length=500)
    limits: list[Limit] = Field(default=[], max_length=200)
    targets: list[str] = Field(default=[], max_length=500)
    resources: Cell = 1
    defender_covered: Cells = []
    defender_uncovered: Cells = []
    attacker_covered: Cells = []
    attacker_uncovered: Cells = []


class Tie(Message):
    """The halfspace normal·h ≤ bound on which the agent prefers an action to ``other``.

    ``length`` is that of the normal within the strategies' affine hull: (bound − normal·h)/length
    is the distance from h to the tie.
    """

    other: int
    normal: Vector
    bound: float
    length: float


class Geometry(Message):
    """Utilities and regions, so that a dragged point needs no server."""

    principal_payoffs: list[Vector]
    principal_offsets: Vector
    agent_payoffs: list[Vector]
    agent_offsets: Vector
    limits: list[Tie]
    regions: list[list[Tie]]
    never: list[bool]


class PricePoint(Message):
    """The best commitment that keeps a margin."""

    margin: float
    value: float
    strategy: Vector
    response: int


class See(Message):
    """What a game leads to: V*, its geometry, and what a margin costs."""

    known: Literal["known", "ranges", "unknown"]
    geometry: Geometry | None = None
    low: list[Vector] | None = None
    high: list[Vector] | None = None
    value: Number = None
    strategy: Vector | None = None
    response: int | None = None
    price: list[PricePoint] = []
    widest: Number = None
    note: str = ""


class Card(Message):
    """A game in the list."""

    name: str
    origin: Literal["catalogue", "folder"]
    kind: Literal["finite", "security", "continuous"]
    title: str
    story: str
    description: str
    source: str
    shape: list[int]
    resources: int | None = None
    knowledge: Literal["known", "ranges", "unknown"] = "known"
    value: Number = None
    strategy: Vector | None = None
    response: int | None = None
    shares: Vector | None = None
    geometry: Geometry | None = None


class Folder(Message):
    """What the folder holds."""

    path: str
    games: list[Card]
    problems: list[FileInfo]


class Opened(Message):
    """A game that was opened; ``mark`` changes whenever the file does."""

    name: str
    origin: Literal["catalogue", "folder"]
    mark: str
    table: GameTable | None
    continuous: Card | None = None


class Asked(Message):
    """A game to look at, to write in a format, or to keep.

    It is kept over the version with that mark, or under a new name if there is none.
    """

    table: GameTable
    mark: str | None = None
    format: Literal["json", "toml", "nfg"] = "toml"


# Play -------------------------------------------------------------------------------------------


class Players(Message):
    """Who can play a game, the usual ones first named."""

    principals: list[str]
    agents: list[str]
    principal: str
    agent: str


class NewPlay(Message):
    """A play to start."""

    mode: Literal["watch", "principal", "agent"]
    origin: Literal["catalogue", "folder"]
    game: str = Field(max_length=300)
    principal: str = Field("", max_length=200)
    agent: str = Field("", max_length=200)
    rounds: Any = 5000
    seed: Any = 0
    feedback: Literal["strategy", "action"] | None = None


class Move(Message):
    """What a person does in a play."""

    do: Literal["go", "pause", "step", "stop", "speed", "commit", "answer", "keep"]
    speed: float | None = None
    strategy: Cells | None = None
    rounds: Any = 1
    response: int | None = None
    seen: int | None = None


class Step(Message):
    """Blocks in a row with one strategy and phase."""

    first: int
    rounds: int
    phase: str
    strategy: Vector
    answers: list[int]
    earned: float


class Stretch(Message):
    """What some rounds came to; ``end`` is the last of them."""

    end: int
    earned: float
    average: float
    answers: list[int]
    error: Number = None
    allowed: Number = None


class Run(Message):
    """A running play: what is new in it. ``steps`` replace those from ``from_step`` on."""

    state: Literal["starting", "running", "paused", "stopping", "kept", "failed"]
    round: int
    rounds: int
    stretches: list[Stretch] = []
    from_step: int = 0
    steps: list[Step] = []
    forecasts: list[Vector] = []
    reference: list[Vector] = []
    words: list[str] = []
    sentence: str = ""


class PlayInfo(Message):
    """A play of the folder."""

    name: str
    mode: Literal["watch", "principal", "agent"]
    state: Literal["starting", "running", "paused", "stopping", "stopped", "kept", "failed"]
    origin: Literal["catalogue", "folder", "file"]
    game: str
    principal: str
    agent: str
    rounds: int
    seed: int
    played: int | None = None
    earned: Number = None
    value: Number = None
    verdict: str = ""


class Shown(Message):
    """A play that is looked at: its game, and what of it is on the disk."""

    info: PlayInfo
    table: GameTable | None
    see: See | None
    value: Number
    run: Run | None
    words: list[str]


class Visit(Message):
    """A round as a person who is the agent sees it."""

    action: int
    response: int
    earned: float


class Seat(Message):
    """A play with a person in one seat, as that person may see it."""

    name: str
    mode: Literal["principal", "agent"]
    table: GameTable
    see: See | None
    rounds: int
    kept: bool
    value: Number = None
    steps: list[Step] = []
    forecasts: list[Vector] = []
    recent: list[int] = []
    earned: list[Vector] = []
    most: Number = None
    visits: list[Visit] = []
    left: int = 0
    worth: Vector = []
    believed: Vector | None = None
    believed_response: int | None = None


# Campaigns --------------------------------------------------------------------------------------


class NewCampaign(Message):
    """A campaign to start."""

    file: str = Field(max_length=200)
    table: GameTable
    horizon: Any = 1000
    seed: Any = 0
    margin: Any = None
    floor: Any = None


class Deed(Message):
    """What a person does in a campaign, each verb with the fields that it needs.

    ``counts`` by name or one name a round in ``days`` (``None``: nobody knows); ``played`` if it
    was not as asked; the ``entry`` to correct; a ``limit`` and why; a new action and its payoffs.
    """

    counts: dict[str, int] | None = None
    days: list[str | None] | None = Field(default=None, max_length=10_000)
    played: dict[str, float] | None = None
    entry: int | None = None
    limit: str = Field("", max_length=2000)
    why: str = Field(default="", max_length=2000)
    name: str = Field("", max_length=200)
    payoffs: Cells = []


class AdviceMessage(Message):
    """What to commit to now, with an order for the days asked for."""

    entry: int
    strategy: Vector
    rounds: int
    phase: str
    why: str
    counts: list[int]
    order: list[int]


class Row(Message):
    """A line of the history."""

    entry: int
    at: str
    kind: str
    revoked_by: int | None
    words: str
    strategy: Vector | None = None
    asked: Vector | None = None
    answers: list[int] | None = None
    missing: int = 0
    rounds: int = 0
    earned: Number = None
    phase: str = ""
    as_asked: bool = True
    corrected: bool = False


class Answered(Message):
    """The responses that one strategy drew."""

    strategy: Vector
    counts: list[int]
    response: int | None


class CampaignMessage(Message):
    """All that the page shows of a campaign; ``entry`` is the last of its journal."""

    file: str
    name: str
    entry: int
    state: Literal["running", "paused", "ended"]
    principal: str
    horizon: int
    principal_actions: list[str]
    agent_actions: list[str]
    principal_payoffs: list[Vector]
    advice: AdviceMessage | None
    strategy: Vector
    response: int | None
    value: Number
    margin: Number
    certified: bool
    further_gain: Number
    rounds: int
    missing: int
    unseen: int
    average_utility: Number
    answers: list[Answered]
    limits: list[Limit]
    history: list[Row]


class CampaignInfo(Message):
    """A campaign in the list."""

    file: str
    name: str
    state: str
    rounds: int
    horizon: int
    principal: str
    last: str
    entry: int = 0
    sentence: str = ""


# Forecasts --------------------------------------------------------------------------------------


class Judged(Message):
    """Forecasts, before or after the correction."""

    verdict: str
    sentences: list[str]
    lower: float
    upper: float
    loss: Number = None
    groups: list[Vector] = []  # forecast, frequency, rounds, and what chance allows: from, to
    heat: list[list[Number]] = []
    lengths: list[Vector]  # rounds of the interval, the worst error, the rate
    evidence: list[int] | None = None
    evidence_error: Number = None
    evidence_wealth: Number = None
    evidence_bin: str = ""
    p_value: Number = None


class Forecasts(Message):
    """What a table of forecasts and outcomes proves."""

    file: str
    rows: int
    threshold: float
    before: Judged
    after: Judged | None
    mean_shift: Number = None


# Reports ----------------------------------------------------------------------------------------


class Audited(Message):
    """What a saved transcript proves."""

    path: str
    rounds: int
    value: Number
    average_utility: Number
    bounds: list[dict[str, Any]]  # as Audit.to_dict gives them
