"""What a process table tells on any operating system: `/proc` on Linux, psutil elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from msgspec import Struct


class Identity(Struct, frozen=True, order=True):
    """A process: pids are reused, pid and start time together are not. `start_ticks` counts from boot."""

    pid: int
    start_ticks: int


class Stat(Struct, frozen=True):
    """One line of the table. Reading it never waits for the process.

    `cpu_ticks`: user and system time; `reaped_ticks`: that of children that were waited for. `exit_status`: as `wait` gives it
    (code << 8, or the signal); `None` when not known. `thread`: a living thread, if the first one has ended: `state` is of that
    thread, and `/proc/PID/task/THREAD` has the files and memory that `/proc/PID` has lost. `terminal`: device number of the
    controlling terminal, 0 without one."""

    pid: int
    name: str
    state: str
    ppid: int
    group: int
    session: int
    start_ticks: int
    cpu_ticks: int = 0
    threads: int = 0
    rss_bytes: int = 0
    kernel: bool = False
    exit_status: int | None = None
    reaped_ticks: int = 0
    thread: int | None = None
    terminal: int = 0

    @property
    def identity(self) -> Identity:
        return Identity(self.pid, self.start_ticks)


Layout = tuple[int, int, int]
"""Addresses of code, stack and heap. The kernel chooses them at random when a program is started (proc(5), randomize_va_space),
and a fork keeps them: two processes with one layout have a common ancestor that ran this program."""


class OpenFile(Struct, frozen=True):
    """An open file or pipe. `target` is a path without its ` (deleted)`, or `pipe:[inode]`, or `socket:[inode]`."""

    fd: int
    target: str
    writable: bool
    deleted: bool = False


class Details(Struct, frozen=True):
    """What costs more than a line of the table, and may wait or be refused. `None`: not known.

    Counters count from the start of the process: bytes from and to storage, bytes through read and write calls,
    voluntary switches of the main thread, nanoseconds that it ran, and that it waited for a core. `written_bytes`: through write
    calls alone, with those of children that ended and were waited for; `own_written_bytes`: without these, where the process has
    one thread only (a shell, a launcher). `ignored`: the signals that it ignores, a bit each, the lowest for signal 1.
    """

    uid: int | None = None
    tracer_pid: int | None = None
    wchan: str | None = None
    read_bytes: int | None = None
    write_bytes: int | None = None
    passed_bytes: int | None = None
    written_bytes: int | None = None
    own_written_bytes: int | None = None
    switches: int | None = None
    main_cpu_ns: int | None = None
    run_delay_ns: int | None = None
    denied: bool = False
    ignored: int | None = None


class ProcessTable(Protocol):
    """The processes of this machine."""

    ticks_per_s: int
    """Of start times and CPU times."""

    @property
    def stats(self) -> Mapping[int, Stat]:
        """The table by pid; only `refresh` changes it. It is a new mapping whenever a process came, went, or changed its parent,
        group or session, so that what follows from these can be cached."""

    def refresh(self, watched: Collection[int]) -> None:
        """Read every pid that is new or in `watched`, and now and then all."""

    def started_at(self, start_ticks: int) -> float:
        """Unix time of that many ticks after boot."""

    def owner(self, pid: int) -> int | None:
        """The user id it runs as; `None` when it is gone."""

    def command(self, pid: int) -> tuple[str, ...]:
        """Its arguments as raw text (`hangtop.common.raw_text`); empty for a zombie. May wait for the process: ask through a
        `Guard`. Raises `OSError`."""

    def environ(self, pid: int) -> Mapping[str, str]:
        """The environment it was started with, as raw text. May wait for the process. Raises `OSError`."""

    def cwd(self, pid: int) -> str:
        """Its working folder; empty where that is not told. Raises `OSError`."""

    def open_files(self, pid: int) -> tuple[OpenFile, ...]:
        """Files, pipes and sockets it holds. May wait for the process. Raises `OSError`."""

    def inode(self, pid: int, fd: int) -> int | None:
        """The inode behind a descriptor, without touching the file; `None` where that is not told."""
        return None

    def layout(self, pid: int) -> Layout | None:
        """Where its memory lies; `None` where that is not told, or not by chance. Raises `OSError`."""
        return None

    def cgroup(self, pid: int) -> str:
        """Its control groups, a line for each hierarchy (cgroups(7)); empty where there are none. Raises `OSError`."""
        return ""

    def details(self, pid: int) -> Details:
        """Counters and where it waits. May wait for the process. Raises `OSError` when it is gone."""


def cwd_of(table: ProcessTable, pid: int) -> str | None:
    """Its working folder; `None` where it is gone, not ours to know, or not told."""
    try:
        return table.cwd(pid) or None
    except OSError:
        return None
