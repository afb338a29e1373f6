"""Rows of log files as they lie on disk: each line, and each step with its metrics, of files of any size.

The lines stay in the file: `lines` is a view over it. Steps are read by DuckDB, by the forms that `step_shapes` has learnt from
pieces of the file; from lines that are like these, but of another form, more forms are learnt, and what is left is counted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from hangtop.logs.extract.literal_index import LiteralIndex
from hangtop.logs.lines.timestamps import LogClock, date_in
from hangtop.query.database import OWN, Database, quoted
from hangtop.query.partial_dates import (
    CLOCK,
    HALF_A_DAY_S,
    HALF_A_YEAR_S,
    LEAP_YEAR,
    LEVELS,
    YEARLESS,
    YEARLESS_FORMATS,
    Anchor,
    first_year,
    last_day_s,
)
from hangtop.query.step_shapes import Shape, StepReader, learn

WINDOWS, WINDOW_BYTES = 32, 128 << 10
"""So many pieces of the file, evenly apart, are searched for forms of step lines."""
ROUNDS = 4
"""Forms that were not in these pieces are learnt from the lines that are like the known ones, so many times."""
EXAMPLES, MOST_CHECKED = 2_000, 200
GROUPS_AT_ONCE = 4
"""RE2 reads a line in one pass where it notes no more than these (`kMaxOnePassCapture` in its `onepass.cc` is 5, the whole
match being one). Measured on a line of 8 numbers, a million lines: 1.13 s in two passes over it, 0.92 s where each reads on
behind the last, 1.5 s in one that notes all 8."""
READ_ON = "rest_of"
"""The group of all that a pass has read: the next one begins behind it."""
_WHERE_TO_READ_ON = re.compile(r"(?<=\\s\+)(?!\[ |\\s|\$)")
"""Behind a blank of a form, where no blank can follow: what is read before it ends there however the line goes on."""
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
    written_at, shift_s = os.stat(path).st_mtime, clock_shift_s or 0.0
    lacks = {shape.lacks for shape in shapes}
    database.connection.execute("DROP TABLE IF EXISTS no_text; DROP TABLE IF EXISTS no_text_scan")
    if lacks == {""}:
        _read_most(database, path, quoted(run), shapes)
        shapes = shapes[1:]
    else:
        _find_candidates(database, path, shapes)
        if "date" in lacks:
            _date_candidates(database, written_at, shift_s)
        if "year" in lacks:
            _number_years(database, Anchor(_first_date(path), written_at, shift_s))
    not_text = _count_not_text(database)
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


def _find_candidates(database: Database, path: Path, shapes: Sequence[Shape]) -> None:
    """Keeps the lines that may be steps, in their order. `day_s`: when the day of a time without a date began. `years`: how many
    after the leap year a date without a year is."""
    database.connection.execute(f"CREATE OR REPLACE TEMP TABLE candidate AS {_candidates(path, shapes)}")


def _read_most(database: Database, path: Path, run: str, shapes: Sequence[Shape]) -> None:
    """Reads the steps of the first, most frequent form out of the file itself, and keeps the other candidates: of most logs there
    are few, and the lines that are read lie in no memory."""
    ask, got = database.connection.execute, _next_table(database)
    values = _values(shapes[0], 0.0)
    lines = _captured(shapes[0], _candidates(path, shapes))
    ask(f"CREATE OR REPLACE TEMP TABLE {got} AS SELECT if(is_read, NULL, line) AS text, {', '.join(values)} FROM ({lines})")
    ask(
        "CREATE OR REPLACE TEMP TABLE candidate AS "
        f"SELECT text, NULL::DOUBLE AS day_s, NULL::BIGINT AS years FROM {got} WHERE text IS NOT NULL"
    )
    ask(f"DELETE FROM {got} WHERE text IS NOT NULL")
    ask(f"ALTER TABLE {got} DROP COLUMN text")
    _show(database, run, shapes[0], got)


def _candidates(path: Path, shapes: Sequence[Shape]) -> str:
    """The lines that may be steps, as SQL; what is no text is noted for `_count_not_text`."""
    alike = " OR ".join(f"contains(text, {quoted(literal)})" for literal in sorted({shape.literal for shape in shapes}))
    rejects = "store_rejects = true, rejects_table = 'no_text', rejects_scan = 'no_text_scan'"
    return f"SELECT text, NULL::DOUBLE AS day_s, NULL::BIGINT AS years FROM {_lines_of(path, rejects)} WHERE {alike}"


def _count_not_text(database: Database) -> int:
    (count,) = database.connection.execute("SELECT count(DISTINCT line) FROM no_text").fetchone() or (0,)
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


def _number_years(database: Database, anchor: Anchor) -> None:
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
    ends = ask(
        "SELECT arg_min(leap_s, nth), arg_max(leap_s, nth), arg_max(year, nth) FROM dated WHERE leap_s IS NOT NULL"
    ).fetchone()
    if ends is not None and ends[0] is not None:
        years = f"year + {first_year(ends[0], ends[1], int(ends[2]), anchor) - LEAP_YEAR}"
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
    ask, got = database.connection.execute, _next_table(database)
    alike = f"SELECT text, day_s, years, rowid AS nth FROM candidate WHERE contains(text, {quoted(shape.literal)})"
    values = ", ".join(_values(shape, shift_s))
    ask(f"CREATE OR REPLACE TEMP TABLE {got} AS SELECT nth, {values} FROM ({_captured(shape, alike)}) WHERE is_read")
    ask(f"DELETE FROM candidate WHERE rowid IN (SELECT nth FROM {got})")
    ask(f"ALTER TABLE {got} DROP COLUMN nth")
    _show(database, run, shape, got)


def _next_table(database: Database) -> str:
    return f"got_{database.views_of('steps')}"


def _values(shape: Shape, shift_s: float) -> list[str]:
    """What a line of this form tells, as SQL over its groups: its time, then `v0` and so on, in the order of `_names`."""
    at = "NULL::DOUBLE" if shape.shift_s is None else f"{_naive(shape.stamp)} + {shape.shift_s!r}"
    at = f"day_s + {_clock_seconds('stamp')}" if shape.lacks == "date" else at
    at = f"epoch({_leap_time('stamp')} + to_years(CAST(years AS INTEGER))) + {shift_s!r}" if shape.lacks == "year" else at
    names = _names(shape)
    kinds = ("BIGINT", "BIGINT", "BIGINT", *(["DOUBLE"] * (len(names) - 3)))
    values = (
        f"CAST({_value(shape, name)} AS {kind}) AS v{nth}" for nth, (name, kind) in enumerate(zip(names, kinds, strict=True))
    )
    return [f"{at} AS time_s", *values]


def _names(shape: Shape) -> tuple[str, ...]:
    """The readings of a step, then those of its metrics."""
    return ("rank", "step", "total", "step_s", *(name for name in (*shape.values, *shape.fixed) if name.startswith("metric:")))


def _show(database: Database, run: str, shape: Shape, got: str) -> None:
    """Makes what was read part of `steps` and `metrics`."""
    steps = f"SELECT {run}, time_s, v0, v1, v2, v3, {quoted(shape.counter)} FROM {got}"
    told = [
        f"SELECT {run}, time_s, v0, v1, {quoted(name.removeprefix('metric:'))}, if(isfinite(v{nth}), v{nth}, NULL) FROM {got}"
        for nth, name in enumerate(_names(shape))
        if name.startswith("metric:")
    ]
    if database.views_of("metrics") + len(told) <= MOST_VIEWS:  # a row of a form holds all its metrics: no other copy is needed
        database.add_view("steps", steps)
        database.add_view("metrics", *told)
    else:
        database.connection.execute(f"INSERT INTO steps{OWN} {steps}")
        for metric in told:
            database.connection.execute(f"INSERT INTO metrics{OWN} {metric}")


def _captured(shape: Shape, lines: str) -> str:
    """These lines, as `line`, with the groups of this form as SQL: a column each; `is_read` where a line is of it."""
    wanted = {source.group for source in shape.values.values()} | (
        {"stamp"} if shape.shift_s is not None or shape.lacks else set()
    )
    told, found, lines = list[str](), list[str](), f"SELECT *, text AS line FROM ({lines})"
    for nth, (regex, groups) in enumerate(_passes(shape.regex, wanted)):
        lines = f"SELECT *, regexp_extract(text, {quoted(regex)}, [{', '.join(map(quoted, groups))}]) AS g{nth} FROM ({lines})"
        found.append(f"g{nth}.{groups[0]} <> ''")
        told += [f"g{nth}.{group} AS {group}" for group in groups if group != READ_ON]
        if READ_ON in groups:
            lines = f"SELECT * REPLACE (substring(text, length(g{nth}.{READ_ON}) + 1) AS text) FROM ({lines})"
    return f"SELECT *, {' AND '.join(found)} AS is_read, {', '.join(told)} FROM ({lines})"


def _passes(regex: str, wanted: Collection[str]) -> Iterator[tuple[str, list[str]]]:
    """The passes over a line that read these groups: their regexes, and the groups of each, of which none is ever empty."""
    parts = [""]
    for piece in _WHERE_TO_READ_ON.split(regex.removeprefix("^")):
        more = _groups(piece, wanted)
        if more and len(_groups(parts[-1], wanted)) + len(more) >= GROUPS_AT_ONCE:
            parts.append("")
        parts[-1] += piece
    for nth, part in enumerate(parts):
        groups, last = _groups(part, wanted), nth + 1 == len(parts)
        while len(groups) + (not last) > GROUPS_AT_ONCE:
            now, groups = groups[:GROUPS_AT_ONCE], groups[GROUPS_AT_ONCE:]
            yield f"^{_capturing(part, now)}", now
        part = _capturing(part, groups)
        yield (f"^{part}", groups) if last else (f"^({part})", [READ_ON, *groups])


def _groups(regex: str, wanted: Collection[str]) -> list[str]:
    """Which of these groups are in it, in its order."""
    return [name for name in re.findall(r"\(\?P<(\w+)>", regex) if name in wanted]


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


def _first_date(path: Path) -> float | None:
    with path.open("rb") as file:
        return date_in(file.read(LogClock.YEAR_WITHIN))


def _sample(path: Path) -> Iterator[str]:
    size = os.stat(path).st_size
    begins = sorted({max(0, (size - WINDOW_BYTES) * nth // (WINDOWS - 1)) for nth in range(WINDOWS)})
    with path.open("rb") as file:
        for begin in begins:
            file.seek(begin)
            lines = file.read(WINDOW_BYTES).split(b"\n")
            for line in lines[1 if begin else 0 : -1]:
                yield from (piece for piece in line.decode(errors="replace").split("\r") if piece)
