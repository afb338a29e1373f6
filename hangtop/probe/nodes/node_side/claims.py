"""One action at a time on a process, from whichever machine it is given: who acts holds a name in the kernel, an abstract socket
(unix(7)) that nobody else can have at the same time and that goes with its holder. Nothing is stored, and nothing listens."""

from __future__ import annotations

import errno
import socket

from hangtop.probe.nodes.node_side.proc import link, stat_of

AT_WORK = "another hangtop is at work on this run: wait until it has ended, and look again"


class Claimed(Exception):
    """Somebody else acts on it: one line."""


def claim(targets: list[tuple[int, int]]) -> list[socket.socket]:
    """Claims on these processes (pid, start ticks), to be closed in the end: one for each that none of the others started, for no
    two starts of a run have the same. A kernel without such names gives none. Raises `Claimed` and holds nothing."""
    held: list[socket.socket] = []
    space = link("/proc/self/ns/pid")
    pids = {pid for pid, _ in targets}
    for pid, start in sorted(targets):  # the same order everywhere: of two hangtops one gets all
        known = stat_of(pid)
        if known is not None and known[0][1] in pids:
            continue
        try:
            mine = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            held.append(mine)
            mine.bind(f"\0hangtop {space} {pid} {start}")
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                for each in held:
                    each.close()
                raise Claimed(AT_WORK) from None
    return held
