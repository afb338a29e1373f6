"""The folder of a demo run. It goes with hangtop; what a killed hangtop left behind, the next demo removes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from hangtop.demo.lifeline import is_cut

PREFIX = "hangtop-demo-"


@contextmanager
def demo_folder() -> Iterator[Path]:
    """A new folder that is there as long as this is open."""
    _remove_orphaned()
    with TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
        yield Path(name)


def _remove_orphaned() -> None:
    """Our folders in which a lifeline is cut: no pid is asked whether its hangtop lives, which might be another's by now."""
    for lifeline in Path(gettempdir()).glob(f"{PREFIX}*/*.lifeline"):
        try:
            if lifeline.lstat().st_uid != os.getuid():
                continue
            fd = os.open(lifeline, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:  # gone by now, or not one of these
            continue
        try:
            if is_cut(fd):
                shutil.rmtree(lifeline.parent, ignore_errors=True)
        finally:
            os.close(fd)
