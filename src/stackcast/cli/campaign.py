"""``stackcast campaign``: advice for people who face a real agent, one decision at a time."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stackcast.cli._screen import compiling_said, print_json, say, screen

if TYPE_CHECKING:
    from stackcast.campaigns import Receipt

campaign = typer.Typer(
    help="Advice against a real agent, one decision at a time: new, rehearse, ask, tell, report.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

File = Annotated[Path, typer.Argument(metavar="FILE", show_default=False, help="The campaign.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Answers = Annotated[
    str,
    typer.Argument(
        metavar="[RESPONSES]",
        show_default=False,
        help="Counts, as comply=7,violate=3,?=2; or one for each round, as comply,?,violate.",
    ),
]
Table = Annotated[
    Path | None,
    typer.Option(
        "--csv",
        metavar="FILE",
        show_default=False,
        help="A CSV file with a column response, and perhaps count or date.",
    ),
]
Played = Annotated[
    str,
    typer.Option(
        show_default=False,
        help="What was played, if not as asked: inspect=40%,trust=60% or 40/60. Of one "
        "round, an action alone (inspect=1) is what was done that day.",
    ),
]


@campaign.command()
def new(
    file: File,
    game: Annotated[
        str,
        typer.Option(
            show_default=False,
            help="A file with the principal's payoffs and the names of the actions; or a whole "
            "game, of which only that is read.",
        ),
    ],
    principal: Annotated[str, typer.Option(help="Who advises.")] = "commitment-learner",
    horizon: Annotated[int, typer.Option(help="About how many rounds there will be.")] = 10_000,
    margin: Annotated[
        float | None, typer.Option(show_default=False, help="The margin to certify.")
    ] = None,
    floor: Annotated[
        float | None,
        typer.Option(
            show_default=False,
            help="Never ask for a mix whose worst case is below this utility.",
        ),
    ] = None,
    constraint: Annotated[
        list[str] | None,
        typer.Option(
            show_default=False,
            help="A limit on what may be committed to, as 'thorough + 2 light <= 0.4'; may be "
            "given several times.",
        ),
    ] = None,
    misread: Annotated[
        float, typer.Option(help="The share of responses that are seen wrongly, below 0.5.")
    ] = 0.0,
    agent_sees: Annotated[
        str, typer.Option(help="What the other side sees: the actions, or the mix itself.")
    ] = "actions",
    first_day: Annotated[
        str | None,
        typer.Option(
            show_default=False, help="The date of the first round (2026-03-14): rounds are days."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="The seed of the principal's draws.")] = 0,
    as_json: Json = False,
) -> None:
    """Start a campaign in a new FILE.

    Examples:

        stackcast campaign new hygiene.db --game mine.toml --margin 0.02 --horizon 2000
    """
    from stackcast.campaigns import Campaign

    Campaign.new(
        file,
        game,
        principal,
        horizon=horizon,
        seed=seed,
        margin=margin,
        floor=floor,
        misread=misread,
        agent_sees=agent_sees,
        first_day=first_day,
        constraints=constraint or [],
    ).close()
    if as_json:
        print_json({"file": str(file)})
    else:
        say(f"Started: {file}. Next: stackcast campaign ask {file}")


@campaign.command()
def ask(
    file: File,
    draw: Annotated[
        bool, typer.Option("--draw", help="Say what to do today: an action drawn from the mix.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Print the recommended mix, its duration and the reason. Safe to repeat.

    With --draw, one action of the mix is drawn and recorded; it stays until something is told.
    """
    from stackcast.campaigns import Campaign

    with Campaign.open(file) as opened:
        advice = opened.open_ask
        if advice is None:
            with compiling_said():
                advice = opened.ask()
        drawn = opened.draw() if draw else None
    if as_json:
        today = {} if drawn is None else {"draw": {"entry": drawn.entry, "action": drawn.name}}
        print_json({**advice.to_dict(), **today})
        return
    if drawn is not None:
        when = f" ({_days((advice.days[0],) * 2)})" if advice.days else ""
        say(
            f"Today{when}: {drawn.name} (entry {drawn.entry}). "
            f"Then: stackcast campaign tell {file} RESPONSE"
        )
    days = f", {_days(advice.days)}" if advice.days else ""
    noun = "round" if advice.rounds == 1 else "rounds"
    say(f"Play {advice.mixture()} for {advice.rounds:,} {noun}{days} (entry {advice.entry}).")
    say(advice.why)


@campaign.command()
def tell(
    file: File,
    responses: Answers = "",
    csv: Table = None,
    played: Played = "",
    day: Annotated[
        str | None,
        typer.Option(
            show_default=False,
            help="The date of the first round told; days skipped have no record.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Record how the agent responded. Fewer rounds than asked are fine.

    Examples:

        stackcast campaign tell hygiene.db comply=31,violate=9

        stackcast campaign tell hygiene.db comply,comply,?,violate

        stackcast campaign tell hygiene.db --csv march.csv --played thorough=0.5,none=0.5

        stackcast campaign tell hygiene.db violate --played none=1 --day 2026-03-14
    """
    from stackcast.campaigns import Campaign

    with Campaign.open(file) as opened:
        receipt = opened.tell(_responses(responses, csv), played or None, day)
    _print_receipt(receipt, as_json)


@campaign.command()
def status(
    file: File,
    figure: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", show_default=False, help="Draw what is known to a PNG, SVG or PDF file."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print what is known: the best commitment so far, its margin, what more may be gained."""
    from stackcast import report
    from stackcast.campaigns import Campaign

    with Campaign.open(file) as opened, compiling_said():
        known = opened.status()
    if figure is not None:
        report.save_figure(figure, lambda ax: report.draw_learned(known, ax), (6.4, 5.2))
    if as_json:
        print_json(known.to_dict())
        return
    screen().print(report.describe(known))
    if figure is not None:
        say(f"Written: {figure}")


@campaign.command()
def export(
    file: File,
    to: Annotated[Path, typer.Argument(metavar="TO", help="A .parquet or .csv file.")],
) -> None:
    """Write all rounds as they were played, for `stackcast audit`."""
    from stackcast.campaigns import Campaign

    with Campaign.open(file) as opened:
        rounds = opened.export(to)
    say(f"Written: {to}, {rounds:,} rounds.")


@campaign.command("import")
def import_(
    file: File,
    log: Annotated[
        Path,
        typer.Argument(
            metavar="LOG",
            help="A .csv table with a column response, and strategy_NAME … or action; count and "
            "date are honoured. Or a transcript (.parquet).",
        ),
    ],
    strategy: Annotated[
        str,
        typer.Option(show_default=False, help="The mix in force in the period, as 10/30/60."),
    ] = "",
    since: Annotated[
        str | None, typer.Option("--from", show_default=False, help="The first date to read.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--to", show_default=False, help="The last date to read.")
    ] = None,
) -> None:
    """Learn from mixes and responses from before the campaign.

    Examples:

        stackcast campaign import hygiene.db 2025.csv

        stackcast campaign import hygiene.db days.csv --strategy 10/30/60 --from 2025-01-01
    """
    from stackcast.campaigns import Campaign, mixture

    with Campaign.open(file) as opened:
        rounds = opened.import_log(log, strategy or None, since, until)
        body = opened.entries(last=1)[0].body
        names = opened.setup.game.principal_actions
    mixes = len(body["rows"])
    say(f"Read: {rounds:,} rounds of {mixes} mix{'es' if mixes > 1 else ''}.")
    if body["estimated"]:
        from numpy import array

        shares = mixture(array(body["rows"][0][0]), names)
        say(
            f"The mix is taken from the actions in the file: {shares}. If it was another one: undo,"
        )
        say("and import with --strategy.")


@campaign.command()
def rehearse(
    file: File,
    now: Annotated[
        str,
        typer.Option(show_default=False, help="The mix that is played now, to compare: 10/30/60."),
    ] = "",
    agents: Annotated[int, typer.Option(min=2, help="How many agents are drawn.")] = 200,
    figure: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", show_default=False, help="Draw what to expect (PNG, SVG, PDF)."
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, show_default=False, help="Processes; one for each core.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Play the campaign before it starts, against agents drawn from what is known.

    Examples:

        stackcast campaign rehearse hygiene.db --now 10/30/60 --figure expected.png
    """
    from rich.progress import BarColumn, TimeRemainingColumn

    from stackcast import report
    from stackcast.campaigns import Campaign
    from stackcast.campaigns import rehearse as play
    from stackcast.cli._screen import bar

    columns = ("{task.description}", BarColumn(bar_width=None), TimeRemainingColumn(compact=True))
    with Campaign.open(file) as opened, bar(*columns, shown=not as_json) as shown:
        task = shown.add_task("rehearsing", total=agents)
        found = play(
            opened, agents, now=now or None, workers=workers,
            progress=lambda done: shown.update(task, completed=done),
        )  # fmt: skip
    if figure is not None:
        report.save_figure(figure, lambda ax: report.draw_rehearsal(found, ax), (7.2, 4.4))
    if as_json:
        print_json(found.to_dict())
        return
    say(found.sentence())
    say(f"({agents:,} agents drawn from what is known; eight in ten lie between the two figures.)")
    if figure is not None:
        say(f"Written: {figure}")


@campaign.command()
def report(
    file: File,
    out: Annotated[
        Path | None,
        typer.Option(metavar="TO", show_default=False, help="The page; FILE.html if not given."),
    ] = None,
) -> None:
    """Write a page: what next, the timeline, every mix with its earnings, what is known."""
    from stackcast.campaigns import Campaign
    from stackcast.report import write_campaign

    place = out or file.with_suffix(".html")
    with Campaign.open(file) as opened, compiling_said():
        status, entries, state = opened.status(), opened.entries(), opened.state
    write_campaign(place, file.stem, status, entries, state)
    say(f"Written: {place}")


@campaign.command()
def undo(file: File) -> None:
    """Take back the last entry: a tell, a correction, an import or an added action."""
    from stackcast.campaigns import Campaign

    with Campaign.open(file) as opened:
        entry = opened.undo()
    say(f"Taken back: entry {entry.id} ({entry.kind}).")


@campaign.command()
def correct(
    file: File,
    entry: Annotated[int, typer.Argument(help="The number of the tell (see log).")],
    responses: Answers = "",
    csv: Table = None,
    played: Played = "",
    as_json: Json = False,
) -> None:
    """Record what an earlier tell should have said."""
    from stackcast.campaigns import Campaign

    with Campaign.open(file) as opened:
        receipt = opened.correct(entry, _responses(responses, csv), played or None)
    _print_receipt(receipt, as_json)


@campaign.command()
def action(
    file: File,
    name: Annotated[str, typer.Argument(help="What the agent did.")],
    payoffs: Annotated[
        str,
        typer.Option(
            show_default=False,
            help="What the principal earns by it, for each of its own actions: 0.2,-1,0.",
        ),
    ],
) -> None:
    """Add an action of the agent that was not foreseen."""
    from stackcast.campaigns import Campaign, parse_numbers

    with Campaign.open(file) as opened:
        opened.add_action(name, parse_numbers("--payoffs", payoffs))
    say(f"Added: {name!r}. The principal starts anew and knows all responses so far.")


@campaign.command()
def decline(
    file: File,
    limit: Annotated[str, typer.Argument(help="What cannot be done, as 'audit <= 0.2'.")],
    why: Annotated[str, typer.Option(help="The reason, for the journal.")] = "",
) -> None:
    """Decline what was asked: the limit holds from now on, and the next ask keeps it."""
    from stackcast.campaigns import Campaign

    with Campaign.open(file) as opened:
        opened.decline(limit, why)
    say(f"Declined, and kept as a limit: {limit}. Next: stackcast campaign ask {file}")


@campaign.command()
def lift(
    file: File, limit: Annotated[str, typer.Argument(help="The limit, as it was given.")]
) -> None:
    """Lift a limit that a decline or the start of the campaign set."""
    from stackcast.campaigns import Campaign

    with Campaign.open(file) as opened:
        opened.lift(limit)
    say(f"Lifted: {limit}.")


@campaign.command()
def pause(
    file: File, why: Annotated[str, typer.Option(help="The reason, for the journal.")] = ""
) -> None:
    """Ask for nothing until the campaign is resumed."""
    from stackcast.campaigns import Campaign

    with Campaign.open(file) as opened:
        opened.pause(why)
    say(f"Paused. Go on with: stackcast campaign resume {file}")


@campaign.command()
def end(
    file: File, why: Annotated[str, typer.Option(help="The reason, for the journal.")] = ""
) -> None:
    """End the campaign; resume continues it."""
    from stackcast.campaigns import Campaign

    with Campaign.open(file) as opened:
        opened.end(why)
    say(f"Closed. Open it again with: stackcast campaign resume {file}")


@campaign.command()
def resume(file: File) -> None:
    """Continue a campaign that was paused or ended."""
    from stackcast.campaigns import Campaign

    with Campaign.open(file) as opened:
        opened.resume()
    say(f"Running again. Next: stackcast campaign ask {file}")


@campaign.command()
def log(
    file: File,
    last: Annotated[int, typer.Option(min=1, help="How many entries to list.")] = 20,
    as_json: Json = False,
) -> None:
    """List the last entries of the journal with their numbers."""
    from dataclasses import asdict

    from stackcast.campaigns import Campaign

    with Campaign.open(file) as opened:
        entries = opened.entries(last)
        names = opened.agent_actions
    if as_json:
        print_json([asdict(entry) for entry in entries])
        return
    for entry in entries:
        taken = f" (taken back by {entry.revoked_by})" if entry.revoked_by is not None else ""
        say(f"{entry.id:>6}  {entry.at}  {entry.summary(names)}{taken}")


def _responses(responses: str, csv: Path | None) -> str | Path:
    from stackcast._validation import InputError

    if bool(responses) == (csv is not None):
        found = "both" if responses else "neither"
        raise InputError("tell", "RESPONSES or --csv FILE", found)
    return responses if csv is None else csv


def _days(days: tuple[str, str]) -> str:
    """Return dates as people write them."""
    from datetime import date

    first, last = (date.fromisoformat(day) for day in days)
    if first == last:
        return f"{first:%a} {first.day} {first:%B %Y}"
    return f"{first.day} {first:%B %Y} to {last.day} {last:%B %Y}"


def _print_receipt(receipt: "Receipt", as_json: bool) -> None:
    if as_json:
        print_json(receipt.to_dict())
        return
    noun = "round" if receipt.rounds == 1 else "rounds"
    days = f", {_days(receipt.days)}" if receipt.days else ""
    say(f"Recorded as entry {receipt.entry}: {receipt.rounds:,} {noun}{days}.")
    if receipt.missing:
        say(f"Without a response: {receipt.missing:,}.")
    for name in receipt.first_seen:
        say(f"Seen for the first time: {name!r}.")
    if not receipt.as_asked:
        say("Not as asked: kept on record, but not an answer to the ask, which stays open.")
    elif not receipt.answered:
        say("No response was seen: the ask stays open.")
    elif receipt.shown < receipt.rounds - receipt.missing:
        say(
            f"The principal learns from the {receipt.shown:,} that it asked for; all are on record."
        )
