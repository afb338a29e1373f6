"""The probe process: runs the sources, each in a thread of its own, and prints their values, one JSON line each.

Everything that can block is here and not in the screen's process, because a thread in uninterruptible sleep keeps its process
from ending. The probe has its own session and no terminal. When its stdin or stdout closes it ends with `os._exit`, so that a
source stuck in a driver can at worst leave this process behind, never the screen's.

stdin: the `WatchSpec`, then asks. stdout: readings, a heartbeat each second among them.
"""

from __future__ import annotations

import gc
import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import Iterable
from functools import partial
from typing import NoReturn

from hangtop.common import clock
from hangtop.probe.context import ProbeContext
from hangtop.probe.source import ONLY_ANSWER, SOURCES, open_source
from hangtop.probe.source_runner import SourceThread
from hangtop.records import wire
from hangtop.records.ask import ANSWERED_BY, AskEnd, kind_of
from hangtop.records.health import Heartbeat
from hangtop.records.nodes import source_of
from hangtop.records.reading import Reading, Value
from hangtop.records.watch_spec import WatchSpec

HEARTBEAT_S = 1.0
FIRST_LOOK_S = 0.05
"""So soon it is told that a source has looked for the first time."""
LOADING_S = 3.0
"""So long nothing that is loaded is looked through for garbage: that takes 20 ms, and `hangtop check` is over by then."""
ALONE_S = 0.2
"""So long the other sources wait for the first word of the log: it takes some milliseconds, on a dead file system for ever."""


class Output:
    """The pipe to the screen, in whole lines. When its other end closes, the probe ends."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()
        self._host = socket.gethostname()

    def send(self, source: str, value: Value, host: str | None = None) -> None:
        """`host`: where it was read, if not on this machine."""
        line = wire.encode(Reading(source=source, host=host or self._host, at=clock.now(), value=value))
        with self._lock:
            try:
                while line:
                    line = line[os.write(self._fd, line) :]
            except OSError:
                os._exit(0)


def serve(spec: WatchSpec, output: Output, asks: Iterable[bytes]) -> NoReturn:
    """Run the sources of `spec` until `asks` ends."""
    names = [name for name in spec.sources if name in SOURCES]
    context = ProbeContext(spec)
    threads = {
        name: SourceThread(name, partial(open_source, name, context), output.send, only_answers=name in ONLY_ANSWER)
        for name in names
    }
    if spec.hosts:
        from hangtop.probe.nodes.node_source import NodeSource, open_nodes

        context.nodes = open_nodes(spec)
        for link in context.nodes.values():
            name, opened = source_of(link.host), partial(NodeSource, context, link)
            threads[name] = SourceThread(name, opened, partial(output.send, host=link.host))
    for thread in threads.values():
        thread.start()
        if thread.name == "log":  # the log's end comes first: a dozen sources that load at once would take turns with it
            thread.told.wait(ALONE_S)
    threading.Thread(target=_beat, args=(output, tuple(threads.values())), daemon=True).start()
    for line in asks:
        try:
            ask = wire.decode_ask(line)
        except wire.WireError:  # without a number, its end cannot be told
            traceback.print_exc()
            continue
        name = ANSWERED_BY[type(ask)]
        if (asked := threads.get(name)) is not None:
            asked.ask(ask)
        else:
            output.send(name, AskEnd(ask.ask, kind_of(ask), f"--sources leaves out {name}, which knows that"))
    os._exit(0)


def _beat(output: Output, threads: tuple[SourceThread, ...]) -> NoReturn:
    """Once all is loaded, garbage is looked for among what came since."""
    loaded_at = time.monotonic() + LOADING_S
    while True:
        for thread in threads:
            thread.give_up()
        output.send("probe", Heartbeat(tuple(thread.health() for thread in threads), os.getpid()))
        _wait_for_beat(threads, loaded_at)
        if not gc.isenabled() and time.monotonic() >= loaded_at:
            gc.collect()  # of what the loading itself left
            gc.freeze()
            gc.enable()


def _wait_for_beat(threads: tuple[SourceThread, ...], loaded_at: float) -> None:
    """Until the next second; less, while all is loading, where one more source has looked: who waits for it learns it at once."""
    due = time.monotonic() + clock.until_next(HEARTBEAT_S, least_s=HEARTBEAT_S / 2)
    looked = _looked(threads)
    while (now := time.monotonic()) < due:
        time.sleep(due - now if now >= loaded_at or looked == len(threads) else min(FIRST_LOOK_S, due - now))
        if _looked(threads) > looked:
            return


def _looked(threads: tuple[SourceThread, ...]) -> int:
    """How many have looked for the first time, or know why they cannot."""
    return sum(thread.health().told for thread in threads)


def main() -> NoReturn:
    gc.disable()
    lines = iter(sys.stdin.buffer.readline, b"")
    try:
        spec = wire.decode_spec(next(lines, b""))
    except wire.WireError as error:
        sys.exit(f"hangtop probe: {error}. It is started by hangtop, not by people.")
    serve(spec, Output(sys.stdout.fileno()), lines)


if __name__ == "__main__":
    main()
