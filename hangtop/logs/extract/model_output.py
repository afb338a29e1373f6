"""Model output and data inside a log: nothing in them is a message, a step or a stage."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from hangtop.logs.catalog.profile import FreeText
from hangtop.logs.lines.block_lines import Line, Writer


class _Open(Struct):
    text: FreeText
    lines_left: int
    counted_to: int  # byte index in the present block up to which lines have been taken off


class ModelOutput:
    """Whether each writer is in the middle of a block of free text."""

    def __init__(self) -> None:
        self._open: dict[Writer, _Open] = {}

    def is_unsure(self, writer: Writer) -> bool:
        """Whether this writer is in a block that may turn out to be none, since its end may be missing."""
        block = self._open.get(writer)
        return block is not None and block.text.unsure

    @property
    def is_open(self) -> bool:
        """Whether any writer is in the middle of a block."""
        return bool(self._open)

    def covers(self, line: Line, index: int, data: bytes, begins: Iterable[FreeText]) -> bool:
        """Whether this line is free text. `index`: where it starts in `data`; `begins`: the kinds whose literal it holds."""
        block = self._open.get(line.writer)
        if block is not None:
            block.lines_left -= data.count(b"\n", block.counted_to, index)
            block.counted_to = max(index, block.counted_to)
            if block.lines_left > 0 and not any(marker.matches(line.text) for marker in block.text.until):
                if line.whole and any(marker.matches(line.text) for marker in block.text.last):
                    del self._open[line.writer]
                return True
            if line.whole:
                del self._open[line.writer]
        for text in sorted(begins, key=lambda text: -text.max_lines):
            if text.begin.matches(line.text):
                if line.whole and text.max_lines > 1:
                    self._open[line.writer] = _Open(text, text.max_lines, index)
                return True
        return False

    def end_block(self, data: bytes) -> None:
        """The present block is read; byte indices count from zero again."""
        for block in self._open.values():
            block.lines_left -= data.count(b"\n", block.counted_to)
            block.counted_to = 0
