"""All NVIDIA GPUs of this node. `nvmlInit` may hang like any call, so it runs in a thread of its own."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

from msgspec.structs import replace

from hangtop.common import clock
from hangtop.probe.gpu import codes
from hangtop.probe.gpu.gpu_thread import GpuThread
from hangtop.probe.gpu.reopen_check import ReopenCheck
from hangtop.probe.source import Absent, SourceError
from hangtop.records.gpu import Gpu, GpuReading, GpuStatus
from hangtop.records.health import LATE_S, NO_ANSWER_S
from hangtop.system.processes.proc_files import FIRST_PID_NAMESPACE, namespace, read_text

LIBRARY = "libnvidia-ml.so.1"
OPEN_WAIT_S = 0.5
FIRST_ROUND_WAIT_S = 0.3
RETIRE_WAIT_S = 2.0
REOPEN_AFTER_S = (10.0, 20.0, 40.0, 60.0)
"""NVML is opened again when no GPU gave a value for this long: the driver may have been reloaded. The last one repeats."""
RETRY_AFTER_S = (15.0, 30.0, 60.0, 120.0)
"""A child checks whether a GPU is back that was broken for this long beside healthy ones. The last one repeats."""
BROKEN: frozenset[GpuStatus] = frozenset({"lost", "unknown error", "reset needed"})

NOT_LOADED = "the NVIDIA driver is not loaded in the kernel: sudo modprobe nvidia (in a container: start it with --gpus all)"
RELOAD = "sudo rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia && sudo modprobe nvidia"


UNSEEN_S = 5.0
"""An ended process leaves the driver's list within a read; one that stays listed and is not visible is hidden."""

OWNERLESS_BYTES = 1 << 30
"""Used memory without a process that is more than the driver's own."""


class NvmlOpening(threading.Thread):
    """One try to open NVML, after closing it for `old` GPUs. It may hang for ever; then it is left alone.

    `calls`: the driver's library is here and was called."""

    def __init__(self, old: tuple[GpuThread, ...] = ()) -> None:
        super().__init__(name="nvml-init", daemon=True)
        self._old = old
        self.asked_at = clock.now()
        self.calls = False
        self.nvml: Any = None
        self.count = 0
        self.driver: str | None = None
        self.error: Exception | None = None
        self.done = threading.Event()

    def run(self) -> None:
        try:
            ctypes.CDLL(LIBRARY)  # as the binding does; without the library the binding is not loaded (1 MB)
            nvml = import_module("pynvml")
            self.calls = True
            for thread in self._old:
                thread.retire(RETIRE_WAIT_S)
            if self._old:  # the driver that gave the old handles is gone
                with suppress(nvml.NVMLError):
                    nvml.nvmlShutdown()
            nvml.nvmlInit()
            self.count = nvml.nvmlDeviceGetCount()
            self.driver = nvml.nvmlSystemGetDriverVersion()
            self.nvml = nvml
        except Exception as error:  # raised by `NvmlNode.read`
            self.error = error
        self.done.set()


class NvmlNode:
    """Reads through NVML. `read` never waits for the driver longer than `OPEN_WAIT_S`."""

    def __init__(self) -> None:
        self._opening: NvmlOpening | None = None
        self._threads: tuple[GpuThread, ...] = ()
        self._visibility = PidVisibility()
        self._well_at = 0.0
        self._reopened = 0
        self._all_well_at = 0.0
        self._checks = 0
        self._check: ReopenCheck | None = None

    def read(self, now: float) -> GpuReading:
        """Raises `Absent` when there is no such driver or GPU, `SourceError` when the driver refuses."""
        if not self._threads and (waiting := self._open(now)):
            return waiting
        known = tuple(thread.gpu(now) for thread in self._threads)
        self._reopen_if_dead(known, now)
        self._reopen_if_one_is_back(known, now)
        gpus, pids_hidden = self._visibility.mark(known, now)
        slow = max((gpu.call_s or 0.0 for gpu in gpus if gpu.status == "late"), default=0.0)
        notes = [f"the driver is slow: a call takes {slow:.1f} s"] if slow >= 1.0 else []
        return GpuReading(
            gpus=gpus,
            driver=self._opening.driver if self._opening else None,
            stuck_since=self._stuck_since(gpus, now) if self._threads else None,
            pids_hidden=pids_hidden,
            notes=(*notes, PidVisibility.HIDDEN) if pids_hidden else tuple(notes),
        )

    def _open(self, now: float) -> GpuReading | None:
        """`None` once NVML is open; a reading without GPUs while the driver does not answer."""
        if self._opening is None:
            self._opening = NvmlOpening()
            self._opening.start()
        opening = self._opening
        if not opening.done.wait(OPEN_WAIT_S):
            late = now - opening.asked_at > LATE_S
            return GpuReading(stuck_since=opening.asked_at if late else None, stuck_in="nvmlInit" if opening.calls else None)
        if opening.error or not opening.count:
            self._opening = None
            raise _refusal(opening.error) if opening.error else Absent("no GPU here: the NVIDIA driver lists none")
        self._well_at = self._all_well_at = now
        self._threads = tuple(GpuThread(opening.nvml, index) for index in range(opening.count))
        until = time.monotonic() + FIRST_ROUND_WAIT_S
        while time.monotonic() < until and any(thread.gpu(clock.now()).status == "reading" for thread in self._threads):
            time.sleep(0.02)
        return None

    def _reopen_if_dead(self, gpus: tuple[Gpu, ...], now: float) -> None:
        """Open NVML again when every GPU has been broken for a while; not while one hangs in a call."""
        if any(gpu.status not in (*BROKEN, "reading") for gpu in gpus):
            self._well_at, self._reopened = now, 0
        elif now - self._well_at > _step(REOPEN_AFTER_S, self._reopened):
            self._reopened += 1
            self._reopen()

    def _reopen_if_one_is_back(self, gpus: tuple[Gpu, ...], now: float) -> None:
        """A GPU that was reset stays lost for a process that opened NVML before, so open it again when a child can read the
        GPU."""
        broken = next((gpu for gpu in gpus if gpu.status in BROKEN), None)
        if broken is None:
            self._all_well_at, self._checks, self._check = now, 0, None
        elif self._check is None:
            if now - self._all_well_at > _step(RETRY_AFTER_S, self._checks):
                self._check = ReopenCheck(broken.index, broken.uuid)
        elif (answers := self._check.answers()) is not None:
            self._all_well_at, self._checks, self._check = now, self._checks + 1, None
            if answers and not any(gpu.status in ("late", "no answer") for gpu in gpus):
                self._reopen()

    def _reopen(self) -> None:
        self._opening = NvmlOpening(self._threads)
        self._opening.start()
        self._threads = ()

    def _stuck_since(self, gpus: tuple[Gpu, ...], now: float) -> float | None:
        """Since when no GPU answers, lost ones left out; `None` if one answers."""
        alive = [thread for thread, gpu in zip(self._threads, gpus, strict=True) if gpu.status != "lost"]
        waits = [since for thread in alive if (since := thread.waits_since()) is not None]
        silent = waits and len(waits) == len(alive) and now - max(waits) > NO_ANSWER_S
        return max(waits) if silent else None


class PidVisibility:
    """Marks processes that are not visible here: in a container, the driver's pids are those of the host and mean nothing inside.
    Remembers since when, so that an ending process does not count as hidden.

    Sources: nvtop#149, nvitop#75, nvidia-docker#179 (NVML gives host pids; only `--pid=host` helps from inside).
    """

    HIDDEN = (
        "this container hides the GPU processes (the driver gives host pids): memory per process needs --pid=host, "
        "in Kubernetes hostPID: true; till then they are known by their open /dev/nvidia* files"
    )

    def __init__(self, in_container: bool | None = None) -> None:
        elsewhere = namespace("self", "pid") not in (None, FIRST_PID_NAMESPACE)
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


def _step(pauses: Sequence[float], count: int) -> float:
    return pauses[min(count, len(pauses) - 1)]


def _refusal(error: Exception) -> Absent | SourceError:
    """What a failed `nvmlInit` means, and the command that mends it."""
    code = getattr(error, "value", None)
    if isinstance(error, ImportError):
        return SourceError("the Python package nvidia-ml-py is missing: pip install nvidia-ml-py")
    if isinstance(error, OSError):
        return Absent(f"no NVIDIA driver here ({LIBRARY} not found)")
    if code == codes.DRIVER_NOT_LOADED:
        return SourceError(NOT_LOADED)
    if code == codes.VERSION_MISMATCH:
        version = f" ({known})" if (known := read_text("/sys/module/nvidia/version")) else ""
        return SourceError(f"NVIDIA driver in the kernel{version} and its library differ in version: reboot, or {RELOAD}")
    if code == codes.NO_PERMISSION:
        return SourceError("the NVIDIA driver refuses this user: sudo usermod -aG video $USER (see ls -l /dev/nvidiactl)")
    return SourceError(f"the NVIDIA driver does not start: {error} (see nvidia-smi and dmesg)")
