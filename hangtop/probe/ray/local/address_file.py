"""The file in Ray's temporary folder that tells `ray.init()` which cluster to join. `ray start` writes it; only a plain `ray
stop` removes it, and only from the default folder.

Left behind by a cluster that is gone, it makes the next `ray.init(num_cpus=…)` fail: "When connecting to an existing cluster, …".
The link `session_latest` beside it, left behind, is never updated (ray/_private/utils.py, `try_to_symlink`).
"""

from __future__ import annotations

import errno
import os
import socket
import stat as modes
from collections.abc import Mapping

from hangtop.common.addresses import is_one_of
from hangtop.probe.ray.local.daemons import daemon_of

NAME, LATEST = "ray_current_cluster", "session_latest"
LONGEST = 256
CONNECT_S = 1.0
DEAD = frozenset({errno.ECONNREFUSED})
"""The machine is there, but no process listens. Any other error tells nothing of the cluster."""


def read_address(path: str) -> str | None:
    """The `host:port` in it; `None` if there is none. Raises `OSError`."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        text = os.read(fd, LONGEST) if modes.S_ISREG(os.fstat(fd).st_mode) else b""
    finally:
        os.close(fd)
    address = text.decode("ascii", "replace").strip()
    host, _, port = address.rpartition(":")
    return address if host and port.isdecimal() and 0 < int(port) < 65_536 and address.isprintable() else None


def why_current(path: str, commands: Mapping[int, str], *, ended: bool = True) -> str | None:
    """Why the file may still be needed; `None` when its cluster is gone.

    `commands`: of all processes, words joined by NUL. `ended`: also try to connect to the address. Raises `OSError` when the file
    cannot be read.
    """
    address = read_address(path)
    if address is None:
        return "it does not hold an address"
    for pid, line in commands.items():
        daemon = daemon_of(line.split("\0"))
        if daemon and daemon.gcs_address and is_one_of(address, (daemon.gcs_address,)) is not False:  # nor unknown
            return f"pid {pid} is of the cluster at {address}"
    return _answer(address) if ended else None


def _answer(address: str) -> str | None:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
    except OSError as error:
        return (
            None if error.errno in DEAD else f"whether the cluster at {address} lives cannot be told: {error.strerror or error}"
        )
    return f"somebody answers at {address}"
