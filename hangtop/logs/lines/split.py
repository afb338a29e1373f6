"""Chunks of bytes in, blocks of whole lines out: the same blocks however the bytes were cut into chunks."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from msgspec import Struct

from hangtop.common.clean_text import Encoding, encoding_of

FIRST_BLOCK, GROWTH, BLOCK = 64 << 10, 8, 8 << 20
"""Bytes of the first block, the factor by which the next one is larger, and bytes of the largest. A block ends at the last line
end before its limit, so the chunk size does not move it. The same few lines of each are parsed, so large blocks are cheaper. The
first, small ones show the framework and what the log repeats by the thousand, which need not be searched further."""

LONGEST_CARRY = 1 << 20
OVERLAP = 256
"""A line longer than `LONGEST_CARRY` is cut; the last `OVERLAP` bytes come again in the next block, so no literal is lost."""

HEAD = 512
"""Bytes kept of the start of a line, which holds its prefix, if the line continues in the next block."""


class Block(Struct, frozen=True):
    """Whole lines. A line ends at `\\n` or, for a bar that draws itself anew, at `\\r`.

    `offset`: file offset of the first byte. `head`: the start of the `\\n`-line that continues here, empty if a new one begins.
    Hits that end before `seen` were in the previous block. `open`: the last line has no end yet and will come again.
    """

    data: bytes
    offset: int
    head: bytes = b""
    seen: int = 0
    open: bool = False
    encoding: Encoding = "utf-8"

    def at(self, index: int) -> int:
        """The offset in the file of byte `index` of this block."""
        if self.encoding == "utf-8":
            return self.offset + index
        return self.offset + len(self.data[:index].decode("utf-8", "replace").encode(self.encoding))


class Blocks:
    """Cuts one file's bytes into blocks. UTF-16 is turned into UTF-8 on the way."""

    def __init__(self, offset: int = 0) -> None:
        """`offset`: where in the file the first byte stands, a line start; only a file's own start can tell of UTF-16."""
        self._start: bytes | None = None if offset else b""  # the first bytes, until they are enough to tell the encoding
        self._encoding: Encoding = "utf-8"
        self._decoder: codecs.IncrementalDecoder | None = None
        self._rest: list[bytes] = []  # joined when there is enough for a block
        self._held = 0  # bytes in it
        self._position = offset  # of the first byte of `_rest`, in UTF-8
        self._offset = offset  # the same in the file
        self._size = min(FIRST_BLOCK, BLOCK)  # of the block to come, as far as lines allow
        self._limit = offset + self._size
        self._head = b""
        self._seen = 0
        self._shown_open = 0

    def feed(self, data: bytes) -> Iterator[Block]:
        """The blocks that these bytes complete."""
        yield from self._cut(self._utf8(data))

    def _cut(self, data: bytes) -> Iterator[Block]:
        begin = 0
        while (end := begin + self._limit - self._position - self._held) <= len(data):
            self._size = min(GROWTH * self._size, BLOCK)
            self._limit += self._size
            cut = _line_end(data, max(begin, end - LONGEST_CARRY), end)
            if not cut and self._held:  # the line began in an earlier chunk
                data, begin, end = b"".join((*self._rest, data[begin:])), 0, end - begin + self._held
                self._rest, self._held = [], 0
                cut = _line_end(data, max(0, end - LONGEST_CARRY), end)
            if cut:
                yield self._block(data, begin, cut, cut)
                begin = cut
            elif end - begin >= LONGEST_CARRY:
                yield self._block(data, begin, end, end - OVERLAP)
                begin = end - OVERLAP
        self._keep(data[begin:])

    def _keep(self, data: bytes) -> None:
        if data:
            self._rest.append(data)
            self._held += len(data)

    def flush(self) -> Iterator[Block]:
        """What was fed so far: the whole lines, then the last one if it has no end yet (again each time it has grown)."""
        if self._start:
            yield from self._cut(self._utf8(b"", last=True))
        if self._rest:
            yield from self._whole_lines()
        if self._held and self._shown_open != self._held:
            self._shown_open = self._held
            yield Block(b"".join(self._rest), self._offset, self._head, self._seen, open=True, encoding=self._encoding)

    def _whole_lines(self) -> Iterator[Block]:
        """The held bytes, up to their last line end."""
        data = self._rest.pop()
        self._held -= len(data)
        cut = _line_end(data, 0, len(data))
        if not cut and self._held:  # the line began in an earlier chunk
            data, self._rest, self._held = b"".join((*self._rest, data)), [], 0
            cut = _line_end(data, 0, len(data))
        if cut:
            yield self._block(data, 0, cut, cut)
        self._keep(data[cut:])
        self._limit = max(self._limit, self._position + self._held + self._size)

    def _block(self, buffer: bytes, begin: int, end: int, next_begin: int) -> Block:
        """The held bytes and `buffer[begin:end]`, in one copy: at 1 GB/s a second copy would show."""
        held, self._rest, self._held = (self._rest, self._held), [], 0
        data = b"".join((*held[0], memoryview(buffer)[begin:end])) if held[1] else buffer[begin:end]
        block = Block(data, self._offset, self._head, self._seen, encoding=self._encoding)
        self._head = _head(data, self._head)
        self._seen = end - next_begin
        done = held[1] + next_begin - begin
        self._offset = block.at(done)
        self._position += done
        self._shown_open = 0
        return block

    def _utf8(self, data: bytes, last: bool = False) -> bytes:
        """The bytes as UTF-8. Half a byte order mark is held back until the other half is there, or is not to come.

        A NUL ends a line: a file that was emptied under its writer begins with a hole of them, and the line behind it is a line.
        """
        if self._start is not None:
            data = self._start + data
            if not data or (data in (b"\xff", b"\xfe") and not last):
                self._start = data
                return b""
            self._start = None
            self._encoding = encoding_of(data)
            if self._encoding != "utf-8":
                self._decoder = codecs.getincrementaldecoder(self._encoding)("replace")
        text = data if self._decoder is None else self._decoder.decode(data).encode("utf-8", "replace")
        return text.replace(b"\0", b"\n")


def _line_end(data: bytes, begin: int, end: int) -> int:
    """The byte after the last line end in `data[begin:end]`; 0 when there is none."""
    newline = data.rfind(b"\n", begin, end)
    return max(newline, data.rfind(b"\r", max(begin, newline), end)) + 1


def _head(data: bytes, head: bytes) -> bytes:
    """The start of the `\\n`-line that is open at the end of `data`."""
    if data.endswith(b"\n"):
        return b""
    line = data.rfind(b"\n") + 1
    return data[line : line + HEAD] if line else (head or data[:HEAD])
