"""The GPU source: NVIDIA's GPUs, and one line each for accelerators of other makers, which hangtop cannot read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from hangtop.probe.context import ProbeContext
from hangtop.probe.gpu.node import NvmlNode
from hangtop.probe.source import Absent, Source, SourceError
from hangtop.records.health import NO_ANSWER_S
from hangtop.records.reading import Value
from hangtop.system.processes.proc_files import read_text

PCI_DISPLAY = "0x03"
PCI_NVIDIA = "0x10de"


class GpuSource(Source):
    """One reading a second. A driver that hangs shows in the reading; if all of it hangs, the source has failed too."""

    interval_s = 1.0
    deadline_s = 3.0

    def __init__(self, context: ProbeContext) -> None:
        self._node = NvmlNode()

    def read(self, now: float) -> Iterator[Value]:
        try:
            reading = self._node.read(now)
        except Absent as absent:
            raise Absent("; ".join((str(absent), *others_here()))) from None
        yield reading
        if reading.stuck_since is not None and now - reading.stuck_since > NO_ANSWER_S:
            where = f"{reading.stuck_in} has not returned" if reading.stuck_in else "no GPU answers"
            mend = "look at dmesg for Xid or NVRM lines; a reboot may be needed"
            raise SourceError(f"the {reading.vendor} driver does not answer ({where}): {mend}")


OTHERS = (
    ("an AMD GPU", "rocm-smi", ("dev/kfd", "sys/module/amdgpu")),
    ("an Intel GPU", "xpu-smi", ("sys/module/xe/drivers/pci:xe/0000:*", "sys/module/i915/drivers/pci:i915/0000:*")),
    ("an Intel Gaudi", "hl-smi", ("dev/hl[0-9]*", "sys/module/habanalabs")),
    ("an Ascend NPU", "npu-smi info", ("dev/davinci[0-9]*",)),
)
"""What it is, the command that shows it, and glob patterns below the root: any match means that it is here."""
NVIDIA_WITHOUT_DRIVER = "an NVIDIA GPU is on the bus: install its driver, or start the container with --gpus all"


def others_here(root: Path = Path("/"), platform: str = sys.platform) -> tuple[str, ...]:
    """One phrase for each kind that is here. Reads only names and PCI ids, never a driver."""
    if platform == "darwin":
        return (_phrase("an Apple GPU", "sudo powermetrics --samplers gpu_power"),)
    found = [_phrase(what, tool) for what, tool, signs in OTHERS if any(next(root.glob(sign), None) for sign in signs)]
    return (*found, NVIDIA_WITHOUT_DRIVER) if _nvidia_on_the_bus(root) else tuple(found)


def _phrase(what: str, tool: str) -> str:
    return f"{what} is here, which hangtop does not read: {tool} shows it"


def _nvidia_on_the_bus(root: Path) -> bool:
    devices = root.glob("sys/bus/pci/devices/*")
    return any(read_text(each / "vendor") == PCI_NVIDIA and read_text(each / "class").startswith(PCI_DISPLAY) for each in devices)
