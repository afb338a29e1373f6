"""A real service manager of its own: `systemd --user` in mount and cgroup namespaces, where nothing else is managed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fakes.processes import PATIENCE_S, end_group, eventually

SYSTEMD = "/lib/systemd/systemd"
ALONE = ("unshare", "--mount", "--cgroup", "sh", "-c")
BEGIN = f"""
mount -t tmpfs none /run && mkdir -p /run/systemd/system && \
mount -t tmpfs none /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && \
exec {SYSTEMD} --user --log-target=console
"""
"""Only where a system was booted with systemd, which is told by that folder, does it manage services of a user."""


def missing() -> str:
    """Why there can be none here; empty if there can."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return "needs root, for a service manager in namespaces"
    if not os.path.exists(SYSTEMD) or shutil.which("systemctl") is None or shutil.which("unshare") is None:
        return "no systemd here: apt-get install systemd"
    return ""


class UserSystemd:
    """`home`: that of the user whose services it manages."""

    def __init__(self, home: Path, runtime: str) -> None:
        self.home = home
        self.environ = {**os.environ, "HOME": str(home), "XDG_RUNTIME_DIR": runtime}
        for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "DBUS_SESSION_BUS_ADDRESS", "NOTIFY_SOCKET"):
            self.environ.pop(name, None)

    def ctl(self, *words: str) -> tuple[int, str]:
        """Exit code and output of `systemctl --user`."""
        done = subprocess.run(
            ("systemctl", "--user", *words), env=self.environ, capture_output=True, text=True, timeout=PATIENCE_S
        )
        return done.returncode, (done.stdout + done.stderr).strip()

    def told(self, unit: str, name: str) -> str:
        """A property of this unit."""
        return self.ctl("show", "--value", "--property", name, unit)[1]


@contextmanager
def user_systemd(home: Path) -> Iterator[UserSystemd]:
    """It runs, and ends with all of its services."""
    with TemporaryDirectory(prefix="systemd-") as runtime, (home / "systemd.log").open("wb") as log:  # paths of sockets are short
        manager = UserSystemd(home, runtime)
        process = subprocess.Popen((*ALONE, BEGIN), env=manager.environ, stdout=log, stderr=log, start_new_session=True)
        try:
            eventually(lambda: manager.ctl("list-units")[0] == 0 or process.poll() is not None, "the service manager")
            assert process.poll() is None, (home / "systemd.log").read_text()
            yield manager
            process.terminate()
            process.wait(PATIENCE_S)
        finally:
            end_group(process)
