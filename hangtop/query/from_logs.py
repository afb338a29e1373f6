"""Rows of log files as they lie on disk: each line, and each step with its metrics, of files of any size.

The lines stay in the file: `lines` is a view over it. Steps are read by DuckDB, by the forms that `step_shapes` has learnt from
pieces of the file; from lines that are like these, but of another form, more forms are learnt, and what is left is counted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from msgspec import Struct

from hangtop.logs.extract.literal_index import LiteralIndex
from hangtop.query.database import OWN, Database, quoted
from hangtop.query.partial_dates import (
    CLOCK,
    HALF_A_DAY_S,
    HALF_A_YEAR_S,
    LEAP_YEAR,
    LEVELS,
    YEARLESS,
    YEARLESS_FORMATS,
    last_day_s,
    last_year,
)
from hangtop.query.step_shapes import Shape, StepReader, learn

WINDOWS, WINDOW_BYTES = 32, 128 << 10
"""So many pieces of the file, evenly apart, are searched for forms of step lines."""
ROUNDS = 4
"""Forms that were not in these pieces are learnt from the lines that are like the known ones, so many times."""
EXAMPLES, MOST_CHECKED = 2_000, 200
GROUPS_AT_ONCE = 4
"""RE2 reads a line in one pass where it notes no more than these (`kMaxOnePassCapture` in its `onepass.cc` is 5, the whole
match being one). Measured on a line of 8 numbers: 1.1 s a million lines in two passes of 4, 1.5 s in one of 8."""
LONGEST_LINE_BYTES = 16 << 20
MOST_VIEWS = 100
"""Of so many parts the table of metrics is made at most: each takes its time to plan."""


class Left(Struct, frozen=True):
    """What is not in the tables: `unread` lines that are like step lines, but of no form that was learnt, and lines that are
    `not_text`, since they are no UTF-8."""

    unread: int = 0
    not_text: int = 0


def add_lines(database: Database, path: Path, run: str, number: int = 0) -> None:
    """The lines of this file, as they lie on disk. `number`: of the file."""
    database.may_read(path)
    database.add_view("lines", f"SELECT {quoted(run)}, NULL, {number}, NULL, NULL, 'plain', '', text FROM {_lines_of(path)}")


def add_steps(database: Database, path: Path, run: str, index: LiteralIndex, clock_shift_s: float | None) -> Left:
    """Add the steps and metrics of this file, as those of `run`. Raises `OSError` where it cannot be read."""
    reader = StepReader(index, clock_shift_s)
    shapes = tuple(learn(_sample(path), reader))
    if not shapes:
        return Left()
    not_text = _find_candidates(database, path, shapes)
    written_at, shift_s = os.stat(path).st_mtime, clock_shift_s or 0.0
    if any(shape.lacks == "date" for shape in shapes):
        _date_candidates(database, written_at, shift_s)
    if any(shape.lacks == "year" for shape in shapes):
        _number_years(database, written_at, shift_s)
    unread, examples = 0, list[str]()
    for _ in range(ROUNDS):
        for shape in shapes:
            _add_shape(database, quoted(run), shape, shift_s)
        unread, examples = _unread(database)
        shapes = tuple(learn(examples, reader))
        if not shapes:
            break
    is_step = [reader.read(example) is not None for example in examples[:MOST_CHECKED]]
    return Left(unread * sum(is_step) // len(is_step) if is_step else 0, not_text)


def _find_candidates(database: Database, path: Path, shapes: tuple[Shape, ...]) -> int:
    """Keeps the lines that may be steps, in their order, and returns how many lines of the file are no text. `day_s`: when the
    day of a time without a date began. `years`: how many after the leap year a date without a year is."""
    ask = database.connection.execute
    alike = " OR ".join(f"contains(text, {quoted(literal)})" for literal in sorted({shape.literal for shape in shapes}))
    rejects = "store_rejects = true, rejects_table = 'no_text', rejects_scan = 'no_text_scan'"
    ask("DROP TABLE IF EXISTS no_text; DROP TABLE IF EXISTS no_text_scan")
    lines = f"SELECT text, NULL::DOUBLE AS day_s, NULL::BIGINT AS years FROM {_lines_of(path, rejects)}"
    ask(f"CREATE OR REPLACE TEMP TABLE candidate AS {lines} WHERE {alike}")
    (count,) = ask("SELECT count(DISTINCT line) FROM no_text").fetchone() or (0,)
    return int(count)


def _date_candidates(database: Database, written_at: float, shift_s: float) -> None:
    """Puts beside each candidate the unix time at which the day of its time of day began, as `partial_dates.days_of` says."""
    ask = database.connection.execute
    begin = quoted(rf"(?:^[\[(]?|\] |\]: )({CLOCK})")
    clock_s = _clock_seconds(f"regexp_extract(text, {begin}, 1)")
    ask(
        f"""CREATE OR REPLACE TEMP TABLE dated AS
        SELECT text, years, clock_s, nth, sum(falls) OVER (ORDER BY nth) AS day FROM (
          SELECT *, if(clock_s < lag(clock_s IGNORE NULLS) OVER (ORDER BY nth) - {HALF_A_DAY_S}, 1, 0) AS falls FROM (
            SELECT text, years, {clock_s} AS clock_s, row_number() OVER () AS nth FROM candidate))"""
    )
    last = ask("SELECT day, clock_s FROM dated WHERE clock_s IS NOT NULL ORDER BY nth DESC LIMIT 1").fetchone()
    if last is not None:
        begins = f"{last_day_s(last[1], written_at, shift_s)!r} + (day - {int(last[0])}) * {2 * HALF_A_DAY_S}"
        ask(f"CREATE OR REPLACE TEMP TABLE candidate AS SELECT text, {begins} AS day_s, years FROM dated")
    ask("DROP TABLE dated")


def _number_years(database: Database, written_at: float, shift_s: float) -> None:
    """Puts beside each candidate of which year its date without one is, as `partial_dates.moments_of` says."""
    ask = database.connection.execute
    begin = quoted(rf"(?:^[\[(]?|\] |\]: |^[DIWEF]|(?:^|\W)(?:{'|'.join(LEVELS)}) )({YEARLESS})")
    leap_s = f"epoch({_leap_time(f'regexp_extract(text, {begin}, 1)')})"
    ask(
        f"""CREATE OR REPLACE TEMP TABLE dated AS
        SELECT text, day_s, leap_s, nth, sum(turn) OVER (ORDER BY nth) AS year FROM (
          SELECT *, CASE WHEN leap_s < before_s - {HALF_A_YEAR_S} THEN 1 WHEN leap_s > before_s + {HALF_A_YEAR_S} THEN -1 ELSE 0
                    END AS turn FROM (
            SELECT *, lag(leap_s IGNORE NULLS) OVER (ORDER BY nth) AS before_s FROM (
              SELECT text, day_s, {leap_s} AS leap_s, row_number() OVER () AS nth FROM candidate)))"""
    )
    last = ask("SELECT year, leap_s FROM dated WHERE leap_s IS NOT NULL ORDER BY nth DESC LIMIT 1").fetchone()
    if last is not None:
        years = f"year + {last_year(last[1], written_at, shift_s) - LEAP_YEAR - int(last[0])}"
        ask(f"CREATE OR REPLACE TEMP TABLE candidate AS SELECT text, day_s, CAST({years} AS BIGINT) AS years FROM dated")
    ask("DROP TABLE dated")


def _leap_time(text: str) -> str:
    """A date without a year as a time in the leap year, as SQL."""
    clocks = ("%H:%M:%S", "%H:%M:%S.%f")
    formats = ", ".join(quoted(f"%Y {date} {clock}") for date in YEARLESS_FORMATS for clock in clocks)
    return f"try_strptime('{LEAP_YEAR} ' || replace({text}, ',', '.'), [{formats}])"


def _clock_seconds(text: str) -> str:
    """Seconds of the day of `10:05:51,250`, as SQL."""
    hours, minutes, seconds = (f"TRY_CAST(split_part(replace({text}, ',', '.'), ':', {nth}) AS DOUBLE)" for nth in (1, 2, 3))
    return f"({hours} * 3600 + {minutes} * 60 + {seconds})"


def _unread(database: Database) -> tuple[int, list[str]]:
    """How many candidates are of no form so far, and examples of them."""
    ask = database.connection.execute
    (count,) = ask("SELECT count(*) FROM candidate").fetchone() or (0,)
    examples = ask(f"SELECT text FROM candidate USING SAMPLE {EXAMPLES} ROWS (reservoir, 1)").fetchall()
    return count, [text for (text,) in examples]


def _add_shape(database: Database, run: str, shape: Shape, shift_s: float) -> None:
    """Reads the candidates of this form, and takes them out: a line may fit two forms, such as a bar that is still empty."""
    ask = database.connection.execute
    metrics = [name for name in (*shape.values, *shape.fixed) if name.startswith("metric:")]
    numbers = {name: _value(shape, name) for name in ("rank", "step", "total", "step_s", *metrics)}
    kinds = ("BIGINT", "BIGINT", "BIGINT", *(["DOUBLE"] * (len(numbers) - 3)))
    values = ", ".join(
        f"CAST({value} AS {kind}) AS v{nth}" for nth, (value, kind) in enumerate(zip(numbers.values(), kinds, strict=True))
    )
    at = "NULL::DOUBLE" if shape.shift_s is None else f"{_naive(shape.stamp)} + {shape.shift_s!r}"
    at = f"day_s + {_clock_seconds('stamp')}" if shape.lacks == "date" else at
    at = f"epoch({_leap_time('stamp')} + to_years(CAST(years AS INTEGER))) + {shift_s!r}" if shape.lacks == "year" else at
    got = f"got_{database.views_of('steps')}"
    ask(
        f"CREATE OR REPLACE TEMP TABLE {got} AS SELECT {at} AS time_s, {values} FROM ({_captured(shape)}) "
        f"WHERE {shape.values['step'].group} <> ''"
    )
    steps = f"SELECT {run}, time_s, v0, v1, v2, v3, {quoted(shape.counter)} FROM {got}"
    told = [
        f"SELECT {run}, time_s, v0, v1, {quoted(name.removeprefix('metric:'))}, if(isfinite(v{nth}), v{nth}, NULL) FROM {got}"
        for nth, name in enumerate(metrics, start=4)
    ]
    if database.views_of("metrics") + len(told) <= MOST_VIEWS:  # a row of a form holds all its metrics: no other copy is needed
        database.add_view("steps", steps)
        database.add_view("metrics", *told)
    else:
        ask(f"INSERT INTO steps{OWN} {steps}")
        for metric in told:
            ask(f"INSERT INTO metrics{OWN} {metric}")
    other = f"NOT regexp_matches(text, {quoted(_capturing(shape.regex, ()))})"
    ask(f"CREATE OR REPLACE TEMP TABLE candidate AS SELECT * FROM candidate WHERE {other}")


def _captured(shape: Shape) -> str:
    """The groups of the candidates of this form, as SQL: a column each, empty where a line is of another form."""
    wanted = {source.group for source in shape.values.values()} | (
        {"stamp"} if shape.shift_s is not None or shape.lacks else set()
    )
    groups = [name for name in re.findall(r"\(\?P<(\w+)>", shape.regex) if name in wanted]
    parts = [groups[begin : begin + GROUPS_AT_ONCE] for begin in range(0, len(groups), GROUPS_AT_ONCE)]
    regexes = [_capturing(shape.regex, part) for part in parts]
    columns = ", ".join(
        f"regexp_extract(text, {quoted(regex)}, [{', '.join(map(quoted, part))}]) AS g{nth}"
        for nth, (regex, part) in enumerate(zip(regexes, parts, strict=True))
    )
    each = ", ".join(f"g{nth}.*" for nth in range(len(parts)))
    lines = f"SELECT day_s, years, {columns} FROM candidate WHERE contains(text, {quoted(shape.literal)})"
    return f"SELECT day_s, years, {each} FROM ({lines})"


def _capturing(regex: str, groups: Collection[str]) -> str:
    """The regex with these groups only, and without their names."""
    return re.sub(r"\(\?P<(\w+)>", lambda name: "(" if name[1] in groups else "(?:", regex)


def _naive(stamp: str) -> str:
    """Seconds of stamps like this one, read as if they were UTC, as SQL. Only what must be changed is: a million lines wait."""
    sql = "stamp"
    for sign, plain in (("/", "-"), ("_", " "), (",", ".")):
        if sign in stamp:
            sql = f"replace({sql}, '{sign}', '{plain}')"
    return f"epoch(TRY_CAST({sql} AS TIMESTAMP))"


def _value(shape: Shape, name: str) -> str:
    """This reading as SQL over the groups."""
    if (source := shape.values.get(name)) is None:
        return repr(shape.fixed[name]) if name in shape.fixed else "NULL"
    digits = f"replace({source.group}, ',', '')" if source.grouped else source.group
    number = f"TRY_CAST({digits} AS DOUBLE)"
    if source.inverse:
        return f"({source.factor!r} / nullif({number}, 0))"
    return number if source.factor == 1.0 else f"({number} * {source.factor!r})"


def _lines_of(path: Path, more: str = "ignore_errors = true") -> str:
    """The file as a table of one column, `text`; read by as many cores as there are. A carriage return ends a line too."""
    return (
        f"(SELECT coalesce(text, '') AS text FROM read_csv({quoted(str(path))}, columns = {{'text': 'VARCHAR'}}, header = false, "
        f"auto_detect = false, delim = '\\x01', quote = '', escape = '', strict_mode = false, "
        f"max_line_size = {LONGEST_LINE_BYTES}, {more}))"
    )


def _sample(path: Path) -> Iterator[str]:
    size = os.stat(path).st_size
    begins = sorted({max(0, (size - WINDOW_BYTES) * nth // (WINDOWS - 1)) for nth in range(WINDOWS)})
    with path.open("rb") as file:
        for begin in begins:
            file.seek(begin)
            lines = file.read(WINDOW_BYTES).split(b"\n")
            for line in lines[1 if begin else 0 : -1]:
                yield from (piece for piece in line.decode(errors="replace").split("\r") if piece)
