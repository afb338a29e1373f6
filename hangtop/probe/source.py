"""What can be read from outside. Every source runs in the probe, in a thread of its own, and may block or fail there."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Protocol, cast

from hangtop.records.ask import Ask
from hangtop.records.reading import Value
from hangtop.records.watch_spec import WatchSpec


class Absent(Exception):  # not an error: there is nothing here to read
    """There is nothing to read here (no GPU, no Ray). The message says so in one line; the probe looks again later."""


class SourceError(Exception):  # a state of the world, shown to the person as it is
    """The source cannot read. The message says what, why and the command that mends it; the probe tries again."""


class Source(Protocol):
    """Reads one thing. All calls come from one thread, never two at once."""

    name: str
    interval_s: float
    deadline_s: float

    def read(self, now: float) -> Iterable[Value]:
        """What is new since the last call; nothing when nothing is. May raise `Absent` or `SourceError`."""
        ...

    def answer(self, ask: Ask, now: float) -> Iterable[Value]:
        """The answer to a question for this source, in as many parts as it takes."""
        ...


SOURCES: dict[str, str] = {
    "log": "hangtop.probe.log.log_source:LogSource",
    "pages": "hangtop.probe.log.pages:PageSource",
    "procs": "hangtop.probe.processes.process_source:ProcessSource",
    "runs": "hangtop.probe.processes.runs_here:RunsSource",
    "checkpoints": "hangtop.probe.storage.checkpoint_source:CheckpointSource",
    "gpu": "hangtop.probe.gpu.gpu_source:GpuSource",
    "ray": "hangtop.probe.ray.ray_source:RaySource",
    "rayworkers": "hangtop.probe.ray.workers_source:RayWorkerSource",
    "stacks": "hangtop.probe.stacks.stack_source:StackSource",
    "launch": "hangtop.probe.processes.launch_source:LaunchSource",
    "leftovers": "hangtop.probe.processes.leftovers_source:LeftoverSource",
    "nccl": "hangtop.probe.nccl.nccl_source:NcclSource",
}
"""Every source: its name and where its class is. Imported only in the probe, and only those that are asked for."""


def open_source(name: str, spec: WatchSpec) -> Source:
    """The source of this name. Raises `KeyError` for a name that is not in `SOURCES`."""
    module, _, attribute = SOURCES[name].partition(":")
    return cast("Source", getattr(import_module(module), attribute)(spec))
