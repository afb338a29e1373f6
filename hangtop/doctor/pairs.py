"""Versions in the run's interpreter that must fit the GPU driver and the Ray cluster. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hangtop.doctor.check import Check, fail, ok

OLDEST_DRIVER = {11: (450, 80), 12: (525, 60), 13: (580, 65)}
"""The oldest driver by CUDA major version (NVIDIA, CUDA Toolkit release notes: minor version compatibility)."""


def cuda_of(installed: Mapping[str, str]) -> tuple[int, int] | None:
    """The CUDA version that torch was built for: by its own tag (`+cu128`), else by the runtime that it brought along."""
    if tag := re.search(r"\+cu(\d\d)(\d)", installed.get("torch", "")):
        return int(tag[1]), int(tag[2])
    if "torch" not in installed or "+" in installed["torch"]:
        return None
    runtimes = (name for name in installed if re.fullmatch(r"nvidia-cuda-runtime(?:-cu\d\d)?", name))
    found = re.match(r"(\d+)\.(\d+)", installed.get(next(runtimes, ""), ""))
    return (int(found[1]), int(found[2])) if found else None


def driver(installed: Mapping[str, str], version: str | None, *, has_compat: bool) -> Iterator[Check]:
    """Whether the driver is new enough for torch's CUDA. `has_compat`: NVIDIA's forward compatibility libraries are there."""
    cuda, found = cuda_of(installed), re.match(r"(\d+)\.(\d+)", version or "")
    oldest = OLDEST_DRIVER.get(cuda[0]) if cuda else None
    if cuda is None or found is None or oldest is None:
        return
    pair = f"torch is built for CUDA {cuda[0]}.{cuda[1]}, the driver is {version}"
    if (int(found[1]), int(found[2])) >= oldest:
        yield ok("gpu", "CUDA and driver", pair)
        return
    detail = f"{pair}; CUDA {cuda[0]} needs {oldest[0]}.{oldest[1]} or newer"
    mend = "a newer driver, or a torch build for an older CUDA (https://pytorch.org/get-started/previous-versions)"
    yield Check("gpu", "CUDA and driver", "warn" if has_compat else "fail", detail, mend)


def ray(installed: Mapping[str, str], running: str) -> Iterator[Check]:
    """Ray refuses a driver of another version than its cluster's."""
    here = installed.get("ray")
    if not here or not running:
        return
    if here == running:
        yield ok("ray", "version", f"{here}, as the cluster")
    else:
        detail = f"the cluster runs {running}, the interpreter has {here}: ray.init() will refuse"
        yield fail("ray", "version", detail, f"pip install 'ray=={running}'")
