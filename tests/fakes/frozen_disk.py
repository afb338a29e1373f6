"""A disk on which every write waits for ever."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fakes.processes import eventually

TOOLS = ("mkfs.ext4", "fsfreeze", "losetup")


@contextmanager
def frozen_disk(tmp_path: Path, *holding: str) -> Iterator[Path]:
    """A file system of its own, with these empty files, on which every write sleeps in D state, which not even SIGKILL ends.

    Thawed and unmounted at the end. Skips the test where it cannot be had.
    """
    if os.geteuid() != 0:
        pytest.skip("true D state needs root: a file system is mounted and frozen")
    if missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
        pytest.skip(f"true D state needs {', '.join(missing)}")
    image, mount = tmp_path / "disk.img", tmp_path / "disk"
    mount.mkdir()
    with image.open("wb") as file:
        file.truncate(16 * 2**20)
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True, capture_output=True)
    if (mounted := subprocess.run(["mount", "-o", "loop", str(image), str(mount)], capture_output=True, text=True)).returncode:
        pytest.skip(f"true D state needs a loop mount, which this machine does not give: {mounted.stderr.strip()}")
    try:
        mount.chmod(0o777)
        for name in holding:
            (mount / name).touch()
        subprocess.run(["fsfreeze", "-f", str(mount)], check=True)
        yield mount
    finally:
        subprocess.run(["fsfreeze", "-u", str(mount)], check=False, capture_output=True)
        eventually(lambda: subprocess.run(["umount", str(mount)], capture_output=True).returncode == 0, "the unmount")
