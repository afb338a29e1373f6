"""A program in a pseudo-terminal of our own: what it writes and when, and what it and its probe cost meanwhile.

It answers no query of the program, as a terminal behind a slow line would. Bytes and CPU seconds are robust on a busy machine,
wall times are not: compare those only with others of the same run.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache

import psutil
import pyte

from tests.bench.row import MIB

PAINTED_CELLS = 300
"""A screen with so many cells filled is a picture, not a prompt."""


@cache
def _bytecode_folder() -> str:
    folder = tempfile.mkdtemp(prefix="hangtop-bytecode-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def installed() -> dict[str, str]:
    """The environment of one who has installed hangtop and uses it not for the first time: compiled modules are kept."""
    dropped = ("COLUMNS", "LINES", "NO_COLOR", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, "PYTHONPYCACHEPREFIX": _bytecode_folder()}


@dataclass(frozen=True)
class Cost:
    """Of one process over a window. `cpu_percent` of one core; memory at the window's end."""

    cpu_percent: float = 0.0
    rss_mib: float = 0.0
    uss_mib: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.cpu_percent + other.cpu_percent, self.rss_mib + other.rss_mib, self.uss_mib + other.uss_mib)


@dataclass(frozen=True)
class Window:
    """A stretch of time: bytes and writes a second to the terminal, the program itself (`ui`) and its children (`probe`)."""

    seconds: float
    bytes_s: float
    writes_s: float
    ui: Cost
    probe: Cost


@dataclass
class PtyMeter:
    """Started on entry, its session killed on exit. `chunks`: seconds since the start, and what was written then."""

    command: tuple[str, ...]
    size: tuple[int, int] = (120, 40)
    environment: Mapping[str, str] = field(default_factory=dict)
    chunks: list[tuple[float, bytes]] = field(default_factory=list)

    def __enter__(self) -> PtyMeter:
        self._master, slave = os.openpty()
        columns, lines = self.size
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        shown = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
        self._began = time.monotonic()
        self.process = subprocess.Popen(
            self.command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**installed(), **shown, **self.environment},
            preexec_fn=take_terminal,
        )
        os.close(slave)
        os.set_blocking(self._master, False)
        return self

    def __exit__(self, *_: object) -> None:
        end_with_probes(self.process, self._master)

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._began

    @property
    def probes(self) -> list[psutil.Process]:
        return _below(self.process.pid)

    def read(self, seconds: float, until: bytes | None = None) -> bytes:
        """What is written within this time, or up to `until`."""
        end, got = time.monotonic() + seconds, b""
        while (left := end - time.monotonic()) > 0 and not (until is not None and until in got):
            if not select.select([self._master], [], [], min(left, 0.05))[0]:
                continue
            try:
                chunk = os.read(self._master, 65536)
            except OSError:  # the program has gone, and its terminal with it
                break
            self.chunks.append((self.elapsed_s, chunk))
            got += chunk
        return got

    def until(self, text: str, seconds: float = 60, behind: bytes = b"") -> float:
        """Seconds from the start to the write that holds `text`, somewhere behind these bytes. Raises `TimeoutError`."""
        end = time.monotonic() + seconds
        while True:
            written = b""
            for at, chunk in self.chunks:
                written += chunk
                if text.encode() in written.partition(behind)[2] if behind else text.encode() in written:
                    return at
            if time.monotonic() > end:
                raise TimeoutError(f"{text!r} was not written within {seconds:.0f} s:\n{self.screen()}")
            self.read(0.05)

    def press(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def window(self, seconds: float) -> Window:
        """What the next seconds cost."""
        before, first, began = self._cpu_s(), len(self.chunks), time.monotonic()
        self.read(seconds)
        lasted_s, after = time.monotonic() - began, self._cpu_s()
        new = self.chunks[first:]
        used = [100 * (b - a) / lasted_s for a, b in zip(before, after, strict=True)]
        ui, probe = (_memory([psutil.Process(self.process.pid)]), _memory(self.probes))
        return Window(
            lasted_s,
            sum(len(chunk) for _, chunk in new) / lasted_s,
            len(new) / lasted_s,
            Cost(used[0]) + ui,
            Cost(used[1]) + probe,
        )

    def wait_gone(self, seconds: float = 20) -> float:
        """Seconds until the program has ended; `inf` when it has not."""
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            self.read(0.005)
            if self.process.poll() is not None:
                return time.monotonic() - began
        return float("inf")

    def painted_s(self) -> float:
        """When the screen first was a picture: so many cells filled. `nan` when it never was."""
        screen = pyte.Screen(*self.size)
        stream = pyte.ByteStream(screen)
        for at, chunk in self.chunks:
            stream.feed(chunk)
            if sum(len(line) - line.count(" ") for line in screen.display) >= PAINTED_CELLS:
                return at
        return float("nan")

    def screen(self) -> str:
        """What stands in the terminal now."""
        screen = pyte.Screen(*self.size)
        stream = pyte.ByteStream(screen)
        for _, chunk in self.chunks:
            stream.feed(chunk)
        return "\n".join(line.rstrip() for line in screen.display)

    def _cpu_s(self) -> tuple[float, float]:
        """Of the program, and of all below it."""
        return _cpu_s([psutil.Process(self.process.pid)]), _cpu_s(self.probes)


def take_terminal() -> None:
    """For a child that is about to start: this terminal becomes its own."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def end_with_probes(process: subprocess.Popen[bytes], master: int) -> None:
    """End a program that has a terminal of its own, close that, and end what it has started."""
    probes = _below(process.pid)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    os.close(master)
    for probe in probes:  # of its own session; psutil checks the start time
        with suppress(psutil.NoSuchProcess):
            probe.kill()


def _below(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _cpu_s(processes: list[psutil.Process]) -> float:
    """User and system time of those that live."""
    spent = 0.0
    for process in processes:
        with suppress(psutil.Error):
            spent += sum(process.cpu_times()[:2])
    return spent


def _memory(processes: list[psutil.Process]) -> Cost:
    rss = uss = 0.0
    for process in processes:
        with suppress(psutil.Error):
            memory = process.memory_full_info()
            rss, uss = rss + memory.rss / MIB, uss + memory.uss / MIB
    return Cost(0.0, rss, uss)
