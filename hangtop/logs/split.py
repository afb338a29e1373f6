"""Chunks of bytes in, blocks of whole lines out: the same blocks however the bytes were cut into chunks."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from msgspec import Struct

from hangtop.logs.clean import Encoding, encoding_of

BLOCK = 4 << 20
"""Blocks end at the last line end before each multiple of this offset, so that no chunk size can move them."""

FIRST_BLOCK = 64 << 10
"""The first block is small: it shows which framework speaks, so that texts which only tell that need not be searched further."""

LONGEST_CARRY = 1 << 20
OVERLAP = 256
"""A longer line than `LONGEST_CARRY` is cut by force; so many bytes are given twice, so that no literal is lost in the cut."""

HEAD = 512
"""Bytes kept of a line's start, where its prefix stands, when the line goes on in the next block."""


class Block(Struct, frozen=True):
    """Whole lines. A line ends at `\\n` or, for a bar that draws itself anew, at `\\r`.

    `offset` is the file's offset of the first byte. `head`: the start of the `\\n`-line that goes on here, empty when one begins.
    What ends before `seen` was already in the block before. `open`: the last line has no end yet and will come again.
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
        self._limit = min(offset + FIRST_BLOCK, (offset // BLOCK + 1) * BLOCK)
        self._head = b""
        self._seen = 0
        self._shown_open = 0

    def feed(self, data: bytes) -> Iterator[Block]:
        """The blocks that these bytes complete."""
        yield from self._cut(self._utf8(data))

    def _cut(self, data: bytes) -> Iterator[Block]:
        self._keep(data)
        if self._limit - self._position > self._held:
            return
        buffer, begin = b"".join(self._rest), 0
        while (end := self._limit - self._position + begin) <= len(buffer):
            self._limit += BLOCK - self._limit % BLOCK
            least = max(begin, end - LONGEST_CARRY)
            cut = max(buffer.rfind(b"\n", least, end), buffer.rfind(b"\r", least, end)) + 1
            if cut:
                yield self._block(buffer, begin, cut, cut)
                begin = cut
            elif end - begin >= LONGEST_CARRY:
                yield self._block(buffer, begin, end, end - OVERLAP)
                begin = end - OVERLAP
        self._rest, self._held = [], 0
        self._keep(buffer[begin:])

    def _keep(self, data: bytes) -> None:
        if data:
            self._rest.append(data)
            self._held += len(data)

    def flush(self) -> Iterator[Block]:
        """What there is up to now: the whole lines, then the last one if it has no end yet (once for each state of it)."""
        if self._start:
            yield from self._cut(self._utf8(b"", last=True))
        buffer = b"".join(self._rest)
        cut = max(buffer.rfind(b"\n"), buffer.rfind(b"\r")) + 1
        if cut:
            yield self._block(buffer, 0, cut, cut)
            self._rest, self._held = [], 0
            self._keep(buffer[cut:])
            self._shown_open = 0
        if self._held and self._shown_open != self._held:
            self._shown_open = self._held
            yield Block(buffer[cut:], self._offset, self._head, self._seen, open=True, encoding=self._encoding)

    def _block(self, buffer: bytes, begin: int, end: int, next_begin: int) -> Block:
        block = Block(buffer[begin:end], self._offset, self._head, self._seen, encoding=self._encoding)
        self._head = _head(block.data, self._head)
        self._seen = end - next_begin
        self._offset = block.at(next_begin - begin)
        self._position += next_begin - begin
        self._shown_open = 0
        return block

    def _utf8(self, data: bytes, last: bool = False) -> bytes:
        """The bytes as UTF-8. Half a byte order mark is held back until the other half is there, or is not to come."""
        if self._start is not None:
            data = self._start + data
            if not data or (data in (b"\xff", b"\xfe") and not last):
                self._start = data
                return b""
            self._start = None
            self._encoding = encoding_of(data)
            if self._encoding != "utf-8":
                self._decoder = codecs.getincrementaldecoder(self._encoding)("replace")
        return data if self._decoder is None else self._decoder.decode(data).encode("utf-8", "replace")


def _head(data: bytes, head: bytes) -> bytes:
    """The start of the `\\n`-line that is open at the end of `data`."""
    if data.endswith(b"\n"):
        return b""
    line = data.rfind(b"\n") + 1
    return data[line : line + HEAD] if line else (head or data[:HEAD])
