"""One log of the run: its end is digested at once, new lines as they come, and its past in the background."""

from __future__ import annotations

import time
from collections import deque

from msgspec.structs import replace

from hangtop.logs.digest import Digest
from hangtop.logs.extract.literal_index import LiteralIndex
from hangtop.logs.extract.news import is_beside
from hangtop.logs.file_facts import FileFacts
from hangtop.logs.lines.block_lines import Writer
from hangtop.logs.lines.timestamps import date_in, without_tail
from hangtop.probe.log.discover import FoundLog
from hangtop.probe.log.followed_pipe import FollowedPipe
from hangtop.probe.log.tail import CHUNK_BYTES, Appended, Followed, Opened, Skipped, Why
from hangtop.probe.ray.dashboard.node_logs import RemoteLog
from hangtop.records.log import LogFile, LogLine
from hangtop.system.files.network_filesystems import FileSystem
from hangtop.system.files.read_errors import binary, shown

Followable = Followed | FollowedPipe | RemoteLog

Came = tuple[float | None, float | None]
"""When bytes arrived (`None`: before we came), and when they were not there yet."""

MOST_ARRIVALS = 10_000
SCOUTED_BYTES = 16 << 10
HEAD_BYTES = 64 << 10
ODD_BYTES = 4 << 10
LINES_KEPT = 200
"""The last lines of a file that was rotated stay in view, so many of them."""


class LineCount:
    """The number of `\\n` from the first byte to byte `to`: what `wc -l` says."""

    def __init__(self) -> None:
        self.to = 0
        self.lines = 0

    def add(self, offset: int, data: bytes) -> None:
        """Count these bytes, if they follow those counted before."""
        if offset == self.to:
            self.lines += len(data) - len(data.replace(b"\n", b""))  # `bytes.count` takes three times as long
            self.to += len(data)

    def skip(self, offset: int) -> None:
        """Bytes before this one are lost and not counted."""
        self.to = max(self.to, offset)


class TrackedLog:
    """Has two digests: one from near the end, for the screen at once, and one from the first byte, which replaces it when it has
    caught up. `restarts` grows when what was told of the file is void."""

    def __init__(self, number: int, found: FoundLog, followed: Followable, index: LiteralIndex, where: FileSystem) -> None:
        self.number = number
        self.found = found
        self.followed = followed
        self.where = where
        self.restarts = 0
        self.last_output_at: float | None = None
        self._index = index
        self.own_shift_s: float | None = None
        self.tells_zone = False
        self.shift_s: float | None = None
        self._near: float | None = None
        self._written_by: float | None = None
        self._digest = self._new_digest(0)
        self._begin = 0
        self._tail: list[bytes] = []
        self._rotated: tuple[LogLine, ...] = ()
        self._past: Digest | None = None
        self._past_to = 0
        self._past_came: Came = (None, None)
        self._arrivals: deque[tuple[int, Came]] = deque(maxlen=MOST_ARRIVALS)
        self._looked_at: float | None = None
        self._count = LineCount()
        self._facts: FileFacts | None = None
        self._odd: str | None = None

    @property
    def facts(self) -> FileFacts:
        if self._facts is None:
            self._facts = self._digest.facts()
        return self._facts

    def digest(self) -> None:
        """Read what came since, as `facts` would."""
        self._digest.flush()

    @property
    def caught_up(self) -> bool:
        return self._past is None

    @property
    def scanned_bytes(self) -> int:
        return self.followed.offset if self._past is None else self._past_to

    @property
    def lines(self) -> int | None:
        """`None` until all are counted."""
        return self._count.lines if self._count.to >= self.followed.offset else None

    def poll(self, now: float) -> bool:
        """Digest what is new; true when there was anything."""
        news = False
        for event in self.followed.poll(now):
            news = True
            match event:
                case Opened(why=why, start=start):
                    self._start_over(why, start)
                case Appended():
                    self._take(event, now)
                case Skipped(start=start):
                    self._skip(start, now)
        if self.followed.offset >= self.followed.size_bytes:
            self._looked_at = now - self.where.slack_s
        return news

    @property
    def is_new(self) -> bool:
        """Its end was read, and waits for a clock (`settle`)."""
        return bool(self._tail)

    def scout(self) -> None:
        """By how much the newest line is older than the file, if it tells the time."""
        if self._tail and self.own_shift_s is None and self.followed.modified_at is not None:
            scouted = self._fed([self._last_lines(self._tail[-1])])
            if scouted.clock.last_log_time is not None:
                shift_s = self.followed.modified_at - scouted.clock.last_log_time
                if not any(line.at is not None for line in scouted.tail(1)):
                    shift_s = without_tail(shift_s, time.localtime(self.followed.modified_at).tm_gmtoff)
                self.own_shift_s = shift_s
                self.tells_zone = scouted.clock.zoned

    def settle(self, shift_s: float | None) -> None:
        """Digest what was there when we came, by this clock; read again, in the background, what was read by another one."""
        self.shift_s = shift_s
        if not self._tail:
            self._begin_past()
            return
        tail, self._tail = self._tail, []
        self._digest = self._fed(tail)
        if self._past is not None:
            self._begin_past()

    def catch_up(self) -> bool:
        """Digest one chunk of the past; false when there is none left, or it cannot be read now."""
        if self._past is None:
            return False
        if self._past_to < self.followed.start < self.followed.offset:
            self._past.reopened(self.followed.start)
            self._past_to = self.followed.start
        end, came = self._next_arrival()
        data = self._read(self._past_to, end)
        if data:
            self._count.add(self._past_to, data)
            self._past.feed(data, *came)
            self._past_to += len(data)
        if self._past_to >= self.followed.offset:
            self._digest, self._past, self._facts = self._past, None, None
        return bool(data)

    def count_on(self) -> bool:
        """Count the lines of one chunk of the past; false when there is none left, or it cannot be read now."""
        self._count.skip(self.followed.start)
        data = self._read(self._count.to, self.followed.offset)
        self._count.add(self._count.to, data)
        return bool(data)

    def learn(self, index: LiteralIndex, found: FoundLog) -> None:
        """Other profiles, or another rank by the file's name: read all of it again, in the background."""
        self._index, self.found = index, found
        self._begin_past()

    def rank_of(self, writer: Writer) -> int | None:
        """The rank of this writer, as far as the log has told."""
        return self._digest.ranks.rank_of(writer)

    def tail(self, most: int, since: int | None = None) -> tuple[LogLine, ...]:
        """The newest lines, oldest first, those from before a rotation too; only those that end after byte `since`."""
        own = self._digest.tail(most, -1 if since is None else since)
        return (*(line for line in self._rotated if since is None or line.offset > since), *own)[-most:]

    def record(self) -> LogFile:
        followed = self.followed
        return LogFile(
            path=shown(followed.path),
            status="binary" if self._says_nothing() and followed.status == "ok" else followed.status,
            size_bytes=followed.size_bytes,
            scanned_bytes=self.scanned_bytes,
            lines=self.lines,
            modified_at=followed.modified_at,
            rank=self.found.rank,
            problem=followed.problem or self._odd,
            network=self.where.network,
            slack_s=self.where.slack_s,
            not_kept=followed.not_kept,
            drain=followed.drain,
        )

    def _says_nothing(self) -> bool:
        """Whether it looks like a binary file and holds no known message: some logs only begin with junk."""
        return self._odd is not None and not (self.facts.marks or self.facts.findings or self.facts.paces)

    def _new_digest(self, offset: int) -> Digest:
        return Digest(
            self._index,
            self.number,
            clock_shift_s=self.shift_s,
            rank=self.found.rank,
            offset=offset,
            near=self._near,
            written_by=self._written_by,
        )

    def _start_over(self, why: Why, start: int) -> None:
        """After a rotation the same run goes on; otherwise what was known is void."""
        self.restarts += why != "first"
        head = self._read(0, min(HEAD_BYTES, self.followed.size_bytes))
        self._odd = binary(self.followed.path, head[:ODD_BYTES])
        self._written_by = self.followed.modified_at
        self._near = date_in(head)
        self._looked_at = self._written_by if start or why in ("first", "switched") else None
        goes_on = why == "rotated" and start == 0
        self._rotated = self._before_the_border() if goes_on else ()
        if goes_on:
            self._digest.reopened()
        else:
            self.own_shift_s = self.shift_s = None
            self._digest = self._new_digest(start)
        self._begin, self._tail, self._past, self._facts = start, [], None, None
        self._arrivals.clear()
        self._count = LineCount()
        self.last_output_at = self.followed.modified_at
        if start:
            self._begin_past()

    def _before_the_border(self) -> tuple[LogLine, ...]:
        """What is in view now, before the first byte of the file that begins, and the border."""
        lines = self.tail(LINES_KEPT)
        if not lines:
            return ()
        behind = lines[-1].offset + 2
        return (
            *(replace(line, offset=line.offset - behind) for line in lines),
            LogLine(self.number, -1, None, None, "", "", "border"),
        )

    def _begin_past(self) -> None:
        self._past = None
        self._past = self._new_digest(0)
        self._past_to, self._past_came = 0, (None, None)

    def _take(self, event: Appended, now: float) -> None:
        self._count.add(event.offset, event.data)
        self._facts = None
        if not event.live:
            self._tail.append(event.data)
            return
        if self._tail:
            self.scout()
            self.settle(self.own_shift_s)
        self._digest.feed(event.data, now, self._looked_at)
        self._arrivals.append((event.offset, (now, self._looked_at)))
        if not (self.caught_up and is_beside(event.data)):
            self.last_output_at = now

    def _skip(self, start: int, now: float) -> None:
        """Bytes of the run were lost: what is known stays."""
        self._facts = None
        self._digest.reopened(start)
        self._count.skip(start)
        self.last_output_at = now

    def _fed(self, tail: list[bytes]) -> Digest:
        digest = self._new_digest(self._begin)
        for data in tail:
            digest.feed(data)
        digest.facts()
        return digest

    def _last_lines(self, data: bytes) -> bytes:
        """Whole lines of the last few kB, in which to find a time."""
        return data[data.find(b"\n", -SCOUTED_BYTES) + 1 :] if len(data) > SCOUTED_BYTES else data

    def _read(self, begin: int, end: int) -> bytes:
        try:
            return self.followed.pread(min(CHUNK_BYTES, end - begin), begin) if begin < end else b""
        except OSError:
            return b""  # the next poll meets the same error and puts it in words

    def _next_arrival(self) -> tuple[int, Came]:
        """The end of what was written at one time, and when: bytes that came while we watched keep their time."""
        while self._arrivals and self._arrivals[0][0] <= self._past_to:
            self._past_came = self._arrivals.popleft()[1]
        return (self._arrivals[0][0] if self._arrivals else self.followed.offset), self._past_came
