"""Whether the driver's pids are visible here. In a container they are pids of the host and mean nothing inside.

Sources: nvtop#149, nvitop#75, nvidia-docker#179 (NVML gives host pids; only `--pid=host` helps from inside).
"""

from __future__ import annotations

import os

from msgspec.structs import replace

from hangtop.records.gpu import Gpu
from hangtop.system.processes.proc_files import namespace

ROOT_NAMESPACE = "pid:[4026531836]"
"""The first pid namespace (`PROC_PID_INIT_INO` in the kernel's proc_ns.h)."""

UNSEEN_S = 5.0
"""An ended process leaves the driver's list within a read; one that stays listed and is not visible is hidden."""

OWNERLESS_BYTES = 1 << 30
"""Used memory without a process that is more than the driver's own."""


class PidVisibility:
    """Marks invisible processes. Remembers since when, so that an ending process does not count as hidden."""

    HIDDEN = (
        "this container hides the GPU processes (the driver gives host pids): memory per process needs --pid=host, "
        "in Kubernetes hostPID: true; till then they are known by their open /dev/nvidia* files"
    )

    def __init__(self, in_container: bool | None = None) -> None:
        elsewhere = namespace("self", "pid") not in (None, ROOT_NAMESPACE)
        self._in_container = elsewhere if in_container is None else in_container
        self._unseen: dict[object, float] = {}
        self._ever_seen = False

    def mark(self, gpus: tuple[Gpu, ...], now: float) -> tuple[tuple[Gpu, ...], bool]:
        """The GPUs with `visible` set on their processes, and whether the namespace hides them: at once if no pid of the driver
        was ever visible, because `check` does not run for `UNSEEN_S`."""
        listed = {process.pid for gpu in gpus for process in gpu.processes}
        unseen: set[object] = {pid for pid in listed if not exists(pid)}
        self._ever_seen |= len(unseen) < len(listed)
        unseen |= {
            gpu.uuid for gpu in gpus if self._in_container and not gpu.processes and (gpu.used_bytes or 0) > OWNERLESS_BYTES
        }
        self._unseen = {key: self._unseen.get(key, now) for key in unseen}
        gone = {key for key, since in self._unseen.items() if now - since >= UNSEEN_S}
        hidden = self._in_container and bool(gone or (listed and not self._ever_seen))
        marked = tuple(_marked(gpu, gone, hidden) if gpu.processes else gpu for gpu in gpus)
        return marked, hidden


def _marked(gpu: Gpu, gone: set[object], hidden: bool) -> Gpu:
    """If one pid is hidden, the others mean nothing either: a local process may have the same number by chance."""
    processes = (replace(process, visible=not hidden and process.pid not in gone) for process in gpu.processes)
    return replace(gpu, processes=tuple(processes))


def exists(pid: int) -> bool:
    """Whether this pid exists in our namespace, also where /proc hides other users' processes (hidepid)."""
    try:
        os.getpgid(pid)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
