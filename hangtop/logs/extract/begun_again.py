"""Where a log that is appended to begins again: a launcher says so, its first lines come once more, or its clock jumps.

Only after an error that ends runs does this prove another attempt; the file's stages may show it as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from hangtop.logs.extract.extractor import Extractor
from hangtop.logs.extract.line_values import said_in
from hangtop.logs.extract.steps.progress import StepLine
from hangtop.logs.file_facts import FileFacts
from hangtop.logs.lines.block_lines import Line, Lines, Writer

HEAD_LINES, LOOKED_AT = 2, 64
"""So many of a file's first lines, in their order, make its beginning, if they come once among so many."""
JUMP_S = 3_600.0
"""Longer than the timeouts of collectives (10 and 30 minutes), after which the ranks that are left of a run still write."""
KEPT, MOST_WRITERS = 8, 256

_LAUNCHED = re.compile(r"^nohup: ignoring input\b")
"""The shell's `nohup` says it when it starts a program (coreutils)."""
_ERROR = re.compile(r"^\s|^Traceback ")
_WORD = re.compile(r"[^\W\d_]{3,}")


class BegunAgain(Extractor):
    """The places of one file at which it may begin again. `look` hears the lines in their order."""

    def __init__(self) -> None:
        self._head: list[tuple[int, str]] | None = None
        self._steps: set[int] = set()
        self._next = 0
        self._first: tuple[int, float | None] = (-1, None)
        self._clocks: dict[Writer, float] = {}
        self._found: list[tuple[int, float | None]] = []

    def begin_block(self, lines: Lines) -> None:
        if self._head is None:
            self._head = _head(lines) if lines.block.offset == 0 else []

    def add_step(self, step: StepLine) -> None:
        self._steps.add(step.seen.offset)
        if len(self._steps) > LOOKED_AT:
            self._steps = {offset for offset, _ in self._head or () if offset in self._steps}

    def reopened(self, offset: int) -> None:
        self._head, self._found = None, []

    def look(self, lines: Sequence[Line]) -> None:
        """The lines that are new, the oldest first."""
        for line in lines:
            if line.text.strip():
                self._read(line)

    def add_facts(self, facts: FileFacts) -> FileFacts:
        return replace(facts, begun_again=tuple(self._found))

    def _read(self, line: Line) -> None:
        if self._jumps(line) or (line.offset > 0 and _LAUNCHED.match(line.text)):
            self._note(line.offset, line.at)
        elif self._is_head(line):
            self._note(*self._first)

    def _jumps(self, line: Line) -> bool:
        """Whether its writer comes back after a long time, by a clock that is not only that of another zone."""
        if line.stamp is None:
            return False
        before, alone = self._clocks.pop(line.writer, None), not self._clocks
        latest = max(self._clocks.values(), default=line.stamp)
        self._clocks[line.writer] = line.stamp
        if len(self._clocks) > MOST_WRITERS:
            del self._clocks[next(iter(self._clocks))]
        return before is not None and line.stamp - before > JUMP_S and (alone or line.stamp - latest > JUMP_S)

    def _is_head(self, line: Line) -> bool:
        """Whether the first lines of the file have come again, in their order, up to this one."""
        head = [words for offset, words in self._head or () if offset not in self._steps]
        if len(head) < HEAD_LINES or line.offset <= (self._head or [(0, "")])[-1][0]:
            return False
        words = said_in(line.text).words
        if self._next and words != head[self._next]:
            self._next = 0
        if words != head[self._next]:
            return False
        self._first = (line.offset, line.at) if self._next == 0 else self._first
        self._next = (self._next + 1) % len(head)
        return self._next == 0

    def _note(self, offset: int, at: float | None) -> None:
        if not self._found or offset > self._found[-1][0]:
            self._found = [*self._found, (offset, at)][-KEPT:]


def _head(lines: Lines) -> list[tuple[int, str]]:
    """The first lines that say something in words, one of each form, before any error; none where they soon come again, as each
    of several ranks says them."""
    head: list[tuple[int, str]] = []
    span, is_open = lines.first(), True
    for _ in range(LOOKED_AT):
        if span is None:
            break
        line = lines.parse(span)
        words = said_in(line.text).words
        is_open = is_open and len(head) < HEAD_LINES and not _ERROR.match(line.text)
        if any(words == known for _, known in head):
            return []
        if is_open and len(_WORD.findall(words)) >= 2 and not _LAUNCHED.match(line.text):
            head.append((line.offset, words))
        span = lines.next(span)
    return head
