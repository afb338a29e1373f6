"""Network file systems are named, with the lateness that a stall limit must allow for."""

from __future__ import annotations

import os

from hangtop.system.files.network_filesystems import file_system_of, nearest

MOUNTS = [
    ("/", "ext4", "rw"),
    ("/data", "autofs", "rw"),
    ("/data", "nfs4", "rw,hard"),
    ("/data/scratch", "lustre", "rw"),
    ("/home", "nfs", "rw,noac"),
    ("/proc", "proc", "rw"),
]


def test_the_longest_mount_point_holds_the_file():
    assert nearest(MOUNTS, "/data/scratch/run/train.log").network == "Lustre"
    assert nearest(MOUNTS, "/data/run/train.log").network == "NFS"
    assert nearest(MOUNTS, "/database/train.log").network is None
    assert nearest(MOUNTS, "/var/log/train.log").slack_s == 0


def test_an_nfs_mount_without_attribute_cache_is_less_late():
    assert nearest(MOUNTS, "/data/x").slack_s == 30
    assert nearest(MOUNTS, "/home/x").slack_s == 5


def test_a_file_on_this_machine_is_local(tmp_path):
    assert file_system_of(os.fspath(tmp_path / "not-there-yet" / "train.log")).network is None


def test_no_mount_table_means_local():
    assert nearest([], "/x").network is None
