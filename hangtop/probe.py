"""The probe process: runs the sources, each in a thread of its own, and prints what they read, one JSON line each.

Anything that can block lives here and not in the screen's process, because a thread in uninterruptible sleep keeps its whole
process from dying. The probe has its own session and no terminal. It ends the moment its stdin or stdout closes, with `os._exit`,
so that a source stuck in the driver can at worst leave this process behind, never the screen's.

stdin: the `WatchSpec`, then asks. stdout: readings, a heartbeat each second among them.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Iterable
from typing import NoReturn

from hangtop import clock, wire
from hangtop.records.ask import ActorLogAsk, Ask, FarStacksAsk, FlightAsk, LaunchAsk, LeftoversAsk, PageAsk, RayAsk, StacksAsk
from hangtop.records.health import Heartbeat, SourceHealth
from hangtop.records.reading import Reading, Value
from hangtop.sources import SOURCES, Absent, Source, Trouble, open_source
from hangtop.spec import WatchSpec

HEARTBEAT_S = 1.0
LOOK_AGAIN_S = (1.0, 2.0, 5.0, 10.0)
"""Pauses after a look that failed, or found nothing to read."""

ANSWERED_BY: dict[type[Ask], str] = {
    PageAsk: "pages",
    StacksAsk: "stacks",
    FlightAsk: "nccl",
    LeftoversAsk: "leftovers",
    LaunchAsk: "launch",
    RayAsk: "ray",
    ActorLogAsk: "rayworkers",
    FarStacksAsk: "rayworkers",
}
"""Which source answers which question."""


class Output:
    """The pipe to the screen. Whole lines only; when the other end is gone, so are we."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()
        self._host = socket.gethostname()

    def send(self, source: str, value: Value) -> None:
        line = wire.encode(Reading(source=source, host=self._host, at=clock.now(), value=value))
        with self._lock:
            try:
                while line:
                    line = line[os.write(self._fd, line) :]
            except OSError:
                os._exit(0)


class SourceThread(threading.Thread):
    """One source: looks every `interval_s`, answers asks in between, and always knows how it is."""

    def __init__(self, name: str, spec: WatchSpec, output: Output) -> None:
        super().__init__(name=name, daemon=True)
        self._spec = spec
        self._output = output
        self._asks: deque[Ask] = deque(maxlen=1)
        self._wake = threading.Event()
        self._busy_since: float | None = None
        self._deadline_s = 3.0
        self._read_at: float | None = None
        self._problem: str | None = None
        self._absent: str | None = None
        self._failures = 0

    def ask(self, ask: Ask) -> None:
        """Takes the place of an ask that still waits: only the latest question matters."""
        self._asks.append(ask)
        self._wake.set()

    def health(self) -> SourceHealth:
        since = self._busy_since
        busy_s = 0.0 if since is None else time.monotonic() - since
        return SourceHealth(self.name, self._read_at, round(busy_s, 1), self._deadline_s, self._problem, self._absent)

    def run(self) -> None:
        source: Source | None = None
        while True:
            self._wake.clear()
            self._busy_since = time.monotonic()
            try:
                source = source or open_source(self.name, self._spec)
                self._deadline_s = source.deadline_s
                self._look(source)
                pause_s = source.interval_s
            except Absent as absent:
                pause_s = self._failed(absent=str(absent))
            except Trouble as trouble:
                pause_s = self._failed(problem=str(trouble))
            except Exception as error:
                traceback.print_exc()
                pause_s = self._failed(problem=f"hangtop's {self.name} source failed: {type(error).__name__}: {error}")
            self._busy_since = None
            self._wake.wait(clock.until_next(pause_s, least_s=pause_s / 2))

    def _look(self, source: Source) -> None:
        self._emit(source.read(clock.now()))
        while self._asks:
            self._emit(source.answer(self._asks.popleft(), clock.now()), until_asked=True)
        self._read_at, self._problem, self._absent, self._failures = clock.now(), None, None, 0

    def _emit(self, values: Iterable[Value], *, until_asked: bool = False) -> None:
        for value in values:
            self._output.send(self.name, value)
            self._busy_since = time.monotonic()
            if until_asked and self._asks:
                return

    def _failed(self, problem: str | None = None, absent: str | None = None) -> float:
        self._problem, self._absent = problem, absent
        pause_s = LOOK_AGAIN_S[min(self._failures, len(LOOK_AGAIN_S) - 1)]
        self._failures += 1
        return pause_s


def serve(spec: WatchSpec, output: Output, asks: Iterable[bytes]) -> NoReturn:
    """Run the sources of `spec` until `asks` ends."""
    names = [name for name in spec.sources if name in SOURCES]
    threads = {name: SourceThread(name, spec, output) for name in names}
    for thread in threads.values():
        thread.start()
    threading.Thread(target=_beat, args=(output, tuple(threads.values())), daemon=True).start()
    for line in asks:
        ask = wire.decode_ask(line)
        if asked := threads.get(ANSWERED_BY[type(ask)]):
            asked.ask(ask)
    os._exit(0)


def _beat(output: Output, threads: tuple[SourceThread, ...]) -> NoReturn:
    while True:
        output.send("probe", Heartbeat(sources=tuple(thread.health() for thread in threads), pid=os.getpid()))
        time.sleep(clock.until_next(HEARTBEAT_S, least_s=HEARTBEAT_S / 2))


def main() -> NoReturn:
    lines = iter(sys.stdin.buffer.readline, b"")
    try:
        spec = wire.decode_spec(next(lines, b""))
    except wire.WireError as error:
        sys.exit(f"hangtop probe: {error}. It is started by hangtop, not by people.")
    serve(spec, Output(sys.stdout.fileno()), lines)


if __name__ == "__main__":
    main()
