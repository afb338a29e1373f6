"""What the screen asks of its child process (`hangtop.query.child`), and what that answers. Plain records: nothing is loaded."""

from __future__ import annotations

from msgspec import Struct

from hangtop.query.compare import Difference
from hangtop.query.whole_run import WholeRun

LIMIT_S = 120.0
"""What takes longer is for the command line, `hangtop query`."""
TOO_LONG = 124
"""The exit code of a child that ended for that, as timeout(1) has it."""


MOST_SERIES = 16
"""Of one chart."""


class SqlAsk(Struct, frozen=True, tag="sql"):
    """A question in SQL. Behind it comes a recording. `files`: logs of which lines and steps are read, if any."""

    sql: str
    files: tuple[str, ...] = ()
    config_dir: str | None = None


class TimelineAsk(Struct, frozen=True, tag="timeline"):
    """The whole run. Behind it comes a recording. `files`: logs of which the steps are read, if any."""

    files: tuple[str, ...] = ()
    config_dir: str | None = None


class ChartAsk(Struct, frozen=True, tag="chart"):
    """Two columns as a chart of so many cells: several series side by side, each with the words that tell it from the others.
    `time`: the first column is unix time. `plain`: in ASCII."""

    names: tuple[str, str]
    series: tuple[tuple[str, tuple[tuple[float, float], ...]], ...]
    width: int
    height: int
    time: bool = False
    plain: bool = False


class DiffAsk(Struct, frozen=True, tag="diff"):
    """Where a bad run left a good one: paths of recordings or logs. Without `bad` it is what was seen, which comes behind it as a
    recording, with its logs in `files`."""

    good: str
    bad: str = ""
    files: tuple[str, ...] = ()
    config_dir: str | None = None


class CoursesAsk(Struct, frozen=True, tag="courses"):
    """How the numbers of the run went. Behind it comes a recording. `files`: logs of which the steps are read, if any. `other`: a
    recording or a log of a second run to lay over it. `by_rank`: in place of all numbers one of those that several ranks tell, a
    course for each rank: its place among them, from 1 on. Behind the last come all again."""

    files: tuple[str, ...] = ()
    config_dir: str | None = None
    other: str = ""
    by_rank: int = 0


Point = tuple[float | None, int | None, float, float, float]
"""Unix time, step, and the mean, least and greatest value."""


class Course(Struct, frozen=True):
    """One number over the run; its points in order. `from_zero`: drawn from 0 on, for its small changes mean nothing."""

    name: str
    points: tuple[Point, ...]
    from_zero: bool = False


Asked = CoursesAsk | SqlAsk | TimelineAsk | ChartAsk | DiffAsk


class Shown(Struct, frozen=True):
    """A table as it is shown: its cells as text, cleaned. `points`: of all rows, evenly thinned, the columns that are numbers
    or moments (unix time), `None` elsewhere. `moments`: which columns are moments. `words`: of the columns with few different
    texts, these; their points are places in it. `more`: rows that have no cells here."""

    names: tuple[str, ...] = ()
    right: tuple[bool, ...] = ()
    cells: tuple[tuple[str, ...], ...] = ()
    points: tuple[tuple[float | None, ...], ...] = ()
    moments: tuple[int, ...] = ()
    words: dict[int, tuple[str, ...]] = {}
    more: int = 0


class ChildAnswer(Struct, frozen=True, omit_defaults=True):
    """`problem`: why there is no answer, in one line. `others`: courses of the second run. `late`: how late each rank was.
    `metric`: the one whose courses these are, rank by rank. `notes`: what could not be read."""

    problem: str = ""
    table: Shown | None = None
    run: WholeRun | None = None
    lines: tuple[str, ...] = ()
    differences: tuple[Difference, ...] | None = None
    courses: tuple[Course, ...] = ()
    others: tuple[Course, ...] = ()
    late: tuple[Course, ...] = ()
    metric: str = ""
    notes: tuple[str, ...] = ()
