"""Pages of several files become one log in the order of time: a line waits until no file can put another one before it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from hangtop.records.log import LogLine

Place = tuple[int, int]
"""File number and byte offset of a line."""
TOLD_AGAIN_WITHIN = 1_000
"""Lines from the end among which a line that is told again is looked for: it is the newest of its file."""


def place_of(line: LogLine) -> Place:
    return line.file, line.offset


def told(known: Sequence[LogLine], new: Iterable[LogLine]) -> list[LogLine]:
    """New lines behind the known ones. One that is told again (a bar redraws itself, its rank came out) takes its own place."""
    lines = list(known)
    begin = max(0, len(lines) - TOLD_AGAIN_WITHIN)
    places = {place_of(line): at for at, line in enumerate(lines[begin:], begin)}
    for line in new:
        at = places.setdefault(place_of(line), len(lines))
        lines[at : at + 1] = [line]
    return lines


def in_time(lines: Iterable[LogLine]) -> list[LogLine]:
    """Lines of several files in the order of time. One that tells no time stands behind the one before it in its file, the first
    ones of a page before the next one that does."""
    files: dict[int, list[LogLine]] = {}
    for line in lines:
        files.setdefault(line.file, []).append(line)
    timed: list[tuple[float, int, int, LogLine]] = []
    for file, own in files.items():
        own.sort(key=_offset)
        timed += [(at, file, line.offset, line) for at, line in zip(_times(own), own, strict=True)]
    return [line for *_, line in sorted(timed, key=lambda each: each[:3])]


def joined(known: Sequence[LogLine], new: Sequence[LogLine], *, older: bool) -> list[LogLine]:
    """Both in order. A page that stands before or behind all that is known, as most do, is put there without sorting it all."""
    before, behind = (in_time(new), known) if older else (known, in_time(new))
    if before and behind and not _follows(before[-1], behind[0]):
        return in_time([*before, *behind])
    return [*before, *behind]


def _follows(line: LogLine, after: LogLine) -> bool:
    if line.file == after.file:
        return line.offset < after.offset
    return line.at is not None and after.at is not None and line.at < after.at


class Merge(Struct):
    """One direction through several files. `held`: lines of each that cannot be shown yet; `ended`: files with no more to give;
    `reached`: how far each was read."""

    older: bool
    held: dict[int, list[LogLine]] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    reached: dict[int, int] = field(default_factory=dict)

    def wanted(self, files: Iterable[int]) -> list[int]:
        """The files that must speak before anything more can be shown."""
        return [file for file in files if file not in self.ended and not self.held.get(file)]

    def take(self, file: int, page: Sequence[LogLine], *, ended: bool) -> None:
        """A page of one file, in file order, which goes on where the last one ended."""
        self.held[file] = list(page)
        if page:
            self.reached[file] = page[0].offset if self.older else page[-1].offset + 1
        if ended or not page:
            self.ended.add(file)

    def ready(self) -> list[LogLine]:
        """The lines that are whole: of every file all that stands between them is known. They are held no longer."""
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
        """The far end of what was shown was let go: it is to be read again."""
        self.held, self.ended = {}, set()

    @property
    def done(self) -> bool:
        """All that was taken has been shown, and nobody has more."""
        return not any(self.held.values()) and bool(self.ended) and self.ended >= self.held.keys()


def _times(lines: Sequence[LogLine]) -> list[float]:
    """A time for each line of one file, never running back."""
    first = next((line.at for line in lines if line.at is not None), 0.0)
    times: list[float] = []
    for line in lines:
        first = max(first, line.at) if line.at is not None else first
        times.append(first)
    return times


def _offset(line: LogLine) -> int:
    return line.offset
