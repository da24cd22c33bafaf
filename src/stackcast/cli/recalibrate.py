"""``stackcast recalibrate``: better probabilities, from a table or line by line."""

from pathlib import Path
from typing import Annotated, Any

import typer


def recalibrate(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            show_default=False,
            help="A CSV or Parquet table; standard input, line by line, without it.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="OUT",
            show_default=False,
            help="Where the table goes, CSV or Parquet; standard output otherwise.",
        ),
    ] = None,
    threshold: Annotated[
        list[float] | None,
        typer.Option(
            "--threshold",
            show_default=False,
            help="The decision about a yes/no event: on which side of this probability the "
            "forecast lies; may be given several times. One half otherwise.",
        ),
    ] = None,
    forecast_column: Annotated[
        list[str] | None,
        typer.Option(
            "--forecast-column",
            metavar="NAME",
            show_default=False,
            help="The column of the probabilities; several, one a class, in their order.",
        ),
    ] = None,
    outcome_column: Annotated[
        str | None,
        typer.Option(
            "--outcome-column",
            metavar="NAME",
            show_default=False,
            help="The column of what happened.",
        ),
    ] = None,
    group_column: Annotated[
        list[str] | None,
        typer.Option(
            "--group-column",
            metavar="NAME",
            show_default=False,
            help="A column of groups known beforehand, such as carriers or wards: each is "
            "corrected for itself too; may be given several times.",
        ),
    ] = None,
    key_column: Annotated[
        str | None,
        typer.Option(
            "--key-column",
            metavar="NAME",
            show_default=False,
            help="On standard input: names each forecast, so that its outcome may come on a later "
            "line, which leaves the forecast empty.",
        ),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(
            "--state",
            metavar="FILE",
            show_default=False,
            help="Continue from this file if it exists, and save the state there.",
        ),
    ] = None,
    delay: Annotated[
        int,
        typer.Option(help="With a FILE: how many later forecasts precede the outcome."),
    ] = 0,
) -> None:
    """Correct probabilities, each from earlier rounds only.

    The columns are those of `stackcast audit --forecasts`: forecast and outcome, or forecast_1,
    forecast_2 … (or forecast_NAME) and outcome. The table comes back with a column recalibrated,
    or one for each class. Standard input is answered line by line, each before its outcome is
    used; a line without an outcome is only answered.

    Examples:

        stackcast recalibrate rain.csv -o better.csv --threshold 0.3

        tail -f forecasts.csv | stackcast recalibrate --key-column id --state rain.state
    """
    import contextlib
    import sys

    from stackcast._files import write_whole
    from stackcast._validation import InputError

    if out is not None and out.suffix.lower() not in (".csv", ".parquet"):
        raise InputError("--out", "a file that ends in .csv or .parquet", out.name)
    named = forecast_column or None, outcome_column, group_column or []
    if file is not None and str(file) != "-":
        _table(file, out, threshold or None, named, state, delay)
        return
    if out is None:
        with contextlib.suppress(BrokenPipeError):
            _lines(sys.stdin, sys.stdout, threshold or None, named, key_column, state)
        return
    if out.suffix.lower() != ".csv":
        raise InputError("--out", "a file that ends in .csv for standard input", out.name)
    import io

    text = io.StringIO(newline="")
    _lines(sys.stdin, text, threshold or None, named, key_column, state)
    write_whole(out, text.getvalue().encode())


def _corrector(classes: tuple[str, ...], threshold: Any, groups: int, state: Path | None) -> Any:
    """Return a recalibrator, that of the state file if there is one."""
    from stackcast.calibration import Recalibrator

    made = Recalibrator(threshold, classes=classes or None, groups=groups)
    if state is not None and state.exists():
        try:
            made.restore(Recalibrator.load(state).state())
        except ValueError as error:
            from stackcast._validation import InputError

            raise InputError(
                str(state), "a state for these columns and thresholds", str(error)
            ) from None
    return made


def _table(
    file: Path, out: Path | None, threshold: Any, named: Any, state: Path | None, delay: int
) -> None:
    """Correct the forecasts of a file."""
    import io

    import numpy as np
    import polars as pl

    from stackcast._files import write_whole
    from stackcast._validation import InputError
    from stackcast.calibration import column_of, read_forecasts, read_table
    from stackcast.cli._screen import compiling_said, warn

    forecast, outcome, groups = named
    try:
        frame = read_table(file)
        told = read_forecasts(frame, forecast=forecast, outcome=outcome)
        labels = [column_of(frame, name) for name in groups]
    except InputError as error:
        raise error.inside(file.name) from None
    if told.classes and told.outcomes.ndim == 2:
        raise InputError(file.name, "one column of outcomes", "mixed strategies")
    corrector = _corrector(told.classes, threshold, len(groups), state)
    y = told.outcomes.astype(np.int64) if told.classes else told.outcomes
    with compiling_said():
        made = corrector.run(
            told.forecasts, y, np.array(labels, dtype=object).T if groups else None, delay
        )
    for name, column in zip(_heads(told.classes), np.atleast_2d(made.forecasts.T), strict=True):
        frame = frame.with_columns(pl.Series(name, column))
    written = io.BytesIO()
    if out is not None and out.suffix.lower() == ".parquet":
        frame.write_parquet(written)
    else:
        frame.write_csv(written)
    if state is not None:
        corrector.save(state)
    if out is None:
        print(written.getvalue().decode(), end="")
    else:
        write_whole(out, written.getvalue())
    (loss, after), (score, less) = made.log_losses, made.brier_scores
    warn(
        f"log loss {loss:.4f} → {after:.4f}, Brier score {score:.4f} → {less:.4f} "
        f"over {len(y):,} forecasts"
    )


def _heads(classes: tuple[str, ...]) -> list[str]:
    return [f"recalibrated_{name}" for name in classes] or ["recalibrated"]


def _lines(
    lines: Any, out: Any, threshold: Any, named: Any, key_column: str | None, state: Path | None
) -> None:
    """Answer each line of a CSV table with its corrected forecast, before its outcome is learnt."""
    import csv

    from stackcast._validation import InputError
    from stackcast.calibration import layout

    forecast, outcome, groups = named
    reader, writer = csv.reader(lines), csv.writer(out, lineterminator="\n")
    head = next(reader, None)
    if head is None:
        raise InputError("standard input", "a line with the names of the columns", "nothing")
    columns = layout(head, forecast, outcome)
    for name in (*groups, *([] if key_column is None else [key_column])):
        if name not in head:
            raise InputError("columns", f"a column {name}", ", ".join(head))
    if len(columns.outcomes) > 1:
        raise InputError("columns", "one column of outcomes", ", ".join(columns.outcomes))
    corrector = _corrector(columns.classes, threshold, len(groups), state)
    writer.writerow([*head, *_heads(columns.classes)])
    try:
        for number, row in enumerate(reader, 2):
            try:
                if len(row) != len(head):
                    raise InputError("columns", f"{len(head)} of them", f"{len(row)}")
                cells = dict(zip(head, row, strict=True))
                key = number if key_column is None else cells[key_column]
                answer = _answer(corrector, columns, cells, groups, key, key_column is not None)
            except InputError as error:
                raise error.inside(f"line {number}") from None
            writer.writerow([*row, *answer])
            out.flush()
    finally:
        if state is not None:
            corrector.save(state)


def _answer(
    corrector: Any, columns: Any, cells: dict[str, str], groups: list[str], key: Any, keyed: bool
) -> list[str]:
    """Return the corrected forecast of a line, and learn its outcome if it has one."""
    import numpy as np

    from stackcast._validation import InputError, shown
    from stackcast.calibration import class_number, classes_said, yes_or_no

    word, y = cells[columns.outcomes[0]].strip(), None
    if word and columns.classes:
        y = class_number(word, columns)
        if y is None:
            raise InputError(columns.outcomes[0], classes_said(columns), shown(word))
        y = int(y)
    elif word:
        y = yes_or_no(word)
        if y is None:
            raise InputError(columns.outcomes[0], "1 or 0, yes or no", shown(word))
    made = [""] * max(len(columns.classes), 1)
    if any(cells[name].strip() for name in columns.forecasts):
        q = _probabilities(cells, columns.forecasts)
        own = [cells[name] for name in groups] or None
        wanted = key if keyed or y is not None else None
        p = corrector.predict(q if columns.classes else float(q[0]), own, key=wanted)
        made = [f"{one:.9g}" for one in np.atleast_1d(p)]
    if y is not None:
        corrector.observe(key, y)
    return made


def _probabilities(cells: dict[str, str], names: list[str]) -> Any:
    """Return the forecast of a line; rounded decimals are scaled to sum to 1."""
    import numpy as np

    from stackcast._validation import InputError, shown

    q = np.empty(len(names))
    for j, name in enumerate(names):
        try:
            q[j] = float(cells[name])
        except ValueError:
            q[j] = np.nan
        if not 0 <= q[j] <= 1:
            raise InputError(name, "a number from 0 to 1", shown(cells[name]))
    if len(q) > 1 and abs(q.sum() - 1) > 0.01:
        field = f"{names[0]} … {names[-1]}"
        raise InputError(field, "numbers that sum to 1", f"a sum of {q.sum():.6g}")
    return q / q.sum() if len(q) > 1 else q
