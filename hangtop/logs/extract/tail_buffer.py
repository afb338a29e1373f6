"""The end of a file, kept in memory: it is shown, and tells which writers wrote last."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice

from hangtop.logs.lines.block_lines import Line, Lines, Span
from hangtop.logs.lines.split import Block
from hangtop.logs.lines.timestamps import LogClock

KEPT = 64 << 10
_MOST_BLOCKS = 4_096
ROWS_BEFORE = 8
"""Lines in whose places a bar may have been drawn that goes on to be drawn."""


class TailBuffer:
    """The newest blocks of a file, at least `KEPT` bytes of them if there are so many."""

    def __init__(self, clock: LogClock) -> None:
        self._clock = clock
        self._blocks: deque[Lines] = deque(maxlen=_MOST_BLOCKS)
        self._bytes = 0

    def keep(self, lines: Lines) -> None:
        """Adds a block that was just read. If the block before it ended with an open line, it is replaced: the new one repeats
        that line."""
        if len(lines.block.data) > 2 * KEPT:
            lines = Lines(_end_of(lines.block), self._clock)
        if self._blocks and self._blocks[-1].block.open:
            self._bytes -= len(self._blocks.pop().block.data)
        self._blocks.append(lines)
        self._bytes += len(lines.block.data)
        while len(self._blocks) > 1 and self._bytes - len(self._blocks[0].block.data) >= KEPT:
            self._bytes -= len(self._blocks.popleft().block.data)

    def rows(self, since: int = -1) -> Iterator[tuple[Lines, Span]]:
        """The `\\n`-lines from the newest to file offset `since`, each as a terminal would show it."""
        goes_on = False
        seen = 0
        for lines in reversed(self._blocks):
            skip, goes_on = goes_on, bool(lines.block.head)
            for number, span in enumerate(lines.rows_back()):
                if seen > KEPT or lines.block.offset + span.end <= since:
                    return
                seen += span.end - span.row
                if not (skip and number == 0 and not lines.block.data.endswith(b"\n")):
                    yield lines, span
            if seen > KEPT:
                return

    def pieces(self) -> Iterator[Line]:
        """What was drawn in the place of the newest `\\n`-line that says anything, newest first: `\\r` parts it."""
        for lines in reversed(self._blocks):
            if (span := next(lines.rows_back(), None)) is None:
                continue
            yield lines.parse(span)
            yield from lines.drawn_over(span)
            if span.row > 0 or not lines.block.head:
                return

    def drawn_before(self) -> Iterator[Line]:
        """What was drawn in the places of the few `\\n`-lines before the newest, and then drawn over."""
        for lines, span in islice(self.rows(), 1, 1 + ROWS_BEFORE):
            yield from lines.drawn_over(span)


def _end_of(block: Block) -> Block:
    """The last lines of a large block."""
    begin = len(block.data) - 2 * KEPT
    begin = block.data.find(b"\n", begin) + 1 or begin
    return Block(block.data[begin:], block.at(begin), open=block.open, encoding=block.encoding)
