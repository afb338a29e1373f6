"""Which network file system a file lies on, and how late changes may be visible there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from msgspec import Struct

from hangtop.system.processes.proc_files import read_text

SLACK_S: dict[str, tuple[str, float]] = {
    "nfs": ("NFS", 30.0),
    "nfs4": ("NFS", 30.0),
    "cifs": ("SMB", 10.0),
    "smb3": ("SMB", 10.0),
    "smbfs": ("SMB", 10.0),
    "lustre": ("Lustre", 5.0),
    "gpfs": ("GPFS", 5.0),
    "beegfs": ("BeeGFS", 5.0),
    "wekafs": ("WekaFS", 5.0),
    "ceph": ("CephFS", 5.0),
    "fuse.ceph-fuse": ("CephFS", 5.0),
    "fuse.glusterfs": ("GlusterFS", 5.0),
    "fuse.juicefs": ("JuiceFS", 5.0),
    "panfs": ("PanFS", 5.0),
    "pvfs2": ("OrangeFS", 5.0),
    "afs": ("AFS", 30.0),
    "9p": ("9p", 5.0),
    "virtiofs": ("virtiofs", 1.0),
    "fuse.sshfs": ("sshfs", 20.0),
    "fuse.s3fs": ("s3fs", 60.0),
    "fuse.mount-s3": ("Mountpoint S3", 60.0),
    "fuse.gcsfuse": ("gcsfuse", 60.0),
    "fuse.goofys": ("goofys", 60.0),
    "fuse.rclone": ("rclone", 60.0),
    "fuse.blobfuse2": ("blobfuse2", 60.0),
}
"""Type of mount → its name on screen, and how many seconds late bytes written elsewhere may show.

NFS: the writer's node holds dirty pages up to 30 s (`vm.dirty_expire_centisecs`); the reader's attribute cache (up to
`acregmax`, 60 s by default) is passed by opening anew every few seconds. sshfs caches for 20 s. Object stores show
a file when it is closed or flushed. The cluster file systems keep their caches coherent; a few seconds cover a busy server."""


_ESCAPED = re.compile(r"\\([0-7]{3})")


class FileSystem(Struct, frozen=True):
    """Name of a network file system, and the slack to add to a stall limit. A local one has neither."""

    network: str | None = None
    slack_s: float = 0.0


def file_system_of(path: str) -> FileSystem:
    """The file system of `path`, which need not exist yet. Without a mount table (a locked-down container) it counts as local."""
    real = os.path.realpath(path)
    try:
        return nearest(_mounts(), real)
    except OSError:
        return FileSystem()


def _mounts() -> list[tuple[str, str, str]]:
    """(mount point, type, options) of each. Raises `OSError`."""
    if lines := read_text("/proc/self/mounts").splitlines():
        told = (line.split(" ") for line in lines)
        return [(unescaped(words[1]), words[2], words[3]) for words in told if len(words) >= 4]
    import psutil  # macOS

    return [(mount.mountpoint, mount.fstype, mount.opts) for mount in psutil.disk_partitions(all=True)]


def unescaped(word: str) -> str:
    r"""A word of a mount table (fstab(5)): a blank in it stands as `\040`."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 8)), word)


def nearest(mounts: list[tuple[str, str, str]], real: str) -> FileSystem:
    """Of these (mount point, type, options), the one that `real` lies on."""
    if (mount := mount_of(real, mounts)) is None:
        return FileSystem()
    _, kind, options = mount
    name, slack_s = SLACK_S.get(kind, (None, 0.0))
    if name == "NFS" and re.search(r"(^|,)(noac|actimeo=0|sync)(,|$)", options):
        slack_s = 5.0
    return FileSystem(name, slack_s)


def mount_of(path: str, mounts: Iterable[tuple[str, str, str]]) -> tuple[str, str, str] | None:
    """The mount that holds this path, of tuples that begin with the mount point. The last mount on a point hides those before."""
    holding = [mount for mount in mounts if os.path.join(path, "").startswith(os.path.join(mount[0], ""))]
    return max(enumerate(holding), key=lambda numbered: (len(numbered[1][0]), numbered[0]))[1] if holding else None
