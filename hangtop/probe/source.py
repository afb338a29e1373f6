"""What can be read from outside. Every source runs in the probe, in a thread of its own, and may block or fail there.

To add one, write a subclass of `Source` and name it in `SOURCES` and in `records.watch_spec`, without which no watch runs it.
A question names its source in `records.ask.ANSWERED_BY`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, cast

from hangtop.probe.context import ProbeContext
from hangtop.records.reading import Value


class Absent(Exception):  # not an error: there is nothing here to read
    """There is nothing to read here (no GPU, no Ray). The message says so in one line; the probe looks again later."""


class SourceError(Exception):
    """The source cannot read. The message says what, why and the command that mends it; the probe tries again."""


class Source:
    """Reads one thing, answers questions about it, or both. All calls come from one thread."""

    deadline_s = 5.0

    @property
    def interval_s(self) -> float:
        """The pause between two reads."""
        return 5.0

    def read(self, now: float) -> Iterable[Value]:
        """What is new since the last call, as of unix time `now`. May raise `Absent` or `SourceError`."""
        return ()

    def answer(self, ask: Any, now: float) -> Iterable[Value]:
        """The parts of the answer to a question: one of the types for which `ANSWERED_BY` names this source."""
        return ()


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
    "waits": "hangtop.probe.waits.wait_source:WaitSource",
    "launch": "hangtop.probe.processes.launch_source:LaunchSource",
    "host": "hangtop.probe.host.host_source:HostSource",
    "inspect": "hangtop.probe.processes.inspect_source:InspectSource",
    "leftovers": "hangtop.probe.leftovers.leftovers_source:LeftoverSource",
    "nccl": "hangtop.probe.nccl.nccl_source:NcclSource",
    "torchdebug": "hangtop.probe.torch_debug.torch_debug_source:TorchDebugSource",
}
"""Every source: its name and its class, which is imported when the source is first opened."""
ONLY_ANSWER = frozenset({"pages", "stacks", "waits", "launch", "inspect", "leftovers"})
"""Those that read nothing by themselves."""


def open_source(name: str, context: ProbeContext) -> Source:
    """The source of this name. Raises `KeyError` for a name that is not in `SOURCES`."""
    module, _, attribute = SOURCES[name].partition(":")
    return cast("Callable[[ProbeContext], Source]", getattr(import_module(module), attribute))(context)
