"""The feed of readings from a probe process, and the interface that every feed has."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import subprocess
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import IO, Protocol, TypeVar

from hangtop.common import clock
from hangtop.common.reaper import reap_later
from hangtop.records import wire
from hangtop.records.ask import Ask, AskEnd, kind_of
from hangtop.records.health import SILENT_S, ProbeState
from hangtop.records.log import LogReading
from hangtop.records.reading import Reading, Value
from hangtop.records.watch_spec import WatchSpec
from hangtop.system.hangtop_child import debug_file, hangtop_command

Told = TypeVar("Told")

CHUNK_BYTES = 1 << 16
LINE_LIMIT_BYTES = 64 * 1024 * 1024
GIVE_UP_S = 30.0
"""A probe that is silent for this long is killed and replaced."""
RESTART_S = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Pauses before each restart of the probe."""
WELL_S = 60.0
"""After a life this long the restarts of a probe are counted from zero again."""
MOST_UNSENT_BYTES = 1 << 20
"""Bytes of questions that wait for a probe that does not read them: it is stopped or stuck."""
HEAP = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": str(32 << 20), "MALLOC_TRIM_THRESHOLD_": str(64 << 20)}
"""glibc gives each thread its own heap, and a probe has one thread for each source: 6 MB of them were empty. glibc also returns
each block of a log to the kernel, which clears the same pages for the next block: a fifth of the time to read a log. When the
probe is idle, `hangtop.system.memory` returns free memory."""


Question = tuple[str, int]
"""Kind and number."""
Started = tuple[subprocess.Popen[bytes], IO[bytes], IO[bytes]]
"""A probe, its stdin and its stdout."""


class Feed(Protocol):
    """A stream of readings. `ask` and `close` never block; after `close` the iterator ends.

    Every question ends with an `AskEnd` among the readings, after its answer if there is one.
    """

    def readings(self) -> AsyncIterator[Reading]: ...

    def ask(self, ask: Ask) -> None: ...

    def close(self) -> None: ...


class ProbeFeed:
    """A probe in its own process. It is restarted when it dies, and never waited for."""

    def __init__(self, spec: WatchSpec, command: tuple[str, ...] | None = None) -> None:
        self._spec = spec
        self._command = command or hangtop_command("hangtop.probe")
        self._process: subprocess.Popen[bytes] | None = None
        self._stdin: IO[bytes] | None = None
        self._begun: Started | None = None
        self._early = b""
        self._closed = False
        self._restarts = 0
        self._unsent = bytearray()
        self._asked: dict[Question, Ask] = {}
        self._ends: deque[AskEnd] = deque()
        self.drains: dict[str, int] = {}
        """Named pipes among the logs, with the pid of the process that goes on reading each when hangtop ends."""

    def begin(self) -> None:
        """Start the first probe now: it reads the log while the screen is still loading."""
        self._begun = self._start()

    def first(self, kind: type[Told], within_s: float) -> Told | None:
        """The first value of this kind that the probe tells, after `begin`; `readings` tells it again. Waits at most so long,
        without an event loop."""
        if self._begun is None:
            return None
        output, until = self._begun[2], time.monotonic() + within_s
        while (left_s := until - time.monotonic()) > 0 and select.select([output], [], [], left_s)[0]:
            if not (chunk := os.read(output.fileno(), CHUNK_BYTES)):
                return None
            self._early += chunk
            *lines, _ = self._early.split(b"\n")
            try:
                told = (wire.decode_reading(line).value for line in lines)
                if (found := next((value for value in told if isinstance(value, kind)), None)) is not None:
                    return found
            except wire.WireError:
                return None  # `readings` says so
        return None

    async def readings(self) -> AsyncIterator[Reading]:
        while True:
            process, asked, output = self._begun or self._start()
            self._begun = None
            started = time.monotonic()
            with asked, output:
                yield self._say(ProbeState(True, self._restarts))
                async with contextlib.aclosing(self._follow(output)) as followed:
                    async for reading in followed:
                        if isinstance(reading.value, LogReading):
                            self.drains = {file.path: file.drain for file in reading.value.files if file.drain is not None}
                        yield reading
                self._drop_unsent()
            if self._closed:
                return
            if time.monotonic() - started >= WELL_S:
                self._restarts = 0
            why = _why_gone(process)
            yield self._say(ProbeState(False, self._restarts, why))
            for ended in self._all_ended(f"{why}: ask again"):
                yield ended
            await asyncio.sleep(RESTART_S[min(self._restarts, len(RESTART_S) - 1)])
            self._restarts += 1

    def ask(self, ask: Ask) -> None:
        """Send a question. It ends at once if the probe is being restarted, or does not read."""
        self._asked[kind_of(ask), ask.ask] = ask
        if len(self._unsent) > MOST_UNSENT_BYTES:
            self._end(ask, "the probe takes no questions: it is stopped or stuck")
        elif self._stdin is not None and self._stdin.closed:
            self._end(ask, "the probe is being started again: ask again")
        else:
            self._unsent += wire.encode(ask)
            self._send()

    def close(self) -> None:
        """End the probe. It ends by itself when its pipe closes; it is killed in case it cannot see that."""
        if self._closed:
            return
        self._closed = True
        self._end_probe()
        if self._begun is not None:
            self._begun[2].close()

    def _start(self) -> Started:
        stdin = self._spec.stdin
        passed = () if stdin is None else (stdin.memory,)
        with debug_file() as stderr:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env={**os.environ, **HEAP},
                start_new_session=True,
                pass_fds=passed,
            )
        self._stdin, output = self._process.stdin, self._process.stdout
        assert self._stdin is not None
        assert output is not None
        os.set_blocking(self._stdin.fileno(), False)
        self._unsent[:0] = wire.encode(self._spec)
        self._send()
        return self._process, self._stdin, output

    async def _follow(self, output: IO[bytes]) -> AsyncGenerator[Reading]:
        """Yields readings until the output of the probe ends. Silence is a reading too, so that it is recorded."""
        lines, transport = await line_reader(output, self._early)
        self._early = b""
        silent_s = 0.0
        self._send()
        try:
            while not self._closed:
                while self._ends:
                    yield self._say(self._ends.popleft())
                try:
                    async with asyncio.timeout(SILENT_S):
                        line = await lines.readline()
                except TimeoutError:
                    silent_s += SILENT_S
                    problem = f"the probe gave no sign of life for {silent_s:.0f} s"
                    yield self._say(ProbeState(False, self._restarts, problem))
                    if silent_s >= GIVE_UP_S:
                        self._end_probe()
                    continue
                if not line.endswith(b"\n"):
                    return
                if silent_s:
                    yield self._say(ProbeState(True, self._restarts))
                silent_s = 0.0
                try:
                    reading = wire.decode_reading(line)
                except wire.WireError as error:
                    yield self._say(ProbeState(False, self._restarts, f"the probe printed garbage: {error}"))
                    self._end_probe()
                    return
                if isinstance(reading.value, AskEnd):
                    self._asked.pop((reading.value.kind, reading.value.ask), None)
                yield reading
        finally:
            transport.close()

    def _send(self) -> None:
        """Write what the pipe takes now, the rest later. A closed pipe means a dead probe: its output ends too, and with it every
        question."""
        if self._stdin is None or not self._unsent:
            return
        try:
            sent = os.write(self._stdin.fileno(), self._unsent)
        except BlockingIOError:
            sent = 0
        except (OSError, ValueError):
            sent = len(self._unsent)
        del self._unsent[:sent]
        self._send_later()

    def _send_later(self) -> None:
        """Send the rest when the pipe takes more. Before the event loop runs, `_follow` does that."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        if self._stdin is not None and not self._stdin.closed:
            if self._unsent:
                loop.add_writer(self._stdin, self._send)
            else:
                loop.remove_writer(self._stdin)

    def _end_probe(self) -> None:
        """Kill the probe and its children (it leads a process group). It was not reaped, so its pid cannot have been reused."""
        if self._process is None or self._stdin is None:
            return
        self._drop_unsent()
        with contextlib.suppress(OSError):
            self._stdin.close()
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        reap_later(self._process)

    def _drop_unsent(self) -> None:
        self._unsent.clear()
        self._send_later()

    def _end(self, ask: Ask, problem: str) -> None:
        """End a question that the probe did not get; its `AskEnd` comes with the next reading."""
        kind = kind_of(ask)
        if self._asked.pop((kind, ask.ask), None) is not None:
            self._ends.append(AskEnd(ask.ask, kind, problem))

    def _all_ended(self, why: str) -> Iterator[Reading]:
        """Yields the ends of all open questions: the next probe does not know them."""
        for ask in list(self._asked.values()):
            self._end(ask, why)
        while self._ends:
            yield self._say(self._ends.popleft())

    def _say(self, value: Value) -> Reading:
        return Reading(source="feed", host="localhost", at=clock.now(), value=value)


async def line_reader(output: IO[bytes], early: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.BaseTransport]:
    """The lines that a child prints, read without a thread. `early`: what was read of them before. The caller closes the
    transport."""
    reader = asyncio.StreamReader(limit=LINE_LIMIT_BYTES)
    reader.feed_data(early)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), output)
    return reader, transport


def _why_gone(process: subprocess.Popen[bytes]) -> str:
    with contextlib.suppress(subprocess.TimeoutExpired):
        code = process.wait(timeout=0.05)
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return f"the probe {how}; starting it again"
    return "the probe closed its output but has not ended; starting another"
