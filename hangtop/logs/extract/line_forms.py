"""Lines of one writer with the same words: which numbers grow, at which pauses, and whether a clock could print such lines."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct, field

from hangtop.common.median import median
from hangtop.logs.extract.line_values import Said, growths

KEPT_TIMES, KEPT_NUMBERS = 32, 256
BEATS = 5
"""So many pauses between lines of one form make a rhythm, if the longest is at most twice the shortest."""
UNEVEN = 2.0
FEW_EVEN = 4
"""Even pauses that make a timer of lines that came while other lines did, and come when these do not any more."""
FEW = 2
"""So many even pauses are enough of lines that were numbered before anybody could tell when they came."""
EVEN, POLLED_S, WHOLE_S = 1.05, 0.2, 1.0
"""Pauses that a timer makes, how much later a line may be met than it was written, and by how much whole seconds miss."""

DRAWN_S, MET_S = 2.0, 0.5
"""Lines that are drawn anew are watched for so long; one may be met so much later than another."""


class Mark(Struct, frozen=True, gc=False):
    """A line by its number, in the order of the file, and its time.

    `at`: unix time, if it is known; `no_later`: that of the next line that has one. `told_s`: the time that the lines themselves
    tell, from any moment on.
    """

    number: int
    at: float | None
    no_later: float | None
    told_s: float | None

    @property
    def is_untimed(self) -> bool:
        """Whether nothing tells when it was written, but that it was before hangtop came."""
        return self.at is None and self.told_s is None

    def until_s(self, last: Mark, told_s: float) -> float:
        """Seconds from this line to a later one, at least: 0 where no time is known. `told_s`: what all lines up to that one
        told, for it need not tell a time itself."""
        if self.at is not None and last.at is not None:
            return last.at - self.at
        seen_s = 0.0 if self.no_later is None or last.at is None else last.at - self.no_later
        passed_s = 0.0 if self.told_s is None else told_s - self.told_s
        return max(seen_s, passed_s, 0.0)


class Form(Struct):
    """Lines of one writer with the same words.

    `seen`: each of their numbers with the clock and the times that it came with when it was new. `came`, `came_told`: offset and
    time of the latest lines, by the clock and as lines tell it; `told_at`: offset of the latest that told anything new. `last`:
    the numbers of the latest line; `strides`: by how much each grew, and how often in a row. `steps`: what the latest line told
    of the run's steps. `latest`: the latest line, `numbers` of the latest lines, `unsure`: the latest that only counts on, as
    long as the rhythm is not known. `times_s`, `told_from_s`: the first times of its lines, `None` for one that is no clock, and
    what all lines had told then. `usual_s`: the pause between
    lines while the steps went on up to `known_at`, if it was always about the same. `is_bar`: such lines were drawn between
    others, with other numbers, and drawn over.
    """

    seen: dict[tuple[str, ...], tuple[float | None, tuple[float, ...]]] = field(default_factory=dict)
    came: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=KEPT_TIMES))
    came_told: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=KEPT_TIMES))
    told_at: int = -1
    last: tuple[str, ...] | None = None
    strides: dict[int, tuple[float, int]] = field(default_factory=dict)
    steps: tuple[float, ...] = ()
    unsure: Mark | None = None
    latest: Mark | None = None
    numbers: deque[int] = field(default_factory=lambda: deque(maxlen=KEPT_NUMBERS))
    times_s: list[float | None] = field(default_factory=list)
    latest_s: tuple[float, ...] = ()
    told_from_s: float = 0.0
    usual_s: float | None = None
    known_at: int = -1
    forgotten: int = 0
    is_bar: bool = False

    def forget(self, times: int) -> None:
        """Forgets what it has seen, unless it has forgotten so many times. There may be a form for each of thousands of ranks:
        those that are compared no more are left alone."""
        if self.forgotten != times:
            self.seen.clear()
            self.forgotten = times

    def beats(self, stepped_at: int, at: float) -> bool:
        """Whether lines came at one rhythm while the steps went on, up to this offset, and come at it still."""
        if self.known_at != stepped_at:  # later the lines before the last step are forgotten
            came = [when for offset, when in self.came if offset < stepped_at]
            pauses = [later - sooner for sooner, later in pairwise(came)]
            even = len(pauses) >= BEATS and 0 < max(pauses) <= UNEVEN * min(pauses)
            self.usual_s, self.known_at = median(pauses) if even else None, stepped_at
        if self.usual_s is None:
            return False
        return self.usual_s / UNEVEN <= at - self.came[-1][1] <= self.usual_s * UNEVEN

    def ticks_on(self, since: int, at: float | None, told_s: float | None) -> bool:
        """Whether a timer makes the pauses between its lines, before this offset and behind it, up to one of now."""
        return any(
            now is not None
            and sum(offset < since for offset, _ in came) > 1
            and _is_even([*(when for _, when in came), now], FEW_EVEN)
            for came, now in ((self.came, at), (self.came_told, told_s))
        )

    def ticks(self) -> bool:
        """Whether a timer makes the pauses between its lines."""
        return any(_is_even([when for _, when in came], FEW_EVEN) for came in (self.came, self.came_told))

    def counts_on(self, values: tuple[str, ...]) -> bool:
        """Takes in the numbers of the next line: whether one of them grew as before, and no other changed."""
        grew, before = growths(self.last or (), values), self.last
        known = self.strides
        self.strides = {
            place: (by, known[place][1] + 1 if place in known and known[place][0] == by else 1) for place, by in grew.items()
        }
        self.last = values
        changed = [place for place, (then, now) in enumerate(zip(before or (), values, strict=False)) if then != now]
        return before is not None and len(before) == len(values) and len(changed) == 1 and changed[0] in grew

    def is_numbered(self) -> bool:
        """Whether a clock could print its lines: a number grows by the same stride, at even pauses."""
        return self._counts() and (any(map(_is_even, self._came())) or self._few_even())

    def is_uneven(self) -> bool:
        """Whether its lines are numbered, and no clock prints them."""
        told = [came for came in self._came() if len(came) > BEATS]
        return self._counts() and bool(told) and not any(map(_is_even, told))

    def lines_since(self, mark: Mark) -> int:
        """How many of its lines stand behind this one."""
        return sum(number > mark.number for number in self.numbers)

    def counted_s(self, mark: Mark) -> float:
        """How long its lines behind this one took, at the pace at which they came since hangtop looks; 0 where none is known."""
        if self._few_even():
            pause_s = min(later - sooner for (_, sooner), (_, later) in pairwise(self.came))
        else:
            pause_s = self._drawn_pause_s() or 0.0
        return max(0, self.lines_since(mark) - 1) * pause_s

    def is_untimed(self, mark: Mark) -> bool:
        """Whether so many of its lines stand behind this one that their pace tells since when, and it is not known yet."""
        if self.lines_since(mark) <= BEATS or self._few_even():
            return False
        return len(self.came) <= FEW or self.came[-1][1] - self.came[0][1] < DRAWN_S

    def _drawn_pause_s(self) -> float | None:
        """The pause between its lines, at least, where they come so fast that several may be met at once; `None` where they were
        not watched for long enough, or pause now and then."""
        came = [when for _, when in self.came]
        if len(came) <= BEATS or len(came) == len(self.numbers) or came[-1] - came[0] < DRAWN_S:
            return None
        seen_s, behind = came[-1] - came[0], sum(when > came[0] for when in came)
        longest_s = max(later - sooner for sooner, later in pairwise(came))
        return max(0.0, seen_s - MET_S) / behind if longest_s <= seen_s / behind + MET_S else None

    def _few_even(self) -> bool:
        """Whether most of its lines were there before hangtop came, without a time, and those since came at even pauses."""
        return FEW < len(self.came) < len(self.numbers) and _is_even([when for _, when in self.came], FEW)

    @property
    def pause_s(self) -> float:
        """The longest pause between its latest lines; 0 where no time is known."""
        return max((later - sooner for came in self._came() for sooner, later in pairwise(came)), default=0.0)

    def _counts(self) -> bool:
        return max((often for _, often in self.strides.values()), default=0) >= BEATS

    def _came(self) -> tuple[Sequence[float], ...]:
        """When its latest lines came, by the clock and as they tell it."""
        return [when for _, when in self.came][-BEATS - 1 :], [when for _, when in self.came_told][-BEATS - 1 :]

    def tells_s(self, said: Said, told_s: float) -> float | None:
        """The time that this line tells, on the scale of `told_s`, which all lines before it told; `None` where it tells none.
        A time in the line is a clock as long as it never goes back."""
        if len(said.times_s) != len(self.times_s):
            self.times_s, self.told_from_s = [*said.times_s], told_s
        for place, (then_s, now_s) in enumerate(zip(self.latest_s, said.times_s, strict=False)):
            if now_s < then_s:
                self.times_s[place] = None
        self.latest_s = said.times_s
        grown = [now_s - first_s for first_s, now_s in zip(self.times_s, said.times_s, strict=True) if first_s is not None]
        return self.told_from_s + max(grown) if grown else None


def _is_even(came: Sequence[float], least: int = BEATS) -> bool:
    """Whether a timer could make these pauses."""
    if len(came) <= least:
        return False
    pauses = [later - sooner for sooner, later in pairwise(came)]
    error_s = WHOLE_S if all(when == int(when) for when in came) else POLLED_S
    return min(pauses) > 0 and max(pauses) - min(pauses) <= (EVEN - 1) * min(pauses) + error_s
