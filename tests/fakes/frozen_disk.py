"""A disk on which every write waits for ever."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fakes.processes import eventually


@contextmanager
def frozen_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own on which every write waits for ever. Thawed and unmounted at the end."""
    image, mount = tmp_path / "disk.img", tmp_path / "disk"
    mount.mkdir()
    with image.open("wb") as file:
        file.truncate(16 * 2**20)
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True, capture_output=True)
    if subprocess.run(["mount", "-o", "loop", str(image), str(mount)], capture_output=True).returncode:
        pytest.skip("this machine allows no loop mount, so no process can be brought into uninterruptible sleep")
    try:
        subprocess.run(["fsfreeze", "-f", str(mount)], check=True)
        yield mount
    finally:
        subprocess.run(["fsfreeze", "-u", str(mount)], check=False)
        eventually(lambda: subprocess.run(["umount", str(mount)], capture_output=True).returncode == 0, "the unmount")
