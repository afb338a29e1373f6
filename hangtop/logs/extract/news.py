"""Since when a log says nothing new: heartbeats, spinners, the same counts again and an elapsed time are no news.

By facts alone: a line whose words came before, whose numbers came before, and in which at most a time moved on as the clock did.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from hangtop.logs.extract.extractor import Extractor
from hangtop.logs.extract.known_pauses import KnownPauses
from hangtop.logs.extract.line_forms import BEATS, KEPT_NUMBERS, Form, Mark
from hangtop.logs.extract.line_values import said_in
from hangtop.logs.extract.steps.progress import StepLine
from hangtop.logs.file_facts import FileFacts, Kind
from hangtop.logs.lines.block_lines import Line, Lines, Span, Writer

MOST_ROWS, ROWS_WITHOUT_STEPS, ROWS_AFTER_STEPS = 64, 256, 1_000
"""So many of the newest lines are compared at a time. Of what was there when hangtop came more: where no step was told, and where
`LATE` lines stand behind the last step. A line costs 50 µs."""
LATE = 8
KEPT_WORDS, KEPT_VALUES = 1_024, 64
WITHIN = 0.15
"""A time that moves on as the clock does: it may miss by this part of the pause, and by what rounding and polling take."""
ROUNDED_S = 1.1


BESIDE_THE_RUN = "torch/distributed/debug/_frontend.py:"
"""The source file of PyTorch's debug server, in the prefix of its lines. It tells of its visitors, hangtop among them, and goes
on with that while the run stands: it is a process of its own."""


def is_beside(data: bytes) -> bool:
    """Whether all these lines are the debug server's: then the run itself wrote nothing."""
    mark = BESIDE_THE_RUN.encode()
    return mark in data and all(mark in line for line in data.splitlines() if line.strip())


class _Steps(Struct, frozen=True, gc=False):
    """What a line tells of the run's steps. `redrawn`: a bar that stands where it stood."""

    steps: tuple[float, ...]
    redrawn: bool


class News(Extractor):
    """The clock of what a file says anew. `add_step` hears of each step before the lines are compared.

    `_new`: the line that last told anything new; `_sure`: the last that no clock could print. Lines that only count on are unsure
    until their rhythm is known: then they are beats, those before as well.
    """

    def __init__(self) -> None:
        self.read_to = -1
        self._forms: dict[tuple[Writer, str], Form] = {}
        self._tops: dict[tuple[Writer, Kind], float] = {}
        self._steps: dict[int, _Steps] = {}
        self._counted: set[int] = set()
        self._pauses = KnownPauses()
        self._stepped_at = -1
        self._step_number = -1
        self._new: Mark | None = None
        self._sure: Mark | None = None
        self._last: Mark | None = None
        self._told_s = 0.0
        self._forgotten = 0
        self._repeats = ""

    def add_step(self, step: StepLine) -> None:
        seen = step.seen
        if seen.step is None:
            return
        key = (step.line.writer, (seen.profile, seen.kind))
        advances = seen.step != self._tops.get(key)
        self._tops[key] = seen.step
        known = self._steps.get(seen.offset, _Steps((), redrawn=True))
        # a bar is drawn again while it stands; a line that is written tells more than its step
        redrawn = known.redrawn and not advances and seen.elapsed_s is not None
        self._steps[seen.offset] = _Steps((*known.steps, seen.step), redrawn)
        if advances and seen.counts:
            self._counted.add(seen.offset)
            self._stepped_at = max(self._stepped_at, seen.offset)

    def reopened(self, offset: int) -> None:
        self.read_to = self._stepped_at = self._step_number = -1
        self._steps, self._counted = {}, set()

    def look(self, newest: Iterable[tuple[Lines, Span]], pieces: Iterable[Line] = (), before: Iterable[Line] = ()) -> list[Line]:
        """Compares the lines that are new. `newest`: these, the newest first; `pieces`: all that was drawn in the place of the
        newest; `before`: in those of the lines before it. Returns the lines, the oldest first."""
        lines: list[Line] = []
        for block, span in newest:
            if len(lines) >= MOST_ROWS and (self.read_to >= 0 or len(lines) >= self._wanted(lines)):
                break
            lines.append(block.parse(span))
        for line in reversed([*lines[:1], *self._drawn_over(lines[0], pieces), *lines[1:]] if lines else []):
            self._compare(line)
        if lines:
            self.read_to = lines[0].end
            self._steps = {offset: step for offset, step in self._steps.items() if offset >= lines[0].offset}
            self._counted &= self._steps.keys()
            self._follow_bar(lines[0], before)
        return lines[::-1]

    def _follow_bar(self, newest: Line, before: Iterable[Line]) -> None:
        """Whether the newest line is a bar that was drawn in the run's course, with other counts, and drawn over by its lines."""
        shows = said_in(newest.text)
        form = self._forms.get((newest.writer, shows.words))
        if form is not None and not form.is_bar and len(form.numbers) > 1 and newest.text:
            form.is_bar = any(
                drawn.words == shows.words and drawn.values != shows.values for drawn in (said_in(piece.text) for piece in before)
            )

    def _drawn_over(self, newest: Line, pieces: Iterable[Line]) -> list[Line]:
        """The same as the newest line, which it was drawn over, newest first: a spinner that stands was drawn many times."""
        shows, drawn = said_in(newest.text), list[Line]()
        for piece in pieces:
            said = said_in(piece.text)
            if (
                piece.offset < self.read_to
                or len(drawn) >= KEPT_NUMBERS
                or (said.words, said.values) != (shows.words, shows.values)
            ):
                break
            if piece.offset < newest.offset:
                drawn.append(piece)
        return drawn

    def _wanted(self, lines: list[Line]) -> int:
        if self._stepped_at < 0:
            return ROWS_WITHOUT_STEPS
        return ROWS_AFTER_STEPS if lines[LATE].offset > self._stepped_at else MOST_ROWS

    def add_facts(self, facts: FileFacts) -> FileFacts:
        new, last = self._new, self._last
        if new is None or last is None:
            return facts
        unsure = (form.unsure for form in self._forms.values() if form.unsure is not None)
        moved = max((mark for mark in (self._sure, *unsure) if mark is not None), key=lambda mark: mark.number, default=new)
        idle_s = new.until_s(last, self._told_s)
        beating = [form for form in self._forms.values() if form.latest is not None and form.latest.number > moved.number]
        sure = moved if self._sure is None else self._sure
        counted_s = max((form.counted_s(moved) for form in beating), default=0.0) if moved.is_untimed else 0.0
        return replace(
            facts,
            idle_s=idle_s,
            clockwork_s=max(idle_s, moved.until_s(last, self._told_s), counted_s),
            new_at=new.at,
            moved_at=moved.at,
            beats_untimed=sure.is_untimed and any(form.is_untimed(sure) for form in self._forms.values()),
            beat_s=max((form.pause_s for form in beating), default=0.0),
            repeats=self._repeats if moved.number < last.number else "",
            beats_in_course=bool(beating)
            and all(form.steps or form.is_bar or form.numbers[0] < self._course(beating) for form in beating),
            paused_until=self._pauses.until(),
        )

    def _course(self, beating: list[Form]) -> int:
        """The number of the newest line of the run's course: of a step, or of lines that came again and again and told something
        each time, whether or not they are known for steps."""
        others = (form for form in self._forms.values() if form not in beating and form.told_at >= 0)
        again = (form.numbers[-1] for form in others if len(form.numbers) > BEATS)
        return max(self._step_number, *again, -1)

    def _compare(self, line: Line) -> None:
        said = said_in(line.text)
        if not said.words.strip("\0 ") and not said.values:
            return
        steps = self._steps.get(line.offset)
        if line.offset in self._counted:  # a count that began again, as in the next trial or epoch, may tell the same values
            self._forget()
        form = self._forms.pop((line.writer, said.words), None)
        if form is not None:
            form.forget(self._forgotten)
        advances = steps is not None and not steps.redrawn and (form is None or form.steps != steps.steps)
        beside = BESIDE_THE_RUN in line.prefix.text
        if beside and self.read_to >= 0:  # it came while we watched, and is no output (`is_beside`)
            return
        if (form is None or advances) and not beside:
            self._forget()
        form = self._forms[line.writer, said.words] = form or Form()
        form.forgotten = self._forgotten  # what it forgets now is what the others have seen
        if len(self._forms) > KEPT_WORDS:
            del self._forms[next(iter(self._forms))]
        mark = self._last = self._marked(line, form.tells_s(said, self._told_s))
        if line.offset in self._counted:
            self._step_number = mark.number
        before, counts_on = form.seen.get(said.values), form.counts_on(said.values)
        form.steps = form.steps if steps is None else steps.steps
        told = not (beside or (steps is not None and steps.redrawn)) and (
            before is None or _differs(before, line.at, said.times_s)
        )
        is_background = told and steps is None and self._is_background(form, line, mark.told_s)
        if line.at is not None:
            form.came.append((line.offset, line.at))
        form.latest = mark
        form.numbers.append(mark.number)
        if mark.told_s is not None:
            form.came_told.append((line.offset, mark.told_s))
        if told:  # of the background too: that a pause follows it is known from its lines
            self._pauses.follow((line.writer, said.words), line.at)
        if told and not is_background:
            form.told_at = line.offset
            self._new = mark
            self._move(form, mark, counts_on=counts_on and not advances)
        if not told or is_background or form.is_numbered():
            self._repeats = line.text.strip()
        form.seen.pop(said.values, None)
        form.seen[said.values] = (line.at, said.times_s) if told or before is None else before
        if len(form.seen) > KEPT_VALUES:
            del form.seen[next(iter(form.seen))]

    def _forget(self) -> None:
        """The run went on: lines that it writes again and again in its course count anew, each once."""
        self._forgotten += 1

    def _marked(self, line: Line, told_s: float | None) -> Mark:
        """The line with its times. The first time behind a line without one bounds the time of that line."""
        if told_s is not None:
            self._told_s = max(self._told_s, told_s)
        at, now_s = line.at, None if told_s is None else self._told_s
        self._new, self._sure = (_bounded(mark, at, now_s) for mark in (self._new, self._sure))
        return Mark(1 if self._last is None else self._last.number + 1, at, at, now_s)

    def _move(self, form: Form, mark: Mark, *, counts_on: bool) -> None:
        """Keeps the last line that no clock could print."""
        if not counts_on or form.is_uneven():
            self._sure, form.unsure = mark, None
        else:
            form.unsure = None if form.is_numbered() else mark

    def _is_background(self, form: Form, line: Line, told_s: float | None) -> bool:
        """Whether such lines came at one rhythm while the steps went on, and come at it still; or a timer printed them while
        other lines came, and goes on now that these do not: whatever they tell, the run went on without them."""
        if line.offset <= self._stepped_at:
            return False
        if line.at is not None and form.beats(self._stepped_at, line.at):
            return True
        if not form.ticks():
            return False
        others = (each.told_at for each in self._forms.values() if each is not form and not each.ticks())
        return form.ticks_on(max(self._stepped_at, *others, -1), line.at, told_s)


def _bounded(mark: Mark | None, at: float | None, told_s: float | None) -> Mark | None:
    if mark is None or (mark.no_later is not None and mark.told_s is not None):
        return mark
    no_later = at if mark.no_later is None else mark.no_later
    return replace(mark, no_later=no_later, told_s=told_s if mark.told_s is None else mark.told_s)


def _differs(before: tuple[float | None, tuple[float, ...]], at: float | None, times_s: tuple[float, ...]) -> bool:
    """Whether any of the times in the line moved otherwise than the clock did."""
    then, known_s = before
    moved = [abs(now_s - then_s) for then_s, now_s in zip(known_s, times_s, strict=False) if now_s != then_s]
    if not moved:
        return len(known_s) != len(times_s)
    if at is None or then is None:  # no clock: a time that only grows is one
        return any(now_s < then_s for then_s, now_s in zip(known_s, times_s, strict=False))
    passed_s = at - then
    return any(abs(moved_s - passed_s) > WITHIN * passed_s + ROUNDED_S for moved_s in moved)
