"""Which mount a blocked process waits for, and whether it answers: on one that is really frozen, and one that is really dead."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hangtop.probe.storage.mounts import BlockedMounts, file_of
from hangtop.records.process import BlockedOn, Process
from hangtop.system.files.network_filesystems import mount_of
from tests.fakes.frozen_disk import frozen_disk
from tests.fakes.processes import PATIENCE_S, eventually, python

needs_root = pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs root, for its own mounts")
MNT_DETACH = 2


@contextmanager
def dead_mount(tmp_path: Path) -> Iterator[Path]:
    """A FUSE file system whose server took the mount and says nothing: every call on it waits, as with a dead NFS server."""
    mount, libc = tmp_path / "dead", ctypes.CDLL(None, use_errno=True)
    mount.mkdir()
    try:
        device = os.open("/dev/fuse", os.O_RDWR)
    except OSError:
        pytest.skip("no /dev/fuse here")
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
    if libc.mount(b"server:/export", str(mount).encode(), b"fuse", 0, options):
        os.close(device)
        pytest.skip("this machine allows no FUSE mount")
    try:
        yield mount
    finally:
        os.close(device)  # ends the connection: who waits gets an error
        libc.umount2(str(mount).encode(), MNT_DETACH)


def blockage(pid: int, blockages: BlockedMounts) -> BlockedOn | None:
    process = Process(pid, 0.0, 1, 1, "python", "python", "D")
    return next(iter(blockages.find([process], time.time())), None)


def found(pid: int, path: Path, answers: bool, blockages: BlockedMounts) -> BlockedOn:
    """What is known of it as soon as it stands at this file, and it is told whether the mount answers."""
    eventually(lambda: file_of(pid) == str(path), "its wait")

    def told() -> BlockedOn | None:
        blocked_on = blockage(pid, blockages)
        return blocked_on if blocked_on is not None and blocked_on.answers is answers else None

    return eventually(told, f"the answer {answers}")


def _wchan(pid: int) -> str:
    return Path(f"/proc/{pid}/wchan").read_text()


def test_a_frozen_file_system_is_named_and_answers(tmp_path: Path) -> None:
    with frozen_disk(tmp_path) as disk:
        path = disk / "checkpoint.pt"
        with python(f"open({str(path)!r}, 'w')") as process:
            blocked_on = found(process.pid, path, answers=True, blockages=BlockedMounts())
            assert (blocked_on.file, blocked_on.mount, blocked_on.kind) == (str(path), str(disk), "ext4")
            assert blocked_on.device.startswith("/dev/loop")
            subprocess.run(["fsfreeze", "-u", str(disk)], check=True)
            process.wait(PATIENCE_S)
            subprocess.run(["fsfreeze", "-f", str(disk)], check=True)


@needs_root
def test_a_dead_file_system_is_named_and_does_not_answer(tmp_path: Path) -> None:
    blockages = BlockedMounts()
    with dead_mount(tmp_path) as mount, python(f"open({str(mount / 'shard.bin')!r})") as process:
        blocked_on = found(process.pid, mount / "shard.bin", answers=False, blockages=blockages)
        assert (blocked_on.mount, blocked_on.kind, blocked_on.device) == (str(mount), "fuse", "server:/export")
        assert blocked_on.file == str(mount / "shard.bin")
    eventually(lambda: all(check.ended for check in blockages._asked.values()), "the end of its child")


def test_the_file_of_a_call_with_a_descriptor_and_of_one_that_has_none(tmp_path: Path) -> None:
    with python("import os, time; time.sleep(600)") as process:
        eventually(lambda: _wchan(process.pid) in ("", "0") or "nanosleep" in _wchan(process.pid), "its sleep")
        assert file_of(process.pid) is None


def test_the_innermost_mount_holds_a_file_and_the_last_one_hides_those_before() -> None:
    mounts = [("/", "ext4", "/dev/sda"), ("/mnt", "nfs", "a:/x"), ("/mnt", "nfs4", "b:/y"), ("/mnt2", "xfs", "/dev/sdb")]
    assert mount_of("/mnt/data/a.bin", mounts) == ("/mnt", "nfs4", "b:/y")
    assert mount_of("/mnt2", mounts) == ("/mnt2", "xfs", "/dev/sdb")
    assert mount_of("/home/x", mounts) == ("/", "ext4", "/dev/sda")
    assert mount_of("/home/x", []) is None
