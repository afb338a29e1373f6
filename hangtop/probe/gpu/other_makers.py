"""Accelerators that hangtop cannot read: named in one line."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

PCI_DISPLAY = "0x03"
PCI_NVIDIA = "0x10de"


@dataclass(frozen=True, slots=True)
class OtherMaker:
    """`signs`: glob patterns below the root; any match means that it is here. `tool`: the command that shows it."""

    what: str
    signs: tuple[str, ...]
    tool: str


OTHERS = (
    OtherMaker("an AMD GPU", ("dev/kfd", "sys/module/amdgpu"), "rocm-smi"),
    OtherMaker("an Intel GPU", ("sys/module/xe/drivers/pci:xe/0000:*", "sys/module/i915/drivers/pci:i915/0000:*"), "xpu-smi"),
    OtherMaker("an Intel Gaudi", ("dev/hl[0-9]*", "sys/module/habanalabs"), "hl-smi"),
    OtherMaker("an Ascend NPU", ("dev/davinci[0-9]*",), "npu-smi info"),
)
APPLE = OtherMaker("an Apple GPU", (), "sudo powermetrics --samplers gpu_power")
NVIDIA_WITHOUT_DRIVER = "an NVIDIA GPU is on the bus: install its driver, or start the container with --gpus all"


def others_here(root: Path = Path("/"), platform: str = sys.platform) -> tuple[str, ...]:
    """One phrase for each kind that is here. Reads only names and PCI ids, never a driver."""
    if platform == "darwin":
        return (_phrase(APPLE),)
    found = [_phrase(other) for other in OTHERS if any(next(root.glob(sign), None) for sign in other.signs)]
    return (*found, NVIDIA_WITHOUT_DRIVER) if _nvidia_on_the_bus(root) else tuple(found)


def _phrase(other: OtherMaker) -> str:
    return f"{other.what} is here, which hangtop does not read: {other.tool} shows it"


def _nvidia_on_the_bus(root: Path) -> bool:
    devices = root.glob("sys/bus/pci/devices/*")
    return any(_text(each / "vendor") == PCI_NVIDIA and _text(each / "class").startswith(PCI_DISPLAY) for each in devices)


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:  # gone, or not ours to read
        return ""
