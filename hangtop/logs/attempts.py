"""The attempts of a run over all its log files. A restart that one file shows splits the other files by time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hangtop.logs.extract.stages import TRAINING, StageCourse
from hangtop.logs.file_facts import FileFacts
from hangtop.records.log import StageEvent, WrittenAt, at_once

IsPresent = Callable[[int, float | None], bool]
"""Whether a line of a file, by its offset and time, belongs to the attempt that runs now."""


STAMP_S = 1.0
"""The times in most logs tell whole seconds, and the start of a process is known to about as much."""


class Restart(Struct, frozen=True):
    """Where a new attempt begins: `shows` has the offset of the marker in each file with one, `written` is when the first one
    was written. Of one that no file shows, but only the start of its processes: `older`, the byte below which all is older."""

    written: WrittenAt
    shows: Mapping[int, int]
    older: Mapping[int, int] | None = None

    def takes(self, file: int, offset: int, written: WrittenAt) -> tuple[bool, bool]:
        """Whether a line belongs to it or to a later one, and whether that is certain. What the start of processes does not prove
        to be older belongs to them."""
        if self.older is None:
            return _is_later(written, self.written)
        began, is_below = self.written.about or 0.0, offset < self.older.get(file, 0)
        if written.about is None:
            return not is_below and not written.surely_before(self.written), True
        return written.about >= began + (STAMP_S if is_below else -STAMP_S), True


class _Marker(Struct, frozen=True):
    """A restart as one file shows it. `trained_at`: when the first step after it was written."""

    offset: int
    written: WrittenAt
    trained_at: float | None


class Attempts(Struct, frozen=True):
    """The restarts of the run, in order of time. Attempts count from 1."""

    restarts: tuple[Restart, ...] = ()

    @property
    def count(self) -> int:
        return len(self.restarts) + 1

    def number(self, file: int, offset: int, written: WrittenAt) -> tuple[int, bool]:
        """The attempt to which a line belongs, and whether that is certain: by its offset in a file that shows the restart, else
        by time."""
        first, last = 1, self.count
        for number, restart in enumerate(self.restarts, 2):
            if (own := restart.shows.get(file)) is not None:
                first, last = (number, last) if offset >= own else (first, min(last, number - 1))
        sure = True
        for number in range(last, first, -1):
            is_later, is_proven = self.restarts[number - 2].takes(file, offset, written)
            sure = sure and is_proven
            if is_later:
                return number, sure
        return first, sure

    def is_present(self, file: int) -> IsPresent:
        """The test for lines of this file. A line without a time counts, unless it stands before a restart in this file."""
        since = max((restart.shows[file] for restart in self.restarts if file in restart.shows), default=0)
        last = self.restarts[-1] if self.restarts else None
        if last is not None and last.older is not None:
            present = last
            return lambda offset, at: present.takes(file, offset, WrittenAt(at))[0] and (at is not None or offset >= since)
        if last is None or file in last.shows:
            return lambda offset, at: offset >= since
        begun = last.written.about if last.written.about is not None else last.written.not_before
        return lambda offset, at: offset >= since and (at is None or begun is None or at >= begun)

    def renumbered(self, events: Sequence[StageEvent]) -> tuple[StageEvent, ...]:
        """The events with attempt numbers of the whole run."""
        if not self.restarts:
            return tuple(events)
        numbers = [self.number(event.file, event.offset, at_once(event.at))[0] for event in events]
        return tuple(
            event if event.attempt == number else replace(event, attempt=number)
            for event, number in zip(events, numbers, strict=True)
        )


def attempts_of(facts: Sequence[FileFacts], courses: Mapping[int, StageCourse], lead: int) -> Attempts:
    """The restarts that the files show, with the markers of one restart put together.

    From the latest restart on, the latest marker of each file belongs to it, unless that file had made steps since or an earlier
    restart is nearer: ranks begin together before any of them trains. `lead`: the file that tells most of the course of the run.
    If its course goes on without a break, the run was not restarted.
    """
    left = {file.file: markers for file in facts if (markers := _markers(file, courses[file.file]))}
    restarts: list[Restart] = []
    while left:
        latest_in = max(left, key=lambda file: (_about(left[file][-1]), -file))
        latest = left[latest_in][-1]
        together = {
            file: markers[-1]
            for file, markers in left.items()
            if file == latest_in or _is_same(markers[-1], latest, left[latest_in][:-1])
        }
        left = {file: rest for file, markers in left.items() if (rest := markers[:-1] if file in together else markers)}
        begun = min(together.values(), key=_about).written
        if lead in together or _may_have_missed(courses[lead], begun):
            restarts.append(Restart(begun, {file: marker.offset for file, marker in together.items()}))
    return Attempts(tuple(reversed(restarts)))


def since_start(attempts: Attempts, facts: Sequence[FileFacts], began_at: float, older: Mapping[int, int]) -> Attempts:
    """With the attempt of the processes that run now, if they started after anything that the logs hold, and no log shows that
    restart itself."""
    begun = Restart(at_once(began_at), {}, older)
    places = [(file.file, place) for file in facts for place in _places(file)]
    if all(begun.takes(file, offset, written)[0] for file, (offset, written) in places):
        return attempts
    last = attempts.restarts[-1] if attempts.restarts else None
    if last is not None and any(begun.takes(file, offset, last.written)[0] for file, offset in last.shows.items()):
        return attempts
    return Attempts((*attempts.restarts, begun))


def _places(file: FileFacts) -> Iterator[tuple[int, WrittenAt]]:
    """Where things of note stand in a file, and when each was written."""
    found = [(mark.offset, mark.at) for mark in file.marks] + [(finding.offset, finding.at) for finding in file.findings]
    found += [(seen.offset, seen.at) for writer in file.writers for seen in writer.progress]
    for offset, at in found:
        yield offset, file.times.get(offset) or at_once(at)


def _markers(facts: FileFacts, course: StageCourse) -> list[_Marker]:
    at = {mark.offset: mark.at for mark in facts.marks} | dict(facts.begun_again)
    markers = []
    for number, offset in enumerate(course.restarts, 2):
        steps = (event for event in course.events if event.attempt == number and event.id == TRAINING)
        trained = next(steps, None)
        written = facts.times.get(offset) or at_once(at.get(offset))
        markers.append(_Marker(offset, written, trained.at if trained else None))
    return markers


def _about(marker: _Marker) -> float:
    known = (marker.written.about, marker.written.not_after)
    return next((at for at in known if at is not None), float("inf"))


def _is_same(marker: _Marker, latest: _Marker, earlier: Sequence[_Marker]) -> bool:
    """Whether a marker of another file belongs to the restart of `latest`, and not to an `earlier` one of the same file."""
    at, begun = marker.written.about, latest.written.about
    if at is None or begun is None:
        return True
    if marker.trained_at is not None and marker.trained_at < begun:
        return False
    return not any(before.written.about is not None and abs(before.written.about - at) < begun - at for before in earlier)


def _may_have_missed(course: StageCourse, begun: WrittenAt) -> bool:
    """Whether a file may lack a restart at this time: it shows no stages, or all of them on one side of it."""
    times = [event.at for event in course.events if event.at is not None]
    if begun.not_before is None or begun.not_after is None or not times:
        return not course.events
    return not (min(times) < begun.not_before and max(times) > begun.not_after)


def _is_later(written: WrittenAt, begun: WrittenAt) -> tuple[bool, bool]:
    """Whether a line was written after a restart began, and whether that is certain."""
    if written.surely_before(begun):
        return False, True
    if begun.surely_before(written):
        return True, True
    if written.about is None:
        return False, False
    return begun.about is None or written.about >= begun.about, False
