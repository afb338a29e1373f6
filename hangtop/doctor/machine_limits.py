"""The machine: disk and quota, shared memory, memory, limits, clock, the right to look into processes."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from hangtop.common.text import size, some
from hangtop.doctor.check_types import Check, Subject, fail, graded, ok, unknown, warn
from hangtop.system import ptrace_permission
from hangtop.system.files.network_filesystems import file_system_of
from hangtop.system.machine import memory_limit

G = 2**30
MIN_FREE_BYTES, LOW_FREE_BYTES = 1 * G, 20 * G
"""A checkpoint of a 7 B model with optimizer states is about 80 GB; below 20 GB most saves fail."""
MIN_SHM_BYTES, LOW_SHM_BYTES = 64 * 2**20, 8 * G
"""Docker gives 64 MiB; data workers and NCCL need gigabytes (pytorch/pytorch#5040)."""
LOW_FILES, LOW_PROCESSES = 65_536, 4_096
"""Ray and NCCL open thousands of sockets; Ray's docs ask for 65536 files."""
LOW_MEMORY_PART = 0.1
ANSWER_S = 4.0
NEARLY_FULL = 0.95
TIME_ERROR = 5
SERVER_TIMED = ("NFS", "SMB")
"""File systems whose server gives a new file its time; with others the client does."""
SKEW_S, WRONG_S = 2.0, 60.0
"""Network file systems cache times for a second or so; tokens and TLS allow for about a minute."""


def disks(subject: Subject) -> Iterator[Check]:
    """Free space and inodes where the run writes."""
    home = Path(subject.environ.get("HOME", "~")).expanduser()
    places = {
        "working directory": subject.cwd,
        "temporary files": subject.environ.get("TMPDIR", tempfile.gettempdir()),
        "model cache": subject.environ.get("HF_HOME", str(home / ".cache" / "huggingface")),
    }
    for title, place in places.items():
        yield _disk(title, _existing(Path(place)))


def _disk(title: str, place: Path) -> Check:
    try:
        free, left = shutil.disk_usage(place).free, os.statvfs(place)
    except OSError as error:
        return fail("disk", title, f"{place}: {error.strerror}", f"ls -ld {place}")
    detail = f"{size(free)} free at {place}"
    mend = f"du -xh -d1 {place} | sort -h | tail"
    if not os.access(place, os.W_OK):
        return fail("disk", title, f"{place} is not writable", f"ls -ld {place}")
    if left.f_files and left.f_favail < 10_000:
        return fail("disk", title, f"{some(left.f_favail, 'inode')} left at {place}", f"find {place} -xdev | wc -l")
    return graded("disk", title, detail, mend, fails=free < MIN_FREE_BYTES, warns=free < LOW_FREE_BYTES)


def _existing(place: Path) -> Path:
    """The place itself, or the folder above it that is there."""
    while not place.exists() and place != place.parent:
        place = place.parent
    return place


def shared_memory(_: Subject) -> Iterator[Check]:
    """/dev/shm: too small it kills data workers with a bus error."""
    place = Path("/dev/shm")
    if not place.is_dir():
        yield unknown("memory", "/dev/shm", "not on this system")
        return
    usage = shutil.disk_usage(place)
    detail = f"{size(usage.free)} free of {size(usage.total)}"
    mend = "docker run --shm-size=16g …   (Kubernetes: emptyDir with medium: Memory at /dev/shm)"
    if usage.total <= MIN_SHM_BYTES:
        yield fail("memory", "/dev/shm", detail, mend)
    elif usage.free < LOW_SHM_BYTES:
        yield warn("memory", "/dev/shm", detail, "hangtop clean --dry-run   (segments of dead runs)")
    else:
        yield ok("memory", "/dev/shm", detail)


def limits(_: Subject) -> Iterator[Check]:
    """ulimit -n, -u and -l."""
    yield _limit("open files (ulimit -n)", resource.RLIMIT_NOFILE, LOW_FILES, f"ulimit -n {LOW_FILES}")
    yield _limit("processes (ulimit -u)", resource.RLIMIT_NPROC, LOW_PROCESSES, f"ulimit -u {LOW_PROCESSES}")
    if Path("/sys/class/infiniband").is_dir():
        mend = "ulimit -l unlimited   (RDMA registers memory)"
        yield _limit("locked memory (ulimit -l)", resource.RLIMIT_MEMLOCK, 2**40, mend)


def _limit(title: str, kind: int, wanted: int, mend: str) -> Check:
    value, _hard = resource.getrlimit(kind)
    if value == resource.RLIM_INFINITY or value >= wanted:
        return ok("limits", title, "unlimited" if value == resource.RLIM_INFINITY else f"{value:,}")
    return warn("limits", title, f"{value:,}, {wanted:,} is usual", mend)


def memory(_: Subject) -> Iterator[Check]:
    """Host memory, and the tightest limit of the control groups this process is in: a container's, a Slurm job's."""
    host = psutil.virtual_memory()
    low = host.available < LOW_MEMORY_PART * host.total
    detail = f"{size(host.available)} available of {size(host.total)}"
    yield graded("memory", "host memory", detail, "ps aux --sort=-rss | head", warns=low)
    limit = memory_limit(os.getpid()).limit_bytes
    if limit is not None and limit < host.total:
        detail, mend = f"{size(limit)} of the host's {size(host.total)}", "docker run --memory … / Slurm --mem=…"
        yield graded("memory", "memory limit of this job", detail, mend, warns=limit < host.total / 4)


def looking(_: Subject) -> Iterator[Check]:
    """Whether stacks of this user's processes may be read, when the run hangs later."""
    at = ptrace_permission.ptrace_permission(os.getppid())
    if at.scope and not at.may_trace:
        why, mend = ptrace_permission.refusal(at, ("hangtop", "stacks"))
        yield warn("rights", "read stacks", why, mend)
    elif at.container and at.may_trace is False and at.scope is None:
        detail = "a container without CAP_SYS_PTRACE may refuse"
        yield unknown("rights", "read stacks", detail, "docker run --cap-add SYS_PTRACE …")
    else:
        yield ok("rights", "read stacks", "permitted for your own processes")


def quota(subject: Subject) -> Iterator[Check]:
    """The user's quotas, if the program `quota` is there and reports any. statvfs does not know them."""
    try:
        answer = subprocess.run(("quota", "-w"), capture_output=True, text=True, timeout=ANSWER_S, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):  # most machines have no such program
        return
    for place, used, soft in quotas(answer):
        detail = f"{size(used)} of {size(soft)} used on {place}"
        mend = f"du -xh -d1 {subject.cwd} | sort -h | tail"
        yield graded("disk", "quota", detail, mend, fails=used >= soft, warns=used >= soft * NEARLY_FULL)


def quotas(answer: str) -> Iterator[tuple[str, int, int]]:
    """(file system, bytes used, bytes allowed) of each line of `quota -w`; blocks are KiB, `*` marks those over. 0: no limit."""
    for line in answer.splitlines():
        words = line.split()
        if len(words) < 4 or (not words[0].startswith("/") and ":" not in words[0]):
            continue
        numbers = [word.rstrip("*") for word in words[1:4]]
        if all(number.isdigit() for number in numbers):
            used, soft, hard = map(int, numbers)
            if allowed := soft or hard:
                yield words[0], used * 1024, allowed * 1024


def clock(subject: Subject) -> Iterator[Check]:
    """Whether the clock is synchronised, and how far it is from that of the file server, which all nodes share. Different clocks
    break rendezvous, tokens and the order of logs."""
    synchronised = is_synchronised()
    if synchronised is True:
        yield ok("clock", "time", "synchronised (NTP, PTP)")
    elif synchronised is False:
        yield warn("clock", "time", "not synchronised: nodes may differ", "sudo timedatectl set-ntp true")
    else:
        yield unknown("clock", "time", "the kernel does not tell whether its clock is synchronised", "chronyc tracking")
    if file_system_of(subject.cwd).network in SERVER_TIMED:
        yield _against_server(subject.cwd)


def is_synchronised() -> bool | None:
    """Whether the kernel says that its clock is synchronised, in containers too; `None` if it does not say (adjtimex(2))."""
    try:
        state = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(512))
    except (OSError, AttributeError):
        return None
    return None if state < 0 else state != TIME_ERROR


def _against_server(place: str) -> Check:
    """Compare with the time that the server gives to a temporary file."""
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            before = time.time()
            file.write(b"hangtop")
            file.flush()
            os.fsync(file.fileno())
            return skew(os.fstat(file.fileno()).st_mtime, before, time.time())
    except OSError as error:
        return unknown("clock", "file server", f"{place}: {error.strerror or error}", f"ls -ld {place}")


def skew(server: float, before: float, after: float) -> Check:
    """How far this clock is from that of a server which was read between two readings of ours. Unix seconds. Pure."""
    away_s = max(before - server, server - after, 0.0)
    if away_s <= SKEW_S:
        return ok("clock", "file server", f"within {SKEW_S:.0f} s of this machine's clock")
    word = "behind" if server > after else "ahead of"
    detail = f"this clock is {away_s:.0f} s {word} the file server's: logs, tokens and rendezvous of several nodes go wrong"
    return Check("clock", "file server", "warn" if away_s < WRONG_S else "fail", detail, "sudo chronyc makestep")
