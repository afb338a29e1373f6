"""Which lines of the log are in view: the growing tail, and pages of the whole file that the probe reads. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from hangtop.common.text import some
from hangtop.records.ask import PageAsk
from hangtop.records.log import LogLine, PageReading
from hangtop.render.log.log_goal import Goal, step_regex, told
from hangtop.render.log.log_merge import Merge, Place, joined, place_of, updated
from hangtop.render.log.log_query import NOTABLE, LogQuery
from hangtop.render.log.time_search import TimeSearch
from hangtop.state.run_state import RunState
from hangtop.translations import say

PAGE = 200
MOST_LINES = 10_000
"""Lines kept; beyond this the far end is dropped, and read again when a person scrolls there."""
FILES_AT_ONCE = 64

Send = Callable[[PageAsk], None]
Purpose = Literal["older", "newer", "new", "next", "previous", "step", "time"]
"""Of a question: the page before or after the known lines, new matches of a regex, the one line that a search jumps to, the
line of a step, or a page on the way to a time."""


class LogViewModel(Struct):
    """`lines` can be scrolled through; `top` is the first on the screen unless it follows the end. `sought`: the filter on the
    screen; `base`: the filter to return to. `seeking`: a time that is being looked for. `send` passes one question at a time to
    the probe, since a new one replaces one that still runs there; `take_page` gets the answers."""

    send: Send
    sought: LogQuery = field(default_factory=LogQuery)
    base: LogQuery = field(default_factory=LogQuery)
    lines: list[LogLine] = field(default_factory=list)
    top: int = 0
    following: bool = True
    at_start: bool = False
    at_end: bool = True
    target: Place | None = None
    said: str = ""
    search: LogQuery = field(default_factory=LogQuery)
    seeking: TimeSearch | None = None
    _seen: int = 0
    _refreshed: int = 0
    _last: LogLine | None = None
    _asks: deque[tuple[Purpose, PageAsk]] = field(default_factory=deque)
    _number: int = 0
    _ends: tuple[int, ...] = ()
    _searched: tuple[int, ...] = ()
    _older: Merge = field(default_factory=lambda: Merge(older=True))
    _newer: Merge = field(default_factory=lambda: Merge(older=False))

    def take_tail(self, state: RunState) -> None:
        """Add the lines since the last call."""
        self._ends = tuple(file.size_bytes for file in state.log.files) if state.log else ()
        new = state.tail_total - self._seen
        if new == 0 and (not state.tail or state.tail[-1] == self._last):
            return
        tail = state.tail
        joined = self._last is None or (0 <= new < len(tail) and tail[len(tail) - new - 1] == self._last)
        before, self._last = self._last, tail[-1] if tail else None
        self._seen = state.tail_total
        if joined and self.at_end:
            self._append(line for line in tail[max(0, len(tail) - new) :] if self.sought.local(line))
        elif self.following:
            self._restart(state)
        else:
            self._move_before_border(before, tail)
            self.at_end = False
            self._newer.forget()

    def take_page(self, page: PageReading, height: int, state: RunState) -> None:
        """Add a part of an answer; all parts carry the number of the question."""
        if not self._asks or self._asks[0][1].ask != page.ask:
            return
        purpose, asked = self._asks[0]
        self.said = page.problem or (say(f"searched {page.scanned_part:.0%}" if page.scanned_part < 1 else ""))
        done = page.scanned_part >= 1 or page.problem is not None
        if done:
            self._asks.popleft()
            if len(self._asks) > 1 and self.sought.filtered and not self.said:
                self.said = say(f"searching, {some(len(self._asks), 'file')} to go")
            if self._asks:
                self.send(self._asks[0][1])
        if purpose == "time":
            self._seek_on(page, height, state)
            return
        if purpose in ("next", "previous", "step"):
            pattern = self.search.pattern
            nothing = say("no line of this log tells that step" if purpose == "step" else f"no other line with {pattern!r}")
            self._found(page, height, state, nothing, done=done)
            return
        if purpose == "new":
            self._merge(page.lines, older=False)
        elif self._is_merged:
            self._take_part(page, asked.file, older=purpose == "older", done=done)
        else:
            if page.problem is None:
                self._merge(page.lines, older=purpose == "older")
            if done and purpose == "older":
                self.at_start = page.at_start
            if done and purpose == "newer":
                self.at_end = page.at_end
        if self.target is not None:
            self._show_target(height)

    def look_for(self, sought: LogQuery, state: RunState) -> None:
        """Start again at the end of the log with another filter or file."""
        self.sought = self.base = sought
        if sought.pattern:
            self.search = sought
        self._restart(state)
        if sought.filtered:
            for file in range(len(self._ends)) if sought.file is None else (sought.file,):
                self._ask("older", file, self._end(file))

    def base_with(self, pattern: str, *, regex: bool) -> LogQuery:
        """The base filter with another pattern; an empty pattern removes it."""
        return LogQuery(pattern or None, regex and bool(pattern), self.base.notable, self.base.file)

    def scroll(self, by: int, height: int, state: RunState) -> None:
        """Scroll by so many lines; beyond the end it follows again."""
        if self.following:
            if by >= 0:
                return
            self.following, self.top = False, max(0, len(self.lines) - height)
        self.target = None
        bottom = max(0, len(self.lines) - height)
        self.top = max(0, min(self.top + by, bottom))
        if by > 0 and self.top >= bottom and self.at_end:
            self.follow(state)
        elif self.top < height:
            self._want_older()
        elif self.top >= bottom - height and not self.at_end:
            self._want_newer()

    def to_start(self, state: RunState) -> None:
        """The first line of the file."""
        if not self.lines or self.at_start or self.lines[0].offset < 0:
            self.following, self.top = False, 0
            return
        file = self.lines[0].file
        self._open(file, state)
        self.following, self.at_start, self.at_end, self.top = False, True, False, 0
        self._ask("newer", file, 0)

    def follow(self, state: RunState) -> None:
        """Back to the end."""
        self.following, self.target = True, None
        if not self.at_end or self.sought != self.base:
            self.look_for(self.base, state)

    def jump(self, place: Place, height: int, state: RunState) -> None:
        """Show this line among its neighbours, unfiltered."""
        if not self._holds(place):
            self._open(place[0], state)
            self.at_start = self.at_end = False
            self._ask("older", *place)
            self._ask("newer", *place)
        self.following, self.target = False, place
        self._show_target(height)

    def find(self, direction: int, height: int) -> None:
        """Find the next or previous line with the pattern last searched."""
        if not self.search.pattern:
            self.said = say("filter the log first: the search looks for that text")
            return
        shown = self.visible(height)
        start = self.target or (place_of(shown[-1]) if shown else None)
        if start is None:
            return
        file, offset = start
        self._asks.clear()
        self.said = say(f"searching {self.search.pattern!r} …")
        self._ask("next" if direction > 0 else "previous", file, offset + 1 if direction > 0 else offset)

    def go_to(self, goal: Goal, height: int, state: RunState) -> None:
        """Show the line that a person has named, among its neighbours."""
        file = self.sought.file or 0
        if goal.place is not None:
            self.jump(goal.place, height, state)
            return
        self.said = say(f"looking for {told(goal)} …")
        self._asks.clear()
        if goal.step is not None:
            self._ask("step", file, 0, LogQuery(step_regex(goal.step), regex=True))
        elif goal.at is not None:
            self.seeking = TimeSearch(goal.at, file, 0, self._end(file))
            self._ask("time", file, self.seeking.middle)

    def _seek_on(self, page: PageReading, height: int, state: RunState) -> None:
        if self.seeking is None or page.problem is not None or page.scanned_part < 1:
            return
        self.seeking = self.seeking.after(page.lines, at_end=page.at_end)
        if not self.seeking.over:
            self._ask("time", self.seeking.file, self.seeking.middle)
        elif self.seeking.found is not None:
            self.said = ""
            self.jump(self.seeking.found, height, state)
        else:
            self.said = say("no line of this log tells a time")

    def refresh_regex(self) -> None:
        """Ask the probe for new matches of a regex filter in each file that has grown."""
        if not self.sought.regex or not self.following or self._seen == self._refreshed or self._asks:
            return
        before, self._refreshed, self._searched = self._searched, self._seen, self._ends
        for file, end in enumerate(self._ends):
            if self.sought.file in (None, file) and (file >= len(before) or before[file] != end):
                last = max((known.offset for known in self.lines if known.file == file), default=-1)
                self._ask("new", file, last + 1)

    def visible(self, height: int) -> list[LogLine]:
        if self.following:
            return self.lines[-height:] if height > 0 else []
        return self.lines[self.top : self.top + height]

    @property
    def waiting(self) -> bool:
        """Whether an answer is on its way."""
        return bool(self._asks)

    def _move_before_border(self, last: LogLine | None, tail: Sequence[LogLine]) -> None:
        """A person reads lines of a file that was rotated: they get the places that the probe gives them now. `last`: the newest
        line before."""
        same = None if last is None else next((line for line in reversed(tail) if line.offset < 0 and _is_same(line, last)), None)
        if last is None or same is None:
            return
        by = same.offset - last.offset
        self.lines = [replace(line, offset=line.offset + by) if line.file == last.file else line for line in self.lines]
        if self.target is not None and self.target[0] == last.file:
            self.target = (last.file, self.target[1] + by)
        self._asks.clear()

    def _found(self, page: PageReading, height: int, state: RunState, nothing: str, *, done: bool) -> None:
        if page.lines:
            self.said = ""
            self.jump(place_of(page.lines[0]), height, state)
        elif done and not page.problem:
            self.said = nothing

    def _holds(self, place: Place) -> bool:
        return not self.sought.filtered and any(place_of(line) == place for line in self.lines)

    def _show_target(self, height: int) -> None:
        at = next((i for i, line in enumerate(self.lines) if place_of(line) == self.target), None)
        if at is not None:
            self.top = max(0, min(at - height // 3, len(self.lines) - height))

    def _open(self, file: int, state: RunState) -> None:
        """Show one file, unfiltered and empty at first."""
        self._ends = tuple(file.size_bytes for file in state.log.files) if state.log else self._ends
        self.base = LogQuery(file=self.base.file)
        self.sought = LogQuery(file=file if len(self._ends) > 1 else None)
        self.lines, self.top = [], 0
        self._asks.clear()

    @property
    def _is_merged(self) -> bool:
        return len(self._ends) > 1 and self.sought.file is None

    def _want_older(self) -> None:
        if self.at_start or not self.lines or self._asking("older"):
            return
        first = self.lines[0]
        orderly = len(self._ends) <= FILES_AT_ONCE and any(line.at is not None for line in self.lines)
        if self._is_merged and (orderly or self.sought.filtered):
            self._want_of_all(self._older)
            return
        if self._is_merged:  # without times, or with too many files, there is no common order: go on in this file alone
            if self.top > 0:
                return
            self.said = say("from here on back: this file alone")
            self.sought = LogQuery(file=first.file)
            self.lines = [line for line in self.lines if line.file == first.file]
        self._ask("older", first.file, first.offset)

    def _want_newer(self) -> None:
        if not self.lines or self._asking("newer"):
            return
        if self._is_merged:
            self._want_of_all(self._newer)
        else:
            self._ask("newer", self.lines[-1].file, self.lines[-1].offset + 1)

    def _want_of_all(self, merge: Merge) -> None:
        """Ask each file without held lines for its next page."""
        for file in merge.wanted(range(len(self._ends))):
            self._ask("older" if merge.older else "newer", file, self._edge(file, merge))

    def _edge(self, file: int, merge: Merge) -> int:
        """The offset at which the shown part of this file ends; if none is shown, the offset read to."""
        own = [line.offset for line in self.lines if line.file == file]
        if own:
            return min(own) if merge.older else max(own) + 1
        return self._newer.reached.get(file, self._end(file)) if merge.older else self._older.reached.get(file, 0)

    def _end(self, file: int) -> int:
        """The size of this file, 0 where it is not known yet."""
        return self._ends[file] if file < len(self._ends) else 0

    def _take_part(self, page: PageReading, file: int, *, older: bool, done: bool) -> None:
        """Add a page of one of several files; shown once all have answered."""
        merge = self._older if older else self._newer
        if self.sought.filtered and older and self.following:
            self._merge(page.lines, older=True)  # of a search what there is, at once
        if not done:
            return
        merge.take(file, page.lines, ended=page.problem is not None or (page.at_start if older else page.at_end))
        if not self._asking("older" if older else "newer"):
            self._merge(merge.ready(), older=older)
            self._hold_back(merge)
            self.at_start = merge.done if older else self.at_start
            self.at_end = self.at_end if older else merge.done

    def _hold_back(self, merge: Merge) -> None:
        """Hide lines that were shown before another file could put lines between them; they come again in order."""
        held = {place_of(line) for lines in merge.held.values() for line in lines}
        if held:
            self.top -= sum(place_of(line) in held for line in self.lines[: self.top])
            self.lines = [line for line in self.lines if place_of(line) not in held]

    def _ask(self, purpose: Purpose, file: int, offset: int, sought: LogQuery | None = None) -> None:
        finds = purpose in ("next", "previous", "step")
        sought = sought or (LogQuery(self.search.pattern, self.search.regex) if finds else self.sought)
        sought = LogQuery() if purpose == "time" else sought
        self._number += 1
        ask = PageAsk(
            ask=self._number,
            file=file,
            offset=offset,
            direction="back" if purpose in ("older", "previous") else "on",
            count=1 if finds else PAGE,
            pattern=sought.pattern or None,
            regex=sought.regex,
            kinds=NOTABLE if sought.notable else (),
        )
        self._asks.append((purpose, ask))
        if len(self._asks) == 1:
            self.send(ask)

    def _asking(self, purpose: Purpose) -> bool:
        return any(asked == purpose for asked, _ in self._asks)

    def _restart(self, state: RunState) -> None:
        self.lines = updated([], (line for line in state.tail if self.sought.local(line)))
        self._older, self._newer = Merge(older=True), Merge(older=False)
        self._seen = self._refreshed = state.tail_total
        self._searched = self._ends
        self._last = state.tail[-1] if state.tail else None
        self.following, self.at_end, self.at_start, self.top, self.target = True, True, False, 0, None
        self._asks.clear()

    def _append(self, new: Iterable[LogLine]) -> None:
        self.lines = updated(self.lines, new)
        self._drop_first(len(self.lines) - MOST_LINES)

    def _drop_first(self, over: int) -> None:
        """Drop so many lines at the start, if more are kept than should be."""
        if over > 0:
            del self.lines[:over]
            self.top, self.at_start = max(0, self.top - over), False
            self._older.forget()

    def _merge(self, page: Iterable[LogLine], *, older: bool) -> None:
        known = {place_of(line) for line in self.lines}
        new = [line for line in page if place_of(line) not in known]
        if not new:
            return
        anchor = self.lines[self.top] if self.top < len(self.lines) else None
        self.lines = joined(self.lines, new, older=older)
        if anchor is not None and not self.following:
            self.top = self.lines.index(anchor)
        over = len(self.lines) - MOST_LINES
        if over > 0 and older and not self.following:
            del self.lines[-over:]
            self.at_end = False
            self._newer.forget()
        else:
            self._drop_first(over)


def _is_same(line: LogLine, other: LogLine) -> bool:
    """Whether both are one line, wherever it stands now."""
    return replace(line, offset=other.offset) == other
