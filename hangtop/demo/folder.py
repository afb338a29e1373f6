"""The folder of a demo run. It goes with hangtop; what a killed hangtop left behind, the next demo removes.

The owner holds a lock on a file in it (`flock(2)`), which the kernel lets go when the owner dies, however it dies: no pid is
asked, which might be another's by now.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

PREFIX = "hangtop-demo-"
OWNER = "owner"


@contextmanager
def demo_folder() -> Iterator[Path]:
    """A new folder that is there as long as this is open."""
    remove_orphaned()
    with TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        owner = os.open(folder / f"{OWNER}.new", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(owner, fcntl.LOCK_EX)
            (folder / f"{OWNER}.new").rename(folder / OWNER)  # only now: who finds it unlocked takes it for orphaned
            yield folder
        finally:
            os.close(owner)


def remove_orphaned() -> None:
    """Folders of ours whose owner lives no more."""
    for folder in Path(gettempdir()).glob(f"{PREFIX}*"):
        try:
            if folder.lstat().st_uid != os.getuid():
                continue
            owner = os.open(folder / OWNER, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:  # gone by now, or not one of these
            continue
        try:
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:  # its owner lives
            continue
        finally:
            os.close(owner)
