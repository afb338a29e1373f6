"""What /proc says of one process, by Python's library alone."""

from __future__ import annotations

import os
from typing import Any

MOST_FILES, MOST_THREADS = 4096, 512
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def read(path: str) -> bytes:
    """The whole file; empty where it is gone or refused."""
    try:
        with open(path, "rb", 0) as file:
            return file.read()
    except OSError:
        return b""


def link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def listed(folder: str) -> list[str]:
    """The names in it; none where it is gone or refused."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def as_text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode()


def raw_text(text: str) -> str:
    """As JSON can hold it, byte for byte: see `hangtop.common.raw_text`."""
    return text.translate({code: code + 0x10_0000 for code in range(0xDC80, 0xDD00)})


def to_os(text: str) -> str:
    """Undoes `raw_text`."""
    return text.translate({code + 0x10_0000: code for code in range(0xDC80, 0xDD00)})


def stat_of(pid: int) -> tuple[list[Any], list[Any]] | None:
    """[name, ppid, group, session, terminal, kernel thread, start] and [state, cpu, reaped, threads, rss, exit], as proc(5) has
    them; `None` when it is gone."""
    head, _, tail = read(f"/proc/{pid}/stat").rpartition(b")")
    field = tail.split()
    if len(field) < 40:
        return None
    name = as_text(head.partition(b"(")[2])
    who = [name, int(field[1]), int(field[2]), int(field[3]), int(field[4]), int(field[6]) >> 21 & 1, int(field[19])]
    code = int(field[49]) if field[0] in b"ZX" and len(field) > 49 else None
    cpu, reaped = int(field[11]) + int(field[12]), int(field[13]) + int(field[14])
    return who, [field[0].decode(), cpu, reaped, int(field[17]), int(field[21]) * PAGE_BYTES >> 20, code]


def fields(text: bytes) -> dict[str, str]:
    pairs = (line.partition(":") for line in text.decode("utf-8", "replace").splitlines())
    return {key: value.strip() for key, _, value in pairs}


def number_of(known: dict[str, str], key: str) -> int | None:
    return int(known[key]) if key in known else None


def details_of(pid: int) -> list[Any] | None:
    """Counters and where it waits, in the order of `hangtop.system.processes.table.Details`."""
    status, counters = fields(read(f"/proc/{pid}/status")), fields(read(f"/proc/{pid}/io"))
    if "Uid" not in status:
        return None
    alone = fields(read(f"/proc/{pid}/task/{pid}/io")) if status.get("Threads") == "1" else {}
    schedule = read(f"/proc/{pid}/schedstat").split()
    wchan = as_text(read(f"/proc/{pid}/wchan"))
    return [
        int(status["Uid"].split()[1]),
        int(status.get("TracerPid", "0")) or None,
        None if wchan in ("", "0") else wchan,
        number_of(counters, "read_bytes"),
        number_of(counters, "write_bytes"),
        int(counters["rchar"]) + int(counters["wchar"]) if "rchar" in counters else None,
        number_of(counters, "wchar"),
        number_of(alone, "wchar"),
        number_of(status, "voluntary_ctxt_switches"),
        int(schedule[0]) if schedule else None,
        int(schedule[1]) if len(schedule) > 1 else None,
        not counters,
        int(status["SigIgn"], 16) if "SigIgn" in status else None,
    ]


def facts_of(pid: int, kept: list[str]) -> dict[str, Any]:
    """Command line and those variables of the environment. May wait for the process."""
    words = read(f"/proc/{pid}/cmdline").rstrip(b"\0").split(b"\0")
    environ = read(f"/proc/{pid}/environ")
    pairs = (entry.partition(b"=") for entry in environ.split(b"\0"))
    known = {as_text(key): as_text(value) for key, _, value in pairs}
    return {
        "command": [as_text(word) for word in words] if words != [b""] else [],
        "environ": {key: known[key] for key in kept if key in known},
        "denied": not os.access(f"/proc/{pid}/environ", os.R_OK),
    }


def files_of(pid: int, logs: frozenset[str]) -> list[list[Any]]:
    """The GPUs and logs that it holds open: [descriptor, path, may write]."""
    folder = f"/proc/{pid}/fd"
    found: list[list[Any]] = []
    for name in listed(folder)[:MOST_FILES]:
        target = raw_text(link(f"{folder}/{name}"))
        if target.startswith("/dev/nvidia") or target in logs:
            try:
                found.append([int(name), target, bool(os.lstat(f"{folder}/{name}").st_mode & 0o200)])
            except OSError:
                continue
    return sorted(found)


def boot_at() -> float:
    return next(float(line.split()[1]) for line in read("/proc/stat").splitlines() if line.startswith(b"btime"))


def tasks_of(pid: int) -> dict[str, list[str]]:
    """By thread: state, kernel function and system call in which it waits."""
    found: dict[str, list[str]] = {}
    for name in listed(f"/proc/{pid}/task")[:MOST_THREADS]:
        folder = f"/proc/{pid}/task/{name}"
        state = read(folder + "/stat").rpartition(b")")[2].split()[:1]
        if state:
            found[name] = [state[0].decode(), as_text(read(folder + "/wchan")), as_text(read(folder + "/syscall")).strip()]
    return found
