"""Pages of several files merged in time order. A line waits until no file can put another line before it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter

from msgspec import Struct, field

from hangtop.records.log import LogLine

Place = tuple[int, int]
"""File number and byte offset of a line."""
REPLACED_WITHIN = 1_000
"""A line that comes again is the newest of its file; it is searched among so many lines from the end."""


def place_of(line: LogLine) -> Place:
    return line.file, line.offset


def updated(known: Sequence[LogLine], new: Iterable[LogLine]) -> list[LogLine]:
    """Known lines, then new ones. A line that comes again (a redrawn bar, a rank now known) replaces itself."""
    lines = list(known)
    begin = max(0, len(lines) - REPLACED_WITHIN)
    places = {place_of(line): at for at, line in enumerate(lines[begin:], begin)}
    for line in new:
        at = places.setdefault(place_of(line), len(lines))
        lines[at : at + 1] = [line]
    return lines


def in_time(lines: Iterable[LogLine]) -> list[LogLine]:
    """Lines of several files in time order. A line without a time follows the one before it in its file; at the start of a page
    it goes with the first line that has a time."""
    timed: list[tuple[float, LogLine]] = []
    for _, own in groupby(sorted(lines, key=place_of), key=attrgetter("file")):
        page = list(own)
        timed += zip(_times(page), page, strict=True)
    return [line for _, line in sorted(timed, key=itemgetter(0))]


def joined(known: Sequence[LogLine], new: Sequence[LogLine], *, older: bool) -> list[LogLine]:
    """Both in order. Most pages come wholly before or after the known lines, and need no sorting."""
    before, behind = (in_time(new), known) if older else (known, in_time(new))
    if before and behind and not _follows(before[-1], behind[0]):
        return in_time([*before, *behind])
    return [*before, *behind]


def _follows(line: LogLine, after: LogLine) -> bool:
    if line.file == after.file:
        return line.offset < after.offset
    return line.at is not None and after.at is not None and line.at < after.at


class Merge(Struct):
    """One reading direction through several files. `held`: lines per file that cannot be shown yet. `ended`: files without more
    lines. `reached`: the offset read to, per file."""

    older: bool
    held: dict[int, list[LogLine]] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    reached: dict[int, int] = field(default_factory=dict)

    def wanted(self, files: Iterable[int]) -> list[int]:
        """The files to read before more can be shown."""
        return [file for file in files if file not in self.ended and not self.held.get(file)]

    def take(self, file: int, page: Sequence[LogLine], *, ended: bool) -> None:
        """Add the next page of one file, in file order."""
        self.held[file] = list(page)
        if page:
            self.reached[file] = page[0].offset if self.older else page[-1].offset + 1
        if ended or not page:
            self.ended.add(file)

    def ready(self) -> list[LogLine]:
        """Take out the lines that nothing can come before any more."""
        times = {file: _times(lines) for file, lines in self.held.items() if lines}
        going_on = [each for file, each in times.items() if file not in self.ended]
        if self.older:
            edge = max((each[0] for each in going_on), default=float("-inf"))
        else:
            edge = min((each[-1] for each in going_on), default=float("inf"))
        ready: list[LogLine] = []
        for file, each in times.items():
            free = [at >= edge if self.older else at <= edge for at in each]
            ready += [line for line, is_free in zip(self.held[file], free, strict=True) if is_free]
            self.held[file] = [line for line, is_free in zip(self.held[file], free, strict=True) if not is_free]
        return ready

    def forget(self) -> None:
        """The far end of the shown lines was dropped and has to be read again."""
        self.held, self.ended = {}, set()

    @property
    def done(self) -> bool:
        """Whether all files have ended and all their lines were shown."""
        return not any(self.held.values()) and bool(self.ended) and self.ended >= self.held.keys()


def _times(lines: Sequence[LogLine]) -> list[float]:
    """A time for each line of one file, never running back."""
    first = next((line.at for line in lines if line.at is not None), 0.0)
    times: list[float] = []
    for line in lines:
        first = max(first, line.at) if line.at is not None else first
        times.append(first)
    return times
