"""Does a process only copy what comes to it over a socket? Told by what it did in its life, whatever it is called. Pure.

Measured on kubectl, docker and ssh that followed logs of 500 bytes and of 1.3 MB: they had read 2.6 to 39 kB, and 1.1 to 1.2
times what they wrote, in 0.01 to 0.08 s of processor time. A Python program has read 1.3 MB before its first line.
"""

from __future__ import annotations

from collections.abc import Collection

from hangtop.system.processes.table import Details, OpenFile, Stat

BESIDE_BYTES = 128 << 10
"""What such a process reads or writes besides: its settings, keys, a handshake, its question."""
MOST_TIMES = 2.0
"""Frames and cipher make the lines of a log so many times as long, at most, where lines are short."""
STANDARD = 2
"""The last of the descriptors that a process inherits; sshd gives its children sockets there."""
START_S, MB_S = 1.0, 0.5
"""Processor time that it may have used: to start, and for each MB."""


def copies(stat: Stat, details: Details, files: Collection[OpenFile], ticks_per_s: int) -> bool:
    """Whether it opened a socket and no GPU, wrote hardly more than it had read, read hardly more than it wrote, and computed
    next to nothing."""
    if details.passed_bytes is None or details.written_bytes is None:
        return False
    wrote, read = details.written_bytes, details.passed_bytes - details.written_bytes
    return (
        any(file.fd > STANDARD and file.target.startswith("socket:") for file in files)
        and not any(file.target.startswith("/dev/nvidia") for file in files)
        and wrote - BESIDE_BYTES <= read <= MOST_TIMES * wrote + BESIDE_BYTES
        and stat.cpu_ticks / ticks_per_s <= START_S + MB_S * wrote / 1e6
    )


def only_copy(tree: Collection[Stat], copying: Collection[int], ticks_per_s: int, parent: str | None = None) -> bool:
    """Whether all at the ends of this tree of living processes copy, and those above them only wait, as a shell in a loop does.
    A client is a program of its own: a process that its parent forked off without one begins with counters at nought, and what it
    would have read to start its parent has read. `copying`: pids. `parent`: the name of the process that started the first."""
    above, names = {stat.ppid for stat in tree}, {stat.pid: stat.name for stat in tree}
    names |= {stat.ppid: parent for stat in tree if parent is not None and stat.ppid not in names}
    ends = [stat for stat in tree if stat.pid not in above]
    waits = all(stat.cpu_ticks / ticks_per_s <= START_S for stat in tree if stat.pid in above)
    return bool(ends) and all(stat.pid in copying and names.get(stat.ppid) != stat.name for stat in ends) and waits
