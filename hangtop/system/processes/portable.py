"""The process table where there is no `/proc` (macOS), through psutil: what it can tell of processes of the same user."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psutil

from hangtop.system.processes.table import Details, OpenFile, ProcessTable, Stat

TICKS_PER_S = 100
"""psutil gives start times as unix seconds: kept as hundredths of a second, as Linux counts."""
TOLD = ("pid", "name", "status", "ppid", "create_time", "cpu_times", "memory_info")
LETTERS = {
    psutil.STATUS_RUNNING: "R",
    psutil.STATUS_SLEEPING: "S",
    psutil.STATUS_IDLE: "S",
    psutil.STATUS_DISK_SLEEP: "D",
    psutil.STATUS_STOPPED: "T",
    psutil.STATUS_TRACING_STOP: "t",
    psutil.STATUS_ZOMBIE: "Z",
    psutil.STATUS_DEAD: "X",
}


class PortableTable(ProcessTable):
    """Processes as psutil sees them. It does not tell ends of pipes, so nothing is seen behind `tee`."""

    ticks_per_s = TICKS_PER_S

    def __init__(self) -> None:
        self._stats: dict[int, Stat] = {}

    @property
    def stats(self) -> Mapping[int, Stat]:
        return self._stats

    def refresh(self, watched: Collection[int]) -> None:
        told = (process.info for process in psutil.process_iter(TOLD))
        self._stats = {each["pid"]: _stat(each) for each in told if each["create_time"] is not None}

    def started_at(self, start_ticks: int) -> float:
        return start_ticks / TICKS_PER_S

    def owner(self, pid: int) -> int | None:
        try:
            return int(psutil.Process(pid).uids().effective)
        except psutil.Error:
            return None

    def command(self, pid: int) -> tuple[str, ...]:
        with _os_errors():
            return tuple(psutil.Process(pid).cmdline())

    def environ(self, pid: int) -> Mapping[str, str]:
        with _os_errors():
            return dict(psutil.Process(pid).environ())

    def cwd(self, pid: int) -> str:
        with _os_errors():
            return str(psutil.Process(pid).cwd())

    def open_files(self, pid: int) -> tuple[OpenFile, ...]:
        """Plain files only; where psutil does not tell how a file was opened, it is taken as open for writing."""
        with _os_errors():
            files = psutil.Process(pid).open_files()
        return tuple(OpenFile(file.fd, file.path, set(getattr(file, "mode", "w")) & set("wa+") != set()) for file in files)

    def details(self, pid: int) -> Details:
        try:
            with _os_errors():
                process = psutil.Process(pid)
                return Details(uid=int(process.uids().effective), switches=int(process.num_ctx_switches().voluntary))
        except PermissionError:
            return Details(denied=True)


def _stat(told: Mapping[str, Any]) -> Stat:
    """CPU time and memory are not told of a process of another user, or of a zombie: then they are zero."""
    times, memory = told["cpu_times"], told["memory_info"]
    return Stat(
        pid=told["pid"],
        name=told["name"] or "",
        state=LETTERS.get(told["status"], "S"),
        ppid=told["ppid"] or 0,
        group=told["pid"],
        session=told["pid"],
        start_ticks=round(told["create_time"] * TICKS_PER_S),
        cpu_ticks=round((times.user + times.system) * TICKS_PER_S) if times else 0,
        rss_bytes=memory.rss if memory else 0,
        kernel=told["pid"] == 0,
    )


@contextmanager
def _os_errors() -> Iterator[None]:
    """psutil's errors as the table's callers know them."""
    try:
        yield
    except psutil.AccessDenied as error:
        raise PermissionError(str(error)) from error
    except psutil.Error as error:
        raise ProcessLookupError(str(error)) from error
