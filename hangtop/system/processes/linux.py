"""The process table of Linux: `/proc`, read as proc(5) describes it."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping

from msgspec.structs import replace

from hangtop.common.raw_text import text_of
from hangtop.system.processes.proc_files import fields_of, read_optional, read_proc
from hangtop.system.processes.table import Details, Layout, OpenFile, ProcessTable, Stat

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
KERNEL_THREAD = 0x0020_0000
"""PF_KTHREAD in include/linux/sched.h."""
NOT_RANDOMISED = 0x0004_0000
"""ADDR_NO_RANDOMIZE in personality(2), set by `setarch -R`."""
FULL_SCAN_EVERY = 30
"""Every so many refreshes all processes are read: 2,000 cost about 40 ms."""
LISTING_GAP_S = 1.5
LEISURE = 500
"""At leisure, the pause between two listings of all pids: seconds, and a multiple of what one cost."""
MAX_OPEN_FILES = 8_192


def parse_stat(line: bytes) -> Stat:
    """One line of `/proc/PID/stat`. The name stands in brackets and may hold spaces and brackets itself (proc(5))."""
    head, _, tail = line.rpartition(b")")
    pid, _, name = head.partition(b"(")
    field = tail.split()
    return Stat(
        pid=int(pid),
        name=name.decode("utf-8", "replace"),
        state=field[0].decode(),
        ppid=int(field[1]),
        group=int(field[2]),
        session=int(field[3]),
        terminal=int(field[4]),
        kernel=bool(int(field[6]) & KERNEL_THREAD),
        cpu_ticks=int(field[11]) + int(field[12]),
        reaped_ticks=int(field[13]) + int(field[14]),
        threads=int(field[17]),
        start_ticks=int(field[19]),
        rss_bytes=int(field[21]) * PAGE_BYTES,
        exit_status=int(field[49]) if field[0] in b"ZX" and len(field) > 49 else None,
    )


class LinuxTable(ProcessTable):
    """`/proc` of this machine (or container)."""

    ticks_per_s = TICKS_PER_S

    def __init__(self, *, at_leisure: bool = False) -> None:
        """`at_leisure`: a new process may be seen some seconds late, the more there are the later."""
        self._at_leisure = at_leisure
        self._list_again_at = 0.0
        self._stats: dict[int, Stat] = {}
        self._boot_at = boot_at()
        self._refreshes = 0
        self._thread_count_seen: tuple[bytes, bytes] | None = None

    @property
    def stats(self) -> Mapping[int, Stat]:
        return self._stats

    def refresh(self, watched: Collection[int]) -> None:
        everything = self._refreshes % FULL_SCAN_EVERY == 0
        self._refreshes += 1
        known, asked = self._stats, set(watched)
        gone: set[int] = set()
        if (listed := self._listed(everything)) is not None:
            gone = known.keys() - listed
            asked = listed if everything else (asked & listed) | (listed - known.keys())
        fresh = {pid: stat for pid in asked if (stat := read_stat(pid)) is not None}
        gone |= asked - fresh.keys()
        if known.keys() & gone or any(pid not in known or _place(known[pid]) != _place(stat) for pid, stat in fresh.items()):
            known = self._stats = {pid: stat for pid, stat in known.items() if pid not in gone}
        known.update(fresh)

    def _listed(self, everything: bool) -> set[int] | None:
        """All pids; `None` if they are the same as before, or it is too early: to list thousands each second costs more than
        reading a whole run."""
        count = _thread_count()
        if not everything and (
            (count is not None and count == self._thread_count_seen) or time.monotonic() < self._list_again_at
        ):
            return None
        began, self._thread_count_seen = time.thread_time(), count
        listed = {int(name) for name in os.listdir("/proc") if name < ":"}
        if self._at_leisure:
            self._list_again_at = time.monotonic() + max(LISTING_GAP_S, LEISURE * (time.thread_time() - began))
        return listed

    def started_at(self, start_ticks: int) -> float:
        return self._boot_at + start_ticks / TICKS_PER_S

    def owner(self, pid: int) -> int | None:
        try:
            return os.stat(f"/proc/{pid}").st_uid
        except OSError:
            return None

    def _folder(self, pid: int) -> str:
        """The folder with its memory and files: that of a living thread, if the first thread has ended."""
        stat = self._stats.get(pid)
        return f"/proc/{pid}" if stat is None or stat.thread is None else f"/proc/{pid}/task/{stat.thread}"

    def command(self, pid: int) -> tuple[str, ...]:
        words = read_proc(f"{self._folder(pid)}/cmdline").rstrip(b"\0").split(b"\0")
        return tuple(text_of(word) for word in words) if words != [b""] else ()

    def environ(self, pid: int) -> Mapping[str, str]:
        pairs = (entry.partition(b"=") for entry in read_proc(f"{self._folder(pid)}/environ").split(b"\0") if b"=" in entry)
        return {text_of(key): text_of(value) for key, _, value in pairs}

    def cwd(self, pid: int) -> str:
        return os.readlink(f"{self._folder(pid)}/cwd")

    def open_files(self, pid: int) -> tuple[OpenFile, ...]:
        folder = f"{self._folder(pid)}/fd"
        files = (_open_file(folder, fd) for fd in os.listdir(folder)[:MAX_OPEN_FILES])
        return tuple(file for file in files if file is not None)

    def inode(self, pid: int, fd: int) -> int | None:
        """Line `ino` of fdinfo, there since Linux 5.14 (proc_pid_fdinfo(5))."""
        return _number(fields_of(read_optional(f"{self._folder(pid)}/fdinfo/{fd}") or b""), "ino")

    def layout(self, pid: int) -> Layout | None:
        """Fields 26, 28 and 47 of `stat`, which are 0 without permission to trace it (proc_pid_stat(5))."""
        if read_optional("/proc/sys/kernel/randomize_va_space") in (None, b"0\n"):
            return None
        field = read_proc(f"{self._folder(pid)}/stat").rpartition(b")")[2].split()
        code, stack, heap = int(field[23]), int(field[25]), int(field[44])
        randomised = not int(read_optional(f"/proc/{pid}/personality") or b"0", 16) & NOT_RANDOMISED
        return (code, stack, heap) if stack and randomised else None

    def cgroup(self, pid: int) -> str:
        return (read_optional(f"/proc/{pid}/cgroup") or b"").decode("utf-8", "replace")

    def details(self, pid: int) -> Details:
        folder = self._folder(pid)
        status = fields_of(read_proc(f"{folder}/status"))
        io = read_optional(f"/proc/{pid}/io")
        counters = fields_of(io or b"")
        alone = fields_of(read_optional(f"/proc/{pid}/task/{pid}/io") or b"") if status.get("Threads") == "1" else counters
        schedstat = (read_optional(f"{folder}/schedstat") or b"").split()
        wchan = (read_optional(f"{folder}/wchan") or b"0").decode("utf-8", "replace")
        return Details(
            uid=int(status["Uid"].split()[1]),
            tracer_pid=int(status.get("TracerPid", "0")) or None,
            wchan=None if wchan in ("0", "") else wchan,
            read_bytes=_number(counters, "read_bytes"),
            write_bytes=_number(counters, "write_bytes"),
            passed_bytes=int(counters["rchar"]) + int(counters["wchar"]) if "rchar" in counters else None,
            written_bytes=_number(counters, "wchar"),
            own_written_bytes=_number(alone, "wchar"),
            switches=_number(status, "voluntary_ctxt_switches"),
            main_cpu_ns=int(schedstat[0]) if schedstat else None,
            run_delay_ns=int(schedstat[1]) if len(schedstat) > 1 else None,
            denied=io is None,
            ignored=int(status["SigIgn"], 16) if "SigIgn" in status else None,
        )


def _thread_count() -> tuple[bytes, bytes] | None:
    """The number of threads and the last pid (proc(5), loadavg): while both are the same, no process came or went. `None` if the
    kernel does not tell (gVisor says zero)."""
    *_, counts, last = read_proc("/proc/loadavg").split()
    return None if last == b"0" else (counts.rpartition(b"/")[2], last)


def _place(stat: Stat) -> tuple[int, ...]:
    """Identity and relations of a process."""
    return stat.start_ticks, stat.ppid, stat.group, stat.session


def read_stat(pid: int) -> Stat | None:
    """The present line of one process; `None` when there is none."""
    stat = _parsed(f"/proc/{pid}/stat")
    return stat if stat is None or stat.state != "Z" or stat.threads < 2 else _without_its_first_thread(stat)


def _parsed(path: str) -> Stat | None:
    try:
        return parse_stat(read_proc(path))
    except (FileNotFoundError, ProcessLookupError):
        return None


def _without_its_first_thread(stat: Stat) -> Stat:
    """The process as its living threads show it. It ends when the last thread ends (wait(2), pthread_exit(3)); until then it
    computes, holds GPUs and takes signals. A thread that is blocked in the kernel keeps all of it alive."""
    try:
        tids = sorted(int(name) for name in os.listdir(f"/proc/{stat.pid}/task"))
    except (FileNotFoundError, ProcessLookupError):
        return stat
    threads = (_parsed(f"/proc/{stat.pid}/task/{tid}/stat") for tid in tids)
    living = [thread for thread in threads if thread is not None and thread.state not in "ZX"]
    if not living:
        return stat
    shown = next((thread for thread in living if thread.state == "D"), living[0])
    return replace(stat, state=shown.state, thread=shown.pid, rss_bytes=shown.rss_bytes, exit_status=None)


def boot_at() -> float:
    """Unix time at which this machine was started, to a second."""
    for line in read_proc("/proc/stat").splitlines():
        if line.startswith(b"btime "):
            return float(line.split()[1])
    raise OSError("/proc/stat has no btime line: is /proc mounted?")


def _open_file(folder: str, fd: str) -> OpenFile | None:
    """A descriptor, without touching the file itself: that could wait for a dead file server."""
    try:
        link = f"{folder}/{fd}"
        target = os.readlink(link)
        if target.startswith("anon_inode:"):
            return None
        writable = bool(os.lstat(link).st_mode & 0o200)
    except FileNotFoundError:
        return None
    plain = target.removesuffix(" (deleted)")
    return OpenFile(int(fd), plain, writable, plain != target)


def _number(fields: Mapping[str, str], key: str) -> int | None:
    return int(fields[key]) if key in fields else None
