"""One process from inside, as far as the kernel tells it without running code there: threads, files, sockets, memory, limits."""

from __future__ import annotations

from msgspec import Struct

from hangtop.records.waiting import OtherEnd, TcpSocket, ThreadWait


class Limit(Struct, frozen=True, omit_defaults=True):
    """One of getrlimit(2), by its name there in small letters (`nofile`). `None`: unlimited. `used`: where the kernel
    counts it."""

    name: str
    soft: int | None
    hard: int | None
    used: int | None = None


class MemoryUse(Struct, frozen=True, omit_defaults=True):
    """Of proc_pid_status(5), which costs no walk through its pages: VmSize, VmPeak, VmRSS, RssAnon, RssFile, RssShmem, VmSwap,
    VmLck. `None`: this kernel does not tell."""

    virtual_bytes: int | None = None
    peak_bytes: int | None = None
    rss_bytes: int | None = None
    own_bytes: int | None = None
    file_bytes: int | None = None
    shared_bytes: int | None = None
    swap_bytes: int | None = None
    locked_bytes: int | None = None


class MappedFile(Struct, frozen=True, omit_defaults=True):
    """A file in its memory: a library, a memory-mapped dataset, shared memory. `size_bytes`: of addresses, not of memory used.
    `deleted`: no name leads to it any more."""

    path: str
    size_bytes: int
    writable: bool = False
    deleted: bool = False


class HeldFile(Struct, frozen=True, omit_defaults=True):
    """An open descriptor. `target`: what its link shows. `position`: where the next read or write is, of plain files. `end`: what
    it is, and who holds its other end."""

    fd: int
    target: str
    end: OtherEnd
    position: int | None = None


class GroupLimits(Struct, frozen=True, omit_defaults=True):
    """What the control group of a process grants it (kernel docs, cgroup-v2; cgroup-v1). `cores`: of CPU time, `None` without a
    quota. `throttled_s`: for so long it stood still because the quota was used up, since the group began; `throttled_periods` of
    `periods` were so. `None`: not told."""

    path: str = ""
    cores: float | None = None
    throttled_s: float | None = None
    throttled_periods: int | None = None
    periods: int | None = None
    tasks: int | None = None
    most_tasks: int | None = None
    memory_limit_bytes: int | None = None
    memory_used_bytes: int | None = None
    oom_kills: int | None = None


class Placement(Struct, frozen=True, omit_defaults=True):
    """Where it may run. `cpus`: as the kernel lists them (`0-7,16`). `cores`: how many these are, of `machine_cores`. `nodes`:
    the NUMA nodes of these; `memory_nodes`: from which it may have memory, as the kernel lists them."""

    cpus: str
    cores: int
    machine_cores: int
    nodes: tuple[int, ...] = ()
    memory_nodes: str = ""


class InspectedThread(Struct, frozen=True, omit_defaults=True):
    """`wait`: where it stands. `kernel`: the functions of the kernel in which it stands, the innermost first; only root sees
    these. `cpu_s`: what it has computed."""

    name: str
    wait: ThreadWait
    cpu_s: float = 0.0
    kernel: tuple[str, ...] = ()


class Refused(Struct, frozen=True, omit_defaults=True):
    """A part that could not be read: why, and the command that mends it."""

    part: str
    why: str
    mend: str | None = None


class Inspection(Struct, frozen=True, omit_defaults=True, tag="inspection"):
    """Answer to an `InspectAsk`. `at`: unix time. `sockets`: its TCP sockets by inode. `threads_left_out`, `files_left_out`: so
    many more there are. `others`: the commands of processes that hold other ends, by pid. `problem`: why nothing was read."""

    ask: int
    pid: int
    start_ticks: int = 0
    at: float = 0.0
    name: str = ""
    command: str = ""
    folder: str = ""
    uid: int | None = None
    environment: dict[str, str] = {}
    limits: tuple[Limit, ...] = ()
    memory: MemoryUse | None = None
    mapped: tuple[MappedFile, ...] = ()
    files: tuple[HeldFile, ...] = ()
    files_left_out: int = 0
    sockets: dict[int, TcpSocket] = {}
    group: GroupLimits | None = None
    placement: Placement | None = None
    threads: tuple[InspectedThread, ...] = ()
    threads_left_out: int = 0
    others: dict[int, str] = {}
    refused: tuple[Refused, ...] = ()
    problem: str | None = None
