"""The lines of one block: found around a hit, and parsed only when their text is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from hangtop.common.clean_text import decode, without_escapes
from hangtop.common.late_pattern import late_pattern
from hangtop.common.own_colours import own_colours
from hangtop.logs.lines.prefixes import MEMBERS, Prefix, speaker, strip, strip_head
from hangtop.logs.lines.split import HEAD, Block
from hangtop.logs.lines.timestamps import LogClock

Writer = tuple[str | int, ...]
"""The writer of a line, as far as its prefix tells: `("rank", 3)`, `("pid", "10.0.0.2", 4711)`, `()` if it tells none."""

_WINDOW = 4_096  # bytes on each side of a hit that are parsed in a very long line

_NAME_WITHIN = 160  # bytes from a line's start

SURE, SURE_BYTES = (b"[rank", b"[default"), 11
"""If a line begins with one of these, or has one behind its time, so many bytes from there on tell its writer."""

RANK_WORD = late_pattern(rb"rank['\"]?[ :=_#-]{0,3}\d+|R(?:ank|ANK)[ :=_#-]{0,3}\d+")
STAMP = late_pattern(rb"\[?(?:2\d{3}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d[\d.,:+Z-]*[\s\]]+")
STAMPED = (b"[", b"0", b"1", b"2")
"""The first byte of a line that may begin with a time: that names no writer, and makes each line look new."""

# What may name the writer in the raw bytes before a hit. Two lines with the same words have the same writer.
IN_PARENTHESES = (b"(", b"\x1b[36m(")
_FIRST_WORD = late_pattern(rb"[\w.-]+:\d+:\d+ |\d{1,5}: ")
_PROCESS = late_pattern(rb"[\w.-]{1,64}:\d+:\d+ ")
# Each branch begins with one letter, so that the regex engine passes over all other bytes at twice the speed.
_NAMES = late_pattern(
    rb" \d{1,5}: |m\d{1,5}: |"
    + RANK_WORD.pattern
    + rb"|G(?:PU|pu)[ :=_#-]{0,2}\d+|gpu[ :=_#-]{0,2}\d+|cuda:\d+|pid=\d+(?:, ip=[\d.]+)?"
    rb"|\[[A-Za-z_]+\d+\]:|\[\d+,\d+\]<|,\d+\]<|TP\d+|"
    + "|".join(
        rf"{first}(?i:{word[1:]})[ :=_#-]{{0,2}}\d{{1,3}}" for word in MEMBERS for first in (word[0], word[0].upper())
    ).encode()
)

_NAME_BYTES = 13
_SHORT = 64  # bytes of a line's head that are likely to come again as they are

ESCAPE = b"\x1b["
_CLOCK = late_pattern(rb"\d:\d\d:\d\d")
_BAR = late_pattern(r"[^|]*\d{1,3}%\|[^|]*\|[^\[\]]*\[[^\]]*\](?= ?\S)")
_BEGINS_INSIDE = late_pattern(r"(?<=\S)(?=\([^\s()=]+ pid=\d+(?:, ip=[^)\s]+)?\) |\[(?:rank|default)\d+\]:)")
"""Where the prefix of Ray or torchrun stands against a word: those who share an output write a line and its end apart."""


class Line(Struct, frozen=True, gc=False):
    """One line: `text` is its message without prefixes and escapes. `at`: unix time, if it is known. `stamp`: the time in the
    line, as if it were UTC. `whole`: its end has been seen. `colours`: that the program gave its text.
    """

    offset: int
    end: int
    prefix: Prefix
    text: str
    at: float | None = None
    stamp: float | None = None
    writer: Writer = ()
    whole: bool = True
    colours: str = ""


class Span(Struct, frozen=True, gc=False):
    """Where a line stands in the block: `[start, end)` without its end mark; `row` is where its `\\n`-line begins."""

    start: int
    end: int
    row: int


class Lines:
    """Access to the lines of one block by byte index. `earlier`: the rows of the blocks before it, the newest first. `heard`: the
    writers of those lines that were read, by where they begin."""

    def __init__(
        self, block: Block, clock: LogClock, earlier: Callable[[], Iterator[tuple[Lines, Span]]] = lambda: iter(())
    ) -> None:
        self.block = block
        self._data = block.data
        self.has_bars = b"\r" in block.data
        self._clock = clock
        self._earlier = earlier
        self.heard: dict[int, Writer] = {}
        self._parsed: dict[int, Line] = {}
        self._keys: dict[bytes, bytes] = {}  # by what stands between a line's start and a hit: mostly the same few texts

    def span(self, index: int) -> Span:
        """The line that holds byte `index`."""
        row = self._data.rfind(b"\n", 0, index) + 1
        start = self._data.rfind(b"\r", row, index) + 1 if self.has_bars else row
        end = self._data.find(b"\n", index)
        if end < 0:
            end = len(self._data)
        if self.has_bars:
            bar = self._data.find(b"\r", index, end)
            end = bar if bar >= 0 else end
        return Span(max(start, row), end, row)

    def raw(self, span: Span) -> bytes:
        """The bytes of a line, as they stand in the file."""
        return self._data[span.start : span.end]

    def first(self) -> Span | None:
        """The first line of the block that is not empty, if there is one."""
        return self._from(0)

    def next(self, span: Span) -> Span | None:
        """The next line that is not empty; `None` at the end of the block."""
        return self._from(span.end)

    def starting_from(self, index: int) -> Span | None:
        """The first line that begins at byte `index` or later and is not empty, if there is one."""
        return self._from(0) if index <= 0 else self.next(self.span(min(index, len(self._data)) - 1))

    def rows_back(self) -> Iterator[Span]:
        """From the end on, what a terminal would show of each `\\n`-line."""
        return self._rows_back(0, len(self._data))

    def _rows_back(self, begin: int, end: int) -> Iterator[Span]:
        while end > begin:
            row = self._data.rfind(b"\n", begin, end) + 1 or begin
            if (span := self.shown(row, end)) is not None:
                yield span
            end = row - 1

    def _rows(self, begin: int, end: int) -> Iterator[Span]:
        while begin < end:
            stop = self._data.find(b"\n", begin, end)
            stop = end if stop < 0 else stop
            if (span := self.shown(begin, stop)) is not None:
                yield span
            begin = stop + 1

    def ends(self, begin: int, end: int, most: int) -> list[Span]:
        """The lines in `[begin, end)` in their order; of more than `2 * most` those at both ends."""
        front = [*islice(self._rows(begin, end), most)]
        back = [*islice(self._rows_back(front[-1].end, end), most)] if front else []
        return front + back[::-1]

    def above(self, span: Span) -> Iterator[Line]:
        """The lines above this one that are not empty, nearest first, as far back as they are kept."""
        return (lines.parse(row) for lines, row in self.rows_above(span))

    def drawn_over(self, span: Span) -> Iterator[Line]:
        """The pieces of the same `\\n`-line before this one, nearest first: `\\r` parts them, which ends a line in some logs."""
        while span.start > span.row:
            span = self.span(span.start - 1)
            yield self.parse(span)

    def below(self, span: Span) -> Iterator[Line]:
        """The lines below this one that are not empty, to the end of the block."""
        while (below := self.next(span)) is not None:
            yield self.parse(below)
            span = below

    def rows_above(self, span: Span) -> Iterator[tuple[Lines, Span]]:
        """The same lines unparsed, with their blocks: of each `\\n`-line what a terminal would show."""
        for shown in self._rows_back(0, span.row - 1):
            yield self, shown
        for lines, shown in self._earlier():
            if lines.block.at(shown.end) <= self.block.offset:
                yield lines, shown

    def rows_below(self, index: int) -> Iterator[Span]:
        """What a terminal would show of each whole `\\n`-line that begins behind byte `index`, from the first one on for -1."""
        row = self._data.find(b"\n", index) if index >= 0 else -1
        return self._rows(row + 1, self._data.rfind(b"\n") + 1) if row >= 0 or index < 0 else iter(())

    def shown(self, row: int, end: int) -> Span | None:
        """What a terminal would show of the `\\n`-line `[row, end)`: its last piece that is not empty, if there is one."""
        stop = end
        while stop > row and self._data[stop - 1] in b"\r ":
            stop -= 1
        return Span(max(row, self._data.rfind(b"\r", row, stop) + 1), stop, row) if stop > row else None

    def _from(self, index: int) -> Span | None:
        while index < len(self._data) and self._data[index] in b"\r\n":
            index += 1
        return self.span(index) if index < len(self._data) else None

    def name(self, start: int, hit: int) -> bytes:
        """The words before a hit that name the writer: cheap to find, and good enough to tell writers apart."""
        data = self._data
        if data.startswith(IN_PARENTHESES, start):
            return data[start : data.find(b")", start, start + HEAD)]
        end = min(hit, start + HEAD)
        if (rank := self._rank_behind(start, end)) >= 0:
            end = rank + _NAME_BYTES
        if self.has_bars and (bar := data.find(b"%|", start, end)) >= 0:
            return _names_in(data[start:bar])
        start = self._past_stamp(start, end)
        if end - start <= _SHORT:
            return _names_in(data[start:end])
        return _find_names(data[start:end])

    def key(self, start: int, hit: int) -> bytes:
        """A key for the writer of a line, from its first bytes alone if these are enough."""
        data = self._data
        first = data[start : start + SURE_BYTES]
        if not first.startswith(SURE):
            start = self._past_stamp(start, hit)
            first = data[start : start + SURE_BYTES]
        if first.startswith(SURE):
            return first
        if data.startswith(IN_PARENTHESES, start):
            return b":" + data[start : data.find(b")", start, start + HEAD)]
        head = data[start : min(hit, start + HEAD)]
        if (rank := self._rank_behind(start, hit)) >= 0:
            head += b" " + data[rank - 1 : rank + _NAME_BYTES]
        known = self._keys.get(head)
        if known is None:
            process = _PROCESS.match(head)
            known = self._keys[head] = process[0] if process else b":" + self.name(start, hit)
        return known

    def _rank_behind(self, start: int, hit: int) -> int:
        """Where the line names a rank behind the hit, as `step=4 loss=2.1 rank=3` and `Step 4, Rank 3` do; else -1."""
        rank = self._data.find(b"ank", hit, start + HEAD)
        return rank if rank >= 0 and self._data.find(b"\n", hit, rank) < 0 else -1

    def _past_stamp(self, start: int, end: int) -> int:
        """Behind the time at the start of a line."""
        if self._data[start : start + 1] not in STAMPED:
            return start
        stamp = STAMP.match(self._data, start, end)
        return start if stamp is None else stamp.end()

    def key_of(self, span: Span) -> bytes:
        """`key` by the start of a line."""
        return self.key(span.start, min(span.end, span.start + _NAME_WITHIN))

    def name_of(self, span: Span) -> bytes:
        """The words at the start of a line that name its writer."""
        return self.name(span.start, min(span.end, span.start + _NAME_WITHIN))

    def parse(self, span: Span, hit: int | None = None) -> Line:
        """The line, parsed. Of a very long line only its start and the part around the hit."""
        line = self._parsed.get(span.start)
        if line is None or (hit is not None and hit > span.start + _WINDOW):
            line = self._parsed[span.start] = self._parse(span, hit)
        return line

    def parsed(self, span: Span) -> Line | None:
        """The line, if it was parsed before."""
        return self._parsed.get(span.start)

    def stamp(self, span: Span) -> float | None:
        """The time in the line, if there is one. Most lines have none, which shows in 1 µs; to parse a line takes 40 µs."""
        clocked = _CLOCK.search(self._data, span.start, min(span.end, span.start + HEAD)) is not None
        if not clocked and span.row < span.start:
            clocked = _CLOCK.search(self._data, span.row, span.row + HEAD) is not None
        if not clocked and span.row == 0:
            clocked = _CLOCK.search(self.block.head) is not None
        return self.parse(span).stamp if clocked else None

    def _parse(self, span: Span, hit: int | None) -> Line:
        if hit is None or hit <= span.start + _WINDOW:
            raw = self._data[span.start : min(span.end, span.start + 2 * _WINDOW)]
        else:
            around = self._data[max(span.start + HEAD, hit - _WINDOW // 2) : min(span.end, hit + _WINDOW)]
            raw = self._data[span.start : span.start + HEAD] + b" \xe2\x80\xa6 " + around
        prefix, text = strip(without_escapes(decode(raw)))
        if not (prefix.rank is not None or prefix.pid or prefix.local_rank is not None):
            prefix = self._row_prefix(span, prefix)
        if prefix.partial:
            text += self._rest_of(span, prefix)
        prefix = speaker(prefix, text)
        stamp = self._clock.read(prefix.time) if prefix.time else None
        return Line(
            offset=self.block.at(span.start),
            end=self.block.at(span.end),
            prefix=prefix,
            text=text,
            at=self._clock.at(stamp),
            stamp=stamp,
            writer=writer_of(prefix),
            whole=not (self.block.open and span.end == len(self._data)),
            colours=own_colours(decode(raw), text) if ESCAPE in raw else "",
        )

    def _row_prefix(self, span: Span, own: Prefix) -> Prefix:
        """The prefix at the start of the `\\n`-line: a bar that redraws itself after `\\r` does not repeat it."""
        goes_on = span.row == 0 and self.block.head
        if span.start == span.row and not goes_on:
            return own
        head = self.block.head if goes_on else self._data[span.row : min(span.row + HEAD, span.start)]
        return strip_head(without_escapes(decode(head.partition(b"\r")[0]))) if not own.text else own

    def _rest_of(self, span: Span, prefix: Prefix) -> str:
        """Kubernetes cuts lines at 16 kB: the pieces that follow on the same stream, up to what may be parsed at all."""
        text, next_span = "", self.next(span)
        while next_span is not None and len(text) < _WINDOW:
            more, piece = strip(without_escapes(decode(self._data[next_span.start : next_span.end])))
            if more.stream == prefix.stream:
                text += piece
                if not more.partial:
                    break
            next_span = self.next(next_span)
        return text


def _find_names(head: bytes) -> bytes:
    names = _NAMES.findall(head)
    if head[:1].isalnum() and (first := _FIRST_WORD.match(head)):
        names.append(first[0])
    return b" ".join(names)


_names_in = lru_cache(maxsize=512)(_find_names)
"""`Lines.name` of the text before a bar or before the words of a step line: the same few texts again and again, and the regexes
take 4 µs."""


def unglued(line: Line) -> tuple[Line, ...]:
    """The line in two, if a message was printed behind a bar, or the line of another behind one, without a line end between
    them."""
    if (end := _end_of_first(line.text)) is None:
        return (line,)
    first, (own, text) = line.text[:end], strip(line.text[end:])
    if not own.text:
        return replace(line, text=first), replace(line, text=text)
    before = speaker(strip(line.prefix.text + first)[0], first)  # what the second says of its writer is not true of the first
    after = speaker(replace(own, time=line.prefix.time), text)  # the time is that of the line
    return tuple(replace(line, text=said, prefix=by, writer=writer_of(by)) for said, by in ((first, before), (text, after)))


def _end_of_first(text: str) -> int | None:
    """Where the first of two that share a line ends; `None` where it is one."""
    found = _BAR.match(text) if "%|" in text else None
    if found is None and (" pid=" in text or "]:" in text):
        found = _BEGINS_INSIDE.search(text)
    return found.end() if found is not None and found.end() < len(text) else None


def writer_of(prefix: Prefix) -> Writer:
    """The writer of a line with this prefix. A rank is named by its number even if its process is known."""
    if prefix.rank is not None:
        return ("rank", prefix.rank)
    if prefix.pid is not None and prefix.pid < 1 << 22:
        return ("pid", prefix.host or "", prefix.pid)
    if prefix.local_rank is not None:
        return ("local", "" if prefix.task is None else str(prefix.task), prefix.local_rank)
    if prefix.part is not None:
        return ("part", prefix.part)
    if prefix.task is not None:
        return ("task", prefix.task)
    return ("actor", prefix.actor) if prefix.actor else ()
