"""Tables of steps: a line of column names, and rows of values below it, which hold no text that a scan could look for."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from hangtop.common.late_pattern import compiled, late_pattern
from hangtop.logs.catalog.profile import Profile, Stage, Table
from hangtop.logs.extract.steps.progress import StepLine, is_loss, number
from hangtop.logs.file_facts import ProgressSeen
from hangtop.logs.lines.block_lines import Line, Writer
from hangtop.logs.lines.prefixes import Prefix

MOST_BETWEEN, REACH = 64, 4 << 20
"""A table has ended after `MOST_BETWEEN` lines of its writer, or `REACH` bytes of the file, without a row."""
MOST_ROWS = 512
"""Of so many rows of a table it is known whether the next one has them, too."""

_MOST_COLUMNS = 60
_LONGEST = 600
_PLACE = late_pattern(r"(?:(?:\[(?!\d+\])[^\]]{1,40}\]|[\w./-]+\.py:\d+:?)\s+)*(?:#\s+)?(?=\S)|")
"""What may stand before a table: a source file and line, a name in brackets, a comment sign."""
_BARS = late_pattern(r"[|│┃║]")
_CELL, _WORD = late_pattern(r"\S+(?: \S+)*"), late_pattern(r"\S+")
_ASIDE = 6  # characters that a value may stand beside its name
_NAME = late_pattern(r"""(?![\d.,+-]+$)[\w#%*][^='"{}<>:]{0,39}""")
_UNIT = late_pattern(r"\s*[(\[][^)\]]*[)\]]")
_STEP = late_pattern(r"(?P<step>\d{1,3}(?:,\d{3}){1,4}|\d{1,12})(?:\s?/\s?(?P<total>\d{1,12}))?(?:\s?\([\d.]+\s?%\))?")
_NO_VALUE = late_pattern(r"[-–—.]*|n/?a|none", re.IGNORECASE)


class Columns(Struct, frozen=True):
    """A table with its profile."""

    profile: Profile
    table: Table
    stages: tuple[tuple[Profile, Stage], ...] = ()


class StepTables:
    """The open tables of the writers of one file."""

    def __init__(self) -> None:
        self._open: dict[Writer, _Open] = {}

    @property
    def is_open(self) -> bool:
        """Whether any line may be a row."""
        return bool(self._open)

    def ends_before(self, offset: int) -> None:
        """Closes the tables whose last row lies more than `REACH` before this byte."""
        self._open = {writer: table for writer, table in self._open.items() if offset - table.newest < REACH}

    def read(self, line: Line, headers: Iterable[Columns]) -> StepLine | None:
        """The step that this line tells as a row; if a column names a rank, that is its writer. `headers`: the tables whose line
        of names it may be."""
        if not line.whole:
            return None
        for columns in headers:
            if (named := _named(columns, line.text)) is not None:
                named.newest = line.offset
                if (before := self._open.get(line.writer)) is not None and before.names == named.names:
                    named.before = before.rows
                self._open[line.writer] = named
                return None
        table = self._open.get(line.writer)
        if table is None:
            return None
        cells = table.cells(line.text)
        if (
            cells is not None
            and (found := _STEP.fullmatch(cells[table.step]))
            and (metrics := _metrics(table, cells)) is not None
        ):
            table.others, table.newest = 0, line.offset
            if table.is_drawn_again(cells):
                return None
            table.told |= metrics
            if (rank := table.rank_of(cells)) is not None:
                line = replace(line, prefix=replace(line.prefix, rank=rank), writer=("rank", rank))
            return StepLine(_seen(table, line, found), table.columns.stages, line)
        table.others += 1
        if table.others > MOST_BETWEEN:
            del self._open[line.writer]
        return None


class _Open(Struct):
    """A table whose names were read. `step`: index of the step column; `rank`: index of the rank column, if there is one;
    `ranks`: those seen in it. `places`: where each name begins and ends, for columns separated by blanks. `told`: the newest
    values, since a row may leave some out. `newest`: offset of the last row, or of the names; `others`: lines of the writer since
    then. `rows`: what stands in it; `before`: what stood in the one before it, under the same names."""

    columns: Columns
    names: list[str]
    step: int
    parted_by: str
    places: list[tuple[int, int]]
    rank: int | None = None
    ranks: set[int] = set()
    told: dict[str, float] = {}
    newest: int = 0
    others: int = 0
    rows: frozenset[tuple[str, ...]] = frozenset()
    before: frozenset[tuple[str, ...]] = frozenset()

    def is_drawn_again(self, cells: list[str]) -> bool:
        """Whether this row stood word for word in the table before: a list of trials that is printed by the clock."""
        row = tuple(cells)
        if len(self.rows) < MOST_ROWS:
            self.rows |= {row}
        return row in self.before

    def rank_of(self, cells: list[str]) -> int | None:
        """The rank of a row, from its second row on: the numbers in a list of best results come only once."""
        if self.rank is None or not cells[self.rank].isdecimal():
            return None
        rank = int(cells[self.rank])
        known = rank in self.ranks
        self.ranks.add(rank)
        return rank if known else None

    def cells(self, text: str) -> list[str] | None:
        """The values of a row; `None` if it does not have one for each name."""
        cells = _split(text, self.parted_by)
        if len(cells) == len(self.names) + 1 and self.parted_by == " " and number(cells[-1]) is None:
            cells.pop()  # a remark
        if len(cells) != len(self.names) and self.parted_by == " ":
            words = _BARS.sub(" ", _bare(text)).split()
            numbered = len(words) == len(self.names) + 1 and words[0].isdecimal()  # pandas counts its rows
            cells = words[numbered:] if len(words) - numbered == len(self.names) else self._below(text)
        return cells if len(cells) == len(self.names) else None

    def _below(self, text: str) -> list[str]:
        """The values of a row in which some are missing: each stands below its name."""
        cells = [""] * len(self.names)
        for found in _CELL.finditer(_BARS.sub(" ", _bare(text))):
            away = [min(abs(found.start() - begin), abs(found.end() - end)) for begin, end in self.places]
            n = away.index(min(away))
            if away[n] > _ASIDE or cells[n]:
                return []
            cells[n] = found[0]
        return cells


def _named(columns: Columns, text: str) -> _Open | None:
    """The table that begins with this line of names; `None` if the line is none."""
    if len(text) > _LONGEST:
        return None
    table = columns.table
    text = _bare(text)
    for parted_by in _parted_by(text):
        least, cells = (2, _split(text, parted_by)) if parted_by else (3, _BARS.sub(" ", text).split())
        if not least <= len(cells) <= _MOST_COLUMNS or not all(_NAME.fullmatch(cell) for cell in cells if cell):
            continue
        names = [name_of(cell) for cell in cells]
        step = next((names.index(name) for name in table.step if name in names), None)
        if step is not None and any(n != step and compiled(table.needs).search(name) for n, name in enumerate(names)):
            places = [found.span() for found in (_CELL if parted_by else _WORD).finditer(_BARS.sub(" ", text))]
            rank = next((names.index(name) for name in table.rank if name in names and names.index(name) != step), None)
            return _Open(columns, names, step, parted_by or " ", places, rank)
    return None


def _parted_by(text: str) -> tuple[str, ...]:
    """What may separate the cells of a line, the likeliest first: bars, a tab, a comma, a semicolon, several blanks (`" "`), one
    blank (`""`)."""
    return (*(sign for sign in ("|", "\t", ",", ";") if (_BARS.search(text) if sign == "|" else sign in text)), " ", "")


def _bare(text: str) -> str:
    found = _PLACE.match(text)
    return text[found.end() :] if found else text


def _split(text: str, parted_by: str) -> list[str]:
    text = _bare(text)
    if parted_by == " ":
        return [found[0] for found in _CELL.finditer(_BARS.sub(" ", text))]
    cells = [cell.strip(" \t\"'*") for cell in (_BARS.split(text) if parted_by == "|" else text.split(parted_by))]
    return cells[not cells[0] : len(cells) - (not cells[-1])] if parted_by == "|" else cells


def name_of(cell: str) -> str:
    """The plain form of a column's name: `Train Loss (nats)` is `train_loss`."""
    return "_".join(_UNIT.sub("", cell).lower().strip(" *:").split())


def _metrics(table: _Open, cells: list[str]) -> dict[str, float] | None:
    """The values by their plain names; `None` if one of them is no number, or if only the step is one."""
    known = table.columns.table.metrics
    metrics: dict[str, float] = {}
    losses: list[float] = []
    others = 0
    for n, (name, cell) in enumerate(zip(table.names, cells, strict=True)):
        if n == table.step:
            continue
        value, plain = number(cell), known.get(name)
        others += value is not None
        if value is not None and plain is not None:
            metrics.setdefault(plain, value)
        elif value is not None and is_loss(name):
            losses.append(value)
        elif plain is not None and not _NO_VALUE.fullmatch(cell):
            return None
    if losses:
        metrics.setdefault("loss", losses[0])
    return metrics if others else None


def _seen(table: _Open, line: Line, found: re.Match[str]) -> ProgressSeen:
    profile, words = table.columns.profile, table.columns.table
    return ProgressSeen(
        profile=profile.name,
        kind=words.id,
        offset=line.offset,
        at=line.at,
        writer=line.writer,
        counts=True,
        coarse=table.names[table.step] in words.coarse,
        step=number(found["step"]),
        total=number(found["total"]),
        step_s=table.told.get("step_s"),
        metrics={name: value for name, value in table.told.items() if name != "step_s"},
    )


def is_names(columns: Columns, text: str) -> bool:
    """Whether a line holds the names of this table's columns."""
    return _named(columns, text) is not None


def tells(columns: Columns, names: str, row: str) -> bool:
    """Whether a row below this line of names tells a step."""
    tables, prefix = StepTables(), Prefix()
    tables.read(Line(0, 0, prefix, names), [columns])
    return tables.read(Line(0, 0, prefix, row), ()) is not None
