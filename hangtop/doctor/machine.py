"""Disk, shared memory, limits, memory, the right to look into processes."""

from __future__ import annotations

import os
import resource
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil

from hangtop.common.text import size, some
from hangtop.doctor.check import Check, Subject, fail, ok, unknown, warn
from hangtop.system import ptrace_permission
from hangtop.system.machine import memory_limit

G = 2**30
MIN_FREE_BYTES, LOW_FREE_BYTES = 1 * G, 20 * G
"""A checkpoint of a 7 B model with optimizer states is about 80 GB; below 20 GB most saves fail."""
MIN_SHM_BYTES, LOW_SHM_BYTES = 64 * 2**20, 8 * G
"""Docker gives 64 MiB; data workers and NCCL need gigabytes (pytorch/pytorch#5040)."""
LOW_FILES, LOW_PROCESSES = 65_536, 4_096
"""Ray and NCCL open thousands of sockets; Ray's docs ask for 65536 files."""
LOW_MEMORY_PART = 0.1


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
    if free < MIN_FREE_BYTES:
        return fail("disk", title, detail, mend)
    return warn("disk", title, detail, mend) if free < LOW_FREE_BYTES else ok("disk", title, detail)


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
    yield _memory("host memory", f"{size(host.available)} available of {size(host.total)}", "ps aux --sort=-rss | head", low=low)
    limit = memory_limit(os.getpid()).limit_bytes
    if limit is not None and limit < host.total:
        detail, mend = f"{size(limit)} of the host's {size(host.total)}", "docker run --memory … / Slurm --mem=…"
        yield _memory("memory limit of this job", detail, mend, low=limit < host.total / 4)


def _memory(title: str, detail: str, mend: str, *, low: bool) -> Check:
    return warn("memory", title, detail, mend) if low else ok("memory", title, detail)


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
